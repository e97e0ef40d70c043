"""Users and items without ratings: offset, factors and labels follow from side information.

The chains regress offsets and factors on features too, but over nodes that count alike. Most nodes
have few ratings and are rated differently from those that people do rate: a film that three people
saw is usually a bad one. A rating of a node that is new today comes from a node with many ratings.
So the values of nodes without ratings are computed again when the chains have finished, by ridge
regressions in which a node has the weight n^a, n the number of its ratings. The power a and the
penalties are chosen on nodes that are held back with all their ratings (five folds), by the squared
error over ratings. A regression that does not predict held-back nodes better than no features, by
more than one standard error, is not used.

Per sample, and for one side (here items):

    factors, shares of labels   are regressed on the features of an item
    offset                      the rest, averaged over the item's ratings, is regressed on them:
                                b_v + mean over its users of p_u . (q_v - q^_v) + partitions
    labels                      are drawn from their predicted shares
    spread                      the mean square of what the regressions leave, over ratings

The rest is what the held-back predictions leave. It is not 0 on average, because people choose
items that suit them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from coterie.base.array_checks import ArrayError, check_array
from coterie.kernels.additive.predict import Samples
from coterie.models.additive.feature_encoding import FeatureColumn
from coterie.models.additive.sample_sides import SampleSide, Side

_POWERS = (0.0, 0.5, 1.0)  # of the number of ratings: the weight of a node
_PENALTIES = (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, np.inf)
_FOLDS = 5
_KNOTS = (0.2, 0.4, 0.6, 0.8)  # quantiles of a number at which its effect may bend
_MIN_DISTINCT = 10  # a number with fewer distinct values has no bends
_MAX_RATINGS = 200_000  # that the regressions are fitted to
_MAX_CELLS = 1 << 25  # nodes x columns of a regression
_SAMPLES_COMPARED = 4  # with which settings are chosen
_LEAST_SPREAD = 0.01


class FeatureExpansion(NamedTuple):
    """Columns of a regression: side information as it is, and bends of its numbers."""

    source: np.ndarray  # int64, the column of side information
    knot: np.ndarray  # float64, x becomes max(x - knot, 0); -inf leaves it as it is
    scale: np.ndarray  # float64
    center: np.ndarray  # float64, weighted mean of the scaled column

    def values(self, rows: np.ndarray) -> np.ndarray:
        """Return the centred columns of these rows of side information."""
        own = rows[:, self.source]
        bent = np.isfinite(self.knot)
        own[:, bent] = np.maximum(own[:, bent] - self.knot[bent], 0.0)
        return np.asarray(own * self.scale - self.center)


class ColdStart(NamedTuple):
    """The regressions from which nodes without ratings were predicted, one per sample."""

    expansion: FeatureExpansion
    coefficients: np.ndarray  # float32, T x columns x (K + 1): of the factors, and of the offset
    nodes: np.ndarray  # int64, the nodes that are predicted so, in increasing order

    def predicts(self, node: int) -> bool:
        """Return whether a node has no ratings and is predicted from its features."""
        return bool(np.isin(node, self.nodes))

    def without(self, numbers: np.ndarray) -> Self:
        """Return the same without nodes that have ratings now."""
        return self._replace(nodes=np.setdiff1d(self.nodes, numbers))

    def taste(self, row: np.ndarray, t: int) -> np.ndarray:
        """Return the part of a node's factors in sample t that its features explain."""
        own = self.expansion.values(row[None])[0]
        return np.asarray(own @ self.coefficients[t, :, :-1].astype(np.float64))

    def column_effects(self, row: np.ndarray, t: int, others: np.ndarray) -> np.ndarray:
        """Return what each column of side information adds to f: to the offset, and to the taste.

        `row` is the side information of one node, `others` the factors of the node at the other
        end in sample t. The result has two rows.
        """
        own = self.expansion.values(row[None])[0]
        links = self.coefficients[t].astype(np.float64)
        effects = own * links[:, -1], own * (links[:, :-1] @ others)
        return np.array([np.bincount(self.expansion.source, x, len(row)) for x in effects])

    def check(self, n_samples: int, n_columns: int, rank: int) -> None:
        """Raise ArrayError unless the arrays fit the samples and the side information."""
        size = len(self.expansion.source)
        check_array("cold start", self.expansion.source, np.int64, (size,), low=0, below=n_columns)
        for name in ("scale", "center"):
            check_array("cold start", getattr(self.expansion, name), np.float64, (size,))
        knots = self.expansion.knot
        if knots.dtype != np.float64 or knots.shape != (size,) or np.isnan(knots).any():
            raise ArrayError("cold start: invalid knots")
        check_array("cold start", self.coefficients, np.float32, (n_samples, size, rank + 1))
        check_array("cold start", self.nodes, np.int64, (None,), low=0)

    def to_arrays(self, prefix: str) -> dict[str, np.ndarray]:
        """Return everything as arrays whose names begin with the prefix."""
        arrays = {f"{prefix}.{name}": part for name, part in self.expansion._asdict().items()}
        arrays[f"{prefix}.coefficients"] = self.coefficients
        return arrays | {f"{prefix}.nodes": self.nodes}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], prefix: str) -> Self | None:
        """Build from what `to_arrays` returned; None if there is nothing."""
        if f"{prefix}.coefficients" not in arrays:
            return None
        parts = (arrays[f"{prefix}.{name}"] for name in FeatureExpansion._fields)
        return cls(
            FeatureExpansion(*parts), arrays[f"{prefix}.coefficients"], arrays[f"{prefix}.nodes"]
        )


class ColdNodes(NamedTuple):
    """Samples with values for nodes without ratings, and the regressions of both sides."""

    samples: Samples
    users: ColdStart | None
    items: ColdStart | None


def with_cold_nodes(
    samples: Samples,
    users: np.ndarray,
    items: np.ndarray,
    user_side: np.ndarray,
    item_side: np.ndarray,
    user_columns: Sequence[FeatureColumn],
    item_columns: Sequence[FeatureColumn],
    seed: int,
) -> ColdNodes:
    """Return samples in which users and items without ratings are predicted from their features.

    `users` and `items` are the rated pairs, `user_side` and `item_side` the side information, one
    row per node.
    """
    rng = np.random.default_rng(seed)
    effects = samples.effects
    found: list[ColdStart | None] = []
    for kind, own, other, side, columns in (
        (Side.USER, users, items, user_side, user_columns),
        (Side.ITEM, items, users, item_side, item_columns),
    ):
        cold = np.bincount(own, minlength=len(side)) == 0
        if not columns or not cold.any() or cold.all():
            found.append(None)
            continue
        view = _SideOfSamples(
            SampleSide.of(samples, kind),
            SampleSide.of(samples, kind.other),
            effects if kind is Side.USER else effects.transpose(0, 1, 3, 2),
        )
        placed, regression = _place(view, own, other, side, columns, cold, rng)
        found.append(regression)
        new = {f"{kind}_{name}": array for name, array in placed._asdict().items()}
        if kind is Side.USER:  # how people who rate use the scale
            donors = own[rng.integers(0, len(own), (len(effects), int(cold.sum())))]
            new["styles"] = samples.styles.copy()
            new["styles"][:, cold] = np.take_along_axis(samples.styles, donors, axis=1)
        samples = samples._replace(**new)
    return ColdNodes(samples, *found)


class _SideOfSamples(NamedTuple):
    """The samples from the side of the nodes that are placed."""

    mine: SampleSide
    theirs: SampleSide
    effects: np.ndarray  # T x L x own groups x other groups


def _place(
    view: _SideOfSamples,
    own: np.ndarray,
    other: np.ndarray,
    side: np.ndarray,
    columns: Sequence[FeatureColumn],
    cold: np.ndarray,
    rng: np.random.Generator,
) -> tuple[SampleSide, ColdStart]:
    """Return the arrays of one side with its cold nodes set, and the regressions."""
    own, other = _some_ratings(own, other, side.shape[1], rng)
    rated, node = np.unique(own, return_inverse=True)
    counts = np.bincount(node).astype(np.float64)
    fold = rng.permutation(len(rated)) % _FOLDS
    plain = expansion_of(side[rated], columns)
    X, X_cold = plain.values(side[rated]), plain.values(side[cold])
    T, _, K = view.mine.factors.shape
    compared = np.unique(np.linspace(0, T - 1, _SAMPLES_COMPARED).astype(np.int64))
    total = np.zeros(len(rated))
    tastes = []
    for t in compared:
        parts = _RatingParts.of(view, t, own, other)
        sums = np.bincount(node, parts.product + parts.groups)
        total += (view.mine.offsets[t, rated] + sums / counts) / len(compared)
        tastes.append(_taste_profiles(view, t, rated, other))
    power, offset_penalty = choose_ridge(X, total[:, None], counts, fold)
    _, taste_penalty = choose_ridge(X, np.hstack(tastes), counts, fold, powers=(power,))
    weights = node_weights(counts, power)
    center = weights @ X / weights.sum()
    placed = SampleSide(*(array.copy() for array in view.mine))
    coefficients = np.zeros((T, X.shape[1], K + 1), np.float32)
    of_taste = _Ridges(X, weights, taste_penalty, fold)
    of_offset = _Ridges(X, weights, offset_penalty, fold)
    n_cold = len(X_cold)
    for t in range(T):
        M = view.effects[t].astype(np.float64)
        L, k, _ = M.shape
        grouped = bool(M.any())
        factors = view.mine.factors[t, rated].astype(np.float64)
        shares = np.eye(k)[view.mine.labels[t, rated]].reshape(len(rated), -1)
        links, means = of_taste.fit(np.hstack([factors, shares]))
        held_back = of_taste.held_back(np.hstack([factors, shares]))
        values = means + (X_cold - center) @ links
        placed.factors[t, cold] = values[:, :K]
        chances = _probabilities(values[:, K:].reshape(n_cold, L, k))
        drawn = (chances.cumsum(axis=2) < rng.random((n_cold, L, 1))).sum(axis=2)
        placed.labels[t, cold] = np.minimum(drawn, k - 1)
        # What the predicted factors and labels leave of each rating, then of each node
        parts = _RatingParts.of(view, t, own, other)
        theirs = view.theirs.factors[t, other].astype(np.float64)
        rest = parts.product - np.einsum("ij,ij->i", held_back[:, :K][node], theirs)
        label_variance = 0.0
        if grouped:
            likely = _probabilities(held_back[:, K:].reshape(len(rated), L, k))
            for s in range(L):
                mean = likely[:, s] @ M[s]
                square = likely[:, s] @ M[s] ** 2 - mean**2
                at = node, view.theirs.labels[t, other, s]
                rest += M[s][view.mine.labels[t, own, s], at[1]] - mean[at]
                label_variance += float(square[at].mean())
        of_node = np.bincount(node, rest) / counts
        target = (view.mine.offsets[t, rated] + of_node)[:, None]
        slope, level = of_offset.fit(target)
        placed.offsets[t, cold] = (level + (X_cold - center) @ slope)[:, 0]
        missed = (target - of_offset.held_back(target))[:, 0]
        error = float(np.mean((rest - of_node[node] + missed[node]) ** 2)) - label_variance
        uncertain = float(counts @ view.mine.spreads[t, rated] / counts.sum())
        placed.spreads[t, cold] = max(error + uncertain, _LEAST_SPREAD)
        coefficients[t, :, :K], coefficients[t, :, K] = links[:, :K], slope[:, 0]
    centred = plain._replace(center=plain.center + center)
    return placed, ColdStart(centred, coefficients, np.flatnonzero(cold))


class _RatingParts(NamedTuple):
    """The two parts of f that belong to both nodes of a rating: factors and partitions."""

    product: np.ndarray
    groups: np.ndarray

    @classmethod
    def of(cls, view: _SideOfSamples, t: int, own: np.ndarray, other: np.ndarray) -> Self:
        mine, theirs = view.mine.factors[t], view.theirs.factors[t]
        product = np.einsum("ij,ij->i", mine[own], theirs[other]).astype(np.float64)
        groups = np.zeros(len(own))
        if view.effects[t].any():
            for s, M in enumerate(view.effects[t]):
                groups += M[view.mine.labels[t, own, s], view.theirs.labels[t, other, s]]
        return cls(product, groups)


def _taste_profiles(
    view: _SideOfSamples, t: int, rated: np.ndarray, other: np.ndarray
) -> np.ndarray:
    """Return what is specific to each node, scaled so that squares add up to a variance of f."""
    theirs = view.theirs.factors[t][other].astype(np.float64)
    values, vectors = np.linalg.eigh(theirs.T @ theirs / max(len(other), 1))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    parts = [view.mine.factors[t, rated].astype(np.float64) @ root]
    if view.effects[t].any():
        for s, M in enumerate(view.effects[t].astype(np.float64)):
            share = np.bincount(view.theirs.labels[t, other, s], minlength=M.shape[1]) / len(other)
            parts.append(M[view.mine.labels[t, rated, s]] * np.sqrt(share))
    return np.hstack(parts)


def _some_ratings(
    own: np.ndarray, other: np.ndarray, columns: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return ratings of which there are not too many, of not too many nodes."""
    if len(own) > _MAX_RATINGS:
        chosen = rng.choice(len(own), _MAX_RATINGS, replace=False)
        own, other = own[chosen], other[chosen]
    nodes = np.unique(own)
    limit = max(_MAX_CELLS // max(5 * columns, 1), 100)
    if len(nodes) > limit:
        used = np.isin(own, rng.choice(nodes, limit, replace=False))
        own, other = own[used], other[used]
    return own, other


def expansion_of(rows: np.ndarray, columns: Sequence[FeatureColumn]) -> FeatureExpansion:
    """Return the columns of a regression on these rows; constant columns are left out."""
    source, knots = [], []
    for place, column in enumerate(columns):
        own = [-np.inf]
        values = rows[:, place]
        if column.category is None and len(np.unique(values)) >= _MIN_DISTINCT:
            bends = np.unique(np.quantile(values, _KNOTS))
            own += [float(knot) for knot in bends if values.min() < knot < values.max()]
        source += [place] * len(own)
        knots += own
    ones = np.ones(len(source))
    found = FeatureExpansion(np.array(source, np.int64), np.array(knots), ones, 0 * ones)
    spread = found.values(rows).std(axis=0)
    used = spread > 1e-9
    return FeatureExpansion(
        found.source[used], found.knot[used], 1.0 / spread[used], np.zeros(int(used.sum()))
    )


def node_weights(counts: np.ndarray, power: float) -> np.ndarray:
    """Return the weight of each node in a regression, 1 on average.

    >>> node_weights(np.array([1.0, 3.0]), 1.0)
    array([0.5, 1.5])
    """
    weights = counts**power
    return np.asarray(weights / weights.mean())


def choose_ridge(
    X: np.ndarray,
    Y: np.ndarray,
    counts: np.ndarray,
    fold: np.ndarray,
    powers: Sequence[float] = _POWERS,
    penalties: Sequence[float] = _PENALTIES,
) -> tuple[float, float]:
    """Return the power and the penalty with the smallest error on held-back nodes.

    The error is the mean over ratings of the squares, summed over the columns of Y. The last
    penalty must be infinite: it stands for no features, and is returned unless another one is
    better by more than one standard error.
    """
    squares = np.empty((len(powers), len(penalties), len(X)))
    for place, power in enumerate(powers):
        weights = node_weights(counts, power)
        for number in np.unique(fold):
            rest, held_back = fold != number, fold == number
            if not rest.any():
                squares[:, :, held_back] = 0.0
                continue
            w = weights[rest]
            center, mean = w @ X[rest] / w.sum(), w @ Y[rest] / w.sum()
            root = np.sqrt(w)[:, None]
            own = (X[rest] - center) * root
            values, vectors = np.linalg.eigh(own.T @ own)
            pull = vectors.T @ (own.T @ ((Y[rest] - mean) * root))
            turned = (X[held_back] - center) @ vectors
            gap = Y[held_back] - mean
            for which, penalty in enumerate(penalties):
                scaled = pull / (np.maximum(values, 0.0) + penalty)[:, None]
                squares[place, which, held_back] = ((gap - turned @ scaled) ** 2).sum(axis=1)
    losses = squares @ counts
    place, which = divmod(int(losses.argmin()), len(penalties))
    plain = int(losses[:, -1].argmin())
    gain = counts * (squares[plain, -1] - squares[place, which])
    if which == len(penalties) - 1 or gain.sum() < gain.std() * np.sqrt(len(gain)):
        return float(powers[plain]), float(np.inf)
    return float(powers[place]), float(penalties[which])


class _Ridges:
    """Ridge regressions with the same columns, weights and penalty: of all nodes, and per fold."""

    def __init__(
        self, X: np.ndarray, weights: np.ndarray, penalty: float, fold: np.ndarray
    ) -> None:
        self.fold, self.weights = fold, weights
        self.X = X
        self.whole = _Normal(X, weights, penalty)
        parts = [number for number in np.unique(fold) if (fold != number).any()]
        self.parts = {n: _Normal(X[fold != n], weights[fold != n], penalty) for n in parts}

    def fit(self, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients of all nodes, and the weighted mean of Y."""
        return self.whole.fit(self.X, self.weights, Y)

    def held_back(self, Y: np.ndarray) -> np.ndarray:
        """Return the prediction of every node from the nodes of the other folds."""
        out = np.tile(self.weights @ Y / self.weights.sum(), (len(Y), 1))
        for number, part in self.parts.items():
            rest, own = self.fold != number, self.fold == number
            links, mean = part.fit(self.X[rest], self.weights[rest], Y[rest])
            out[own] = mean + (self.X[own] - part.center) @ links
        return out


class _Normal:
    """The normal equations of a weighted ridge regression."""

    def __init__(self, X: np.ndarray, weights: np.ndarray, penalty: float) -> None:
        self.center = weights @ X / weights.sum()
        self.inverse: np.ndarray | None = None
        if np.isfinite(penalty):
            own = X - self.center
            gram = (own * weights[:, None]).T @ own
            self.inverse = np.linalg.inv(gram + penalty * np.eye(len(gram)))

    def fit(
        self, X: np.ndarray, weights: np.ndarray, Y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients and the weighted mean of Y."""
        mean = weights @ Y / weights.sum()
        if self.inverse is None:
            return np.zeros((X.shape[1], Y.shape[1])), mean
        pull = ((X - self.center) * weights[:, None]).T @ (Y - mean)
        return self.inverse @ pull, mean


def _probabilities(shares: np.ndarray) -> np.ndarray:
    """Return predicted shares as probabilities over the last axis."""
    kept = np.maximum(shares, 1e-6)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))

"""Rank items by who has which item: an item regression and factors, combined.

Every pair of a user and an item counts, observed or absent, in closed form; no negatives are drawn.
Two components are fitted to all pairs, and two more to the liked pairs: an item regression (which
of the user's own items predict an item) and low-rank factors. Their settings and weights are chosen
on pairs that are held back from the training data, then everything is fitted to all of them. A
score is a sum over the user's own items, which explains it.

H. Steck. Embarrassingly shallow autoencoders for sparse data. WWW 2019.

S. Rendle, W. Krichene, L. Zhang and Y. Koren. Revisiting the performance of iALS on item
recommendation benchmarks. RecSys 2022.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array

from coterie.base.array_checks import ArrayError, check_array
from coterie.base.progress import Callback, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.engine import Engine
from coterie.models.interaction.factors import Factors, FactorSettings
from coterie.models.interaction.item_regression import ItemRegression

TARGETS = ("seen", "liked")
PARTS = ("regression", "factors")  # of a target

# Defaults and grids: docs/benchmarks/recommend.md says on which data they were chosen.
_PENALTIES = (60.0, 125.0, 250.0, 500.0, 1000.0, 2000.0)
_FIRST_PENALTY = 3  # its place: where the choice starts
_FACTOR_SETTINGS = (
    FactorSettings(0.02, 0.1),  # used as it is if nothing can be held back
    FactorSettings(0.01, 0.2),
    FactorSettings(0.03, 0.05),
    FactorSettings(0.03, 0.2),
    FactorSettings(0.06, 0.1),
)
_START = {"seen": (1.0, 0.7), "liked": (0.5, 0.35, 1.0, 0.7)}  # weights before the choice
_FACTOR_WEIGHT = 0.7  # next to a regression of weight 1, while the settings are compared
_FIRST_SWEEPS, _SWEEPS = 5, 10  # from random factors: to compare settings, and for the final fit
_MORE_SWEEPS = 2  # from the factors of the first settings, for each of the others
_LAST_SWEEPS = 5  # of the final fit, from the factors of the comparison
_KEPT_ALONE = 4_000_000  # coefficients of a regression that ranks alone: all of 2,000 items
_HELD_BACK = 0.2  # share of the pairs of a user
_TRIAL_PAIRS = 300_000  # with which settings are chosen, at most
_TRIAL_SCORES = 6_000_000  # users x items that are compared at once, at most: 48 MB per component
_DEPTH = 100  # items per ranking that is compared
_POOL = 100  # best items per component among which weights are compared
_STEPS = (0.0, 0.3, 0.6, 1.0, 1.6)  # weights that are tried, before normalization
_DISCOUNTS = 1 / np.log2(np.arange(_DEPTH) + 2)


class Pairs(NamedTuple):
    """Which items users have: 0/1 tables of users x items with the same shape."""

    seen: csr_array
    liked: csr_array


class TargetSettings(NamedTuple):
    """The settings of the two components of one target."""

    penalty: float
    factors: FactorSettings


@dataclass(frozen=True, eq=False)
class FittedInteractions:
    """Components per target and the weights with which they are combined.

    The target "seen" uses the two components of all pairs. The target "liked" adds the two
    components of the liked pairs; without ratings it equals "seen".
    """

    regressions: tuple[ItemRegression, ...]  # of seen, and if it differs, of liked
    factors: tuple[Factors, ...]
    weights: dict[str, np.ndarray]  # per target: regression, factors of seen, then of liked
    popularity: np.ndarray  # float64, targets x items: number of users

    @property
    def n_items(self) -> int:
        """Number of items with a score."""
        return int(self.popularity.shape[1])

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets that have components of their own."""
        return TARGETS[: len(self.regressions)]

    def target(self, wanted: str) -> str:
        """Return the target that answers for the wanted one."""
        return wanted if wanted in self.targets else "seen"

    def components(self, target: str) -> Iterator[tuple[np.float64, int, ItemRegression | Factors]]:
        """Yield what a target combines: the weight, the table of pairs, and the component."""
        for number, weight in enumerate(self.weights[self.target(target)]):
            place, kind = divmod(number, 2)
            if weight > 0:
                yield weight, place, (self.regressions, self.factors)[kind][place]

    def popular(self, target: str) -> np.ndarray:
        """Return the scores for a user without pairs: the share of users who have each item."""
        counts = self.popularity[TARGETS.index(self.target(target))]
        return np.asarray(counts / max(counts.max(), 1))

    def scores(self, pairs: Pairs, target: str) -> np.ndarray:
        """Return the combined scores of users with these pairs: users x items.

        A user without any pair gets the share of users who have (or like) each item.
        """
        out = np.zeros((pairs.seen.shape[0], self.n_items))
        for weight, place, component in self.components(target):
            out += weight * unit_scale(component.scores(pairs[place]))
        out[~out.any(axis=1)] = self.popular(target)
        return out

    def scores_of_one(self, own: tuple[np.ndarray, np.ndarray], target: str) -> np.ndarray:
        """Return what `scores` returns for one user; `own` are the items seen and those liked."""
        out = np.zeros(self.n_items)
        for weight, place, component in self.components(target):
            scores = component.scores_of_one(own[place])
            out += weight * (scores / (scores.std() or 1))
        return out if out.any() else self.popular(target)

    def contributions(self, pairs: Pairs, item: int, target: str) -> np.ndarray:
        """Return how much each of one user's items adds to the score of an item: one per item."""
        out = np.zeros(self.n_items)
        for weight, place, component in self.components(target):
            own = pairs[place].indices
            spread = float(component.scores(pairs[place]).std())
            out[own] += weight * component.contributions(own, item) / (spread or 1)
        return out

    def user_similarity(self, pairs: Pairs, user: int) -> np.ndarray:
        """Return the cosine between the factors of every user and those of one user."""
        vectors = [part.users(own) for part, own in zip(self.factors, pairs, strict=False)]
        unit = [_unit_rows(v) for v in vectors]
        return np.asarray(sum(v @ v[user] for v in unit) / len(unit))

    def item_similarity(self, item: int) -> np.ndarray:
        """Return the cosine of each item's factors with those of one item, over all targets."""
        unit = [_unit_rows(part.items) for part in self.factors]
        return np.asarray(sum(v @ v[item] for v in unit) / len(unit))

    def with_items(self, users_of_items: Pairs, pairs: Pairs, n_users: int) -> Self:
        """Return a model with items added.

        `users_of_items` (added items x users) says who has and who likes each added item, `pairs`
        which of the known items these users have.
        """
        count = users_of_items.seen.shape[0]
        added = np.array([np.diff(table.indptr) for table in users_of_items])
        return replace(
            self,
            regressions=tuple(
                part.with_items(users_of_items[place], pairs[place])
                for place, part in enumerate(self.regressions)
            ),
            factors=tuple(
                part.with_items(users_of_items[place], pairs[place], n_users)
                for place, part in enumerate(self.factors)
            ),
            popularity=np.hstack([self.popularity, added.reshape(2, count)]),
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything as arrays, to be saved."""
        out = {"popularity": self.popularity}
        for name, regression, factors in zip(
            self.targets, self.regressions, self.factors, strict=True
        ):
            out[f"{name}.weights"] = self.weights[name]
            out |= {f"{name}.regression.{k}": v for k, v in regression.to_arrays().items()}
            out |= {f"{name}.factors.{k}": v for k, v in factors.to_arrays().items()}
        return out

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_items: int) -> Self:
        """Build from what `to_arrays` returned; a wrong type, shape or range is an ArrayError."""
        shape = (len(TARGETS), n_items)
        popularity = check_array("popularity", arrays.get("popularity"), np.float64, shape)
        targets = [name for name in TARGETS if f"{name}.weights" in arrays]
        if targets not in (["seen"], ["seen", "liked"]):
            raise ArrayError("weights: missing")
        regressions, factors, weights = [], [], {}
        for place, name in enumerate(targets):
            own = arrays[f"{name}.weights"]
            weights[name] = check_array("weights", own, np.float64, (2 * place + 2,), low=0)
            regressions.append(
                ItemRegression.from_arrays(_part(arrays, f"{name}.regression."), n_items)
            )
            factors.append(Factors.from_arrays(_part(arrays, f"{name}.factors."), n_items))
        return cls(tuple(regressions), tuple(factors), weights, popularity)


def _unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Return rows of length 1; rows of zeros stay."""
    length = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.maximum(length, 1e-300))


def _part(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


class ChosenParts(NamedTuple):
    """What held-back pairs have chosen, by target."""

    settings: dict[str, TargetSettings]
    weights: dict[str, np.ndarray]
    starts: dict[str, np.ndarray]  # item factors for the final fit


def fit_interactions(
    users: np.ndarray,
    items: np.ndarray,
    liked: np.ndarray | None,
    n_users: int,
    n_items: int,
    *,
    rng: RandomState = 0,
    parts: tuple[str, ...] = PARTS,
    engine: str | Engine = "local",
    callback: Callback = silent,
) -> FittedInteractions:
    """Fit to pairs of user and item numbers; `liked` says which of them are liked.

    Without `liked`, or if all or none are, there is one target. `rng` is the seed of the held-back
    pairs and of the first factors. With one of the `parts`, it alone ranks a target, fitted to the
    pairs of this target; without any, popularity does.
    """
    generator = as_generator(rng)
    pairs = pairs_of(users, items, liked, n_users, n_items)
    one_target = pairs.liked.nnz in (0, pairs.seen.nnz)
    targets = TARGETS[:1] if one_target else TARGETS
    rank = min(32 if pairs.seen.nnz < 300_000 else 64, max(1, min(n_users, n_items)))
    callback(Progress("ranking: choosing weights", 0, 2))
    chosen = _chosen(pairs, targets, rank, generator, engine, parts)
    callback(Progress("ranking: fitting", 1, 2))
    regressions, factors = [], []
    for place, name in enumerate(targets):
        settings, start = chosen.settings[name], chosen.starts.get(name)
        if "regression" in parts:
            kept = None if parts == PARTS else _KEPT_ALONE
            regression = ItemRegression.fit(pairs[place], settings.penalty, min_kept=kept)
        else:
            regression = ItemRegression.nothing(n_items)
        regressions.append(regression)
        sweeps = _SWEEPS if start is None else _LAST_SWEEPS
        if "factors" not in parts:
            sweeps, start = 0, np.zeros((n_items, 0))
        factors.append(
            Factors.fit(pairs[place], rank, settings.factors, sweeps, generator, engine, start)
        )
    popularity = np.array(
        [np.bincount(table.indices, minlength=n_items) for table in pairs], np.float64
    )
    callback(Progress("ranking: fitting", 2, 2))
    return FittedInteractions(tuple(regressions), tuple(factors), chosen.weights, popularity)


def _chosen(
    pairs: Pairs,
    targets: tuple[str, ...],
    rank: int,
    rng: np.random.Generator,
    engine: str | Engine,
    wanted: tuple[str, ...],
) -> ChosenParts:
    """Choose settings and weights on held-back pairs of some users."""
    sample = _users_up_to(pairs, _TRIAL_PAIRS, rng)
    max_users = max(50, _TRIAL_SCORES // pairs.seen.shape[1])
    rest, held_back = _hold_back(sample, max_users, rng)
    found = ChosenParts({}, {}, {})
    parts: list[np.ndarray] = []  # unit-scale scores of the components so far
    last = np.empty(0, np.int64)  # the users that they are for
    for place, name in enumerate(targets):
        compared = HeldBackPairs(rest.seen, held_back[place])
        start = _START[name]
        found.weights[name] = np.array(start) / np.sum(start)
        if wanted != PARTS:
            alone = [0.0] * (2 * place) + [float(part in wanted) for part in PARTS]
            found.weights[name] = np.array(alone)
        penalty, factor_settings = _PENALTIES[_FIRST_PENALTY], _FACTOR_SETTINGS[0]
        if not len(compared):
            found.settings[name] = TargetSettings(penalty, factor_settings)
            parts = []
            continue
        own = rest[place][compared.users]
        regression = np.zeros(own.shape, np.float32)
        if "regression" in wanted:
            penalty, regression = _chosen_penalty(rest[place], own, compared)
        if "factors" in wanted:
            factor_settings, factor_scores, found.starts[name] = _chosen_factors(
                rest[place], own, compared, regression, rank, rng, engine
            )
        found.settings[name] = TargetSettings(penalty, factor_settings)
        if wanted != PARTS:
            continue
        # Of the users before, those who have a pair of this target held back
        parts = [part[np.isin(last, compared.users)] for part in parts]
        parts += [regression, factor_scores]
        last = compared.users
        if len(parts) == len(start):  # otherwise nothing of the first target could be compared
            found.weights[name] = compared.choose_weights(parts, start)
    return found


def _chosen_penalty(
    rest: csr_array, own: csr_array, compared: HeldBackPairs
) -> tuple[float, np.ndarray]:
    """Climb the grid of penalties from its start; return the best and its scores."""
    found: dict[int, tuple[float, np.ndarray]] = {}

    def tried(place: int) -> float:
        if not 0 <= place < len(_PENALTIES):
            return -1.0
        if place not in found:
            scores = unit_scale(ItemRegression.fit(rest, _PENALTIES[place]).scores(own))
            found[place] = compared.gain(scores), scores
        return found[place][0]

    place = _FIRST_PENALTY
    step = -1 if tried(place - 1) > tried(place) else 1
    while tried(place + step) > tried(place):
        place += step
    return _PENALTIES[place], found[place][1]


def _chosen_factors(
    rest: csr_array,
    own: csr_array,
    compared: HeldBackPairs,
    regression: np.ndarray,
    rank: int,
    rng: np.random.Generator,
    engine: str | Engine,
) -> tuple[FactorSettings, np.ndarray, np.ndarray]:
    """Return the settings that rank best together with the regression, scores, item factors."""
    best, chosen = -1.0, _FACTOR_SETTINGS[0]
    scores = np.zeros_like(regression)
    start, kept = None, None
    for settings in _FACTOR_SETTINGS:
        sweeps = _FIRST_SWEEPS if start is None else _MORE_SWEEPS
        fitted = Factors.fit(rest, rank, settings, sweeps, rng, engine, start)
        start = fitted.items if start is None else start
        own_scores = unit_scale(fitted.scores(own, engine))
        value = compared.gain(regression + _FACTOR_WEIGHT * own_scores)
        if value > best:
            best, chosen, scores, kept = value, settings, own_scores, fitted.items
    assert kept is not None  # there are settings, and a gain is not negative
    return chosen, scores, kept


def pairs_of(
    users: np.ndarray, items: np.ndarray, liked: np.ndarray | None, n_users: int, n_items: int
) -> Pairs:
    """Return the tables of all pairs and of the liked pairs; a repeated pair counts once."""
    seen = _table(users, items, n_users, n_items)
    if liked is None:
        return Pairs(seen, seen)
    return Pairs(seen, _table(users[liked], items[liked], n_users, n_items))


def _table(users: np.ndarray, items: np.ndarray, n_users: int, n_items: int) -> csr_array:
    table = csr_array((np.ones(len(users)), (users, items)), shape=(n_users, n_items))
    table.sum_duplicates()
    table.data[:] = 1.0
    return table


def like_threshold(values: np.ndarray, counts: np.ndarray) -> float:
    """Return the value from which on ratings are likes: about half of all ratings are.

    >>> like_threshold(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([6, 11, 27, 34, 22]))
    4.0
    """
    if len(values) == 1:
        return float(values[0])
    share = np.cumsum(counts[::-1])[::-1] / max(counts.sum(), 1)
    place = 1 + int(np.argmin(np.abs(share[1:] - 0.5)))
    return float(values[place])


def _users_up_to(pairs: Pairs, limit: int, rng: np.random.Generator) -> Pairs:
    """Return the pairs of randomly chosen users, about `limit` at most, with all items."""
    if pairs.seen.nnz <= limit:
        return pairs
    order = rng.permutation(pairs.seen.shape[0])
    sizes = np.cumsum(np.diff(pairs.seen.indptr)[order])
    chosen = np.sort(order[: max(1, int(np.searchsorted(sizes, limit)))])
    return Pairs(pairs.seen[chosen], pairs.liked[chosen])


def _hold_back(pairs: Pairs, max_users: int, rng: np.random.Generator) -> tuple[Pairs, Pairs]:
    """Divide the pairs of up to `max_users` users with at least three pairs: rest, held back."""
    seen = pairs.seen.tocoo()
    users, items = seen.row.astype(np.int64), seen.col.astype(np.int64)
    n_users, n_items = pairs.seen.shape
    counts = np.diff(pairs.seen.indptr)
    able = np.flatnonzero(counts >= 3)
    if len(able) > max_users:
        able = np.sort(rng.choice(able, max_users, replace=False))
    wanted = np.zeros(n_users, np.int64)
    wanted[able] = np.maximum(1, np.floor(_HELD_BACK * counts[able] + 0.5)).astype(np.int64)
    order = np.lexsort((rng.random(len(users)), users))
    place = np.arange(len(users)) - np.repeat(pairs.seen.indptr[:-1], counts)
    out = np.zeros(len(users), bool)
    out[order] = place < wanted[users[order]]
    liked = np.asarray(pairs.liked[users, items]).ravel() > 0

    def part(rows: np.ndarray) -> Pairs:
        return pairs_of(users[rows], items[rows], liked[rows], n_users, n_items)

    return part(~out), part(out)


def unit_scale(scores: np.ndarray) -> np.ndarray:
    """Return scores in which every user has a standard deviation of 1 over all items."""
    spread = scores.std(axis=1, keepdims=True)
    return np.asarray(scores / np.where(spread > 0, spread, 1))


def gain(scores: np.ndarray, relevant: np.ndarray, totals: np.ndarray) -> float:
    """Return the mean of NDCG@10 and NDCG@100 over the users.

    `relevant` (bool) has the shape of `scores`; items that may not be shown have the score -inf.
    `totals` is the number of relevant items per user, at least 1, listed here or not.

    >>> gain(np.array([[3.0, 2.0, 1.0]]), np.array([[True, False, False]]), np.array([1]))
    1.0
    """
    depth = min(_DEPTH, scores.shape[1])
    best = np.argpartition(-scores, depth - 1, axis=1)[:, :depth]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
    hits = np.take_along_axis(relevant, np.take_along_axis(best, order, axis=1), axis=1)
    ideal = np.cumsum(_DISCOUNTS)
    found = 0.0
    for k in (10, _DEPTH):
        width = min(k, depth)
        discounted = hits[:, :width] @ _DISCOUNTS[:width]
        found += float(np.mean(discounted / ideal[np.minimum(totals, k) - 1]))
    return found / 2


class HeldBackPairs:
    """Held-back pairs of some users, to compare rankings of the items that these users lack."""

    def __init__(self, rated: csr_array, relevant: csr_array) -> None:
        self.users = np.flatnonzero(np.diff(relevant.indptr) > 0)
        self._rated = rated[self.users]
        self._relevant = np.asarray(relevant[self.users].todense()) > 0
        self._totals = self._relevant.sum(axis=1)

    def __len__(self) -> int:
        return len(self.users)

    def without_rated(self, scores: np.ndarray) -> np.ndarray:
        """Return the scores of these users with -inf for the items that they have rated."""
        own = np.array(scores, np.float64)
        rated = self._rated.tocoo()
        own[rated.row, rated.col] = -np.inf
        return own

    def gain(self, scores: np.ndarray) -> float:
        """Return the gain of rankings by these scores (users x items)."""
        return gain(self.without_rated(scores), self._relevant, self._totals)

    def choose_weights(
        self, components: Sequence[np.ndarray], start: Sequence[float]
    ) -> np.ndarray:
        """Return weights of components (unit scale) that rank the held-back pairs well.

        Each weight in turn takes the value with the largest gain, twice. The result is the mean of
        these weights and of the start, so that a few held-back pairs do not decide everything. All
        weights sum to 1.
        """
        allowed = [self.without_rated(scores) for scores in components]
        pool = np.sort(np.hstack([_best(scores, _POOL) for scores in allowed]), axis=1)
        parts = [np.take_along_axis(scores, pool, axis=1) for scores in allowed]
        repeated = np.zeros(pool.shape, bool)
        repeated[:, 1:] = pool[:, 1:] == pool[:, :-1]
        hidden = repeated | ~np.isfinite(parts[0])
        parts = [np.where(hidden, 0.0, part) for part in parts]
        relevant = np.take_along_axis(self._relevant, pool, axis=1) & ~hidden

        def found(weights: np.ndarray) -> float:
            mixed = sum(w * part for w, part in zip(weights, parts, strict=True))
            return gain(np.where(hidden, -np.inf, mixed), relevant, self._totals)

        default = np.asarray(start, np.float64) / np.sum(start)
        weights = np.asarray(start, np.float64)
        best = found(weights)
        for _ in range(2):
            for place in range(len(weights)):
                for step in _STEPS:
                    tried = weights.copy()
                    tried[place] = step
                    if tried.any() and (value := found(tried)) > best:
                        best, weights = value, tried
        return np.asarray((weights / weights.sum() + default) / 2)


def _best(scores: np.ndarray, n: int) -> np.ndarray:
    """Return the positions of the n largest scores of each row, in no order."""
    width = min(n, scores.shape[1])
    return np.argpartition(-scores, width - 1, axis=1)[:, :width]

"""Start a chain, and take samples of its state."""

from __future__ import annotations

from enum import StrEnum
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from coterie.data.negatives import popular_negative_pairs
from coterie.kernels.additive.chain import Chain, ChainData, Schedule
from coterie.kernels.additive.factors import FactorSide, factor_posterior
from coterie.kernels.additive.predict import Samples
from coterie.kernels.additive.sweep import Edges
from coterie.models.additive.node_features import NodeFeatures, node_features
from coterie.models.additive.rating_scale import FAR

_STYLES_FROM, _STYLES_EVERY, _EFFECTS_FROM, _CUT_SHRINKAGE = 15, 3, 10, 100.0
_LINKS_FROM, _SCALES_FROM, _START_FACTOR, _START_PRECISION = 3, 15, 0.1, 10.0
_POSITION = np.uint32  # of a rating: four billion are more than the memory of any machine holds
_BLOCK = 1 << 20  # pairs whose values are computed at once when a chain starts


class AdditiveShape(NamedTuple):
    """Sizes of a model."""

    partitions: int
    user_groups: int
    item_groups: int
    styles: int
    levels: int
    factors: int = 0


class ChainKind(StrEnum):
    """The parts of the model that a chain has, and the data that it uses."""

    PRESENCE = "presence"  # groups and factors, from the ratings and who rated what
    RATINGS = "ratings"  # groups and factors, from the ratings alone
    FACTORS = "factors"  # factors without groups
    OFFSETS = "offsets"  # user and item offsets only


class PresenceSettings(NamedTuple):
    """The use of presence (who rated what) by chains of kind PRESENCE."""

    weight: float  # relative to the ratings
    negatives_per_rating: float  # unrated pairs that are drawn per rating


class Observed(NamedTuple):
    """The ratings in user order, as chains read them."""

    edges: Edges
    level: np.ndarray  # uint8, level of each rating
    users: np.ndarray  # int64, user of each rating
    items: np.ndarray  # int64, item of each rating
    n_items: int
    by_user: FactorSide
    by_item: FactorSide  # the same ratings in item order

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.edges.row_ptr) - 1


class ChainInputs(NamedTuple):
    """The inputs that all chains of a fit share."""

    shape: AdditiveShape
    observed: Observed
    presence: PresenceSettings
    features: NodeFeatures
    user_side: np.ndarray  # float64, users x columns of side information
    item_side: np.ndarray


def chain_inputs(
    shape: AdditiveShape,
    observed: Observed,
    presence: PresenceSettings,
    user_side: np.ndarray | None = None,
    item_side: np.ndarray | None = None,
) -> ChainInputs:
    """Return the inputs of chains, with features computed from these ratings only."""
    if user_side is None:
        user_side = np.zeros((observed.n_users, 0))
    if item_side is None:
        item_side = np.zeros((observed.n_items, 0))
    with_presence = presence.weight > 0 and shape.factors > 0 and shape.levels > 1
    features = node_features(
        observed.users, observed.items, user_side, item_side, with_presence=with_presence
    )
    return ChainInputs(shape, observed, presence, features, user_side, item_side)


def chain_data(inputs: ChainInputs, presence_pairs: Edges) -> ChainData:
    """Return what a chain's sweeps read."""
    observed, features = inputs.observed, inputs.features
    return ChainData(
        observed.edges,
        observed.level,
        presence_pairs,
        observed.by_user,
        observed.by_item,
        features.users,
        features.items,
    )


def observe(users: np.ndarray, items: np.ndarray, level: np.ndarray, n: int, m: int) -> Observed:
    """Sort the ratings of n users and m items for the chains."""
    edges, order = in_user_order(users, items, n)
    users, items, level = users[order], items[order], level[order]
    by_item = np.argsort(items, kind="stable").astype(_POSITION)
    side = FactorSide(_begins(items, m), users[by_item].astype(np.uint32), by_item)
    by_user = FactorSide(edges.row_ptr, edges.col, np.arange(len(users), dtype=_POSITION))
    return Observed(edges, level, users, items, m, by_user, side)


def in_user_order(users: np.ndarray, items: np.ndarray, n: int) -> tuple[Edges, np.ndarray]:
    """Return pairs of n users as `Edges`, and the order that sorts the pairs.

    >>> edges, order = in_user_order(np.array([1, 0, 1]), np.array([1, 0, 0]), 2)
    >>> order, edges.col, edges.row_ptr
    (array([1, 2, 0]), array([0, 0, 1], dtype=uint32), array([0, 1, 3]))
    """
    order = np.lexsort((items, users))
    return Edges(_begins(users, n), items[order].astype(np.uint32)), order


def _begins(nodes: np.ndarray, count: int) -> np.ndarray:
    """Return where the pairs of each node begin, if the pairs are sorted by node; and the end."""
    return np.concatenate(([0], np.cumsum(np.bincount(nodes, minlength=count)))).astype(np.int64)


def presence_pairs(
    rng: np.random.Generator, observed: Observed, negatives_per_rating: float
) -> tuple[Edges, np.ndarray]:
    """Return rated and drawn unrated pairs in user order, and which are rated; none without draws.

    One integer per pair is sorted: this step would otherwise need the most memory of a fit.
    """
    n, m = observed.n_users, observed.n_items
    count = int(negatives_per_rating * len(observed.level))
    if not count:
        return Edges(np.zeros(n + 1, np.int64), np.empty(0, np.uint32)), np.empty(0, bool)
    # Items without ratings are not negatives: nobody could rate them yet.
    is_rated = np.bincount(observed.items, minlength=m) > 0
    rated = np.flatnonzero(is_rated)
    place = (np.cumsum(is_rated) - 1)[observed.items]
    u, v = popular_negative_pairs(rng, observed.users, place, len(rated), count)
    del place
    pairs = np.empty(len(observed.users) + len(u), np.int64)
    own, drawn = pairs[: len(observed.users)], pairs[len(observed.users) :]
    np.multiply(observed.users, m, out=own)
    own += observed.items
    np.multiply(u, m, out=drawn)
    del u
    drawn += rated[v]
    del v
    pairs *= 2
    own += 1  # the last bit says whether the pair is rated
    pairs.sort()
    seen = (pairs & 1).astype(bool)
    pairs >>= 1
    begins = np.searchsorted(pairs, np.arange(n + 1, dtype=np.int64) * m)
    pairs %= m
    return Edges(begins.astype(np.int64), pairs.astype(np.uint32)), seen


def _start_residuals(
    edges: Edges,
    observed: np.ndarray,
    effects: np.ndarray,
    g: np.ndarray,
    h: np.ndarray,
    factors: tuple[np.ndarray, np.ndarray] | None,
) -> np.ndarray:
    """Return observed values minus effects of groups and products of factors, as float32.

    Blocks of pairs: the sums are float64, and a large table would need several of them.
    """
    out = np.empty(len(edges.col), np.float32)
    for begin in range(0, len(out), _BLOCK):
        items = edges.col[begin : begin + _BLOCK]
        places = np.arange(begin, begin + len(items))
        users = np.searchsorted(edges.row_ptr, places, side="right") - 1
        total = np.zeros(len(items))
        for s in range(len(effects)):
            total += effects[s][g[s][users], h[s][items]]
        if factors is not None:
            for k in range(factors[0].shape[1]):
                total += factors[0][users, k] * factors[1][items, k]
        out[begin : begin + _BLOCK] = observed[begin : begin + _BLOCK] - total
    return out


def start_cuts(level: np.ndarray, shape: AdditiveShape) -> np.ndarray:
    """Return cutpoints at the shares of the levels, stretched a little differently per style."""
    counts = np.bincount(level, minlength=shape.levels) + 0.5
    shares = np.cumsum(counts)[:-1] / counts.sum()
    middle = 1.25 * np.array([NormalDist().inv_cdf(p) for p in shares])
    stretch = np.linspace(0.8, 1.25, shape.styles) if shape.styles > 1 else np.ones(1)
    ends = np.full((shape.styles, 1), FAR)
    return np.hstack([-ends, np.outer(stretch, middle), ends])


def schedule(kind: ChainKind, inputs: ChainInputs) -> Schedule:
    """Return when and how strongly a chain of this kind updates its parts."""
    users, items = inputs.features.user_map, inputs.features.item_map
    with_presence = kind is ChainKind.PRESENCE
    with_features = kind in (ChainKind.PRESENCE, ChainKind.FACTORS)
    return Schedule(
        seen_weight=float(inputs.presence.weight) if with_presence else 0.0,
        effects_from=_EFFECTS_FROM,
        styles_from=_STYLES_FROM,
        styles_every=_STYLES_EVERY,
        cut_shrinkage=_CUT_SHRINKAGE,
        grouped=kind in (ChainKind.PRESENCE, ChainKind.RATINGS),
        factored=kind is not ChainKind.OFFSETS,
        user_columns=users.columns if with_features else users.side_columns,
        item_columns=items.columns if with_features else items.side_columns,
        links_from=_LINKS_FROM,
        scales_from=_SCALES_FROM,
    )


def start_chain(key: int, kind: ChainKind, inputs: ChainInputs) -> tuple[Chain, Edges]:
    """Return a chain with random labels, and the rated and unrated pairs that it uses."""
    rng = np.random.default_rng(int(key))
    shape, observed = inputs.shape, inputs.observed
    L, k, l = shape.partitions, shape.user_groups, shape.item_groups  # noqa: E741
    n, m = observed.n_users, observed.n_items
    negatives = inputs.presence.negatives_per_rating if kind is ChainKind.PRESENCE else 0.0
    seen, is_rated = presence_pairs(rng, observed, negatives)
    g = rng.integers(0, k, (L, n)).astype(np.uint8)
    h = rng.integers(0, l, (L, m)).astype(np.uint8)
    M, Q = rng.normal(0, 0.02, (L, k, l)), rng.normal(0, 0.01, (L, k, l))
    K = shape.factors
    user_factors, item_factors = (
        rng.normal(0, _START_FACTOR, (count, K)).astype(np.float32) for count in (n, m)
    )
    if kind in (ChainKind.FACTORS, ChainKind.OFFSETS):
        M[:], Q[:] = 0.0, 0.0
    if kind is ChainKind.OFFSETS:
        user_factors[:], item_factors[:] = 0.0, 0.0
    nothing = np.broadcast_to(0.0, len(observed.level))
    z = _start_residuals(observed.edges, nothing, -M, g, h, (-user_factors, item_factors))
    share = len(observed.level) / max(len(is_rated), 1)
    outcomes = np.where(is_rated, np.float64(1.0 - share), -share)
    y = _start_residuals(seen, outcomes, Q, g, h, None)
    del outcomes
    features = inputs.features
    chain = Chain(
        stream=rng.integers(0, 2**64, 1, dtype=np.uint64),
        sweeps=np.zeros(1, np.int64),
        style=rng.integers(0, shape.styles, n).astype(np.uint8),
        cuts=start_cuts(observed.level, shape),
        g=g,
        h=h,
        M=M,
        Q=Q,
        b_user=np.zeros(n),
        b_item=np.zeros(m),
        c_user=np.zeros(n),
        c_item=np.zeros(m),
        precision=np.array([4.0, 4.0, 10.0, 10.0, 20.0, 100.0, 5.0]),
        user_factors=user_factors,
        item_factors=item_factors,
        user_links=np.zeros((features.user_map.columns, K + 1)),
        item_links=np.zeros((features.item_map.columns, K + 1)),
        user_means=np.zeros((n, K + 1)),
        item_means=np.zeros((m, K + 1)),
        factor_precision=np.full((4, K + 1), _START_PRECISION),
        z=z,
        x=np.zeros(len(z), np.float32),
        y=y,
    )
    return chain, seen


def sample_of(chain: Chain, observed: Observed) -> Samples:
    """Return one sample: the part of a chain's state that predictions need.

    Offsets and factors are replaced by their conditional means; their conditional variances add
    up to the spread of a node.
    """
    P, Q = chain.user_factors, chain.item_factors
    factored = bool(P.shape[1] and P.any())
    users, items = observed.users, observed.items
    offsets, spreads, factors = [], [], []
    for place, (side, own, other, b, means, mine, theirs) in enumerate(
        (
            (observed.by_user, users, items, chain.b_user, chain.user_means, P, Q),
            (observed.by_item, items, users, chain.b_item, chain.item_means, Q, P),
        )
    ):
        mean, spread = _offset_posterior(own, chain.x, b, means[:, -1], chain.precision[place])
        placed = mine.copy()
        if factored:
            precision, root = chain.factor_precision[place], _moment_root(theirs, other)
            placed, more = factor_posterior(side, chain.x, mine, theirs, means, precision, root)
            spread += more
        offsets.append(mean.astype(np.float32))
        spreads.append(spread.astype(np.float32))
        factors.append(placed)
    rng = np.random.default_rng(int(chain.stream[0]))
    return Samples(
        _labels_of_sample(chain.g, observed.users, rng),
        _labels_of_sample(chain.h, observed.items, rng),
        chain.M.astype(np.float32),
        offsets[0],
        offsets[1],
        spreads[0],
        spreads[1],
        chain.cuts.astype(np.float32),
        chain.style.copy(),
        chain.precision[:2].astype(np.float32),
        factors[0],
        factors[1],
        chain.user_links.astype(np.float32),
        chain.item_links.astype(np.float32),
        chain.factor_precision[:2].astype(np.float32),
    )


def _labels_of_sample(
    labels: np.ndarray, nodes: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return labels, nodes x L; a node without ratings gets those of nodes of random ratings.

    A chain draws such labels uniformly, so that rare groups would count as much as large ones.
    """
    found = np.ascontiguousarray(labels.T)
    unrated = np.flatnonzero(np.bincount(nodes, minlength=len(found)) == 0)
    for s in range(len(labels)):
        found[unrated, s] = labels[s, nodes[rng.integers(0, len(nodes), len(unrated))]]
    return found


def _moment_root(factors: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Return a lower triangular root of the mean of q q' over the ratings."""
    share = np.bincount(nodes, minlength=len(factors)) / max(len(nodes), 1)
    values, vectors = np.linalg.eigh((factors.T * share) @ factors.astype(np.float64))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    triangle: np.ndarray = np.asarray(np.linalg.qr(root.T, mode="r"))
    return np.ascontiguousarray(triangle.T)


def _offset_posterior(
    nodes: np.ndarray, x: np.ndarray, b: np.ndarray, prior: np.ndarray, precision: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of each node's offset, conditional on everything else."""
    n = np.bincount(nodes, minlength=len(b))
    variance = 1.0 / (n + precision)
    mean = (np.bincount(nodes, x, len(b)) + n * b + precision * prior) * variance
    return mean, variance


def stack_samples(samples: list[Samples]) -> Samples:
    """Stack samples along a new first axis."""
    return Samples(*(np.stack(part) for part in zip(*samples, strict=True)))

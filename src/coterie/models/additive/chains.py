"""Start a chain, and take samples of its state."""

from __future__ import annotations

from enum import StrEnum
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from coterie.data.negatives import popular_negative_pairs
from coterie.kernels.additive.chain import Chain, Schedule
from coterie.kernels.additive.predict import Samples
from coterie.kernels.additive.sweep import Edges

FAR = 40.0  # the outer cutpoints, which stand for infinity
_STYLES_FROM, _STYLES_EVERY, _EFFECTS_FROM, _CUT_SHRINKAGE = 15, 3, 10, 100.0


class AdditiveShape(NamedTuple):
    """Sizes of a model."""

    partitions: int
    user_groups: int
    item_groups: int
    styles: int
    levels: int


class ChainKind(StrEnum):
    """The data that a chain uses."""

    PRESENCE = "presence"  # the ratings, and who rated what
    RATINGS = "ratings"  # the ratings alone
    OFFSETS = "offsets"  # the ratings, with user and item offsets only: no groups


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

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.edges.row_ptr) - 1


class ChainInputs(NamedTuple):
    """The inputs that all chains of a fit share."""

    shape: AdditiveShape
    observed: Observed
    presence: PresenceSettings


def observe(users: np.ndarray, items: np.ndarray, level: np.ndarray, n: int, m: int) -> Observed:
    """Sort the ratings of n users and m items for the chains."""
    edges, order = in_user_order(users, items, n)
    return Observed(edges, level[order], users[order], items[order], m)


def in_user_order(users: np.ndarray, items: np.ndarray, n: int) -> tuple[Edges, np.ndarray]:
    """Return pairs of n users as `Edges`, and the order that sorts the pairs.

    >>> edges, order = in_user_order(np.array([1, 0, 1]), np.array([1, 0, 0]), 2)
    >>> order, edges.col, edges.row_ptr
    (array([1, 2, 0]), array([0, 0, 1], dtype=uint32), array([0, 1, 3]))
    """
    order = np.lexsort((items, users))
    begins = np.concatenate(([0], np.cumsum(np.bincount(users, minlength=n))))
    return Edges(begins.astype(np.int64), items[order].astype(np.uint32)), order


def presence_outcomes(
    rng: np.random.Generator, observed: Observed, negatives_per_rating: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rated and unrated pairs, and 1 or 0 for each, minus the mean; empty without draws."""
    count = int(negatives_per_rating * len(observed.level))
    if not count:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    u, v = popular_negative_pairs(rng, observed.users, observed.items, observed.n_items, count)
    users, items = np.r_[observed.users, u], np.r_[observed.items, v]
    y = np.arange(len(users)) < len(observed.users)
    return users, items, y - y.mean()


def start_cuts(level: np.ndarray, shape: AdditiveShape) -> np.ndarray:
    """Return cutpoints at the shares of the levels, stretched a little differently per style."""
    counts = np.bincount(level, minlength=shape.levels) + 0.5
    shares = np.cumsum(counts)[:-1] / counts.sum()
    middle = 1.25 * np.array([NormalDist().inv_cdf(p) for p in shares])
    stretch = np.linspace(0.8, 1.25, shape.styles) if shape.styles > 1 else np.ones(1)
    ends = np.full((shape.styles, 1), FAR)
    return np.hstack([-ends, np.outer(stretch, middle), ends])


def schedule(kind: ChainKind, presence: PresenceSettings) -> Schedule:
    """Return when and how strongly a chain of this kind updates its parts."""
    return Schedule(
        seen_weight=float(presence.weight) if kind is ChainKind.PRESENCE else 0.0,
        effects_from=_EFFECTS_FROM,
        styles_from=_STYLES_FROM,
        styles_every=_STYLES_EVERY,
        cut_shrinkage=_CUT_SHRINKAGE,
        grouped=kind is not ChainKind.OFFSETS,
    )


def start_chain(key: int, kind: ChainKind, inputs: ChainInputs) -> tuple[Chain, Edges]:
    """Return a chain with random labels, and the rated and unrated pairs that it uses."""
    rng = np.random.default_rng(int(key))
    shape, observed = inputs.shape, inputs.observed
    L, k, l = shape.partitions, shape.user_groups, shape.item_groups  # noqa: E741
    n, m = observed.n_users, observed.n_items
    negatives = inputs.presence.negatives_per_rating if kind is ChainKind.PRESENCE else 0.0
    users, items, y = presence_outcomes(rng, observed, negatives)
    seen, order = in_user_order(users, items, n)
    y = y[order]
    g = rng.integers(0, k, (L, n)).astype(np.uint8)
    h = rng.integers(0, l, (L, m)).astype(np.uint8)
    M, Q = rng.normal(0, 0.02, (L, k, l)), rng.normal(0, 0.01, (L, k, l))
    if kind is ChainKind.OFFSETS:
        M[:], Q[:] = 0.0, 0.0
    z, y_start = np.zeros(len(observed.level)), np.zeros(len(y))
    for s in range(L):
        z += M[s][g[s][observed.users], h[s][observed.items]]
        y_start += Q[s][g[s][users[order]], h[s][items[order]]]
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
        z=z.astype(np.float32),
        x=np.zeros(len(z), np.float32),
        y=(y - y_start).astype(np.float32),
    )
    return chain, seen


def sample_of(chain: Chain, observed: Observed) -> Samples:
    """Return one sample: the part of a chain's state that predictions need."""
    users = _offset_posterior(observed.users, chain.x, chain.b_user, chain.precision[0])
    items = _offset_posterior(observed.items, chain.x, chain.b_item, chain.precision[1])
    return Samples(
        np.ascontiguousarray(chain.g.T),
        np.ascontiguousarray(chain.h.T),
        chain.M.astype(np.float32),
        users[0],
        items[0],
        users[1],
        items[1],
        chain.cuts.astype(np.float32),
        chain.style.copy(),
        chain.precision[:2].astype(np.float32),
    )


def _offset_posterior(
    nodes: np.ndarray, x: np.ndarray, b: np.ndarray, precision: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of each node's offset, conditional on everything else."""
    n = np.bincount(nodes, minlength=len(b))
    variance = 1.0 / (n + precision)
    mean = (np.bincount(nodes, x, len(b)) + n * b) * variance
    return mean.astype(np.float32), variance.astype(np.float32)


def stack_samples(samples: list[Samples]) -> Samples:
    """Stack samples along a new first axis."""
    return Samples(*(np.stack(part) for part in zip(*samples, strict=True)))

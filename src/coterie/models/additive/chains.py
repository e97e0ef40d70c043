"""Where a chain starts, and what is kept of it."""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from coterie.kernels.additive_chain import Chain
from coterie.kernels.additive_predict import Samples
from coterie.kernels.additive_sweep import Edges

FAR = 40.0  # a cutpoint that no location passes


class Shape(NamedTuple):
    """How large a model is."""

    partitions: int
    user_groups: int
    item_groups: int
    styles: int
    levels: int


class Observed(NamedTuple):
    """The ratings as a chain reads them: in user order, levels beside."""

    edges: Edges
    level: np.ndarray  # uint8
    users: np.ndarray  # int64, in the same order
    items: np.ndarray


def in_user_order(users: np.ndarray, items: np.ndarray, n: int) -> tuple[Edges, np.ndarray]:
    """Pairs of n users as `Edges`, and the order in which the pairs were taken.

    >>> edges, order = in_user_order(np.array([1, 0, 1]), np.array([1, 0, 0]), 2)
    >>> order, edges.col, edges.row_ptr
    (array([1, 2, 0]), array([0, 0, 1], dtype=uint32), array([0, 1, 3]))
    """
    order = np.lexsort((items, users))
    begins = np.concatenate(([0], np.cumsum(np.bincount(users, minlength=n))))
    return Edges(begins.astype(np.int64), items[order].astype(np.uint32)), order


def absent_pairs(
    rng: np.random.Generator, users: np.ndarray, items: np.ndarray, m: int, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs that nobody rated: users as active as they are, items half evenly, half as popular."""
    if not len(users):
        return users, items
    u = users[rng.integers(0, len(users), count)].astype(np.int64)
    popular = items[rng.integers(0, len(items), count)]
    v = np.where(rng.random(count) < 0.5, rng.integers(0, m, count), popular)
    absent = ~np.isin(u * m + v, users.astype(np.int64) * m + items)
    return u[absent], v[absent].astype(np.int64)


def start_cuts(level: np.ndarray, shape: Shape) -> np.ndarray:
    """Cutpoints at the ratings' own shares, each style stretched a little otherwise."""
    counts = np.bincount(level, minlength=shape.levels) + 0.5
    shares = np.cumsum(counts)[:-1] / counts.sum()
    middle = 1.25 * np.array([NormalDist().inv_cdf(p) for p in shares])
    stretch = np.linspace(0.8, 1.25, shape.styles) if shape.styles > 1 else np.ones(1)
    ends = np.full((shape.styles, 1), FAR)
    return np.hstack([-ends, np.outer(stretch, middle), ends])


def start_chain(
    key: int, shape: Shape, observed: Observed, n: int, m: int, absent_share: float
) -> tuple[Chain, Edges]:
    """A chain at random labels, and its own sample of rated and unrated pairs."""
    rng = np.random.default_rng(int(key))
    L, k, l = shape.partitions, shape.user_groups, shape.item_groups  # noqa: E741
    rated = observed.edges
    count = int(absent_share * len(observed.level))
    away = absent_pairs(rng, observed.users, observed.items, m, count)
    given = (observed.users, observed.items) if count else (away[0][:0], away[1][:0])
    users, items = np.r_[given[0], away[0]], np.r_[given[1], away[1]]
    seen, order = in_user_order(users, items, n)
    y = np.r_[np.ones(len(given[0])), np.zeros(len(away[0]))]
    y = (y - (y.mean() if len(y) else 0.0))[order]
    g = rng.integers(0, k, (L, n)).astype(np.uint8)
    h = rng.integers(0, l, (L, m)).astype(np.uint8)
    M, Q = rng.normal(0, 0.02, (L, k, l)), rng.normal(0, 0.01, (L, k, l))
    z, y_start = np.zeros(len(rated.col)), np.zeros(len(y))
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


def keep(chain: Chain) -> Samples:
    """One sample: what a prediction needs of a chain's state."""
    return Samples(
        np.ascontiguousarray(chain.g.T),
        np.ascontiguousarray(chain.h.T),
        chain.M.astype(np.float32),
        chain.b_user.astype(np.float32),
        chain.b_item.astype(np.float32),
        chain.cuts.astype(np.float32),
        chain.style.copy(),
        chain.precision[:2].astype(np.float32),
    )


def stack(samples: list[Samples]) -> Samples:
    """Samples side by side."""
    return Samples(*(np.stack(part) for part in zip(*samples, strict=True)))

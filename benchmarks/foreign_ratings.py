"""Generated rating tables that are not of the additive model's own form.

They have the shapes of well-known sets. Tastes are a random neural network or a kernel of hidden
positions with heavy tails, users have their own way to use the scale, and who rates what depends on
popularity and on taste. Other tables are parts of MovieLens-100k, with users or items removed, or
with its scale changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from coterie.data import Ratings
from coterie.data.datasets import load

FIVE, HALVES = np.arange(1.0, 6), np.arange(0.5, 5.5, 0.5)


class Shape(NamedTuple):
    """Size and structure of a table."""

    users: int
    items: int
    ratings: int
    values: np.ndarray | None  # None: continuous in -10..10
    taste: float = 0.7  # standard deviation of tastes, where that of the noise is 1
    offsets: float = 0.5
    dimensions: int = 12
    popularity: float = 1.0  # exponent of the items' popularity
    activity: float = 1.0  # spread of the users' activity
    chosen: float = 0.7  # how much taste decides who rates what
    kernel: bool = False  # a kernel of positions instead of a neural network


def drawn(shape: Shape, seed: int) -> Ratings:
    """Draw a table."""
    rng = np.random.default_rng(seed)
    n, m, d = shape.users, shape.items, shape.dimensions
    user = rng.standard_t(5, (n, d)) * 0.8 ** np.arange(d)
    item = rng.standard_t(5, (m, d)) * 0.8 ** np.arange(d)
    taste = _kernel_taste(rng, user, item) if shape.kernel else _neural_taste(rng, user, item)
    active = np.exp(rng.normal(0, shape.activity, n))
    popular = (np.arange(1, m + 1) ** -shape.popularity)[rng.permutation(m)]
    quality = rng.normal(0, shape.offsets, m) + 0.15 * shape.offsets * np.log(
        popular / popular.mean()
    )
    u, v = _pairs(rng, taste, active, popular, shape)
    mood = rng.normal(0, shape.offsets, n)
    place = shape.taste * taste[u, v] + mood[u] + quality[v] + rng.normal(0, 1, len(u))
    stretch = np.exp(rng.normal(0, 0.25, n))  # some use the ends of the scale, some avoid them
    place = place * stretch[u] + 0.15 * np.abs(rng.standard_t(4, n))[u] * np.sign(place)
    if shape.values is None:
        return Ratings.from_arrays(u, v, np.round(10 * np.tanh(place / 2.5), 2))
    shares = np.linspace(0.02, 1, len(shape.values)) ** 0.8
    edges = np.quantile(place, np.cumsum(shares / shares.sum())[:-1])
    return Ratings.from_arrays(u, v, shape.values[np.searchsorted(edges, place)])


def _neural_taste(rng: np.random.Generator, user: np.ndarray, item: np.ndarray) -> np.ndarray:
    width, d = 40, user.shape[1]
    hidden_user = user @ rng.normal(0, 1, (d, width)) / np.sqrt(d)
    hidden_item = item @ rng.normal(0, 1, (d, width)) / np.sqrt(d)
    weights = rng.normal(0, 1, width)
    taste = np.zeros((len(user), len(item)), np.float32)
    for k in range(width):
        taste += weights[k] * np.tanh(1.5 * hidden_user[:, k, None] + 1.5 * hidden_item[None, :, k])
    return _centred(taste)


def _kernel_taste(rng: np.random.Generator, user: np.ndarray, item: np.ndarray) -> np.ndarray:
    """Users like what is near to them in four of the dimensions."""
    near = np.zeros((len(user), len(item)), np.float32)
    for k in range(0, min(user.shape[1], 12), 4):
        gap = ((user[:, None, k : k + 4] - item[None, :, k : k + 4]) ** 2).sum(axis=2)
        near += rng.normal(1, 0.3) * np.exp(-gap / 3)
    return _centred(near)


def _centred(taste: np.ndarray) -> np.ndarray:
    taste = taste - taste.mean(axis=0) - taste.mean(axis=1, keepdims=True) + taste.mean()
    return np.asarray(taste / taste.std(), np.float32)


def _pairs(
    rng: np.random.Generator,
    taste: np.ndarray,
    active: np.ndarray,
    popular: np.ndarray,
    shape: Shape,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw who rates what: each user draws items without replacement (Gumbel-top-k)."""
    n, m = taste.shape
    counts = np.minimum(np.maximum(1, active / active.sum() * shape.ratings), 0.8 * m).astype(int)
    users, items = [], []
    for u in range(n):
        score = np.log(popular) + shape.chosen * taste[u] + rng.gumbel(size=m)
        items.append(np.argpartition(-score, counts[u] - 1)[: counts[u]])
        users.append(np.full(counts[u], u))
    return np.concatenate(users), np.concatenate(items)


def movielens(part: Callable[[Ratings, np.random.Generator], Ratings]) -> Callable[[int], Ratings]:
    """Return a generator of parts of MovieLens-100k, without fold 0 of seed 7."""

    def make(seed: int) -> Ratings:
        from coterie.recommend.evaluation import fold_rows

        data = load("ml-100k")
        assert isinstance(data, Ratings)
        rows = np.sort(np.concatenate(fold_rows(len(data), 5, 7)[1:]))
        return compact(part(data.take(rows), np.random.default_rng(seed)))

    return make


def compact(ratings: Ratings) -> Ratings:
    """Drop users and items without ratings."""
    return Ratings.from_arrays(ratings.users, ratings.items, ratings.ratings)


def share(of: float) -> Callable[[Ratings, np.random.Generator], Ratings]:
    return lambda r, rng: r.take(np.sort(rng.permutation(len(r))[: int(of * len(r))]))


def few_items(r: Ratings, rng: np.random.Generator) -> Ratings:
    """The 100 most rated items, on a continuous scale that users stretch in their own way."""
    top = np.argsort(-np.bincount(r.items))[:100]
    r = r.take(np.flatnonzero(np.isin(r.items, top)))
    return Ratings.from_arrays(r.users, r.items, styled(r, rng, -10, 10, 2))


def hundred_values(r: Ratings, rng: np.random.Generator) -> Ratings:
    """30 % of the ratings, on a scale of 1 to 100."""
    r = share(0.3)(r, rng)
    return Ratings.from_arrays(r.users, r.items, styled(r, rng, 1, 100, 0))


def styled(
    r: Ratings, rng: np.random.Generator, low: float, high: float, digits: int
) -> np.ndarray:
    """Spread each star over a fifth of a finer scale; some users prefer round numbers."""
    fine = (r.ratings - 1 + rng.beta(2, 2, len(r))) / 5
    fine = fine ** np.exp(rng.normal(0, 0.3, r.n_users))[r.users]
    grain = np.where(rng.random(r.n_users) < 0.4, 10.0, 100.0)[r.users]
    fine = np.round(fine * grain) / grain
    return np.round(low + fine * (high - low), digits)


def sparse_items(r: Ratings, rng: np.random.Generator) -> Ratings:
    """Without the 300 most rated items."""
    top = np.argsort(-np.bincount(r.items))[:300]
    return r.take(np.flatnonzero(~np.isin(r.items, top)))


SETS: dict[str, Callable[[int], Ratings]] = {
    "neural, 610 x 9700, half stars": lambda s: drawn(Shape(610, 9700, 100_000, HALVES), s),
    "kernel, 1500 x 2000, half stars": lambda s: drawn(
        Shape(1500, 2000, 35_000, HALVES, kernel=True), s
    ),
    "neural, 3000 x 3000, 136k": lambda s: drawn(
        Shape(3000, 3000, 136_000, FIVE, taste=0.45, dimensions=6), s
    ),
    "neural, 3000 x 3000, 26k": lambda s: drawn(Shape(3000, 3000, 26_000, HALVES, taste=0.5), s),
    "kernel, 3000 x 3000, 5k, 71 values": lambda s: drawn(
        Shape(
            3000,
            3000,
            5_300,
            np.round(np.linspace(1, 100, 71)),
            taste=0.8,
            offsets=0.9,
            kernel=True,
        ),
        s,
    ),
    "neural, 2000 x 100, continuous": lambda s: drawn(
        Shape(
            2000,
            100,
            100_000,
            None,
            taste=0.8,
            popularity=0.1,
            activity=0.5,
            chosen=0.0,
            dimensions=5,
        ),
        s,
    ),
    "MovieLens, 5 %": movielens(share(0.05)),
    "MovieLens, 35 %": movielens(share(0.35)),
    "MovieLens, 100 items, continuous": movielens(few_items),
    "MovieLens, 30 %, 100 values": movielens(hundred_values),
    "MovieLens without popular items": movielens(sparse_items),
}

"""Generated rating tables of other shapes than MovieLens, and the offsets baseline."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from coterie.data import Ratings
from coterie.data.generators import mmsbm_ratings

STARS, HALVES, TEN = np.arange(1.0, 6), np.arange(0.5, 5.5, 0.5), np.arange(1.0, 11)
_RIDGES = (0.5, 1, 2, 5, 10, 20, 50, 100, 1000)


def mixed(n: int, m: int, count: int, values: np.ndarray) -> Callable[[int], Ratings]:
    """Return a generator of ratings drawn from a mixed-membership model."""
    return lambda seed: mmsbm_ratings(n, m, count, values=values.tolist(), rng=seed)[0]


def latent(
    n: int,
    m: int,
    count: int,
    values: np.ndarray | None,
    *,
    offsets: float = 0.5,
    taste: float = 0.6,
    each: tuple[int, int] | None = None,
) -> Callable[[int], Ratings]:
    """Return a generator of ratings made of offsets, four by five groups and noise.

    They are rounded to `values`, or continuous in -10..10 without it. `each` sets the smallest and
    largest number of ratings per user; without it the pairs are drawn uniformly.
    """

    def make(seed: int) -> Ratings:
        rng = np.random.default_rng(seed)
        if each is None:
            pairs = rng.choice(n * m, count, replace=False)
            u, v = pairs // m, pairs % m
        else:
            u = np.repeat(np.arange(n), rng.integers(each[0], each[1] + 1, n))
            v = (rng.pareto(1.5, len(u)) * m / 20).astype(np.int64) % m
            _, first = np.unique(u * m + v, return_index=True)
            u, v = u[first], v[first]
        tastes = rng.normal(0, taste, (4, 5))[rng.integers(0, 4, n)[u], rng.integers(0, 5, m)[v]]
        place = rng.normal(0, offsets, n)[u] + rng.normal(0, offsets, m)[v] + tastes
        place += rng.normal(0, 1, len(u))
        if values is None:
            return Ratings.from_arrays(u, v, np.clip(4 * place, -10, 10))
        level = np.round((place + 2.5) / 5 * (len(values) - 1)).astype(np.int64)
        return Ratings.from_arrays(u, v, values[np.clip(level, 0, len(values) - 1)])

    return make


CASES: dict[str, Callable[[int], Ratings]] = {
    "sparse": mixed(4000, 3000, 20_000, STARS),
    "2-3 ratings per user": latent(5000, 1000, 0, STARS, each=(2, 3)),
    "15 items": mixed(2000, 15, 12_000, STARS),
    "20 items": latent(1500, 20, 12_000, STARS),
    "ten values": mixed(600, 500, 30_000, TEN),
    "half stars": mixed(800, 900, 40_000, HALVES),
    "sparse half stars": latent(2000, 1500, 15_000, HALVES),
    "-10..10 continuous": latent(600, 400, 20_000, None),
    "no groups": latent(800, 600, 20_000, STARS, taste=0),
    "pure noise": latent(1000, 800, 20_000, STARS, offsets=0, taste=0),
}


def bias_baseline(train: Ratings, test: Ratings) -> float:
    """Return the RMSE of user and item offsets; both ridges are chosen by five folds of `train`."""
    parts = np.array_split(np.random.default_rng(0).permutation(len(train)), 5)
    splits = [(train.take(np.setdiff1d(np.arange(len(train)), p)), train.take(p)) for p in parts]

    def cost(ridges: tuple[float, float]) -> float:
        return sum(_offsets_rmse(*split, *ridges) ** 2 for split in splits)

    return _offsets_rmse(train, test, *min(product(_RIDGES, _RIDGES), key=cost))


def _offsets_rmse(train: Ratings, test: Ratings, user_ridge: float, item_ridge: float) -> float:
    """Fit the offsets by alternating ridge regression and return their RMSE."""
    mean, u, v = train.ratings.mean(), train.users, train.items
    b, c = np.zeros(train.n_users), np.zeros(train.n_items)
    n, m = np.bincount(u, minlength=len(b)), np.bincount(v, minlength=len(c))
    for _ in range(10):
        c = np.bincount(v, train.ratings - mean - b[u], len(c)) / (m + item_ridge)
        b = np.bincount(u, train.ratings - mean - c[v], len(b)) / (n + user_ridge)
    error = mean + b[test.users] + c[test.items] - test.ratings
    return float(np.sqrt(np.mean(error**2)))

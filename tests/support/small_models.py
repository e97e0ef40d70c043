"""Models and tables that tests of several files use by name."""

from __future__ import annotations

import numpy as np

import coterie as ct


def model_of(name: str):
    """A small model of a family."""
    return {
        "best": lambda: ct.AdditiveBlockModel(n_chains=2, n_sweeps=60, rng=0),
        "mmsbm": lambda: ct.MMSBM(n_groups=(3, 2), max_iter=60, prior=0.1, n_init=2, rng=0),
        "mcmmsbm": lambda: ct.MCMMSBM(
            n_groups=(2, 2), n_samples=20, max_iter=80, prior=0.1, n_init=3, rng=0
        ),
        "hard": lambda: ct.GeneralizedKMeans(
            n_blocks=(2, 2), search="paper", objective="ratings", n_init=20, rng=0
        ),
    }[name]()


def likes_table() -> tuple[ct.Ratings, list[tuple[int, int]]]:
    """40 users who like items of their own parity; three likes each are hidden."""
    rng = np.random.default_rng(0)
    kept, hidden = [], []
    for user in range(40):
        own = rng.permutation(np.arange(user % 2, 24, 2))[:11]
        hidden += [(user, int(item)) for item in own[:3]]
        kept += [(user, int(item)) for item in own[3:]]
    users, items = zip(*kept, strict=True)
    return ct.Ratings.from_arrays(users, items, np.ones(len(kept))), hidden


def two_tastes(seed: int = 0, n: int = 40, m: int = 30, count: int = 700) -> ct.Ratings:
    """Even users like even items, odd users odd ones; user 7 and item 7 have text for names."""
    rng = np.random.default_rng(seed)
    pairs = rng.choice(n * m, count, replace=False)
    u, v = pairs // m, pairs % m
    liked = (u + v) % 2 == 0
    values = np.clip(np.round(np.where(liked, 4.2, 2.0) + rng.normal(0, 0.7, count)), 1, 5)
    return ct.Ratings.from_arrays(
        [f"u{x}" for x in u], (v + 100).tolist(), values, timestamps=np.arange(count)
    )

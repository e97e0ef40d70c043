"""A small table with two tastes, and a recommender of every family fitted to it."""

from __future__ import annotations

import numpy as np
import pytest

import coterie as ct
from recommend.conftest_models import model_of


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


FAMILIES = ("best", "mmsbm", "mcmmsbm", "hard")


@pytest.fixture(scope="session")
def ratings() -> ct.Ratings:
    return two_tastes()


@pytest.fixture(scope="session")
def fitted(ratings):
    """Fitted recommenders by family; tests must not change them."""
    return {name: ct.Recommender(model_of(name)).fit(ratings) for name in FAMILIES}


@pytest.fixture(params=FAMILIES)
def rec(request, fitted, tmp_path):
    """A recommender of each family, one's own copy."""
    file = tmp_path / "model"
    fitted[request.param].save(file)
    return ct.load(file)

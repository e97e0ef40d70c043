"""A small table of users with two tastes, and a recommender of every family fitted to it."""

from __future__ import annotations

import pytest
from tests.support.small_models import model_of, two_tastes

import coterie as ct

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
    """A recommender of each family, a copy that the test may change."""
    file = tmp_path / "model"
    fitted[request.param].save(file)
    return ct.load_recommender(file)

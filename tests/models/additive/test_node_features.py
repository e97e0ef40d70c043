"""Features of users and items."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from coterie.base.lazy_modules import scipy_sparse_linalg
from coterie.models.additive.node_features import node_features


def blas_threads() -> list[int]:
    return [
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    ]


def test_singular_vectors_are_computed_by_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    during: list[list[int]] = []
    svds = scipy_sparse_linalg.svds

    def noting(*args: object, **options: object) -> object:
        during.append(blas_threads())
        return svds(*args, **options)

    monkeypatch.setattr(scipy_sparse_linalg, "svds", noting)
    rng = np.random.default_rng(0)
    users, items = np.arange(900) % 300, rng.integers(0, 250, 900)
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        node_features(users, items, np.zeros((300, 0)), np.zeros((250, 0)))
        assert blas_threads() == before
    assert during and all(set(threads) == {1} for threads in during)

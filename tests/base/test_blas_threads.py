"""BLAS uses one thread inside the block, and as many as before after it."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.base import blas_threads
from coterie.base.lazy_modules import scipy_sparse_linalg
from coterie.models.additive.node_features import node_features


@pytest.fixture
def libraries() -> list[blas_threads._Library]:
    np.eye(2) @ np.eye(2)
    scipy_sparse_linalg.svds  # noqa: B018  SciPy's own library is loaded with it
    found = blas_threads._libraries()
    if not found:
        pytest.skip("NumPy and SciPy bring no OpenBLAS of their own")
    return found


def test_one_thread_inside_and_the_same_number_after(
    libraries: list[blas_threads._Library],
) -> None:
    before = [library.get() for library in libraries]
    try:
        for library in libraries:
            library.set(2)
        with blas_threads.one_blas_thread():
            assert [library.get() for library in libraries] == [1] * len(libraries)
        assert [library.get() for library in libraries] == [2] * len(libraries)
    finally:
        for library, threads in zip(libraries, before, strict=True):
            library.set(threads)


def test_singular_vectors_are_computed_by_one_thread(
    libraries: list[blas_threads._Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    svds = scipy_sparse_linalg.svds

    def noting(*args: object, **options: object) -> object:
        threads.extend(library.get() for library in libraries)
        return svds(*args, **options)

    monkeypatch.setattr(scipy_sparse_linalg, "svds", noting)
    rng = np.random.default_rng(0)
    users, items = np.arange(900) % 300, rng.integers(0, 250, 900)
    node_features(users, items, np.zeros((300, 0)), np.zeros((250, 0)))
    assert threads == [1] * len(libraries)

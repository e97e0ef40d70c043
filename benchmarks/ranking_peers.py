"""Rankings of other methods, written plainly or taken from a library, for benchmarks/recommend.py.

Each method gets a 0/1 table of users x items to learn from and a table of the same items for the
users to rank for, and returns a function from user rows to scores. `fold_in` says that the users
may be different from those of the training table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

Scores = Callable[[np.ndarray], np.ndarray]


def popularity(train: csr_array, own: csr_array) -> Scores:
    """Score every item by the number of its users."""
    counts = np.asarray(train.sum(axis=0)).ravel()
    return lambda rows: np.tile(counts, (len(rows), 1))


def ease(penalty: float) -> Callable[[csr_array, csr_array], Scores]:
    """EASE (Steck 2019), by the inverse of items x items."""

    def run(train: csr_array, own: csr_array) -> Scores:
        gram = (train.T @ train).toarray()
        gram[np.diag_indices(len(gram))] += penalty
        P = np.linalg.inv(gram)
        B = -P / np.diag(P)
        B[np.diag_indices(len(B))] = 0
        return lambda rows: own[rows] @ B

    return run


def item_knn(neighbours: int, shrinkage: float) -> Callable[[csr_array, csr_array], Scores]:
    """Item-based nearest neighbours by shrunk cosine."""

    def run(train: csr_array, own: csr_array) -> Scores:
        together = (train.T @ train).toarray()
        size = np.sqrt(np.diag(together))
        similarity = together / (np.outer(size, size) + shrinkage + 1e-12)
        np.fill_diagonal(similarity, 0)
        if neighbours < len(similarity):
            least = np.partition(similarity, -neighbours, axis=0)[-neighbours]
            similarity[similarity < least] = 0
        return lambda rows: own[rows] @ similarity

    return run


def implicit_als(
    factors: int, regularization: float, alpha: float
) -> Callable[[csr_array, csr_array], Scores]:
    """AlternatingLeastSquares of the package implicit, one thread."""

    def run(train: csr_array, own: csr_array) -> Scores:
        import implicit

        model = implicit.als.AlternatingLeastSquares(
            factors=factors,
            regularization=regularization,
            alpha=alpha,
            iterations=15,
            random_state=0,
            num_threads=1,
        )
        model.fit(_float32(train), show_progress=False)
        items = np.asarray(model.item_factors)

        def scores(rows: np.ndarray) -> np.ndarray:
            users = model.recalculate_user(np.arange(len(rows)), _float32(own[rows]))
            return np.asarray(users) @ items.T

        return scores

    return run


def implicit_bpr(train: csr_array, own: csr_array) -> Scores:
    """BayesianPersonalizedRanking of the package implicit, default settings, one thread."""
    import implicit

    model = implicit.bpr.BayesianPersonalizedRanking(random_state=0, num_threads=1)
    model.fit(_float32(train), show_progress=False)
    users, items = np.asarray(model.user_factors), np.asarray(model.item_factors)
    return lambda rows: users[rows] @ items.T


def _float32(table: csr_array) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix(table, dtype=np.float32)


# name -> (method, settings, whether it can rank for users who were not in the training data)
METHODS: dict[str, tuple[Callable[[csr_array, csr_array], Scores], str, bool]] = {
    "popularity": (popularity, "number of users", True),
    "ItemKNN": (item_knn(100, 10.0), "cosine, 100 neighbours, shrinkage 10", True),
    "EASE, 250": (ease(250.0), "penalty 250", True),
    "EASE, 500": (ease(500.0), "penalty 500", True),
    "implicit ALS, default": (
        implicit_als(64, 0.01, 1.0),
        "64 factors, regularization .01, alpha 1",
        True,
    ),
    "implicit ALS, regularized": (
        implicit_als(32, 5.0, 10.0),
        "32 factors, regularization 5, alpha 10",
        True,
    ),
    "implicit BPR": (implicit_bpr, "default settings", False),
}

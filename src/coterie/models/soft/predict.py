"""Predictions of a soft model, for `recommend/` and for the held-out entropy.

Memberships and theta have the shapes of a fitted model's attributes: n × k, m × l and k × l × R.
"""

from __future__ import annotations

import numpy as np

from coterie.data import Ratings
from coterie.kernels.soft.predict import fold_in, pair_probabilities
from coterie.models.soft.state import SoftState

_LEAST_PROBABILITY = 1e-12
_BLOCK = 1 << 18  # pairs at a time, to limit memory


def pair_distribution(
    rows: np.ndarray,
    columns: np.ndarray,
    row_memberships: np.ndarray,
    column_memberships: np.ndarray,
    theta: np.ndarray,
) -> np.ndarray:
    """Return the distribution over values of each pair (rows[e], columns[e]): pairs × R.

    The expected rating of Prost & Yoon (section 5.1) is its mean. If theta includes "not rated",
    the distribution is conditional on the pair being rated.

    >>> h = np.array([[1.0, 0.0], [0.5, 0.5]])
    >>> theta = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.5, 0.5], [0.0, 1.0]]])
    >>> pair_distribution(np.array([0, 1]), np.array([0, 1]), h, h, theta).round(2).tolist()
    [[0.9, 0.1], [0.45, 0.55]]
    """
    layers = np.ascontiguousarray(np.moveaxis(np.asarray(theta, np.float64), 2, 0))
    h_rows = np.ascontiguousarray(row_memberships, np.float64)
    h_columns = np.ascontiguousarray(column_memberships, np.float64)
    u, v = np.asarray(rows, np.int32), np.asarray(columns, np.int32)
    distribution = np.empty((len(u), len(layers)))
    order = np.argsort(u, kind="stable")
    for begin in range(0, len(u), _BLOCK):
        part = order[begin : begin + _BLOCK]
        distribution[part] = pair_probabilities(u[part], v[part], h_rows, h_columns, layers)
    total = distribution.sum(axis=1, keepdims=True)
    even = 1.0 / max(len(layers), 1)  # for a pair that is impossible under the model
    shares: np.ndarray = np.divide(
        distribution, total, out=np.full_like(distribution, even), where=total > 0
    )
    return shares


def fold_in_rows(
    indptr: np.ndarray,
    columns: np.ndarray,
    levels: np.ndarray,
    column_memberships: np.ndarray,
    theta: np.ndarray,
    *,
    start: np.ndarray | None = None,
    prior: float = 0.0,
    max_iter: int = 200,
    tol: float = 1e-8,
) -> np.ndarray:
    """Compute memberships of new rows by EM, with the other side and theta fixed.

    This is line 7 of Algorithm 8 of Prost & Yoon (MMSBM), repeated. Row u observed columns[e] at
    level levels[e] for e in indptr[u]:indptr[u + 1]. EM starts from `start` (new rows × k), by
    default from uniform memberships.

    >>> theta = np.array([[[0.9, 0.1]], [[0.1, 0.9]]])
    >>> fold_in_rows(np.array([0, 2]), [0, 0], [1, 1], np.ones((1, 1)), theta).round(6).tolist()
    [[0.0, 1.0]]
    """
    layers = np.ascontiguousarray(np.moveaxis(np.asarray(theta, np.float64), 2, 0))
    n, k = len(indptr) - 1, layers.shape[1]
    first = np.full((n, k), 1.0 / k) if start is None else np.array(start, np.float64)
    memberships: np.ndarray = fold_in(
        np.asarray(indptr, np.int64),
        np.asarray(columns, np.int32),
        np.asarray(levels, np.int32),
        first,
        np.ascontiguousarray(column_memberships, np.float64),
        layers,
        float(prior),
        int(max_iter),
        float(tol),
    )
    return memberships


def held_out_entropy(ratings: Ratings, state: SoftState) -> float:
    """Return the -log likelihood of held-out ratings, conditional on being rated.

    A rating that is impossible under the state counts as a probability of 1e-12.
    """
    theta = np.moveaxis(state.theta[: len(ratings.values)], 0, 2)
    p = pair_distribution(ratings.users, ratings.items, state.rows, state.columns, theta)
    return float(
        -np.log(np.maximum(p[np.arange(len(ratings)), ratings.codes], _LEAST_PROBABILITY)).sum()
    )

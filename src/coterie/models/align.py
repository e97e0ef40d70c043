"""Groups have no names: which group of one run is which of another?"""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from coterie.base.errors import InputError

T = TypeVar("T")


def matching(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """order such that b[:, order] is most like a: the assignment of the largest shared membership.

    `a` and `b` are memberships (nodes × groups) or labels of the same nodes. Groups of b that
    match nothing (b has more) come last.

    >>> matching(np.array([0, 0, 1]), np.array([1, 1, 0]))
    array([1, 0])
    """
    first, second = _memberships(a), _memberships(b)
    if len(first) != len(second):
        raise InputError(
            f"{len(first)} and {len(second)} nodes cannot be matched",
            remedy="align two clusterings of the same nodes",
        )
    of_a, of_b = linear_sum_assignment(first.T @ second, maximize=True)
    matched = of_b[np.argsort(of_a)]
    return np.concatenate([matched, np.setdiff1d(np.arange(second.shape[1]), matched)])


def align(a: Any, b: T) -> T:
    """`b` with its groups renumbered so that they match those of `a`.

    Both are memberships (nodes × groups), labels, or fitted models of the same nodes; what comes
    back is a new array or model of b's kind, its theta renumbered too (`runs_` stays as it was).

    >>> align(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    array([[1., 0.],
           [0., 1.]])
    >>> align(np.array([0, 0, 1]), np.array([1, 1, 0]))
    array([0, 0, 1])
    """
    if isinstance(b, np.ndarray):
        order = matching(np.asarray(a), b)
        return _renumbered(b, order)  # type: ignore[return-value]
    if not hasattr(b, "theta_"):
        raise InputError(
            f"a {type(b).__name__} has no memberships to align",
            remedy="give arrays of memberships or labels, or fitted soft models",
        )
    aligned: Any = copy.copy(b)
    if hasattr(b, "memberships_"):
        row_order = column_order = matching(a.memberships_, b.memberships_)
        aligned.memberships_ = b.memberships_[:, row_order]
    else:
        row_order = matching(a.user_memberships_, aligned.user_memberships_)
        column_order = matching(a.item_memberships_, aligned.item_memberships_)
        aligned.user_memberships_ = aligned.user_memberships_[:, row_order]
        aligned.item_memberships_ = aligned.item_memberships_[:, column_order]
    aligned.theta_ = aligned.theta_[np.ix_(row_order, column_order)]
    return aligned  # type: ignore[no-any-return]


def _memberships(given: np.ndarray) -> np.ndarray:
    if given.ndim == 2:
        return given
    labels = np.zeros((len(given), int(given.max(initial=-1)) + 1))
    labels[np.arange(len(given)), given] = 1.0
    return labels


def _renumbered(given: np.ndarray, order: np.ndarray) -> np.ndarray:
    if given.ndim == 2:
        return given[:, order]
    place = np.empty(len(order), given.dtype)
    place[order] = np.arange(len(order))
    renumbered: np.ndarray = place[given]
    return renumbered

"""Match the groups of two runs: group numbers are arbitrary, so run a's 0 may be run b's 3."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import numpy as np

from coterie.base.errors import InputError

T = TypeVar("T")


def matching(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the order for which b[:, order] shares the most membership with a.

    `a` and `b` are memberships (nodes × groups) or labels of the same nodes. If b has more groups,
    those without a match come last.

    >>> matching(np.array([0, 0, 1]), np.array([1, 1, 0]))
    array([1, 0])
    """
    first, second = _memberships(a), _memberships(b)
    if len(first) != len(second):
        raise InputError(
            f"{len(first)} and {len(second)} nodes cannot be matched",
            remedy="align two clusterings of the same nodes",
        )
    from scipy.optimize import linear_sum_assignment  # here: loading it takes long

    of_a, of_b = linear_sum_assignment(first.T @ second, maximize=True)
    matched = of_b[np.argsort(of_a)]
    return np.concatenate([matched, np.setdiff1d(np.arange(second.shape[1]), matched)])


def align(a: Any, b: T) -> T:
    """Renumber the groups of `b` so that they match those of `a`.

    Group numbers are arbitrary and differ from run to run. The match maximises the shared
    membership (linear assignment).

    Parameters
    ----------
    a : ndarray or fitted MMSBM or MCMMSBM
        The groups to match: memberships (nodes × groups), integer labels, or a fitted model.
    b : ndarray or fitted MMSBM or MCMMSBM
        The groups to renumber, of the same kind and of the same nodes.

    Returns
    -------
    ndarray or model
        A copy of `b` with its groups renumbered. In a model, memberships and `theta_` are
        renumbered; `runs_` is not.

    Raises
    ------
    InputError
        If `a` and `b` have different numbers of nodes, or if `b` has no memberships.

    Examples
    --------
    >>> import numpy as np
    >>> import coterie as ct
    >>> ct.align(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    array([[1., 0.],
           [0., 1.]])
    >>> ct.align(np.array([0, 0, 1]), np.array([1, 1, 0]))
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
        user_order = item_order = matching(a.memberships_, b.memberships_)
        aligned.memberships_ = b.memberships_[:, user_order]
    else:
        user_order = matching(a.user_memberships_, aligned.user_memberships_)
        item_order = matching(a.item_memberships_, aligned.item_memberships_)
        aligned.user_memberships_ = aligned.user_memberships_[:, user_order]
        aligned.item_memberships_ = aligned.item_memberships_[:, item_order]
    aligned.theta_ = aligned.theta_[np.ix_(user_order, item_order)]
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

"""Small helpers for block labels and entropies, shared by clustering, releases and reports."""

from __future__ import annotations

import numpy as np


def renumber(labels: np.ndarray) -> np.ndarray:
    """Return the same partition with block numbers 0..k-1 without gaps (int32).

    >>> renumber(np.array([7, 3, 7]))
    array([1, 0, 1], dtype=int32)
    """
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def renumber_sides(
    labels: tuple[np.ndarray, ...],
) -> tuple[tuple[np.ndarray, ...], tuple[int, ...]]:
    """Renumber the labels of each side; return them and the number of blocks per side.

    A graph has one side (its nodes), a ratings table has two (users and items).

    >>> renumber_sides((np.array([4, 2, 4]),))
    ((array([1, 0, 1], dtype=int32),), (2,))
    """
    renumbered = tuple(renumber(side) for side in labels)
    return renumbered, tuple(int(side.max(initial=-1)) + 1 for side in renumbered)


def x_log_x(x: np.ndarray | float) -> np.ndarray:
    """Return x log x elementwise, with 0 log 0 = 0.

    >>> x_log_x(np.array([0.0, 1.0, np.e]))
    array([0.        , 0.        , 2.71828183])
    """
    return np.asarray(x * np.log(np.where(np.asarray(x) > 0, x, 1.0)))

"""Blocks, their edges and the degrees of their members, all from noisy answers."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

_TILT_ROUNDS = 30
_TILT_STEP = 0.5
_OFFSET = 0.3  # added to degrees before the logarithm, so that degree 0 can be ranked too
_FIT_ROUNDS = 60
_MAX_DENSITY = 0.95  # largest share of the pairs of a cell that are edges
_TINY = 1e-12


def spread_negative(values: np.ndarray) -> np.ndarray:
    """Return values >= 0 with the same sum: one constant is subtracted, and negatives become 0.

    The sum of noisy counts is more accurate than the counts, so it is kept. A negative sum
    becomes 0.

    >>> spread_negative(np.array([5.0, -1.0, 2.0]))
    array([4.5, 0. , 1.5])
    """
    total = max(float(values.sum()), 0.0)
    falling = np.sort(values.ravel())[::-1].astype(np.float64)
    if not len(falling):
        return values.astype(np.float64)
    excess = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    kept = np.flatnonzero(falling > excess)
    constant = excess[kept[-1]] if len(kept) and total > 0 else np.inf
    return np.maximum(values - constant, 0.0)


def ends_between(upper: np.ndarray, n_edges: int) -> np.ndarray:
    """Return the symmetric matrix of edge ends between groups, with the sum 2 `n_edges`.

    `upper` has the noisy number of edges of each pair of groups in its upper triangle.
    """
    rows, columns = np.triu_indices(len(upper))
    counts = spread_negative(upper[rows, columns].astype(np.float64))
    ends = np.zeros(upper.shape)
    np.add.at(ends, (rows, columns), counts)
    np.add.at(ends, (columns, rows), counts)
    total = ends.sum()
    if total > 0:
        return np.asarray(ends * (2 * n_edges / total))
    return np.full(upper.shape, 2 * n_edges / max(upper.size, 1))


def deal_degrees(
    sequence: np.ndarray,
    samples: np.ndarray,
    block: np.ndarray,
    block_ends: np.ndarray,
    rng: Generator,
) -> np.ndarray:
    """Give each node a degree of the falling `sequence`, so that blocks get their edge ends.

    Nodes are ranked by their sampled degrees. Each block has a factor on the samples of its
    members; the factors are adjusted until the degrees of the block sum to `block_ends`. The
    degree distribution is always exactly that of the sequence.
    """
    n_blocks = len(block_ends)
    scores = np.log(samples + _OFFSET) + 1e-3 * rng.random(len(samples))
    tilt = np.zeros(n_blocks)
    wanted = block_ends * (sequence.sum() / max(float(block_ends.sum()), _TINY))
    degrees = np.empty_like(sequence)
    for _ in range(_TILT_ROUNDS):
        degrees[np.argsort(-(scores + tilt[block]), kind="stable")] = sequence
        dealt = np.bincount(block, degrees, n_blocks)
        tilt += _TILT_STEP * np.clip(np.log((wanted + 1) / (dealt + 1)), -1.0, 1.0)
    return degrees


def fit_cells(cells: np.ndarray, ends: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return a symmetric integer matrix of ends close to `cells`, with row sums close to `ends`.

    Rows and columns are scaled in turn. No cell has more edges than `_MAX_DENSITY` of its pairs.
    Numbers on the diagonal are even, since an edge inside a class has both ends there.
    """
    n = sizes.astype(np.float64)
    room = _MAX_DENSITY * (np.outer(n, n) - np.diag(n))
    fitted = np.minimum(cells, room)
    for _ in range(_FIT_ROUNDS):
        factor = np.sqrt(ends / np.maximum(fitted.sum(1), _TINY))
        fitted = np.minimum(fitted * np.clip(np.outer(factor, factor), 1e-6, 1e6), room)
    whole = np.rint(fitted).astype(np.int64)
    np.fill_diagonal(whole, 2 * np.rint(np.diag(fitted) / 2).astype(np.int64))
    return np.asarray(np.maximum(whole, whole.T))


def adjust_to_sums(
    degrees: np.ndarray, label: np.ndarray, sums: np.ndarray, rng: Generator
) -> np.ndarray:
    """Change degrees by one, at nodes drawn in proportion to degree, until classes have `sums`."""
    degrees = degrees.copy()
    order = np.argsort(label, kind="stable")
    start = np.r_[0, np.cumsum(np.bincount(label, minlength=len(sums)))]
    missing = sums - np.bincount(label, degrees, len(sums)).astype(np.int64)
    for group in np.flatnonzero(missing):
        members = order[start[group] : start[group + 1]]
        left = int(missing[group])
        while left and len(members):
            sign = 1 if left > 0 else -1
            weight = degrees[members].astype(np.float64)
            weight[(weight <= 1) if sign < 0 else (weight < 0)] = 0.0
            if weight.sum() == 0:  # no node with two ends to take from, or with one to add to
                allowed = (degrees[members] > 0) | (sign > 0)
                weight = allowed.astype(np.float64)
            possible = np.flatnonzero(weight)
            if not len(possible):
                break
            count = min(abs(left), len(possible))
            # The largest of log(u) / weight are a sample without replacement
            keys = np.log(np.maximum(rng.random(len(possible)), 1e-300)) / weight[possible]
            chosen = members[possible[np.argpartition(-keys, count - 1)[:count]]]
            degrees[chosen] += sign
            left -= sign * count
    return degrees

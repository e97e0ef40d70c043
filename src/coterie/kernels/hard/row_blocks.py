"""A range of rows of an adjacency (a shard), and the statistics that follow from it alone.

Used by `models/hard/costs/worker_rows.py` and by the engine, which stores shards. Each worker
counts the rows it holds; the sums over all shards are the statistics of `statistics.py`. They are
whole numbers in float64 (unless weights are fractions), so the order of summation does not matter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.kernels.hard.statistics import edge_slots, has_degree_slot, shift
from coterie.kernels.numba.compile import njit


class RowBlock(NamedTuple):
    """Rows first, first + 1, … of an adjacency; channels and weights are empty if all are equal."""

    first: int
    indptr: np.ndarray  # int64, rows + 1, from 0
    indices: np.ndarray  # int32, node numbers in the whole graph
    channels: np.ndarray  # int32, one per index, or empty
    weights: np.ndarray  # float64, one per index, or empty


@njit(forceinline=True, cache=True)
def _profile(model, block, labels, moved, q, row, x, touched):
    """Fill the profile of one row (x, touched: OUT); return the number of slots touched.

    An edge between two nodes that move counts only once, for the node with the higher number.
    The degree slot counts every edge: it belongs to the node, not to a pair."""
    v = block.first + row
    m, degree = 0, 0.0
    for e in range(block.indptr[row], block.indptr[row + 1]):
        u = block.indices[e]
        w = block.weights[e] if len(block.weights) > 0 else 1.0
        degree += w
        if w == 0.0 or (len(moved) > 0 and moved[u] and u < v):
            continue
        s = np.int64(labels[u])
        if len(block.channels) > 0:
            s += block.channels[e] * q
        if x[s] == 0.0:
            touched[m] = s
            m += 1
        x[s] += w
    if has_degree_slot(model) and degree > 0.0:
        touched[m] = edge_slots(model, q)
        x[touched[m]] = degree
        m += 1
    return m


@njit(nogil=True, cache=True)
def count_changes(model, block, stats, own_old, own_new, old, new, moved, rows):
    """Add to stats (IN/OUT, zeros at the start) what changes when `rows` of the block move.

    own_old, own_new: labels of the side that moves; old, new: labels of the other end (with one
    node set: the same arrays); moved: uint8 over the other end, empty with two node sets, where
    the other end does not move. Sizes change too."""
    q = len(stats.others)
    x = np.zeros(len(stats.counts))
    touched = np.zeros(len(stats.counts), np.int64)
    for i in range(len(rows)):
        v = block.first + rows[i]
        for labels, own, sign in ((old, own_old, -1.0), (new, own_new, 1.0)):
            m = _profile(model, block, labels, moved, q, rows[i], x, touched)
            shift(model, stats, own[v], sign, x, touched, m)
            for t in range(m):
                x[touched[t]] = 0.0


@njit(nogil=True, cache=True)
def moves_allowed(labels, sizes, elements, wanted, min_size):
    """Return which moves `apply_moves` would make: those that change a label and leave at least
    `min_size` nodes in each block."""
    left = sizes.copy()
    made = np.zeros(len(elements), np.bool_)
    for i in range(len(elements)):
        a, b = labels[elements[i]], wanted[i]
        if a != b and left[a] - 1.0 >= min_size:
            made[i] = True
            left[a] -= 1.0
            left[b] += 1.0
    return made

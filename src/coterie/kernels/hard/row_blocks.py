"""A block of rows of an adjacency, and the statistics that can be had from it alone.

The parts of a graph that a cluster works on. Whoever holds a block counts its own rows; the sums
of all blocks are the statistics of kernels/blocks.py. They are whole numbers in float64 (unless
weights are fractions), so the order of adding does not show.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from coterie.kernels.hard.statistics import edge_slots, has_degree_slot, shift


class RowBlock(NamedTuple):
    """Rows first, first + 1, … of an adjacency; channels and weights are empty where all alike."""

    first: int
    indptr: np.ndarray  # int64, rows + 1, from 0
    indices: np.ndarray  # int32, numbers of the whole graph
    channels: np.ndarray  # int32 beside indices, or empty
    weights: np.ndarray  # float64 beside indices, or empty


@njit(inline="always", cache=True)
def _profile(model, block, labels, moved, q, row, x, touched):
    """The slots of one row (x, touched: OUT); a pair of movers counts for the higher number only.

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

    own_old, own_new: labels of the side that moves; old, new: of the other end (the same arrays in
    one node set); moved: uint8 over the other end, empty with two node sets, where nobody there
    moves. Sizes change too."""
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
def moves_allowed(labels, sizes, elements, wanted, least):
    """Which moves apply_moves would make: they change a label and leave no block under `least`"""
    left = sizes.copy()
    made = np.zeros(len(elements), np.bool_)
    for i in range(len(elements)):
        a, b = labels[elements[i]], wanted[i]
        if a != b and left[a] - 1.0 >= least:
            made[i] = True
            left[a] -= 1.0
            left[b] += 1.0
    return made

"""Block statistics as sparse rows, one row per block, for any number of blocks.

Used by `models/hard/search/agglomerate.py` and `description_length.py`. `statistics.py` keeps a
dense (slots, k) matrix, which suits moving nodes among k blocks. Merging starts with one block per
node, so only the slots that a block touches fit into memory:

    slot     channel * q + j, as in statistics.py
    indptr   row r, one block, holds slots[indptr[r]:indptr[r + 1]] in rising order
    values   the total of block r in each slot; an inner edge of an undirected graph counts once
    roots    square roots of values; empty where they are not needed
    mass     the divisor that makes rows comparable: nodes, or the degree sum if the model has no
             pairs (degree correction, ratings)
    total    the sum of the row's values over channels with a positive sign, inner edges twice
    rate     total / mass, or 0 without mass
    scale    1 / sqrt(mass), or 0 without mass
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.kernels.hard.cell_costs import PLAIN
from coterie.kernels.hard.statistics import ONE_WAY
from coterie.kernels.numba.compile import njit

DENSE_ROW = 8  # a row with more than this part of all slots is not sorted: all slots are visited


class SparseRows(NamedTuple):
    """One sparse row of statistics per block, and one value of each summary per block."""

    indptr: np.ndarray  # int64, blocks + 1
    slots: np.ndarray  # int64
    values: np.ndarray  # float64
    roots: np.ndarray  # float64
    sizes: np.ndarray  # float64 (blocks,), nodes per block
    mass: np.ndarray  # float64 (blocks,)
    total: np.ndarray  # float64 (blocks,)
    rate: np.ndarray  # float64 (blocks,)
    scale: np.ndarray  # float64 (blocks,)


@njit(nogil=True, cache=True)
def members_of(labels, k):
    """Return (start, nodes): the nodes of block r are nodes[start[r]:start[r + 1]], rising."""
    start = np.zeros(k + 1, np.int64)
    for v in range(len(labels)):
        start[labels[v] + 1] += 1
    for r in range(k):
        start[r + 1] += start[r]
    nodes = np.empty(len(labels), np.int64)
    place = start[:k].copy()
    for v in range(len(labels)):
        nodes[place[labels[v]]] = v
        place[labels[v]] += 1
    return start, nodes


@njit(nogil=True, cache=True)
def contract(model, adjacency, labels, k, other_labels, q, rooted=True):
    """Return the SparseRows of k blocks; the other ends have q blocks. O(edges) plus sorting.

    `rooted`: whether the square roots are needed."""
    indptr, indices, channels, weights = adjacency
    start, nodes = members_of(labels, k)
    one_way = model.layout == ONE_WAY
    counted = np.zeros(max(1, len(model.signs) * q))
    touched = np.empty(len(counted), np.int64)
    out_indptr = np.zeros(k + 1, np.int64)
    slots = np.empty(len(indices), np.int64)
    values = np.empty(len(indices))
    sizes, total = np.zeros(k), np.zeros(k)
    end = 0
    for r in range(k):
        m = 0
        for i in range(start[r], start[r + 1]):
            v = nodes[i]
            for e in range(indptr[v], indptr[v + 1]):
                s = np.int64(other_labels[indices[e]])
                if len(channels) > 0:
                    s += channels[e] * q
                w = weights[e] if len(weights) > 0 else 1.0
                if counted[s] == 0.0 and w > 0.0:
                    touched[m] = s
                    m += 1
                counted[s] += w
        inner = r if one_way else -1
        end, total[r] = end_row(model, inner, q, counted, touched, m, slots, values, end)
        out_indptr[r + 1] = end
        sizes[r] = start[r + 1] - start[r]
    return finished_rows(model, out_indptr, slots[:end], values[:end], sizes, total, rooted)


@njit(nogil=True, cache=True)
def contract_rows(model, rows, into, k, other_into, q, rooted=True):
    """Return the SparseRows after blocks were merged: block r became part of into[r], of k, and
    block j of the other ends part of other_into[j], of q. O(entries of the rows) plus sorting.

    With one node set `other_into` is `into`."""
    start, parts = members_of(into, k)
    one_way = model.layout == ONE_WAY
    before = len(other_into)
    counted = np.zeros(max(1, len(model.signs) * q))
    touched = np.empty(len(counted), np.int64)
    out_indptr = np.zeros(k + 1, np.int64)
    slots = np.empty(len(rows.slots), np.int64)
    values = np.empty(len(rows.slots))
    sizes, total = np.zeros(k), np.zeros(k)
    end = 0
    for r in range(k):
        m = 0
        for i in range(start[r], start[r + 1]):
            part = parts[i]
            sizes[r] += rows.sizes[part]
            for e in range(rows.indptr[part], rows.indptr[part + 1]):
                channel, j = rows.slots[e] // before, rows.slots[e] % before
                s = channel * q + other_into[j]
                if counted[s] == 0.0:
                    touched[m] = s
                    m += 1
                # an inner edge counts once in `values`, and twice here
                counted[s] += 2.0 * rows.values[e] if one_way and j == part else rows.values[e]
        inner = r if one_way else -1
        end, total[r] = end_row(model, inner, q, counted, touched, m, slots, values, end)
        out_indptr[r + 1] = end
    return finished_rows(model, out_indptr, slots[:end], values[:end], sizes, total, rooted)


@njit(forceinline=True, cache=True)
def end_row(model, inner, q, counted, touched, m, slots, values, end):
    """Append a row with the m slots that were `touched`, rising, and set `counted` to 0 again.

    inner: the slot in which every edge was counted twice, or -1. Return (end, total of the row).
    """
    total = 0.0
    if m * DENSE_ROW > len(counted):
        m = 0
        for s in range(len(counted)):
            if counted[s] != 0.0:
                touched[m] = s
                m += 1
    else:
        touched[:m].sort()
    for i in range(m):
        s = touched[i]
        if model.signs[s // q] > 0.0:
            total += counted[s]
        slots[end] = s
        values[end] = 0.5 * counted[s] if s == inner else counted[s]
        counted[s] = 0.0
        end += 1
    return end, total


@njit(nogil=True, cache=True)
def finished_rows(model, indptr, slots, values, sizes, total, rooted):
    """Return the SparseRows with their summaries."""
    k = len(sizes)
    mass, rate, scale = np.zeros(k), np.zeros(k), np.zeros(k)
    for r in range(k):
        mass[r] = total[r] if model.kind == PLAIN else sizes[r]
        if mass[r] > 0.0:
            rate[r] = total[r] / mass[r]
            scale[r] = 1.0 / np.sqrt(mass[r])
    roots = np.sqrt(values) if rooted else np.empty(0)
    return SparseRows(indptr, slots, values, roots, sizes, mass, total, rate, scale)

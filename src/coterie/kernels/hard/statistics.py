"""Block statistics of a hard clustering: their layout, how to count them, how to move nodes.

Used by `models/hard/costs/block_objective.py`.

A node that moves sees the rest of the graph as *slots*: slot s = channel * q + j means "block j of
the other end, through this channel". Every model is a choice of channels:

    simple, weighted   1 channel: edges to block j
    degree-corrected   the same, and one more slot (the last) that counts degrees
    directed           2 channels: edges to block j, edges from block j
    likes              1 channel, two node sets
    ratings            one channel per rating level, and one for their sum (two node sets)

    k, q     blocks of the side that moves, blocks at the other end (q = k in one node set)
    counts   (slots, k): counts[s, y] is the total of the nodes of block y in slot s. A row is
             contiguous over y, the labels a node may take, because inner loops run over y
    x        (slots,): the profile of one node, its total in each slot
    touched  the slots where x > 0, in rising order
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.kernels.hard.cell_costs import PLAIN
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.prefetch import prefetch

ONE_WAY = 0  # one node set, undirected
TWO_WAY = 1  # one node set, directed
TWO_SETS = 2  # users and items, each with labels of their own

_AHEAD = 2  # elements between prefetching neighbours, prefetching their labels, and using both
_FETCHED = 64  # labels to prefetch; more would evict cache lines that are still needed


class BlockModel(NamedTuple):
    """An objective, in the form that kernels take."""

    kind: int  # BERNOULLI, POISSON or PLAIN (cell_costs.py)
    layout: int
    signs: np.ndarray  # float64, one per channel: +1 or -1, the sign of g(d)
    table: np.ndarray  # float64, g of small integers


class Adjacency(NamedTuple):
    """The neighbours of the side that moves; channels and weights are empty if all are equal."""

    indptr: np.ndarray  # int64, n + 1
    indices: np.ndarray  # int32
    channels: np.ndarray  # int32, one per index, or empty: all 0
    weights: np.ndarray  # float64, one per index, or empty: all 1


class BlockStats(NamedTuple):
    """Block statistics as one side sees them.

    `others` and `mirror` belong to the other side (with one node set: the same arrays)."""

    counts: np.ndarray  # float64 (slots, k)
    sizes: np.ndarray  # float64 (k,)
    others: np.ndarray  # float64 (q,)
    mirror: np.ndarray  # float64 (slots of the other side, q)


@njit(forceinline=True, cache=True)
def edge_slots(model, q):
    """Return the number of slots that count edges: all but the degree slot."""
    return (len(model.signs) if model.layout == TWO_SETS else model.layout + 1) * q


@njit(forceinline=True, cache=True)
def has_degree_slot(model):
    """Return whether the last slot counts degrees (degree-corrected graphs)."""
    return model.kind == PLAIN and model.layout != TWO_SETS


@njit(nogil=True, cache=True)
def count(model, adjacency, labels, other_labels, q, counts, sizes):
    """Fill counts (OUT, zeros) and sizes (OUT, zeros) from labels in O(edges)."""
    indptr, indices, channels, weights = adjacency
    degree = edge_slots(model, q)
    for v in range(len(labels)):
        y = labels[v]
        sizes[y] += 1.0
        for e in range(indptr[v], indptr[v + 1]):
            s = other_labels[indices[e]]
            if len(channels) > 0:
                s += channels[e] * q
            w = weights[e] if len(weights) > 0 else 1.0
            counts[s, y] += w
            if has_degree_slot(model):
                counts[degree, y] += w
    if model.layout == ONE_WAY:
        for y in range(len(sizes)):  # an inner edge was seen from both its ends
            counts[y, y] *= 0.5


@njit(nogil=True, cache=True)
def profile(model, adjacency, other_labels, q, v, x, touched):
    """Fill x (IN zeros, OUT) and touched (OUT, rising) for node v; return the number touched.

    Rising order makes every later sum a function of the profile alone, not of node numbers."""
    indptr, indices, channels, weights = adjacency
    m = 0
    degree = 0.0
    for e in range(indptr[v], indptr[v + 1]):
        s = np.int64(other_labels[indices[e]])
        if len(channels) > 0:
            s += channels[e] * q
        w = weights[e] if len(weights) > 0 else 1.0
        if w == 0.0:  # x[s] would stay 0 and the slot be listed repeatedly
            continue
        if x[s] == 0.0:
            touched[m] = s
            m += 1
        x[s] += w
        degree += w
    if m > 48:
        m = 0
        for s in range(len(x)):
            if x[s] != 0.0:
                touched[m] = s
                m += 1
    else:
        for i in range(1, m):
            s, h = touched[i], i
            while h > 0 and touched[h - 1] > s:
                touched[h] = touched[h - 1]
                h -= 1
            touched[h] = s
    if has_degree_slot(model) and degree > 0.0:
        touched[m] = edge_slots(model, q)
        x[touched[m]] = degree
        m += 1
    return m


@njit(forceinline=True, cache=True)
def fetch_ahead(adjacency, other_labels, elements, i):
    """Prefetch what `profile` will read of the next elements: neighbours, then their labels."""
    if i + 2 * _AHEAD < len(elements):
        prefetch(adjacency.indices, adjacency.indptr[elements[i + 2 * _AHEAD]])
    if i + _AHEAD < len(elements):
        v = elements[i + _AHEAD]
        first = adjacency.indptr[v]
        for e in range(first, min(adjacency.indptr[v + 1], first + _FETCHED)):
            prefetch(other_labels, adjacency.indices[e])


@njit(nogil=True, cache=True)
def shift(model, stats, a, sign, x, touched, m):
    """Remove a node with this profile from block a (sign -1) or add it (sign +1)."""
    counts, sizes, others, mirror = stats
    q = len(others)
    edges = edge_slots(model, q)
    sizes[a] += sign
    for i in range(m):
        s = touched[i]
        counts[s, a] += sign * x[s]
        if s >= edges:
            continue
        channel, j = s // q, s % q
        if model.layout == TWO_SETS:
            mirror[channel * len(sizes) + a, j] += sign * x[s]
        elif model.layout == TWO_WAY:
            counts[(1 - channel) * q + a, j] += sign * x[s]
        elif j != a:
            counts[a, j] += sign * x[s]

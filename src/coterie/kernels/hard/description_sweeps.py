"""Moves of single nodes to the best of some blocks, or of all.

Used by `models/hard/description/search.py`. The cost of every candidate is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.kernels.hard.description import shift_part
from coterie.kernels.hard.description_costs import (
    count_rises,
    fill_rises,
    node_costs,
)
from coterie.kernels.hard.description_levels import group_change, next_part, upper_relief
from coterie.kernels.hard.description_state import (
    BLOCKS,
    EDGES,
    FREE,
    MIN_GAIN,
    MULTISETS,
    activate,
    forget,
    may_join,
    node_part,
)
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.no_refcount import borrow_without_refcount
from coterie.kernels.numba.random import below, stream


class Reach(NamedTuple):
    """Which blocks a node tries in `sweep`."""

    near: int  # blocks of neighbours
    far: int  # blocks of neighbours of neighbours
    exhaustive: int  # all blocks if there are at most this many
    fewest: int  # the number of blocks stays at least this
    most: int  # a node tries a block of its own while there are fewer


@njit(forceinline=True, cache=True)
def list_candidates(graph, blocks, scratch, v, m, state, reach):
    """List blocks that node v may join, its own first; return (state, how many).

    Blocks of neighbours, blocks of neighbours of neighbours, or all if there are few. m: length of
    the profile of v; -1 if its slots are not blocks, then neighbours are drawn at random."""
    labels, candidates, marked = blocks.labels, scratch.candidates, scratch.marked
    own = labels[v]
    candidates[0] = own
    marked[own] = 1
    count = 1
    if blocks.scalars[BLOCKS] <= reach.exhaustive:
        for s in range(len(blocks.sizes)):
            if blocks.sizes[s] > 0 and s != own:
                candidates[count] = s
                count += 1
        marked[own] = 0
        return state, count
    first, last = graph.indptr[v], graph.indptr[v + 1]
    if 0 <= m <= reach.near:
        for i in range(m):
            s = scratch.touched[i]
            if marked[s] == 0:
                marked[s] = 1
                candidates[count] = s
                count += 1
    elif last > first:
        for _ in range(reach.near):
            state, i = below(state, last - first)
            s = labels[graph.indices[first + i]]
            if marked[s] == 0:
                marked[s] = 1
                candidates[count] = s
                count += 1
    for _ in range(reach.far if last > first else 0):
        state, i = below(state, last - first)
        u = graph.indices[first + i]
        state, j = below(state, graph.indptr[u + 1] - graph.indptr[u])
        s = labels[graph.indices[graph.indptr[u] + j]]
        if marked[s] == 0:
            marked[s] = 1
            candidates[count] = s
            count += 1
    for i in range(count):
        marked[candidates[i]] = 0
    return state, count


@njit(nogil=True, cache=True)
def sweep(model, graph, blocks, upper, scratch, order, key, reach, active):
    """Move every node of `order` to the best block among its candidates.

    active (OUT): 1 for nodes that moved and their neighbours. Return (nodes moved, change of the
    description length): it never rises."""
    model, graph = borrow_without_refcount(model), borrow_without_refcount(graph)
    blocks, upper = borrow_without_refcount(blocks), borrow_without_refcount(upper)
    scratch = borrow_without_refcount(scratch)
    moved, total = 0, 0.0
    labels, scalars = blocks.labels, blocks.scalars
    dense = model.cells == MULTISETS
    if dense:
        fill_rises(model, blocks, scratch)
    for place in range(len(order)):
        v = order[place]
        a = np.int64(labels[v])
        alone = blocks.sizes[a] == 1
        if alone and scalars[BLOCKS] <= reach.fewest:
            continue
        state = stream(key, v)
        part = node_part(graph, labels, v, scratch)
        known = part.m if model.cells < EDGES else -1
        state, count = list_candidates(graph, blocks, scratch, v, known, state, reach)
        if not alone and scalars[BLOCKS] < reach.most and scalars[FREE] > 0:
            scratch.candidates[count] = blocks.free[scalars[FREE] - 1]
            count += 1
        best, stay, relief = a, 0.0, 0.0
        if count > 1:
            node_costs(model, blocks, scratch, part, a, count)
            stay = scratch.costs[0]
            relief = upper_relief(model, blocks, upper, scratch, part, a)
            next_part(upper)
        low = -MIN_GAIN
        category = graph.categories[v] if len(graph.categories) > 0 else np.int32(-1)
        for i in range(1, count):
            b = scratch.candidates[i]
            if not may_join(blocks, category, b):
                continue
            change = scratch.costs[i] - stay
            if upper.depth > 0 and (change < low + relief or blocks.sizes[b] == 0):
                change += group_change(model, blocks, upper, scratch, part, a, b)
            if change < low:
                low, best = change, b
        if best != a:
            if dense:
                count_rises(model, blocks, scratch, a, best, -1.0)
            shift_part(model, blocks, upper, scratch, part, a, best)
            if dense:
                count_rises(model, blocks, scratch, a, best, 1.0)
            labels[v] = best
            moved += 1
            total += low
            activate(graph, v, active)
        forget(scratch, part.m)
    return moved, total


@njit(nogil=True, cache=True)
def mark_changed(graph, before, labels, much, active):
    """Set active (IN/OUT) for nodes whose label was another one before, for their neighbours, and
    for all nodes of the blocks in `much`."""
    for v in range(len(labels)):
        if labels[v] != before[v]:
            activate(graph, v, active)
        elif much[labels[v]]:
            active[v] = 1

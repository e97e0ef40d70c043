"""Moves of single nodes to the best of some blocks, or of all.

Used by `models/hard/description/search.py`. The cost of every candidate is exact.

With all blocks as candidates, most are ruled out by a lower bound of `join_cost` that is computed
for all blocks at once (`JoinBounds`, COUNTS only): with d the degree of a node and x its profile,

    slope_b d + level_b - sum over touched blocks s of log (e_sb + x_s)! / e_sb!

It ignores that the node has left its own block, which can only raise the cost, and replaces parts
of the vertex cost by smaller ones (`refresh_block`). The sum needs one addition per block and
touched block, because log(e_sb + 1) is kept in a table and most x_s are 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.kernels.hard.description import shift_part
from coterie.kernels.hard.description_costs import (
    LOG2,
    count_rises,
    fill_rises,
    join_cost,
    node_costs,
)
from coterie.kernels.hard.description_levels import group_change, next_part, upper_relief
from coterie.kernels.hard.description_state import (
    BLOCKS,
    EDGES,
    FREE,
    MIN_GAIN,
    MULTISETS,
    NEVER,
    activate,
    forget,
    may_join,
    node_part,
)
from coterie.kernels.hard.log_counts import log_of, log_partitions, log_rise
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.no_refcount import borrow_without_refcount
from coterie.kernels.numba.random import below, stream

SLACK = 0.25  # log_partitions is not exactly monotone where its formula changes


class Reach(NamedTuple):
    """Which blocks a node tries in `sweep`."""

    near: int  # blocks of neighbours
    far: int  # blocks of neighbours of neighbours
    exhaustive: int  # all blocks if there are at most this many
    fewest: int  # the number of blocks stays at least this
    most: int  # a node tries a block of its own while there are fewer


class JoinBounds(NamedTuple):
    """Parts of the lower bound of the cost of joining each of K blocks; K = 0: no bounds."""

    rises: np.ndarray  # float64 (K, K): log(cells + 1)
    slope: np.ndarray  # float64 (K,): cost per edge end of the node
    level: np.ndarray  # float64 (K,): the rest; NEVER for an empty block
    bound: np.ndarray  # float64 (K,), OUT of bound_joins


def join_bounds(K: int) -> JoinBounds:
    """Return room for the bounds of K blocks."""
    return JoinBounds(np.empty((K, K)), np.empty(K), np.empty(K), np.empty(K))


@njit(nogil=True, cache=True)
def refresh_block(model, blocks, bounds, r):
    """Compute slope and level of block r anew, for a node with at least one edge."""
    n, e, t = blocks.sizes[r], blocks.ends[r], model.tables
    more = log_of(t, n + 1)
    if n == 0:
        bounds.slope[r], bounds.level[r] = 0.0, NEVER
    elif model.degrees:
        bounds.slope[r] = log_of(t, e + 1)
        bounds.level[r] = log_partitions(t, e + 1, n + 1) - log_partitions(t, e, n) - more
    else:
        bounds.slope[r] = more
        bounds.level[r] = e * (more - log_of(t, n)) - more


@njit(nogil=True, cache=True)
def fill_bounds(model, blocks, bounds):
    """Compute the parts of the bounds (OUT) for the present blocks."""
    for r in range(len(bounds.level)):
        refresh_block(model, blocks, bounds, r)
        for s in range(len(bounds.level)):
            bounds.rises[r, s] = log_of(model.tables, blocks.cells[r, s] + 1)


@njit(nogil=True, cache=True)
def refresh_bounds(model, blocks, bounds, scratch, part, a, b):
    """Update the parts of the bounds after the part has moved from block a to block b."""
    cells, rises, t = blocks.cells, bounds.rises, model.tables
    for r in (a, b):
        for i in range(part.m):
            s = scratch.touched[i]
            rises[r, s] = rises[s, r] = log_of(t, cells[r, s] + 1)
        rises[r, r] = log_of(t, cells[r, r] + 1)
        refresh_block(model, blocks, bounds, r)


@njit(nogil=True, cache=True)
def bound_joins(model, blocks, bounds, scratch, part):
    """Fill bounds.bound (OUT): for each block at most what joining it costs, apart from what
    depends on the number of blocks alone."""
    _, slope, level, bound = bounds
    K, t, degree = len(bound), model.tables, float(part.degree)
    for b in range(K):
        bound[b] = level[b] + degree * slope[b]
    for i in range(part.m):
        s = scratch.touched[i]
        x = scratch.x[s]
        if x == 1:
            row = bounds.rises[s]
            for b in range(K):
                bound[b] -= row[b]
        else:
            counts = blocks.cells[s]
            nothing = log_rise(t, 0, x)
            for b in range(K):
                bound[b] -= nothing if counts[b] == 0 else log_rise(t, counts[b], x)
        bound[s] -= x * LOG2


@njit(nogil=True, cache=True)
def list_bounded(model, blocks, bounds, scratch, part, a, relief):
    """List the blocks whose bound does not rule them out, a first; return how many.

    relief: the most that the levels above can gain."""
    bound_joins(model, blocks, bounds, scratch, part)
    limit = join_cost(model, blocks, scratch, part, a, a) + relief + SLACK
    limit -= model.structure[blocks.scalars[BLOCKS] - (1 if blocks.sizes[a] == 1 else 0)]
    scratch.candidates[0] = a
    count = 1
    for b in range(len(bounds.bound)):
        if bounds.bound[b] < limit and b != a:
            scratch.candidates[count] = b
            count += 1
    return count


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
def sweep(model, graph, blocks, upper, scratch, order, key, reach, bounds, active):
    """Move every node of `order` to the best block among its candidates.

    bounds: room for the bounds of all blocks if they all are candidates, or for none.
    active (OUT): 1 for nodes that moved and their neighbours. Return (nodes moved, change of the
    description length): it never rises."""
    model, graph = borrow_without_refcount(model), borrow_without_refcount(graph)
    blocks, upper = borrow_without_refcount(blocks), borrow_without_refcount(upper)
    scratch, bounds = borrow_without_refcount(scratch), borrow_without_refcount(bounds)
    fill_bounds(model, blocks, bounds)
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
        relief = upper_relief(model, blocks, upper, scratch, part, a)
        next_part(upper)
        if len(bounds.level) > 0 and part.m > 0 and part.loops == 0:
            count = list_bounded(model, blocks, bounds, scratch, part, a, relief)
        else:
            known = part.m if model.cells < EDGES else -1
            state, count = list_candidates(graph, blocks, scratch, v, known, state, reach)
        if not alone and scalars[BLOCKS] < reach.most and scalars[FREE] > 0:
            scratch.candidates[count] = blocks.free[scalars[FREE] - 1]
            count += 1
        best, stay = a, 0.0
        if count > 1:
            node_costs(model, blocks, scratch, part, a, count)
            stay = scratch.costs[0]
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
            if len(bounds.level) > 0:
                refresh_bounds(model, blocks, bounds, scratch, part, a, best)
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

"""Moves of single nodes with every block as a candidate, at the cost of a few.

Used by `models/hard/description/search.py`. `description.join_cost` is exact, but takes a call per
block. Here a lower bound of it is computed for all blocks at once: with d the degree of a node and
x its profile,

    slope_b d + level_b - sum over touched blocks s of log (e_sb + x_s)! / e_sb!

Only blocks whose bound is below the best cost so far are scored exactly. The bound ignores that
the node has left its own block, which can only raise the cost, and replaces parts of the vertex
cost by smaller ones (`refresh_block`). The sum needs one addition per block and touched block,
because log(e_sb + 1) is kept in a table and most x_s are 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.kernels.hard.block_candidates import activate
from coterie.kernels.hard.description import (
    BLOCKS,
    DEGREE_CORRECTED,
    FREE,
    LOG2,
    MIN_GAIN,
    NEVER,
    forget,
    group_change,
    join_cost,
    next_part,
    node_part,
    shift_part,
    upper_relief,
)
from coterie.kernels.hard.log_counts import log_of, log_partitions, log_rise
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.no_refcount import borrow_without_refcount

SLACK = 0.25  # log_partitions is not exactly monotone where its formula changes


class JoinBounds(NamedTuple):
    """Parts of the lower bound of the cost of joining each of K blocks."""

    rises: np.ndarray  # float64 (K, K): log(cells + 1)
    slope: np.ndarray  # float64 (K,): cost per edge end of the node
    level: np.ndarray  # float64 (K,): the rest; NEVER for an empty block
    bound: np.ndarray  # float64 (K,), OUT of bound_joins


def join_bounds(K: int) -> JoinBounds:
    """Return room for the bounds of K blocks."""
    return JoinBounds(np.empty((K, K)), np.empty(K), np.empty(K), np.empty(K))


@njit(nogil=True, cache=True)
def fill_bounds(model, blocks, bounds):
    """Compute the parts of the bounds (OUT) for the present blocks."""
    for r in range(len(blocks.sizes)):
        refresh_block(model, blocks, bounds, r)
        for s in range(len(blocks.sizes)):
            bounds.rises[r, s] = log_of(model.tables, blocks.cells[r, s] + 1)


@njit(nogil=True, cache=True)
def refresh_block(model, blocks, bounds, r):
    """Compute slope and level of block r anew, for a node with at least one edge."""
    n, e, t = blocks.sizes[r], blocks.ends[r], model.tables
    more = log_of(t, n + 1)
    if n == 0:
        bounds.slope[r], bounds.level[r] = 0.0, NEVER
    elif model.kind == DEGREE_CORRECTED:
        bounds.slope[r] = log_of(t, e + 1)
        bounds.level[r] = log_partitions(t, e + 1, n + 1) - log_partitions(t, e, n) - more
    else:
        bounds.slope[r] = more
        bounds.level[r] = e * (more - log_of(t, n)) - more


@njit(nogil=True, cache=True)
def refresh_cells(model, blocks, bounds, scratch, part, a, b):
    """Update the table after the part has moved from block a to block b."""
    cells, rises, t = blocks.cells, bounds.rises, model.tables
    for i in range(part.m):
        s = scratch.touched[i]
        rises[a, s] = rises[s, a] = log_of(t, cells[a, s] + 1)
        rises[b, s] = rises[s, b] = log_of(t, cells[b, s] + 1)
    rises[a, a] = log_of(t, cells[a, a] + 1)
    rises[b, b] = log_of(t, cells[b, b] + 1)
    refresh_block(model, blocks, bounds, a)
    refresh_block(model, blocks, bounds, b)


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
def sweep_all_blocks(model, graph, blocks, upper, scratch, bounds, order, new_blocks, active):
    """Move every node of `order` to the best of all blocks; SIMPLE and DEGREE_CORRECTED.

    bounds: room for K blocks. active (OUT): 1 for nodes that moved and their neighbours. Return
    (nodes moved, change of the description length): it never rises."""
    model, graph = borrow_without_refcount(model), borrow_without_refcount(graph)
    blocks, upper = borrow_without_refcount(blocks), borrow_without_refcount(upper)
    scratch = borrow_without_refcount(scratch)
    bounds = borrow_without_refcount(bounds)
    fill_bounds(model, blocks, bounds)
    labels, sizes, bound = blocks.labels, blocks.sizes, bounds.bound
    K = len(sizes)
    moved, total = 0, 0.0
    for place in range(len(order)):
        v = order[place]
        a = np.int64(labels[v])
        part = node_part(graph, labels, v, scratch)
        stay = join_cost(model, blocks, scratch, part, a, a)
        low, best = -MIN_GAIN, a
        if part.m == 0 or part.loops > 0:  # no bound: score every block
            for b in range(K):
                bound[b] = -NEVER if sizes[b] > 0 else NEVER
        else:
            bound_joins(model, blocks, bounds, scratch, part)
        bound[a] = NEVER
        if new_blocks and blocks.scalars[FREE] > 0 and sizes[a] > 1:
            bound[blocks.free[blocks.scalars[FREE] - 1]] = -NEVER
        base = model.structure[blocks.scalars[BLOCKS] - (1 if sizes[a] == 1 else 0)]
        relief = upper_relief(model, blocks, upper, scratch, part, a)
        slack = SLACK + relief
        next_part(upper)
        limit = low + stay - base + slack
        for b in range(K):
            if bound[b] >= limit:
                continue
            above = group_change(model, blocks, upper, scratch, part, a, b)
            if bound[b] + above >= limit - relief:
                continue
            change = join_cost(model, blocks, scratch, part, a, b) - stay + above
            if change < low:
                low, best = change, b
                limit = low + stay - base + slack
        if best != a:
            shift_part(model, blocks, upper, scratch, part, a, best)
            refresh_cells(model, blocks, bounds, scratch, part, a, best)
            labels[v] = best
            moved += 1
            total += low
            activate(graph, v, active)
        forget(scratch, part.m)
    return moved, total

"""The exact change of S for every label of a node, and the moves that follow from it.

This is Algorithm 7 of Prost & Yoon with its misprints corrected. Used by
`models/hard/costs/block_objective.py` and `worker_rows.py`; the tables are in `score_tables.py`.

Suppose node v is removed from its block a. `score` fills cost[y] = ins(y), the cost of joining y,
for all y, so that S(v in y) - S(v in a) = cost[y] - cost[a]. The rows of the tables give all cells
that the removal of v does not change; with one node set these cells are corrected afterwards:

    (y, a)   has lost v's edges to y:  only for y that v touches
    (y, y)   the diagonal:             only for y that v touches
    y = a    v comes back:             from `stay`

A row depends only on (slot, x), and most x are 1 or 2, so a batch computes each row once and adds
it many times: the loop that remains per edge is `cost += row`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.kernels.hard.cell_costs import (
    BERNOULLI,
    PLAIN,
    SERIES,
    TABLE,
    gain,
    inner_gain,
    short_tail,
    widen,
)
from coterie.kernels.hard.score_tables import (
    BASE,
    BEND,
    FAST,
    INNER_LEAVE,
    JOIN,
    LEAVE,
    LONE,
    SLOPE,
    STAY,
    inner_pairs,
    new_inner_pairs,
    refresh_block,
)
from coterie.kernels.hard.statistics import (
    TWO_SETS,
    TWO_WAY,
    edge_slots,
    fetch_ahead,
    profile,
    shift,
)
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.no_refcount import borrow_without_refcount

MIN_GAIN = 1e-9  # a move must gain more: on a tie a node stays


class Workspace(NamedTuple):
    """Buffers of one thread for scoring; rows are kept for x < the width of `place`."""

    x: np.ndarray  # float64 (slots,), zeros between calls
    touched: np.ndarray  # int64 (slots,)
    cost: np.ndarray  # float64 (k,)
    place: np.ndarray  # int32 (2 slots, kept x), index into rows, or -1
    rows: np.ndarray  # float64 (capacity + 4, k); of the last four the very last stays 0
    used: np.ndarray  # int64 (1,)


def workspace(slots: int, k: int, keep: int = 0, capacity: int = 0) -> Workspace:
    """Allocate the buffers of one thread; rows with x < keep are kept, at most `capacity`."""
    return Workspace(
        np.zeros(slots),
        np.zeros(slots, np.int64),
        np.zeros(k),
        np.full((2 * slots, keep), -1, np.int32),
        np.zeros((capacity + 4, k)),
        np.zeros(1, np.int64),
    )


@njit(nogil=True, cache=True)
def fill_row(model, stats, tables, work, s, own, x, r):
    """Set work.rows[r, y] to the change of cell (s, y) by x more edges; own: slot s lost a node."""
    counts, sizes, others, _ = stats
    q, k = len(others), len(sizes)
    degree_slot = s >= edge_slots(model, q)
    sign = -1.0 if degree_slot else model.signs[s // q]
    kind = PLAIN if degree_slot else model.kind
    m = others[s % q] - own
    d, g, out = counts[s], model.table, work.rows[r]
    slope, bend = tables.cells[SLOPE + 2 * own, s], tables.cells[BEND + 2 * own, s]
    fast = x <= FAST and x == np.floor(x)
    if fast:
        step = np.int64(x)
        for y in range(k):  # two loops: the look-ups cannot be vectorised, the rest can
            i = min(np.int64(d[y]), TABLE - 1 - FAST)
            out[y] = g[i] - g[i + step]
        for y in range(k):
            out[y] = sign * out[y] + x * (slope[y] - short_tail(x * bend[y]))
    for y in range(k):
        if not fast or x * bend[y] > SERIES:
            N = (sizes[y] + 1.0) * m
            possible = kind != BERNOULLI or N - d[y] >= x
            out[y] = sign * gain(kind, g, d[y], N, x) if possible else 0.0


@njit(forceinline=True, cache=True)
def find_row(model, stats, tables, work, s, own, x, spare):
    """Return the place of the row of (s, x), which is computed (and kept) if it is new."""
    key = s + own * len(work.x)
    keep = x < work.place.shape[1] and x == np.floor(x)
    if keep and work.place[key, np.int64(x)] >= 0:
        return np.int64(work.place[key, np.int64(x)])
    capacity = len(work.rows) - 4
    r = capacity + spare
    if keep and work.used[0] < capacity:
        r = work.used[0]
        work.place[key, np.int64(x)] = r
        work.used[0] += 1
    fill_row(model, stats, tables, work, s, own, x, r)
    return r


@njit(forceinline=True, cache=True)
def correct_cell(model, stats, tables, s, y, removed, joined, used):
    """Return the correction of cost[y] for the cell (s, y), where s is a slot of v's own block and
    the cell has lost `removed` edges."""
    n, m = stats.sizes[y], stats.others[s % len(stats.others)] - 1.0
    d = stats.counts[s, y] - removed
    right = widen(model.kind, d, n * m, m)
    right += gain(model.kind, model.table, d, (n + 1.0) * m, joined)
    return right - tables.cells[LONE, s, y] - used


@njit(forceinline=True, cache=True)
def cost_of_staying(model, stats, tables, work, m, a):
    """Return cost[a]: v, removed from its block a, comes back."""
    counts, sizes, others, _ = stats
    q = len(others)
    kind, table, x = model.kind, model.table, work.x
    edges = edge_slots(model, q)
    one_set = model.layout != TWO_SETS
    total = tables.blocks[STAY, a]
    for i in range(m):
        s = work.touched[i]
        d = counts[s, a] - x[s]
        if s >= edges:
            total -= gain(PLAIN, table, d, 0.0, x[s])
        elif not (one_set and s % q == a):
            n = others[s % q]
            pairs = sizes[a] * n
            total += widen(kind, d, pairs - n, n) - tables.cells[LEAVE, s, a]
            total += model.signs[s // q] * gain(kind, table, d, pairs, x[s])
    if one_set:
        inner = x[a] + (x[q + a] if model.layout == TWO_WAY else 0.0)
        if inner > 0.0:
            d = counts[a, a] - inner
            pairs = inner_pairs(model, sizes[a])
            c = new_inner_pairs(model, sizes[a] - 1.0)
            total += widen(kind, d, pairs - c, c) - tables.blocks[INNER_LEAVE, a]
            total += inner_gain(kind, table, d, pairs, inner)
    return total


@njit(forceinline=True, cache=True)
def score_inline(model, stats, tables, work, m, a):
    """Fill work.cost for a node of block a whose profile is in work.x (m slots touched)."""
    counts, sizes, others, _ = stats
    x, touched, cost = work.x, work.touched, work.cost
    k, q = len(sizes), len(others)
    edges = edge_slots(model, q)
    one_set = model.layout != TWO_SETS
    directed = model.layout == TWO_WAY
    rows, cells = work.rows, tables.cells
    own = own_in = len(rows) - 1  # the row of zeros
    for y in range(k):
        cost[y] = tables.blocks[JOIN, y]
    if one_set:
        if x[a] > 0.0:
            own = find_row(model, stats, tables, work, a, 1, x[a], 1)
        for y in range(k):
            cost[y] += cells[LONE, a, y] - cells[BASE, a, y] + rows[own, y]
        if directed:
            if x[q + a] > 0.0:
                own_in = find_row(model, stats, tables, work, q + a, 1, x[q + a], 2)
            for y in range(k):
                cost[y] += cells[LONE, q + a, y] - cells[BASE, q + a, y] + rows[own_in, y]
    for i in range(m):
        s = touched[i]
        j = s % q
        inside = one_set and s < edges
        if inside and j == a:
            continue
        r = find_row(model, stats, tables, work, s, 0, x[s], 0)
        kept = cost[j] if inside else 0.0
        for y in range(k):
            cost[y] += rows[r, y]
        if inside:
            cost[j] = kept
    if one_set:
        for i in range(m):
            s = touched[i]
            y = s % q
            if s >= edges or y == a or (s >= q and x[y] > 0.0):
                continue
            out, back = x[y], x[q + y] if directed else x[y]
            cost[y] += correct_cell(model, stats, tables, a, y, back, x[a], rows[own, y])
            if directed:
                used = rows[own_in, y]
                cost[y] += correct_cell(model, stats, tables, q + a, y, out, x[q + a], used)
            inner = out + (back if directed else 0.0)
            pairs = inner_pairs(model, sizes[y]) + new_inner_pairs(model, sizes[y])
            cost[y] += inner_gain(model.kind, model.table, counts[y, y], pairs, inner)
    cost[a] = cost_of_staying(model, stats, tables, work, m, a)


@njit(nogil=True, cache=True)
def score(model, stats, tables, work, m, a):
    """Call `score_inline` as a separate function: faster to compile, slower to call."""
    score_inline(model, stats, tables, work, m, a)


@njit(forceinline=True, cache=True)
def best_label(cost, a):
    """Return (label, gain): the cheapest other label and what it gains over a.

    If it does not gain more than MIN_GAIN, the label is a, and a negative gain is how much the
    cheapest other label would lose."""
    best = 1 if a == 0 and len(cost) > 1 else 0
    for y in range(best + 1, len(cost)):
        if cost[y] < cost[best] and y != a:
            best = y
    gained = cost[a] - cost[best]
    if gained > MIN_GAIN:
        return best, gained
    return np.int64(a), gained


@njit(nogil=True, cache=True)
def plan_moves(
    model, adjacency, stats, tables, work, labels, other_labels, elements, wanted, gains
):
    """Find the best label (wanted, OUT) of each element and its gain (OUT); stats are fixed.

    A negative gain is how much the best other label would lose."""
    model, adjacency, stats, tables, work, labels, other_labels = borrow_without_refcount(
        (model, adjacency, stats, tables, work, labels, other_labels)
    )
    q = len(stats.others)
    work.place[:] = -1
    work.used[0] = 0
    for i in range(len(elements)):
        fetch_ahead(adjacency, other_labels, elements, i)
        v = elements[i]
        m = profile(model, adjacency, other_labels, q, v, work.x, work.touched)
        score_inline(model, stats, tables, work, m, labels[v])
        wanted[i], gains[i] = best_label(work.cost, labels[v])
        for t in range(m):
            work.x[work.touched[t]] = 0.0


@njit(nogil=True, cache=True)
def sweep(model, adjacency, stats, tables, work, labels, other_labels, order, min_size):
    """Move the nodes of `order` one by one, each to its best label given all moves before it.

    labels, stats and tables are IN/OUT. S never rises. Return (moves made, entropy gained)."""
    model, adjacency, stats, tables, work, labels, other_labels = borrow_without_refcount(
        (model, adjacency, stats, tables, work, labels, other_labels)
    )
    q = len(stats.others)
    moved, total = 0, 0.0
    for i in range(len(order)):
        v = order[i]
        a = labels[v]
        if stats.sizes[a] - 1.0 < min_size:
            continue
        m = profile(model, adjacency, other_labels, q, v, work.x, work.touched)
        score(model, stats, tables, work, m, a)
        b, gained = best_label(work.cost, a)
        if b != a:
            shift(model, stats, a, -1.0, work.x, work.touched, m)
            shift(model, stats, b, 1.0, work.x, work.touched, m)
            labels[v] = b
            refresh_block(model, stats, tables, a)
            refresh_block(model, stats, tables, b)
            moved += 1
            total += gained
        for t in range(m):
            work.x[work.touched[t]] = 0.0
    return moved, total


@njit(nogil=True, cache=True)
def joining_cost(model, stats, x, y):
    """Return how much S rises if a node with profile x, which is in no block, joins block y."""
    counts, sizes, others, _ = stats
    kind, table, q, n = model.kind, model.table, len(others), sizes[y]
    edges = edge_slots(model, q)
    one_set = model.layout != TWO_SETS
    total = 0.0
    for s in range(edges):
        d, new = counts[s, y], x[s]
        j = s % q
        if (d == 0.0 and new == 0.0) or (one_set and j == y):
            continue
        m = others[j]
        change = widen(kind, d, n * m, m) + gain(kind, table, d, (n + 1.0) * m, new)
        total += model.signs[s // q] * change
    if one_set:
        new = x[y] + (x[q + y] if model.layout == TWO_WAY else 0.0)
        pairs, more = inner_pairs(model, n), new_inner_pairs(model, n)
        total += widen(kind, counts[y, y], pairs, more)
        total += inner_gain(kind, table, counts[y, y], pairs + more, new)
        if kind == PLAIN:
            total -= gain(PLAIN, table, counts[edges, y], 0.0, x[edges])
    return total


@njit(nogil=True, cache=True)
def apply_moves(
    model, adjacency, stats, labels, other_labels, elements, wanted, min_size, checked, x, touched
):
    """Give elements[i] the label wanted[i], one after another; stats and labels are IN/OUT.

    A move that would leave its block with fewer than `min_size` nodes is skipped. `checked`: so is
    one that does not lower S any more. A plan is made against fixed statistics, so that threads can
    share the work, and two of its moves may conflict; checked moves never raise S. Return (moves
    made, entropy gained by checked moves)."""
    moved, gained = 0, 0.0
    q = len(stats.others)
    for i in range(len(elements)):
        fetch_ahead(adjacency, other_labels, elements, i)
        v = elements[i]
        a, b = labels[v], wanted[i]
        if a == b or stats.sizes[a] - 1.0 < min_size:
            continue
        m = profile(model, adjacency, other_labels, q, v, x, touched)
        shift(model, stats, a, -1.0, x, touched, m)
        better = 0.0
        if checked:
            better = joining_cost(model, stats, x, a) - joining_cost(model, stats, x, b)
        if not checked or better > MIN_GAIN:
            labels[v] = b
            moved += 1
            gained += better
        shift(model, stats, labels[v], 1.0, x, touched, m)
        for t in range(m):
            x[touched[t]] = 0.0
    return moved, gained


@njit(nogil=True, cache=True)
def mark_neighbours(adjacency, elements, marked):
    """Set marked[u] (IN/OUT) for every neighbour u of the elements."""
    for v in elements:
        for e in range(adjacency.indptr[v], adjacency.indptr[v + 1]):
            marked[adjacency.indices[e]] = True

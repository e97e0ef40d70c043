"""The approximation of Prost & Yoon: labels are scored with the parameters theta held fixed.

Used by `models/hard/costs/block_objective.py` and `worker_rows.py` if score="fixed".

    cost[y] = join[y] + lone[a, y] + sum over its slots s of x_s slope[s, y]

where slope = -log of the odds (Bernoulli), of the rate (Poisson) or of the share (sums of g) in
that cell, join is the cost of a node without edges in y, and lone removes the pair of v with
itself. All terms are linear in x, so a batch is one sparse-times-dense product.

Empty and full cells would forbid or force a label permanently; therefore each cell starts with
`EPSILON` edges and as many non-edges. The result is sensitive to this value. `score_tables.py`
explains the arrays.
"""

from __future__ import annotations

import math

from coterie.kernels.hard.cell_costs import BERNOULLI, PLAIN, POISSON, cell, inner_cell
from coterie.kernels.hard.score_tables import JOIN, LONE, PARTS, SLOPE, inner_pairs
from coterie.kernels.hard.scores import best_label
from coterie.kernels.hard.statistics import TWO_SETS, edge_slots, profile
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.no_refcount import borrow_without_refcount

EPSILON = 0.5


@njit(nogil=True, cache=True)
def refresh_fixed(model, stats, tables, start, stop):
    """Recompute tables (OUT: slope, lone, join, parts) for the labels start..stop-1."""
    model, stats, tables = borrow_without_refcount((model, stats, tables))
    counts, sizes, others, _ = stats
    slots, q = len(counts), len(others)
    edges = edge_slots(model, q)
    one_set = model.layout != TWO_SETS
    shares = (model.signs > 0).sum()  # a sum starts with the sum of its parts' starting values
    for y in range(start, stop):
        tables.blocks[JOIN, y] = 0.0
        tables.blocks[PARTS, y] = 0.0
    for s in range(slots):
        j = s % q
        for y in range(start, stop):
            d = counts[s, y]
            inner = one_set and j == y and s < edges
            if s >= edges:
                tables.cells[SLOPE, s, y] = math.log(d + EPSILON)
                tables.blocks[PARTS, y] -= cell(PLAIN, d, 0.0)
                continue
            D = inner_pairs(model, sizes[y]) if inner else sizes[y] * others[j]
            sign = model.signs[s // q]
            none = 0.0  # the cost of a pair without an edge
            if model.kind == BERNOULLI:
                p = (d + EPSILON) / (D + 2.0 * EPSILON)
                none = -math.log1p(-p)
                tables.cells[SLOPE, s, y] = -math.log(p) - none
            elif model.kind == POISSON:
                none = (d + EPSILON) / (D + EPSILON)
                tables.cells[SLOPE, s, y] = -math.log(none)
            else:
                both = 2.0 * d if inner else d
                start_with = EPSILON if sign > 0 else EPSILON * shares
                tables.cells[SLOPE, s, y] = -sign * math.log(both + start_with)
            tables.blocks[JOIN, y] += others[j] * none
            tables.cells[LONE, s, y] = -none
            if inner:
                if s < q:
                    tables.blocks[PARTS, y] += inner_cell(model.kind, d, D)
            else:
                tables.blocks[PARTS, y] += (0.5 if one_set else 1.0) * sign * cell(model.kind, d, D)


@njit(nogil=True, cache=True)
def plan_moves_fixed(
    model, adjacency, stats, tables, work, labels, other_labels, elements, wanted, gains
):
    """Like `scores.plan_moves` with theta fixed: the gain is an estimate of the change of S."""
    model, adjacency, stats, tables, work, labels, other_labels = borrow_without_refcount(
        (model, adjacency, stats, tables, work, labels, other_labels)
    )
    k, q = len(stats.sizes), len(stats.others)
    edges = edge_slots(model, q)
    cost, x = work.cost, work.x
    for i in range(len(elements)):
        v = elements[i]
        a = labels[v]
        m = profile(model, adjacency, other_labels, q, v, x, work.touched)
        for y in range(k):
            cost[y] = tables.blocks[JOIN, y]
        if model.layout != TWO_SETS:
            for s in range(a, edges, q):
                for y in range(k):
                    cost[y] += tables.cells[LONE, s, y]
        for t in range(m):
            s = work.touched[t]
            amount = x[s]
            for y in range(k):
                cost[y] += amount * tables.cells[SLOPE, s, y]
            x[s] = 0.0
        wanted[i], gains[i] = best_label(cost, a)

"""Make planned moves one by one, each checked against all moves before it.

Used by `models/hard/search/checked_moves.py`. `scores.plan_moves` plans a batch against fixed
statistics, so that threads can share the work; two moves of one plan may therefore conflict.
`apply_checked_moves` removes each node from its block, compares that block with the one it wants,
and puts it into the better one: S never rises, whatever the plan was.
"""

from __future__ import annotations

from coterie.kernels.hard.cell_costs import PLAIN, gain, inner_gain, widen
from coterie.kernels.hard.score_tables import inner_pairs, new_inner_pairs
from coterie.kernels.hard.scores import MIN_GAIN
from coterie.kernels.hard.statistics import TWO_SETS, TWO_WAY, edge_slots, profile, shift
from coterie.kernels.numba.compile import njit


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
def apply_checked_moves(
    model, adjacency, stats, labels, other_labels, elements, wanted, min_size, x, touched
):
    """Give elements[i] the label wanted[i] if that lowers S; stats and labels are IN/OUT.

    A move that would leave its block with fewer than `min_size` nodes is skipped. Return (moves
    made, entropy gained)."""
    moved, gained = 0, 0.0
    q = len(stats.others)
    for i in range(len(elements)):
        v = elements[i]
        a, b = labels[v], wanted[i]
        if a == b or stats.sizes[a] - 1.0 < min_size:
            continue
        m = profile(model, adjacency, other_labels, q, v, x, touched)
        shift(model, stats, a, -1.0, x, touched, m)
        better = joining_cost(model, stats, x, a) - joining_cost(model, stats, x, b)
        if better > MIN_GAIN:
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

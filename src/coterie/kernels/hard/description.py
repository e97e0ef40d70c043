"""The description length of a partition of a graph, and its exact change by moves.

Used by `models/hard/description/`. What a model costs is in `description_costs.py`, the levels of a
hierarchy in `description_levels.py`, the statistics in `description_state.py`.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.hard.description_costs import (
    add_cells,
    cells_change,
    communities_cost,
    ends_cost,
    inner_profile,
    join_cost,
    layered_ends_cost,
    opposite,
)
from coterie.kernels.hard.description_levels import (
    level_length,
    same_above,
    shift_upper,
    top_length,
    upper_change,
)
from coterie.kernels.hard.description_state import (
    BLOCKS,
    COUNTS,
    EDGES,
    FREE,
    INSIDE,
    NORMAL,
    PLANTED,
    forget,
    node_part,
)
from coterie.kernels.hard.log_counts import log_factorial, log_of
from coterie.kernels.numba.compile import njit


@njit(nogil=True, cache=True)
def whole_length(model, graph, blocks, upper):
    """Return the description length from the statistics; O(K^2)."""
    t, sizes, B = model.tables, blocks.sizes, blocks.scalars[BLOCKS]
    total = log_factorial(t, model.n_nodes) + log_of(t, model.n_nodes) + model.structure[B]
    if model.cells in PLANTED:
        total += communities_cost(model, B, blocks.scalars[INSIDE])
    for r in range(len(sizes)):
        if sizes[r] == 0:
            continue
        if model.layers > 0 and model.degrees:
            total += layered_ends_cost(model, blocks, r)
        else:
            total += ends_cost(model, sizes[r], blocks.ends[r], blocks.in_ends[r])
        if model.degrees:
            for c in range(blocks.degree_counts.shape[1]):
                total -= log_factorial(t, blocks.degree_counts[r, c])
        total = add_cells(model, blocks, r, total)
    if model.degrees and model.layers == 0:
        for v in range(model.n_nodes):
            total -= log_factorial(t, graph.degrees[v])
            total -= log_factorial(t, graph.in_degrees[v])
    if model.degrees:
        for layer in range(model.layers):
            for v in range(model.n_nodes):
                total -= log_factorial(t, graph.layer_degrees[layer, v])
    for level in range(upper.depth):
        total += level_length(model, upper, level)
    if upper.depth > 0:
        total += top_length(model, upper)
    return total


@njit(forceinline=True, cache=True)
def shift_part(model, blocks, upper, scratch, part, a, b):
    """Move the part from block a to block b in all statistics; labels are not changed."""
    sizes, free, scalars = blocks.sizes, blocks.free, blocks.scalars
    if sizes[b] == 0:  # b is empty: take it off the stack
        i = scalars[FREE] - 1
        while free[i] != b:
            i -= 1
        free[i] = free[scalars[FREE] - 1]
        scalars[FREE] -= 1
        scalars[BLOCKS] += 1
        if upper.depth > 0:
            upper.parents[0, b] = upper.parents[0, a]
            upper.sizes[0, upper.parents[0, b]] += 1
    if len(blocks.categories) > 0 and blocks.categories[b] < 0:
        blocks.categories[b] = blocks.categories[a]
    scalars[INSIDE] += scratch.x[b] - scratch.x[a]
    if model.cells < EDGES:
        shift_counts(blocks, scratch, part, a, b)
    elif model.layers > 0:
        shift_layers(blocks, scratch, part, a, b)
    else:
        shift_slots(model, blocks, scratch, part, a, b)
    if model.degrees:
        shift_degrees(blocks, scratch, part, a, b)
    sizes[a] -= part.size
    sizes[b] += part.size
    blocks.ends[a] -= part.degree
    blocks.ends[b] += part.degree
    blocks.in_ends[a] -= part.in_degree
    blocks.in_ends[b] += part.in_degree
    if upper.depth > 0 and upper.parents[0, a] != upper.parents[0, b]:
        shift_upper(upper, scratch, part, a, b)
    if sizes[a] == 0:
        free[scalars[FREE]] = a
        scalars[FREE] += 1
        scalars[BLOCKS] -= 1
        if len(blocks.categories) > 0:
            blocks.categories[a] = -1
        if upper.depth > 0:
            upper.sizes[0, upper.parents[0, a]] -= 1


@njit(forceinline=True, cache=True)
def shift_counts(blocks, scratch, part, a, b):
    """Move the edges of the part in the cells of an undirected graph without weights."""
    x, cells = scratch.x, blocks.cells
    for i in range(part.m):
        s = scratch.touched[i]
        w = x[s]
        if s != a:
            cells[a, s] -= w
            cells[s, a] -= w
        if s != b:
            cells[b, s] += w
            cells[s, b] += w
    cells[a, a] -= x[a] + part.loops
    cells[b, b] += x[b] + part.loops


@njit(nogil=True, cache=True)
def shift_layers(blocks, scratch, part, a, b):
    """Move the edges of the part in the cells of a graph with layers."""
    x, cells, K = scratch.x, blocks.cells, len(blocks.sizes)
    for i in range(part.m):
        slot = scratch.touched[i]
        s, w = slot % K, x[slot]
        if s != a:
            cells[a, slot] -= w
            cells[s, slot - s + a] -= w
        if s != b:
            cells[b, slot] += w
            cells[s, slot - s + b] += w
    for layer in range(len(blocks.layer_ends)):
        first, ends, inner = layer * K, scratch.layers[0, layer], scratch.layers[1, layer]
        cells[a, first + a] -= x[first + a] + inner
        cells[b, first + b] += x[first + b] + inner
        blocks.layer_ends[layer, a] -= ends
        blocks.layer_ends[layer, b] += ends


@njit(nogil=True, cache=True)
def shift_slots(model, blocks, scratch, part, a, b):
    """Move the edges of the part in the cells of a graph with directions or weights."""
    K = len(blocks.sizes)
    for r in (a, b):
        sign = 1 if r == b else -1
        n, s, q = inner_profile(model, scratch, part, r)
        change_slot(model, blocks, r, r, sign * n, sign * s, sign * q)
        if model.directed:
            change_slot(model, blocks, r, K + r, sign * n, sign * s, sign * q)
    for i in range(part.m):
        slot = scratch.touched[i]
        other = slot - K if slot >= K else slot
        n, s, q = scratch.x[slot], 0.0, 0.0
        if model.cells >= NORMAL:
            s, q = scratch.totals[0, slot], scratch.totals[1, slot]
        if other != a:
            change_slot(model, blocks, a, slot, -n, -s, -q)
            change_slot(model, blocks, other, opposite(model, K, slot, a), -n, -s, -q)
        if other != b:
            change_slot(model, blocks, b, slot, n, s, q)
            change_slot(model, blocks, other, opposite(model, K, slot, b), n, s, q)


@njit(forceinline=True, cache=True)
def change_slot(model, blocks, r, slot, n, s, q):
    """Add n edges with these sums of weights (or take them away) to one slot of a row."""
    cells, totals = blocks.cells, blocks.totals
    cells[r, slot] += n
    if model.cells >= NORMAL:
        empty = cells[r, slot] == 0  # no rounding is left in an empty cell
        totals[0, r, slot] = 0.0 if empty else totals[0, r, slot] + s
        totals[1, r, slot] = 0.0 if empty else totals[1, r, slot] + q


@njit(forceinline=True, cache=True)
def shift_degrees(blocks, scratch, part, a, b):
    """Move the part in the degree counts."""
    degree_counts, c = blocks.degree_counts, part.degree_class
    if c >= 0:
        degree_counts[a, c] -= 1
        degree_counts[b, c] += 1
        return
    for i in range(part.n_classes):
        c = scratch.classes[i]
        more = degree_counts[a, c] if part.block >= 0 else 1
        degree_counts[b, c] += more
        degree_counts[a, c] -= more


@njit(forceinline=True, cache=True)
def change_of(model, blocks, upper, scratch, part, a, b):
    """Return how the description length changes if the part moves from a to b."""
    if model.cells == COUNTS:
        change = cells_change(model, blocks, scratch, part, a, b)
    else:
        change = join_cost(model, blocks, scratch, part, a, b)
        change -= join_cost(model, blocks, scratch, part, a, a)
    if upper.depth > 0 and not same_above(blocks, upper, part, a, b):
        change += upper_change(model, blocks, upper, scratch, part, a, b)
    return change


@njit(nogil=True, cache=True)
def move_change(model, graph, blocks, upper, scratch, v, b):
    """Return how the description length changes if node v moves to block b."""
    a = np.int64(blocks.labels[v])
    part = node_part(graph, blocks.labels, v, scratch)
    change = change_of(model, blocks, upper, scratch, part, a, b)
    forget(scratch, part.m)
    return change


@njit(nogil=True, cache=True)
def move_node(model, graph, blocks, upper, scratch, v, b):
    """Move node v to block b."""
    part = node_part(graph, blocks.labels, v, scratch)
    shift_part(model, blocks, upper, scratch, part, np.int64(blocks.labels[v]), b)
    blocks.labels[v] = b
    forget(scratch, part.m)

"""What a partition costs, by model, and what a part pays for joining a block.

Used by `description.py` and by the kernels that move parts. This file has everything in which
models differ. The definitions are those of Peixoto (Physical Review E 95, 012317, 2017; weights:
97, 012306, 2018), for multigraphs, in nats; `tests/reference.py` has them as plain loops.

    labels  log N + log C(N-1, B-1) + log N! / (n_1! ... n_B!)
    cells   log C(B (B+1) / 2 + E - 1, E), directed log C(B^2 + E - 1, E); a hierarchy replaces it
    graph   sum_r v_r + sum over cells; the model of the cells (`DescriptionModel.cells`):
            COUNTS         - log e_rs!, inside blocks - log e_rr! - e_rr log 2
            MULTISETS      log of multisets(n_r n_s, e_rs): levels of a hierarchy
            TWO_DENSITIES  one density inside blocks and one between them (planted partition
                           of Zhang & Peixoto 2020): cells and graph become
                           - log E_in! - log E_out! + E_in log(B/2) + E_out log C(B, 2)
                           + log(E+1) if B > 1, with v_r as for degree correction
            INNER_DENSITIES  the same with one density inside each block: instead of
                           - log E_in! + E_in log(B/2) the sum of - log e_rr! - e_rr log 2, and
                           log C(B + E_in - 1, E_in)
            EDGES          as COUNTS; directed: without log 2
            NORMAL, EXPONENTIAL   as EDGES, and minus the log of the probability density of the
                           weights of each cell, with the parameters of the cell integrated over
                           their conjugate prior: a function of the number n of edges, the sum s
                           and the sum of squares q of their weights
                NORMAL       c[n] + (v0 + n) / 2 log(v0 + q - s^2 / n + k0 s^2 / (n (k0 + n)))
                EXPONENTIAL  c[n] + (a0 + n) log(b0 + s)
                The table c (`DescriptionModel.sizes`) has all that depends on n only, - log n! too.
    v_r     without degrees  e_r log n_r
            with degrees     log e_r! + log q(e_r, n_r) + log n_r! - sum_k log n_kr!
                             (q: partitions, n_kr: nodes of degree k), constant - sum_v log k_v!
            of a directed graph once for the outgoing and once for the incoming ends
    layers  cells, graph and v_r once per layer: the sum of the lengths of the layers, each with the
            same labels, minus what those cost more than once

`join_cost` is the cost of adding a part to block b after it was taken out of block a: the change of
a move is the difference of two of them. No cost ever needs the whole graph.
"""

from __future__ import annotations

import math

import numpy as np

from coterie.kernels.hard.description_state import (
    BLOCKS,
    COUNTS,
    EDGES,
    EXPONENTIAL,
    INNER_DENSITIES,
    INSIDE,
    MULTISETS,
    NORMAL,
    PLANTED,
    TWO_DENSITIES,
)
from coterie.kernels.hard.log_counts import (
    log_factorial,
    log_multisets,
    log_of,
    log_partitions,
    log_rise,
)
from coterie.kernels.numba.compile import njit

LOG2 = math.log(2.0)


@njit(forceinline=True, cache=True)
def vertex_cost(model, n, e):
    """Return v_r of a block with n nodes and e ends, with its part of the labels (- log n!), but
    without the degree counts."""
    t = model.tables
    if model.degrees:  # the two log n! cancel
        return log_factorial(t, e) + log_partitions(t, e, n)
    if model.cells == MULTISETS:
        return -log_factorial(t, n)
    return e * log_of(t, n) - log_factorial(t, n)


@njit(forceinline=True, cache=True)
def ends_cost(model, n, out, into):
    """Return v_r of a block with n nodes, outgoing and incoming ends, as `vertex_cost`."""
    if not model.directed:
        return vertex_cost(model, n, out)
    if not model.degrees:
        return vertex_cost(model, n, out + into)
    t = model.tables
    return vertex_cost(model, n, out) + (log_factorial(t, into) + log_partitions(t, into, n))


@njit(nogil=True, cache=True)
def layered_ends_cost(model, blocks, r):
    """Return v_r of a block with degrees per layer, as `vertex_cost`."""
    n, cost = blocks.sizes[r], 0.0
    for layer in range(model.layers):
        cost += vertex_cost(model, n, blocks.layer_ends[layer, r])
    return cost + (model.layers - 1) * log_factorial(model.tables, n)


@njit(nogil=True, cache=True)
def join_layered_ends(model, blocks, scratch, part, b, n, own):
    """Return how `layered_ends_cost` of block b, which has n nodes without the part, changes when
    the part joins it."""
    cost = (model.layers - 1) * log_rise(model.tables, n, part.size)
    for layer in range(model.layers):
        more = scratch.layers[0, layer]
        ends = blocks.layer_ends[layer, b] - (more if own else 0)
        cost += vertex_cost(model, n + part.size, ends + more)
        if n > 0:
            cost -= vertex_cost(model, n, ends)
    return cost


@njit(forceinline=True, cache=True)
def cell_cost(model, n, m, e):
    """Return the cost of a cell between two blocks."""
    if model.cells == MULTISETS:
        return log_multisets(model.tables, n * m, e)
    return -log_factorial(model.tables, e)


@njit(forceinline=True, cache=True)
def inner_cost(model, n, e):
    """Return the cost of the edges inside a block."""
    if model.cells == MULTISETS:
        return log_multisets(model.tables, n * (n + 1) // 2, e)
    return -log_factorial(model.tables, e) - e * LOG2


@njit(forceinline=True, cache=True)
def weights_cost(model, n, s, q):
    """Return the cost of a cell from EDGES on, with n edges whose weights have the sum s and the
    squares q."""
    if n == 0:
        return 0.0
    cost = model.sizes[n]
    if model.cells == NORMAL:
        k0, v0 = model.prior[0], model.prior[1]
        spread = max(q - s * s / n, 0.0)
        return cost + 0.5 * (v0 + n) * math.log(v0 + spread + k0 * s * s / (n * (k0 + n)))
    if model.cells == EXPONENTIAL:
        return cost + (model.prior[0] + n) * math.log(model.prior[1] + max(s, 0.0))
    return cost


@njit(nogil=True, cache=True)
def add_cells(model, blocks, r, total):
    """Return `total` with the cells of block r: inside it, and with blocks of lower numbers; of a
    directed graph all that leave it."""
    sizes, cells, totals = blocks.sizes, blocks.cells, blocks.totals
    if model.cells == INNER_DENSITIES:
        return total + inner_cost(model, sizes[r], cells[r, r])
    if model.cells == TWO_DENSITIES:
        return total
    if model.cells < EDGES:
        total += inner_cost(model, sizes[r], cells[r, r])
        for s in range(r):
            if cells[r, s] > 0:
                total += cell_cost(model, sizes[r], sizes[s], cells[r, s])
        return total
    for layer in range(model.layers):
        first = layer * len(sizes)
        total += inner_cost(model, sizes[r], cells[r, first + r])
        for s in range(r):
            total += cell_cost(model, sizes[r], sizes[s], cells[r, first + s])
    if model.layers > 0:
        return total
    if not model.directed:
        total -= cells[r, r] * LOG2
    for s in range(len(sizes) if model.directed else r + 1):
        if cells[r, s] > 0:
            w, q = 0.0, 0.0
            if model.cells >= NORMAL:
                w, q = totals[0, r, s], totals[1, r, s]
            total += weights_cost(model, cells[r, s], w, q)
    return total


@njit(forceinline=True, cache=True)
def communities_cost(model, B, inside):
    """Return what a planted partition pays for all cells together."""
    t, outside = model.tables, model.n_edges - inside
    cost = -log_factorial(t, outside)
    if model.cells == TWO_DENSITIES:
        cost += inside * (log_of(t, B) - LOG2) - log_factorial(t, inside)
    else:
        cost += log_multisets(t, B, inside)
    if B > 1:
        cost += outside * log_of(t, B * (B - 1) // 2) + log_of(t, model.n_edges + 1)
    return cost


@njit(forceinline=True, cache=True)
def join_cost(model, blocks, scratch, part, a, b):
    """Return the cost of adding the part, which was taken out of block a, to block b."""
    sizes, scalars = blocks.sizes, blocks.scalars
    x, size = scratch.x, part.size
    own = a == b
    n, out, into = sizes[b], blocks.ends[b], blocks.in_ends[b]
    if own:
        n, out, into = n - size, out - part.degree, into - part.in_degree
    B = scalars[BLOCKS]
    if sizes[a] == size:
        B -= 1
    if n == 0:
        B += 1
    cost = model.structure[B]
    if model.layers > 0 and model.degrees:
        cost += join_layered_ends(model, blocks, scratch, part, b, n, own)
    else:
        cost += ends_cost(model, n + size, out + part.degree, into + part.in_degree)
        if n > 0:
            cost -= ends_cost(model, n, out, into)
    if model.degrees:
        cost = join_degrees(model, blocks, scratch, part, own, b, cost)
    if model.cells == COUNTS:
        return join_counts(model, blocks, scratch, part, a, b, cost)
    if model.cells == MULTISETS:
        return join_multisets(model, blocks, scratch, part, a, b, n, cost)
    if model.cells in PLANTED:
        if model.cells == INNER_DENSITIES:
            new = x[b] + part.loops
            base = np.int64(blocks.cells[b, b]) - (new if own else 0)
            cost -= log_rise(model.tables, base, new) + new * LOG2
        return cost + communities_cost(model, B, scalars[INSIDE] - x[a] + x[b])
    if model.layers > 0:
        return join_layers(model, blocks, scratch, part, a, b, cost)
    return join_slots(model, blocks, scratch, part, a, b, cost)


@njit(forceinline=True, cache=True)
def join_degrees(model, blocks, scratch, part, own, b, cost):
    """Return the cost with that of the degree counts of block b after the part has joined it."""
    t, degree_counts = model.tables, blocks.degree_counts
    if part.degree_class >= 0:
        before = degree_counts[b, part.degree_class] - (1 if own else 0)
        return cost - log_of(t, before + 1)
    for i in range(part.n_classes):
        c = scratch.classes[i]
        more = degree_counts[part.block, c] if part.block >= 0 else 1
        cost -= log_rise(t, degree_counts[b, c] - (more if own else 0), more)
    return cost


@njit(forceinline=True, cache=True)
def join_counts(model, blocks, scratch, part, a, b, cost):
    """Return the cost with that of the cells: COUNTS."""
    t, x, cells = model.tables, scratch.x, blocks.cells
    own, new = a == b, x[b] + part.loops
    cost -= log_rise(t, np.int64(cells[b, b]) - (new if own else 0), new) + new * LOG2
    for i in range(part.m):
        s = scratch.touched[i]
        if s == b:
            continue
        base = np.int64(cells[b, s])
        if own:
            base -= x[s]
        elif s == a:
            base -= x[b]
        cost -= log_rise(t, base, x[s])
    return cost


@njit(nogil=True, cache=True)
def join_layers(model, blocks, scratch, part, a, b, cost):
    """Return the cost with that of the cells: `join_counts` per layer."""
    t, x, cells, K = model.tables, scratch.x, blocks.cells, len(blocks.sizes)
    own = a == b
    for layer in range(model.layers):
        slot = layer * K + b
        new = x[slot] + scratch.layers[1, layer]
        cost -= log_rise(t, np.int64(cells[b, slot]) - (new if own else 0), new) + new * LOG2
    for i in range(part.m):
        slot = scratch.touched[i]
        s = slot % K
        if s == b:
            continue
        base = np.int64(cells[b, slot])
        if own:
            base -= x[slot]
        elif s == a:
            base -= x[slot - a + b]
        cost -= log_rise(t, base, x[slot])
    return cost


@njit(nogil=True, cache=True)
def join_multisets(model, blocks, scratch, part, a, b, n, cost):
    """Return the cost with that of the cells: MULTISETS. n: nodes of b without the part."""
    t, x, cells, sizes = model.tables, scratch.x, blocks.cells, blocks.sizes
    own, size, new = a == b, part.size, x[b] + part.loops
    base = np.int64(cells[b, b]) - (new if own else 0)
    cost += inner_cost(model, n + size, base + new) - inner_cost(model, n, base)
    for s in range(len(sizes)):
        if s == b:
            continue
        base = np.int64(cells[b, s])
        other = sizes[s]
        if own:
            base -= x[s]
        elif s == a:
            base -= x[b]
            other -= size
        if base + x[s] > 0:
            cost += log_multisets(t, (n + size) * other, base + x[s])
            cost -= log_multisets(t, n * other, base)
    return cost


@njit(forceinline=True, cache=True)
def opposite(model, K, slot, r):
    """Return the slot of block r in the row of the block of `slot`: the same cell, seen from
    there."""
    return r + K if model.directed and slot < K else r


@njit(nogil=True, cache=True)
def join_slots(model, blocks, scratch, part, a, b, cost):
    """Return the cost with that of the cells: EDGES, NORMAL and EXPONENTIAL."""
    cells, x, K = blocks.cells, scratch.x, len(blocks.sizes)
    own, weighted = a == b, model.cells >= NORMAL
    new, w, q = inner_profile(model, scratch, part, b)
    if new > 0:
        base, base_w, base_q = np.int64(cells[b, b]), 0.0, 0.0
        if weighted:
            base_w, base_q = blocks.totals[0, b, b], blocks.totals[1, b, b]
        if own:
            base, base_w, base_q = base - new, base_w - w, base_q - q
        cost += weights_cost(model, base + new, base_w + w, base_q + q)
        cost -= weights_cost(model, base, base_w, base_q)
        if not model.directed:
            cost -= new * LOG2
    for i in range(part.m):
        slot = scratch.touched[i]
        s = slot - K if slot >= K else slot
        if s == b:
            continue
        base, base_w, base_q, w, q = np.int64(cells[b, slot]), 0.0, 0.0, 0.0, 0.0
        if weighted:
            base_w, base_q = blocks.totals[0, b, slot], blocks.totals[1, b, slot]
            w, q = scratch.totals[0, slot], scratch.totals[1, slot]
        if own or s == a:  # the statistics still have the part in block a
            taken = slot if own else opposite(model, K, slot, b)
            base -= x[taken]
            if weighted:
                base_w -= scratch.totals[0, taken]
                base_q -= scratch.totals[1, taken]
        cost += weights_cost(model, base + x[slot], base_w + w, base_q + q)
        cost -= weights_cost(model, base, base_w, base_q)
    return cost


@njit(forceinline=True, cache=True)
def inner_profile(model, scratch, part, r):
    """Return the edges inside block r that the part brings: their number, the sum and the squares
    of their weights."""
    K = len(scratch.marked)
    n, s, q = scratch.x[r] + part.loops, 0.0, 0.0
    if model.directed:
        n += scratch.x[K + r]
    if model.cells >= NORMAL:
        s, q = scratch.totals[0, r] + part.loop_sum, scratch.totals[1, r] + part.loop_squares
        if model.directed:
            s += scratch.totals[0, K + r]
            q += scratch.totals[1, K + r]
    return n, s, q


@njit(forceinline=True, cache=True)
def rise_of(t, n, m, e):
    """Return how a cell of MULTISETS with e edges changes if n becomes n + 1."""
    if e == 0:
        return 0.0
    return log_multisets(t, (n + 1) * m, e) - log_multisets(t, n * m, e)


@njit(nogil=True, cache=True)
def fill_row_rises(model, blocks, scratch, r):
    """Compute the rises (OUT) of block r."""
    t, n, sizes = model.tables, blocks.sizes[r], blocks.sizes
    grow, shrink = 0.0, 0.0
    for s in range(len(sizes)):
        e = blocks.cells[r, s]
        if e > 0 and s != r:
            grow += rise_of(t, n, sizes[s], e)
            shrink += rise_of(t, n - 1, sizes[s], e)
    scratch.rises[0, r] = grow
    scratch.rises[1, r] = shrink


@njit(nogil=True, cache=True)
def fill_rises(model, blocks, scratch):
    """Compute Scratch.rises (OUT): how the cells of each block with others change if a node
    without edges joins it (row 0), and how they have changed by the last node of the block (row 1).

    With them the change of a move in MULTISETS takes time in proportion to the edges of the
    node, not to the number of blocks."""
    for r in range(len(blocks.sizes)):
        fill_row_rises(model, blocks, scratch, r)


@njit(nogil=True, cache=True)
def count_rises(model, blocks, scratch, a, b, sign):
    """Add (sign 1) or subtract (-1) what the cells with a and b contribute to the rises of others.

    Subtract before a move from a to b, add after it, and compute the rises of a and b anew."""
    t, sizes, rises = model.tables, blocks.sizes, scratch.rises
    for s in range(len(sizes)):
        if s in (a, b):
            continue
        for r in (a, b):
            e = blocks.cells[r, s]
            if e > 0:
                rises[0, s] += sign * rise_of(t, sizes[s], sizes[r], e)
                rises[1, s] += sign * rise_of(t, sizes[s] - 1, sizes[r], e)
    if sign > 0:
        fill_row_rises(model, blocks, scratch, a)
        fill_row_rises(model, blocks, scratch, b)


@njit(forceinline=True, cache=True)
def node_cost(model, blocks, scratch, part, a, b):
    """Return `join_cost` of a node; MULTISETS uses Scratch.rises."""
    if model.cells != MULTISETS:
        return join_cost(model, blocks, scratch, part, a, b)
    sizes, cells, scalars = blocks.sizes, blocks.cells, blocks.scalars
    t, x = model.tables, scratch.x
    own = a == b
    n = sizes[b] - (1 if own else 0)
    B = scalars[BLOCKS]
    if sizes[a] == 1:
        B -= 1
    if n == 0:
        B += 1
    new = x[b] + part.loops
    base = np.int64(cells[b, b]) - (new if own else 0)
    cost = model.structure[B] + vertex_cost(model, n + 1, 0)
    if n > 0:
        cost -= vertex_cost(model, n, 0)
    cost += inner_cost(model, n + 1, base + new) - inner_cost(model, n, base)
    if own:
        cost += scratch.rises[1, b]
    else:
        cost += scratch.rises[0, b] - rise_of(t, n, sizes[a], cells[b, a])
        others = sizes[a] - 1
        cost += log_multisets(t, (n + 1) * others, cells[b, a] - x[b] + x[a])
        cost -= log_multisets(t, n * others, cells[b, a] - x[b])
    for i in range(part.m):
        s = scratch.touched[i]
        if s in (a, b):
            continue
        e = cells[b, s]
        if own:
            cost += log_multisets(t, n * sizes[s], e) - log_multisets(t, n * sizes[s], e - x[s])
        else:
            places = (n + 1) * sizes[s]
            cost += log_multisets(t, places, e + x[s]) - log_multisets(t, places, e)
    return cost


@njit(forceinline=True, cache=True)
def node_costs(model, blocks, scratch, part, a, count):
    """Fill Scratch.costs[:count] (OUT): `node_cost` of a node for each of Scratch.candidates, of
    which the first is its own block a.

    The same as `join_cost` without a call per block for COUNTS.
    Sorts the touched blocks: those with one edge first."""
    if model.cells != COUNTS:
        for i in range(count):
            scratch.costs[i] = node_cost(model, blocks, scratch, part, a, scratch.candidates[i])
        return
    t, x, touched, cells = model.tables, scratch.x, scratch.touched, blocks.cells
    m, degree, loops = part.m, part.degree, part.loops
    single = 0
    for j in range(m):
        s = touched[j]
        if x[s] == 1:
            touched[j] = touched[single]
            touched[single] = s
            single += 1
    left = blocks.scalars[BLOCKS] - (1 if blocks.sizes[a] == 1 else 0)
    for i in range(count):
        b = scratch.candidates[i]
        n, e, new = blocks.sizes[b], blocks.ends[b], x[b] + loops
        if i == 0:
            n, e = n - 1, e - degree
        cost = model.structure[left + (1 if n == 0 else 0)] + vertex_cost(model, n + 1, e + degree)
        if n > 0:
            cost -= vertex_cost(model, n, e)
        if model.degrees:
            cost -= log_of(t, blocks.degree_counts[b, part.degree_class] + (0 if i == 0 else 1))
        shared = 0.0
        if i == 0:
            for j in range(m):
                s = touched[j]
                if s != a:
                    shared += log_rise(t, cells[a, s] - x[s], x[s])
            shared += log_rise(t, np.int64(cells[a, a]) - new, new) + new * LOG2
            scratch.costs[0] = cost - shared
            continue
        for j in range(single):
            shared += log_of(t, cells[b, touched[j]] + 1)
        for j in range(single, m):
            s = touched[j]
            shared += log_factorial(t, cells[b, s] + x[s]) - log_factorial(t, cells[b, s])
        inner, between = np.int64(cells[b, b]), np.int64(cells[b, a])
        shared += log_rise(t, inner, new) - log_rise(t, inner, x[b]) + new * LOG2
        shared += log_rise(t, between - x[b], x[a]) - log_rise(t, between, x[a])
        scratch.costs[i] = cost - shared


@njit(nogil=True, cache=True)
def block_costs(model, blocks, scratch, part, a, count):
    """Fill Scratch.costs[:count] (OUT): `join_cost` of a whole block a for each of
    Scratch.candidates, of which the first is a itself and none is empty.

    The same numbers, to the last bit, in one call: many merges cost exactly the same, and rounding
    decides between them."""
    if model.cells != COUNTS:
        for i in range(count):
            scratch.costs[i] = join_cost(model, blocks, scratch, part, a, scratch.candidates[i])
        return
    t, x, touched, cells = model.tables, scratch.x, scratch.touched, blocks.cells
    degree, loops, size, counts = part.degree, part.loops, part.size, blocks.degree_counts
    for i in range(count):
        b = scratch.candidates[i]
        own = i == 0
        n, e, new = blocks.sizes[b], blocks.ends[b], x[b] + loops
        inner = np.int64(cells[b, b])
        if own:
            n, e, inner = n - size, e - degree, inner - new
        cost = model.structure[blocks.scalars[BLOCKS] - (0 if own else 1)]
        cost += vertex_cost(model, n + size, e + degree)
        if n > 0:
            cost -= vertex_cost(model, n, e)
        if model.degrees:
            for j in range(part.n_classes):
                c = scratch.classes[j]
                more = counts[a, c]
                cost -= log_rise(t, counts[b, c] - (more if own else 0), more)
        cost -= log_rise(t, inner, new) + new * LOG2
        for j in range(part.m):
            s = touched[j]
            if s != b:
                cost -= log_rise(t, cells[b, s] - (x[s] if own else 0), x[s])
        scratch.costs[i] = cost


@njit(forceinline=True, cache=True)
def cells_change(model, blocks, scratch, part, a, b):
    """Return the difference of two `join_cost`, those of b and of a, in one loop: COUNTS."""
    t, x, touched, cells = model.tables, scratch.x, scratch.touched, blocks.cells
    if a == b:
        return 0.0
    size, degree = part.size, part.degree
    n_a, e_a, n_b, e_b = blocks.sizes[a], blocks.ends[a], blocks.sizes[b], blocks.ends[b]
    B = blocks.scalars[BLOCKS]
    after = B - (1 if n_a == size else 0) + (1 if n_b == 0 else 0)
    change = model.structure[after] - model.structure[B]
    change += vertex_cost(model, n_b + size, e_b + degree) - vertex_cost(model, n_a, e_a)
    if n_b > 0:
        change -= vertex_cost(model, n_b, e_b)
    if n_a > size:
        change += vertex_cost(model, n_a - size, e_a - degree)
    if model.degrees:
        counts = blocks.degree_counts
        if part.degree_class >= 0:
            c = part.degree_class
            change += log_of(t, counts[a, c]) - log_of(t, counts[b, c] + 1)
        else:
            for i in range(part.n_classes):
                c = scratch.classes[i]
                more = counts[part.block, c]
                change += log_rise(t, counts[a, c] - more, more) - log_rise(t, counts[b, c], more)
    shared = 0.0
    for i in range(part.m):
        s = touched[i]
        if s in (a, b):
            continue
        w, e, f = x[s], cells[b, s], cells[a, s]
        if w == 1:
            shared += log_of(t, e + 1) - log_of(t, f)
        else:
            shared += log_rise(t, e, w) - log_rise(t, f - w, w)
    kept, new = x[a] + part.loops, x[b] + part.loops
    between = np.int64(cells[a, b])
    shared += log_rise(t, np.int64(cells[b, b]), new) + (new - kept) * LOG2
    shared -= log_rise(t, np.int64(cells[a, a]) - kept, kept)
    shared += log_rise(t, between - x[b], x[a]) - log_rise(t, between - x[b], x[b])
    return change - shared

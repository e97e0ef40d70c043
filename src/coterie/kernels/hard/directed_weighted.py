"""Description length of graphs with directions or weights, and its exact change by moves.

Used by `models/hard/description/directed_weighted.py`. Multigraphs as in `description.py`, with the
same parts; `tests/reference.py` has them as plain loops.

    e_rs    edges from block r to block s (directed), or between them (undirected, inner once)
    cells   log C(B^2 + E - 1, E) directed; log C(B (B+1) / 2 + E - 1, E) undirected
    graph   sum_r v_r - sum of log e_rs!  (undirected: - e_rr log 2 more for inner edges)
            v_r as in `description.py`, once for the outgoing and once for the incoming ends
    weights minus the log of the probability density of the weights of each cell, with the
            parameters of the cell integrated over their conjugate prior: a function of the number
            n of edges, the sum s and the sum of squares q of their weights
            NORMAL       c[n] + (v0 + n) / 2 log(v0 + q - s^2 / n + k0 s^2 / (n (k0 + n)))
            EXPONENTIAL  c[n] + (a0 + n) log(b0 + s)

The table c has everything that depends on n only (`sizes` of `CellModel`), and - log n! too. Row r
of the cells has one slot per block s: K slots of an undirected graph; of a directed one K for edges
from r to s, then K for edges from s to r. A *part* is one node or a whole block, as in
`description.py`; its profile x counts its edges per slot.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from coterie.kernels.hard.block_candidates import activate, list_merge_candidates
from coterie.kernels.hard.log_counts import (
    CountTables,
    log_factorial,
    log_of,
    log_partitions,
    log_rise,
)
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import below, stream

NO_WEIGHTS, NORMAL, EXPONENTIAL = 0, 1, 2
LOG2 = math.log(2.0)
NEVER = 1e300  # the cost of a move that is not possible
MIN_GAIN = 1e-9  # smaller gains are rounding
BLOCKS, FREE = 0, 1  # places in CellBlocks.scalars


class CellModel(NamedTuple):
    """What is described, in the form that kernels take."""

    directed: bool
    degree_corrected: bool
    weights: int  # NO_WEIGHTS, NORMAL or EXPONENTIAL
    prior: np.ndarray  # float64 (2,): NORMAL k0, v0; EXPONENTIAL a0, b0
    sizes: np.ndarray  # float64 (edges + 1): the part of a cell's cost that depends on n only
    structure: np.ndarray  # float64 (K + 2): cost of B blocks that depends on B alone
    tables: CountTables


class CellGraph(NamedTuple):
    """A graph; every edge is in the rows of both of its ends."""

    indptr: np.ndarray  # int64, n + 1
    indices: np.ndarray  # int32
    incoming: np.ndarray  # bool, one per index: the edge points to the row; empty: undirected
    weights: np.ndarray  # float64, one per index; empty: none
    out_degrees: np.ndarray  # int64 (n,); of an undirected graph the degrees
    in_degrees: np.ndarray  # int64 (n,); zeros for an undirected graph
    classes: np.ndarray  # int32 (n,): number of the pair of degrees among the distinct ones


class CellBlocks(NamedTuple):
    """Labels and statistics of the cells; there is room for K blocks, of which B are not empty."""

    labels: np.ndarray  # int32 (n,)
    sizes: np.ndarray  # int64 (K,)
    out_ends: np.ndarray  # int64 (K,)
    in_ends: np.ndarray  # int64 (K,)
    counts: np.ndarray  # int64 (K, slots)
    sums: np.ndarray  # float64 (K, slots); (1, 1) without weights
    squares: np.ndarray  # float64 (K, slots); (1, 1) without weights
    degree_counts: np.ndarray  # int32 (K, degree classes); (1, 1) without degree correction
    free: np.ndarray  # int64 (K,): numbers of empty blocks, a stack
    scalars: np.ndarray  # int64 (2,): B, height of `free`


class CellScratch(NamedTuple):
    """Buffers of one worker."""

    x: np.ndarray  # int64 (slots,), zeros between calls
    sums: np.ndarray  # float64 (slots,), zeros between calls
    squares: np.ndarray  # float64 (slots,), zeros between calls
    touched: np.ndarray  # int64 (slots,)
    marked: np.ndarray  # int64 (K,), zeros between calls
    candidates: np.ndarray  # int64 (K + 2,)


class CellPart(NamedTuple):
    """What moves: its profile is in CellScratch, its slots in touched[:m]."""

    m: int
    loops: int  # edges inside the part
    loop_sum: float
    loop_squares: float
    out_degree: int
    in_degree: int
    size: int
    degree_class: int  # -1: a whole block, with the degree counts of block `block`
    block: int


@njit(nogil=True, cache=True)
def fill_cells(model, graph, blocks):
    """Count the statistics (OUT) of blocks.labels; earlier ones are forgotten."""
    labels, sizes, out_ends, in_ends, counts, sums, squares, degree_counts, free, scalars = blocks
    K = len(sizes)
    for array in (sizes, out_ends, in_ends, scalars):
        array[:] = 0
    counts[:, :] = 0
    sums[:, :] = 0.0
    squares[:, :] = 0.0
    degree_counts[:, :] = 0
    for v in range(len(labels)):
        r = labels[v]
        sizes[r] += 1
        out_ends[r] += graph.out_degrees[v]
        in_ends[r] += graph.in_degrees[v]
        if model.degree_corrected:
            degree_counts[r, graph.classes[v]] += 1
        for i in range(graph.indptr[v], graph.indptr[v + 1]):
            slot = np.int64(labels[graph.indices[i]])
            if model.directed and graph.incoming[i]:
                slot += K
            elif slot == r and not model.directed and graph.indices[i] < v:
                continue  # an inner edge counts once
            counts[r, slot] += 1
            if model.weights > 0:
                w = graph.weights[i]
                sums[r, slot] += w
                squares[r, slot] += w * w
    for r in range(K - 1, -1, -1):
        if sizes[r] == 0:
            free[scalars[FREE]] = r
            scalars[FREE] += 1
        else:
            scalars[BLOCKS] += 1


@njit(inline="always", cache=True)
def cell_cost(model, n, s, q):
    """Return the cost of a cell with n edges whose weights have the sum s and the squares q."""
    if n == 0:
        return 0.0
    cost = model.sizes[n]
    if model.weights == NORMAL:
        k0, v0 = model.prior[0], model.prior[1]
        spread = max(q - s * s / n, 0.0)
        return cost + 0.5 * (v0 + n) * math.log(v0 + spread + k0 * s * s / (n * (k0 + n)))
    if model.weights == EXPONENTIAL:
        return cost + (model.prior[0] + n) * math.log(model.prior[1] + max(s, 0.0))
    return cost


@njit(inline="always", cache=True)
def ends_cost(model, n, out_ends, in_ends):
    """Return v_r of a block with n nodes, with its part of the labels (- log n!), but without the
    degree counts."""
    t = model.tables
    if model.degree_corrected:  # the two log n! cancel
        cost = log_factorial(t, out_ends) + log_partitions(t, out_ends, n)
        if model.directed:
            cost += log_factorial(t, in_ends) + log_partitions(t, in_ends, n)
        return cost
    return (out_ends + in_ends) * log_of(t, n) - log_factorial(t, n)


@njit(nogil=True, cache=True)
def cells_length(model, graph, blocks):
    """Return the description length from the statistics; O(K^2)."""
    labels, sizes, out_ends, in_ends, counts, sums, squares, degree_counts, _, scalars = blocks
    t, n = model.tables, len(labels)
    total = log_factorial(t, n) + log_of(t, n) + model.structure[scalars[BLOCKS]]
    weighted = model.weights > 0
    for r in range(len(sizes)):
        if sizes[r] == 0:
            continue
        total += ends_cost(model, sizes[r], out_ends[r], in_ends[r])
        if model.degree_corrected:
            for c in range(degree_counts.shape[1]):
                total -= log_factorial(t, degree_counts[r, c])
        if not model.directed:
            total -= counts[r, r] * LOG2
        for s in range(len(sizes) if model.directed else r + 1):
            if counts[r, s] > 0:
                w = sums[r, s] if weighted else 0.0
                q = squares[r, s] if weighted else 0.0
                total += cell_cost(model, counts[r, s], w, q)
    if model.degree_corrected:
        for v in range(n):
            total -= log_factorial(t, graph.out_degrees[v])
            total -= log_factorial(t, graph.in_degrees[v])
    return total


@njit(nogil=True, cache=True)
def node_part(model, graph, labels, K, v, scratch):
    """Fill the profile of node v; return its CellPart."""
    x, touched = scratch.x, scratch.touched
    m = 0
    for i in range(graph.indptr[v], graph.indptr[v + 1]):
        slot = np.int64(labels[graph.indices[i]])
        if model.directed and graph.incoming[i]:
            slot += K
        if x[slot] == 0:
            touched[m] = slot
            m += 1
        x[slot] += 1
        if model.weights > 0:
            w = graph.weights[i]
            scratch.sums[slot] += w
            scratch.squares[slot] += w * w
    return CellPart(
        m,
        0,
        0.0,
        0.0,
        graph.out_degrees[v],
        graph.in_degrees[v],
        1,
        np.int64(graph.classes[v]),
        np.int64(-1),
    )


@njit(nogil=True, cache=True)
def block_part(model, blocks, r, scratch):
    """Fill the profile of the whole block r; return its CellPart."""
    K, m = len(blocks.sizes), 0
    weighted = model.weights > 0
    for slot in range(blocks.counts.shape[1]):
        if slot % K != r and blocks.counts[r, slot] > 0:
            scratch.x[slot] = blocks.counts[r, slot]
            if weighted:
                scratch.sums[slot] = blocks.sums[r, slot]
                scratch.squares[slot] = blocks.squares[r, slot]
            scratch.touched[m] = slot
            m += 1
    return CellPart(
        m,
        blocks.counts[r, r],
        blocks.sums[r, r] if weighted else 0.0,
        blocks.squares[r, r] if weighted else 0.0,
        blocks.out_ends[r],
        blocks.in_ends[r],
        blocks.sizes[r],
        np.int64(-1),
        np.int64(r),
    )


@njit(inline="always", cache=True)
def forget(scratch, m):
    """Reset the profile."""
    for i in range(m):
        slot = scratch.touched[i]
        scratch.x[slot] = 0
        scratch.sums[slot] = 0.0
        scratch.squares[slot] = 0.0


@njit(inline="always", cache=True)
def opposite(model, K, slot, r):
    """Return the slot of block r in the row of the block of `slot`: the same cell, seen from
    there."""
    return r + K if model.directed and slot < K else r


@njit(nogil=True, cache=True)
def join_cost(model, blocks, scratch, part, a, b):
    """Return the cost of adding the part, which was taken out of block a, to block b."""
    _, sizes, out_ends, in_ends, counts, sums, squares, degree_counts, _, scalars = blocks
    t, x, K = model.tables, scratch.x, len(sizes)
    own, weighted = a == b, model.weights > 0
    n, out, into = sizes[b], out_ends[b], in_ends[b]
    if own:
        n -= part.size
        out -= part.out_degree
        into -= part.in_degree
    B = scalars[BLOCKS]
    if sizes[a] == part.size:
        B -= 1
    if n == 0:
        B += 1
    cost = model.structure[B]
    cost += ends_cost(model, n + part.size, out + part.out_degree, into + part.in_degree)
    if n > 0:
        cost -= ends_cost(model, n, out, into)
    if model.degree_corrected:
        if part.degree_class >= 0:
            before = degree_counts[b, part.degree_class] - (1 if own else 0)
            cost -= log_of(t, before + 1)
        else:
            for c in range(degree_counts.shape[1]):
                more = degree_counts[part.block, c]
                if more > 0:
                    before = degree_counts[b, c] - (more if own else 0)
                    cost -= log_rise(t, before, more)
    new, new_sum, new_squares = x[b] + part.loops, 0.0, 0.0
    if model.directed:
        new += x[K + b]
    if weighted:
        new_sum = scratch.sums[b] + part.loop_sum
        new_squares = scratch.squares[b] + part.loop_squares
        if model.directed:
            new_sum += scratch.sums[K + b]
            new_squares += scratch.squares[K + b]
    if new > 0:
        base, w, q = counts[b, b], 0.0, 0.0
        if weighted:
            w, q = sums[b, b], squares[b, b]
        if own:
            base -= new
            w -= new_sum
            q -= new_squares
        cost += cell_cost(model, base + new, w + new_sum, q + new_squares)
        cost -= cell_cost(model, base, w, q)
        if not model.directed:
            cost -= new * LOG2
    for i in range(part.m):
        slot = scratch.touched[i]
        s = slot - K if slot >= K else slot
        if s == b:
            continue
        base, w, q = counts[b, slot], 0.0, 0.0
        more, more_q = 0.0, 0.0
        if weighted:
            w, q = sums[b, slot], squares[b, slot]
            more, more_q = scratch.sums[slot], scratch.squares[slot]
        taken = slot if own else opposite(model, K, slot, b)
        if own or s == a:  # the statistics still have the part in block a
            base -= x[taken]
            if weighted:
                w -= scratch.sums[taken]
                q -= scratch.squares[taken]
        cost += cell_cost(model, base + x[slot], w + more, q + more_q)
        cost -= cell_cost(model, base, w, q)
    return cost


@njit(inline="always", cache=True)
def change_cell(model, blocks, r, slot, n, s, q):
    """Add n edges (or take them away) to one slot of a row."""
    blocks.counts[r, slot] += n
    if model.weights > 0:
        empty = blocks.counts[r, slot] == 0  # no rounding is left in an empty cell
        blocks.sums[r, slot] = 0.0 if empty else blocks.sums[r, slot] + s
        blocks.squares[r, slot] = 0.0 if empty else blocks.squares[r, slot] + q


@njit(nogil=True, cache=True)
def shift_part(model, blocks, scratch, part, a, b):
    """Move the part from block a to block b in all statistics; labels are not changed."""
    sizes, free, scalars, degree_counts = (
        blocks.sizes,
        blocks.free,
        blocks.scalars,
        blocks.degree_counts,
    )
    K, x = len(sizes), scratch.x
    if sizes[b] == 0:  # b is empty: take it off the stack
        i = scalars[FREE] - 1
        while free[i] != b:
            i -= 1
        free[i] = free[scalars[FREE] - 1]
        scalars[FREE] -= 1
        scalars[BLOCKS] += 1
    for r in (a, b):
        sign = 1 if r == b else -1
        n, s, q = x[r] + part.loops, scratch.sums[r], scratch.squares[r]
        s += part.loop_sum
        q += part.loop_squares
        if model.directed:
            n += x[K + r]
            s += scratch.sums[K + r]
            q += scratch.squares[K + r]
            change_cell(model, blocks, r, K + r, sign * n, sign * s, sign * q)
        change_cell(model, blocks, r, r, sign * n, sign * s, sign * q)
    for i in range(part.m):
        slot = scratch.touched[i]
        other = slot - K if slot >= K else slot
        n, s, q = x[slot], scratch.sums[slot], scratch.squares[slot]
        if other != a:
            change_cell(model, blocks, a, slot, -n, -s, -q)
            change_cell(model, blocks, other, opposite(model, K, slot, a), -n, -s, -q)
        if other != b:
            change_cell(model, blocks, b, slot, n, s, q)
            change_cell(model, blocks, other, opposite(model, K, slot, b), n, s, q)
    if model.degree_corrected:
        if part.degree_class >= 0:
            degree_counts[a, part.degree_class] -= 1
            degree_counts[b, part.degree_class] += 1
        else:
            for c in range(degree_counts.shape[1]):
                degree_counts[b, c] += degree_counts[a, c]
                degree_counts[a, c] = 0
    sizes[a] -= part.size
    sizes[b] += part.size
    blocks.out_ends[a] -= part.out_degree
    blocks.out_ends[b] += part.out_degree
    blocks.in_ends[a] -= part.in_degree
    blocks.in_ends[b] += part.in_degree
    if sizes[a] == 0:
        free[scalars[FREE]] = a
        scalars[FREE] += 1
        scalars[BLOCKS] -= 1


@njit(nogil=True, cache=True)
def move_change(model, graph, blocks, scratch, v, b):
    """Return how the description length changes if node v moves to block b."""
    a = np.int64(blocks.labels[v])
    part = node_part(model, graph, blocks.labels, len(blocks.sizes), v, scratch)
    change = join_cost(model, blocks, scratch, part, a, b)
    change -= join_cost(model, blocks, scratch, part, a, a)
    forget(scratch, part.m)
    return change


@njit(nogil=True, cache=True)
def merge_change(model, blocks, scratch, r, b):
    """Return how the description length changes if block r becomes part of block b."""
    part = block_part(model, blocks, r, scratch)
    change = join_cost(model, blocks, scratch, part, r, b)
    change -= join_cost(model, blocks, scratch, part, r, r)
    forget(scratch, part.m)
    return change


@njit(nogil=True, cache=True)
def move_node(model, graph, blocks, scratch, v, b):
    """Move node v to block b."""
    part = node_part(model, graph, blocks.labels, len(blocks.sizes), v, scratch)
    shift_part(model, blocks, scratch, part, np.int64(blocks.labels[v]), b)
    blocks.labels[v] = b
    forget(scratch, part.m)


@njit(nogil=True, cache=True)
def list_candidates(graph, blocks, scratch, v, state, near, far, exhaustive):
    """List blocks that node v may join, its own first; return (state, how many).

    Blocks of neighbours, blocks of neighbours of neighbours, or all if there are few."""
    labels, candidates, marked = blocks.labels, scratch.candidates, scratch.marked
    own = np.int64(labels[v])
    candidates[0] = own
    count = 1
    if blocks.scalars[BLOCKS] <= exhaustive:
        for s in range(len(blocks.sizes)):
            if blocks.sizes[s] > 0 and s != own:
                candidates[count] = s
                count += 1
        return state, count
    marked[own] = 1
    first, degree = graph.indptr[v], graph.indptr[v + 1] - graph.indptr[v]
    for i in range(near + far if degree > 0 else 0):
        state, j = below(state, degree)
        u = graph.indices[first + j]
        if i >= near:
            state, j = below(state, graph.indptr[u + 1] - graph.indptr[u])
            u = graph.indices[graph.indptr[u] + j]
        s = np.int64(labels[u])
        if marked[s] == 0:
            marked[s] = 1
            candidates[count] = s
            count += 1
    for i in range(count):
        marked[candidates[i]] = 0
    return state, count


@njit(nogil=True, cache=True)
def sweep_cells(
    model, graph, blocks, scratch, order, key, near, far, exhaustive, fewest, most, active
):
    """Move every node of `order` to the best block among its candidates.

    The number of blocks stays between `fewest` and `most`. active (OUT): 1 for nodes that moved
    and their neighbours. Return (nodes moved, change of the description length): it never rises.
    """
    moved, total = 0, 0.0
    labels, sizes, scalars = blocks.labels, blocks.sizes, blocks.scalars
    for place in range(len(order)):
        v = order[place]
        a = np.int64(labels[v])
        alone = sizes[a] == 1
        if alone and scalars[BLOCKS] <= fewest:
            continue
        state = stream(key, v)
        part = node_part(model, graph, labels, len(sizes), v, scratch)
        state, count = list_candidates(graph, blocks, scratch, v, state, near, far, exhaustive)
        if not alone and scalars[BLOCKS] < most and scalars[FREE] > 0:
            scratch.candidates[count] = blocks.free[scalars[FREE] - 1]
            count += 1
        best, low, stay = a, -MIN_GAIN, 0.0
        if count > 1:
            stay = join_cost(model, blocks, scratch, part, a, a)
        for i in range(1, count):
            b = scratch.candidates[i]
            change = join_cost(model, blocks, scratch, part, a, b) - stay
            if change < low:
                low, best = change, b
        if best != a:
            shift_part(model, blocks, scratch, part, a, best)
            labels[v] = best
            moved += 1
            total += low
            activate(graph, v, active)
        forget(scratch, part.m)
    return moved, total


@njit(nogil=True, cache=True)
def find_cell_merges(model, graph, blocks, scratch, start, nodes, key, tries, partner, change):
    """Fill partner and change (OUT, one per block): the best of `tries` candidates per block.

    Candidates are blocks of neighbours and of neighbours of neighbours of random members, and a
    few random blocks; all blocks if there are no more than `tries`."""
    for r in range(len(blocks.sizes)):
        partner[r] = -1
        change[r] = NEVER
        if blocks.sizes[r] == 0:
            continue
        state = stream(key, r)
        part = block_part(model, blocks, r, scratch)
        stay = join_cost(model, blocks, scratch, part, r, r)
        seen = list_merge_candidates(
            graph, blocks, scratch, start, nodes, r, state, tries, blocks.scalars[BLOCKS] <= tries
        )
        for i in range(1, seen):
            s = scratch.candidates[i]
            cost = join_cost(model, blocks, scratch, part, r, s) - stay
            if cost < change[r]:
                change[r] = cost
                partner[r] = s
        forget(scratch, part.m)


@njit(nogil=True, cache=True)
def merge_cells(model, blocks, scratch, start, nodes, order, partner, most, limit):
    """Merge blocks r of `order` with partner[r] while the exact change is below `limit`.

    A block takes part in one merge only, so the lists of members stay valid. At most `most`
    merges. Return (merges made, change)."""
    taken = scratch.marked
    made, total = 0, 0.0
    for i in range(len(order)):
        r = order[i]
        s = partner[r]
        if made == most:
            break
        if s < 0 or taken[r] == 1 or taken[s] == 1:
            continue
        part = block_part(model, blocks, r, scratch)
        change = join_cost(model, blocks, scratch, part, r, s)
        change -= join_cost(model, blocks, scratch, part, r, r)
        if change < limit:
            shift_part(model, blocks, scratch, part, r, s)
            for j in range(start[r], start[r + 1]):
                blocks.labels[nodes[j]] = s
            taken[r] = 1
            taken[s] = 1
            made += 1
            total += change
        forget(scratch, part.m)
    taken[:] = 0
    return made, total

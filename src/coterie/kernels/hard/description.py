"""The description length of a partition of a graph, and its exact change by moves.

Used by `models/hard/description/`. The definitions are those of Peixoto (Physical Review E 95,
012317, 2017), for multigraphs, in nats; `tests/reference.py` has them as plain loops.

    n_r     nodes of block r                    e_r    ends of edges (degree sum) of block r
    e_rs    edges between r and s; e_rr edges inside r, each counted once
    B       blocks that are not empty           N, E   nodes and edges

    labels  log N + log C(N-1, B-1) + log N! / (n_1! ... n_B!)
    cells   log C(B (B+1) / 2 + E - 1, E)       (flat; a hierarchy replaces it, see Upper)
    graph   sum_r v_r - sum_{r<s} log e_rs! - sum_r (log e_rr! + e_rr log 2) + constant
            SIMPLE             v_r = e_r log n_r
            DEGREE_CORRECTED   v_r = log e_r! + log q(e_r, n_r) + log n_r! - sum_k log n_kr!
                               (q: partitions, n_kr: nodes of degree k), constant - sum_v log k_v!
            COMMUNITIES        one density inside blocks and one between them (planted partition
                               of Zhang & Peixoto 2020): cells and graph become
                               - log E_in! - log E_out! + E_in log(B/2) + E_out log C(B, 2)
                               + log(E+1) if B > 1, with v_r as for degree correction
            DENSE              sum_rs log of multisets(n_r n_s, e_rs): levels of a hierarchy

A *part* is what moves: one node, or a whole block (a merge). Its profile x[t] counts its edges to
block t; x of its own block excludes the edges inside the part (`loops`). `join_cost` is the cost of
adding a part to block b after it was taken out of block a: the change of a move is the difference
of two of them. No cost ever needs the whole graph.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from coterie.kernels.hard.block_candidates import activate
from coterie.kernels.hard.log_counts import (
    CountTables,
    log_choose,
    log_factorial,
    log_multisets,
    log_of,
    log_partitions,
    log_rise,
)
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.no_refcount import borrow_without_refcount
from coterie.kernels.numba.random import below, stream

DEGREE_CORRECTED = 0
SIMPLE = 1
COMMUNITIES = 2
DENSE = 3

LOG2 = math.log(2.0)
NEVER = 1e300  # the cost of a move that is not possible
MIN_GAIN = 1e-9  # smaller gains are rounding
LEVELS_SLACK = 50.0  # emptying a block at a higher cost is not rescued by the levels above

BLOCKS, INSIDE, FREE = 0, 1, 2  # places in Blocks.scalars


class DescriptionModel(NamedTuple):
    """What is described, in the form that kernels take."""

    kind: int
    n_nodes: int
    n_edges: int
    structure: np.ndarray  # float64 (K + 2): cost of B blocks that depends on B alone
    tables: CountTables


class Multigraph(NamedTuple):
    """A graph with weights (numbers of edges) and self-loops."""

    indptr: np.ndarray  # int64, n + 1
    indices: np.ndarray  # int32
    weights: np.ndarray  # int64, one per index, or empty: all 1
    loops: np.ndarray  # int64 (n,), or empty: none
    degrees: np.ndarray  # int64 (n,): loops count twice
    classes: np.ndarray  # int32 (n,): number of the degree among the distinct ones


class Blocks(NamedTuple):
    """Labels and block statistics; there is room for K blocks, of which B are not empty."""

    labels: np.ndarray  # int32 (n,)
    sizes: np.ndarray  # int64 (K,)
    ends: np.ndarray  # int64 (K,)
    cells: np.ndarray  # int32 (K, K), symmetric
    inner: np.ndarray  # int64 (K,): edges inside each block
    degree_counts: np.ndarray  # int32 (K, degree classes); (1, 1) if the model does not use them
    free: np.ndarray  # int64 (K,): numbers of empty blocks, a stack
    scalars: np.ndarray  # int64 (3,): B, edges inside blocks, height of `free`


class Upper(NamedTuple):
    """The levels above the blocks: the prior of the block matrix. Depth 0 is a flat model.

    Level l + 1 groups the blocks (or groups) of level l; cells are dense multigraphs."""

    depth: int
    parents: np.ndarray  # int32 (depth, K)
    sizes: np.ndarray  # int64 (depth, G): children per group that are not empty
    cells: np.ndarray  # int64 (depth, G, G), symmetric, inner edges once
    sums: np.ndarray  # int64 (2, G): scratch
    touched: np.ndarray  # int64 (2, G): scratch
    changes: np.ndarray  # float64 (G,): what joining a block of each group changes, see `known`
    known: np.ndarray  # int64 (G + 1,): number of the part that `changes` is for; the present one


class Scratch(NamedTuple):
    """Buffers of one worker."""

    x: np.ndarray  # int64 (K,), zeros between calls
    touched: np.ndarray  # int64 (K,)
    marked: np.ndarray  # int64 (K,), zeros between calls
    candidates: np.ndarray  # int64 (K,)
    costs: np.ndarray  # float64 (K,)
    classes: np.ndarray  # int64 (degree classes,): those of a whole block
    rises: np.ndarray  # float64 (2, K): see `fill_rises`


class Part(NamedTuple):
    """What moves: its profile is in Scratch.x and Scratch.touched[:m]."""

    m: int
    loops: int  # edges inside the part
    degree: int
    size: int
    degree_class: int  # -1: a whole block, with the degree counts of block `block`
    block: int
    n_classes: int  # of a whole block: the degree classes in Scratch.classes[:n_classes]


@njit(nogil=True, cache=True)
def fill_statistics(kind, graph, blocks):
    """Count the statistics (OUT) of blocks.labels; the arrays must be zeros."""
    labels, sizes, ends, cells, inner, degree_counts, free, scalars = blocks
    has_degrees = kind in (DEGREE_CORRECTED, COMMUNITIES)
    for v in range(len(labels)):
        r = labels[v]
        sizes[r] += 1
        ends[r] += graph.degrees[v]
        if has_degrees:
            degree_counts[r, graph.classes[v]] += 1
        if len(graph.loops) > 0:
            inner[r] += 2 * graph.loops[v]
        for i in range(graph.indptr[v], graph.indptr[v + 1]):
            s = labels[graph.indices[i]]
            w = graph.weights[i] if len(graph.weights) > 0 else 1
            if r == s:
                inner[r] += w
            else:
                cells[r, s] += w
    for r in range(len(sizes)):
        inner[r] //= 2
        cells[r, r] = inner[r]
        scalars[INSIDE] += inner[r]
        scalars[BLOCKS] += sizes[r] > 0
    for r in range(len(sizes) - 1, -1, -1):
        if sizes[r] == 0:
            free[scalars[FREE]] = r
            scalars[FREE] += 1


@njit(nogil=True, cache=True)
def whole_length(model, graph, blocks, upper):
    """Return the description length from the statistics; O(K^2)."""
    labels, sizes, ends, cells, inner, degree_counts, _, scalars = blocks
    t, kind, B = model.tables, model.kind, scalars[BLOCKS]
    total = log_factorial(t, model.n_nodes) + log_of(t, model.n_nodes) + model.structure[B]
    if kind == COMMUNITIES:
        total += communities_cost(model, B, scalars[INSIDE])
    for r in range(len(sizes)):
        if sizes[r] == 0:
            continue
        total += vertex_cost(model, sizes[r], ends[r])
        if kind in (DEGREE_CORRECTED, COMMUNITIES):
            for c in range(degree_counts.shape[1]):
                total -= log_factorial(t, degree_counts[r, c])
        if kind != COMMUNITIES:
            total += inner_cost(model, sizes[r], inner[r])
            for s in range(r):
                if cells[r, s] > 0:
                    total += cell_cost(model, sizes[r], sizes[s], cells[r, s])
    if kind in (DEGREE_CORRECTED, COMMUNITIES):
        for v in range(len(labels)):
            total -= log_factorial(t, graph.degrees[v])
    for level in range(upper.depth):
        total += level_length(model, upper, level)
    if upper.depth > 0:
        total += top_length(model, upper)
    return total


@njit(nogil=True, cache=True)
def level_length(model, upper, level):
    """Return the length of one level above the blocks: its cells and its labels."""
    t, G = model.tables, upper.sizes.shape[1]
    total, groups, children = 0.0, 0, 0
    for R in range(G):
        n = upper.sizes[level, R]
        if n == 0:
            continue
        groups += 1
        children += n
        total -= log_factorial(t, n)
        total += log_multisets(t, n * (n + 1) // 2, upper.cells[level, R, R])
        for S in range(R):
            total += log_multisets(t, n * upper.sizes[level, S], upper.cells[level, R, S])
    return total + labels_length(t, children, groups)


@njit(forceinline=True, cache=True)
def labels_length(t, n, groups):
    """Return the length of the labels of n things without the sizes of their groups."""
    return log_factorial(t, n) + log_of(t, n) + log_choose(t, n - 1, groups - 1)


@njit(nogil=True, cache=True)
def top_length(model, upper):
    """Return the length of the cells of the highest level; 0 if it has one group."""
    G = 0
    for R in range(upper.sizes.shape[1]):
        G += upper.sizes[upper.depth - 1, R] > 0
    return log_multisets(model.tables, G * (G + 1) // 2, model.n_edges)


@njit(forceinline=True, cache=True)
def vertex_cost(model, n, e):
    """Return v_r of a block with n nodes and e ends, with its part of the labels (- log n!), but
    without the degree counts."""
    t = model.tables
    if model.kind in (DEGREE_CORRECTED, COMMUNITIES):  # the two log n! cancel
        return log_factorial(t, e) + log_partitions(t, e, n)
    if model.kind == SIMPLE:
        return e * log_of(t, n) - log_factorial(t, n)
    return -log_factorial(t, n)


@njit(forceinline=True, cache=True)
def cell_cost(model, n, m, e):
    """Return the cost of a cell between two blocks."""
    if model.kind == DENSE:
        return log_multisets(model.tables, n * m, e)
    return -log_factorial(model.tables, e)


@njit(forceinline=True, cache=True)
def inner_cost(model, n, e):
    """Return the cost of the edges inside a block."""
    if model.kind == DENSE:
        return log_multisets(model.tables, n * (n + 1) // 2, e)
    return -log_factorial(model.tables, e) - e * LOG2


@njit(forceinline=True, cache=True)
def communities_cost(model, B, inside):
    """Return what the planted partition pays for all cells together."""
    t, outside = model.tables, model.n_edges - inside
    cost = inside * (log_of(t, B) - LOG2)
    cost -= log_factorial(t, inside) + log_factorial(t, outside)
    if B > 1:
        cost += outside * log_of(t, B * (B - 1) // 2) + log_of(t, model.n_edges + 1)
    return cost


@njit(nogil=True, cache=True)
def node_part(graph, labels, v, scratch):
    """Fill the profile of node v; return its Part."""
    x, touched = scratch.x, scratch.touched
    m = 0
    for i in range(graph.indptr[v], graph.indptr[v + 1]):
        s = labels[graph.indices[i]]
        if x[s] == 0:
            touched[m] = s
            m += 1
        x[s] += graph.weights[i] if len(graph.weights) > 0 else 1
    loops = graph.loops[v] if len(graph.loops) > 0 else 0
    return Part(m, loops, graph.degrees[v], 1, np.int64(graph.classes[v]), np.int64(-1), 0)


@njit(nogil=True, cache=True)
def block_part(blocks, r, scratch):
    """Fill the profile of the whole block r; return its Part."""
    m = 0
    for s in range(len(blocks.sizes)):
        if s != r and blocks.cells[r, s] > 0:
            scratch.x[s] = blocks.cells[r, s]
            scratch.touched[m] = s
            m += 1
    n_classes = 0
    if len(blocks.degree_counts) > r:  # not if the model does not use them
        for c in range(blocks.degree_counts.shape[1]):
            if blocks.degree_counts[r, c] > 0:
                scratch.classes[n_classes] = c
                n_classes += 1
    inner, ends, size = blocks.inner[r], blocks.ends[r], blocks.sizes[r]
    return Part(m, inner, ends, size, np.int64(-1), np.int64(r), n_classes)


@njit(forceinline=True, cache=True)
def forget(scratch, m):
    """Reset the profile."""
    for i in range(m):
        scratch.x[scratch.touched[i]] = 0


@njit(nogil=True, cache=True)
def join_cost(model, blocks, scratch, part, a, b):
    """Return the cost of adding the part, which was taken out of block a, to block b."""
    _, sizes, ends, cells, inner, degree_counts, _, scalars = blocks
    m, loops, degree, size, degree_class, block, n_classes = part
    t, kind, x, touched = model.tables, model.kind, scratch.x, scratch.touched
    own = a == b
    n, e = sizes[b], ends[b]
    if own:
        n -= size
        e -= degree
    B = scalars[BLOCKS]
    if sizes[a] == size:
        B -= 1
    if n == 0:
        B += 1
    new = x[b] + loops
    cost = model.structure[B] + vertex_cost(model, n + size, e + degree)
    if n > 0:
        cost -= vertex_cost(model, n, e)
    if kind in (DEGREE_CORRECTED, COMMUNITIES):
        if degree_class >= 0:
            before = degree_counts[b, degree_class] - (1 if own else 0)
            cost -= log_of(t, before + 1)
        else:
            for i in range(n_classes):
                c = scratch.classes[i]
                more = degree_counts[block, c]
                before = degree_counts[b, c] - (more if own else 0)
                cost -= log_rise(t, before, more)
    if kind == COMMUNITIES:
        inside = scalars[INSIDE] - x[a] - loops + new
        return cost + communities_cost(model, B, inside)
    base = inner[b] - (new if own else 0)
    if kind == DENSE:
        cost += inner_cost(model, n + size, base + new) - inner_cost(model, n, base)
        for s in range(len(sizes)):
            if s == b:
                continue
            base = cells[b, s]
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
    cost -= log_rise(t, base, new) + new * LOG2
    for i in range(m):
        s = touched[i]
        if s == b:
            continue
        base = cells[b, s]
        if own:
            base -= x[s]
        elif s == a:
            base -= x[b]
        cost -= log_rise(t, base, x[s])
    return cost


@njit(nogil=True, cache=True)
def upper_change(model, blocks, upper, scratch, part, a, b):
    """Return how the levels above change if the part moves from block a to block b.

    An empty block b joins the group of a. A move that would empty a group is not possible."""
    if upper.depth == 0 or a == b:
        return 0.0
    t = model.tables
    lost = blocks.sizes[a] == part.size
    made = blocks.sizes[b] == 0
    A = np.int64(upper.parents[0, a])
    C = A if made else np.int64(upper.parents[0, b])
    total = 0.0
    if lost != made:
        B, groups = blocks.scalars[BLOCKS], 0
        for R in range(upper.sizes.shape[1]):
            groups += upper.sizes[0, R] > 0
        after = B + (1 if made else -1)
        total += labels_length(t, after, groups) - labels_length(t, B, groups)
    if A == C:
        if lost != made:
            total += resized_row(t, upper, A, upper.sizes[0, A] + (1 if made else -1))
        return total
    if lost and upper.sizes[0, A] == 1:
        return NEVER
    now, later = 0, 1
    m = group_profile(upper, scratch, part)
    n_A = upper.sizes[0, A]
    if lost:  # first the smaller group, then the moved edges
        total += resized_row(t, upper, A, n_A - 1)
        n_A -= 1
    for level in range(upper.depth):
        n_C = upper.sizes[level, C]
        x = upper.sums[now]
        cells = upper.cells[level]
        for i in range(m):
            T = upper.touched[now, i]
            if T in (A, C):
                continue
            n_T = upper.sizes[level, T]
            total += log_multisets(t, n_A * n_T, cells[A, T] - x[T])
            total -= log_multisets(t, n_A * n_T, cells[A, T])
            total += log_multisets(t, n_C * n_T, cells[C, T] + x[T])
            total -= log_multisets(t, n_C * n_T, cells[C, T])
        total += log_multisets(t, n_A * n_C, cells[A, C] + x[A] - x[C])
        total -= log_multisets(t, n_A * n_C, cells[A, C])
        total += log_multisets(t, n_A * (n_A + 1) // 2, cells[A, A] - x[A] - part.loops)
        total -= log_multisets(t, n_A * (n_A + 1) // 2, cells[A, A])
        total += log_multisets(t, n_C * (n_C + 1) // 2, cells[C, C] + x[C] + part.loops)
        total -= log_multisets(t, n_C * (n_C + 1) // 2, cells[C, C])
        if level + 1 == upper.depth:
            break
        A, C = np.int64(upper.parents[level + 1, A]), np.int64(upper.parents[level + 1, C])
        if A == C:
            break
        m = lift(upper, level, now, later, m)
        now, later = later, now
        n_A = upper.sizes[level + 1, A]
    for i in range(m):
        upper.sums[now, upper.touched[now, i]] = 0
    return total


@njit(nogil=True, cache=True)
def next_part(upper):
    """Forget what `group_change` has computed, for another part or other statistics."""
    upper.known[len(upper.changes)] += 1


@njit(nogil=True, cache=True)
def group_change(model, blocks, upper, scratch, part, a, b):
    """Return `upper_change`, computed once per part for all blocks b of a group.

    It does not depend on b, unless b is empty."""
    if upper.depth == 0 or a == b:
        return 0.0
    if blocks.sizes[b] == 0:
        return upper_change(model, blocks, upper, scratch, part, a, b)
    C = upper.parents[0, b]
    if upper.known[C] != upper.known[len(upper.changes)]:
        upper.known[C] = upper.known[len(upper.changes)]
        upper.changes[C] = upper_change(model, blocks, upper, scratch, part, a, b)
    return upper.changes[C]


@njit(nogil=True, cache=True)
def upper_relief(model, blocks, upper, scratch, part, a):
    """Return the most that the levels above can gain when the part moves from block a to a block
    that is not empty: what its edges cost in the cells of a's groups.

    A part that is the whole block changes the number of blocks too: LEVELS_SLACK."""
    if upper.depth == 0:
        return 0.0
    if blocks.sizes[a] == part.size:
        return LEVELS_SLACK
    t, A = model.tables, np.int64(upper.parents[0, a])
    now, later, total = 0, 1, 0.0
    m = group_profile(upper, scratch, part)
    for level in range(upper.depth):
        n_A, cells, x = upper.sizes[level, A], upper.cells[level], upper.sums[now]
        for i in range(m):
            T = upper.touched[now, i]
            if T != A:
                places = n_A * upper.sizes[level, T]
                total += log_multisets(t, places, cells[A, T])
                total -= log_multisets(t, places, cells[A, T] - x[T])
        total += log_multisets(t, n_A * (n_A + 1) // 2, cells[A, A])
        total -= log_multisets(t, n_A * (n_A + 1) // 2, cells[A, A] - x[A] - part.loops)
        if level + 1 < upper.depth:
            A = np.int64(upper.parents[level + 1, A])
            m = lift(upper, level, now, later, m)
            now, later = later, now
    for i in range(m):
        upper.sums[now, upper.touched[now, i]] = 0
    return total


@njit(forceinline=True, cache=True)
def group_profile(upper, scratch, part):
    """Sum the profile of the part over the groups of the first level, into Upper.sums[0] (OUT).

    Return the number of groups touched; they are in Upper.touched[0]."""
    m = 0
    for i in range(part.m):
        s = scratch.touched[i]
        T = upper.parents[0, s]
        if upper.sums[0, T] == 0:
            upper.touched[0, m] = T
            m += 1
        upper.sums[0, T] += scratch.x[s]
    return m


@njit(nogil=True, cache=True)
def lift(upper, level, now, later, m):
    """Sum the profile over the groups of the next level; return the number of groups touched."""
    count = 0
    for i in range(m):
        T = upper.touched[now, i]
        R = upper.parents[level + 1, T]
        if upper.sums[later, R] == 0:
            upper.touched[later, count] = R
            count += 1
        upper.sums[later, R] += upper.sums[now, T]
        upper.sums[now, T] = 0
    return count


@njit(nogil=True, cache=True)
def resized_row(t, upper, A, n):
    """Return how the first level changes if group A has n children, with the same edges."""
    before = upper.sizes[0, A]
    cells = upper.cells[0]
    total = log_factorial(t, before) - log_factorial(t, n)
    total += log_multisets(t, n * (n + 1) // 2, cells[A, A])
    total -= log_multisets(t, before * (before + 1) // 2, cells[A, A])
    for T in range(upper.sizes.shape[1]):
        if T != A and cells[A, T] > 0:
            other = upper.sizes[0, T]
            total += log_multisets(t, n * other, cells[A, T])
            total -= log_multisets(t, before * other, cells[A, T])
    return total


@njit(nogil=True, cache=True)
def shift_part(model, blocks, upper, scratch, part, a, b):
    """Move the part from block a to block b in all statistics; labels are not changed."""
    _, sizes, ends, cells, inner, degree_counts, free, scalars = blocks
    m, loops, degree, size, degree_class, _, n_classes = part
    x = scratch.x
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
    scalars[INSIDE] += x[b] - x[a]
    inner[a] -= x[a] + loops
    inner[b] += x[b] + loops
    for i in range(m):
        s = scratch.touched[i]
        w = x[s]
        if s != a:
            cells[a, s] -= w
            cells[s, a] -= w
        if s != b:
            cells[b, s] += w
            cells[s, b] += w
    cells[a, a] = inner[a]
    cells[b, b] = inner[b]
    if model.kind in (DEGREE_CORRECTED, COMMUNITIES):
        if degree_class >= 0:
            degree_counts[a, degree_class] -= 1
            degree_counts[b, degree_class] += 1
        else:
            for i in range(n_classes):
                c = scratch.classes[i]
                degree_counts[b, c] += degree_counts[a, c]
                degree_counts[a, c] = 0
    sizes[a] -= size
    sizes[b] += size
    ends[a] -= degree
    ends[b] += degree
    if upper.depth > 0 and upper.parents[0, a] != upper.parents[0, b]:
        shift_upper(upper, scratch, part, a, b)
    if sizes[a] == 0:
        free[scalars[FREE]] = a
        scalars[FREE] += 1
        scalars[BLOCKS] -= 1
        if upper.depth > 0:
            upper.sizes[0, upper.parents[0, a]] -= 1


@njit(nogil=True, cache=True)
def shift_upper(upper, scratch, part, a, b):
    """Move the edges of the part in the cells of all levels above."""
    A, C = np.int64(upper.parents[0, a]), np.int64(upper.parents[0, b])
    now, later = 0, 1
    m = group_profile(upper, scratch, part)
    for level in range(upper.depth):
        if A == C:
            break
        cells, x = upper.cells[level], upper.sums[now]
        for i in range(m):
            T = upper.touched[now, i]
            w = x[T]
            cells[A, T] -= w
            if T != A:
                cells[T, A] -= w
            cells[C, T] += w
            if T != C:
                cells[T, C] += w
        cells[A, A] -= part.loops
        cells[C, C] += part.loops
        if level + 1 == upper.depth:
            break
        A, C = np.int64(upper.parents[level + 1, A]), np.int64(upper.parents[level + 1, C])
        m = lift(upper, level, now, later, m)
        now, later = later, now
    for i in range(m):
        upper.sums[now, upper.touched[now, i]] = 0


@njit(forceinline=True, cache=True)
def rise_of(t, n, m, e):
    """Return how a DENSE cell with e edges changes if n becomes n + 1."""
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

    With them the change of a move in a DENSE model takes time in proportion to the edges of the
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


@njit(nogil=True, cache=True)
def node_cost(model, blocks, scratch, part, a, b):
    """Return `join_cost` of a node; a DENSE model uses Scratch.rises."""
    if model.kind != DENSE:
        return join_cost(model, blocks, scratch, part, a, b)
    sizes, cells, inner, scalars = blocks.sizes, blocks.cells, blocks.inner, blocks.scalars
    t, x = model.tables, scratch.x
    own = a == b
    n = sizes[b] - (1 if own else 0)
    B = scalars[BLOCKS]
    if sizes[a] == 1:
        B -= 1
    if n == 0:
        B += 1
    new = x[b] + part.loops
    base = inner[b] - (new if own else 0)
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


@njit(nogil=True, cache=True)
def node_costs(model, blocks, scratch, part, a, count):
    """Fill Scratch.costs[:count] (OUT): `node_cost` of a node for each of Scratch.candidates, of
    which the first is its own block a.

    The same as `join_cost` without a call per block, for models other than DENSE and COMMUNITIES.
    Sorts the touched blocks: those with one edge first."""
    if model.kind in (DENSE, COMMUNITIES):
        for i in range(count):
            scratch.costs[i] = node_cost(model, blocks, scratch, part, a, scratch.candidates[i])
        return
    t, x, touched, cells = model.tables, scratch.x, scratch.touched, blocks.cells
    m, degree, loops = part.m, part.degree, part.loops
    corrected = model.kind == DEGREE_CORRECTED
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
        if corrected:
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
    if model.kind in (DENSE, COMMUNITIES):
        for i in range(count):
            scratch.costs[i] = join_cost(model, blocks, scratch, part, a, scratch.candidates[i])
        return
    t, x, touched, cells = model.tables, scratch.x, scratch.touched, blocks.cells
    degree, loops, size, counts = part.degree, part.loops, part.size, blocks.degree_counts
    for i in range(count):
        b = scratch.candidates[i]
        own = i == 0
        n, e, new = blocks.sizes[b], blocks.ends[b], x[b] + loops
        inner = np.int64(blocks.inner[b])
        if own:
            n, e, inner = n - size, e - degree, inner - new
        cost = model.structure[blocks.scalars[BLOCKS] - (0 if own else 1)]
        cost += vertex_cost(model, n + size, e + degree)
        if n > 0:
            cost -= vertex_cost(model, n, e)
        if model.kind == DEGREE_CORRECTED:
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


@njit(nogil=True, cache=True)
def move_change(model, graph, blocks, upper, scratch, v, b):
    """Return how the description length changes if node v moves to block b."""
    a = np.int64(blocks.labels[v])
    part = node_part(graph, blocks.labels, v, scratch)
    change = change_of(model, blocks, upper, scratch, part, a, b)
    forget(scratch, part.m)
    return change


@njit(nogil=True, cache=True)
def merge_change(model, blocks, upper, scratch, r, b):
    """Return how the description length changes if block r becomes part of block b."""
    part = block_part(blocks, r, scratch)
    change = change_of(model, blocks, upper, scratch, part, r, b)
    forget(scratch, part.m)
    return change


@njit(nogil=True, cache=True)
def change_of(model, blocks, upper, scratch, part, a, b):
    """Return how the description length changes if the part moves from a to b."""
    if model.kind in (DENSE, COMMUNITIES):
        change = join_cost(model, blocks, scratch, part, a, b)
        change -= join_cost(model, blocks, scratch, part, a, a)
    else:
        change = cells_change(model, blocks, scratch, part, a, b)
    if upper.depth > 0 and not same_above(blocks, upper, part, a, b):
        change += upper_change(model, blocks, upper, scratch, part, a, b)
    return change


@njit(forceinline=True, cache=True)
def same_above(blocks, upper, part, a, b):
    """Whether the levels above stay the same if the part moves from a to b: most moves of a split.

    `upper_change` would find that too, but a call with so many arrays takes longer."""
    made = blocks.sizes[b] == 0
    if made != (blocks.sizes[a] == part.size):
        return False
    return made or upper.parents[0, a] == upper.parents[0, b]


@njit(nogil=True, cache=True)
def cells_change(model, blocks, scratch, part, a, b):
    """Return the difference of two `join_cost`, those of b and of a, in one loop; not for DENSE
    and COMMUNITIES."""
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
    if model.kind == DEGREE_CORRECTED:
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


@njit(nogil=True, cache=True)
def move_node(model, graph, blocks, upper, scratch, v, b):
    """Move node v to block b."""
    part = node_part(graph, blocks.labels, v, scratch)
    shift_part(model, blocks, upper, scratch, part, blocks.labels[v], b)
    blocks.labels[v] = b
    forget(scratch, part.m)


@njit(nogil=True, cache=True)
def list_candidates(graph, blocks, scratch, v, m, state, near, far, exhaustive):
    """List blocks that node v may join, its own first; return (state, how many).

    Blocks of neighbours, blocks of neighbours of neighbours, or all if there are few."""
    labels, candidates, marked = blocks.labels, scratch.candidates, scratch.marked
    own = labels[v]
    candidates[0] = own
    marked[own] = 1
    count = 1
    if blocks.scalars[BLOCKS] <= exhaustive:
        for s in range(len(blocks.sizes)):
            if blocks.sizes[s] > 0 and s != own:
                candidates[count] = s
                count += 1
        marked[own] = 0
        return state, count
    first, last = graph.indptr[v], graph.indptr[v + 1]
    if m <= near:
        for i in range(m):
            s = scratch.touched[i]
            if marked[s] == 0:
                marked[s] = 1
                candidates[count] = s
                count += 1
    elif last > first:
        for _ in range(near):
            state, i = below(state, last - first)
            s = labels[graph.indices[first + i]]
            if marked[s] == 0:
                marked[s] = 1
                candidates[count] = s
                count += 1
    for _ in range(far if last > first else 0):
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
def sweep(
    model, graph, blocks, upper, scratch, order, key, near, far, exhaustive, new_blocks, active
):
    """Move every node of `order` to the best block among its candidates.

    active (OUT): 1 for nodes that moved and their neighbours. Return (nodes moved, change of the
    description length): it never rises."""
    model, graph = borrow_without_refcount(model), borrow_without_refcount(graph)
    blocks, upper = borrow_without_refcount(blocks), borrow_without_refcount(upper)
    scratch = borrow_without_refcount(scratch)
    moved, total = 0, 0.0
    labels = blocks.labels
    dense = model.kind == DENSE
    if dense:
        fill_rises(model, blocks, scratch)
    for place in range(len(order)):
        v = order[place]
        state = stream(key, v)
        a = np.int64(labels[v])
        part = node_part(graph, labels, v, scratch)
        state, count = list_candidates(
            graph, blocks, scratch, v, part.m, state, near, far, exhaustive
        )
        if new_blocks and blocks.scalars[FREE] > 0 and blocks.sizes[a] > 1:
            scratch.candidates[count] = blocks.free[blocks.scalars[FREE] - 1]
            count += 1
        best, stay, relief = a, 0.0, 0.0
        if count > 1:
            node_costs(model, blocks, scratch, part, a, count)
            stay = scratch.costs[0]
            relief = upper_relief(model, blocks, upper, scratch, part, a)
            next_part(upper)
        low = -MIN_GAIN
        for i in range(1, count):
            b = scratch.candidates[i]
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

"""Swap edges to reach the original's clustering; degrees and edges per block pair do not change.

A swap replaces the edges (a, b), (c, d) by (a, d), (c, b), with b and d in one block, and a and c
in one part of a second partition (`keep`), whose parts are unions of blocks. Then the number of
neighbours that each node has in each part does not change, so communities stay where they are. With
an `outer_limit`, a and c may also be in two parts if b and d are in neither. A swap is accepted if
it lowers the energy: the weighted distance of the local clustering per degree bin, of the number of
triangles and of the sum of d_u d_v over edges (assortativity) from their goals.

    t_v       triangles at node v       share[v]   1 / (number of pairs of neighbours of v)
    sums[b]   sum over the nodes of degree bin b of t_v * share[v]
    sums[-1]  sum over all nodes of t_v: three times the triangles
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.kernels.anonymize.wiring import count_in_cell, has_room
from coterie.kernels.graphs.pairs import (
    EMPTY,
    contains,
    insert,
    new_table,
    pair_key,
    remove_with,
    slot_of,
)
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.copies import copy_into
from coterie.kernels.numba.random import below, stream, uniform

_MARKED_ROW = 100  # neighbours; longer rows are not marked


class Goals(NamedTuple):
    """The goals of the rewiring, and the weight of one unit of distance from each."""

    bins: np.ndarray  # int32[n]: degree bin of each node
    share: np.ndarray  # float64[n]
    sums: np.ndarray  # float64[bins + 1]: goal of the sum of each bin, and of the triangles
    weight: np.ndarray  # float64[bins + 1]
    products: float  # goal of the sum of d_u d_v over edges
    product_weight: float


class SwapRules(NamedTuple):
    """Which swaps are proposed and allowed, and when to stop."""

    proposals: int  # swaps proposed, at most
    tolerance: float  # energy at which the rewiring ends
    # The share of proposals that close an open triangle; the others pick two random edges. While
    # there are too many triangles, all proposals pick two random edges.
    closing: float
    # The share of open triangles whose middle is a random node; the others have a random edge.
    # The first raises the clustering of low degrees, the second that of hubs.
    by_node: float
    partners: int  # neighbours tried to find the open triangle with the most common neighbours
    tries: int  # edges of a node looked at to find the one in the fewest triangles
    # A swap must not divide a connected part of a block, unless the part that remains has this
    # many nodes; 0: swaps may divide blocks.
    reach: int
    # Two nodes of a block whose edge is removed must stay connected by a path of at most this many
    # edges inside the block.
    detour: int
    # If above 0, neighbours in other parts of `keep` may move to a third part: to one part at most
    # this share of the neighbours in the own part, or one neighbour.
    outer_limit: float
    both_ends: bool  # whether the other end of the new edge is tried if the first has no edge


@njit(nogil=True, cache=True)
def _energy(goals, sums, products):
    total = goals.product_weight * abs(products - goals.products)
    for b in range(len(sums)):
        total += goals.weight[b] * abs(sums[b] - goals.sums[b])
    return total


@njit(forceinline=True, cache=True)
def _too_clustered(goals, sums):
    """Return whether there are more triangles than the goal, weighted by bin."""
    total = 0.0
    for b in range(len(sums)):
        total += goals.weight[b] * (sums[b] - goals.sums[b])
    return total > 0.0


@njit(nogil=True, cache=True)
def _count_common(indptr, neighbours, table, u, v, skip, other_skip, sign, goals, change):
    """Add to `change` the effect of the triangles over edge (u, v), multiplied by `sign`.

    `skip` and `other_skip` are nodes that lose one of their edges in the same swap.
    """
    if indptr[u + 1] - indptr[u] > indptr[v + 1] - indptr[v]:
        u, v = v, u
    count = 0
    for slot in range(indptr[u], indptr[u + 1]):
        w = neighbours[slot]
        if w != skip and w != other_skip and w != v and contains(table, pair_key(w, v)):
            count += 1
            change[goals.bins[w]] += sign * goals.share[w]
    change[goals.bins[u]] += sign * count * goals.share[u]
    change[goals.bins[v]] += sign * count * goals.share[v]
    change[-1] += sign * 3 * count


@njit(nogil=True, cache=True)
def _replace(indptr, neighbours, v, old, new):
    for slot in range(indptr[v], indptr[v + 1]):
        if neighbours[slot] == old:
            neighbours[slot] = new
            return


@njit(nogil=True, cache=True)
def _random_neighbour(state, indptr, neighbours, v):
    state, i = below(state, indptr[v + 1] - indptr[v])
    return state, neighbours[indptr[v] + i]


@njit(nogil=True, cache=True)
def _supports(indptr, neighbours, owner, table):
    """Return the number of triangles of each edge (int32, in the slots of `table`)."""
    support = np.zeros(len(table), np.int32)
    for slot in range(len(neighbours)):
        u, v = owner[slot], neighbours[slot]
        if u >= v:
            continue
        x, y = (u, v) if indptr[u + 1] - indptr[u] < indptr[v + 1] - indptr[v] else (v, u)
        count = 0
        for i in range(indptr[x], indptr[x + 1]):
            w = neighbours[i]
            if w != y and contains(table, pair_key(w, y)):
                count += 1
        support[slot_of(table, pair_key(u, v))] = count
    return support


@njit(nogil=True, cache=True)
def _shift_supports(indptr, neighbours, table, support, u, v, change):
    """Change the triangle counts of the edges that close a triangle with (u, v).

    Return the number of these triangles.
    """
    x, y = (u, v) if indptr[u + 1] - indptr[u] < indptr[v + 1] - indptr[v] else (v, u)
    count = 0
    for i in range(indptr[x], indptr[x + 1]):
        w = neighbours[i]
        if w != y:
            at = slot_of(table, pair_key(w, y))
            if table[at] != EMPTY:
                second = slot_of(table, pair_key(w, x))
                if table[second] != EMPTY:
                    support[at] += change
                    support[second] += change
                    count += 1
    return count


@njit(nogil=True, cache=True)
def _remove_edge(indptr, neighbours, table, support, u, v):
    """Remove (u, v) from the table and lower the triangle counts of the edges next to it."""
    remove_with(table, support, pair_key(u, v))
    _shift_supports(indptr, neighbours, table, support, u, v, np.int32(-1))


@njit(nogil=True, cache=True)
def _add_edge(indptr, neighbours, table, support, u, v):
    """Add (u, v) to the table with its triangle count; `neighbours` must contain it already."""
    count = _shift_supports(indptr, neighbours, table, support, u, v, np.int32(1))
    at = slot_of(table, pair_key(u, v))
    table[at] = pair_key(u, v)
    support[at] = count


@njit(nogil=True, cache=True)
def _may_exchange(keep, a, c, d, outer_limit):
    """Return whether d may lose neighbour c and get a instead, as far as communities go."""
    return keep[a] == keep[c] or (outer_limit > 0.0 and keep[a] != keep[d] and keep[c] != keep[d])


@njit(nogil=True, cache=True)
def _below_outer_limit(indptr, neighbours, keep, v, part, outer_limit):
    """Return whether v may get one more neighbour in another part: at most `outer_limit` times
    those of its own part."""
    own = there = 0
    for slot in range(indptr[v], indptr[v + 1]):
        k = keep[neighbours[slot]]
        own += k == keep[v]
        there += k == part
    return there + 1 <= max(1.0, outer_limit * own)


@njit(nogil=True, cache=True)
def _edge_in_fewest_triangles(
    state, indptr, neighbours, table, support, keep, d, a, avoid, outer_limit, tries
):
    """Return (state, neighbour): of `tries` random neighbours of d, the one whose edge is part of
    the fewest triangles. Only neighbours that a may replace count; -1 if there is none."""
    best, least = np.int32(-1), np.int32(2147483647)
    for _ in range(tries):
        state, c = _random_neighbour(state, indptr, neighbours, d)
        if c != avoid and _may_exchange(keep, a, c, d, outer_limit):
            s = support[slot_of(table, pair_key(d, c))]
            if s < least:
                best, least = c, s
                if s == 0:
                    break
    return state, best


@njit(nogil=True, cache=True)
def _partner_with_most_common(state, indptr, neighbours, table, w, a, tries, marks, mark):
    """Return (state, node): of `tries` random neighbours of w that are not connected to a, the one
    with the most neighbours in common with a; -1 if there is none.

    One edge then closes several triangles, so fewer swaps are needed and dense spots appear.
    The neighbours of a are marked in `marks` (int32[n]), which stays in the processor's cache where
    the table of edges does not. Where one of the rows is long, the table is faster.
    """
    degree = indptr[a + 1] - indptr[a]
    marked = degree <= _MARKED_ROW
    if marked:
        for i in range(indptr[a], indptr[a + 1]):
            marks[neighbours[i]] = mark
    best, most = np.int32(-1), -1
    for _ in range(tries):
        state, d = _random_neighbour(state, indptr, neighbours, w)
        if d in (a, best) or (marks[d] == mark if marked else contains(table, pair_key(a, d))):
            continue
        count = 0
        length = indptr[d + 1] - indptr[d]
        if marked and length <= _MARKED_ROW:
            for i in range(indptr[d], indptr[d + 1]):
                count += marks[neighbours[i]] == mark
        else:
            x, y = (a, d) if degree < length else (d, a)
            for i in range(indptr[x], indptr[x + 1]):
                if neighbours[i] != y and contains(table, pair_key(neighbours[i], y)):
                    count += 1
        if count > most:
            best, most = d, count
    return state, best


@njit(nogil=True, cache=True)
def connected_in_block(indptr, neighbours, block, u, v, detour, seen, stamp, queue):
    """Return whether a path of at most `detour` edges inside their block leads from u to v.

    True as well if u reaches as many nodes as `queue` has room for: so large a part is no fragment.
    Uses the stamps `stamp` (reached from u) and `stamp + 1` (neighbour of v).
    """
    near_v = stamp + 1
    for slot in range(indptr[v], indptr[v + 1]):
        w = neighbours[slot]
        if w == u:
            return True
        if block[w] == block[u]:
            seen[w] = near_v
    seen[u] = stamp
    queue[0] = u
    filled, at, level_ends = 1, 0, 1
    while at < filled:
        if at == level_ends:
            detour -= 1
            level_ends = filled
            if detour == 0:
                return False
        x = queue[at]
        at += 1
        for slot in range(indptr[x], indptr[x + 1]):
            w = neighbours[slot]
            if seen[w] == near_v and detour > 1:
                return True
            if seen[w] != stamp and block[w] == block[u]:
                if filled == len(queue):
                    return True
                seen[w] = stamp
                queue[filled] = w
                filled += 1
    return False


@njit(nogil=True, cache=True)
def _swap_ends(indptr, neighbours, a, b, c, d):
    """Replace (a, b), (c, d) by (a, d), (c, b) in the rows."""
    _replace(indptr, neighbours, a, b, d)
    _replace(indptr, neighbours, c, d, b)
    _replace(indptr, neighbours, b, a, c)
    _replace(indptr, neighbours, d, c, a)


@njit(nogil=True, cache=True)
def rewire(indptr, neighbours, owner, block, keep, cells, goals, sums, products, rules, key):
    """Return (swaps accepted, swaps proposed); `neighbours` and `sums` change in place.

    owner     int32[2m]: the node that each slot of `neighbours` belongs to
    keep      int32[n]: the partition that a and c must share a part of
    """
    reach, detour, outer_limit = rules.reach, rules.detour, rules.outer_limit
    partners, tries = rules.partners, rules.tries
    n_slots = len(neighbours)
    table = new_table(n_slots // 2)
    for slot in range(n_slots):
        if owner[slot] < neighbours[slot]:
            insert(table, pair_key(owner[slot], neighbours[slot]))
    support = _supports(indptr, neighbours, owner, table)
    change = np.zeros(len(sums), np.float64)
    energy = _energy(goals, sums, products)
    too_clustered = _too_clustered(goals, sums)
    state = stream(key, 3)
    seen, queue = np.zeros(len(indptr) - 1, np.int64), np.empty(max(reach, 1), np.int32)
    marks = np.zeros(len(indptr) - 1, np.int32)
    stamp = 0
    accepted = made = 0
    while made < rules.proposals and energy > rules.tolerance:
        made += 1
        state, coin = uniform(state)
        state, slot = below(state, n_slots)
        if coin < rules.closing and not too_clustered:
            w, a = owner[slot], neighbours[slot]
            state, coin = uniform(state)
            if coin < rules.by_node:
                state, node = below(state, len(indptr) - 1)
                w = np.int32(node)
                if indptr[w + 1] - indptr[w] < 2:
                    continue
                state, a = _random_neighbour(state, indptr, neighbours, w)
            state, d = _partner_with_most_common(
                state, indptr, neighbours, table, w, a, partners, marks, np.int32(made)
            )
            if d < 0:
                continue
            state, b = _edge_in_fewest_triangles(
                state, indptr, neighbours, table, support, block, a, d, w, 0.0, tries
            )
            if b < 0 and rules.both_ends:
                a, d = d, a
                state, b = _edge_in_fewest_triangles(
                    state, indptr, neighbours, table, support, block, a, d, w, 0.0, tries
                )
            if b < 0:
                continue
            state, c = _edge_in_fewest_triangles(
                state, indptr, neighbours, table, support, keep, d, a, w, outer_limit, tries
            )
            if c < 0:
                continue
        else:
            a, b = owner[slot], neighbours[slot]
            state, slot = below(state, n_slots)
            c, d = owner[slot], neighbours[slot]
            if block[b] != block[d] or a == d or not _may_exchange(keep, a, c, d, outer_limit):
                continue
            if contains(table, pair_key(a, d)):
                continue
        if a == c or b in (c, d) or contains(table, pair_key(c, b)):
            continue
        if not (has_room(cells, a, d) and has_room(cells, c, b)):
            continue
        change[:] = 0.0
        _count_common(indptr, neighbours, table, a, d, b, c, 1.0, goals, change)
        _count_common(indptr, neighbours, table, c, b, a, d, 1.0, goals, change)
        _count_common(indptr, neighbours, table, a, b, -1, -1, -1.0, goals, change)
        _count_common(indptr, neighbours, table, c, d, -1, -1, -1.0, goals, change)
        degree_a, degree_c = indptr[a + 1] - indptr[a], indptr[c + 1] - indptr[c]
        degree_b, degree_d = indptr[b + 1] - indptr[b], indptr[d + 1] - indptr[d]
        moved = np.float64((degree_a - degree_c) * (degree_d - degree_b))
        for i in range(len(sums)):
            change[i] += sums[i]
        after = _energy(goals, change, products + moved)
        if after >= energy:
            continue
        if keep[a] != keep[c] and not (
            _below_outer_limit(indptr, neighbours, keep, d, keep[a], outer_limit)
            and _below_outer_limit(indptr, neighbours, keep, b, keep[c], outer_limit)
        ):
            continue
        if reach > 0:
            _swap_ends(indptr, neighbours, a, b, c, d)
            stamp += 4
            divides = (
                block[a] == block[b]
                and not connected_in_block(
                    indptr, neighbours, block, a, b, detour, seen, stamp - 3, queue
                )
            ) or (
                block[c] == block[d]
                and not connected_in_block(
                    indptr, neighbours, block, c, d, detour, seen, stamp - 1, queue
                )
            )
            _swap_ends(indptr, neighbours, a, d, c, b)
            if divides:
                continue
        accepted += 1
        energy = after
        products += moved
        copy_into(sums, change)
        too_clustered = _too_clustered(goals, sums)
        _remove_edge(indptr, neighbours, table, support, a, b)
        _remove_edge(indptr, neighbours, table, support, c, d)
        _swap_ends(indptr, neighbours, a, b, c, d)
        _add_edge(indptr, neighbours, table, support, a, d)
        _add_edge(indptr, neighbours, table, support, c, b)
        count_in_cell(cells, a, b, -1)
        count_in_cell(cells, c, d, -1)
        count_in_cell(cells, a, d, 1)
        count_in_cell(cells, c, b, 1)
    return accepted, made

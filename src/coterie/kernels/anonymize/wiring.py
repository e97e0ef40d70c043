"""Join stubs to edges; partners are near each other on a ring that all blocks share.

A stub is one end of an edge that has no partner yet: a node of degree d starts with d stubs.

place     int32[n]: nodes in ring order, block by block; block b is place[start[b]:start[b + 1]],
          and its i-th of n_b nodes has the ring coordinate (i + 1/2) / n_b
rank      int32[n]: the position of each node in `place`
left      int64[n + 1]: Fenwick tree of the free stubs, in the order of `place`
tight     int32[n]: index of the node's class among the classes whose cells could fill up, or -1
filled, room   int32[h, h]: edges in a cell of tight classes, and the maximum number of edges
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.kernels.graphs.pairs import contains, insert, new_table, pair_key, remove
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import below, stream, uniform

_TRIES = 20000  # edges tried per pair of stubs that found no partner on the ring …
_EXACT_TRIES = 6000  # … of which the first ones must keep the block pair
_OPEN_TRIES = 400  # edges tried per pair of stubs that no block matters to
_HOPELESS = 100  # pairs of stubs in a row without a possible edge


class Ring(NamedTuple):
    """The position of each node on the ring, and its number of stubs."""

    place: np.ndarray  # int32[n]
    rank: np.ndarray  # int32[n]
    start: np.ndarray  # int64[blocks + 1]
    block: np.ndarray  # int32[n]
    degree: np.ndarray  # int64[n]


class WiringCells(NamedTuple):
    """The cells (pairs of classes) with a maximum number of edges."""

    tight: np.ndarray  # int32[n]
    filled: np.ndarray  # int32[h, h]
    room: np.ndarray  # int32[h, h]


@njit(nogil=True, cache=True)
def has_room(cells, u, v):
    a, b = cells.tight[u], cells.tight[v]
    return a < 0 or b < 0 or cells.filled[a, b] < cells.room[a, b]


@njit(nogil=True, cache=True)
def count_in_cell(cells, u, v, change):
    a, b = cells.tight[u], cells.tight[v]
    if a >= 0 and b >= 0:
        cells.filled[a, b] += change
        if a != b:
            cells.filled[b, a] += change


@njit(nogil=True, cache=True)
def _stubs_before(left, position):
    total = 0
    while position > 0:
        total += left[position]
        position -= position & -position
    return total


@njit(nogil=True, cache=True)
def _take_stubs(left, position, change):
    position += 1
    while position < len(left):
        left[position] += change
        position += position & -position


@njit(nogil=True, cache=True)
def _position_of_stub(left, stub, top):
    """Return the position of free stub number `stub` (0-based); `top` is a power of two <= n."""
    position = 0
    step = top
    while step > 0:
        ahead = position + step
        if ahead < len(left) and left[ahead] <= stub:
            position = ahead
            stub -= left[ahead]
        step >>= 1
    return position


@njit(nogil=True, cache=True)
def _free_stubs(ring):
    n = len(ring.place)
    left = np.zeros(n + 1, np.int64)
    for i in range(n):
        left[i + 1] = ring.degree[ring.place[i]]
    for i in range(1, n + 1):
        up = i + (i & -i)
        if up <= n:
            left[up] += left[i]
    return left


@njit(nogil=True, cache=True)
def wire(ring, pair_rows, pair_columns, expected, cells, reach, epsilon, key):
    """Return (source, target, wired, open_u, open_v): the first `wired` entries are edges, the
    open pairs are stubs that found no partner and go to `repair`.

    pair_rows, pair_columns   int32: the block pair of each edge to make, already shuffled
    expected   float64[blocks, blocks]: e_rs / K_r, the share of r's stubs that go to block s
    reach      width of the search window, in expected neighbours
    epsilon    share of edges whose second end is anywhere in its block
    """
    n, m = len(ring.place), len(pair_rows)
    left = _free_stubs(ring)
    top = 1
    while 2 * top <= n:
        top *= 2
    table = new_table(m)
    source = np.empty(m, np.int32)
    target = np.empty(m, np.int32)
    open_rows = np.empty(m, np.int32)
    open_columns = np.empty(m, np.int32)
    wired = waiting = 0
    state = stream(key, 1)
    for e in range(m):
        r, s = pair_rows[e], pair_columns[e]
        state, coin = uniform(state)
        if coin < 0.5:
            r, s = s, r
        before = _stubs_before(left, ring.start[r])
        free = _stubs_before(left, ring.start[r + 1]) - before
        if free == 0:
            open_rows[waiting], open_columns[waiting] = r, s
            waiting += 1
            continue
        state, stub = below(state, free)
        at = _position_of_stub(left, before + stub, top)
        u = ring.place[at]
        n_r, n_s = ring.start[r + 1] - ring.start[r], ring.start[s + 1] - ring.start[s]
        centre = np.float64(at - ring.start[r] + 0.5) / n_r * n_s
        half = max(1.5, 0.5 * reach * ring.degree[u] * expected[r, s])
        state, anywhere = uniform(state)
        if anywhere < epsilon:
            half = n_s
        v = -1
        for _ in range(96):
            state, candidate = _near(state, left, ring, s, centre, half, top)
            half *= 1.08
            if candidate < 0 or candidate == u or not has_room(cells, u, candidate):
                continue
            if insert(table, pair_key(u, candidate)):
                v = candidate
                break
        if v < 0:
            open_rows[waiting], open_columns[waiting] = r, s
            waiting += 1
            continue
        _take_stubs(left, at, -1)
        _take_stubs(left, ring.rank[v], -1)
        count_in_cell(cells, u, v, 1)
        source[wired], target[wired] = u, v
        wired += 1
    _pair_off(ring, left, top, open_rows, open_columns, waiting, state)
    return source, target, wired, open_rows[:waiting], open_columns[:waiting]


@njit(nogil=True, cache=True)
def _near(state, left, ring, s, centre, half, top):
    """Return (state, node of block s with a free stub at most `half` from `centre`, or -1)."""
    first, n_s = ring.start[s], ring.start[s + 1] - ring.start[s]
    if 2.0 * half >= n_s:
        low, width = 0, n_s
    else:
        low = np.int64(np.floor(centre - half)) % n_s
        width = np.int64(np.ceil(2.0 * half))
    high = min(low + width, n_s)
    before = _stubs_before(left, first + low)
    straight = _stubs_before(left, first + high) - before
    wrapped_before = _stubs_before(left, first)
    wrapped = _stubs_before(left, first + max(low + width - n_s, 0)) - wrapped_before
    if straight + wrapped == 0:
        return state, np.int32(-1)
    state, stub = below(state, straight + wrapped)
    stub = before + stub if stub < straight else wrapped_before + stub - straight
    return state, ring.place[_position_of_stub(left, stub, top)]


@njit(nogil=True, cache=True)
def _pair_off(ring, left, top, open_rows, open_columns, waiting, state):
    """Replace the block pairs of open edges by random free stubs of these blocks (in place)."""
    for e in range(waiting):
        for side in range(2):
            block = open_rows[e] if side == 0 else open_columns[e]
            before = _stubs_before(left, ring.start[block])
            free = _stubs_before(left, ring.start[block + 1]) - before
            node = np.int32(-1)
            if free > 0:
                state, stub = below(state, free)
                at = _position_of_stub(left, before + stub, top)
                _take_stubs(left, at, -1)
                node = ring.place[at]
            if side == 0:
                open_rows[e] = node
            else:
                open_columns[e] = node


@njit(nogil=True, cache=True)
def join_pair(u, v, source, target, at, table, cells):
    """Store edge (u, v) at index `at` if it is allowed; return whether it was stored."""
    if u == v or not has_room(cells, u, v) or not insert(table, pair_key(u, v)):
        return False
    source[at], target[at] = u, v
    count_in_cell(cells, u, v, 1)
    return True


@njit(nogil=True, cache=True)
def _remove(u, v, table, cells):
    remove(table, pair_key(u, v))
    count_in_cell(cells, u, v, -1)


@njit(nogil=True, cache=True)
def repair(ring, source, target, wired, open_u, open_v, expected, cells, key):
    """Connect the open stubs (u, v); return (number of edges, number of edges given up).

    An edge (a, b) with b in v's block is replaced by (a, v) and (u, b): degrees and edges per
    block pair stay exact. A hub may have more stubs for a block than the block has members. Then
    any edge (a, b) is used if u's block has edges to b's and v's block to a's: degrees stay exact,
    block pairs nearly. After `_HOPELESS` misses in a row, which only degrees that no graph has
    give, a stub is tried less often, so that the time stays bounded.
    """
    m = wired
    table = new_table(len(source))
    for e in range(m):
        insert(table, pair_key(source[e], target[e]))
    state = stream(key, 2)
    given_up = misses = 0
    for e in range(len(open_u)):
        u, v = open_u[e], open_v[e]
        joined = False
        most = _TRIES if misses < _HOPELESS else _OPEN_TRIES
        if u >= 0 and v >= 0:
            joined = join_pair(u, v, source, target, m, table, cells)
            tries = 0
            while not joined and tries < most and m > 0:
                tries += 1
                state, other = below(state, m)
                state, coin = uniform(state)
                a, b = source[other], target[other]
                if coin < 0.5:
                    a, b = b, a
                if tries & 1:
                    u, v = v, u
                if a in (u, v) or b in (u, v):
                    continue
                if ring.block[b] != ring.block[v] and (
                    tries < _EXACT_TRIES
                    or expected[ring.block[u], ring.block[b]] == 0.0
                    or expected[ring.block[v], ring.block[a]] == 0.0
                ):
                    continue
                if contains(table, pair_key(a, v)) or contains(table, pair_key(u, b)):
                    continue
                if not (has_room(cells, a, v) and has_room(cells, u, b)):
                    continue
                _remove(a, b, table, cells)
                source[other], target[other] = a, v
                insert(table, pair_key(a, v))
                count_in_cell(cells, a, v, 1)
                joined = join_pair(u, b, source, target, m, table, cells)
                if not joined:  # (a, v) took the last free place of the cell: undo
                    _remove(a, v, table, cells)
                    source[other], target[other] = a, b
                    insert(table, pair_key(a, b))
                    count_in_cell(cells, a, b, 1)
        if joined:
            m += 1
            misses = 0
        else:
            given_up += 1
            misses += 1
    return m, given_up


@njit(nogil=True, cache=True)
def join_open_ends(source, target, n_edges, ends, key):
    """Join ends[0] with ends[1], ends[2] with ends[3], …; return the number of edges after it.

    The first `n_edges` entries of source and target are edges; there is space for len(ends) / 2
    more. For a pair of ends (u, v) an edge (a, b) becomes (u, a), (v, b), so the degrees of a and
    b do not change. A pair without a possible edge after `_OPEN_TRIES` tries stays open.
    """
    table = new_table(len(source))
    for e in range(n_edges):
        insert(table, pair_key(source[e], target[e]))
    state = stream(key, 5)
    m = n_edges
    for i in range(len(ends) // 2):
        u, v = ends[2 * i], ends[2 * i + 1]
        if m == 0:
            if u != v:
                insert(table, pair_key(u, v))
                source[m], target[m] = u, v
                m += 1
            continue
        for _ in range(_OPEN_TRIES):
            state, e = below(state, m)
            state, coin = uniform(state)
            a, b = source[e], target[e]
            if coin < 0.5:
                a, b = b, a
            if a in (u, v) or b in (u, v):
                continue
            if contains(table, pair_key(u, a)) or contains(table, pair_key(v, b)):
                continue
            remove(table, pair_key(a, b))
            insert(table, pair_key(u, a))
            insert(table, pair_key(v, b))
            source[e], target[e] = u, a
            source[m], target[m] = v, b
            m += 1
            break
    return m

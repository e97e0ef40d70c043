"""Join the inner stubs of blocks in cliques that share members; the rest connects the blocks.

A ring of neighbours closes too few triangles in sparse networks, and swaps that close the others
divide blocks into parts. Groups of people who all know each other, as in circles of friends or on
papers, close the triangles with the fewest edges, and members of several groups hold a block
together.

    ring      see `wiring.py`; only the nodes of each block are used, in their random order
    stubs     int64[n]: inner stubs without a partner
    wanted    float64[n]: number of triangles that each node should be part of
"""

from __future__ import annotations

import math

import numpy as np

from coterie.kernels.anonymize.wiring import count_in_cell, has_room, join_pair
from coterie.kernels.graphs.pairs import contains, insert, new_table, pair_key
from coterie.kernels.graphs.resilience import root_of
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import below, stream, uniform

_TRIES = 64  # candidates looked at per clique
_CHOICES = 2  # possible members of which the one that needs the fewest triangles per stub is taken
_REST_TRIES = 30  # partners tried per stub that is in no clique


@njit(nogil=True, cache=True)
def _link(head, following, previous, i, row):
    """Put node i at the front of list `row`."""
    following[i], previous[i] = head[row], -1
    if head[row] >= 0:
        previous[head[row]] = i
    head[row] = i


@njit(nogil=True, cache=True)
def _unlink(head, following, previous, i, row):
    """Remove node i from list `row`."""
    if previous[i] >= 0:
        following[previous[i]] = following[i]
    else:
        head[row] = following[i]
    if following[i] >= 0:
        previous[following[i]] = previous[i]


@njit(nogil=True, cache=True)
def _can_join(table, cells, members, n_members, v):
    """Return whether v may be connected with all members."""
    for i in range(n_members):
        w = members[i]
        if v == w or contains(table, pair_key(v, w)) or not has_room(cells, v, w):
            return False
    return True


@njit(nogil=True, cache=True)
def join_cliques(ring, stubs, wanted, cells, source, target, key):
    """Return the number of edges, stored in `source` and `target`; `stubs` changes in place.

    The node of a block with the fewest stubs comes first. It forms a clique that gives it the
    triangles it needs: with nodes that have as many stubs, and with at least one that has more.
    That one joins further cliques, so that cliques are connected. A clique in which nobody has a
    stub left is made without one of its edges, for the same reason.
    """
    table = new_table(len(source))
    state = stream(key, 11)
    closed = np.zeros(len(stubs), np.float64)  # triangles so far, at each node
    waiting = np.zeros(len(stubs), np.bool_)
    made = 0
    for b in range(len(ring.start) - 1):
        first = ring.start[b]
        size = ring.start[b + 1] - first
        most = total = 0
        for i in range(size):
            most = max(most, stubs[ring.place[first + i]])
            total += stubs[ring.place[first + i]]
        # Lists of the waiting nodes with 1, 2, … stubs, and the owner of each stub
        head = np.full(most + 1, -1, np.int64)
        following = np.full(size, -1, np.int64)
        previous = np.full(size, -1, np.int64)
        place_of = np.empty(total, np.int64)
        members, places = np.empty(size + 1, np.int32), np.empty(size + 1, np.int64)
        filled = 0
        for i in range(size):
            v = ring.place[first + i]
            for _ in range(stubs[v]):
                place_of[filled] = i
                filled += 1
            if stubs[v] > 0:
                _link(head, following, previous, i, stubs[v])
                waiting[v] = True
        fewest = 1
        while fewest <= most:
            i = head[fewest]
            if i < 0:
                fewest += 1
                continue
            u = ring.place[first + i]
            _unlink(head, following, previous, i, fewest)
            waiting[u] = False
            need = wanted[u] - closed[u]
            if need <= 0.0:
                continue
            state, coin = uniform(state)
            # q partners close q (q - 1) / 2 triangles
            q = min(np.int64(math.floor(0.5 + math.sqrt(0.25 + 2.0 * need) + coin)), fewest)
            if q < 2:
                continue
            each = 0.5 * q * (q - 1)
            members[0], places[0], k = u, i, 1
            i = head[fewest] if q == fewest else np.int64(-1)
            tried = 0
            while i >= 0 and k < q and tried < _TRIES:
                v = ring.place[first + i]
                tried += 1
                if closed[v] + 0.5 * each <= wanted[v] and _can_join(table, cells, members, k, v):
                    members[k], places[k] = v, i
                    k += 1
                i = following[i]
            tried = choices = 0
            best, least = np.int64(-1), np.inf
            while k <= q and tried < _TRIES:
                tried += 1
                state, stub = below(state, total)
                i = place_of[stub]
                v = ring.place[first + i]
                if not waiting[v] or stubs[v] < q or (k == q == fewest == stubs[v]):
                    continue
                if closed[v] + 0.5 * each > wanted[v]:
                    continue
                if not _can_join(table, cells, members, k, v):
                    continue
                choices += 1
                needed = (wanted[v] - closed[v]) / stubs[v]
                if needed < least:
                    best, least = i, needed
                if choices == _CHOICES:
                    members[k], places[k] = ring.place[first + best], best
                    k += 1
                    best, least, choices = np.int64(-1), np.inf, 0
            if best >= 0 and k <= q:
                members[k], places[k] = ring.place[first + best], best
                k += 1
            if k < 3:
                continue
            for x in range(1, k):
                _unlink(head, following, previous, places[x], stubs[members[x]])
            left_open = k > 3
            for x in range(k):
                left_open = left_open and stubs[members[x]] == k - 1
            for x in range(k):
                v = members[x]
                closed[v] += 0.5 * (k - 1) * (k - 2)
                for y in range(x):
                    w = members[y]
                    if (left_open and y == k - 2) or not has_room(cells, v, w):
                        continue
                    insert(table, pair_key(v, w))
                    count_in_cell(cells, v, w, 1)
                    stubs[v] -= 1
                    stubs[w] -= 1
                    source[made], target[made] = v, w
                    made += 1
            for x in range(k):
                v = members[x]
                waiting[v] = stubs[v] > 0
                if waiting[v]:
                    _link(head, following, previous, places[x], stubs[v])
                    fewest = min(fewest, stubs[v])
    return made


@njit(nogil=True, cache=True)
def _largest_first(size, first, end, total):
    """Return the places first..end-1 of positive size, by decreasing size, then by place.

    The sizes sum up to `total`. A sort by counting, because NumPy's takes a second to compile."""
    begin = np.zeros(total + 1, np.int64)
    count = 0
    for i in range(first, end):
        if size[i] > 0:
            begin[total - size[i] + 1] += 1
            count += 1
    for gap in range(total):
        begin[gap + 1] += begin[gap]
    places = np.empty(count, np.int64)
    for i in range(first, end):
        if size[i] > 0:
            places[begin[total - size[i]]] = i
            begin[total - size[i]] += 1
    return places


@njit(nogil=True, cache=True)
def join_rest(ring, stubs, cells, source, target, made, key):
    """Join the inner stubs that are in no clique; return (made, open_u, open_v).

    In each block the first stubs connect its parts, the part with the most stubs first; the others
    get random partners. Open pairs found no allowed partner and go to `wiring.repair`.
    """
    n = len(stubs)
    state = stream(key, 12)
    parent = np.arange(n)
    table = new_table(len(source))
    for e in range(made):
        insert(table, pair_key(source[e], target[e]))
        a, b = root_of(parent, ring.rank[source[e]]), root_of(parent, ring.rank[target[e]])
        parent[a] = b
    open_u, open_v = np.empty(len(source), np.int32), np.empty(len(source), np.int32)
    opened = 0
    of_part, begin = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for b in range(len(ring.start) - 1):
        total = 0
        for i in range(ring.start[b], ring.start[b + 1]):
            of_part[root_of(parent, i)] += stubs[ring.place[i]]
            total += stubs[ring.place[i]]
        if total < 2:
            continue
        parts = _largest_first(of_part, ring.start[b], ring.start[b + 1], total)
        at = 0
        for x in parts:
            begin[x] = at
            at += of_part[x]
        owner = np.empty(total, np.int32)  # of each stub, part by part
        for i in range(ring.start[b], ring.start[b + 1]):
            x = root_of(parent, i)
            for _ in range(stubs[ring.place[i]]):
                owner[begin[x]] = ring.place[i]
                begin[x] += 1
        pool = np.empty(total, np.int32)  # stubs of the parts that are connected so far
        filled = at = 0
        for number in range(len(parts)):
            end = at + of_part[parts[number]]
            for _ in range(_REST_TRIES if filled > 0 else 0):
                state, i = below(state, filled)
                state, j = below(state, end - at)
                u, v = pool[i], owner[at + j]
                if has_room(cells, u, v):
                    insert(table, pair_key(u, v))
                    count_in_cell(cells, u, v, 1)
                    source[made], target[made] = u, v
                    made += 1
                    filled -= 1
                    pool[i] = pool[filled]
                    owner[at + j] = owner[at]
                    at += 1
                    break
            while at < end:
                pool[filled] = owner[at]
                filled += 1
                at += 1
        while filled > 1:
            state, i = below(state, filled)
            u = pool[i]
            filled -= 1
            pool[i] = pool[filled]
            joined = False
            for _ in range(_REST_TRIES):
                state, i = below(state, filled)
                v = pool[i]
                joined = join_pair(u, v, source, target, made, table, cells)
                if joined:
                    made += 1
                    break
            if not joined:
                open_u[opened], open_v[opened] = u, pool[i]
                opened += 1
            filled -= 1
            pool[i] = pool[filled]
    return made, open_u[:opened], open_v[:opened]


@njit(nogil=True, cache=True)
def _draw_stub(state, owner, number, first, end, block, stubs):
    """Return (state, node): the owner of a random stub of a block, -1 if none is left.

    The stubs of a block are owner[first[block]:end[block]]; `number` counts those of one node, and
    numbers below stubs[node] are left. Stubs that are gone are removed when they are met.
    """
    while end[block] > first[block]:
        state, i = below(state, end[block] - first[block])
        i += first[block]
        v = owner[i]
        if number[i] < stubs[v]:
            return state, v
        end[block] -= 1
        owner[i], number[i] = owner[end[block]], number[end[block]]
    return state, np.int32(-1)


@njit(nogil=True, cache=True)
def _join_stubs(table, cells, stubs, source, target, made, u, v):
    """Connect u and v if both have a stub and it is allowed; return the number of edges then."""
    if stubs[u] == 0 or stubs[v] == 0 or not join_pair(u, v, source, target, made, table, cells):
        return made
    stubs[u] -= 1
    stubs[v] -= 1
    return made + 1


@njit(nogil=True, cache=True)
def _adjacent(indptr, indices, u, v):
    """Return whether u and v are connected, by the shorter of their rows."""
    if indptr[u + 1] - indptr[u] > indptr[v + 1] - indptr[v]:
        u, v = v, u
    found = False
    for i in range(indptr[u], indptr[u + 1]):
        found = found or indices[i] == v
    return found


@njit(nogil=True, cache=True)
def _knows_all(indptr, indices, v, others, n_others):
    """Return whether v is connected with others[:n_others]."""
    known = 0
    while known < n_others and _adjacent(indptr, indices, v, others[known]):
        known += 1
    return known == n_others


@njit(nogil=True, cache=True)
def join_outer(
    ring, community, stubs, indptr, indices, rows, columns, left, together, most, cells, key
):
    """Join stubs of two blocks; return (source, target, made, open_u, open_v).

    Somebody with a contact in another block may have more contacts there, who know the first one:
    each of them closes a triangle. People who know all of the others come first. Open pairs found
    no allowed partner and go to `wiring.repair`.

    stubs            int64[n]: outer stubs; changes in place
    indptr, indices  the edges inside blocks
    rows, columns    int32: the block pair of each edge to make, in random order
    left             int64[blocks, blocks]: the same, counted; changes in place
    together         float64[n]: how likely somebody gets more than one contact at once
    most             int64[n]: contacts of a person in a block of another community, at most
    community        int32[blocks]
    """
    n, m = len(stubs), len(rows)
    n_blocks = len(ring.start) - 1
    state = stream(key, 13)
    table = new_table(m)
    source, target = np.empty(m, np.int32), np.empty(m, np.int32)
    owner, number = np.empty(stubs.sum(), np.int32), np.empty(stubs.sum(), np.int64)
    first, end = np.zeros(n_blocks, np.int64), np.zeros(n_blocks, np.int64)
    made = filled = 0
    for b in range(n_blocks):
        first[b] = filled
        for i in range(ring.start[b], ring.start[b + 1]):
            v = ring.place[i]
            for k in range(stubs[v]):
                owner[filled], number[filled] = v, k
                filled += 1
        end[b] = filled
    contacts = np.empty(n, np.int32)
    for e in range(m):
        r, s = rows[e], columns[e]
        if left[r, s] == 0:
            continue
        state, coin = uniform(state)
        if coin < 0.5:
            r, s = s, r
        state, u = _draw_stub(state, owner, number, first, end, r, stubs)
        v = np.int32(-1)
        known = 0
        for _ in range(_REST_TRIES if u >= 0 else 0):
            state, v = _draw_stub(state, owner, number, first, end, s, stubs)
            if v < 0:
                break
            known = _join_stubs(table, cells, stubs, source, target, made, u, v) - made
            if known > 0:
                break
        if known == 0:
            continue
        contacts[0] = v
        state, coin = uniform(state)
        limit = left[r, s]
        if coin >= together[u]:
            limit = 1
        elif community[r] != community[s]:
            limit = min(limit, most[u])
        size = indptr[v + 1] - indptr[v]
        turn = np.int64(0)
        if size > 0:
            state, turn = below(state, size)
        for everybody in range(2):
            for i in range(size):
                if known >= limit or stubs[u] == 0:
                    break
                w = indices[indptr[v] + (turn + i) % size]
                if stubs[w] == 0:
                    continue
                if everybody == 0 and not _knows_all(indptr, indices, w, contacts, known):
                    continue
                if _join_stubs(table, cells, stubs, source, target, made + known, u, w) > (
                    made + known
                ):
                    contacts[known] = w
                    known += 1
        made += known
        left[r, s] -= known
        left[s, r] = left[r, s]
    open_u, open_v = np.empty(m - made, np.int32), np.empty(m - made, np.int32)
    opened = 0
    for r in range(n_blocks):
        for s in range(r):
            for _ in range(left[r, s]):
                state, u = _draw_stub(state, owner, number, first, end, r, stubs)
                if u >= 0:
                    stubs[u] -= 1
                state, v = _draw_stub(state, owner, number, first, end, s, stubs)
                if v >= 0:
                    stubs[v] -= 1
                open_u[opened], open_v[opened] = u, v
                opened += 1
    return source, target, made, open_u[:opened], open_v[:opened]

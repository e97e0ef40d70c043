"""Join edge ends that the wiring left open, by opening other edges."""

from __future__ import annotations

from coterie.kernels.graphs.pairs import contains, insert, new_table, pair_key, remove
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import below, stream, uniform

_TRIES = 400


@njit(nogil=True, cache=True)
def join_open_ends(source, target, n_edges, ends, key):
    """Join ends[0] with ends[1], ends[2] with ends[3], …; return the number of edges after it.

    The first `n_edges` entries of source and target are edges; there is space for len(ends) / 2
    more. For a pair of ends (u, v) an edge (a, b) becomes (u, a), (v, b), so the degrees of a and
    b do not change. A pair without a possible edge after `_TRIES` tries stays open.
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
        for _ in range(_TRIES):
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

"""Give the edges of an undirected graph directions so that nodes and blocks reach their targets."""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import below, stream

MUTUAL, FORWARD, BACKWARD = 0, 1, 2
_PATIENCE = 10
_NODE_WEIGHT = 3  # of the degrees of nodes, compared with the edges between blocks


@njit(nogil=True, cache=True)
def _gap(have, want, node, kind, change):
    """Return how much the distance of one node grows if a count changes."""
    before = abs(have[node, kind] - want[node, kind])
    return abs(have[node, kind] + change - want[node, kind]) - before


@njit(nogil=True, cache=True)
def _ends(direction):
    """Return what an edge of this direction is to its source and to its target.

    Nodes count mutual edges (0), edges out only (1) and edges in only (2).
    """
    if direction == MUTUAL:
        return 0, 0
    return (1, 2) if direction == FORWARD else (2, 1)


@njit(nogil=True, cache=True)
def direct_edges(source, target, cell, flip, direction, want, cell_want, n_rounds, key):
    """Change `direction` in place until ten rounds in a row come no nearer to the targets.

    want[v] are the mutual, outgoing and incoming edges of node v. Edge e is in the block pair
    cell[e], seen from its target if flip[e]; cell_want[c] are the mutual, forward and backward
    edges of the pair. The distance is the sum over block pairs, plus three
    times the sum over nodes.
    """
    n, n_cells, m = len(want), len(cell_want), len(source)
    have = np.zeros((n, 3), np.int64)
    cell_have = np.zeros((n_cells, 3), np.int64)
    for e in range(m):
        a, b = _ends(direction[e])
        have[source[e], a] += 1
        have[target[e], b] += 1
        cell_have[cell[e], _seen(direction[e], flip[e])] += 1
    state = stream(key, 0)
    idle = 0
    for _ in range(n_rounds):
        changed = 0
        for _ in range(m):
            state, e = below(state, m)
            state, shift = below(state, 2)
            old = direction[e]
            new = (old + 1 + shift) % 3
            u, v, c = source[e], target[e], cell[e]
            a, b = _ends(old)
            x, y = _ends(new)
            growth = _gap(have, want, u, a, -1) + _gap(have, want, u, x, 1)
            growth += _gap(have, want, v, b, -1) + _gap(have, want, v, y, 1)
            growth *= _NODE_WEIGHT
            seen_old, seen_new = _seen(old, flip[e]), _seen(new, flip[e])
            growth += _gap(cell_have, cell_want, c, seen_old, -1)
            growth += _gap(cell_have, cell_want, c, seen_new, 1)
            if growth > 0:
                continue
            have[u, a] -= 1
            have[u, x] += 1
            have[v, b] -= 1
            have[v, y] += 1
            cell_have[c, seen_old] -= 1
            cell_have[c, seen_new] += 1
            direction[e] = new
            changed += growth < 0
        idle = 0 if changed > 0 else idle + 1
        if idle == _PATIENCE:
            break
    return have


@njit(nogil=True, cache=True)
def _seen(direction, flipped):
    """Return the direction as seen from the block pair."""
    if direction == MUTUAL or not flipped:
        return direction
    return BACKWARD if direction == FORWARD else FORWARD

"""Which blocks a block may be merged with, and which nodes to visit again after a move.

Used by the searches for the shortest description (`description_moves.py`, `directed_weighted.py`).
Both have the same fields in their graphs, blocks and buffers.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import below


@njit(forceinline=True, cache=True)
def list_merge_candidates(graph, blocks, scratch, start, nodes, r, state, tries, everything):
    """List blocks that block r may be merged with, r itself first; return how many.

    Blocks of neighbours and of neighbours of neighbours of random members, and a few random blocks;
    all blocks that are not empty with `everything`. scratch.marked is zeros again at the end."""
    labels, sizes = blocks.labels, blocks.sizes
    candidates, marked = scratch.candidates, scratch.marked
    K, members = len(sizes), start[r + 1] - start[r]
    marked[r] = 1
    candidates[0] = r
    count = 1
    for i in range(K if everything else 2 * tries):
        s = np.int64(i)
        if not everything:
            state, j = below(state, members)
            v = np.int64(nodes[start[r] + j])
            for _ in range(1 + (i % 3 > 0)):
                d = graph.indptr[v + 1] - graph.indptr[v]
                if d > 0:
                    state, j = below(state, d)
                    v = np.int64(graph.indices[graph.indptr[v] + j])
            s = np.int64(labels[v])
            if i % 8 == 7:
                state, s = below(state, K)
        if marked[s] == 1 or sizes[s] == 0:
            continue
        marked[s] = 1
        candidates[count] = s
        count += 1
    for i in range(count):
        marked[candidates[i]] = 0
    return count


@njit(forceinline=True, cache=True)
def activate(graph, v, active):
    """Set active (IN/OUT) for node v and its neighbours."""
    active[v] = 1
    for i in range(graph.indptr[v], graph.indptr[v + 1]):
        active[graph.indices[i]] = 1

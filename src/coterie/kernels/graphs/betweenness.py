"""Betweenness by Brandes' algorithm, from some or all source nodes.

Used by `anonymize/utility/centrality.py`.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit


@njit(nogil=True, cache=True)
def dependencies(indptr, indices, sources):
    """Return, per node, the sum over the sources of the shares of shortest paths through it.

    A node's share for a source is the sum, over all other nodes, of the share of the shortest
    paths from the source to them that pass through it. O(n + m) per source.
    """
    n = len(indptr) - 1
    through = np.zeros(n)
    distance = np.full(n, -1, np.int32)
    paths = np.zeros(n)
    share = np.zeros(n)
    order = np.empty(n, np.int32)
    for source in sources:
        order[0] = source
        distance[source] = 0
        paths[source] = 1.0
        seen, i = 1, 0
        while i < seen:
            v = order[i]
            i += 1
            for slot in range(indptr[v], indptr[v + 1]):
                w = indices[slot]
                if distance[w] < 0:
                    distance[w] = distance[v] + 1
                    order[seen] = w
                    seen += 1
                if distance[w] == distance[v] + 1:
                    paths[w] += paths[v]
        for i in range(seen - 1, 0, -1):
            w = order[i]
            through[w] += share[w]
            passed = (1.0 + share[w]) / paths[w]
            for slot in range(indptr[w], indptr[w + 1]):
                v = indices[slot]
                if distance[v] == distance[w] - 1:
                    share[v] += paths[v] * passed
        for i in range(seen):
            v = order[i]
            distance[v] = -1
            paths[v] = 0.0
            share[v] = 0.0
    return through

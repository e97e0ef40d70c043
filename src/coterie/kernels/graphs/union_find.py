"""Union-find: which nodes are connected, while edges are added.

parent   the node that stands for v's component is found from parent[v], parent[parent[v]], …
"""

from __future__ import annotations

from coterie.kernels.numba.compile import njit


@njit(forceinline=True, cache=True)
def root_of(parent, v):
    """Return the node that stands for the component of v; paths are halved on the way."""
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v

"""Communities found without the blocks of a release: modularity, and agreement of two results.

The blocks of a release cannot show whether its communities are real, because the graph was drawn
from them. So a method that does not know the blocks looks for communities in the original and in
the release. It is always the same method, whatever is installed, so that figures can be compared.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from coterie.base.errors import InputError
from coterie.base.randomness import stream_keys
from coterie.data import Graph
from coterie.kernels.graphs.modularity import modular_communities

# Each pass starts from the result of the last. Modularity rises by less than 0.002 after ten passes
# on all development networks.
_PASSES = 10
_PASSES_OF_LARGE_GRAPHS = 4  # reaches 99.8 % of the modularity of ten passes
_LARGE_EDGES = 2_000_000


def find_communities(graph: Graph, rng: Generator) -> np.ndarray:
    """Return the community of every node (int64); the largest community has number 0.

    Parameters
    ----------
    graph : Graph
        An undirected graph. Weights are not used.
    rng : numpy.random.Generator
        The order in which nodes are visited comes from it: the same generator state gives the same
        communities.

    >>> two_triangles = Graph.from_edges([0, 1, 2, 3, 4, 5, 0], [1, 2, 0, 4, 5, 3, 3])
    >>> find_communities(two_triangles, np.random.default_rng(0)).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    if graph.directed:
        raise InputError(
            "communities are found in undirected graphs only",
            remedy="read the graph without directions",
        )
    passes = _PASSES if graph.n_edges <= _LARGE_EDGES else _PASSES_OF_LARGE_GRAPHS
    key = stream_keys(rng, 1)[0]
    return _largest_first(modular_communities(graph.indptr, graph.indices, key, passes))


def modularity(graph: Graph, labels: np.ndarray) -> float:
    """Return Newman's modularity: the share of edges inside blocks beyond what degrees explain.

    >>> two_edges = Graph.from_edges([0, 2], [1, 3])
    >>> modularity(two_edges, np.array([0, 0, 1, 1]))
    0.5
    """
    ends = np.bincount(labels, graph.degrees)
    inner = (np.repeat(labels, graph.degrees) == labels[graph.indices]).sum()
    total = max(len(graph.indices), 1)
    return float(inner / total - ((ends / total) ** 2).sum())


def foreign_modularity(original: Graph, published: np.ndarray, identity: np.ndarray) -> float:
    """Return the modularity, in the original, of communities found in a published graph.

    `published` has one label per published node, `identity` the published node of each original
    node. Communities that exist in the original have almost the modularity of its own communities;
    communities that the publication made up have about 0.
    """
    return modularity(original, published[identity])


def community_agreement(a: np.ndarray, b: np.ndarray) -> float:
    """Return the normalized mutual information of two results, over the mean of the entropies.

    It is 1 for equal communities and 0 for independent ones. A single community on both sides
    counts as equal.

    >>> community_agreement(np.array([0, 0, 1, 1]), np.array([7, 7, 3, 3]))
    1.0
    """
    if len(a) != len(b):
        raise InputError(f"two lists of labels have different lengths: {len(a)} and {len(b)}")
    if not len(a):
        return 1.0
    _, x = np.unique(a, return_inverse=True)
    _, y = np.unique(b, return_inverse=True)
    both = np.unique(x.astype(np.int64) * (int(y.max()) + 1) + y, return_counts=True)[1]
    of_a, of_b, joint = (_entropy(c) for c in (np.bincount(x), np.bincount(y), both))
    if of_a + of_b == 0:
        return 1.0
    return float(min(max(2 * (of_a + of_b - joint) / (of_a + of_b), 0.0), 1.0))


def _entropy(counts: np.ndarray) -> float:
    shares = counts / counts.sum()
    return -float((shares * np.log(shares)).sum())


def _largest_first(labels: np.ndarray) -> np.ndarray:
    """Number the communities by falling size; equal sizes in the order of their first nodes."""
    _, first, place, size = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.lexsort((first, -size))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return number[place]

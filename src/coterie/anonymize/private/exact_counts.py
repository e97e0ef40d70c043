"""The exact numbers behind the private answers. Private: only mechanisms may call this module.

Each function is called once per sketch. How much one edge changes each of them is proved in
docs/explanation/differential-privacy.md and checked by brute force in
tests/anonymize/private/test_sensitivity.py.
"""

from __future__ import annotations

import numpy as np

from coterie.anonymize.private.ladder import Ladder
from coterie.data import Graph
from coterie.kernels.anonymize.private_counts import capped_common_sums, largest_common_sum
from coterie.kernels.graphs.triangles import triangles


def edge_count(graph: Graph) -> np.ndarray:
    """Return the number of edges, as an array of one count. One edge changes it by 1."""
    return np.array([graph.n_edges], np.int64)


def degrees(graph: Graph) -> np.ndarray:
    """Return the degree of each node. One edge changes two of them by 1: L1 2."""
    return graph.degrees.astype(np.int64)


def degree_counts(graph: Graph, length: int) -> np.ndarray:
    """Return the number of nodes with degree >= d, d = 1..length.

    One edge changes at most two counts by 1, or one count by 2: L1 2.
    """
    of_degree = np.bincount(graph.degrees, minlength=length + 1)
    return np.cumsum(of_degree[::-1])[::-1][1 : length + 1].astype(np.int64)


def largest_degrees(graph: Graph, count: int) -> np.ndarray:
    """Return the largest degrees, falling. Sorting does not increase a difference: L1 2."""
    return np.sort(graph.degrees)[::-1][:count].astype(np.int64)


def edges_between(graph: Graph, parts: np.ndarray, n_parts: int) -> np.ndarray:
    """Return the edges between parts r <= s, as the upper triangle row by row.

    The parts are known, so an edge is in one cell: L1 1.
    """
    source, target = graph.edges()
    first, second = parts[source].astype(np.int64), parts[target].astype(np.int64)
    cell = np.minimum(first, second) * n_parts + np.maximum(first, second)
    table = np.bincount(cell, minlength=n_parts * n_parts).reshape(n_parts, n_parts)
    return table[np.triu_indices(n_parts)].astype(np.int64)


def node_triangles(graph: Graph) -> np.ndarray:
    """Return the number of triangles at each node (int64), for the ladders below."""
    return np.asarray(triangles(*_rows(graph)), np.int64)


def triangle_ladder(graph: Graph, at_node: np.ndarray, floor: int) -> Ladder:
    """Return the number of triangles, and the largest number of common neighbours of two nodes.

    One edge {u, w} makes as many triangles as u and w have common neighbours, and moves every
    number of common neighbours by at most 1. The width is never below the public `floor`.
    """
    ones = np.ones(graph.n_nodes, np.int64)
    largest = int(largest_common_sum(*_rows(graph), ones, floor))
    return Ladder(int(at_node.sum()) // 3, largest, 1)


def clustering_unit(n_nodes: int) -> int:
    """Return the integer that stands for 1 in a clustering sum.

    It is as large as 64-bit sums allow, up to 2^40. Rounding down to a coarse unit would raise
    the sensitivity: with 2^20, the weights of degrees above 1,000 fall in steps that multiply
    half a million triangles.
    """
    return int(2 ** min(40, 62 - n_nodes.bit_length()))


def clustering_weights(n_nodes: int, damping: int) -> np.ndarray:
    """Return floor(unit / C(max(d, damping), 2)) for d = 0..n_nodes - 1 (int64)."""
    degree = np.maximum(np.arange(n_nodes, dtype=np.int64), damping)
    return np.asarray(clustering_unit(n_nodes) // (degree * (degree - 1) // 2), np.int64)


def clustering_constants(n_nodes: int, damping: int) -> tuple[int, int]:
    """Return what an edge may change at its own ends, and what it may change of the width.

    Both follow from the number of nodes: `own` bounds the change of t g(d) at one end of the
    edge, `step` that of the sum of g over the common neighbours of any two nodes.
    """
    weight = clustering_weights(n_nodes, damping)
    drop = weight[:-1] - weight[1:]
    degree = np.arange(n_nodes - 1, dtype=np.int64)
    gain = degree * weight[1:]
    loss = drop * (degree * (degree - 1) // 2)
    own = max(int(gain.max(initial=0)), int(loss.max(initial=0)))
    return own, max(int(weight[0]), 2 * int(drop.max(initial=0)))


def clustering_ladder(graph: Graph, at_node: np.ndarray, damping: int, floor: int) -> Ladder:
    """Return the sum over nodes of triangles times weight, and how much one edge may change it.

    The weight of a node of degree d is unit / C(max(d, damping), 2): the sum is that of the local
    clustering coefficients, with nodes of degree below `damping` counted less.
    """
    weight = clustering_weights(graph.n_nodes, damping)
    of_node = weight[graph.degrees]
    own, step = clustering_constants(graph.n_nodes, damping)
    total = int((at_node * of_node).sum())
    largest = int(largest_common_sum(*_rows(graph), of_node, floor * int(weight[0])))
    return Ladder(total, largest + 2 * own, step)


CAPPED_UNIT = 5  # capped sums are asked in fifths: the sampler limits the digits of a scale


def capped_weights(n_nodes: int, highest: int) -> np.ndarray:
    """Return floor(unit / C(d, 2)) for d = 2..highest, and 0 for other degrees (int64)."""
    degree = np.arange(n_nodes, dtype=np.int64)
    weight = clustering_unit(n_nodes) // np.maximum(degree * (degree - 1) // 2, 1)
    counted = (degree >= 2) & ((degree <= highest) | (highest == 0))
    return np.asarray(np.where(counted, weight, 0), np.int64)


def capped_sensitivity(cap: int) -> int:
    """Return how much one edge changes a capped sum, in fifths: its own cap, and 1 at each end."""
    return CAPPED_UNIT * (cap + 2)


def capped_clustering(graph: Graph, highest: int, cap: int) -> np.ndarray:
    """Return the sum of the local clustering, in fifths, if an edge may carry `cap` of it.

    Every triangle at v has the weight 1 / C(d_v, 2), and belongs to the edge opposite of v. Only
    nodes with at most `highest` neighbours count (0: all).
    """
    unit = clustering_unit(graph.n_nodes)
    of_node = capped_weights(graph.n_nodes, highest)[graph.degrees]
    total = int(capped_common_sums(*_rows(graph), of_node, cap * unit))
    return np.array([total * CAPPED_UNIT // unit], np.int64)


def _rows(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    return graph.indptr.astype(np.int64, copy=False), graph.indices.astype(np.int32, copy=False)

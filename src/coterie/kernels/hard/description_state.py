"""The state of a partition whose description length is minimised: graph, statistics, parts.

Used by all kernels of descriptions. There is one state for all models; what a model does not have
(directions, real-valued weights, degree counts, levels) is an empty array.

    n_r     nodes of block r                    e_r    ends of edges (degree sum) of block r
    e_rs    edges from block r to block s (directed), or between them; e_rr edges inside r, each
            counted once
    B       blocks that are not empty           N, E   nodes and edges

Row r of the cells has one slot per block s: K slots of an undirected graph; of a directed one K for
edges from r to s, then K for edges from s to r; with layers K per layer. A *part* is what moves:
one node, or a whole block (a merge). Its profile x counts its edges per slot; x of its own block
excludes the edges inside the part (`loops`, or `Scratch.layers`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.kernels.hard.log_counts import CountTables
from coterie.kernels.numba.compile import njit

# What a cell costs (DescriptionModel.cells); `description_costs.py` has the formulas.
COUNTS = 0  # edges of an undirected multigraph
MULTISETS = 1  # edges of a dense multigraph: a level of a hierarchy
TWO_DENSITIES = 2  # one density inside blocks and one between them
INNER_DENSITIES = 3  # one density inside each block and one between blocks
EDGES = 4  # edges of a graph that may be directed; costs from a table; so are the following
NORMAL = 5  # … with normal weights
EXPONENTIAL = 6  # … with exponential weights
PLANTED = (TWO_DENSITIES, INNER_DENSITIES)  # planted partitions: communities

MIN_GAIN = 1e-9  # smaller gains are rounding
NEVER = 1e300  # the cost of a move that is not possible

BLOCKS, INSIDE, FREE = 0, 1, 2  # places in Blocks.scalars


class DescriptionModel(NamedTuple):
    """What is described, in the form that kernels take."""

    cells: int  # what a cell costs: COUNTS …
    degrees: bool  # whether the degrees of the nodes are described (degree correction)
    directed: bool
    layers: int  # of edges, each with cells and degrees of its own; 0: none
    n_nodes: int
    n_edges: int
    structure: np.ndarray  # float64 (K + 2): cost of B blocks that depends on B alone
    tables: CountTables
    sizes: np.ndarray  # float64 (edges + 1): part of a cell's cost from EDGES on; else empty
    prior: np.ndarray  # float64 (2,): NORMAL k0, v0; EXPONENTIAL a0, b0


class Multigraph(NamedTuple):
    """A graph whose edges are in the rows of both of their ends."""

    indptr: np.ndarray  # int64, n + 1
    indices: np.ndarray  # int32
    weights: np.ndarray  # int64, one per index: number of edges; empty: all 1
    loops: np.ndarray  # int64 (n,), or empty: none
    degrees: np.ndarray  # int64 (n,): loops count twice; of a directed graph outgoing edges
    classes: np.ndarray  # int32 (n,): number of the degree (or pair of degrees) among all distinct
    kinds: np.ndarray  # int16, one per index: layer; directed: 1 if the edge points to the row
    in_degrees: np.ndarray  # int64 (n,); zeros of an undirected graph
    values: np.ndarray  # float64, one per index: real-valued weights; empty: none
    layer_degrees: np.ndarray  # int64 (layers, n); (0, 0): none
    layer_classes: np.ndarray  # int32 (layers, n): number of the degree in the layer, among all
    ties: np.ndarray  # int32 (n,): 0 moves freely; g > 0 only together with all others of the same
    # g; < 0 never. Empty: all 0
    categories: np.ndarray  # int32 (n,): no block has nodes of two; -1: any block. Empty: all -1


class Blocks(NamedTuple):
    """Labels and block statistics; there is room for K blocks, of which B are not empty."""

    labels: np.ndarray  # int32 (n,)
    sizes: np.ndarray  # int64 (K,)
    ends: np.ndarray  # int64 (K,): of a directed graph outgoing ones
    in_ends: np.ndarray  # int64 (K,): zeros of an undirected graph
    layer_ends: np.ndarray  # int64 (layers, K)
    cells: np.ndarray  # int32 (K, slots)
    totals: np.ndarray  # float64 (2, K, slots): sums and squares of weights; (2, 0, 0) without
    degree_counts: np.ndarray  # int32 (K, degree classes); (1, 1) if the model does not use them
    free: np.ndarray  # int64 (K,): numbers of empty blocks, a stack
    scalars: np.ndarray  # int64 (3,): B, edges inside blocks, height of `free`
    categories: np.ndarray  # int32 (K,): of its nodes, or of earlier ones; -1: none. Empty: all -1


class Upper(NamedTuple):
    """The levels above the blocks: the prior of the block matrix. Depth 0 is a flat model.

    Level l + 1 groups the blocks (or groups) of level l; cells are dense multigraphs."""

    depth: int
    parents: np.ndarray  # int32 (depth, K)
    sizes: np.ndarray  # int64 (depth, G): children per group that are not empty
    cells: np.ndarray  # int64 (depth, G, G), symmetric, inner edges once
    sums: np.ndarray  # int64 (2, G): scratch
    touched: np.ndarray  # int64 (2, G): scratch
    changes: np.ndarray  # float64 (G,): what joining a block of each group changes, see `known`
    known: np.ndarray  # int64 (G + 1,): number of the part that `changes` is for; the present one


class Scratch(NamedTuple):
    """Buffers of one worker."""

    x: np.ndarray  # int64 (slots,), zeros between calls
    totals: np.ndarray  # float64 (2, slots): of the weights, zeros between calls; (2, 0) without
    touched: np.ndarray  # int64 (slots,)
    marked: np.ndarray  # int64 (K,), zeros between calls
    candidates: np.ndarray  # int64 (K + 2,)
    costs: np.ndarray  # float64 (K + 2,)
    classes: np.ndarray  # int64 (degree classes,): those of a whole block
    rises: np.ndarray  # float64 (2, K): see `fill_rises`
    layers: np.ndarray  # int64 (2, layers): ends of the part, and edges inside it


class Part(NamedTuple):
    """What moves: its profile is in Scratch.x, Scratch.totals and Scratch.touched[:m]."""

    m: int
    loops: int  # edges inside the part
    degree: int
    size: int
    degree_class: int  # -1: several, those in Scratch.classes[:n_classes]
    block: int  # -1: a node
    n_classes: int  # of a whole block, or of a node in layers
    in_degree: int
    loop_sum: float  # of the weights of the edges inside
    loop_squares: float


@njit(nogil=True, cache=True)
def fill_statistics(model, graph, blocks):
    """Count the statistics (OUT) of blocks.labels; the arrays must be zeros."""
    labels, sizes, ends, in_ends, _, cells, totals, degree_counts, free, scalars, _ = blocks
    K = len(sizes)
    for v in range(len(labels)):
        r = labels[v]
        sizes[r] += 1
        ends[r] += graph.degrees[v]
        in_ends[r] += graph.in_degrees[v]
        for layer in range(model.layers):
            blocks.layer_ends[layer, r] += graph.layer_degrees[layer, v]
            if model.degrees:
                degree_counts[r, graph.layer_classes[layer, v]] += 1
        if model.degrees and model.layers == 0:
            degree_counts[r, graph.classes[v]] += 1
        if len(graph.loops) > 0:
            cells[r, r] += graph.loops[v]
        for i in range(graph.indptr[v], graph.indptr[v + 1]):
            slot = np.int64(labels[graph.indices[i]])
            if not model.directed and slot == r and graph.indices[i] < v:
                continue  # an inner edge counts once
            if len(graph.kinds) > 0:
                slot += K * graph.kinds[i]
            cells[r, slot] += graph.weights[i] if len(graph.weights) > 0 else 1
            if model.cells >= NORMAL:
                w = graph.values[i]
                totals[0, r, slot] += w
                totals[1, r, slot] += w * w
    for r in range(K - 1, -1, -1):
        scalars[INSIDE] += cells[r, r]
        if sizes[r] == 0:
            free[scalars[FREE]] = r
            scalars[FREE] += 1
        else:
            scalars[BLOCKS] += 1


@njit(forceinline=True, cache=True)
def node_part(graph, labels, v, scratch):
    """Fill the profile of node v; return its Part."""
    x, touched, K = scratch.x, scratch.touched, len(scratch.marked)
    m = 0
    several, weighted = len(graph.kinds) > 0, len(graph.values) > 0
    if several or weighted:
        for i in range(graph.indptr[v], graph.indptr[v + 1]):
            slot = np.int64(labels[graph.indices[i]])
            if several:
                slot += K * graph.kinds[i]
            if x[slot] == 0:
                touched[m] = slot
                m += 1
            x[slot] += 1
            if weighted:
                w = graph.values[i]
                scratch.totals[0, slot] += w
                scratch.totals[1, slot] += w * w
    else:
        for i in range(graph.indptr[v], graph.indptr[v + 1]):
            s = labels[graph.indices[i]]
            if x[s] == 0:
                touched[m] = s
                m += 1
            x[s] += graph.weights[i] if len(graph.weights) > 0 else 1
    loops = graph.loops[v] if len(graph.loops) > 0 else 0
    degree, degree_class = graph.degrees[v], np.int64(graph.classes[v])
    into = graph.in_degrees[v]
    layers = len(graph.layer_degrees)
    for layer in range(layers):
        degree_class = np.int64(-1)
        scratch.classes[layer] = graph.layer_classes[layer, v]
        scratch.layers[0, layer] = graph.layer_degrees[layer, v]
        scratch.layers[1, layer] = 0
    return Part(m, loops, degree, 1, degree_class, np.int64(-1), layers, into, 0.0, 0.0)


@njit(nogil=True, cache=True)
def block_part(blocks, r, scratch):
    """Fill the profile of the whole block r; return its Part."""
    K, m = len(blocks.sizes), 0
    for slot in range(blocks.cells.shape[1]):
        if slot % K != r and blocks.cells[r, slot] > 0:
            scratch.x[slot] = blocks.cells[r, slot]
            scratch.touched[m] = slot
            m += 1
    loop_sum, loop_squares = 0.0, 0.0
    if blocks.totals.shape[1] > 0:
        loop_sum, loop_squares = blocks.totals[0, r, r], blocks.totals[1, r, r]
        for i in range(m):
            slot = scratch.touched[i]
            scratch.totals[0, slot] = blocks.totals[0, r, slot]
            scratch.totals[1, slot] = blocks.totals[1, r, slot]
    for layer in range(len(blocks.layer_ends)):
        scratch.layers[0, layer] = blocks.layer_ends[layer, r]
        scratch.layers[1, layer] = blocks.cells[r, layer * K + r]
    n_classes = 0
    if len(blocks.degree_counts) > r:  # not if the model does not use them
        for c in range(blocks.degree_counts.shape[1]):
            if blocks.degree_counts[r, c] > 0:
                scratch.classes[n_classes] = c
                n_classes += 1
    inner, ends, into = np.int64(blocks.cells[r, r]), blocks.ends[r], blocks.in_ends[r]
    size, none = blocks.sizes[r], np.int64(-1)
    return Part(m, inner, ends, size, none, np.int64(r), n_classes, into, loop_sum, loop_squares)


@njit(forceinline=True, cache=True)
def may_join(blocks, category, b):
    """Return whether nodes of this category (-1: none) may be in block b."""
    if len(blocks.categories) == 0 or category < 0:
        return True
    return blocks.categories[b] < 0 or blocks.categories[b] == category


@njit(forceinline=True, cache=True)
def category_of(blocks, r):
    """Return the category of block r."""
    return np.int64(blocks.categories[r]) if len(blocks.categories) > 0 else np.int64(-1)


@njit(forceinline=True, cache=True)
def forget(scratch, m):
    """Reset the profile."""
    for i in range(m):
        scratch.x[scratch.touched[i]] = 0
    if scratch.totals.shape[1] > 0:
        for i in range(m):
            scratch.totals[0, scratch.touched[i]] = 0.0
            scratch.totals[1, scratch.touched[i]] = 0.0


@njit(forceinline=True, cache=True)
def activate(graph, v, active):
    """Set active (IN/OUT) for node v and its neighbours."""
    active[v] = 1
    for i in range(graph.indptr[v], graph.indptr[v + 1]):
        active[graph.indices[i]] = 1

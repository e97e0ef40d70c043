"""Objectives of graphs: simple, degree-corrected, directed, weighted."""

from __future__ import annotations

import warnings

import numpy as np

from coterie.base.errors import AssumptionWarning, InputError
from coterie.base.special_functions import gammaln
from coterie.data import Graph
from coterie.kernels.hard.cell_costs import BERNOULLI, PLAIN, POISSON
from coterie.kernels.hard.statistics import ONE_WAY, TWO_WAY, Adjacency
from coterie.models.hard.costs.block_objective import BlockObjective

_NO_CHANNELS, _NO_WEIGHTS = np.zeros(0, np.int32), np.zeros(0)


def simple(graph: Graph) -> BlockObjective:
    """Build the objective of simple graphs: Bernoulli cells, S = sum over i <= j of F(d_ij, D_ij).

    >>> objective = simple(Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3]))
    >>> state = objective.start((np.array([0, 0, 0, 1]),), (2,))
    >>> round(objective.entropy(state), 4)
    1.9095
    """
    return BlockObjective("simple", BERNOULLI, ONE_WAY, (_both_ways(graph, "simple"),))


def degree_corrected(graph: Graph) -> BlockObjective:
    """Build the degree-corrected objective: the profile likelihood of Karrer & Newman (2011).

    S = sum_r g(K_r) - (1/2) sum_rs g(e_rs), without constants."""
    adjacency = _both_ways(graph, "degree-corrected")
    return BlockObjective("degree-corrected", PLAIN, ONE_WAY, (adjacency,))


def weighted(graph: Graph) -> BlockObjective:
    """Build the objective of weighted graphs: Poisson cells; an absent pair has weight 0.

    Fractional weights make it a quasi-likelihood."""
    if graph.weights is None:
        raise InputError(
            "objective 'weighted' needs weights and the graph has none",
            remedy='read the graph with its weights, or use `objective="simple"`',
        )
    bad = np.flatnonzero(~(np.isfinite(graph.weights) & (graph.weights >= 0)))
    if len(bad):
        v = int(np.searchsorted(graph.indptr, bad[0], side="right")) - 1
        pair = f"{graph.ids[v]}, {graph.ids[graph.indices[bad[0]]]}"
        raise InputError(
            f"invalid weight of edge ({pair}): {graph.weights[bad[0]]:g}",
            remedy="weights must be finite and >= 0",
        )
    if (graph.weights != np.floor(graph.weights)).any():
        warnings.warn(
            "some weights are fractions: the Poisson entropy is then a quasi-likelihood",
            AssumptionWarning,
            stacklevel=2,
        )
    adjacency = _without_zeros(
        _both_ways(graph, "weighted")._replace(weights=_kernel_array(graph.weights, np.float64))
    )
    constant = float(gammaln(graph.weights + 1).sum()) / 2
    return BlockObjective("weighted", POISSON, ONE_WAY, (adjacency,), constant=constant)


def directed(graph: Graph) -> BlockObjective:
    """Build the objective of directed graphs: Bernoulli cells of ordered pairs.

    S = sum over (i, j) of F(d_ij, D_ij)."""
    indptr, indices, _, inward = both_directions(graph)
    channels = np.zeros(len(indices), np.int32)
    channels[inward] = 1
    adjacency = Adjacency(indptr, indices, channels, _NO_WEIGHTS)
    return BlockObjective("directed", BERNOULLI, TWO_WAY, (adjacency,), signs=(1.0, 1.0))


def both_directions(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return every edge in the rows of its source and of its target, outgoing ones first.

    (indptr, indices, outward, inward): the last two are the places of the edges in the rows of
    their sources, and of their targets, in the order of the reversed graph."""
    back = graph.reversed()
    out, into = np.diff(graph.indptr), np.diff(back.indptr)
    indptr = np.zeros(graph.n_nodes + 1, np.int64)
    np.cumsum(out + into, out=indptr[1:])
    outward = np.arange(len(graph.indices)) + np.repeat(back.indptr[:-1], out)
    inward = np.arange(len(back.indices)) + np.repeat(graph.indptr[1:], into)
    indices = np.empty(indptr[-1], np.int32)
    indices[outward], indices[inward] = graph.indices, back.indices
    return indptr, indices, outward, inward


def _without_zeros(adjacency: Adjacency) -> Adjacency:
    """Drop edges of weight 0: they mean the same as absent pairs, and kernels need weights > 0."""
    kept = adjacency.weights > 0
    before = np.concatenate([[0], np.cumsum(kept)])
    return adjacency._replace(
        indptr=before[adjacency.indptr],
        indices=adjacency.indices[kept],
        weights=adjacency.weights[kept],
    )


def _both_ways(graph: Graph, name: str) -> Adjacency:
    """Return the undirected adjacency; warn if directions are ignored."""
    if graph.directed:
        if graph.weights is not None:
            raise InputError(
                f"objective {name!r} requires an undirected graph and this one is directed",
                remedy='build the graph with directed=False, or use `objective="directed"`',
            )
        warnings.warn(
            f"objective {name!r} ignores the directions of edges: a pair in both directions is one "
            "edge (objective 'directed' keeps them)",
            AssumptionWarning,
            stacklevel=4,
        )
        graph = Graph.from_edges(*graph.edges(), n_nodes=graph.n_nodes)
    return Adjacency(
        _kernel_array(graph.indptr, np.int64),
        _kernel_array(graph.indices, np.int32),
        _NO_CHANNELS,
        _NO_WEIGHTS,
    )


def _kernel_array(array: np.ndarray, dtype: type) -> np.ndarray:
    """Return the array as kernels are compiled for it: contiguous, writeable, of this type."""
    return np.require(array, dtype, ["C", "A", "W"])

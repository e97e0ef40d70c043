"""At most so many contacts per person: a network is reduced by a public rule before any question.

All possible pairs have one public order, a fixed mixture of the bits of their places in the node
list. An edge is kept if it is among the first `max_contacts` edges of both of its ends. "A bound
on the contacts per person" in docs/explanation/differential-privacy.md has the proof, and
tests/anonymize/private/test_contact_bound.py tries all networks of five nodes.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from coterie.base.errors import InputError
from coterie.data import Graph

# How many edges of the reduced network change, at most, if one edge of the original does: the edge
# itself, and at each of its ends the one that it displaces
STABILITY = 3


_DECIMALS = 5  # of epsilon, with a bound: the sampler limits the digits of a scale


def check_max_contacts(max_contacts: int | None, n_nodes: int, epsilon: Fraction) -> None:
    """Raise InputError unless there is no bound, or one that a person can exceed."""
    if max_contacts is None:
        return
    whole = isinstance(max_contacts, int | np.integer) and not isinstance(max_contacts, bool)
    if not whole or not 1 <= max_contacts <= n_nodes - 2:
        raise InputError(
            f"the maximum number of contacts is {max_contacts}; a node list of {n_nodes:,} nodes "
            f"allows whole numbers from 1 to {n_nodes - 2:,}",
            remedy="choose such a number, or leave the bound out",
        )
    if (epsilon * 10**_DECIMALS).denominator != 1:
        raise InputError(
            f"with a maximum number of contacts, epsilon has at most {_DECIMALS} digits after the "
            "point",
            remedy="round epsilon down",
        )


def first_contacts(graph: Graph, max_contacts: int) -> Graph:
    """Return the graph with the edges that are among the first ones of both ends.

    Parameters
    ----------
    graph : Graph
        An undirected graph, every edge once.
    max_contacts : int
        The largest degree of the result.
    """
    source, target = graph.edges()
    ends = np.concatenate((source, target))
    key = pair_keys(np.minimum(source, target), np.maximum(source, target))
    by_node = np.lexsort((np.concatenate((key, key)), ends))
    place = np.empty(len(ends), np.int64)  # among the edges of the same end
    place[by_node] = np.arange(len(ends)) - graph.indptr[ends[by_node]]
    kept = (place < max_contacts).reshape(2, -1).all(0)
    return Graph.from_edges(source[kept], target[kept], n_nodes=graph.n_nodes)


def pair_keys(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return a number per pair first < second (uint64), different for all pairs.

    The finaliser of SplitMix64, which maps 64 bits to 64 bits one to one.
    """
    key = (first.astype(np.uint64) << np.uint64(32)) | second.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        key = (key ^ (key >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(key ^ (key >> np.uint64(31)))

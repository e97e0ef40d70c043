"""Bolder attackers: a claim for everybody, however weak the grounds, ranked by how weak.

The careful attack (attacks.py) claims only where two people are each other's best match and lead
by far. Precision is not everything to an attacker: these claim all they can, and begin with what
they are surest of.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy.spatial import cKDTree

from coterie.anonymize.attacks import Matching, carry_on, graph_rows
from coterie.anonymize.utility import local_clustering
from coterie.graph import Graph
from coterie.kernels.matching import Rows, claim_everybody
from coterie.kernels.triangles import core_numbers, triangles

_PASSES = 6  # of propagation without a threshold
_TAKEN = 1e-9  # what a candidate who is matched already still weighs
_MUTUAL = 1e9  # the rank of a match that is mutual, after the careful ones and before all others
_QUANTILES = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
_APART = 1e3  # farther than any two fingerprints: people of different blocks are never matched


def bold_attack(
    original: Graph, published: Graph, truth: np.ndarray, careful: Matching, rng: Generator
) -> Matching:
    """The careful attack carried on without a threshold; then the best free candidate for whoever
    is left, mutual or not."""
    seeds = careful.seeds
    forward = careful.guess.copy()
    forward[seeds] = truth[seeds]
    matched = np.flatnonzero(forward >= 0)
    backward = np.full(published.n_nodes, -1, np.int32)
    backward[forward[matched]] = matched
    known, other = graph_rows(original), graph_rows(published)
    carry_on(known, other, forward, backward, seeds, rng, threshold=0.0, passes=_PASSES)
    free = Rows(other.indptr, other.indices, np.where(backward >= 0, _TAKEN, 1.0) * other.damping)
    guess, lead = np.empty_like(forward), np.empty(len(forward))
    claim_everybody(known, free, forward, guess, lead)
    lead[(forward >= 0) & (careful.guess < 0)] = _MUTUAL
    guess[seeds] = -1
    return Matching(seeds, guess, lead)


def fingerprint_attack(
    original: Graph, published: Graph, blocks: tuple[np.ndarray, np.ndarray] | None = None
) -> Matching:
    """Nobody is known; everybody is claimed to be the published node whose surroundings look most
    alike. `blocks`: of the people and of the published nodes, if the attacker has both."""
    here, there = fingerprints(original), fingerprints(published)
    if blocks is not None:
        here, there = (
            np.c_[prints, _APART * block]
            for prints, block in zip((here, there), blocks, strict=True)
        )
    far, nearest = cKDTree(there, balanced_tree=False).query(here, k=min(2, len(there)))
    far, nearest = far.reshape(len(here), -1), nearest.reshape(len(here), -1)
    lead = far[:, -1] - far[:, 0]
    guess = np.where(far[:, 0] < _APART / 2, nearest[:, 0], -1).astype(np.int32)
    return Matching(np.empty(0, np.int64), guess, lead)


def fingerprints(graph: Graph) -> np.ndarray:
    """float64[n, 11]: of each node degree, quantiles of the neighbours' degrees, size of the
    second neighbourhood, clustering and core, all on about one scale.

    >>> fingerprints(Graph.from_edges([0, 0], [1, 2])).shape
    (3, 11)
    """
    degrees = graph.degrees
    owner = np.repeat(np.arange(graph.n_nodes), degrees)
    logs = np.log1p(degrees)
    sorted_logs = logs[graph.indices][np.lexsort((logs[graph.indices], owner))]
    place = graph.indptr[:-1, None] + np.rint(_QUANTILES * np.maximum(degrees - 1, 0)[:, None])
    around = np.zeros((graph.n_nodes, len(_QUANTILES)))
    some = degrees > 0
    around[some] = sorted_logs[place[some].astype(np.int64)]
    second = np.log1p(np.bincount(owner, degrees[graph.indices], graph.n_nodes))
    clustering = local_clustering(degrees, triangles(graph.indptr, graph.indices))
    core = np.log1p(core_numbers(graph.indptr, graph.indices))
    return np.column_stack((logs, around, second, clustering, core))

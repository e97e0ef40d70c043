"""Attackers who know nobody: they match people and published nodes with similar surroundings."""

from __future__ import annotations

import numpy as np

from coterie.anonymize.attacks.attack import GuessingAttack, Job, Matching
from coterie.anonymize.attacks.seeded import guess_everyone_names
from coterie.anonymize.published_graph import per_published_node
from coterie.anonymize.utility.measures import local_clustering
from coterie.data import Graph
from coterie.kernels.graphs.triangles import core_numbers, triangles

_QUANTILES = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
_BLOCK_DISTANCE = 1e3  # more than between any two fingerprints: never match different blocks


def match_fingerprints(
    here: np.ndarray,
    there: np.ndarray,
    blocks: tuple[np.ndarray, np.ndarray] | None = None,
    people: np.ndarray | None = None,
) -> Matching:
    """Match the fingerprints of people and of published nodes; `people` are those to guess for."""
    if blocks is not None:
        here, there = (
            np.c_[prints, _BLOCK_DISTANCE * block]
            for prints, block in zip((here, there), blocks, strict=True)
        )
    who = np.arange(len(here)) if people is None else people
    from scipy.spatial import cKDTree  # here: loading it takes long

    # Equal fingerprints are matched once: a tree of many equal points takes the square of the time.
    mine, kind = _distinct_rows(here[who])
    theirs, kind_there = _distinct_rows(there)
    tree = cKDTree(there[theirs], balanced_tree=False)
    far, nearest = tree.query(here[who][mine], k=min(2, len(theirs)))
    far, nearest = far.reshape(len(mine), -1), nearest.reshape(len(mine), -1)
    size = np.bincount(kind_there, minlength=len(theirs))
    found = nearest[:, 0][kind]  # the kind of node that each person looks like
    # People who look like the same nodes are spread over them.
    turn = _places_within(found) % size[found]
    members = np.argsort(kind_there, kind="stable")
    node = members[(np.cumsum(size) - size)[found] + turn]
    guess, lead = np.full(len(here), -1, np.int32), np.zeros(len(here))
    guess[who] = np.where(far[kind, 0] < _BLOCK_DISTANCE / 2, node, -1)
    lead[who] = np.where(size[found] > 1, 0.0, (far[:, -1] - far[:, 0])[kind])
    return Matching(np.empty(0, np.int64), guess, lead, None if people is None else len(people))


def _distinct_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each distinct row is found first, and the number of each row's kind.

    >>> _distinct_rows(np.array([[0.5, 1.0], [2.0, 1.0], [0.5, 1.0]]))[1].tolist() in (
    ...     [0, 1, 0], [1, 0, 1])
    True
    """
    key = np.zeros(len(rows), np.uint64)
    for column in np.ascontiguousarray((rows + 0.0).T).view(np.uint64):  # -0.0 becomes 0.0
        key = (key ^ column) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    _, first, kind = np.unique(key, return_index=True, return_inverse=True)
    return first, kind


def _places_within(kind: np.ndarray) -> np.ndarray:
    """Return how many earlier elements are of the same kind.

    >>> _places_within(np.array([3, 1, 3, 3])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(kind, kind="stable")
    size = np.bincount(kind)
    place = np.empty(len(kind), np.int64)
    place[order] = np.arange(len(kind)) - np.repeat(np.cumsum(size) - size, size)
    return place


def fingerprints(graph: Graph) -> np.ndarray:
    """Describe the surroundings of each node by 11 numbers on similar scales (float64[n, 11]).

    They are the degree, quantiles of the neighbours' degrees, the size of the second
    neighbourhood, the local clustering and the core number.

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


class Fingerprints(GuessingAttack):
    """Guess, for every person, the published node with the most similar surroundings."""

    key = "guess_everyone"
    knows = "the original graph, and nobody in the release"
    needs = (fingerprints,)

    def run(self, job: Job) -> Matching:
        """Match the fingerprints of people and published nodes."""
        here, there = (of.once(fingerprints) for of in (job.known.original, job.published))
        return match_fingerprints(here, there, people=job.known.sample)

    def names(self, matching: Matching) -> tuple[str, str]:
        """Return how many people are guessed for."""
        return guess_everyone_names(matching)


class FingerprintsWithBlocks(GuessingAttack):
    """The same if the blocks were published: guesses are restricted to the person's block."""

    key = "with_blocks"
    knows = "the original graph, nobody in the release, and the block of everybody in both"
    public = False
    needs_blocks = True
    follows = Fingerprints

    def run(self, job: Job) -> Matching | None:
        """Match the fingerprints within each block."""
        if job.blocks is None:
            return None
        here, there = (of.once(fingerprints) for of in (job.known.original, job.published))
        of_nodes = per_published_node(job.blocks, job.target.identity)
        return match_fingerprints(here, there, (job.blocks, of_nodes), job.known.sample)

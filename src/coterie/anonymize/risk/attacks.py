"""Attacks on a release by somebody who holds the original, and wants to know who is who.

`truth[v]` is the published node that stands for original node v. In a release it says only which
slot of v's class was called v's: an attack that finds it beyond chance has found something.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.spatial import cKDTree

from coterie.anonymize.risk.intervals import wilson
from coterie.anonymize.utility.measures import local_clustering
from coterie.data import Graph
from coterie.kernels.anonymize.matching import MatchingRows, guess_everyone, new_memory, propagate
from coterie.kernels.graphs.triangles import core_numbers, triangles
from coterie.kernels.graphs.vertex_refinement import refine

SEED_COUNTS = (10, 50, 200)
_THRESHOLD = 0.5  # Narayanan & Shmatikov's eccentricity
_PASSES = 30
_SUREST = 100
_SEED_POOL = 5  # seeds are drawn from this many times as many of the best-connected people


@dataclass(frozen=True, eq=False)
class Matching:
    """What an attack claims: `guess[v]` is a published node, -1 for no claim; seeds apart."""

    seeds: np.ndarray
    guess: np.ndarray  # int32[n], -1 at seeds
    lead: np.ndarray | None = None  # float64[n]: how sure it is, for attacks that rank claims

    def figures(self, truth: np.ndarray) -> dict[str, Any]:
        """correct, wrong, precision and the interval of the share of people found; of ranked
        claims also how many of the hundred surest are correct."""
        claimed = np.flatnonzero(self.guess >= 0)
        right = self.guess[claimed] == truth[claimed]
        correct = int(right.sum())
        wrong = len(claimed) - correct
        people = len(truth) - len(self.seeds)
        surest = {}
        if self.lead is not None:
            order = np.argsort(-self.lead[claimed], kind="stable")[:_SUREST]
            surest[f"correct_in_first_{_SUREST}"] = int(right[order].sum())
        return {
            "seeds": len(self.seeds),
            "correct": correct,
            "wrong": wrong,
            "precision": correct / (correct + wrong) if correct + wrong else 0.0,
            "found_share": correct / people if people else 0.0,
            "found_interval": wilson(correct, people),
            **surest,
        }


def choose_seeds(graph: Graph, count: int, rng: Generator) -> np.ndarray:
    """Whom the attacker knows already: people of high degree, whom everybody knows."""
    pool = np.argsort(-graph.degrees, kind="stable")[: _SEED_POOL * count]
    return np.sort(rng.choice(pool, min(count, len(pool)), replace=False))


def seeded_attack(
    original: Graph, published: Graph, truth: np.ndarray, seeds: np.ndarray, rng: Generator
) -> Matching:
    """Narayanan & Shmatikov's propagation from known pairs, until nothing changes."""
    forward = np.full(original.n_nodes, -1, np.int32)
    backward = np.full(published.n_nodes, -1, np.int32)
    forward[seeds] = truth[seeds]
    backward[truth[seeds]] = seeds
    rows = graph_rows(original), graph_rows(published)
    carry_on(*rows, forward, backward, seeds, rng, threshold=_THRESHOLD, passes=_PASSES)
    forward[seeds] = -1
    return Matching(seeds, forward)


def carry_on(
    known: MatchingRows,
    other: MatchingRows,
    forward: np.ndarray,
    backward: np.ndarray,
    seeds: np.ndarray,
    rng: Generator,
    *,
    threshold: float,
    passes: int,
) -> None:
    """Match more and more people (forward and backward: IN/OUT) until a pass changes nothing."""
    fixed = np.zeros(len(forward), np.bool_)
    fixed[seeds] = True
    memory = new_memory(len(forward), len(backward))
    for _ in range(passes):
        order = rng.permutation(len(forward)).astype(np.int32)
        if not propagate(known, other, forward, backward, fixed, order, threshold, memory):
            break


def graph_rows(graph: Graph) -> MatchingRows:
    """A graph as the matching kernels take it."""
    damping = 1.0 / np.sqrt(np.maximum(graph.degrees, 1))
    return MatchingRows(graph.indptr, graph.indices, damping)


def vertex_refinement(
    original: Graph, published: Graph, truth: np.ndarray, depth: int
) -> dict[str, Any]:
    """Hay's H1 (degree) or H2 (degrees of the neighbours), known exactly.

    `correct` is what an attacker expects to hit who picks at random among the published nodes with
    the right signature; `unique` are the people whose signature one published node alone has, and
    it is theirs.
    """
    mine, theirs = _signatures(original, depth), _signatures(published, depth)
    distinct, size = np.unique(theirs, return_counts=True)
    at = np.minimum(np.searchsorted(distinct, mine), max(len(distinct) - 1, 0))
    known = distinct[at] == mine if len(distinct) else np.zeros(len(mine), bool)
    candidates = np.where(known, size[at] if len(size) else 0, 0)
    hit = theirs[truth] == mine
    claims = candidates == 1
    unique = int((claims & hit).sum())
    return {
        "correct": float((1.0 / candidates[hit]).sum()),
        "unique": unique,
        "unique_wrong": int(claims.sum()) - unique,
        "unique_interval": wilson(unique, len(mine)),
        "candidates_median": float(np.median(candidates)) if len(candidates) else 0.0,
    }


def _signatures(graph: Graph, depth: int) -> np.ndarray:
    colour = graph.degrees.astype(np.uint64)
    for _ in range(depth - 1):
        colour = refine(graph.indptr, graph.indices, colour)
    return np.asarray(colour)


def degree_attack(
    original: Graph, published: Graph, truth: np.ndarray, rng: Generator
) -> dict[str, Any]:
    """Rank both graphs by degree, ties at random, and match equal ranks: finds lone hubs."""
    mine = np.lexsort((rng.random(original.n_nodes), -original.degrees))
    theirs = np.lexsort((rng.random(published.n_nodes), -published.degrees))
    both = min(len(mine), len(theirs))
    right = theirs[:both] == truth[mine[:both]]
    return {
        "correct": int(right.sum()),
        "correct_in_top_100": int(right[:100].sum()),
        "interval": wilson(int(right.sum()), len(mine)),
    }


def naive_copy(graph: Graph, rng: Generator) -> tuple[Graph, np.ndarray]:
    """The control that must fall: the same graph under new random numbers, and the truth."""
    return relabel(graph, rng)


def deleted_copy(graph: Graph, rng: Generator, share: float = 0.1) -> tuple[Graph, np.ndarray]:
    """The second control: a share of the edges deleted, then new random numbers."""
    source, target = graph.edges()
    keep = rng.random(len(source)) >= share
    thinned = Graph.from_edges(source[keep], target[keep], n_nodes=graph.n_nodes)
    return relabel(thinned, rng)


def relabel(graph: Graph, rng: Generator) -> tuple[Graph, np.ndarray]:
    """The graph with its nodes renumbered at random, and truth: old number -> new number."""
    truth = rng.permutation(graph.n_nodes).astype(np.int32)
    source, target = graph.edges()
    return Graph.from_edges(truth[source], truth[target], n_nodes=graph.n_nodes), truth


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
    free = MatchingRows(
        other.indptr, other.indices, np.where(backward >= 0, _TAKEN, 1.0) * other.damping
    )
    guess, lead = np.empty_like(forward), np.empty(len(forward))
    guess_everyone(known, free, forward, guess, lead)
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

"""Attackers who know degrees: exact ones, those of all neighbours, or only their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from coterie.anonymize.attacks.attack import Attack, Job
from coterie.anonymize.figures import Private
from coterie.anonymize.intervals import Interval, wilson
from coterie.anonymize.published_graph import PublishedGraph
from coterie.data import Graph
from coterie.kernels.graphs.triangles import refine


@dataclass(frozen=True, repr=False)
class VertexRefinementResult(Private):
    """The number of people that a signature (degree, neighbours' degrees) identifies."""

    correct: float  # expected hits of random picks among nodes with the right signature
    unique: int  # people identified by a signature that only one published node has
    unique_wrong: int  # the same, but the published node stands for somebody else
    unique_interval: Interval
    candidates_median: float


class DegreeKnown(Attack):
    """H1: look for the only published node with the degree of a person."""

    key = "degree_known"
    knows = "the exact degree of a person"
    label = "exact degree known"
    depth: ClassVar[int] = 1

    def run(self, job: Job) -> VertexRefinementResult:
        """Compare exact signatures."""
        return vertex_refinement(job.known.original.graph, job.target, self.depth)

    def found(self, result: VertexRefinementResult) -> int:
        """Return the number of people with a signature that nobody else has."""
        return result.unique


class NeighbourDegreesKnown(DegreeKnown):
    """H2: look for the only published node whose neighbours have the same degrees."""

    key = "neighbour_degrees_known"
    knows = "the exact degrees of all neighbours of a person"
    label = "exact degrees of all neighbours known"
    depth = 2


def vertex_refinement(
    original: Graph, target: PublishedGraph, depth: int
) -> VertexRefinementResult:
    """Identify people by exact signatures (Hay et al. 2008).

    The signature is the degree (H1, `depth=1`) or the degrees of the neighbours (H2, `depth=2`).
    """
    mine, theirs = _signatures(original, depth), _signatures(target.graph, depth)
    distinct, size = np.unique(theirs, return_counts=True)
    at = np.minimum(np.searchsorted(distinct, mine), max(len(distinct) - 1, 0))
    known = distinct[at] == mine if len(distinct) else np.zeros(len(mine), bool)
    candidates = np.where(known, size[at] if len(size) else 0, 0)
    hit = theirs[target.identity] == mine
    claims = candidates == 1
    unique = int((claims & hit).sum())
    return VertexRefinementResult(
        correct=float((1.0 / candidates[hit]).sum()),
        unique=unique,
        unique_wrong=int(claims.sum()) - unique,
        unique_interval=wilson(unique, len(mine)),
        candidates_median=float(np.median(candidates)) if len(candidates) else 0.0,
    )


def _signatures(graph: Graph, depth: int) -> np.ndarray:
    colour = graph.degrees.astype(np.uint64)
    for _ in range(depth - 1):
        colour = refine(graph.indptr, graph.indices, colour)
    return np.asarray(colour)


@dataclass(frozen=True, repr=False)
class DegreeAttackResult(Private):
    """The number of people that their rank in the order of degrees identifies."""

    correct: int
    correct_in_top_100: int
    interval: Interval


class DegreeRank(Attack):
    """Match people and nodes of equal rank by degree."""

    key = "degree_rank"
    knows = "the order of everybody by degree"
    label = "rank by degree"
    public = False

    def run(self, job: Job) -> DegreeAttackResult:
        """Match equal ranks."""
        return degree_attack(job.known.original.graph, job.target, job.known.generator())


def degree_attack(original: Graph, target: PublishedGraph, rng: Generator) -> DegreeAttackResult:
    """Match people and nodes of equal rank by degree, ties at random; finds isolated hubs."""
    published = target.graph
    mine = np.lexsort((rng.random(original.n_nodes), -original.degrees))
    theirs = np.lexsort((rng.random(published.n_nodes), -published.degrees))
    both = min(len(mine), len(theirs))
    right = theirs[:both] == target.identity[mine[:both]]
    return DegreeAttackResult(
        correct=int(right.sum()),
        correct_in_top_100=int(right[:100].sum()),
        interval=wilson(int(right.sum()), len(mine)),
    )

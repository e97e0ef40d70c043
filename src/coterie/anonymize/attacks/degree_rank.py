"""The attacker who orders people and published nodes by their degrees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from coterie.anonymize.attacks.attack import Attack, Job
from coterie.anonymize.intervals import Interval, wilson
from coterie.anonymize.published_graph import PublishedGraph
from coterie.data import Graph


@dataclass(frozen=True)
class DegreeAttackResult:
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

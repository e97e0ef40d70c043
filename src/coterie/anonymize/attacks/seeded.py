"""Attackers who know some people and go on from neighbour to neighbour.

The seeded attack starts from people whom the attacker knows and claims only what stands out. The
attack that guesses for everyone continues from its matches.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from coterie.anonymize.attacks.attack import GuessingAttack, Job, Knowledge, Matching
from coterie.anonymize.published_graph import PublishedGraph
from coterie.data import Graph
from coterie.kernels.anonymize.matching import MatchingRows, guess_everyone, new_memory, propagate

SEED_COUNTS = (10, 50, 200)
_SEED_POOL = 5  # seeds are drawn from this many times as many people of highest degree
_THRESHOLD = 0.5  # eccentricity that a match needs (Narayanan & Shmatikov)
_PASSES = 30  # of propagation with the threshold …
_LONGEST_ROW = 20_000  # neighbours; those of larger hubs are not compared with each other
_PASSES_WITHOUT_THRESHOLD = 6  # … and without
_TAKEN_WEIGHT = 1e-9  # weight of a candidate that is already matched
_MUTUAL_LEAD = 1e9  # ranks mutual matches after the seeded attack's and before all others


class Seeded(GuessingAttack):
    """Propagate from known people; claim only what stands out."""

    key = "seeded"
    knows = "the original graph, and who 10, 50 or 200 people of high degree are in the release"

    def parts(self, known: Knowledge) -> int:
        """Return one piece of work per number of known people."""
        return len(known.seeds)

    def run(self, job: Job) -> Matching:
        """Propagate from the people known in this part."""
        order = job.known.generator(job.part)
        found = seeded_attack(
            job.known.original.graph, job.target, job.known.seeds[job.part], order
        )
        job.memory[self.key] = found, order
        return found

    def names(self, matching: Matching) -> tuple[str, str]:
        """Return the number of known people."""
        return f"{len(matching.seeds)} known", f"{len(matching.seeds)} people known"


class GuessEveryoneFromSeeds(GuessingAttack):
    """Continue the seeded attack with the most known people, and guess for everyone."""

    key = "guess_everyone"
    knows = "the original graph, and who the most people of the seeded attack are in the release"
    follows = Seeded

    def run(self, job: Job) -> Matching | None:
        """Continue from the most known people."""
        if job.part < len(job.known.seeds) - 1:
            return None
        found, order = job.memory[Seeded.key]
        return guess_everyone_attack(job.known.original.graph, job.target, found, order)

    def names(self, matching: Matching) -> tuple[str, str]:
        """Return how many people are known and guessed for."""
        return guess_everyone_names(matching)


def guess_everyone_names(matching: Matching) -> tuple[str, str]:
    """Return the names of an attack that guesses for everyone, in the JSON output and for people.

    >>> guess_everyone_names(Matching(np.empty(0, int), np.empty(0, int)))
    ('nobody known, everybody claimed', 'nobody known, a guess for everyone')
    """
    known = len(matching.seeds) or "nobody"
    people = f"{known} people known" if len(matching.seeds) else "nobody known"
    whom = "everyone" if matching.sample is None else f"a sample of {matching.sample:,} people"
    return f"{known} known, everybody claimed", f"{people}, a guess for {whom}"


def usable_seeds(graph: Graph) -> list[int]:
    """Return those of 10, 50 and 200 seeds that are at most a fifth of the people, at least one.

    >>> usable_seeds(Graph.from_edges([0], [1], n_nodes=300))
    [10, 50]
    """
    fitting = [k for k in SEED_COUNTS if 5 * k <= graph.n_nodes]
    return fitting or [max(1, graph.n_nodes // 5)]


def choose_seeds(graph: Graph, count: int, rng: Generator) -> np.ndarray:
    """Choose people whom the attacker already knows: random ones among those of high degree."""
    pool = np.argsort(-graph.degrees, kind="stable")[: _SEED_POOL * count]
    return np.sort(rng.choice(pool, min(count, len(pool)), replace=False))


def seeded_attack(
    original: Graph, target: PublishedGraph, seeds: np.ndarray, rng: Generator
) -> Matching:
    """Propagate from known people until nothing changes (Narayanan & Shmatikov, 2009)."""
    identity = target.identity
    forward = np.full(original.n_nodes, -1, np.int32)
    backward = np.full(target.graph.n_nodes, -1, np.int32)
    forward[seeds] = identity[seeds]
    backward[identity[seeds]] = seeds
    rows = _matching_rows(original), _matching_rows(target.graph)
    _propagate_until_stable(
        *rows, forward, backward, seeds, rng, threshold=_THRESHOLD, passes=_PASSES
    )
    forward[seeds] = -1
    return Matching(seeds, forward)


def guess_everyone_attack(
    original: Graph, target: PublishedGraph, seeded: Matching, rng: Generator
) -> Matching:
    """Continue a seeded attack without a threshold, then guess for everyone who is left.

    The guess for a person without a match is the best candidate that is not taken, whether or not
    the match is mutual.
    """
    seeds = seeded.seeds
    forward = seeded.guess.copy()
    forward[seeds] = target.identity[seeds]
    matched = np.flatnonzero(forward >= 0)
    backward = np.full(target.graph.n_nodes, -1, np.int32)
    backward[forward[matched]] = matched
    known, other = _matching_rows(original), _matching_rows(target.graph)
    _propagate_until_stable(
        known,
        other,
        forward,
        backward,
        seeds,
        rng,
        threshold=0.0,
        passes=_PASSES_WITHOUT_THRESHOLD,
    )
    weight = np.where(backward >= 0, _TAKEN_WEIGHT, 1.0) * other.damping
    guess, lead = np.empty_like(forward), np.empty(len(forward))
    guess_everyone(known, MatchingRows(other.indptr, other.indices, weight), forward, guess, lead)
    lead[(forward >= 0) & (seeded.guess < 0)] = _MUTUAL_LEAD
    guess[seeds] = -1
    return Matching(seeds, guess, lead)


def _propagate_until_stable(
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
    """Extend the matching (`forward` and `backward`, in place) until a pass changes nothing."""
    fixed = np.zeros(len(forward), np.bool_)
    fixed[seeds] = True
    memory = new_memory(len(forward), len(backward))
    for _ in range(passes):
        order = rng.permutation(len(forward)).astype(np.int32)
        if not propagate(known, other, forward, backward, fixed, order, threshold, memory):
            break


def _matching_rows(graph: Graph) -> MatchingRows:
    """Return a graph in the form that the matching kernels take.

    The neighbours of people with very many are left out: that two people know the same hub of
    20,000 says next to nothing, and comparing all of its neighbours with each other takes the
    square of their number.
    """
    degrees = graph.degrees
    damping = 1.0 / np.sqrt(np.maximum(degrees, 1))
    few = degrees <= _LONGEST_ROW
    if few.all():
        return MatchingRows(graph.indptr, graph.indices, damping)
    indptr = np.zeros_like(graph.indptr)
    np.cumsum(np.where(few, degrees, 0), out=indptr[1:])
    return MatchingRows(indptr, graph.indices[np.repeat(few, degrees)], damping)

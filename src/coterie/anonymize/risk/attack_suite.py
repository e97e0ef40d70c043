"""Run all attacks on a graph and on two controls, which show whether the attacks have power."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.published_graph import PublishedGraph, per_published_node
from coterie.anonymize.risk.attacks import (
    SEED_COUNTS,
    AttackResult,
    DegreeAttackResult,
    Matching,
    VertexRefinementResult,
    choose_seeds,
    degree_attack,
    deleted_copy,
    fingerprints,
    guess_everyone_attack,
    match_fingerprints,
    naive_copy,
    seeded_attack,
    vertex_refinement,
)
from coterie.anonymize.risk.expected_hits import ExpectedHits, expected_hits, hits_by_degree
from coterie.base.progress import Callback, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.data import Graph
from coterie.engine import Engine, LocalEngine

MOST_GUESSES = 50_000  # attackers who know nobody guess for a random sample of this size, at most


@dataclass(frozen=True)
class GraphAttacks:
    """The results of all attacks on one graph."""

    seeded: list[AttackResult]  # by rising number of seeds
    guess_everyone: list[AttackResult]  # from the most seeds, then from none
    with_blocks: list[AttackResult]  # the latter if blocks were published; empty without blocks
    degree_known: VertexRefinementResult  # H1
    neighbour_degrees_known: VertexRefinementResult  # H2
    degree_rank: DegreeAttackResult


class Controls(NamedTuple):
    """The results of the same attacks on graphs that are not protected."""

    naive: GraphAttacks  # only the names are removed
    deleted_10: GraphAttacks  # 10 % of the edges are deleted too


@dataclass(frozen=True)
class AttackSuiteResult:
    """The result of `coterie attack`: all attacks on one graph and on the controls."""

    target: GraphAttacks
    controls: Controls


class _Guesses(NamedTuple):
    """The guesses of the attacks on one graph, before they are compared with the identities."""

    seeded: list[Matching]
    guess_everyone: list[Matching]
    with_blocks: list[Matching]


def attack(
    original: Graph,
    target: PublishedGraph,
    engine: Engine | None = None,
    *,
    rng: RandomState = 0,
    callback: Callback = silent,
) -> AttackSuiteResult:
    """Attack one published graph and both controls, with the same seeds for all."""
    results, controls = attack_all(original, {"target": target}, engine, rng=rng, callback=callback)
    return AttackSuiteResult(results["target"], controls)


def attack_all(
    original: Graph,
    targets: Mapping[str, PublishedGraph],
    engine: Engine | None = None,
    *,
    rng: RandomState = 0,
    callback: Callback = silent,
) -> tuple[dict[str, GraphAttacks], Controls]:
    """Attack every target and both controls, with the same seeds for all."""
    suite = AttackSuite(original, rng)
    results = suite.run({**targets, **suite.controls}, engine, callback=callback)
    controls = Controls(*(results.pop(name) for name in Controls._fields))
    return results, controls


class AttackSuite:
    """The attacks of somebody who has the original graph.

    Seeds and controls are chosen once and are the same for every target.
    """

    def __init__(self, original: Graph, rng: RandomState = 0) -> None:
        random = as_generator(rng)
        self.original = original
        self.controls = {
            "naive": naive_copy(original, random),
            "deleted_10": deleted_copy(original, random),
        }
        self._seeds = [choose_seeds(original, k, random) for k in usable_seeds(original)]
        self._orders = random.integers(2**63, size=len(self._seeds) + 1)
        self._sample: np.ndarray | None = None
        if original.n_nodes > MOST_GUESSES:
            self._sample = np.sort(random.choice(original.n_nodes, MOST_GUESSES, replace=False))

    @cached_property
    def _fingerprints(self) -> np.ndarray:
        return fingerprints(self.original)

    def run_controls(
        self, blocks: np.ndarray, engine: Engine | None = None, callback: Callback = silent
    ) -> Controls:
        """Attack both controls."""
        found = self.run(self.controls, engine, blocks=blocks, callback=callback)
        return Controls(*(found[name] for name in Controls._fields))

    def run(
        self,
        targets: Mapping[str, PublishedGraph],
        engine: Engine | None = None,
        *,
        blocks: np.ndarray | None = None,
        classes: Classes | None = None,
        callback: Callback = silent,
    ) -> dict[str, GraphAttacks]:
        """Run all attacks on each target.

        `blocks` (of the people) adds an attacker who knows the block of every person and of every
        published node. `classes` adds what luck alone explains; without
        it, luck follows from the degrees only.
        """
        last = len(self._seeds) - 1
        known = self._fingerprints  # computed before the threads start
        # The most expensive jobs come first, so that no thread is left alone with one at the end.
        jobs = [(name, i) for i in range(last, -2, -1) for name in reversed(list(targets))]
        done: list[tuple[str, int]] = []

        def run(job: tuple[str, int]) -> list[Matching]:
            name, i = job
            callback(Progress("attacking", len(done), len(jobs), note=name))
            if i < 0:
                found = _without_seeds(known, targets[name], blocks, self._sample)
            else:
                found = self._with_seeds(targets[name], i)
            done.append(job)
            return found

        found = dict(zip(jobs, (engine or LocalEngine(1)).map(run, jobs), strict=True))
        results = {}
        for name, target in targets.items():
            guesses = _Guesses(
                [found[name, i][0] for i in range(last + 1)],
                [found[name, last][1], found[name, -1][0]],
                found[name, -1][1:],
            )
            order = as_generator(int(self._orders[-1]))
            results[name] = _results(self.original, target, guesses, classes, order)
        return results

    def _with_seeds(self, target: PublishedGraph, i: int) -> list[Matching]:
        """Run the seeded attack; with the most seeds, also the one that guesses everyone."""
        order = as_generator(int(self._orders[i]))
        seeded = seeded_attack(self.original, target, self._seeds[i], order)
        if i < len(self._seeds) - 1:
            return [seeded]
        return [seeded, guess_everyone_attack(self.original, target, seeded, order)]


def _without_seeds(
    known: np.ndarray,
    target: PublishedGraph,
    blocks: np.ndarray | None,
    sample: np.ndarray | None,
) -> list[Matching]:
    """Run the attack that knows nobody; with blocks, also the one that knows all blocks."""
    published = fingerprints(target.graph)
    found = [match_fingerprints(known, published, people=sample)]
    if blocks is not None:
        of_nodes = per_published_node(blocks, target.identity)
        found.append(match_fingerprints(known, published, (blocks, of_nodes), sample))
    return found


def _results(
    original: Graph,
    target: PublishedGraph,
    guesses: _Guesses,
    classes: Classes | None,
    rng: Generator,
) -> GraphAttacks:
    """Compare the guesses with the true identities, and run the attacks that need no guesses."""

    def result(matching: Matching, name: str = "", label: str = "") -> AttackResult:
        luck: ExpectedHits | None = None
        same_degree: float | None = None
        if classes is not None:
            luck = expected_hits(target, matching.guess, matching.seeds, classes)
        else:
            same_degree = hits_by_degree(target, matching.guess)
        return matching.result(
            target.identity, name=name, label=label, luck=luck, same_degree=same_degree
        )

    seeded = [
        result(m, f"{len(m.seeds)} known", f"{len(m.seeds)} people known") for m in guesses.seeded
    ]
    everyone = [result(m, *_names(m)) for m in guesses.guess_everyone]
    return GraphAttacks(
        seeded,
        everyone,
        [result(m) for m in guesses.with_blocks],
        vertex_refinement(original, target, 1),
        vertex_refinement(original, target, 2),
        degree_attack(original, target, rng),
    )


def usable_seeds(graph: Graph) -> list[int]:
    """Return those of 10, 50 and 200 seeds that are at most a fifth of the people, at least one.

    >>> usable_seeds(Graph.from_edges([0], [1], n_nodes=300))
    [10, 50]
    """
    fitting = [k for k in SEED_COUNTS if 5 * k <= graph.n_nodes]
    return fitting or [max(1, graph.n_nodes // 5)]


def _names(matching: Matching) -> tuple[str, str]:
    """Return the names of an attack that guesses for everyone, in the JSON output and for people.

    >>> _names(Matching(np.empty(0, int), np.empty(0, int)))
    ('nobody known, everybody claimed', 'nobody known, a guess for everyone')
    """
    known = len(matching.seeds) or "nobody"
    people = f"{known} people known" if len(matching.seeds) else "nobody known"
    whom = "everyone" if matching.sample is None else f"a sample of {matching.sample:,} people"
    return f"{known} known, everybody claimed", f"{people}, a guess for {whom}"

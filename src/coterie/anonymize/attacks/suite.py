"""Run all attacks on a graph and on two controls, which show whether the attacks have power."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.anonymize.attacks.attack import (
    AttackComparison,
    Controls,
    GraphAttacks,
    GraphFacts,
    Job,
    Knowledge,
)
from coterie.anonymize.attacks.catalogue import ATTACKS, compare_attacks
from coterie.anonymize.attacks.seeded import choose_seeds, usable_seeds
from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.figures import Private
from coterie.anonymize.intervals import Interval, wilson
from coterie.anonymize.published_graph import PublishedGraph, assign_new_ids
from coterie.base.progress import Callback, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.data import Graph
from coterie.engine import Engine, LocalEngine

MOST_GUESSES = 50_000  # attackers who know nobody guess for a random sample of this size, at most


@dataclass(frozen=True)
class AttackSuiteResult:
    """The result of `coterie attack`: all attacks on one graph and on the controls."""

    target: GraphAttacks
    controls: Controls

    def comparisons(self) -> list[AttackComparison]:
        """Return each attack on the graph, next to the same attack on the controls."""
        return compare_attacks(self.target, self.controls)


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


class _Piece(NamedTuple):
    """A piece of work: an attack on one target, and the attacks that follow it.

    It may run in another process, so attacks are named by their places in the list.
    """

    target: str
    place: int  # of the attack in the list
    part: int


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
        seeds = [choose_seeds(original, k, random) for k in usable_seeds(original)]
        orders = random.integers(2**63, size=len(seeds) + 1)
        sample: np.ndarray | None = None
        if original.n_nodes > MOST_GUESSES:
            sample = np.sort(random.choice(original.n_nodes, MOST_GUESSES, replace=False))
        self._known = Knowledge(GraphFacts(original), seeds, orders, sample)

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
        known, pieces = self._known, self._pieces(list(targets))
        done: list[_Piece] = []

        def run(piece: _Piece) -> dict[int, Any]:
            callback(Progress("attacking", len(done), len(pieces), note=piece.target))
            target = targets[piece.target]
            job = Job(known, target, GraphFacts(target.graph), piece.part, blocks)
            first = ATTACKS[piece.place]
            outcomes = {
                place: each.run(job)
                for place, each in enumerate(ATTACKS)
                if each is first or each.follows is type(first)
            }
            done.append(piece)
            return outcomes

        found = (engine or LocalEngine(1)).map(run, pieces)
        outcomes: dict[str, list[list[Any]]] = {name: [[] for _ in ATTACKS] for name in targets}
        for piece, by_place in reversed(list(zip(pieces, found, strict=True))):
            for place, outcome in by_place.items():
                if outcome is not None:
                    outcomes[piece.target][place].append(outcome)
        return {name: _results(outcomes[name], target, classes) for name, target in targets.items()}

    def _pieces(self, targets: list[str]) -> list[_Piece]:
        """Return the pieces of work, after computing what they all need of the original.

        The most expensive come first, so that no thread is left alone with one at the end.
        """
        for each in ATTACKS:
            for fact in each.needs:
                self._known.original.once(fact)
        return [
            _Piece(name, place, part)
            for place, each in enumerate(ATTACKS)
            if each.follows is None
            for part in reversed(range(each.parts(self._known)))
            for name in reversed(targets)
        ]


def _results(
    outcomes: list[list[Any]], target: PublishedGraph, classes: Classes | None
) -> GraphAttacks:
    """Compare the outcomes of all attacks with the true identities."""
    results: dict[str, Any] = {}
    for each, found in zip(ATTACKS, outcomes, strict=True):
        result = each.results(found, target, classes)
        results[each.key] = results[each.key] + result if each.key in results else result
    return GraphAttacks(results)


def naive_copy(graph: Graph, rng: Generator) -> PublishedGraph:
    """Make the first control: the same graph under new ids. An attack with power must find people
    in it."""
    return assign_new_ids(graph, rng)


def deleted_copy(graph: Graph, rng: Generator, share: float = 0.1) -> PublishedGraph:
    """Make the second control: a share of the edges deleted, then new ids."""
    source, target = graph.edges()
    keep = rng.random(len(source)) >= share
    thinned = Graph.from_edges(source[keep], target[keep], n_nodes=graph.n_nodes)
    return assign_new_ids(thinned, rng)


@dataclass(frozen=True, repr=False)
class AveragingResult(Private):
    """The pairs that are connected in at least `joined_in` of the releases."""

    joined_in: int
    pairs: int
    true_edges: int
    precision: float
    interval: Interval  # of the precision


def averaging_attack(original: Graph, releases: list[PublishedGraph]) -> list[AveragingResult]:
    """Count the true edges among the pairs that are connected in at least 1, 2, … releases.

    This is the worst case: the attacker knows who is who in every release. With new random ids in
    each release, the attacker would first have to re-identify everyone.
    """
    n = original.n_nodes
    true = _keys(*original.edges(), n)
    drawn = []
    for graph, identity in releases:
        person = np.empty(n, np.int64)
        person[identity] = np.arange(n)
        source, target = graph.edges()
        drawn.append(_keys(person[source], person[target], n))
    pairs, times = np.unique(np.concatenate(drawn), return_counts=True)
    is_edge = np.isin(pairs, true, assume_unique=True)
    results = []
    for least in range(1, len(releases) + 1):
        often = times >= least
        n_pairs, hits = int(often.sum()), int(is_edge[often].sum())
        precision = hits / max(n_pairs, 1)
        results.append(AveragingResult(least, n_pairs, hits, precision, wilson(hits, n_pairs)))
    return results


def _keys(source: np.ndarray, target: np.ndarray, n: int) -> np.ndarray:
    """Return one sorted integer per pair of nodes."""
    low, high = np.minimum(source, target), np.maximum(source, target)
    return np.sort(low.astype(np.int64) * n + high)

"""What every attack of the list must pass: power on a copy, nothing but luck on another graph."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from numpy.random import default_rng
from scipy.stats import poisson

from coterie.anonymize.attacks import catalogue, suite
from coterie.anonymize.attacks.attack import Attack, GuessingAttack, Job, Matching
from coterie.anonymize.attacks.catalogue import ATTACKS, compare_attacks
from coterie.anonymize.attacks.suite import AttackSuite, naive_copy
from coterie.anonymize.published_graph import PublishedGraph
from coterie.data import Graph

N = 600
BLOCKS = np.arange(N) % 5
FIND_MOST = ("seeded", "guess_everyone", "with_blocks")


def _people(seed: int) -> Graph:
    edges = np.array(nx.powerlaw_cluster_graph(N, 4, 0.5, seed=seed).edges)
    return Graph.from_edges(edges[:, 0], edges[:, 1], n_nodes=N)


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """Attack a naive copy, and a graph that has nothing to do with the original."""
    people = _people(3)
    copy = naive_copy(people, default_rng(0))
    targets = {"copy": copy, "unrelated": PublishedGraph(_people(99), copy.identity)}
    first, second = (AttackSuite(people, 0).run(targets, blocks=BLOCKS) for _ in range(2))
    return {"first": first, "second": second}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: type(attack).__name__)
class TestAttack:
    """The contract."""

    def test_it_is_declared(self, attack: Attack) -> None:
        assert attack.key.isidentifier() and attack.knows
        assert attack.control in ("naive", "deleted_10")
        assert not (attack.public and attack.needs_blocks)
        assert attack.follows is None or attack.follows in map(type, ATTACKS)

    def test_a_naive_copy_is_broken(self, attack: Attack, found: dict[str, Any]) -> None:
        rows = attack.rows(found["first"]["copy"][attack.key])
        # Few people have a degree that nobody else has; attacks on all people find half of them.
        assert rows and all(row.found > 5 for row in rows)
        if attack.key in FIND_MOST:
            assert all(row.found > N / 2 for row in rows)

    def test_another_graph_gives_no_more_than_luck(
        self, attack: Attack, found: dict[str, Any]
    ) -> None:
        for row in attack.rows(found["first"]["unrelated"][attack.key]):
            by_luck = getattr(row.result, "same_degree", None)
            allowed = poisson.isf(0.01, 10.0 if by_luck is None else by_luck + 1)
            assert row.found <= allowed

    def test_it_is_deterministic(self, attack: Attack, found: dict[str, Any]) -> None:
        for target in ("copy", "unrelated"):
            assert found["first"][target][attack.key] == found["second"][target][attack.key]


class _FirstPeople(GuessingAttack):
    """A new attack: the numbers of people and nodes are the same."""

    key = "same_number"
    knows = "the number of everybody"
    label = "same number"

    def run(self, job: Job) -> Matching:
        n = job.known.original.graph.n_nodes
        return Matching(np.empty(0, np.int64), np.arange(n, dtype=np.int32))


def test_a_new_attack_needs_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results, comparisons and what is public follow the list."""
    extended = [*ATTACKS, _FirstPeople()]
    for module in (catalogue, suite):
        monkeypatch.setattr(module, "ATTACKS", extended)
    people = _people(3)
    same = PublishedGraph(people, np.arange(N, dtype=np.int32))
    result = suite.attack(people, same)
    assert result.target.same_number[0].correct == N
    row = compare_attacks(result.target, result.controls)[-1]
    assert (row.label, row.found, row.public) == ("same number", N, True)
    assert row.naive <= poisson.isf(0.01, 1.0) and row.expected == 0.0

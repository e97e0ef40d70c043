"""Attacks equal slow references, are strong on a naive copy, and account for luck."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from tests import reference

from coterie.anonymize.attacks import seeded as seeded_attacks
from coterie.anonymize.attacks.attack import expected_hits
from coterie.anonymize.attacks.fingerprints import fingerprints, match_fingerprints
from coterie.anonymize.attacks.known_degrees import vertex_refinement
from coterie.anonymize.attacks.seeded import guess_everyone_attack, seeded_attack
from coterie.anonymize.attacks.suite import attack, averaging_attack, deleted_copy, naive_copy
from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.intervals import wilson
from coterie.anonymize.published_graph import PublishedGraph, assign_new_ids
from coterie.data import Graph
from coterie.engine import LocalEngine
from coterie.kernels.anonymize.matching import MatchingRows, new_memory, propagate


@pytest.fixture(scope="module")
def people() -> Graph:
    edges = np.array(nx.powerlaw_cluster_graph(600, 4, 0.5, seed=3).edges)
    return Graph.from_edges(edges[:, 0], edges[:, 1], n_nodes=600)


def _reference_pass(
    near: list[set[int]], other: list[set[int]], known: dict[int, int], matched: dict[int, int]
) -> dict[int, int]:
    """Run one pass of propagation by simple loops: nodes in rising order, seeds fixed."""

    def best(v: int, here: list[set[int]], there: list[set[int]], image: dict[int, int]):
        score: dict[int, float] = {}
        for u in here[v]:
            for w in there[image[u]] if u in image else ():
                score[w] = score.get(w, 0.0) + 1 / np.sqrt(len(there[w]))
        if not score:
            return None, 0.0
        values = sorted(score.values(), reverse=True)
        top = max(score, key=lambda w: score[w])
        if len(values) == 1:
            return top, np.inf
        return top, (values[0] - values[1]) / np.std(values) if np.std(values) > 1e-12 else 0.0

    forward, backward = dict(matched), {w: v for v, w in matched.items()}
    for v in range(len(near)):
        if v in known:
            continue
        w, lead = best(v, near, other, forward)
        if w is None or lead < 0.5 or forward.get(v) == w:
            continue
        back, lead = best(w, other, near, backward)
        if back != v or lead < 0.5 or backward.get(w) in known:
            continue
        if w in backward:
            del forward[backward[w]]
        if v in forward:
            del backward[forward[v]]
        forward[v], backward[w] = w, v
    return forward


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_propagation_equals_the_reference(seed: int) -> None:
    network = nx.gnm_random_graph(14, 26, seed=seed)
    graph = Graph.from_edges(*np.array(network.edges).T, n_nodes=14)
    copy, identity = naive_copy(graph, default_rng(seed))
    seeds = default_rng(seed + 1).choice(14, 4, replace=False)
    forward, backward = np.full(14, -1, np.int32), np.full(14, -1, np.int32)
    forward[seeds], backward[identity[seeds]] = identity[seeds], seeds
    fixed = np.zeros(14, np.bool_)
    fixed[seeds] = True
    rows = [
        MatchingRows(g.indptr, g.indices, 1 / np.sqrt(np.maximum(g.degrees, 1)))
        for g in (graph, copy)
    ]
    near, other = (
        reference.neighbours(list(zip(*g.edges(), strict=True)), 14) for g in (graph, copy)
    )
    known = {int(v): int(identity[v]) for v in seeds}
    expected, memory, order = known, new_memory(14, 14), np.arange(14, dtype=np.int32)
    for _ in range(3):  # a pass skips only nodes whose decision would not change
        propagate(*rows, forward, backward, fixed, order, 0.5, memory)
        expected = _reference_pass(near, other, known, expected)
        assert {v: int(w) for v, w in enumerate(forward) if w >= 0} == expected


def test_seeded_attack_identifies_people_in_a_naive_copy_but_not_in_another_graph(
    people: Graph,
) -> None:
    copy = naive_copy(people, default_rng(0))
    seeds = np.argsort(-people.degrees)[:30]
    found = seeded_attack(people, copy, seeds, default_rng(1)).result(copy.identity)
    assert found.correct > 400 and found.precision > 0.95
    other = nx.powerlaw_cluster_graph(600, 4, 0.5, seed=99)
    unrelated = PublishedGraph(
        Graph.from_edges(*np.array(other.edges).T, n_nodes=600), copy.identity
    )
    found = seeded_attack(people, unrelated, seeds, default_rng(1)).result(copy.identity)
    assert found.correct <= 3


def test_number_of_propagation_passes(people: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """30 passes with the threshold and 6 without, if matches keep changing."""
    calls: list[float] = []

    def always_changes(*arguments: object) -> int:
        calls.append(arguments[6])
        return 1

    monkeypatch.setattr(seeded_attacks, "propagate", always_changes)
    copy = naive_copy(people, default_rng(0))
    seeded = seeded_attack(people, copy, np.arange(10), default_rng(1))
    guess_everyone_attack(people, copy, seeded, default_rng(1))
    assert calls == [0.5] * 30 + [0.0] * 6


def test_equal_node_numbers_do_not_help_the_attacker() -> None:
    """Nodes that cannot be told apart are not found because their numbers happen to agree."""
    ring = Graph.from_edges(np.arange(40), (np.arange(40) + 1) % 40)
    found = vertex_refinement(ring, PublishedGraph(ring, np.arange(40, dtype=np.int32)), 2)
    assert found.unique == 0 and found.correct == pytest.approx(1.0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 2]))
def test_vertex_refinement_equals_the_reference(seed: int, depth: int) -> None:
    n = 12
    first, second = (
        [(int(u), int(v)) for u, v in nx.gnm_random_graph(n, 16, seed=seed + i).edges]
        for i in range(2)
    )
    identity = default_rng(seed).permutation(n)
    original, published = (Graph.from_edges(*np.array(e).T, n_nodes=n) for e in (first, second))
    found = vertex_refinement(original, PublishedGraph(published, identity), depth)
    candidates = [reference.candidates(first, second, n, u, depth) for u in range(n)]
    hits = [1 / len(c) for u, c in enumerate(candidates) if identity[u] in c]
    assert found.correct == pytest.approx(sum(hits))
    assert found.unique == sum(c == {identity[u]} for u, c in enumerate(candidates))


def test_attack_results_do_not_depend_on_the_number_of_threads(people: Graph) -> None:
    target = assign_new_ids(people, default_rng(5))
    one = attack(people, target, LocalEngine(1), rng=0)
    two = attack(people, target, LocalEngine(2), rng=0)
    assert one == two
    assert [result.seeds for result in one.target.seeded] == [10, 50]
    assert [result.label for result in one.target.guess_everyone] == [
        "50 people known, a guess for everyone",
        "nobody known, a guess for everyone",
    ]
    assert one.controls.naive.seeded[-1].correct > 400


class _OtherProcess(LocalEngine):
    """Arguments and results are copies, as if the work ran in another process."""

    def map(self, task: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        copies = pickle.loads(pickle.dumps([list(values) for values in arguments]))
        return [pickle.loads(pickle.dumps(task(*values))) for values in zip(*copies, strict=True)]


def test_attacks_can_run_in_other_processes(people: Graph) -> None:
    target = assign_new_ids(people, default_rng(5))
    assert attack(people, target, _OtherProcess(1)) == attack(people, target, LocalEngine(1))


def test_expected_hits_are_those_of_random_guesses_of_equal_degree() -> None:
    edges = np.array(nx.random_regular_graph(4, 50, seed=0).edges)
    graph = Graph.from_edges(edges[:, 0], edges[:, 1], n_nodes=50)
    target = assign_new_ids(graph, default_rng(1))
    guess = default_rng(2).permutation(50).astype(np.int32)
    block = (np.arange(50) % 2).astype(np.int32)
    luck = expected_hits(target, guess, np.empty(0, np.int64), Classes(block, block))
    assert luck.same_degree == pytest.approx(1.0)  # 50 guesses among 50 nodes of equal degree
    assert luck.block_chance == pytest.approx(0.5)
    assert luck.same_class == pytest.approx(2 * luck.block_accuracy)  # 2 classes of 25


@pytest.mark.parametrize("seed", range(6))
def test_the_law_of_the_hits_equals_enumeration(seed: int) -> None:
    """Members of every class swap places in all ways; several people may get the same guess."""
    rng = default_rng(seed)
    label = np.array([0, 0, 0, 1, 1, 1, 1])[rng.permutation(7)]
    known = rng.choice(7, seed % 3, replace=False)
    identity = rng.permutation(7)
    guess = rng.integers(-1, 7, 7)
    guess[known] = -1
    target = PublishedGraph(Graph.from_edges([0], [1], n_nodes=7), identity.astype(np.int32))
    luck = expected_hits(target, guess, known, Classes(label, label))
    hits = reference.hits_of_swapped_members(
        guess.tolist(), identity.tolist(), label.tolist(), known.tolist()
    )
    assert luck.same_class == pytest.approx(np.mean(hits))
    assert luck.deviation == pytest.approx(np.std(hits))


def test_guess_everyone_attacks_find_more_and_are_wrong_more_often(people: Graph) -> None:
    copy = naive_copy(people, default_rng(0))
    thinned = deleted_copy(people, default_rng(0), share=0.3)
    seeds = np.argsort(-people.degrees)[:30]
    seeded = seeded_attack(people, thinned, seeds, default_rng(1))
    everyone = guess_everyone_attack(people, thinned, seeded, default_rng(2))
    assert (everyone.guess[seeded.guess >= 0] >= 0).all() and everyone.guess[seeds].max() == -1
    before, after = (m.result(thinned.identity) for m in (seeded, everyone))
    assert after.correct > before.correct and after.wrong > before.wrong
    assert before.correct_in_first_100 is None and after.correct_in_first_100 is not None
    assert after.correct_in_first_100 / 100 >= after.precision
    found = match_fingerprints(fingerprints(people), fingerprints(copy.graph)).result(copy.identity)
    assert found.correct + found.wrong == 600 and found.correct > 400


def test_known_blocks_improve_the_fingerprint_attack(people: Graph) -> None:
    thinned, identity = deleted_copy(people, default_rng(0))
    block = np.arange(600) % 5
    published = np.empty(600, int)
    published[identity] = block
    prints = fingerprints(people), fingerprints(thinned)
    alone = match_fingerprints(*prints)
    known = match_fingerprints(*prints, (block, published))
    assert (published[known.guess] == block).all()
    assert known.result(identity).correct > alone.result(identity).correct


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_fingerprints_are_matched_to_the_nearest_also_if_many_are_equal(
    seed: int, values: int
) -> None:
    rng = default_rng(seed)
    here, there = (rng.integers(0, values, (rng.integers(1, 40), 3)) / 2.0 for _ in range(2))
    found = match_fingerprints(here, there)
    distance = np.sort(np.linalg.norm(here[:, None] - there[None], axis=2), axis=1)
    chosen = np.linalg.norm(here - there[found.guess], axis=1)
    assert np.allclose(chosen, distance[:, 0])
    second = distance[:, min(1, distance.shape[1] - 1)]
    assert np.allclose(found.lead, second - distance[:, 0])
    # People who look like the same nodes are spread over them.
    nodes = np.flatnonzero((there == there[found.guess[0]]).all(1))
    people = np.isin(found.guess, nodes)
    assert len(set(found.guess[people])) == min(people.sum(), len(nodes))


def test_networks_in_which_all_look_alike_are_attacked_in_reasonable_time() -> None:
    """Equal fingerprints and huge hubs once took the square of the number of people."""
    n = 60_000
    ring = Graph.from_edges(np.arange(n), (np.arange(n) + 1) % n)
    started = time.process_time()
    assert (match_fingerprints(fingerprints(ring), fingerprints(ring)).guess >= 0).all()
    star = naive_copy(Graph.from_edges(np.zeros(n, int), np.arange(1, n + 1)), default_rng(0))
    same = Graph.from_edges(np.zeros(n, int), np.arange(1, n + 1))
    found = seeded_attack(same, star, np.arange(10), default_rng(1))
    assert (found.guess < 0).all()  # a hub of 60,000 says nothing about who its neighbours are
    assert time.process_time() - started < 20


def test_averaging_counts_true_edges_among_repeated_pairs() -> None:
    original = Graph.from_edges([0, 1], [1, 2], n_nodes=4)
    same = assign_new_ids(original, default_rng(0))
    other = PublishedGraph(Graph.from_edges([2], [3], n_nodes=4), np.arange(4))
    results = averaging_attack(original, [same, same, other])
    assert [(r.pairs, r.true_edges) for r in results] == [(3, 2), (2, 2), (0, 0)]


def test_intervals() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = wilson(8, 10)
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)


def test_the_neighbours_of_a_very_large_hub_are_not_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A star of 100,000 people would take the square of its size, without finding anybody."""
    graph = Graph.from_edges([0, 0, 0, 0, 1, 2], [1, 2, 3, 4, 2, 3], n_nodes=5)
    assert np.array_equal(seeded_attacks._matching_rows(graph).indices, graph.indices)
    monkeypatch.setattr(seeded_attacks, "_LONGEST_ROW", 3)
    rows = seeded_attacks._matching_rows(graph)
    assert np.diff(rows.indptr).tolist() == [0, 2, 3, 2, 1]
    assert np.array_equal(rows.indices, graph.indices[4:])
    assert np.array_equal(rows.damping, 1 / np.sqrt(graph.degrees))

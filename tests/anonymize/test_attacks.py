"""Attacks: equal to their plain forms, strong on a naive copy, fair about chance."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from tests import reference

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.output.identity_map import read_truth
from coterie.anonymize.risk.attack_suite import Target, attack
from coterie.anonymize.risk.attacks import (
    Matching,
    bold_attack,
    deleted_copy,
    fingerprint_attack,
    naive_copy,
    relabel,
    seeded_attack,
    vertex_refinement,
)
from coterie.anonymize.risk.averaging import averaging_attack
from coterie.anonymize.risk.expected_hits import chance_of
from coterie.anonymize.risk.intervals import most_by_chance, wilson
from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.engine import LocalEngine
from coterie.kernels.anonymize.matching import MatchingRows, new_memory, propagate


@pytest.fixture(scope="module")
def people() -> Graph:
    edges = np.array(nx.powerlaw_cluster_graph(600, 4, 0.5, seed=3).edges)
    return Graph.from_edges(edges[:, 0], edges[:, 1], n_nodes=600)


def _plain_pass(
    near: list[set[int]], other: list[set[int]], known: dict[int, int], matched: dict[int, int]
) -> dict[int, int]:
    """One pass of propagation by plain loops: nodes in rising order, seeds (`known`) fixed."""

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
def test_passes_of_propagation_are_the_plain_ones(seed: int) -> None:
    network = nx.gnm_random_graph(14, 26, seed=seed)
    graph = Graph.from_edges(*np.array(network.edges).T, n_nodes=14)
    copy, truth = naive_copy(graph, default_rng(seed))
    seeds = default_rng(seed + 1).choice(14, 4, replace=False)
    forward, backward = np.full(14, -1, np.int32), np.full(14, -1, np.int32)
    forward[seeds], backward[truth[seeds]] = truth[seeds], seeds
    fixed = np.zeros(14, np.bool_)
    fixed[seeds] = True
    rows = [
        MatchingRows(g.indptr, g.indices, 1 / np.sqrt(np.maximum(g.degrees, 1)))
        for g in (graph, copy)
    ]
    near, other = (
        reference.neighbours(list(zip(*g.edges(), strict=True)), 14) for g in (graph, copy)
    )
    known = {int(v): int(truth[v]) for v in seeds}
    plain, memory, order = known, new_memory(14, 14), np.arange(14, dtype=np.int32)
    for _ in range(3):  # what a pass skips is what would come out the same
        propagate(*rows, forward, backward, fixed, order, 0.5, memory)
        plain = _plain_pass(near, other, known, plain)
        assert {v: int(w) for v, w in enumerate(forward) if w >= 0} == plain


def test_a_naive_copy_falls_and_a_stranger_does_not(people: Graph) -> None:
    copy, truth = naive_copy(people, default_rng(0))
    seeds = np.argsort(-people.degrees)[:30]
    found = seeded_attack(people, copy, truth, seeds, default_rng(1)).figures(truth)
    assert found["correct"] > 400 and found["precision"] > 0.95
    other = nx.powerlaw_cluster_graph(600, 4, 0.5, seed=99)
    strange = Graph.from_edges(*np.array(other.edges).T, n_nodes=600)
    found = seeded_attack(people, strange, truth, seeds, default_rng(1)).figures(truth)
    assert found["correct"] <= 3


def test_ids_in_order_are_no_help() -> None:
    """Nodes nobody can tell apart are not found because their numbers happen to agree."""
    ring = Graph.from_edges(np.arange(40), (np.arange(40) + 1) % 40)
    truth = np.arange(40, dtype=np.int32)
    found = vertex_refinement(ring, ring, truth, 2)
    assert found["unique"] == 0 and found["correct"] == pytest.approx(1.0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 2]))
def test_refinement_finds_the_plain_candidates(seed: int, depth: int) -> None:
    n = 12
    first, second = (
        [(int(u), int(v)) for u, v in nx.gnm_random_graph(n, 16, seed=seed + i).edges]
        for i in range(2)
    )
    truth = default_rng(seed).permutation(n)
    graphs = [Graph.from_edges(*np.array(e).T, n_nodes=n) for e in (first, second)]
    found = vertex_refinement(graphs[0], graphs[1], truth, depth)
    sets = [reference.candidates(first, second, n, u, depth) for u in range(n)]
    hits = [1 / len(c) for u, c in enumerate(sets) if truth[u] in c]
    assert found["correct"] == pytest.approx(sum(hits))
    assert found["unique"] == sum(c == {truth[u]} for u, c in enumerate(sets))


def test_attack_has_its_controls_and_does_not_depend_on_threads(people: Graph) -> None:
    target = Target(*relabel(people, default_rng(5)))
    one = attack(people, target, LocalEngine(1), rng=0)
    two = attack(people, target, LocalEngine(2), rng=0)
    assert one == two
    assert set(one["controls"]) == {"naive", "deleted_10"}
    assert [row["seeds"] for row in one["seeded"]] == [10, 50]
    assert one["controls"]["naive"]["seeded"][-1]["correct"] > 400


def test_chance_is_what_random_picks_of_like_degree_hit() -> None:
    edges = np.array(nx.random_regular_graph(4, 50, seed=0).edges)
    graph = Graph.from_edges(edges[:, 0], edges[:, 1], n_nodes=50)
    target = Target(*relabel(graph, default_rng(1)))
    guess = default_rng(2).permutation(50).astype(np.int32)
    block = (np.arange(50) % 2).astype(np.int32)
    claim = Matching(np.empty(0, np.int64), guess)
    chance = chance_of(graph, target, claim, Classes(block, block))
    assert chance["chance"] == pytest.approx(1.0)  # 50 guesses among 50 alike
    assert chance["block_chance"] == pytest.approx(0.5)
    assert chance["expected"] == pytest.approx(2 * chance["block_accuracy"])  # 2 classes of 25


def test_bold_attackers_claim_everybody_and_find_more(people: Graph) -> None:
    copy, truth = naive_copy(people, default_rng(0))
    thinned, who = deleted_copy(people, default_rng(0), share=0.3)
    seeds = np.argsort(-people.degrees)[:30]
    careful = seeded_attack(people, thinned, who, seeds, default_rng(1))
    bold = bold_attack(people, thinned, who, careful, default_rng(2))
    assert (bold.guess[careful.guess >= 0] >= 0).all() and bold.guess[seeds].max() == -1
    before, after = (m.figures(who) for m in (careful, bold))
    assert after["correct"] > before["correct"] and after["wrong"] > before["wrong"]
    assert after["correct_in_first_100"] / 100 >= after["precision"]
    found = fingerprint_attack(people, copy).figures(truth)
    assert found["correct"] + found["wrong"] == 600 and found["correct"] > 400


def test_blocks_narrow_whom_surroundings_point_to(people: Graph) -> None:
    thinned, truth = deleted_copy(people, default_rng(0))
    block = np.arange(600) % 5
    published = np.empty(600, int)
    published[truth] = block
    alone = fingerprint_attack(people, thinned)
    known = fingerprint_attack(people, thinned, (block, published))
    assert (published[known.guess] == block).all()
    assert known.figures(truth)["correct"] > alone.figures(truth)["correct"]


def test_pairs_seen_often_are_counted_against_the_truth() -> None:
    original = Graph.from_edges([0, 1], [1, 2], n_nodes=4)
    same, none = Target(*relabel(original, default_rng(0))), Graph.from_edges([2], [3], n_nodes=4)
    rows = averaging_attack(original, [same, same, Target(none, np.arange(4))])
    assert [(r["pairs"], r["true_edges"]) for r in rows] == [(3, 2), (2, 2), (0, 0)]


def test_intervals() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = wilson(8, 10)
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
    assert most_by_chance(4.0) == 9  # P(X > 9) = .0081, P(X > 8) = .0214


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("published,original\n0,a\n1,b\n", "missing"),
        ("published,original\n0,a\n1,b\n9,c\n", "published node 9"),
        ("published,original\n0,a\n1,b\n1,c\n", "more than one row"),
        ("published,original\n0,a\n1,b\n2,z\n", "original node z"),
    ],
)
def test_a_truth_file_that_does_not_fit_is_refused(tmp_path: Path, rows: str, message: str) -> None:
    file = tmp_path / "truth.csv"
    file.write_text(rows)
    original = Graph.from_edges([0, 1], [1, 2], ids=np.array(["a", "b", "c"], object))
    published = Graph.from_edges([0, 1], [1, 2])
    with pytest.raises(InputError, match=message):
        read_truth(file, original, published)

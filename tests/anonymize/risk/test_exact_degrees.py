"""Attackers who know exact degrees equal slow references; left-out edges are their control."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import SeedSequence, default_rng
from tests import reference

from coterie.anonymize.anonymizer import Anonymizer
from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.draw.dcsbm import Steps
from coterie.anonymize.risk.disclosure import degree_disclosure
from coterie.anonymize.risk.exact_degrees import (
    NamedEdges,
    PairClaim,
    PairRanking,
    best_claim,
    expected_edges,
    maximum_entropy,
    name_edges,
    own_claim,
)
from coterie.anonymize.risk.left_out_edges import (
    LeftOutSample,
    compare_with_left_out,
    leave_edges_out,
)
from coterie.data import Graph
from coterie.data.demo_data import social_network


def _random(seed: int, n: int = 18, m: int = 50) -> tuple[Graph, list[tuple[int, int]], np.ndarray]:
    edges = [(int(u), int(v)) for u, v in nx.gnm_random_graph(n, m, seed=seed).edges]
    block = default_rng(seed).integers(0, 3, n).astype(np.int32)
    block[:3] = range(3)
    return Graph.from_edges(*np.array(edges).T, n_nodes=n), edges, block


def _all_scores(ranking: PairRanking, block: np.ndarray) -> np.ndarray:
    n = len(block)
    u, v = np.divmod(np.arange(n * n), n)
    return ranking.scores(u, v, block).reshape(n, n) * (1 - np.eye(n))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_maximum_entropy_has_the_degrees_and_block_edges_of_the_graph(seed: int) -> None:
    graph, edges, block = _random(seed, m=30 + seed % 60)
    ranking = maximum_entropy(graph, block)
    z = _all_scores(ranking, block)
    p = z / (1 + z)
    assert ranking.error <= 1e-5 or ranking.error < 0.02 * len(edges)
    tolerance = max(4 * ranking.error * len(edges), 1e-3)
    assert np.abs(p.sum(1) - graph.degrees).sum() <= tolerance
    for r in range(3):
        for s in range(r, 3):
            inside = p[np.ix_(block == r, block == s)].sum() / (2 if r == s else 1)
            true = sum({block[u], block[v]} == {r, s} for u, v in edges)
            assert abs(inside - true) <= tolerance


@pytest.mark.parametrize("seed", range(4))
def test_maximum_entropy_equals_the_reference(seed: int) -> None:
    graph, edges, block = _random(seed)
    expected = reference.maximum_entropy_probabilities(edges, block.tolist(), rounds=1500)
    assert np.abs(expected.sum(1) - graph.degrees).max() < 1e-3  # the reference has converged
    ranking = maximum_entropy(graph, block)
    z = _all_scores(ranking, block)
    assert np.abs(z / (1 + z) - expected).max() < 2e-3
    scores = ranking.scores(*graph.edges(), block)
    claim = own_claim(ranking, scores, 0.6)
    pairs, hits = reference.edges_named_by_probability(z / (1 + z), edges, 0.6)
    assert (claim.pairs, claim.edges) == pytest.approx((pairs, hits), abs=1e-3)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.4, 0.5, 0.7, 0.9]))
def test_every_threshold_of_the_expected_edges_is_tried(seed: int, certainty: float) -> None:
    graph, edges, block = _random(seed)
    ranking = expected_edges(graph, block)
    slow = reference.expected_edge_numbers(edges, block.tolist())
    assert _all_scores(ranking, block) == pytest.approx(slow)
    claim = best_claim(ranking, ranking.scores(*graph.edges(), block), certainty, "")
    assert claim.edges == reference.most_edges_named(slow, edges, certainty)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.5, 0.7, 0.9]))
def test_named_pairs_have_the_mean_probability_that_the_attacker_requires(
    seed: int, certainty: float
) -> None:
    graph, edges, block = _random(seed)
    ranking = maximum_entropy(graph, block)
    z = _all_scores(ranking, block)
    claim = own_claim(ranking, ranking.scores(*graph.edges(), block), certainty)
    pairs, hits = reference.edges_named_by_probability(z / (1 + z), edges, certainty)
    assert (claim.pairs, claim.edges) == pytest.approx((pairs, hits), abs=1e-4)


def test_fit_converges_where_some_people_know_everybody() -> None:
    """Nothing is uncertain about a clique and people connected to all of it: p is 1 or 0."""
    edges = [(u, v) for u in range(6) for v in range(u)] + [
        (u, v) for u in (6, 7) for v in range(6)
    ]
    graph = Graph.from_edges(*np.array(edges).T, n_nodes=9)
    block = np.array([0] * 6 + [1] * 3, np.int32)
    ranking = maximum_entropy(graph, block)
    assert ranking.error < 1e-4
    named = name_edges(graph, block, 0.9).attackers[0].claim
    assert named.named == pytest.approx(1.0) and named.precision == pytest.approx(1.0, abs=0.01)


def test_without_an_edge_degrees_and_block_edges_are_lower_by_one() -> None:
    graph, edges, block = _random(3)
    source, target = graph.edges()
    scores = expected_edges(graph, block).scores(source, target, block, absent=True)
    matrix = reference.block_edges(edges, block.tolist(), 3)
    matrix = np.maximum(matrix, matrix.T)
    stubs = np.bincount(block, graph.degrees, 3)
    for u, v, score in zip(source, target, scores, strict=True):
        r, s = block[u], block[v]
        ends = 2 if r == s else 1
        expected = (graph.degrees[u] - 1) * (graph.degrees[v] - 1) * (matrix[r, s] - 1) * ends
        assert score == pytest.approx(expected / (stubs[r] * stubs[s]))


def _cliques(seed: int, count: int = 20, size: int = 20, missing: float = 0.05) -> Graph:
    """Near-cliques with a few edges between them."""
    rng = default_rng(seed)
    n = count * size
    u, v = np.triu_indices(n, 1)
    same = u // size == v // size
    keep = np.where(same, rng.random(len(u)) > missing, rng.random(len(u)) < 0.002)
    return Graph.from_edges(u[keep], v[keep], n_nodes=n)


def _by_clique(size: int = 20):
    def fit(graph: Graph) -> Classes:
        label = (np.arange(graph.n_nodes) // size).astype(np.int32)
        return Classes(label, label)

    return fit


def test_edges_of_near_cliques_are_named_also_if_they_were_left_out() -> None:
    """Most edges can be named, but not because they are in the data: the excess is small."""
    graph = _cliques(0)
    found = leave_edges_out(graph, _by_clique(), default_rng(1), certainty=0.9)
    disclosure = degree_disclosure(graph, _by_clique()(graph), 0.9, found.samples)
    assert disclosure.named > 0.5
    control = disclosure.controls[0]
    assert control.left_out > 0.5
    assert abs(control.excess) < 0.05 and disclosure.disclosed < 0.05


def test_blocks_that_follow_single_edges_have_a_large_excess() -> None:
    """If a cell contains nothing but one edge, nobody can name that edge if it is left out."""
    n = 400
    u = np.arange(0, n, 2)
    graph = Graph.from_edges(u, u + 1, n_nodes=n)

    def fit(rest: Graph) -> Classes:
        label = (np.arange(n) // 2).astype(np.int32)
        return Classes(label, label)

    found = leave_edges_out(graph, fit, default_rng(0), certainty=0.9)
    disclosure = degree_disclosure(graph, fit(graph), 0.9, found.samples)
    assert disclosure.named == pytest.approx(1.0)
    assert disclosure.control is not None
    assert disclosure.control.kept == pytest.approx(1.0)
    assert disclosure.control.left_out == 0.0 and disclosure.disclosed == pytest.approx(1.0)


def test_excess_interval_covers_the_truth_and_luck_is_subtracted() -> None:
    """Edges named independently of the sample have no excess; one interval in twenty misses 0."""
    graph = _cliques(2, count=30, size=12, missing=0.3)
    block = (np.arange(graph.n_nodes) // 12).astype(np.int32)
    naming = name_edges(graph, block, 0.7).attackers
    missed, widths = 0, []
    rng = default_rng(5)
    for _ in range(200):
        left_out = rng.random(graph.n_edges) < 0.1
        noise = rng.random(graph.n_edges) < 0.1
        named = [np.where(noise, 1 - n.present, n.present) for n in naming]
        (first, *_) = compare_with_left_out(naming, [LeftOutSample(left_out, named)])
        missed += not first.interval[0] <= 0.0 <= first.interval[1]
        widths.append(first.interval[1] - first.interval[0])
    assert missed <= 22
    plain = 2 * 1.96 * np.sqrt(0.25 / (0.1 * graph.n_edges))
    assert np.mean(widths) < plain


def test_what_the_samples_do_not_name_has_no_control() -> None:
    """Half of the edges are named, but nothing is in the samples: nobody knows why they are."""
    whole = np.r_[np.ones(50, np.float32), np.zeros(50, np.float32)]
    left_out = np.arange(100) % 10 == 0

    def bound(in_samples: np.ndarray) -> float:
        claim = PairClaim("x", 1.0, 0.0, 55.0, 50.0, 0.91, True, 0.5)
        (found,) = compare_with_left_out(
            [NamedEdges(claim, whole, whole)], [LeftOutSample(left_out, [in_samples])]
        )
        return found.bound

    assert bound(np.zeros(100, np.float32)) == 0.5
    assert bound(whole) < 0.01  # all that is named is named in the samples, left out or not


def test_half_of_the_named_edges_without_a_control_are_not_waved_through() -> None:
    """A factor of 2 did that: of 40 % named, the samples name 20 %, left out or not."""
    whole = np.r_[np.ones(4000, np.float32), np.zeros(6000, np.float32)]
    in_samples = np.r_[np.ones(2000, np.float32), np.zeros(8000, np.float32)]
    claim = PairClaim("x", 1.0, 0.0, 4400.0, 4000.0, 0.91, True, 0.4)
    (found,) = compare_with_left_out(
        [NamedEdges(claim, whole, whole)],
        [LeftOutSample(default_rng(0).random(10_000) < 0.02, [in_samples])],
    )
    assert abs(found.excess) < 0.1 and found.bound >= 0.2


def _spoiled(graph: Graph, strength: float):
    """Blocks that follow the cliques less, the more edges are left out; a release keeps them."""
    whole = _by_clique()(graph).block

    def fit(rest: Graph) -> Classes:
        lost = 1.0 - rest.n_edges / graph.n_edges
        leaves = default_rng(rest.n_edges).random(len(whole)) < strength * lost
        label = np.where(leaves, len(np.unique(whole)), whole).astype(np.int32)
        return Classes(label, label)

    return fit


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("strength", [0.0, 4.0])
def test_the_excess_equals_leaving_one_edge_out_at_a_time(seed: int, strength: float) -> None:
    """A tenth fewer edges spoil the blocks; extrapolated to one edge, they do not."""
    graph = _cliques(seed, count=12, size=20, missing=0.12)
    fit = _spoiled(graph, strength)
    found = leave_edges_out(graph, fit, default_rng(seed), certainty=0.85)
    (first, *_) = degree_disclosure(graph, fit(graph), 0.85, found.samples).controls
    source, target = graph.edges()
    edges = list(zip(source.tolist(), target.tolist(), strict=True))

    def named(kept: list[tuple[int, int]], pair: tuple[int, int]) -> float:
        """Return whether the first attacker names a pair, given the blocks of `kept`."""
        rest = Graph.from_edges(*np.array(kept).T, n_nodes=graph.n_nodes)
        attacker = name_edges(graph, fit(rest).block, 0.85).attackers[0]
        side = attacker.present if len(kept) == len(edges) else attacker.absent
        return float(side[edges.index(pair)])

    exact = reference.excess_of_single_edges(edges[:: len(edges) // 40], edges, named)
    sampling = 2 * np.sqrt(0.25 / 40)  # the reference looks at 40 edges
    assert first.interval[0] - sampling <= exact <= first.bound + sampling


def test_without_left_out_edges_everything_named_counts() -> None:
    graph = _cliques(0)
    disclosure = degree_disclosure(graph, _by_clique()(graph), 0.9)
    assert disclosure.control is None
    assert disclosure.disclosed == disclosure.named > 0.5


def test_a_default_release_is_compared_with_left_out_edges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path))
    people, _ = social_network(n_people=120)
    with_control, without = (
        Anonymizer(2, infer_edges=infer, steps=Steps(rewire=False))._release_from(
            SeedSequence(1), people, suggest=False
        )
        for infer in (True, False)
    )
    for release, compared in ((with_control, True), (without, False)):
        assert release.risk is not None
        known = release.risk.disclosed_edges.known_degrees
        assert bool(known.controls) == compared
        (limit,) = (x for x in release.decision.limits if "degrees known" in x.name)
        assert limit.value == (known.disclosed if compared else known.named)
        assert ("in the data" in limit.label) == compared

"""The whole sketch: its loss in closed form on real transcripts, and what it may look at."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from tests.reference import choice_probabilities, ladder_log_probability
from tests.support.privacy_checks import SmallGraph, audited_epsilon

from coterie.anonymize.private import answers as answers_module
from coterie.anonymize.private import exact_counts, ladder, public_rules
from coterie.anonymize.private.answers import SketchAnswers, ask
from coterie.anonymize.private.budget import DAMPING_DEGREES, HIGHEST_DEGREES, SHARES
from coterie.anonymize.private.noise import discrete_laplace
from coterie.anonymize.private.sketch_file import to_bytes
from coterie.data import Graph

EPSILON = Fraction(2)
SKETCHES = 250
EMPTY = SmallGraph(4, frozenset()).graph()
ONE_EDGE = SmallGraph(4, frozenset({(1, 2)})).graph()
PATH = SmallGraph(4, frozenset({(0, 1), (2, 0)})).graph()
TRIANGLE = SmallGraph(4, frozenset({(0, 1), (0, 2), (1, 2)})).graph()


def log_laplace(noisy: np.ndarray, exact: np.ndarray, rate: Fraction) -> float:
    """Return the log-density up to a constant that is the same for all graphs."""
    return -float(rate) * float(np.abs(noisy - exact).sum())


def log_likelihood(seen: SketchAnswers, graph: Graph, epsilon: Fraction, shares=SHARES) -> float:
    """Return the log-probability of all nine answers, up to a constant that all graphs share."""
    n = graph.n_nodes
    count, upper = exact_counts, np.triu_indices(seen.n_blocks)
    total = log_laplace(seen.edge_count, count.edge_count(graph), epsilon * shares.edge_count)
    total += log_laplace(seen.noisy_degrees, count.degrees(graph), epsilon * shares.degrees / 2)
    total += log_laplace(
        seen.degree_counts,
        count.degree_counts(graph, len(seen.degree_counts)),
        epsilon * shares.degree_counts / 2,
    )
    total += log_laplace(
        seen.largest_degrees,
        count.largest_degrees(graph, len(seen.largest_degrees)),
        epsilon * shares.largest_degrees / 2,
    )
    expected = public_rules.expected_degrees(
        seen.noisy_degrees, seen.degree_distribution(), epsilon, shares
    )
    sums = np.zeros(seen.n_blocks)
    placed: list[int] = []
    for v in public_rules.stream_order(seen.noisy_degrees).tolist():
        near = set(graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist())
        row = [sum(u in near and seen.labels[u] == c for u in placed) for c in range(len(sums))]
        public = np.rint(expected[v] * sums / float(expected.sum()) * 2**16).astype(int).tolist()
        rate = float(epsilon * shares.labels)
        total += math.log(choice_probabilities(row, public, rate, 50)[seen.labels[v]])
        placed.append(v)
        sums[seen.labels[v]] += expected[v]
    total += log_laplace(
        seen.block_edges[upper],
        count.edges_between(graph, seen.labels, seen.n_blocks),
        epsilon * shares.block_edges,
    )
    n_bins = len(seen.bin_edges)
    total += log_laplace(
        seen.bin_edges[np.triu_indices(n_bins)],
        count.edges_between(graph, seen.bins, n_bins),
        epsilon * shares.bin_edges,
    )
    at_node = count.node_triangles(graph)
    made = count.triangle_ladder(graph, at_node, 0)
    total += ladder_part(seen.triangles, made, epsilon * shares.triangles)
    for damping, answer, share in zip(
        DAMPING_DEGREES, seen.clustering_sums, shares.clustering_sums, strict=True
    ):
        made = count.clustering_ladder(graph, at_node, damping, 0)
        total += ladder_part(answer, made, epsilon * share)
    cap = public_rules.clustering_cap(seen.hub_ratio)
    for highest, answer, share in zip(
        HIGHEST_DEGREES, seen.capped_sums, shares.capped_sums, strict=True
    ):
        exact = count.capped_clustering(graph, highest, cap)
        total += log_laplace(answer, exact, epsilon * share / (5 * (cap + 2)))
    assert n == seen.n_nodes
    return total


def ladder_part(x: int, made: ladder.Ladder, epsilon: Fraction) -> float:
    return ladder_log_probability(x, made.value, made.width, made.step, float(epsilon))


def losses(here: Graph, there: Graph, sketches: int) -> np.ndarray:
    """Return log P(answers | here) - log P(answers | there) of sketches of `here`."""
    made = (ask(here, np.arange(here.n_nodes), EPSILON) for _ in range(sketches))
    return np.array(
        [log_likelihood(s, here, EPSILON) - log_likelihood(s, there, EPSILON) for s in made]
    )


@pytest.fixture(scope="module")
def loss_of_neighbours() -> tuple[np.ndarray, np.ndarray]:
    """Losses of sketches of a graph without edges, and of its neighbour with one edge."""
    return losses(EMPTY, ONE_EDGE, SKETCHES), -losses(ONE_EDGE, EMPTY, SKETCHES)


def test_loss_of_every_sketch_is_at_most_epsilon(loss_of_neighbours) -> None:
    for found in (*loss_of_neighbours, losses(PATH, TRIANGLE, 40), losses(TRIANGLE, PATH, 40)):
        assert np.abs(found).max() <= float(EPSILON) + 1e-9


def test_sketches_follow_the_law_that_the_proof_is_about(loss_of_neighbours) -> None:
    """E[P'(X) / P(X)] = 1 under P: sums of nine closed-form laws against real sketches."""
    empty, one_edge = loss_of_neighbours
    for ratio in (np.exp(-empty), np.exp(one_edge)):
        assert abs(ratio.mean() - 1) < 7 * ratio.std() / math.sqrt(len(ratio))


def test_audit_of_whole_sketches_is_within_epsilon(loss_of_neighbours) -> None:
    """An attacker who knows the law and sees whole sketches proves less than epsilon."""
    assert audited_epsilon(*loss_of_neighbours, np.linspace(-1, 1, 9)) <= EPSILON
    empty, one_edge = loss_of_neighbours  # he does see a difference
    error = math.sqrt((empty.var() + one_edge.var()) / SKETCHES)
    assert empty.mean() - one_edge.mean() > 2 * error  # over 200 repetitions: 7.9 ± 1.1


def test_mutant_with_shares_above_one_exceeds_epsilon() -> None:
    """If every answer took three times as much, some sketches would lose more than epsilon."""
    factor = Fraction(3)
    found = []
    for _ in range(40):
        seen = ask(EMPTY, np.arange(4), factor * EPSILON)
        args = (factor * EPSILON, SHARES)
        found.append(log_likelihood(seen, EMPTY, *args) - log_likelihood(seen, ONE_EDGE, *args))
    assert np.abs(found).max() > float(EPSILON)


def test_odds_of_friendships_that_come_together_change_by_more_than_epsilon() -> None:
    """The example of the pages: a team of 20 works together or not; answers 1 and 2, epsilon 1."""
    repeats, team = 20_000, 20
    rates = [SHARES.edge_count, SHARES.degrees / 2]
    edges, degrees = (discrete_laplace(1 / rate, repeats * team) for rate in rates)
    loss = float(rates[0]) * (
        np.abs(edges[:repeats] + team * (team - 1) // 2) - abs(edges[:repeats])
    )
    loss = loss + float(rates[1]) * (np.abs(degrees + team - 1) - abs(degrees)).reshape(
        repeats, team
    ).sum(1)
    low, middle, high = np.exp(np.quantile(loss, [0.05, 0.5, 0.95]))
    assert 14_000 < middle < 20_000 and 10 < low < 25 and 4e6 < high < 7e6
    # For somebody who knows all other friendships, one edge changes 1 count and 2 degrees by 1
    assert rates[0] + 2 * rates[1] == SHARES.edge_count + SHARES.degrees <= 1


# --- what a sketch looks at ------------------------------------------------------------------

QUESTIONS = {
    "edge_count": 1,
    "degrees": 1,
    "degree_counts": 1,
    "largest_degrees": 1,
    "edges_between": 2,
    "triangle_ladder": 1,
    "clustering_ladder": len(DAMPING_DEGREES),
    "capped_clustering": len(HIGHEST_DEGREES),
}


def test_each_private_answer_is_read_once(monkeypatch) -> None:
    calls = dict.fromkeys([*QUESTIONS, "stream_labels"], 0)

    def counted(name, function):
        def wrapper(*arguments):
            calls[name] += 1
            return function(*arguments)

        return wrapper

    for name in QUESTIONS:
        monkeypatch.setattr(exact_counts, name, counted(name, getattr(exact_counts, name)))
    stream = counted("stream_labels", answers_module.stream_labels)
    monkeypatch.setattr(answers_module, "stream_labels", stream)
    ask(TRIANGLE, np.arange(4), EPSILON)
    assert calls == {**QUESTIONS, "stream_labels": 1}


def same_answers_of_any_graph(monkeypatch) -> None:
    """Replace every look at the graph by a constant, and the noise by zero."""
    fixed = {
        "edge_count": lambda g: np.array([3]),
        "degrees": lambda g: np.array([2, 1, 1, 2]),
        "degree_counts": lambda g, length: np.arange(length)[::-1],
        "largest_degrees": lambda g, count: np.arange(count)[::-1],
        "edges_between": lambda g, parts, k: np.zeros(k * (k + 1) // 2, int),
        "node_triangles": lambda g: None,
        "triangle_ladder": lambda g, at_node, floor: ladder.Ladder(5, 2, 1),
        "clustering_ladder": lambda g, at_node, damping, floor: ladder.Ladder(7, 2, 1),
        "capped_clustering": lambda g, highest, cap: np.array([4]),
    }
    for name, function in fixed.items():
        monkeypatch.setattr(exact_counts, name, function)
    labels = np.array([0, 1, 1, 0], np.int32)
    monkeypatch.setattr(answers_module, "stream_labels", lambda *arguments: labels)
    monkeypatch.setattr(answers_module, "add_noise", lambda exact, *rest: np.asarray(exact))
    monkeypatch.setattr(answers_module.ladder, "draw", lambda made, epsilon: made.value)


def test_a_sketch_depends_on_the_graph_through_its_answers_only(monkeypatch) -> None:
    """A stand-in without any edges, rows or ids suffices once the answers are given."""
    same_answers_of_any_graph(monkeypatch)
    ids = np.arange(4)
    blind = ask(SimpleNamespace(n_nodes=4), ids, EPSILON)
    assert to_bytes(blind) == to_bytes(ask(TRIANGLE, ids, EPSILON))

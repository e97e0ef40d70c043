"""The table that compares private generators, and the configuration model with private degrees."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from benchmarks.baselines.pgb_queries import QUERY_NAMES, answer_queries, query_errors
from benchmarks.baselines.private_benchmark import (
    CONFIGURATION,
    RELEASE,
    RESPONSE,
    SKETCH,
    PrivateBenchmarkRow,
    private_benchmark,
    shuffle_nodes,
)
from benchmarks.baselines.private_configuration import (
    private_configuration,
    private_degrees,
)
from numpy.random import default_rng
from tests.support.command_line import coterie

from benchmarks.baselines import private_benchmark as module
from benchmarks.baselines import private_configuration as configuration_module
from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.data.writers import write_graph
from coterie.models.agreement import adjusted_mutual_information

RUN = {
    "program": (sys.executable, "-m", "benchmarks.baselines"),
    "folder": Path(__file__).resolve().parents[3],
}


@pytest.fixture(scope="module")
def people() -> Graph:
    edges = np.array(nx.powerlaw_cluster_graph(300, 5, 0.7, seed=1).edges)
    return Graph.from_edges(edges[:, 0], edges[:, 1], n_nodes=300)


@pytest.fixture(scope="module")
def rows(people: Graph, tmp_path_factory: pytest.TempPathFactory) -> list[PrivateBenchmarkRow]:
    """One benchmark for most tests. It writes nothing: no sketch, and no entry in the ledger."""
    state, here = tmp_path_factory.mktemp("state"), tmp_path_factory.mktemp("here")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COTERIE_STATE", str(state))
        patch.chdir(here)
        found = private_benchmark(people, [Fraction(1), Fraction(8)], draws=2)
    assert not list(state.iterdir()) and not list(here.iterdir())
    return found


def test_every_generator_has_a_row_per_epsilon(rows: list[PrivateBenchmarkRow]) -> None:
    names = [SKETCH, CONFIGURATION, RESPONSE]
    assert [(row.technique, row.epsilon) for row in rows] == [
        *((name, Fraction(1)) for name in names),
        *((name, Fraction(8)) for name in names),
        (RELEASE, None),
    ]
    for row in rows:
        assert row.draws == 2 and row.mean is not None and row.sd is not None
        assert (row.blocks is not None) == (row.technique == SKETCH)
        for key in QUERY_NAMES:
            assert np.isfinite(getattr(row.mean, key)), (row.technique, key)


def test_errors_are_those_of_the_generators(rows: list[PrivateBenchmarkRow]) -> None:
    found = {(row.technique, row.epsilon): row.mean for row in rows}
    noisy, exact = found[RESPONSE, Fraction(1)], found[RESPONSE, Fraction(8)]
    assert noisy is not None and exact is not None
    assert noisy.edges > 5  # about 12,000 false edges
    assert exact.edges < 0.05 and exact.global_clustering < 0.05
    # Means of two draws, over 30 to 50 repetitions: AMI .62 ± .07 (0 for unrelated communities),
    # triangles .33 ± .022, clustering of the sketch .13 ± .09. The bounds are 5 deviations away.
    assert exact.community_ami > 0.25
    private = found[CONFIGURATION, Fraction(8)]
    assert private is not None
    assert private.edges < 0.02 and private.degree_ks < 0.05
    assert private.triangles > 0.2  # degrees alone do not make triangles
    sketch = found[SKETCH, Fraction(8)]
    assert sketch is not None
    assert sketch.edges < 0.1 and sketch.global_clustering < 0.6


def test_sketches_keep_the_place_of_every_node() -> None:
    """With two clear communities, the drawn graph's communities are those of the original."""
    rng = default_rng(3)
    label = np.arange(400) % 2
    pairs = rng.integers(0, 400, (2, 40_000))
    kept = pairs[:, (label[pairs[0]] == label[pairs[1]]) | (rng.random(40_000) < 0.02)]
    graph = Graph.from_edges(kept[0], kept[1], n_nodes=400)
    drawn = module._from_sketch(Fraction(4), graph, rng)
    assert drawn.blocks is not None
    assert adjusted_mutual_information(label, drawn.blocks) > 0.5
    errors = query_errors(graph, answer_queries(graph), answer_queries(drawn.graph))
    assert errors.community_ami > 0.3
    assert errors.foreign_modularity > 0.2


def test_shuffling_keeps_the_graph_but_not_the_order(people: Graph) -> None:
    shuffled = shuffle_nodes(people, default_rng(0))
    before, after = answer_queries(people), answer_queries(shuffled)
    assert before.triangles == after.triangles
    assert before.distance_counts.tolist() == after.distance_counts.tolist()
    assert people.degrees.tolist() != shuffled.degrees.tolist()


def test_too_large_a_graph_for_randomized_response_is_left_out(
    people: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_FALSE_EDGES", 1000)
    monkeypatch.setattr(
        module, "_row", lambda name, epsilon, *_: PrivateBenchmarkRow(name, epsilon, 1)
    )
    row = private_benchmark(people, [Fraction(1)], draws=1)[2]
    assert (row.technique, row.draws, row.mean) == (RESPONSE, 0, None)
    assert row.not_run == "it would add about 11,667 false edges"


def test_a_directed_or_empty_graph_is_refused() -> None:
    for graph in (
        Graph.from_edges([0, 1], [1, 2], directed=True),
        Graph.from_edges([], [], n_nodes=5),
    ):
        with pytest.raises(InputError, match="undirected graph with at least one edge"):
            private_benchmark(graph, [Fraction(1)], draws=1)


def test_private_degrees_are_falling_and_can_be_wired(people: Graph) -> None:
    degrees = private_degrees(people, Fraction(1))
    assert (np.diff(degrees) <= 0).all()
    assert degrees.sum() % 2 == 0
    assert degrees.min() >= 0 and degrees.max() < people.n_nodes
    assert abs(degrees.sum() - people.degrees.sum()) < 400  # over 100 repetitions: 40 ± 31
    exact = private_degrees(people, Fraction(100))
    assert np.abs(exact - np.sort(people.degrees)[::-1]).sum() <= 1


def test_private_degrees_have_noise_for_two_ends_per_edge(
    people: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def spy(exact: np.ndarray, sensitivity: int, epsilon: Fraction) -> np.ndarray:
        asked.append((sensitivity, epsilon))
        return exact

    monkeypatch.setattr(configuration_module, "add_noise", spy)
    private_configuration(people, Fraction(1, 2), default_rng(0))
    assert asked == [(2, Fraction(1, 2))]


def test_command_prints_rows_and_says_that_it_is_not_private(people: Graph, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    write_graph(people, path)
    done = coterie("private", path, "--epsilon", "1", "--draws", "1", "--json", **RUN)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    row = result["rows"][0]
    assert row["technique"] == SKETCH and row["epsilon"] == "1"
    assert list(row["queries"]) == list(QUERY_NAMES)
    assert row["queries"]["edges"]["sd"] is None
    assert result["private"] is False
    assert "not private" in done.stderr


def test_command_refuses_a_wrong_epsilon_before_it_reads(tmp_path: Path) -> None:
    done = coterie("private", tmp_path / "missing.csv", "--epsilon=1,,2", **RUN)
    assert done.returncode == 2
    assert "epsilon" in done.stderr and "missing.csv" not in done.stderr


def test_command_with_too_many_blocks_names_its_own_options(people: Graph, tmp_path: Path) -> None:
    write_graph(people, tmp_path / "people.csv")
    done = coterie("anonymize", tmp_path / "people.csv", "--blocks", 100, **RUN)
    assert done.returncode == 2
    assert "--min-class-size" in done.stderr and "--min-block-size" not in done.stderr


def test_command_prints_one_row_per_technique(people: Graph, tmp_path: Path) -> None:
    write_graph(people, tmp_path / "people.csv")
    done = coterie("anonymize", tmp_path / "people.csv", "--blocks", 5, **RUN)
    assert done.returncode == 0, done.stderr
    for name in ("original", "naive copy", "configuration model", "coterie dcsbm"):
        assert name in done.stdout

"""Releases with attributes, directions, weights and two sides, from the Anonymizer."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from numpy.random import default_rng
from tests import reference

import coterie as ct
from coterie.anonymize.draw.dcsbm import StubModel
from coterie.anonymize.features.attribute_coding import SensitiveRisk
from coterie.anonymize.features.comparison import FeatureResults
from coterie.anonymize.features.full_knowledge_attack import (
    FullKnowledgeAttack,
    identify_in_naive_copy,
    identify_people,
)
from coterie.anonymize.features.model import FeatureModel
from coterie.anonymize.features.network import Network, skeleton_of
from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.data.node_table import NodeTable


@pytest.mark.parametrize("known", ["attributes", "directions", "weights"])
def test_who_knows_everything_finds_no_more_than_the_classes_allow(
    planted, directed: Graph, weighted: Graph, known: str
) -> None:
    """Attributes and degrees are known, and directions or weights if there are any: ten draws
    against luck, and a copy with only the names removed."""
    rng = default_rng(0)
    graph = {"attributes": planted.graph, "directions": directed, "weights": weighted}[known]
    original = Network(graph, planted.attributes)
    skeletons = StubModel.fit(skeleton_of(graph), planted.classes.block, min_size=10, limit=0.85)
    model = FeatureModel.fit(original, skeletons.classes, min_size=10)
    label = skeletons.classes.label
    correct = expected = variance = 0.0
    for _ in range(10):
        drawn = model.draw(skeletons.draw(rng), rng)
        assert drawn.graph.directed == (known == "directions")
        assert (drawn.graph.weights is not None) == (known == "weights")
        identity = rng.permutation(len(label)).astype(np.int32)
        found = identify_people(original, drawn.renumbered(identity), identity, label, rng)
        correct += found.correct
        expected += found.expected
        variance += found.deviation**2
    assert (correct - expected) / np.sqrt(variance) < 3
    assert identify_in_naive_copy(original, label, rng).correct > 0.9 * len(label)


@pytest.fixture(scope="module")
def small() -> tuple[Graph, NodeTable]:
    rng = default_rng(0)
    u, v = rng.integers(0, 200, (2, 900))
    graph = Graph.from_edges(u, v, n_nodes=200)
    table = NodeTable.from_columns(
        range(200),
        {"team": [f"t{i % 3}" for i in range(200)], "ill": (rng.random(200) < 0.3).astype(int)},
    ).of_graph(graph)
    return graph, table


def _anonymizer(**options) -> ct.Anonymizer:
    return ct.Anonymizer(4, infer_edges=False, **options)


def test_a_release_contains_a_table_and_limits_of_sensitive_columns(
    small, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    graph, table = small
    release = _anonymizer(sensitive=["ill"]).release(graph, attributes=table, suggest=False)
    with pytest.raises(AttributeError, match="called 'features' now"):
        release.kind  # noqa: B018
    assert release.features is not None and release.features.sensitive[0].column == "ill"
    labels = [limit.name for limit in release.decision.limits]
    assert "values of ill in a class" in labels and "distance of ill in a class" in labels
    folder = release.write(tmp_path / "out", force=True)
    assert (folder / "nodes.csv").read_text().splitlines()[0] == "node,team,ill"
    again = ct.read_graph(folder / "graph.csv")
    read = ct.read_attributes(folder / "nodes.csv", again)
    assert read["team"].values.tolist() == release.node_tables[0]["team"].tolist()


def test_the_published_table_itself_is_measured(planted) -> None:
    """Figures of a sensitive column are those of the published rows, class by class."""
    original = Network(planted.graph, planted.attributes)
    model = FeatureModel.fit(
        original, planted.classes, min_size=10, sensitive=("diagnosis",), sensitive_distance=0.3
    )
    rng = default_rng(3)
    identity = rng.permutation(planted.graph.n_nodes).astype(np.int32)
    published = model.draw(planted.graph, rng).renumbered(identity)
    (risk,) = model.sensitive_risks([(published, identity)])
    values = published.attributes["diagnosis"].values[identity]
    codes = np.unique(values, return_inverse=True)[1].tolist()
    label = planted.classes.label.tolist()
    assert risk.least_values == reference.diversity(codes, label)
    assert risk.largest_distance == pytest.approx(reference.closeness(codes, label, 3, False))


def test_attributes_survive_graphml(small, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    graph, table = small
    release = _anonymizer().release(graph, attributes=table, suggest=False)
    folder = release.write(tmp_path / "out", force=True, format="graphml")
    assert sorted(path.name for path in folder.iterdir()) == ["graph.graphml", "report.html"]
    again = ct.read_graph(folder / "graph.graphml")
    read = ct.read_attributes(folder / "graph.graphml", again)
    assert read["team"].values.tolist() == release.node_tables[0]["team"].tolist()
    assert read["ill"].values.tolist() == release.node_tables[0]["ill"].tolist()
    network = nx.read_graphml(folder / "graph.graphml")  # as other programs see it
    assert network.nodes["0"]["ill"] == release.node_tables[0]["ill"][0]
    with pytest.raises(InputError, match="GraphML, GEXF hold attributes"):
        ct.write_graph(graph, tmp_path / "x.csv", node_columns=table.to_columns())


@pytest.mark.parametrize("format", ["csv", "parquet", "graphml"])
@pytest.mark.parametrize("kind", ["directed", "weighted"])
def test_directions_and_weights_survive_writing_and_reading(
    small, tmp_path, monkeypatch, kind: str, format: str
) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    source, target = small[0].edges()
    weights = default_rng(0).integers(1, 9, len(source)) if kind == "weighted" else None
    graph = Graph.from_edges(
        source, target, n_nodes=200, weights=weights, directed=kind == "directed"
    )
    release = _anonymizer(objective=kind).release(graph, suggest=False)
    drawn = release.graph
    assert drawn.directed == (kind == "directed")
    assert (drawn.weights is None) == (kind == "directed")
    folder = release.write(tmp_path / "out", force=True, format=format)
    read = ct.read_graph(folder / f"graph.{format}", **{kind: True})
    assert np.array_equal(read.indices, drawn.indices)
    if kind == "weighted":
        assert np.array_equal(read.weights, drawn.weights)


def test_a_bipartite_release_numbers_the_first_side_first(small) -> None:
    rng = default_rng(1)
    u, v = rng.integers(0, 120, 800), 120 + rng.integers(0, 80, 800)
    graph = Graph.from_edges(u, v, n_nodes=200)
    sides = np.arange(200) >= 120
    release = _anonymizer(objective="bipartite").release(graph, sides=sides, suggest=False)
    source, target = release.graph.edges()
    assert source.max() < 120 <= target.min()
    assert release.node_tables[0]["side"].tolist() == ["first"] * 120 + ["second"] * 80


@pytest.mark.parametrize(
    ("objective", "graph", "problem"),
    [
        ("simple", Graph.from_edges([0], [1], directed=True), "a directed graph cannot be"),
        ("simple", Graph.from_edges([0], [1], weights=[2.0]), "a weighted graph cannot be"),
        ("directed", Graph.from_edges([0], [1]), "the graph is not directed"),
        ("weighted", Graph.from_edges([0], [1]), "the graph is not weighted"),
        ("bipartite", Graph.from_edges([0, 1, 2], [1, 2, 0]), "does not have two sides"),
        ("other", Graph.from_edges([0], [1]), "unknown objective 'other'"),
    ],
)
def test_a_graph_of_another_kind_is_refused(objective: str, graph: Graph, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        ct.Anonymizer(objective=objective).release(graph)


def test_a_constant_or_unknown_sensitive_column_is_refused(small) -> None:
    graph, table = small
    constant = NodeTable.from_columns(range(200), {"x": ["same"] * 200}).of_graph(graph)
    with pytest.raises(InputError, match="'x' has a single value"):
        _anonymizer(sensitive=["x"]).release(graph, attributes=constant)
    with pytest.raises(InputError, match="no column 'y'"):
        _anonymizer(sensitive=["y"]).release(graph, attributes=table)
    with pytest.raises(InputError, match="no table with the sensitive column 'y'"):
        _anonymizer(sensitive=["y"]).release(graph)


def test_skeleton_forgets_directions_and_weights_but_no_id() -> None:
    graph = Graph.from_edges(["a", "b", "b"], ["b", "a", "c"], directed=True)
    plain = skeleton_of(graph)
    assert plain.n_edges == 2 and plain.ids.tolist() == ["a", "b", "c"]


def test_policy_refuses_what_exceeds_its_limits(small) -> None:
    graph, table = small
    release = _anonymizer().release(graph, attributes=table, suggest=False)
    bad = FeatureResults(
        sensitive=[SensitiveRisk("ill", 1, 0.7, 12)],
        attacks=[FullKnowledgeAttack("knows all", 200, 50, 5.0, 190, 2.0)],
    )
    decision = ct.Policy().check(release.risk, 1, bad)
    text = " ".join(decision.reasons)
    assert "a class has 1 different value of the sensitive column ill" in text
    assert "differ from those of everybody by 70 %" in text
    assert "guesses 50 people right; luck explains 5.0 with a standard deviation of 2.0" in text

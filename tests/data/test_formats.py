"""Parquet, GraphML and GML that others wrote, or that are broken."""

from __future__ import annotations

import contextlib

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.base.errors import CoterieError, InputError
from coterie.data import Graph
from coterie.data.node_table import read_attributes
from coterie.data.readers import read_columns, read_graph, read_ratings
from coterie.data.writers import write_graph

EDGE = {"source": [1], "target": [2]}
KINDS = ["parquet", "graphml", "gexf", "gml"]


def test_parquet_columns_are_found_by_name_or_order(tmp_path):
    path = tmp_path / "x.parquet"
    pd.DataFrame({"weight": [2, 3], "target": ["b", "c"], "source": ["a", "b"]}).to_parquet(path)
    graph = read_graph(path, weighted=True)
    assert graph.ids.tolist() == ["a", "b", "c"]
    assert graph.edge_weights().tolist() == [2, 3]
    pd.DataFrame({"x": [5, 6], "y": [6, 7]}).to_parquet(path)
    assert read_graph(path).ids.tolist() == [5, 6, 7]
    frame = pd.DataFrame({"u": pd.Categorical(["p", "q"]), "i": [1, 1], "r": [1.5, 2], "t": [8, 9]})
    frame.to_parquet(path)
    ratings = read_ratings(path)
    assert ratings.user_ids.tolist() == ["p", "q"]
    assert ratings.timestamps.tolist() == [8, 9]
    assert read_columns(path, ("user", "item"))["user"].tolist() == ["p", "q"]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"source": [1, 2]}, {}, "do not include"),
        ({"source": [1.5], "target": [2.5]}, {}, "has the type double"),
        ({"source": ["a", None], "target": ["b", "c"]}, {}, "row 1: the source is missing"),
        (
            {"source": [1], "target": [2], "weight": ["x"]},
            {"weighted": True},
            "weight column has the type",
        ),
        (
            {"source": [1], "target": [2], "weight": [np.inf]},
            {"weighted": True},
            "row 0.*not finite",
        ),
        ({"source": [1], "target": [2], "weight": [-1]}, {"weighted": True}, "row 0.*negative"),
        (
            {"source": [1, 2], "target": [2, 1], "weight": [1, 3]},
            {"weighted": True},
            "row 1: the weight 3 differs from 1 in row 0",
        ),
    ],
)
def test_invalid_parquet_is_rejected(tmp_path, columns, options, message):
    path = tmp_path / "x.parquet"
    pd.DataFrame(columns).to_parquet(path)
    with pytest.raises(InputError, match=message) as caught:
        read_graph(path, **options)
    assert str(path) in str(caught.value)


def test_files_written_by_networkx_are_read(tmp_path):
    network = nx.les_miserables_graph()
    nx.write_graphml(network, tmp_path / "x.graphml")
    nx.write_gml(network, tmp_path / "x.gml")
    for name in ("x.graphml", "x.gml"):
        graph = read_graph(tmp_path / name, weighted=True)
        assert (graph.n_nodes, graph.n_edges) == (77, 254)
        assert set(graph.ids) == set(network.nodes)
        assert graph.edge_weights().sum() == sum(w for *_, w in network.edges(data="weight"))
        assert read_graph(tmp_path / name, directed=True).n_edges == 508


def test_gml_without_labels_and_directed_graphml_are_read(tmp_path):
    path = tmp_path / "x.gml"
    path.write_text(
        "graph [ node [ id 3 ] node [ id 4 ] node [ id 9 ] edge [ source 3 target 4 ] ]"
    )
    assert read_graph(path).ids.tolist() == [3, 4, 9]
    nx.write_graphml(nx.DiGraph([(1, 2), (2, 1), (2, 3)]), tmp_path / "d.graphml")
    with pytest.warns(UserWarning, match="both directions"):
        graph = read_graph(tmp_path / "d.graphml")
    assert (graph.n_edges, graph.directed) == (2, False)
    assert read_graph(tmp_path / "d.graphml", directed=True).n_edges == 3


@pytest.mark.parametrize("suffix", [".graphml", ".gexf", ".json"])
def test_attributes_of_nodes_are_written_and_read_back(tmp_path, suffix):
    graph = Graph.from_edges(["ann", "bob"], ["bob", "cat"])
    columns = {"block": np.array([1, 0, 0]), "confidence": np.array([0.5, 1, 0.25])}
    write_graph(graph, tmp_path / f"x{suffix}", node_columns=columns)
    table = read_attributes(tmp_path / f"x{suffix}", graph)
    assert table.names == ["block", "confidence"]
    for name, values in columns.items():
        assert table[name].values.tolist() == values.tolist()
    read = {".graphml": nx.read_graphml, ".gexf": nx.read_gexf}.get(suffix)
    if read is not None:
        nodes = read(tmp_path / f"x{suffix}").nodes
        assert [nodes[name]["block"] for name in graph.ids] == [1, 0, 0]


@pytest.mark.parametrize("kind", ["graphml", "gexf"])
def test_nodes_are_called_by_their_labels_if_every_node_has_its_own(tmp_path, kind):
    network = nx.DiGraph([("n0", "n1"), ("n1", "n2")])
    for node, label in zip(network, ("Ann", "Bob", "Cat"), strict=True):
        network.nodes[node].update(label=label, age=30)
    write = nx.write_gexf if kind == "gexf" else nx.write_graphml
    write(network, tmp_path / f"x.{kind}")
    seen = []
    graph = read_graph(tmp_path / f"x.{kind}", directed=True, on_recognised=seen.append)
    assert graph.ids.tolist() == ["Ann", "Bob", "Cat"]
    assert "called by their label" in seen[0].line()
    assert read_attributes(tmp_path / f"x.{kind}", graph).names == ["age"]
    network.nodes["n2"]["label"] = "Ann"  # two people of that name
    write(network, tmp_path / f"y.{kind}")
    assert read_graph(tmp_path / f"y.{kind}").ids.tolist() == ["n0", "n1", "n2"]


def test_edges_of_a_document_may_have_their_own_directions(tmp_path):
    path = tmp_path / "x.graphml"
    path.write_text(
        '<graphml><graph edgedefault="directed"><node id="a"/><node id="b"/><node id="c"/>'
        '<edge source="a" target="b"/><edge source="b" target="c" directed="false"/></graph>'
        "</graphml>"
    )
    graph = read_graph(path, directed=True)
    source, target = (graph.ids[ends].tolist() for ends in graph.edges())
    assert set(zip(source, target, strict=True)) == {("a", "b"), ("b", "c"), ("c", "b")}


def test_formats_that_are_only_read_are_not_written(tmp_path):
    with pytest.raises(InputError, match="Pajek is read, but not written"):
        write_graph(Graph.from_edges([0], [1]), tmp_path / "x.net")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", KINDS)
def test_malformed_files_give_input_errors(tmp_path, kind):
    for content in (b"", b"rubbish", b"PAR1rubbishPAR1", b"graph [ node [ id ", b"<graphml>"):
        path = tmp_path / f"x.{kind}"
        path.write_bytes(content)
        with contextlib.suppress(CoterieError):
            assert read_graph(path).n_nodes == 0
    for path in (tmp_path, tmp_path / f"none.{kind}"):
        with pytest.raises(InputError):
            read_graph(path, format=kind)
    if kind != "parquet":
        with pytest.raises(InputError, match="cannot hold this table"):
            read_ratings(tmp_path / f"x.{kind}")


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(KINDS), st.binary(max_size=100))
def test_random_bytes_give_input_errors(tmp_path_factory, kind, content):
    path = tmp_path_factory.getbasetemp() / f"rubbish.{kind}"
    path.write_bytes(content)
    with contextlib.suppress(CoterieError):
        assert read_graph(path).n_nodes >= 0


def test_scipy_gets_a_matrix_market_file_with_a_last_line_end(tmp_path, monkeypatch):
    """Without one, scipy reads past the end, and ends the process at some memory layouts."""
    path = tmp_path / "x.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1.5\n3 2 1")
    given_bytes = []

    def recorded(function):
        def call(content):
            given_bytes.append(content.getvalue())
            return function(content)

        return call

    for name in ("mminfo", "mmread"):
        monkeypatch.setattr(scipy.io, name, recorded(getattr(scipy.io, name)))
    assert read_graph(path, weighted=True).edge_weights().tolist() == [1.5, 1.0]
    assert [content[-2:] for content in given_bytes] == [b"1\n", b"1\n"]

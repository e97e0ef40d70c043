"""To and from networkx, igraph, scipy, numpy, pandas and polars; names kept."""

from __future__ import annotations

import builtins
from pathlib import Path

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie as ct
from coterie.base.errors import InputError, MissingDependencyError
from coterie.data import Graph, Ratings
from coterie.data.demo_data import social_network


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 8))
    edges = draw(st.lists(st.tuples(*[st.integers(0, n - 1)] * 2), max_size=20, unique=True))
    names = draw(
        st.sampled_from([None, [f"node {i}" for i in range(n)], list(range(50, 50 - n, -1))])
    )
    directed = draw(st.booleans())
    source, target = np.array(edges, np.int64).reshape(-1, 2).T
    weights = source + target + 1.0 if draw(st.booleans()) else None
    return Graph.from_edges(
        source, target, weights=weights, n_nodes=n, ids=names, directed=directed
    )


def identical(a, b):
    assert a.ids.tolist() == b.ids.tolist()
    assert a.directed == b.directed
    assert a.indptr.tolist() == b.indptr.tolist()
    assert a.indices.tolist() == b.indices.tolist()
    assert (a.weights is None) == (b.weights is None)
    assert a.weights is None or a.weights.tolist() == b.weights.tolist()


@settings(deadline=None, max_examples=60)
@given(graphs())
def test_conversions_of_graphs_are_lossless(graph):
    weight = None if graph.weights is None else "weight"
    identical(graph, Graph.from_networkx(graph.to_networkx(), weight=weight))
    identical(graph, Graph.from_igraph(graph.to_igraph(), weight=weight))
    for matrix, back in (
        (graph.to_scipy(), Graph.from_scipy),
        (graph.to_numpy(), Graph.from_numpy),
    ):
        again = back(
            matrix, directed=graph.directed, weighted=graph.weights is not None, ids=graph.ids
        )
        identical(graph, again)
    for frame in (graph.to_pandas(), graph.to_polars()):
        assert list(frame.columns)[:2] == ["source", "target"]
        if graph.n_edges:
            again = Graph.from_pandas(frame, weight=weight, directed=graph.directed)
            assert again.n_edges == graph.n_edges


def test_networkx_graph_has_the_same_edges():
    network = nx.karate_club_graph()
    graph = Graph.from_networkx(network)
    assert (graph.n_nodes, graph.n_edges) == (34, 78)
    assert graph.degrees.tolist() == [d for _, d in network.degree()]
    weighted = Graph.from_networkx(network, weight="weight")
    assert weighted.edge_weights().sum() == sum(w for *_, w in network.edges(data="weight"))


def test_networkx_graph_with_any_names_and_parallel_edges():
    grid = Graph.from_networkx(nx.grid_2d_graph(2, 2))
    assert grid.ids.tolist() == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert set(grid.to_networkx().nodes) == set(grid.ids.tolist())
    parallel = nx.MultiGraph([("a", "b", {"w": 1}), ("a", "b", {"w": 2})])
    graph = Graph.from_networkx(parallel, weight="w")
    assert graph.edge_weights().tolist() == [3]
    with pytest.raises(InputError, match="None"):
        Graph.from_networkx(nx.path_graph(3), weight="missing")
    assert Graph.from_networkx(nx.Graph()).n_nodes == 0


def test_igraph_graph_without_names():
    ring = Graph.from_igraph(igraph.Graph.Ring(5))
    assert ring.ids.tolist() == [0, 1, 2, 3, 4]
    assert ring.degrees.tolist() == [2] * 5
    with pytest.raises(InputError, match="no attribute"):
        Graph.from_igraph(igraph.Graph.Ring(5), weight="w")


def test_asymmetric_scipy_matrix_is_a_directed_graph():
    upper = sp.csr_array(np.triu(np.ones((3, 3)), 1))
    assert Graph.from_scipy(upper).directed
    assert Graph.from_scipy(upper, directed=False).n_edges == 3
    assert not Graph.from_scipy(upper + upper.T).directed
    assert Graph.from_scipy(sp.coo_matrix(np.eye(3))).cleaned.self_loops == 3
    explicit = sp.csr_array((np.array([0.0, 1.0]), ([0, 1], [1, 2])), shape=(3, 3))
    assert Graph.from_scipy(explicit, directed=False).n_edges == 1
    for bad in (np.ones((2, 2)), sp.csr_array(np.ones((2, 3)))):
        with pytest.raises(InputError):
            Graph.from_scipy(bad)
    for bad in (np.ones(3), np.array([[np.nan]]), np.array([["a"]])):
        with pytest.raises(InputError):
            Graph.from_numpy(bad)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_graph_from_a_data_frame(make):
    table = make({"weight": [2.0, 3.0], "src": ["b", "c"], "dst": ["a", "b"]})
    graph = Graph.from_pandas(table, weight="weight")
    assert graph.ids.tolist() == ["a", "b", "c"]
    assert graph.edge_weights().tolist() == [2, 3]
    by_place = Graph.from_polars(make({"x": [5, 6], "y": [6, 9]}), directed=True)
    assert by_place.ids.tolist() == [5, 6, 9]
    with pytest.raises(InputError, match="no column 'w'"):
        Graph.from_pandas(table, weight="w")
    with pytest.raises(InputError, match="row 1 has no"):
        Graph.from_pandas(make({"source": ["a", None], "target": ["b", "c"]}))
    with pytest.raises(InputError, match="only the columns"):
        Graph.from_pandas(make({"x": [1]}))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_ratings_from_a_data_frame(make):
    table = make({"movieId": ["x", "y"], "userId": [2, 1], "rating": [4, 5], "timestamp": [10, 20]})
    ratings = Ratings.from_pandas(table)
    assert ratings.user_ids.tolist() == [1, 2]
    assert ratings.item_ids[ratings.items].tolist() == ["x", "y"]
    assert ratings.timestamps.tolist() == [10, 20]
    back = ratings.to_pandas() if make is pd.DataFrame else ratings.to_polars()
    assert list(back["user"]) == [2, 1]
    assert list(back["item"]) == ["x", "y"]
    named = Ratings.from_pandas(
        make({"a": [1], "b": [2], "c": [3]}), user="b", item="a", rating="c"
    )
    assert (named.user_ids.tolist(), named.values.tolist()) == ([2], [3])


def test_ratings_from_and_to_matrices():
    ratings = Ratings.from_arrays(["a", "b", "b"], ["x", "x", "y"], [0, 2, 5])
    again = Ratings.from_scipy(ratings.to_scipy(), user_ids=["a", "b"], item_ids=["x", "y"])
    assert again.to_pandas().equals(ratings.to_pandas())
    dense = Ratings.from_numpy(ratings.to_numpy(), user_ids=["a", "b"], item_ids=["x", "y"])
    assert dense.to_pandas().equals(ratings.to_pandas())
    twice = Ratings.from_arrays([1, 1], [1, 1], [3, 4], merge=False)
    with pytest.raises(InputError, match="more than one rating"):
        twice.to_scipy()
    with pytest.raises(InputError, match="3 ids"):
        Ratings.from_numpy(np.ones((2, 2)), user_ids=[1, 2, 3])


def test_missing_package_is_reported(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name.split(".")[0] in ("networkx", "igraph", "pandas", "polars"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr("coterie.data.foreign.import_module", without)
    graph = Graph.from_edges([0], [1])
    for convert in (graph.to_networkx, graph.to_igraph, graph.to_pandas, graph.to_polars):
        with pytest.raises(MissingDependencyError, match="pip install"):
            convert()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "stream"])
def test_every_function_takes_a_table_of_another_library(library: str, tmp_path: Path) -> None:
    network, _ = social_network(n_people=60)
    source, target = (network.ids[ends].tolist() for ends in network.edges())
    network = Graph.from_edges(source, target)  # with the nodes in the order of their names
    edges = {"from": source, "to": target}
    rated = {"stars": [5, 3, 4, 1], "book": [1, 2, 1, 2], "reader": ["ann", "ann", "bob", "cy"]}
    make = {
        "pandas": pd.DataFrame,
        "polars": pl.DataFrame,
        "pyarrow": pyarrow.table,
        "stream": lambda columns: Stream(pyarrow.table(columns)),
    }[library]
    table = make(edges)
    wanted = ct.BlockModel(rng=0).fit(network).labels_.tolist()
    assert ct.BlockModel(rng=0).fit(table).labels_.tolist() == wanted
    assert ct.compare_models(table)[0] == ct.compare_models(network)[0]
    ct.write_graph(table, tmp_path / "x.csv")
    assert ct.read_graph(tmp_path / "x.csv").n_edges == network.n_edges
    assert ct.MMSBM(n_groups=2, max_iter=2).fit(table).fitted_to_graph
    ratings = make(rated)
    model = ct.MMSBM(n_groups=2, max_iter=2).fit(ratings)
    assert model.user_memberships_.shape == (3, 2) and not model.fitted_to_graph
    fitted = ct.Recommender(ct.MMSBM(n_groups=2, max_iter=2)).fit(ratings)
    assert fitted.users_.ids.tolist() == ["ann", "bob", "cy"]
    ct.write_ratings(ratings, tmp_path / "r.csv")
    assert ct.read_ratings(tmp_path / "r.csv").ratings.tolist() == [5, 3, 4, 1]
    with pytest.raises(InputError, match="two kinds of nodes"):
        ct.BlockModel(rng=0).fit(ratings)


class Stream:
    """A table of a library that nobody knows: it has the Arrow interface and nothing else."""

    def __init__(self, table: pyarrow.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

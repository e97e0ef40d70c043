"""Attributes of a release: read, coded, drawn per class, limited and measured."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from tests import reference

from coterie.anonymize.features.attribute_coding import (
    OTHER,
    blend_sensitive,
    class_counts,
    code_attributes,
    distances,
    sensitive_risk,
)
from coterie.anonymize.features.attribute_measures import assortativity
from coterie.anonymize.features.attribute_model import AttributeModel
from coterie.anonymize.features.comparison import compare_networks
from coterie.anonymize.features.network import Network
from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.data.node_table import ColumnKind, NodeTable, read_attributes
from coterie.kernels.anonymize.attribute_swaps import mixing

GRAPH = Graph.from_edges(["a", "b"], ["b", "c"])


# --- reading ---------------------------------------------------------------------------------


def _read(tmp_path: Path, text: str, name: str = "a.csv") -> NodeTable:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_attributes(path, GRAPH)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_rows_come_in_the_order_of_the_nodes(tmp_path: Path, separator: str) -> None:
    text = "team,node,age\nx,c,40\ny,a,30\nx,b,30\n".replace(",", separator)
    table = _read(tmp_path, text)
    assert table.names == ["team", "age"]
    assert table["team"].values.tolist() == ["y", "x", "x"]
    assert table["age"].values.tolist() == [30, 30, 40]
    assert [c.kind for c in table.columns] == [ColumnKind.categorical, ColumnKind.ordinal]


def test_parquet_pandas_and_networkx_give_the_same_table(tmp_path: Path) -> None:
    frame = pd.DataFrame({"node": ["c", "a", "b"], "team": ["x", "y", "x"], "age": [1, 2, 3]})
    frame.to_parquet(tmp_path / "a.parquet")
    network = nx.Graph()
    for _, row in frame.iterrows():
        network.add_node(row["node"], team=row["team"], age=row["age"])
    for table in (
        read_attributes(tmp_path / "a.parquet", GRAPH),
        NodeTable.from_pandas(frame, "node").of_graph(GRAPH),
        NodeTable.from_pandas(frame.set_index("node")).of_graph(GRAPH),
        NodeTable.from_networkx(network).of_graph(GRAPH),
    ):
        assert table["team"].values.tolist() == ["y", "x", "x"]
        assert table["age"].values.tolist() == [2, 3, 1]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("node,x\na,1\nb,1\nc,1\nd,1\n", "line 5: node d is not in the graph"),
        ("node,x\na,1\nb,1\nb,1\n", "line 4: the id b has two rows"),
        ("node,x\na,1\nb,1\n", "1 nodes of the graph have no row, for example c"),
        ("node,x\na,1\nb,\nc,1\n", "line 3: the value of 'x' is missing"),
        ("node,x\na,1\nb\nc,1\n", "line 3: 1 fields where the first row has 2"),
        ("node,x\na,2020-01-02\nb,2021-05-06\nc,2021-05-06\n", "holds dates"),
        ("node\na\nb\nc\n", "the table has one column"),
        ("", "has no rows"),
    ],
)
def test_bad_tables_are_refused_with_place_and_remedy(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(InputError, match=r"a\.csv") as error:
        _read(tmp_path, text)
    assert problem in str(error.value)
    assert error.value.remedy


def test_identifiers_and_free_text_are_refused_by_name() -> None:
    graph = Graph.from_edges(range(39), range(1, 40))
    nodes = range(40)
    badge = [f"X{i:04d}" for i in nodes]
    with pytest.raises(InputError, match="'badge' identifies people: every person has"):
        NodeTable.from_columns(nodes, {"badge": badge}).of_graph(graph)
    with pytest.raises(InputError, match="'number' identifies people"):
        NodeTable.from_columns(nodes, {"number": list(range(1000, 1040))}).of_graph(graph)
    text = [f"this is a long remark about person {i // 2}" for i in nodes]
    with pytest.raises(InputError, match="'remark' holds free text"):
        NodeTable.from_columns(nodes, {"remark": text}).of_graph(graph)


# --- coding ----------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=40, max_size=120), st.integers(2, 12), st.booleans())
def test_every_code_stands_for_enough_people(
    values: list[int], min_size: int, categories: bool
) -> None:
    n = len(values)
    graph = Graph.from_edges(range(n - 1), range(1, n))
    column = [f"c{v // 8}" if categories else v for v in values]
    coded = code_attributes(
        NodeTable.from_columns(range(n), {"x": column}).of_graph(graph), min_size
    )
    counts = np.bincount(coded.codes[:, 0], minlength=coded.columns[0].n_codes)
    assert counts.min() >= min_size
    drawn = coded.table(coded.codes, default_rng(0))["x"].values
    if categories:
        assert set(drawn) <= {*column, OTHER}
    else:
        order = np.argsort(values, kind="stable")
        assert (np.diff(coded.codes[order, 0]) >= 0).all()
        assert drawn.dtype.kind == "i"


def test_measured_numbers_keep_the_mean_of_their_range() -> None:
    rng = default_rng(0)
    values = rng.lognormal(3, 1, 2000)
    graph = Graph.from_edges(range(1999), range(1, 2000))
    coded = code_attributes(NodeTable.from_columns(range(2000), {"x": values}).of_graph(graph), 10)
    drawn = coded.table(coded.codes, rng)["x"].values
    assert abs(drawn.mean() / values.mean() - 1) < 0.05
    assert not np.isin(drawn, values).any()  # nobody's own number


# --- drawing ---------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_mixing_equals_the_reference(seed: int) -> None:
    rng = default_rng(seed)
    edges = [(int(a), int(b)) for a, b in nx.gnm_random_graph(12, 20, seed=seed).edges]
    graph = Graph.from_edges(*np.array(edges).T, n_nodes=12)
    codes = np.stack([rng.integers(0, 3, 12), rng.integers(0, 2, 12)], axis=1).astype(np.int32)
    counts = mixing(graph.indptr, graph.indices, codes, np.array([0, 9, 13]), np.array([3, 2]))
    expected = [
        *np.ravel(reference.mixing(edges, codes[:, 0], 3)),
        *np.ravel(reference.mixing(edges, codes[:, 1], 2)),
    ]
    assert counts.tolist() == expected


def _model(planted, attributes=None, graph=None, sensitive=(), closeness=1.0) -> AttributeModel:
    return AttributeModel.fit(
        graph or planted.graph,
        attributes or planted.attributes,
        planted.classes,
        min_size=10,
        sensitive=list(sensitive),
        closeness=closeness,
    )


def test_attributes_keep_values_homophily_and_combinations(planted) -> None:
    model = _model(planted)
    rng = default_rng(1)
    codes = model.draw(planted.graph, rng)
    published = Network(planted.graph, model.coded.table(codes, rng))
    original = Network(planted.graph, planted.attributes)
    found = compare_networks((original, None), [(published, None)])
    for m in found.measures:
        assert m.error is not None and abs(m.error) < 0.06, m
    assert {d.name: d.value < 0.05 for d in found.distances if "combinations" not in d.name} == {
        "values of department": True,
        "values of age": True,
        "values of diagnosis": True,
    }
    # Without placing, friends would not be alike.
    shuffled = default_rng(2).permutation(planted.graph.n_nodes)
    at_random = assortativity(planted.graph, planted.attributes.reordered(shuffled)["age"])
    assert at_random is not None and abs(at_random) < 0.1 < found.measures[2].original


def test_members_of_a_class_can_exchange_places(planted, permutation) -> None:
    """Attributes and friends of exchanged people go along; the draw is the same, bit for bit."""
    source, target = planted.graph.edges()
    graph = Graph.from_edges(
        permutation[source], permutation[target], n_nodes=planted.graph.n_nodes
    )
    moved = planted.attributes.reordered(np.argsort(permutation))
    assert not np.array_equal(moved["age"].values, planted.attributes["age"].values)
    one = _model(planted).draw(planted.graph, default_rng(5))
    other = _model(planted, moved, graph).draw(planted.graph, default_rng(5))
    assert np.array_equal(one, other)


def test_no_rare_combination_stays_in_its_class(planted) -> None:
    model = _model(planted)
    codes, label = model.coded.codes, planted.classes.label
    _, which, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    rare = counts[which.ravel()] < 10
    assert rare.mean() > 0.3
    own = {(r, row.tobytes()) for r, row in zip(label[rare], codes[rare], strict=True)}
    kept = 0
    rows = model.published_rows(default_rng(0))
    for r, row in zip(model.rows.label, rows, strict=True):
        kept += (r, np.ascontiguousarray(row).tobytes()) in own
    assert kept <= 0.01 * rare.sum()  # where a class has all combinations of its coarse row


# --- sensitive columns -----------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=6, max_size=40),
    st.booleans(),
)
def test_diversity_and_closeness_equal_the_reference(
    rows: list[tuple[int, int]], ordered: bool
) -> None:
    values, label = (np.array(column) for column in zip(*rows, strict=True))
    label = np.unique(label, return_inverse=True)[1]
    found = sensitive_risk("x", values, label, 4, ordered)
    assert found.least_values == reference.diversity(values.tolist(), label.tolist())
    expected = reference.closeness(values.tolist(), label.tolist(), 4, ordered)
    assert found.largest_distance == pytest.approx(expected)


@pytest.mark.parametrize("ordered", [True, False])
def test_blending_brings_every_class_near_everybody(ordered: bool) -> None:
    rng = default_rng(0)
    label = np.repeat(np.arange(40), 12)
    codes = np.where(rng.random(480) < 0.8, label % 4, rng.integers(0, 4, 480))
    before = distances(class_counts(codes, label, 4), ordered)
    blended = blend_sensitive(codes, label, 4, ordered, 0.3, rng)
    after = class_counts(blended, label, 4)
    assert before.max() > 0.3
    assert distances(after, ordered).max() <= 0.3 and (after > 0).sum(1).min() >= 2
    untouched = before <= 0.3
    same = (blended == codes).reshape(40, 12).all(1)
    assert same[untouched & ((class_counts(codes, label, 4) > 0).sum(1) >= 2)].all()


def test_published_classes_meet_the_limit(planted) -> None:
    model = _model(planted, sensitive=["diagnosis"], closeness=0.25)
    rows = model.published_rows(default_rng(0))
    found = sensitive_risk("diagnosis", rows[:, 2], model.rows.label, 3, False)
    assert found.least_values >= 2 and found.largest_distance <= 0.25


def test_assortativity_equals_networkx(planted) -> None:
    network = planted.graph.to_networkx()
    for name, function in (
        ("department", nx.attribute_assortativity_coefficient),
        ("age", nx.numeric_assortativity_coefficient),
    ):
        column = planted.attributes[name]
        values = dict(enumerate(column.values.tolist()))
        nx.set_node_attributes(network, values, name)
        assert assortativity(planted.graph, column) == pytest.approx(function(network, name))

"""Files that people have: what is recognised, what is refused, and what is said about it."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie as ct
from coterie.base.errors import AssumptionWarning, CoterieError, InputError
from coterie.data.readers import read_columns, read_graph, read_ratings
from coterie.data.table import Recognised

KARATE = nx.karate_club_graph()


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def quietly(read: Any, path: Path, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        return read(path, **options)


def edges_of(graph: ct.Graph) -> set[tuple[str, str]]:
    names = [str(name) for name in graph.ids.tolist()]
    return {
        tuple(sorted((names[u], names[v])))  # type: ignore[misc]
        for u, v in zip(*(ends.tolist() for ends in graph.edges()), strict=True)
    }


def expected(network: nx.Graph, first: int = 0) -> set[tuple[str, str]]:
    return {tuple(sorted((str(u + first), str(v + first)))) for u, v in network.edges}  # type: ignore[misc]


# --- formats -------------------------------------------------------------------------------------


def write_karate(folder: Path, kind: str) -> Path:
    path = folder / f"karate.{kind}"
    if kind == "net":
        nx.write_pajek(KARATE, path)
    elif kind == "mtx":
        scipy.io.mmwrite(path, nx.to_scipy_sparse_array(KARATE, weight="weight"))
    elif kind == "json":
        content = nx.node_link_data(KARATE)
        if "edges" in content:  # networkx 3.6 and later
            content["links"] = content.pop("edges")
        path.write_text(json.dumps(content))
    elif kind == "graphml":
        nx.write_graphml(KARATE, path)
    elif kind == "gml":
        nx.write_gml(KARATE, path)
    elif kind == "gexf":
        nx.write_gexf(KARATE, path)
    else:
        matrix = nx.to_numpy_array(KARATE, weight="weight")
        np.savetxt(path, matrix, fmt="%d", delimiter=",")
    return path


@pytest.mark.parametrize("kind", ["net", "mtx", "json", "graphml", "gexf", "gml", "csv"])
@pytest.mark.parametrize("suffix", ["own", "none", "gz"])
def test_formats_agree_with_networkx(tmp_path: Path, kind: str, suffix: str) -> None:
    path = write_karate(tmp_path, kind)
    if suffix == "none":  # by content alone
        path = path.rename(tmp_path / "file")
    elif suffix == "gz":
        path = written(tmp_path, path.name + ".gz", gzip.compress(path.read_bytes()))
    graph = quietly(read_graph, path)
    assert edges_of(graph) == expected(KARATE, first=1 if kind == "mtx" else 0)
    weighted = quietly(read_graph, path, weighted=True)
    total = sum(weight for *_, weight in KARATE.edges(data="weight"))
    assert weighted.edge_weights().sum() == total
    assert quietly(read_graph, path, directed=True).n_edges == 2 * 78


@pytest.mark.parametrize("kind", ["graphml", "gexf", "gml"])
@pytest.mark.parametrize("directed", [False, True])
def test_what_is_written_as_markup_is_read_by_networkx(
    tmp_path: Path, kind: str, directed: bool
) -> None:
    names = np.array(['a"<&>', "bé", "c d", "lonely"], dtype=object)
    graph = ct.Graph.from_edges(
        [0, 1, 2], [1, 2, 0], ids=names, weights=[1.5, 2, 3], directed=directed
    )
    path = tmp_path / f"x.{kind}"
    ct.write_graph(graph, path)
    read = {"graphml": nx.read_graphml, "gexf": nx.read_gexf, "gml": nx.read_gml}[kind](path)
    assert read.is_directed() is directed
    assert set(read.nodes) == set(names)
    assert sorted(w for *_, w in read.edges(data="weight")) == [1.5, 2, 3]
    again = read_graph(path, directed=directed, weighted=True)
    assert sorted(again.ids.tolist()) == sorted(names) and again.n_edges == 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.dot", "graph {\n a -- b;\n}\n", "Graphviz"),
        ("edges.csv", "digraph G {\n a -> b;\n}\n", "Graphviz"),
        ("edges.csv", "<!DOCTYPE html>\n<html><body>404</body></html>", "HTML page"),
        ("edges.csv", b"%PDF-1.7\n1 0 obj\n", "PDF"),
        ("edges.csv", b"\x80\x04\x95\x10 0 0", "pickle"),
        ("edges.txt", b"BZh91AY", "bzip2"),
        ("x.gexf", '<?xml version="1.0"?>\n<gexf version="1.2"></gexf>', "there is no graph"),
        ("x.adjlist", "1 2 3\n2 3 4\n", "adjacency list"),
        ("x.g6", ">>graph6<<A_\n", "graph6"),
        ("x.xml", "<?xml version='1.0'?><notes/>", "XML, but neither GraphML"),
        ("x.csv", b"PK\x03\x04 other.txt", "zip archive"),
        ("x.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Excel"),
        ("x.json", '{"name": "x"}', "not a graph that coterie knows"),
        ("x.json", "[1, 2", "not valid JSON"),
        ("x.net", "*Vertices 2 1\n1 a\n2 b\n*Edges\n1 2\n", "two-mode"),
        ("x.net", "*Vertices 2\n*Edges\n1 3\n", "not in 1..2"),
        ("x.graphml", "<graphml><graph><node/></graph></graphml>", "a <node> has no id"),
        ("x.graphml", '<graphml><graph><edge source="a"/></graph></graphml>', "has no target"),
        ("x.graphml", '<!DOCTYPE g [<!ENTITY a "b">]><graphml/>', "XML entities"),
        ("x.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 3 1\n", "2 rows and 3"),
        ("x.csv", "0,1,1\n1,0,1\n1,1,0\n", "adjacency matrix or a list of edges"),
        ("x.csv", "source,source,target\na,b,c\n", "two columns of the header"),
    ],
)  # fmt: skip
def test_other_files_are_refused_by_name(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    path = written(tmp_path, name, content)
    with pytest.raises(InputError, match=message) as caught:
        read_graph(path)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("content", "n_edges"),
    [
        (",ann,bob,cy\nann,0,1,0\nbob,1,0,2\ncy,0,2,0\n", 2),
        ("ann,bob,cy\nann,0,1,0\nbob,1,0,2\ncy,0,2,0\n", 2),
        ("a b c d\n0 1 0 0\n1 0 1 0\n0 1 0 1\n0 0 1 0\n", 3),
        ("0;1;0;0\n1;0;1;0\n0;1;0;1\n0;0;1;0\n", 3),
    ],
)
def test_adjacency_matrices_are_read(tmp_path: Path, content: str, n_edges: int) -> None:
    graph = quietly(read_graph, written(tmp_path, "m.csv", content))
    assert graph.n_edges == n_edges
    with pytest.raises(InputError, match="not symmetric"):
        read_graph(written(tmp_path, "d.csv", "0,1,0,0\n0,0,1,0\n0,0,0,1\n0,0,0,0\n"))
    assert read_graph(tmp_path / "d.csv", directed=True).n_edges == 3


def test_small_matrices_are_read_if_the_user_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, "m.csv", "0,1,1\n1,0,1\n1,1,0\n")
    assert read_graph(path, format="matrix").n_edges == 3
    assert quietly(read_graph, path, format="text").n_nodes == 2


def test_excel_sheets_are_read(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["von", "nach", "seit"], ["Ann", "Bob", 1999], ["Bob", "Cy", 2001], ["Cy", "D", 3]):
        book.active.append(row)
    path = tmp_path / "friends.xlsx"
    book.save(path)
    assert quietly(read_graph, path).ids.tolist() == ["Ann", "Bob", "Cy", "D"]
    assert quietly(read_graph, path, source="seit", target="von").n_nodes == 6
    book.create_sheet("other").append(["x", "y"])
    book.save(path)
    with pytest.raises(InputError, match="2 sheets have content"):
        read_graph(path)
    written(tmp_path, "broken.xlsx", path.read_bytes()[:500])
    with pytest.raises(InputError, match=r"broken\.xlsx"):
        read_graph(tmp_path / "broken.xlsx")


def test_excel_without_openpyxl_names_the_extra(tmp_path: Path, monkeypatch: Any) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "openpyxl", None)
    path = written(tmp_path, "x.xlsx", b"PK\x03\x04 xl/workbook.xml")
    with pytest.raises(InputError, match=r"pip install 'coterie\[excel\]'"):
        read_graph(path)


# --- headers and columns -------------------------------------------------------------------------


def recognised(read: Any, path: Path, **options: Any) -> Recognised:
    found: list[Recognised] = []
    quietly(read, path, on_recognised=found.append, **options)
    return found[0]


def test_numbers_below_a_word_prove_a_header(tmp_path: Path) -> None:
    path = written(tmp_path, "e.csv", "Person A;Person B;since\nAnn;Bob;1999\nBob;Cy;2001\n")
    found = recognised(read_graph, path)
    assert found.header == "header" and "3 nodes and 2 edges" in found.line()
    assert found.columns == {"source": "'Person A'", "target": "'Person B'"}
    assert found.unread == ["'since'"] and found.first_rows[0] == ("Ann", "Bob")


def test_a_first_line_that_may_be_a_header_is_mentioned_and_can_be_decided(tmp_path: Path) -> None:
    path = written(tmp_path, "e.csv", "Wer;Wen\nAnn;Bob\nBob;Cy\n")
    assert "the first line is data; --header if it is not" in recognised(read_graph, path).line()
    assert read_graph(path).n_nodes == 5
    assert read_graph(path, header=True).n_nodes == 3
    known = written(tmp_path, "k.csv", "source,target\nAnn,Bob\n")
    assert (read_graph(known).n_nodes, read_graph(known, header=False).n_nodes) == (2, 4)


def test_columns_are_chosen_by_name(tmp_path: Path) -> None:
    path = written(tmp_path, "e.csv", "id,from_city,to_city,n\n1,Bonn,Ulm,3\n2,Ulm,Kiel,4\n")
    options: dict[str, Any] = {"source": "from_city", "target": "TO_CITY"}
    graph = read_graph(path, weighted=True, weight="n", **options)
    assert set(graph.ids) == {"Bonn", "Ulm", "Kiel"}
    assert graph.edge_weights().tolist() == [3, 4]
    with pytest.raises(InputError, match="there is no column 'x'; the first line has 'id'"):
        read_graph(path, source="x", target="n")
    with pytest.raises(InputError, match=r"which of the columns .* is the target"):
        read_graph(written(tmp_path, "u.csv", "id,a,b,c\n1,x,y,z\n"), source="a")
    ratings = written(tmp_path, "r.csv", "when,who,what,how\n5,a,x,4.5\n6,b,y,1\n")
    names = {"user": "who", "item": "what", "rating": "how", "time": "when"}
    read = read_ratings(ratings, **names)
    assert read.values.tolist() == [1, 4.5] and read.timestamps.tolist() == [5, 6]


def test_decimal_commas_are_read_and_thousands_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "r.csv", "leser;buch;note\na;x;4,5\nb;x;3\nb;y;0,5\n")
    found = recognised(read_ratings, path)
    assert found.decimal_comma and "decimal commas" in found.line()
    assert quietly(read_ratings, path).values.tolist() == [0.5, 3, 4.5]
    path = written(tmp_path, "t.csv", "user;item;rating\na;x;4,5\nb;x;1,000\n")
    with pytest.raises(InputError, match=r"line 3: the rating '1,000' can be read in two ways"):
        read_ratings(path)


@pytest.mark.parametrize("header", ["", "user,item,rating,split\n", "a,b,c,split\n"])
def test_words_are_not_timestamps(tmp_path: Path, header: str) -> None:
    path = written(tmp_path, "r.csv", header + "u,x,5,train\nu,y,3,test\nv,x,2,train\n")
    assert quietly(read_ratings, path).timestamps is None
    assert "timestamp" not in recognised(read_ratings, path).columns


def test_too_few_columns_are_counted_right(tmp_path: Path) -> None:
    path = written(tmp_path, "r.csv", "from,to\na,b\nc,d\n")
    with pytest.raises(InputError, match=r"2 fields, but 3 are needed .* set `likes`"):
        read_ratings(path)


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(["", ".json", ".net", ".mtx", ".gml", ".graphml", ".xlsx"]),
    st.sampled_from([
        b"", b"*Vertices 3\n", b"%%MatrixMarket matrix coordinate real general\n", b"graph [",
        b"<graphml>", b'{"nodes": [], "links": [', b"[[", b"PK\x03\x04xl/",
    ]),
    st.binary(max_size=80) | st.text(max_size=80).map(str.encode),
)  # fmt: skip
def test_malformed_files_of_every_format_give_input_errors(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, start: bytes, rest: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / f"malformed{suffix}"
    path.write_bytes(start + rest)
    for read in (read_graph, read_ratings):
        try:
            quietly(read, path)
        except CoterieError as error:
            named = "malformed" in str(error)
        else:
            named = True
        assert named


def test_small_tables_are_read_from_json_and_excel_too(tmp_path: Path) -> None:
    path = written(tmp_path, "pairs.json", json.dumps([{"user": "a", "item": 1}] * 2))
    assert read_columns(path, ("user", "item"))["item"].tolist() == [1, 1]

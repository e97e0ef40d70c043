"""Text files: which layouts are read, which are rejected, and with which messages."""

from __future__ import annotations

import contextlib
import gzip
import io
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.base.errors import AssumptionWarning, CoterieError, InputError
from coterie.data import byte_source as source
from coterie.data.column_roles import WantedColumns
from coterie.data.readers import read_columns, read_graph, read_ratings
from coterie.data.text_fields import _read_any, _read_plain
from coterie.data.text_layout import make_layout


@pytest.fixture
def file(tmp_path):
    """A function that writes content and returns its path."""

    def write(content, name="g.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def edges(graph):
    return {(graph.ids[s], graph.ids[t]) for s, t in zip(*graph.edges(), strict=True)}


def quiet(read, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        return read(*arguments, **options)


@pytest.mark.parametrize(
    "content",
    [
        "1 2\n2 3\n",
        "1\t2\n2\t3",
        "1,2\n2,3\n",
        "1::2\n2::3\n",
        "1;2\n2;3\n",
        "  1   2  \n\t2 \t 3\n",
        "1, 2\n2, 3\n",
        "1\t\t2\n2\t\t3\n",
        "1 2\r\n2 3\r\n",
        "1 2\r2 3\r",
        "\ufeff1 2\n2 3\n",
        "# a comment\n% another\n\n1 2\n# in between\n\n2 3\n\n",
        "source,target\n1,2\n2,3\n",
        "target,source\n2,1\n3,2\n",
        "id,Source ID,Target-ID\n9,1,2\n9,2,3\n",
        '"source","target"\n"1","2"\n"2","3"\n',
        "FromNodeId\tToNodeId\n1\t2\n2\t3\n",
        "1 2 0.5 x\n2 3\n",
    ],
)
def test_layouts_of_the_same_graph_are_read_alike(file, content):
    graph = quiet(read_graph, file(content))
    assert graph.ids.dtype == np.int64
    assert edges(graph) == {(1, 2), (2, 3)}
    assert edges(quiet(read_graph, file(gzip.compress(content.encode()), "g.txt.gz"))) == edges(
        graph
    )


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        ("007 8\n8 9\n", ["007", "8", "9"]),
        ("1 2\n2 x\n", ["1", "2", "x"]),
        ("+1 2\n", ["+1", "2"]),
        ("-0 2\n", ["-0", "2"]),
        ("-5 2\n", [-5, 2]),
        ("9223372036854775807 1\n", [1, 2**63 - 1]),
        ("9223372036854775808 1\n", ["1", "9223372036854775808"]),
        ("12345678901234567890 1\n", ["1", "12345678901234567890"]),
        ("2147483648 2147483647\n", [2147483647, 2147483648]),
        ("1.0 2\n", ["1.0", "2"]),
        ("Ann Lee,Bo\nBo,Zoë 東京\n", ["Ann Lee", "Bo", "Zoë 東京"]),
        ('"Lee, Ann","say ""hi"""\n', ["Lee, Ann", 'say "hi"']),
        ("a b\nc d\n", ["a", "b", "c", "d"]),
        ("a b\n", ["a", "b"]),
        ("٣ 4\n", ["4", "٣"]),
    ],
)
def test_ids_are_read_unchanged(file, content, ids):
    graph = quiet(read_graph, file(content))
    assert sorted(graph.ids.tolist(), key=str) == sorted(ids, key=str)


def test_text_above_numbers_is_read_as_a_header(file):
    with pytest.warns(AssumptionWarning, match="header: 'this that'"):
        assert edges(read_graph(file("this that\n1 2\n"))) == {(1, 2)}
    assert edges(quiet(read_graph, file("this that\n1 2\nx y\n"))) == {
        ("that", "this"), ("1", "2"), ("x", "y")
    }  # fmt: skip
    assert edges(quiet(read_graph, file("007 5\n1 2\n"))) == {("007", "5"), ("1", "2")}


def test_nodes_comment_adds_isolated_nodes(file):
    graph = read_graph(file("# nodes: 5\n0 1\n"))
    assert (graph.n_nodes, graph.n_edges, graph.ids.tolist()) == (5, 1, [0, 1, 2, 3, 4])
    assert read_graph(file("0 1\n#nodes:3\n")).n_nodes == 3
    assert read_graph(file("# nodes: 4\n")).n_edges == 0
    assert quiet(read_graph, file("# Nodes: 4 Edges: 1\n5 6\n")).ids.tolist() == [5, 6]


def test_isolated_comments_add_nodes(file):
    graph = read_graph(file("# isolated: 9\n1 2\n"))
    assert graph.ids.tolist() == [1, 2, 9]
    graph = read_graph(file("# isolated: Ann Lee\n1 2\n"))
    assert graph.ids.tolist() == ["1", "2", "Ann Lee"]
    graph = read_graph(file("# isolated: a\n# isolated: b\n"))
    assert (graph.n_nodes, graph.n_edges) == (2, 0)


def test_weights_are_read_only_on_request(file):
    path = file("1 2 -1\n2 1 1\n2 3 0\n")
    with pytest.warns(AssumptionWarning) as said:
        graph = read_graph(path)
    assert graph.weights is None
    assert [str(w.message).split(": ")[1] for w in said] == [
        "column 3 was not read; set `weighted` if it holds weights",
        "1 pair given in both directions merged",
    ]
    weighted = quiet(read_graph, file("1 2 2\n2 1 2\n2 3 0.5\n2 3 1\n"), weighted=True)
    assert weighted.edge_weights().tolist() == [2, 1.5]
    named = quiet(read_graph, file("weight,source,target\n4,1,2\n"), weighted=True)
    assert named.edge_weights().tolist() == [4]


BAD_GRAPHS = [
    ("", {}, "no edges"),
    ("# only a comment\n", {}, "no edges"),
    ("source,target\n", {}, "no edges"),
    ("1\n2\n", {}, "line 1: 1 field, but 2 are needed"),
    ("1 2\n\n# c\n3\n", {}, "line 4: 1 field"),
    ("1,2\n3,\n", {}, "line 2: the target is empty"),
    ("1,2\n,3\n", {}, "line 2: the source is empty"),
    ('a,"b\n', {}, "line 1: a quote"),
    ('a,"b"c\n', {}, "line 1: a quote"),
    ("1 2 3\n2 3 x\n", {"weighted": True}, "line 2: the weight 'x' is not a number"),
    ("1 2 3\n2 3 nan\n", {"weighted": True}, "line 2: the weight 'nan' is not finite"),
    ("1 2 3\n2 3 1e999\n", {"weighted": True}, "line 2: the weight '1e999' is not finite"),
    ("1 2 3\n\n2 3 -1\n", {"weighted": True}, "line 3: the weight -1 is negative"),
    ("1 2\n", {"weighted": True}, "line 1: 2 fields, but 3"),
    ("1 2 3\n# c\n2 1 4\n", {"weighted": True}, "line 3: the weight 4 differs from 3 in line 1"),
    ("# nodes: 3\n0 1\n1 3\n", {}, "line 3: node 3 is outside 0..2"),
    ("# nodes: 3\na b\n", {}, "some are text"),
    ("# nodes: 3\n# nodes: 4\n0 1\n", {}, "line 2: conflicting or impossible '# nodes'"),
    (f"# nodes: {10**18}\n0 1\n", {}, "line 1: conflicting or impossible '# nodes'"),
    (b"1 2\n\x00\x01\x02\n", {}, "not a text file"),
    (b"\x89PNG\r\n\x1a\n\x00\x00", {}, "not a text file"),
    ("1 2\n".encode("utf-16"), {}, "UTF-16"),
    (b"a b\nc \x81\x8d\n", {}, "line 2: .* is not UTF-8"),
    ("1 2\n", {"separator": "\n"}, "separator"),
    ("1 2\n", {"format": "dot"}, "unknown format 'dot'"),
    ("1 2\n", {"separator": ","}, "line 1: 1 field"),
]


@pytest.mark.parametrize(("content", "options", "message"), BAD_GRAPHS)
def test_invalid_graph_is_rejected_with_file_line_and_remedy(file, content, options, message):
    path = file(content)
    with pytest.raises(InputError, match=message) as caught:
        quiet(read_graph, path, **options)
    assert isinstance(caught.value, InputError)
    assert caught.value.remedy
    if not {"separator", "format"} & set(options):
        assert str(path) in str(caught.value)


BAD_RATINGS = [
    ("", "no ratings"),
    ("user,item,rating\n", "no ratings"),
    ("a b\n", "line 1: 2 fields, but 3"),
    ("a b 3\nc d x\n", "line 2: the rating 'x'"),
    ("a b 3\nc d inf\n", "line 2: the rating 'inf' is not finite"),
    ("a b x\n", "line 1: the rating 'x'"),
    ("a b 3 9\nc d 4\n", "line 2: 3 fields, but 4"),
]


@pytest.mark.parametrize(("content", "message"), BAD_RATINGS)
def test_invalid_ratings_are_rejected(file, content, message):
    path = file(content)
    with pytest.raises(InputError, match=message) as caught:
        quiet(read_ratings, path)
    assert str(path) in str(caught.value)


def test_unreadable_files_are_rejected(tmp_path):
    for path, message in [
        (tmp_path / "nothing.txt", "no such file"),
        (tmp_path, "is a folder"),
    ]:
        with pytest.raises(InputError, match=message):
            read_graph(path)
    packed = gzip.compress(b"1 2\n2 3\n" * 1000)
    for content, message in [
        (packed[: len(packed) // 2], "truncated"),
        (packed[:12] + b"rubbish" + packed[19:], "damaged"),
        (b"\x1f\x8bnonsense", "damaged|truncated"),
    ]:
        path = tmp_path / "x.txt.gz"
        path.write_bytes(content)
        with pytest.raises(InputError, match=message):
            read_graph(path)


def test_standard_input_is_read(monkeypatch):
    class Piped:
        buffer = io.BytesIO(b"a b\nb c\n")

    monkeypatch.setattr(sys, "stdin", Piped)
    assert read_graph("-").n_edges == 2
    Piped.buffer = io.BytesIO(gzip.compress(b"ann,x,5\nbob,x,4\n"))
    assert len(read_ratings("-")) == 2
    Piped.buffer = io.BytesIO(b"1\n")
    with pytest.raises(InputError, match="standard input, line 1"):
        read_graph("-")


def test_last_rating_of_a_pair_counts(file):
    with pytest.warns(AssumptionWarning, match="2 earlier ratings"):
        ratings = read_ratings(file("a x 1\na x 2\nb x 5\na x 3\n"))
    assert ratings.duplicates == 2
    assert ratings.ratings.tolist() == [5, 3]
    timed = quiet(read_ratings, file("a x 1 30\na x 2 20\na y 4 10\n"))
    assert timed.ratings.tolist() == [1, 4]
    assert timed.timestamps.tolist() == [30, 10]
    assert len(quiet(read_ratings, file("a x 1\na x 2\n"), merge=False)) == 2


def test_movielens_formats_are_read(file):
    csv = read_ratings(
        file("userId,movieId,rating,timestamp\n1,10,3.5,964982703\n2,10,4,964982704\n")
    )
    assert csv.values.tolist() == [3.5, 4]
    assert csv.timestamps.dtype == np.int64
    dat = read_ratings(file("1::10::5::978300760\n1::11::3::978302109\n"))
    assert (dat.n_users, dat.n_items, dat.values.tolist()) == (1, 2, [3, 5])
    with pytest.warns(AssumptionWarning, match="column 4 was not read"):
        dated = read_ratings(file("1,10,5,yesterday\n1,11,3,today\n"))
    assert dated.timestamps is None
    dated = read_ratings(
        file("user,item,rating,date\n1,10,5,2026-11-17\n1,11,3,2026-11-18T12:00\n")
    )
    assert np.diff(dated.timestamps).tolist() == [36 * 3600 * 10**6]
    likes = read_ratings(file("user,item\nann,x\nbob,y\n"), likes=True)
    assert likes.values.tolist() == [1]


def test_read_columns_of_small_tables(file):
    pairs = read_columns(file("user,item\n7,x\n7,y\n3,x\n"), ("user", "item"))
    assert pairs["user"].tolist() == [7, 7, 3]
    assert pairs["item"].tolist() == ["x", "y", "x"]
    mine = read_columns(file("item,rating\nx,5\ny,1.5\n"), ("item",), ("rating",))
    assert mine["rating"].tolist() == [5, 1.5]
    assert mine["item"].tolist() == ["x", "y"]


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(*[st.integers(-(2**33), 2**33) | st.integers(0, 9)] * 3), min_size=1),
    st.sampled_from(["", ",", "\t", "::", " , "]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
)
def test_integer_parser_agrees_with_the_general_parser(rows, separator, line_end, last):
    between = separator or "  "
    content = line_end.join(between.join(map(str, row)) for row in rows)
    block = (content + line_end * last).encode()
    block += b"\n" * (not block.endswith(b"\n"))
    wanted = WantedColumns(("source", "target"), ("weight",))
    layout = make_layout(separator.strip(" "), [], [], wanted, named=False)
    plain, general = _read_plain(block, layout), _read_any(block, layout)
    assert general.rows == len(rows)
    assert (plain is None) == any(abs(x) >= 2**31 for row in rows for x in row)
    if plain is not None:
        assert (plain.rows, plain.breaks) == (general.rows, general.breaks)
        for one, other in zip(plain.columns, general.columns, strict=True):
            assert np.concatenate(one).tolist() == np.concatenate(other).tolist()


fragments = st.sampled_from(
    ["1", "2", "-7", "007", "a", "é", '"', '"x"', " ", "\t", ",", "::", "\n", "\r\n", "\r", "#",
     "%", "# nodes: 3\n", "# isolated: q\n", "nan", "1e5", "source,target\n", "\x0b", "\x00",
     "99999999999999999999", "\ufeff", "user item rating\n"]
)  # fmt: skip
pieced = st.lists(fragments, max_size=40).map(lambda parts: "".join(parts).encode())
contents = st.one_of(st.binary(max_size=200), pieced)


@settings(deadline=None, max_examples=400)
@given(contents, st.booleans(), st.booleans(), st.sampled_from([4, 1 << 22]))
def test_any_input_gives_a_graph_or_an_input_error(
    tmp_path_factory, content, directed, weighted, size
):
    path = tmp_path_factory.getbasetemp() / "fuzz.txt"
    path.write_bytes(content)
    before = source.line_blocks.__defaults__
    source.line_blocks.__defaults__ = (size,)  # small blocks cut lines everywhere
    try:
        for read, options in (
            (read_graph, {"directed": directed, "weighted": weighted}),
            (read_ratings, {}),
        ):
            with contextlib.suppress(CoterieError):
                assert repr(quiet(read, path, **options))
    finally:
        source.line_blocks.__defaults__ = before


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.tuples(*[st.text("ab1 0é\"',;#", min_size=1).filter(lambda s: s == s.strip())] * 2),
        min_size=1,
    ),
    st.sampled_from([3, 50, 1 << 22]),
)
def test_block_size_does_not_change_the_result(tmp_path_factory, rows, size):
    import csv

    path = tmp_path_factory.getbasetemp() / "blocks.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([("source", "target"), *rows])
    before = source.line_blocks.__defaults__
    source.line_blocks.__defaults__ = (size,)
    try:
        graph = quiet(read_graph, path, directed=True)
    finally:
        source.line_blocks.__defaults__ = before
    names = {str(name) for name in graph.ids}
    assert names == {name for row in rows for name in row}
    expected = {row for row in rows if row[0] != row[1]}
    assert {(str(a), str(b)) for a, b in edges(graph)} == expected

"""Files appear whole or not at all, and give back what was written."""

from __future__ import annotations

import gzip
import os
import stat
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.base.errors import ImportantWarning, InputError
from coterie.data import Graph, Ratings
from coterie.data.readers import read_columns, read_graph, read_ratings
from coterie.data.writers import atomic_write, write_graph, write_ratings, write_table

FORMATS = [".csv", ".tsv", ".txt", ".csv.gz", ".parquet"]
FORMATS += [".graphml", ".gml", ".graphml.gz", ".gexf", ".json", ".json.gz"]


def same(a, b):
    """The same nodes, edges and weights, whatever the order of the nodes."""
    assert sorted(map(str, a.ids)) == sorted(map(str, b.ids))
    assert a.ids.dtype == b.ids.dtype
    assert named_edges(a) == named_edges(b)
    assert (a.weights is None) == (b.weights is None)


def named_edges(graph):
    source, target = (graph.ids[end].tolist() for end in graph.edges())
    pairs = [(s, t) if graph.directed else frozenset((s, t)) for s, t in zip(source, target)]  # noqa: B905
    return dict(zip(pairs, graph.edge_weights().tolist(), strict=True))


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("names", ["0..n", "integers", "text"])
def test_written_graphs_are_read_back(tmp_path, suffix, directed, weighted, names):
    ids = {
        "0..n": None,
        "integers": [30, -2, 7, 5, 99, 4],
        "text": ["b", "Zoë", "a", "007", "q", "x"],
    }
    graph = Graph.from_edges(
        [0, 1, 4, 0], [1, 2, 0, 2], ids=ids[names], n_nodes=6, directed=directed,
        weights=[1.5, 2, 0.1, 1e-9] if weighted else None,
    )  # fmt: skip
    path = tmp_path / f"g{suffix}"
    write_graph(graph, path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(graph, read_graph(path, directed=directed, weighted=weighted))
    assert os.listdir(tmp_path) == [path.name]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(max_size=5), min_size=2, max_size=8, unique=True))
def test_any_names_are_read_back_or_rejected(tmp_path_factory, names):
    graph = Graph.from_edges([0], [1], ids=np.array(names, object))
    for suffix in (".csv", ".tsv", ".txt", ".parquet"):
        path = tmp_path_factory.getbasetemp() / f"names{suffix}"
        if suffix == ".parquet":
            write_graph(graph, path)
        else:
            try:
                write_graph(graph, path)
            except InputError:
                continue
        again = read_graph(path)
        assert {str(name) for name in again.ids} == set(names)
        assert again.n_edges == 1


def test_names_that_text_cannot_represent_are_rejected(tmp_path):
    spaced = Graph.from_edges([0], [1], ids=["Ann Lee", "Bo"])
    with pytest.raises(InputError, match=r"Ann Lee.*write .csv"):
        write_graph(spaced, tmp_path / "g.txt")
    broken = Graph.from_edges([0], [1], ids=["a\nb", "Bo"])
    with pytest.raises(InputError, match=r"write .parquet"):
        write_graph(broken, tmp_path / "g.csv")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".csv.gz"])
def test_written_ratings_are_read_back(tmp_path, suffix):
    ratings = Ratings.from_arrays(["b", "a"], [7, 8], [2.5, 4], timestamps=[5, 6])
    write_ratings(ratings, tmp_path / f"r{suffix}")
    again = read_ratings(tmp_path / f"r{suffix}")
    assert again.user_ids[again.users].tolist() == ["b", "a"]
    assert again.item_ids[again.items].tolist() == [7, 8]
    assert again.ratings.tolist() == [2.5, 4]
    assert again.timestamps.tolist() == [5, 6]


def test_tables_can_be_read_by_pandas(tmp_path):
    columns = {
        "node": ["a", 'quote "', "comma, too", "Zoë"],
        "block": np.arange(4, dtype=np.int32),
        "p": np.array([0.1, 1e-300, 1 / 3, 2.0]),
    }
    write_table(tmp_path / "t.csv", columns)
    frame = pd.read_csv(tmp_path / "t.csv")
    assert frame.to_dict("list") == {name: list(column) for name, column in columns.items()}
    write_table(tmp_path / "t.parquet", columns)
    assert pd.read_parquet(tmp_path / "t.parquet").to_dict("list") == frame.to_dict("list")
    write_table(tmp_path / "i.csv", {"a": np.arange(300_000), "b": np.arange(300_000) * 7})
    assert (pd.read_csv(tmp_path / "i.csv")["b"] == np.arange(300_000) * 7).all()
    with pytest.raises(InputError, match="different length"):
        write_table(tmp_path / "x.csv", {"a": [1], "b": [1, 2]})


def test_compressed_file_is_reproducible(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        write_table(tmp_path / name, {"a": [1, 2]})
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == b"a\n1\n2\n"


class Stop(BaseException):
    """Like Ctrl-C."""


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, Stop])
def test_failure_leaves_the_old_file_only(tmp_path, failure):
    path = tmp_path / "x.txt"
    path.write_text("old")

    def fail():
        with atomic_write(path) as file:
            file.write("new")
            file.flush()
            raise failure

    with pytest.raises(failure):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.txt"]


def test_permissions_links_and_devices_are_respected(tmp_path):
    with atomic_write(tmp_path / "secret", permissions=0o600) as file:
        file.write("x")
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    with atomic_write(tmp_path / "link", "wb") as file:
        file.write(b"y")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "secret").read_text() == "y"
    with atomic_write("/dev/null") as file:
        file.write("gone")


def test_unwritable_paths_are_rejected(tmp_path):
    for path in (tmp_path, tmp_path / "no" / "such" / "folder.csv"):
        with pytest.raises(InputError, match="cannot be written"):
            write_table(path, {"a": [1]})


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_full_device_gives_an_input_error():
    with pytest.raises(InputError, match="No space left"):
        write_table("/dev/full", {"a": np.arange(10)})


@pytest.mark.skipif(sys.platform == "win32", reason="no RLIMIT_FSIZE on Windows")
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_full_disk_leaves_no_file(tmp_path, name):
    program = f"""
        import resource
        import numpy as np
        from coterie.base.errors import InputError
        from coterie.data.writers import write_table
        numbers = np.random.default_rng(0).integers(0, 2**60, 200_000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            write_table({str(tmp_path / name)!r}, {{"a": numbers}})
        except InputError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True
    )
    assert "cannot be written: File too large" in done.stdout
    assert os.listdir(tmp_path) == []


def test_ids_that_look_like_formulas_are_kept_and_mentioned(tmp_path):
    file = tmp_path / "t.csv"
    with pytest.warns(ImportantWarning, match=r"1 field begins with =.*=cmd"):
        write_table(file, {"node": ["=cmd|' /C calc'!A0", "-5", "ann"], "block": [0, 1, 2]})
    assert read_columns(file, ("node", "block"))["node"].tolist()[0] == "=cmd|' /C calc'!A0"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_table(file, {"node": ["-5", "+1.5", "ann"], "block": [0, 1, 2]})


def test_what_a_killed_process_left_is_removed_by_the_next_one(tmp_path):
    killed = (
        "import os, sys\n"
        "from coterie.data.atomic_files import atomic_write\n"
        "with atomic_write(sys.argv[1]) as file:\n"
        "    file.write('half'); file.flush(); os.kill(os.getpid(), 9)\n"
    )
    target = tmp_path / "labels [1].csv"
    subprocess.run([sys.executable, "-c", killed, target], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    other = tmp_path / ".labels [1].csv.0000aa-1-00000000.part"  # of another computer
    foreign = tmp_path / ".labels [1].csv.notes.part"  # not ours
    for path in (other, foreign):
        path.write_text("x")
    with atomic_write(target) as file:
        own = set(tmp_path.iterdir()) - {other, foreign}
        assert len(own) == 1  # a running process keeps its file
        with atomic_write(target) as again:
            assert own <= set(tmp_path.iterdir())
            again.write("first")
        file.write("whole")
    assert set(tmp_path.iterdir()) == {target, other, foreign}
    os.utime(other, (0, 0))
    with atomic_write(target) as file:
        file.write("whole")
    assert set(tmp_path.iterdir()) == {target, foreign}

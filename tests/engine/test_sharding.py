"""Shards written in two passes contain exactly what reading the whole file gives."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from tests.support.command_line import coterie, result_of

from coterie.base.errors import InputError
from coterie.base.progress import Progress
from coterie.data.readers import read_graph, read_ratings
from coterie.engine import id_numbering as names
from coterie.engine import id_numbering as numbering
from coterie.engine.id_numbering import IdCounter, IdNumbers
from coterie.engine.shard_storage import load_shard
from coterie.engine.sharded_data import ShardedGraph, ShardedRatings, open_shards
from coterie.engine.sharding import shard_graph, shard_ratings

NAMES: dict[str, Callable[[int], object]] = {
    "numbers": int,
    "scattered numbers": lambda x: x * 10**9 - 5,
    "numbers as far apart as can be": lambda x: (x - 6) * (2**63 // 7),
    "words": lambda x: f"person {x}",
}
EDGES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=40)


def joined(sharded: ShardedGraph | ShardedRatings) -> tuple[np.ndarray, ...]:
    """Return (indptr, indices, channels, weights) of all shards together."""
    blocks = [load_shard(ref) for ref in sharded.shards]
    assert [b.first for b in blocks] == sharded.cuts[:-1].tolist()
    indptr = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(b.indptr) for b in blocks]))])
    rest = (np.concatenate([b[i] for b in blocks]) for i in (2, 3, 4))
    return indptr, *rest


@pytest.mark.filterwarnings("ignore::coterie.base.errors.AssumptionWarning")
@pytest.mark.parametrize("directed", [False, True])
@settings(deadline=None, max_examples=25)
@given(edges=EDGES, shards=st.integers(1, 5), kind=st.sampled_from(sorted(NAMES)))
def test_sharded_graph_equals_the_graph(
    tmp_path_factory: pytest.TempPathFactory,
    directed: bool,
    edges: list[tuple[int, int]],
    shards: int,
    kind: str,
) -> None:
    folder = tmp_path_factory.mktemp("shards")
    name = NAMES[kind]
    (folder / "e.csv").write_text("".join(f"{name(a)},{name(b)}\n" for a, b in edges))
    made = shard_graph(folder / "e.csv", folder / "out", shards=shards, directed=directed)
    sharded = open_shards(folder / "out")
    whole = read_graph(folder / "e.csv", directed=directed)
    assert isinstance(sharded, ShardedGraph)
    assert (sharded.n_nodes, sharded.n_edges) == (whole.n_nodes, whole.n_edges)
    assert sharded.ids.tolist() == whole.ids.tolist()
    indptr, indices, channels, weights = joined(sharded)
    assert len(weights) == 0
    row = np.repeat(np.arange(whole.n_nodes), np.diff(indptr))
    ways = [(0, whole), (1, whole.reversed())] if directed else [(slice(None), whole)]
    for way, graph in ways:  # a directed edge is stored with its source and with its target
        mine = channels == way if directed else way
        assert np.array_equal(indices[mine], graph.indices)
        assert np.array_equal(np.bincount(row[mine], minlength=whole.n_nodes), graph.degrees)
    cleaned = whole.cleaned
    assert made.self_loops == cleaned.self_loops
    assert made.merged == cleaned.duplicates + cleaned.reciprocal


@pytest.mark.filterwarnings("ignore::coterie.base.errors.AssumptionWarning")
def test_repeated_weights_add_up_and_both_directions_must_agree(tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text("1 2 3\n1 2 1.5\n2 3 2\n3 2 2\n")
    shard_graph(tmp_path / "w.txt", tmp_path / "out", shards=2, weighted=True)
    whole = read_graph(tmp_path / "w.txt", weighted=True)
    assert np.array_equal(joined(open_shards(tmp_path / "out"))[3], whole.weights)
    (tmp_path / "w.txt").write_text("1 2 3\n2 1 4\n")
    with pytest.raises(InputError, match="weights 3 and 4"):
        shard_graph(tmp_path / "w.txt", tmp_path / "bad", weighted=True)
    assert not (tmp_path / "bad").exists()


@pytest.mark.filterwarnings("ignore::coterie.base.errors.AssumptionWarning")
@pytest.mark.parametrize("times", [False, True])
def test_sharded_ratings_equal_the_ratings(tmp_path: Path, times: bool) -> None:
    rng = np.random.default_rng(3)
    rows = zip(
        rng.integers(0, 30, 400), rng.integers(0, 20, 400), rng.integers(2, 11, 400) / 2,
        rng.permutation(400), strict=True,
    )  # fmt: skip
    lines = [f"{u}::{i}::{r}" + f"::{t}" * times for u, i, r, t in rows]
    (tmp_path / "r.dat").write_text("\n".join(lines))
    made = shard_ratings(tmp_path / "r.dat", tmp_path / "out", shards=3)
    sharded, whole = open_shards(tmp_path / "out"), read_ratings(tmp_path / "r.dat")
    assert isinstance(sharded, ShardedRatings)
    assert np.array_equal(sharded.values, whole.values) and len(sharded) == len(whole)
    assert np.array_equal(sharded.user_ids, whole.user_ids)
    assert np.array_equal(sharded.item_ids, whole.item_ids)
    order = np.lexsort((whole.items, whole.users))
    indptr, items, codes, _ = joined(sharded)
    assert np.array_equal(
        np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), whole.users[order]
    )
    assert np.array_equal(items, whole.items[order]) and np.array_equal(codes, whole.codes[order])
    assert made.merged == 400 - len(whole)


@pytest.mark.filterwarnings("ignore::coterie.base.errors.AssumptionWarning")
@pytest.mark.parametrize("columns", [["target", "source"], ["source", "target"]])
def test_parquet_is_read_in_pieces(
    tmp_path: Path, columns: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coterie.data.formats.parquet._ROWS", 100)
    ends = np.random.default_rng(0).integers(0, 90, (2, 1_000))
    table = pa.table(dict(zip(columns, ends, strict=True)))
    parquet.write_table(table, tmp_path / "e.parquet", row_group_size=170)
    shard_graph(tmp_path / "e.parquet", tmp_path / "out", shards=3, directed=True)
    whole = read_graph(tmp_path / "e.parquet", directed=True)
    _, indices, channels, _ = joined(open_shards(tmp_path / "out"))
    assert np.array_equal(indices[channels == 0], whole.indices)
    holed = table.set_column(0, columns[0], pa.array([*range(999), None]))
    parquet.write_table(holed, tmp_path / "e.parquet")
    with pytest.raises(InputError, match=r"row 999: the .* is missing"):
        shard_graph(tmp_path / "e.parquet", tmp_path / "bad")


@pytest.mark.parametrize(("node", "shown"), [(-4, "id -4"), (7, "id 7")])
def test_the_id_outside_the_number_of_nodes_is_named(tmp_path: Path, node: int, shown: str) -> None:
    (tmp_path / "e.txt").write_text(f"# nodes: 3\n0 1\n{node} 2\n")
    with pytest.raises(InputError, match=f"{shown} does not fit"):
        shard_graph(tmp_path / "e.txt", tmp_path / "out")


def test_a_weight_that_is_not_finite_is_reported_with_its_row_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coterie.data.formats.parquet._ROWS", 100)
    nodes, weights = np.arange(250), np.ones(250)
    weights[230] = np.inf
    table = pa.table({"source": nodes, "target": nodes + 1, "weight": weights})
    parquet.write_table(table, tmp_path / "e.parquet")
    with pytest.raises(InputError, match="row 230: the weight inf is not finite"):
        shard_graph(tmp_path / "e.parquet", tmp_path / "out", weighted=True)


def test_isolated_nodes_are_kept(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("# nodes: 6\n0 1\n3 1\n")
    shard_graph(tmp_path / "e.txt", tmp_path / "out", shards=2)
    sharded = open_shards(tmp_path / "out")
    assert sharded.n_nodes == 6 and sharded.ids.tolist() == list(range(6))


def test_invalid_targets_and_inputs_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("0 1\n")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious").write_text("x")
    with pytest.raises(InputError, match="not empty"):
        shard_graph(tmp_path / "e.txt", tmp_path / "full")
    assert (tmp_path / "full" / "precious").read_text() == "x"
    with pytest.raises(InputError, match="read twice"):
        shard_graph("-", tmp_path / "out")
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(InputError, match="nothing to shard"):
        shard_graph(tmp_path / "empty.txt", tmp_path / "out")
    (tmp_path / "bad.txt").write_text("0 1\n2\n")
    with pytest.raises(InputError, match="line 2"):
        shard_graph(tmp_path / "bad.txt", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_command_reports_the_shards(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("0 1\n1 2\n2 2\n")
    made = result_of("shard", "e.txt", "--out", "out", "--shards", 2, folder=tmp_path)
    assert (made["shards"], made["rows"], made["n_edges"], made["self_loops"]) == (2, 3, 2, 1)
    assert coterie("shard", "e.txt", "--out", "out", folder=tmp_path).returncode == 2


@pytest.mark.parametrize("spread", [3, 10**6, 2**62])
@settings(deadline=None, max_examples=25)
@given(pieces=st.lists(st.lists(st.integers(-9, 9), max_size=8), min_size=1, max_size=8))
def test_ids_in_pieces_get_the_counts_and_numbers_of_all_at_once(
    spread: int, pieces: list[list[int]]
) -> None:
    arrays = [np.array(piece, np.int64) * (spread // 10 + 1) for piece in pieces]
    counter = IdCounter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbering, "_COUNT_AT", 5)  # small pieces are then counted in many rounds
        counter.add_all(arrays)
        ids, counts = counter.finish()
    every = np.concatenate(arrays)
    expected, places, occurrences = np.unique(every, return_inverse=True, return_counts=True)
    assert np.array_equal(ids, expected) and np.array_equal(counts, occurrences)
    assert np.array_equal(IdNumbers(ids).of_all(arrays), places)


@settings(deadline=None, max_examples=30)
@given(pieces=st.lists(st.lists(st.text(max_size=3), max_size=30), max_size=8))
def test_names_are_numbered_in_order_of_appearance(pieces: list[list[str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(names, "_MIN_SLOTS", 1)  # a few names then fill the table and it grows
        table = names.NameTable()
        numbers = [table.numbers(pa.array(piece, pa.string())).tolist() for piece in pieces]
    places: dict[str, int] = {}
    expected = [[places.setdefault(name, len(places)) for name in piece] for piece in pieces]
    assert numbers == expected and table.names().to_pylist() == list(places)


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Make the operating system refuse to write more, like a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_full_disk_and_ctrl_c_leave_no_files(tmp_path: Path) -> None:
    edges = np.random.default_rng(0).integers(0, 500, (5_000, 2))
    np.savetxt(tmp_path / "e.txt", edges, "%d")
    shard_graph(tmp_path / "e.txt", tmp_path / "compiled", shards=3)
    with files_of_at_most(1 << 13), pytest.raises(InputError, match="cannot be written"):
        shard_graph(tmp_path / "e.txt", tmp_path / "out", shards=3)
    assert not (tmp_path / "out").exists()
    for stage in ("edges placed", "shards written"):

        def interrupt(progress: Progress, stage: str = stage) -> None:
            if progress.stage == stage:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            shard_graph(tmp_path / "e.txt", tmp_path / "out", callback=interrupt)
        assert not (tmp_path / "out").exists()


def test_more_shards_than_open_files_are_possible(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("".join(f"{x} {x + 1}\n" for x in range(200)))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
    try:
        shard_graph(tmp_path / "e.txt", tmp_path / "out", shards=150)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(open_shards(tmp_path / "out").shards) == 150


@pytest.mark.parametrize("name", [int, "user-{}".format], ids=["integers", "text"])
def test_parquet_files_are_sharded_as_one_input(
    tmp_path: Path, name: Callable[[int], object]
) -> None:
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 60, (2, 400))
    data = tmp_path / "data"
    data.mkdir()
    lines = [f"{name(a)},{name(b)}" for a, b in zip(source, target, strict=True)]
    (tmp_path / "all.csv").write_text("\n".join(["source,target", *lines]) + "\n")
    for part in range(3):
        columns = {
            "target": pa.array([name(int(x)) for x in target[part::3]]),
            "source": pa.array([name(int(x)) for x in source[part::3]]),
        }
        parquet.write_table(pa.table(columns), data / f"{part}.parquet")
    whole = shard_graph(tmp_path / "all.csv", tmp_path / "whole", shards=4)
    ways: list[str | list[Path]] = [str(data), str(data / "*.parquet"), sorted(data.iterdir())]
    for number, way in enumerate(ways):
        out = tmp_path / f"out-{number}"
        assert shard_graph(way, out, shards=4) == whole
        pairs = zip(open_shards(out).shards, open_shards(tmp_path / "whole").shards, strict=True)
        assert all(a.sha256 == b.sha256 for a, b in pairs)
        assert open_shards(out).ids.tolist() == open_shards(tmp_path / "whole").ids.tolist()


def test_several_files_on_the_command_line_and_what_is_refused(tmp_path: Path) -> None:
    for part in ("a", "b"):
        (tmp_path / f"{part}.csv").write_text(f"source,target\n1,2\n2,{3 + ord(part)}\n")
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    found = result_of("shard", *files, "--out", str(tmp_path / "out"))
    assert (found["n_edges"], found["merged"]) == (3, 1)
    again = coterie("shard", str(tmp_path / "out"), "--out", str(tmp_path / "other"))
    assert again.returncode == 2
    assert "folder of shards already" in again.stderr
    missing = coterie("shard", str(tmp_path / "*.pq"), "--out", str(tmp_path / "other"))
    assert missing.returncode == 2
    assert "no file matches" in missing.stderr
    (tmp_path / "c.csv").write_text("user,item,rating\n1,2,3\n")
    (tmp_path / "d.csv").write_text("user,item,rating,timestamp\n1,2,3,4\n")
    both = [str(tmp_path / "c.csv"), str(tmp_path / "d.csv"), "--objective", "ratings"]
    differ = coterie("shard", *both, "--out", str(tmp_path / "other"))
    assert differ.returncode == 2
    assert "d.csv" in differ.stderr
    assert not (tmp_path / "other").exists()

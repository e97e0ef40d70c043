"""PrivateSketch: bad input costs nothing, the ledger entry comes first, files are checked."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

import coterie as ct
from coterie.anonymize.ledger import Ledger, LedgerRefusal
from coterie.anonymize.ledger_store import LedgerStore
from coterie.anonymize.private import noise
from coterie.anonymize.private import sketch as sketch_module
from coterie.anonymize.private.budget import parse_epsilon
from coterie.data.array_file import checksum

GRAPH = ct.Graph.from_edges([0, 0, 1, 3, 4, 5], [1, 2, 2, 4, 5, 3], n_nodes=8)


@pytest.fixture
def made(tmp_path: Path) -> ct.PrivateSketch:
    """A sketch with its own ledger."""
    return ct.PrivateSketch(epsilon="1", dataset="staff", ledger=tmp_path / "state")


def spent(tmp_path: Path) -> Fraction:
    return Ledger(tmp_path / "state").spent("staff")


# --- epsilon, names, nodes -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "message"),
    [
        ("0", "above 0"),
        ("-1", "not a positive decimal number"),
        ("nan", "not a positive decimal number"),
        ("inf", "not a positive decimal number"),
        ("1e0", "not a positive decimal number"),
        ("one", "not a positive decimal number"),
        ("", "not a positive decimal number"),
        ("0.0000001", "at most 6 digits"),
        ("١", "not a positive decimal number"),
        (True, "not a positive decimal number"),
        (None, "not a positive decimal number"),
        (0.5, "floating-point"),
        ("10.5", "set `allow_large_epsilon`"),
        ("1000", "not a positive|largest value"),
        ("101", "largest value"),
    ],
)
def test_a_bad_epsilon_costs_nothing(made, tmp_path: Path, epsilon, message: str) -> None:
    made.set_params(epsilon=epsilon)
    with pytest.raises(ct.InputError, match=message):
        made.fit(GRAPH, nodes=8)
    assert spent(tmp_path) == 0


def test_a_large_epsilon_can_be_allowed() -> None:
    assert parse_epsilon("10.5", allow_large_epsilon=True) == Fraction(21, 2)
    assert parse_epsilon(" 0.25 ") == Fraction(1, 4)
    assert parse_epsilon(Fraction(1, 8)) == Fraction(1, 8)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (5, "3 nodes|1 nodes|not in the node list"),
        (1, "at least 2"),
        (-3, "at least 2"),
        ([], "at least 2"),
        ([0, 1, 2, 3, 4, 5, 5], "listed twice"),
        ([0, "1", 2], "neither all integers nor all text"),
        (2.5, "is 2.5"),
        (None, "is None"),
        ("missing.txt", "no such file"),
    ],
)
def test_a_bad_node_list_costs_nothing(made, tmp_path: Path, nodes, message: str) -> None:
    with pytest.raises(ct.InputError, match=message):
        made.fit(GRAPH, nodes=nodes)
    assert spent(tmp_path) == 0


def test_other_kinds_of_graphs_and_missing_names_cost_nothing(made, tmp_path: Path) -> None:
    with pytest.raises(ct.InputError, match="directed"):
        made.fit(ct.Graph.from_edges([0], [1], directed=True), nodes=3)
    with pytest.raises(ct.InputError, match="weights"):
        made.fit(ct.Graph.from_edges([0], [1], weights=[2.0]), nodes=3)
    with pytest.raises(ct.InputError, match="no dataset name"):
        ct.PrivateSketch(ledger=tmp_path / "state").fit(GRAPH, nodes=8)
    with pytest.raises(ct.InputError, match="cap"):
        made.set_params(cap="lots").fit(GRAPH, nodes=8)
    assert spent(tmp_path) == 0


@pytest.mark.parametrize(
    ("indptr", "indices"),
    [
        ([0, 2, 4, 4], [1, 1, 0, 0]),  # an edge twice: it would count twice
        ([0, 2, 3, 3], [0, 1, 0]),  # a self-loop
        ([0, 1, 1, 1], [1]),  # an edge in one row only
    ],
)
def test_a_graph_that_is_not_simple_costs_nothing(made, tmp_path: Path, indptr, indices) -> None:
    """A graph made by the constructor may break what the sensitivities rest on."""
    graph = ct.Graph(np.array(indptr), np.array(indices, np.int32), np.arange(3))
    with pytest.raises(ct.InputError, match="repeated edges"):
        made.fit(graph, nodes=3)
    assert spent(tmp_path) == 0


def test_nodes_are_declared_by_number_ids_or_file(made, tmp_path: Path) -> None:
    names = ct.Graph.from_edges(["ann", "bob"], ["bob", "eve"])
    listed = tmp_path / "people.txt"
    listed.write_text("# staff\neve\n\nbob\nann\nzoe\n", encoding="utf-8")
    made.set_params(epsilon="0.1")
    assert made.fit(names, nodes=listed).answers_.node_ids.tolist() == ["eve", "bob", "ann", "zoe"]
    assert made.fit(GRAPH, nodes=9).answers_.node_ids.tolist() == list(range(9))
    ids = [7, 6, 5, 4, 3, 2, 1, 0]
    assert made.fit(GRAPH, nodes=ids).answers_.node_ids.tolist() == ids
    numbers = tmp_path / "numbers.txt"
    numbers.write_text("10\n3\n4\n5\n0\n1\n2\n", encoding="utf-8")
    assert made.fit(GRAPH, nodes=numbers).answers_.node_ids.dtype == np.int64
    listed.write_text("ann\nbob\nann\n", encoding="utf-8")
    with pytest.raises(ct.InputError, match="line 3: the node 'ann' is listed twice"):
        made.fit(names, nodes=listed)
    assert spent(tmp_path) == Fraction("0.4")


def test_rows_follow_the_declared_order(made, monkeypatch) -> None:
    """Node i of the answers is node i of the list, whatever the order of the graph."""
    monkeypatch.setattr("coterie.anonymize.private.answers.add_noise", lambda x, *rest: x)
    graph = ct.Graph.from_edges(["a", "a", "a"], ["b", "c", "d"])
    answers = made.fit(graph, nodes=["d", "x", "a", "b", "c"]).answers_
    assert answers.noisy_degrees.tolist() == [1, 0, 3, 1, 1]


# --- ledger ----------------------------------------------------------------------------------


def test_entry_is_on_the_disk_before_the_first_random_bit(made, tmp_path, monkeypatch) -> None:
    seen: list[tuple[Fraction, str]] = []

    def read(count: int) -> np.ndarray:
        ledger = Ledger(tmp_path / "state")
        seen.append((ledger.spent("staff"), ledger.entries("staff")[-1].state))
        return original(count)

    original = noise.os_words
    monkeypatch.setattr(noise, "os_words", read)
    made.fit(GRAPH, nodes=8)
    assert set(seen) == {(Fraction(1), "opened")}
    assert Ledger(tmp_path / "state").entries("staff")[-1].state == "written"
    assert made.spent_ == 1


def test_the_cap_is_refused_before_any_random_bit(made, tmp_path, monkeypatch) -> None:
    made.set_params(epsilon="3").fit(GRAPH, nodes=8)

    def forbidden(count: int) -> np.ndarray:
        raise AssertionError("a random bit was read")

    monkeypatch.setattr(noise, "os_words", forbidden)
    with pytest.raises(LedgerRefusal, match="exceed the cap of 4"):
        made.set_params(epsilon="1.000001").fit(GRAPH, nodes=8, path=tmp_path / "x.sketch")
    assert spent(tmp_path) == 3
    assert not (tmp_path / "x.sketch").exists()


@pytest.mark.parametrize("failure", [MemoryError, KeyboardInterrupt])
def test_a_failed_run_stays_spent(made, tmp_path: Path, monkeypatch, failure) -> None:
    def fail(*arguments: object) -> None:
        raise failure

    monkeypatch.setattr("coterie.anonymize.private.answers.stream_labels", fail)
    with pytest.raises(failure):
        made.fit(GRAPH, nodes=8, path=tmp_path / "x.sketch")
    assert spent(tmp_path) == 1
    assert Ledger(tmp_path / "state").entries("staff")[-1].state == "failed"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state"]


def test_a_full_disk_is_noticed_before_anything_is_spent(made, tmp_path, monkeypatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(ct.InputError, match="No space left"):
        made.fit(GRAPH, nodes=8, path=tmp_path / "x.sketch")
    assert spent(tmp_path) == 0
    assert not (tmp_path / "x.sketch").exists()


def test_a_file_that_cannot_be_finished_is_recorded_as_failed(made, tmp_path, monkeypatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    monkeypatch.setattr(LedgerStore, "_write_index", lambda self, index: None)
    with pytest.raises((ct.InputError, LedgerRefusal)):
        made.fit(GRAPH, nodes=8, path=tmp_path / "x.sketch")
    assert not (tmp_path / "x.sketch").exists()


def test_a_sketch_that_is_killed_stays_spent(tmp_path: Path) -> None:
    """kill -9 after the first random bits: spent, no file, and the next run works."""
    code = f"""
import os, signal
import coterie as ct
from coterie.anonymize.private import answers
answers.stream_labels = lambda *rest: os.kill(os.getpid(), signal.SIGKILL)
graph = ct.Graph.from_edges([0, 1], [1, 2])
sketch = ct.PrivateSketch(epsilon="1", dataset="staff", ledger={str(tmp_path / "state")!r})
sketch.fit(graph, nodes=4, path={str(tmp_path / "x.sketch")!r})
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=240)
    assert done.returncode == -signal.SIGKILL
    assert spent(tmp_path) == 1
    assert Ledger(tmp_path / "state").entries("staff")[-1].state == "opened"
    assert not (tmp_path / "x.sketch").exists()


def test_the_same_edges_under_another_name_give_a_warning(made) -> None:
    made.fit(GRAPH, nodes=8)
    with pytest.warns(UserWarning, match="published before under the dataset name 'staff'"):
        made.set_params(dataset="other").fit(GRAPH, nodes=9)


def test_kernels_are_compiled_without_reading_random_bits(monkeypatch) -> None:
    monkeypatch.setattr(noise, "os_words", lambda count: pytest.fail("a random bit was read"))
    sketch_module._compile()


# --- files -----------------------------------------------------------------------------------


def test_a_sketch_is_saved_and_loaded_to_the_same_bytes(made, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.sketch" for name in "abc"]
    made.fit(GRAPH, nodes=8, path=paths[0])
    made.save(paths[1])
    ct.load_sketch(paths[0]).save(paths[2])
    first, second, third = (path.read_bytes() for path in paths)
    assert first == second == third


def test_text_ids_come_back(made, tmp_path: Path) -> None:
    graph = ct.Graph.from_edges(["ann", "böb"], ["böb", "007"])
    made.fit(graph, nodes=["ann", "böb", "007", "x y"], path=tmp_path / "x.sketch")
    loaded = ct.load_sketch(tmp_path / "x.sketch")
    assert loaded.answers_.node_ids.tolist() == ["ann", "böb", "007", "x y"]


def test_the_file_contains_answers_and_public_facts_only(made, tmp_path: Path) -> None:
    """A list of everything in the file: a new field must be argued for here."""
    made.fit(GRAPH, nodes=8, path=tmp_path / "x.sketch")
    content = (tmp_path / "x.sketch").read_bytes()
    assert set(read_tensors(content)) == {
        "ids",
        "noisy_degrees",
        "degree_counts",
        "largest_degrees",
        "labels",
        "block_edges",
        "bin_thresholds",
        "bin_edges",
    }
    assert set(header_of(content)) == {
        "format",
        "rules",
        "nodes",
        "epsilon",
        "shares",
        "damping_degrees",
        "clustering_unit",
        "edge_count",
        "triangles",
        "clustering_sums",
        "capped_sums",
        "sha256",
    }
    assert b"staff" not in content
    assert str(tmp_path).encode() not in content


def header_of(content: bytes) -> dict:
    length = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["coterie sketch"])


def edited(content: bytes, **changes) -> bytes:
    """Change header or arrays and write a checksum that fits: a forged file."""
    header, tensors = header_of(content), read_tensors(content)
    header.pop("sha256")
    for name, value in changes.items():
        if name in tensors or isinstance(value, np.ndarray):
            tensors[name] = np.ascontiguousarray(value)
        elif value is None:
            header.pop(name)
        else:
            header[name] = value
    header["sha256"] = checksum(header, tensors)
    return write_tensors(tensors, {"coterie sketch": json.dumps(header, sort_keys=True)})


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> bytes:
    folder = tmp_path_factory.mktemp("sketch")
    sketch = ct.PrivateSketch(epsilon="1", dataset="x", ledger=folder)
    sketch.fit(GRAPH, nodes=8, path=folder / "x.sketch")
    return (folder / "x.sketch").read_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 4}, "upgrade coterie"),
        ({"format": 3}, "contacts"),
        ({"format": 3, "max_contacts": 7}, "contacts"),
        ({"format": 3, "max_contacts": 0}, "contacts"),
        ({"rules": 99}, "upgrade coterie"),
        ({"format": "1"}, "is not a sketch"),
        ({"nodes": 9}, "number of nodes"),
        ({"nodes": 2**40}, "number of nodes"),
        ({"nodes": None}, "number of nodes"),
        ({"epsilon": 1}, "epsilon"),
        ({"epsilon": "01"}, "epsilon"),
        ({"epsilon": "-1"}, "epsilon"),
        ({"shares": ["1"]}, "shares"),
        ({"damping_degrees": [6]}, "damping"),
        ({"capped_sums": [1]}, "capped sums"),
        ({"capped_sums": [1, 2.5]}, "an answer"),
        ({"rules": 2}, "shares"),
        ({"clustering_unit": 1}, "clustering unit"),
        ({"clustering_sums": [1, 2]}, "clustering sums"),
        ({"clustering_sums": 7}, "clustering sums"),
        ({"clustering_sums": ["2"]}, "an answer"),
        ({"triangles": 1.5}, "an answer"),
        ({"triangles": None}, "an answer"),
        ({"edge_count": 2**41}, "number of edges"),
        ({"edge_count": True}, "an answer"),
        ({"labels": np.full(8, 16, np.int32)}, "a block"),
        ({"labels": np.full(8, -1, np.int32)}, "a block"),
        ({"labels": np.zeros(7, np.int32)}, "number of nodes"),
        ({"labels": np.zeros(8, np.int64)}, "type of labels"),
        ({"noisy_degrees": np.full(8, 2**62)}, "range"),
        ({"noisy_degrees": np.zeros((8, 1), np.int64)}, "noisy_degrees"),
        ({"degree_counts": np.zeros(3, np.int64)}, "degree counts"),
        ({"largest_degrees": np.zeros(9, np.int64)}, "largest degrees"),
        ({"block_edges": np.arange(9).reshape(3, 3)}, "block_edges"),
        ({"block_edges": np.zeros((17, 17), np.int64)}, "block_edges"),
        ({"bin_thresholds": np.array([2**30])}, "bins"),
        ({"bin_edges": np.zeros((1, 7), np.int64)}, "bin_edges"),
        ({"ids": np.zeros(8, np.int64)}, "ids"),
        ({"ids": np.arange(7)}, "ids"),
        ({"other": np.zeros(1)}, "list of arrays"),
    ],
)
def test_a_forged_file_is_refused(content: bytes, tmp_path: Path, changes, message: str) -> None:
    path = tmp_path / "forged.sketch"
    path.write_bytes(edited(content, **changes))
    with pytest.raises(ct.InputError, match=message):
        ct.load_sketch(path)


def test_a_damaged_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "damaged.sketch"
    for length in (0, 5, 8, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(ct.InputError):
            ct.load_sketch(path)
    for place in range(8, len(content), 37):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(bytes(changed))
        with pytest.raises(ct.InputError):
            ct.load_sketch(path)
    path.write_bytes(content + b"x")
    with pytest.raises(ct.InputError):
        ct.load_sketch(path)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.sketch"
    path.write_text("1 2\n2 3\n", encoding="utf-8")
    with pytest.raises(ct.InputError, match="is not a sketch"):
        ct.load_sketch(path)
    deep = b'{"__metadata__":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    path.write_bytes(len(deep).to_bytes(8, "little") + deep)
    with pytest.raises(ct.InputError, match="is not a sketch"):
        ct.load_sketch(path)


def test_an_unfitted_sketch_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ct.InputError, match="not fitted"):
        ct.PrivateSketch().save(tmp_path / "x.sketch")

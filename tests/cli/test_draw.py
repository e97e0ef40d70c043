"""`coterie draw`: graphs from a sketch, and what happens to a sketch that is not usable."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import coterie

from coterie.anonymize.private.answers import ask
from coterie.anonymize.private.sketch_file import to_bytes
from coterie.data import Graph


@pytest.fixture(scope="module")
def sketch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    pairs = np.array([(a, b) for a in range(79) for b in range(a + 1, 80) if a // 16 == b // 16])
    kept = pairs[rng.random(len(pairs)) < 0.6]
    graph = Graph.from_edges(kept[:, 0], kept[:, 1], n_nodes=80)
    path = tmp_path_factory.mktemp("sketch") / "friends.sketch"
    path.write_bytes(to_bytes(ask(graph, np.arange(80), Fraction(2))))
    return path


def test_two_graphs_and_a_report(sketch: Path, tmp_path: Path) -> None:
    done = coterie("draw", sketch, "--draws", "2", "--seed", "4", "--out", tmp_path / "a", "--json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["draws"] == 2
    assert printed["seconds"] >= 0
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["graph-1.csv", "graph-2.csv", "report.html"]
    again = coterie("draw", sketch, "--seed", "4", "--threads", "1", "--out", tmp_path / "b")
    assert again.returncode == 0, again.stderr
    one = (tmp_path / "b" / "graph.csv").read_bytes()
    assert one == (tmp_path / "a" / "graph-1.csv").read_bytes()
    assert one.startswith(b"# nodes: 80\n")
    assert one != (tmp_path / "a" / "graph-2.csv").read_bytes()


def test_a_folder_with_files_is_refused_before_the_work(sketch: Path) -> None:
    done = coterie("draw", sketch, "--out", sketch.parent)
    assert done.returncode == 2
    assert "not empty" in done.stderr
    assert [path.name for path in sketch.parent.iterdir()] == ["friends.sketch"]


@pytest.mark.parametrize("damage", ["cut", "edited", "newer", "missing"])
def test_a_sketch_that_is_not_usable(sketch: Path, tmp_path: Path, damage: str) -> None:
    content = sketch.read_bytes()
    broken = tmp_path / "broken.sketch"
    if damage == "cut":
        broken.write_bytes(content[:-40])
    elif damage == "edited":
        broken.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    elif damage == "newer":
        assert b'\\"format\\": 2' in content or b'\\"format\\":2' in content
        newer = content.replace(b'\\"format\\": 2', b'\\"format\\": 9')
        broken.write_bytes(newer.replace(b'\\"format\\":2', b'\\"format\\":9'))
    done = coterie("draw", broken, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "broken.sketch" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()

"""The graphs of `benchmarks/description.py` and `distributed_graph.py` are what they say."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

import coterie as ct

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _benchmarks_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    for name in ("record", "cluster", "description", "distributed_graph"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_challenge_graph_has_the_ratio_of_inner_to_outer_edges() -> None:
    """Whatever the sizes of two blocks, inner pairs of ends are connected ratio (k - 1) times as
    often as outer ones, so that small blocks have fewer inner edges."""
    from description import challenge_graph

    n, k, ratio = 40_000, 6, 2.5
    graph, labels = challenge_graph(n, k, ratio, 10 / 3)
    assert 18 * n < graph.n_edges < 21 * n  # 20.4 per node are drawn, repeats are merged
    sizes = np.bincount(labels, minlength=k)
    assert sizes.max() > 2 * sizes.min()
    source, target = graph.edges()
    cells = np.zeros((k, k))
    np.add.at(cells, (labels[source], labels[target]), 0.5)
    np.add.at(cells, (labels[target], labels[source]), 0.5)
    inner = np.diag(cells)
    for a in range(k):
        for b in range(a):
            odds = inner[a] * inner[b] / cells[a, b] ** 2
            assert odds**0.5 == pytest.approx(ratio * (k - 1), rel=0.1)
    shares = inner / cells.sum(1)
    assert shares[sizes.argmin()] < shares[sizes.argmax()] - 0.1


def test_challenge_graph_degrees_follow_the_power_law() -> None:
    from description import challenge_graph

    graph, _ = challenge_graph(20_000, 32, 5.0, 10.0)
    degrees = graph.degrees
    assert degrees.min() >= 10 and degrees.max() <= 200 + 60
    assert np.median(degrees) < degrees.mean() < 41


def test_written_planted_graph_has_its_blocks(tmp_path: Path) -> None:
    from distributed_graph import write

    write(tmp_path, 3_000, 5, 20.0)
    graph = ct.read_graph(tmp_path / "edges.txt")
    truth = parquet.read_table(tmp_path / "truth.parquet").to_pydict()
    assert truth["node"] == list(range(3_000)) == graph.ids.tolist()
    labels = np.array(truth["block"])
    source, target = graph.edges()
    assert graph.n_edges == pytest.approx(30_000, rel=0.03)
    assert np.mean(labels[source] == labels[target]) == pytest.approx(0.9, abs=0.01)

"""`compare --full` and `--truth`: JSON, printed text and exit codes."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from tests.support.command_line import coterie, result_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network, a renamed copy, and who is who."""
    folder = tmp_path_factory.mktemp("compare")
    network = nx.planted_partition_graph(4, 30, 0.3, 0.02, seed=1)
    new = np.random.default_rng(0).permutation(120).tolist()
    for name, pairs in (
        ("original", network.edges),
        ("copy", [(new[u], new[v]) for u, v in network.edges]),
    ):
        lines = ["# nodes: 120", *(f"{u} {v}" for u, v in pairs)]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    rows = ["published,original", *(f"{new[v]},{v}" for v in range(120))]
    (folder / "who.csv").write_text("\n".join(rows) + "\n")
    return folder


def test_full_json(folder: Path) -> None:
    found = result_of("compare", "original.txt", "copy.txt", "--full", folder=folder)
    assert found["original"]["graphlets"] == found["published"]["graphlets"]
    assert found["original"]["communities"] == 4
    assert len(found["original"]["epidemic"]) == 3
    assert "communities" not in found  # nobody said who is who


def test_truth_compares_communities_person_by_person(folder: Path) -> None:
    found = result_of("compare", "original.txt", "copy.txt", "--truth", "who.csv", folder=folder)[
        "communities"
    ]
    assert found["agreement"] == [1.0] and found["self_agreement"] == 1.0
    assert found["foreign_modularity"] == pytest.approx([found["modularity"]])


def test_printed_tables(folder: Path) -> None:
    shown = coterie(
        "compare", "original.txt", "copy.txt", "--full", "--truth", "who.csv", folder=folder
    )
    assert shown.returncode == 0, shown.stderr
    for text in ("4-cliques", "modularity of communities", "agreement of two searches", "+0.0 %"):
        assert text in shown.stdout


def test_wrong_identity_map_is_refused(folder: Path) -> None:
    (folder / "short.csv").write_text("published,original\n0,0\n")
    done = coterie("compare", "original.txt", "copy.txt", "--truth", "short.csv", folder=folder)
    assert done.returncode == 2 and "119 nodes of the original are missing" in done.stderr

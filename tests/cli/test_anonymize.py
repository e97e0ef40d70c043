"""The commands from outside: files, JSON, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

_KEYS = {
    "nodes",
    "edges",
    "average_path_length",
    "diameter",
    "global_clustering",
    "average_local_clustering",
    "degree_mean",
    "degree_max",
    "assortativity",
    "isolates",
    "largest_component",
}


def coterie(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    import os

    environment = {**os.environ, "COTERIE_STATE": str(folder / "state")}
    command = [sys.executable, "-m", "coterie", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=folder, check=False
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    """One release by the command line."""
    folder = tmp_path_factory.mktemp("cli")
    network = nx.planted_partition_graph(5, 60, 0.2, 0.01, seed=2)
    lines = (f"n{u} n{v}" for u, v in network.edges)
    (folder / "g.txt").write_text("\n".join(lines) + "\n")
    done = coterie(
        "anonymize", "g.txt", "--blocks", 5, "--out", "out", "--research-truth", "who.csv",
        "--json", folder=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def test_anonymize_writes_a_release_and_says_so(made: tuple[Path, dict]) -> None:
    folder, result = made
    assert {"refused", "reasons", "utility", "risk", "seconds"} <= set(result)
    assert result["refused"] is False and result["reasons"] == []
    assert sorted(p.name for p in (folder / "out").iterdir()) == ["graph.csv", "report.html"]
    assert (folder / "out.private" / "audit.json").exists()


def test_compare_and_attack_take_what_anonymize_wrote(made: tuple[Path, dict]) -> None:
    folder, _ = made
    done = coterie("compare", "g.txt", "out/graph.csv", "--json", folder=folder)
    figures = json.loads(done.stdout)
    assert set(figures["original"]) >= _KEYS <= set(figures["published"])
    assert 0 <= figures["degree_ks"] < 0.1
    done = coterie(
        "attack", "g.txt", "out/graph.csv", "--truth", "who.csv", "--json", folder=folder
    )
    found = json.loads(done.stdout)
    assert set(found["controls"]) == {"naive", "deleted_10"}
    for row in (found, *found["controls"].values()):
        assert {"seeds", "correct", "wrong", "precision"} <= set(row["seeded"][0])
        assert "vertex_refinement" in row
    assert found["controls"]["naive"]["seeded"][-1]["correct"] > 200
    assert found["seeded"][-1]["correct"] < 10


def test_a_second_release_needs_another_folder(made: tuple[Path, dict]) -> None:
    folder, _ = made
    done = coterie("anonymize", "g.txt", "--blocks", 5, "--out", "out", folder=folder)
    assert done.returncode == 2
    assert "holds a release already" in done.stderr and "--overwrite" in done.stderr


def test_a_refusal_is_exit_3_and_leaves_nothing(made: tuple[Path, dict]) -> None:
    folder, _ = made
    done = coterie("anonymize", "g.txt", "--blocks", 40, "--out", "no", "--json", folder=folder)
    assert done.returncode == 3
    result = json.loads(done.stdout)
    assert result["refused"] and "40 blocks of at least 10" in result["reasons"][0]
    assert "would pass (tried)" in done.stderr
    assert not (folder / "no").exists() and not (folder / "no.private").exists()


def test_the_truth_may_not_lie_in_the_release(made: tuple[Path, dict]) -> None:
    folder, _ = made
    done = coterie(
        "anonymize", "g.txt", "--blocks", 5, "--out", "new", "--research-truth", "new/who.csv",
        folder=folder,
    )  # fmt: skip
    assert done.returncode == 2 and "folder to publish" in done.stderr
    assert not (folder / "new").exists()


def test_a_bad_policy_is_bad_input(made: tuple[Path, dict]) -> None:
    folder, _ = made
    (folder / "p.toml").write_text("[limits]\nspeed = 3\n")
    done = coterie(
        "anonymize", "g.txt", "--blocks", 5, "--out", "new", "--policy", "p.toml", folder=folder
    )
    assert done.returncode == 2 and "speed" in done.stderr and "p.toml" in done.stderr


def test_attack_with_a_truth_of_another_graph(made: tuple[Path, dict]) -> None:
    folder, _ = made
    (folder / "bad.csv").write_text("published,original\n0,nobody\n")
    done = coterie("attack", "g.txt", "out/graph.csv", "--truth", "bad.csv", folder=folder)
    assert done.returncode == 2 and "nobody" in done.stderr

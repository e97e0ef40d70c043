"""The commands about releases with attributes, directions, weights and two sides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.random import default_rng
from tests.support.command_line import coterie, result_of

N = 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of one network: edges, weights, attributes, two sides, times."""
    path = tmp_path_factory.mktemp("features")
    rng = default_rng(0)
    pairs = sorted({(int(min(a, b)), int(max(a, b))) for a, b in rng.integers(0, N, (900, 2))})
    pairs = [(a, b) for a, b in pairs if a != b] + [(a, a + 1) for a in range(N - 1)]
    pairs = sorted(set(pairs))
    weights = np.ceil(rng.pareto(1.5, len(pairs)) * 3).astype(int)
    rows = list(zip(pairs, weights, strict=True))
    _write(path / "edges.csv", "source,target", [f"{a},{b}" for a, b in pairs])
    _write(path / "weights.csv", "source,target,weight", [f"{a},{b},{w}" for (a, b), w in rows])
    _write(path / "bought.csv", "user,item", [f"u{a},i{b % 60}" for a, b in pairs])
    _write(path / "times.csv", "source,target,timestamp", [f"{a},{b},{w}" for (a, b), w in rows])
    people = [f"{i},t{i % 3},{20 + i % 40},{'yes' if i % 5 else 'no'}" for i in range(N)]
    _write(path / "people.csv", "node,team,age,ill", people)
    _write(path / "badges.csv", "node,badge", [f"{i},X{i:04d}" for i in range(N)])
    return path


def _write(path: Path, header: str, rows: list[str]) -> None:
    path.write_text("\n".join([header, *rows]) + "\n")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))


def test_attributes_are_released_compared_and_attacked(folder: Path, tmp_path: Path) -> None:
    out, truth = tmp_path / "out", tmp_path / "who.csv"
    result = result_of(
        *("anonymize", folder / "edges.csv", "--attributes", folder / "people.csv"),
        *("--sensitive", "ill", "--out", out, "--research-truth", truth, "--force"),
    )
    assert {m["name"] for m in result["features"]["measures"]} >= {"assortativity by team"}
    assert result["features"]["sensitive"][0]["column"] == "ill"
    assert (out / "nodes.csv").read_text().startswith("node,team,age,ill\n")
    page = (out / "report.html").read_text()
    assert "Directions, weights, sides and attributes" in page
    assert "how often each combination of attributes occurs in a class" in page
    tables = ("--attributes", folder / "people.csv", "--published-attributes", out / "nodes.csv")
    compared = result_of("compare", folder / "edges.csv", out / "graph.csv", *tables)
    assert {d["name"] for d in compared["features"]["distances"]} >= {"values of team"}
    attacked = result_of(
        "attack", folder / "edges.csv", out / "graph.csv", "--truth", truth, *tables
    )
    found = attacked["everything_known"]
    assert found["naive"] > 0.9 * N > 10 * found["correct"]


@pytest.mark.parametrize(
    ("objective", "file", "measure", "header"),
    [
        ("directed", "edges.csv", "share of mutual edges (reciprocity)", "source,target"),
        ("weighted", "weights.csv", "sum of the weights", "source,target,weight"),
        ("bipartite", "bought.csv", "butterflies", "source,target"),
    ],
)
def test_every_kind_is_released(
    folder: Path, tmp_path: Path, objective: str, file: str, measure: str, header: str
) -> None:
    out = tmp_path / "out"
    result = result_of(
        *("anonymize", folder / file, "--objective", objective, "--out", out, "--force")
    )
    assert measure in {m["name"] for m in result["features"]["measures"]}
    lines = (out / "graph.csv").read_text().splitlines()
    assert lines[1] == header and "." not in lines[2]
    assert (out / "nodes.csv").exists() == (objective == "bipartite")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["times.csv"], "the edges have times (column 'timestamp')"),
        (["edges.csv", "--attributes", "badges.csv"], "column 'badge' identifies people"),
        (["edges.csv", "--objective", "bipartite"], "ids are in both columns"),
        (["bought.csv", "--objective", "bipartite", "--weight", "price"], "does not read"),
        (["edges.csv", "--objective", "weighted"], "weight"),
        (["edges.csv", "--sensitive", "ill"], "give --attributes"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(
    folder: Path, tmp_path: Path, arguments: list[str], problem: str
) -> None:
    done = coterie("anonymize", *arguments, "--out", tmp_path / "out", folder=folder)
    assert done.returncode == 2, done.stderr
    assert problem in done.stderr and not (tmp_path / "out").exists()


def test_compare_needs_both_tables(folder: Path) -> None:
    edges = folder / "edges.csv"
    done = coterie("compare", edges, edges, "--attributes", folder / "people.csv")
    assert done.returncode == 2 and "--published-attributes" in done.stderr

"""`coterie anonymize --epsilon`: sketch, ledger, draw and report in one command."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import coterie

import coterie as ct
from coterie.anonymize.ledger import Ledger


@pytest.fixture(scope="module")
def friends(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network of 200 people in ten circles; person 199 has no friends."""
    rng = np.random.default_rng(0)
    pairs = [(a, b) for a in range(198) for b in range(a + 1, 199) if a // 20 == b // 20]
    kept = np.array(pairs)[rng.random(len(pairs)) < 0.6]
    path = tmp_path_factory.mktemp("data") / "friends.csv"
    ct.write_graph(ct.Graph.from_edges(kept[:, 0], kept[:, 1]), path)
    return path


def _run(friends: Path, state: Path, out: Path, *more: str) -> tuple[int, str, str]:
    done = coterie(
        *("anonymize", friends, "--epsilon", "1", "--nodes", "200", "--dataset", "friends"),
        *("--out", out, *more),
        environment={"COTERIE_STATE": str(state)},
    )
    return done.returncode, done.stdout, done.stderr


def test_release_has_sketch_graph_and_report(friends: Path, tmp_path: Path) -> None:
    state, out = tmp_path / "state", tmp_path / "public" / "release"
    code, printed, said = _run(friends, state, out, "--draws", "2", "--json")
    assert code == 0, said
    assert sorted(path.name for path in out.iterdir()) == [
        "graph-2.csv",
        "graph.csv",
        "network.sketch",
        "report.html",
    ]
    result = json.loads(printed)
    assert (result["spent"], result["cap"], result["nodes"]) == (1.0, 4.0, 200)
    assert ct.read_graph(out / "graph.csv").n_nodes == 200
    assert ct.load_sketch(out / "network.sketch").answers_.epsilon == "1"
    assert "factor of at most e^ε = 2.7" in (out / "report.html").read_text()
    entry = Ledger(state).entries("friends")[0]
    assert (entry.kind, entry.state, entry.epsilon) == ("sketch", "written", 1)
    private = Path(result["private"])
    assert out not in private.parents
    comparison = private / "comparison.json"
    assert stat.S_IMODE(comparison.stat().st_mode) == 0o600
    exact = json.loads(comparison.read_text())["draws"][0]["original"]
    assert exact["nodes"] == 200
    edges = exact["edges"]
    published = (out / "report.html").read_text()
    assert f"{edges:,}" not in published or result["edges"][0] == edges

    # A second release that would exceed the cap: nothing written, nothing spent, no folder left.
    code, _, said = _run(friends, state, tmp_path / "second", "--cap", "1.5")
    assert code == 3 and "cap" in said
    assert not (tmp_path / "second").exists()
    assert Ledger(state).spent("friends") == 1
    assert [path.name for path in private.parent.iterdir()] == ["release"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--blocks", "5"), "--blocks does not apply to a private release"),
        (("--model", "dcsbm"), "--model does not apply to a private release"),
        (("--no-rewire",), "--rewire does not apply to a private release"),
        (("--objective", "directed"), "--objective does not apply to a private release"),
        (("--attributes", "p.csv"), "--attributes does not apply to a private release"),
        (("--sensitive", "job"), "--sensitive does not apply to a private release"),
        (("--epsilon", "0"), "epsilon is 0; it must be above 0"),
        (("--nodes", "150"), "not in the node list"),
    ],
)
def test_wrong_options_cost_nothing(
    friends: Path, tmp_path: Path, more: tuple[str, ...], message: str
) -> None:
    state = tmp_path / "state"
    code, _, said = _run(friends, state, tmp_path / "release", *more)
    assert code == 2
    assert message in said
    assert not (tmp_path / "release").exists()
    assert Ledger(state).datasets() == []


@pytest.mark.parametrize("option", ["--nodes", "--cap"])
def test_private_options_need_an_epsilon(friends: Path, tmp_path: Path, option: str) -> None:
    done = coterie("anonymize", friends, option, "5", "--out", tmp_path / "release")
    assert done.returncode == 2
    assert f"{option} applies to private releases; add --epsilon E" in done.stderr


@pytest.mark.parametrize("missing", ["--nodes", "--dataset"])
def test_an_epsilon_needs_nodes_and_a_dataset(friends: Path, tmp_path: Path, missing: str) -> None:
    given = {"--nodes": "200", "--dataset": "friends", "--epsilon": "1"}
    words = [word for pair in given.items() if pair[0] != missing for word in pair]
    done = coterie("anonymize", friends, *words, "--out", tmp_path / "release")
    assert done.returncode == 2
    assert f"{missing} is required with --epsilon" in done.stderr

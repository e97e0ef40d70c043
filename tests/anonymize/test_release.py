"""A release as a whole: nothing leaks, nothing is overwritten, what is refused is not written."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from numpy.random import default_rng

import coterie as ct
from coterie.anonymize.anonymizer import Anonymizer
from coterie.anonymize.draw.dcsbm import Steps
from coterie.anonymize.output.audit import Ledger
from coterie.anonymize.output.release import Release
from coterie.anonymize.policy import Policy
from coterie.base.errors import InputError, PolicyRefusedError
from coterie.base.progress import Callback, Progress
from coterie.data import Graph
from coterie.engine import Engine, LocalEngine
from coterie.engine.background import BackgroundTask


@pytest.fixture(scope="module")
def people() -> tuple[Graph, np.ndarray]:
    """Four communities of 100 with names nobody would write by accident."""
    sizes, inside, across = [100] * 4, 0.12, 0.008
    p = np.full((4, 4), across) + np.eye(4) * (inside - across)
    network = nx.stochastic_block_model(sizes, p, seed=4)
    names = np.array([f"person-{7919 * (i + 13)}" for i in range(400)], object)
    graph = Graph.from_edges(*np.array(network.edges).T, n_nodes=400, ids=names)
    return graph, (np.arange(400) // 100).astype(np.int32)


@pytest.fixture(scope="module")
def release(people: tuple[Graph, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Release:
    graph, labels = people
    ledger = Ledger(tmp_path_factory.mktemp("state"))
    return Anonymizer(4, draws=2).release(graph, labels=labels, ledger=ledger)


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))


def _plain(summary: dict[str, Any]) -> str:
    return "<html>" + json.dumps(summary) + "</html>"


def test_a_release_is_like_the_original_and_passes(release: Release) -> None:
    assert not release.refused, release.reasons
    assert release.graph is not None and release.graph.n_nodes == 400
    assert release.utility["degree_ks"] < 0.05
    before, after = release.utility["original"], release.utility["published"]
    assert abs(after["average_path_length"] / before["average_path_length"] - 1) < 0.05
    assert abs(after["edges"] - before["edges"]) < 0.01 * before["edges"]
    assert release.risk["a1"]["smallest"] >= 10
    assert release.risk["a2"]["above_limit"] == 0
    assert release.risk["a4"]["proves_something"]
    assert len(release.risk["a4"]["averaging"]) == 2


def test_the_folder_holds_nothing_private(
    release: Release, people: tuple[Graph, np.ndarray], tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    release.write(folder)
    audit = json.loads((tmp_path / "out.private" / "audit.json").read_text())
    assert sorted(p.name for p in folder.iterdir()) == ["graph-2.csv", "graph.csv", "report.html"]
    text = "".join(p.read_text() for p in folder.iterdir())
    assert "person-" not in text
    for secret in (audit["entropy"], audit["input_sha256"], "audit.json", "entropy", str(tmp_path)):
        assert secret not in text
    lines = (folder / "graph.csv").read_text().splitlines()
    assert lines[:2] == ["# nodes: 400", "source,target"]
    assert (tmp_path / "out.private" / "audit.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "out.private").stat().st_mode & 0o077 == 0
    again = ct.read_graph(folder / "graph.csv")
    assert again.n_edges == release.graphs[0].n_edges and again.n_nodes == 400


def test_the_report_shows_no_one_persons_figure(release: Release, tmp_path: Path) -> None:
    shown = release.summary["utility"]["original"]
    exact = release.utility["original"]["degree_max"]
    assert shown["degree_max"] % 10 == 0
    tail = release.summary["profiles"]["degree"]["original"]
    assert min(tail["y"]) * 400 >= 10 - 1e-9
    assert max(tail["x"]) < exact
    json.dumps(release.summary)  # plain values only: nothing can hide in an object


def test_numbers_say_nothing_about_the_original_order(
    release: Release, people: tuple[Graph, np.ndarray]
) -> None:
    """Blocks were consecutive in the original; consecutive new ids share a block by chance only."""
    for truth in release._truths:
        block = np.empty(400, int)
        block[truth] = people[1]
        assert (block[1:] == block[:-1]).mean() < 0.4


def test_two_releases_differ_and_nobodys_seed_decides(people: tuple[Graph, np.ndarray]) -> None:
    graph, labels = people
    quick = Anonymizer(4, steps=Steps(rewire=False, calibrate=False))
    one, two = (quick.release(graph, labels=labels) for _ in range(2))
    assert not np.array_equal(one.graphs[0].indices, two.graphs[0].indices)
    assert one.record["entropy"] != two.record["entropy"]
    same = [quick.release(graph, labels=labels, _secret=default_rng(1)) for _ in range(2)]
    assert np.array_equal(same[0].graphs[0].indices, same[1].graphs[0].indices)


def test_a_release_is_never_overwritten_by_accident(release: Release, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    release.write(folder, _plain)
    before = (folder / "graph.csv").read_bytes()
    with pytest.raises(InputError, match="holds a release already"):
        release.write(folder, _plain)
    assert (folder / "graph.csv").read_bytes() == before
    release.write(folder, _plain, overwrite=True)
    kept = sorted(p.name for p in (tmp_path / "out.private").iterdir())
    assert kept == ["audit-1.json", "audit.json"]
    counts = [
        json.loads((tmp_path / "out.private" / name).read_text())["releases_of_this_input"]
        for name in kept
    ]
    assert counts == [2, 4]


def test_no_half_release_is_left_behind(release: Release, tmp_path: Path) -> None:
    def broken(summary: dict[str, Any]) -> str:
        raise RuntimeError("no page")

    with pytest.raises(RuntimeError):
        release.write(tmp_path / "out", broken)
    assert not (tmp_path / "out").exists()


def test_research_truth_is_written_apart_or_not_at_all(
    people: tuple[Graph, np.ndarray], tmp_path: Path
) -> None:
    graph, labels = people
    made = Anonymizer(4, steps=Steps(rewire=False, calibrate=False)).release(graph, labels=labels)
    folder = tmp_path / "out"
    with pytest.raises(InputError, match="folder to publish"):
        made.write(folder, _plain, research_truth=folder / "truth.csv")
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(InputError, match="folder to publish"):
        made.write(folder, _plain, research_truth=tmp_path / "link" / "truth.csv")
    assert not folder.exists()
    made.write(folder, _plain, research_truth=tmp_path / "truth.csv")
    rows = (tmp_path / "truth.csv").read_text().splitlines()
    assert rows[0] == "published,original" and len(rows) == 401
    pairs = dict(row.split(",") for row in rows[1:])
    assert sorted(pairs.values()) == sorted(graph.ids.tolist())
    v = 17
    assert pairs[str(made._truths[0][v])] == graph.ids[v]
    audit = json.loads((tmp_path / "out.private" / "audit.json").read_text())
    assert audit["research_truth"].endswith("truth.csv")
    assert not re.search(r"person-\d", json.dumps(audit))


def test_a_strict_policy_refuses_in_words_and_force_is_recorded(
    people: tuple[Graph, np.ndarray], tmp_path: Path
) -> None:
    graph, labels = people
    strict = Anonymizer(
        4, policy=Policy(min_class_size=60), steps=Steps(rewire=False, calibrate=False)
    )
    made = strict.release(graph, labels=labels)
    assert made.refused and "the policy asks for 60" in made.reasons[0]
    with pytest.raises(PolicyRefusedError):
        made.write(tmp_path / "out", _plain)
    assert list(tmp_path.iterdir()) == []
    made.write(tmp_path / "out", force=True)
    audit = json.loads((tmp_path / "out.private" / "audit.json").read_text())
    assert audit["forced"] is True and audit["refused"] is True
    assert "forced" in (tmp_path / "out" / "report.html").read_text()


def test_advice_was_tried(people: tuple[Graph, np.ndarray]) -> None:
    graph, _ = people
    made = Anonymizer(50, infer_edges=False).release(graph)  # 50 blocks of 10: 500 people
    assert made.refused and made.graph is None
    assert made.reasons == ["50 blocks of at least 10 people need 500, the graph has 400"]
    (hint,) = made.advice
    blocks = int(re.fullmatch(r"--blocks (\d+) would pass \(tried\)", hint).group(1))
    assert not Anonymizer(blocks, infer_edges=False).release(graph).refused


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (Graph.from_edges([0, 1], [1, 2]), "too small to hide anybody"),
        (Graph.from_edges([], [], n_nodes=50), "no edge"),
        (Graph.from_edges(*np.triu_indices(40, 1), n_nodes=40), "A2"),
    ],
)
def test_what_cannot_be_hidden_is_refused(graph: Graph, words: str) -> None:
    made = Anonymizer(2, infer_edges=False).release(graph)
    assert made.refused and words in made.reasons[0]


@pytest.mark.parametrize("kind", ["directed", "weighted"])
def test_other_kinds_of_graphs_are_refused_clearly(kind: str) -> None:
    weights = [1.0, 2.0] if kind == "weighted" else None
    graph = Graph.from_edges([0, 1], [1, 2], weights=weights, directed=kind == "directed")
    with pytest.raises(InputError, match=kind):
        Anonymizer(1).release(graph)


@pytest.mark.parametrize("model", ["sbm", "exact-counts"])
def test_the_papers_models_draw_their_counts(people: tuple[Graph, np.ndarray], model: str) -> None:
    graph, labels = people
    made = Anonymizer(4, model=model).release(graph, labels=labels)
    assert not made.refused
    edges = made.utility["published"]["edges"]
    assert (edges == graph.n_edges) == (model == "exact-counts")
    assert abs(edges - graph.n_edges) < 0.15 * graph.n_edges


def test_a_third_release_can_be_forbidden(people: tuple[Graph, np.ndarray], tmp_path: Path) -> None:
    graph, labels = people
    twice = Anonymizer(4, policy=Policy(releases=2), steps=Steps(rewire=False, calibrate=False))
    for i in range(2):
        twice.release(graph, labels=labels).write(tmp_path / f"out{i}", _plain)
    third = twice.release(graph, labels=labels)
    assert third.refused and "release number 3" in third.reasons[0]


def test_figures_do_not_depend_on_threads(people: tuple[Graph, np.ndarray]) -> None:
    """With two threads A3 and the controls run beside the draw, and come out the same."""
    graph, _ = people
    one, two = (
        Anonymizer(4).release(graph, engine=LocalEngine(n), _secret=default_rng(7)) for n in (1, 2)
    )
    assert one.risk["a3"] is not None
    assert (one.risk, one.utility) == (two.risk, two.utility)
    assert np.array_equal(one.graphs[0].indices, two.graphs[0].indices)


def test_work_beside_ends_with_the_release() -> None:
    begun, ended = threading.Event(), threading.Event()

    def endless(engine: Engine, callback: Callback) -> None:
        try:
            while True:
                begun.set()
                callback(Progress("beside", 0))
        finally:
            ended.set()

    with BackgroundTask(endless, LocalEngine(2)):
        assert begun.wait(timeout=30)
    assert ended.wait(timeout=30)


@pytest.mark.parametrize("threads", [1, 2])
def test_what_fails_beside_fails_the_release(threads: int) -> None:
    def broken(engine: Engine, callback: Callback) -> int:
        return 1 // (engine.threads - 1)

    with BackgroundTask(broken, LocalEngine(threads)) as answer, pytest.raises(ZeroDivisionError):
        answer.result()

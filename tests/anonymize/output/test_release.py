"""Writing a release: nothing private, nothing overwritten, nothing that is refused."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from numpy.random import SeedSequence

import coterie as ct
from coterie.anonymize.anonymizer import Anonymizer
from coterie.anonymize.draw.dcsbm import Steps
from coterie.anonymize.ledger import Ledger
from coterie.anonymize.output.public_summary import PublicSummary
from coterie.anonymize.output.release import Release
from coterie.anonymize.policy import Policy
from coterie.base.errors import InputError, PolicyRefusedError
from coterie.base.json_values import json_value
from coterie.data import Graph

QUICK = Steps(rewire=False)


@pytest.fixture(scope="module")
def people() -> tuple[Graph, np.ndarray]:
    """Four communities of 100, with names that nobody would write by accident."""
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
    return Anonymizer(4, draws=2, steps=QUICK)._release_from(
        SeedSequence(88172645463325252), graph, labels=labels, ledger=ledger
    )


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))


def _page(summary: PublicSummary) -> str:
    return "<html>" + json.dumps(json_value(summary)) + "</html>"


def test_the_folder_contains_nothing_private(release: Release, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    release.write(folder)
    private = release.private_folder(folder)
    audit = json.loads((private / "audit.json").read_text())
    assert sorted(p.name for p in folder.iterdir()) == ["graph-2.csv", "graph.csv", "report.html"]
    text = "".join(p.read_text() for p in folder.iterdir())
    assert "person-" not in text
    for secret in (audit["entropy"], audit["input_sha256"], "audit.json", "entropy", str(tmp_path)):
        assert secret not in text
    lines = (folder / "graph.csv").read_text().splitlines()
    assert lines[:2] == ["# nodes: 400", "source,target"]
    assert {p.stat().st_mode & 0o777 for p in private.iterdir()} == {0o600}
    assert private.stat().st_mode & 0o777 == 0o700
    again = ct.read_graph(folder / "graph.csv")
    assert again.n_edges == release.graphs[0].n_edges and again.n_nodes == 400


def test_the_summary_has_no_figure_of_a_single_person(release: Release) -> None:
    assert release.utility is not None
    assert release.summary.utility is not None
    largest = release.summary.utility.measure("degree_max")
    assert largest is not None and largest.original is None
    tail = release.summary.profiles["degree"].original
    assert min(tail.y) * 400 >= 10
    assert max(tail.x) < release.utility.original.degree_max
    json.dumps(json_value(release.summary, exact=True))  # plain values only


def test_a_release_is_not_overwritten_by_accident(release: Release, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    release.write(folder, _page)
    before = (folder / "graph.csv").read_bytes()
    with pytest.raises(InputError, match="already contains a release"):
        release.write(folder, _page)
    assert (folder / "graph.csv").read_bytes() == before
    release.write(folder, _page, overwrite=True)
    private = release.private_folder(folder)
    audits = sorted(p.name for p in private.glob("audit*"))
    assert audits == ["audit-1.json", "audit.json"]
    counts = [json.loads((private / name).read_text())["releases"] for name in audits]
    assert counts[1] - counts[0] == 2


def test_a_file_or_a_folder_with_other_files_is_not_written_into(
    release: Release, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="a file, not a folder"):
        release.write(tmp_path / "file", _page)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("")
    with pytest.raises(InputError, match=r"not from a release: notes\.txt; they are never"):
        release.write(tmp_path / "full", _page)


def test_unknown_format_is_rejected(release: Release, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown format 'xls'"):
        release.write(tmp_path / "out", _page, format="xls")


def test_an_error_leaves_no_partial_release(release: Release, tmp_path: Path) -> None:
    def broken(summary: PublicSummary) -> str:
        raise RuntimeError("no page")

    with pytest.raises(RuntimeError):
        release.write(tmp_path / "out", broken)
    assert not (tmp_path / "out").exists()


def test_the_identity_map_is_never_written_into_the_folder(
    people: tuple[Graph, np.ndarray], tmp_path: Path
) -> None:
    graph, labels = people
    made = Anonymizer(4, steps=QUICK)._release_from(SeedSequence(3), graph, labels=labels)
    folder = tmp_path / "out"
    with pytest.raises(InputError, match="folder to publish"):
        made.write(folder, _page, research_truth=folder / "truth.csv")
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(InputError, match="folder to publish"):
        made.write(folder, _page, research_truth=tmp_path / "link" / "truth.csv")
    assert not folder.exists()
    made.write(folder, _page, research_truth=tmp_path / "truth.csv")
    rows = (tmp_path / "truth.csv").read_text().splitlines()
    assert rows[0] == "published,original" and len(rows) == 401
    pairs = dict(row.split(",") for row in rows[1:])
    assert sorted(pairs.values()) == sorted(graph.ids.tolist())
    assert pairs[str(made.identity_maps[0].identity[17])] == graph.ids[17]
    audit = json.loads((made.private_folder(folder) / "audit.json").read_text())
    assert audit["research_truth"].endswith("truth.csv")
    assert not re.search(r"person-\d", json.dumps(audit))


def test_the_identity_map_is_written_for_a_single_draw_only(
    release: Release, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="set `draws=1`"):
        release.write(tmp_path / "out", _page, research_truth=tmp_path / "truth.csv")


def test_a_refused_release_is_written_only_with_force_which_is_recorded(
    people: tuple[Graph, np.ndarray], tmp_path: Path
) -> None:
    graph, labels = people
    strict = Anonymizer(4, policy=Policy(min_class_size=60), steps=QUICK)
    made = strict.release(graph, labels=labels)
    assert made.refused and "the policy requires 60" in made.reasons[0]
    with pytest.raises(PolicyRefusedError):
        made.write(tmp_path / "out", _page)
    assert list(tmp_path.iterdir()) == []
    made.write(tmp_path / "out", force=True)
    audit = json.loads((made.private_folder(tmp_path / "out") / "audit.json").read_text())
    assert audit["forced"] is True and audit["refused"] is True
    assert "forced" in (tmp_path / "out" / "report.html").read_text()


def test_a_release_without_graphs_cannot_be_forced(tmp_path: Path) -> None:
    nothing = Anonymizer(2).release(Graph.from_edges([0], [1]))
    with pytest.raises(PolicyRefusedError, match="too small"):
        nothing.write(tmp_path / "out", force=True)


def test_a_release_prints_one_line_and_nothing_of_the_original(release: Release) -> None:
    shown = repr(release)
    assert len(shown) < 100 and "\n" not in shown
    assert release.utility is not None and release.risk is not None
    for part in (
        release.utility,
        release.utility.communities,
        release.risk,
        release.risk.attacks,
        release.record,
        release.owner_summary,
        release.decision,
    ):
        assert len(repr(part)) < 100 and not re.search(r"\d", repr(part))
    assert all(len(repr(each)) < 100 for each in release.identity_maps)


def test_a_notebook_shows_the_public_summary_only(release: Release) -> None:
    html = release._repr_html_()
    assert html is not None and "nodes" in html
    assert html == replace(release, utility=None, risk=None, record=None)._repr_html_()


def test_a_release_and_its_parts_can_be_pickled(release: Release) -> None:
    again = pickle.loads(pickle.dumps(release))
    assert repr(again) == repr(release) and again.summary == release.summary
    for part in (release.utility, release.risk, release.decision, release.summary):
        assert pickle.loads(pickle.dumps(part)) == part

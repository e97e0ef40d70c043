"""What is published: nothing about a person but the class, nothing about the owner."""

from __future__ import annotations

import getpass
import json
import platform
import socket
from datetime import UTC, datetime
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.random import SeedSequence, default_rng

from coterie.anonymize.anonymizer import Anonymizer
from coterie.anonymize.draw.dcsbm import StubModel
from coterie.anonymize.ledger import Ledger
from coterie.anonymize.output import release_folder
from coterie.anonymize.output.release import Release
from coterie.anonymize.output.release_folder import FORMATS
from coterie.base.errors import InputError
from coterie.data import Graph

_PEOPLE = 300
_ENTROPY = 88172645463325252  # long, so that it cannot appear in a file by accident


@pytest.fixture(scope="module")
def mail() -> tuple[Graph, np.ndarray]:
    """Three departments that exchange mail; ids are sorted by department and degree."""
    network = nx.stochastic_block_model([100] * 3, np.full((3, 3), 0.01) + 0.12 * np.eye(3), seed=6)
    order = sorted(network, key=lambda v: (v // 100, -network.degree[v]))
    place = {v: i for i, v in enumerate(order)}
    edges = np.array([(place[u], place[v]) for u, v in network.edges])
    names = np.array([f"{i:03d}.worker@example.org" for i in range(_PEOPLE)], object)
    graph = Graph.from_edges(*edges.T, n_nodes=_PEOPLE, ids=names)
    return graph, (np.arange(_PEOPLE) // 100).astype(np.int32)


@pytest.fixture(scope="module")
def release(mail: tuple[Graph, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Release:
    graph, labels = mail
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COTERIE_STATE", str(tmp_path_factory.mktemp("state")))
        return Anonymizer(3)._release_from(SeedSequence(_ENTROPY), graph, labels=labels)


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))


def test_swapping_members_of_a_class_changes_nothing(
    mail: tuple[Graph, np.ndarray],
) -> None:
    """The theorem behind A1: if members of a class swap places, the same random numbers draw the
    same graph, bit for bit."""
    graph, labels = mail

    def model(of: Graph) -> StubModel:
        return StubModel.fit(of, labels, min_size=10, limit=0.85)

    first = model(graph)
    places = np.arange(_PEOPLE)
    for c in range(first.classes.n_classes):
        members = np.flatnonzero(first.classes.label == c)
        places[members] = default_rng(c).permutation(members)
    source, target = graph.edges()
    moved = Graph.from_edges(places[source], places[target], n_nodes=_PEOPLE)
    assert (moved.degrees != graph.degrees).mean() > 0.5
    second = model(moved)
    assert np.array_equal(first.classes.label, second.classes.label)
    drawn, again = (m.draw(default_rng(4)) for m in (first, second))
    assert np.array_equal(drawn.indptr, again.indptr)
    assert np.array_equal(drawn.indices, again.indices)


def test_new_ids_do_not_follow_the_old_order(
    release: Release, mail: tuple[Graph, np.ndarray]
) -> None:
    """The original is sorted by department and degree: new ids and rows follow neither."""
    graph, _ = mail
    published = release.graphs[0]
    old_place = np.argsort(release.identity_maps[0].identity)
    for order in (old_place, published.degrees, graph.degrees[old_place]):
        assert abs(np.corrcoef(np.arange(_PEOPLE), order)[0, 1]) < 0.2
    source, target = published.edges()
    rows = source.astype(np.int64) * _PEOPLE + target
    assert (source < target).all() and (np.diff(rows) > 0).all()  # sorted by the new ids


@pytest.mark.parametrize("format", FORMATS)
def test_published_files_contain_nothing_about_the_owner(
    release: Release,
    mail: tuple[Graph, np.ndarray],
    tmp_path: Path,
    format: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = "computer-of-the-owner"  # a short real name could be in compressed bytes by chance
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    monkeypatch.setattr(platform, "node", lambda: host)
    made = tmp_path / "to-publish"
    release.write(made, format=format)
    audit = json.loads((release.private_folder(made) / "audit.json").read_text())
    assert sorted(p.name for p in made.iterdir()) == [f"graph.{format}", "report.html"]
    today = datetime.now(UTC)
    private = [
        "worker",
        "example.org",
        str(tmp_path),
        audit["entropy"],
        audit["input_sha256"],
        "sha256",
        "audit.json",
        "seed=",
        today.strftime("%Y-%m-%d"),
        today.strftime("%H:%M:%S"),
        host,
        f"/{getpass.getuser()}/",
    ]
    for file in made.iterdir():
        text = file.read_bytes().decode("latin-1")
        assert [word for word in private if word in text] == []
        assert file.stat().st_mode & 0o111 == 0
    if format == "parquet":
        notes = pq.read_schema(made / "graph.parquet").metadata
        assert notes == {b"coterie": f'{{"nodes": {_PEOPLE}}}'.encode()}


def test_the_summary_rounds_the_figures_of_the_original(release: Release) -> None:
    """Exact figures of everyone, and of everyone but one, would disclose that one."""
    assert release.utility is not None
    assert release.summary.utility is not None
    exact = release.utility.original
    for key in ("average_path_length", "assortativity", "global_clustering"):
        shown = release.summary.utility.measure(key)
        assert shown is not None and shown.original is not None and shown.error > 0
        assert abs(shown.original - getattr(exact, key)) <= shown.error
    for key in ("degree_max", "diameter", "core_max"):  # figures of single people
        shown = release.summary.utility.measure(key)
        assert shown is not None and shown.original is None
    for curve in ("distance", "spectrum", "clustering", "degree"):
        for y in release.summary.profiles[curve].original.y:
            assert y == float(f"{y:.3g}")


def test_only_the_owner_can_read_the_identity_map(
    release: Release, mail: tuple[Graph, np.ndarray], tmp_path: Path
) -> None:
    release.write(tmp_path / "out", research_truth=tmp_path / "who.csv")
    assert (tmp_path / "who.csv").stat().st_mode & 0o077 == 0


def test_a_full_disk_leaves_no_graph_and_no_audit_and_stays_counted(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(graph: Graph, path: Path, **_: object) -> None:
        raise InputError("no space left on device", path=path)

    monkeypatch.setattr(release_folder, "write_graph", full)
    with pytest.raises(InputError, match="no space"):
        release.write(tmp_path / "out", ledger=Ledger(tmp_path / "state"))
    assert [p.name for p in tmp_path.iterdir()] == ["state"]
    assert [p.name for p in (tmp_path / "state").iterdir()] == ["ledger"]
    (entry,) = Ledger(tmp_path / "state").entries("unnamed")
    assert entry.state == "failed" and entry.counted

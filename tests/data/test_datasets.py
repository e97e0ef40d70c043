"""The registry: found where they lie, checked by their counts, or a message that helps."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from coterie.base.errors import InputError
from coterie.cli.datasets import app
from coterie.data import Graph, Ratings, datasets
from coterie.data.readers import read_graph, read_ratings


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No data folder, an empty cache, no network."""
    monkeypatch.delenv("COTERIE_DATA", raising=False)
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))

    def no_network(*arguments, **options):
        raise ConnectionError("no network")

    monkeypatch.setattr("pooch.retrieve", no_network)
    return tmp_path / "cache"


@pytest.mark.parametrize("name", ["ca-astroph", "as-caida"])
def test_graphs_of_the_paper_have_the_published_counts(data_dir, name):
    path = datasets.path(name)
    assert path.parent == data_dir
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        graph = read_graph(path)
    counts = datasets.find(name).counts
    assert (graph.n_nodes, graph.n_edges) == (counts["nodes"], counts["edges"])
    remarks = [str(w.message) for w in said]
    if name == "ca-astroph":
        assert graph.cleaned.self_loops == 60
        assert (graph.degrees == 0).sum() == 1  # the node that has only a self-loop
        assert len(remarks) == 1 and "60 self-loops dropped" in remarks[0]
    else:
        assert graph.cleaned.reciprocal == 53_381
        assert len(remarks) == 2 and "column 3 was not read" in remarks[0]


def test_movielens_has_the_published_counts(data_dir):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ratings = read_ratings(datasets.path("ml-100k"))
    assert (ratings.n_users, ratings.n_items, len(ratings)) == (943, 1682, 100_000)
    assert ratings.values.tolist() == [1, 2, 3, 4, 5]
    assert ratings.timestamps.dtype == np.int64
    assert "Toy Story" in datasets.titles("ml-100k").read_text("latin-1")
    assert isinstance(datasets.load("ml-100k"), Ratings)


def test_karate_comes_with_the_package(nowhere):
    networkx = pytest.importorskip("networkx")
    graph = datasets.load("karate")
    assert isinstance(graph, Graph)
    assert (graph.n_nodes, graph.n_edges) == (34, 78)
    ours = set(zip(*(ends.tolist() for ends in graph.edges()), strict=True))
    assert ours == {tuple(sorted(edge)) for edge in networkx.karate_club_graph().edges}
    assert datasets.path("karate", fetch=False).is_relative_to(Path(datasets.__file__).parent)
    assert datasets.titles("karate") is None


@pytest.mark.parametrize("name", ["ca-astroph", "as-caida", "ml-100k"])
def test_failed_download_says_where_to_put_the_file(nowhere, name):
    entry = datasets.find(name)
    with pytest.raises(InputError, match="could not be downloaded") as caught:
        datasets.path(name)
    for word in (entry.address, entry.files[0], str(nowhere)):
        assert word in str(caught.value)
    with pytest.raises(InputError, match=f"datasets get {name}"):
        datasets.path(name, fetch=False)


def test_downloaded_file_is_kept_in_the_cache(nowhere, monkeypatch, data_dir):
    original = data_dir / "ca-AstroPh.txt.gz"

    def fetch(address, known_hash, fname, path, **options):
        assert address == datasets.find("ca-astroph").address
        assert known_hash is None
        path.mkdir(parents=True, exist_ok=True)
        (path / fname).write_bytes(original.read_bytes())
        return str(path / fname)

    monkeypatch.setattr("pooch.retrieve", fetch)
    with pytest.warns(UserWarning, match="no checksum"):
        assert datasets.path("ca-astroph") == nowhere / "ca-AstroPh.txt.gz"
    monkeypatch.setattr("pooch.retrieve", None)  # the second time, the file is there
    assert datasets.path("ca-astroph").exists()


def test_wrong_file_is_rejected(nowhere, monkeypatch):
    monkeypatch.setenv("COTERIE_DATA", str(nowhere))
    nowhere.mkdir()
    (nowhere / "ca-AstroPh.txt").write_text("1 2\n")
    with pytest.raises(InputError, match="this is not ca-astroph"):
        datasets.path("ca-astroph")


def test_datasets_commands(nowhere):
    run = CliRunner().invoke
    listed = run(app, ["list", "--json"])
    rows = {row["name"]: row for row in json.loads(listed.stdout)["datasets"]}
    assert set(rows) == set(datasets.REGISTRY)
    assert rows["ml-100k"]["checksum_verified"] is False
    assert "not verified" in run(app, ["list"]).stdout
    found = run(app, ["path", "karate"])
    assert found.stdout.strip() == str(datasets.path("karate"))
    assert json.loads(run(app, ["get", "karate", "--json"]).stdout)["counts"]["edges"] == 78
    assert run(app, ["path", "ca-astroph"]).exit_code == 2
    assert run(app, ["path", "nothing"]).exit_code == 2

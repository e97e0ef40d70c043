"""The reproduction on small generated data: files, JSON, page and verdicts."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.reproduce.graph_runs import entropy_of
from benchmarks.reproduce.outcome import FAILS, HOLDS, REMARK, judge
from benchmarks.reproduce.rating_runs import split
from benchmarks.reproduce.settings import Setting
from benchmarks.reproduce.textbook_mmsbm import TextbookMMSBM
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference
from tests.support import fitted_stand_ins as stand_ins

from benchmarks.reproduce import NAMES, reproduce
from coterie.base.errors import InputError
from coterie.data import Graph, Ratings
from coterie.data.generators import planted_partition
from coterie.engine import LocalEngine


@pytest.fixture(scope="module")
def setting() -> Setting:
    """A quick run on small generated data."""
    given = Setting(budget=0.2, quick=True, engine=LocalEngine(1))
    given.__dict__["ratings"] = stand_ins.ratings(6000)
    given.__dict__["graphs"] = {
        "CAIDA": planted_partition(900, 9, mean_degree=8, rng=1)[0],
        "astro-ph": planted_partition(700, 7, mean_degree=14, rng=2)[0],
    }
    return given


@pytest.fixture(scope="module")
def folder(setting: Setting, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    path = tmp_path_factory.mktemp("reproduced")
    return path, reproduce("all", setting, path).as_dict()


def test_every_experiment_writes_rows_and_figures(folder: tuple[Path, Any]) -> None:
    path, result = folder
    assert set(result["results"]) == set(NAMES)
    for name in NAMES:
        with open(path / f"{name}.csv", encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) > 1, name
        if name.startswith("fig"):
            pictures = sorted(path.glob(f"{name}-*.svg"))
            assert pictures, name
            assert all('xmlns="http://www.w3.org/2000/svg"' in p.read_text() for p in pictures)


def test_results_file_equals_the_returned_results(folder: tuple[Path, Any]) -> None:
    path, result = folder
    stored = json.loads((path / "results.json").read_text())
    assert [c["text"] for c in stored["claims"]] == [c["text"] for c in result["claims"]]
    assert {c["verdict"] for c in stored["claims"]} <= {HOLDS, FAILS, REMARK}
    assert all(any(ch.isdigit() for ch in c["numbers"]) for c in stored["claims"])
    assert stored["hardware"]["cores"] >= 1


def test_tables_show_the_numbers_of_the_paper_and_of_this_run(folder: tuple[Path, Any]) -> None:
    _, result = folder
    rows = {row["method"]: row for row in result["results"]["table2"]["tables"][0]}
    assert rows["MMSBM"]["S, paper"] == "93,876.4"
    assert rows["MCMMSBM s=30"]["RMSE, paper"] == "0.9510"
    assert 0.3 < float(rows["MMSBM"]["RMSE, here"]) < 3
    hard = result["results"]["table3"]["tables"][0][0]
    assert hard["seconds, paper"] == 2 and hard["RMSE, paper"] == "0.9713"


def test_page_shows_every_claim(folder: tuple[Path, Any]) -> None:
    path, result = folder
    html = (path / "index.html").read_text()
    assert "Reproducing" in html and "Figure 10: degree distribution" in html
    assert "cl:" not in html
    assert len(html) < 1_000_000
    assert html.count('<span class="holds">') + html.count('<span class="fails">') + html.count(
        '<span class="remark">'
    ) == len(result["claims"])


def test_unknown_names_are_rejected(setting: Setting, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fig4"):
        reproduce("fig99", setting, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("holds", "in_part", "verdict"),
    [(True, False, HOLDS), (True, True, REMARK), (False, True, FAILS), (False, False, FAILS)],
)
def test_verdicts_follow_the_numbers(holds: bool, in_part: bool, verdict: str) -> None:
    assert judge("a claim", holds, "1 of 2", in_part=in_part).verdict == verdict


def test_folds_equal_those_of_recommend_evaluate() -> None:
    ratings = stand_ins.ratings(1000)
    seen = []
    for fold in range(5):
        train, test = split(ratings, fold, 7)
        assert len(train) + len(test) == len(ratings)
        seen += list(zip(test.users.tolist(), test.items.tolist(), strict=True))
    assert len(set(seen)) == len(ratings)
    rows = np.array_split(np.random.default_rng(7).permutation(len(ratings)), 5)[0]
    assert np.array_equal(split(ratings, 0, 7)[1].users, ratings.users[rows])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 12), st.integers(1, 5))
def test_entropy_of_labels_equals_the_reference(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    graph = Graph.from_edges(rng.integers(0, n, 20), rng.integers(0, n, 20), n_nodes=n)
    labels = rng.integers(0, k, n).astype(np.int32)
    pairs = list(zip(*(side.tolist() for side in graph.edges()), strict=True))
    expected = reference.entropy_simple(pairs, labels.tolist(), k)
    assert entropy_of(graph, labels) == pytest.approx(expected, rel=1e-12, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_textbook_iteration_equals_the_reference(seed: int, groups: int) -> None:
    rng = np.random.default_rng(seed)
    ratings = Ratings.from_arrays(
        rng.integers(0, 5, 30), rng.integers(0, 6, 30), rng.integers(1, 4, 30), merge=False
    )
    engine = LocalEngine(1)
    one, two = (TextbookMMSBM(groups, max_iter=i, rng=seed).fit(ratings, engine) for i in (1, 2))
    observed = list(
        zip(ratings.users.tolist(), ratings.items.tolist(), ratings.codes.tolist(), strict=True)
    )
    state = (one.user_memberships_, one.item_memberships_, one.theta_)
    expected = reference.mmsbm_iteration(observed, *state)
    for found, wanted in zip(
        (two.user_memberships_, two.item_memberships_, two.theta_), expected, strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-13)
    assert two.history_[1].entropy == pytest.approx(reference.mmsbm_entropy(observed, *state))

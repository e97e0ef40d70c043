"""Models give the same bits on threads, on a Dask cluster and on shards."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from coterie.base.errors import InputError
from coterie.base.progress import Progress
from coterie.cli.recommend import app as recommend
from coterie.data.generators import mmsbm_ratings, planted_partition
from coterie.data.graph import Graph
from coterie.data.writers import write_graph, write_ratings
from coterie.engine import EngineError, LocalEngine
from coterie.engine.dask import DaskEngine
from coterie.engine.sharded_data import open_shards
from coterie.engine.sharding import shard_graph, shard_ratings
from coterie.models.additive.estimator import AdditiveBlockModel
from coterie.models.hard.block_model import BlockModel
from coterie.models.hard.costs import make_objective
from coterie.models.hard.costs.worker_rows import WorkerRows, row_block
from coterie.models.hard.k_means import GeneralizedKMeans
from coterie.models.soft.mmsbm import MCMMSBM, MMSBM


@pytest.fixture(scope="module")
def dask() -> Iterator[DaskEngine]:
    with DaskEngine(workers=2) as engine:
        yield engine


def graph_of(kind: str) -> Graph:
    graph, _ = planted_partition(150, 4, mean_degree=9, directed=kind == "directed", rng=2)
    if kind != "weighted":
        return graph
    source, target = graph.edges()
    weights = np.random.default_rng(0).integers(1, 5, len(source))
    return Graph.from_edges(source, target, weights=weights, n_nodes=150)


KINDS = ["simple", "degree-corrected", "directed", "weighted"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("score", ["exact", "fixed"])
def test_sharded_objective_equals_the_local_one_for_any_cuts(kind: str, score: str) -> None:
    whole = make_objective(kind, graph_of(kind), score)
    rng = np.random.default_rng(1)
    cuts = np.array([0, 1, 40, 41, 110, 150])
    engine = LocalEngine(1)
    blocks = [row_block(whole.sides[0], a, b) for a, b in pairwise(cuts)]
    parts = whole.with_rows_on(WorkerRows((blocks,), (cuts,), engine), here=False)
    labels = (rng.integers(0, 5, 150, dtype=np.int32),)
    states = [objective.start(labels, (5,)) for objective in (whole, parts)]
    for _ in range(4):
        batch = np.sort(rng.choice(150, 60, replace=False))
        plans = []
        for objective, state in zip((whole, parts), states, strict=True):
            objective.prepare(state, 0, engine)
            plans.append(objective.plan_moves(state, 0, batch, engine))
            objective.apply(state, 0, batch, plans[-1].wanted, 20)
        assert np.array_equal(plans[0].wanted, plans[1].wanted)
        assert np.array_equal(plans[0].gains, plans[1].gains)
        for a, b in zip(
            states[0].counts + states[0].sizes, states[1].counts + states[1].sizes, strict=True
        ):
            assert np.array_equal(a, b)
        assert np.array_equal(states[0].labels[0], states[1].labels[0])
    with pytest.raises(InputError, match="whole graph on one machine"):
        parts.sweep(states[1], 0, np.arange(150))


def test_hard_clustering_on_dask_equals_local(dask: DaskEngine) -> None:
    graph = graph_of("simple")
    here = GeneralizedKMeans(4, search="paper", max_iter=25, rng=3).fit(graph)
    there = GeneralizedKMeans(4, search="paper", max_iter=25, rng=3).fit(graph, engine=dask)
    assert np.array_equal(here.labels_, there.labels_)
    assert here.entropy_ == there.entropy_
    assert [h.entropy for h in here.history_] == [h.entropy for h in there.history_]
    assert here.locally_optimal_ == there.locally_optimal_


def test_hard_clustering_of_ratings_on_dask_equals_local(dask: DaskEngine) -> None:
    ratings, _ = mmsbm_ratings(60, 40, 900, (3, 3), rng=1)
    here, there = (
        GeneralizedKMeans((3, 4), search="paper", objective="ratings", max_iter=15).fit(
            ratings, engine=engine
        )
        for engine in ("local", dask)
    )
    assert np.array_equal(here.labels_[0], there.labels_[0])
    assert np.array_equal(here.labels_[1], there.labels_[1])


def test_killed_worker_does_not_change_the_result(dask: DaskEngine) -> None:
    graph = graph_of("simple")
    here = GeneralizedKMeans(4, search="paper", max_iter=12, tol=0, rng=3).fit(graph)

    def kill(progress: object) -> None:
        if getattr(progress, "stage", "") == "fit" and getattr(progress, "done", 0) == 5:
            os.kill(next(iter(dask._client.run(os.getpid).values())), signal.SIGKILL)

    there = GeneralizedKMeans(4, search="paper", max_iter=12, tol=0, rng=3).fit(
        graph, engine=dask, callback=kill
    )
    assert np.array_equal(here.labels_, there.labels_)


@pytest.mark.parametrize("kind", KINDS)
def test_hard_clustering_of_shards_equals_that_of_the_graph(kind: str, tmp_path: Path) -> None:
    graph = graph_of(kind)
    write_graph(graph, tmp_path / "g.csv")
    options = {"directed": kind == "directed", "weighted": kind == "weighted"}
    shard_graph(tmp_path / "g.csv", tmp_path / "shards", shards=3, **options)
    model = GeneralizedKMeans(4, search="paper", objective=kind, max_iter=15, rng=1)
    whole = model.fit(graph).labels_
    entropy = model.entropy_
    assert np.array_equal(model.fit(open_shards(tmp_path / "shards")).labels_, whole)
    assert model.entropy_ == pytest.approx(entropy, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_best_search_of_shards_on_dask_equals_that_of_the_graph(
    kind: str, dask: DaskEngine, tmp_path: Path
) -> None:
    graph = graph_of(kind)
    write_graph(graph, tmp_path / "g.csv")
    options = {"directed": kind == "directed", "weighted": kind == "weighted"}
    shard_graph(tmp_path / "g.csv", tmp_path / "shards", shards=3, **options)
    shards = open_shards(tmp_path / "shards")
    model = GeneralizedKMeans(4, objective=kind, max_iter=5, rng=1)
    expected = model.fit(graph, engine=LocalEngine(1))
    labels, entropies = expected.labels_, [h.entropy for h in expected.history_]
    for data, engine in [(shards, "local"), (shards, dask), (graph, dask)]:
        found = GeneralizedKMeans(4, objective=kind, max_iter=5, rng=1).fit(data, engine=engine)
        assert np.array_equal(found.labels_, labels)
        assert [h.entropy for h in found.history_] == entropies
        assert found.locally_optimal_


def test_best_search_on_dask_lets_the_workers_plan(
    dask: DaskEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = []
    plan = WorkerRows.plan_moves
    monkeypatch.setattr(
        WorkerRows,
        "plan_moves",
        lambda *a, **named: planned.append(len(a[4])) or plan(*a, **named),
    )
    GeneralizedKMeans(4, max_iter=2, rng=1).fit(graph_of("simple"), engine=dask)
    assert 150 in planned  # the check of the result plans all nodes at once


def test_best_search_of_ratings_on_dask_equals_local(dask: DaskEngine) -> None:
    ratings, _ = mmsbm_ratings(60, 40, 900, (3, 3), rng=1)
    here, there = (
        GeneralizedKMeans((3, 4), objective="ratings", max_iter=4).fit(ratings, engine=engine)
        for engine in ("local", dask)
    )
    assert np.array_equal(here.labels_[0], there.labels_[0])
    assert np.array_equal(here.labels_[1], there.labels_[1])


def test_best_search_survives_a_killed_worker(dask: DaskEngine) -> None:
    graph = graph_of("simple")
    here = GeneralizedKMeans(4, max_iter=6, rng=3).fit(graph)

    def kill(progress: object) -> None:
        if getattr(progress, "stage", "") == "fit" and getattr(progress, "done", 0) == 2:
            os.kill(next(iter(dask._client.run(os.getpid).values())), signal.SIGKILL)

    there = GeneralizedKMeans(4, max_iter=6, rng=3).fit(graph, engine=dask, callback=kill)
    assert np.array_equal(here.labels_, there.labels_)


def test_what_needs_one_machine_is_rejected_on_dask(dask: DaskEngine) -> None:
    with pytest.raises(InputError, match=r"one machine.*local"):
        GeneralizedKMeans(2, search="paper", objective="gaussian").fit(
            np.arange(8.0)[:, None], engine=dask
        )
    with pytest.raises(InputError, match="does not support the Dask engine"):
        BlockModel("simple").fit(graph_of("simple"), engine=dask)


def test_soft_model_of_sharded_ratings_equals_local(dask: DaskEngine, tmp_path: Path) -> None:
    ratings, _ = mmsbm_ratings(60, 40, 900, (3, 3), rng=1)
    write_ratings(ratings, tmp_path / "r.csv")
    shard_ratings(tmp_path / "r.csv", tmp_path / "shards", shards=3)
    model = MMSBM(n_groups=(3, 2), max_iter=20, tol=0, rng=4)
    theta = model.fit(ratings).theta_
    sharded = open_shards(tmp_path / "shards")
    here = model.fit(sharded).theta_
    assert np.allclose(here, theta, rtol=1e-9)  # other cuts, other order of sums
    assert np.array_equal(model.fit(sharded, engine=dask).theta_, here)


@pytest.mark.parametrize("kind", ["simple", "directed", "weighted"])
def test_soft_model_of_a_sharded_graph_equals_that_of_the_graph(
    kind: str, dask: DaskEngine, tmp_path: Path
) -> None:
    graph = graph_of(kind)
    write_graph(graph, tmp_path / "g.csv")
    options = {"directed": kind == "directed", "weighted": kind == "weighted"}
    shard_graph(tmp_path / "g.csv", tmp_path / "shards", shards=3, **options)
    sharded = open_shards(tmp_path / "shards")
    model = MMSBM(n_groups=2, max_iter=15, tol=0, rng=4)
    memberships, values = model.fit(graph).memberships_, model.values_
    here = model.fit(sharded).memberships_
    assert np.allclose(here, memberships, rtol=1e-7, atol=1e-9)  # other cuts, other order of sums
    assert np.array_equal(model.values_, values)
    assert np.array_equal(model.fit(sharded, engine=dask).memberships_, here)


def test_too_many_distinct_weights_in_shards_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("".join(f"0,{x},{x / 7}\n" for x in range(1, 1200)))
    shard_graph(tmp_path / "g.csv", tmp_path / "shards", shards=3, weighted=True)
    with pytest.raises(InputError, match="too many distinct values"):
        MMSBM(n_groups=2).fit(open_shards(tmp_path / "shards"))


@pytest.mark.parametrize("model", ["mmsbm", "hard", "best"])
def test_recommender_of_shards_equals_that_of_the_file(
    model: str, dask: DaskEngine, tmp_path: Path
) -> None:
    """Compare `recommend fit SHARDS --engine dask --scheduler …` with the file on threads."""
    ratings, _ = mmsbm_ratings(60, 40, 900, (3, 3), rng=1)
    order = np.lexsort((ratings.items, ratings.users))  # the order of shards
    write_ratings(ratings.take(order), tmp_path / "r.csv")
    shard_ratings(tmp_path / "r.csv", tmp_path / "shards", shards=3)
    cluster = ["--engine", "dask", "--scheduler", dask._client.scheduler.address]
    reported = []
    for data, where in ((tmp_path / "r.csv", []), (tmp_path / "shards", cluster)):
        given = [str(data), "--out", str(tmp_path / "model"), "--model", model, *where]
        done = CliRunner().invoke(recommend, ["fit", *given, "--iterations", "8", "--json"])
        assert done.exit_code == 0, done.output
        reported.append(json.loads(done.stdout))
    assert [t["ratings"] for t in reported] == [len(ratings)] * 2
    assert reported[0]["entropy"] == pytest.approx(reported[1]["entropy"], rel=1e-9)


def test_shards_larger_than_memory_and_shards_of_graphs_are_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "g.csv").write_text("0,1,2\n1,2,3\n")
    shard_graph(tmp_path / "g.csv", tmp_path / "graph", shards=1)
    shard_ratings(tmp_path / "g.csv", tmp_path / "ratings", shards=1)
    given = ["fit", str(tmp_path / "graph"), "--out", str(tmp_path / "model")]
    done = CliRunner().invoke(recommend, given)
    assert done.exit_code == 2 and "hold no ratings" in done.stderr
    monkeypatch.setattr("coterie.engine.sharded_data.physical_memory", lambda: 50)
    with pytest.raises(InputError, match="coterie soft"):
        open_shards(tmp_path / "ratings").load()  # type: ignore[union-attr]


@pytest.mark.parametrize("model", [MMSBM(3, max_iter=12), MCMMSBM(3, n_samples=5, max_iter=12)])
def test_soft_models_on_dask_equal_local(dask: DaskEngine, model: MMSBM) -> None:
    graph, _ = planted_partition(80, 3, mean_degree=8, rng=0)
    ratings, _ = mmsbm_ratings(60, 40, 900, (3, 3), rng=1)
    for data in (graph, ratings):
        here = model.fit(data).theta_
        assert np.array_equal(model.fit(data, engine=dask).theta_, here)


def lose_cluster(model: MMSBM | GeneralizedKMeans, data: object, checkpoint: Path) -> None:
    """Fit a model whose cluster disappears in the middle."""
    engine = DaskEngine(workers=1, patience=1)

    def lose(progress: object) -> None:
        if getattr(progress, "stage", "") == "fit" and getattr(progress, "done", 0) == 12:
            engine._cluster.scale(0)

    with pytest.raises(EngineError, match="`resume`"):
        model.fit(
            data,  # type: ignore[arg-type]
            engine=engine,
            callback=lose,
            checkpoint=checkpoint,
            checkpoint_every=5,
        )
    engine.close()


def test_soft_fit_that_lost_its_cluster_resumes(tmp_path: Path) -> None:
    ratings, _ = mmsbm_ratings(60, 40, 900, (3, 3), rng=1)
    model = MMSBM(n_groups=(3, 2), max_iter=20, tol=0, rng=4)
    theta = model.fit(ratings).theta_
    lose_cluster(model, ratings, tmp_path / "c")
    again = model.fit(ratings, checkpoint=tmp_path / "c", checkpoint_every=5, resume=True)
    assert np.array_equal(again.theta_, theta)


def test_hard_fit_that_lost_its_cluster_resumes(dask: DaskEngine, tmp_path: Path) -> None:
    graph = graph_of("simple")
    model = GeneralizedKMeans(4, search="paper", max_iter=20, tol=0, rng=3)
    whole = model.fit(graph).labels_
    lose_cluster(model, graph, tmp_path / "c")
    again = model.fit(graph, engine=dask, checkpoint=tmp_path / "c", resume=True)
    assert np.array_equal(again.labels_, whole) and len(again.history_) == 20


def test_additive_model_on_dask_equals_local(dask: DaskEngine, tmp_path: Path) -> None:
    """All kinds of chains, and a fit that is stopped here and resumed on the cluster."""
    ratings, _ = mmsbm_ratings(60, 40, 900, (3, 3), rng=1)
    for options in ({"pilot": False}, {"presence": 0.0, "pilot": False}, {}):
        model = AdditiveBlockModel(n_chains=3, n_sweeps=12, burn_in=4, rng=5, **options)
        here, entropy = model.fit(ratings).samples_, model.entropy_
        there = model.fit(ratings, engine=dask).samples_
        assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))
        assert model.entropy_ == entropy
    saved = tmp_path / "saved"

    def interrupt(progress: Progress) -> None:
        if progress.stage == "fit" and progress.done >= 10:
            raise KeyboardInterrupt

    model.fit(ratings, callback=interrupt, checkpoint=saved)
    assert model.interrupted_
    resumed = model.fit(ratings, engine=dask, checkpoint=saved, resume=True).samples_
    assert all(np.array_equal(a, b) for a, b in zip(here, resumed, strict=True))


def test_additive_predictions_on_dask_equal_local(
    dask: DaskEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coterie.models.additive.predict._PAIRS_PER_TASK", 50)
    ratings, _ = mmsbm_ratings(60, 40, 900, (3, 3), rng=1)
    model = AdditiveBlockModel(n_chains=2, n_sweeps=8, pilot=False).fit(ratings)
    here = model.predict_proba(ratings.users, ratings.items)
    there = model.predict_proba(ratings.users, ratings.items, engine=dask)
    assert np.array_equal(here, there)

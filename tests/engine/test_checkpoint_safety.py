"""Checkpoints: damage is noticed, and an ended run goes on when more iterations are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import coterie as ct
from coterie.base.errors import InputError
from coterie.engine.checkpoint import load_checkpoint, save_checkpoint

RNG = np.random.default_rng(3)
GRAPH = ct.Graph.from_edges(RNG.integers(0, 60, 300), RNG.integers(0, 60, 300))
RATINGS = ct.Ratings.from_arrays(
    RNG.integers(0, 20, 200), RNG.integers(0, 15, 200), RNG.integers(1, 6, 200)
)


def hard(**options: Any) -> ct.GeneralizedKMeans:
    return ct.GeneralizedKMeans(6, search="paper", **{"tol": 0.0, **options})


def soft(**options: Any) -> ct.MMSBM:
    return ct.MMSBM(n_groups=(3, 2), **{"tol": 0.0, **options})


CASES = [pytest.param(hard, GRAPH, id="hard"), pytest.param(soft, RATINGS, id="soft")]


@pytest.mark.parametrize(("model", "data"), CASES)
def test_every_flipped_bit_is_noticed(model: Any, data: Any, tmp_path: Path) -> None:
    file = tmp_path / "run.ckpt"
    model(max_iter=5).fit(data, checkpoint=file, checkpoint_every=2)
    content = file.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, 8 * len(content), 200):
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << int(place % 8)
        file.write_bytes(damaged)
        with pytest.raises(InputError, match=r"run\.ckpt"):
            model(max_iter=5).fit(data, checkpoint=file, resume=True)


@pytest.mark.parametrize("tol", [0.0, 1e-12])
@pytest.mark.parametrize(("model", "data"), CASES)
def test_an_ended_run_goes_on_with_more_iterations(
    model: Any, data: Any, tol: float, tmp_path: Path
) -> None:
    file = tmp_path / "run.ckpt"
    first = model(max_iter=7, tol=tol).fit(data, checkpoint=file)
    assert len(first.history_) == 7
    resumed = model(max_iter=25, tol=tol).fit(data, checkpoint=file, resume=True)
    whole = model(max_iter=25, tol=tol).fit(data)
    assert resumed.entropy_ == whole.entropy_ < first.entropy_
    strip = [(row.iteration, row.entropy) for row in resumed.history_]
    assert strip == [(row.iteration, row.entropy) for row in whole.history_]
    again = model(max_iter=25, tol=tol).fit(data, checkpoint=file, resume=True)
    assert again.entropy_ == whole.entropy_ and len(again.history_) == len(whole.history_)


@pytest.mark.parametrize(("model", "data"), CASES)
def test_a_converged_run_goes_on_with_a_smaller_tolerance(
    model: Any, data: Any, tmp_path: Path
) -> None:
    file = tmp_path / "run.ckpt"
    first = model(max_iter=40, tol=0.2).fit(data, checkpoint=file)
    assert first.converged_ and len(first.history_) < 30
    resumed = model(max_iter=40, tol=0.0).fit(data, checkpoint=file, resume=True)
    assert resumed.entropy_ == model(max_iter=40, tol=0.0).fit(data).entropy_


@pytest.mark.parametrize(("model", "data"), CASES)
def test_several_ended_runs_are_not_continued_silently(
    model: Any, data: Any, tmp_path: Path
) -> None:
    file = tmp_path / "run.ckpt"
    model(max_iter=4, n_init=2).fit(data, checkpoint=file)
    with pytest.raises(InputError, match="cannot be continued"):
        model(max_iter=9, n_init=2).fit(data, checkpoint=file, resume=True)


@pytest.mark.parametrize(
    "labels",
    [
        np.full(60, 2**30, np.int32),
        np.full(60, -(10**6), np.int32),
        np.zeros(30, np.int32),
        np.zeros(60, np.int64),
    ],
    ids=["too large", "negative", "too short", "other type"],
)
def test_labels_that_do_not_fit_the_data_are_refused(labels: np.ndarray, tmp_path: Path) -> None:
    file = tmp_path / "run.ckpt"
    hard(max_iter=4).fit(GRAPH, checkpoint=file)
    arrays, facts = load_checkpoint(file, "hard clustering")
    save_checkpoint(file, "hard clustering", {**arrays, "state.finished.0.labels.0": labels}, facts)
    with pytest.raises(InputError, match=r"run\.ckpt: damaged or altered checkpoint \(labels"):
        hard(max_iter=4).fit(GRAPH, checkpoint=file, resume=True)


def test_a_short_additive_fit_is_saved(tmp_path: Path) -> None:
    file = tmp_path / "run.ckpt"
    options: dict[str, Any] = {"n_chains": 2, "n_sweeps": 20, "pilot": False}
    whole = ct.AdditiveBlockModel(**options).fit(RATINGS, checkpoint=file)
    calls: list[Any] = []
    resumed = ct.AdditiveBlockModel(**options).fit(
        RATINGS, checkpoint=file, resume=True, callback=calls.append
    )
    assert not [call for call in calls if call.stage == "fit"]  # nothing was left to do
    assert resumed.entropy_ == whole.entropy_


def test_the_dask_dashboard_listens_on_this_machine_only() -> None:
    pytest.importorskip("distributed")
    from coterie.engine.dask import local_cluster

    with local_cluster(1) as cluster:
        sockets = cluster.scheduler.http_server._sockets.values()
        assert {socket.getsockname()[0] for socket in sockets} == {"127.0.0.1"}
        assert cluster.scheduler_address.startswith("tcp://127.0.0.1:")

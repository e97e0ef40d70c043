"""Searches that were stopped continue to the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.support.hard_models import hard_model

import coterie as ct
from coterie.base.errors import InputError
from coterie.data.generators import degree_corrected_sbm, mmsbm_ratings, planted_partition
from coterie.engine.checkpoint import load_checkpoint, save_checkpoint
from coterie.models.hard import checkpoint as hard_checkpoint
from coterie.models.hard.checkpoint import KIND
from coterie.models.hard.clustering import HardClustering
from coterie.models.hard.search import best

GRAPH = planted_partition(150, 4, mean_degree=9, rng=0)[0]
UNEQUAL = degree_corrected_sbm(150, 4, mean_degree=9, mixing=0.2, rng=1)[0]
RATINGS = mmsbm_ratings(60, 40, 900, (2, 2), rng=0)[0]
DIRECTED = planted_partition(150, 4, mean_degree=9, directed=True, rng=0)[0]
POINTS = np.random.default_rng(0).normal(size=(60, 2))

CASES = {
    "best": (GRAPH, {"n_blocks": 5, "max_iter": 8}),
    "best, two runs": (UNEQUAL, {"n_blocks": 3, "objective": "degree-corrected", "n_init": 2}),
    "best, minimum size": (GRAPH, {"n_blocks": 4, "min_block_size": 20, "max_iter": 4}),
    "best, splits": (DIRECTED, {"n_blocks": 6, "objective": "directed", "max_iter": 4}),
    "best, repairs": (GRAPH, {"n_blocks": 5}),
    "best of ratings": (RATINGS, {"n_blocks": (3, 2), "objective": "ratings", "max_iter": 6}),
    "points": (POINTS, {"n_blocks": 3, "objective": "gaussian"}),
    "auto": (GRAPH, {"n_blocks": "auto"}),
    "auto, three models": (UNEQUAL, {"n_blocks": "auto", "objective": "auto"}),
    "auto, two runs": (UNEQUAL, {"n_blocks": "auto", "objective": "communities", "n_init": 2}),
    "auto of ratings": (RATINGS, {"n_blocks": "auto", "objective": "ratings", "max_iter": 4}),
    "nested": (UNEQUAL, {"n_blocks": "nested", "objective": "degree-corrected"}),
}


class PowerCutError(Exception):
    """An error that no fit catches."""


@pytest.fixture(autouse=True)
def save_every_point(monkeypatch):
    """Save at every point, whatever it costs: which ones are saved must not depend on time."""
    monkeypatch.setattr(hard_checkpoint, "SAVING_SHARE", 1e12)


@pytest.fixture(autouse=True)
def treat_some_as_large(request, monkeypatch):
    """Large graphs are repaired by other steps than small ones."""
    case = getattr(request.node, "callspec", None)
    if case is not None and case.params.get("case") in ("best, splits", "best, repairs"):
        monkeypatch.setattr(best, "_WORK", 0)


def make(case: str) -> tuple[HardClustering, object]:
    data, given = CASES[case]
    return hard_model(rng=5, **given), data


def facts(model: HardClustering) -> tuple:
    labels = model.labels_ if isinstance(model.labels_, tuple) else (model.labels_,)
    return (
        [z.tobytes() for z in labels],
        model.entropy_,
        getattr(model, "description_length_", None),
        getattr(model, "description_lengths_", None),
        [(i.iteration, i.entropy, i.moved) for i in model.history_],
        model.run_entropies_,
        model.locally_optimal_,
        [z.tobytes() for z in getattr(model, "levels_", [])],
        model.facts().model,
    )


def saves(monkeypatch, stop_at: int | None) -> list[int]:
    """Count the saves of a fit; raise after the one with number `stop_at`."""
    count = [0]
    save = hard_checkpoint.save_fit

    def counted(file, *args, **named):
        save(file, *args, **named)
        count[0] += file.path is not None
        if count[0] == stop_at:
            raise PowerCutError

    for place in (
        "coterie.models.hard.checkpoint",
        "coterie.models.hard.search.runs",
        "coterie.models.hard.block_model",
    ):
        monkeypatch.setattr(f"{place}.save_fit", counted)
    return count


@pytest.mark.parametrize("case", CASES)
def test_fit_resumed_from_any_of_its_saves_equals_an_uninterrupted_one(case, tmp_path, monkeypatch):
    file = tmp_path / "run.ckpt"
    with monkeypatch.context() as patched:
        count = saves(patched, None)
        model, data = make(case)
        expected = facts(model.fit(data, checkpoint=tmp_path / "whole.ckpt"))
    assert facts(make(case)[0].fit(data)) == expected  # a checkpoint changes nothing
    last = count[0]
    assert last >= 2
    for stop_at in sorted({1, last // 3, (4 * last) // 5, last} - {0}):
        with monkeypatch.context() as patched:
            saves(patched, stop_at)
            with pytest.raises(PowerCutError):
                make(case)[0].fit(data, checkpoint=file)
        resumed = make(case)[0].fit(data, checkpoint=file, resume=True)
        assert facts(resumed) == expected, stop_at


KILLED = """
import os, signal, sys
import coterie as ct
from coterie.data.generators import planted_partition
from coterie.models.hard import checkpoint

checkpoint.SAVING_SHARE = 1e12
n_blocks, file, alive = sys.argv[1], sys.argv[2], int(sys.argv[3])
left = [alive]
def callback(progress):
    if progress.stage in ("fit", "describing"):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
graph = planted_partition(150, 4, mean_degree=9, rng=0)[0]
model = ct.GeneralizedKMeans(int(n_blocks), rng=5, max_iter=8) if n_blocks.isdigit() else (
    ct.BlockModel("simple", nested=n_blocks == "nested", rng=5)
)
model.fit(graph, checkpoint=file, resume=True, callback=callback)
print(model.entropy_.hex(), model.labels_.tolist())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("n_blocks", ["5", "auto", "nested"])
def test_killed_process_is_continued_by_another(n_blocks, tmp_path):
    file = tmp_path / "run.ckpt"

    def fit(alive: int) -> subprocess.CompletedProcess:
        command = [sys.executable, "-c", KILLED, n_blocks, str(file), str(alive)]
        return subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)

    assert fit(2).returncode == -signal.SIGKILL
    assert file.exists()
    done = fit(-1)
    assert done.returncode == 0, done.stderr
    given = {"n_blocks": 5, "max_iter": 8} if n_blocks == "5" else {"n_blocks": n_blocks}
    whole = hard_model(rng=5, **given).fit(GRAPH)
    assert done.stdout.strip() == f"{whole.entropy_.hex()} {whole.labels_.tolist()}"


def test_resuming_a_finished_fit_returns_its_result(tmp_path):
    for case in ("best", "auto", "nested"):
        file = tmp_path / f"{case}.ckpt"
        model, data = make(case)
        model.fit(data, checkpoint=file)
        seen = []
        again = make(case)[0].fit(data, checkpoint=file, resume=True, callback=seen.append)
        assert not [p for p in seen if p.stage in ("fit", "describing")]
        assert facts(again) == facts(model)


def test_ctrl_c_keeps_the_checkpoint(tmp_path):
    file = tmp_path / "run.ckpt"
    remaining = [3]

    def interrupt(progress):
        remaining[0] -= progress.stage == "describing"
        if remaining[0] == 0:
            raise KeyboardInterrupt

    model, data = make("auto")
    assert model.fit(data, checkpoint=file, callback=interrupt).interrupted_
    resumed = make("auto")[0].fit(data, checkpoint=file, resume=True)
    assert facts(resumed) == facts(make("auto")[0].fit(data))


def altered(file: Path, change) -> None:
    arrays, content = load_checkpoint(file, KIND)
    change(arrays, content)
    save_checkpoint(file, KIND, arrays, content)


def large_labels(arrays, content):
    for name, array in arrays.items():
        if array.dtype == np.int32:
            arrays[name] = array + 1000


def other_lengths(arrays, content):
    for point in content["state"]["points"]:
        for key in ("length", "entropy", "best_length"):
            if key in point["facts"]:
                point["facts"][key] += 1.0


def no_facts(arrays, content):
    for point in content["state"]["points"]:
        point["facts"] = {}


@pytest.mark.parametrize("change", [large_labels, other_lengths, no_facts])
@pytest.mark.parametrize("case", ["best", "auto", "nested"])
def test_checkpoint_that_was_altered_on_purpose_is_refused(case, change, tmp_path, monkeypatch):
    file = tmp_path / "run.ckpt"
    with monkeypatch.context() as patched:
        count = saves(patched, None)
        make(case)[0].fit(CASES[case][0], checkpoint=file)
    with monkeypatch.context() as patched:
        saves(patched, count[0] // 2)
        with pytest.raises(PowerCutError):
            make(case)[0].fit(CASES[case][0], checkpoint=file)
    altered(file, change)
    with pytest.raises(InputError, match=r"run\.ckpt.*damaged or altered"):
        make(case)[0].fit(CASES[case][0], checkpoint=file, resume=True)


def test_other_settings_are_refused(tmp_path):
    file = tmp_path / "run.ckpt"
    ct.BlockModel("simple", rng=5).fit(GRAPH, checkpoint=file)
    with pytest.raises(InputError, match="n_init"):
        ct.BlockModel("simple", rng=5, n_init=7).fit(GRAPH, checkpoint=file, resume=True)
    with pytest.raises(InputError, match="nested"):
        ct.BlockModel("simple", nested=True, rng=5).fit(GRAPH, checkpoint=file, resume=True)


def test_saving_takes_a_small_share_of_the_time(tmp_path, monkeypatch):
    """With a budget of nothing only the first point, and the end of the run, are written."""
    monkeypatch.setattr(hard_checkpoint, "SAVING_SHARE", 0.0)
    with monkeypatch.context() as patched:
        count = saves(patched, None)
        make("auto")[0].fit(GRAPH, checkpoint=tmp_path / "run.ckpt")
    assert count[0] <= 2

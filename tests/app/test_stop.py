"""A stop ends every job soon, says what is unfinished, and the job can go on to the same result."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coterie.app.web.tasks.context import NO_RESULT, TaskContext
from coterie.app.web.tasks.exploring import explore
from coterie.app.web.tasks.publishing import frontier
from coterie.app.web.tasks.recommending import recommend
from coterie.base.errors import InputError

DEMO = Path(__file__).parents[2] / "src/coterie/app/web/demo"
pytestmark = pytest.mark.filterwarnings("ignore::coterie.AssumptionWarning")


def _context(folder: Path, kind: str, *, stopped: bool = True, **settings) -> TaskContext:
    """Return the context of a task that is stopped from the beginning."""
    folder.mkdir(exist_ok=True)
    path = str(DEMO / f"demo-{kind}.csv")
    made = TaskContext({"path": path, "name": "demo", **settings}, folder, [].append)
    if stopped:
        made.stop.set()
    return made


@pytest.mark.parametrize("blocks", ["5", "auto"])
@pytest.mark.parametrize("objective", ["simple", "degree-corrected"])
def test_a_stopped_clustering_is_unfinished_and_goes_on_to_the_same_result(
    tmp_path, blocks, objective
):
    settings = {"blocks": blocks, "objective": objective}
    result = explore(_context(tmp_path / "1", "network", **settings))
    assert result["unfinished"] and sum(size for _, size in result["blocks"]) == 300
    assert "stopped before it was finished" in result["verdict"] and "form" not in result["verdict"]
    assert (tmp_path / "1" / "labels.csv").read_text().count("\n") == 301
    again = _context(tmp_path / "2", "network", stopped=False, **settings)
    again.earlier = tmp_path / "1"
    whole = _context(tmp_path / "3", "network", stopped=False, **settings)
    assert not explore(again)["unfinished"] and not explore(whole)["unfinished"]
    labels = [(tmp_path / number / "labels.csv").read_text() for number in "23"]
    assert labels[0] == labels[1]


def test_the_report_of_a_stopped_search_claims_nothing_about_the_network(tmp_path):
    explore(_context(tmp_path, "network", blocks="auto", objective="degree-corrected"))
    report = (tmp_path / "report.html").read_text()
    assert "stopped before it was finished" in report
    for claim in ("No grouping describes", "would still lower", "a single move would", "form 1 "):
        assert claim not in report


@pytest.mark.parametrize("model", ["mmsbm", "hard", "best"])
def test_a_stopped_recommender_is_not_ranked_nor_measured_and_goes_on(tmp_path, model):
    result = recommend(_context(tmp_path / "1", "ratings", model=model))
    assert result["unfinished"] and result["measured"] is None and not result["ranked"]
    assert (tmp_path / "1" / "model.coterie").exists()
    if model == "best":
        return  # the whole fit takes long
    again = _context(tmp_path / "2", "ratings", stopped=False, model=model)
    again.earlier = tmp_path / "1"
    finished = recommend(again)
    assert finished["complete"] and finished["ranked"] and finished["measured"].rmse < 3
    whole = recommend(_context(tmp_path / "3", "ratings", stopped=False, model=model))
    assert finished["measured"].rmse == whole["measured"].rmse
    lists = [(tmp_path / number / "recommendations.csv").read_text() for number in "23"]
    assert lists[0] == lists[1]


def test_a_stop_after_the_fit_keeps_the_fit(tmp_path):
    """As after a restart: the model is loaded, and the ranking is left out."""
    recommend(_context(tmp_path / "1", "ratings", stopped=False, model="hard"))
    files = ["search.checkpoint", "fitted", "ranked.coterie"]
    for number, ranked in ((2, False), (3, True)):
        context = _context(tmp_path / str(number), "ratings", model="hard")
        for name in files[:number]:
            (context.folder / name).write_bytes((tmp_path / "1" / name).read_bytes())
        context.restarted = True
        result = recommend(context)
        assert result["complete"] and result["ranked"] is ranked and result["measured"] is None


def test_a_stopped_frontier_has_the_first_setting_and_goes_on(tmp_path):
    result = frontier(_context(tmp_path / "1", "network", policy={}))
    assert len(result["points"]) == 1 and result["of"] > 6 and result["unfinished"]
    again = _context(tmp_path / "2", "network", stopped=False, policy={})
    again.earlier = tmp_path / "1"
    sent = []

    def send(message):
        sent.append(message["event"])
        if sent.count("point") == 2:  # the first is sent again
            again.stop.set()

    again.send = send
    more = frontier(again)["points"]
    assert len(more) == 2 and result["points"][0] == more[0] != more[1]


@pytest.mark.parametrize("task", [explore, frontier, recommend])
def test_a_restarted_task_without_any_state_says_that_there_is_no_result(tmp_path, task):
    kind = "ratings" if task is recommend else "network"
    settings = {"blocks": "auto", "objective": "simple", "model": "hard", "policy": {}}
    context = _context(tmp_path, kind, **settings)
    context.restarted = True
    with pytest.raises(InputError, match="before there was a first result"):
        task(context)


SLOW = """
import sys, time
from coterie.app.web import worker
from coterie.app.web.tasks import exploring
from coterie.models.hard.block_model import BlockModel
if len(sys.argv) < 2:
    plain = BlockModel.fit
    def fit(self, graph, callback, **more):
        if not {steps}:
            time.sleep(60)
        seen = []
        def slow(progress):
            seen.append(progress)
            if len(seen) >= {steps}:
                time.sleep(60)  # as a kernel that runs for a minute: it does not see the stop
            callback(progress)
        return plain(self, graph, callback=slow, **more)
    BlockModel.fit = fit
worker.main()
"""


@pytest.mark.parametrize("steps", [0, 8])
def test_a_search_that_does_not_notice_the_stop_is_ended_within_two_seconds(tmp_path, steps):
    settings = {"path": str(DEMO / "demo-network.csv"), "name": "demo"}
    settings |= {"blocks": "auto", "objective": "degree-corrected"}
    order = {"task": "explore", "settings": settings, "folder": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW.format(steps=steps)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ},
    )
    try:
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        while json.loads(process.stdout.readline())["event"] != "started":
            continue
        time.sleep(4)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        while (message := json.loads(process.stdout.readline()))["event"] != "ready":
            continue
        assert time.monotonic() - began < 10  # 1.5 s, and the imports of the new program
        while (message := json.loads(process.stdout.readline()))["event"] not in (
            "finished",
            "failed",
        ):
            continue
        if steps == 0:  # nothing was saved
            assert message == {"event": "failed", "message": NO_RESULT}
        else:
            assert message["result"]["unfinished"]
            assert sum(size for _, size in message["result"]["blocks"]) == 300
    finally:
        process.kill()
        process.wait()

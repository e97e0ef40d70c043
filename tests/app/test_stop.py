"""A stop keeps the best result so far, at whatever moment it is requested."""

from __future__ import annotations

from pathlib import Path

import pytest

from coterie.app.web.tasks.context import TaskContext
from coterie.app.web.tasks.exploring import explore
from coterie.app.web.tasks.publishing import frontier
from coterie.app.web.tasks.recommending import recommend

DEMO = Path(__file__).parents[2] / "src/coterie/app/web/demo"


class _Stopped(TaskContext):
    """A task that is stopped from the beginning."""

    @classmethod
    def of(cls, folder: Path, kind: str, **settings) -> TaskContext:
        path = str(DEMO / f"demo-{kind}.csv")
        made = cls({"path": path, "name": "demo", **settings}, folder, [].append)
        made.stop.set()
        return made


@pytest.mark.filterwarnings("ignore::coterie.AssumptionWarning")
@pytest.mark.parametrize("blocks", ["5", "auto"])
def test_a_stopped_clustering_has_a_result(tmp_path, blocks):
    context = _Stopped.of(tmp_path, "network", blocks=blocks, objective="simple")
    result = explore(context)
    assert result["interrupted"] and sum(size for _, size in result["blocks"]) == 300
    assert (tmp_path / "labels.csv").read_text().count("\n") == 301


@pytest.mark.filterwarnings("ignore::coterie.AssumptionWarning")
@pytest.mark.parametrize("model", ["mmsbm", "hard"])
def test_a_stopped_recommender_has_a_result(tmp_path, model):
    result = recommend(_Stopped.of(tmp_path, "ratings", model=model))
    assert result["interrupted"] and result["rmse"] < 3
    assert (tmp_path / "model.coterie").exists()


@pytest.mark.filterwarnings("ignore::coterie.AssumptionWarning")
def test_a_stopped_frontier_has_the_first_setting(tmp_path):
    result = frontier(_Stopped.of(tmp_path, "network", policy={}))
    assert len(result["points"]) == 1 and result["of"] > 6

"""A hard clustering that was stopped continues to the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import coterie as ct
from coterie.base.errors import InputError
from coterie.base.progress import Progress
from coterie.data.generators import mmsbm_ratings, planted_partition

RATINGS = mmsbm_ratings(80, 60, 1_500, (2, 2), rng=0)[0]
GRAPH = planted_partition(120, 3, mean_degree=8, rng=0)[0]
FRACTIONS = ct.Graph.from_edges(
    *GRAPH.edges(), weights=np.random.default_rng(0).random(GRAPH.n_edges), n_nodes=120
)
POINTS = np.random.default_rng(0).normal(size=(90, 2))


class PowerCutError(Exception):
    """An error that no fit catches."""


def stop_after(iterations: int, error: type[BaseException]):
    """Return a callback that raises the error after some iterations."""
    remaining = [iterations]

    def callback(progress: Progress) -> None:
        if progress.stage == "fit":
            remaining[0] -= 1
            if remaining[0] == 0:
                raise error

    return callback


CASES = {
    "simple": (GRAPH, {}),
    "fractions of weights": (FRACTIONS, {"objective": "weighted"}),
    "ratings": (RATINGS, {"objective": "ratings", "n_blocks": (3, 2), "move_score": "fixed"}),
    "points": (POINTS, {"objective": "gaussian"}),
}


def make(**given: object) -> ct.GeneralizedKMeans:
    usual = {
        "n_blocks": 5,
        "search": "paper",
        "max_iter": 20,
        "tol": 0,
        "n_init": 3,
        "alpha": 0.3,
        "rng": 5,
    }
    return ct.GeneralizedKMeans(**{**usual, **given})


def labels(model: ct.GeneralizedKMeans) -> np.ndarray:
    return np.concatenate(model.labels_) if isinstance(model.labels_, tuple) else model.labels_


@pytest.mark.filterwarnings("ignore::coterie.base.errors.AssumptionWarning")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("died_after", [3, 12, 37])
def test_resumed_fit_equals_an_uninterrupted_one(case, died_after, tmp_path):
    data, given = CASES[case]
    file = tmp_path / "run.ckpt"
    whole = make(**given).fit(data)
    died = stop_after(died_after, PowerCutError)
    with pytest.raises(PowerCutError):
        make(**given).fit(data, callback=died, checkpoint=file, checkpoint_every=5)
    assert file.exists() == (died_after >= 5)
    model = make(**given).fit(data, checkpoint=file, resume=True)
    np.testing.assert_array_equal(labels(model), labels(whole))
    assert model.run_entropies_ == whole.run_entropies_ and model.entropy_ == whole.entropy_
    seen, expected = ([(i.entropy, i.moved) for i in m.history_] for m in (model, whole))
    assert seen == expected


def test_resumed_fit_converges_at_the_same_iteration(tmp_path):
    file, given = tmp_path / "run.ckpt", {"tol": 1e-6, "max_iter": 300, "n_init": 1}
    whole = make(**given).fit(GRAPH)
    assert whole.converged_
    for died_after in (5, len(whole.history_)):  # in the middle, and after the last iteration
        died = stop_after(died_after, PowerCutError)
        with pytest.raises(PowerCutError):
            make(**given).fit(GRAPH, callback=died, checkpoint=file, checkpoint_every=1)
        model = make(**given).fit(GRAPH, checkpoint=file, resume=True)
        assert model.converged_ and len(model.history_) == len(whole.history_)


def test_fit_resumes_after_ctrl_c(tmp_path):
    file = tmp_path / "run.ckpt"
    stopped = make().fit(GRAPH, callback=stop_after(33, KeyboardInterrupt), checkpoint=file)
    assert stopped.interrupted_
    resumed = make().fit(GRAPH, checkpoint=file, resume=True)
    assert resumed.run_entropies_ == make().fit(GRAPH).run_entropies_


def test_resuming_a_finished_fit_returns_its_result(tmp_path):
    file = tmp_path / "run.ckpt"
    model = make().fit(GRAPH, checkpoint=file)
    seen: list[Progress] = []
    again = make().fit(GRAPH, callback=seen.append, checkpoint=file, resume=True)
    assert not [progress for progress in seen if progress.stage == "fit"]
    np.testing.assert_array_equal(again.labels_, model.labels_)


@pytest.mark.parametrize(
    ("data", "given", "word"),
    [
        (GRAPH, {"n_blocks": 4}, "n_blocks=5"),
        (GRAPH, {"alpha": 0.2}, "alpha"),
        (GRAPH, {"rng": 6}, "seed=5, this fit has 6"),
        (GRAPH, {"init": np.zeros(120, int)}, "init"),
        (planted_partition(120, 3, mean_degree=8, rng=1)[0], {}, "data"),
        (GRAPH, {"search": "best"}, "search='paper', this fit has 'best'"),
    ],
)
def test_other_data_or_parameters_than_the_checkpoint_are_rejected(data, given, word, tmp_path):
    file = tmp_path / "run.ckpt"
    make(max_iter=5, n_init=1).fit(GRAPH, checkpoint=file)
    with pytest.raises(InputError, match=word):
        make(**{"max_iter": 5, "n_init": 1, **given}).fit(data, checkpoint=file, resume=True)


def test_checkpoint_of_another_model_and_invalid_interval_are_rejected(tmp_path):
    file = tmp_path / "run.ckpt"
    ct.MMSBM(n_groups=2, max_iter=1).fit(GRAPH, checkpoint=file)
    with pytest.raises(InputError, match="soft model"):
        make().fit(GRAPH, checkpoint=file, resume=True)
    with pytest.raises(InputError, match="checkpoint_every: 0"):
        make().fit(GRAPH, checkpoint=file, checkpoint_every=0)


def test_resume_without_a_checkpoint_is_rejected():
    with pytest.raises(InputError, match="set `checkpoint`"):
        make().fit(GRAPH, resume=True)

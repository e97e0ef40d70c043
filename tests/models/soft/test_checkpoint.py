"""A soft fit that was stopped continues to the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import coterie as ct
from coterie.base.errors import InputError
from coterie.base.progress import Progress
from coterie.data.generators import mmsbm_ratings, planted_partition

RATINGS = mmsbm_ratings(80, 60, 1_500, (2, 2), rng=0)[0]
GRAPH = planted_partition(80, 2, mean_degree=8, rng=0)[0]


class PowerCutError(Exception):
    """An error that no fit catches."""


def fail_after(iterations: int):
    """Return a callback that raises after so many iterations."""
    left = [iterations]

    def callback(progress: Progress) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise PowerCutError

    return callback


CASES = {
    "exact": (RATINGS, lambda: ct.MMSBM(n_groups=3, max_iter=30, n_init=3, tol=0, rng=5)),
    "monte-carlo": (
        RATINGS,
        lambda: ct.MCMMSBM(n_groups=3, n_samples=5, max_iter=30, n_init=3, tol=0, rng=5),
    ),
    "held out": (
        RATINGS,
        lambda: ct.MMSBM(n_groups=3, max_iter=30, n_init=3, validation=0.2, patience=40, rng=5),
    ),
    "unrated": (
        RATINGS,
        lambda: ct.MMSBM(n_groups=3, max_iter=30, n_init=3, negatives_per_rating=0.5, tol=0, rng=5),
    ),
    "sampled graph": (
        GRAPH,
        lambda: ct.MCMMSBM(
            n_groups=2, n_samples=5, absent="sampled", max_iter=30, n_init=3, tol=0, rng=5
        ),
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("failed_after", [3, 17, 47])
def test_resumed_fit_equals_an_uninterrupted_one(case, failed_after, tmp_path):
    data, make = CASES[case]
    file = tmp_path / "run.ckpt"
    whole = make().fit(data)
    with pytest.raises(PowerCutError):
        make().fit(data, callback=fail_after(failed_after), checkpoint=file, checkpoint_every=5)
    assert file.exists() == (failed_after >= 5)
    model = make().fit(data, checkpoint=file, resume=True)
    np.testing.assert_array_equal(model.theta_, whole.theta_)
    assert model.entropy_ == whole.entropy_
    assert [run.entropy for run in model.runs_] == [run.entropy for run in whole.runs_]
    for resumed, expected in zip(model.runs_, whole.runs_, strict=True):
        assert [i.entropy for i in resumed.history] == [i.entropy for i in expected.history]
        assert resumed.held_out == expected.held_out
        np.testing.assert_array_equal(resumed.user_memberships, expected.user_memberships)


def test_resuming_a_finished_fit_returns_its_result(tmp_path):
    file = tmp_path / "run.ckpt"
    model = ct.MMSBM(n_groups=2, max_iter=12, n_init=2).fit(GRAPH, checkpoint=file)
    seen: list[Progress] = []
    again = ct.MMSBM(n_groups=2, max_iter=12, n_init=2)
    again.fit(GRAPH, callback=seen.append, checkpoint=file, resume=True)
    assert not seen
    np.testing.assert_array_equal(again.memberships_, model.memberships_)
    np.testing.assert_array_equal(again.values_, model.values_)


def test_fit_resumes_after_ctrl_c(tmp_path):
    file = tmp_path / "run.ckpt"

    def interrupt(progress: Progress) -> None:
        if progress.done == 7:
            raise KeyboardInterrupt

    make = CASES["monte-carlo"][1]
    assert make().fit(RATINGS, callback=interrupt, checkpoint=file).interrupted_
    np.testing.assert_array_equal(
        make().fit(RATINGS, checkpoint=file, resume=True).theta_, make().fit(RATINGS).theta_
    )


def test_without_resume_the_fit_ignores_the_checkpoint(tmp_path):
    file = tmp_path / "run.ckpt"
    ct.MMSBM(n_groups=2, max_iter=5, rng=1).fit(RATINGS, checkpoint=file)
    model = ct.MMSBM(n_groups=2, max_iter=5, rng=2).fit(RATINGS, checkpoint=file)
    assert model.entropy_ == ct.MMSBM(n_groups=2, max_iter=5, rng=2).fit(RATINGS).entropy_


@pytest.mark.parametrize(
    ("data", "given", "word"),
    [
        (RATINGS, {"n_groups": 4}, "n_groups"),
        (RATINGS, {"prior": 0.5}, "prior"),
        (RATINGS.take(np.arange(900)), {}, "data"),
        (GRAPH, {}, "data"),
    ],
)
def test_checkpoint_of_other_data_or_settings_is_rejected(data, given, word, tmp_path):
    file = tmp_path / "run.ckpt"
    ct.MMSBM(n_groups=2, max_iter=5).fit(RATINGS, checkpoint=file)
    with pytest.raises(InputError, match=word):
        ct.MMSBM(**{"n_groups": 2, "max_iter": 5, **given}).fit(data, checkpoint=file, resume=True)


def test_checkpoint_of_an_older_version_is_rejected(tmp_path, monkeypatch):
    file = tmp_path / "run.ckpt"
    monkeypatch.setattr("coterie.engine.checkpoint.VERSION", 1)
    ct.MMSBM(n_groups=2, max_iter=5).fit(RATINGS, checkpoint=file)
    monkeypatch.undo()
    message = "format 1, but this release reads format 4; start again without `resume`"
    with pytest.raises(InputError, match=message):
        ct.MMSBM(n_groups=2, max_iter=5).fit(RATINGS, checkpoint=file, resume=True)

"""Evaluate predictions of ratings that a model has not seen: in k folds, or on a test table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from coterie.base.errors import InputError
from coterie.base.progress import Callback, Progress, silent
from coterie.data import Ratings
from coterie.engine import Engine
from coterie.engine.resolve import running_engine
from coterie.models.base import Estimator
from coterie.recommend.metrics import (
    METRIC_NAMES,
    Metrics,
    RankingMetrics,
    ranking_metrics,
    rating_metrics,
)
from coterie.recommend.ranking import top_items
from coterie.recommend.recommender import Recommender


@dataclass(frozen=True, eq=False)
class FoldResult:
    """One training table, the recommender fitted to it, and its predictions of the test table."""

    metrics: Metrics
    recommender: Recommender
    train: Ratings
    levels: np.ndarray  # positions of the test ratings in the recommender's values
    probabilities: np.ndarray  # predicted distributions, test ratings x values


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The metrics of each fold, their means and standard deviations, and the last fold itself."""

    folds: list[Metrics]
    means: Metrics
    spreads: Metrics
    last: FoldResult

    @classmethod
    def from_folds(cls, folds: list[Metrics], last: FoldResult) -> Evaluation:
        """Summarize the metrics of the folds."""
        columns = {name: np.array([getattr(m, name) for m in folds]) for name in METRIC_NAMES}
        return cls(
            folds,
            Metrics(**{name: float(column.mean()) for name, column in columns.items()}),
            Metrics(**{name: float(column.std()) for name, column in columns.items()}),
            last,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the means under their own names, and the spreads and folds."""
        return {
            **asdict(self.means),
            "spread": asdict(self.spreads),
            "folds": [asdict(metrics) for metrics in self.folds],
        }


def fold_rows(n: int, folds: int, seed: int) -> list[np.ndarray]:
    """Return the test rows of each fold: a permutation of all rows, cut into equal parts.

    >>> [len(rows) for rows in fold_rows(7, 3, 0)]
    [3, 2, 2]
    """
    if not 2 <= folds <= n:
        raise InputError(
            f"cannot divide {n} ratings into {folds} folds", remedy=f"use 2 to {n} folds"
        )
    return np.array_split(np.random.default_rng(seed).permutation(n), folds)


def evaluate(
    make: Callable[[], Estimator],
    ratings: Ratings,
    *,
    folds: int = 5,
    seed: int = 0,
    top: int = 10,
    likes: bool | None = None,
    engine: str | Engine = "local",
    callback: Callback = silent,
) -> Evaluation:
    """Cross-validate the model that `make` returns.

    >>> from coterie.models.soft.mmsbm import MMSBM
    >>> rng = np.random.default_rng(0)
    >>> table = Ratings.from_arrays(rng.integers(0, 9, 60), rng.integers(0, 9, 60), [1, 2, 3] * 20)
    >>> result = evaluate(lambda: MMSBM(n_groups=2, max_iter=5), table, folds=2)
    >>> len(result.folds), result.means.rmse > 0
    (2, True)
    """
    metrics = []
    with running_engine(engine) as runner:
        for number, (train, test) in enumerate(_splits(ratings, folds, seed)):
            callback(Progress(f"fold {number + 1} of {folds}", number, folds))
            last = evaluate_split(make(), train, test, top=top, likes=likes, engine=runner)
            metrics.append(last.metrics)
    return Evaluation.from_folds(metrics, last)


def evaluate_split(
    model: Estimator,
    train: Ratings,
    test: Ratings,
    *,
    top: int = 10,
    likes: bool | None = None,
    engine: Engine,
) -> FoldResult:
    """Fit a model to one table and test its predictions on the other."""
    if not len(test):
        raise InputError("there are no ratings to test on", remedy="give at least one rating")
    clock, cpu = time.perf_counter(), time.process_time()
    recommender = Recommender(model, likes=likes).fit(train, engine=engine)
    fit_seconds, fit_cpu = time.perf_counter() - clock, time.process_time() - cpu
    clock = time.perf_counter()
    users, items = test.user_ids[test.users], test.item_ids[test.items]
    p = recommender.predict_proba(users, items, engine=engine)
    predict_seconds = time.perf_counter() - clock
    levels = recommender.adapter_.levels(test.ratings)
    metrics = Metrics(
        **rating_metrics(p, recommender.values_, levels, test.ratings)._asdict(),
        entropy=float(getattr(recommender.model_, "entropy_", np.nan)),
        fit_seconds=fit_seconds,
        fit_cpu_seconds=fit_cpu,
        predict_seconds=predict_seconds,
        **_ranking(recommender, test, top, engine)._asdict(),
    )
    return FoldResult(metrics, recommender, train, levels, p)


def _ranking(recommender: Recommender, test: Ratings, top: int, engine: Engine) -> RankingMetrics:
    """Rank, for each test user, the items that the user did not rate in training.

    A test rating is relevant if it is at least the mean training rating; every like is relevant.
    """
    table = recommender.table_
    threshold = 0.0 if recommender.likes_ else float(recommender.values_ @ table.everybody)
    users, relevant = relevant_items(test, threshold)
    item_numbers = recommender.items_.numbers(test.item_ids)
    user_numbers = recommender.users_.numbers(test.user_ids[users])
    found = top_items(recommender.adapter_, table, user_numbers, top, True, engine)
    return ranking_metrics(
        [best for best, _ in found], [item_numbers[own] for own in relevant], table.n_items, top
    )


def relevant_items(test: Ratings, threshold: float) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the users with a rating of at least `threshold`, and the items of these ratings.

    >>> test = Ratings.from_arrays([2, 1, 2, 2], [7, 7, 8, 9], [5, 1, 4, 2])
    >>> users, items = relevant_items(test, 4.0)
    >>> test.user_ids[users], [test.item_ids[own] for own in items]
    (array([2]), [array([7, 8])])
    """
    rows = np.flatnonzero(test.ratings >= threshold)
    rows = rows[np.argsort(test.users[rows], kind="stable")]
    users, begins = np.unique(test.users[rows], return_index=True)
    if not len(users):
        return users, []
    return users, np.split(test.items[rows], begins[1:])


def _splits(ratings: Ratings, folds: int, seed: int) -> Iterator[tuple[Ratings, Ratings]]:
    """Yield the training and the test table of each fold."""
    for rows in fold_rows(len(ratings), folds, seed):
        rest = np.ones(len(ratings), bool)
        rest[rows] = False
        yield ratings.take(np.flatnonzero(rest)), ratings.take(rows)

"""How well a model predicts ratings it has not seen: k folds, or a training and a test table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from coterie.base.errors import InputError
from coterie.base.progress import Callback, Progress, silent
from coterie.data import Ratings
from coterie.engine import Engine
from coterie.engine.resolve import running_engine
from coterie.models.base import Estimator
from coterie.recommend.likes import is_likes
from coterie.recommend.metrics import ranking_metrics, rating_metrics
from coterie.recommend.ranking import top_items
from coterie.recommend.recommender import Recommender


class Split(NamedTuple):
    """One training table, its test table, and what came of them."""

    figures: dict[str, float]
    recommender: Recommender
    train: Ratings
    levels: np.ndarray  # places of the test ratings in the recommender's values
    p: np.ndarray  # their predicted distributions


class Evaluation(NamedTuple):
    """Each fold's figures, their mean and their standard deviation; and the last fold itself."""

    mean: dict[str, float]
    spread: dict[str, float]
    folds: list[dict[str, float]]
    last: Split


def fold_rows(n: int, folds: int, seed: int) -> list[np.ndarray]:
    """The test rows of each fold: rows in file order, permuted by the seed, cut evenly.

    >>> [len(rows) for rows in fold_rows(7, 3, 0)]
    [3, 2, 2]
    """
    if not 2 <= folds <= n:
        raise InputError(f"{folds} folds of {n} ratings", remedy=f"give 2 to {n} folds")
    return np.array_split(np.random.default_rng(seed).permutation(n), folds)


def evaluate(
    make: Callable[[], Estimator],
    ratings: Ratings,
    *,
    folds: int = 5,
    seed: int = 0,
    top: int = 10,
    engine: str | Engine | None = "local",
    callback: Callback = silent,
) -> Evaluation:
    """Cross-validate the model that `make` gives.

    >>> from coterie.models.soft.mmsbm import MMSBM
    >>> rng = np.random.default_rng(0)
    >>> table = Ratings.from_arrays(rng.integers(0, 9, 60), rng.integers(0, 9, 60), [1, 2, 3] * 20)
    >>> result = evaluate(lambda: MMSBM(n_groups=2, max_iter=5), table, folds=2)
    >>> len(result.folds), sorted(result.mean)[:3]
    (2, ['accuracy', 'coverage', 'entropy'])
    """
    results = []
    with running_engine(engine) as runner:
        for number, (train, test) in enumerate(_splits(ratings, folds, seed)):
            callback(Progress(f"fold {number + 1} of {folds}", number, folds))
            split = evaluate_split(make(), train, test, top, runner)
            results.append(split.figures)
    return summarised(results, split)


def evaluate_split(
    model: Estimator, train: Ratings, test: Ratings, top: int, engine: Engine
) -> Split:
    """Fit to one table, measure on the other."""
    if not len(test):
        raise InputError("there are no ratings to test on", remedy="give at least one")
    clock, cpu = time.perf_counter(), time.process_time()
    recommender = Recommender(model).fit(train, engine=engine)
    fit = {
        "fit_seconds": time.perf_counter() - clock,
        "fit_cpu_seconds": time.process_time() - cpu,
    }
    clock = time.perf_counter()
    users, items = test.user_ids[test.users], test.item_ids[test.items]
    p = recommender.predict_proba(users, items, engine=engine)
    seconds = time.perf_counter() - clock
    levels = recommender.adapter_.levels(test.ratings)
    figures = {
        **rating_metrics(p, recommender.values_, levels, test.ratings),
        "entropy": float(getattr(recommender.model_, "entropy_", np.nan)),
        **fit,
        "predict_seconds": seconds,
        **_ranking(recommender, test, top, engine),
    }
    return Split(figures, recommender, train, levels, p)


def _ranking(recommender: Recommender, test: Ratings, top: int, engine: Engine) -> dict[str, float]:
    """Rankings of the items a user has not rated; relevant is a test rating of at least the mean
    training rating (of likes: every one)."""
    table = recommender.table_
    good = 0.0 if is_likes(test) else float(recommender.values_ @ table.everybody)
    wanted = np.flatnonzero(test.ratings >= good)
    users = np.unique(test.users[wanted])
    items = recommender.items_.numbers(test.item_ids)
    relevant = [items[test.items[wanted[test.users[wanted] == user]]] for user in users]
    numbers = recommender.users_.numbers(test.user_ids[users])
    found = top_items(recommender.adapter_, table, numbers, top, True, engine)
    return ranking_metrics([best for best, _ in found], relevant, table.n_items, top)


def summarised(results: list[dict[str, float]], last: Split) -> Evaluation:
    """Mean and standard deviation over folds."""
    names = list(results[0])
    columns = {name: np.array([result[name] for result in results]) for name in names}
    return Evaluation(
        {name: float(column.mean()) for name, column in columns.items()},
        {name: float(column.std()) for name, column in columns.items()},
        results,
        last,
    )


def _splits(ratings: Ratings, folds: int, seed: int) -> Iterator[tuple[Ratings, Ratings]]:
    for rows in fold_rows(len(ratings), folds, seed):
        rest = np.ones(len(ratings), bool)
        rest[rows] = False
        yield ratings.take(np.flatnonzero(rest)), ratings.take(rows)

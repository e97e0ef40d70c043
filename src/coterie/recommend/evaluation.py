"""Evaluate a model on ratings that it has not seen: in folds, on one split, or on a test table."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.base.progress import Callback, Progress, silent
from coterie.data import Ratings
from coterie.data.node_table import NodeTable
from coterie.engine import Engine, running_engine
from coterie.models.base import Estimator
from coterie.models.interaction.ranking_model import like_threshold
from coterie.models.rating_model import RatingModel
from coterie.recommend.fitted_state import FittedState
from coterie.recommend.metrics import (
    METRIC_NAMES,
    Metrics,
    RankingMetrics,
    RatingMetrics,
    rating_metrics,
    summarized,
    user_metrics,
)
from coterie.recommend.ranking import Order, RankingOptions, as_order, top_items
from coterie.recommend.recommender import Recommender

SPLITS = ("random", "time", "last-n", "cold-users", "cold-items")
_TIMED = ("time", "last-n")


@dataclass(frozen=True, eq=False)
class FoldResult:
    """One training table, the recommender fitted to it, and its predictions of the test table."""

    metrics: Metrics
    rankings: dict[int, RankingMetrics]  # by the length of the rankings
    recommender: Recommender
    train: Ratings
    levels: np.ndarray  # positions of the test ratings in the recommender's values
    probabilities: np.ndarray  # predicted distributions, test ratings x values
    lists: UserLists


class UserLists(NamedTuple):
    """The rankings of the users who have a relevant test item, with the items' numbers."""

    users: np.ndarray  # numbers in the test table
    ranked: list[np.ndarray]
    relevant: list[np.ndarray]
    metrics: np.ndarray  # of the first length: users x `USER_METRICS`


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The metrics of each fold, their means and standard deviations, and the last fold itself."""

    folds: list[Metrics]
    means: Metrics
    spreads: Metrics
    rankings: dict[int, RankingMetrics]  # means over the folds, by the length of the rankings
    last: FoldResult

    @classmethod
    def from_folds(
        cls, folds: list[Metrics], rankings: list[dict[int, RankingMetrics]], last: FoldResult
    ) -> Evaluation:
        """Summarize the metrics of the folds, each over the folds where it was measured."""
        columns = {name: np.array([getattr(m, name) for m in folds]) for name in METRIC_NAMES}
        return cls(
            folds,
            Metrics(**{name: _over_folds(np.mean, column) for name, column in columns.items()}),
            Metrics(**{name: _over_folds(np.std, column) for name, column in columns.items()}),
            {
                n: RankingMetrics(
                    *(_over_folds(np.mean, column) for column in np.transpose(found).astype(float))
                )
                for n in rankings[0]
                for found in [[fold[n] for fold in rankings]]
            },
            last,
        )

    @property
    def ranked(self) -> bool:
        """Whether rankings were measured; otherwise their metrics are NaN."""
        return not np.isnan(self.means.ndcg)

    @property
    def names(self) -> list[str]:
        """The names of the metrics that were measured."""
        left_out = () if self.ranked else RankingMetrics._fields
        return [name for name in METRIC_NAMES if name not in left_out]

    def to_json(self) -> JsonObject:
        """Return the means under their own names, and the spreads and folds.

        Metrics of rankings are left out if they could not be measured.
        """

        def measured(metrics: Metrics) -> dict[str, float]:
            return {name: getattr(metrics, name) for name in self.names}

        at = {str(n): found._asdict() for n, found in self.rankings.items()} if self.ranked else {}
        return {
            **measured(self.means),
            "spread": measured(self.spreads),
            "folds": [measured(metrics) for metrics in self.folds],
            "at": at,
        }


def _over_folds(summary: Callable[[np.ndarray], Any], column: np.ndarray) -> float:
    """Return the mean or the spread of what was measured, NaN if nothing was."""
    measured = column[~np.isnan(column)]
    return float(summary(measured)) if len(measured) else float("nan")


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
    split: str = "folds",
    test_share: float = 0.2,
    test_last: int = 1,
    seed: int = 0,
    top: int | Sequence[int] = 10,
    order: str = "both",
    likes: bool | None = None,
    user_features: NodeTable | None = None,
    item_features: NodeTable | None = None,
    engine: str | Engine = "local",
    callback: Callback = silent,
) -> Evaluation:
    """Evaluate the model that `make` returns, in folds or on one split of the ratings.

    Parameters
    ----------
    make : callable
        Function without arguments that returns an unfitted model.
    ratings : Ratings
        The ratings.
    folds : int, default=5
        Number of folds, if `split` is "folds".
    split : {"folds", "random", "time", "last-n", "cold-users", "cold-items"}, default="folds"
        Which ratings are tested: every one in one of the folds, or those of one split.
    test_share : float, default=0.2
        Share of the ratings, users or items that one split tests.
    test_last : int, default=1
        Number of latest ratings per user that "last-n" tests.
    seed : int, default=0
        Seed of the split.
    top : int or sequence of int, default=10
        Length of the rankings, or several lengths.
    order : {"both", "interaction", "rating"}, default="both"
        Order of the rankings, as in `Recommender.recommend`.
    likes : bool, optional
        Whether the table holds likes, as in `Recommender`.
    user_features, item_features : NodeTable, optional
        Features of users and items, for models that use them.
    engine : {"local"} or Engine, default="local"
        Where the work runs.
    callback : callable, optional
        Called with a `Progress` before each fold.

    Returns
    -------
    Evaluation
        The metrics of each fold, their means and standard deviations.

    Examples
    --------
    >>> from coterie.models.soft.mmsbm import MMSBM
    >>> rng = np.random.default_rng(0)
    >>> table = Ratings.from_arrays(rng.integers(0, 9, 60), rng.integers(0, 9, 60), [1, 2, 3] * 20)
    >>> result = evaluate(lambda: MMSBM(n_groups=2, max_iter=5), table, folds=2)
    >>> len(result.folds), result.means.rmse > 0
    (2, True)
    """
    parts = test_parts(ratings, split, folds, test_share, test_last, seed)
    metrics, rankings = [], []
    with running_engine(engine) as runner:
        for number, (train, test) in enumerate(parts):
            callback(Progress(f"fold {number + 1} of {len(parts)}", number, len(parts)))
            last = evaluate_split(
                make(),
                train,
                test,
                top=top,
                order=order,
                likes=likes,
                user_features=user_features,
                item_features=item_features,
                engine=runner,
            )
            metrics.append(last.metrics)
            rankings.append(last.rankings)
    return Evaluation.from_folds(metrics, rankings, last)


def test_parts(
    ratings: Ratings, split: str, folds: int, test_share: float, test_last: int, seed: int
) -> list[tuple[Ratings, Ratings]]:
    """Return the tables to learn from and to test on, one pair per fold."""
    if split == "folds":
        parts = fold_rows(len(ratings), folds, seed)
    else:
        parts = [split_rows(ratings, split, test_share=test_share, last=test_last, seed=seed)]
    every = np.arange(len(ratings))
    return [
        (ratings.take(np.setdiff1d(every, rows, assume_unique=True)), ratings.take(rows))
        for rows in parts
    ]


def split_rows(
    ratings: Ratings, split: str, *, test_share: float = 0.2, last: int = 1, seed: int = 0
) -> np.ndarray:
    """Return the test rows of one split, in increasing order.

    "random" draws a share of all ratings, "time" takes the share with the latest timestamps, and
    "last-n" takes the `last` latest ratings of each user who has more than that. Equal times are
    ordered as in the data. "cold-users" and "cold-items" draw a share of the users (items) and take
    all their ratings.

    >>> table = Ratings.from_arrays([1, 1, 2], [7, 8, 7], [5, 1, 5], timestamps=[30, 20, 10])
    >>> split_rows(table, "time", test_share=0.3), split_rows(table, "last-n")
    (array([0]), array([0]))
    """
    if split not in SPLITS:
        raise InputError(
            f"unknown `split`: {split!r}", remedy=f"use one of {', '.join(map(repr, SPLITS))}"
        )
    n, times = len(ratings), ratings.timestamps
    if split in _TIMED and times is None:
        raise InputError(
            f"`split={split}` needs the time of each rating, and the table has none",
            remedy="add a column with timestamps, or use `split=random`",
        )
    if split == "last-n":
        if last < 1:
            raise InputError(f"`test_last` must be at least 1, not {last}")
        assert times is not None
        order = np.lexsort((times, ratings.users))
        counts = np.bincount(ratings.users, minlength=ratings.n_users)
        ends = np.cumsum(counts)[ratings.users[order]]
        chosen = (np.arange(n) >= ends - last) & (counts[ratings.users[order]] > last)
        rows = order[chosen]
    else:
        if not 0 < test_share < 1:
            raise InputError(f"`test_share` must be between 0 and 1, not {test_share:g}")
        count = round(test_share * n)
        rng = np.random.default_rng(seed)
        if split.startswith("cold-"):
            nodes = ratings.users if split == "cold-users" else ratings.items
            rated = np.unique(nodes)
            drawn = rng.permutation(rated)[: max(1, round(test_share * len(rated)))]
            held_out = np.isin(nodes, drawn)
            order, count = np.argsort(held_out, kind="stable"), int(held_out.sum())
        elif split == "random":
            order = rng.permutation(n)
        else:
            assert times is not None
            order = np.argsort(times, kind="stable")
        rows = order[n - count :]
    if not 0 < len(rows) < n:
        raise InputError(
            f"the split leaves {n - len(rows):,} ratings to learn from, {len(rows):,} to test on",
            remedy="change the share or the number of test ratings, or give more ratings",
        )
    return np.sort(rows)


def evaluate_split(
    model: Estimator,
    train: Ratings,
    test: Ratings,
    *,
    top: int | Sequence[int] = 10,
    order: str = "both",
    likes: bool | None = None,
    user_features: NodeTable | None = None,
    item_features: NodeTable | None = None,
    engine: Engine,
    earlier: FoldResult | None = None,
) -> FoldResult:
    """Fit a model to one table, and to features if given, and test it on the other table.

    `earlier` is another model of the same table whose interaction model is used if it would be the
    same, and not fitted again.
    """
    if not len(test):
        raise InputError("there are no ratings to test on", remedy="give at least one rating")
    lengths = [top] if isinstance(top, int) else list(top)
    if not lengths or min(lengths) < 1:
        raise InputError(f"the lengths of rankings must be at least 1, not {lengths}")
    wanted = as_order(order)
    if isinstance(model, RatingModel) and model.ranked_by == ("rating",):
        wanted = Order.RATING
    clock, cpu = time.perf_counter(), time.process_time()
    features: dict[str, Any] = {"user_features": user_features, "item_features": item_features}
    recommender = Recommender(model, likes=likes).fit(train, engine=engine, **features)
    fit_seconds, fit_cpu = time.perf_counter() - clock, time.process_time() - cpu
    if earlier is not None:
        state, other = recommender._fitted, earlier.recommender._fitted

        def decisive(one: FittedState) -> tuple[Any, ...]:
            liked_from = one.predictor.values[one.liked_level]
            return liked_from, one.likes, one.ranked_by, one.seed, one.table.n_items

        if decisive(state) == decisive(other):
            recommender._state = replace(state, interactions=other.interactions)
    clock = time.perf_counter()
    users, items = test.user_ids[test.users], test.item_ids[test.items]
    p = recommender.predict_proba(users, items, engine=engine)
    predict_seconds = time.perf_counter() - clock
    levels = recommender.predictor_.levels(test.ratings)
    errors = rating_metrics(p, recommender.values_, levels, test.ratings)
    if recommender.model_.why_no_ratings:
        errors = RatingMetrics(*(np.nan for _ in errors))
    liked_from = like_threshold(train.values, np.bincount(train.codes, minlength=len(train.values)))
    rankings, lists = _rankings(recommender, test, liked_from, lengths, wanted, engine)
    metrics = Metrics(
        **errors._asdict(),
        entropy=float(recommender.model_.entropy_),
        fit_seconds=fit_seconds,
        fit_cpu_seconds=fit_cpu,
        predict_seconds=predict_seconds,
        **rankings[lengths[0]]._asdict(),
    )
    return FoldResult(metrics, rankings, recommender, train, levels, p, lists)


def _rankings(
    recommender: Recommender,
    test: Ratings,
    liked_from: float,
    lengths: list[int],
    order: Order,
    engine: Engine,
) -> tuple[dict[int, RankingMetrics], UserLists]:
    """Rank, for each test user, all items that the user did not rate in training.

    Every test rating is relevant for the order "interaction" and for likes; for the other orders,
    those from `liked_from` on. Without a relevant item that a ranking could contain, all metrics
    are NaN: no test item is relevant, or none has ratings in training and the order is not
    "rating".
    """
    every = recommender.likes_ or order is Order.INTERACTION
    users, relevant = relevant_items(test, -np.inf if every else liked_from)
    table = recommender.table_
    item_numbers = recommender.items_.numbers(test.item_ids)
    user_numbers = recommender.users_.numbers(test.user_ids[users])
    options = RankingOptions(order, engine=engine)
    found = top_items(recommender._ranked(order, engine), user_numbers, max(lengths), options)
    ranked = [one.items for one in found]
    wanted = [item_numbers[own] for own in relevant]
    having = csr_array(
        (np.ones(len(table.items)), (table.items, table.users)), (table.n_items, table.n_users)
    )
    having.data[:] = 1.0  # a pair may be rated twice
    rated = np.diff(having.indptr)
    known = np.unique(np.concatenate([item_numbers[:0], *wanted]))
    known = known[known >= 0]
    by_user = {n: user_metrics(ranked, wanted, n, having) for n in lengths}
    lists = UserLists(users, ranked, wanted, by_user[lengths[0]])
    if not (len(known) if order is Order.RATING else rated[known].any()):
        lists.metrics[:] = np.nan
        return {
            n: RankingMetrics(*(np.nan for _ in RankingMetrics._fields)) for n in lengths
        }, lists
    return {n: summarized(by_user[n], ranked, table.n_items, n) for n in lengths}, lists


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

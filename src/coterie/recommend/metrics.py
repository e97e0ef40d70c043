"""Quality of predictions and rankings, and how much two clusterings agree (`coterie.metrics`)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from coterie.models.agreement import adjusted_mutual_information as adjusted_mutual_information
from coterie.models.agreement import adjusted_rand as adjusted_rand


@dataclass(frozen=True)
class Metrics:
    """The figures of one fold, or their means or standard deviations over the folds.

    The figures of rankings are those of `RankingMetrics` at the first length that was requested,
    and NaN if rankings cannot be measured.
    """

    rmse: float
    mae: float
    accuracy: float
    log_loss: float
    entropy: float  # of the training ratings; NaN if the model has none
    fit_seconds: float
    fit_cpu_seconds: float
    predict_seconds: float
    ndcg: float
    precision: float
    recall: float
    hit_rate: float
    mrr: float
    map: float
    coverage: float
    novelty: float


METRIC_NAMES = tuple(field.name for field in fields(Metrics))


class RatingMetrics(NamedTuple):
    """Errors of predicted ratings."""

    rmse: float  # root mean squared error of the expected rating
    mae: float  # mean absolute error of the median
    accuracy: float  # share of ratings that were the most likely one
    log_loss: float  # mean of -log P(true rating), in nats


class RankingMetrics(NamedTuple):
    """Quality of the first n of rankings, averaged over the users with a relevant item."""

    ndcg: float  # normalized discounted cumulative gain
    precision: float  # share of the first n that are relevant
    recall: float  # share of the relevant items among the first n
    hit_rate: float  # share of users with a relevant item among the first n
    mrr: float  # mean reciprocal rank of the first relevant item, 0 if it is not among them
    map: float  # mean of the precisions at the relevant items, over min(n, relevant items)
    coverage: float  # share of all items that appear in any ranking
    novelty: float  # mean of -log2(share of users who have the item), in bits


def rating_metrics(
    p: np.ndarray, values: np.ndarray, levels: np.ndarray, truth: np.ndarray
) -> RatingMetrics:
    """Compare predicted distributions `p` (pairs x values) with the true ratings.

    `levels` are the positions of the true ratings in `values`, `truth` the ratings themselves.

    >>> p, values = np.array([[0.2, 0.8]]), np.array([1.0, 2.0])
    >>> m = rating_metrics(p, values, np.array([1]), np.array([2.0]))
    >>> {name: round(x, 3) for name, x in m._asdict().items()}
    {'rmse': 0.2, 'mae': 0.0, 'accuracy': 1.0, 'log_loss': 0.223}
    """
    own = p[np.arange(len(p)), levels]
    return RatingMetrics(
        rmse=float(np.sqrt(np.mean((p @ values - truth) ** 2))),
        mae=float(np.mean(np.abs(values[medians(p)] - truth))),
        accuracy=float(np.mean(p.argmax(axis=1) == levels)),
        log_loss=float(-np.mean(np.log(np.maximum(own, 1e-15)))),
    )


def medians(p: np.ndarray) -> np.ndarray:
    """Return the position of each distribution's median: the first where half is reached."""
    reached = np.cumsum(p, axis=1) >= 0.5 * p.sum(axis=1, keepdims=True)
    return np.asarray(reached.argmax(axis=1))


def ndcg(gains: np.ndarray, all_gains: np.ndarray, n: int) -> float:
    """Return the discounted gain of a ranking's first n, divided by the best possible one.

    >>> round(ndcg(np.array([0.0, 1.0]), np.array([1.0]), 2), 4)
    0.6309
    """
    best = np.sort(all_gains)[::-1][:n]
    ideal = float((best / np.log2(np.arange(len(best)) + 2)).sum())
    got = float((gains[:n] / np.log2(np.arange(len(gains[:n])) + 2)).sum())
    return got / ideal if ideal > 0 else 0.0


def ranking_metrics(
    ranked: list[np.ndarray],
    relevant: list[np.ndarray],
    n_items: int,
    n: int,
    popularity: np.ndarray | None = None,
) -> RankingMetrics:
    """Compare each user's ranking with the items that are relevant for that user.

    `popularity` is the share of users who have each item; without it, novelty is NaN. Users
    without a relevant item do not count.

    >>> m = ranking_metrics([np.array([3, 1])], [np.array([1])], 4, 2)
    >>> m.precision, m.recall, m.mrr, m.map, m.coverage
    (0.5, 1.0, 0.5, 0.5, 0.5)
    """
    rows = []
    shown = np.zeros(n_items, bool)
    surprise, places = 0.0, 0
    for whole, wanted in zip(ranked, relevant, strict=True):
        best = whole[:n]
        shown[best] = True
        if not len(wanted):
            continue
        hits = np.isin(best, wanted).astype(float)
        at = np.flatnonzero(hits)
        rows.append(
            (
                ndcg(hits, np.ones(len(wanted)), n),
                hits.sum() / n,
                hits.sum() / len(wanted),
                float(len(at) > 0),
                1 / (at[0] + 1) if len(at) else 0.0,
                float((np.arange(1, len(at) + 1) / (at + 1)).sum() / min(n, len(wanted))),
            )
        )
        if popularity is not None:
            surprise -= float(np.log2(np.maximum(popularity[best], 1e-12)).sum())
            places += len(best)
    means = np.mean(rows, axis=0) if rows else np.zeros(6)
    novelty = surprise / max(places, 1) if popularity is not None else float("nan")
    coverage = float(shown.sum() / max(n_items, 1))
    return RankingMetrics(*(float(mean) for mean in means), coverage, novelty)  # type: ignore[call-arg]

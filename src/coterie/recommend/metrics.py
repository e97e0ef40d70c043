"""Quality of predictions and rankings, and how much two clusterings agree (`coterie.metrics`)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

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
    calibration: float
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
    novelty: float
    diversity: float
    coverage: float
    gini: float


METRIC_NAMES = tuple(field.name for field in fields(Metrics))


class RatingMetrics(NamedTuple):
    """Errors of predicted ratings."""

    rmse: float  # root mean squared error of the expected rating
    mae: float  # mean absolute error of the median
    accuracy: float  # share of ratings that were the most likely one
    log_loss: float  # mean of -log P(true rating), in nats
    calibration: float  # mean distance of predicted probabilities from observed frequencies


class RankingMetrics(NamedTuple):
    """Quality of the first n of rankings; all but the last two are means over users."""

    ndcg: float  # normalized discounted cumulative gain
    precision: float  # share of the first n that are relevant
    recall: float  # share of the relevant items among the first n
    hit_rate: float  # share of users with a relevant item among the first n
    mrr: float  # mean reciprocal rank of the first relevant item, 0 if it is not among them
    map: float  # mean of the precisions at the relevant items, over min(n, relevant items)
    novelty: float  # mean of -log2(share of users who have the item), in bits
    diversity: float  # mean of 1 - cosine(users who have one item, users who have another)
    coverage: float  # share of all items that appear in any ranking
    gini: float  # of how often items appear: 0 if all appear alike, near 1 if few have all places


USER_METRICS = RankingMetrics._fields[:-2]  # those that every user has


def rating_metrics(
    p: np.ndarray, values: np.ndarray, levels: np.ndarray, truth: np.ndarray
) -> RatingMetrics:
    """Compare predicted distributions `p` (pairs x values) with the true ratings.

    `levels` are the positions of the true ratings in `values`, `truth` the ratings themselves.

    >>> p, values = np.array([[0.2, 0.8]]), np.array([1.0, 2.0])
    >>> m = rating_metrics(p, values, np.array([1]), np.array([2.0]))
    >>> {name: round(x, 3) for name, x in m._asdict().items()}
    {'rmse': 0.2, 'mae': 0.0, 'accuracy': 1.0, 'log_loss': 0.223, 'calibration': 0.2}
    """
    squared, absolute, log_loss = rating_errors(p, values, levels, truth).mean(axis=0).tolist()
    predictions, predicted, observed = calibration_curve(p, levels)
    return RatingMetrics(
        rmse=float(np.sqrt(squared)),
        mae=absolute,
        accuracy=float(np.mean(p.argmax(axis=1) == levels)),
        log_loss=log_loss,
        calibration=float(np.average(np.abs(predicted - observed), weights=predictions)),
    )


def rating_errors(
    p: np.ndarray, values: np.ndarray, levels: np.ndarray, truth: np.ndarray
) -> np.ndarray:
    """Return the squared error, absolute error and log loss of each prediction: pairs x 3."""
    own = p[np.arange(len(p)), levels]
    squared, absolute = (p @ values - truth) ** 2, np.abs(values[medians(p)] - truth)
    return np.stack([squared, absolute, -np.log(np.maximum(own, 1e-15))], axis=1)


def calibration_curve(
    p: np.ndarray, levels: np.ndarray, bins: int = 12
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Group all predicted probabilities into bins of equal width.

    Return per bin how many there are, their mean, and how often the value was the true one.
    """
    predicted = p.ravel()
    is_true = (levels[:, None] == np.arange(p.shape[1])).ravel()
    bin_ = np.minimum((predicted * bins).astype(int), bins - 1)
    number = np.bincount(bin_, minlength=bins)
    some = np.maximum(number, 1)
    return (
        number,
        np.bincount(bin_, predicted, bins) / some,
        np.bincount(bin_, is_true, bins) / some,
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
    having: csr_array | None = None,
) -> RankingMetrics:
    """Compare each user's ranking with the items that are relevant for that user.

    `having` (items x users, 0/1) says who has each item; without it, novelty and diversity are
    NaN. Users without a relevant item do not count.

    >>> m = ranking_metrics([np.array([3, 1])], [np.array([1])], 4, 2)
    >>> m.precision, m.recall, m.mrr, m.map, m.coverage, m.gini
    (0.5, 1.0, 0.5, 0.5, 0.5, 0.5)
    """
    return summarized(user_metrics(ranked, relevant, n, having), ranked, n_items, n)


def summarized(
    by_user: np.ndarray, ranked: list[np.ndarray], n_items: int, n: int
) -> RankingMetrics:
    """Return the means of what `user_metrics` returned, and how the places are distributed."""
    measured = by_user[~np.isnan(by_user[:, 0])]
    means = measured.mean(axis=0) if len(measured) else np.zeros(len(USER_METRICS))
    means[7] = mean_of(measured[:, 7])  # a list of one item has no diversity
    shown = np.concatenate([np.empty(0, np.int64), *(whole[:n] for whole in ranked)])
    places = np.sort(np.bincount(shown.astype(np.int64), minlength=n_items))
    order = 2 * np.arange(1, n_items + 1) - n_items - 1
    gini = float(order @ places / max(n_items * places.sum(), 1))
    coverage = float((places > 0).sum() / max(n_items, 1))
    return RankingMetrics._make([*means.tolist(), coverage, gini])


def mean_of(column: np.ndarray) -> float:
    """Return the mean of what was measured, NaN if nothing was."""
    measured = column[~np.isnan(column)]
    return float(measured.mean()) if len(measured) else float("nan")


def user_metrics(
    ranked: list[np.ndarray],
    relevant: list[np.ndarray],
    n: int,
    having: csr_array | None = None,
) -> np.ndarray:
    """Return the `USER_METRICS` of each ranking; NaN for users without a relevant item."""
    out = np.full((len(ranked), len(USER_METRICS)), np.nan)
    if having is not None:
        sizes = np.maximum(np.diff(having.indptr), 1e-12)
        bits = -np.log2(sizes / max(len(np.unique(having.indices)), 1))
        unit = csr_array(having * (1 / np.sqrt(sizes))[:, None])
    for row, (whole, wanted) in enumerate(zip(ranked, relevant, strict=True)):
        if not len(wanted):
            continue
        best = whole[:n]
        hits = np.isin(best, wanted).astype(float)
        at = np.flatnonzero(hits)
        out[row, :6] = (
            ndcg(hits, np.ones(len(wanted)), n),
            hits.sum() / n,
            hits.sum() / len(wanted),
            float(len(at) > 0),
            1 / (at[0] + 1) if len(at) else 0.0,
            float((np.arange(1, len(at) + 1) / (at + 1)).sum() / min(n, len(wanted))),
        )
        if having is not None and len(best):
            vectors = unit[best]
            together = np.bincount(vectors.indices, vectors.data)  # the sum of unit vectors
            pairs = len(best) * (len(best) - 1)
            alike = (together @ together - (vectors.data @ vectors.data)) / max(pairs, 1)
            out[row, 6:] = bits[best].mean(), 1 - alike if pairs else np.nan
    return out

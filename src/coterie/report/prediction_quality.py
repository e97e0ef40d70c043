"""Quality of predicted distributions: comparison with the true ratings, and calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.report.charts import Axis, Chart, Series, heatmap, short, xy
from coterie.report.page import Section

_BINS = 12
_FEW_VALUES = 12  # up to this many, each value has a marker and a row in the heat map


@dataclass(frozen=True, eq=False)
class PredictionQuality:
    """Sums over the test ratings; their size does not depend on the number of ratings.

    Every test rating gives one predicted probability per value. `predictions`, `predicted` and
    `observed` group these probabilities into bins of equal width.
    """

    n_ratings: int
    values: np.ndarray
    counts: np.ndarray  # test ratings per true value
    mode_by_truth: np.ndarray  # true value x most likely value
    mean_by_truth: np.ndarray  # mean expected rating per true value …
    spread_by_truth: np.ndarray  # … and its standard deviation
    predictions: np.ndarray  # probabilities per bin
    predicted: np.ndarray  # mean predicted probability per bin …
    observed: np.ndarray  # … and how often the value was the true one

    @property
    def calibration_error(self) -> float:
        """Mean distance between predicted and observed probability, over all probabilities."""
        distance = np.abs(self.predicted - self.observed)
        return float((distance * self.predictions).sum() / max(self.predictions.sum(), 1))


def prediction_quality(
    truth: np.ndarray, probabilities: np.ndarray, values: np.ndarray
) -> PredictionQuality:
    """Compare predicted distributions (ratings x values) with the true ratings.

    `truth` holds the position of each true rating in `values`.
    """
    truth, probabilities = np.asarray(truth), np.asarray(probabilities, np.float64)
    r = len(values)
    mean = probabilities @ values
    counts = np.bincount(truth, minlength=r)
    mode_by_truth = np.zeros((r, r))
    np.add.at(mode_by_truth, (truth, probabilities.argmax(1)), 1)
    at_least_one = np.maximum(counts, 1)
    first = np.bincount(truth, mean, r) / at_least_one
    second = np.bincount(truth, mean**2, r) / at_least_one
    predicted = probabilities.ravel()
    is_true = (truth[:, None] == np.arange(r)[None, :]).ravel()
    bin_ = np.minimum((predicted * _BINS).astype(int), _BINS - 1)
    predictions = np.bincount(bin_, minlength=_BINS)
    return PredictionQuality(
        n_ratings=len(truth),
        values=np.asarray(values, np.float64),
        counts=counts,
        mode_by_truth=mode_by_truth,
        mean_by_truth=first,
        spread_by_truth=np.sqrt(np.maximum(second - first**2, 0)),
        predictions=predictions,
        predicted=np.bincount(bin_, predicted, _BINS) / np.maximum(predictions, 1),
        observed=np.bincount(bin_, is_true, _BINS) / np.maximum(predictions, 1),
    )


def quality_section(quality: PredictionQuality, n_folds: int = 1) -> Section:
    """Draw predicted against true ratings, and the calibration.

    With several folds, the test ratings are those of the last one.
    """
    lead = f"Measured on {quality.n_ratings:,} ratings that the model had not seen."
    if n_folds > 1:
        lead = (
            f"Measured on the {quality.n_ratings:,} ratings of fold {n_folds}, the last one, which "
            "the model had not seen. The figures above are means over all folds."
        )
    section = Section("How good the predictions are", lead)
    values, given = quality.values, quality.counts > 0
    few = len(values) <= _FEW_VALUES
    means, spread = quality.mean_by_truth[given], quality.spread_by_truth[given]
    ratings = xy(
        [Series("mean prediction", values[given], means, "both" if few else "line", spread)],
        Axis("true rating"),
        Axis("predicted rating", lo=float(values[0]), hi=float(values[-1])),
        description="Mean predicted rating for each true rating, with its spread.",
        diagonal=True,
    )
    section.draw(
        "Predicted and true ratings",
        ratings,
        "Perfect predictions would lie on the dashed line. Bars show one standard deviation. "
        "The more uncertain a rating is, the closer its prediction is to the mean.",
    )
    used = quality.predictions > 0
    predicted, observed = quality.predicted[used], quality.observed[used]
    calibration = xy(
        [Series("predicted probabilities", predicted, observed, "both")],
        Axis("predicted probability", lo=0.0, hi=1.0),
        Axis("observed frequency", lo=0.0, hi=1.0),
        description="How often a rating occurred, by its predicted probability.",
        diagonal=True,
    )
    section.draw(
        "Calibration",
        calibration,
        "On the dashed line, ratings predicted with a probability of 30 % occur in 30 of 100 "
        f"cases. Mean distance from it: {100 * quality.calibration_error:.1f} percentage "
        "points.",
    )
    if few:
        title, meaning = "The most likely rating", "One row per true rating; a row sums to 100."
        section.draw(title, _most_likely_ratings(quality), meaning)
    return section


def _most_likely_ratings(quality: PredictionQuality) -> Chart:
    """Draw how often each value was the most likely one, for each true value."""
    names = [short(float(value)) for value in quality.values]
    shares = (100 * quality.mode_by_truth / np.maximum(quality.counts, 1)[:, None]).round(1)
    return heatmap(
        np.where(quality.counts[:, None] > 0, shares, np.nan),
        names,
        value="% of the row",
        description="For each true rating, how often each rating was the most likely one.",
        row_title="true",
        column_title="most likely rating",
        tip=lambda i, j: (
            f"true {names[i]}, predicted {names[j]}\n{shares[i, j]:.1f} % of "
            f"{quality.counts[i]:,.0f}"
        ),
    )

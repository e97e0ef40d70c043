"""The report of a recommender's evaluation: its errors, its calibration and its groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.base.number_text import short
from coterie.data import Ratings
from coterie.recommend.metrics import Metrics, calibration_curve
from coterie.report.charts import Axis, Chart, Series, heatmap, xy
from coterie.report.charts.drawing import Cell
from coterie.report.page import Fact, Page, Section, Verdict, written
from coterie.report.rating_groups import group_sections
from coterie.report.shared_sections import (
    assumptions,
    convergence,
    model_assumptions,
    settings,
)

_FOLDS = (
    "Rows were assigned to the folds at random: neither later ratings nor new users and items are "
    "tested separately."
)
# Titles of the metrics, in the order of the table
_TITLES = {
    "rmse": "RMSE",
    "mae": "MAE",
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "calibration": "calibration error",
    "ndcg": "NDCG",
    "precision": "precision",
    "recall": "recall",
    "hit_rate": "hit rate",
    "mrr": "MRR",
    "map": "MAP",
    "novelty": "novelty (bits)",
    "diversity": "diversity",
    "coverage": "coverage",
    "gini": "Gini",
    "entropy": "entropy (training)",
    "fit_seconds": "fit (s)",
    "fit_cpu_seconds": "fit (CPU s)",
    "predict_seconds": "predict (s)",
}
_PERCENT = ("accuracy", "precision", "recall", "hit_rate", "coverage")
_DECIMALS = {"entropy": 1, "fit_seconds": 2, "fit_cpu_seconds": 2, "predict_seconds": 2}
_MAX_FACTS = 8
_FEW_VALUES = 12  # up to this many, each value has a marker and a row in the heat map
_GLOSSARY = (
    "RMSE and MAE: root mean squared error and mean absolute error, in units of the rating. "
    "Accuracy: how often the most likely rating is the true one. Log loss: mean of minus the "
    "natural logarithm of the probability of the true rating, in nats. Calibration error: mean "
    "distance between predicted probabilities and how often they come true. NDCG, precision and "
    "recall compare the items ranked first for a user (10 by default) with the test items that "
    "the user likes: about the upper half of all ratings. Hit rate: share of users with such an "
    "item among them. MRR: mean of 1 / place of the first one. MAP: mean of the precisions at "
    "their places. Coverage: share of all items that are recommended to anyone. Novelty: mean of "
    "minus log2 of the share of users who have a listed item. Diversity: mean of 1 minus the "
    "cosine between the users of two items of a list. Gini: how unequally the places of all lists "
    "are distributed over the items, from 0 (equally) to 1 (one item has all). Std: standard "
    "deviation over the folds."
)


class _Folds:
    """The metrics of the folds."""

    def __init__(self, folds: Sequence[Metrics]) -> None:
        self.folds = folds
        measured = ((name, self.metric(name)) for name in _TITLES)
        self.means = {name: float(np.mean(values)) for name, values in measured if values}

    def metric(self, name: str) -> list[float]:
        """Return the values of a metric in the folds that have it."""
        values = [float(getattr(fold, name)) for fold in self.folds]
        return [value for value in values if np.isfinite(value)]


def compose(
    folds: Sequence[Metrics],
    *,
    name: str = "the ratings",
    model: Any = None,
    ratings: Ratings | None = None,
    test: tuple[np.ndarray, np.ndarray] | None = None,
    titles: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
) -> Page:
    """Report an evaluation of a recommender.

    Parameters
    ----------
    folds : sequence of Metrics
        The metrics of each fold; a metric that was not measured is NaN.
    name : str, default="the ratings"
        What the page calls the data.
    model : estimator, optional
        A fitted model whose groups are shown.
    ratings : Ratings, optional
        The ratings that it was fitted to.
    test : tuple of two arrays, optional
        For the ratings of the last fold, which the model had not seen: the positions of the true
        ratings in `ratings.values`, and the predicted distributions (ratings x values).
    titles : mapping of str to str, optional
        Titles of the items by their ids.
    assumed : sequence of str, default=()
        Remarks to list under "What was assumed", such as the text of AssumptionWarnings.

    Returns
    -------
    Page or str
        `compose` returns the page, `render` one HTML file that fetches nothing.
    """
    remarks = [*assumed, *([_FOLDS] if len(folds) > 1 else [])]
    measured = _Folds(folds)
    sections = [_folds_section(measured)]
    spread = None
    if ratings is not None:
        spread = float(np.std(ratings.ratings))
        remarks = model_assumptions(model, ratings, remarks)
        if test is not None:
            quality = prediction_quality(*test, ratings.values)
            sections.insert(0, quality_section(quality, len(folds)))
        if model is not None:
            sections += group_sections(model, ratings, titles)
    sections += [convergence(() if model is None else model.history_), assumptions(remarks)]
    if model is not None:
        sections.append(settings(model))
    return Page(
        "recommender report",
        f"Predicting {name}",
        _verdict(measured.means, spread),
        _facts(measured),
        sections,
    )


render = written(compose)


def _verdict(means: Mapping[str, float], rating_std: float | None) -> Verdict:
    """Describe the quality of the predictions; `rating_std` is that of the training ratings."""
    if "rmse" not in means:
        ndcg = f"NDCG {short(means['ndcg'])}" if "ndcg" in means else "not measured"
        return Verdict(f"Ranking of unseen items: {ndcg}.")
    text = f"The root mean squared error of the predictions is {means['rmse']:.3f}"
    tone = ""
    if rating_std:
        gain = 1 - means["rmse"] / rating_std
        text += (
            f", {100 * gain:.0f} % lower than that of always predicting the mean rating"
            if gain > 0
            else ", not lower than that of always predicting the mean rating"
        )
        tone = "good" if gain > 0 else "bad"
    if "accuracy" in means:
        text += f". The most likely rating is the true one in {100 * means['accuracy']:.0f} %"
        text += " of the cases"
    return Verdict(text + ".", tone)


def _facts(measured: _Folds) -> list[Fact]:
    """Return the first metrics as figures on top of the page."""
    facts = []
    for name, mean in measured.means.items():
        percent = name in _PERCENT
        figure = f"{100 * mean:.1f} %" if percent else short(mean, 4 if name == "rmse" else 3)
        facts.append(Fact(_TITLES[name], figure, _range_over_folds(measured, name, percent)))
    return facts[:_MAX_FACTS]


def _range_over_folds(measured: _Folds, name: str, percent: bool) -> str:
    """Describe the range of a metric over the folds."""
    values = [value * (100 if percent else 1) for value in measured.metric(name)]
    if len(values) < 2:
        return ""
    unit = " %" if percent else ""
    return f"{short(min(values))} to {short(max(values))}{unit} over the folds"


def _folds_section(measured: _Folds) -> Section:
    """Tabulate the metrics of each fold."""
    used = list(measured.means)
    if not used:
        return Section("Results by fold")
    rows: list[list[Cell]] = [
        [f"fold {number}", *(_formatted(name, getattr(fold, name)) for name in used)]
        for number, fold in enumerate(measured.folds, start=1)
    ]
    section = Section(
        "Results by fold", "Each fold was predicted by a model that was fitted to the others."
    )
    if len(measured.folds) > 1:
        for word, reduced in (
            ("mean", measured.means.values()),
            ("std", [float(np.std(measured.metric(name))) for name in used]),
        ):
            rows.append([word, *map(_formatted, used, reduced)])
        numbers = np.arange(1, len(measured.folds) + 1)
        errors = [
            Series(_TITLES[name], numbers, measured.metric(name), "both")
            for name in ("rmse", "mae")
            if len(measured.metric(name)) == len(measured.folds)
        ]
        if errors:
            both = "RMSE and MAE of each fold."
            chart = xy(errors, Axis("fold"), Axis("error"), description=both)
            section.draw("Error by fold", chart)
    section.tabulate(["", *(_TITLES[name] for name in used)], rows, _GLOSSARY)
    return section


def _formatted(name: str, value: float) -> str | None:
    """Return a value with four decimals: folds differ in the third."""
    return f"{value:,.{_DECIMALS.get(name, 4)}f}" if np.isfinite(value) else None


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
    predictions, predicted, observed = calibration_curve(probabilities, truth)
    return PredictionQuality(
        n_ratings=len(truth),
        values=np.asarray(values, np.float64),
        counts=counts,
        mode_by_truth=mode_by_truth,
        mean_by_truth=first,
        spread_by_truth=np.sqrt(np.maximum(second - first**2, 0)),
        predictions=predictions,
        predicted=predicted,
        observed=observed,
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

"""The report of a recommender's evaluation: its errors, its calibration and its groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.base.progress import Iteration
from coterie.data import Ratings
from coterie.models.hard.clustering import HardClustering
from coterie.recommend.metrics import Metrics
from coterie.report.additive_partitions import (
    PartitionSummary,
    partitions_section,
    summarize_partitions,
)
from coterie.report.assumptions import FOLDS, model_assumptions
from coterie.report.charts import Axis, ChartTable, Series, short, xy
from coterie.report.charts.drawing import Cell
from coterie.report.cluster_ratings_report import RatingBlocks, block_sections, summarize_blocks
from coterie.report.page import Fact, Figure, Page, Panel, Section, Verdict, write
from coterie.report.prediction_quality import (
    PredictionQuality,
    prediction_quality,
    quality_section,
)
from coterie.report.shared_sections import assumptions, convergence, parameters
from coterie.report.soft_report import RatingGroups, rating_sections, summarize_ratings

# Titles of the metrics, in the order of the table
_TITLES = {
    "rmse": "RMSE",
    "mae": "MAE",
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "ndcg": "NDCG",
    "precision": "precision",
    "recall": "recall",
    "hit_rate": "hit rate",
    "mrr": "MRR",
    "map": "MAP",
    "coverage": "coverage",
    "novelty": "novelty (bits)",
    "entropy": "entropy (training)",
    "fit_seconds": "fit (s)",
    "fit_cpu_seconds": "fit (CPU s)",
    "predict_seconds": "predict (s)",
}
_PERCENT = ("accuracy", "precision", "recall", "hit_rate", "coverage")
_DECIMALS = {"entropy": 1, "fit_seconds": 2, "fit_cpu_seconds": 2, "predict_seconds": 2}
_MAX_FACTS = 8
_GLOSSARY = (
    "RMSE and MAE: root mean squared error and mean absolute error, in units of the rating. "
    "Accuracy: how often the most likely rating is the true one. Log loss: mean of minus the "
    "natural logarithm of the probability of the true rating, in nats. NDCG, precision and recall "
    "compare the items ranked first for a user (10 by default) with the test items that the user "
    "likes: about the upper half of all ratings. Hit rate: share of users with such an item among "
    "them. MRR: mean of 1 / place of the first one. MAP: mean of the precisions at their places. "
    "Coverage: share of all items that are recommended to anyone. Novelty: mean of minus log2 of "
    "the share of users who have a listed item. Std: standard deviation over the folds."
)


@dataclass(frozen=True, eq=False)
class RecommenderSummary:
    """Everything that the report of an evaluation shows."""

    name: str  # of the data
    folds: tuple[Metrics, ...]
    estimator: str  # class name of the model, "" if no model was given
    parameters: Mapping[str, Any]
    history: tuple[Iteration, ...]
    assumed: tuple[str, ...]
    rating_std: float | None = None  # of the training ratings
    quality: PredictionQuality | None = None
    groups: RatingGroups | RatingBlocks | tuple[PartitionSummary, ...] | None = None

    def metric(self, name: str) -> list[float]:
        """Return the values of a metric in the folds that have it."""
        values = [float(getattr(fold, name)) for fold in self.folds]
        return [value for value in values if np.isfinite(value)]

    @property
    def means(self) -> dict[str, float]:
        """The mean of each metric that was measured."""
        return {name: float(np.mean(self.metric(name))) for name in _TITLES if self.metric(name)}


def render(
    folds: Sequence[Metrics],
    *,
    name: str = "the ratings",
    model: Any = None,
    ratings: Ratings | None = None,
    test: tuple[np.ndarray, np.ndarray] | None = None,
    titles: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
) -> str:
    """Render the report of an evaluation as one HTML file.

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
    str
        A complete HTML page that fetches nothing.
    """
    return write(
        compose(
            summarize(
                folds,
                name=name,
                model=model,
                ratings=ratings,
                test=test,
                titles=titles,
                assumed=assumed,
            )
        )
    )


def summarize(
    folds: Sequence[Metrics],
    *,
    name: str = "the ratings",
    model: Any = None,
    ratings: Ratings | None = None,
    test: tuple[np.ndarray, np.ndarray] | None = None,
    titles: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
) -> RecommenderSummary:
    """Summarize an evaluation; see `render` for the arguments."""
    remarks = [*assumed, *([FOLDS] if len(folds) > 1 else [])]
    if ratings is not None:
        remarks = model_assumptions(model, ratings, remarks)
    return RecommenderSummary(
        name=name,
        folds=tuple(folds),
        estimator=type(model).__name__ if model is not None else "",
        parameters=model.get_params() if model is not None else {},
        history=tuple(getattr(model, "history_", ())),
        assumed=tuple(remarks),
        rating_std=None if ratings is None else float(np.std(ratings.ratings)),
        quality=(
            None if ratings is None or test is None else prediction_quality(*test, ratings.values)
        ),
        groups=None if ratings is None else _summarize_groups(model, ratings, titles),
    )


def _summarize_groups(
    model: Any, ratings: Ratings, titles: Mapping[str, str] | None
) -> RatingGroups | RatingBlocks | tuple[PartitionSummary, ...] | None:
    """Summarize the groups, blocks or partitions of a model."""
    if hasattr(model, "user_memberships_"):
        return summarize_ratings(model, ratings, titles)
    if hasattr(model, "samples_"):  # before labels: an additive model has those too
        return summarize_partitions(model, ratings, titles)
    if isinstance(model, HardClustering):
        return summarize_blocks(model, ratings, titles)
    return None


def compose(summary: RecommenderSummary) -> Page:
    """Compose the page from a summary."""
    sections = [_folds_section(summary)]
    if summary.quality is not None:
        sections.insert(0, quality_section(summary.quality, len(summary.folds)))
    if isinstance(summary.groups, RatingGroups):
        sections += rating_sections(summary.groups)
    elif isinstance(summary.groups, RatingBlocks):
        sections += block_sections(summary.groups)
    elif summary.groups is not None:
        sections.append(partitions_section(summary.groups))
    return Page(
        "recommender report",
        f"Predicting {summary.name}",
        _verdict(summary),
        _facts(summary),
        [
            *sections,
            convergence(summary.history),
            assumptions(summary.assumed),
            parameters(summary.parameters, summary.estimator),
        ],
    )


def _verdict(summary: RecommenderSummary) -> Verdict:
    """Describe the quality of the predictions."""
    means = summary.means
    if "rmse" not in means:
        ndcg = f"NDCG {short(means['ndcg'])}" if "ndcg" in means else "not measured"
        return Verdict(f"Ranking of unseen items: {ndcg}.")
    text = f"The root mean squared error of the predictions is {means['rmse']:.3f}"
    tone = ""
    if summary.rating_std:
        gain = 1 - means["rmse"] / summary.rating_std
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


def _facts(summary: RecommenderSummary) -> list[Fact]:
    """Return the first metrics as figures on top of the page."""
    facts = []
    for name, mean in summary.means.items():
        percent = name in _PERCENT
        figure = f"{100 * mean:.1f} %" if percent else short(mean, 4 if name == "rmse" else 3)
        facts.append(Fact(_TITLES[name], figure, _range_over_folds(summary, name, percent)))
    return facts[:_MAX_FACTS]


def _range_over_folds(summary: RecommenderSummary, name: str, percent: bool) -> str:
    """Describe the range of a metric over the folds."""
    values = [value * (100 if percent else 1) for value in summary.metric(name)]
    if len(values) < 2:
        return ""
    unit = " %" if percent else ""
    return f"{short(min(values))} to {short(max(values))}{unit} over the folds"


def _folds_section(summary: RecommenderSummary) -> Section:
    """Tabulate the metrics of each fold."""
    used = list(summary.means)
    if not used:
        return Section("Results by fold")
    rows: list[list[Cell]] = [
        [f"fold {number}", *(_formatted(name, getattr(fold, name)) for name in used)]
        for number, fold in enumerate(summary.folds, start=1)
    ]
    figures = []
    if len(summary.folds) > 1:
        reductions: tuple[tuple[str, Callable[[list[float]], Any]], ...] = (
            ("mean", np.mean),
            ("std", np.std),
        )
        for word, reduce in reductions:
            column = (float(reduce(summary.metric(name))) for name in used)
            rows.append([word, *map(_formatted, used, column)])
        errors = [
            Series(
                _TITLES[name], np.arange(1, len(summary.folds) + 1), summary.metric(name), "both"
            )
            for name in ("rmse", "mae")
            if len(summary.metric(name)) == len(summary.folds)
        ]
        if errors:
            chart = xy(
                errors, Axis("fold"), Axis("error"), description="RMSE and MAE of each fold."
            )
            figures.append(Figure("Error by fold", chart))
    table = ChartTable(["", *(_TITLES[name] for name in used)], rows)
    return Section(
        "Results by fold",
        "Each fold was predicted by a model that was fitted to the others.",
        figures,
        [Panel("", table, _GLOSSARY)],
    )


def _formatted(name: str, value: float) -> str | None:
    """Return a value with four decimals: folds differ in the third."""
    return f"{value:,.{_DECIMALS.get(name, 4)}f}" if np.isfinite(value) else None

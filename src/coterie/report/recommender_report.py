"""The report of a recommender's evaluation: is it good, is it honest, what are its groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coterie.data import Ratings
from coterie.report import additive_partitions as additive
from coterie.report import cluster_ratings_report as cluster_ratings
from coterie.report.assumptions import FOLDS, model_assumptions
from coterie.report.charts import Axis, ChartTable, Series, short, xy
from coterie.report.charts.drawing import Cell
from coterie.report.page import Fact, Figure, Page, Panel, Section, Verdict, write
from coterie.report.prediction_quality import outcome, quality
from coterie.report.shared_sections import assumptions, convergence, parameters
from coterie.report.soft_report import rating_sections, summarize_ratings

_METRICS = {
    "rmse": "RMSE",
    "mae": "MAE",
    "accuracy": "accuracy",
    "log_loss": "log-loss",
    "ndcg": "NDCG",
    "precision": "precision",
    "recall": "recall",
    "coverage": "coverage",
    "entropy": "entropy (training)",
    "fit_seconds": "fit (s)",
    "fit_cpu_seconds": "fit (CPU s)",
    "predict_seconds": "predict (s)",
}

_DECIMALS = {"entropy": 1, "fit_seconds": 2, "fit_cpu_seconds": 2, "predict_seconds": 2}
_GLOSSARY = (
    "RMSE, MAE: root mean square and mean absolute error, in steps of the rating. Accuracy: how "
    "often the most likely rating is the true one. Log-loss: minus the log of the probability "
    "given to the true rating, mean in nats. NDCG, precision, recall: of the items ranked first "
    "for a user (ten, or --top), against those rated well in the test part. Coverage: share of the "
    "items that are recommended to anybody. Spread: standard deviation over the folds."
)


def render(
    evaluation: Mapping[str, Any],
    *,
    name: str = "the ratings",
    model: Any = None,
    ratings: Ratings | None = None,
    test: tuple[np.ndarray, np.ndarray] | None = None,
    titles: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
) -> str:
    """The report of an evaluation as HTML.

    `evaluation`: what `recommend evaluate --json` prints. `model`: a fitted model whose groups
    are shown, with the `ratings` it was fitted to. `test`: the true rating's place in
    `ratings.values` and the predicted distribution, for rows the model had not seen.
    """
    return write(
        compose(
            summarize(
                evaluation,
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
    evaluation: Mapping[str, Any],
    *,
    name: str = "the ratings",
    model: Any = None,
    ratings: Ratings | None = None,
    test: tuple[np.ndarray, np.ndarray] | None = None,
    titles: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything the report shows."""
    folds = [dict(f) for f in evaluation.get("folds", [])]
    summary: dict[str, Any] = {
        "name": name,
        "method": evaluation.get("model") or (type(model).__name__ if model is not None else ""),
        "estimator": type(model).__name__ if model is not None else "",
        "metrics": _measured(evaluation),
        "folds": [_measured(f) for f in folds],
        "history": list(getattr(model, "history_", [])),
        "parameters": model.get_params() if hasattr(model, "get_params") else {},
        "assumed": list(assumed),
    }
    if len(folds) > 1:
        summary["assumed"].append(FOLDS)
    if ratings is not None:
        summary["spread"] = float(np.std(ratings.ratings))
        summary["assumed"] = model_assumptions(model, ratings, summary["assumed"])
        summary["sizes"] = (ratings.n_users, ratings.n_items, len(ratings))
        if test is not None:
            summary["outcome"] = outcome(*test, ratings.values)
        if hasattr(model, "user_memberships_"):
            summary["groups"] = summarize_ratings(model, ratings, titles)
        elif hasattr(model, "samples_"):  # before labels: an additive model has them too
            summary["partitions"] = additive.summarize(model, ratings, titles)
        elif hasattr(model, "user_labels_"):
            summary["blocks"] = cluster_ratings.summarize_blocks(model, ratings, titles)
    return summary


def _measured(figures: Mapping[str, Any]) -> dict[str, float]:
    """The metrics that are there and are numbers (an additive model has no entropy)."""
    found = {key: figures[key] for key in _METRICS if figures.get(key) is not None}
    return {key: float(value) for key, value in found.items() if np.isfinite(value)}


def compose(summary: dict[str, Any]) -> Page:
    """Sections and charts from a summary."""
    sections = [_folds(summary)]
    if "outcome" in summary:
        sections.insert(0, quality(summary["outcome"]))
    if "groups" in summary:
        sections += rating_sections(summary["groups"])
    if "blocks" in summary:
        sections += cluster_ratings.block_sections(summary["blocks"])
    if "partitions" in summary:
        sections.append(additive.section(summary["partitions"]))
    return Page(
        "recommender report",
        f"Predicting {summary['name']}",
        _verdict(summary),
        _facts(summary),
        [
            *sections,
            convergence(summary["history"]),
            assumptions(summary["assumed"]),
            parameters(summary["parameters"], summary["estimator"]),
        ],
    )


def _verdict(summary: dict[str, Any]) -> Verdict:
    metrics, spread = summary["metrics"], summary.get("spread")
    if "rmse" not in metrics:
        rank = f"NDCG {short(metrics['ndcg'])}" if "ndcg" in metrics else "no figure"
        return Verdict(f"Ranking unseen items: {rank}.")
    text = f"A prediction is off by {metrics['rmse']:.3f} on average (root mean square)"
    tone = ""
    if spread:
        gain = 1 - metrics["rmse"] / spread
        text += (
            f", {100 * gain:.0f} % less than always saying the mean rating"
            if gain > 0
            else ", no better than always saying the mean rating"
        )
        tone = "good" if gain > 0 else "bad"
    if "accuracy" in metrics:
        text += (
            f"; the most likely rating is the true one in {100 * metrics['accuracy']:.0f} of 100"
        )
    return Verdict(text + ".", tone)


def _facts(summary: dict[str, Any]) -> list[Fact]:
    metrics = summary["metrics"]
    percent = {"accuracy", "precision", "recall", "coverage"}
    facts = [
        Fact(
            title,
            f"{100 * metrics[key]:.1f} %"
            if key in percent
            else short(metrics[key], 4 if key == "rmse" else 3),
            _between(summary["folds"], key, key in percent),
        )
        for key, title in _METRICS.items()
        if key in metrics
    ]
    return facts[:8]


def _between(folds: list[dict[str, Any]], key: str, percent: bool) -> str:
    found = [float(f[key]) * (100 if percent else 1) for f in folds if key in f]
    if len(found) < 2:
        return ""
    unit = " %" if percent else ""
    return f"{short(min(found))} to {short(max(found))}{unit} over the folds"


def _folds(summary: dict[str, Any]) -> Section:
    folds = summary["folds"]
    used = [key for key in _METRICS if any(key in f for f in folds)]
    if not used:
        return Section("Fold by fold")
    rows: list[list[Cell]] = [
        [f"fold {i + 1}", *(_written(key, f.get(key)) for key in used)] for i, f in enumerate(folds)
    ]
    if len(folds) > 1:
        for word, reduce in (("mean", np.mean), ("spread", np.std)):
            column = [[float(f[key]) for f in folds if key in f] for key in used]
            found = (float(reduce(values)) for values in column)
            rows.append([word, *map(_written, used, found)])
    figures = []
    if len(folds) > 1 and "rmse" in used:
        at = np.arange(1, len(folds) + 1)
        series = [
            Series(_METRICS[key], at, [float(f[key]) for f in folds], "both")
            for key in ("rmse", "mae")
            if key in used
        ]
        chart = xy(series, Axis("fold"), Axis("error"), description="RMSE and MAE of each fold.")
        figures.append(Figure("Error by fold", chart))
    table = ChartTable(["", *(_METRICS[key] for key in used)], rows)
    return Section(
        "Fold by fold",
        "Each fold was predicted by a model that had seen only the others.",
        figures,
        [Panel("", table, _GLOSSARY)],
    )


def _written(key: str, value: float | None) -> str | None:
    """Four decimals: folds differ in the third."""
    if value is None:
        return None
    return f"{value:,.{_DECIMALS.get(key, 4)}f}"

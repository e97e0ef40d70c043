"""How good predicted distributions are: against the truth, and against their own claims."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.report.charts import Axis, Series, heatmap, short, xy
from coterie.report.page import Figure, Section

_BINS = 12


def outcome(truth: np.ndarray, probabilities: np.ndarray, values: np.ndarray) -> dict[str, Any]:
    """Sums over test rows, small whatever their number.

    `truth[i]` is the place of row i's rating in `values`, `probabilities[i]` its predicted
    distribution over them. `calibration`: of all the claims "this rating, with probability p",
    gathered by p, how many came true.
    """
    truth, probabilities = np.asarray(truth), np.asarray(probabilities, np.float64)
    r = len(values)
    mean = probabilities @ values
    rows = np.arange(r)
    given = np.bincount(truth, minlength=r)
    by_truth = np.zeros((r, r))
    np.add.at(by_truth, (truth, probabilities.argmax(1)), 1)
    first = np.bincount(truth, mean, r)
    second = np.bincount(truth, mean**2, r)
    seen = np.maximum(given, 1)
    claimed = probabilities.ravel()
    came_true = (truth[:, None] == rows[None, :]).ravel()
    place = np.minimum((claimed * _BINS).astype(int), _BINS - 1)
    claims = np.bincount(place, minlength=_BINS)
    return {
        "rows": len(truth),
        "values": np.asarray(values, np.float64),
        "given": given,
        "mode_by_truth": by_truth,
        "mean_by_truth": first / seen,
        "spread_by_truth": np.sqrt(np.maximum(second / seen - (first / seen) ** 2, 0)),
        "claims": claims,
        "claimed": np.bincount(place, claimed, _BINS) / np.maximum(claims, 1),
        "came_true": np.bincount(place, came_true, _BINS) / np.maximum(claims, 1),
    }


def calibration_error(result: dict[str, Any]) -> float:
    """Mean distance between what was claimed and what came true, claims weighing the same."""
    gap = np.abs(result["claimed"] - result["came_true"])
    return float((gap * result["claims"]).sum() / max(result["claims"].sum(), 1))


def quality(result: dict[str, Any]) -> Section:
    """Predicted against true, and calibration."""
    values = result["values"]
    seen = result["given"] > 0
    few = len(values) <= 12
    figures = [
        Figure(
            "Predicted against true",
            xy(
                [
                    Series(
                        "mean prediction",
                        values[seen],
                        result["mean_by_truth"][seen],
                        "both" if few else "line",
                        result["spread_by_truth"][seen],
                    )
                ],
                Axis("true rating"),
                Axis("predicted rating", lo=float(values[0]), hi=float(values[-1])),
                description="Mean predicted rating for each true rating, with its spread.",
                diagonal=True,
            ),
            "The dashed line would be perfect. Bars: one standard deviation. Predictions are drawn "
            "to the middle, as they should be when a rating is uncertain.",
        ),
        Figure(
            "Calibration of the distribution",
            xy(
                [
                    Series(
                        "claims",
                        result["claimed"][result["claims"] > 0],
                        result["came_true"][result["claims"] > 0],
                        "both",
                    )
                ],
                Axis("predicted probability", lo=0.0, hi=1.0),
                Axis("share that came true", lo=0.0, hi=1.0),
                description="Of ratings predicted with probability p, the share that came true.",
                diagonal=True,
            ),
            f"On the dashed line a claim of 30 % comes true 30 times in 100. Mean distance: "
            f"{100 * calibration_error(result):.1f} points.",
        ),
    ]
    if few:
        figures.append(_confusion(result))
    return Section(
        "How good the predictions are",
        f"Every figure here is from {result['rows']:,} ratings that the model had not seen.",
        figures,
    )


def _confusion(result: dict[str, Any]) -> Figure:
    names = [short(float(v)) for v in result["values"]]
    shares = 100 * result["mode_by_truth"] / np.maximum(result["given"], 1)[:, None]
    shares = shares.round(1)
    chart = heatmap(
        np.where(result["given"][:, None] > 0, shares, np.nan),
        names,
        names,
        value="% of the row",
        description="For each true rating, how often each rating was the most likely one.",
        row_title="true",
        column_title="most likely rating",
        tip=lambda i, j: (
            f"true {names[i]}, predicted {names[j]}\n{shares[i, j]:.1f} % of "
            f"{result['given'][i]:,.0f}"
        ),
    )
    return Figure(
        "The most likely rating", chart, "Rows: the true rating. Each row adds up to 100."
    )

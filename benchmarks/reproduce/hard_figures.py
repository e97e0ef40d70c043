"""Figure 4 (fig5) and Table 3: hard and soft clustering of ratings compared."""

from __future__ import annotations

import numpy as np

from coterie.report.charts import ChartTable, short
from coterie.report.charts.drawing import Cell
from coterie.report.page import Panel

from . import rating_claims
from .outcome import Outcome
from .published_figures import TABLE_3
from .rating_runs import BEST, FACTORED, HARD, SAMPLED, RatingRuns
from .soft_figures import entropy_over_time, mean_figures

GROUPS = 15
_SOFT = SAMPLED[2]


def fig5(runs: RatingRuns) -> Outcome:
    """Compare entropy over time of Generalized k-means and MCMMSBM."""
    hard, soft = runs.get(HARD, GROUPS, 0), runs.get(_SOFT, GROUPS, 0)
    return Outcome(
        "fig5",
        "Figure 4: entropy over time, hard and soft clustering",
        "MovieLens-100k, 15 groups on each side, training part of the first fold.",
        [
            entropy_over_time([hard, soft]),
            entropy_over_time([hard, soft, runs.get(FACTORED, GROUPS, 0)])._replace(
                title="Entropy over time, with the factored update", extension=True
            ),
        ],
        claims=[
            rating_claims.hard_is_faster(hard, soft),
            rating_claims.hard_ends_higher(hard, soft),
        ],
        records=[
            {
                "method": r.method,
                "iteration": h.iteration,
                "seconds": h.seconds,
                "entropy": h.entropy,
            }
            for r in (hard, soft, runs.get(FACTORED, GROUPS, 0))
            for h in r.history
        ],
    )


def table3(runs: RatingRuns) -> Outcome:
    """Compare entropy, RMSE and time of hard and soft clustering and of the extensions."""
    extensions = (FACTORED,) if runs.setting.quick else (FACTORED, BEST)
    methods = (HARD, _SOFT, *extensions)
    folds = {m: runs.folds(m, GROUPS) for m in methods}
    mean = mean_figures(folds)
    rows: list[list[Cell]] = []
    for m in methods:
        printed = TABLE_3.get(m)
        rows.append(
            [
                m if printed else f"{m} (extension)",
                f"{printed.entropy:,.1f}" if printed else None,
                f"{mean[m].entropy:,.1f}" if np.isfinite(mean[m].entropy) else None,
                f"{printed.rmse:.4f}" if printed else None,
                f"{mean[m].rmse:.4f}",
                printed.seconds if printed else None,
                short(mean[m].seconds),
            ]
        )
    columns = [
        "method",
        "S, paper",
        "S, here",
        "RMSE, paper",
        "RMSE, here",
        "seconds, paper",
        "seconds, here",
    ]
    return Outcome(
        "table3",
        "Table 3: hard and soft clustering",
        f"Mean of {len(folds[HARD])} of 5 folds, 15 groups, at most "
        f"{short(runs.setting.budget)} s per fit.",
        tables=[
            Panel(
                "",
                ChartTable(columns, rows),
                "The additive block model has ten partitions of 6 user groups and 10 item groups."
                * (BEST in methods),
            )
        ],
        claims=[
            rating_claims.hard_is_cheaper(mean[HARD], mean[_SOFT]),
            *(
                rating_claims.additive(mean[m], mean[HARD], mean[_SOFT])
                for m in extensions
                if m == BEST
            ),
        ],
        records=[r.record() for f in folds.values() for r in f],
    )

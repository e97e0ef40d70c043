"""Figure 3 (fig4) and Table 2: MMSBM and MCMMSBM compared by time, entropy and prediction."""

from __future__ import annotations

import time

import numpy as np

from coterie.report.charts import Axis, ChartTable, Series, short, xy
from coterie.report.charts.drawing import Cell
from coterie.report.page import Figure, Panel

from . import rating_claims
from .outcome import Claim, Outcome
from .published_figures import TABLE_2
from .rating_runs import (
    FACTORED,
    SAMPLED,
    TEXTBOOK,
    RatingRun,
    RatingRuns,
    make_estimator,
    split,
    warm_up,
)
from .settings import TimeLimit

GROUPS = 10
_METHODS_OF_THE_PAPER = (TEXTBOOK, *SAMPLED)


def entropy_over_time(runs: list[RatingRun]) -> Figure:
    """Draw entropy against seconds, one line per run."""
    chart = xy(
        [
            Series(r.method, [h.seconds for h in r.history], [h.entropy for h in r.history])
            for r in runs
        ],
        Axis("seconds", log=True),
        Axis("entropy S (nats)"),
        description="Entropy of the training part over time: " + ", ".join(r.method for r in runs),
    )
    return Figure("Entropy over time", chart)


def fig4(runs: RatingRuns) -> Outcome:
    """Compare entropy over time, and the time per iteration as the number of groups grows."""
    first = [runs.get(method, GROUPS, 0) for method in _METHODS_OF_THE_PAPER]
    extension = runs.get(FACTORED, GROUPS, 0)
    costs = iteration_costs(runs)
    outcome = Outcome(
        "fig4",
        "Figure 3: entropy over time, MMSBM and MCMMSBM",
        f"MovieLens-100k, 10 groups on each side, training part of the first fold, "
        f"{short(runs.setting.budget)} s per fit (the paper: 300 s on 32 cores). MMSBM is "
        "Algorithm 8 as printed, with k·l terms per rating.",
        [
            entropy_over_time(first)._replace(caption="The methods of the paper."),
            entropy_over_time([*first, extension])._replace(
                title="Entropy over time, with the factored update",
                caption="The factored update is exact and as fast as sampling.",
                extension=True,
            ),
            _cost_figure(costs, (TEXTBOOK, SAMPLED[2]), extension=False),
            _cost_figure(costs, (TEXTBOOK, SAMPLED[2], FACTORED), extension=True),
        ],
    )
    outcome.records = [
        {"method": r.method, "iteration": h.iteration, "seconds": h.seconds, "entropy": h.entropy}
        for r in [*first, extension]
        for h in r.history
    ] + [
        {"method": m, "groups": k, "seconds_per_iteration": cost} for (m, k), cost in costs.items()
    ]
    outcome.claims = _claims_time(first, extension, costs, runs.setting.budget)
    return outcome


def iteration_costs(runs: RatingRuns) -> dict[tuple[str, int], float]:
    """Measure the seconds per iteration for growing numbers of groups."""
    train, _ = split(runs.setting.ratings, 0, runs.setting.seed)
    ks = (10, 30) if runs.setting.quick else (10, 30, 100)
    costs = {}
    for method in (TEXTBOOK, SAMPLED[2], FACTORED):
        for k in ks:
            runs.setting.say(f"{method}: one iteration with {k} groups")
            model = make_estimator(method, k, runs.setting.seed).set_params(max_iter=4)
            warm_up(model, train)
            model.fit(train, engine=runs.setting.engine, callback=TimeLimit(20.0))
            costs[method, k] = rating_claims.median_step(model.history_)
    return costs


def _cost_figure(
    costs: dict[tuple[str, int], float], methods: tuple[str, ...], *, extension: bool
) -> Figure:
    series = []
    for method in methods:
        ks = [k for m, k in costs if m == method]
        series.append(Series(method, ks, [costs[method, k] for k in ks], "both"))
    chart = xy(
        series,
        Axis("groups on each side", log=True),
        Axis("seconds per iteration", log=True),
        description="Seconds per iteration against the number of groups.",
    )
    return Figure("Time per iteration", chart, extension=extension)


def _claims_time(
    first: list[RatingRun], extension: RatingRun, costs: rating_claims.Costs, budget: float
) -> list[Claim]:
    mmsbm, *sampled = first
    return [
        rating_claims.efficiency(mmsbm, sampled, budget),
        rating_claims.growth(costs),
        rating_claims.samples(sampled),
        rating_claims.lowest_end(mmsbm, sampled[-1]),
        rating_claims.factored(extension, first, costs),
    ]


def table2(runs: RatingRuns) -> Outcome:
    """Compare entropy and RMSE after equal time, as means over the folds."""
    methods = (*_METHODS_OF_THE_PAPER, FACTORED)
    began = time.perf_counter()
    folds = {m: runs.folds(m, GROUPS) for m in methods}
    means = mean_figures(folds)
    rows: list[list[Cell]] = []
    for m in methods:
        printed = TABLE_2.get(m)
        rows.append(
            [
                m if printed else f"{m} (extension)",
                f"{printed.entropy:,.1f}" if printed else None,
                f"{means[m].entropy:,.1f}",
                f"{printed.rmse:.4f}" if printed else None,
                f"{means[m].rmse:.4f}",
                f"{np.std([r.rmse for r in folds[m]]):.4f}",
                f"{means[m].seconds:.1f}",
            ]
        )
    columns = ["method", "S, paper", "S, here", "RMSE, paper", "RMSE, here", "± folds", "seconds"]
    return Outcome(
        "table2",
        "Table 2: entropy and RMSE after equal time",
        f"Mean of {len(folds[TEXTBOOK])} of 5 folds, 10 groups, {short(runs.setting.budget)} s per "
        "fit. The paper: 300 s on 32 cores and its own folds.",
        tables=[Panel("", ChartTable(columns, rows), "S: entropy of the training part, in nats.")],
        claims=rating_claims.prediction(means),
        records=[r.record() for f in folds.values() for r in f]
        + [{"method": "all", "wall_seconds": time.perf_counter() - began}],
    )


def mean_figures(folds: dict[str, list[RatingRun]]) -> dict[str, rating_claims.FoldMeans]:
    """Average entropy, RMSE and seconds over the folds, by method."""
    return {
        method: rating_claims.FoldMeans(
            entropy=float(np.mean([r.entropy for r in runs])),
            rmse=float(np.mean([r.rmse for r in runs])),
            seconds=float(np.mean([r.seconds for r in runs])),
        )
        for method, runs in folds.items()
    }

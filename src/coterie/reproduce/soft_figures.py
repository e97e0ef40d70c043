"""fig4 and table2: MMSBM against MCMMSBM, 10 groups, by time, entropy and prediction."""

from __future__ import annotations

import time

import numpy as np

from coterie.report.charts import Axis, ChartTable, Series, short, xy
from coterie.report.charts.drawing import Cell
from coterie.report.page import Figure, Panel
from coterie.reproduce import rating_claims
from coterie.reproduce.outcome import Claim, Outcome
from coterie.reproduce.published_figures import TABLE_2
from coterie.reproduce.rating_runs import (
    FACTORED,
    SAMPLED,
    TEXTBOOK,
    RatingRun,
    RatingRuns,
    make,
    split,
    warm_up,
)
from coterie.reproduce.settings import TimeLimit

GROUPS = 10
_PAPERS = (TEXTBOOK, *SAMPLED)


def entropy_over_time(runs: list[RatingRun]) -> Figure:
    """Lines of entropy against seconds, one a run."""
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
    """Entropy over time, MMSBM and MCMMSBM, and what an iteration costs as groups grow."""
    first = [runs.get(method, GROUPS, 0) for method in _PAPERS]
    ours = runs.get(FACTORED, GROUPS, 0)
    costs = iteration_costs(runs)
    outcome = Outcome(
        "fig4",
        "Figure cl:fig4: MMSBM and MCMMSBM, entropy over time",
        f"MovieLens-100k, 10 groups on each side, training part of the first fold, "
        f"{short(runs.setting.budget)} s a fit (the paper: 300 s on 32 cores). MMSBM is the "
        "algorithm as printed, with its k·l terms for each rating.",
        [
            entropy_over_time(first)._replace(caption="The paper's methods."),
            entropy_over_time([*first, ours])._replace(
                title="Entropy over time, with the factored update",
                caption="The same exact update in O(|X| k): no sampling needed.",
                ours=True,
            ),
            _cost_figure(costs, (TEXTBOOK, SAMPLED[2]), ours=False),
            _cost_figure(costs, (TEXTBOOK, SAMPLED[2], FACTORED), ours=True),
        ],
    )
    outcome.records = [
        {"method": r.method, "iteration": h.iteration, "seconds": h.seconds, "entropy": h.entropy}
        for r in [*first, ours]
        for h in r.history
    ] + [{"method": m, "groups": k, "seconds_an_iteration": cost} for (m, k), cost in costs.items()]
    outcome.claims = _claims_time(first, ours, costs, runs.setting.budget)
    return outcome


def iteration_costs(runs: RatingRuns) -> dict[tuple[str, int], float]:
    """Seconds of one iteration for growing groups."""
    train, _ = split(runs.setting.ratings, 0, runs.setting.seed)
    ks = (10, 30) if runs.setting.quick else (10, 30, 100)
    costs = {}
    for method in (TEXTBOOK, SAMPLED[2], FACTORED):
        for k in ks:
            runs.setting.say(f"{method}: one iteration with {k} groups")
            model = make(method, k, runs.setting.seed).set_params(max_iter=4)
            warm_up(model, train)
            model.fit(train, engine=runs.setting.engine, callback=TimeLimit(20.0))
            costs[method, k] = rating_claims.median_step(model.history_)
    return costs


def _cost_figure(
    costs: dict[tuple[str, int], float], methods: tuple[str, ...], *, ours: bool
) -> Figure:
    series = []
    for method in methods:
        ks = [k for m, k in costs if m == method]
        series.append(Series(method, ks, [costs[method, k] for k in ks], "both"))
    chart = xy(
        series,
        Axis("groups on each side", log=True),
        Axis("seconds an iteration", log=True),
        description="Seconds of one iteration against the number of groups.",
    )
    return Figure("What an iteration costs", chart, ours=ours)


def _claims_time(
    first: list[RatingRun], ours: RatingRun, costs: rating_claims.Costs, budget: float
) -> list[Claim]:
    mmsbm, *sampled = first
    return [
        rating_claims.efficiency(mmsbm, sampled, budget),
        rating_claims.growth(costs),
        rating_claims.samples(sampled),
        rating_claims.lowest_end(mmsbm, sampled[-1]),
        rating_claims.factored(ours, first, costs),
    ]


def table2(runs: RatingRuns) -> Outcome:
    """Entropy and RMSE after equal time, mean over the folds."""
    methods = (*_PAPERS, FACTORED)
    began = time.perf_counter()
    folds = {m: runs.folds(m, GROUPS) for m in methods}
    means = mean_figures(folds)
    rows: list[list[Cell]] = []
    for m in methods:
        printed = TABLE_2.get(m)
        rows.append(
            [
                m if printed else f"{m} (ours)",
                f"{printed.entropy:,.1f}" if printed else None,
                f"{means[m]['entropy']:,.1f}",
                f"{printed.rmse:.4f}" if printed else None,
                f"{means[m]['rmse']:.4f}",
                f"{np.std([r.rmse for r in folds[m]]):.4f}",
                f"{means[m]['seconds']:.1f}",
            ]
        )
    columns = ["method", "S, paper", "S, here", "RMSE, paper", "RMSE, here", "± folds", "seconds"]
    return Outcome(
        "table2",
        "Table cl:table2: entropy and RMSE after equal time",
        f"Mean of {len(folds[TEXTBOOK])} of 5 folds, 10 groups, {short(runs.setting.budget)} s a "
        "fit; the paper: 300 s on 32 cores and its own folds.",
        tables=[Panel("", ChartTable(columns, rows), "S: entropy of the training part, in nats.")],
        claims=rating_claims.prediction(means),
        records=[r.record() for f in folds.values() for r in f]
        + [{"method": "all", "wall_seconds": time.perf_counter() - began}],
    )


def mean_figures(folds: dict[str, list[RatingRun]]) -> dict[str, dict[str, float]]:
    """The mean over the folds of each figure of the tables."""
    return {
        m: {
            key: float(np.mean([getattr(r, key) for r in f]))
            for key in ("entropy", "rmse", "seconds")
        }
        for m, f in folds.items()
    }

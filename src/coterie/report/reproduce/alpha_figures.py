"""fig-alpha-caida and fig-alpha-astroph: how many nodes may move at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.base.progress import Iteration
from coterie.report.charts import Axis, Reference, Series, short, xy
from coterie.report.page import Figure
from coterie.report.reproduce.graph_runs import BEST, RANDOM, GraphRuns, fitted
from coterie.report.reproduce.outcome import Claim, Outcome, judge
from coterie.report.reproduce.paper import ALPHA

_LABELS = {"CAIDA": "fig:compare:ascaida", "astro-ph": "fig:compare:astroph"}
_NAMES = {"CAIDA": "fig-alpha-caida", "astro-ph": "fig-alpha-astroph"}


def fig_alpha_caida(runs: GraphRuns) -> Outcome:
    return _alpha(runs, "CAIDA")


def fig_alpha_astroph(runs: GraphRuns) -> Outcome:
    return _alpha(runs, "astro-ph")


def _alpha(runs: GraphRuns, name: str) -> Outcome:
    printed = ALPHA[name]
    iterations = printed.iterations // (3 if runs.setting.quick else 1)
    models = {}
    for alpha in (1.0, 0.1):
        runs.setting.say(f"{name}: k = {printed.blocks}, alpha = {alpha}")
        models[alpha] = fitted(
            runs.setting,
            runs.graph(name),
            n_blocks=printed.blocks,
            alpha=alpha,
            max_iter=iterations,
            tol=0,
        )
    all_at_once, few = models[1.0].history_, models[0.1].history_
    best = runs.clustering(name, printed.blocks, BEST)
    start = runs.clustering(name, printed.blocks, RANDOM).entropy
    graph = runs.graph(name)
    return Outcome(
        _NAMES[name],
        f"Figure {_LABELS[name]}: {name}, all nodes at once or a tenth",
        f"{graph.n_nodes:,} nodes, {graph.n_edges:,} edges, {printed.blocks} blocks, "
        f"{iterations} iterations from a random start.",
        [
            Figure("α = 1.0: every node reassigned at once", _chart(name, {1.0: all_at_once})),
            Figure("α = 0.1: a tenth of the nodes at a time", _chart(name, {0.1: few})),
            Figure(
                "Both, and where our best search ends",
                _chart(
                    name,
                    {1.0: all_at_once, 0.1: few},
                    [Reference(f"best search, {short(best.seconds)} s", best.entropy)],
                ),
                f"Best search: {best.entropy:,.0f} nats.",
                ours=True,
            ),
        ],
        claims=_claims(name, models, start, best.entropy, iterations),
        records=[{"alpha": alpha, **h._asdict()} for alpha, m in models.items() for h in m.history_]
        + [{"alpha": "best search", "entropy": best.entropy, "seconds": best.seconds}],
    )


def _chart(
    name: str, histories: dict[float, list[Iteration]], references: list[Reference] | None = None
) -> Any:
    return xy(
        [
            Series(
                f"α = {alpha:g}",
                [h.iteration for h in history],
                [h.entropy for h in history],
                colour=0 if alpha < 1 else 1,
            )
            for alpha, history in histories.items()
        ],
        Axis("iteration"),
        Axis("entropy S (nats)"),
        description=f"{name}: entropy at each iteration.",
        references=references or [],
    )


def _claims(
    name: str, models: dict[float, Any], start: float, best: float, iterations: int
) -> list[Claim]:
    printed = ALPHA[name]
    wild = np.array([h.entropy for h in models[1.0].history_])
    calm = np.array([h.entropy for h in models[0.1].history_])
    seconds = models[0.1].history_[-1].seconds
    rises = np.diff(calm) > 0
    risen = float(np.maximum(np.diff(calm), 0).sum() / (start - calm[-1]))
    fell, fell_wild = 1 - calm[-1] / start, 1 - wild[-1] / start
    whole = iterations == printed.iterations
    optimal = models[0.1].locally_optimal_
    return [
        judge(
            f"{name}: α = 1.0 does not work, α = 0.1 optimizes very well",
            fell > 0.05 and calm[-1] < wild[-1] and fell_wild < 0.5 * fell,
            f"from {start:,.0f} at random the entropy falls by {100 * fell:.1f} % with 0.1 "
            f"(to {calm[-1]:,.0f}) and by "
            f"{100 * fell_wild:.1f} % with 1.0 (to {wild[-1]:,.0f})",
        ),
        judge(
            f"{name}: once S(Z) falls it keeps falling (α = 0.1)",
            risen < 0.05,
            f"{int(rises.sum())} of {len(rises)} iterations rise, together by "
            f"{100 * risen:.2f} % of the whole fall",
            but=bool(rises.any()),
            remark="Nearly always." if rises.any() else "",
        ),
        judge(
            f"{name}: {printed.iterations} iterations take {printed.seconds:g} s on 32 cores",
            seconds <= printed.seconds,
            f"{iterations} iterations in {short(seconds)} s on this machine",
            but=not whole,
            remark="" if whole else "Fewer iterations were run (--quick).",
        ),
        judge(
            f"{name}: Generalized k-means ends in a locally optimal classification",
            bool(optimal),
            "a full pass finds "
            + ("no single move that helps" if optimal else "single moves that still help")
            + f" after {iterations} iterations; best search ends at {best:,.0f} against "
            f"{calm[-1]:,.0f}",
            remark=""
            if optimal
            else "It would with more iterations of single moves; far better ones exist.",
        ),
    ]

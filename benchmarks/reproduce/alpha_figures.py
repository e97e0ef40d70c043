"""Figures 5 and 6 (fig-alpha-caida, fig-alpha-astroph): how many nodes may move at once."""

from __future__ import annotations

from typing import Any

from coterie.base.progress import Iteration
from coterie.report.charts import Axis, Reference, Series, short, xy
from coterie.report.page import Figure

from . import graph_claims
from .graph_claims import RANDOM
from .graph_runs import BEST, GraphRuns, fit_k_means
from .outcome import Outcome
from .published_figures import ALPHA

_NUMBERS = {"CAIDA": 5, "astro-ph": 6}
_NAMES = {"CAIDA": "fig-alpha-caida", "astro-ph": "fig-alpha-astroph"}
_LONGER = 9  # how often the iterations of the figure are continued to see if the search ends


def fig_alpha_caida(runs: GraphRuns) -> Outcome:
    """Compare α = 1 and α = 0.1 on CAIDA."""
    return _alpha(runs, "CAIDA")


def fig_alpha_astroph(runs: GraphRuns) -> Outcome:
    """Compare α = 1 and α = 0.1 on astro-ph."""
    return _alpha(runs, "astro-ph")


def _alpha(runs: GraphRuns, name: str) -> Outcome:
    printed = ALPHA[name]
    iterations = printed.iterations // (3 if runs.setting.quick else 1)
    models = {}
    for alpha in (1.0, 0.1):
        runs.setting.say(f"{name}: k = {printed.blocks}, alpha = {alpha}")
        models[alpha] = fit_k_means(
            runs.setting,
            runs.graph(name),
            n_blocks=printed.blocks,
            alpha=alpha,
            max_iter=iterations,
            tol=0,
        )
    all_at_once, few = models[1.0].history_, models[0.1].history_
    tried, optimal = _to_the_end(runs, name, models[0.1], iterations)
    best = runs.clustering(name, printed.blocks, BEST)
    start = runs.clustering(name, printed.blocks, RANDOM).entropy
    graph = runs.graph(name)
    return Outcome(
        _NAMES[name],
        f"Figure {_NUMBERS[name]}: {name}, all nodes or a tenth of them per iteration",
        f"{graph.n_nodes:,} nodes, {graph.n_edges:,} edges, {printed.blocks} blocks, "
        f"{iterations} iterations from a random start.",
        [
            Figure(f"{name}, α = 1.0: all nodes per iteration", _chart(name, {1.0: all_at_once})),
            Figure(
                f"{name}, α = 0.1: a tenth of the nodes per iteration", _chart(name, {0.1: few})
            ),
            Figure(
                f"{name}: both, and the result of the best search",
                _chart(
                    name,
                    {1.0: all_at_once, 0.1: few},
                    [Reference(f"best search, {short(best.seconds)} s", best.entropy)],
                ),
                f"The best search ends at {best.entropy:,.0f} nats.",
                extension=True,
            ),
        ],
        claims=graph_claims.alpha(
            graph_claims.AlphaRuns(
                name,
                graph.n_nodes,
                start,
                all_at_once,
                few,
                tried,
                optimal,
                best.entropy,
            )
        ),
        records=[{"alpha": alpha, **h._asdict()} for alpha, m in models.items() for h in m.history_]
        + [{"alpha": "best search", "entropy": best.entropy, "seconds": best.seconds}],
    )


def _to_the_end(runs: GraphRuns, name: str, model: Any, iterations: int) -> tuple[int, bool]:
    """Continue until no single move helps; return all iterations and whether it was reached."""
    tried = iterations
    for _ in range(0 if runs.setting.quick else _LONGER):
        if model.locally_optimal_:
            break
        runs.setting.say(f"{name}: continuing from iteration {tried}")
        model = fit_k_means(
            runs.setting,
            runs.graph(name),
            n_blocks=ALPHA[name].blocks,
            init=model.labels_,
            max_iter=iterations,
            tol=0,
        )
        tried += iterations
    return tried, bool(model.locally_optimal_)


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

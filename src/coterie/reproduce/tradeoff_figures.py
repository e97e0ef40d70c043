"""fig-tradeoff: the paper's conclusion, that small k loses utility and large k anonymity."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie.anonymize.risk.attack_suite import usable_seeds
from coterie.anonymize.risk.attacks import choose_seeds, naive_copy, relabel, seeded_attack
from coterie.data import Graph
from coterie.report.charts import Axis, ChartTable, Reference, Series, percent, short, xy
from coterie.report.charts.drawing import Cell
from coterie.report.page import Figure, Panel
from coterie.reproduce.graph_claims import OPTIMIZED
from coterie.reproduce.graph_runs import GraphRuns
from coterie.reproduce.outcome import Claim, Outcome, judge
from coterie.reproduce.settings import GRAPHS

_CERTAIN = (0.5, 0.9, 1.0)
_OURS = ("dcsbm", 100)
_TOO_LIKELY = 0.1  # 1 over the smallest block: fewer than ten people to hide among


class TradeoffPoint(NamedTuple):
    """One published graph: what it keeps and what it gives away."""

    model: str
    k: int
    clustering: float  # GCC over the original's
    path_length: float  # APL over the original's
    degree_ks: float
    block_mean: float  # A1: mean 1 / |block| over people
    block_worst: float
    certain: tuple[float, ...]  # A2: share of original edges in cells with p >= .5, .9, 1
    found: int  # A4: people found from most seeds

    def record(self) -> dict[str, Any]:
        """Plain numbers for the CSV."""
        shares = {f"edges_p_{p:g}": share for p, share in zip(_CERTAIN, self.certain, strict=True)}
        return {k: v for k, v in self._asdict().items() if k != "certain"} | shares

    @property
    def lost(self) -> float:
        """How far off the worst kept of three properties is: GCC, APL, degrees."""
        return max(abs(self.clustering - 1), abs(self.path_length - 1), self.degree_ks)


def fig_tradeoff(runs: GraphRuns) -> Outcome:
    """Utility and anonymity against k, on both graphs."""
    outcome = Outcome(
        "fig-tradeoff",
        "The conclusion's trade-off: utility and anonymity against k",
        "One graph drawn from the optimized clustering for each k. A1: the chance to point at a "
        "person inside the block. A2: original edges in cells so dense that the edge is as good as "
        "published. A4: people found by seeded matching.",
    )
    columns = [
        "graph",
        "model",
        "k",
        "GCC / original",
        "A1 mean",
        "A1 worst",
        *(f"A2 p ≥ {p:g}" for p in _CERTAIN),
        "people found",
        "in a naive copy",
    ]
    rows: list[list[Cell]] = []
    for name in GRAPHS.values():
        releases, naive, seeds = _releases(runs, name)
        of_paper = [r for r in releases if r.model == "sbm"]
        outcome.figures += _figures(name, of_paper, releases[-1], naive, seeds)
        outcome.claims += judged(name, of_paper, releases[-1], naive)
        outcome.records += [
            {"graph": name, **r.record(), "found_in_naive": naive} for r in releases
        ]
        rows += [
            [
                name,
                r.model,
                r.k,
                percent(r.clustering),
                percent(r.block_mean),
                percent(r.block_worst),
                *(percent(share) for share in r.certain),
                r.found,
                naive,
            ]
            for r in releases
        ]
    outcome.tables.append(Panel("", ChartTable(columns, rows)))
    return outcome


def _releases(runs: GraphRuns, name: str) -> tuple[list[TradeoffPoint], int, int]:
    """The releases (ours last), people found in a naive copy, and the seeds used."""
    kinds = [*(("sbm", k) for k in runs.setting.ks), _OURS]
    graph, rng = runs.graph(name), np.random.default_rng(runs.setting.seed)
    targets = [naive_copy(graph, rng)]
    for model, k in kinds:
        runs.releases(name, k, OPTIMIZED, model)
        targets.append(relabel(runs.drawn[name, k, OPTIMIZED, model], rng))
    runs.setting.say(f"{name}: attacks")
    seeds = choose_seeds(graph, usable_seeds(graph)[-1], rng)

    def found(target: tuple[Graph, np.ndarray]) -> int:
        order = np.random.default_rng(runs.setting.seed)
        return int(seeded_attack(graph, *target, seeds, order).figures(target[1])["correct"])

    naive, *people = runs.setting.engine.map(found, targets)
    releases = [_release(runs, name, *kind, n) for kind, n in zip(kinds, people, strict=True)]
    return releases, naive, len(seeds)


def _release(runs: GraphRuns, name: str, model: str, k: int, found: int) -> TradeoffPoint:
    drawing = runs.model(name, k, OPTIMIZED, model)
    sizes = drawing.classes.sizes
    cells = drawing.cells(runs.graph(name))
    total = max(int(cells.edges.sum()), 1)
    measured = runs.releases(name, k, OPTIMIZED, model)[0]
    return TradeoffPoint(
        model,
        k,
        measured.clustering / runs.original(name).clustering,
        measured.path_length / runs.original(name).path_length,
        measured.degree_ks,
        float((sizes > 0).sum() / sizes.sum()),
        float(1 / sizes[sizes > 0].min()),
        tuple(float(cells.edges[cells.probability >= p].sum() / total) for p in _CERTAIN),
        int(found),
    )


def _figures(
    name: str, releases: list[TradeoffPoint], ours: TradeoffPoint, naive: int, seeds: int
) -> list[Figure]:
    ks = [r.k for r in releases]
    blocks = Axis("blocks k", log=True)

    def chart(series: list[Series], axis: Axis, references: list[Reference], what: str) -> Any:
        return xy(series, blocks, axis, references=references, description=f"{name}: {what}.")

    kept = Series("SBM", ks, [r.clustering for r in releases], "both")
    block = [
        Series("mean", ks, [r.block_mean for r in releases], "both"),
        Series("worst", ks, [r.block_worst for r in releases], "both"),
    ]
    certain = [
        Series(f"p ≥ {p:g}", ks, [r.certain[i] for r in releases], "both")
        for i, p in enumerate(_CERTAIN)
    ]
    found = [Series("SBM", ks, [max(r.found, 0.5) for r in releases], "both")]
    point = Series("dcsbm (ours)", [ours.k], [ours.clustering], "points")
    point_found = Series("dcsbm (ours)", [ours.k], [max(ours.found, 0.5)], "points")
    people = Axis(f"people found from {seeds} seeds", log=True)
    all_found = [Reference("naive copy", max(naive, 1))]
    return [
        Figure(
            f"{name}: what is kept",
            chart(
                [kept],
                Axis("global clustering / original", lo=0.0),
                [Reference("original", 1.0)],
                "global clustering of the release over the original's",
            ),
        ),
        Figure(
            f"{name}: hiding in a block (A1)",
            chart(block, Axis("chance to point at a person", log=True), [], "1 over block size"),
        ),
        Figure(
            f"{name}: edges given away (A2)",
            chart(certain, Axis("share of the edges", lo=0.0), [], "edges in near-certain cells"),
        ),
        Figure(
            f"{name}: people found (A4)",
            chart([*found, point_found], people, all_found, "people found by seeded matching"),
            "None found is drawn at 0.5.",
        ),
        Figure(
            f"{name}: what is kept, with our release",
            chart(
                [kept, point],
                Axis("global clustering / original", lo=0.0),
                [Reference("original", 1.0)],
                "global clustering with our release",
            ),
            f"Ours gives away {100 * ours.certain[1]:.1f} % of the edges at p ≥ 0.9.",
            ours=True,
        ),
    ]


def judged(
    name: str, releases: list[TradeoffPoint], ours: TradeoffPoint, naive: int
) -> list[Claim]:
    low, high = releases[0], releases[-1]
    nearer = high.lost < low.lost
    weaker = high.block_worst > _TOO_LIKELY or high.certain[1] > max(low.certain[1], 0.01)
    hidden = weaker and max(r.found for r in releases) < 0.02 * naive
    kept = "; ".join(
        f"k={r.k}: global clustering {100 * r.clustering:.0f} %, path length "
        f"{100 * r.path_length:.0f} % of the original's, degree KS {short(r.degree_ks)}"
        for r in (low, high)
    )
    return [
        judge(
            f"{name}: with small k network properties are not preserved well",
            low.lost > 0.1,
            kept,
            but=not nearer,
            remark="" if nearer else "More blocks do not bring the worst of them nearer here.",
        ),
        judge(
            f"{name}: with large k anonymity can be vulnerable",
            weaker,
            f"edges in cells with p ≥ 0.9: {100 * low.certain[1]:.1f} % at k={low.k}, "
            f"{100 * high.certain[1]:.1f} % at k={high.k}; smallest block "
            f"{1 / high.block_worst:,.0f}; the attack finds {high.found:,} (naive copy {naive:,})",
            but=hidden,
            remark="The seeded attack still finds next to nobody." if hidden else "",
        ),
        judge(
            f"Ours: {name}: the degree-corrected release has both",
            ours.lost < min(r.lost for r in releases) and ours.certain[1] == 0,
            f"worst of the three properties {100 * ours.lost:.0f} % off (SBM at best "
            f"{100 * min(r.lost for r in releases):.0f} %), "
            f"global clustering {100 * ours.clustering:.0f} % of the original's, "
            f"{100 * ours.certain[1]:.2f} % of the edges at p ≥ 0.9, {ours.found:,} people found",
        ),
    ]

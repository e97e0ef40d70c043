"""fig-tradeoff: the conclusion of the paper, that small k loses utility and large k anonymity."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie.anonymize.attacks.seeded import choose_seeds, seeded_attack, usable_seeds
from coterie.anonymize.attacks.suite import naive_copy
from coterie.anonymize.published_graph import PublishedGraph, assign_new_ids
from coterie.base.json_values import JsonObject
from coterie.report.charts import Axis, ChartTable, Reference, Series, percent, short, xy
from coterie.report.charts.drawing import Cell
from coterie.report.page import Figure, Panel

from .graph_claims import OPTIMIZED
from .graph_runs import GraphRuns
from .outcome import Claim, Outcome, judge
from .settings import GRAPHS

_CERTAIN = (0.5, 0.9, 1.0)
_EXTENSION = ("dcsbm", 100)  # model and number of blocks of the degree-corrected release
_TOO_LIKELY = 0.1  # 1 / smallest block: fewer than ten people in it


class TradeoffPoint(NamedTuple):
    """One published graph: its utility and its risk."""

    model: str
    k: int
    clustering: float  # global clustering / original
    path_length: float  # average path length / original
    degree_ks: float
    block_mean: float  # mean of 1 / block size over all people
    block_worst: float
    certain: tuple[float, ...]  # share of original edges in cells with p >= 0.5, 0.9, 1
    found: int  # people identified by the seeded attack

    def record(self) -> JsonObject:
        """Return a row of the CSV file."""
        shares = {f"edges_p_{p:g}": share for p, share in zip(_CERTAIN, self.certain, strict=True)}
        return {k: v for k, v in self._asdict().items() if k != "certain"} | shares

    @property
    def lost(self) -> float:
        """The largest relative error of clustering, path length and degree distribution."""
        return max(abs(self.clustering - 1), abs(self.path_length - 1), self.degree_ks)


def fig_tradeoff(runs: GraphRuns) -> Outcome:
    """Compare utility and anonymity against k on both graphs."""
    outcome = Outcome(
        "fig-tradeoff",
        "Conclusion: the trade-off between utility and anonymity",
        "One graph is drawn from the optimized clustering for each k. Risk is measured in three "
        "ways: the probability of picking the right person within a block (1 / block size); the "
        "share of original edges in cells so dense that an edge is almost certain (p ≥ 0.9); and "
        "the number of people identified by seeded matching.",
    )
    columns = [
        "graph",
        "model",
        "k",
        "GCC / original",
        "mean of 1 / block size",
        "largest 1 / block size",
        *(f"edges with p ≥ {p:g}" for p in _CERTAIN),
        "people identified",
        "in a copy without names",
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
    """Return the releases (extension last), people identified in a naive copy, and seeds."""
    kinds = [*(("sbm", k) for k in runs.setting.ks), _EXTENSION]
    graph, rng = runs.graph(name), np.random.default_rng(runs.setting.seed)
    targets = [naive_copy(graph, rng)]
    for model, k in kinds:
        runs.releases(name, k, OPTIMIZED, model)
        targets.append(assign_new_ids(runs.drawn[name, k, OPTIMIZED, model], rng))
    runs.setting.say(f"{name}: attacks")
    seeds = choose_seeds(graph, usable_seeds(graph)[-1], rng)

    def found(target: PublishedGraph) -> int:
        order = np.random.default_rng(runs.setting.seed)
        return seeded_attack(graph, target, seeds, order).result(target.identity).correct

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
    name: str, releases: list[TradeoffPoint], extension: TradeoffPoint, naive: int, seeds: int
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
    point = Series("dcsbm (extension)", [extension.k], [extension.clustering], "points")
    point_found = Series("dcsbm (extension)", [extension.k], [max(extension.found, 0.5)], "points")
    people = Axis(f"people identified from {seeds} seeds", log=True)
    all_found = [Reference("copy without names", max(naive, 1))]
    return [
        Figure(
            f"{name}: utility",
            chart(
                [kept],
                Axis("global clustering / original", lo=0.0),
                [Reference("original", 1.0)],
                "global clustering of the release divided by the original",
            ),
        ),
        Figure(
            f"{name}: size of the blocks",
            chart(block, Axis("1 / block size", log=True), [], "1 / block size"),
        ),
        Figure(
            f"{name}: edges that are almost certain",
            chart(certain, Axis("share of the edges", lo=0.0), [], "edges in almost certain cells"),
        ),
        Figure(
            f"{name}: people identified",
            chart([*found, point_found], people, all_found, "people identified by seeded matching"),
            "None is drawn at 0.5.",
        ),
        Figure(
            f"{name}: utility, with the degree-corrected release",
            chart(
                [kept, point],
                Axis("global clustering / original", lo=0.0),
                [Reference("original", 1.0)],
                "global clustering with the degree-corrected release",
            ),
            f"Of its edges {100 * extension.certain[1]:.1f} % are in cells with p ≥ 0.9.",
            extension=True,
        ),
    ]


def judged(
    name: str, releases: list[TradeoffPoint], extension: TradeoffPoint, naive: int
) -> list[Claim]:
    """Judge the conclusion of the paper on one graph."""
    low, high = releases[0], releases[-1]
    nearer = high.lost < low.lost
    weaker = high.block_worst > _TOO_LIKELY or high.certain[1] > max(low.certain[1], 0.01)
    hidden = weaker and max(r.found for r in releases) < 0.02 * naive
    kept = "; ".join(
        f"k={r.k}: global clustering {100 * r.clustering:.0f} % and path length "
        f"{100 * r.path_length:.0f} % of the original, Kolmogorov-Smirnov distance of the degrees "
        f"{short(r.degree_ks)}"
        for r in (low, high)
    )
    return [
        judge(
            f"{name}: with small k network properties are not preserved well",
            low.lost > 0.1,
            kept,
            in_part=not nearer,
            remark="" if nearer else "Here more blocks do not improve the worst property.",
        ),
        judge(
            f"{name}: with large k anonymity can be vulnerable",
            weaker,
            f"edges in cells with p ≥ 0.9: {100 * low.certain[1]:.1f} % at k={low.k}, "
            f"{100 * high.certain[1]:.1f} % at k={high.k}; smallest block "
            f"{1 / high.block_worst:,.0f}; the attack identifies {high.found:,} people (in a copy "
            f"without names {naive:,})",
            in_part=hidden,
            remark="The seeded attack still identifies almost nobody." if hidden else "",
        ),
        judge(
            f"{name}: the degree-corrected release keeps both utility and anonymity",
            extension.lost < min(r.lost for r in releases) and extension.certain[1] == 0,
            f"worst of three properties {100 * extension.lost:.0f} % off (SBM at best "
            f"{100 * min(r.lost for r in releases):.0f} %), global clustering "
            f"{100 * extension.clustering:.0f} % of the original, "
            f"{100 * extension.certain[1]:.2f} % of the edges with p ≥ 0.9, "
            f"{extension.found:,} people identified",
            extension=True,
        ),
    ]

"""The report of a hard clustering: for somebody who wants to see what the blocks are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coterie.data import Graph, Ratings
from coterie.report import cluster_ratings_report as cluster_ratings
from coterie.report.block_matrix import MOST_CELLS, BlockMatrix
from coterie.report.charts import Axis, ChartTable, Series, bars, block_graph, heatmap, short, xy
from coterie.report.cluster_summary import summarize
from coterie.report.page import Fact, Figure, Page, Panel, Section, Verdict, write
from coterie.report.shared_sections import (
    assumptions,
    convergence,
    count,
    parameters,
    unfinished,
    yes_no,
)


def render(
    model: Any,
    data: Graph | Ratings,
    *,
    name: str = "the graph",
    titles: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
) -> str:
    """The report of a fitted GeneralizedKMeans on the data it was fitted to, as HTML."""
    if isinstance(data, Ratings):
        both = cluster_ratings.summarize(model, data, name=name, titles=titles, assumed=assumed)
        return write(cluster_ratings.compose(both))
    return write(compose(summarize(model, data, name=name, assumed=assumed)))


def compose(summary: dict[str, Any]) -> Page:
    """Sections and charts from a summary."""
    return Page(
        "cluster report",
        f"{summary['blocks']:,} blocks in {summary['name']}",
        _verdict(summary),
        _facts(summary),
        [
            _structure(summary),
            _sizes(summary),
            _listed(summary),
            convergence(
                summary["history"],
                lead="Entropy S = -log likelihood, natural logarithm: what the search makes small.",
            ),
            assumptions(summary["assumed"]),
            parameters(summary["parameters"], summary["method"]),
        ],
    )


def _verdict(summary: dict[str, Any]) -> Verdict:
    base, entropy = summary["entropy_without_blocks"], summary["entropy"]
    text = (
        f"{summary['blocks']:,} blocks describe the {summary['edges']:,} edges between "
        f"{summary['nodes']:,} nodes with an entropy of {entropy:,.0f} nats"
    )
    if base:
        saved = 1 - entropy / base
        text += f", {100 * saved:.0f} % less than a graph without blocks needs"
    reasons = unfinished(summary["converged"], summary["locally_optimal"])
    return Verdict(text + ".", "warn" if summary["converged"] is False else "", "", reasons)


def _facts(summary: dict[str, Any]) -> list[Fact]:
    return [
        count("nodes", summary["nodes"]),
        count("edges", summary["edges"]),
        count("blocks", summary["blocks"], _asked(summary)),
        Fact("entropy", short(summary["entropy"], 4), "nats"),
        count("iterations", summary["iterations"]),
        Fact("time", f"{short(summary['seconds'])} s", "the fit alone"),
        Fact("converged", yes_no(summary["converged"])),
        Fact("locally optimal", yes_no(summary["locally_optimal"]), "no single move helps"),
    ]


def _asked(summary: dict[str, Any]) -> str:
    left = summary["asked"] - summary["blocks"]
    return f"{left:,} more stayed empty" if left else ""


def _structure(summary: dict[str, Any]) -> Section:
    drawn, matrix = summary["drawn"], summary["matrix"]
    names = [f"block {b}" for b in drawn["blocks"]]
    left_out = summary["blocks"] - len(names)
    merged = max((len(m) for m in matrix.members), default=1)
    measure = _measure(summary)
    return Section(
        "How the blocks are joined",
        figures=[
            Figure(
                "The graph of blocks",
                block_graph(
                    names,
                    drawn["sizes"],
                    drawn["density"],
                    description=f"{len(names)} blocks as circles, joined by their densest ties.",
                    measure=measure,
                ),
                "Circles by number of nodes, stronger in colour the denser inside; lines by "
                f"{measure}, the three strongest of each block."
                + (" Of two directions the stronger one." if summary["directed"] else "")
                + (
                    f" The {left_out:,} blocks with the fewest edges are not drawn."
                    if left_out
                    else ""
                ),
            ),
            Figure(
                "The block matrix",
                _heat(matrix, summary["counted"], measure, directed=summary["directed"]),
                f"{measure.capitalize()}: {summary['counted']} over possible pairs"
                + (", from the block of the row" if summary["directed"] else "")
                + ". Like blocks stand together; columns are in the order of the rows."
                + (
                    f" A cell stands for up to {merged} × {merged} blocks: “{matrix.names[0]}” are "
                    f"block {matrix.members[0][0]} and {len(matrix.members[0]) - 1} like it."
                    if merged > 1
                    else ""
                ),
            ),
        ],
    )


def _measure(summary: dict[str, Any]) -> str:
    return "mean weight" if summary["counted"] == "weight" else "density"


def _heat(matrix: BlockMatrix, counted: str, measure: str, *, directed: bool) -> Any:
    names = matrix.names
    edges, density = matrix.edges, matrix.density

    def tip(i: int, j: int) -> str:
        return (
            f"blocks {names[i]} × {names[j]}\n{edges[i, j]:,.0f} {counted} over "
            f"{matrix.pairs[i, j]:,.0f} pairs\n{measure} {short(density[i, j])}"
        )

    once = density if directed else np.triu(density)
    order = np.argsort(-once, axis=None)[: 2 * MOST_CELLS]
    strongest = [np.unravel_index(o, density.shape) for o in order]
    table = ChartTable(
        ["from" if directed else "blocks", "to" if directed else "and", counted, "pairs", measure],
        [
            [names[i], names[j], *(float(v[i, j]) for v in (edges, matrix.pairs, density))]
            for i, j in strongest
            if density[i, j] > 0
        ],
    )
    return heatmap(
        density,
        names,
        names,
        value=measure,
        log=True,
        description=f"{measure.capitalize()} between {len(names)} rows of blocks, like ones near.",
        tip=tip,
        table=table,
    )


def _sizes(summary: dict[str, Any]) -> Section:
    sizes = summary["sizes"]
    lead = (
        f"The largest block has {sizes[0]:,} nodes, the median {int(np.median(sizes)):,}, "
        f"the smallest {sizes[-1]:,}."
        if len(sizes)
        else ""
    )
    if len(sizes) <= 25:
        listed = summary["drawn"]
        order = np.argsort(-listed["sizes"], kind="stable")
        chart = bars(
            [f"block {listed['blocks'][i]}" for i in order],
            {"nodes": [float(listed["sizes"][i]) for i in order]},
            description="Nodes of each block.",
            of="block",
        )
    else:
        chart = xy(
            [Series("nodes", np.arange(1, len(sizes) + 1), sizes)],
            Axis("block, by size"),
            Axis("nodes", log=True),
            description=f"Sizes of {len(sizes)} blocks from largest to smallest.",
        )
    inside = summary["inside"]
    ends = "weight" if summary["counted"] == "weight" else "edge ends"
    kept = xy(
        [Series("block", inside["sizes"], inside["share"], "points")],
        Axis("nodes of the block", log=True),
        Axis(f"share of {ends} inside", lo=0.0, hi=1.0),
        description=f"Share of each block's {ends} that stay inside it, by block size.",
    )
    return Section(
        "Block sizes",
        lead,
        [
            Figure("Nodes in each block", chart),
            Figure(
                "How closed the blocks are",
                kept,
                "Near 1: a community, joined mostly to itself. Near 0: a role, such as hubs or "
                "their leaves, joined mostly to other blocks.",
            ),
        ],
    )


def _listed(summary: dict[str, Any]) -> Section:
    rows = [
        [
            f"block {b['block']}",
            b["nodes"],
            round(b["degree"], 2),
            b["inside"],
            short(b["density"]),
            " · ".join(b["names"]),
        ]
        for b in summary["listed"]
    ]
    columns = [
        "block",
        "nodes",
        "mean degree",
        f"{summary['counted']} inside",
        f"{_measure(summary)} inside",
        "best-connected nodes",
    ]
    panel = Panel("", ChartTable(columns, [list(r) for r in rows]))
    return Section("The largest blocks", tables=[panel] if rows else [])

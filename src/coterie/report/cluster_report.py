"""The report of a hard clustering: what the blocks are and how they are connected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from coterie.data import Graph, Ratings
from coterie.models.hard.clustering import HardClustering
from coterie.models.hard.description.comparison import ComparedModel
from coterie.models.hard.description.sampling import PosteriorSamples
from coterie.report import cluster_ratings_report
from coterie.report.block_matrix import MOST_CELLS, share
from coterie.report.charts import (
    Axis,
    Chart,
    ChartTable,
    Series,
    bars,
    block_graph,
    heatmap,
    short,
    xy,
)
from coterie.report.charts.network import STYLES
from coterie.report.cluster_summary import ClusterSummary, summarize
from coterie.report.description_sections import description_sections
from coterie.report.fit_summary import minimised_description
from coterie.report.page import Fact, Figure, Page, Panel, Section, Verdict, write
from coterie.report.picture import Picture, draw_figures
from coterie.report.shared_sections import convergence, count

_FEW_BLOCKS = 25  # up to here each block has its own bar


def render(
    model: HardClustering,
    data: Graph | Ratings,
    *,
    name: str = "the graph",
    titles: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
    spell: Callable[[str], str] | None = None,
    samples: PosteriorSamples | None = None,
    compared: Sequence[ComparedModel] = (),
) -> str:
    """Render the report of a fitted hard clustering as one HTML file.

    Parameters
    ----------
    model : GeneralizedKMeans or BlockModel
        The fitted model.
    data : Graph or Ratings
        The data that it was fitted to.
    name : str, default="the graph"
        What the page calls the data.
    titles : mapping of str to str, optional
        Titles of the items by their ids (ratings only).
    assumed : sequence of str, default=()
        Remarks to list under "What was assumed", such as the text of AssumptionWarnings.
    spell : callable, optional
        Rewrites sentences that name parameters between backticks, for example as options of the
        command line. By default, only the backticks are removed.
    samples : PosteriorSamples, optional
        Partitions from the posterior, to show how certain the blocks are.
    compared : sequence of ComparedModel, default=()
        A comparison of models of the same graph.

    Returns
    -------
    str
        A complete HTML page that fetches nothing.
    """
    if isinstance(data, Ratings):
        summary = cluster_ratings_report.summarize(
            model, data, name=name, titles=titles, assumed=assumed
        )
        return write(cluster_ratings_report.compose(summary))
    summary_of_graph = summarize(model, data, name=name, assumed=assumed)
    if spell is not None:
        said = tuple(map(spell, summary_of_graph.explanation))
        summary_of_graph = replace(summary_of_graph, explanation=said)
    return write(compose(summary_of_graph, description_sections(model, data, samples, compared)))


def draw(model: HardClustering, data: Any, *, title: str = "") -> Picture:
    """Draw the main charts of the report: network, block matrix and convergence.

    Parameters
    ----------
    model : GeneralizedKMeans or BlockModel
        The fitted model.
    data : Graph, Ratings or shards
        The data that it was fitted to. Above 3,000 nodes the blocks are drawn instead of the
        nodes; for ratings and shards there is no drawing of the network.
    title : str, default=""
        A title above the picture.

    Returns
    -------
    Picture
        The drawing, to be shown by a notebook or saved.
    """
    if isinstance(data, Ratings):
        ratings = cluster_ratings_report.summarize(model, data, name=title)
        return draw_figures(cluster_ratings_report.compose(ratings).sections, title)
    if isinstance(data, Graph):
        return draw_figures(compose(summarize(model, data, name=title)).sections, title)
    described = minimised_description(model.facts()) is not None
    history = convergence(model.history_, described=described)
    return draw_figures([_matrix_of_shards(model), history], title)


def _matrix_of_shards(model: HardClustering) -> Section:
    """Draw the block matrix of a model of sharded data: edges per pair, or the mean level."""
    edges, pairs = np.asarray(model.block_edges_), np.asarray(model.block_pairs_)
    value = "density"
    if edges.ndim == 3:
        edges, value = edges @ np.arange(1, edges.shape[2] + 1), "mean level of the rating"
    rows, columns = (np.argsort(-pairs.sum(axis), kind="stable")[:MOST_CELLS] for axis in (1, 0))
    chart = heatmap(
        share(edges, pairs)[np.ix_(rows, columns)],
        [f"{i}" for i in rows],
        [f"{j}" for j in columns],
        value=value,
        log=value == "density",
        description=f"{value.capitalize()} between blocks.",
    )
    return Section("The blocks", figures=[Figure("The block matrix", chart, pictured=True)])


def compose(summary: ClusterSummary, more: Sequence[Section] = ()) -> Page:
    """Compose the page from a summary, with more sections before the list of blocks."""
    return Page(
        "cluster report",
        f"{summary.blocks:,} blocks in {summary.fit.name}",
        _verdict(summary),
        _facts(summary),
        [
            _network(summary),
            _structure(summary),
            _sizes(summary),
            *more,
            _listed(summary),
            *summary.fit.closing_sections(),
        ],
    )


def _verdict(summary: ClusterSummary) -> Verdict:
    text = (
        f"The {summary.nodes:,} nodes with {summary.edges:,} edges form {summary.blocks:,} blocks. "
    )
    if summary.fit.description_length is not None:
        text += f"Description length: {summary.fit.description_length:,.0f} nats"
    else:
        text += f"Entropy: {summary.fit.entropy:,.0f} nats"
    if summary.entropy_without_blocks and summary.fit.description_length is None:
        saved = 1 - summary.fit.entropy / summary.entropy_without_blocks
        text += f", {100 * saved:.0f} % less than without blocks"
    tone = "warn" if summary.fit.converged is False else ""
    # Sentences name parameters between backticks, for Python and the command line alike.
    said = [sentence.replace("`", "") for sentence in summary.explanation]
    return Verdict(text + ".", tone, "", [*said, *summary.fit.next_steps()])


def _facts(summary: ClusterSummary) -> list[Fact]:
    empty = summary.requested_blocks - summary.blocks
    return [
        count("nodes", summary.nodes),
        count("edges", summary.edges),
        count("blocks", summary.blocks, f"{empty:,} more stayed empty" if empty else ""),
        *summary.fit.facts(),
    ]


def _network(summary: ClusterSummary) -> Section:
    if summary.network is None:
        return Section("The network")
    left_out = summary.network.left_out
    colours = (
        " Different blocks may share a colour where they are far apart."
        if summary.blocks > STYLES
        else ""
    )
    return Section(
        "The network",
        figures=[
            Figure(
                "Nodes in the colours of their blocks",
                summary.network.chart,
                "Connected nodes attract each other, all others repel each other; the layout "
                "does not use the blocks. A larger circle has more edges; the nodes with the most "
                f"edges are named. Point at a node to see its name and block.{colours}"
                + (
                    f" {left_out:,} of the {summary.edges:,} edges, at random, are not drawn."
                    if left_out
                    else ""
                ),
                wide=True,
                pictured=True,
            )
        ],
    )


def _structure(summary: ClusterSummary) -> Section:
    drawn, matrix, measure = summary.drawn, summary.matrix, summary.measure
    names = [f"block {b}" for b in drawn.blocks]
    left_out = summary.blocks - len(names)
    merged = max((len(m) for m in matrix.members), default=1)
    return Section(
        "How the blocks are connected",
        figures=[
            Figure(
                "The graph of blocks",
                block_graph(
                    names,
                    drawn.sizes,
                    drawn.density,
                    description=f"{len(names)} blocks as circles with their densest connections.",
                    measure=measure,
                ),
                "The area of a circle is the number of nodes; a stronger colour means more edges "
                f"inside. Lines show the three strongest connections of each block, by {measure}."
                + (" Of two directions the stronger one is drawn." if summary.directed else "")
                + (
                    f" The {left_out:,} blocks with the fewest edges are not drawn."
                    if left_out
                    else ""
                ),
                pictured=summary.network is None,
            ),
            Figure(
                "The block matrix",
                _block_heatmap(summary),
                f"{measure.capitalize()}: {summary.counted} divided by the number of possible pairs"
                + (", from the block of the row to the block of the column" * summary.directed)
                + ". Similar blocks are next to each other; columns have the order of the rows."
                + (
                    f" A cell combines up to {merged} × {merged} blocks: “{matrix.names[0]}” means "
                    f"block {matrix.members[0][0]} and {len(matrix.members[0]) - 1} similar ones."
                    if merged > 1
                    else ""
                ),
                pictured=True,
            ),
        ],
    )


def _block_heatmap(summary: ClusterSummary) -> Chart:
    matrix, measure, directed = summary.matrix, summary.measure, summary.directed
    names, edges, density = matrix.names, matrix.edges, matrix.density

    def tip(i: int, j: int) -> str:
        return (
            f"blocks {names[i]} × {names[j]}\n{edges[i, j]:,.0f} {summary.counted} over "
            f"{matrix.pairs[i, j]:,.0f} pairs\n{measure} {short(density[i, j])}"
        )

    once = density if directed else np.triu(density)
    order = np.argsort(-once, axis=None)[: 2 * MOST_CELLS]
    strongest = [np.unravel_index(o, density.shape) for o in order]
    ends = ["from", "to"] if directed else ["block", "other block"]
    table = ChartTable(
        [*ends, summary.counted, "pairs", measure],
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
        description=f"{measure.capitalize()} between {len(names)} blocks or bins of blocks.",
        tip=tip,
        table=table,
    )


def _sizes(summary: ClusterSummary) -> Section:
    sizes, drawn, closed = summary.sizes, summary.drawn, summary.closedness
    lead = (
        f"The largest block has {sizes[0]:,} nodes, the median {int(np.median(sizes)):,}, "
        f"the smallest {sizes[-1]:,}."
        if len(sizes)
        else ""
    )
    if len(sizes) <= _FEW_BLOCKS:
        order = np.argsort(-drawn.sizes, kind="stable")
        chart = bars(
            [f"block {drawn.blocks[i]}" for i in order],
            {"nodes": [float(drawn.sizes[i]) for i in order]},
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
    ends = "weight" if summary.weighted else "edge ends"
    inside = xy(
        [Series("block", closed.sizes, closed.share, "points")],
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
                inside,
                "Near 1: a community, connected mostly within itself. Near 0: a role, such as hubs "
                "or their leaves, connected mostly to other blocks.",
            ),
        ],
    )


def _listed(summary: ClusterSummary) -> Section:
    columns = [
        "block",
        "nodes",
        "mean degree",
        f"{summary.counted} inside",
        f"{summary.measure} inside",
        "best-connected nodes",
    ]
    table = ChartTable(
        columns,
        [
            [
                f"block {b.block}",
                b.nodes,
                round(b.mean_degree, 2),
                b.edges_inside,
                short(b.density),
                " · ".join(b.best_connected),
            ]
            for b in summary.listed
        ],
    )
    return Section("The largest blocks", tables=[Panel("", table)] if table.rows else [])

"""The report of a hard clustering: what the blocks are and how they are connected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from coterie.base.errors import InputError
from coterie.base.number_text import short
from coterie.data import Graph, Ratings
from coterie.models.agreement import KnownLabels
from coterie.models.hard.clustering import HardClustering
from coterie.models.hard.description.comparison import ComparedModel
from coterie.models.hard.label_tools import x_log_x
from coterie.models.hard.posterior import PosteriorSamples
from coterie.report import interactive
from coterie.report.block_matrix import MOST_CELLS, BlockMatrix, arrange, share
from coterie.report.charts import (
    Axis,
    Chart,
    ChartTable,
    Grouping,
    Series,
    alluvial,
    bars,
    block_graph,
    heatmap,
    network_drawing,
    xy,
)
from coterie.report.charts.drawing import Cell, standalone
from coterie.report.charts.network import MOST_NODES, MOST_PLACED, edges_left_out
from coterie.report.charts.network_style import STYLES, NetworkStyle
from coterie.report.description_sections import description_sections
from coterie.report.interactive import MOST_FORCES, layout_of, levels_of, network_data
from coterie.report.page import Page, Section, Verdict, written
from coterie.report.picture import Picture, draw_figures
from coterie.report.rating_groups import group_sections
from coterie.report.shared_sections import Fit, convergence, count

_FEW_BLOCKS = 25  # up to here each block has its own bar
_DRAWN = 30  # blocks in the drawing of the block graph
_LISTED = 15  # blocks in the table of the largest blocks
_NAMED = 8  # nodes named per block
_NAMED_LABELS = 4  # given labels named per block


class Blocks(NamedTuple):
    """The blocks of a graph, and what is between them."""

    graph: Graph
    labels: np.ndarray
    edges: np.ndarray  # block × block
    pairs: np.ndarray
    weighted: bool  # `edges` has total weights

    @property
    def sizes(self) -> np.ndarray:
        """Number of nodes by block."""
        return np.bincount(self.labels, minlength=len(self.edges))

    @property
    def n_blocks(self) -> int:
        """Number of blocks that have nodes."""
        return int((self.sizes > 0).sum())

    @property
    def counted(self) -> str:
        """The unit that a cell of the block matrix counts."""
        return "weight" if self.weighted else "edges"

    @property
    def measure(self) -> str:
        """The name of a cell's value: its count per pair of nodes."""
        return "mean weight" if self.weighted else "density"

    @property
    def entropy_without_blocks(self) -> float:
        """S of the same graph with all nodes in one block, by the Bernoulli objectives."""
        every = np.ones_like(self.pairs, bool)
        once = every if self.graph.directed else np.triu(every)
        m, d = float(self.edges[once].sum()), float(self.pairs[once].sum())
        return float(x_log_x(d) - x_log_x(m) - x_log_x(d - m))


def blocks_of(model: HardClustering, graph: Graph) -> Blocks:
    """Return the blocks of a fitted model and the graph that it was fitted to."""
    return Blocks(
        graph,
        np.asarray(model.labels_),
        np.asarray(model.block_edges_),
        np.asarray(model.block_pairs_),
        model.facts().counts_weights,
    )


def compose(
    model: HardClustering,
    data: Graph | Ratings,
    *,
    name: str = "the graph",
    titles: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
    spell: Callable[[str], str] | None = None,
    samples: PosteriorSamples | None = None,
    compared: Sequence[ComparedModel] = (),
    truth: KnownLabels | None = None,
) -> Page:
    """Report a fitted hard clustering.

    Only the data of the interactive drawing grow with the network: a page of 5,000 nodes, 500,000
    random edges and 500 blocks has 2.3 MB.

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
    truth : KnownLabels, optional
        Labels from outside, to be compared with the blocks of a graph.

    Returns
    -------
    Page or str
        `compose` returns the page, `render` one HTML file that fetches nothing.
    """
    fit = Fit(model, data, assumed, model.facts())
    if isinstance(data, Ratings):
        return _page_of_ratings(fit, data, name, titles)
    blocks = blocks_of(model, data)
    # Sentences name parameters between backticks, for Python and the command line alike.
    said = [(spell(text) if spell else text).replace("`", "") for text in model.explain()]
    empty = len(blocks.edges) - blocks.n_blocks
    tone = "warn" if fit.converged is False else ""
    return Page(
        "cluster report",
        f"{blocks.n_blocks:,} blocks in {name}",
        Verdict(_finding(fit, blocks), tone, "", [*said, *fit.next_steps()]),
        [
            count("nodes", data.n_nodes),
            count("edges", data.n_edges),
            count("blocks", blocks.n_blocks, f"{empty:,} more stayed empty" if empty else ""),
            *fit.top_facts(),
        ],
        [
            _network(blocks, levels_of(model), samples),
            _structure(blocks),
            _sizes(blocks),
            *([] if truth is None else [_compared_with(truth, blocks)]),
            *description_sections(model, data, samples, compared),
            _listed(blocks),
            *fit.closing_sections(),
        ],
    )


render = written(compose)


def _finding(fit: Fit, blocks: Blocks) -> str:
    graph = blocks.graph
    nodes, edges = f"{graph.n_nodes:,} nodes", f"{graph.n_edges:,} edges"
    form = "are, so far, divided into" if fit.interrupted else "form"
    text = f"The {nodes} with {edges} {form} {blocks.n_blocks:,} blocks. "
    if fit.description_length is not None:
        return text + f"Description length: {fit.description_length:,.0f} nats."
    text += f"Entropy: {float(fit.model.entropy_):,.0f} nats"
    bernoulli = fit.facts is not None and fit.facts.model in ("simple", "directed")
    if bernoulli and blocks.entropy_without_blocks:
        saved = 1 - float(fit.model.entropy_) / blocks.entropy_without_blocks
        text += f", {100 * saved:.0f} % less than without blocks"
    return text + "."


def _page_of_ratings(fit: Fit, data: Ratings, name: str, titles: Mapping[str, str] | None) -> Page:
    users, items = (len(np.unique(labels)) for labels in fit.model.labels_)
    form = "are, so far, divided into" if fit.interrupted else "form"
    text = (
        f"The {data.n_users:,} users {form} {users} blocks and the {data.n_items:,} items "
        f"{items} blocks. Entropy of the {len(data):,} observations: "
        f"{float(fit.model.entropy_):,.0f} nats."
    )
    tone = "warn" if fit.converged is False else ""
    return Page(
        "cluster report",
        f"{users} × {items} blocks in {name}",
        Verdict(text, tone, "", fit.next_steps()),
        [
            count("users", data.n_users, f"{users} blocks"),
            count("items", data.n_items, f"{items} blocks"),
            count("observations", len(data)),
            *fit.top_facts(),
        ],
        [*group_sections(fit.model, data, titles), *fit.closing_sections()],
    )


def draw(model: HardClustering, data: Any, *, title: str = "", **style: Any) -> Picture:
    """Draw the main charts of the report, or, with a style, the network alone.

    Parameters
    ----------
    model : GeneralizedKMeans or BlockModel
        The fitted model.
    data : Graph, Ratings or shards
        The data that it was fitted to. Above 50,000 nodes the blocks are drawn instead of the
        nodes; for ratings and shards there is no drawing of the network.
    title : str, default=""
        A title above the picture.
    **style
        Parameters of `NetworkStyle`; with any of them, only the network is drawn.

    Returns
    -------
    Picture
        The drawing, to be shown by a notebook or saved.
    """
    if style:
        if not isinstance(data, Graph):
            raise InputError(
                "only a network has a drawing of its nodes", remedy="leave the style out"
            )
        look = NetworkStyle(**style)
        return Picture(standalone(network_drawing(data, model.labels_, style=look).svg, title))
    if isinstance(data, Graph | Ratings):
        return draw_figures(compose(model, data, name=title).sections, title)
    history = convergence(model.history_, described=model.facts().minimised_length)
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
    section = Section("The blocks")
    section.draw("The block matrix", chart, pictured=True)
    return section


def _network(blocks: Blocks, levels: list[np.ndarray], samples: PosteriorSamples | None) -> Section:
    """Draw the nodes, unless they are too many."""
    graph, section = blocks.graph, Section("The network")
    if not 0 < graph.n_nodes <= interactive.MOST_NODES:
        return section
    caption = (
        "Connected nodes attract each other, all others repel each other; the layout "
        "does not use the blocks. "
        if graph.n_nodes <= MOST_FORCES or blocks.n_blocks == 1
        else "The layout uses the blocks: each is a disc, near to blocks that it shares many edges "
        "with; nodes at its edge have a larger share of their neighbours elsewhere. "
    )
    if graph.n_nodes <= MOST_NODES:
        caption += (
            "A larger circle has more edges; the nodes with the most edges are named. Point at a "
            "node to see its name and block."
        )
    elif graph.n_nodes <= MOST_PLACED:
        caption += (
            "Nodes that are close together are one dot, in the colour of most of them; the nodes "
            "with the most edges are named."
        )
    if blocks.n_blocks > STYLES:
        caption += " Different blocks may share a colour where they are far apart."
    if (left_out := edges_left_out(graph)) and graph.n_nodes <= MOST_PLACED:
        caption += f" {left_out:,} of the {graph.n_edges:,} edges, at random, are not drawn."
    place = layout_of(graph, blocks.labels)
    confidence = None if samples is None else samples.confidence_
    data = network_data(graph, levels, place=place, confidence=confidence)
    chart = network_drawing(graph, blocks.labels, place=place)._replace(network=data)
    section.draw(
        "Nodes in the colours of their blocks",
        chart,
        caption,
        wide=True,
        pictured=graph.n_nodes <= MOST_PLACED,
    )
    return section


def _structure(blocks: Blocks) -> Section:
    graph, measure = blocks.graph, blocks.measure
    chosen, density = _most_connected(blocks)
    circles = (
        "The area of a circle is the number of nodes; a stronger colour means more edges "
        f"inside. Lines show the three strongest connections of each block, by {measure}."
    )
    if graph.directed:
        circles += " Of two directions the stronger one is drawn."
    if blocks.n_blocks > len(chosen):
        left_out = blocks.n_blocks - len(chosen)
        circles += f" The {left_out:,} blocks with the fewest edges are not drawn."
    matrix = arrange(blocks.edges, blocks.pairs, blocks.sizes, directed=graph.directed)
    cells = f"{measure.capitalize()}: {blocks.counted} divided by the number of possible pairs"
    if graph.directed:
        cells += ", from the block of the row to the block of the column"
    cells += ". Similar blocks are next to each other; columns have the order of the rows."
    merged = max((len(m) for m in matrix.members), default=1)
    if merged > 1:
        cells += (
            f" A cell combines up to {merged} × {merged} blocks: “{matrix.names[0]}” means "
            f"block {matrix.members[0][0]} and {len(matrix.members[0]) - 1} similar ones."
        )
    drawn = block_graph(
        [f"block {b}" for b in chosen],
        blocks.sizes[chosen],
        density,
        description=f"{len(chosen)} blocks as circles with their densest connections.",
        measure=measure,
    )
    section = Section("How the blocks are connected")
    section.draw("The graph of blocks", drawn, circles, pictured=graph.n_nodes > MOST_PLACED)
    section.draw("The block matrix", _block_heatmap(blocks, matrix), cells, pictured=True)
    return section


def _most_connected(blocks: Blocks) -> tuple[np.ndarray, np.ndarray]:
    """Choose the blocks with most edge ends: without the few hubs, leaves would stand alone.

    Return them and the densities between them."""
    sizes = blocks.sizes
    ends = blocks.edges.sum(1) + blocks.edges.sum(0)
    chosen = np.lexsort((-sizes, -ends))[:_DRAWN]
    chosen = chosen[sizes[chosen] > 0]
    square = np.ix_(chosen, chosen)
    density = share(blocks.edges[square].astype(np.float64), blocks.pairs[square])
    return chosen, np.maximum(density, density.T)


def _block_heatmap(blocks: Blocks, matrix: BlockMatrix) -> Chart:
    measure, directed = blocks.measure, blocks.graph.directed
    names, edges, density = matrix.names, matrix.edges, matrix.density

    def tip(i: int, j: int) -> str:
        return (
            f"blocks {names[i]} × {names[j]}\n{edges[i, j]:,.0f} {blocks.counted} over "
            f"{matrix.pairs[i, j]:,.0f} pairs\n{measure} {short(density[i, j])}"
        )

    once = density if directed else np.triu(density)
    order = np.argsort(-once, axis=None)[: 2 * MOST_CELLS]
    strongest = [np.unravel_index(o, density.shape) for o in order]
    ends = ["from", "to"] if directed else ["block", "other block"]
    table = ChartTable(
        [*ends, blocks.counted, "pairs", measure],
        [
            [names[i], names[j], *(float(v[i, j]) for v in (edges, matrix.pairs, density))]
            for i, j in strongest
            if density[i, j] > 0
        ],
    )
    return heatmap(
        density,
        names,
        value=measure,
        log=True,
        description=f"{measure.capitalize()} between {len(names)} blocks or bins of blocks.",
        tip=tip,
        table=table,
    )


def _sizes(blocks: Blocks) -> Section:
    by_block, edges = blocks.sizes, blocks.edges
    sizes = np.sort(by_block[by_block > 0])[::-1]
    lead = (
        f"The largest block has {sizes[0]:,} nodes, the median {int(np.median(sizes)):,}, "
        f"the smallest {sizes[-1]:,}."
        if len(sizes)
        else ""
    )
    if len(sizes) <= _FEW_BLOCKS:
        chosen, _ = _most_connected(blocks)
        order = chosen[np.argsort(-by_block[chosen], kind="stable")]
        chart = bars(
            [f"block {b}" for b in order],
            {"nodes": [float(by_block[b]) for b in order]},
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
    within = np.diag(edges).astype(np.float64)
    total = edges.sum(1) + (edges.sum(0) if blocks.graph.directed else within)
    some = (by_block > 0) & (total > 0)
    ends = "weight" if blocks.weighted else "edge ends"
    inside = xy(
        [Series("block", by_block[some], 2 * within[some] / total[some], "points")],
        Axis("nodes of the block", log=True),
        Axis(f"share of {ends} inside", lo=0.0, hi=1.0),
        description=f"Share of each block's {ends} that stay inside it, by block size.",
    )
    section = Section("Block sizes", lead)
    section.draw("Nodes in each block", chart)
    section.draw(
        "How closed the blocks are",
        inside,
        "Near 1: a community, connected mostly within itself. Near 0: a role, such as hubs or "
        "their leaves, connected mostly to other blocks.",
    )
    return section


def _compared_with(truth: KnownLabels, blocks: Blocks) -> Section:
    """Draw where the nodes of each known label are, and list what the largest blocks contain."""
    found, given = blocks.labels[truth.nodes], truth.labels.astype(str)
    section = Section(
        "The blocks and the given labels",
        f"Of the {blocks.graph.n_nodes:,} nodes, {len(truth.nodes):,} have a label. The adjusted "
        f"Rand index is {truth.ari:.3f}, the adjusted mutual information {truth.ami:.3f}: 1 for "
        "the same grouping, about 0 for chance.",
        figures_first=True,
        label="Given labels",
    )
    chart = alluvial(
        [Grouping("given labels", given), Grouping("blocks", found, "block")],
        description="How the given labels are divided among the blocks.",
    )
    caption = "The width of a band is a number of nodes; its colour is that of the given label."
    section.draw("From labels to blocks", chart, caption)
    sizes = np.bincount(found)
    rows: list[list[Cell]] = []
    for block in np.argsort(-sizes, kind="stable")[:_LISTED]:
        names, counts = np.unique(given[found == block], return_counts=True)
        top = np.argsort(-counts, kind="stable")[:_NAMED_LABELS]
        parts = [f"{names[i]} ({100 * counts[i] / sizes[block]:.0f} %)" for i in top]
        if len(parts):
            rows.append([f"block {block}", int(sizes[block]), " · ".join(parts)])
    section.tabulate(["block", "nodes with a label", "most frequent labels"], rows)
    return section


def _listed(blocks: Blocks) -> Section:
    """List the largest blocks, each with the ids of its best-connected nodes."""
    sizes, degrees = blocks.sizes, blocks.graph.degrees
    largest = np.argsort(-sizes, kind="stable")[:_LISTED]
    rows: list[list[Cell]] = []
    for block in largest[sizes[largest] > 0]:
        nodes = np.flatnonzero(blocks.labels == block)
        some = min(_NAMED, len(nodes))
        top = nodes[np.argpartition(-degrees[nodes], some - 1)[:some]]
        top = top[np.argsort(-degrees[top], kind="stable")]
        inside = float(blocks.edges[block, block])
        rows.append(
            [
                f"block {block}",
                len(nodes),
                round(float(degrees[nodes].mean()), 2),
                inside,
                short(inside / max(float(blocks.pairs[block, block]), 1.0)),
                " · ".join(str(blocks.graph.ids[v]) for v in top),
            ]
        )
    columns = [
        "block",
        "nodes",
        "mean degree",
        f"{blocks.counted} inside",
        f"{blocks.measure} inside",
        "best-connected nodes",
    ]
    section = Section("The largest blocks")
    section.tabulate(columns, rows)
    return section

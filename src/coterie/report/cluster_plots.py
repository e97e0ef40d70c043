"""A picture of a clustering: the network, the convergence and the block matrix in one SVG file."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from coterie.data import Graph
from coterie.models.hard.clustering import HardClustering
from coterie.report.charts.drawing import WIDTH
from coterie.report.charts.network import HEIGHT, block_picture
from coterie.report.charts.network_drawing import MOST_NODES, largest_blocks, picture_of
from coterie.report.fit_summary import minimised_description

_SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "coterie", "font.size": 9.0}
_COLOURS = ("#1c5d87", "#c2571a", "#2c7a4b", "#7a4a9e", "#a33b54", "#6b6f1d", "#5a6270")
_NAMED = 12  # nodes with a name in the drawing of the network
_INK = "#1d3557"
_ACCENT = "#e07a1f"


def write_plot(
    model: HardClustering, path: str | PathLike[str], *, graph: Graph | None = None, title: str = ""
) -> None:
    """Draw a fitted hard clustering: the network, the convergence and the block matrix.

    Parameters
    ----------
    model : GeneralizedKMeans or BlockModel
        The fitted model.
    path : str or path-like
        The SVG file to write; it appears complete or not at all.
    graph : Graph, optional
        The graph that the model was fitted to. Its nodes are drawn in the colours of their blocks;
        above 3,000 nodes the blocks are drawn. By default there is no drawing of the network.
    title : str, default=""
        A title above the picture.
    """
    from matplotlib import rc_context

    from coterie.data.atomic_files import atomic_write

    with rc_context(_SETTINGS):
        figure = make_figure(model, graph=graph, title=title)
        with atomic_write(Path(path), "wb") as file:
            figure.savefig(file, format="svg", metadata={"Date": None})


def make_figure(model: HardClustering, *, graph: Graph | None = None, title: str = "") -> Any:
    """Make the matplotlib figure that `write_plot` writes.

    Parameters
    ----------
    model : GeneralizedKMeans or BlockModel
        The fitted model.
    graph : Graph, optional
        The graph that the model was fitted to, to draw it.
    title : str, default=""
        A title above the picture.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; a notebook shows it, and `savefig` writes it in any format.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_SETTINGS):
        figure = Figure(figsize=(10.5, 4.4 if graph is None else 11.0), layout="constrained")
        charts: Any = figure
        if graph is not None:
            parts: Any = figure.subfigures(2, 1, height_ratios=(1.5, 1.0))
            _network(parts[0].subplots(), model, graph)
            charts = parts[1]
        left, right = charts.subplots(1, 2, width_ratios=(1.25, 1.0))
        _convergence(left, model)
        _matrix(charts, right, model)
        if title:
            figure.suptitle(title, color=_INK, fontweight="bold", fontsize=11)
    return figure


def _network(axes: Any, model: Any, graph: Graph) -> None:
    """Draw the nodes in the colours of their blocks, or the blocks of a large network."""
    axes.set_axis_off()
    axes.set_aspect("equal")
    labels = np.asarray(model.labels_)
    if graph.n_nodes > MOST_NODES:
        axes.set_title("The blocks with the most edges", loc="left", color=_INK)
        _blocks(axes, graph, labels)
    elif graph.n_nodes:
        axes.set_title("Nodes in the colours of their blocks", loc="left", color=_INK)
        _nodes(axes, graph, labels)


def _nodes(axes: Any, graph: Graph, labels: np.ndarray) -> None:
    from matplotlib.collections import LineCollection

    picture = picture_of(graph, labels)
    place = picture.place
    ends = np.stack([place[picture.source], place[picture.target]], axis=1)
    faint = float(np.clip(60 / max(len(ends), 1) ** 0.6, 0.08, 0.5))
    axes.add_collection(
        LineCollection(list(ends), colors="#565d6b", linewidths=0.5, alpha=faint, zorder=1)
    )
    order = np.argsort(-picture.degree, kind="stable")
    colours = np.array(_COLOURS)[picture.style % len(_COLOURS)]
    faces = np.where(picture.style < len(_COLOURS), colours, "#ffffff")
    size = np.clip(1500 / len(place), 4, 40)
    axes.scatter(
        *place[order].T,
        s=size * picture.radius[order],
        c=faces[order],
        edgecolors=colours[order],
        linewidths=0.8,
        zorder=2,
    )
    for node in picture.hubs[:_NAMED]:
        axes.annotate(
            _plain(graph.ids[node]),
            place[node],
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
            fontweight="bold",
            color="#1d2330",
            zorder=3,
        )


def _blocks(axes: Any, graph: Graph, labels: np.ndarray) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Circle

    blocks, sizes, density = largest_blocks(graph, labels)
    if not len(blocks):
        return
    picture = block_picture(sizes, density)
    ends = np.stack([picture.place[picture.first], picture.place[picture.second]], axis=1)
    axes.add_collection(
        LineCollection(
            list(ends), colors="#565d6b", linewidths=picture.strength, alpha=0.4, zorder=1
        )
    )
    for i, block in enumerate(blocks.tolist()):
        axes.add_patch(
            Circle(picture.place[i], picture.radius[i], fc=_COLOURS[0], ec="#ffffff", zorder=2)
        )
        axes.annotate(
            str(block), picture.place[i], ha="center", va="center", color="#ffffff", zorder=3
        )
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(HEIGHT, 0)


def _plain(name: Any) -> str:
    """Return a node's name as text without the signs that matplotlib reads as mathematics."""
    return str(name)[:24].replace("$", r"\$")


def _convergence(axes: Any, model: Any) -> None:
    iteration = np.array([h.iteration for h in model.history_])
    entropy = np.array([h.entropy for h in model.history_])
    moved = np.array([h.moved or 0 for h in model.history_])
    length = minimised_description(model.facts())
    title = "Entropy after each iteration" if length is None else "Description length at each step"
    axes.set_title(title, loc="left", color=_INK)
    axes.plot(iteration, entropy, color=_INK, linewidth=1.6)
    if len(entropy) == 1:
        axes.plot(iteration, entropy, "o", color=_INK)
    axes.set_xlabel("iteration")
    axes.locator_params(axis="x", integer=True)
    unit = "entropy S (nats)" if length is None else "description length (nats)"
    axes.set_ylabel(unit, color=_INK)
    digits = 0 if np.ptp(entropy) > 20 else 2  # ticks must differ
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.{digits}f}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.annotate(
        f"{model.entropy_ if length is None else length:,.1f}",
        (0.97, 1.0),
        xycoords="axes fraction",
        ha="right",
        va="top",
        color=_INK,
        fontweight="bold",
    )
    second = axes.twinx()
    second.fill_between(iteration, moved, color=_ACCENT, alpha=0.35, linewidth=0)
    second.set_ylabel("nodes moved", color=_ACCENT)
    second.set_ylim(0, max(1.0, 3.0 * moved.max(initial=0)))  # in the lower third
    second.spines[["top", "left"]].set_visible(False)
    axes.set_zorder(second.get_zorder() + 1)
    axes.patch.set_visible(False)


def _matrix(figure: Any, axes: Any, model: Any) -> None:
    from matplotlib.colors import LogNorm

    density, meaning = _density(model)
    shown = np.ma.masked_less_equal(density, 0.0)
    axes.set_title("The block matrix", loc="left", color=_INK)
    if shown.count() == 0:
        axes.text(0.5, 0.5, "no edges", ha="center", va="center", transform=axes.transAxes)
        axes.set_axis_off()
        return
    low, high = float(shown.min()), float(shown.max())
    norm = LogNorm(low, high) if high > low else None
    image = axes.imshow(shown, cmap="viridis_r", norm=norm, aspect="equal", interpolation="none")
    axes.set_xlabel("blocks, similar ones next to each other")
    axes.set_xticks([])
    axes.set_yticks([])
    bar = figure.colorbar(image, ax=axes, shrink=0.85)
    bar.set_label(meaning)


def _density(model: Any) -> tuple[np.ndarray, str]:
    """Return the matrix to draw, without empty blocks and in order, and what its values are."""
    edges, pairs = np.asarray(model.block_edges_), np.asarray(model.block_pairs_)
    if edges.ndim == 3:  # ratings: the mean level
        places = np.arange(1, edges.shape[2] + 1)
        mean = np.divide(edges @ places, pairs, out=np.zeros(pairs.shape), where=pairs > 0)
        return mean[np.ix_(_order(mean), _order(mean.T))], "mean level of the rating (1 = lowest)"
    density = np.asarray(model.block_probabilities_)
    if density.shape[0] == density.shape[1] and not isinstance(model.labels_, tuple):
        order = _order(density)
        return density[np.ix_(order, order)], "share of possible edges"
    return density[np.ix_(_order(density), _order(density.T))], "share of possible pairs"


def _order(rows: np.ndarray) -> np.ndarray:
    """Order the rows that are not empty along the dendrogram of their logarithms."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    some = np.flatnonzero(rows.sum(axis=1) > 0)
    if len(some) < 3:
        return some
    floor = rows[rows > 0].min()
    shape = np.log(np.maximum(rows[some], floor / 10))
    return np.asarray(some[leaves_list(linkage(shape, "average"))])

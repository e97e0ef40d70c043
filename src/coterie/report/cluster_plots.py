"""A picture of a clustering: its convergence and its block matrix in one SVG file."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

_INK = "#1d3557"
_ACCENT = "#e07a1f"


def write_plot(model: Any, path: str | PathLike[str], *, title: str = "") -> None:
    """Draw the convergence and the block matrix of a fitted GeneralizedKMeans.

    Parameters
    ----------
    model : GeneralizedKMeans
        The fitted model.
    path : str or path-like
        The SVG file to write; it appears complete or not at all.
    title : str, default=""
        A title above the picture.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    from coterie.data.atomic_files import atomic_write

    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "coterie", "font.size": 9.0}
    with rc_context(settings):
        figure = Figure(figsize=(10.5, 4.4), layout="constrained")
        FigureCanvasSVG(figure)
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
        _convergence(left, model)
        _matrix(figure, right, model)
        if title:
            figure.suptitle(title, color=_INK, fontweight="bold", fontsize=11)
        with atomic_write(Path(path), "wb") as file:
            figure.savefig(file, format="svg", metadata={"Date": None})


def _convergence(axes: Any, model: Any) -> None:
    iteration = np.array([h.iteration for h in model.history_])
    entropy = np.array([h.entropy for h in model.history_])
    moved = np.array([h.moved or 0 for h in model.history_])
    axes.set_title("Entropy after each iteration", loc="left", color=_INK)
    axes.plot(iteration, entropy, color=_INK, linewidth=1.6)
    if len(entropy) == 1:
        axes.plot(iteration, entropy, "o", color=_INK)
    axes.set_xlabel("iteration")
    axes.locator_params(axis="x", integer=True)
    axes.set_ylabel("entropy S (nats)", color=_INK)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.annotate(
        f"{model.entropy_:,.1f}",
        (1.0, 1.0),
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
    if density.shape[0] == density.shape[1] and hasattr(model, "labels_"):
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

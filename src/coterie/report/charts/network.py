"""Drawings of a network: its nodes in the colours of their blocks, or the graph of its blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie.base.number_text import short
from coterie.data import Graph
from coterie.report.block_matrix import density_between
from coterie.report.charts import drawing as svg
from coterie.report.charts.drawing import WIDTH, Cell, Chart, ChartTable
from coterie.report.network_layout import BLOCKS_HEIGHT, place_blocks, place_nodes

MOST_NODES = 3_000  # above, the blocks are drawn instead of the nodes
MOST_EDGES = 10_000  # of these, a random choice is drawn above this number
STYLES = 14  # seven colours, full or as rings
_LOWEST, _TALLEST = 170.0, 340.0  # height of the picture, by the form of the layout
_MARGIN = 8.0
_MAIN_NAMES, _NAMES = 6, 24  # nodes named on a narrow screen, and on a wide one
_LISTED = 30  # nodes in the table
_FONT, _SMALL_FONT = 12.5, 6.5  # on a narrow and on a wide screen; see chart.css
_LONGEST_NAME = 120.0
_BLOCKS = 30  # circles in the graph of blocks
_LINES_PER_BLOCK = 3
_SMALLEST, _LARGEST = 9.5, 50.0  # radii of blocks; two digits are readable in the smallest
_STRAY = 0.004  # share of the nodes on each side that may be far outside without shrinking the rest


def edges_left_out(graph: Graph) -> int:
    """Return how many edges, chosen at random, the drawing of the nodes leaves out."""
    return max(0, graph.n_edges - MOST_EDGES)


def network_drawing(
    graph: Graph,
    labels: np.ndarray,
    *,
    description: str = "",
    seed: int = 0,
) -> Chart:
    """Draw a network with the nodes in the colours of their blocks.

    Above `MOST_NODES` nodes, the graph of the largest blocks is drawn instead. The table of the
    chart lists the nodes with the most edges (or the connections of the blocks).

    Parameters
    ----------
    graph : Graph
        The network.
    labels : ndarray of shape (n_nodes,)
        The block of each node.
    description : str, default=""
        Text for screen readers; by default the numbers of nodes, edges and blocks.
    seed : int, default=0
        Seed of the layout and of the choice of edges; the same seed gives the same drawing.

    Returns
    -------
    Chart
        The SVG text and the table.
    """
    labels = np.asarray(labels)
    blocks = len(np.unique(labels))
    description = description or (
        f"The network: {graph.n_nodes:,} nodes, {graph.n_edges:,} edges, {blocks:,} blocks."
    )
    columns = ["node", "block", "edges"]
    if not graph.n_nodes:
        return svg.empty(description, ChartTable(columns, []))
    if graph.n_nodes > MOST_NODES:
        return _drawn_blocks(graph, labels, description)
    place = _without_strays(place_nodes(graph, seed=seed))
    style = styles_of_blocks(labels, place)[labels]
    source, target = graph.edges()
    degree = np.bincount(source, minlength=graph.n_nodes) + np.bincount(
        target, minlength=graph.n_nodes
    )
    if edges_left_out(graph):
        rng = np.random.default_rng(seed)
        some = np.sort(rng.choice(len(source), MOST_EDGES, replace=False))
        source, target = source[some], target[some]
    order = np.argsort(-degree, kind="stable")
    hubs = order[degree[order] > 0]
    names = [str(name) for name in graph.ids.tolist()]
    x, y, height, unit = _to_page(place)
    radius = (1 + 2.4 * np.sqrt(degree / max(int(degree.max(initial=1)), 1))) * unit
    lines = [
        f"M{x[a]:.1f} {y[a]:.1f}L{x[b]:.1f} {y[b]:.1f}"
        for a, b in zip(source.tolist(), target.tolist(), strict=True)
    ]
    faint = 1 + min(3, len(lines) // 1_500)
    # Hubs first, leaves on top: a leaf would disappear behind a hub.
    circles = [
        svg.with_tooltip(
            f"{names[v]}\nblock {labels[v]}\n{degree[v]:,} edges",
            f'<circle cx="{x[v]:.1f}" cy="{y[v]:.1f}" r="{radius[v]:.2g}" '
            f'class="{_class(int(style[v]))}"/>',
        )
        for v in order.tolist()
    ]
    rows: list[list[Cell]] = [[names[v], int(labels[v]), int(degree[v])] for v in hubs[:_LISTED]]
    drawn = svg.frame(
        height,
        description,
        svg.tag("path", d="".join(lines), class_=f"link f{faint}") if lines else "",
        *circles,
        *_hub_names(names, hubs, x, y, radius, height),
        class_="network nodes",
    )
    return Chart(drawn, ChartTable(columns, rows))


def _class(style: int) -> str:
    return f"{'dot' if style < 7 else 'ring'} s{style % 7}"


def _without_strays(place: np.ndarray) -> np.ndarray:
    """Move the few nodes that are far outside to the margin, so that the rest has more room."""
    if len(place) < 3:
        return place
    low, high = np.quantile(place, [_STRAY, 1 - _STRAY], axis=0)
    room = 0.15 * np.maximum(high - low, 1e-9)
    return np.asarray(np.clip(place, low - room, high + room))


def _to_page(place: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return x and y on the page with one scale, the height of the page, and the unit of radii."""
    low, high = place.min(0), place.max(0)
    extent = np.maximum(high - low, 1e-9)
    wide = WIDTH - 2 * _MARGIN
    height = float(np.clip(wide * extent[1] / extent[0] + 2 * _MARGIN, _LOWEST, _TALLEST))
    scale = min(wide / extent[0], (height - 2 * _MARGIN) / extent[1]) if len(place) > 1 else 1.0
    at = (place - (low + high) / 2) * scale
    # Radii such that all circles together cover at most about an eighth of the picture.
    unit = float(np.clip(np.sqrt(wide * height / 8 / np.pi / (4.0 * len(place))), 0.6, 2.2))
    return WIDTH / 2 + at[:, 0], height / 2 - at[:, 1], height, unit


def styles_of_blocks(labels: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Return a style per block: different ones while they last, then far from the same style."""
    count = np.bincount(labels)
    total = np.stack([np.bincount(labels, place[:, i]) for i in (0, 1)], 1)
    centre = total / np.maximum(count, 1)[:, None]
    style = np.zeros(len(count), np.int64)
    nearest = np.full((STYLES, len(count)), np.inf)  # to a block of this style
    for block in np.argsort(-count, kind="stable"):
        chosen = int(nearest[:, block].argmax())
        style[block] = chosen
        distance = np.hypot(*(centre - centre[block]).T)
        nearest[chosen] = np.minimum(nearest[chosen], distance)
    return style


def _hub_names(
    names: list[str],
    hubs: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    radius: np.ndarray,
    height: float,
) -> list[str]:
    """Write the names of hubs next to them where they do not cover another name."""
    taken: list[tuple[float, float, float, float]] = []  # in the size of a wide screen
    large: list[tuple[float, float, float, float]] = []  # of the main names, on a narrow screen
    written = []
    for v in hubs[: 4 * _NAMES].tolist():
        name = svg.clip(names[v], _LONGEST_NAME)
        main = len(large) < _MAIN_NAMES
        wide = svg.text_width(name)
        font = _FONT if main else _SMALL_FONT
        wide *= font / _FONT
        right = x[v] + radius[v] + 1.5
        fits = right + wide < WIDTH
        left = right if fits else x[v] - radius[v] - 1.5 - wide
        box = (left, y[v] - font / 2, left + wide, y[v] + font / 2)
        if left < 0 or box[1] < 0 or box[3] > height or _covers(box, large if main else taken):
            continue
        if main:
            large.append(box)
            shrunk = wide * _SMALL_FONT / _FONT
            left = left if fits else left + wide - shrunk
            box = (left, y[v] - _SMALL_FONT / 2, left + shrunk, y[v] + _SMALL_FONT / 2)
        taken.append(box)
        at = right if fits else x[v] - radius[v] - 1.5
        class_ = "hub" if main else "hub minor"
        written.append(svg.label(name, at, y[v] + 2.2, class_, None if fits else "end"))
        if len(written) == _NAMES:
            break
    return written


def _covers(
    box: tuple[float, float, float, float], others: list[tuple[float, float, float, float]]
) -> bool:
    return any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in others)


def _drawn_blocks(graph: Graph, labels: np.ndarray, description: str) -> Chart:
    """Draw the blocks with the most edges as circles, and their connections by density."""
    blocks, sizes, density = largest_blocks(graph, labels)
    return block_graph([f"block {b}" for b in blocks], sizes, density, description=description)


def largest_blocks(graph: Graph, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the blocks with the most edges, their sizes, and the density between them.

    Only these blocks get a row of the matrix: all k x k cells may not fit into memory.
    """
    sizes = np.bincount(labels)
    k = len(sizes)
    source, target = graph.edges()
    ends = np.bincount(labels[source], minlength=k) + np.bincount(labels[target], minlength=k)
    chosen = np.lexsort((-sizes, -ends))[:_BLOCKS]
    chosen = chosen[sizes[chosen] > 0]
    row = np.full(k, -1)
    row[chosen] = np.arange(len(chosen))
    a, b = row[labels[source]], row[labels[target]]
    both = (a >= 0) & (b >= 0)
    shown = sizes[chosen].astype(np.float64)
    density = density_between(a[both], b[both], shown)
    # Two directed edges per pair are possible
    return chosen, shown, density / 2 if graph.directed else density


def block_graph(
    names: Sequence[str],
    sizes: np.ndarray,
    density: np.ndarray,
    *,
    description: str,
    measure: str = "density",
) -> Chart:
    """Draw blocks (sizes in nodes) and the strongest connections of each."""
    sizes, density = np.asarray(sizes, np.float64), np.asarray(density, np.float64)
    if not len(sizes):
        return svg.empty(description, ChartTable(["block", "block", measure], []))
    first, second = _strongest(density)
    weight = density[first, second]
    strength = _ranks(weight)
    radius = _radii(sizes)
    place = place_blocks(first, second, strength, radius)
    lines = [
        svg.with_tooltip(
            f"{names[a]} – {names[b]}\n{measure}: {short(float(w))}",
            _line(place[a], place[b], f"tie t{int(level)}"),
            _line(place[a], place[b], "wide"),
        )
        for a, b, w, level in zip(first, second, weight, strength, strict=True)
    ]
    inner = _ranks(np.diag(density))
    circles = [
        svg.with_tooltip(
            f"{names[i]}\n{short(sizes[i], 6)} nodes\n{measure} inside: {short(density[i, i])}",
            svg.circle(place[i, 0], place[i, 1], radius[i], "under"),
            svg.circle(place[i, 0], place[i, 1], radius[i], f"block b{inner[i]}"),
            svg.label(
                names[i].removeprefix("block "), place[i, 0], place[i, 1] + 4, "inside", "middle"
            ),
        )
        for i in np.argsort(-sizes)
    ]
    rows: list[list[Cell]] = [
        [names[a], names[b], float(w)] for a, b, w in zip(first, second, weight, strict=True)
    ]
    rows.sort(key=lambda row: -float(row[2] or 0))
    height = float((place[:, 1] + radius).max()) + 3 if len(sizes) > 1 else BLOCKS_HEIGHT
    drawn = svg.frame(height, description, *lines, *circles, class_="network")
    return Chart(drawn, ChartTable(["block", "block", measure], rows))


def _strongest(density: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs (a < b) that are among the strongest of either block."""
    off = density.copy()
    np.fill_diagonal(off, 0)
    best = np.argsort(-off, axis=1)[:, :_LINES_PER_BLOCK]
    a = np.repeat(np.arange(len(off)), best.shape[1])
    b = best.ravel()
    joined = off[a, b] > 0
    pairs = np.unique(np.sort(np.column_stack([a, b])[joined], axis=1), axis=0)
    return pairs[:, 0], pairs[:, 1]


def _radii(sizes: np.ndarray) -> np.ndarray:
    """Compute radii: areas proportional to nodes, together a seventh of the picture."""
    share = np.sqrt(sizes / max(sizes.sum(), 1))
    return np.asarray(
        np.clip(share * np.sqrt(WIDTH * BLOCKS_HEIGHT / 7 / np.pi), _SMALLEST, _LARGEST)
    )


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return 1..5 by rank, so that one very dense pair does not make all others pale."""
    if len(values) < 2:
        return np.full(len(values), 3)
    order = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return 1 + np.floor(order * 5 / len(values)).astype(int)


def _line(a: np.ndarray, b: np.ndarray, class_: str) -> str:
    return svg.tag(
        "line", x1=float(a[0]), y1=float(a[1]), x2=float(b[0]), y2=float(b[1]), class_=class_
    )

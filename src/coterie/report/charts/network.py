"""Drawings of a network: its nodes in the colours of their blocks, or the graph of its blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie.base.number_text import short
from coterie.data import Graph
from coterie.report.block_matrix import density_between
from coterie.report.charts import drawing as svg
from coterie.report.charts.drawing import WIDTH, Cell, Chart, ChartTable
from coterie.report.charts.layout import BLOCKS_HEIGHT, place_blocks, place_nodes
from coterie.report.charts.network_style import (
    MISSING,
    STYLES,
    Colouring,
    NetworkStyle,
    colour_blocks,
    colour_values,
)

MOST_NODES = 3_000  # above, nodes that are close together are one dot
MOST_PLACED = 50_000  # above, the blocks are drawn instead of the nodes
MOST_EDGES = 10_000  # of these, a random choice is drawn above this number
_MOST_DOTS = 6_000
_SQUARE = 1.8  # side of the squares whose nodes are one dot, at least
_INNER = 0.9  # share of the nodes of a block inside its hull
_LOWEST, _TALLEST = 170.0, 340.0  # height of the picture, by the form of the layout
_MARGIN = 8.0
_MAIN_NAMES = 6  # nodes named on a narrow screen
_LISTED = 30  # nodes in the table
_FONT, _SMALL_FONT = 12.5, 6.5  # on a narrow and on a wide screen; see chart.css
_BLOCK_FONT = 9.0
_LONGEST_NAME = 120.0
_BLOCKS = 30  # circles in the graph of blocks
_LINES_PER_BLOCK = 3
_SMALLEST, _LARGEST = 9.5, 50.0  # radii of blocks; two digits are readable in the smallest
_STRAY = 0.004  # share of the nodes on each side that may be far outside without shrinking the rest


_Box = tuple[float, float, float, float]


def edges_left_out(graph: Graph) -> int:
    """Return how many edges, chosen at random, the drawing of the nodes leaves out."""
    return max(0, graph.n_edges - MOST_EDGES)


def network_drawing(
    graph: Graph,
    labels: np.ndarray,
    *,
    description: str = "",
    seed: int = 0,
    style: NetworkStyle | None = None,
    place: np.ndarray | None = None,
) -> Chart:
    """Draw a network with the nodes in the colours of their blocks.

    Above `MOST_NODES` nodes, nodes that are close together are one dot; above `MOST_PLACED`, the
    graph of the largest blocks is drawn instead. The table of the chart lists the nodes with the
    most edges (or the connections of the blocks).

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
    style : NetworkStyle, optional
        Colours, names, hulls, sizes and fonts of a picture for a paper. By default the drawing has
        the form that reports use, without a legend.
    place : ndarray of shape (n_nodes, 2), optional
        Positions of the nodes; by default those of `place_nodes`.

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
    if graph.n_nodes > MOST_PLACED:
        return _drawn_blocks(graph, labels, description)
    place = _without_strays(place_nodes(graph, seed=seed) if place is None else place)
    look = style or NetworkStyle()
    by_block = isinstance(look.color, str)
    colours = colour_blocks(labels, place, style) if by_block else colour_values(graph, look.color)
    nodes = _PlacedNodes(graph, labels, *_to_page(place))
    lines = nodes.lines(seed)
    faint = 1 + min(3, len(lines) // 1_500)
    key, tall = "", nodes.height
    if colours.names and not (look.hulls and by_block):  # hulls have names
        classes = [f"s{s % 7}" + " hollow" * (s >= 7) for s in range(len(colours.names))]
        legend, high = svg.legend(colours.names, classes, WIDTH, dots=[True] * len(classes))
        key = svg.tag("g", legend, transform=f"translate(0 {tall + 4:g})")
        tall += high + 4
    named = _block_names(nodes, look) if look.hulls else []
    font = None if style is None else look.font_size
    many = graph.n_nodes > MOST_NODES
    drawn = svg.frame(
        tall,
        description,
        *(_hulls(nodes, colours) if look.hulls else ()),
        svg.tag("path", d="".join(lines), class_=f"link f{faint}") if lines else "",
        *(_merged_dots if many else _circles)(nodes, colours.styles, look.node_size),
        *_hub_names(nodes, look, font, [box for box, _ in named]),
        *(name for _, name in named),
        key,
        class_="network nodes",
        style=None if style is None else look.css(colours.ordered),
    )
    rows: list[list[Cell]] = [
        [nodes.names[v], int(labels[v]), int(nodes.degree[v])] for v in nodes.hubs[:_LISTED]
    ]
    return Chart(drawn, ChartTable(columns, rows))


class _PlacedNodes:
    """The nodes of a graph at their places on the page."""

    def __init__(
        self,
        graph: Graph,
        labels: np.ndarray,
        x: np.ndarray,
        y: np.ndarray,
        height: float,
        unit: float,
    ) -> None:
        self.graph, self.labels, self.x, self.y, self.height = graph, labels, x, y, height
        self.source, self.target = graph.edges()
        ends = (np.bincount(end, minlength=graph.n_nodes) for end in (self.source, self.target))
        self.degree = np.asarray(sum(ends))
        self.order = np.argsort(-self.degree, kind="stable")
        self.hubs = self.order[self.degree[self.order] > 0]
        self.names = [str(name) for name in graph.ids.tolist()]
        largest = max(int(self.degree.max(initial=1)), 1)
        self.radius = (1 + 2.4 * np.sqrt(self.degree / largest)) * unit

    def lines(self, seed: int) -> list[str]:
        """Return the edges as parts of a path; a random choice of them if they are too many."""
        source, target, x, y = self.source, self.target, self.x, self.y
        if edges_left_out(self.graph):
            rng = np.random.default_rng(seed)
            some = np.sort(rng.choice(len(source), MOST_EDGES, replace=False))
            source, target = source[some], target[some]
        return [
            f"M{x[a]:.1f} {y[a]:.1f}L{x[b]:.1f} {y[b]:.1f}"
            for a, b in zip(source.tolist(), target.tolist(), strict=True)
        ]


def _circles(nodes: _PlacedNodes, styles: np.ndarray, size: float) -> list[str]:
    """Draw a circle per node. Hubs first, leaves on top: a leaf would disappear behind a hub."""
    x, y, radius = nodes.x, nodes.y, nodes.radius * size
    return [
        svg.with_tooltip(
            f"{nodes.names[v]}\nblock {nodes.labels[v]}\n{nodes.degree[v]:,} edges",
            f'<circle cx="{x[v]:.1f}" cy="{y[v]:.1f}" r="{radius[v]:.2g}" '
            f'class="{_class(int(styles[v]))}"/>',
        )
        for v in nodes.order.tolist()
    ]


def _merged_dots(nodes: _PlacedNodes, styles: np.ndarray, size: float) -> list[str]:
    """Draw nodes that share a small square as one dot, in the style of most of them."""
    side = _SQUARE
    while True:
        square = np.column_stack([nodes.x // side, nodes.y // side]).astype(np.int64)
        cells, cell = np.unique(square, axis=0, return_inverse=True)
        if len(cells) <= _MOST_DOTS:
            break
        side *= 1.25
    kinds = STYLES + 1  # the last one: no value
    count = np.bincount(cell.ravel() * kinds + styles % kinds, minlength=len(cells) * kinds)
    table = count.reshape(len(cells), kinds)
    common, number = table.argmax(1), table.sum(1)
    total = [np.bincount(cell.ravel(), values) for values in (nodes.x, nodes.y)]
    middle = np.column_stack(total) / number[:, None]
    step = np.floor(3 * np.log(number) / max(np.log(number.max()), 1e-9)).clip(0, 2).astype(int)
    parts = []
    for kind in np.unique(common).tolist():
        for level in (2, 1, 0):
            at = middle[(common == kind) & (step == level)]
            path = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in at.tolist())
            wide = f"{side * size * (0.75 + 0.35 * level):.2f}"
            class_ = f"dots s{kind % 7}" + " faint" * (7 <= kind < STYLES)
            class_ = class_ if kind < STYLES else "dots missing"
            if path:
                parts.append(svg.tag("path", d=path, stroke_width=wide, class_=class_))
    return parts


def _hulls(nodes: _PlacedNodes, colours: Colouring) -> list[str]:
    """Draw an area around the inner nine tenths of every block."""
    from scipy.spatial import ConvexHull, QhullError

    parts = []
    for block in np.unique(nodes.labels):
        members = np.flatnonzero(nodes.labels == block)
        at = np.column_stack([nodes.x[members], nodes.y[members]])
        far = np.hypot(*(at - np.median(at, axis=0)).T)
        at = at[far <= np.quantile(far, _INNER)]
        try:
            edge = at[ConvexHull(at).vertices]
        except (QhullError, ValueError):  # fewer than three places, or all on a line
            continue
        style = int(np.bincount(colours.styles[members] % (STYLES + 1)).argmax())
        path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in edge.tolist()) + "Z"
        parts.append(svg.tag("path", d=path, class_=f"hull s{style % 7}"))
    return parts


def _block_names(nodes: _PlacedNodes, style: NetworkStyle) -> list[tuple[_Box, str]]:
    """Write the name of each block in its middle; return it with its box."""
    parts = []
    for block in np.unique(nodes.labels):
        members = nodes.labels == block
        x, y = float(np.median(nodes.x[members])), float(np.median(nodes.y[members]))
        name = svg.clip(style.block_names.get(int(block), f"block {block}"), _LONGEST_NAME)
        half = svg.text_width(name) * _BLOCK_FONT / _FONT / 2
        box = (x - half, y - _BLOCK_FONT / 2, x + half, y + _BLOCK_FONT / 2)
        parts.append((box, svg.label(name, x, y + 3, "block-name", "middle")))
    return parts


def _class(style: int) -> str:
    if style == MISSING:
        return "dot missing"
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


def _hub_names(
    nodes: _PlacedNodes, look: NetworkStyle, font: float | None, occupied: list[_Box]
) -> list[str]:
    """Write the names of hubs next to them where they do not cover another name.

    With a `font` size all names have it; without, six are larger on a narrow screen (chart.css).
    """
    small, large_font = (_SMALL_FONT, _FONT) if font is None else (font, font)
    taken = list(occupied)  # in the size of a wide screen
    large = list(occupied)  # of the main names, on a narrow screen
    written: list[str] = []
    x, y, radius = nodes.x, nodes.y, nodes.radius * look.node_size
    for v in nodes.hubs[: 4 * look.n_names].tolist():
        name = svg.clip(nodes.names[v], _LONGEST_NAME)
        main = len(large) - len(occupied) < _MAIN_NAMES
        height = large_font if main else small
        wide = svg.text_width(name) * height / _FONT
        right = x[v] + radius[v] + 1.5
        fits = right + wide < WIDTH
        left = right if fits else x[v] - radius[v] - 1.5 - wide
        box = (left, y[v] - height / 2, left + wide, y[v] + height / 2)
        outside = left < 0 or box[1] < 0 or box[3] > nodes.height
        if outside or _covers(box, large if main else taken):
            continue
        if main:
            large.append(box)
            shrunk = wide * small / height
            left = left if fits else left + wide - shrunk
            box = (left, y[v] - small / 2, left + shrunk, y[v] + small / 2)
        taken.append(box)
        at = right if fits else x[v] - radius[v] - 1.5
        class_ = "hub" if main else "hub minor"
        css = None if font is None else f"font-size: {font:g}px; visibility: visible"
        anchor = None if fits else "end"
        written.append(svg.label(name, at, y[v] + 2.2, class_, anchor, style=css))
        if len(written) == look.n_names:
            break
    return written


def _covers(box: _Box, others: list[_Box]) -> bool:
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

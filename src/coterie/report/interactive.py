"""The interactive drawing of a network: its data as compact JSON, and a page that shows it alone.

`templates/network.js` draws the data in reports, in notebooks and in the application.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.data import Graph
from coterie.data.atomic_files import atomic_write
from coterie.data.node_table import NodeTable
from coterie.models.hard.clustering import HardClustering
from coterie.models.hard.posterior import PosteriorSamples
from coterie.report.charts.drawing import template
from coterie.report.charts.layout import place_by_blocks, place_nodes
from coterie.report.charts.network_style import STYLES, colour_values, styles_of_blocks
from coterie.report.page import fill

MOST_NODES = 200_000  # above, only blocks are drawn
MOST_EDGES = 500_000  # above, a random choice is drawn
MOST_FORCES = 3_000  # above, the layout uses the blocks
_MOST_LINKS = 4_000  # between blocks, the strongest
_MOST_BLOCKS = 5_000  # above, a level has no view of its blocks
_STEPS = 65_535  # positions are rounded to this grid
_HEIGHT = 640  # of the frame in a notebook


def network_data(
    graph: Graph,
    levels: Sequence[np.ndarray],
    *,
    place: np.ndarray | None = None,
    attributes: NodeTable | Mapping[str, Any] | None = None,
    confidence: np.ndarray | None = None,
    block_names: Mapping[int, str] | None = None,
    seed: int = 0,
) -> str:
    """Return what the interactive drawing shows as JSON, safe inside an HTML page.

    Numbers per node are base64 of little-endian arrays: positions on a grid of 65,536 steps, the
    block by level, degrees, styles and, sorted by source, the targets of the edges.

    Parameters
    ----------
    graph : Graph
        The network.
    levels : sequence of ndarray of shape (n_nodes,)
        The block of each node by level, the finest first.
    place : ndarray of shape (n_nodes, 2), optional
        Positions; by default those of `layout_of`.
    attributes : NodeTable or mapping of str to values, optional
        Values to colour by: one per node, or by id.
    confidence : ndarray of shape (n_nodes,), optional
        The probability of each node's block.
    block_names : mapping of int to str, optional
        Names of blocks of the finest level.
    seed : int, default=0
        Seed of the layout and of the choice of edges.

    Returns
    -------
    str
        The JSON text.
    """
    labels = [np.unique(level, return_inverse=True) for level in levels]
    if place is None:
        place = layout_of(graph, labels[0][1], seed)
    source, target = graph.edges()
    degree = np.bincount(source, minlength=graph.n_nodes) + np.bincount(
        target, minlength=graph.n_nodes
    )
    low, high = (place.min(0), place.max(0)) if len(place) else (np.zeros(2), np.ones(2))
    wide = max(float((high - low).max()), 1e-9)
    grid = (place - low) / wide * _STEPS
    names = dict(block_names or {})
    data: JsonObject = {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "levels": [
            _level(numbers, of_node, grid, source, target, names if i == 0 else {})
            for i, (numbers, of_node) in enumerate(labels)
        ],
    }
    if graph.n_nodes <= MOST_NODES:
        if len(source) > MOST_EDGES:
            chosen = np.random.default_rng(seed).choice(len(source), MOST_EDGES, replace=False)
            source, target = source[chosen], target[chosen]
        order = np.argsort(source, kind="stable")
        data |= {
            "names": [str(name) for name in graph.ids.tolist()],
            "x": _packed(np.rint(grid[:, 0])),
            "y": _packed(np.rint(grid[:, 1])),
            "degree": _packed(degree),
            "out": _packed(np.bincount(source, minlength=graph.n_nodes)),
            "target": _packed(target[order]),
            "colours": _colours(graph, attributes, confidence),
        }
        for level, (_, of_node) in zip(data["levels"], labels, strict=True):
            level["of"] = _packed(of_node)
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def layout_of(graph: Graph, labels: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return positions: by forces, or above 3,000 nodes and with several blocks, block by block."""
    numbers, of_node = np.unique(labels, return_inverse=True)
    if graph.n_nodes > MOST_FORCES and 1 < len(numbers) < graph.n_nodes // 4:
        return place_by_blocks(graph, of_node)
    return place_nodes(graph, seed=seed)


def _level(
    numbers: np.ndarray,
    of_node: np.ndarray,
    grid: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    names: Mapping[int, str],
) -> JsonObject:
    """Return the blocks of a level: names, sizes, places, and how many edges are between them."""
    k = len(numbers)
    sizes = np.bincount(of_node, minlength=k)
    total = np.stack([np.bincount(of_node, grid[:, i], k) for i in (0, 1)], 1)
    centre = total / np.maximum(sizes, 1)[:, None]
    level: JsonObject = {
        "numbers": numbers.tolist(),
        "names": [names.get(int(b), f"block {b}") for b in numbers],
        "sizes": sizes.tolist(),
        "style": styles_of_blocks(of_node, grid).tolist() if len(of_node) else [],
    }
    if k > _MOST_BLOCKS:
        return level
    a, b = of_node[source].astype(np.int64), of_node[target].astype(np.int64)
    pairs, count = np.unique(np.minimum(a, b) * k + np.maximum(a, b), return_counts=True)
    first, second = pairs // max(k, 1), pairs % max(k, 1)
    inside = first == second
    within = np.zeros(k, np.int64)
    within[first[inside]] = count[inside]
    first, second, count = first[~inside], second[~inside], count[~inside]
    strongest = np.sort(np.argsort(-count, kind="stable")[:_MOST_LINKS])
    links = (first[strongest], second[strongest], count[strongest])
    return level | {
        "x": np.rint(centre[:, 0]).tolist(),
        "y": np.rint(centre[:, 1]).tolist(),
        "inside": within.tolist(),
        "links": [part.tolist() for part in links],
    }


def _colours(
    graph: Graph,
    attributes: NodeTable | Mapping[str, Any] | None,
    confidence: np.ndarray | None,
) -> list[JsonObject]:
    """Return what nodes can be coloured by besides their blocks: styles and a legend each."""
    if isinstance(attributes, NodeTable):
        attributes = attributes.of_graph(graph).to_columns()
    found = {str(name): colour_values(graph, values) for name, values in (attributes or {}).items()}
    if confidence is not None:
        found["confidence"] = colour_values(graph, np.asarray(confidence).tolist())
    return [
        {
            "name": name,
            "ordered": colouring.ordered,
            "legend": colouring.names,
            "style": _packed(np.where(colouring.styles < 0, STYLES, colouring.styles)),
        }
        for name, colouring in found.items()
    ]


def _packed(values: np.ndarray) -> JsonObject:
    """Return whole numbers as base64 of the smallest type that holds them."""
    array = np.asarray(values, np.int64)
    most = int(array.max(initial=0))
    size = 1 if most < 1 << 8 else 2 if most < 1 << 16 else 4
    return {"bytes": size, "data": b64encode(array.astype(f"<u{size}").tobytes()).decode()}


@dataclass(frozen=True, repr=False)
class InteractiveDrawing:
    """A drawing of a network to explore, which a notebook shows and which can be saved.

    Attributes
    ----------
    html : str
        A complete page, which fetches nothing from the network.
    """

    html: str

    def __repr__(self) -> str:
        return f"InteractiveDrawing({len(self.html):,} characters of HTML)"

    def _repr_html_(self) -> str:
        """Return a frame: the styles of the notebook and of the drawing do not meet."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" title="network" '
            f'style="width: 100%; height: {_HEIGHT}px; border: 0"></iframe>'
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page as a file; it appears complete or not at all.

        Parameters
        ----------
        path : str or path-like
            The file to write, with the suffix .html.
        """
        if Path(path).suffix.lower() != ".html":
            raise InputError(f"{path}: the drawing is an HTML file", remedy="end it with .html")
        with atomic_write(Path(path), "wb") as file:
            file.write(self.html.encode())


def levels_of(model: HardClustering) -> list[np.ndarray]:
    """Return the block of each node by level, the finest first."""
    return [np.asarray(level) for level in model.facts().levels or [model.labels_]]


def show(
    model: HardClustering,
    data: Any,
    *,
    attributes: NodeTable | Mapping[str, Any] | None = None,
    samples: PosteriorSamples | None = None,
    block_names: Mapping[int, str] | None = None,
) -> InteractiveDrawing:
    """Return the interactive drawing of a fitted model; see `HardClustering.show`."""
    if not isinstance(data, Graph):
        raise InputError("only a network has a drawing of its nodes", remedy="use `plot`")
    content = network_data(
        data,
        levels_of(model),
        attributes=attributes,
        confidence=None if samples is None else samples.confidence_,
        block_names=block_names,
    )
    styles = "\n".join(template(f"{name}.css") for name in ("palette", "page", "network"))
    return InteractiveDrawing(
        fill("network.html.j2", data=content, styles=styles, script=template("network.js"))
    )

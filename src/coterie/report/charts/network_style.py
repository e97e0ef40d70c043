"""How a picture of a network looks: colours, palettes, names, hulls, sizes and fonts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from coterie.base.errors import InputError
from coterie.base.number_text import short
from coterie.data import Graph

STYLES = 14  # seven colours, full or as rings
MISSING = -1  # the style of nodes without a value
_FEW_VALUES = 12  # numbers with more distinct values are coloured by size
_COLOURS = 7
# Okabe and Ito's colours can be told apart with every common form of colour blindness; viridis
# rises in brightness, for numbers. Reports use the colours of the page, which know dark mode.
PALETTES: dict[str, tuple[str, ...]] = {
    "page": (),
    "okabe-ito": ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#4d4d4d"),
    "viridis": ("#440154", "#443983", "#31688e", "#21918c", "#35b779", "#90d743", "#fde725"),
    "grey": ("#1a1a1a", "#4d4d4d", "#737373", "#999999", "#b3b3b3", "#cccccc", "#e0e0e0"),
}
_COLOUR = re.compile(r"#[0-9a-fA-F]{3}([0-9a-fA-F]{3})?|[a-z]+")
_FONT = re.compile(r"[\w ,-]+")


@dataclass(frozen=True)
class NetworkStyle:
    """How a picture of a network looks.

    Parameters
    ----------
    color : "block", sequence or mapping, default="block"
        What the colours show: the blocks, or a value per node, in the order of the nodes or by id.
        Text and up to twelve numbers are categories; more numbers are shown by their size.
    palette : str or sequence of str, optional
        "okabe-ito" (the default; safe for colour-blind readers), "viridis" (the default for
        numbers), "grey", "page", or up to seven colours such as "#0072b2".
    block_names : mapping of int to str, default={}
        Names of blocks, for the legend and the hulls.
    hulls : bool, default=False
        Whether to draw an area around each block, with its name.
    n_names : int, default=24
        How many of the nodes with the most edges are named, as far as there is room.
    node_size : float, default=1
        Factor of the size of all nodes.
    font : str, optional
        Font of all texts, such as "Times New Roman".
    font_size : float, default=6.5
        Size of the names; the picture is 440 wide.
    """

    color: Any = "block"
    palette: str | Sequence[str] | None = None
    block_names: Mapping[int, str] = field(default_factory=dict)
    hulls: bool = False
    n_names: int = 24
    node_size: float = 1.0
    font: str | None = None
    font_size: float = 6.5

    def __post_init__(self) -> None:
        if isinstance(self.palette, str) and self.palette not in PALETTES:
            raise InputError(
                f"no palette {self.palette!r}",
                remedy=f"use one of {', '.join(PALETTES)}, or give a list of colours",
            )
        for colour in () if isinstance(self.palette, str) else self.palette or ():
            if not _COLOUR.fullmatch(str(colour)):
                raise InputError(f"no colour: {colour!r}", remedy='use a form like "#0072b2"')
        if self.font is not None and not _FONT.fullmatch(self.font):
            raise InputError(f"no font: {self.font!r}", remedy='give a name such as "Georgia"')
        if isinstance(self.color, str) and self.color != "block":
            raise InputError(
                f'`color` is {self.color!r}, not "block" or values',
                remedy="give one value per node, or a mapping from ids to values",
            )
        if not (self.node_size > 0 and self.font_size > 0 and self.n_names >= 0):
            raise InputError("`node_size` and `font_size` must be above 0, `n_names` at least 0")

    def css(self, ordered: bool) -> str:
        """Return the colours and the font as inline CSS; `ordered`: colours show sizes."""
        chosen = self.palette or ("viridis" if ordered else "okabe-ito")
        colours = PALETTES[chosen] if isinstance(chosen, str) else tuple(chosen)
        repeated = [colours[i % len(colours)] for i in range(_COLOURS if colours else 0)]
        rules = [f"--s{i}: {colour}" for i, colour in enumerate(repeated)]
        return "; ".join([*rules, *([f"font-family: {self.font}"] if self.font else [])])


class Colouring(NamedTuple):
    """The style of each node (`MISSING`: none), and the names of the styles for a legend."""

    styles: np.ndarray
    names: list[str]
    ordered: bool = False


def colour_blocks(labels: np.ndarray, place: np.ndarray, style: NetworkStyle | None) -> Colouring:
    """Give each block its style; the legend names blocks while their styles differ."""
    of_block = styles_of_blocks(labels, place)
    blocks = np.unique(labels)
    if style is None or len(blocks) > STYLES:
        return Colouring(of_block[labels], [])
    names = {int(of_block[b]): style.block_names.get(int(b), f"block {b}") for b in blocks}
    return Colouring(of_block[labels], [names[s] for s in sorted(names)])


def colour_values(graph: Graph, given: Any) -> Colouring:
    """Give each node the style of its value: a category, or a range of numbers."""
    values = list(given) if not isinstance(given, Mapping) else _by_id(graph, given)
    if len(values) != graph.n_nodes:
        raise InputError(
            f"`color` has {len(values):,} values, the graph {graph.n_nodes:,} nodes",
            remedy="give one value per node, or a mapping from ids to values",
        )
    known = np.array([v is not None and v == v for v in values])
    numbers = [v for v, k in zip(values, known, strict=True) if k]
    styles = np.full(len(values), MISSING)
    if all(isinstance(v, int | float | np.number) for v in numbers) and (
        len(set(numbers)) > _FEW_VALUES
    ):
        array = np.array(numbers, np.float64)
        edges = np.linspace(array.min(), array.max(), _COLOURS + 1)
        styles[known] = np.clip(np.searchsorted(edges, array, "right") - 1, 0, _COLOURS - 1)
        names = [f"{short(a)} to {short(b)}" for a, b in pairwise(edges)]
        return Colouring(styles, names, ordered=True)
    texts = np.array([str(v) for v in numbers], object)
    found, count = np.unique(texts.astype(str), return_counts=True)
    order = found[np.argsort(-count, kind="stable")].tolist()
    names = order if len(order) <= STYLES else [*order[: STYLES - 1], "other"]
    place = {name: min(i, STYLES - 1) for i, name in enumerate(order)}
    styles[known] = [place[text] for text in texts]
    return Colouring(styles, names)


def _by_id(graph: Graph, given: Mapping[Any, Any]) -> list[Any]:
    texts = {str(key): value for key, value in given.items()}
    values = [texts.get(str(name)) for name in graph.ids.tolist()]
    if given and all(value is None for value in values):
        raise InputError(
            "no id of `color` is a node of the graph", remedy="give a mapping from ids to values"
        )
    return values


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

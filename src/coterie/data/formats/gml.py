"""Read and write GML (Graph Modelling Language)."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike
from coterie.data.formats.format import EdgeTable, Format, text_of

if TYPE_CHECKING:
    from coterie.data.graph import Graph

_REMEDY = "check the file, or export it again"
_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)|(?P<text>"[^"]*")|(?P<open>\[)|(?P<close>\])|(?P<word>[^\s"\[\]]+)"""
)
_MAX_DEPTH = 50


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def read_gml(path: PathLike, _: object = None) -> EdgeTable:
    """Read the graph of a GML file; nodes are named by their labels if every node has one."""
    text = text_of(path)
    tokens = _tokens(text)
    content = _entries(tokens, 0)
    graphs = [value for key, value in content if key == "graph" and isinstance(value, list)]
    if len(graphs) != 1:
        raise InputError(f"there are {len(graphs)} graphs, not one", remedy=_REMEDY)
    return _table(graphs[0])


def _tokens(text: str) -> Iterator[_Token]:
    place, line = 0, 1
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise InputError("a quote is not closed", line=line, remedy=_REMEDY)
        kind = match.lastgroup or ""
        if kind != "space":
            yield _Token(kind, match[0], line)
        line += match[0].count("\n")
        place = match.end()


def _entries(tokens: Iterator[_Token], depth: int) -> list[tuple[str, Any]]:
    """Return the keys and values of a list, up to its closing bracket."""
    found: list[tuple[str, Any]] = []
    for key in tokens:
        if key.kind == "close" and depth:
            return found
        value = next(tokens, None)
        if key.kind != "word" or value is None or value.kind == "close":
            raise InputError(
                f"{key.text[:30]!r} is not a key with a value", line=key.line, remedy=_REMEDY
            )
        if value.kind == "open":
            if depth >= _MAX_DEPTH:
                raise InputError("lists are nested too deeply")
            found.append((key.text, _entries(tokens, depth + 1)))
        elif value.kind == "text":
            found.append((key.text, html.unescape(value.text[1:-1])))
        else:
            found.append((key.text, value.text))
    if depth:
        raise InputError("a bracket is not closed", remedy=_REMEDY)
    return found


def _table(graph: list[tuple[str, Any]]) -> EdgeTable:
    nodes = [dict(value) for key, value in graph if key == "node" and isinstance(value, list)]
    edges = [dict(value) for key, value in graph if key == "edge" and isinstance(value, list)]
    if any("id" not in node for node in nodes):
        raise InputError("a node has no id", remedy=_REMEDY)
    labelled = bool(nodes) and all("label" in node for node in nodes)
    names = {node["id"]: str(node["label"] if labelled else node["id"]) for node in nodes}
    if len(names) < len(nodes) or len(set(names.values())) < len(names):
        raise InputError(
            "two nodes have the same " + ("label" if labelled else "id"),
            remedy="rename one of them",
        )
    table = EdgeTable(nodes=list(names.values()), directed=dict(graph).get("directed") == "1")
    used = {"id", "label"} if labelled else {"id"}
    for name in dict.fromkeys(key for node in nodes for key in node if key not in used):
        if not any(isinstance(node.get(name), list) for node in nodes):  # such as graphics
            table.columns[name] = [node.get(name) for node in nodes]
    for edge in edges:
        try:
            table.sources.append(names[edge["source"]])
            table.targets.append(names[edge["target"]])
        except (KeyError, TypeError):
            raise InputError(
                f"an edge has no source, no target, or one that is not a node: {edge}"[:200],
                remedy=_REMEDY,
            ) from None
    if any("weight" in edge for edge in edges):
        try:
            table.weights = [float(edge.get("weight", 1)) for edge in edges]
        except (TypeError, ValueError):
            raise InputError("a weight is not a number", remedy=_REMEDY) from None
    return table


def write_gml(graph: Graph, file: IO[bytes], _: object = None) -> None:
    """Write a graph as GML; the ids become labels."""
    weights = graph.edge_weights() if graph.weights is not None else None
    lines = ["graph [", f"  directed {int(graph.directed)}"]
    for number, name in enumerate(graph.ids.tolist()):
        label = html.escape(str(name), quote=True).encode("ascii", "xmlcharrefreplace").decode()
        lines += ["  node [", f"    id {number}", f'    label "{label}"', "  ]"]
    sources, targets = graph.edges()
    for place, (u, v) in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
        lines += ["  edge [", f"    source {u}", f"    target {v}"]
        lines += [] if weights is None else [f"    weight {weights[place]:.17g}"]
        lines.append("  ]")
    lines += ["]", ""]
    file.write("\n".join(lines).encode("ascii"))


FORMAT = Format(
    name="gml",
    title="GML",
    about="nodes, their attributes, and edges; weights if asked for",
    suffixes=(".gml",),
    starts=r"((#|Creator|Version|comment)[^\n]*\s+)*graph\s*\[",
    edges=read_gml,
    write=write_gml,
)

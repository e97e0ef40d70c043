"""Read graphs and tables from JSON."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject, as_json
from coterie.data.byte_source import PathLike
from coterie.data.formats.format import Cells, EdgeTable, Format, numbered, text_of

if TYPE_CHECKING:
    from coterie.data.formats.format import NodeColumns
    from coterie.data.graph import Graph

_FORMS = (
    'node-link ({"nodes": [{"id": …}], "links": [{"source": …, "target": …}]}), a list of pairs '
    '([["ann", "bob"], …]), a list of objects, or neighbours by node ({"ann": ["bob"]})'
)


def load_json(path: PathLike) -> Any:
    """Return the JSON value of a file."""
    text = text_of(path)
    try:
        return json.loads(text)
    except RecursionError:
        raise InputError("the JSON is nested too deeply", remedy=f"use {_FORMS}") from None
    except ValueError as error:
        line = getattr(error, "lineno", None)
        reason = getattr(error, "msg", str(error))
        raise InputError(f"not valid JSON: {reason}", line=line, remedy="check the file") from None


def read_json_graph(path: PathLike, _: object = None) -> EdgeTable | Cells:
    """Return the edges of a JSON file; a list of rows or objects as rows of text, with a header."""
    content = load_json(path)
    if isinstance(content, list):
        return numbered(json_rows(content))
    if not isinstance(content, dict):
        raise _unknown()
    if isinstance(content.get("graph"), dict) and "nodes" in content["graph"]:
        content = {**content, **content["graph"]}  # JSON Graph Format
    links = content.get("links", content.get("edges"))
    if isinstance(links, list) and isinstance(content.get("nodes"), list | dict):
        return _node_link(content["nodes"], links, content.get("directed"))
    if content and all(isinstance(value, list) for value in content.values()):
        return _adjacency(content)
    raise _unknown()


def _unknown() -> InputError:
    return InputError("the JSON is not a graph that coterie knows", remedy=f"use {_FORMS}")


def _name(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"{str(value)[:60]!r} is not an id", remedy="use text or integers")
    return str(value)


def _node_link(nodes: Any, links: list[Any], directed: Any) -> EdgeTable:
    """Read nodes with ids, and links between ids; without ids links count nodes from 0."""
    entries = nodes.keys() if isinstance(nodes, dict) else nodes
    described = [node if isinstance(node, dict) else {"id": node} for node in entries]
    names = [_name(node.get("id", node.get("name", n))) for n, node in enumerate(described)]
    known = set(names)
    if len(known) < len(names):
        raise InputError("two nodes have the same id", remedy="rename one")
    table = EdgeTable(nodes=names, directed=directed is True)
    for key in dict.fromkeys(key for node in described for key in node if key != "id"):
        table.columns[key] = [node.get(key) for node in described]
    weights: list[float] = []
    weighted = False
    for link in links:
        try:
            ends = (link["source"], link["target"]) if isinstance(link, dict) else link[:2]
            source, target = (_name(end) for end in ends)
        except InputError:
            raise
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"a link has no source or no target: {str(link)[:80]}",
                remedy='write {"source": …, "target": …}',
            ) from None
        if not {source, target} <= known:
            raise InputError(
                f"a link names {(target if source in known else source)!r}, which is not a node",
                remedy="add the node, or correct the link",
            )
        table.sources.append(source)
        table.targets.append(target)
        weight = link.get("weight", link.get("value")) if isinstance(link, dict) else None
        if isinstance(weight, int | float) and not isinstance(weight, bool):
            weighted = True
            weights.append(float(weight))
        else:
            weights.append(1.0)
    table.weights = weights if weighted else None
    return table


def _adjacency(content: dict[str, list[Any]]) -> EdgeTable:
    pairs = [(u, _name(v)) for u, others in content.items() for v in others]
    nodes = list(dict.fromkeys([*content, *(v for _, v in pairs)]))
    both = set(pairs)
    directed = not all((v, u) in both for u, v in pairs)
    return EdgeTable([u for u, _ in pairs], [v for _, v in pairs], None, nodes, directed)


def json_rows(content: Any) -> list[list[str]]:
    """Return a list of rows, or of objects with the same keys, as rows of text."""
    if not isinstance(content, list) or not content:
        raise _unknown()
    if all(isinstance(row, dict) for row in content):
        names = list(content[0])
        if not names or any(set(row) != set(names) for row in content):
            raise InputError(
                "the objects do not have the same keys", remedy="give every object the same keys"
            )
        return [names, *([_cell(row[name]) for name in names] for row in content)]
    if all(isinstance(row, list) and row for row in content):
        return [[_cell(cell) for cell in row] for row in content]
    raise _unknown()


def _cell(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(
            f"{str(value)[:60]!r} is neither text nor a number", remedy="use text and numbers only"
        )
    return str(value)


def read_json_table(path: PathLike, _: object = None) -> Cells:
    """Return the rows of a list of rows, or of a list of objects."""
    return numbered(json_rows(load_json(path)))


def write_json_graph(
    graph: Graph, file: IO[bytes], node_columns: NodeColumns | None = None
) -> None:
    """Write a graph as node-link JSON; `node_columns` become keys of the nodes."""
    columns = {"id": graph.ids, **(node_columns or {})}
    names = graph.ids.tolist()
    links: list[JsonObject] = [
        {"source": names[u], "target": names[v]}
        for u, v in zip(*(ends.tolist() for ends in graph.edges()), strict=True)
    ]
    if graph.weights is not None:
        for link, weight in zip(links, graph.edge_weights().tolist(), strict=True):
            link["weight"] = weight
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    nodes = [dict(zip(columns, row, strict=True)) for row in rows]
    content = {"directed": graph.directed, "multigraph": False, "nodes": nodes, "links": links}
    file.write(as_json(content).encode() + b"\n")


FORMAT = Format(
    name="json",
    title="JSON",
    about="node-link, lists of pairs or of objects, neighbours by node",
    suffixes=(".json",),
    aliases=("node-link",),
    starts=r"[{\[]",
    edges=read_json_graph,
    cells=read_json_table,
    write=write_json_graph,
    holds_attributes=True,
)

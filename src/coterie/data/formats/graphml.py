"""Read and write GraphML with the XML parser of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike, open_bytes
from coterie.data.formats.format import Cells, EdgeTable, Format, numbered

if TYPE_CHECKING:
    import numpy as np

    from coterie.data.graph import Graph

_REMEDY = "check the file, or export it again"


def read_graphml(path: PathLike, _: object = None) -> EdgeTable:
    """Read the first graph of a GraphML file; the attribute "weight" of its edges is the weight."""
    reader = _Reader()
    reader.parse(path)
    return reader.table


class _XmlReader:
    """Lets expat read a file; subclasses collect what they need. Nothing outside it is loaded."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EntityDeclHandler = self._entity

    def parse(self, path: PathLike) -> None:
        """Read the whole file."""
        try:
            with open_bytes(path) as stream:
                while block := stream.read(1 << 20):
                    self._parser.Parse(block, False)
            self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise self._error(f"not well-formed XML: {expat.ErrorString(error.code)}") from None

    def _error(self, problem: str) -> InputError:
        line = self._parser.CurrentLineNumber
        return InputError(problem, line=line, remedy=_REMEDY)

    def _entity(self, *_: Any) -> None:
        raise self._error("the file defines XML entities, which GraphML does not need")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        raise NotImplementedError

    def _end(self, tag: str) -> None:
        raise NotImplementedError

    def _text(self, text: str) -> None:
        raise NotImplementedError


class _Reader(_XmlReader):
    """Collects nodes and edges."""

    def __init__(self) -> None:
        super().__init__()
        self.table = EdgeTable()
        self._graphs = 0
        self._weight_key: str | None = None
        self._default_weight = 1.0
        self._weights: list[float] = []
        self._has_weights = False
        self._collecting: list[str] | None = None  # the text of a weight or of a default
        self._in_key = False
        self._in_edge = False

    def parse(self, path: PathLike) -> None:
        """Read the whole file, which must hold a graph."""
        super().parse(path)
        if not self._graphs:
            raise self._error("there is no graph")
        if self._has_weights:
            self.table.weights = self._weights

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rsplit(" ", 1)[-1]
        table = self.table
        if name == "graph":
            self._graphs += 1
            if self._graphs > 1:
                raise self._error("there is more than one graph")
            table.directed = attributes.get("edgedefault") == "directed"
        elif name == "node":
            table.nodes.append(self._attribute(attributes, "id", "node"))
        elif name == "edge":
            table.sources.append(self._attribute(attributes, "source", "edge"))
            table.targets.append(self._attribute(attributes, "target", "edge"))
            self._weights.append(self._default_weight)
            self._in_edge = True
        elif name in ("hyperedge", "port"):
            raise self._error(f"a <{name}> cannot be read: only edges between two nodes")
        elif name == "key":
            if attributes.get("attr.name") == "weight" and attributes.get("for") in ("edge", "all"):
                self._weight_key = attributes.get("id")
                self._in_key = True
        elif name == "default" and self._in_key:
            self._collecting = []
        elif name == "data" and self._in_edge and attributes.get("key") == self._weight_key:
            self._collecting = [] if self._weight_key is not None else None

    def _attribute(self, attributes: dict[str, str], name: str, tag: str) -> str:
        if name not in attributes:
            raise self._error(f"a <{tag}> has no {name}")
        return attributes[name]

    def _text(self, text: str) -> None:
        if self._collecting is not None:
            self._collecting.append(text)

    def _end(self, tag: str) -> None:
        name = tag.rsplit(" ", 1)[-1]
        if name in ("data", "default") and self._collecting is not None:
            text = "".join(self._collecting).strip()
            self._collecting = None
            try:
                value = float(text)
            except ValueError:
                raise self._error(f"the weight {text!r} is not a number") from None
            self._has_weights = True
            if name == "default":
                self._default_weight = value
            else:
                self._weights[-1] = value
        elif name == "key":
            self._in_key = False
        elif name == "edge":
            self._in_edge = False


class _NodeReader(_XmlReader):
    """Collects the attributes of nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[str] = []
        self.columns: dict[str, list[str | None]] = {}
        self._names: dict[str, str] = {}  # key -> name of the column
        self._column: str | None = None  # whose value is being read
        self._inside_node = False

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rsplit(" ", 1)[-1]
        if name == "key" and attributes.get("for") in ("node", "all"):
            column = attributes.get("attr.name", attributes.get("id", ""))
            self._names[attributes.get("id", "")] = column
            self.columns[column] = []
        elif name == "node":
            self.nodes.append(attributes.get("id", ""))
            for values in self.columns.values():
                values.append(None)
            self._inside_node = True
        elif name == "data" and self._inside_node:
            self._column = self._names.get(attributes.get("key", ""))
            if self._column is not None:
                self.columns[self._column][-1] = ""

    def _text(self, text: str) -> None:
        if self._column is not None:
            self.columns[self._column][-1] = (self.columns[self._column][-1] or "") + text

    def _end(self, tag: str) -> None:
        name = tag.rsplit(" ", 1)[-1]
        if name == "data":
            self._column = None
        elif name == "node":
            self._inside_node = False


def read_node_cells(path: PathLike, _: object = None) -> Cells:
    """Return the nodes of a GraphML file as a table: their ids, then their attributes as text."""
    reader = _NodeReader()
    reader.parse(path)
    rows = zip(reader.nodes, *reader.columns.values(), strict=True)
    return numbered([["node", *reader.columns], *map(list, rows)], has_names=True)


def write_graphml(
    graph: Graph, file: IO[bytes], node_columns: Mapping[str, np.ndarray] | None = None
) -> None:
    """Write a graph as GraphML; weights become the attribute "weight" of the edges.

    `node_columns` become attributes of the nodes.
    """
    columns = dict(node_columns or {})
    weights = graph.edge_weights() if graph.weights is not None else None
    sources, targets = graph.edges()
    ids = [quoteattr(_xml_text(str(name))) for name in graph.ids.tolist()]
    kind = "directed" if graph.directed else "undirected"
    lines = [
        "<?xml version='1.0' encoding='utf-8'?>",
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
    ]
    if weights is not None:
        lines.append('<key id="d0" for="edge" attr.name="weight" attr.type="double"/>')
    for number, (name, values) in enumerate(columns.items()):
        type_ = {"i": "long", "f": "double"}.get(values.dtype.kind, "string")
        title = quoteattr(_xml_text(name))
        lines.append(f'<key id="n{number}" for="node" attr.name={title} attr.type="{type_}"/>')
    lines.append(f'<graph edgedefault="{kind}">')
    if columns:
        lists = [values.tolist() for values in columns.values()]
        for name, *row in zip(ids, *lists, strict=True):
            data = "".join(
                f'<data key="n{number}">{escape(_xml_text(str(value)))}</data>'
                for number, value in enumerate(row)
            )
            lines.append(f"<node id={name}>{data}</node>")
    else:
        lines += [f"<node id={name}/>" for name in ids]
    for place, (u, v) in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
        ends = f"<edge source={ids[u]} target={ids[v]}"
        if weights is None:
            lines.append(f"{ends}/>")
        else:
            weight = escape(f"{weights[place]:.17g}")
            lines.append(f'{ends}><data key="d0">{weight}</data></edge>')
    lines += ["</graph>", "</graphml>", ""]
    file.write("\n".join(lines).encode())


def _xml_text(name: str) -> str:
    """Return the id, or raise InputError for a character that XML cannot hold."""
    for character in name:
        if ord(character) < 32 and character not in "\t\n\r":
            raise InputError(
                f"the id {name!r} has a character that GraphML cannot hold",
                remedy="write CSV or Parquet instead",
            )
    return name


FORMAT = Format(
    name="graphml",
    title="GraphML",
    about="nodes, their attributes, and edges; weights if asked for",
    suffixes=(".graphml",),
    starts=r"<.*<(\w+:)?graphml\b|<(\w+:)?graphml\b",
    edges=read_graphml,
    node_cells=read_node_cells,
    write=write_graphml,
)

"""Read and write GraphML and GEXF with the XML parser of the standard library.

Both list nodes and edges with attributes that are declared first; they differ in the names of the
elements.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike, open_bytes
from coterie.data.formats.format import EdgeTable, Format, named_nodes

if TYPE_CHECKING:
    from coterie.data.formats.format import NodeColumns
    from coterie.data.graph import Graph

_REMEDY = "check the file, or export it again"
_TYPES = {"i": "long", "f": "double", "b": "boolean"}  # of NumPy -> of an attribute


def read_xml_graph(path: PathLike, _: object = None) -> EdgeTable:
    """Read the graph of a file, with the attributes of its nodes and the weights of its edges.

    Nodes are named by their labels if every node has its own, else by their ids.
    """
    reader = _Reader()
    reader.parse(path)
    return reader.table()


class _Reader:
    """Collects nodes and edges while expat reads. Nothing outside the file is loaded."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EntityDeclHandler = self._entity
        self._directed: bool | None = None  # unless an edge says otherwise; None: no graph yet
        self._domain = ""  # of the attributes that are being declared, in GEXF
        self._attributes: dict[tuple[str, str], str] = {}  # (kind of element, key) -> name
        self._defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
        self._elements: dict[str, list[dict[str, str]]] = {"node": [], "edge": []}
        self._open: list[str] = []  # kinds of the elements that are being read
        self._values: list[dict[str, str]] = []  # where a text that follows belongs, and its name
        self._name = ""
        self._collected: list[str] | None = None

    def parse(self, path: PathLike) -> None:
        """Read the whole file, which must hold a graph."""
        try:
            with open_bytes(path) as stream:
                while block := stream.read(1 << 20):
                    self._parser.Parse(block, False)
            self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise self._error(f"not well-formed XML: {expat.ErrorString(error.code)}") from None
        if self._directed is None:
            raise self._error("there is no graph")

    def _error(self, problem: str) -> InputError:
        return InputError(problem, line=self._parser.CurrentLineNumber, remedy=_REMEDY)

    def _entity(self, *_: Any) -> None:
        raise self._error("the file defines XML entities, which a graph does not need")

    def _start(self, tag: str, given: dict[str, str]) -> None:
        name = tag.rsplit(" ", 1)[-1]
        if name == "graph":
            if self._directed is not None:
                raise self._error("there is more than one graph")
            kind = given.get("edgedefault", given.get("defaultedgetype"))
            self._directed = kind == "directed"
        elif name == "attributes":
            self._domain = given.get("class", "")
        elif name in ("key", "attribute"):
            self._declare(given)
        elif name in self._elements:
            needed = ("id",) if name == "node" else ("source", "target")
            for missing in (key for key in needed if key not in given):
                raise self._error(f"a <{name}> has no {missing}")
            self._open.append(name)
            self._elements[name].append(self._defaults[name] | given)
        elif name in ("hyperedge", "port"):
            raise self._error(f"a <{name}> cannot be read: only edges between two nodes")
        elif name in ("data", "attvalue") and self._open:
            kind = self._open[-1]
            key = given.get("key", given.get("for", ""))
            column = self._attributes.get((kind, key))
            if column is not None and "value" in given:
                self._elements[kind][-1][column] = given["value"]
            elif column is not None:
                self._collect([self._elements[kind][-1]], column)
        elif name == "default":
            self._collect(self._values, self._name)

    def _declare(self, given: dict[str, str]) -> None:
        key = given.get("id", "")
        self._name = "attribute " + given.get("attr.name", given.get("title", key))
        domain = given.get("for", self._domain)
        kinds = ("node", "edge") if domain == "all" else (domain,)
        for kind in kinds:
            self._attributes[kind, key] = self._name
        self._values = [self._defaults[kind] for kind in kinds if kind in self._defaults]

    def _collect(self, values: list[dict[str, str]], name: str) -> None:
        self._values, self._name, self._collected = values, name, []

    def _text(self, text: str) -> None:
        if self._collected is not None:
            self._collected.append(text)

    def _end(self, tag: str) -> None:
        name = tag.rsplit(" ", 1)[-1]
        if name in ("data", "default") and self._collected is not None:
            for values in self._values:
                values[self._name] = "".join(self._collected).strip()
            self._collected = None
        elif self._open and name == self._open[-1]:
            self._open.pop()

    def table(self) -> EdgeTable:
        """Return what was read."""
        nodes, edges = self._elements["node"], self._elements["edge"]
        declared = [name for (kind, _), name in self._attributes.items() if kind == "node"]
        columns = {
            name.removeprefix("attribute "): [node.get(name) for node in nodes]
            for name in dict.fromkeys(declared)
        }
        if any("label" in node for node in nodes):
            columns["label"] = [node.get("label") for node in nodes]
        names, named_by = named_nodes([node["id"] for node in nodes], columns)
        table = EdgeTable(
            [names.get(edge["source"], edge["source"]) for edge in edges],
            [names.get(edge["target"], edge["target"]) for edge in edges],
            nodes=list(names.values()),
            columns=columns,
            named_by=named_by,
        )
        weights = [edge.get("weight", edge.get("attribute weight")) for edge in edges]
        if any(weight is not None for weight in weights):
            table.weights = [self._number(weight) for weight in weights]
        directed = [self._is_directed(edge) for edge in edges]
        table.directed = any(directed) if edges else self._directed
        if table.directed:  # an edge without a direction has both
            table.add_reversed(n for n, arrow in enumerate(directed) if not arrow)
        return table

    def _number(self, text: str | None) -> float:
        try:
            return 1.0 if text is None else float(text)
        except ValueError:
            raise InputError(f"the weight {text!r} is not a number", remedy=_REMEDY) from None

    def _is_directed(self, edge: dict[str, str]) -> bool:
        said = edge.get("directed", edge.get("type"))  # of GraphML, of GEXF
        return bool(self._directed) if said is None else said in ("true", "directed", "mutual")


def write_graphml(graph: Graph, file: IO[bytes], node_columns: NodeColumns | None = None) -> None:
    """Write a graph as GraphML; weights become the attribute "weight" of the edges.

    `node_columns` become attributes of the nodes.
    """
    lines = [
        "<?xml version='1.0' encoding='utf-8'?>",
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
    ]
    if graph.weights is not None:
        lines.append('<key id="d0" for="edge" attr.name="weight" attr.type="double"/>')
    for number, (name, values) in enumerate((node_columns or {}).items()):
        type_, title = _TYPES.get(values.dtype.kind, "string"), quoteattr(_xml_text(name))
        lines.append(f'<key id="n{number}" for="node" attr.name={title} attr.type="{type_}"/>')
    lines.append(f'<graph edgedefault="{_direction(graph)}">')
    for id_, row in _nodes(graph, node_columns):
        data = "".join(f'<data key="n{n}">{escape(text)}</data>' for n, text in enumerate(row))
        lines.append(f"<node id={id_}>{data}</node>" if row else f"<node id={id_}/>")
    for _, ends, weight in _edges(graph):
        data = f'><data key="d0">{weight}</data></edge>' if weight else "/>"
        lines.append(f"<edge {ends}{data}")
    lines += ["</graph>", "</graphml>", ""]
    file.write("\n".join(lines).encode())


def write_gexf(graph: Graph, file: IO[bytes], node_columns: NodeColumns | None = None) -> None:
    """Write a graph as GEXF, for Gephi; the ids are also the labels."""
    lines = [
        "<?xml version='1.0' encoding='utf-8'?>",
        '<gexf xmlns="http://gexf.net/1.3" version="1.3">',
        f'<graph defaultedgetype="{_direction(graph)}">',
        '<attributes class="node">',
    ]
    for number, (name, values) in enumerate((node_columns or {}).items()):
        type_, title = _TYPES.get(values.dtype.kind, "string"), quoteattr(_xml_text(name))
        lines.append(f'<attribute id="{number}" title={title} type="{type_}"/>')
    lines += ["</attributes>", "<nodes>"]
    for id_, row in _nodes(graph, node_columns):
        data = "".join(
            f'<attvalue for="{n}" value={quoteattr(text)}/>' for n, text in enumerate(row)
        )
        lines.append(f"<node id={id_} label={id_}><attvalues>{data}</attvalues></node>")
    lines += ["</nodes>", "<edges>"]
    for number, ends, weight in _edges(graph):
        lines.append(f'<edge id="{number}" {ends}' + f' weight="{weight}"' * bool(weight) + "/>")
    lines += ["</edges>", "</graph>", "</gexf>", ""]
    file.write("\n".join(lines).encode())


def _direction(graph: Graph) -> str:
    return "directed" if graph.directed else "undirected"


def _nodes(graph: Graph, node_columns: NodeColumns | None) -> list[tuple[str, list[str]]]:
    """Return the quoted id of every node, and its attributes as text."""
    ids = [quoteattr(_xml_text(str(name))) for name in graph.ids.tolist()]
    lists = [values.tolist() for values in (node_columns or {}).values()]
    rows = zip(*lists, strict=True) if lists else [()] * len(ids)
    return [
        (id_, [_xml_text(str(value)) for value in row]) for id_, row in zip(ids, rows, strict=True)
    ]


def _edges(graph: Graph) -> list[tuple[int, str, str]]:
    """Return the number, the ends as attributes, and the weight of every edge, if it has one."""
    ids = [quoteattr(str(name)) for name in graph.ids.tolist()]
    weights = [] if graph.weights is None else graph.edge_weights().tolist()
    pairs = zip(*(ends.tolist() for ends in graph.edges()), strict=True)
    return [
        (n, f"source={ids[u]} target={ids[v]}", f"{weights[n]:.17g}" if weights else "")
        for n, (u, v) in enumerate(pairs)
    ]


def _xml_text(name: str) -> str:
    """Return the text, or raise InputError for a character that XML cannot hold."""
    for character in name:
        if ord(character) < 32 and character not in "\t\n\r":
            raise InputError(
                f"the id {name!r} has a character that XML cannot hold",
                remedy="write CSV or Parquet instead",
            )
    return name


GRAPHML = Format(
    name="graphml",
    title="GraphML",
    about="nodes, their attributes, and edges; weights if asked for",
    suffixes=(".graphml",),
    starts=r"<.*<(\w+:)?graphml\b|<(\w+:)?graphml\b",
    edges=read_xml_graph,
    write=write_graphml,
    holds_attributes=True,
)
GEXF = Format(
    name="gexf",
    title="GEXF",
    about="nodes, their attributes, and edges, as Gephi writes them; weights if asked for",
    suffixes=(".gexf",),
    starts=r"(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<(\w+:)?gexf\b",
    edges=read_xml_graph,
    write=write_gexf,
    holds_attributes=True,
)

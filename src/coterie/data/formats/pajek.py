"""Read Pajek networks (.net)."""

from __future__ import annotations

import re
from collections.abc import Callable

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike, max_nodes
from coterie.data.formats.format import EdgeTable, Format, text_of

_FIELDS = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')


def read_pajek(path: PathLike, _: object = None) -> EdgeTable:
    """Read a Pajek file: *Vertices, then *Edges, *Arcs, *Edgeslist, *Arcslist or *Matrix.

    Nodes are named by their labels if these are distinct, else by their numbers. A file with arcs
    is directed; its edges count in both directions.
    """
    reader = _Reader()
    for number, line in enumerate(text_of(path).splitlines(), 1):
        text = line.strip()
        if text and not text.startswith(("%", "/*")):
            reader.read(text, number)
    return reader.table()


class _Reader:
    def __init__(self) -> None:
        self.count = 0
        self.labels: dict[int, str] = {}
        self.edges: list[tuple[int, int, float]] = []
        self.arcs: list[tuple[int, int, float]] = []
        self.row = 0  # of *Matrix
        self.line = 0
        self._section: Callable[[list[str]], None] | None = None

    def read(self, text: str, line: int) -> None:
        """Read one line that is not a comment."""
        self.line = line
        if text.startswith("*"):
            self._begin(text)
            return
        if self._section is None:
            raise self._error("a line before *Vertices", "begin the file with *Vertices N")
        fields = [quoted or plain for quoted, plain in _FIELDS.findall(text)]
        try:
            self._section(fields)
        except InputError:
            raise
        except (ValueError, IndexError):
            raise self._error(f"cannot be read: {text[:60]!r}", "check the line") from None

    def _error(self, problem: str, remedy: str) -> InputError:
        return InputError(problem, line=self.line, remedy=remedy)

    def _begin(self, text: str) -> None:
        name, *rest = text.lower().split()
        sections = {
            "*edges": lambda fields: self._add(self.edges, fields),
            "*arcs": lambda fields: self._add(self.arcs, fields),
            "*edgeslist": lambda fields: self._add_list(self.edges, fields),
            "*arcslist": lambda fields: self._add_list(self.arcs, fields),
            "*matrix": self._add_row,
        }
        if name == "*network":
            self._section = None
        elif name == "*vertices":
            if self.count:
                raise self._error("a second network", "give each network its own file")
            if len(rest) > 1:
                raise self._error(
                    "a two-mode network (two numbers after *Vertices) cannot be read as a graph",
                    "save its edges as CSV",
                )
            if len(rest) != 1 or not rest[0].isdigit() or int(rest[0]) > max_nodes():
                raise self._error(f"not a number of nodes: {text[:60]!r}", "write *Vertices N")
            self.count = int(rest[0])
            self._section = self._add_label
        elif name in sections:
            self._section = sections[name]
        else:
            raise self._error(f"the section {name[:30]!r} cannot be read", "remove the section")

    def _node(self, text: str) -> int:
        number = int(text)
        if not 1 <= number <= self.count:
            raise self._error(f"node {number} is not in 1..{self.count}", "correct the number")
        return number

    def _add_label(self, fields: list[str]) -> None:
        number = self._node(fields[0])
        if len(fields) > 1:
            self.labels[number] = fields[1]

    def _add(self, kind: list[tuple[int, int, float]], fields: list[str]) -> None:
        weight = float(fields[2]) if len(fields) > 2 else 1.0
        kind.append((self._node(fields[0]), self._node(fields[1]), weight))

    def _add_list(self, kind: list[tuple[int, int, float]], fields: list[str]) -> None:
        first = self._node(fields[0])
        kind.extend((first, self._node(other), 1.0) for other in fields[1:])

    def _add_row(self, fields: list[str]) -> None:
        self.row += 1
        if len(fields) != self.count or self.row > self.count:
            raise self._error(
                f"{len(fields)} fields in row {self.row} of *Matrix, not {self.count}",
                "give one row and one column per node",
            )
        values = (float(field) for field in fields)
        self.arcs += [(self.row, n, value) for n, value in enumerate(values, 1) if value]

    def table(self) -> EdgeTable:
        """Return the edges under the names of the nodes."""
        labelled = len(self.labels) == self.count == len(set(self.labels.values()))
        names = [self.labels[n] if labelled else str(n) for n in range(1, self.count + 1)]
        directed = bool(self.arcs)
        pairs = self.arcs + self.edges
        if directed:
            pairs = pairs + [(v, u, weight) for u, v, weight in self.edges if u != v]
        weights = [weight for *_, weight in pairs]
        return EdgeTable(
            [names[u - 1] for u, *_ in pairs],
            [names[v - 1] for _, v, _ in pairs],
            weights if any(weight != 1.0 for weight in weights) else None,
            names,
            directed,
        )


FORMAT = Format(
    name="pajek",
    title="Pajek",
    about="nodes and edges; weights if asked for",
    suffixes=(".net", ".paj"),
    aliases=("net",),
    starts=r"((%|/\*)[^\n]*\s+)*\*(vertices|network|arcs|edges|arcslist|edgeslist|matrix)\b",
    edges=read_pajek,
)

"""What an input format declares, and the forms in which its reader returns what a file holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike, place_name, read_all

if TYPE_CHECKING:
    import numpy as np

    from coterie.data.graph import Graph
    from coterie.data.table import ReadOptions
    from coterie.data.text_reader import Columns

    NodeColumns = Mapping[str, np.ndarray]

T = TypeVar("T")


@dataclass
class EdgeTable:
    """Edges and nodes as a document lists them; `weights` is None if no edge has one."""

    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    weights: list[float] | None = None
    nodes: list[str] = field(default_factory=list)  # all that are declared, in order
    directed: bool | None = None  # None: the file does not say
    columns: dict[str, list[Any]] = field(default_factory=dict)  # attributes of the nodes
    named_by: str = ""  # the attribute that names the nodes, if it is not their id

    def node_cells(self) -> Cells:
        """Return the nodes as a table: their names, then their attributes."""
        rows = zip(self.nodes, *self.columns.values(), strict=True)
        return numbered([["node", *self.columns], *map(list, rows)], has_names=True)

    def add_reversed(self, edges: Iterable[int]) -> None:
        """Add these edges in the other direction, too; self-loops have one."""
        kept = [n for n in edges if self.sources[n] != self.targets[n]]
        self.sources, self.targets = (
            self.sources + [self.targets[n] for n in kept],
            self.targets + [self.sources[n] for n in kept],
        )
        if self.weights is not None:
            self.weights = self.weights + [self.weights[n] for n in kept]


def named_nodes(ids: list[str], columns: dict[str, list[Any]]) -> tuple[dict[str, str], str]:
    """Return the name of each node by its id, and the attribute that holds the names.

    Nodes are called by the attribute "label" or "name" if every node has its own, else by their
    ids; that attribute is then removed from the columns.
    """
    if len(set(ids)) < len(ids):
        raise InputError("two nodes have the same id", remedy="rename one of them")
    for name in ("label", "name"):
        labels = columns.get(name, [])
        if ids and all(labels) and len(set(labels)) == len(ids):
            del columns[name]
            return dict(zip(ids, map(str, labels), strict=True)), "" if labels == ids else name
    return dict(zip(ids, ids, strict=True)), ""


class Cells(NamedTuple):
    """All rows of a table; a cell is text, or a value of a typed format (None: missing)."""

    rows: list[list[Any]]
    lines: list[int]  # of the rows, in the units of the format
    unit: str = "row"
    has_names: bool = False  # the format says that the first row has the names of the columns
    separator: str = ""  # of text
    is_unicode: bool = True  # False: text that was read as Latin-1


def numbered(rows: list[list[Any]], *, has_names: bool = False) -> Cells:
    """Return rows that are counted from 1."""
    return Cells(rows, list(range(1, len(rows) + 1)), has_names=has_names)


@dataclass(frozen=True, eq=False)
class Format:
    """An input format. A graph document needs `edges`, a table `cells` or `columns`.

    Importing the module of a format must be quick: it imports NumPy, pyarrow and parsers inside
    its functions, because every `--help` lists the formats. Its readers need not name the file in
    their errors: that is added here.
    """

    name: str  # as in `format="gml"`
    title: str  # as people call it
    about: str  # what such a file holds, for the documentation
    suffixes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()  # other names for `format`
    starts: str | None = None  # pattern of the first characters of such a file
    edges: Callable[[PathLike, ReadOptions], EdgeTable | Cells] | None = None
    cells: Callable[[PathLike, ReadOptions], Cells] | None = None
    columns: Callable[..., Columns] | None = None  # of (path, WantedColumns, ReadOptions)
    write: Callable[[Graph, IO[bytes], NodeColumns | None], None] | None = None  # of a document
    writes_tables: bool = False  # `write_table` and `write_graph` write it
    holds_attributes: bool = False  # `write` takes attributes of the nodes
    in_pieces: bool = False  # `columns` takes `consume`, for files larger than memory

    def __post_init__(self) -> None:
        for name in ("edges", "cells", "columns"):
            if (read := getattr(self, name)) is not None:
                object.__setattr__(self, name, naming_the_file(read))


def naming_the_file(read: Callable[..., T]) -> Callable[..., T]:
    """Let a reader's errors name the file, if they do not."""

    @wraps(read)
    def reader(path: PathLike, *arguments: Any, **options: Any) -> T:
        try:
            return read(path, *arguments, **options)
        except InputError as error:
            error.add_file(place_name(path))
            raise

    return reader


def text_of(path: PathLike) -> str:
    """Return the text of a file that is read as a whole."""
    raw = read_all(path).getvalue()
    try:
        if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return raw.decode("utf-16")
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8 ({error.reason} at byte {error.start})", remedy="save the file as UTF-8"
        ) from None

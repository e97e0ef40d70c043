"""Read columns of a text file: detect its layout, read its blocks on all threads, join them."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Container, Iterator
from enum import Enum
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from coterie.base.errors import InputError
from coterie.data.byte_source import (
    PathLike,
    line_blocks,
    max_nodes,
    open_bytes,
    place_error,
    place_name,
)
from coterie.data.column_roles import WantedColumns, are_names
from coterie.data.formats.format import Cells
from coterie.data.ids import integers_as_text
from coterie.data.ordered_threads import in_order
from coterie.data.text_fields import (
    DECIMAL_COMMA,
    Column,
    Fault,
    TextBlock,
    count_lines,
    is_number,
    is_quantity,
    read_block,
)
from coterie.data.text_layout import (
    Layout,
    find_list_separator,
    find_separator,
    find_table_separator,
    make_layout,
    resolve_separator,
    split,
)

if TYPE_CHECKING:
    from coterie.data.table import ReadOptions

_LATIN_1 = "cp1252"  # what Windows calls Latin-1: the same letters, and typographic quotes
_NODES = re.compile(r"#\s*nodes:\s*(\d+)\s*")
_PROOF_LINES = 200  # lines that show whether the first one is a header
_SHOWN_ROWS = 5
_SAMPLE_BYTES = 1 << 16  # of a file of which only the first rows are needed
_ISOLATED = re.compile(r"#\s*isolated:\s*(\S.*?)\s*")

# Called with the fields of the first lines, and whether these are all lines of the file
LookAtSample = Callable[[list[list[str]], bool], None]


class Columns:
    """The content of a file: the wanted columns in pieces, and its comments about nodes.

    `unit` is what errors count: "line" (from 1), "row" of a typed table (from 0) or "edge" of a
    document (from 1), which has no columns to choose.
    """

    def __init__(self, name: str, layout: Layout, n_fields: int, unit: str = "line") -> None:
        self.name = name
        self.unit = unit
        self.layout = layout
        self.n_fields = n_fields  # on the first line
        self.pieces: dict[str, list[Column]] = {wanted: [] for wanted in layout.names}
        self.rows = 0
        self.nodes: int | None = None  # `# nodes: N`
        self.isolated: list[str] = []  # `# isolated: ID`
        # The first line, if it was read as a header with unknown names
        self.header: str | None = None
        self.column_names: list[str] | None = None  # of the header, known or not
        self.first_line_is_data = False  # although it could be a header
        self.format = "text"
        self.is_unicode = True  # False: it was read as Latin-1
        self.declared_directed = False  # whether a document says that its edges have directions
        self.named_by = ""  # the attribute of a document that names its nodes
        self.first_rows: list[tuple[str, ...]] = []  # as understood, for --dry-run
        self._breaks: list[tuple[int, int]] = []
        self._integers = dict.fromkeys(layout.names, True)

    def line(self, row: int) -> int:
        """Return the line, row or edge of the file with this row."""
        if self.unit != "line":
            return row + (self.unit == "edge")
        at = np.searchsorted([first for first, _ in self._breaks], row, side="right") - 1
        first, line = self._breaks[at]
        return line + row - first + 1

    def error(self, problem: str, row: int, remedy: str) -> InputError:
        """Return an error about a row, with its file and line."""
        return place_error(problem, self.name, self.unit, self.line(row), remedy)

    def ids(self, *names: str) -> tuple[bool, list[list[Column]]]:
        """Return whether all ids of these columns are integers, and the pieces of each column."""
        groups = [self.pieces[name] for name in names]
        if all(isinstance(piece, np.ndarray) for piece in chain(*groups)):
            return True, groups
        return False, self.text_ids(*names)

    def text_ids(self, *names: str) -> list[list[Column]]:
        """Return the pieces of each column as text; integers are written as they were read."""
        return [[_as_text(piece) for piece in self.pieces[name]] for name in names]

    def numbers(self, name: str) -> np.ndarray | None:
        """Return a numeric column in one piece, or None if the file does not have it."""
        pieces = self.pieces.get(name)
        if pieces is None or sum(len(piece) for piece in pieces) < self.rows:
            return None
        return np.concatenate(pieces) if pieces else np.empty(0)

    def integers(self, name: str) -> bool:
        """Return whether every field of a column that was read so far is an integer."""
        return self._integers[name]

    def take(self) -> dict[str, list[Column]]:
        """Return the pieces read so far and remove them here: for files larger than memory."""
        taken = self.pieces
        self.pieces = {name: [] for name in taken}
        return taken

    def add(self, block: TextBlock, first_line: int) -> None:
        """Add the content of a block that begins at this line."""
        for name, more in zip(self.pieces, block.columns, strict=True):
            self.pieces[name] += more
            self._integers[name] &= all(isinstance(piece, np.ndarray) for piece in more)
        self._breaks += [(self.rows + row, first_line + line) for row, line in block.breaks]
        self.rows += block.rows
        for line, comment in block.comments:
            self.read_comment(comment, first_line + line)
        if block.fault is not None:
            raise fault_error(block.fault, self.name, first_line)

    def put_first(self, block: TextBlock, line: int) -> None:
        """Add a block of one row before all others."""
        for name, more in zip(self.pieces, block.columns, strict=True):
            self.pieces[name] = [*more, *self.pieces[name]]
            self._integers[name] = False
        self._breaks = [(0, line)] + [(row + 1, at) for row, at in self._breaks]
        self.rows += 1

    def read_comment(self, comment: str, line: int) -> None:
        """Read `# nodes: N` and `# isolated: ID`; other comments are ignored."""
        comment = comment.strip()
        if match := _ISOLATED.fullmatch(comment):
            self.isolated.append(match[1])
        elif match := _NODES.fullmatch(comment):
            nodes = int(match[1][:30])
            if nodes > max_nodes() or self.nodes not in (None, nodes):
                raise InputError(
                    f"conflicting or impossible '# nodes' comment: {comment!r}",
                    path=self.name, line=line + 1,
                    remedy="give the number of nodes once; it must fit into memory",
                )  # fmt: skip
            self.nodes = nodes


def fault_error(fault: Fault, name: str, first_line: int) -> InputError:
    """Return the error for a fault in a block that begins at this line."""
    kind = InputError if fault.is_unicode else NotUnicodeError
    return kind(fault.problem, path=name, line=first_line + fault.line + 1, remedy=fault.remedy)


class NotUnicodeError(InputError):
    """Text that is not UTF-8: a file is read again as Latin-1, a pipe is refused."""


def _as_text(piece: Column) -> pa.Array:
    """Return a piece of an id column as dictionary-encoded text."""
    return integers_as_text(piece) if isinstance(piece, np.ndarray) else piece


class _FileStart(NamedTuple):
    """The beginning of a file: comments, the first line after them, and the remaining blocks."""

    comments: list[tuple[int, str]]
    first: bytes
    first_line: int
    rest: Iterator[bytes]
    sample: list[str]
    complete: bool = True  # the sample has all lines


def _read_start(blocks: Iterator[bytes]) -> _FileStart:
    """Read up to the first line that is not a comment, with a sample of the lines after it."""
    comments: list[tuple[int, str]] = []
    line = 0
    for block in blocks:
        place = len(block) - len(block.lstrip(b"\r\n \t"))  # blank lines, all at once
        place = max(block.rfind(b"\n", 0, place), block.rfind(b"\r", 0, place)) + 1
        line += count_lines(block[:place])
        while place < len(block):
            match = re.compile(rb"[^\r\n]*(\r\n|\r|\n)?").match(block, place)
            raw = block[place : match.end()] if match else block[place:]
            content = raw.decode(errors="replace").strip(" \t\r\n")
            place += len(raw)
            if content and not _is_comment(content):
                ahead = block[place : place + (1 << 16)].decode(errors="replace").splitlines()
                more = [text for text in ahead if text.strip() and not _is_comment(text)]
                following = next(blocks, b"")
                complete = len(block) - place <= 1 << 16 and not following
                rest = chain([block[place:], following], blocks)
                return _FileStart(comments, raw, line, rest, [content, *more], complete)
            if content:
                comments.append((line, content))
            line += 1
    return _FileStart(comments, b"", line, iter(()), [])


def _is_comment(line: str) -> bool:
    return line.lstrip()[:1] in ("#", "%")


def read_text(
    path: PathLike,
    wanted: WantedColumns,
    options: ReadOptions,
    *,
    consume: Callable[[Columns], None] | None = None,
    on_sample: LookAtSample | None = None,
) -> Columns:
    """Read the wanted columns of a text file with any separator, header and comments.

    The first line is a header if the options say so, if its names are known, or if it has text in a
    column of numbers. Whether all ids are numbers is known only at the end of the file, so the
    decision about an ambiguous first line is made there. `consume` is called after every block and
    may `take` what was read. `on_sample` is called with the first lines and may raise an error.
    A file that is not UTF-8 is read as Latin-1, if it can be read a second time.
    """
    separator = resolve_separator(options.separator)
    rereadable = consume is None and os.path.isfile(path)
    request = _Request(place_name(path), wanted, separator, options.header, on_sample, rereadable)
    try:
        with open_bytes(path) as stream:
            blocks = line_blocks(stream, request.name)
            columns = _read_blocks(blocks, request, options.threads, consume)
    except NotUnicodeError as error:
        if not rereadable:
            raise
        try:
            with open_bytes(path) as stream:
                blocks = (
                    block.decode(_LATIN_1).encode() for block in line_blocks(stream, request.name)
                )
                columns = _read_blocks(blocks, request, options.threads, None)
        except UnicodeDecodeError:
            raise error from None
        columns.is_unicode = False
    if consume is not None:
        consume(columns)
    return columns


def text_cells(
    path: PathLike,
    separator: str | None = None,
    *,
    columns: int | None = None,
    most_rows: int | None = None,
) -> Cells:
    """Return all fields of a text file without its comments; of the first rows if so asked.

    `columns` says what the file is for, where its separator is not given: 2 for edges, 1 for a list
    of ids, None for a table whose columns are all needed.
    """
    name = place_name(path)
    with open_bytes(path) as stream:
        if most_rows is None:
            content = b"".join(line_blocks(stream, name))
        else:
            content = next(line_blocks(stream, name, _SAMPLE_BYTES), b"")
    text, is_unicode = _decoded(content, name)
    lines = list(io.StringIO(text, newline=None))
    sample = islice((line for line in lines if line.strip() and not _is_comment(line)), 200)
    separator = resolve_separator(separator)
    if separator is None:
        separator = _separator_of([line.rstrip("\n") for line in sample], columns)
    rows, places = [], []
    for place, row in _split_lines(lines, separator, name):
        rows.append(row)
        places.append(place)
        if len(rows) == most_rows:
            break
    return Cells(rows, places, "line", separator=separator, is_unicode=is_unicode)


def _decoded(content: bytes, name: str) -> tuple[str, bool]:
    """Return the text, and whether it is UTF-8 and not Latin-1."""
    try:
        return content.decode(), True
    except UnicodeDecodeError as error:
        try:
            return content.decode(_LATIN_1), False
        except UnicodeDecodeError:
            line = content[: error.start].count(b"\n") + 1
            raise InputError(
                "the text is not UTF-8", path=name, line=line, remedy="save the file as UTF-8"
            ) from None


def _separator_of(sample: list[str], columns: int | None) -> str:
    if not sample:
        return ","
    if columns is None:
        return find_table_separator(sample)
    return find_list_separator(sample) if columns == 1 else find_separator(sample, columns)


def _split_lines(lines: list[str], separator: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the fields of each row; a quoted field may have several lines."""
    start, is_inside = 0, False

    def feed() -> Iterator[str]:
        nonlocal start, is_inside
        for number, line in enumerate(lines, 1):
            if not is_inside:
                if not line.strip() or _is_comment(line):
                    continue
                start, is_inside = number, True
            yield line

    if len(separator) != 1 or separator == "\n":
        for line in feed():
            is_inside = False
            yield start, [unquoted(line)] if separator == "\n" else split(line, separator)
        return
    width = 0
    try:
        for row in csv.reader(feed(), delimiter=separator, skipinitialspace=True):
            is_inside = False
            width = width or len(row)
            if len(row) != width and any("\n" in field.rstrip("\n") for field in row):
                raise _quote_error(name, start)
            yield start, [field.strip() for field in row]
    except csv.Error:
        raise _quote_error(name, start) from None


def _quote_error(name: str, line: int) -> InputError:
    return InputError("a quote is not closed properly", path=name, line=line, remedy="fix the line")


def unquoted(line: str) -> str:
    """Return an id that is a whole line, without the quotes around it.

    >>> unquoted('"Lee, Ann" '), unquoted('5" disk')
    ('Lee, Ann', '5" disk')
    """
    text = line.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"')
    return text


def read_rows(
    path: PathLike, rows: list[list[str]], wanted: WantedColumns, *, header: bool | None = None
) -> Columns:
    """Read the wanted columns of a table that another format holds, as if it were a CSV file."""
    lines = (",".join(map(_quoted, row)) for row in rows)
    content = "".join(f"{line}\n" for line in lines).encode()
    request = _Request(place_name(path), wanted, ",", header, None)
    return _read_blocks(line_blocks(io.BytesIO(content), request.name), request, 1, None)


def _quoted(cell: str) -> str:
    """Return a cell of a CSV file; one that looks like a comment is quoted too."""
    if any(mark in cell for mark in ',"\r\n#%') or cell != cell.strip():
        return '"' + cell.replace('"', '""').replace("\r", " ").replace("\n", " ") + '"'
    return cell


class _Request(NamedTuple):
    """What is asked of a text file."""

    name: str
    wanted: WantedColumns
    separator: str | None
    header: bool | None
    on_sample: LookAtSample | None
    is_rereadable: bool = False


def _read_blocks(
    blocks: Iterator[bytes],
    request: _Request,
    threads: int | None,
    consume: Callable[[Columns], None] | None,
) -> Columns:
    """Read the wanted columns from blocks of lines."""
    start = _read_start(blocks)
    separator = request.separator
    if separator is None:
        needed = len(request.wanted.ids) + len(request.wanted.numbers)
        separator = find_separator(start.sample, needed)
    if request.on_sample is not None and start.sample:
        rows = [split(line, separator) for line in start.sample]
        request.on_sample(rows, start.complete)
    sample = [split(line, separator) for line in start.sample[:_PROOF_LINES]]
    layout, kind = _find_layout(separator, sample, start, request)
    columns = Columns(request.name, layout, len(sample[0]) if sample else 0)
    for line, comment in start.comments:
        columns.read_comment(comment, line)
    if not start.sample:
        return columns
    first = _read_first_line(columns, start, sample, kind, request)
    line = start.first_line + 1
    for block in in_order(read_block, ((b, layout) for b in start.rest if b), threads):
        columns.add(block, line)
        line += block.n_lines
        if consume is not None:
            consume(columns)
    if first is not None and first.fault is None:
        _decide_first_line(columns, first, start)
    elif first is not None and first.fault is not None and columns.rows == 0:
        raise fault_error(first.fault, request.name, start.first_line)
    columns.first_rows = _as_understood(sample[columns.column_names is not None :], layout)
    return columns


def _find_layout(
    separator: str, sample: list[list[str]], start: _FileStart, request: _Request
) -> tuple[Layout, FirstLine]:
    """Return the layout, and what the first line is."""
    wanted, fields, rows = request.wanted, sample[0] if sample else [], sample[1:]
    first = FirstLine.unclear if request.header is None else FirstLine.row
    try:
        start.first.decode(errors="strict" if request.is_rereadable else "replace")
        if request.header is None and not wanted.chosen:
            if are_names(fields, rows, wanted):
                first = FirstLine.names
            elif _text_above_numbers(sample, range(len(wanted.ids))):
                first = FirstLine.unknown_names
        elif request.header is not False:
            first = FirstLine.names
        named = first in (FirstLine.names, FirstLine.unknown_names)
        layout = make_layout(separator, fields, rows, wanted, named=named)
        if first is FirstLine.unclear and _text_above_numbers(sample, layout.id_columns):
            first = FirstLine.unknown_names
            layout = make_layout(separator, fields, rows, wanted, named=True)
    except UnicodeDecodeError:
        raise NotUnicodeError("the first line is not UTF-8", path=request.name) from None
    except InputError as error:
        line = start.first_line + 1
        raise InputError(error.problem, path=request.name, line=line, remedy=error.remedy) from None
    return layout._replace(decimal_comma=_has_decimal_commas(sample, layout)), first


class FirstLine(Enum):
    """What the first line of a text holds."""

    names = "names of columns"
    unknown_names = "text above a column of numbers, so names of columns"
    row = "a row"
    unclear = "unclear"


def _read_first_line(
    columns: Columns, start: _FileStart, sample: list[list[str]], kind: FirstLine, request: _Request
) -> TextBlock | None:
    """Read the first line as a header or as a row; return it if the whole file must decide.

    A line that is returned with a fault was read as a header: that is wrong if no row follows.
    """
    if kind in (FirstLine.names, FirstLine.unknown_names):
        columns.column_names = sample[0]
        if kind is FirstLine.unknown_names:
            columns.header = start.sample[0]
        return None
    first = read_block(start.first, columns.layout)
    if first.fault is not None:
        if kind is FirstLine.row or not first.fault.header:
            raise fault_error(first.fault, request.name, start.first_line)
        columns.header, columns.column_names = start.sample[0], sample[0]
        return first
    if kind is FirstLine.row or _all_numbers(first, columns.layout):
        columns.add(first, start.first_line)
        return None
    return first


def _as_understood(rows: list[list[str]], layout: Layout) -> list[tuple[str, ...]]:
    """Return the wanted fields of the first rows."""
    places = [int(np.flatnonzero(layout.slot == n)[0]) for n in range(len(layout.names))]
    return [
        tuple(row[place] for place in places)
        for row in rows[:_SHOWN_ROWS]
        if len(row) > max(places)
    ]


def _text_above_numbers(sample: list[list[str]], ids: Container[int]) -> bool:
    """Return whether the first line has text above a column of numbers: then it is a header.

    Columns of ids are left out, because a text id may stand above numbers by chance; the whole file
    decides about them.
    """
    if len(sample) < 3:
        return False
    rows = sample[1:]
    for column, field in enumerate(sample[0]):
        values = [row[column] for row in rows if column < len(row)]
        is_name = field and column not in ids and not is_quantity(field)
        if is_name and len(values) == len(rows) and all(map(is_quantity, values)):
            return True
    return False


def _has_decimal_commas(sample: list[list[str]], layout: Layout) -> bool:
    """Return whether numbers of the sample are written with a decimal comma, as in 4,5."""
    numeric = [
        row[column]
        for row in sample
        for column in np.flatnonzero(layout.slot >= layout.n_ids).tolist()
        if column < len(row)
    ]
    return any(DECIMAL_COMMA.fullmatch(field) for field in numeric)


def _first_ids(block: TextBlock, layout: Layout) -> list[str]:
    """Return the ids in the first row of a block."""
    pieces = [column[0] for column in block.columns[: layout.n_ids]]
    return [str(piece[0]) for piece in pieces]


def _all_numbers(block: TextBlock, layout: Layout) -> bool:
    """Return whether all ids in the first row of a block are numbers."""
    return all(is_number(field) for field in _first_ids(block, layout))


def _decide_first_line(columns: Columns, ambiguous: TextBlock, start: _FileStart) -> None:
    """Read the first line as a header if it is text above a column of integers, else as a row."""
    names = columns.layout.names[: columns.layout.n_ids]
    for name, field in zip(names, _first_ids(ambiguous, columns.layout), strict=True):
        if columns.rows and columns.integers(name) and not is_number(field):
            columns.header = start.sample[0]
            columns.column_names = split(start.sample[0], columns.layout.separator)
            return
    columns.put_first(ambiguous, start.first_line)
    columns.first_line_is_data = True

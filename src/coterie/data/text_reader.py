"""Columns of a text file: find out how it is made, read its blocks on all threads, join them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import IO, NamedTuple

import numpy as np
import pyarrow as pa

from coterie.base.errors import InputError
from coterie.base.machine import physical_memory
from coterie.data.byte_source import PathLike, line_blocks, open_bytes, place_name
from coterie.data.ordered_threads import in_order
from coterie.data.text_fields import Column, Fault, TextBlock, is_number, read_block
from coterie.data.text_layout import (
    Layout,
    Wanted,
    arrange,
    find_separator,
    header_roles,
    spelled,
    split,
)

_NODES = re.compile(r"#\s*nodes:\s*(\d+)\s*")
_ISOLATED = re.compile(r"#\s*isolated:\s*(\S.*?)\s*")


class Columns:
    """What a file held: the wanted columns in pieces, and what its comments said."""

    unit = "line"

    def __init__(self, name: str, layout: Layout, n_fields: int) -> None:
        self.name = name
        self.layout = layout
        self.n_fields = n_fields  # on the first line
        self.pieces: dict[str, list[Column]] = {wanted: [] for wanted in layout.names}
        self.rows = 0
        self.nodes: int | None = None  # `# nodes: N`
        self.isolated: list[str] = []  # `# isolated: ID`
        self.header: str | None = None  # a first line taken as header though its names are unknown
        self._breaks: list[tuple[int, int]] = []
        self._integers = dict.fromkeys(layout.names, True)

    def line(self, row: int) -> int:
        """The line of the file that a row came from, counted from 1."""
        at = np.searchsorted([first for first, _ in self._breaks], row, side="right") - 1
        first, line = self._breaks[at]
        return line + row - first + 1

    def error(self, problem: str, row: int, remedy: str) -> InputError:
        if self.unit == "line":
            return InputError(problem, path=self.name, line=self.line(row), remedy=remedy)
        return InputError(f"{self.unit} {self.line(row)}: {problem}", path=self.name, remedy=remedy)

    def ids(self, *names: str) -> tuple[bool, list[list[Column]]]:
        """Pieces of the id columns that share one set of ids: (are they integers, pieces)."""
        groups = [self.pieces[name] for name in names]
        if all(isinstance(piece, np.ndarray) for piece in chain(*groups)):
            return True, groups
        return False, self.text_ids(*names)

    def text_ids(self, *names: str) -> list[list[Column]]:
        """The same as text: an integer reads back as it was written."""
        return [[_as_text(piece) for piece in self.pieces[name]] for name in names]

    def numbers(self, name: str) -> np.ndarray | None:
        """A numeric column in one piece; None where the file has no such column."""
        pieces = self.pieces.get(name)
        if pieces is None or sum(len(piece) for piece in pieces) < self.rows:
            return None
        return np.concatenate(pieces) if pieces else np.empty(0)

    def integers(self, name: str) -> bool:
        """Whether every field of a column that was read so far is an integer."""
        return self._integers[name]

    def take(self) -> dict[str, list[Column]]:
        """The pieces read so far, which are forgotten here: for files larger than memory."""
        taken = self.pieces
        self.pieces = {name: [] for name in taken}
        return taken

    def add(self, block: TextBlock, first_line: int) -> None:
        for name, more in zip(self.pieces, block.columns, strict=True):
            self.pieces[name] += more
            self._integers[name] &= all(isinstance(piece, np.ndarray) for piece in more)
        self._breaks += [(self.rows + row, first_line + line) for row, line in block.breaks]
        self.rows += block.rows
        for line, comment in block.comments:
            self.take_comment(comment, first_line + line)
        if block.fault is not None:
            raise fault_error(block.fault, self.name, first_line)

    def put_first(self, block: TextBlock, line: int) -> None:
        """A block of one row that turned out to belong before all others."""
        for name, more in zip(self.pieces, block.columns, strict=True):
            self.pieces[name] = [*more, *self.pieces[name]]
            self._integers[name] = False
        self._breaks = [(0, line)] + [(row + 1, at) for row, at in self._breaks]
        self.rows += 1

    def take_comment(self, comment: str, line: int) -> None:
        comment = comment.strip()
        if match := _ISOLATED.fullmatch(comment):
            self.isolated.append(match[1])
        elif match := _NODES.fullmatch(comment):
            nodes = int(match[1][:30])
            if nodes > most_nodes() or self.nodes not in (None, nodes):
                raise InputError(
                    f"{comment!r} cannot be", path=self.name, line=line + 1,
                    remedy="say once how many nodes there are; they must fit into memory",
                )  # fmt: skip
            self.nodes = nodes


def most_nodes() -> int:
    """How many nodes this machine's memory could name at all."""
    return physical_memory() // 24


def fault_error(fault: Fault, name: str, first_line: int) -> InputError:
    return InputError(
        fault.problem, path=name, line=first_line + fault.line + 1, remedy=fault.remedy
    )


def _as_text(piece: Column) -> pa.Array:
    if isinstance(piece, np.ndarray):
        return pa.array(piece).cast(pa.string()).dictionary_encode()
    return piece


class _Opening(NamedTuple):
    """The beginning of a file: what stands before its first row, that row, and the rest."""

    comments: list[tuple[int, str]]
    first: bytes
    first_line: int
    rest: Iterator[bytes]
    sample: list[str]


def _open(blocks: Iterator[bytes], name: str) -> _Opening:
    comments: list[tuple[int, str]] = []
    line = 0
    for block in blocks:
        place = 0
        while place < len(block):
            match = re.compile(rb"[^\r\n]*(\r\n|\r|\n)?").match(block, place)
            raw = block[place : match.end()] if match else block[place:]
            content = raw.decode(errors="replace").strip(" \t\r\n")
            place += len(raw)
            if content and content[0] not in "#%":
                ahead = block[place : place + (1 << 16)].decode(errors="replace").splitlines()
                more = [text for text in ahead if text.strip() and text.strip()[0] not in "#%"]
                rest = chain([block[place:]], blocks)
                return _Opening(comments, raw, line, rest, [content, *more])
            if content:
                comments.append((line, content))
            line += 1
    return _Opening(comments, b"", line, iter(()), [])


def read_text(
    path: PathLike,
    wanted: Wanted,
    *,
    separator: str | None = None,
    threads: int | None = None,
    consume: Callable[[Columns], None] | None = None,
) -> Columns:
    """The wanted columns of a text file, whatever its separator, header and comments.

    A first line is a header if its names are known, or if a column that holds numbers fails on it.
    Whether the ids are numbers shows only at the end of the file, so a doubtful first line waits.
    `consume` is called after every block and may `take` what was read.
    """
    name = place_name(path)
    separator = spelled(separator)
    with open_bytes(path) as stream:
        columns = _read_stream(stream, name, wanted, separator, threads, consume)
        if consume is not None:
            consume(columns)
        return columns


def _read_stream(
    stream: IO[bytes],
    name: str,
    wanted: Wanted,
    separator: str | None,
    threads: int | None,
    consume: Callable[[Columns], None] | None,
) -> Columns:
    opening = _open(line_blocks(stream, name), name)
    n_needed = len(wanted.ids) + len(wanted.numbers)
    if separator is None:
        separator = find_separator(opening.sample, n_needed)
    fields = split(opening.sample[0], separator) if opening.sample else []
    roles = header_roles(fields, len(wanted.ids))
    try:
        layout = arrange(separator, fields, roles, wanted)
    except InputError as error:
        raise InputError(
            error.problem, path=name, line=opening.first_line + 1, remedy=error.remedy
        ) from None
    columns = Columns(name, layout, len(fields))
    for line, comment in opening.comments:
        columns.take_comment(comment, line)
    if not opening.sample:
        return columns
    doubtful = None
    if roles is None:
        first = read_block(opening.first, layout)
        if first.fault is not None and not first.fault.header:
            raise fault_error(first.fault, name, opening.first_line)
        if first.fault is not None:
            columns.header = opening.sample[0]
        elif _all_numbers(first, layout):
            columns.add(first, opening.first_line)
        else:
            doubtful = first
    line = opening.first_line + 1
    for block in in_order(read_block, ((b, layout) for b in opening.rest if b), threads):
        columns.add(block, line)
        line += block.n_lines
        if consume is not None:
            consume(columns)
    if doubtful is not None:
        _settle(columns, doubtful, opening)
    elif columns.header is not None and columns.rows == 0:
        raise fault_error(first.fault, name, opening.first_line)  # type: ignore[arg-type]
    return columns


def _first_ids(block: TextBlock, layout: Layout) -> list[str]:
    pieces = [column[0] for column in block.columns[: layout.n_ids]]
    return [str(piece[0]) for piece in pieces]


def _all_numbers(block: TextBlock, layout: Layout) -> bool:
    return all(is_number(field) for field in _first_ids(block, layout))


def _settle(columns: Columns, doubtful: TextBlock, opening: _Opening) -> None:
    """A first line of text above a column of integers is a header, else a row like the others."""
    names = columns.layout.names[: columns.layout.n_ids]
    for name, field in zip(names, _first_ids(doubtful, columns.layout), strict=True):
        if columns.rows and columns.integers(name) and not is_number(field):
            columns.header = opening.sample[0]
            return
    columns.put_first(doubtful, opening.first_line)

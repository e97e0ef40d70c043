"""One block of a text file to columns: integers where all are, text else; faults with their line.

A pure function of the block, so that blocks can be read by several threads.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie.data.text_layout import Layout

_ROWS = 1 << 15  # rows cut at a time: their bounds fit the cache
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.I)

Column = Any  # a numpy array of numbers, or a dictionary-encoded pyarrow array of text


class Fault(NamedTuple):
    """What is wrong with a line of the block (its number counted from 0)."""

    line: int
    problem: str
    remedy: str
    header: bool = False  # on the first line of a file it may be a header instead


class TextBlock(NamedTuple):
    """What a block held, up to its first fault."""

    columns: list[list[Column]]  # for each wanted column its pieces, one after another
    rows: int
    breaks: list[tuple[int, int]]  # (row, line): from this row on lines count up by one
    n_lines: int
    comments: list[tuple[int, str]]
    fault: Fault | None


class _FaultError(Exception):
    def __init__(self, fault: Fault) -> None:
        self.fault = fault


def read_block(block: bytes, layout: Layout) -> TextBlock:
    """Cut and read the wanted fields of every line."""
    if not block.endswith(b"\n"):
        block += b"\n"
    return _read_plain(block, layout) or _read_any(block, layout)


def _read_plain(block: bytes, layout: Layout) -> TextBlock | None:
    """A block of nothing but integers below 2**31, or None."""
    from coterie.kernels.io import text

    capacity = len(block) // (2 * len(layout.slot)) + 1  # a digit and a sign for each field
    values = np.empty((len(layout.names), capacity), np.int32)
    buffer, separator = _as_bytes(block), _as_bytes(layout.separator.encode())
    rows = text.read_plain(buffer, separator, layout.slot, values)
    if rows < 0:
        return None
    first_time = layout.n_ids + layout.n_numbers
    columns: list[list[Column]] = []
    for slot, column in enumerate(values[:, :rows]):
        wide = np.float64 if slot < first_time else np.int64
        columns.append([column.copy() if slot < layout.n_ids else column.astype(wide)])
    return TextBlock(columns, rows, [(0, 0)] if rows else [], rows, [], None)


def _as_bytes(content: bytes) -> np.ndarray:
    return np.frombuffer(content, np.uint8)


def _read_any(block: bytes, layout: Layout) -> TextBlock:
    from coterie.kernels.io import text

    buffer, separator = _as_bytes(block), _as_bytes(layout.separator.encode())
    readers = _readers(layout)
    starts, ends = np.empty((2, len(readers), _ROWS), np.int32)
    lines = np.empty(_ROWS, np.int64)
    columns: list[list[Column]] = [[] for _ in readers]
    breaks: list[tuple[int, int]] = []
    comments: list[tuple[int, str]] = []
    place, line, rows, next_line = 0, 0, 0, -1
    while True:
        status, place, line, count, column = text.cut_fields(
            buffer, place, len(buffer), separator, layout.quoting, layout.slot, line,
            starts, ends, lines,
        )  # fmt: skip
        try:
            for slot, reader in enumerate(readers):
                cut = _Cut(buffer, starts[slot, :count], ends[slot, :count], lines, layout.quoting)
                if count:
                    columns[slot].append(reader(cut, layout.names[slot]))
        except _FaultError as found:
            return TextBlock(columns, rows, breaks, line, comments, found.fault)
        if count:
            jumps = np.flatnonzero(np.diff(lines[:count], prepend=next_line - 1) != 1)
            breaks += [(rows + int(row), int(lines[row])) for row in jumps]
            next_line = int(lines[count - 1]) + 1
            rows += count
        if status == text.DONE:
            return TextBlock(_joined(columns), rows, breaks, line, comments, None)
        if status == text.COMMENT:
            comment, place = _rest_of_line(block, place)
            comments.append((line, comment))
            line += 1
        elif status != text.FULL:
            content, _ = _rest_of_line(block, place)
            fault = _layout_fault(status, line, column, content, layout)
            return TextBlock(columns, rows, breaks, line, comments, fault)


def _joined(columns: list[list[Column]]) -> list[list[Column]]:
    """Integers and numbers in one piece; text stays in the pieces it was read in."""
    arrays = [all(isinstance(piece, np.ndarray) for piece in column) for column in columns]
    return [
        [np.concatenate(column)] if plain and len(column) > 1 else column
        for column, plain in zip(columns, arrays, strict=True)
    ]


class _Cut(NamedTuple):
    """Fields of one column."""

    buffer: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    lines: np.ndarray
    quoting: bool

    def text(self, row: int) -> str:
        field = bytes(self.buffer[self.starts[row] : self.ends[row]])
        return field.decode(errors="replace")

    def integers(self) -> np.ndarray | None:
        """int64 values, or None where a field is no integer as a computer writes it."""
        from coterie.kernels.io import text

        values = np.empty(len(self.starts), np.int64)
        return (
            values if text.read_integers(self.buffer, self.starts, self.ends, values) < 0 else None
        )

    def strings(self) -> pa.Array:
        from coterie.kernels.io import text

        offsets = np.empty(len(self.starts) + 1, np.int32)
        data = np.empty(int((self.ends - self.starts).sum()), np.uint8)
        text.gather_fields(self.buffer, self.starts, self.ends, self.quoting, offsets, data)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        strings = pa.Array.from_buffers(pa.string(), len(self.starts), buffers)
        try:
            strings.validate(full=True)
        except pa.ArrowInvalid:
            raise _FaultError(self._not_unicode()) from None
        return strings

    def _not_unicode(self) -> Fault:
        rows = range(len(self.starts))
        row = next(row for row in rows if "\ufffd" in self.text(row))
        return Fault(
            int(self.lines[row]), f"{self.text(row)!r} is not UTF-8", "save the file as UTF-8"
        )


def _readers(layout: Layout) -> list[Callable[[_Cut, str], Column]]:
    times = len(layout.names) - layout.n_ids - layout.n_numbers
    return [_ids] * layout.n_ids + [_numbers] * layout.n_numbers + [_times] * times


def _ids(cut: _Cut, name: str) -> Column:
    """int32 where they fit, int64, or text with each distinct id stored once."""
    values = cut.integers()
    if values is None:
        return cut.strings().dictionary_encode()
    small = values.min() >= -(2**31) and values.max() < 2**31
    return values.astype(np.int32) if small else values


def _numbers(cut: _Cut, name: str) -> Column:
    values = cut.integers()
    if values is not None:
        return values.astype(np.float64)
    strings = cut.strings()
    try:
        numbers = pc.cast(strings, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        numbers = _one_by_one(cut, strings.to_pylist(), name)
    finite = np.isfinite(numbers)
    if not finite.all():
        row = int(np.argmin(finite))
        problem = f"the {name} {cut.text(row)!r} is not finite"
        raise _FaultError(Fault(int(cut.lines[row]), problem, "mend or remove the line"))
    return numbers


def _one_by_one(cut: _Cut, fields: list[str], name: str) -> np.ndarray:
    for row, field in enumerate(fields):
        if not is_number(field):
            problem = f"the {name} {field!r} is not a number"
            raise _FaultError(
                Fault(int(cut.lines[row]), problem, "mend or remove the line", header=True)
            )
    return np.array([float(field) for field in fields])


def _times(cut: _Cut, name: str) -> Column:
    """Integers, else numbers; an empty column if they are neither."""
    values = cut.integers()
    if values is not None:
        return values
    try:
        return _numbers(cut, name)
    except _FaultError:
        return np.empty(0)


def is_number(field: str) -> bool:
    """Whether people would call it a number.

    >>> [is_number(field) for field in ("007", "-1.5e3", ".5", "1_000", "x", "٣")]
    [True, True, True, False, False, False]
    """
    return field.isascii() and _NUMBER.fullmatch(field) is not None


def _rest_of_line(block: bytes, place: int) -> tuple[str, int]:
    """The line at `place`, and where the next one begins."""
    match = re.compile(rb"[^\r\n]*").match(block, place)
    end = match.end() if match else place
    after = end + (2 if block[end : end + 2] == b"\r\n" else 1)
    return block[place:end].decode(errors="replace"), min(after, len(block))


def _layout_fault(status: int, line: int, column: int, content: str, layout: Layout) -> Fault:
    from coterie.kernels.io import text

    shown = content.strip()
    shown = repr(shown if len(shown) <= 60 else shown[:57] + "...")
    if status == text.SHORT:
        needed = len(layout.slot)
        return Fault(
            line,
            f"{column} field{'s' * (column != 1)} where {needed} are needed"
            f" ({', '.join(layout.names)}): {shown}",
            "mend or remove the line, or name the separator (--separator)",
        )
    name = layout.names[layout.slot[column]] if layout.slot[column] >= 0 else "field"
    if status == text.EMPTY:
        return Fault(line, f"the {name} is empty: {shown}", "fill it in or remove the line")
    return Fault(line, f"a quote is not closed properly: {shown}", "mend the line")

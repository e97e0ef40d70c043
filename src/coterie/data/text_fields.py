"""Convert one block of a text file to columns, with the line of the first error.

A column is integer if all of its fields are, otherwise text. Blocks are independent of each other,
so that several threads can read them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from coterie.base.lazy_modules import pyarrow_compute as pc
from coterie.data.text_layout import Layout

_ROWS = 1 << 15  # rows split at once: the bounds of their fields fit into the cache
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?)?")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.I)

Column = Any  # a numpy array of numbers, or a dictionary-encoded pyarrow array of text


class Fault(NamedTuple):
    """An error in a line of the block (lines are counted from 0)."""

    line: int
    problem: str
    remedy: str
    header: bool = False  # the first line of a file may be a header instead
    is_unicode: bool = True


class TextBlock(NamedTuple):
    """The content of a block, up to its first fault."""

    columns: list[list[Column]]  # the pieces of each wanted column, in order
    rows: int
    breaks: list[tuple[int, int]]  # (row, line): from this row on, rows are on consecutive lines
    n_lines: int
    comments: list[tuple[int, str]]
    fault: Fault | None


class _FaultError(Exception):
    """Carries a fault to the function that reads the block."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault


def read_block(block: bytes, layout: Layout) -> TextBlock:
    """Read the wanted fields of every line."""
    if not block.endswith(b"\n"):
        block += b"\n"
    return _read_plain(block, layout) or _read_any(block, layout)


def _read_plain(block: bytes, layout: Layout) -> TextBlock | None:
    """Read a block that contains only integers below 2**31; otherwise return None."""
    from coterie.kernels.io import text

    capacity = len(block) // (2 * len(layout.slot)) + 1  # a digit and a separator per field
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
    """Read any block."""
    from coterie.kernels.io import text

    buffer, separator = _as_bytes(block), _as_bytes(layout.separator.encode())
    readers = _readers(layout)
    capacity = min(_ROWS, block.count(b"\n") + block.count(b"\r"))
    starts, ends = np.empty((2, len(readers), capacity), np.int32)
    lines = np.empty(capacity, np.int64)
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
                bounds = starts[slot, :count], ends[slot, :count]
                fields = _ColumnFields(buffer, *bounds, lines, layout.quoting, layout.decimal_comma)
                if count:
                    columns[slot].append(reader(fields, layout.names[slot]))
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
    """Join the pieces of columns of numbers; text stays in pieces."""
    arrays = [all(isinstance(piece, np.ndarray) for piece in column) for column in columns]
    return [
        [np.concatenate(column)] if plain and len(column) > 1 else column
        for column, plain in zip(columns, arrays, strict=True)
    ]


class _ColumnFields(NamedTuple):
    """The fields of one column in some rows, as bounds in the block."""

    buffer: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    lines: np.ndarray
    quoting: bool
    decimal_comma: bool = False

    def text(self, row: int) -> str:
        """Return one field as text."""
        field = bytes(self.buffer[self.starts[row] : self.ends[row]])
        return field.decode(errors="replace")

    def integers(self) -> np.ndarray | None:
        """Return int64 values, or None if a field is not an integer in its usual form ("007")."""
        from coterie.kernels.io import text

        values = np.empty(len(self.starts), np.int64)
        return (
            values if text.read_integers(self.buffer, self.starts, self.ends, values) < 0 else None
        )

    def strings(self) -> pa.Array:
        """Return the fields as text; invalid UTF-8 is a fault."""
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
        problem = f"{self.text(row)!r} is not UTF-8"
        return Fault(int(self.lines[row]), problem, "save the file as UTF-8", is_unicode=False)


def _readers(layout: Layout) -> list[Callable[[_ColumnFields, str], Column]]:
    """Return the function that reads each wanted column."""
    times = len(layout.names) - layout.n_ids - layout.n_numbers
    return [_read_ids] * layout.n_ids + [_read_numbers] * layout.n_numbers + [_read_times] * times


def _read_ids(fields: _ColumnFields, name: str) -> Column:
    """Return int32 if the ids fit, else int64, or text with each distinct id stored once."""
    values = fields.integers()
    if values is None:
        return fields.strings().dictionary_encode()
    small = values.min() >= -(2**31) and values.max() < 2**31
    return values.astype(np.int32) if small else values


def _read_numbers(fields: _ColumnFields, name: str) -> Column:
    """Return finite numbers; anything else is a fault."""
    values = fields.integers()
    if values is not None:
        return values.astype(np.float64)
    strings = fields.strings()
    if fields.decimal_comma:
        strings = _with_points(fields, strings, name)
    try:
        numbers = pc.cast(strings, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        numbers = _numbers_one_by_one(fields, strings.to_pylist(), name)
    finite = np.isfinite(numbers)
    if not finite.all():
        row = int(np.argmin(finite))
        problem = f"the {name} {fields.text(row)!r} is not finite"
        raise _FaultError(Fault(int(fields.lines[row]), problem, "fix or remove the line"))
    return numbers


def _with_points(fields: _ColumnFields, strings: pa.Array, name: str) -> pa.Array:
    """Replace decimal commas by points; "1,000" could also be a thousand and is a fault."""
    texts = strings.to_pylist()
    for row, field in enumerate(texts):
        if THOUSANDS.fullmatch(field):
            problem = f"the {name} {field!r} can be read in two ways: a decimal comma or a thousand"
            remedy = "write a decimal point, or leave out the comma"
            raise _FaultError(Fault(int(fields.lines[row]), problem, remedy))
    return pa.array(map(with_point, texts), pa.string())


def with_point(field: str) -> str:
    """Return a number that is written with a decimal comma with a point; other text unchanged."""
    return field.replace(",", ".") if DECIMAL_COMMA.fullmatch(field) else field


def _numbers_one_by_one(fields: _ColumnFields, texts: list[str], name: str) -> np.ndarray:
    """Convert fields that pyarrow cannot convert; a field that is not a number is a fault."""
    for row, field in enumerate(texts):
        if not is_number(field):
            problem = f"the {name} {field!r} is not a number"
            raise _FaultError(
                Fault(int(fields.lines[row]), problem, "fix or remove the line", header=True)
            )
    return np.array([float(field) for field in texts])


def _read_times(fields: _ColumnFields, name: str) -> Column:
    """Return integers, else numbers; an empty column if the fields are neither."""
    values = fields.integers()
    if values is not None:
        return values
    try:
        return _read_numbers(fields, name)
    except _FaultError:
        return _read_dates(fields)


def _read_dates(fields: _ColumnFields) -> Column:
    """Return dates such as 2026-11-17 or 2026-11-17T08:30 in microseconds; else an empty column."""
    try:
        texts = fields.strings().to_pylist()
    except _FaultError:
        return np.empty(0)
    if not all(is_date(text) for text in texts):
        return np.empty(0)
    try:
        parsed = [datetime.fromisoformat(text) for text in texts]
    except ValueError:
        return np.empty(0)
    start = datetime(1970, 1, 1, tzinfo=UTC)
    aware = [time if time.tzinfo else time.replace(tzinfo=UTC) for time in parsed]
    return np.array([(time - start) // timedelta(microseconds=1) for time in aware], np.int64)


def is_number(field: str) -> bool:
    """Return whether a field is a number in decimal notation.

    >>> [is_number(field) for field in ("007", "-1.5e3", ".5", "1_000", "x", "٣")]
    [True, True, True, False, False, False]
    """
    return field.isascii() and _NUMBER.fullmatch(field) is not None


def is_quantity(field: str) -> bool:
    """Return whether a field is a number, also with a decimal comma."""
    return is_number(field) or DECIMAL_COMMA.fullmatch(field) is not None


def is_date(field: str) -> bool:
    """Return whether a field is a date, or a date and time, in ISO form.

    >>> is_date("2026-11-17"), is_date("2026-11-17T08:30:00Z"), is_date("train")
    (True, True, False)
    """
    return _DATE.fullmatch(field) is not None


def count_lines(block: bytes) -> int:
    """Return the number of line ends.

    >>> count_lines(b"a\\r\\nb\\rc\\n")
    3
    """
    return block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")


def _rest_of_line(block: bytes, place: int) -> tuple[str, int]:
    """Return the line at `place`, and where the next one begins."""
    match = re.compile(rb"[^\r\n]*").match(block, place)
    end = match.end() if match else place
    after = end + (2 if block[end : end + 2] == b"\r\n" else 1)
    return block[place:end].decode(errors="replace"), min(after, len(block))


def _layout_fault(status: int, line: int, column: int, content: str, layout: Layout) -> Fault:
    """Return the fault of a line that does not have the expected fields."""
    from coterie.kernels.io import text

    shown = content.strip()
    shown = repr(shown if len(shown) <= 60 else shown[:57] + "...")
    if status == text.SHORT:
        needed = len(layout.slot)
        return Fault(
            line,
            f"{column} field{'s' * (column != 1)}, but {needed} are needed"
            f" ({', '.join(layout.names)}): {shown}",
            "add a column of ratings, or set `likes` for pairs without ratings"
            if "rating" in layout.names and column == 2
            else "fix or remove the line, or set `separator`",
        )
    name = layout.names[layout.slot[column]] if layout.slot[column] >= 0 else "field"
    if status == text.EMPTY:
        return Fault(line, f"the {name} is empty: {shown}", "fill it in or remove the line")
    return Fault(line, f"a quote is not closed properly: {shown}", "fix the line")

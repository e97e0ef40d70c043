"""Cut text into lines and fields, and read integers, without creating Python objects.

Used by `data/text_fields.py`.

    buffer       uint8, a piece of a file that ends with a whole line (or with the file)
    separator    uint8, one or more bytes; empty: runs of blanks and tabs
    slot         int64, column -> row of `starts`/`ends`, -1 for a column that is not needed
    starts, ends int64, slots x capacity: bounds of the needed fields of each row in the buffer
    lines        int64, capacity: the line number of each row

Blanks around a field are removed. A quoted field starts after its quote: buffer[start - 1] is ".
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit

DONE, FULL, COMMENT, SHORT, EMPTY, QUOTE = range(6)

_BLANK, _TAB, _NEWLINE, _RETURN, _QUOTE, _HASH, _PERCENT, _MINUS, _ZERO = (
    np.uint8(ord(c)) for c in ' \t\n\r"#%-0'
)
_ONE = np.uint64(1)
_LARGEST = np.uint64(2**63 - 1)
_TENTH = np.uint64((2**63 - 1) // 10)


@njit(forceinline=True, cache=True)
def _ends_line(byte):
    """Return whether this byte ends a line."""
    return (byte == _NEWLINE) | (byte == _RETURN)


@njit(forceinline=True, cache=True)
def _next_line(buffer, p, end):
    """Return the place after the line end at or after p; \\r\\n is one line end."""
    while p < end and not _ends_line(buffer[p]):
        p += 1
    if p + 1 < end and buffer[p] == _RETURN and buffer[p + 1] == _NEWLINE:
        p += 1
    return p + 1 if p < end else end


@njit(forceinline=True, cache=True)
def _at_separator(buffer, p, end, separator):
    """Return whether the separator starts at p."""
    if buffer[p] != separator[0]:
        return False
    for i in range(1, len(separator)):
        if p + i >= end or buffer[p + i] != separator[i]:
            return False
    return True


@njit(nogil=True, cache=True)
def cut_fields(buffer, begin, end, separator, quoting, slot, first_line, starts, ends, lines):
    """Find the bounds of the needed fields, line by line, until a line needs the caller.

    Return (status, place, line, rows, column): `place` is the start of the line that stopped the
    scan and `line` its number (DONE and FULL: where to continue); `column` is the number of fields
    found (SHORT) or the field with the error (EMPTY, QUOTE)."""
    runs = len(separator) == 0
    tab_is_blank = runs or separator[0] != _TAB
    wanted = len(slot)
    capacity = len(lines)
    p, line, row = begin, first_line, 0
    while p < end:
        line_begin = p
        while p < end and (buffer[p] == _BLANK or (tab_is_blank and buffer[p] == _TAB)):
            p += 1
        if p == end or _ends_line(buffer[p]):
            p = _next_line(buffer, p, end)
            line += 1
            continue
        if buffer[p] == _HASH or buffer[p] == _PERCENT:
            return COMMENT, line_begin, line, row, 0
        if row == capacity:
            return FULL, line_begin, line, row, 0
        column = 0
        while True:
            while p < end and (buffer[p] == _BLANK or (tab_is_blank and buffer[p] == _TAB)):
                p += 1
            start = p
            if quoting and p < end and buffer[p] == _QUOTE:
                start = p + 1
                p = start
                while p < end and not _ends_line(buffer[p]):
                    if buffer[p] == _QUOTE:
                        if p + 1 < end and buffer[p + 1] == _QUOTE:
                            p += 1
                        else:
                            break
                    p += 1
                if p == end or _ends_line(buffer[p]):
                    return QUOTE, line_begin, line, row, column
                stop = p
                p += 1
                while p < end and (buffer[p] == _BLANK or (tab_is_blank and buffer[p] == _TAB)):
                    p += 1
                rest = p < end and not _ends_line(buffer[p])
                if rest and not _at_separator(buffer, p, end, separator):
                    return QUOTE, line_begin, line, row, column
            elif runs:
                while p < end and buffer[p] > _BLANK:
                    p += 1
                # a control byte below the blank is part of the field unless it ends it
                while (
                    p < end
                    and buffer[p] != _BLANK
                    and buffer[p] != _TAB
                    and not _ends_line(buffer[p])
                ):
                    p += 1
                stop = p
                while p < end and (buffer[p] == _BLANK or buffer[p] == _TAB):
                    p += 1
            else:
                while (
                    p < end
                    and not _ends_line(buffer[p])
                    and not _at_separator(buffer, p, end, separator)
                ):
                    p += 1
                stop = p
                while stop > start and (
                    buffer[stop - 1] == _BLANK or (tab_is_blank and buffer[stop - 1] == _TAB)
                ):
                    stop -= 1
            if slot[column] >= 0:
                if stop == start:
                    return EMPTY, line_begin, line, row, column
                starts[slot[column], row] = start
                ends[slot[column], row] = stop
            column += 1
            if p == end or _ends_line(buffer[p]):
                break
            if column == wanted:
                break
            p += len(separator)
        if column < wanted:
            return SHORT, line_begin, line, row, column
        p = _next_line(buffer, p, end)
        lines[row] = line
        line += 1
        row += 1
    return DONE, end, line, row, 0


@njit(nogil=True, cache=True)
def read_plain(buffer, separator, slot, values):
    """Read the common case at full speed: all needed fields of every line are integers.

    The buffer must end with a line end, so that no scan runs past it. values: int32, slots x
    capacity. Return the rows read, or -1 if any line is different (a comment, text, an empty line,
    a number beyond int32); then `cut_fields` must be used."""
    runs = len(separator) == 0
    tab_is_blank = runs or separator[0] != _TAB
    wanted = len(slot)
    size = np.uint64(len(buffer))
    p = np.uint64(0)  # unsigned: indexing needs no test for negative places
    row = 0
    while p < size:
        for column in range(wanted):
            gap = p
            while buffer[p] == _BLANK or (tab_is_blank and buffer[p] == _TAB):
                p += _ONE
            if column > 0:
                if runs:
                    if p == gap:
                        return -1
                else:
                    for i in range(len(separator)):
                        if buffer[p] != separator[i]:
                            return -1
                        p += _ONE
                    while buffer[p] == _BLANK or (tab_is_blank and buffer[p] == _TAB):
                        p += _ONE
            negative = buffer[p] == _MINUS
            if negative:
                p += _ONE
            begin = p
            value = np.int64(0)
            while True:
                digit = np.int64(buffer[p]) - 48
                if digit < 0 or digit > 9:
                    break
                value = value * 10 + digit
                p += _ONE
            length = np.int64(p - begin)
            if length == 0 or length > 10 or value > 2147483647:
                return -1
            if buffer[begin] == _ZERO and (length > 1 or negative):
                return -1
            if slot[column] >= 0:
                values[slot[column], row] = -value if negative else value
        number_end = p
        while buffer[p] == _BLANK or (tab_is_blank and buffer[p] == _TAB):
            p += _ONE
        if not _ends_line(buffer[p]):
            place = np.int64(p)
            more = p > number_end if runs else _at_separator(buffer, place, len(buffer), separator)
            if not more:
                return -1
            while not _ends_line(buffer[p]):
                p += _ONE
        if buffer[p] == _RETURN and p + _ONE < size and buffer[p + _ONE] == _NEWLINE:
            p += _ONE
        p += _ONE
        row += 1
    return row


@njit(nogil=True, cache=True)
def read_integers(buffer, starts, ends, values):
    """Read fields as int64 into `values`; return the first row that is not a canonical integer
    (a leading zero, a plus sign, "-0", a letter, too large), or -1."""
    for row in range(len(starts)):
        p, stop = starts[row], ends[row]
        negative = buffer[p] == _MINUS
        if negative:
            p += 1
        if p == stop or (buffer[p] == _ZERO and (negative or stop - p > 1)) or stop - p > 19:
            return row
        value = np.uint64(0)
        while p < stop:
            digit = buffer[p] - _ZERO
            if digit > 9 or value > _TENTH:
                return row
            value = value * np.uint64(10) + np.uint64(digit)
            p += 1
        if value > _LARGEST:
            return row
        values[row] = -np.int64(value) if negative else np.int64(value)
    return -1


@njit(nogil=True, cache=True)
def gather_fields(buffer, starts, ends, quoting, offsets, out):
    """Copy fields one after another into `out`; a doubled quote in a quoted field becomes one.

    offsets (int32, rows + 1) as in Arrow strings; return the number of bytes written."""
    written = 0
    for row in range(len(starts)):
        offsets[row] = written
        p, stop = starts[row], ends[row]
        quoted = quoting and p > 0 and buffer[p - 1] == _QUOTE
        while p < stop:
            out[written] = buffer[p]
            written += 1
            p += 2 if quoted and buffer[p] == _QUOTE else 1
    offsets[len(starts)] = written
    return written

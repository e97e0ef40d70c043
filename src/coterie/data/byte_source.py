"""Bytes from a path, a .gz or standard input, in blocks of whole lines; every failure is ours."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from coterie.base.errors import InputError

PathLike = str | os.PathLike[str]

_BLOCK = 1 << 22
_LONGEST_LINE = 1 << 30
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_OTHER_TEXT = (b"\xff\xfe", b"\xfe\xff")  # UTF-16


def place_name(path: PathLike) -> str:
    """How messages call it."""
    return "standard input" if str(path) == "-" else str(path)


@contextmanager
def open_bytes(path: PathLike) -> Iterator[IO[bytes]]:
    """The bytes behind a path (`-`: standard input), unpacked if they are gzip."""
    name = place_name(path)
    try:
        with _raw(path) as raw:
            if raw.peek(2)[:2] == _GZIP:
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield unpacked  # type: ignore[misc]
            else:
                yield raw
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError("there is no such file", path=name, remedy="check the name") from error
    except IsADirectoryError as error:
        raise InputError("is a folder", path=name, remedy="name a file in it") from error
    except EOFError as error:
        raise InputError(
            "the compressed file ends too early", path=name, remedy="fetch or pack it again"
        ) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"the compressed file is damaged ({error})", path=name, remedy="fetch or pack it again"
        ) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=name) from error


@contextmanager
def _raw(path: PathLike) -> Iterator[io.BufferedReader]:
    if str(path) == "-":
        stdin = sys.stdin.buffer
        yield stdin if isinstance(stdin, io.BufferedReader) else io.BufferedReader(stdin)  # type: ignore[arg-type]
        return
    with open(path, "rb") as file:
        yield file


def whole(path: PathLike) -> io.BytesIO:
    """All bytes of a file that cannot be read piece by piece."""
    with open_bytes(path) as stream:
        return io.BytesIO(stream.read())


def line_blocks(stream: IO[bytes], name: str, size: int = _BLOCK) -> Iterator[bytes]:
    """Blocks of about `size` bytes that end with a line end, but for the last; no byte order mark.

    >>> list(line_blocks(io.BytesIO(b"1 2\\n3 4\\n5 6"), "x", size=5))
    [b'1 2\\n', b'3 4\\n', b'5 6']
    """
    kept: list[bytes] = []
    waiting = 0
    first = True
    while block := stream.read(size):
        if first:
            first = False
            if block.startswith(_OTHER_TEXT):
                raise InputError("the text is UTF-16", path=name, remedy="save it as UTF-8")
            block = block.removeprefix(_BOM)
        if b"\0" in block:
            raise InputError(
                "holds zero bytes, so it is no text",
                path=name,
                remedy="give an edge list or table as text; --format names other kinds",
            )
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*kept, block[:cut]])
            kept, waiting = [], 0
            block = block[cut:]
        if block:
            kept.append(block)
            waiting += len(block)
            if waiting > _LONGEST_LINE:
                raise InputError("a line is longer than 1 GB", path=name)
    if kept:
        yield b"".join(kept)


def suffixes(path: PathLike) -> list[str]:
    """The suffixes that say what a file is, lower case, .gz taken off.

    >>> suffixes("a/b.Edges.CSV.gz")
    ['.edges', '.csv']
    """
    names = [suffix.lower() for suffix in Path(path).suffixes]
    return names[:-1] if names and names[-1] == ".gz" else names

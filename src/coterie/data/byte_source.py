"""Read bytes from a file, a .gz file or standard input, in blocks of whole lines.

Every failure is an InputError with the name of the file.
"""

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
from coterie.base.machine import physical_memory

PathLike = str | os.PathLike[str]

_BLOCK = 1 << 22
_MAX_LINE = 1 << 30
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def place_name(path: PathLike) -> str:
    """Return the name of a path for messages."""
    return "standard input" if str(path) == "-" else str(path)


def place_error(problem: str, name: str, unit: str, place: int, remedy: str) -> InputError:
    """Return an error about a line of a text, or about a row or an edge of another format."""
    if unit == "line":
        return InputError(problem, path=name, line=place, remedy=remedy)
    return InputError(f"{unit} {place}: {problem}", path=name, remedy=remedy)


@contextmanager
def open_bytes(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a path (`-`: standard input) for reading, decompressed if it is gzip."""
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
        raise InputError("no such file", path=name, remedy="check the name") from error
    except IsADirectoryError as error:
        raise InputError("is a folder", path=name, remedy="give a file in it") from error
    except EOFError as error:
        raise InputError(
            "the compressed file is truncated",
            path=name,
            remedy="download or compress it again",
        ) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"the compressed file is damaged ({error})",
            path=name,
            remedy="download or compress it again",
        ) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=name) from error


@contextmanager
def _raw(path: PathLike) -> Iterator[io.BufferedReader]:
    if str(path) == "-":
        if sys.stdin is None:
            raise InputError("is closed", path=place_name(path), remedy="give a file")
        stdin = sys.stdin.buffer
        yield stdin if isinstance(stdin, io.BufferedReader) else io.BufferedReader(stdin)  # type: ignore[arg-type]
        return
    with open(path, "rb") as file:
        yield file


def first_bytes(path: PathLike, size: int = 1 << 14) -> bytes:
    """Return the first bytes of a file, decompressed; standard input is not consumed.

    Empty if the file cannot be read: the reader that comes next says why.
    """
    try:
        if str(path) == "-":
            stdin = getattr(sys.stdin, "buffer", None)
            if not isinstance(stdin, io.BufferedReader):
                return b""
            head = stdin.peek(size)
            return _unpacked_start(head, size) if head.startswith(_GZIP) else head[:size]
        if not os.path.isfile(path):  # a pipe can be read only once
            return b""
        with open_bytes(path) as stream:
            return stream.read(size)
    except (InputError, OSError):
        return b""


def _unpacked_start(head: bytes, size: int) -> bytes:
    """Return the beginning of what gzip compressed, from the beginning of the compressed bytes."""
    try:
        return zlib.decompressobj(wbits=31).decompress(head, size)
    except zlib.error:
        return b""


def read_all(path: PathLike) -> io.BytesIO:
    """Read all bytes of a file whose format cannot be read in pieces."""
    with open_bytes(path) as stream:
        return io.BytesIO(stream.read())


def line_blocks(stream: IO[bytes], name: str, size: int = _BLOCK) -> Iterator[bytes]:
    """Yield blocks of about `size` bytes of whole lines, without the byte order mark.

    >>> list(line_blocks(io.BytesIO(b"1 2\\n3 4\\n5 6"), "x", size=5))
    [b'1 2\\n', b'3 4\\n', b'5 6']
    """
    kept: list[bytes] = []
    n_kept = 0
    first = True
    while block := stream.read(size):
        if first:
            first = False
            if block.startswith(_UTF_16):
                raise InputError("the text is UTF-16", path=name, remedy="save it as UTF-8")
            block = block.removeprefix(_BOM)
        if b"\0" in block:
            raise InputError(
                "contains zero bytes, so it is not a text file",
                path=name,
                remedy="set `format` if it is not text",
            )
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*kept, block[:cut]])
            kept, n_kept = [], 0
            block = block[cut:]
        if block:
            kept.append(block)
            n_kept += len(block)
            if n_kept > _MAX_LINE:
                raise InputError("a line is longer than 1 GB", path=name, remedy="check the file")
    if kept:
        yield b"".join(kept)


def max_nodes() -> int:
    """Return how many nodes could fit into the memory of this machine."""
    return physical_memory() // 24


def suffixes(path: PathLike) -> list[str]:
    """Return the suffixes of a file name in lower case, without .gz.

    >>> suffixes("a/b.Edges.CSV.gz")
    ['.edges', '.csv']
    """
    names = [suffix.lower() for suffix in Path(path).suffixes]
    return names[:-1] if names and names[-1] == ".gz" else names

"""Files of named arrays: safetensors with a JSON header and a checksum.

Saved recommenders and sketches are such files. Loading one runs no code; a file that was truncated
or changed is refused. The same content always gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject


class FileKind(NamedTuple):
    """A kind of file: the key of its header, and the words of its messages."""

    key: str
    what: str  # as in "is not … or was truncated"
    written_by: str
    written: str  # as in "was changed after it was …"
    remedy: str  # for a damaged file


def to_bytes(kind: FileKind, header: JsonObject, arrays: dict[str, np.ndarray]) -> bytes:
    """Return the content of a file; the header gets a checksum."""
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    complete = {**header, "sha256": checksum(header, arrays)}
    return write_tensors(arrays, {kind.key: json.dumps(complete, sort_keys=True)})


def read_arrays(
    kind: FileKind,
    path: str | PathLike[str],
    check_format: Callable[[JsonObject], None],
) -> tuple[JsonObject, dict[str, np.ndarray]]:
    """Return the header and the arrays of a file.

    `check_format` gets the header before the arrays are read. It raises InputError for a version
    that cannot be read, and any of the errors of a wrong type for a header of another kind.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    length = int.from_bytes(content[:8], "little")
    try:
        outer = json.loads(content[8 : 8 + length]) if length <= len(content) else None
        header: JsonObject = json.loads(outer["__metadata__"][kind.key])  # type: ignore[index]
        check_format(header)
    except InputError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        raise InputError(
            f"is not {kind.what}, or was truncated",
            path=path,
            remedy=f"give a file that {kind.written_by} wrote",
        ) from None
    try:
        arrays = read_tensors(content)
    except (SafetensorError, ValueError, KeyError, MemoryError, OverflowError) as error:
        raise InputError(
            f"was truncated or changed ({error})", path=path, remedy=kind.remedy
        ) from error
    expected = header.pop("sha256", None)
    if checksum(header, arrays) != expected:
        raise InputError(
            f"was changed after it was {kind.written}: the checksum is wrong",
            path=path,
            remedy=kind.remedy,
        )
    return header, arrays


def checksum(header: JsonObject, arrays: dict[str, np.ndarray]) -> str:
    """Return the SHA-256 of a header and of the names, types, shapes and contents of arrays.

    >>> one = checksum({"format": 1}, {"a": np.arange(3)})
    >>> one == checksum({"format": 1}, {"a": np.arange(3)})
    True
    >>> one == checksum({"format": 1}, {"a": np.arange(3, dtype=np.int16)})
    False
    """
    made = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        made.update(f"{name} {array.dtype.str} {array.shape}".encode())
        made.update(array.tobytes())
    return made.hexdigest()


def packed_text(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return texts as UTF-8 bytes and where each ends.

    >>> unpacked_text(*packed_text(["a", "", "é"])).tolist()
    ['a', '', 'é']
    """
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), ends


def unpacked_text(text: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the texts (object array) that `packed_text` packed."""
    content, places = text.tobytes(), ends.tolist()
    texts = np.empty(len(ends), object)
    texts[:] = [content[a:b].decode() for a, b in zip([0, *places], places, strict=False)]
    return texts

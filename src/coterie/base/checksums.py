"""Checksums of files that consist of a JSON header and named arrays."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from coterie.base.json_values import JsonObject


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

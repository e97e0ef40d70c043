"""The one JSON object that `--json` prints."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def as_json(result: Any) -> str:
    """Strict JSON: NaN and infinity, which JSON does not have, become null.

    >>> import numpy as np
    >>> as_json({"k": np.int64(3), "s": (np.array([1.5, np.nan]), float("inf"))})
    '{"k": 3, "s": [[1.5, null], null]}'
    """
    return json.dumps(_plain(result), allow_nan=False)


def _plain(value: Any) -> Any:
    """Python's own types from numpy's, named tuples (as objects) and anything else (as text)."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    return str(value)

"""Convert results to JSON, for commands, audits, checkpoints and benchmarks."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

JsonObject = dict[str, Any]  # what becomes one JSON object; results are typed until then


def as_json(result: Any, *, indent: int | None = None) -> str:
    """Return strict JSON; NaN and infinity, which JSON does not have, become null.

    >>> import numpy as np
    >>> as_json({"k": np.int64(3), "s": (np.array([1.5, np.nan]), float("inf"))})
    '{"k": 3, "s": [[1.5, null], null]}'
    """
    return json.dumps(json_value(result), allow_nan=False, indent=indent)


def json_value(value: Any, *, exact: bool = False) -> Any:
    """Return the value made of plain Python types.

    NumPy scalars and arrays become numbers and lists, dataclasses and named tuples become
    objects (fields that start with an underscore are left out), anything unknown becomes text.
    With `exact`, for files that are read back, infinity and NaN stay and unknown types are
    errors.

    >>> from coterie.base.progress import Iteration
    >>> json_value(Iteration(1, 0.5, float("inf")))
    {'iteration': 1, 'seconds': 0.5, 'entropy': None, 'moved': None}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        value = {
            field.name: getattr(value, field.name)
            for field in fields(value)
            if not field.name.startswith("_")
        }
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): json_value(item, exact=exact) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item, exact=exact) for item in value]
    if isinstance(value, float):
        return value if exact or math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    if exact:
        raise TypeError(f"{type(value).__name__} cannot be written as JSON")
    return str(value)

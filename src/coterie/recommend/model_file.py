"""Saved recommenders: a safetensors file whose header says what it is, with a checksum.

Loading one runs no code. A file that was cut short, changed, or written by a newer format is
refused. The same recommender gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

from coterie.base.errors import InputError
from coterie.data.writers import atomic_write
from coterie.models.base import Estimator
from coterie.recommend.id_lookup import Names
from coterie.recommend.rating_table import RatingTable
from coterie.recommend.recommender import Recommender
from coterie.recommend.registry import adapter_class

FORMAT = 2
_KEY = "coterie"


def save(recommender: Recommender, path: str | os.PathLike[str]) -> None:
    """Write a fitted recommender; the file appears whole or not at all."""
    table = recommender.table_
    tensors = {
        **{f"model.{name}": array for name, array in recommender.adapter_.arrays().items()},
        "table.users": table.users,
        "table.items": table.items,
        "table.levels": table.levels,
        "table.unrated_users": table.unrated[0],
        "table.unrated_items": table.unrated[1],
        **_packed("users", recommender.users_),
        **_packed("items", recommender.items_),
    }
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    header = {"kind": recommender.adapter_.kind, **_described(recommender.model_)}
    header["format"] = FORMAT
    header["sha256"] = _digest(header, tensors)
    content = write_tensors(tensors, {_KEY: json.dumps(header, sort_keys=True)})
    with atomic_write(path, "wb") as file:
        file.write(content)


def load_recommender(path: str | os.PathLike[str]) -> Recommender:
    """A recommender from a file that `Recommender.save` wrote."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    header = _header(content, path)
    try:
        tensors = read_tensors(content)
    except SafetensorError as error:
        raise InputError(
            f"was cut short or changed ({error})", path=path, remedy="save the model again"
        ) from error
    expected = header.pop("sha256", None)
    if _digest(header, tensors) != expected:
        raise InputError(
            "was changed after it was saved: its checksum does not fit",
            path=path,
            remedy="save the model again",
        )
    return _restored(header, tensors)


def _header(content: bytes, path: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON header, or a message that says why this is no model of ours."""
    length = int.from_bytes(content[:8], "little")
    try:
        outer = json.loads(content[8 : 8 + length]) if length <= len(content) else None
        header: dict[str, Any] = json.loads(outer["__metadata__"][_KEY])  # type: ignore[index]
        version = int(header["format"])
    except (ValueError, TypeError, KeyError, UnicodeDecodeError):
        raise InputError(
            "is not a saved model of coterie, or was cut short",
            path=path,
            remedy="give a file that `coterie recommend fit --out` wrote",
        ) from None
    if version > FORMAT:
        raise InputError(
            f"has format {version}, and this version of coterie reads up to {FORMAT}",
            path=path,
            remedy="upgrade coterie",
        )
    return header


def _restored(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> Recommender:
    arrays = {
        name.removeprefix("model."): array
        for name, array in tensors.items()
        if name.startswith("model.")
    }
    adapter = adapter_class(header["kind"]).from_arrays(arrays)
    users, items = _unpacked("users", tensors), _unpacked("items", tensors)
    table = RatingTable(
        tensors["table.users"],
        tensors["table.items"],
        tensors["table.levels"],
        len(users),
        len(items),
        len(adapter.values),
        (tensors["table.unrated_users"], tensors["table.unrated_items"]),
    )
    model = _estimator(header["estimator"], header["parameters"])
    recommender = Recommender(model)
    recommender._settle(model, adapter, table, users, items)
    return recommender


def _described(model: Any) -> dict[str, Any]:
    """The estimator's name and those parameters that a file can hold."""
    plain = {
        name: value
        for name, value in model.get_params().items()
        if value is None or isinstance(value, int | float | str | tuple | list)
    }
    return {"estimator": type(model).__name__, "parameters": plain}


def _estimator(name: str, parameters: dict[str, Any]) -> Estimator:
    import coterie

    known = ("AdditiveBlockModel", "GeneralizedKMeans", "MCMMSBM", "MMSBM")
    if name not in known:
        raise InputError(f"the file names an unknown model {name!r}", remedy="upgrade coterie")
    pairs = {key: tuple(x) if isinstance(x, list) else x for key, x in parameters.items()}
    model: Estimator = getattr(coterie, name)(**pairs)
    return model


def _packed(side: str, names: Names) -> dict[str, np.ndarray]:
    """Integer ids as they are; text as one run of UTF-8 and where each id ends."""
    if names.ids.dtype.kind in "iu":
        return {f"{side}.ids": names.ids.astype(np.int64)}
    if odd := [name for name in names.ids.tolist() if not isinstance(name, str)]:
        raise InputError(
            f"the id {odd[0]!r} is neither a number nor text, and cannot be saved",
            remedy="use integers or text as ids",
        )
    encoded = [name.encode() for name in names.ids.tolist()]
    return {
        f"{side}.text": np.frombuffer(b"".join(encoded), np.uint8),
        f"{side}.ends": np.cumsum([len(name) for name in encoded], dtype=np.int64),
    }


def _unpacked(side: str, tensors: dict[str, np.ndarray]) -> Names:
    if f"{side}.ids" in tensors:
        return Names(tensors[f"{side}.ids"])
    text, ends = tensors[f"{side}.text"].tobytes(), tensors[f"{side}.ends"].tolist()
    ids = np.empty(len(ends), object)
    ids[:] = [text[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)]
    return Names(ids)


def _digest(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> str:
    """A checksum of everything in the file but itself."""
    sum_ = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(tensors):
        array = tensors[name]
        sum_.update(f"{name} {array.dtype.str} {array.shape}".encode())
        sum_.update(array.tobytes())
    return sum_.hexdigest()

"""Shards as files that every worker can read: one safetensors file each, and a manifest.

    DIR/manifest.json      format, kind of shard, facts about the whole, checksum of each file
    DIR/shard-00000.safetensors …

A task loads its shard itself, so a shard is not lost when a worker dies: it is read again. The
files contain no pickle, so loading one runs no code.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from coterie.base.array_checks import ArrayError, check_array, file_errors
from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.data.atomic_files import atomic_write

FORMAT = 1
MANIFEST = "manifest.json"
_SHARDS_CACHED = 256  # per process


class ShardLimits(NamedTuple):
    """What the manifest says about a shard of rows; the shard is checked against it."""

    first: int  # number of its first row
    rows: int
    columns: int  # number of nodes or items
    levels: int  # number of channels; 0: it has no channels
    largest_weight: float | None = None  # None: any


class ShardRef(NamedTuple):
    """The path of a shard, its checksum, and the named tuple that it becomes."""

    path: str
    sha256: str
    kind: type[Any]
    limits: ShardLimits | None = None  # None: a shard that this process wrote


def write_shard(folder: Path, number: int, part: Any) -> ShardRef:
    """Write one shard; fields that are None are left out, numbers become 0-d arrays."""
    arrays = {
        name: np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)
        for name, value in part._asdict().items()
        if value is not None
    }
    content = save(arrays)
    path = folder / f"shard-{number:05d}.safetensors"
    with atomic_write(path, "wb") as file:
        file.write(content)
    return ShardRef(str(path), hashlib.sha256(content).hexdigest(), type(part))


def write_manifest(folder: Path, refs: list[ShardRef], kind: type[Any], whole: JsonObject) -> None:
    """Write the manifest, last of all: a folder without it is not a set of shards."""
    manifest = {
        "format": FORMAT,
        "kind": kind.__name__,
        "whole": whole,
        "shards": [{"file": Path(ref.path).name, "sha256": ref.sha256} for ref in refs],
    }
    with atomic_write(folder / MANIFEST, "w") as file:
        json.dump(manifest, file, indent=1)


def read_manifest(folder: Path, kind: type[Any]) -> tuple[list[ShardRef], JsonObject]:
    """Return the shards of a folder and the facts about the whole."""
    path = Path(folder) / MANIFEST
    try:
        manifest = json.loads(path.read_text())
        version, found, whole = manifest["format"], manifest["kind"], manifest["whole"]
        refs = [
            ShardRef(str(Path(folder) / _file_name(entry["file"])), str(entry["sha256"]), kind)
            for entry in manifest["shards"]
        ]
        if not isinstance(whole, dict):
            raise TypeError("whole is not an object")
    except FileNotFoundError:
        raise InputError(
            "no manifest: not a folder of shards, or writing it was interrupted",
            path=folder,
            remedy="create it with the command 'coterie shard'",
        ) from None
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise InputError(f"not a manifest of shards ({error})", path=path) from error
    if version != FORMAT:
        raise InputError(
            f"format {version}, but this version reads {FORMAT}",
            path=path,
            remedy="shard the input again",
        )
    if found != kind.__name__:
        raise InputError(f"the shards hold {found}, not {kind.__name__}", path=path)
    return refs, whole


def _file_name(name: object) -> str:
    """Return the name of a file in the folder; a manifest must not lead out of it."""
    if not isinstance(name, str) or Path(name).name != name:
        raise ValueError(f"{name!r} is not the name of a file in the folder")
    return name


@functools.lru_cache(maxsize=_SHARDS_CACHED)
def load_shard(ref: ShardRef) -> Any:
    """Return the shard; the process caches it."""
    return read_shard(ref)


def read_shard(ref: ShardRef) -> Any:
    """Return the shard after checking its bytes."""
    try:
        content = Path(ref.path).read_bytes()
    except OSError as error:
        raise InputError(
            f"shard cannot be read ({error.strerror})",
            path=ref.path,
            remedy="make sure that every worker can read the folder, or shard the input again",
        ) from error
    if hashlib.sha256(content).hexdigest() != ref.sha256:
        raise InputError(
            "the shard is damaged: its checksum is wrong",
            path=ref.path,
            remedy="shard the input again",
        )
    try:
        arrays = load(content)
    except SafetensorError as error:
        raise InputError(f"not a shard ({error})", path=ref.path) from error
    fields = {name: arrays.get(name) for name in ref.kind._fields}
    if ref.limits is not None:
        with file_errors(ref.path, "shard", "shard the input again"):
            _check_rows(fields, ref.limits)
    return ref.kind(
        **{
            name: value.item() if value is not None and value.ndim == 0 else value
            for name, value in fields.items()
        }
    )


def _check_rows(fields: Mapping[str, np.ndarray | None], limits: ShardLimits) -> None:
    """Raise ArrayError if the arrays of a `RowBlock` do not fit each other and the manifest."""
    first = fields["first"]
    if first is None or first.ndim or first.dtype.kind != "i" or first != limits.first:
        raise ArrayError(f"first: not {limits.first}")
    indptr = check_array("indptr", fields["indptr"], np.int64, (limits.rows + 1,), low=0)
    if indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise ArrayError("indptr: the rows do not follow each other")
    count = int(indptr[-1])
    check_array("indices", fields["indices"], np.int32, (count,), low=0, below=limits.columns)
    channels, weights = fields["channels"], fields["weights"]
    if channels is None or channels.dtype.kind not in "iu":
        raise ArrayError("channels: not integers")
    size = count if limits.levels else 0
    check_array("channels", channels, channels.dtype, (size,), low=0, below=max(limits.levels, 1))
    if weights is None or len(weights):
        weights = check_array("weights", weights, np.float64, (count,), low=0)
        if limits.largest_weight is not None and (weights > limits.largest_weight).any():
            raise ArrayError("weights: larger than the manifest says")
    elif weights.dtype != np.float64 or weights.ndim != 1:
        raise ArrayError("weights: not a list of numbers")

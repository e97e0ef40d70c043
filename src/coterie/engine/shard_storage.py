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
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from coterie.base.errors import InputError
from coterie.data.writers import atomic_write

FORMAT = 1
MANIFEST = "manifest.json"
_SHARDS_CACHED = 256  # per process


class ShardRef(NamedTuple):
    """The path of a shard, its checksum, and the named tuple that it becomes."""

    path: str
    sha256: str
    kind: type[Any]


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


def write_manifest(
    folder: Path, refs: list[ShardRef], kind: type[Any], whole: dict[str, Any]
) -> None:
    """Write the manifest, last of all: a folder without it is not a set of shards."""
    manifest = {
        "format": FORMAT,
        "kind": kind.__name__,
        "whole": whole,
        "shards": [{"file": Path(ref.path).name, "sha256": ref.sha256} for ref in refs],
    }
    with atomic_write(folder / MANIFEST, "w") as file:
        json.dump(manifest, file, indent=1)


def read_manifest(folder: Path, kind: type[Any]) -> tuple[list[ShardRef], dict[str, Any]]:
    """Return the shards of a folder and the facts about the whole."""
    path = Path(folder) / MANIFEST
    try:
        manifest = json.loads(path.read_text())
        version, found, whole = manifest["format"], manifest["kind"], manifest["whole"]
        refs = [
            ShardRef(str(Path(folder) / entry["file"]), entry["sha256"], kind)
            for entry in manifest["shards"]
        ]
    except FileNotFoundError:
        raise InputError(
            "no manifest: not a folder of shards, or writing it was interrupted",
            path=folder,
            remedy="create it with the command 'coterie shard'",
        ) from None
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError) as error:
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
    return ref.kind(
        **{
            name: value.item() if value is not None and value.ndim == 0 else value
            for name, value in fields.items()
        }
    )

"""Shards as files: they are read back exactly, and damaged ones are named in the error."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.support.engine_tasks import Part, write_shards

from coterie.base.errors import InputError
from coterie.engine.shard_storage import MANIFEST, load_shard, read_manifest

PARTS = [Part(np.arange(3.0) * i, i, np.ones(2, np.int32) if i else None) for i in range(3)]


def test_shards_are_read_back_bit_for_bit(tmp_path: Path) -> None:
    write_shards(tmp_path, iter(PARTS), Part, {"nodes": 7})
    refs, whole = read_manifest(tmp_path, Part)
    assert whole == {"nodes": 7}
    for part, ref in zip(PARTS, refs, strict=True):
        loaded = load_shard(ref)
        assert loaded.number == part.number and isinstance(loaded.number, int)
        assert np.array_equal(loaded.numbers, part.numbers)
        assert (loaded.weights is None) == (part.weights is None)


def test_error_names_a_damaged_or_missing_shard(tmp_path: Path) -> None:
    refs = write_shards(tmp_path, PARTS, Part, {})
    content = bytearray(Path(refs[1].path).read_bytes())
    content[-1] ^= 1
    Path(refs[1].path).write_bytes(content)
    with pytest.raises(InputError, match=r"shard-00001.*damaged"):
        load_shard(refs[1])
    Path(refs[2].path).unlink()
    with pytest.raises(InputError, match=r"shard-00002.*cannot be read"):
        load_shard(refs[2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "format 99"),
        ({"kind": "Other"}, "hold Other, not Part"),
        ({"shards": [{}]}, "not a manifest"),
    ],
)
def test_invalid_manifest_is_rejected(tmp_path: Path, change: dict, message: str) -> None:
    write_shards(tmp_path, PARTS, Part, {})
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    (tmp_path / MANIFEST).write_text(json.dumps(manifest | change))
    with pytest.raises(InputError, match=message):
        read_manifest(tmp_path, Part)


def test_folder_without_a_valid_manifest_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no manifest"):
        read_manifest(tmp_path, Part)
    (tmp_path / MANIFEST).write_bytes(b"\xff\xfe rubbish")
    with pytest.raises(InputError, match="not a manifest"):
        read_manifest(tmp_path, Part)


def test_failed_write_leaves_no_manifest(tmp_path: Path) -> None:
    def parts():
        yield PARTS[0]
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="space"):
        write_shards(tmp_path, parts(), Part, {})
    assert not (tmp_path / MANIFEST).exists()

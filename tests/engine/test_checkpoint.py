"""Checkpoint files: written completely or not at all, and rejected if they do not fit."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import save_file

from coterie.base.errors import InputError
from coterie.engine import checkpoint as ck


def test_arrays_and_facts_are_read_back_unchanged(tmp_path):
    file = tmp_path / "run.ckpt"
    arrays = {
        "h": np.random.default_rng(0).random((5, 3)),
        "turned": np.arange(6.0).reshape(2, 3).T,
        "none": np.empty((0, 4), np.int32),
    }
    facts = {"iteration": 3, "history": [[1, 0.1, np.float64(2.5)]], "best": float("inf")}
    ck.save_checkpoint(file, "example", arrays, facts)
    loaded, read = ck.load_checkpoint(file, "example")
    assert loaded.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name], array)
        assert loaded[name].dtype == array.dtype
    assert read == {"iteration": 3, "history": [[1, 0.1, 2.5]], "best": float("inf")}


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.Philox, np.random.MT19937])
def test_generator_continues_from_its_saved_state(bits):
    rng = np.random.Generator(bits(7))
    rng.random(11)
    again = ck.generator_from(ck.generator_state(rng))
    np.testing.assert_array_equal(again.random(5), rng.random(5))
    np.testing.assert_array_equal(again.standard_normal(5), rng.standard_normal(5))


def test_failed_write_keeps_the_old_checkpoint(tmp_path, monkeypatch):
    file = tmp_path / "run.ckpt"
    ck.save_checkpoint(file, "example", {"x": np.zeros(2)}, {"iteration": 1})

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises((OSError, InputError)):
        ck.save_checkpoint(file, "example", {"x": np.ones(2)}, {"iteration": 2})
    monkeypatch.undo()
    assert ck.load_checkpoint(file, "example")[1] == {"iteration": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["run.ckpt"]


def test_invalid_checkpoint_is_rejected(tmp_path):
    file = tmp_path / "run.ckpt"
    with pytest.raises(InputError, match="checkpoint not found"):
        ck.load_checkpoint(file, "example")
    file.write_bytes(b"half a fi")
    with pytest.raises(InputError, match="damaged checkpoint"):
        ck.load_checkpoint(file, "example")
    save_file({"x": np.zeros(1)}, file)
    with pytest.raises(InputError, match="not a coterie checkpoint"):
        ck.load_checkpoint(file, "example")
    ck.save_checkpoint(file, "other", {"x": np.zeros(1)}, {})
    with pytest.raises(InputError, match="another model: other, not example"):
        ck.load_checkpoint(file, "example")
    save_file({"x": np.zeros(1)}, file, {"format": ck.FORMAT, "version": "99", "kind": "example"})
    with pytest.raises(InputError, match="format 99"):
        ck.load_checkpoint(file, "example")
    whole = tmp_path / "whole"
    ck.save_checkpoint(whole, "example", {"x": np.zeros(1000)}, {})
    file.write_bytes(whole.read_bytes()[:-100])
    with pytest.raises(InputError, match="damaged checkpoint"):
        ck.load_checkpoint(file, "example")


def test_values_that_json_cannot_represent_are_rejected(tmp_path):
    with pytest.raises(TypeError, match="object cannot be written"):
        ck.save_checkpoint(tmp_path / "x", "example", {}, {"what": object()})
    assert not list(tmp_path.iterdir())

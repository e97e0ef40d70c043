"""Checkpoint files: written completely or not at all, and rejected if they do not fit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
import pytest
from safetensors.numpy import save_file

from coterie.base.errors import InputError
from coterie.base.progress import Iteration
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


class Colour(StrEnum):
    RED = "red"


class Point(NamedTuple):
    place: np.ndarray
    weight: float = 1.0


@dataclass(frozen=True)
class Everything:
    """One field per type that a state may have."""

    points: list[Point]
    pair: tuple[int, str]
    labels: tuple[np.ndarray, ...]
    lengths: dict[tuple[int, ...], float]
    named: dict[str, np.ndarray]
    free: dict[str, Any]
    rng: np.random.Generator
    colour: Colour
    history: list[Iteration]
    absent: Point | None = None
    present: Point | None = None
    no_array: np.ndarray | None = None
    array: np.ndarray | None = None
    done: bool = False


def everything() -> Everything:
    return Everything(
        [Point(np.arange(3)), Point(np.zeros((0, 2)), np.inf)],
        (3, "x"),
        (np.arange(2), np.ones(1, np.float32)),
        {(1, 2): 0.5, (3,): np.nan},
        {"a.b": np.eye(2)},
        {"any": [1, None, {"deep": True}]},
        np.random.default_rng(4),
        Colour.RED,
        [Iteration(1, 0.5, 2.0, 3), Iteration(2, 0.7, 1.5)],
        present=Point(np.arange(2)),
        array=np.arange(4),
        done=True,
    )


def test_a_typed_state_is_restored_with_its_types(tmp_path):
    file = ck.RunCheckpoint("example", tmp_path / "run.ckpt", fingerprint={"k": 3})
    state = everything()
    file.save(state)
    found = file.load(Everything)
    np.testing.assert_equal(found.points, state.points)
    np.testing.assert_equal(found.labels, state.labels)
    assert found.labels[1].dtype == np.float32
    np.testing.assert_equal(found.named, state.named)
    np.testing.assert_equal(found.present, state.present)
    np.testing.assert_equal(found.lengths, state.lengths)
    np.testing.assert_equal(found.array, state.array)
    for name in ("pair", "free", "colour", "history", "absent", "no_array", "done"):
        assert getattr(found, name) == getattr(state, name), name
        assert type(getattr(found, name)) is type(getattr(state, name))
    assert isinstance(found.points[1], Point) and isinstance(found.history[0], Iteration)
    assert found.rng.random() == state.rng.random()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pair", [3.5, "x"]),
        ("pair", [3]),
        ("colour", "blue"),
        ("done", 1),
        ("history", [{"iteration": "1", "seconds": 0.0, "entropy": 0.0, "moved": None}]),
        ("rng", {"bit_generator": "system"}),
        ("points", [{"weight": 1.0}] * 3),
    ],
)
def test_a_value_of_another_type_is_refused(tmp_path, name, value):
    path = tmp_path / "run.ckpt"
    file = ck.RunCheckpoint("example", path)
    file.save(everything())
    arrays, facts = ck.load_checkpoint(path, "example")
    facts["state"][name] = value
    ck.save_checkpoint(path, "example", arrays, facts)
    with pytest.raises(InputError, match=r"run\.ckpt: damaged or altered checkpoint"):
        file.load(Everything)


def test_a_state_of_other_data_is_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    ck.RunCheckpoint("example", path, fingerprint={"k": 3}).save(everything())
    with pytest.raises(InputError, match="made with k=3, this fit has 4"):
        ck.RunCheckpoint("example", path, fingerprint={"k": 4}).load(Everything)

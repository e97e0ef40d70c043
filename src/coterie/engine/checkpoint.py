"""Checkpoints: the state of a fit as a file, from which it continues to the same numbers.

The state is a dataclass or a named tuple whose fields say their types: arrays, numbers, text,
lists, tuples, dictionaries, random generators, and further states. `RunCheckpoint` stores any of
them, and restores it by the types of its fields, so that a model writes no code for its file.

A checkpoint is one safetensors file: arrays by name, and a JSON header with everything else. It
replaces the previous one in a single step, so the file is complete at any moment. It contains no
pickle, so loading it runs no code.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, is_dataclass, replace
from enum import Enum
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.random import BitGenerator, Generator
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from coterie.base.array_checks import ArrayError, file_errors
from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject, json_value
from coterie.data.array_file import checksum
from coterie.data.atomic_files import atomic_write

FORMAT = "coterie-checkpoint"
VERSION = 4  # 1: before parameters were renamed; 2: without a checksum; 3: one layout per model
State = TypeVar("State")
Unfinished = TypeVar("Unfinished")

REMEDY = "start again without `resume`, or use another `checkpoint`"


def save_checkpoint(
    path: str | PathLike[str],
    kind: str,
    arrays: Mapping[str, np.ndarray],
    facts: Mapping[str, Any],
) -> None:
    """Replace the checkpoint at `path`; `kind` is the algorithm it belongs to.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "run.ckpt"
    ...     save_checkpoint(file, "example", {"x": np.arange(3)}, {"iteration": 7})
    ...     load_checkpoint(file, "example")
    ({'x': array([0, 1, 2])}, {'iteration': 7})
    """
    header = {
        "format": FORMAT,
        "version": str(VERSION),
        "kind": kind,
        "facts": json.dumps(json_value(facts, exact=True)),
    }
    stored = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    content = save(stored, {**header, "sha256": checksum(header, stored)})
    with atomic_write(path, "wb") as file:
        file.write(content)


def load_checkpoint(
    path: str | PathLike[str], kind: str
) -> tuple[dict[str, np.ndarray], JsonObject]:
    """Return the arrays and the facts of a checkpoint of this kind."""
    remedy = REMEDY
    if not Path(path).is_file():
        raise InputError("checkpoint not found", path=path, remedy=remedy)
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise InputError(f"damaged checkpoint ({error})", path=path, remedy=remedy) from error
    if header.get("format") != FORMAT:
        raise InputError("not a coterie checkpoint", path=path, remedy=remedy)
    if header.get("version") != str(VERSION):
        raise InputError(
            f"checkpoint format {header.get('version')}, but this release reads format {VERSION}",
            path=path,
            remedy=remedy,
        )
    if header.get("kind") != kind:
        raise InputError(
            f"the checkpoint belongs to another model: {header.get('kind')}, not {kind}",
            path=path,
            remedy=remedy,
        )
    if header.pop("sha256", None) != checksum(header, arrays):
        raise InputError("damaged checkpoint: the checksum is wrong", path=path, remedy=remedy)
    with file_errors(path, "checkpoint", remedy):
        facts = json.loads(header["facts"])
        if not isinstance(facts, dict):
            raise TypeError("the facts are not an object")
    return arrays, facts


def require_same(
    path: str | PathLike[str], seen: Mapping[str, Any], given: Mapping[str, Any]
) -> None:
    """Raise an error if data or settings differ from those of the checkpoint.

    >>> require_same("run.ckpt", {"k": 3}, {"k": 4})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    coterie.base.errors.InputError: run.ckpt: the checkpoint was made with k=3, this fit has 4; ...
    """
    for name in {**seen, **given}:
        if seen.get(name) != given.get(name):
            raise InputError(
                f"the checkpoint was made with {name}={seen.get(name)!r}, this fit has "
                f"{given.get(name)!r}",
                path=path,
                remedy="use the same data and settings, or start again without `resume`",
            )


def check_checkpoint_options(
    checkpoint: str | PathLike[str] | None, every: int, resume: bool
) -> None:
    """Raise an error if a fit cannot save or resume with these options.

    >>> check_checkpoint_options(None, 10, resume=True)
    Traceback (most recent call last):
        ...
    coterie.base.errors.InputError: no checkpoint to resume from; set `checkpoint` to its file
    """
    if resume and checkpoint is None:
        raise InputError("no checkpoint to resume from", remedy="set `checkpoint` to its file")
    if every < 1:
        raise InputError(
            f"invalid checkpoint_every: {every}", remedy="give an integer of at least 1"
        )
    if checkpoint is not None and Path(checkpoint).exists() and not _is_checkpoint(checkpoint):
        raise InputError(
            "the file exists and is not a checkpoint, so it is not replaced",
            path=checkpoint,
            remedy="use another `checkpoint`, or delete the file",
        )


def _is_checkpoint(path: str | PathLike[str]) -> bool:
    """Return whether the header of a file says that it is a checkpoint of coterie."""
    try:
        with safe_open(path, framework="numpy") as file:
            return (file.metadata() or {}).get("format") == FORMAT
    except (SafetensorError, OSError):
        return False


class StoredState(NamedTuple):
    """A state as a file has it: arrays by name, and everything else as JSON."""

    arrays: dict[str, np.ndarray]
    facts: Any


def pack(state: Any) -> StoredState:
    """Return a state, a dataclass or a named tuple, as a file has it."""
    arrays: dict[str, np.ndarray] = {}
    return StoredState(arrays, _stored(type(state), state, "state", arrays))


def unpack(kind: type[State], stored: StoredState) -> State:
    """Return the state of this class that `pack` was given.

    Its fields have the declared types; whether arrays fit the data is for the caller to check.

    >>> from coterie.base.progress import Iteration
    >>> unpack(Iteration, pack(Iteration(3, 0.5, 12.25)))
    Iteration(iteration=3, seconds=0.5, entropy=12.25, moved=None)
    """
    state: State = _restored(kind, stored.facts, "state", stored.arrays)
    return state


@dataclass(frozen=True)
class RunCheckpoint:
    """The checkpoint file of one fit, written every few iterations and read when it is resumed.

    `kind` is the algorithm, `fingerprint` the data and settings that a resumed fit must share.
    Without a path nothing is written or read.
    """

    kind: str
    path: str | PathLike[str] | None = None
    every: int = 10
    fingerprint: Mapping[str, Any] = field(default_factory=dict)

    def due(self, iteration: int) -> bool:
        """Whether the state is saved after this iteration."""
        return self.path is not None and iteration % self.every == 0

    def save(self, state: Any) -> None:
        """Replace the file by this state: a dataclass or a named tuple."""
        if self.path is not None:
            arrays, stored = pack(state)
            facts = {"fingerprint": dict(self.fingerprint), "state": stored}
            save_checkpoint(self.path, self.kind, arrays, facts)

    def load(self, kind: type[State]) -> State | None:
        """Return the state of this class that an earlier fit saved; None if there is no file.

        >>> from tempfile import TemporaryDirectory
        >>> from coterie.base.progress import Iteration
        >>> with TemporaryDirectory() as folder:
        ...     file = RunCheckpoint("example", Path(folder) / "run.ckpt")
        ...     file.save(Iteration(3, 0.5, 12.25))
        ...     file.load(Iteration)
        Iteration(iteration=3, seconds=0.5, entropy=12.25, moved=None)
        """
        if self.path is None or not Path(self.path).exists():
            return None
        arrays, facts = load_checkpoint(self.path, self.kind)
        with self.errors():
            require_same(self.path, dict(facts["fingerprint"]), self.fingerprint)
            return unpack(kind, StoredState(arrays, facts["state"]))

    def errors(self) -> AbstractContextManager[None]:
        """Return a context in which errors about the content of the file name the file."""
        return file_errors(self.path or "", "checkpoint", REMEDY)


def _stored(kind: Any, value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return the JSON of a value of this type, and add its arrays under names that begin so."""
    if _is_optional(kind):
        return None if value is None else _stored(_present(kind), value, name, arrays)
    if kind is np.ndarray:
        arrays[name] = value
        return True  # unlike an optional array that is not there
    if kind is Generator:
        return generator_state(value)
    if _is_state(kind):
        return {
            key: _stored(part, getattr(value, key), f"{name}.{key}", arrays)
            for key, part in _fields(kind).items()
        }
    origin = get_origin(kind)
    if origin in (list, tuple):
        parts = zip(_part_types(kind, len(value)), value, strict=True)
        return [_stored(part, x, f"{name}.{n}", arrays) for n, (part, x) in enumerate(parts)]
    if origin is dict and get_args(kind)[1] is not Any:
        key_type, part = get_args(kind)
        return [
            [_stored(key_type, key, "", {}), _stored(part, x, f"{name}.{n}", arrays)]
            for n, (key, x) in enumerate(value.items())
        ]
    return value.value if isinstance(value, Enum) else value


def _restored(kind: Any, stored: Any, name: str, arrays: Mapping[str, np.ndarray]) -> Any:
    """Return the value of this type that `_stored` stored; an error if a file holds another."""
    if _is_optional(kind):
        return None if stored is None else _restored(_present(kind), stored, name, arrays)
    if kind is np.ndarray:
        return arrays[name]
    if kind is Generator:
        return generator_from(stored)
    if _is_state(kind):
        return kind(
            **{
                key: _restored(part, stored[key], f"{name}.{key}", arrays)
                for key, part in _fields(kind).items()
            }
        )
    origin = get_origin(kind)
    if origin in (list, tuple):
        parts = zip(_part_types(kind, len(stored)), stored, strict=True)
        return origin(
            _restored(part, x, f"{name}.{n}", arrays) for n, (part, x) in enumerate(parts)
        )
    if origin is dict and get_args(kind)[1] is not Any:
        key_type, part = get_args(kind)
        return {
            _restored(key_type, key, "", {}): _restored(part, x, f"{name}.{n}", arrays)
            for n, (key, x) in enumerate(stored)
        }
    return _plain(kind, stored, name)


def _plain(kind: Any, stored: Any, name: str) -> Any:
    """Return a number, a truth value, text, a name, or JSON as it is."""
    if kind is Any or get_origin(kind) is dict:
        return stored
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(stored)
    accepted = (int, float) if kind is float else (kind,)
    if type(stored) not in accepted:
        raise TypeError(f"{name} is {stored!r}, not of type {kind.__name__}")
    return kind(stored)


def _is_optional(kind: Any) -> bool:
    return type(None) in get_args(kind) and get_origin(kind) not in (list, tuple, dict)


def _present(kind: Any) -> Any:
    """Return the type of an optional value that is there."""
    (present,) = (one for one in get_args(kind) if one is not type(None))
    return present


def _is_state(kind: Any) -> bool:
    return is_dataclass(kind) or hasattr(kind, "_fields")


@cache
def _fields(kind: Any) -> dict[str, Any]:
    """Return the fields of a state class with their types."""
    names = kind._fields if hasattr(kind, "_fields") else kind.__dataclass_fields__
    hints = get_type_hints(kind)
    return {name: hints[name] for name in names}


def _part_types(kind: Any, length: int) -> Sequence[Any]:
    """Return the type of each part of a list or a tuple of this length."""
    parts = get_args(kind)
    if get_origin(kind) is list or parts[-1] is Ellipsis:
        return parts[:1] * length
    return parts


class FitOfRuns(Generic[Unfinished]):
    """The part of a state that fits of several runs share.

    A state that inherits from it has these fields: the runs that have ended, the run that a
    checkpoint interrupted, and the end of the last run, which may go on with other settings.
    """

    finished: list[Any]
    unfinished: Unfinished | None
    last: Unfinished | None

    def take_unfinished(self) -> Unfinished | None:
        """Return the unfinished run once; None from then on."""
        unfinished, self.unfinished = self.unfinished, None
        return unfinished

    def continue_last(self, max_iter: int, ended: Callable[[Unfinished], bool]) -> None:
        """Reopen the finished run if it would go on with this maximum; `ended`: whether it met tol.

        Several runs cannot continue, because only the end of the last one is stored: an error.
        """
        if len(self.finished) == 1 and self.last is not None:
            run: Any = self.last
            if len(run.history) < max_iter and not ended(run):
                self.finished.clear()
                self.unfinished = replace(run, converged=False)
            return
        if any(len(run.history) < max_iter and not run.converged for run in self.finished):
            raise InputError(
                "several runs ended at their maximum number of iterations, and cannot be continued",
                remedy="start again without `resume`, or use the same `max_iter` as before",
            )


def check_seeds(seeds: Iterable[int]) -> None:
    """Raise ArrayError if a seed from a checkpoint is out of range."""
    if any(not 0 <= seed < 2**128 for seed in seeds):
        raise ArrayError("a seed is out of range")


_BIT_GENERATORS: dict[str, Callable[[], BitGenerator]] = {
    kind.__name__: kind
    for kind in (
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.Philox,
        np.random.SFC64,
        np.random.MT19937,
    )
}


def generator_state(rng: Generator) -> JsonObject:
    """Return the state of a generator as JSON.

    >>> rng = np.random.default_rng(0)
    >>> again = generator_from(json.loads(json.dumps(generator_state(rng))))
    >>> bool(again.random() == rng.random())
    True
    """
    return json_value(rng.bit_generator.state, exact=True)  # type: ignore[no-any-return]


def generator_from(state: Mapping[str, Any]) -> Generator:
    """Return a generator that continues from a saved state.

    >>> generator_from({"bit_generator": "seed"})
    Traceback (most recent call last):
        ...
    ValueError: unknown random generator 'seed'
    """
    name = state["bit_generator"]
    if name not in _BIT_GENERATORS:  # a file must not decide what is called
        raise ValueError(f"unknown random generator {name!r}")
    bits = _BIT_GENERATORS[name]()
    bits.state = dict(state)
    return Generator(bits)

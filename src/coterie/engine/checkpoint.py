"""A state on disk from which a killed run goes on to the same numbers.

One safetensors file: arrays by name, and a JSON header with everything else (positions, history,
the state of the random generator). It replaces the one before in a single step, so a kill at any
moment leaves a whole file. No pickle: loading one runs no code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from coterie.base.errors import InputError
from coterie.data.writers import atomic_write

FORMAT = "coterie-checkpoint"
VERSION = 1


def save_checkpoint(
    path: str | PathLike[str],
    kind: str,
    arrays: Mapping[str, np.ndarray],
    facts: Mapping[str, Any],
) -> None:
    """Replace the checkpoint at `path`. `kind` says which algorithm it belongs to.

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
        "facts": json.dumps(dict(facts), default=_plain),
    }
    content = save({name: np.ascontiguousarray(a) for name, a in arrays.items()}, header)
    with atomic_write(path, "wb") as file:
        file.write(content)


def load_checkpoint(
    path: str | PathLike[str], kind: str
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the facts of a checkpoint of this kind."""
    remedy = "start anew without --resume, or give another --checkpoint"
    if not Path(path).is_file():
        raise InputError("there is no checkpoint", path=path, remedy=remedy)
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise InputError(f"not a whole checkpoint ({error})", path=path, remedy=remedy) from error
    if header.get("format") != FORMAT:
        raise InputError("not a coterie checkpoint", path=path, remedy=remedy)
    if header.get("version") != str(VERSION):
        raise InputError(
            f"checkpoint version {header.get('version')}, this release reads {VERSION}",
            path=path,
            remedy=remedy,
        )
    if header.get("kind") != kind:
        raise InputError(
            f"a checkpoint of {header.get('kind')}, not of {kind}", path=path, remedy=remedy
        )
    return arrays, json.loads(header["facts"])


def require_same(
    path: str | PathLike[str], seen: Mapping[str, Any], given: Mapping[str, Any]
) -> None:
    """Refuse to go on with other data or settings than those a checkpoint was made with.

    >>> require_same("run.ckpt", {"k": 3}, {"k": 4})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    coterie.base.errors.InputError: run.ckpt: the checkpoint was made with k=3, this fit has 4; ...
    """
    for name, value in seen.items():
        if value != given.get(name):
            raise InputError(
                f"the checkpoint was made with {name}={value!r}, this fit has {given.get(name)!r}",
                path=path,
                remedy="use the same data and settings, or start anew without --resume",
            )


def generator_state(rng: Generator) -> dict[str, Any]:
    """Where a generator stands, as JSON can hold it.

    >>> rng = np.random.default_rng(0)
    >>> again = generator_from(json.loads(json.dumps(generator_state(rng))))
    >>> bool(again.random() == rng.random())
    True
    """
    return json.loads(json.dumps(rng.bit_generator.state, default=_plain))  # type: ignore[no-any-return]


def generator_from(state: Mapping[str, Any]) -> Generator:
    """A generator that goes on where `generator_state` was taken."""
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = dict(state)
    return Generator(bits)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} does not fit a checkpoint's header")

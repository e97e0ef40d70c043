"""The check that no output of a command replaces an input.

It runs before every command. The catalogue of options says which parameters name files.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from coterie.base.errors import InputError
from coterie.cli.options import File, Option


class FileArgument(NamedTuple):
    """A file that a command was given, and how the user named it."""

    option: str  # "--out", "GRAPH"
    path: str
    is_folder: bool = False


class _Identity(NamedTuple):
    """What two names of one file have in common: through symbolic links and hard links."""

    device: int
    inode: int


def check_outputs(given: Mapping[str, Any], options: Mapping[str, Option]) -> None:
    """Raise InputError if an output of a command is one of its inputs, or another output.

    `given` has the arguments by parameter name. A file is the same through symbolic links and hard
    links, and also if it is redirected to standard input.
    """
    inputs = list(_files(given, options, File.READ))
    outputs = list(_files(given, options, File.WRITE))
    for position, output in enumerate(outputs):
        if output.path == "-":
            continue
        _require_folder(output, [Path(o.path).absolute() for o in outputs if o.is_folder])
        for source in inputs:
            _refuse_same(output, source)
        for other in outputs[:position]:
            if _is_same(output.path, other.path):
                raise InputError(
                    f"{output.option} and {other.option} name the same file",
                    path=output.path,
                    remedy=f"use another {output.option}",
                )


def _files(
    given: Mapping[str, Any], options: Mapping[str, Option], role: File
) -> Iterator[FileArgument]:
    for name, option in options.items():
        given_here = given.get(name)
        for value in given_here if isinstance(given_here, list) else [given_here]:
            if option.file is not role or not isinstance(value, str | Path):
                continue
            if not str(value):
                raise InputError(f"{option.user_name(name)} is empty", remedy="give a file name")
            yield FileArgument(option.user_name(name), str(value), option.metavar == "DIR")


def _require_folder(output: FileArgument, new: list[Path]) -> None:
    """Raise InputError if the folder of a file does not exist and is not one that is made."""
    folder = Path(output.path).absolute().parent
    if output.is_folder or folder.is_dir() or any(f in (folder, *folder.parents) for f in new):
        return
    raise InputError(
        f"{output.option} cannot be written: there is no folder {folder}",
        path=output.path,
        remedy="create the folder, or choose another",
    )


def _refuse_same(output: FileArgument, source: FileArgument) -> None:
    if _is_same(output.path, source.path):
        raise InputError(
            f"this is also an input: {output.option} would replace the input",
            path=output.path,
            remedy=f"use another {output.option}",
        )
    folder = Path(source.path)
    if source.path != "-" and folder.is_dir():
        inside = Path(os.path.realpath(output.path)).parent
        if inside == (real := Path(os.path.realpath(folder))) or real in inside.parents:
            raise InputError(
                f"{output.option} would write into the folder that is read",
                path=output.path,
                remedy=f"use another {output.option}",
            )


def _is_same(one: str, other: str) -> bool:
    """Return whether two paths are one file; files that do not exist yet are compared by name."""
    first, second = _identity(one), _identity(other)
    if first is not None and second is not None:
        return first == second
    if first is None and second is None and "-" not in (one, other):
        return os.path.realpath(one) == os.path.realpath(other)
    return False


def _identity(path: str) -> _Identity | None:
    """Return the identity of a file or folder; None for anything else, such as a terminal."""
    try:
        found = os.fstat(sys.stdin.fileno()) if path == "-" else os.stat(path)
    except (OSError, ValueError, AttributeError):  # no such file, or standard input is closed
        return None
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        return None
    return _Identity(found.st_dev, found.st_ino)

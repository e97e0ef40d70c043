"""Values of options without loading Pydantic, which takes about a sixth of a second.

Newer versions of Typer build a Pydantic adapter for every option of a command, given or not. The
common cases (no value, text, numbers, choices, paths) are read here with the same result. Whatever
is wrong or unusual goes to Typer, so that messages stay its own. With a version of Typer that does
not have these internals, `install` changes nothing and returns False.
"""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?")


class _LeftToTyperError(Exception):
    """This value is not a common case."""


class QuickParam:
    """Reads the value of one option, with the interface of Typer's `RuntimeParam`."""

    def __init__(self, descriptor: Any, usual: Any) -> None:
        self._annotation = descriptor.annotation
        self._info = descriptor.parameter_info
        self._usual = usual  # () -> Typer's own

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value that the command gets."""
        try:
            return self._quick(value, param)
        except Exception:  # whatever it was: Typer decides, and explains
            return self._usual().coerce(value, param=param, ctx=ctx)

    def _quick(self, value: Any, param: Any) -> Any:
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        if self._info.parser is not None or (param.nargs != 1 and not several):
            raise _LeftToTyperError
        if not several:
            return self._one(self._annotation, value)
        if get_origin(self._annotation) is not list or not isinstance(value, list | tuple):
            raise _LeftToTyperError
        (kind,) = get_args(self._annotation)
        return [self._one(kind, item) for item in value]

    def _one(self, kind: Any, value: Any) -> Any:
        if kind is str and type(value) is str:
            return value
        if kind is bool and type(value) is bool:
            return value
        if kind in (int, float):
            return self._number(kind, value)
        if get_origin(kind) is Literal or (isinstance(kind, type) and issubclass(kind, Enum)):
            return self._choice(kind, value)
        if kind is Path and isinstance(value, str | Path) and str(value):
            return self._path(value)
        raise _LeftToTyperError

    def _number(self, kind: type, value: Any) -> Any:
        form = _INTEGER if kind is int else _DECIMAL
        is_number = type(value) in (kind, int) or (type(value) is str and form.fullmatch(value))
        low, high = self._info.min, self._info.max
        if not is_number or self._info.clamp:
            raise _LeftToTyperError
        number = kind(value)
        if number != number or not (
            (low is None or low <= number) and (high is None or number <= high)
        ):
            raise _LeftToTyperError
        return number

    def _choice(self, kind: Any, value: Any) -> Any:
        for choice in get_args(kind) if get_origin(kind) is Literal else kind:
            text = choice.value if isinstance(choice, Enum) else choice
            if value is choice or (isinstance(value, str) and value == text):
                return choice
        raise _LeftToTyperError

    def _path(self, value: str | Path) -> Any:
        from typer._param_types import coerce_cli_path

        if self._info.path_type is not None or self._info.allow_dash:
            raise _LeftToTyperError
        return coerce_cli_path(Path(value), self._info, path_type=Path)


def install() -> bool:
    """Prepare Typer; return whether this version has the functions that are replaced."""
    try:
        from typer._coercion import build_runtime_param
        from typer._param_types import coerce_cli_path
        from typer.core import _TyperParameter
    except ImportError:
        return False
    parameter: Any = _TyperParameter
    usual = getattr(parameter, "get_runtime_param", None)
    if usual is None or not callable(build_runtime_param) or not callable(coerce_cli_path):
        return False
    if not getattr(usual, "is_quick", False):

        def get_runtime_param(self: Any) -> QuickParam:
            return QuickParam(self.type_descriptor, lambda: usual(self))

        get_runtime_param.is_quick = True  # type: ignore[attr-defined]
        parameter.get_runtime_param = get_runtime_param
    return True

"""How a model shows itself in a notebook, without knowing the room that draws.

Imports go one way, so models cannot import report. The package itself, which stands above all
rooms, names the function here (`coterie/__init__.py`); it is imported when a notebook asks.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

_home: list[str] = []  # "module:function", at most one


def register(home: str) -> None:
    """Name the function `module:function` that turns a model into HTML."""
    _home[:] = [home]


def html(model: Any) -> str | None:
    """The model as HTML, or None where nobody is registered (notebooks then show its repr)."""
    if not _home:
        return None
    module, name = _home[0].split(":")
    draw: Callable[[Any], str | None] = getattr(import_module(module), name)
    return draw(model)

"""Routes of one method from a table of paths and handlers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.routing import Route


def routes_of(method: str, handlers: Mapping[str, Callable[..., Any]]) -> list[Route]:
    """Return one route per path, for one method of HTTP."""
    return [Route(path, handler, methods=[method]) for path, handler in handlers.items()]

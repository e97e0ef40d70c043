"""Options of every command that reads a table or a graph: header, columns by name, --dry-run.

`cli/session.py` adds them to each command that has `--separator`, so that no command can lack them.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, TypedDict

from coterie.base.errors import InputError

_TYPES: dict[str, Any] = {"header": bool | None, "dry_run": bool}
_GRAPHS = {"graph", "data", "original", "published"}


class TextReading(TypedDict):
    """How a text file is written: keyword arguments of every reader."""

    format: str | None
    separator: str | None


class GraphColumns(TypedDict):
    """Columns of a graph: keyword arguments of `read_graph`."""

    header: bool | None
    source: str | None
    target: str | None
    weight: str | None


class RatingColumns(TypedDict):
    """Columns of ratings: keyword arguments of `read_ratings`."""

    header: bool | None
    user: str | None
    item: str | None
    rating: str | None
    time: str | None


@dataclass(frozen=True)
class ReadingOptions:
    """How a command reads its input."""

    header: bool | None = None
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    user: str | None = None
    item: str | None = None
    rating: str | None = None
    time: str | None = None
    dry_run: bool = False

    def for_graph(self) -> GraphColumns:
        """Return the arguments of `read_graph`; columns of ratings are refused."""
        self._refuse(("user", "item", "rating", "time"), "ratings, and this is a graph")
        return GraphColumns(
            header=self.header, source=self.source, target=self.target, weight=self.weight
        )

    def for_ratings(self) -> RatingColumns:
        """Return the arguments of `read_ratings`; columns of graphs are refused."""
        self._refuse(("source", "target", "weight"), "graphs, and these are ratings")
        return RatingColumns(
            header=self.header, user=self.user, item=self.item, rating=self.rating, time=self.time
        )

    def _refuse(self, names: Iterable[str], applies_to: str) -> None:
        for name in names:
            if getattr(self, name) is not None:
                raise InputError(f"--{name} applies to {applies_to}", remedy=f"leave out --{name}")


def reading_parameters(own: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """Return the parameters to add to a command with these of its own."""
    given = {parameter.name for parameter in own}
    if "separator" not in given:
        return []
    names = ["header"]
    if given & _GRAPHS:
        names += ["source", "target", "weight"]
    is_table = bool({"ratings", "train"} & given) or ("objective" in given and given & _GRAPHS)
    if is_table and "user" not in given:
        names += ["user", "item", "rating", "time"]
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=_TYPES.get(name, str | None),
            default=False if name == "dry_run" else None,
        )
        for name in (*names, "dry_run")
        if name not in given
    ]


def take_reading_options(given: dict[str, Any], added: list[inspect.Parameter]) -> ReadingOptions:
    """Remove the added parameters from the arguments of a command and return them."""
    assert {p.name for p in added} <= {field.name for field in fields(ReadingOptions)}
    return ReadingOptions(**{p.name: given.pop(p.name, p.default) for p in added})

"""Side information as numbers: standardised numbers, categories, and whether a value is missing."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from coterie.base.errors import AssumptionWarning, InputError
from coterie.data.ids import IdLookup

if TYPE_CHECKING:
    from coterie.data.node_table import NodeTable

_SEPARATOR = "|"  # between several categories in a cell
_MAX_CATEGORIES = 300  # per column; the most frequent ones
_MIN_COUNT = 2  # a category that fewer nodes have says nothing about others


class FeatureColumn(NamedTuple):
    """One column of the encoded features: a number, a category, or whether a number is missing."""

    name: str  # of the column in the table
    category: str | None  # None for a number
    center: float = 0.0
    scale: float = 1.0

    @property
    def title(self) -> str:
        """The name to show, such as `genre = Drama`."""
        return self.name if self.category is None else f"{self.name} = {self.category}"


_MISSING = "(missing)"


@dataclass(frozen=True)
class FeatureEncoding:
    """How side information is turned into columns of numbers; chosen on the nodes with ratings."""

    columns: tuple[FeatureColumn, ...] = ()

    @classmethod
    def of(cls, table: NodeTable | None, ids: np.ndarray, kind: str) -> Self:
        """Choose the columns for the nodes with these ids; kind is "user" or "item"."""
        if table is None:
            return cls()
        from coterie.data.node_table import NodeTable  # predictions need no reader of tables

        if not isinstance(table, NodeTable):
            raise InputError(
                f"a {type(table).__name__} cannot be used as {kind} features",
                remedy="give a coterie.NodeTable, such as NodeTable.from_pandas(frame, 'id')",
            )
        rows = IdLookup(table.ids).numbers(ids)
        rows = rows[rows >= 0]
        if not len(rows):
            raise no_common_ids(table.ids, ids, kind)
        if len(rows) < len(ids):
            warnings.warn(
                f"{len(ids) - len(rows):,} of {len(ids):,} {kind}s have no row of features; they "
                "get average ones",
                AssumptionWarning,
                stacklevel=2,
            )
        columns: list[FeatureColumn] = []
        for column in table.columns:
            own = column.values[rows]
            columns += (_number if column.is_number else _categories)(column.name, own)
        if not columns:
            warnings.warn(
                f"every {kind} feature is constant or unique, so none is used",
                AssumptionWarning,
                stacklevel=2,
            )
        return cls(tuple(columns))

    def encode(self, table: NodeTable | None, ids: np.ndarray) -> np.ndarray:
        """Return the columns of these ids; a missing row, number or unknown category gives 0."""
        out = np.zeros((len(ids), len(self.columns)))
        if table is None or not self.columns:
            return out
        rows = IdLookup(table.ids).numbers(ids)
        known = np.flatnonzero(rows >= 0)
        sets: dict[str, list[set[str]]] = {}
        for place, column in enumerate(self.columns):
            if column.name not in table.names:
                raise InputError(
                    f"there is no feature {column.name!r}, which the model was fitted with",
                    remedy="give a table with the same columns",
                )
            own = table[column.name].values[rows[known]]
            if column.category is None:
                out[known, place] = _scaled(own, column)
                continue
            if own.dtype.kind != "O":
                out[known, place] = np.isnan(own)
                continue
            if column.name not in sets:
                sets[column.name] = [_split(cell) for cell in own.tolist()]
            out[known, place] = [column.category in cell for cell in sets[column.name]]
        return out


def no_common_ids(described: np.ndarray, rated: np.ndarray, kind: str) -> InputError:
    """Return the error of features whose ids are not those of the ratings."""
    return InputError(
        f"none of the {len(described):,} ids of the {kind} features is a {kind} of the ratings"
        f" (features: {described[0]!r}; ratings: {rated[0]!r})"
        if len(described)
        else f"the table of {kind} features is empty",
        remedy=f"use the same ids for {kind}s in both tables",
    )


def _scaled(values: np.ndarray, column: FeatureColumn) -> np.ndarray:
    if values.dtype.kind == "O":
        raise InputError(
            f"the feature {column.name!r} holds text, but the model was fitted with numbers",
            remedy="give numbers",
        )
    scaled = (values - column.center) / column.scale
    return np.clip(np.where(np.isnan(scaled), 0.0, scaled), -4.0, 4.0)


def _number(name: str, values: np.ndarray) -> list[FeatureColumn]:
    """Return the column of a number, and of whether it is missing if that is not rare."""
    values = values.astype(np.float64)
    given = values[~np.isnan(values)]
    found = []
    if len(given) and given.std() > 1e-9 * max(1.0, abs(float(given.mean()))):
        found.append(FeatureColumn(name, None, float(given.mean()), float(given.std())))
    if _MIN_COUNT <= len(values) - len(given) <= len(values) - _MIN_COUNT:
        found.append(FeatureColumn(name, _MISSING))
    return found


def _categories(name: str, values: np.ndarray) -> list[FeatureColumn]:
    """Return one column per category that at least two nodes have and at least one has not."""
    counts: dict[str, int] = {}
    for cell in values.tolist():
        for category in _split(cell):
            counts[category] = counts.get(category, 0) + 1
    used = [c for c, count in counts.items() if _MIN_COUNT <= count < len(values)]
    used.sort(key=lambda category: (-counts[category], category))
    return [FeatureColumn(name, category) for category in used[:_MAX_CATEGORIES]]


def _split(cell: str) -> set[str]:
    """Return the categories in a cell.

    >>> sorted(_split("Comedy| Drama|"))
    ['Comedy', 'Drama']
    """
    return {part.strip() for part in cell.split(_SEPARATOR) if part.strip()}

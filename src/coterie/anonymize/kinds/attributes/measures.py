"""How similar the attributes of two networks are: values, combinations, edges and degrees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.data.attributes import Attribute, AttributeKind, Attributes
from coterie.data.ids import as_ids

_RANGES = 10  # of a numeric column, in comparisons of combinations
_TOLERANCE = 0.03


@dataclass(frozen=True)
class ColumnComparison:
    """One column in the original and in the release."""

    column: str
    kind: AttributeKind
    distance: float  # of the distributions: total variation, or Kolmogorov-Smirnov of numbers
    assortativity: float | None  # of the original; None if it is not defined
    published_assortativity: float | None
    degree_dependence: float  # share of the variance of log degrees that the column explains
    published_degree_dependence: float

    @property
    def kept(self) -> bool:
        """Whether distribution and assortativity are within their tolerance."""
        if self.distance > _TOLERANCE:
            return False
        if self.assortativity is None or self.published_assortativity is None:
            return True
        return abs(self.assortativity - self.published_assortativity) <= _TOLERANCE


@dataclass(frozen=True)
class AttributeComparison:
    """All columns of two networks, and their combinations."""

    columns: list[ColumnComparison]
    combinations: float  # total variation over combinations that enough people have

    def not_kept(self) -> list[str]:
        """Return one sentence per column, or for the combinations, outside the tolerance."""
        found = []
        for c in self.columns:
            if c.distance > _TOLERANCE:
                found.append(f"the values of {c.column} (distance {c.distance:.2g})")
            elif not c.kept:
                found.append(
                    f"how often edges join equal values of {c.column} (assortativity "
                    f"{c.published_assortativity:.2f} instead of {c.assortativity:.2f})"
                )
        if self.combinations > _TOLERANCE:
            found.append(f"combinations of attributes (distance {self.combinations:.2g})")
        return found


def compare_attributes(
    original: tuple[Graph, Attributes],
    published: tuple[Graph, Attributes],
    min_size: int = 10,
) -> AttributeComparison:
    """Compare the attributes of two networks with the same columns."""
    (before, table), (after, new) = original, published
    if sorted(table.names) != sorted(new.names):
        raise InputError(
            f"the columns differ: {', '.join(table.names)} and {', '.join(new.names)}",
            remedy="compare tables with the same columns",
        )
    columns = []
    for column in table.columns:
        other = new[column.name]
        columns.append(
            ColumnComparison(
                column.name,
                column.kind,
                distribution_distance(column, other),
                assortativity(before, column),
                assortativity(after, Attribute(other.name, column.kind, other.values)),
                degree_dependence(before, column),
                degree_dependence(after, Attribute(other.name, column.kind, other.values)),
            )
        )
    return AttributeComparison(columns, _combination_distance(table, new, min_size))


def distribution_distance(one: Attribute, other: Attribute) -> float:
    """Return total variation of categories and ordered values, or Kolmogorov-Smirnov of numbers.

    Categories that the other column pools are compared as one.
    """
    if one.kind is AttributeKind.numeric:
        at = np.unique(np.concatenate([one.values, other.values]))
        shares = [
            np.searchsorted(np.sort(c.values), at, side="right") / max(len(c.values), 1)
            for c in (one, other)
        ]
        return float(np.abs(shares[0] - shares[1]).max(initial=0.0))
    values, (a, b) = _shared_codes(one, other)
    return float(
        np.abs(
            np.bincount(a, minlength=len(values)) / max(len(a), 1)
            - np.bincount(b, minlength=len(values)) / max(len(b), 1)
        ).sum()
        / 2
    )


def assortativity(graph: Graph, column: Attribute) -> float | None:
    """Return Newman's assortativity: of categories, or the correlation over edges of numbers.

    None if all edges join equal values anyway, or there is no edge.
    """
    source, target = graph.edges()
    a, b = np.concatenate([source, target]), np.concatenate([target, source])
    if not len(a):
        return None
    if column.kind is not AttributeKind.categorical:
        x = column.values.astype(np.float64)
        if x[a].std() == 0:
            return None
        return float(np.corrcoef(x[a], x[b])[0, 1])
    _, code = np.unique(column.values.astype(str), return_inverse=True)
    ends = np.bincount(code[a]) / len(a)
    expected = float((ends**2).sum())
    if expected == 1:
        return None
    return float((np.mean(code[a] == code[b]) - expected) / (1 - expected))


def degree_dependence(graph: Graph, column: Attribute) -> float:
    """Return the share of the variance of log(1 + degree) between the values of a column."""
    y = np.log1p(_total_degrees(graph))
    code = _codes(column)
    sizes = np.bincount(code)
    mean = np.divide(np.bincount(code, y), sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    total = float(((y - y.mean()) ** 2).sum())
    return float((sizes * (mean - y.mean()) ** 2).sum() / total) if total else 0.0


def _total_degrees(graph: Graph) -> np.ndarray:
    if not graph.directed:
        return graph.degrees
    return np.asarray(graph.degrees + np.bincount(graph.indices, minlength=graph.n_nodes))


def _codes(column: Attribute) -> np.ndarray:
    """Return values as numbers 0, 1, …; numeric columns as ranges of equal size."""
    if column.kind is AttributeKind.numeric:
        rank = np.argsort(np.argsort(column.values, kind="stable"), kind="stable")
        return rank * _RANGES // max(len(rank), 1)
    return np.unique(column.values.astype(str), return_inverse=True)[1].ravel()


def _shared_codes(one: Attribute, other: Attribute) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the values of two columns as codes; values that the other lacks share one code."""
    if one.kind is AttributeKind.numeric:
        cuts = np.quantile(one.values, np.arange(1, _RANGES) / _RANGES)
        codes = [np.searchsorted(cuts, c.values, side="right") for c in (one, other)]
        return np.arange(_RANGES), codes
    if one.kind is AttributeKind.ordinal:  # each published number stands for the nearest ones
        kept = np.unique(other.values)
        nearest = [np.abs(c.values[:, None] - kept).argmin(1) for c in (one, other)]
        return kept, nearest
    kept = sorted(set(one.values.astype(str)) & set(other.values.astype(str)))
    number = {value: i for i, value in enumerate(kept)}
    pooled = len(kept)
    codes = [
        np.array([number.get(v, pooled) for v in c.values.astype(str)], np.int64)
        for c in (one, other)
    ]
    return as_ids(np.array([*kept, ""], object)), codes


def _combination_distance(table: Attributes, new: Attributes, min_size: int) -> float:
    """Return the total variation over combinations that at least `min_size` people have."""
    pairs = [_shared_codes(column, new[column.name])[1] for column in table.columns]
    first, second = (np.stack([pair[i] for pair in pairs], axis=1) for i in (0, 1))
    combos, counts = np.unique(first, axis=0, return_counts=True)
    here = {row.tobytes(): count for row, count in zip(combos, counts, strict=True)}
    others, published = np.unique(second, axis=0, return_counts=True)
    there = {row.tobytes(): count for row, count in zip(others, published, strict=True)}
    scale = len(first) / max(len(second), 1)
    difference = sum(
        abs(count - scale * there.get(row, 0)) for row, count in here.items() if count >= min_size
    )
    return float(difference / 2 / max(len(first), 1))

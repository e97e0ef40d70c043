"""How similar the attributes of two networks are: values, combinations, edges and degrees."""

from __future__ import annotations

import numpy as np

from coterie.anonymize.utility.measures import ks_distance
from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.data.ids import as_ids
from coterie.data.node_table import ColumnKind, NodeColumn, NodeTable

_RANGES = 10  # of a numeric column, in comparisons of combinations


def column_measures(graph: Graph, column: NodeColumn) -> dict[str, float | None]:
    """Return how edges and degrees depend on a column, by the keys of ATTRIBUTE_MEASURES."""
    return {
        "assortativity": assortativity(graph, column),
        "degrees": degree_dependence(graph, column),
    }


def same_columns(table: NodeTable, new: NodeTable | None) -> NodeTable:
    """Return the published columns, with the kinds of the original ones."""
    if new is None or set(table.names) != set(new.names) - ({"side"} - set(table.names)):
        names = "none" if new is None else ", ".join(new.names)
        raise InputError(
            f"the columns differ: {', '.join(table.names)} and {names}",
            remedy="compare tables with the same columns",
        )
    columns = [NodeColumn(c.name, c.kind, new[c.name].values) for c in table.columns]
    return NodeTable(new.ids, columns)


def distribution_distance(one: NodeColumn, other: NodeColumn) -> float:
    """Return total variation of categories and ordered values, or Kolmogorov-Smirnov of numbers.

    Categories that the other column pools are compared as one.
    """
    if one.kind is ColumnKind.numeric:
        return ks_distance(one.values, other.values)
    values, (a, b) = _shared_codes(one, other)
    return float(
        np.abs(
            np.bincount(a, minlength=len(values)) / max(len(a), 1)
            - np.bincount(b, minlength=len(values)) / max(len(b), 1)
        ).sum()
        / 2
    )


def assortativity(graph: Graph, column: NodeColumn) -> float | None:
    """Return Newman's assortativity: of categories, or the correlation over edges of numbers.

    None if all edges join equal values anyway, or there is no edge.
    """
    if column.kind is not ColumnKind.categorical:
        return correlation_over_edges(graph, column.values)
    a, b = _both_ends(graph)
    if not len(a):
        return None
    _, code = np.unique(column.values.astype(str), return_inverse=True)
    ends = np.bincount(code[a]) / len(a)
    expected = float((ends**2).sum())
    if expected == 1:
        return None
    return float((np.mean(code[a] == code[b]) - expected) / (1 - expected))


def correlation_over_edges(graph: Graph, values: np.ndarray) -> float | None:
    """Return the correlation of the values at the two ends of an edge; None if all are equal."""
    a, b = _both_ends(graph)
    x = values.astype(np.float64)
    if not len(a) or x[a].std() == 0:
        return None
    return float(np.corrcoef(x[a], x[b])[0, 1])


def _both_ends(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    source, target = graph.edges()
    return np.concatenate([source, target]), np.concatenate([target, source])


def degree_dependence(graph: Graph, column: NodeColumn) -> float:
    """Return the share of the variance of log(1 + degree) between the values of a column."""
    y = np.log1p(graph.degrees)
    code = _codes(column)
    sizes = np.bincount(code)
    mean = np.divide(np.bincount(code, y), sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    total = float(((y - y.mean()) ** 2).sum())
    return float((sizes * (mean - y.mean()) ** 2).sum() / total) if total else 0.0


def _codes(column: NodeColumn) -> np.ndarray:
    """Return values as numbers 0, 1, …; numeric columns as ranges of equal size."""
    if column.kind is ColumnKind.numeric:
        rank = np.argsort(np.argsort(column.values, kind="stable"), kind="stable")
        return rank * _RANGES // max(len(rank), 1)
    return np.unique(column.values.astype(str), return_inverse=True)[1].ravel()


def _shared_codes(one: NodeColumn, other: NodeColumn) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the values of two columns as codes; values that the other lacks share one code."""
    if one.kind is ColumnKind.numeric:
        cuts = np.quantile(one.values, np.arange(1, _RANGES) / _RANGES)
        codes = [np.searchsorted(cuts, c.values, side="right") for c in (one, other)]
        return np.arange(_RANGES), codes
    if one.kind is ColumnKind.ordinal:  # each published number stands for the nearest ones
        kept = np.unique(other.values)
        nearest = [np.abs(c.values[:, None] - kept).argmin(1) for c in (one, other)]
        return kept, nearest
    both = sorted(set(one.values.astype(str)) & set(other.values.astype(str)))
    number = {value: i for i, value in enumerate(both)}
    pooled = len(both)
    codes = [
        np.array([number.get(v, pooled) for v in c.values.astype(str)], np.int64)
        for c in (one, other)
    ]
    return as_ids(np.array([*both, ""], object)), codes


def combination_distance(table: NodeTable, new: NodeTable, min_size: int) -> tuple[float, float]:
    """Return the total variation over combinations that at least `min_size` people have.

    The second number is what a random sample of as many people would have.
    """
    pairs = [_shared_codes(column, new[column.name])[1] for column in table.columns]
    first, second = (np.stack([pair[i] for pair in pairs], axis=1) for i in (0, 1))
    combos, counts = np.unique(first, axis=0, return_counts=True)
    here = {row.tobytes(): count for row, count in zip(combos, counts, strict=True)}
    others, published = np.unique(second, axis=0, return_counts=True)
    there = {row.tobytes(): count for row, count in zip(others, published, strict=True)}
    scale = len(first) / max(len(second), 1)
    common = [(row, count) for row, count in here.items() if count >= min_size]
    difference = sum(abs(count - scale * there.get(row, 0)) for row, count in common)
    by_chance = sum(np.sqrt(2 * count / np.pi) for _, count in common)
    n = max(len(first), 1)
    return float(difference / 2 / n), float(by_chance / 2 / n)

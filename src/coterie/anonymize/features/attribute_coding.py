"""Attributes as codes: values that few people have are pooled, numbers are divided into ranges.

What a class says about a sensitive column is limited: l-diversity and t-closeness. Somebody who
knows the class of a person learns how the column is distributed in it. The class is l-diverse if it
contains at least l different values [1]_, and t-close if its distribution is at most t away from
that of everybody [2]_. For categories the distance is the share of people whose value would have to
change; for ordered values it is the earth mover's distance, where moving everybody from the lowest
to the highest value counts 1.

.. [1] A. Machanavajjhala et al., "l-diversity: privacy beyond k-anonymity", ICDE 2006.
.. [2] N. Li, T. Li and S. Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and
   l-diversity", ICDE 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.degrees import draw_around_means
from coterie.anonymize.figures import Private
from coterie.base.errors import InputError
from coterie.data.node_table import ColumnKind, NodeColumn, NodeTable

OTHER = "other"  # stands for all categories that few people have
_MOST_RANGES = 24  # of a numeric column


@dataclass(frozen=True, eq=False)
class ColumnCoding:
    """The published values of a column, each of which stands for at least `min_size` people."""

    name: str
    kind: ColumnKind
    integers: bool
    labels: np.ndarray  # categories: text; otherwise the mean of each range, in order

    @property
    def n_codes(self) -> int:
        """Number of published values, or of ranges."""
        return len(self.labels)

    @property
    def ordered(self) -> bool:
        """Whether codes are in the order of the values."""
        return self.kind is not ColumnKind.categorical

    def values(self, codes: np.ndarray, rng: Generator) -> np.ndarray:
        """Return values to publish. Numbers are drawn between the ranges next to their own."""
        if self.kind is not ColumnKind.numeric:
            return np.asarray(self.labels[codes])
        mean = self.labels.astype(np.float64)
        if len(mean) == 1:
            drawn = np.full(len(codes), mean[0])
        else:
            half = (mean[:-1] + mean[1:]) / 2
            low = np.r_[2 * mean[0] - half[0], half]
            high = np.r_[half, 2 * mean[-1] - half[-1]]
            drawn = draw_around_means(codes, low, mean, high, rng)
        return np.rint(drawn).astype(np.int64) if self.integers else drawn


@dataclass(frozen=True, eq=False)
class CodedAttributes:
    """All columns as codes."""

    columns: list[ColumnCoding]
    codes: np.ndarray  # int32[n, columns]

    @property
    def sizes(self) -> np.ndarray:
        """Number of codes per column."""
        return np.array([column.n_codes for column in self.columns], np.int64)

    def table(self, codes: np.ndarray, rng: Generator) -> NodeTable:
        """Return the published table of rows of codes."""
        return NodeTable(
            np.arange(len(codes)),
            [
                NodeColumn(c.name, c.kind, c.values(codes[:, j], rng))
                for j, c in enumerate(self.columns)
            ],
        )


def code_attributes(attributes: NodeTable, min_size: int) -> CodedAttributes:
    """Give every value a code that at least `min_size` people share."""
    columns, codes = [], []
    for attribute in attributes.columns:
        column, code = _code_column(attribute, min_size)
        columns.append(column)
        codes.append(code)
    return CodedAttributes(columns, np.stack(codes, axis=1).astype(np.int32))


def _code_column(attribute: NodeColumn, min_size: int) -> tuple[ColumnCoding, np.ndarray]:
    if attribute.kind is ColumnKind.categorical:
        labels, code = _pool_rare(attribute, min_size)
    else:
        labels, code = _ranges(attribute, min_size)
    column = ColumnCoding(attribute.name, attribute.kind, attribute.integers, labels)
    return column, code


def _pool_rare(attribute: NodeColumn, min_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Replace categories of fewer than `min_size` people by one for all of them."""
    distinct, code, counts = np.unique(
        attribute.values.astype(str), return_inverse=True, return_counts=True
    )
    rare = counts < min_size
    if not rare.any():
        return distinct.astype(object), code
    if (~rare).sum() == 0 and counts.sum() < min_size:
        raise InputError(f"column {attribute.name!r} has too few values to publish")
    if counts[rare].sum() < min_size and (~rare).any():  # pooled, they would still be too few
        rare[np.where(rare, counts.sum() + 1, counts).argmin()] = True
    kept = np.flatnonzero(~rare)
    new = np.full(len(distinct), len(kept))
    new[kept] = np.arange(len(kept))
    pooled = OTHER
    while pooled in distinct[kept]:
        pooled += " values"
    return np.array([*distinct[kept].tolist(), pooled], object), new[code]


def _ranges(attribute: NodeColumn, min_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Divide numbers into ranges of at least `min_size` people; equal numbers stay together."""
    distinct, code, counts = np.unique(attribute.values, return_inverse=True, return_counts=True)
    least = min_size
    if attribute.kind is ColumnKind.numeric:
        least = max(min_size, -(-len(code) // _MOST_RANGES))
    group, size, current = np.empty(len(distinct), np.int64), 0, 0
    for i, count in enumerate(counts):
        if size >= least and counts[i:].sum() >= least:
            current, size = current + 1, 0
        group[i] = current
        size += count
    sums = np.bincount(group, counts * distinct.astype(np.float64))
    mean = sums / np.bincount(group, counts)
    alone = np.bincount(group) == 1  # the range is a single number, shared by enough people
    exact = np.zeros(len(mean))
    exact[group] = distinct
    labels = np.where(alone, exact, mean)
    if attribute.integers and attribute.kind is ColumnKind.ordinal:
        return np.rint(labels).astype(np.int64), group[code]
    return labels, group[code]


@dataclass(frozen=True, repr=False)
class SensitiveRisk(Private):
    """What classes say about one sensitive column."""

    column: str
    least_values: int  # different values in the class with the fewest
    largest_distance: float  # of a class from everybody
    certain_people: int  # people whose class has a single value


def class_counts(codes: np.ndarray, label: np.ndarray, n_codes: int) -> np.ndarray:
    """Return how many people of each class have each code (int64[classes, codes])."""
    n_classes = int(label.max(initial=-1)) + 1
    flat = np.bincount(label.astype(np.int64) * n_codes + codes, minlength=n_classes * n_codes)
    return flat.reshape(n_classes, n_codes)


def distances(counts: np.ndarray, ordered: bool) -> np.ndarray:
    """Return the distance of each class from everybody (float64[classes]).

    >>> distances(np.array([[2, 0], [0, 2]]), ordered=False)
    array([0.5, 0.5])
    """
    people = np.maximum(counts.sum(1, keepdims=True), 1)
    difference = counts / people - counts.sum(0) / max(counts.sum(), 1)
    if not ordered:
        return np.asarray(np.abs(difference).sum(1) / 2)
    steps = np.abs(np.cumsum(difference, axis=1)[:, :-1]).sum(1)
    return np.asarray(steps / max(counts.shape[1] - 1, 1))


def sensitive_risk(
    column: str, codes: np.ndarray, label: np.ndarray, n_codes: int, ordered: bool
) -> SensitiveRisk:
    """Measure what the classes say about a column with these codes."""
    counts = class_counts(codes, label, n_codes)
    values = (counts > 0).sum(1)
    return SensitiveRisk(
        column,
        int(values.min()),
        float(distances(counts, ordered).max()),
        int(counts[values == 1].sum()),
    )


def blend_sensitive(
    codes: np.ndarray,
    label: np.ndarray,
    n_codes: int,
    ordered: bool,
    limit: float,
    rng: Generator,
) -> np.ndarray:
    """Replace values of classes that are too far from everybody, until none is.

    In such a class the smallest necessary share of people gets values in the proportions of
    everybody. The codes are listed class by class, in any order within a class.
    """
    blended = codes.copy()
    first = np.r_[0, np.cumsum(np.bincount(label))]
    everybody = np.bincount(codes, minlength=n_codes) / max(len(codes), 1)
    for _ in range(50):
        counts = class_counts(blended, label, n_codes)
        distance = distances(counts, ordered)
        for r in np.flatnonzero((distance > limit) | ((counts > 0).sum(1) < 2)):
            size = first[r + 1] - first[r]
            excess = 1 - limit / distance[r] if distance[r] > 0 else 0.0
            n_new = min(size, max(1, int(np.ceil(size * excess))))
            chosen = first[r] + rng.choice(size, n_new, replace=False)
            blended[chosen] = rng.choice(n_codes, n_new, p=everybody)
        if (distance <= limit).all() and ((counts > 0).sum(1) >= 2).all():
            break
    return blended

"""The attributes of a release: drawn from each class, then placed so that edges join like values.

The model contains, of every class, how often each combination of values occurs, and of the whole
network, how many edges join each pair of values. It contains nothing about a single person but
the class, so members of a class are interchangeable, attributes included.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.features.attribute_coding import (
    CodedAttributes,
    ColumnCoding,
    blend_sensitive,
    code_attributes,
)
from coterie.anonymize.features.attribute_combinations import ClassRows, class_rows
from coterie.anonymize.features.attribute_measures import correlation_over_edges
from coterie.base.randomness import stream_keys
from coterie.data import Graph
from coterie.data.node_table import NodeTable
from coterie.kernels.anonymize.attribute_swaps import Mixed, mixing, products, swap_towards

_BLENDED = 0.7  # share of the rows of a class that are exchanged with others of its block
_TRIES = 200  # swaps tried per person
_MOST_GROUPS = 6  # of an ordered column, for the edges between its values


@dataclass(frozen=True, eq=False)
class AttributeModel:
    """Everything that a draw uses of the original attributes."""

    coded: CodedAttributes  # its codes are those of the original, for measures and attacks
    rows: ClassRows
    classes: Classes
    mixing_code: list[np.ndarray]  # per column: the group of each code whose mixing is kept
    target: np.ndarray  # edge ends per column and pair of groups, rounded
    correlation: np.ndarray  # of the groups at both ends of an edge, per column, rounded
    sensitive: list[int]  # columns
    closeness: float  # maximum distance of a class from everybody, for sensitive columns

    @classmethod
    def fit(
        cls,
        graph: Graph,
        attributes: NodeTable,
        classes: Classes,
        *,
        min_size: int,
        sensitive: list[str],
        closeness: float,
    ) -> AttributeModel:
        """Collect the statistics of the classes and of the edges."""
        coded = code_attributes(attributes, min_size)
        groups = [_mixing_groups(c, coded.codes[:, j]) for j, c in enumerate(coded.columns)]
        start, sizes = _layout(groups)
        grouped = _regroup(coded.codes, groups)
        return cls(
            coded,
            class_rows(
                coded.codes,
                classes.label,
                np.array([column.ordered for column in coded.columns]),
                min_size,
            ),
            classes,
            groups,
            _rounded(mixing(graph.indptr, graph.indices, grouped, start, sizes), min_size),
            np.array(
                [
                    round(correlation_over_edges(graph, grouped[:, j]) or 0.0, 2)
                    if column.ordered
                    else 0.0
                    for j, column in enumerate(coded.columns)
                ]
            ),
            [attributes.names.index(name) for name in sensitive],
            closeness,
        )

    def published_rows(self, rng: Generator) -> np.ndarray:
        """Return the rows of codes to publish, class by class, in no order within a class."""
        rows, label = self.rows.complete(rng), self.rows.label
        rows = self._blend(rows, label, self.classes.block_of[label], rng)
        for column in self.sensitive:
            coding = self.coded.columns[column]
            rows[:, column] = blend_sensitive(
                rows[:, column], label, coding.n_codes, coding.ordered, self.closeness, rng
            )
        return rows

    def _blend(
        self, rows: np.ndarray, label: np.ndarray, block: np.ndarray, rng: Generator
    ) -> np.ndarray:
        """Exchange a share of the rows with others of the same block.

        The exact counts of a small class would tell its most frequent value of people who are in
        it. No row becomes a rare one that somebody of the class has.
        """
        chosen = np.flatnonzero(rng.random(len(block)) < _BLENDED)
        chosen = chosen[np.argsort(block[chosen], kind="stable")]
        donors = chosen[np.lexsort((rng.random(len(chosen)), block[chosen]))]
        blended = rows.copy()
        for i, donor in zip(chosen, donors, strict=True):
            if not self.rows.rare_in_class(rows[donor], label[i]):
                blended[i] = rows[donor]
        return blended

    def draw(self, skeleton: Graph, rng: Generator) -> np.ndarray:
        """Return the codes of every node of a drawn graph (int32[n, columns])."""
        rows = self.published_rows(rng)
        label = self.classes.label
        place = np.lexsort((rng.random(len(label)), label))  # the node of each row
        start, sizes = _layout(self.mixing_code)
        node_row = np.empty(len(label), np.int64)
        node_row[place] = np.arange(len(label))
        grouped = np.empty((len(label), rows.shape[1] + 1), np.int32)
        grouped[:, :-1] = _regroup(rows, self.mixing_code)[node_row]
        grouped[:, -1] = node_row
        counts = mixing(skeleton.indptr, skeleton.indices, grouped[:, :-1].copy(), start, sizes)
        members = np.argsort(label, kind="stable").astype(np.int64)
        first = np.r_[0, np.cumsum(self.classes.sizes)].astype(np.int64)
        mixed = Mixed(
            start,
            sizes,
            counts,
            _scaled(self.target, counts, start),
            1.0 / sizes.astype(np.float64),
            *self._products(skeleton, grouped, sizes),
        )
        swap_towards(
            skeleton.indptr,
            skeleton.indices,
            grouped,
            mixed,
            label.astype(np.int64),
            members,
            first,
            _TRIES * len(label),
            stream_keys(rng, 1)[0],
        )
        return rows[grouped[:, -1]]

    def _products(
        self, skeleton: Graph, grouped: np.ndarray, sizes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return standardized scores of the groups of ordered columns, and the sums of their
        products over edges: as they are, and for the correlation of the original."""
        score = np.zeros((len(sizes), int(sizes.max(initial=1))))
        product, wanted = np.zeros(len(sizes)), np.zeros(len(sizes))
        ends = skeleton.degrees.astype(np.float64)
        for j, column in enumerate(self.coded.columns):
            if not column.ordered or not ends.any():
                continue
            values = grouped[:, j].astype(np.float64)
            mean = np.average(values, weights=ends)
            spread = np.sqrt(np.average((values - mean) ** 2, weights=ends))
            if spread == 0:
                continue
            score[j, : sizes[j]] = (np.arange(sizes[j]) - mean) / spread
            product[j] = products(skeleton.indptr, skeleton.indices, grouped, j, score[j])
            wanted[j] = self.correlation[j] * ends.sum()
        return score, product, wanted


def _scaled(target: np.ndarray, counts: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the target of each column with as many edge ends as the drawn graph has."""
    scaled = np.zeros_like(target)
    for low, high in pairwise(start):
        total = max(int(target[low:high].sum()), 1)
        scaled[low:high] = np.rint(target[low:high] * (counts[low:high].sum() / total))
    return scaled


def _rounded(ends: np.ndarray, min_size: int) -> np.ndarray:
    """Return numbers of edge ends as multiples of those of `min_size` edges."""
    unit = 2 * min_size
    return np.asarray((ends + unit // 2) // unit * unit)


def _mixing_groups(column: ColumnCoding, codes: np.ndarray) -> np.ndarray:
    """Return the group of each code: ordered codes form few groups of similar size."""
    if not column.ordered or column.n_codes <= _MOST_GROUPS:
        return np.arange(column.n_codes)
    below = np.cumsum(np.bincount(codes, minlength=column.n_codes)) - 1
    return np.unique(below * _MOST_GROUPS // len(codes), return_inverse=True)[1].ravel()


def _regroup(codes: np.ndarray, groups: list[np.ndarray]) -> np.ndarray:
    return np.stack([group[codes[:, j]] for j, group in enumerate(groups)], axis=1).astype(np.int32)


def _layout(groups: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return where the pairs of groups of each column begin, and the number of groups."""
    sizes = np.array([int(group.max(initial=0)) + 1 for group in groups], np.int64)
    return np.r_[0, np.cumsum(sizes**2)].astype(np.int64), sizes

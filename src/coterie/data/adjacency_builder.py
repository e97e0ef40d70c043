"""From a list of edges to compressed sparse rows.

Self-loops are dropped, repeated edges are merged and their weights added; all of them are counted.
Edges are first distributed to buckets of consecutive rows, then each bucket is sorted; see
kernels/graphs/csr.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from coterie.base.errors import InputError
from coterie.data.ordered_threads import in_order

_INT32_NODES = 2**31  # fewer nodes than this have int32 numbers
_BUCKET = 1 << 15  # entries per bucket: their keys fit into the cache of one core
_PART = 1 << 19  # edges per part
_TASKS = 64  # the buckets are sorted in this many tasks

# Sources and targets of some of the edges
Part = tuple[np.ndarray, np.ndarray]


class Cleaned(NamedTuple):
    """Counts of what was removed or merged while a graph was built."""

    self_loops: int = 0
    duplicates: int = 0
    reciprocal: int = 0

    def __str__(self) -> str:
        """Describe what was cleaned.

        >>> print(Cleaned(self_loops=60, reciprocal=2))
        60 self-loops dropped, 2 pairs given in both directions merged
        """
        kinds = (
            (self.self_loops, "self-loop", "dropped"),
            (self.duplicates, "repeated edge", "merged"),
            (self.reciprocal, "pair", "given in both directions merged"),
        )
        parts = [f"{n:,} {name}{'s' * (n > 1)} {done}" for n, name, done in kinds if n]
        return ", ".join(parts) if parts else "nothing to clean"


class WeightConflictError(InputError):
    """The two directions of an undirected pair have different weights; `rows` are the edges."""

    def __init__(self, rows: tuple[int, int], weights: tuple[float, float]) -> None:
        self.rows = rows
        self.weights = weights
        super().__init__(
            f"edges number {rows[0]} and {rows[1]} are the two directions of one pair, "
            f"but their weights are {weights[0]:g} and {weights[1]:g}",
            remedy="make the weights equal, keep one of the edges, or set `directed`",
        )


class AdjacencyRows(NamedTuple):
    """Compressed sparse rows, each sorted and without repeated entries."""

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray | None
    cleaned: Cleaned


class _BucketLayout(NamedTuple):
    """The division of rows into buckets, and the bits of a neighbour in a sort key."""

    shift: int  # a bucket holds 2**shift rows
    bits: int
    buckets: int

    @classmethod
    def for_size(cls, n_nodes: int, entries: int) -> _BucketLayout:
        """Return the layout for this many nodes and row entries."""
        row_bits = max(n_nodes - 1, 1).bit_length()
        split = min(row_bits, max(entries // _BUCKET, 1).bit_length() - 1)
        shift = row_bits - split
        return cls(shift, row_bits + 1, (max(n_nodes - 1, 0) >> shift) + 1)


def build_rows(
    parts: list[Part],
    weights: np.ndarray | None,
    n_nodes: int,
    directed: bool,
    *,
    wide: bool = False,
    threads: int | None = None,
) -> AdjacencyRows:
    """Build the rows of a graph on nodes 0..n-1 from parts of its edge list, which is emptied.

    `weights` has one entry per edge, over all parts; `wide` forces 64-bit indices. The result does
    not depend on how the list was divided into parts or on the number of threads.
    """
    wide = wide or n_nodes >= _INT32_NODES
    number = np.dtype(np.int64 if wide else np.int32)
    for i, (source, target) in enumerate(parts):
        parts[i] = _node_numbers(source, number, n_nodes), _node_numbers(target, number, n_nodes)
    n_edges = sum(len(source) for source, _ in parts)
    threads = 1 if n_edges < _PART else threads
    layout = _BucketLayout.for_size(n_nodes, n_edges * (1 if directed else 2))
    counts, loops = _count_entries(parts, layout, n_nodes, directed, threads)
    bounds = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
    entries = int(bounds[-1])
    indices = np.empty(entries * (1 if wide else 2), number)
    origin = np.empty(0 if weights is None else entries, np.int64)
    _fill_buckets(parts, layout, directed, counts, bounds, indices.view(np.uint64), origin, threads)
    given = np.empty(0) if weights is None else weights
    merged = np.empty(len(origin))
    indptr = np.zeros(n_nodes + 1, np.int64)
    sorted_ = _sort_buckets(layout, bounds, indices, origin, given, indptr[1:], merged, threads)
    np.cumsum(indptr, out=indptr)
    starts = bounds[:-1]
    _close_gaps(indices, starts * (1 if wide else 2), sorted_.entries)
    if len(origin):
        _close_gaps(merged, starts, sorted_.entries)
    cleaned = Cleaned(loops, sorted_.repeats, sorted_.reciprocal)
    return AdjacencyRows(indptr, indices, None if weights is None else merged, cleaned)


def _count_entries(
    parts: list[Part], layout: _BucketLayout, n_nodes: int, directed: bool, threads: int | None
) -> tuple[np.ndarray, int]:
    """Count the entries of each bucket from each part, and the self-loops."""
    from coterie.kernels.graphs import csr

    counts = np.zeros((len(parts), layout.buckets), np.int64)
    work = (
        (s, t, n_nodes, directed, layout.shift, c) for (s, t), c in zip(parts, counts, strict=True)
    )
    loops = 0
    for part, (dropped, outside) in enumerate(in_order(csr.count_buckets, work, threads)):
        if outside >= 0:
            source, target = (int(ends[outside]) for ends in parts[part])
            raise _node_out_of_range(source, target, n_nodes)
        loops += int(dropped)
    return counts, loops


def _fill_buckets(
    parts: list[Part],
    layout: _BucketLayout,
    directed: bool,
    counts: np.ndarray,
    bounds: np.ndarray,
    keys: np.ndarray,
    origin: np.ndarray,
    threads: int | None,
) -> None:
    """Copy every edge into its buckets; the memory of a part is released when it is done."""
    from coterie.kernels.graphs import csr

    cursors = bounds[:-1] + np.cumsum(counts, axis=0) - counts
    shared = (directed, layout.shift, layout.bits)

    def work() -> Iterator[tuple[Any, ...]]:
        first_edge = 0
        for cursor in cursors:
            source, target = parts.pop(0)
            yield source, target, *shared, first_edge, cursor, keys, origin
            first_edge += len(source)

    for _ in in_order(csr.deal, work(), threads):
        pass


class _SortedBuckets(NamedTuple):
    """The number of entries left in each bucket, and what was merged."""

    entries: np.ndarray
    repeats: int
    reciprocal: int


def _sort_buckets(
    layout: _BucketLayout,
    bounds: np.ndarray,
    indices: np.ndarray,
    origin: np.ndarray,
    weights: np.ndarray,
    degrees: np.ndarray,
    merged: np.ndarray,
    threads: int | None,
) -> _SortedBuckets:
    """Sort each bucket, merge repeated entries, and write its rows in place of its keys."""
    from coterie.kernels.graphs import csr

    groups = np.linspace(0, layout.buckets, min(layout.buckets, _TASKS) + 1).astype(np.int64)
    shared = (bounds, layout.shift, layout.bits, indices.view(np.uint64), origin, weights)
    work = ((a, b, *shared, degrees, indices, merged) for a, b in pairwise(groups))
    entries, repeats, reciprocal = [], 0, 0
    for written, repeated, both, odd in in_order(csr.build_buckets, work, threads):
        if odd[0] >= 0:
            (low, a), (high, b) = sorted([(int(odd[0]), odd[2]), (int(odd[1]), odd[3])])
            raise WeightConflictError((low, high), (a, b))
        entries.append(written)
        repeats += int(repeated)
        reciprocal += int(both)
    return _SortedBuckets(np.concatenate(entries), repeats, reciprocal)


def cut_edges(source: np.ndarray, target: np.ndarray) -> list[Part]:
    """Divide an edge list into parts for the threads."""
    cuts = range(0, max(len(source), 1), _PART)
    return [(source[i : i + _PART], target[i : i + _PART]) for i in cuts]


def check_weights(weights: np.ndarray) -> None:
    """Raise InputError for weights that are not finite."""
    bad = ~np.isfinite(weights)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"edge number {row} has the weight {weights[row]:g}",
            remedy="weights must be finite",
        )


def _node_numbers(ends: np.ndarray, number: np.dtype[Any], n_nodes: int) -> np.ndarray:
    """Return contiguous node numbers with the type of the kernels, after a range check."""
    if ends.dtype != number and len(ends):
        low, high = int(ends.min()), int(ends.max())
        if low < 0 or high >= n_nodes:
            raise _node_out_of_range(low, high, n_nodes)
    return np.ascontiguousarray(ends, number)


def _close_gaps(values: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> None:
    """Move the sorted pieces together and release the rest of the memory."""
    from coterie.kernels.graphs import csr

    length = csr.close_gaps(values, starts, lengths)
    values.resize(length, refcheck=False)  # there is no other reference to the array


def _node_out_of_range(a: int, b: int, n_nodes: int) -> InputError:
    """Return the error for an edge of which one end is not a node."""
    culprit = a if not 0 <= a < n_nodes else b
    return InputError(
        f"an edge has the node number {culprit}, outside 0..{n_nodes - 1}",
        remedy="number the nodes from 0 to `n_nodes` - 1",
    )

"""Edges to rows: loops dropped, repeats merged, weights added, all counted. See kernels/csr.py."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from coterie.base.errors import InputError
from coterie.data.ordered_threads import in_order

_NARROW = 2**31  # node numbers below this fit int32
_BUCKET = 1 << 15  # entries of a bucket: their keys fit a core's own cache
_PART = 1 << 19  # edges of a part
_GROUPS = 64  # buckets are built in this many tasks

Part = tuple[np.ndarray, np.ndarray]


class Cleaned(NamedTuple):
    """What building a graph removed or merged."""

    self_loops: int = 0
    duplicates: int = 0
    reciprocal: int = 0

    def __str__(self) -> str:
        """
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
    """The two directions of an undirected pair have different weights; `rows` number the edges."""

    def __init__(self, rows: tuple[int, int], weights: tuple[float, float]) -> None:
        self.rows = rows
        self.weights = weights
        super().__init__(
            f"edges number {rows[0]} and {rows[1]} are one pair in both directions, "
            f"with weights {weights[0]:g} and {weights[1]:g}",
            remedy="make them equal, keep one of them, or read the graph as directed",
        )


class AdjacencyRows(NamedTuple):
    """Compressed sparse rows, each sorted and without repeats."""

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray  # empty where there are none
    cleaned: Cleaned


class _Plan(NamedTuple):
    """How rows are cut into buckets, and keys into bits; see kernels/csr.py."""

    shift: int
    bits: int
    buckets: int

    @classmethod
    def of(cls, n_nodes: int, entries: int) -> _Plan:
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
    """AdjacencyRows of the graph on nodes 0..n-1 from parts of its edge list, which is used up.

    `weights` run over all parts; `wide` forces 64-bit indices. The rows depend neither on how the
    list was cut nor on the threads."""
    wide = wide or n_nodes >= _NARROW
    number = np.dtype(np.int64 if wide else np.int32)
    for i, (source, target) in enumerate(parts):
        parts[i] = _numbers(source, number, n_nodes), _numbers(target, number, n_nodes)
    n_edges = sum(len(source) for source, _ in parts)
    threads = 1 if n_edges < _PART else threads
    plan = _Plan.of(n_nodes, n_edges * (1 if directed else 2))
    counts, loops = _count(parts, plan, n_nodes, directed, threads)
    bounds = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
    entries = int(bounds[-1])
    indices = np.empty(entries * (1 if wide else 2), number)
    origin = np.empty(0 if weights is None else entries, np.int64)
    _deal(parts, plan, directed, counts, bounds, indices.view(np.uint64), origin, threads)
    weights = np.empty(0) if weights is None else weights
    merged = np.empty(len(origin))
    indptr = np.zeros(n_nodes + 1, np.int64)
    built = _build(plan, bounds, indices, origin, weights, indptr[1:], merged, threads)
    np.cumsum(indptr, out=indptr)
    starts = bounds[:-1]
    _close_gaps(indices, starts * (1 if wide else 2), built.entries)
    if len(origin):
        _close_gaps(merged, starts, built.entries)
    cleaned = Cleaned(loops, built.repeats, built.reciprocal)
    return AdjacencyRows(indptr, indices, merged, cleaned)


def _count(
    parts: list[Part], plan: _Plan, n_nodes: int, directed: bool, threads: int | None
) -> tuple[np.ndarray, int]:
    """Entries of each bucket from each part, and the self-loops."""
    from coterie.kernels.graphs import csr

    counts = np.zeros((len(parts), plan.buckets), np.int64)
    work = (
        (s, t, n_nodes, directed, plan.shift, c) for (s, t), c in zip(parts, counts, strict=True)
    )
    loops = 0
    for part, (dropped, outside) in enumerate(in_order(csr.count_buckets, work, threads)):
        if outside >= 0:
            source, target = (int(ends[outside]) for ends in parts[part])
            raise _outside(source, target, n_nodes)
        loops += int(dropped)
    return counts, loops


def _deal(
    parts: list[Part],
    plan: _Plan,
    directed: bool,
    counts: np.ndarray,
    bounds: np.ndarray,
    keys: np.ndarray,
    origin: np.ndarray,
    threads: int | None,
) -> None:
    """Every edge into its buckets; a part is let go as soon as it is dealt."""
    from coterie.kernels.graphs import csr

    cursors = bounds[:-1] + np.cumsum(counts, axis=0) - counts

    def work() -> Iterator[tuple[Any, ...]]:
        first_edge = 0
        for cursor in cursors:
            source, target = parts.pop(0)
            yield source, target, directed, plan.shift, plan.bits, first_edge, cursor, keys, origin
            first_edge += len(source)

    for _ in in_order(csr.deal, work(), threads):
        pass


class _Built(NamedTuple):
    entries: np.ndarray
    repeats: int
    reciprocal: int


def _build(
    plan: _Plan,
    bounds: np.ndarray,
    indices: np.ndarray,
    origin: np.ndarray,
    weights: np.ndarray,
    degrees: np.ndarray,
    merged: np.ndarray,
    threads: int | None,
) -> _Built:
    from coterie.kernels.graphs import csr

    groups = np.linspace(0, plan.buckets, min(plan.buckets, _GROUPS) + 1).astype(np.int64)
    shared = (bounds, plan.shift, plan.bits, indices.view(np.uint64), origin, weights)
    work = ((a, b, *shared, degrees, indices, merged) for a, b in pairwise(groups))
    entries, repeats, reciprocal = [], 0, 0
    for written, repeated, both, odd in in_order(csr.build_buckets, work, threads):
        if odd[0] >= 0:
            (low, a), (high, b) = sorted([(int(odd[0]), odd[2]), (int(odd[1]), odd[3])])
            raise WeightConflictError((low, high), (a, b))
        entries.append(written)
        repeats += int(repeated)
        reciprocal += int(both)
    return _Built(np.concatenate(entries), repeats, reciprocal)


def cut_edges(source: np.ndarray, target: np.ndarray) -> list[Part]:
    """An edge list in parts that threads can share."""
    cuts = range(0, max(len(source), 1), _PART)
    return [(source[i : i + _PART], target[i : i + _PART]) for i in cuts]


def check_weights(weights: np.ndarray) -> None:
    """Refuse what no weight can be; the error names the first bad one by its number."""
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"edge number {row} has weight {weights[row]:g}",
            remedy="weights are finite and not negative",
        )


def _numbers(ends: np.ndarray, number: np.dtype[Any], n_nodes: int) -> np.ndarray:
    """Contiguous node numbers of the width that the kernels take; never a number cut off."""
    if ends.dtype != number and len(ends):
        low, high = int(ends.min()), int(ends.max())
        if low < 0 or high >= n_nodes:
            raise _outside(low, high, n_nodes)
    return np.ascontiguousarray(ends, number)


def _close_gaps(values: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> None:
    """Move the built pieces up to each other and give the rest of the memory back."""
    from coterie.kernels.graphs import csr

    length = csr.close_gaps(values, starts, lengths)
    values.resize(length, refcheck=False)  # nobody else looks at it any more


def _outside(a: int, b: int, n_nodes: int) -> InputError:
    culprit = a if not 0 <= a < n_nodes else b
    return InputError(
        f"an edge names node {culprit}, outside 0..{n_nodes - 1}",
        remedy="nodes are numbered from 0 to n_nodes - 1",
    )

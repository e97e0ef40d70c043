"""Swap the attributes of two people of a class so that edges join values as in the original."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import below, stream

_PRODUCT_WEIGHT = 2.0  # of the correlation of a column, compared with its pairs of codes


class Mixed(NamedTuple):
    """What edges join, per column, and the targets.

    The targets are the edge ends per pair of codes (`counts` -> `target`, see `mixing`), and per
    column the sum of the products of the scores at both ends (`product` -> `wanted`), which is the
    correlation of ordered columns; other columns have scores 0.
    """

    start: np.ndarray  # int64[columns + 1]: where the pairs of each column begin
    sizes: np.ndarray  # int64[columns]: codes
    counts: np.ndarray  # int64
    target: np.ndarray  # int64
    weight: np.ndarray  # float64[columns]
    score: np.ndarray  # float64[columns, codes]
    product: np.ndarray  # float64[columns]
    wanted: np.ndarray  # float64[columns]


@njit(nogil=True, cache=True)
def mixing(indptr, indices, codes, start, sizes):
    """Count the edge ends per column and pair of codes (int64).

    The counts of column c begin at start[c]; the pair (a, b) of its k = sizes[c] codes is at
    start[c] + a * k + b.
    """
    n, columns = codes.shape
    counts = np.zeros(start[-1], np.int64)
    for u in range(n):
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            for c in range(columns):
                counts[start[c] + codes[u, c] * sizes[c] + codes[v, c]] += 1
    return counts


@njit(nogil=True, cache=True)
def _shift(counts, target, place, change):
    """Change one count; return how much its distance to the target grows."""
    before = abs(counts[place] - target[place])
    counts[place] += change
    return abs(counts[place] - target[place]) - before


@njit(nogil=True, cache=True)
def products(indptr, indices, codes, column, score):
    """Return the sum over edge ends of the product of the two scores in a column."""
    total = 0.0
    for u in range(len(indptr) - 1):
        for e in range(indptr[u], indptr[u + 1]):
            total += score[codes[u, column]] * score[codes[indices[e], column]]
    return total


@njit(nogil=True, cache=True)
def _recode(indptr, indices, codes, mixed, u, row):
    """Give node u the codes `row`; return how much the distance to the targets grows.

    Columns beyond those of `mixed.sizes` are carried along.
    """
    start, counts, target = mixed.start, mixed.counts, mixed.target
    score, product, wanted = mixed.score, mixed.product, mixed.wanted
    columns = len(mixed.sizes)
    growth = 0.0
    for c in range(columns):
        old, new, k = codes[u, c], row[c], mixed.sizes[c]
        if old == new:
            continue
        change, around = 0, 0.0
        for e in range(indptr[u], indptr[u + 1]):
            b = codes[indices[e], c]
            change += _shift(counts, target, start[c] + old * k + b, -1)
            change += _shift(counts, target, start[c] + b * k + old, -1)
            change += _shift(counts, target, start[c] + new * k + b, 1)
            change += _shift(counts, target, start[c] + b * k + new, 1)
            around += score[c, b]
        before = abs(product[c] - wanted[c])
        product[c] += 2.0 * (score[c, new] - score[c, old]) * around
        closer = _PRODUCT_WEIGHT * (abs(product[c] - wanted[c]) - before)
        growth += mixed.weight[c] * (change + closer)
        codes[u, c] = new
    for c in range(columns, codes.shape[1]):
        codes[u, c] = row[c]
    return growth


@njit(nogil=True, cache=True)
def swap_towards(indptr, indices, codes, mixed, label, members, first, tries, key):
    """Swap rows of `codes` within classes, in place, while they come nearer to the targets.

    Node u is of class r = label[u], with the nodes members[first[r] : first[r + 1]]. A swap is
    kept if the weighted distance does not grow. Returns the number of swaps.
    """
    state = stream(key, 0)
    columns = codes.shape[1]
    one, other = np.empty(columns, codes.dtype), np.empty(columns, codes.dtype)
    swaps = 0
    for _ in range(tries):
        state, u = below(state, len(members))
        r = label[u]
        state, i = below(state, first[r + 1] - first[r])
        v = members[first[r] + i]
        same = True
        for c in range(columns):
            one[c], other[c] = codes[u, c], codes[v, c]
            same &= c >= len(mixed.sizes) or one[c] == other[c]
        if same:
            continue
        growth = 0.0
        for node, row in ((u, other), (v, one)):
            growth += _recode(indptr, indices, codes, mixed, node, row)
        if growth <= 0:
            swaps += 1
            continue
        for node, row in ((v, other), (u, one)):
            _recode(indptr, indices, codes, mixed, node, row)
    return swaps

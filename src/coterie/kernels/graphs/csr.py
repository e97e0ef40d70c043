"""From a list of edges to compressed sparse rows: fill buckets, sort each, merge repeats.

Used by `data/adjacency_builder.py`.

    source, target   int32 (int64 for 2**31 nodes or more), one entry per edge
    keys             uint64, one per entry of a row: (row in its bucket) << bits | 2 * neighbour,
                     plus 1 if the edge was given from the other end, so that sorting brings both
                     directions of a pair together
    origin           int64, one per key: the edge of each entry; length 0 if it is not needed
    shift, bits      a bucket is 2**shift rows; 2 * neighbour + 1 < 2**bits

A bucket fits into the cache, so only filling the buckets accesses memory at random. O(edges).
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.copies import copy_into

_DIGIT = 11  # bits sorted per pass
_DIGITS = 1 << _DIGIT
_MASK = np.uint64(_DIGITS - 1)
_ONE = np.uint64(1)


@njit(nogil=True, cache=True)
def count_buckets(source, target, n_nodes, directed, shift, counts):
    """Count the entries of each bucket; return (loops, first edge outside 0..n-1 or -1)."""
    loops = 0
    for e in range(len(source)):
        s, t = np.int64(source[e]), np.int64(target[e])
        if s < 0 or t < 0 or s >= n_nodes or t >= n_nodes:
            return loops, e
        if s == t:
            loops += 1
            continue
        counts[s >> shift] += 1
        if not directed:
            counts[t >> shift] += 1
    return loops, -1


@njit(nogil=True, cache=True)
def deal(source, target, directed, shift, bits, first_edge, cursor, keys, origin):
    """Put every edge into its bucket (undirected: both ends); `cursor`: next place per bucket."""
    below = np.int64((1 << shift) - 1)
    remember = len(origin) > 0
    for e in range(len(source)):
        s, t = np.int64(source[e]), np.int64(target[e])
        if s == t:
            continue
        p = cursor[s >> shift]
        cursor[s >> shift] = p + 1
        keys[p] = np.uint64(((s & below) << bits) | (2 * t))
        if remember:
            origin[p] = first_edge + e
        if not directed:
            p = cursor[t >> shift]
            cursor[t >> shift] = p + 1
            keys[p] = np.uint64(((t & below) << bits) | (2 * s + 1))
            if remember:
                origin[p] = first_edge + e


@njit(nogil=True, cache=True)
def _sort(keys, origin, spare_keys, spare_origin, key_bits):
    """Sort one bucket (stable radix sort) into the spare arrays; keys are overwritten."""
    size = len(keys)
    remember = len(origin) > 0
    passes = (key_bits + _DIGIT - 1) // _DIGIT
    places = np.zeros((passes, _DIGITS), np.uint64)  # unsigned: no test for negative places
    for i in range(size):
        for k in range(passes):
            places[k, (keys[i] >> np.uint64(k * _DIGIT)) & _MASK] += _ONE
    for k in range(passes):
        total = np.uint64(0)
        for d in range(_DIGITS):
            count = places[k, d]
            places[k, d] = total
            total += count
    a, b = keys, spare_keys[:size]
    x, y = origin, spare_origin[: len(origin)]
    for k in range(passes):
        place = places[k]
        low = np.uint64(k * _DIGIT)
        for i in range(size):
            d = (a[i] >> low) & _MASK
            b[place[d]] = a[i]
            if remember:
                y[place[d]] = x[i]
            place[d] += _ONE
        a, b = b, a
        x, y = y, x
    if passes % 2 == 0:
        copy_into(b, a)
        if remember:
            copy_into(y, x)


@njit(nogil=True, cache=True)
def build_buckets(
    first, last, bounds, shift, bits, keys, origin, weights, degrees, indices, merged
):
    """Sort and merge the buckets first..last-1.

    `indices` shares its memory with `keys`: the rows of a bucket overwrite its own keys from the
    start. `merged` receives their weights, summed within one direction of a pair. Return (entries
    of each bucket, repeats, pairs given in both directions, (edge, edge, weight, weight) of the
    first pair whose two directions have different weights, or -1, -1, 0, 0)."""
    entries = np.zeros(last - first, np.int64)
    longest = 0
    for bucket in range(first, last):
        longest = max(longest, bounds[bucket + 1] - bounds[bucket])
    weighted = len(origin) > 0
    spare_keys = np.empty(longest, np.uint64)
    spare_origin = np.empty(longest if weighted else 0, np.int64)
    per_key = len(indices) // max(len(keys), 1)  # indices that fit into the memory of one key
    one, low_bits = np.uint64(1), np.uint64((1 << bits) - 1)
    repeats, reciprocal = 0, 0
    for bucket in range(first, last):
        begin, end = bounds[bucket], bounds[bucket + 1]
        edges = origin[begin:end] if weighted else origin
        _sort(keys[begin:end], edges, spare_keys, spare_origin, bits + shift)
        sorted_keys, edges = spare_keys[: end - begin], spare_origin[: len(edges)]
        written = 0
        i = 0
        while i < len(sorted_keys):
            pair = sorted_keys[i] >> one
            row = (bucket << shift) + np.int64(sorted_keys[i] >> np.uint64(bits))
            neighbour = np.int64((sorted_keys[i] & low_bits) >> one)
            given, taken, given_weight, taken_weight = 0, 0, 0.0, 0.0
            first_given, first_taken = np.int64(-1), np.int64(-1)
            while i < len(sorted_keys) and sorted_keys[i] >> one == pair:
                if sorted_keys[i] & one:
                    taken += 1
                    if weighted:
                        taken_weight += weights[edges[i]]
                        first_taken = edges[i] if first_taken < 0 else first_taken
                else:
                    given += 1
                    if weighted:
                        given_weight += weights[edges[i]]
                        first_given = edges[i] if first_given < 0 else first_given
                i += 1
            if given > 1:
                repeats += given - 1
            if given and taken:
                reciprocal += row < neighbour
                if abs(given_weight - taken_weight) > 1e-12 * max(given_weight, taken_weight):
                    odd = (first_given, first_taken, given_weight, taken_weight)
                    return entries, repeats, reciprocal, odd
            indices[begin * per_key + written] = neighbour
            if weighted:
                merged[begin + written] = given_weight if given else taken_weight
            degrees[row] += 1
            written += 1
        entries[bucket - first] = written
    return entries, repeats, reciprocal, (np.int64(-1), np.int64(-1), 0.0, 0.0)


@njit(nogil=True, cache=True)
def close_gaps(values, starts, lengths):
    """Close the gaps between the pieces values[starts[i] : starts[i] + lengths[i]], in place."""
    written = 0
    for i in range(len(starts)):
        begin = starts[i]
        for j in range(lengths[i]):
            values[written + j] = values[begin + j]
        written += lengths[i]
    return written

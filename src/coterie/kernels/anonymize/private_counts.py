"""Exact counts behind the private answers: placing nodes in a stream, largest sums over pairs.

Used by `anonymize/private/stream_partition.py` and `anonymize/private/exact_counts.py`.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit

_FRACTION_BITS = 16  # scores are integers, in units of 2^-16: comparisons are exact
LARGEST_COUNT = 2**40  # noisy counts above it are cut to it; a score still fits into 64 bits


@njit(nogil=True, cache=True)
def place_nodes(indptr, indices, nodes, noise, expected, total, labels, block_sums):
    """Put each of `nodes`, in turn, into the block where it has most neighbours over expectation.

    noise[i, c] >= 0 is added to the number of neighbours that nodes[i] has among the nodes placed
    in block c before it; the largest sum over expectation wins, the first block among equals.
    The privacy proof needs that a neighbour more raises one score by exactly as much as one unit
    of noise, so scores are integers, and noise above `LARGEST_COUNT` is cut together with the
    neighbours that it is added to; `expected`, `total` and `block_sums` are public. Updates
    `labels` (int32, -1 = not placed yet) and `block_sums`.
    """
    n_blocks = noise.shape[1]
    unit = np.int64(1) << _FRACTION_BITS
    neighbours = np.zeros(n_blocks, np.int64)
    for i in range(len(nodes)):
        v = nodes[i]
        neighbours[:] = 0
        for slot in range(indptr[v], indptr[v + 1]):
            block = labels[indices[slot]]
            if block >= 0:
                neighbours[block] += 1
        best = 0
        best_score = np.int64(-(2**62))
        for c in range(n_blocks):
            public = np.int64(np.rint(expected[v] * block_sums[c] / total * unit))
            noisy = min(neighbours[c] + min(noise[i, c], LARGEST_COUNT), LARGEST_COUNT)
            score = noisy * unit - public
            if score > best_score:
                best, best_score = c, score
        labels[v] = best
        block_sums[best] += expected[v]


@njit(nogil=True, cache=True)
def largest_common_sum(indptr, indices, weights, floor):
    """Return the largest sum of weights over the common neighbours of two nodes, or `floor`.

    All pairs of nodes count, joined or not; the result is max(floor, largest sum). A pair's sum is
    at most that of all neighbours of either node. So nodes are visited by falling sum, paired
    with nodes visited before them, until the sums are no larger than the best found. Every pair
    of edges at a node is visited at most once.
    """
    n = len(indptr) - 1
    sums = np.zeros(n, np.int64)
    for u in range(n):
        for slot in range(indptr[u], indptr[u + 1]):
            sums[u] += weights[indices[slot]]
    order = np.argsort(-sums, kind="mergesort")
    visited = np.empty(len(indices), np.int32)  # the visited neighbours of each node, in its row
    n_visited = np.zeros(n, np.int64)
    common = np.zeros(n, np.int64)
    best = np.int64(floor)
    for u in order:
        if sums[u] <= best:
            break
        for slot in range(indptr[u], indptr[u + 1]):
            z = indices[slot]
            weight = weights[z]
            first = indptr[z]
            for other in range(first, first + n_visited[z]):
                w = visited[other]
                common[w] += weight
                if common[w] > best:
                    best = common[w]
            visited[first + n_visited[z]] = u
            n_visited[z] += 1
        for slot in range(indptr[u], indptr[u + 1]):
            z = indices[slot]
            for other in range(indptr[z], indptr[z] + n_visited[z]):
                common[visited[other]] = 0
    return best


@njit(nogil=True, cache=True)
def capped_common_sums(indptr, indices, weights, cap):
    """Return the sum over edges of min(cap, sum of weights over the common neighbours of its ends).

    Rows are sorted. The neighbours of the end with more neighbours are marked, and those of the
    other end are visited, so the cost is the sum over edges of the smaller degree.
    """
    n = len(indptr) - 1
    marked = np.full(n, -1, np.int64)
    total = np.int64(0)
    for u in range(n):
        degree = indptr[u + 1] - indptr[u]
        for slot in range(indptr[u], indptr[u + 1]):
            marked[indices[slot]] = u
        for slot in range(indptr[u], indptr[u + 1]):
            w = indices[slot]
            other = indptr[w + 1] - indptr[w]
            if other > degree or (other == degree and w > u):
                continue
            common = np.int64(0)
            for place in range(indptr[w], indptr[w + 1]):
                z = indices[place]
                if marked[z] == u:
                    common += weights[z]
            total += min(common, cap)
    return total

"""Blocks of a draw, all from noisy answers: their edges, their degrees, and how separate they are.

The labels of a sketch are noisy, so some neighbours of a node are in other blocks only because
they were misplaced. A draw with the block matrix as it is would be less separated than the
original. Drawn graphs are public, so the noisy labelling can be repeated on them: the right
separation is the one at which the repeated labels are as good as those of the sketch.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from coterie.anonymize.private import public_rules
from coterie.anonymize.private.answers import SketchAnswers
from coterie.anonymize.private.degree_estimates import DegreeDistribution
from coterie.data import Graph
from coterie.kernels.anonymize.private_counts import place_nodes

_TILT_ROUNDS = 30
_TILT_STEP = 0.5
_OFFSET = 0.3  # added to degrees before the logarithm, so that degree 0 can be ranked too
_FIT_ROUNDS = 60
_MAX_DENSITY = 0.95  # largest share of the pairs of a cell that are edges
_TINY = 1e-12
_LARGEST_SHARE = 0.9  # of the outer ends that move inside
# Modularity from which the share is used in full. Where blocks explain little of the network, its
# communities are smaller than blocks, and the rings inside blocks already make up for them.
_CLEAR_BLOCKS = 0.6
_CELLS_PER_BATCH = 2**22


def spread_negative(values: np.ndarray) -> np.ndarray:
    """Return values >= 0 with the same sum: one constant is subtracted, and negatives become 0.

    The sum of noisy counts is more accurate than the counts, so it is kept. A negative sum
    becomes 0.

    >>> spread_negative(np.array([5.0, -1.0, 2.0]))
    array([4.5, 0. , 1.5])
    """
    total = max(float(values.sum()), 0.0)
    falling = np.sort(values.ravel())[::-1].astype(np.float64)
    if not len(falling):
        return values.astype(np.float64)
    excess = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    kept = np.flatnonzero(falling > excess)
    constant = excess[kept[-1]] if len(kept) and total > 0 else np.inf
    return np.maximum(values - constant, 0.0)


def ends_between(upper: np.ndarray, n_edges: int) -> np.ndarray:
    """Return the symmetric matrix of edge ends between groups, with the sum 2 `n_edges`.

    `upper` has the noisy number of edges of each pair of groups in its upper triangle.
    """
    rows, columns = np.triu_indices(len(upper))
    counts = spread_negative(upper[rows, columns].astype(np.float64))
    ends = np.zeros(upper.shape)
    np.add.at(ends, (rows, columns), counts)
    np.add.at(ends, (columns, rows), counts)
    total = ends.sum()
    if total > 0:
        return np.asarray(ends * (2 * n_edges / total))
    return np.full(upper.shape, 2 * n_edges / max(upper.size, 1))


def deal_degrees(
    sequence: np.ndarray,
    samples: np.ndarray,
    block: np.ndarray,
    block_ends: np.ndarray,
    rng: Generator,
) -> np.ndarray:
    """Give each node a degree of the falling `sequence`, so that blocks get their edge ends.

    Nodes are ranked by their sampled degrees. Each block has a factor on the samples of its
    members; the factors are adjusted until the degrees of the block sum to `block_ends`. The
    degree distribution is always exactly that of the sequence.
    """
    n_blocks = len(block_ends)
    scores = np.log(samples + _OFFSET) + 1e-3 * rng.random(len(samples))
    tilt = np.zeros(n_blocks)
    wanted = block_ends * (sequence.sum() / max(float(block_ends.sum()), _TINY))
    degrees = np.empty_like(sequence)
    for _ in range(_TILT_ROUNDS):
        degrees[np.argsort(-(scores + tilt[block]), kind="stable")] = sequence
        dealt = np.bincount(block, degrees, n_blocks)
        tilt += _TILT_STEP * np.clip(np.log((wanted + 1) / (dealt + 1)), -1.0, 1.0)
    return degrees


def fit_cells(cells: np.ndarray, ends: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return a symmetric integer matrix of ends close to `cells`, with row sums close to `ends`.

    Rows and columns are scaled in turn. No cell has more edges than `_MAX_DENSITY` of its pairs.
    Numbers on the diagonal are even, since an edge inside a class has both ends there.
    """
    n = sizes.astype(np.float64)
    room = _MAX_DENSITY * (np.outer(n, n) - np.diag(n))
    fitted = np.minimum(cells, room)
    for _ in range(_FIT_ROUNDS):
        factor = np.sqrt(ends / np.maximum(fitted.sum(1), _TINY))
        fitted = np.minimum(fitted * np.clip(np.outer(factor, factor), 1e-6, 1e6), room)
    whole = np.rint(fitted).astype(np.int64)
    np.fill_diagonal(whole, 2 * np.rint(np.diag(fitted) / 2).astype(np.int64))
    return np.asarray(np.maximum(whole, whole.T))


def adjust_to_sums(
    degrees: np.ndarray, label: np.ndarray, sums: np.ndarray, rng: Generator
) -> np.ndarray:
    """Change degrees by one, at nodes drawn in proportion to degree, until classes have `sums`."""
    degrees = degrees.copy()
    order = np.argsort(label, kind="stable")
    start = np.r_[0, np.cumsum(np.bincount(label, minlength=len(sums)))]
    missing = sums - np.bincount(label, degrees, len(sums)).astype(np.int64)
    for group in np.flatnonzero(missing):
        members = order[start[group] : start[group + 1]]
        left = int(missing[group])
        while left and len(members):
            sign = 1 if left > 0 else -1
            weight = degrees[members].astype(np.float64)
            weight[(weight <= 1) if sign < 0 else (weight < 0)] = 0.0
            if weight.sum() == 0:  # no node with two ends to take from, or with one to add to
                allowed = (degrees[members] > 0) | (sign > 0)
                weight = allowed.astype(np.float64)
            possible = np.flatnonzero(weight)
            if not len(possible):
                break
            count = min(abs(left), len(possible))
            # The largest of log(u) / weight are a sample without replacement
            keys = np.log(np.maximum(rng.random(len(possible)), 1e-300)) / weight[possible]
            chosen = members[possible[np.argpartition(-keys, count - 1)[:count]]]
            degrees[chosen] += sign
            left -= sign * count
    return degrees


def block_modularity(ends: np.ndarray) -> float:
    """Return the modularity of blocks with these ends between them (symmetric, inside twice).

    >>> block_modularity(np.array([[8.0, 2.0], [2.0, 8.0]]))
    0.3
    """
    total = max(float(ends.sum()), 1e-9)
    return float(round(np.trace(ends) / total - ((ends.sum(1) / total) ** 2).sum(), 12))


def separate(ends: np.ndarray, share: float) -> np.ndarray:
    """Move a share of the ends between blocks inside; the ends of each block stay the same.

    A misplaced node has its neighbours in any block, so what is moved is a background in proportion
    to the ends of both blocks. Pairs of blocks that have little more than the background become
    separate, and paths between them as long as in the original.

    >>> separate(np.array([[8.0, 2.0], [2.0, 8.0]]), 0.5)
    array([[9., 1.],
           [1., 9.]])
    """
    inside = np.diag(np.diag(ends))
    outer = ends - inside
    total = float(outer.sum())
    if total <= 0 or share <= 0:
        return np.asarray(ends, np.float64)
    background = np.outer(ends.sum(1), ends.sum(1))
    np.fill_diagonal(background, 0.0)
    possible = background > 0
    # Sorted by how many times the background they have: the pairs above a level keep the rest
    times = outer[possible] / background[possible]
    order = np.argsort(-times)
    kept, area = np.cumsum(outer[possible][order]), np.cumsum(background[possible][order])
    left = (1.0 - min(share, 1.0)) * total
    level = (kept - left) / area  # of the background, if the first pairs are those above it
    remaining = np.maximum(outer - max(float(level.max()), 0.0) * background, 0.0)
    return np.asarray(remaining + inside + np.diag((outer - remaining).sum(1)))


def repeated_modularity(graph: Graph, answers: SketchAnswers, rng: Generator) -> float:
    """Label the nodes of a drawn graph as the sketch did, and return the blocks' modularity."""
    n, n_blocks, epsilon = graph.n_nodes, answers.n_blocks, answers.exact_epsilon

    def noise(rate: float, shape: tuple[int, ...]) -> np.ndarray:
        return rng.geometric(-np.expm1(-rate), shape) - 1

    rate = answers.degree_noise_rate
    noisy = graph.degrees + noise(rate, (n,)) - noise(rate, (n,))
    tail = np.cumsum(np.bincount(graph.degrees)[::-1])[::-1].astype(np.float64)
    distribution = DegreeDistribution(np.r_[tail, 0.0], np.empty(0))
    expected = public_rules.expected_degrees(noisy, distribution, epsilon, answers.shares)
    order = public_rules.stream_order(noisy)
    labels = np.full(n, -1, np.int32)
    sums = np.zeros(n_blocks)
    label_rate = float(epsilon * answers.shares.labels)
    rows = max(_CELLS_PER_BATCH // n_blocks, 1)
    for first in range(0, n, rows):
        nodes = order[first : first + rows]
        place_nodes(
            graph.indptr,
            graph.indices,
            nodes,
            noise(label_rate, (len(nodes), n_blocks)),
            expected,
            float(expected.sum()),
            labels,
            sums,
        )
    ends = np.zeros((n_blocks, n_blocks))
    np.add.at(ends, (np.repeat(labels, graph.degrees), labels[graph.indices]), 1.0)
    return block_modularity(ends)


def find_separation(
    modularity: float, repeated: Callable[[float], float], clustering: float
) -> float:
    """Return the share at which the repeated labels reach `modularity`, by linear interpolation.

    `repeated` returns the modularity of repeated labels on a graph that was drawn with a share.
    Of the share, less is used if the modularity is low, unless the repeated labels respond clearly
    to the share and the global `clustering` is low: then communities are as large as blocks.

    >>> find_separation(0.6, lambda share: 0.3 + share, 0.5)
    0.3
    >>> find_separation(0.3, lambda share: share, 1.0), find_separation(0.3, lambda share: share, 0)
    (0.15, 0.3)
    """
    below = repeated(0.0)
    if below >= modularity:
        return 0.0
    above = repeated(_LARGEST_SHARE)
    part = (modularity - below) / max(above - below, 1e-9)
    response = min((above - below) / max(modularity, 1e-9), 1.0)
    used = min(max(modularity / _CLEAR_BLOCKS, response * (1.0 - clustering) ** 2), 1.0)
    return float(round(_LARGEST_SHARE * min(part, 1.0) * max(used, 0.0), 6))

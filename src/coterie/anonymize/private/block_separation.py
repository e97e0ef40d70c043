"""How separate the blocks of a draw should be.

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
from coterie.anonymize.private.degree_posterior import DegreeDistribution
from coterie.data import Graph
from coterie.kernels.anonymize.private_counts import place_nodes

_LARGEST_SHARE = 0.9  # of the outer ends that move inside
# Modularity from which the share is used in full. Where blocks explain little of the network, its
# communities are smaller than blocks, and the rings inside blocks already make up for them.
_CLEAR_BLOCKS = 0.6
_CELLS_PER_BATCH = 2**22


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
    expected = public_rules.expected_degrees(noisy, distribution, epsilon)
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

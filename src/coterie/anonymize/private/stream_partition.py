"""Blocks from a stream in which every edge is counted once, by its later end."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from coterie.anonymize.private import public_rules
from coterie.anonymize.private.noise import geometric_noise
from coterie.data import Graph
from coterie.kernels.anonymize.private_counts import LARGEST_COUNT, place_nodes

_CELLS_PER_READ = 2**20


def stream_labels(
    graph: Graph, order: np.ndarray, expected: np.ndarray, n_blocks: int, epsilon: Fraction
) -> np.ndarray:
    """Place the nodes one after the other, each by noisy counts of its earlier neighbours.

    A node joins the block where the noisy number of its neighbours exceeds the expected number
    most; only this choice is published, not the noisy numbers. `order` and `expected` must follow
    from earlier answers. An edge adds 1 to one count of its later end and to nothing else. A
    choice of the largest count with geometric noise of scale 1 / epsilon is then epsilon-private,
    and so are all choices together. (Publishing the counts would need discrete Laplace noise,
    which has twice the variance.)

    Returns
    -------
    ndarray of int32 of shape (n_nodes,)
        The block of each node.
    """
    # What the proof assumes ("Limits of a computer" in docs/explanation/differential-privacy.md)
    assert n_blocks >= public_rules.FEWEST_BLOCKS >= 3, "the cut of the noise needs three blocks"
    assert 2**9 * graph.n_nodes <= LARGEST_COUNT, "the cut of the noise must be far above n"
    labels = np.full(graph.n_nodes, -1, np.int32)
    block_sums = np.zeros(n_blocks)
    total = float(expected.sum())
    rows = max(_CELLS_PER_READ // n_blocks, 1)
    for first in range(0, graph.n_nodes, rows):
        nodes = order[first : first + rows]
        noise = geometric_noise(1 / epsilon, len(nodes) * n_blocks).reshape(-1, n_blocks)
        place_nodes(graph.indptr, graph.indices, nodes, noise, expected, total, labels, block_sums)
    return labels

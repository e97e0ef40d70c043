"""Results of a finished clustering: its block matrix, and whether a single move improves it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.engine import Engine
from coterie.models.hard.costs.block_objective import BlockObjective
from coterie.models.hard.costs.block_state import BlockState
from coterie.models.hard.costs.interface import ClusterState, Objective

_CHUNK = 1 << 21  # elements scored at once


@dataclass(frozen=True)
class BlockSummary:
    """The block matrix of a clustering; one row and one column per block.

    For ratings the matrices are user blocks x item blocks, and `edges` has a third dimension,
    the levels of the rating scale.
    """

    edges: np.ndarray  # total per cell: edges (inner ones once), weights, or ratings
    pairs: np.ndarray  # pairs per cell; for ratings, the number of ratings
    probabilities: np.ndarray  # edges / pairs, 0 for a cell without pairs


def block_summary(objective: BlockObjective, state: BlockState) -> BlockSummary:
    """Return the block matrix of a clustering."""
    edges, pairs = _cells(objective, state)
    out_of = np.broadcast_to(pairs if pairs.ndim == edges.ndim else pairs[:, :, None], edges.shape)
    ratio = np.divide(edges, out_of, out=np.zeros_like(edges), where=out_of > 0)
    return BlockSummary(edges, pairs, ratio)


def _cells(objective: BlockObjective, state: BlockState) -> tuple[np.ndarray, np.ndarray]:
    """Return (totals, pairs) of the cells."""
    counts = state.counts[0]
    if len(state.n_blocks) == 1:
        k = state.n_blocks[0]
        sizes = state.sizes[0]
        pairs = np.outer(sizes, sizes)
        inner = sizes * (sizes - 1)
        np.fill_diagonal(pairs, inner if objective.name == "directed" else inner / 2)
        return counts[:k].T.copy(), pairs
    k, q = state.n_blocks
    channels = counts.reshape(-1, q, k).transpose(2, 1, 0)  # user block, item block, channel
    if objective.name == "likes":
        return channels[:, :, 0].copy(), np.outer(state.sizes[0], state.sizes[1])
    if objective.name == "binomial":
        return channels[:, :, 0].copy(), channels[:, :, 2].copy()
    return channels[:, :, :-1].copy(), channels[:, :, -1].copy()


def is_locally_optimal(
    objective: Objective, state: ClusterState, engine: Engine, min_block_size: int
) -> bool:
    """Return whether no single move that `min_block_size` allows lowers S.

    This takes one pass over all elements, with exact scores whatever the search used.
    """
    for side, n in enumerate(objective.n_elements):
        objective.prepare(state, side, engine, score="exact")
        sizes, labels = state.sizes[side], state.labels[side]
        for start in range(0, n, _CHUNK):
            elements = np.arange(start, min(n, start + _CHUNK))
            elements = elements[sizes[labels[elements]] - 1 >= min_block_size]
            plan = objective.plan_moves(state, side, elements, engine, score="exact")
            if (plan.wanted != labels[elements]).any():
                return False
    return True

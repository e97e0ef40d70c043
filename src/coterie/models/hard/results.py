"""What a finished clustering says about its blocks, and the proof that no move helps."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.engine import Engine
from coterie.models.hard.objectives import BlockObjective, GaussianObjective

_CHUNK = 1 << 18  # elements scored at once


def describe(objective: Any, state: Any) -> dict[str, Any]:
    """The learnt attributes about blocks, by name.

    block_edges_ counts what a cell holds (inner edges once; weights; ratings of each value, in a
    third dimension), block_pairs_ how many pairs (of ratings: how many ratings) that is out of,
    and block_probabilities_ is their ratio, 0 for a cell without pairs.
    """
    if isinstance(objective, GaussianObjective):
        return {"centers_": objective.centers(state)}
    edges, pairs = _cells(objective, state)
    out_of = np.broadcast_to(pairs if pairs.ndim == edges.ndim else pairs[:, :, None], edges.shape)
    ratio = np.divide(edges, out_of, out=np.zeros_like(edges), where=out_of > 0)
    return {"block_edges_": edges, "block_pairs_": pairs, "block_probabilities_": ratio}


def _cells(objective: BlockObjective, state: Any) -> tuple[np.ndarray, np.ndarray]:
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


def no_move_helps(objective: Any, state: Any, engine: Engine, min_block_size: int) -> bool:
    """Whether no single move that `min_block_size` allows lowers S: a pass over all elements."""
    score, objective.score = objective.score, "exact"
    try:
        for side, n in enumerate(objective.n_elements):
            objective.prepare(state, side, engine)
            sizes, labels = state.sizes[side], state.labels[side]
            for start in range(0, n, _CHUNK):
                elements = np.arange(start, min(n, start + _CHUNK))
                elements = elements[sizes[labels[elements]] - 1 >= min_block_size]
                plan = objective.plan(state, side, elements, engine)
                if (plan.wanted != labels[elements]).any():
                    return False
        return True
    finally:
        objective.score = score

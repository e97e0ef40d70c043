"""Search for the partition with the shortest description, with any number of blocks.

1. Merge single nodes to a few times sqrt(edges) blocks (`search/agglomerate.py`), the largest
   number that a flat model can tell apart.
2. Merge blocks in levels, with moves between them, until no merge shortens the description.
3. Repair: moves of single nodes, splits of blocks, merges, and new divisions of pairs of blocks,
   each judged by the exact change of the description, until a round finds nothing. Only blocks
   that changed in the round before, and a few others, are tried again, so a round costs as much
   as what it repairs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Callback, Iteration, Progress, silent
from coterie.base.randomness import stream_keys
from coterie.kernels.hard import description as kernels
from coterie.kernels.hard import description_moves as moves
from coterie.kernels.hard.description import Multigraph, Upper
from coterie.kernels.hard.sparse_rows import members_of
from coterie.models.hard.description.state import DescriptionState, start_state

_NEAR, _FAR = 10, 5  # candidates of a node: blocks of neighbours, and of their neighbours
_EXHAUSTIVE = 12  # with at most this many blocks a node tries all of them
_TRIES = 16  # candidates of a merge per block
_LEVEL = 1.3  # ratio of the numbers of blocks of two levels
_PASSES = 3  # sweeps between levels
_QUIET = 2e-3  # a sweep that moves a smaller share of the nodes ends the sweeps of a level
_SMALL = 2_000_000  # (nodes + edges) x rounds that small graphs may use for more repairs


@dataclass
class Found:
    """A partition and how it was found."""

    labels: np.ndarray
    length: float
    history: list[Iteration]
    converged: bool = True
    interrupted: bool = False


@dataclass
class Trail:
    """Records lengths as they fall."""

    callback: Callback
    began: float = field(default_factory=time.perf_counter)
    history: list[Iteration] = field(default_factory=list)

    def add(self, length: float, moved: int, note: str) -> None:
        """Record one step."""
        done = len(self.history) + 1
        self.history.append(Iteration(done, time.perf_counter() - self.began, length, moved))
        self.callback(Progress("choosing", done, entropy=length, note=note))


class DescriptionSearch:
    """A partition on its way to the shortest description."""

    def __init__(
        self, state: DescriptionState, rng: Generator, trail: Trail, min_blocks: int = 1
    ) -> None:
        self.state, self.rng, self.trail = state, rng, trail
        self.min_blocks = min_blocks
        self.length = state.length()

    def rebuild(self, labels: np.ndarray | None = None, spare: int | None = None) -> None:
        """Renumber the blocks and make room for more."""
        old = self.state
        self.state = start_state(
            old.model.kind, old.graph, old.labels if labels is None else labels, spare=spare
        )
        self.length = self.state.length()

    def sweeps(self, passes: int, *, new_blocks: bool = False, nodes: np.ndarray | None = None) -> int:
        """Move single nodes until few move, at most `passes` times; return the moves made."""
        state, total = self.state, 0
        everything = np.arange(len(state.labels)) if nodes is None else nodes
        for _ in range(passes):
            order = self.rng.permutation(everything)
            key = stream_keys(self.rng, 1)[0]
            moved, change = kernels.sweep(
                *state.arguments, order, key, _NEAR, _FAR, _EXHAUSTIVE, new_blocks
            )
            self.length += change
            total += moved
            if moved <= _QUIET * len(everything):
                break
        return total

    def merges(self, most: int, limit: float) -> int:
        """Merge the cheapest pairs of blocks, at most `most`; return the merges made."""
        state = self.state
        K = len(state.blocks.sizes)
        partner, change = np.empty(K, np.int64), np.empty(K)
        start, nodes = members_of(state.labels, K)
        key = stream_keys(self.rng, 1)[0]
        moves.find_merges(*state.arguments, start, nodes, key, _TRIES, partner, change)
        self.partner = partner
        order = np.argsort(change, kind="stable")
        made, gained = moves.merge_blocks(
            state.model,
            state.blocks,
            state.upper,
            state.scratch,
            start,
            nodes,
            order,
            partner,
            max(0, min(most, state.n_blocks - self.min_blocks)),
            limit,
        )
        self.length += gained
        return int(made)

    def descend(self) -> None:
        """Merge in levels with moves between them until no merge shortens the description."""
        while True:
            self.sweeps(_PASSES)
            B = self.state.n_blocks
            self.trail.add(self.length, 0, f"{B:,} blocks")
            if B < 0.8 * len(self.state.blocks.sizes):
                self.rebuild()
            most = max(1, B - int(B / _LEVEL))
            if self.merges(most, 0.0) == 0:
                return

    def splits(self, attempts: int = 3, passes: int = 6) -> int:
        """Try to split every block; return the splits made."""
        if self.state.spare < max(4, self.state.n_blocks // 8):
            self.rebuild()
        state = self.state
        order = self.rng.permutation(np.flatnonzero(state.blocks.sizes > 1))
        key = stream_keys(self.rng, 1)[0]
        made, change = moves.split_all(*state.arguments, order, key, attempts, passes)
        self.length += change
        return int(made)

    def resplits(self, attempts: int = 2, passes: int = 6) -> int:
        """Try to divide pairs of similar blocks anew; return the improvements made."""
        state = self.state
        K = len(state.blocks.sizes)
        partner, change = np.empty(K, np.int64), np.empty(K)
        start, nodes = members_of(state.labels, K)
        key = stream_keys(self.rng, 1)[0]
        moves.find_merges(*state.arguments, start, nodes, key, _TRIES, partner, change)
        order = self.rng.permutation(np.flatnonzero(state.blocks.sizes > 0))
        made, gained = moves.resplit_pairs(
            *state.arguments, order, partner, key, attempts, passes
        )
        self.length += gained
        return int(made)

    def repair(self, rounds: int, min_gain: float = 0.0) -> None:
        """Repeat moves, merges, splits and new divisions until a round finds nothing."""
        for _ in range(rounds):
            before = self.length
            moved = self.sweeps(10, new_blocks=True)
            merged = self.merges(self.state.n_blocks, 0.0)
            split = self.splits()
            again = self.resplits()
            moved += self.sweeps(10)
            self.trail.add(
                self.length,
                moved,
                f"{self.state.n_blocks:,} blocks (merged {merged}, split {split}, divided {again})",
            )
            if before - self.length <= max(1e-7, min_gain * abs(self.length)):
                return

"""Search for the partition with the shortest description, with any number of blocks.

1. Start from many small blocks.
2. Merge blocks in levels, with moves between them, until no merge shortens the description.
3. Repair: moves of single nodes, splits of blocks, merges, and new divisions of pairs of similar
   blocks, each judged by the exact change of the description, until a round finds nothing. A
   block is tried again only after it has changed, so a round costs as much as what it repairs.
4. Small graphs: cut every block into random pieces and repeat from step 2, keep the better result.
5. Move single nodes with all blocks as candidates until none moves.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Callback, Iteration, Progress
from coterie.base.randomness import stream_keys
from coterie.kernels.hard import description as kernels
from coterie.kernels.hard import description_moves as moves
from coterie.kernels.hard.sparse_rows import members_of
from coterie.models.hard.description.state import DescriptionState, Prior, start_state

_NEAR, _FAR = 10, 5  # candidates of a node: blocks of neighbours, and of their neighbours
_EXHAUSTIVE = 12  # with at most this many blocks a node tries all of them
_ALL = 1 << 40  # … with any number of blocks
_TRIES = 16  # candidates of a merge per block
_LEVEL = 1.3  # ratio of the numbers of blocks of two levels
_PASSES = 3  # sweeps between levels
_QUIET = 2e-3  # a sweep that moves a smaller share of the nodes ends the sweeps of a level
_CHANGED = 0.05  # a block that changed by a smaller share is not tried again
_ROUNDS = 12  # of repairs
_ROUND_GAIN = 2e-5  # a round that gains a smaller share is the last one (large graphs)
_PERTURB_WORK = 150_000  # (nodes + edges) x perturbations
_PERTURBATIONS = 10  # maximum
_PATIENCE = 3  # perturbations in a row without improvement
_PIECES = 3  # per block that is cut
_THOROUGH = 10_000  # nodes + edges up to which every block is tried in every round
_CHECK_PASSES = 20  # over all nodes and blocks at the end
_CHECK_WORK = 4_000_000_000  # edges x blocks up to which the end tries all blocks


@dataclass
class Trail:
    """The history of a search."""

    callback: Callback
    began: float = field(default_factory=time.perf_counter)
    history: list[Iteration] = field(default_factory=list)
    lengths: dict[int, float] = field(default_factory=dict)  # the shortest per number of blocks

    def add(self, length: float, moved: int, note: str, blocks: int = 0) -> None:
        """Record one step with this number of blocks, and report it."""
        self.lengths[blocks] = min(length, self.lengths.get(blocks, length))
        done = len(self.history) + 1
        self.history.append(Iteration(done, time.perf_counter() - self.began, length, moved))
        self.callback(Progress("describing", done, entropy=length, note=note))


class DescriptionSearch:
    """A partition on its way to the shortest description."""

    def __init__(self, state: DescriptionState, rng: Generator, trail: Trail) -> None:
        self.state, self.rng, self.trail = state, rng, trail
        self.length = state.length()
        self.tried = _nothing_tried(state)
        self.best, self.best_length = state.labels.copy(), self.length
        self.locally_optimal = False
        self.thorough = len(state.labels) + state.model.n_edges <= _THOROUGH

    def run(self, *, perturb: bool = True) -> None:
        """Search from the present labels; `best` has the result."""
        self.descend()
        self.repair()
        size = len(self.state.labels) + self.state.model.n_edges
        idle, wanted = 0, min(_PERTURBATIONS, _PERTURB_WORK // max(size, 1))
        for _ in range(wanted if perturb else 0):
            if idle == _PATIENCE:
                break
            before = self.best_length
            pieces = self.rng.integers(0, _PIECES, len(self.best), dtype=np.int32)
            self.restart(self.best * _PIECES + pieces)
            self.descend()
            self.repair()
            idle = 0 if self.best_length < before - 1e-6 else idle + 1
        self.finish()

    def restart(self, labels: np.ndarray) -> None:
        """Continue from other labels."""
        old = self.state
        if old.upper.depth > 0:
            raise ValueError("the levels above belong to the present labels")
        self.state = start_state(old.model.kind, old.graph, labels, prior=old.prior)
        self.length = self.state.length()
        self.tried = _nothing_tried(self.state)

    def make_room(self) -> None:
        """Renumber the blocks and make room for more; nothing else changes."""
        old = self.state
        occupied = np.flatnonzero(old.blocks.sizes > 0)
        self.state = start_state(old.model.kind, old.graph, old.labels, prior=self._prior(occupied))
        for what, ends in self.tried.items():
            now = np.full(len(self.state.blocks.sizes), -1.0)
            now[: len(occupied)] = ends[occupied]
            self.tried[what] = now

    def _prior(self, occupied: np.ndarray) -> Prior:
        """Return the prior of the block matrix for blocks that are renumbered in order."""
        upper = self.state.upper
        if upper.depth == 0:
            return self.state.prior
        parents = upper.parents.copy()
        parents[0, : len(occupied)] = upper.parents[0, occupied]
        return upper._replace(parents=parents)

    def keep(self) -> None:
        """Remember the present labels if they are the best so far."""
        if self.length < self.best_length:
            self.best, self.best_length = self.state.labels.copy(), self.length

    def sweeps(
        self, passes: int, *, new_blocks: bool = False, exhaustive: int = _EXHAUSTIVE
    ) -> int:
        """Move single nodes until few move, at most `passes` times; return the moves made.

        From the second pass on only neighbours of moved nodes are visited."""
        state, total = self.state, 0
        n = len(state.labels)
        nodes = np.arange(n)
        for _ in range(passes):
            active = np.zeros(n, np.uint8)
            moved, change = kernels.sweep(
                *state.arguments,
                self.rng.permutation(nodes),
                stream_keys(self.rng, 1)[0],
                _NEAR,
                _FAR,
                exhaustive,
                new_blocks,
                active,
            )
            self.length += change
            total += moved
            if moved <= _QUIET * n:
                break
            nodes = np.flatnonzero(active)
        return int(total)

    def partners(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return, per block, the best of a few merges: (partner, change), and the members."""
        state = self.state
        K = len(state.blocks.sizes)
        partner, change = np.empty(K, np.int64), np.empty(K)
        start, nodes = members_of(state.labels, K)
        key = stream_keys(self.rng, 1)[0]
        moves.find_merges(*state.arguments, start, nodes, key, _TRIES, partner, change)
        return partner, change, start, nodes

    def merges(self, most: int) -> int:
        """Make merges that shorten the description, the best first; return how many."""
        state = self.state
        partner, change, start, nodes = self.partners()
        made, gained = moves.merge_blocks(
            state.model,
            state.blocks,
            state.upper,
            state.scratch,
            start,
            nodes,
            np.argsort(change, kind="stable"),
            partner,
            max(0, min(most, state.n_blocks - 1)),
            0.0,
        )
        self.length += gained
        return int(made)

    def descend(self) -> None:
        """Merge in levels with moves between them until no merge shortens the description."""
        while True:
            self.sweeps(_PASSES)
            B = self.state.n_blocks
            self.trail.add(self.length, 0, f"{B:,} blocks, {self.length:,.1f} nats", B)
            if 0.7 * len(self.state.blocks.sizes) > B:
                self.make_room()
            if self.merges(max(1, B - int(B / _LEVEL))) == 0:
                break
        self.keep()

    def splits(self, attempts: int = 3, passes: int = 5) -> int:
        """Try to split the blocks that changed; return the splits made."""
        if self.state.spare < max(4, self.state.n_blocks // 8):
            self.make_room()
        state = self.state
        order = self._untried("split")
        key = stream_keys(self.rng, 1)[0]
        made, change = moves.split_all(*state.arguments, order, key, attempts, passes)
        self.length += change
        return int(made)

    def divisions(self, attempts: int = 3, passes: int = 5) -> int:
        """Try to divide pairs of similar blocks anew; return the improvements made."""
        state = self.state
        partner = self.partners()[0]
        key = stream_keys(self.rng, 1)[0]
        made, gained = moves.resplit_pairs(
            *state.arguments, self._untried("division"), partner, key, attempts, passes
        )
        self.length += gained
        return int(made)

    def _untried(self, what: str) -> np.ndarray:
        """Return the blocks that have changed since this was tried last, in random order."""
        ends, last = self.state.blocks.ends.astype(np.float64), self.tried[what]
        changed = self.thorough | (last < 0) | (np.abs(ends - last) > _CHANGED * last)
        chosen = self.rng.permutation(np.flatnonzero(changed & (self.state.blocks.sizes > 1)))
        last[chosen] = ends[chosen]
        return chosen

    def repair(self, rounds: int = _ROUNDS) -> None:
        """Repeat moves, merges, splits and new divisions until a round finds nothing."""
        for _ in range(rounds):
            before = self.length
            attempts = 3 if self.thorough else 2
            split = self.splits(attempts)
            moved = self.sweeps(10, new_blocks=True)
            divided = self.divisions(attempts)
            merged = self.merges(self.state.n_blocks)
            moved += self.sweeps(10)
            self.trail.add(
                self.length,
                moved,
                f"{self.state.n_blocks:,} blocks, {self.length:,.1f} nats (split {split}, "
                f"divided {divided}, merged {merged})",
                self.state.n_blocks,
            )
            self.keep()
            gain = before - self.length
            if gain <= 1e-6 or (not self.thorough and gain < _ROUND_GAIN * abs(self.length)):
                return

    def finish(self) -> None:
        """Move single nodes of the best partition until none moves, trying all blocks."""
        if self.length > self.best_length:
            self.restart(self.best)
        work = self.state.model.n_edges * self.state.n_blocks
        exhaustive = _ALL if work <= _CHECK_WORK else _EXHAUSTIVE
        for _ in range(_CHECK_PASSES):
            if self.state.spare == 0:
                self.make_room()
            moved = self.sweeps(1, new_blocks=True, exhaustive=exhaustive)
            if moved == 0:
                self.locally_optimal = exhaustive == _ALL
                break
            moved += self.sweeps(20)
            self.merges(self.state.n_blocks)
            note = f"{self.state.n_blocks:,} blocks, {self.length:,.1f} nats"
            self.trail.add(self.length, moved, note, self.state.n_blocks)
        self.keep()


def _nothing_tried(state: DescriptionState) -> dict[str, np.ndarray]:
    """Return the marks of blocks that were not tried yet."""
    K = len(state.blocks.sizes)
    return {"split": np.full(K, -1.0), "division": np.full(K, -1.0)}

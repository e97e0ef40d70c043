"""Search for the partition with the shortest description, with any number of blocks.

1. Start from many small blocks.
2. Merge blocks in levels, with moves of single nodes and of connected pieces of blocks between
   them, until no merge shortens the description. Then merge on although each merge lengthens it,
   down to a share of the blocks: nodes that move afterwards often make up for it. Keep the best.
   Not for large graphs, where this gains nothing.
3. Tiny graphs: cut every block into random pieces, repeat step 2, keep the better result.
4. Repair: moves of nodes and pieces, splits of blocks, merges, and new divisions of pairs of
   similar blocks, each judged by the exact change of the description, until a round changes no
   block as a whole. A block is tried again only after it has changed, so a round costs as much as
   what it repairs.
5. Move single nodes with all blocks as candidates until none moves.

A `Strategy` says which of these means a search has: with real-valued weights it has fewer.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.base.array_checks import check_array
from coterie.base.progress import Callback, Iteration, Progress
from coterie.base.randomness import stream_keys
from coterie.kernels.hard import description_moves as moves
from coterie.kernels.hard.description_state import COUNTS, NEVER, PLANTED
from coterie.kernels.hard.description_sweeps import (
    Reach,
    join_bounds,
    mark_changed,
    sweep,
)
from coterie.kernels.hard.sparse_rows import members_of
from coterie.models.hard.description.state import (
    DescriptionState,
    Prior,
    allowed_labels,
    restored_state,
    start_state,
)
from coterie.models.hard.label_tools import renumber
from coterie.models.hard.saved_search import SearchSaver, check_close, check_labels

_NEAR, _FAR = 10, 5  # candidates of a node: blocks of neighbours, and of their neighbours
_BOUNDED = 1000  # nodes from which bounds pay when all blocks are candidates
_EXHAUSTIVE = (12, 40)  # with at most this many blocks a node tries all of them; with weights
ANY = 1 << 40  # no limit on the number of blocks
_TRIES = 16  # candidates of a merge per block
_PIECE_TRIES = 16  # random candidates of a piece of a block
LEVEL_RATIO = 1.3  # ratio of the numbers of blocks of two levels
_SMALL_TABLE = 64  # blocks: a smaller block matrix is not made smaller when blocks are merged
_PASSES = 3  # sweeps between levels
_OVERSHOOT_SHARE = (0.7, 0.4)  # of the blocks, down to which merges may lengthen it; tiny graphs
_OVERSHOOT_STEPS = 16  # blocks per merge of such a level
_OVERSHOOT_LOSS = 0.02  # share by which the description may be longer than the best
_OVERSHOOT_SIZE = 300_000  # nodes + edges up to which this is done
_QUIET = 2e-3  # a sweep that moves a smaller share of the nodes ends the sweeps of a level
_CHANGED = 0.05  # a block that changed by a smaller share is not tried again
_ROUNDS = 12  # of repairs
_ROUND_GAIN = 2e-5  # a round that gains a smaller share is the last one (large graphs)
TINY = 3_000  # nodes + edges up to which perturbations cost nothing that is noticed
_PERTURBATIONS = (4, 12)  # minimum and maximum with weights; the maximum of a tiny graph
_PERTURB_WORK = 300_000  # (nodes + edges) x perturbations, with weights
_NO_PERTURBATIONS = 3_000_000  # nodes + edges from which there are none
_LEAST_PIECES = (12, 4, 7, 20)  # with weights at least so many pieces of all blocks, in turn
_PASSES_AFTER_CUT = 15  # sweeps from these pieces, before any merge
_PATIENCE = (3, 4)  # perturbations in a row without improvement; with weights
_PIECES = 3  # per block that is cut
_CHECK_PASSES = 20  # over all nodes and blocks at the end
_DESCEND, _OVERSHOOT, _PERTURB = "descend", "overshoot", "perturb"
_REPAIR, _FINISH, _DONE = "repair", "finish", "done"
KICK = "kick"  # the first phase of a search that begins with a good partition
UPDATE = "update"  # … with one that was good for nearly the same graph
_KICKS_PER_STEP = 4
_FAILURES = 3  # kicks per block in vain after which more blocks are kicked at once
# share by which a search may be longer than its rival when it enters a phase
_HOPE = {_OVERSHOOT: 0.01, _PERTURB: 0.004, _REPAIR: 0.004, _FINISH: 1e-4, _DONE: 1e-4}
TRIED = ("split", "division", "merge")  # of blocks: not again before the block has changed
_SCAN = 0.02  # work per node of steps that look at all nodes without visiting them
_CHECK_WORK = 1_000_000_000  # edges x blocks up to which the end tries all blocks


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

    def restore(self, history: list[Iteration], lengths: dict[int, float]) -> None:
        """Continue the history of a search that was saved."""
        self.history[:], self.lengths = history, lengths
        if self.history:
            self.began = time.perf_counter() - self.history[-1].seconds


@dataclass(frozen=True)
class Strategy:
    """The means of a search.

    With real-valued weights it counts the statistics anew at every step, because sums of fractions
    depend on their order. It merges, moves, and cuts every block into random pieces instead of
    repairing single blocks; every sweep visits all nodes, empties few blocks and may make new ones.
    """

    recount: bool = False  # real-valued weights
    fewest: int = 1  # number of blocks of the result
    most: int = ANY
    effort: float = 1.0

    def perturbations(self, size: int) -> int:
        """Return the maximum number of perturbations of a graph with this many nodes and edges."""
        if not self.recount:
            return _PERTURBATIONS[1] if size <= TINY else 0
        number = np.clip(_PERTURB_WORK // max(size, 1), *_PERTURBATIONS)
        return int(self.effort * number) if size < _NO_PERTURBATIONS else 0

    def perturb(self, search: DescriptionSearch) -> None:
        """Cut every block of the best partition at random into pieces."""
        best, cuts = renumber(search.best), _PIECES
        if self.recount:
            least = _LEAST_PIECES[search.at.perturbed % len(_LEAST_PIECES)]
            cuts = max(cuts, -(-least // (int(best.max()) + 1)))
        pieces = search.rng.integers(0, cuts, len(best), dtype=np.int32)
        search.restart(allowed_labels(search.state.graph, best * cuts + pieces))
        if self.recount:
            search.sweeps(_PASSES_AFTER_CUT, hold=True)

    def bounds(self, n_blocks: int, *, new_blocks: bool, hold: bool) -> tuple[int, int]:
        """Return the minimum and maximum number of blocks during a sweep. A sweep makes blocks
        only if `new_blocks` allows it; `hold` forbids to empty any."""
        if not self.recount:
            return 0, self.most if new_blocks else 0
        return max(self.fewest, n_blocks if hold else int(n_blocks / LEVEL_RATIO)), self.most


FLAT = Strategy()


@dataclass
class _Position:
    """Where `DescriptionSearch.run` is."""

    phase: str = _DESCEND
    round: int = 0  # of repairs, or of passes at the end
    perturbed: int = 0
    idle: int = 0  # perturbations in a row without improvement
    before: float = 0.0  # best length before the last perturbation
    floor: int = 0  # number of blocks at which merges that lengthen the description end
    work: float = 0.0  # done so far: visits of nodes, or as much time
    budget: float = 0.0  # work at which the kicks end
    failures: int = 0  # kicks in a row without improvement
    exhaustive: int = 0  # at the end: a node tries all blocks if there are at most this many


class SearchPoint(NamedTuple):
    """Everything that is needed to continue `DescriptionSearch.run` after a step."""

    at: _Position
    length: float
    best_length: float
    locally_optimal: bool
    history: list[Iteration]
    lengths: dict[int, float]
    labels: np.ndarray
    free: np.ndarray
    best: np.ndarray
    active: np.ndarray
    tried: dict[str, np.ndarray]


class _Snapshot(NamedTuple):
    """A partition of a flat model to which a search can return."""

    state: DescriptionState
    arrays: tuple[np.ndarray, ...]
    length: float
    tried: dict[str, np.ndarray]
    active: np.ndarray

    @classmethod
    def of(cls, search: DescriptionSearch) -> _Snapshot:
        """Return the present partition."""
        arrays = tuple(array.copy() for array in search.state.blocks)
        tried = {what: ends.copy() for what, ends in search.tried.items()}
        return cls(search.state, arrays, search.length, tried, search.active.copy())

    def restore(self, search: DescriptionSearch) -> None:
        """Return to this partition."""
        for array, saved in zip(self.state.blocks, self.arrays, strict=True):
            array[...] = saved
        search.state, search.length, search.tried = self.state, self.length, self.tried
        search.active[:] = self.active


class DescriptionSearch:
    """A partition on its way to the shortest description."""

    def __init__(
        self,
        state: DescriptionState,
        rng: Generator,
        trail: Trail,
        strategy: Strategy = FLAT,
    ) -> None:
        self.state, self.rng, self.trail, self.strategy = state, rng, trail, strategy
        self.length = state.length()
        self.tried = _nothing_tried(state)
        self.active = np.ones(len(state.labels), np.uint8)  # nodes that the next sweep visits
        self.best, self.best_length = state.labels.copy(), self.length
        if state.n_blocks > strategy.most:  # too many blocks to be a result
            self.best_length = math.inf
        self.locally_optimal = False
        self.size = len(state.labels) + state.model.n_edges
        self.thorough = self.size <= TINY
        self.at = _Position()
        self.level_ratio = LEVEL_RATIO
        self.kicks_follow = False  # another search will finish this one
        self.warm = False  # it begins with good blocks of another model
        self.rival = math.inf  # length of another model: give up if this one stays clearly longer

    def run(self, saver: SearchSaver | None = None) -> None:
        """Search from the present labels; `best` has the result.

        `saver` saves the search between its steps, or continues one that was saved."""
        saver = saver or SearchSaver()
        saved = saver.take(SearchPoint)
        if saved is not None:
            with saver.errors():
                self.restore(saved)
        perturbations = self.strategy.perturbations(self.size)
        while self.at.phase != _DONE:
            self._step(perturbations)
            if self.best_length > self.rival * (1 + _HOPE.get(self.at.phase, math.inf)):
                return
            saver.save(self.point)

    def _step(self, perturbations: int) -> None:
        """Make one step of `run`: one level, one round of repairs, or one pass at the end."""
        at, strategy = self.at, self.strategy
        if strategy.recount:
            self.restart(self.state.labels)
        if at.phase == _DESCEND:
            if not self.descend_level():
                self.keep()
                at.phase, at.floor = _OVERSHOOT, self.overshoot_floor()
        elif at.phase == _OVERSHOOT:
            before = self.best_length
            if not self.overshoot_level(at.floor):
                at.phase = _PERTURB
            elif self.best_length < before:  # the merges were worth it: go on from here
                at.floor = min(at.floor, self.overshoot_floor())
        elif at.phase == _PERTURB:
            if at.perturbed > 0:
                at.idle = 0 if self.best_length < at.before - 1e-6 else at.idle + 1
            patience = strategy.effort * _PATIENCE[strategy.recount]
            if at.perturbed == perturbations or at.idle >= patience:
                self.return_to_best()
                at.phase, at.round = (_FINISH if strategy.recount else _REPAIR), 0
                return
            at.perturbed, at.before = at.perturbed + 1, self.best_length
            strategy.perturb(self)
            at.phase = _DESCEND
        elif at.phase == KICK:
            gained = sum(self.kick() for _ in range(_KICKS_PER_STEP))
            self.keep()
            self._note(0, f" (kicks: {gained} of {_KICKS_PER_STEP} helped)")
            if at.work >= at.budget or at.failures > 3 * _FAILURES * self.state.n_blocks:
                self.begin_finish()
                at.phase, at.round = _FINISH, 0
        elif at.phase == UPDATE:
            at.round += 1
            if not self.update_round() or at.round == _ROUNDS:
                self.begin_finish()
                at.phase, at.round = _FINISH, 0
        elif at.phase == _REPAIR:
            at.round += 1
            if not self.repair_round() or at.round == _ROUNDS:
                self.begin_finish()
                at.phase, at.round = (_DONE if self.kicks_follow else _FINISH), 0
        else:
            at.round += 1
            if not self.finish_pass() or at.round == _CHECK_PASSES:
                self.keep()
                at.phase = _DONE

    def point(self) -> SearchPoint:
        """Return everything that is needed to continue `run` after the last step."""
        return SearchPoint(
            self.at,
            self.length,
            self.best_length,
            self.locally_optimal,
            self.trail.history,
            self.trail.lengths,
            self.state.labels,
            self.state.blocks.free,
            self.best,
            self.active,
            self.tried,
        )

    def restore(self, saved: SearchPoint) -> None:
        """Continue from a saved point; the present labels are forgotten."""
        old, n = self.state, len(self.state.labels)
        free = check_array("free", saved.free, np.int64, (None,), low=0, below=n + 1)
        K = len(free)
        check_array("free", free, np.int64, (None,), below=K)
        check_labels((saved.labels, saved.best), (n, n), (K, n + 1))
        check_array("active", saved.active, np.uint8, (n,))
        for what in TRIED:
            check_array(f"tried.{what}", saved.tried[what], np.float64, (K,))
        self.state = restored_state(old.kind, old.graph, saved.labels, free)
        check_close("length", saved.length, self.state.length())
        if math.isfinite(saved.best_length):
            best = start_state(old.kind, old.graph, saved.best, spare=1).length()
            check_close("best_length", saved.best_length, best)
        self.length, self.best_length, self.best = saved.length, saved.best_length, saved.best
        self.tried, self.active, self.at = saved.tried, saved.active.copy(), saved.at
        self.locally_optimal = saved.locally_optimal
        self.trail.restore(saved.history, saved.lengths)

    def return_to_best(self) -> None:
        """Continue from the best partition if the present one is worse."""
        if self.length > self.best_length or self.strategy.recount:
            self.restart(self.best)

    def restart(self, labels: np.ndarray) -> None:
        """Continue from these labels, with statistics counted anew."""
        old = self.state
        if old.upper.depth > 0:
            raise ValueError("the levels above belong to the present labels")
        self.state = start_state(old.kind, old.graph, labels, prior=old.prior)
        self.length = self.state.length()
        self.tried = _nothing_tried(self.state)
        self.active[:] = 1

    def make_room(self) -> None:
        """Renumber the blocks and make room for more; nothing else changes."""
        old = self.state
        occupied = np.flatnonzero(old.blocks.sizes > 0)
        self.state = start_state(old.kind, old.graph, old.labels, prior=self._prior(occupied))
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
        self,
        passes: int,
        *,
        new_blocks: bool = False,
        exhaustive: int | None = None,
        everywhere: bool = False,
        hold: bool = False,
    ) -> int:
        """Move single nodes until few move, at most `passes` times; return the moves made.

        Only nodes are visited that were not visited since they, a neighbour or a large part of
        their block moved, unless `everywhere`. With `hold` no block is emptied."""
        state, total, strategy = self.state, 0, self.strategy
        n, active = len(state.labels), self.active
        exhaustive = _EXHAUSTIVE[strategy.recount] if exhaustive is None else exhaustive
        if everywhere or self.thorough or strategy.recount:
            active[:] = 1
        bounded = exhaustive == ANY and state.kind.cells == COUNTS and n >= _BOUNDED
        bounds = join_bounds(len(state.blocks.sizes) if bounded else 0)
        for _ in range(passes):
            if len(state.graph.ties):
                active[state.graph.ties != 0] = 0
            order = self.rng.permutation(np.flatnonzero(active))
            active[:] = 0
            self.at.work += len(order) + n * _SCAN
            limits = strategy.bounds(state.n_blocks, new_blocks=new_blocks, hold=hold)
            reach = Reach(_NEAR, _FAR, exhaustive, *limits)
            key = stream_keys(self.rng, 1)[0]
            moved, change = sweep(*state.arguments, order, key, reach, bounds, active)
            self.length += change
            total += moved
            if moved <= _QUIET * n:
                break
        return int(total)

    def partners(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the best of a few merges of these blocks: (partner, change) for all blocks, and
        the members of each."""
        state = self.state
        K = len(state.blocks.sizes)
        partner, change = np.full(K, -1, np.int64), np.full(K, NEVER)
        start, nodes = members_of(state.labels, K)
        key = stream_keys(self.rng, 1)[0]
        self.at.work += len(which) * _TRIES + len(nodes) * _SCAN
        moves.find_merges(*state.arguments, start, nodes, which, key, _TRIES, partner, change)
        return partner, change, start, nodes

    def merges(self, most: int, limit: float = 0.0, *, untried: bool = False) -> int:
        """Make merges that change the length by less than `limit`, the best first; return how
        many. `untried`: only of blocks that have changed since the last time."""
        state = self.state
        which = self._untried("merge") if untried else np.flatnonzero(state.blocks.sizes > 0)
        partner, change, start, nodes = self.partners(which)
        before = self._marks()
        most = max(0, min(most, state.n_blocks - self.strategy.fewest))
        order = np.argsort(change, kind="stable")
        made = self._merge(order, partner, start, nodes, most, limit)
        self._mark_changed(before)
        return made

    def _merge(
        self,
        order: np.ndarray,
        partner: np.ndarray,
        start: np.ndarray,
        nodes: np.ndarray,
        most: int,
        limit: float,
    ) -> int:
        """Merge blocks of `order` with their partners; return how many."""
        model, _, blocks, upper, scratch = self.state.arguments
        made, gained = moves.merge_blocks(
            model, blocks, upper, scratch, start, nodes, order, partner, most, limit
        )
        self.length += gained
        return int(made)

    def descend(self) -> None:
        """Merge in levels with moves between them until no merge shortens the description."""
        while self.descend_level():
            pass
        self.keep()

    def descend_level(self) -> bool:
        """Move nodes and pieces, then merge blocks; return whether to go on."""
        strategy = self.strategy
        self.sweeps(_PASSES, everywhere=self.state.upper.depth == 0)
        if not strategy.recount:
            self.pieces()
        B = self.state.n_blocks
        self._note(0)
        roomy = max(_SMALL_TABLE, B / 0.7) < len(self.state.blocks.sizes)
        if roomy and not strategy.recount:
            self.make_room()
        level = max(1, B - int(B / self.level_ratio))
        if strategy.most < B:
            self.merges(min(level, B - strategy.most), NEVER)
            return True
        return self.merges(level) > 0

    def _note(self, moved: int, more: str = "") -> None:
        """Record the present partition."""
        B = self.state.n_blocks
        self.trail.add(self.length, moved, f"{B:,} blocks, {self.length:,.1f} nats{more}", B)

    def overshoot_floor(self) -> int:
        """Return the number of blocks down to which merges may lengthen the description."""
        B = self.state.n_blocks
        if self.size > _OVERSHOOT_SIZE or self.strategy.recount:
            return B
        if self.state.kind.cells in PLANTED:
            # Few densities describe all blocks: small blocks in large communities are stuck, and
            # all of them have to be merged before the description is shorter than that of one.
            return 1
        return max(1, int(_OVERSHOOT_SHARE[self.thorough] * B))

    def overshoot_level(self, floor: int) -> bool:
        """Merge the cheapest blocks whatever it costs, and move nodes; return whether to go on."""
        lost = self.length - self.best_length
        blocks = self.state.n_blocks
        everything = self.state.kind.cells in PLANTED and not self.warm
        if blocks <= floor or (lost > _OVERSHOOT_LOSS * abs(self.best_length) and not everything):
            return False
        made = self.merges(max(1, blocks // _OVERSHOOT_STEPS), NEVER)
        self.sweeps(_PASSES, everywhere=self.state.upper.depth == 0)
        self.keep()
        self._note(0)
        return made > 0

    def splits(self, attempts: int = 3, passes: int = 5) -> int:
        """Try to split the blocks that changed; return the splits made."""
        if self.state.spare < max(4, self.state.n_blocks // 8):
            self.make_room()
        state = self.state
        order = self._untried("split")
        key = stream_keys(self.rng, 1)[0]
        before = self._marks()
        self.at.work += state.blocks.sizes[order].sum() * attempts * passes
        made, change = moves.split_all(*state.arguments, order, key, attempts, passes)
        self.length += change
        self._mark_changed(before)
        return int(made)

    def divisions(self, attempts: int = 3, passes: int = 5) -> int:
        """Try to divide pairs of similar blocks anew; return the improvements made."""
        state = self.state
        order = self._untried("division")
        partner = self.partners(order)[0]
        key = stream_keys(self.rng, 1)[0]
        before = self._marks()
        self.at.work += 2 * state.blocks.sizes[order].sum() * attempts * passes
        made, gained = moves.resplit_pairs(*state.arguments, order, partner, key, attempts, passes)
        self.length += gained
        self._mark_changed(before)
        return int(made)

    def pieces(self) -> int:
        """Move connected pieces of blocks to better blocks; return the moves made."""
        self._make_room_if_full()
        state = self.state
        order = self.rng.permutation(np.flatnonzero(state.blocks.sizes > 1))
        key = stream_keys(self.rng, 1)[0]
        before = self._marks()
        made, change = moves.move_pieces(*state.arguments, order, key, _PIECE_TRIES)
        if len(state.graph.ties):
            groups = moves.move_groups(*state.arguments, *self.groups, key, _PIECE_TRIES)
            made, change = made + groups[0], change + groups[1]
        self.length += change
        self._mark_changed(before)
        return int(made)

    def _marks(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what `_mark_changed` compares with."""
        return self.state.labels.copy(), self.state.blocks.ends.copy()

    def _mark_changed(self, before: tuple[np.ndarray, np.ndarray]) -> None:
        """Have the next sweep visit nodes whose block is another one, their neighbours, and the
        nodes of blocks that changed much."""
        if self.thorough or self.strategy.recount:  # every sweep visits all nodes
            return
        labels, ends = before
        blocks = self.state.blocks
        much = np.abs(blocks.ends - ends) > _CHANGED * ends
        mark_changed(self.state.graph, labels, blocks.labels, much, self.active)

    def _untried(self, what: str) -> np.ndarray:
        """Return the blocks that have changed since this was tried last, in random order."""
        ends, last = self.state.blocks.ends.astype(np.float64), self.tried[what]
        changed = self.thorough | (last < 0) | (np.abs(ends - last) > _CHANGED * last)
        least = 0 if what == "merge" else 1
        chosen = self.rng.permutation(np.flatnonzero(changed & (self.state.blocks.sizes > least)))
        last[chosen] = ends[chosen]
        return chosen

    def repair(self, rounds: int = _ROUNDS) -> None:
        """Repeat moves, merges, splits and new divisions until a round finds nothing."""
        for _ in range(rounds):
            if not self.repair_round():
                return

    def repair_round(self) -> bool:
        """Make one round of repairs; return whether another one is worth its time."""
        before = self.length
        attempts = 3 if self.thorough else 2
        split = self.splits(attempts)
        pieces = self.pieces()
        # Chance candidates of nodes around which nothing changed matter in flat models: without
        # them the description of an internet topology is 1 % longer.
        flat = self.state.upper.depth == 0
        moved = self.sweeps(10, new_blocks=True, everywhere=flat)
        divided = self.divisions(attempts)
        merged = self.merges(self.state.n_blocks, untried=not flat)
        moved += self.sweeps(10, everywhere=flat)
        found = f"split {split}, pieces {pieces}, divided {divided}, merged {merged}"
        self._note(moved, f" ({found})")
        self.keep()
        gain = before - self.length
        if split + pieces + divided + merged == 0:
            return False
        return gain > (1e-6 if self.thorough else max(1e-6, _ROUND_GAIN * abs(self.length)))

    @cached_property
    def groups(self) -> tuple[np.ndarray, np.ndarray]:
        """The nodes that stay together: where each group begins, and the members."""
        ties = self.state.graph.ties
        tied = np.flatnonzero(ties > 0)
        members = tied[np.argsort(ties[tied], kind="stable")]
        return np.flatnonzero(np.diff(ties[members], prepend=0, append=-1)), members

    def begin_update(self) -> None:
        """Begin with blocks that were good for nearly the same graph: only those that change are
        split, divided and merged."""
        self.at = _Position(UPDATE)
        for ends in self.tried.values():
            ends[:] = self.state.blocks.ends

    def update_round(self) -> bool:
        """Move nodes, and repair the blocks that changed; return whether any was repaired."""
        moved = self.sweeps(10, new_blocks=True)
        made = self.splits(2) + self.divisions(2)
        made += self.merges(self.state.n_blocks, untried=True)
        if len(self.state.graph.ties):
            made += self.pieces()
        moved += self.sweeps(10)
        self._note(moved, f" (repaired {made})")
        self.keep()
        return made > 0

    def begin_kicks(self, work: float) -> None:
        """Begin with a partition that no other means improves; kick it until this work is done."""
        self.at = _Position(KICK, budget=work)
        self.active[:] = 0
        for ends in self.tried.values():
            ends[:] = self.state.blocks.ends

    def kick(self) -> bool:
        """Split or merge a random block whatever it costs and repair what is around it; undo all
        of it unless the description is shorter. Return whether it is.

        After many kicks in vain several blocks are kicked at once."""
        if self.state.spare < 8:
            self.make_room()
        saved, blocks = _Snapshot.of(self), self.state.blocks
        occupied = np.flatnonzero(blocks.sizes > 0)
        count = min(len(occupied), 1 + self.at.failures // (_FAILURES * len(occupied)))
        chosen = self.rng.permutation(occupied)[:count]
        marks = self._marks()
        if len(occupied) > 1 and self.rng.random() < 0.5:
            partner, _, start, nodes = self.partners(chosen)
            self._merge(chosen, partner, start, nodes, count, NEVER)
        else:
            key = stream_keys(self.rng, 1)[0]
            self.length += moves.split_all(*self.state.arguments, chosen, key, 1, 5, NEVER)[1]
        self._mark_changed(marks)
        self.sweeps(5)
        self.divisions(2)
        self.splits(2)
        self.merges(self.state.n_blocks, untried=True)
        self.sweeps(5)
        if self.length < saved.length - 1e-6:
            self.at.failures = 0
            return True
        self.at.failures += 1
        saved.restore(self)
        return False

    def finish(self) -> None:
        """Move single nodes of the best partition until none moves, trying all blocks."""
        self.begin_finish()
        for _ in range(_CHECK_PASSES):
            if not self.finish_pass():
                break
        self.keep()

    def begin_finish(self) -> None:
        """Go back to the best partition; decide how many blocks a node tries."""
        self.return_to_best()
        self.at.exhaustive = self._affordable()

    def _affordable(self) -> int:
        """Return the number of blocks up to which a node tries all of them at the end."""
        work = self.state.model.n_edges * self.state.n_blocks
        return ANY if work <= _CHECK_WORK else _EXHAUSTIVE[self.strategy.recount]

    def finish_pass(self) -> bool:
        """Move single nodes and merge blocks; return whether anything moved."""
        recount = self.strategy.recount
        exhaustive = self._affordable() if recount else self.at.exhaustive
        self._make_room_if_full()
        moved = self.sweeps(1, new_blocks=True, exhaustive=exhaustive, everywhere=True)
        if moved == 0:
            self.locally_optimal = exhaustive == ANY
            return False
        self._make_room_if_full()
        moved += self.sweeps(20, new_blocks=True, exhaustive=None if recount else exhaustive)
        self.merges(self.state.n_blocks, untried=not recount)
        self._note(moved)
        return True

    def _make_room_if_full(self) -> None:
        if self.state.spare == 0 and not self.strategy.recount:
            self.make_room()


def _nothing_tried(state: DescriptionState) -> dict[str, np.ndarray]:
    """Return the marks of blocks that were not tried yet."""
    K = len(state.blocks.sizes)
    return {what: np.full(K, -1.0) for what in TRIED}

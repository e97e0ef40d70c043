"""Search for the shortest description of a graph with directions or real-valued weights.

Kernels: `kernels/hard/directed_weighted.py`. The search of `search.py` with fewer means: merge
blocks in levels with moves between them, cut every block into random pieces and repeat, keep the
best, and move single nodes until none moves. The number of blocks is free, or fixed.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Callback, silent
from coterie.base.randomness import stream_keys
from coterie.data import Graph
from coterie.engine import Engine
from coterie.kernels.hard import directed_weighted as kernels
from coterie.kernels.hard.directed_weighted import (
    CellBlocks,
    CellGraph,
    CellModel,
    CellScratch,
)
from coterie.kernels.hard.log_counts import count_tables
from coterie.kernels.hard.sparse_rows import members_of
from coterie.models.hard.description.fit import Described, merged_singles
from coterie.models.hard.description.search import Trail
from coterie.models.hard.description.state import structure_costs
from coterie.models.hard.label_tools import renumber
from coterie.models.hard.objectives import make_objective
from coterie.models.hard.saved_search import SavedSearch, SearchSaver, check_close, saved_labels
from coterie.models.hard.weight_models import WeightModel, no_weights, weight_model

DIRECTED = ("directed", "directed-degree-corrected")

_ANY = 1 << 40  # no limit on the number of blocks
_START = 1500  # the search starts with at most this many blocks: the tables of cells are dense
_START_PER_ROOT = 2.5  # … without weights with this many times sqrt(edges)
_NEAR, _FAR = 10, 5  # candidates of a node: blocks of neighbours, and of their neighbours
_EXHAUSTIVE = 40  # with at most this many blocks a node tries all of them
_TRIES = 16  # candidates of a merge per block
_LEVEL = 1.3  # ratio of the numbers of blocks of two levels
_PASSES = 3  # sweeps between levels
_QUIET = 2e-3  # a sweep that moves a smaller share of the nodes ends the sweeps of a level
_PIECES = 3  # per block that is cut …
_LEAST_PIECES = (12, 4, 7, 20)  # … and at least so many of all blocks together, in turn
_PASSES_AFTER_CUT = 15  # sweeps from random pieces, before any merge
_PERTURB_WORK = 300_000  # (nodes + edges) x perturbations
_PERTURBATIONS = (4, 12)  # minimum and maximum
_NO_PERTURBATIONS = 3_000_000  # nodes + edges from which there are none
_PATIENCE = 4  # perturbations in a row without improvement
_CHECK_PASSES = 20
_CHECK_WORK = 4_000_000_000  # edges x blocks up to which the end tries all blocks
_SPARE = 16  # room for at least this many more blocks
_DESCEND, _PERTURB, _FINISH, _DONE = "descend", "perturb", "finish", "done"


@dataclass(frozen=True)
class CellData:
    """A graph with directions or weights, and how it is described."""

    graph: CellGraph
    directed: bool
    degree_corrected: bool
    weights: WeightModel

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.graph.indices) // 2


def cell_data(graph: Graph, objective: str, weights: str = "counts") -> CellData:
    """Return the data of a description: `objective` is the model of the edges, `weights` that of
    their weights ("counts": they are ignored)."""
    held = no_weights() if weights == "counts" else weight_model(weights, graph)
    corrected = objective in ("degree-corrected", "directed-degree-corrected")
    if objective in DIRECTED:
        return CellData(_both_directions(graph, held), True, corrected, held)
    degrees = np.diff(graph.indptr).astype(np.int64)
    none = np.zeros(len(degrees), np.int64)
    both = CellGraph(
        np.require(graph.indptr, np.int64, ["C", "A", "W"]),
        np.require(graph.indices, np.int32, ["C", "A", "W"]),
        np.zeros(0, np.bool_),
        held.values,
        degrees,
        none,
        _classes(degrees, none),
    )
    return CellData(both, False, corrected, held)


def _both_directions(graph: Graph, weights: WeightModel) -> CellGraph:
    """Return every edge in the rows of its source and of its target."""
    back = graph.reversed()
    out, into = (np.diff(g.indptr).astype(np.int64) for g in (graph, back))
    indptr = np.concatenate([[0], np.cumsum(out + into)])
    outward = np.arange(len(graph.indices)) + np.repeat(back.indptr[:-1], out)
    inward = np.arange(len(back.indices)) + np.repeat(graph.indptr[1:], into)
    indices = np.empty(indptr[-1], np.int32)
    incoming = np.zeros(indptr[-1], np.bool_)
    indices[outward], indices[inward], incoming[inward] = graph.indices, back.indices, True
    values = np.zeros(0)
    if len(weights.values):
        values = np.empty(indptr[-1])
        values[outward] = weights.values
        order = np.argsort(graph.indices, kind="stable")  # the order of the rows of `back`
        values[inward] = weights.values[order]
    return CellGraph(indptr, indices, incoming, values, out, into, _classes(out, into))


def _classes(out: np.ndarray, into: np.ndarray) -> np.ndarray:
    """Return the number of each node's pair of degrees among the distinct ones."""
    together = out * np.int64(into.max(initial=0) + 1) + into
    return np.unique(together, return_inverse=True)[1].astype(np.int32)


@dataclass
class CellState:
    """A partition with its statistics."""

    model: CellModel
    graph: CellGraph
    blocks: CellBlocks
    scratch: CellScratch

    @property
    def n_blocks(self) -> int:
        """The number of blocks that are not empty."""
        return int(self.blocks.scalars[kernels.BLOCKS])

    def length(self) -> float:
        """Return the description length in nats, without the constant of the weights."""
        return float(kernels.cells_length(self.model, self.graph, self.blocks))


def cell_state(data: CellData, labels: np.ndarray, spare: int | None = None) -> CellState:
    """Return the state of these labels, renumbered, with room for `spare` more blocks."""
    labels = renumber(labels)
    n, B = len(labels), int(labels.max(initial=-1)) + 1
    K = max(1, min(n + 1, B + (max(_SPARE, B // 4) if spare is None else spare)))
    slots = 2 * K if data.directed else K
    weighted = data.weights.kind != kernels.NO_WEIGHTS
    table = (K, slots) if weighted else (1, 1)
    classes = int(data.graph.classes.max(initial=0)) + 1
    blocks = CellBlocks(
        labels,
        np.zeros(K, np.int64),
        np.zeros(K, np.int64),
        np.zeros(K, np.int64),
        np.zeros((K, slots), np.int64),
        np.zeros(table),
        np.zeros(table),
        np.zeros((K, classes) if data.degree_corrected else (1, 1), np.int32),
        np.zeros(K, np.int64),
        np.zeros(2, np.int64),
    )
    model = CellModel(
        data.directed,
        data.degree_corrected,
        data.weights.kind,
        data.weights.prior,
        data.weights.sizes(data.n_edges),
        structure_costs(n, data.n_edges, K, True, directed=data.directed),
        count_tables(),
    )
    scratch = CellScratch(
        np.zeros(slots, np.int64),
        np.zeros(slots),
        np.zeros(slots),
        np.zeros(slots, np.int64),
        np.zeros(K, np.int64),
        np.zeros(K + 2, np.int64),
    )
    state = CellState(model, data.graph, blocks, scratch)
    kernels.fill_cells(model, data.graph, blocks)
    return state


def cell_description_length(data: CellData, labels: np.ndarray) -> float:
    """Return the description length of given labels in nats."""
    return cell_state(data, labels, spare=1).length() + data.weights.constant


@dataclass
class _Position:
    """Where `CellSearch.run` is."""

    phase: str = _DESCEND
    perturbed: int = 0
    idle: int = 0  # perturbations in a row without improvement
    passes: int = 0  # at the end


class CellSearch:
    """A partition on its way to the shortest description with `fewest` to `most` blocks."""

    def __init__(
        self,
        data: CellData,
        labels: np.ndarray,
        rng: Generator,
        trail: Trail,
        *,
        fewest: int = 1,
        most: int = _ANY,
    ) -> None:
        self.data, self.rng, self.trail = data, rng, trail
        self.fewest, self.most = fewest, most
        self.restart(labels)
        self.best, self.best_length = self.state.blocks.labels.copy(), math.inf
        self.at = _Position()
        self.locally_optimal = False

    def run(self, saver: SearchSaver | None = None) -> None:
        """Search from the present labels; `best` has the result."""
        saver = saver or SearchSaver()
        saved = saver.take()
        if saved is not None:
            with saver.errors():
                self.restore(saved)
        size = len(self.best) + self.data.n_edges
        wanted = int(np.clip(_PERTURB_WORK // max(size, 1), *_PERTURBATIONS))
        while self.at.phase != _DONE:
            self._step(wanted if size < _NO_PERTURBATIONS else 0)
            saver.save(self.point)

    def _step(self, perturbations: int) -> None:
        """Make one step; it begins with labels only, so that a saved search can continue here."""
        at = self.at
        self.restart(self.state.blocks.labels)
        if at.phase == _DESCEND:
            if not self.descend_level():
                improved = self.keep()
                if at.perturbed > 0:
                    at.idle = 0 if improved else at.idle + 1
                at.phase = _PERTURB
        elif at.phase == _PERTURB:
            if at.perturbed >= perturbations or at.idle == _PATIENCE:
                self.restart(self.best)
                at.phase = _FINISH
                return
            at.perturbed += 1
            best = renumber(self.best)
            least = _LEAST_PIECES[at.perturbed % len(_LEAST_PIECES)]
            cuts = max(_PIECES, -(-least // (int(best.max()) + 1)))
            pieces = self.rng.integers(0, cuts, len(best), dtype=np.int32)
            self.restart(best * cuts + pieces)
            self.sweeps(_PASSES_AFTER_CUT, hold=True)
            at.phase = _DESCEND
        else:
            at.passes += 1
            if not self.finish_pass() or at.passes == _CHECK_PASSES:
                self.keep()
                at.phase = _DONE

    def restart(self, labels: np.ndarray) -> None:
        """Continue from these labels, with statistics counted anew: sums of fractions depend on
        their order."""
        self.state = cell_state(self.data, labels)
        self.length = self.state.length()

    def keep(self) -> bool:
        """Remember the present labels if they are the best so far; return whether they are."""
        improved = self.length < self.best_length - 1e-6
        if self.length < self.best_length:
            self.best, self.best_length = self.state.blocks.labels.copy(), self.length
        return improved

    def sweeps(self, passes: int, exhaustive: int = _EXHAUSTIVE, *, hold: bool = False) -> int:
        """Move single nodes until few move, at most `passes` times; return the moves made.

        A sweep empties few blocks, with `hold` none."""
        state, total = self.state, 0
        n = len(state.blocks.labels)
        nodes = np.arange(n)
        for _ in range(passes):
            active = np.zeros(n, np.uint8)
            moved, change = kernels.sweep_cells(
                state.model,
                state.graph,
                state.blocks,
                state.scratch,
                self.rng.permutation(nodes),
                stream_keys(self.rng, 1)[0],
                _NEAR,
                _FAR,
                exhaustive,
                max(self.fewest, state.n_blocks if hold else int(state.n_blocks / _LEVEL)),
                self.most,
                active,
            )
            self.length += change
            total += int(moved)
            if moved <= _QUIET * n:
                break
            nodes = np.flatnonzero(active)
        return total

    def merges(self, most: int, limit: float) -> int:
        """Make merges whose change is below `limit`, the best first; return how many."""
        state = self.state
        K = len(state.blocks.sizes)
        partner, change = np.empty(K, np.int64), np.empty(K)
        start, nodes = members_of(state.blocks.labels, K)
        kernels.find_cell_merges(
            state.model,
            state.graph,
            state.blocks,
            state.scratch,
            start,
            nodes,
            stream_keys(self.rng, 1)[0],
            _TRIES,
            partner,
            change,
        )
        order = np.argsort(change, kind="stable")
        made, gained = kernels.merge_cells(
            state.model,
            state.blocks,
            state.scratch,
            start,
            nodes,
            order,
            partner,
            most,
            limit,
        )
        self.length += gained
        return int(made)

    def descend_level(self) -> bool:
        """Move single nodes, then merge blocks; return whether the descent goes on."""
        self.sweeps(_PASSES)
        B = self.state.n_blocks
        self.trail.add(self.length, 0, f"{B:,} blocks, {self.length:,.1f} nats", B)
        level = max(1, B - int(B / _LEVEL))
        if self.most < B:
            self.merges(min(level, B - self.most), kernels.NEVER)
            return True
        return self.merges(min(level, B - self.fewest), 0.0) > 0

    def finish_pass(self) -> bool:
        """Move single nodes, trying all blocks, and merge; return whether anything moved."""
        B = self.state.n_blocks
        exhaustive = _ANY if self.data.n_edges * B <= _CHECK_WORK else _EXHAUSTIVE
        moved = self.sweeps(1, exhaustive)
        if moved == 0:
            self.locally_optimal = exhaustive == _ANY
            return False
        moved += self.sweeps(20)
        self.merges(self.state.n_blocks - self.fewest, 0.0)
        B = self.state.n_blocks
        self.trail.add(self.length, moved, f"{B:,} blocks, {self.length:,.1f} nats", B)
        return True

    def point(self) -> SavedSearch:
        """Return everything that is needed to continue `run` after the last step."""
        facts = {
            "at": asdict(self.at),
            "best_length": self.best_length if math.isfinite(self.best_length) else None,
            "locally_optimal": self.locally_optimal,
            "history": [list(entry) for entry in self.trail.history],
            "lengths": [[blocks, length] for blocks, length in self.trail.lengths.items()],
        }
        return SavedSearch({"labels": self.state.blocks.labels.copy(), "best": self.best}, facts)

    def restore(self, saved: SavedSearch) -> None:
        """Continue from a saved point."""
        facts, n = saved.facts, len(self.best)
        self.restart(saved_labels(saved, "labels", n, n + 1))
        self.best = saved_labels(saved, "best", n, n + 1)
        if facts["best_length"] is not None:
            self.best_length = float(facts["best_length"])
            length = cell_state(self.data, self.best, spare=1).length()
            check_close("best_length", self.best_length, length)
        self.locally_optimal = bool(facts["locally_optimal"])
        self.at = _Position(**facts["at"])
        self.trail.restore(facts["history"], facts["lengths"])


def shortest_cell_description(
    name: str,
    graph: Graph,
    *,
    weights: str = "counts",
    n_blocks: int | None = None,
    rng: Generator,
    engine: Engine,
    callback: Callback = silent,
    saver: SearchSaver | None = None,
) -> Described:
    """Search for the shortest description of a graph with directions or real-valued weights.

    `n_blocks`: with exactly this number of blocks; None: with any."""
    data = cell_data(graph, name, weights)
    n = graph.n_nodes
    if n == 0:
        return Described(name, np.zeros(0, np.int32), 0.0, [], True)
    fewest, most = (1, _ANY) if n_blocks is None else (n_blocks, n_blocks)
    trail = Trail(callback)
    topology = make_objective("directed" if name in DIRECTED else "simple", graph)
    goal = min(n, max(_START, fewest))
    if weights == "counts":  # the edges alone show where to begin
        few = math.ceil(_START_PER_ROOT * math.sqrt(data.n_edges))
        goal = min(goal, max(8, few, fewest))
    labels, searching = merged_singles(topology, goal, rng, engine, saver)
    if len(np.unique(labels)) < fewest:  # continues from a checkpoint: any valid labels do
        labels = np.arange(n, dtype=np.int32)
    search = CellSearch(data, labels, rng, trail, fewest=fewest, most=most)
    interrupted = False
    try:
        search.run(searching)
    except KeyboardInterrupt:
        interrupted = True
        search.restart(search.best)
        while search.state.n_blocks > search.most:  # stopped before the first clustering
            search.merges(search.state.n_blocks - search.most, kernels.NEVER)
        search.keep()
    labels = renumber(search.best)
    length = cell_description_length(data, labels)
    one = np.zeros(n, np.int32)
    if fewest == 1:
        alone = cell_description_length(data, one)
        if alone < length:
            labels, length = one, alone
    constant = data.weights.constant
    history = [i._replace(entropy=i.entropy + constant) for i in trail.history]
    tried = {k: v + constant for k, v in trail.lengths.items()}
    optimal = search.locally_optimal and not interrupted
    return Described(name, labels, length, history, optimal, interrupted, tried=tried)

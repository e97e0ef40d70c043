"""EM over one node set: the pairs of nodes of a graph, present and absent."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, repeat
from operator import add as plus
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.base.randomness import stream_keys
from coterie.data import Graph
from coterie.engine import Engine
from coterie.engine.sharded_data import ShardedGraph
from coterie.kernels.hard.row_blocks import RowBlock
from coterie.kernels.numba.alias import AliasTables, alias_tables
from coterie.kernels.soft.absent_pairs import (
    NodeSums,
    PairBlock,
    absent_exact,
    absent_sampled,
    membership_sums,
)
from coterie.kernels.soft.em import Shard, accumulate, entropy_of, new_memberships, new_theta
from coterie.kernels.soft.monte_carlo import accumulate_sampled
from coterie.models.soft.em import add, log_sum
from coterie.models.soft.observation_shards import Pairs, cut_shards, shard_of_rows
from coterie.models.soft.state import SoftState

_PRESENT, _ABSENT = 0, 1  # index of the random stream of a task
_OUT, _IN = 0, 1  # channels of a directed graph's rows


class GraphSettings(NamedTuple):
    """The treatment of the pairs of a graph."""

    absent: str  # "exact", "sampled" or "ignored"
    absent_samples: int
    samples: int  # draws per present pair; 0 is the exact update
    prior: float


class GraphCommon(NamedTuple):
    """The data that every task of an iteration reads."""

    nodes: np.ndarray
    theta: np.ndarray
    tables: AliasTables | None
    node_sums: NodeSums | None


class GraphSums(NamedTuple):
    """Sums over shards."""

    eta: np.ndarray  # levels × k × k
    entropy: float


class GraphView(NamedTuple):
    """The pairs by source, or (second view of a directed graph) by target, theta transposed."""

    cuts: np.ndarray
    parts: list[Shard]
    blocks: list[PairBlock]
    from_targets: bool


class GraphProblem:
    """The pairs of one node set, and one iteration over them.

    An undirected pair appears in the rows of both nodes, so the rows' numerators are complete and
    the entropy is halved. A directed graph has two views: each node as a source and as a target.
    """

    def __init__(
        self,
        graph: Graph | ShardedGraph,
        values: np.ndarray,
        settings: GraphSettings,
        engine: Engine,
    ) -> None:
        """Build the views; `values` are those of the levels (`graph_values`)."""
        self.engine, self.settings, self.directed = engine, settings, graph.directed
        if isinstance(graph, ShardedGraph):
            self.views = _views_of_shards(graph, values, settings, engine)
            return
        first = first_present_level(settings.absent)
        levels = levels_of_weights(graph.weights, len(graph.indices), values, first)
        self.views = [_view(graph, levels, len(values), settings, engine, False)]
        if graph.directed:
            source = np.repeat(np.arange(graph.n_nodes), graph.degrees)
            by_target = np.lexsort((source, graph.indices))
            self.views.append(
                _view(graph.reversed(), levels[by_target], len(values), settings, engine, True)
            )

    def to_engine(self, state: SoftState) -> SoftState:
        return state

    def from_engine(self, engine_state: SoftState) -> SoftState:
        return engine_state

    def step(self, engine_state: SoftState, rng: Generator) -> tuple[SoftState, float]:
        prior = self.settings.prior
        numerators = np.zeros_like(engine_state.rows)
        common = self._common(engine_state, draws=True)
        merged = []
        for view in self.views:
            total, *rows = self._reduced(view, common, rng, advance_pairs, add, keep=True)
            numerators += np.concatenate(rows)
            merged.append(total)
        sums = merged[0]  # the view by target has the same pairs again
        eta = sums.eta if self.directed else 0.5 * (sums.eta + sums.eta.transpose(0, 2, 1))
        nodes = new_memberships(numerators, engine_state.rows, prior)
        theta = new_theta(np.ascontiguousarray(eta), engine_state.theta, prior)
        return SoftState(nodes, nodes, theta), self._count_pairs_once(sums.entropy)

    def entropy(self, engine_state: SoftState) -> float:
        """Return the entropy; an unbiased estimate with fixed seed if absent pairs are sampled."""
        common = self._common(engine_state, draws=False)
        fixed = np.random.default_rng(0)
        (entropy,) = self._reduced(self.views[0], common, fixed, block_entropy, plus)
        return self._count_pairs_once(float(entropy))

    def penalty(self, engine_state: SoftState) -> float:
        if self.settings.prior == 0.0:
            return 0.0
        # In an undirected graph, the two cells of a pair of groups are one parameter.
        cells = self._count_pairs_once(log_sum(engine_state.theta))
        return -self.settings.prior * (log_sum(engine_state.rows) + cells)

    def _count_pairs_once(self, entropy: float) -> float:
        """Halve a sum over rows if every pair appears in two rows (undirected graphs)."""
        return entropy if self.directed else 0.5 * entropy

    def _reduced(
        self,
        view: GraphView,
        common: GraphCommon,
        rng: Generator,
        task: Callable[..., Any],
        merge: Callable[[Any, Any], Any],
        keep: bool = False,
    ) -> list[Any]:
        """Return the merged total of a task over the parts of a view, and what each part kept."""
        keys = stream_keys(rng, 2 * len(view.parts)).reshape(-1, 2)
        done = self.engine.reduce(
            task,
            merge,
            view.parts,
            view.blocks,
            view.cuts[:-1],
            view.cuts[1:],
            repeat(view.from_targets),
            repeat(common),
            repeat(self.settings),
            keys,
            keep=keep,
        )
        return self.engine.gather([done.total, *done.kept])

    def _common(self, engine_state: SoftState, draws: bool) -> GraphCommon:
        """Broadcast what every task reads; alias tables only if there are draws."""
        tables = alias_tables(engine_state.rows) if draws and self.settings.samples else None
        node_sums = None
        if self.settings.absent == "sampled":
            blocks = [engine_state.rows[a:b] for a, b in pairwise(self.views[0].cuts)]
            ((total, outer),) = self.engine.gather(
                [self.engine.reduce(membership_sums, add, blocks).total]
            )
            by_group = alias_tables(np.ascontiguousarray(engine_state.rows.T))
            node_sums = NodeSums(total, outer, by_group.keep, by_group.other)
        common: GraphCommon = self.engine.broadcast(
            GraphCommon(engine_state.rows, engine_state.theta, tables, node_sums)
        )
        return common


def _view(
    graph: Graph,
    levels: np.ndarray,
    n_levels: int,
    settings: GraphSettings,
    engine: Engine,
    from_targets: bool,
) -> GraphView:
    """Cut the pairs of a graph into shards and scatter them."""
    n = graph.n_nodes
    source = np.repeat(np.arange(n, dtype=np.int32), graph.degrees)
    neighbours = graph.indices.astype(np.int32, copy=False)
    pairs = Pairs(source, neighbours, levels.astype(np.int32), n, n, n_levels)
    row_cost = {"exact": n, "sampled": settings.absent_samples, "ignored": 0}[settings.absent]
    cuts = (shards := cut_shards(pairs, column_sums=False, row_cost=row_cost)).cuts
    blocks = [
        PairBlock(
            graph.indptr[low : high + 1] - graph.indptr[low],
            neighbours[graph.indptr[low] : graph.indptr[high]],
        )
        for low, high in pairwise(cuts)
    ]
    return GraphView(cuts, engine.scatter(shards.parts), engine.scatter(blocks), from_targets)


def _views_of_shards(
    graph: ShardedGraph, values: np.ndarray, settings: GraphSettings, engine: Engine
) -> list[GraphView]:
    """Return views that the engine builds: the task that loads a shard also sorts it."""
    rows = engine.scatter(graph.shards)
    first = first_present_level(settings.absent)
    views = []
    for channel in (_OUT, _IN)[: 1 + graph.directed]:
        made = engine.submit(graph_part, rows, repeat(channel), repeat(values), repeat(first))
        parts, blocks = engine.select(made, 0), engine.select(made, 1)
        views.append(GraphView(graph.cuts, parts, blocks, channel == _IN))
    return views


def graph_part(
    rows: RowBlock, channel: int, values: np.ndarray, first: int
) -> tuple[Shard, PairBlock]:
    """Return the pairs of some rows, grouped by level and by row.

    Of a directed graph's rows it uses the outgoing or the incoming edges (`channel`).
    """
    indptr, indices = rows.indptr, rows.indices
    if len(rows.channels):
        mine = rows.channels == channel
        indptr, indices = np.append(0, np.cumsum(mine))[indptr], indices[mine]
    weights = rows.weights if len(rows.weights) else None
    levels = levels_of_weights(weights, len(indices), values, first).astype(np.int32)
    shard = shard_of_rows(RowBlock(rows.first, indptr, indices, levels, rows.weights))
    return shard, PairBlock(indptr, indices)


def first_present_level(absent: str) -> int:
    """Return the first level of present pairs; "absent", if not ignored, comes before it."""
    return 0 if absent == "ignored" else 1


def levels_of_weights(
    weights: np.ndarray | None, count: int, values: np.ndarray, first: int
) -> np.ndarray:
    """Return the level of each of `count` present pairs: "present", or the level of its weight."""
    if weights is None:
        return np.full(count, first)
    return np.searchsorted(values[first:], weights) + first


def advance_pairs(
    shard: Shard,
    block: PairBlock,
    low: int,
    high: int,
    from_targets: bool,
    common: GraphCommon,
    settings: GraphSettings,
    keys: np.ndarray,
) -> tuple[np.ndarray, GraphSums]:
    """Return the numerators of rows low .. high - 1, and the sums of their pairs."""
    nodes, theta = common.nodes, _oriented_theta(common.theta, from_targets)
    rows, nothing = nodes[low:high], np.empty((0, nodes.shape[1]))
    if settings.samples:
        tables = AliasTables(*(table[low:high] for table in common.tables))  # type: ignore[union-attr]
        stats = accumulate_sampled(
            shard,
            rows,
            nodes,
            theta,
            tables,
            common.tables,
            settings.samples,
            keys[_PRESENT],
            nothing,
        )
        entropy = entropy_of(shard, rows, nodes, theta)
    else:
        stats = accumulate(shard, rows, nodes, theta, nothing)
        entropy = stats.entropy
    entropy += _absent(
        block, low, rows, theta[0], common, settings, keys[_ABSENT], stats.rows, stats.eta[0]
    )
    return stats.rows, GraphSums(stats.eta, entropy)


def block_entropy(
    shard: Shard,
    block: PairBlock,
    low: int,
    high: int,
    from_targets: bool,
    common: GraphCommon,
    settings: GraphSettings,
    keys: np.ndarray,
) -> float:
    """Return the entropy of the pairs of rows low .. high - 1."""
    nodes, theta = common.nodes, _oriented_theta(common.theta, from_targets)
    rows = nodes[low:high]
    unused = np.zeros_like(rows), np.zeros_like(theta[0])
    present = entropy_of(shard, rows, nodes, theta)
    return float(
        present + _absent(block, low, rows, theta[0], common, settings, keys[_ABSENT], *unused)
    )


def _absent(
    block: PairBlock,
    first: int,
    rows: np.ndarray,
    theta_0: np.ndarray,
    common: GraphCommon,
    settings: GraphSettings,
    key: np.uint64,
    row_sums: np.ndarray,
    eta_0: np.ndarray,
) -> float:
    """Add the absent pairs to the numerators; return their entropy."""
    if settings.absent == "ignored":
        return 0.0
    if settings.absent == "exact":
        return float(absent_exact(block, first, rows, common.nodes, theta_0, row_sums, eta_0))
    draws = settings.absent_samples
    return float(
        absent_sampled(
            block, first, rows, common.nodes, theta_0, common.node_sums, draws, key, row_sums, eta_0
        )
    )


def _oriented_theta(theta: np.ndarray, from_targets: bool) -> np.ndarray:
    """Transpose theta for the view by target."""
    return np.ascontiguousarray(theta.transpose(0, 2, 1)) if from_targets else theta

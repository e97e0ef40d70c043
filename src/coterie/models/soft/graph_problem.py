"""EM over one node set: the pairs of a graph, present ones and absent ones."""

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
from coterie.models.soft.observation_shards import Pairs, cut
from coterie.models.soft.problem_interface import add, log_sum
from coterie.models.soft.state import SoftState

_PRESENT, _ABSENT = 0, 1  # which of a task's two streams


class Settings(NamedTuple):
    """How a graph's pairs are treated."""

    absent: str  # "exact", "sampled" or "ignored"
    absent_samples: int
    samples: int  # draws a present pair; 0: exactly
    prior: float


class GraphCommon(NamedTuple):
    """What every task of an iteration reads."""

    nodes: np.ndarray
    theta: np.ndarray
    tables: AliasTables | None
    node_sums: NodeSums | None


class GraphSums(NamedTuple):
    """What is added up over shards."""

    eta: np.ndarray  # configurations × k × k
    entropy: float


class GraphView(NamedTuple):
    """A graph seen from its sources, or (directed) from its targets with theta transposed."""

    cuts: np.ndarray
    parts: list[Shard]
    blocks: list[PairBlock]
    from_targets: bool


class GraphProblem:
    """The pairs of one node set, and one iteration over them.

    An undirected pair stands in both rows, so the rows' numerators are complete and the entropy
    is halved. Of a directed graph each node is seen as a source and as a target.
    """

    def __init__(
        self, graph: Graph, codes: np.ndarray, n_codes: int, settings: Settings, engine: Engine
    ) -> None:
        """`codes` gives the configuration of each stored neighbour, beside graph.indices."""
        self.engine, self.settings, self.directed = engine, settings, graph.directed
        self.views = [_view(graph, codes, n_codes, settings, engine, False)]
        if graph.directed:
            source = np.repeat(np.arange(graph.n_nodes), graph.degrees)
            turned = np.lexsort((source, graph.indices))
            self.views.append(
                _view(graph.reversed(), codes[turned], n_codes, settings, engine, True)
            )

    def inside(self, state: SoftState) -> SoftState:
        return state

    def outside(self, spread: SoftState) -> SoftState:
        return spread

    def step(self, spread: SoftState, rng: Generator) -> tuple[SoftState, float]:
        prior = self.settings.prior
        numerators = np.zeros_like(spread.rows)
        common = self._common(spread, draws=True)
        merged = []
        for view in self.views:
            total, *rows = self._reduced(view, common, rng, advance, add, keep=True)
            numerators += np.concatenate(rows)
            merged.append(total)
        sums = merged[0]  # the view from the targets holds the same pairs once more
        eta = sums.eta if self.directed else 0.5 * (sums.eta + sums.eta.transpose(0, 2, 1))
        nodes = new_memberships(numerators, spread.rows, prior)
        theta = new_theta(np.ascontiguousarray(eta), spread.theta, prior)
        return SoftState(nodes, nodes, theta), self._once(sums.entropy)

    def entropy(self, spread: SoftState) -> float:
        """S of a state; where absent pairs are sampled, an unbiased estimate (always the same)."""
        common = self._common(spread, draws=False)
        fixed = np.random.default_rng(0)
        (entropy,) = self._reduced(self.views[0], common, fixed, part_entropy, plus)
        return self._once(float(entropy))

    def penalty(self, spread: SoftState) -> float:
        if self.settings.prior == 0.0:
            return 0.0
        # the two cells of an undirected pair of groups are one parameter
        cells = self._once(log_sum(spread.theta))
        return -self.settings.prior * (log_sum(spread.rows) + cells)

    def _once(self, entropy: float) -> float:
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
        """The merged total of a task over a view's parts, and what each kept."""
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

    def _common(self, spread: SoftState, draws: bool) -> GraphCommon:
        tables = alias_tables(spread.rows) if draws and self.settings.samples else None
        node_sums = None
        if self.settings.absent == "sampled":
            blocks = [spread.rows[a:b] for a, b in pairwise(self.views[0].cuts)]
            ((total, outer),) = self.engine.gather(
                [self.engine.reduce(membership_sums, add, blocks).total]
            )
            by_group = alias_tables(np.ascontiguousarray(spread.rows.T))
            node_sums = NodeSums(total, outer, by_group.keep, by_group.other)
        common: GraphCommon = self.engine.broadcast(
            GraphCommon(spread.rows, spread.theta, tables, node_sums)
        )
        return common


def _view(
    graph: Graph,
    codes: np.ndarray,
    n_codes: int,
    settings: Settings,
    engine: Engine,
    from_targets: bool,
) -> GraphView:
    n = graph.n_nodes
    source = np.repeat(np.arange(n, dtype=np.int32), graph.degrees)
    neighbours = graph.indices.astype(np.int32, copy=False)
    pairs = Pairs(source, neighbours, codes.astype(np.int32), n, n, n_codes)
    row_cost = {"exact": n, "sampled": settings.absent_samples, "ignored": 0}[settings.absent]
    cuts = (shards := cut(pairs, column_sums=False, row_cost=row_cost)).cuts
    blocks = [
        PairBlock(
            graph.indptr[low : high + 1] - graph.indptr[low],
            neighbours[graph.indptr[low] : graph.indptr[high]],
        )
        for low, high in pairwise(cuts)
    ]
    return GraphView(cuts, engine.scatter(shards.parts), engine.scatter(blocks), from_targets)


def advance(
    shard: Shard,
    block: PairBlock,
    low: int,
    high: int,
    from_targets: bool,
    common: GraphCommon,
    settings: Settings,
    keys: np.ndarray,
) -> tuple[np.ndarray, GraphSums]:
    """Numerators of the rows low .. high - 1, and the sums of their pairs."""
    nodes, theta = common.nodes, _seen(common.theta, from_targets)
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


def part_entropy(
    shard: Shard,
    block: PairBlock,
    low: int,
    high: int,
    from_targets: bool,
    common: GraphCommon,
    settings: Settings,
    keys: np.ndarray,
) -> float:
    """The entropy of the pairs of the rows low .. high - 1."""
    nodes, theta = common.nodes, _seen(common.theta, from_targets)
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
    settings: Settings,
    key: np.uint64,
    row_sums: np.ndarray,
    eta_0: np.ndarray,
) -> float:
    """Absent pairs added to the numerators, and their entropy."""
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


def _seen(theta: np.ndarray, from_targets: bool) -> np.ndarray:
    return np.ascontiguousarray(theta.transpose(0, 2, 1)) if from_targets else theta

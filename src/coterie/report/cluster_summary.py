"""The numbers of a clustering report; their size depends on the blocks, not on the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coterie.data import Graph
from coterie.models.hard.clustering import HardClustering
from coterie.models.hard.label_tools import x_log_x
from coterie.report.block_matrix import BlockMatrix, arrange, share
from coterie.report.charts import Chart, network_drawing
from coterie.report.charts.network import MOST_NODES, edges_left_out
from coterie.report.fit_summary import FitSummary, summarize_fit

_DRAWN = 30  # blocks in the drawing of the block graph
_LISTED = 15  # blocks in the table of the largest blocks
_NAMED = 8  # nodes named per block


@dataclass(frozen=True)
class BlockClosedness:
    """For each block: its size, and the share of its edge ends that belong to edges inside it."""

    sizes: np.ndarray
    share: np.ndarray


@dataclass(frozen=True)
class DrawnBlocks:
    """The blocks in the drawing of the block graph."""

    blocks: np.ndarray
    sizes: np.ndarray
    density: np.ndarray


@dataclass(frozen=True)
class ListedBlock:
    """A row in the table of the largest blocks."""

    block: int
    nodes: int
    edges_inside: float
    density: float
    mean_degree: float
    best_connected: tuple[str, ...]


@dataclass(frozen=True)
class NetworkSection:
    """The drawing of the network, and the number of edges that it leaves out."""

    chart: Chart
    left_out: int


@dataclass(frozen=True)
class ClusterSummary:
    """Everything that the report of a clustered graph shows."""

    fit: FitSummary
    nodes: int
    edges: int
    directed: bool
    weighted: bool
    blocks: int  # that have nodes
    requested_blocks: int
    entropy_without_blocks: float | None  # None where the objective is not Bernoulli
    sizes: np.ndarray  # descending
    closedness: BlockClosedness
    matrix: BlockMatrix
    drawn: DrawnBlocks
    listed: tuple[ListedBlock, ...]
    explanation: tuple[str, ...]  # what the blocks are, in sentences
    network: NetworkSection | None  # None for a network that is too large to draw

    @property
    def counted(self) -> str:
        """The unit that a cell of the block matrix counts."""
        return "weight" if self.weighted else "edges"

    @property
    def measure(self) -> str:
        """The name of a cell's value: its count per pair of nodes."""
        return "mean weight" if self.weighted else "density"


def summarize(
    model: HardClustering, graph: Graph, *, name: str = "the graph", assumed: Sequence[str] = ()
) -> ClusterSummary:
    """Summarize a fitted hard clustering and the graph that it was fitted to."""
    facts = model.facts()
    labels = np.asarray(model.labels_)
    edges, pairs = np.asarray(model.block_edges_), np.asarray(model.block_pairs_)
    sizes = np.bincount(labels, minlength=len(edges))
    return ClusterSummary(
        fit=summarize_fit(model, graph, name=name, assumed=assumed, facts=facts),
        nodes=graph.n_nodes,
        edges=graph.n_edges,
        directed=graph.directed,
        weighted=facts.counts_weights,
        blocks=int((sizes > 0).sum()),
        requested_blocks=len(edges),
        entropy_without_blocks=_one_block(facts.model, edges, pairs, graph.directed),
        sizes=np.sort(sizes[sizes > 0])[::-1],
        closedness=_closedness(edges, sizes, graph.directed),
        matrix=arrange(edges, pairs, sizes, directed=graph.directed),
        drawn=_most_connected(edges, pairs, sizes),
        listed=_largest(graph, labels, sizes, edges, pairs),
        explanation=tuple(model.explain()),
        network=_network(graph, labels),
    )


def _network(graph: Graph, labels: np.ndarray) -> NetworkSection | None:
    """Draw the nodes, unless they are too many."""
    if not 0 < graph.n_nodes <= MOST_NODES:
        return None
    return NetworkSection(network_drawing(graph, labels), edges_left_out(graph))


def _one_block(model: str, edges: np.ndarray, pairs: np.ndarray, directed: bool) -> float | None:
    """Compute S of the same graph with all nodes in one block, for Bernoulli objectives."""
    if model not in ("simple", "directed"):
        return None
    once = np.ones_like(pairs, bool) if directed else np.triu(np.ones_like(pairs, bool))
    m, d = float(edges[once].sum()), float(pairs[once].sum())
    return float(x_log_x(d) - x_log_x(m) - x_log_x(d - m))


def _closedness(edges: np.ndarray, sizes: np.ndarray, directed: bool) -> BlockClosedness:
    within = np.diag(edges).astype(np.float64)
    ends = edges.sum(0) + edges.sum(1) if directed else edges.sum(1) + within
    some = (sizes > 0) & (ends > 0)
    return BlockClosedness(sizes[some], 2 * within[some] / ends[some])


def _most_connected(edges: np.ndarray, pairs: np.ndarray, sizes: np.ndarray) -> DrawnBlocks:
    """Choose the blocks with most edge ends: without the few hubs, leaves would stand alone."""
    ends = edges.sum(1) + edges.sum(0)
    chosen = np.lexsort((-sizes, -ends))[:_DRAWN]
    chosen = chosen[sizes[chosen] > 0]
    square = np.ix_(chosen, chosen)
    density = share(edges[square].astype(np.float64), pairs[square])
    return DrawnBlocks(chosen, sizes[chosen], np.maximum(density, density.T))


def _largest(
    graph: Graph, labels: np.ndarray, sizes: np.ndarray, edges: np.ndarray, pairs: np.ndarray
) -> tuple[ListedBlock, ...]:
    """List the largest blocks, each with the ids of its best-connected nodes."""
    degrees = graph.degrees
    largest = np.argsort(-sizes, kind="stable")[:_LISTED]
    listed = []
    for block in largest[sizes[largest] > 0]:
        nodes = np.flatnonzero(labels == block)
        some = min(_NAMED, len(nodes))
        top = nodes[np.argpartition(-degrees[nodes], some - 1)[:some]]
        top = top[np.argsort(-degrees[top], kind="stable")]
        inside = float(edges[block, block])
        listed.append(
            ListedBlock(
                block=int(block),
                nodes=len(nodes),
                edges_inside=inside,
                density=inside / max(float(pairs[block, block]), 1.0),
                mean_degree=float(degrees[nodes].mean()),
                best_connected=tuple(str(graph.ids[v]) for v in top),
            )
        )
    return tuple(listed)

"""The state of a partition whose description length is minimised, and what models differ in.

Kernels: `kernels/hard/description_state.py` and `description_costs.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from coterie.base.array_checks import ArrayError
from coterie.kernels.hard.description import whole_length
from coterie.kernels.hard.description_state import (
    BLOCKS,
    COUNTS,
    EDGES,
    FREE,
    INNER_DENSITIES,
    MULTISETS,
    NORMAL,
    PLANTED,
    TWO_DENSITIES,
    Blocks,
    DescriptionModel,
    Multigraph,
    Scratch,
    Upper,
    fill_statistics,
)
from coterie.kernels.hard.log_counts import count_tables
from coterie.models.hard.label_tools import renumber
from coterie.models.hard.search.auto_k import log_choose, log_multisets
from coterie.models.hard.weight_models import WeightModel, no_weights


class ModelKind(NamedTuple):
    """What distinguishes one model of a graph from another: one entry per objective."""

    cells: int  # what a cell costs; the codes and formulas are in the kernels
    degrees: bool  # degree correction
    directed: bool = False
    weights: WeightModel = no_weights()  # of cells whose costs come from a table (EDGES and on)
    layers: int = 0  # of edges, each with cells of its own


# Undirected graphs; `directed_weighted.py` has directions and real-valued weights.
KINDS = {
    "simple": ModelKind(COUNTS, degrees=False),
    "degree-corrected": ModelKind(COUNTS, degrees=True),
    "communities": ModelKind(INNER_DENSITIES, degrees=True),
    "uniform-communities": ModelKind(TWO_DENSITIES, degrees=True),
}
LEVEL = ModelKind(MULTISETS, degrees=False)  # of a hierarchy, above the nodes
_SPARE = 16  # room for at least this many more blocks


def multigraph(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray | None = None,
    loops: np.ndarray | None = None,
) -> Multigraph:
    """Return a graph in the form of the kernels; both directions of an edge must be listed."""
    # Copies: kernels are compiled anew for arrays with gaps or without permission to write.
    w = np.zeros(0, np.int64) if weights is None else np.array(weights, np.int64)
    own = np.zeros(0, np.int64) if loops is None else np.array(loops, np.int64)
    degrees = np.diff(indptr).astype(np.int64)
    if len(w):
        sums = np.concatenate([[0], np.cumsum(w)])
        degrees = sums[indptr[1:]] - sums[indptr[:-1]]
    if len(own):
        degrees = degrees + 2 * own
    none = np.zeros(len(degrees), np.int64)
    return Multigraph(
        np.require(indptr, np.int64, ["C", "A", "W"]),
        np.require(indices, np.int32, ["C", "A", "W"]),
        w,
        own,
        degrees,
        np.unique(degrees, return_inverse=True)[1].astype(np.int32),
        np.zeros(0, np.int16),
        none,
        np.zeros(0),
        np.zeros((0, 0), np.int64),
        np.zeros((0, 0), np.int32),
        np.zeros(0, np.int32),
        np.zeros(0, np.int32),
    )


def no_levels() -> Upper:
    """Return the upper levels of a flat model: none."""
    return Upper(
        0,
        np.zeros((1, 1), np.int32),
        np.zeros((1, 1), np.int64),
        np.zeros((1, 1, 1), np.int64),
        np.zeros((2, 1), np.int64),
        np.zeros((2, 1), np.int64),
        np.zeros(1),
        np.zeros(2, np.int64),
    )


# What the block matrix costs: "flat" (any matrix is equally likely), or the levels above.
Prior = str | Upper


@dataclass
class DescriptionState:
    """A partition with its statistics. `upper` is the prior of the block matrix."""

    kind: ModelKind
    model: DescriptionModel
    graph: Multigraph
    blocks: Blocks
    upper: Upper
    scratch: Scratch
    prior: Prior

    @property
    def labels(self) -> np.ndarray:
        """The labels; numbers may have gaps."""
        return self.blocks.labels

    @property
    def n_blocks(self) -> int:
        """The number of blocks that are not empty."""
        return int(self.blocks.scalars[BLOCKS])

    @property
    def spare(self) -> int:
        """How many more blocks there is room for."""
        return int(self.blocks.scalars[FREE])

    @property
    def arguments(self) -> tuple[DescriptionModel, Multigraph, Blocks, Upper, Scratch]:
        """The first arguments of most kernels."""
        return self.model, self.graph, self.blocks, self.upper, self.scratch

    def length(self) -> float:
        """Return the description length in nats, computed from the statistics."""
        return float(whole_length(self.model, self.graph, self.blocks, self.upper))


def start_state(
    kind: ModelKind,
    graph: Multigraph,
    labels: np.ndarray,
    *,
    spare: int | None = None,
    prior: Prior = "flat",
) -> DescriptionState:
    """Return the state of these labels, renumbered, with room for `spare` more blocks.

    `prior`: "flat", "none" (the block matrix costs nothing), or levels above that fit to the
    renumbered labels."""
    labels = renumber(labels)
    B = int(labels.max(initial=-1)) + 1
    K = B + (max(_SPARE, B // 4) if spare is None else spare)
    n = len(labels)
    return _counted(kind, graph, labels, max(1, min(K, n + 1)), prior)


class DescriptionData(NamedTuple):
    """A graph as a model describes it."""

    kind: ModelKind
    graph: Multigraph
    constant: float = 0.0  # nats that no partition changes

    def length(self, labels: np.ndarray) -> float:
        """Return the description length of given labels in nats."""
        return start_state(self.kind, self.graph, labels, spare=1).length() + self.constant


def restored_state(
    kind: ModelKind, graph: Multigraph, labels: np.ndarray, free: np.ndarray
) -> DescriptionState:
    """Return the state of a flat model as a checkpoint has it: labels with their numbers, and the
    numbers of empty blocks in the order in which they are used (`free`, one place per block)."""
    state = _counted(kind, graph, labels.copy(), len(free), "flat")
    empty = state.blocks.free[: state.spare]
    if not np.array_equal(np.sort(empty), np.sort(free[: state.spare])):
        raise ArrayError("free: these blocks are not empty")
    state.blocks.free[...] = free
    return state


def _counted(
    kind: ModelKind, graph: Multigraph, labels: np.ndarray, K: int, prior: Prior
) -> DescriptionState:
    """Return the state of labels below K, with room for K blocks."""
    n, m = len(labels), int(graph.degrees.sum()) // (1 if kind.directed else 2)
    numbers = graph.layer_classes if kind.layers else graph.classes
    classes = int(numbers.max(initial=0)) + 1 if kind.degrees else 1
    slots = 2 * K if kind.directed else max(1, kind.layers) * K
    edges = tuple(graph.layer_degrees.sum(axis=1) // 2) if kind.layers else (m,)
    weighted = kind.cells >= NORMAL
    flat = prior == "flat" and kind.cells not in PLANTED
    model = DescriptionModel(
        kind.cells,
        kind.degrees,
        kind.directed,
        kind.layers,
        n,
        m,
        structure_costs(n, edges, K, flat, directed=kind.directed),
        count_tables(),
        kind.weights.sizes(m) if kind.cells >= EDGES else np.zeros(0),
        kind.weights.prior,
    )
    blocks = Blocks(
        labels,
        np.zeros(K, np.int64),
        np.zeros(K, np.int64),
        np.zeros(K, np.int64),
        np.zeros((kind.layers, K), np.int64),
        np.zeros((K, slots), np.int32 if m < 2**31 else np.int64),
        np.zeros((2, K, slots) if weighted else (2, 0, 0)),
        np.zeros((K if kind.degrees else 1, classes), np.int32),
        np.zeros(K, np.int64),
        np.zeros(3, np.int64),
        block_categories(graph.categories, labels, K),
    )
    fill_statistics(model, graph, blocks)
    scratch = Scratch(
        np.zeros(slots, np.int64),
        np.zeros((2, slots if weighted else 0)),
        np.zeros(slots, np.int64),
        np.zeros(K, np.int64),
        np.zeros(K + 2, np.int64),
        np.zeros(K + 2),
        np.zeros(max(classes, kind.layers), np.int64),
        np.zeros((2, K)),
        np.zeros((2, kind.layers), np.int64),
    )
    upper = no_levels() if isinstance(prior, str) else _with_room(prior, K)
    return DescriptionState(kind, model, graph, blocks, upper, scratch, prior)


def block_categories(categories: np.ndarray, labels: np.ndarray, K: int) -> np.ndarray:
    """Return the category of the nodes of each of K blocks, -1 if they have none."""
    known = np.flatnonzero(categories >= 0)
    own = np.full(K if len(categories) else 0, -1, np.int32)
    own[labels[known]] = categories[known]
    return own


def allowed_labels(graph: Multigraph, labels: np.ndarray) -> np.ndarray:
    """Return labels that respect the ties and categories of the nodes, as near as is simple.

    Nodes that stay together go where most of them are, frozen groups and categories are cut apart,
    and nodes without a category stay with most of those that have one."""
    ties, categories, labels = graph.ties, graph.categories, renumber(labels).astype(np.int64)
    if len(ties):
        groups, place = np.unique(ties, return_inverse=True)
        most = _most_frequent(place, labels, len(groups))
        frozen = np.flatnonzero(groups < 0)
        again = np.setdiff1d(frozen, frozen[np.unique(most[frozen], return_index=True)[1]])
        most[again] = len(labels) + again
        labels = np.where(ties == 0, labels, most[place])
    if len(categories):
        blocks = renumber(labels)
        known = categories >= 0
        usual = _most_frequent(blocks[known], categories[known], int(blocks.max()) + 1)
        own = np.where(known, categories, usual[blocks])
        labels = labels * (int(categories.max()) + 2) + own + 1
    return renumber(labels)


def _most_frequent(groups: np.ndarray, values: np.ndarray, n_groups: int) -> np.ndarray:
    """Return the most frequent value of each group, -1 for a group without values."""
    pairs, counts = np.unique(np.stack([groups, values]), axis=1, return_counts=True)
    order = np.argsort(counts, kind="stable")
    most = np.full(n_groups, -1, np.int64)
    most[pairs[0, order]] = pairs[1, order]  # the last one, which is the most frequent, stays
    return most


def _with_room(upper: Upper, K: int) -> Upper:
    """Return the levels with room for the parents of K blocks."""
    if upper.parents.shape[1] >= K:
        return upper
    parents = np.zeros((upper.depth, K), np.int32)
    parents[:, : upper.parents.shape[1]] = upper.parents
    return upper._replace(parents=parents)


def levels_above(cells: np.ndarray, levels: list[np.ndarray]) -> Upper:
    """Return the levels above blocks with these cells (B x B, inner edges once).

    levels[0] has the group of each block, levels[1] the group of each of those groups, …"""
    widest = max(int(z.max()) + 1 for z in levels)
    depth = len(levels)
    parents = np.zeros((depth, max(len(cells), widest)), np.int32)
    sizes = np.zeros((depth, widest), np.int64)
    sums = np.zeros((depth, widest, widest), np.int64)
    below = np.asarray(cells, np.int64)
    for level, z in enumerate(levels):
        parents[level, : len(z)] = z
        sizes[level] = np.bincount(z, minlength=widest)
        below = grouped_cells(below, z)
        sums[level, : len(below), : len(below)] = below
    scratch = np.zeros((2, widest), np.int64)
    known = np.zeros(widest + 1, np.int64)
    return Upper(depth, parents, sizes, sums, scratch, scratch.copy(), np.zeros(widest), known)


def grouped_cells(cells: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the cells between groups of blocks; inner edges are counted once.

    >>> grouped_cells(np.array([[1, 2], [2, 0]]), np.array([0, 0])).tolist()
    [[3]]
    """
    k = int(groups.max()) + 1
    double = np.array(cells, np.int64)
    np.fill_diagonal(double, 2 * np.diag(cells))
    order = np.argsort(groups, kind="stable")
    first = np.searchsorted(groups[order], np.arange(k))
    rows = np.add.reduceat(double[order], first, axis=0)
    sums = np.ascontiguousarray(np.add.reduceat(rows.T[order], first, axis=0).T)
    np.fill_diagonal(sums, np.diag(sums) // 2)
    return sums


def block_multigraph(cells: np.ndarray) -> Multigraph:
    """Return the graph of the blocks, with the cells as numbers of edges."""
    off = np.array(cells, np.int64)
    np.fill_diagonal(off, 0)
    rows, columns = np.nonzero(off)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(cells)))])
    return multigraph(indptr, columns, off[rows, columns], np.diag(cells))


@lru_cache(maxsize=32)  # a search asks for the same again and again
def structure_costs(
    n: int, edges: tuple[int, ...], K: int, flat: bool, *, directed: bool = False
) -> np.ndarray:
    """Return, for 0..K+1 blocks, the cost of their number: label sizes and (flat) the cells, once
    per layer of edges."""
    B = np.arange(K + 2, dtype=np.float64)
    B[0] = 1.0
    cost = log_choose(max(n, 1) - 1, np.minimum(B, max(n, 1)) - 1)
    for m in edges if flat else ():
        cost += log_multisets(B * B if directed else B * (B + 1) / 2, m)
    cost[n < B] = np.inf
    cost[0] = 0.0
    return cost

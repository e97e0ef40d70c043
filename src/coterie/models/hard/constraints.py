"""What a fit is given besides the graph: blocks to begin with, and which nodes may share a block.

`start` are earlier blocks, `frozen` nodes keep theirs, `must_link` nodes share one, and no block
has nodes of two categories of `never_together`. Nodes are found by their ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coterie.base.errors import InputError
from coterie.base.lazy_modules import scipy_optimize, scipy_sparse
from coterie.data import Graph
from coterie.data.foreign import frame_column, frame_of, is_table
from coterie.data.ids import IdLookup

_NONE = np.zeros(0, np.int32)


@dataclass(frozen=True)
class GivenBlocks:
    """What a fit begins with and must keep, in the order of the nodes of the graph."""

    names: list[Any] = field(default_factory=list)  # of blocks, by their number
    known: np.ndarray = field(default_factory=lambda: _NONE)  # earlier blocks; -1: a new node
    start: np.ndarray | None = None  # the same, with the new nodes placed
    frozen: np.ndarray = field(default_factory=lambda: _NONE)  # blocks to keep; -1: any
    ties: np.ndarray = field(default_factory=lambda: _NONE)  # see `Multigraph`
    categories: np.ndarray = field(default_factory=lambda: _NONE)
    sentences: tuple[str, ...] = ()  # what was given, in words

    @property
    def constrained(self) -> bool:
        """Whether some nodes may not be in any block."""
        return len(self.ties) + len(self.categories) > 0

    def named(self, labels: np.ndarray) -> np.ndarray:
        """Return labels in which a block keeps the number of the one that it overlaps most with,
        and a block of frozen nodes theirs."""
        if not self.names:
            return labels
        k, q = int(labels.max(initial=-1)) + 1, len(self.names)
        overlap = np.zeros((k, q))
        for given, weight in ((self.known, 1.0), (self.frozen, len(labels) + 1.0)):
            there = np.flatnonzero(given >= 0)
            np.add.at(overlap, (labels[there], given[there]), weight)
        rows, columns = scipy_optimize.linear_sum_assignment(-overlap)
        numbers = np.full(k, -1)
        kept = overlap[rows, columns] > 0
        numbers[rows[kept]] = columns[kept]
        new = np.flatnonzero(numbers < 0)
        numbers[new] = q + np.arange(len(new))
        return np.asarray(numbers[labels], np.int32)


def given_blocks(
    graph: Graph,
    *,
    start: Any = None,
    frozen: Any = None,
    never_together: Any = None,
    must_link: Any = None,
) -> GivenBlocks:
    """Return what was given, checked; nodes that the graph does not have are left out."""
    n = graph.n_nodes
    before = None if start is None else _values(start, graph, "start")
    keeps = _frozen_values(frozen, before, graph)
    given = [value for values in (before, keeps) if values is not None for value in values]
    names, codes = _numbered([value for value in given if value is not None], n)
    known, held = (
        _NONE
        if values is None
        else np.array([-1 if v is None else codes[v] for v in values], np.int32)
        for values in (before, keeps)
    )
    categories = _NONE
    if never_together is not None:
        values = _values(never_together, graph, "never_together")
        kinds = {v: i for i, v in enumerate(dict.fromkeys(v for v in values if v is not None))}
        categories = np.array([-1 if v is None else kinds[v] for v in values], np.int32)
    links = _links(must_link, graph)
    ties = _NONE
    if len(held) or len(links):
        ties, categories = _tied(graph, held, links, categories, names)
    said = (
        (start is not None, "The search begins with given blocks, and is short."),
        (frozen is not None, f"{int((held >= 0).sum()):,} nodes keep a given block."),
        (len(links) > 0, "Given groups of nodes share a block."),
        (never_together is not None, "No block has nodes of two of the given categories."),
    )
    return GivenBlocks(
        names,
        known,
        None if before is None else _placed(graph, known),
        held,
        ties,
        categories,
        tuple(sentence for is_given, sentence in said if is_given),
    )


def _values(given: Any, graph: Graph, what: str) -> list[Any]:
    """Return a value per node of the graph, None where it is missing."""
    ids, values = _by_id(given, graph, what)
    nodes = IdLookup(graph.ids).numbers(ids)
    if not (nodes >= 0).any():
        raise InputError(
            f"no node of `{what}` is in the graph", remedy="give the ids of the nodes of this graph"
        )
    found: list[Any] = [None] * graph.n_nodes
    for node, value in zip(nodes.tolist(), values, strict=True):
        if node >= 0 and value == value and value not in (None, ""):  # NaN is missing
            found[node] = value
    return found


def gone_nodes(given: Any, graph: Graph) -> list[Any]:
    """Return the ids of nodes with a given block that the graph does not have."""
    ids = np.asarray(_by_id(given, graph, "previous")[0])
    return list(ids[IdLookup(graph.ids).numbers(ids) < 0].tolist())


def _by_id(given: Any, graph: Graph, what: str) -> tuple[Any, list[Any]]:
    """Return ids of nodes, and what is given for each."""
    ids: Any
    held = vars(given) if hasattr(given, "__dict__") else {}
    if "labels_" in held and isinstance(held.get("graph_"), Graph):  # a fitted clustering
        names = held.get("block_names_", [])
        ids = held["graph_"].ids
        values = [names[b] if b < len(names) else b for b in held["labels_"].tolist()]
    elif is_table(given):
        frame = frame_of(given)
        if len(frame.columns) < 2:
            raise InputError(
                f"`{what}` has one column", remedy="give a table of nodes and their blocks"
            )
        ids, values = (frame_column(frame, name).tolist() for name in list(frame.columns)[:2])
    elif isinstance(given, Mapping):
        ids, values = list(given), list(given.values())
    else:
        values = np.asarray(given, object).tolist()
        ids = graph.ids
        if len(values) != graph.n_nodes:
            raise InputError(
                f"`{what}` has {len(values):,} values, the graph has {graph.n_nodes:,} nodes",
                remedy="give one per node, or a mapping or table by node id",
            )
    return ids, values


def _frozen_values(frozen: Any, before: list[Any] | None, graph: Graph) -> list[Any] | None:
    """Return the block that each node keeps; a list of nodes keeps the blocks of `start`."""
    if frozen is None or is_table(frozen) or isinstance(frozen, Mapping):
        return None if frozen is None else _values(frozen, graph, "frozen")
    if before is None:
        raise InputError(
            "`frozen` is a list of nodes, and there is no `start` with their blocks",
            remedy="give a mapping or table of nodes and their blocks, or add `start`",
        )
    held: list[Any] = [None] * graph.n_nodes
    for node in _found(list(frozen), graph, "frozen").tolist():
        held[node] = before[node]
        if before[node] is None:
            raise InputError(
                f"node {graph.ids[node]} is frozen, but `start` has no block of it",
                remedy="leave it out of `frozen`, or give it a block in `start`",
            )
    return held


def _found(ids: Any, graph: Graph, what: str) -> np.ndarray:
    nodes = IdLookup(graph.ids).numbers(ids)
    if (nodes < 0).any():
        missing = ids[int(np.argmax(nodes < 0))]
        raise InputError(f"node {missing!s} of `{what}` is not in the graph", remedy="leave it out")
    return nodes


def _numbered(values: list[Any], n: int) -> tuple[list[Any], dict[Any, int]]:
    """Return the names of the blocks and their numbers: whole numbers below n number themselves."""
    distinct = list(dict.fromkeys(values))
    whole = all(isinstance(v, int | np.integer) and 0 <= v < n for v in distinct)
    if whole:
        return list(range(max(distinct, default=-1) + 1)), {v: int(v) for v in distinct}
    return distinct, {value: number for number, value in enumerate(distinct)}


def _links(must_link: Any, graph: Graph) -> np.ndarray:
    """Return pairs of nodes that share a block."""
    pairs = []
    for group in must_link or ():
        if isinstance(group, str) or not isinstance(group, Iterable):
            raise InputError(
                f"`must_link` has {group!r}, which is not a group of nodes",
                remedy="give a list of pairs or groups of node ids",
            )
        nodes = _found(list(group), graph, "must_link")
        pairs.append(np.stack([nodes[:-1], nodes[1:]], axis=1))
    return np.concatenate(pairs) if pairs else np.zeros((0, 2), np.int64)


def _tied(
    graph: Graph,
    held: np.ndarray,
    links: np.ndarray,
    categories: np.ndarray,
    names: list[Any],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ties of the nodes, and the categories with those of the nodes tied to them."""
    n = graph.n_nodes
    if len(held):  # nodes that keep the same block are tied to each other
        order = np.flatnonzero(held >= 0)
        order = order[np.argsort(held[order], kind="stable")]
        same = held[order[:-1]] == held[order[1:]]
        links = np.concatenate([links, np.stack([order[:-1], order[1:]], axis=1)[same]])
    matrix = scipy_sparse.coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(n, n))
    group = scipy_sparse.csgraph.connected_components(matrix, directed=False)[1]
    block = _only_value(graph, group, held, "keep the different blocks", names)
    if len(categories):
        kind = _only_value(graph, group, categories, "are of different categories", None)
        categories = np.where(kind[group] >= 0, kind[group], categories).astype(np.int32)
    several = np.bincount(group)[group] > 1
    ties = np.where(several, group + 1, 0)
    return np.where(block[group] >= 0, -1 - block[group], ties).astype(np.int32), categories


def _only_value(
    graph: Graph, group: np.ndarray, values: np.ndarray, problem: str, names: list[Any] | None
) -> np.ndarray:
    """Return the value of each group of nodes, -1 if it has none; an error if it has two."""
    found = np.full(int(group.max(initial=-1)) + 1, -1, np.int64)
    for node in np.flatnonzero(values >= 0).tolist() if len(values) else ():
        g = group[node]
        if found[g] >= 0 and found[g] != values[node]:
            other = next(v for v in np.flatnonzero(group == g) if values[v] == found[g])
            which = ""
            if names is not None:
                which = f" {names[int(found[g])]} and {names[int(values[node])]}"
            raise InputError(
                f"the constraints contradict each other: nodes {graph.ids[other]} and "
                f"{graph.ids[node]} must share a block, but {problem}{which}",
                remedy="leave out one of the constraints",
            )
        found[g] = values[node]
    return found


def _placed(graph: Graph, known: np.ndarray) -> np.ndarray:
    """Return labels with every new node in the block that most of its neighbours are in.

    Nodes that no path leads to from a known one are in the largest block."""
    labels = known.copy()
    source, target = graph.edges()
    ends = np.concatenate([source, target]), np.concatenate([target, source])
    while (labels < 0).any():
        useful = (labels[ends[0]] < 0) & (labels[ends[1]] >= 0)
        pairs = np.stack([ends[0][useful], labels[ends[1][useful]]])
        if not pairs.size:
            labels[labels < 0] = np.bincount(known[known >= 0]).argmax()
            break
        seen, counts = np.unique(pairs, axis=1, return_counts=True)
        order = np.argsort(counts, kind="stable")
        labels[seen[0, order]] = seen[1, order]
    return labels

"""Reconnect components: those that rewiring split off the largest one, and the parts of a block."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from coterie.anonymize.draw.wiring import Wired
from coterie.kernels.anonymize.wiring import WiringCells, count_in_cell, has_room
from coterie.kernels.graphs.pairs import rows_from_pairs
from coterie.kernels.graphs.triangles import edge_triangles

_ROUNDS = 12

# As plain Python: these are a few comparisons, for which nothing has to be compiled or loaded
_has_room, _count_in_cell = has_room.py_func, count_in_cell.py_func


def reconnect(
    edges: Wired, block: np.ndarray, cells: WiringCells, share: float, rng: Generator
) -> Wired:
    """Swap edges until the largest component contains `share` of the nodes.

    A swap replaces (a, b), (c, d) by (a, d), (c, b), with (a, b) in a small component, (c, d) in
    the largest and b, d in one block. Degrees and edges per block pair do not change, and no edge
    can appear twice, because the ends come from two components. The swap connects the two if one
    of the edges lies on a cycle, so one of them is always outside a spanning forest.
    """
    n = len(block)
    source, target = edges.source.copy(), edges.target.copy()
    for _ in range(_ROUNDS):
        component, size, largest = _components(source, target, n)
        wanted = int(share * n) - int(size[largest])
        if wanted <= 0:
            break
        turned = rng.random(len(source)) < 0.5  # b and d may be either end of their edge
        source, target = np.where(turned, target, source), np.where(turned, source, target)
        removable = ~_in_spanning_forest(source, target, n)
        inside = component[source] == largest
        small = _one_per_component(
            rng.permutation(np.flatnonzero(~inside)), component[source], removable
        )
        large = rng.permutation(np.flatnonzero(inside))
        joined = 0
        for one, other in _partners(small, large, removable, target, block):
            if not _swap(source, target, cells, one, other):
                continue
            joined += int(size[component[source[one]]])
            if joined >= wanted:
                break
    return Wired(source, target, edges.given_up)


def reconnect_within_blocks(
    edges: Wired, block: np.ndarray, cells: WiringCells, rng: Generator
) -> Wired:
    """Swap edges inside blocks until the edges inside each block connect it, if that is possible.

    In a sparse network the ring of a block falls into several parts. Whoever looks for communities
    in the release would find these parts, which stand for nobody: their members are random members
    of the block. The swaps keep the number of neighbours that everybody has in each block. One of
    the two edges lies on a cycle of its part; of those possible, edges in few triangles are used.
    """
    n = len(block)
    source, target = edges.source.copy(), edges.target.copy()
    inner = np.flatnonzero(block[source] == block[target])
    for _ in range(_ROUNDS):
        s, t = source[inner], target[inner]
        turned = rng.random(len(s)) < 0.5
        s, t = np.where(turned, t, s), np.where(turned, s, t)
        component, size, _ = _components(s, t, n)
        largest = _largest_of_blocks(component, size, block)
        inside = largest[component[s]]
        # Blocks that are connected already take no part
        open_block = np.zeros(int(block.max(initial=0)) + 1, bool)
        open_block[block[s[~inside]]] = True
        used = np.flatnonzero(open_block[block[s]])
        if not len(used):
            break
        removable, cost = np.zeros(len(s), bool), np.zeros(len(s))
        cost[used] = edge_triangles(*rows_from_pairs(s[used], t[used], n), s[used], t[used])
        cost[used] += rng.random(len(used))  # random among equal ones
        removable[used] = ~_in_spanning_forest(s[used], t[used], n, prefer=-cost[used])
        swapped = False
        for one, other in _cheapest_pairs(used, component[s], inside, removable, cost, block[s]):
            swapped = _swap(s, t, cells, one, other) or swapped
        source[inner], target[inner] = s, t
        if not swapped:
            break
    return Wired(source, target, edges.given_up)


def _swap(source: np.ndarray, target: np.ndarray, cells: WiringCells, one: int, other: int) -> bool:
    """Exchange the targets of two edges, if the cells have room; return whether it was done."""
    a, b, c, d = source[one], target[one], source[other], target[other]
    if not (_has_room(cells, a, d) and _has_room(cells, c, b)):
        return False
    for u, v, change in ((a, b, -1), (c, d, -1), (a, d, 1), (c, b, 1)):
        _count_in_cell(cells, u, v, change)
    target[one], target[other] = d, b
    return True


def _largest_of_blocks(component: np.ndarray, size: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Return whether each component (inside a block) is the largest of its block."""
    of = np.zeros(len(size), np.int64)
    of[component] = block
    order = np.lexsort((size, of))
    last = np.flatnonzero(np.diff(of[order], append=-1))
    largest = np.zeros(len(size), bool)
    largest[order[last]] = True
    return largest


def _cheapest_pairs(
    used: np.ndarray,
    component: np.ndarray,
    inside: np.ndarray,
    removable: np.ndarray,
    cost: np.ndarray,
    block: np.ndarray,
) -> list[tuple[int, int]]:
    """Pair one edge of each small component with an edge of the largest of its block.

    One edge of a pair is removable. Each edge is used once. All arrays are per edge; `used` are
    the edges to choose from.
    """
    by_cost = used[np.argsort(cost[used], kind="stable")]

    def cheapest(edges: np.ndarray) -> dict[int, int]:
        where, first = np.unique(component[edges], return_index=True)
        return dict(zip(where.tolist(), edges[first].tolist(), strict=True))

    outside = by_cost[~inside[by_cost]]
    any_edge, removable_edge = cheapest(outside), cheapest(outside[removable[outside]])
    waiting: dict[tuple[int, bool], list[int]] = {}
    for edge in by_cost[inside[by_cost]][::-1].tolist():  # the cheapest is taken from the end
        waiting.setdefault((int(block[edge]), bool(removable[edge])), []).append(edge)
    pairs = []
    for part, edge in any_edge.items():
        options = []
        for here, is_removable in ((edge, True), (removable_edge.get(part), False)):
            there = waiting.get((int(block[edge]), is_removable))
            if here is not None and there:
                options.append((cost[here] + cost[there[-1]], here, there))
        if options:
            _, here, there = min(options, key=lambda option: option[0])
            pairs.append((here, there.pop()))
    return pairs


def _components(
    source: np.ndarray, target: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return (component of each node, size of each component, number of the largest)."""
    ones = np.ones(len(source), np.int8)
    component = connected_components(coo_array((ones, (source, target)), shape=(n, n)), False)[1]
    size = np.bincount(component)
    return component, size, int(size.argmax())


def _in_spanning_forest(
    source: np.ndarray, target: np.ndarray, n: int, prefer: np.ndarray | None = None
) -> np.ndarray:
    """Return whether each edge is in a spanning forest; all other edges can be removed.

    Edges with a small value of `prefer` are in the forest rather than others (default: the first).
    """
    order = np.arange(len(source)) if prefer is None else np.argsort(prefer, kind="stable")
    number = np.empty(len(source), np.int64)
    number[order] = np.arange(1, len(source) + 1)  # weights without ties
    tree = minimum_spanning_tree(coo_array((number, (source, target)), shape=(n, n)))
    held = np.zeros(len(source), bool)
    held[order[np.rint(tree.data).astype(np.int64) - 1]] = True
    return held


def _one_per_component(
    outside: np.ndarray, component: np.ndarray, removable: np.ndarray
) -> np.ndarray:
    """Return one edge of each small component, a removable one if there is one."""
    ordered = outside[np.argsort(~removable[outside], kind="stable")]
    return np.asarray(ordered[np.unique(component[ordered], return_index=True)[1]])


def _partners(
    few: np.ndarray, pool: np.ndarray, removable: np.ndarray, target: np.ndarray, block: np.ndarray
) -> list[tuple[int, int]]:
    """Pair each edge of `few` with an edge of `pool` that has its target in the same block.

    Each edge is used once; one edge of a pair is removable."""
    waiting: dict[tuple[int, bool], list[int]] = {}
    needed = np.unique(block[target[few]])
    for edge in pool[np.isin(block[target[pool]], needed)].tolist():
        waiting.setdefault((int(block[target[edge]]), bool(removable[edge])), []).append(edge)
    pairs = []
    for edge in few.tolist():
        for is_removable in (False, True) if removable[edge] else (True,):
            there = waiting.get((int(block[target[edge]]), is_removable))
            if there:
                pairs.append((edge, there.pop()))
                break
    return pairs

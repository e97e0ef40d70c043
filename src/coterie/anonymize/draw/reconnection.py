"""Reconnect components that rewiring split off, until the largest has its original size."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from coterie.anonymize.draw.wiring import Wired
from coterie.kernels.anonymize.wiring import WiringCells, count_in_cell, has_room

_ROUNDS = 12


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
            a, b, c, d = source[one], target[one], source[other], target[other]
            if not (has_room(cells, a, d) and has_room(cells, c, b)):
                continue
            for u, v, change in ((a, b, -1), (c, d, -1), (a, d, 1), (c, b, 1)):
                count_in_cell(cells, u, v, change)
            target[one], target[other] = d, b
            joined += int(size[component[a]])
            if joined >= wanted:
                break
    return Wired(source, target, edges.given_up)


def _components(
    source: np.ndarray, target: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return (component of each node, size of each component, number of the largest)."""
    ones = np.ones(len(source), np.int8)
    component = connected_components(coo_array((ones, (source, target)), shape=(n, n)), False)[1]
    size = np.bincount(component)
    return component, size, int(size.argmax())


def _in_spanning_forest(source: np.ndarray, target: np.ndarray, n: int) -> np.ndarray:
    """Return whether each edge is in a spanning forest; all other edges can be removed."""
    number = np.arange(1, len(source) + 1)  # the weights are the edge numbers, so there are no ties
    tree = minimum_spanning_tree(coo_array((number, (source, target)), shape=(n, n)))
    held = np.zeros(len(source), bool)
    held[np.rint(tree.data).astype(np.int64) - 1] = True
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

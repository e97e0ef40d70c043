"""Change classes until two limits hold: no cell is too dense, and no hub stands alone.

The cheapest repair is tried first. Merging two classes of a block costs little: their members
keep their block. A block that is one class and still too dense gets a few people of other blocks,
which spreads its edges over more pairs and keeps the block. Only if that is not possible are two
blocks merged, those for which the degree-corrected entropy rises least.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from coterie.anonymize.draw.classes import (
    BIN_FACTOR,
    ClassCells,
    Classes,
    block_edges,
    block_matrix,
    count_cells,
    divide_by_degree,
    entropy_of_merging,
    in_largest_component,
)
from coterie.data import Graph
from coterie.models.hard.label_tools import renumber

SPREAD = 1.2  # what is learned about a largest degree must be wrong by 20 % or fit several people
_MOST_ADDED = 0.5  # a block grows by at most this share before it is merged instead
# People who are added may lose this share of the edges of the cell; otherwise blocks are merged.
_MOST_LOST = 0.1
_PARTNER_ENDS = 0.5  # a core is merged with a block of at least this share of its block's edge ends


def limit_cells(
    graph: Graph,
    classes: Classes,
    limit: float,
    min_size: int,
    *,
    by_degree: bool = True,
    core_share: float = np.inf,
) -> Classes:
    """Change classes until no cell is too dense and no class consists of one hub and others.

    A cell is too dense if the share of its pairs that are edges of the original, or the
    probability of an edge in a draw, is `limit` or more. With `by_degree=False` every block is one
    class, and hubs do not matter because a draw does not use degrees. With `core_share`, the
    best-connected people of a block get further people too, if they have at least this share of
    all edges and are too dense (`dense_cores`), as far as people of similar degree are found. The
    result may still exceed the limit if a single class is left (the graph is nearly complete); the
    policy then refuses the release.
    """
    repair = _Repair(graph, classes, limit, min_size, by_degree, core_share)
    while repair.round():
        pass
    return repair.classes


def classes_with_lone_hub(degrees: np.ndarray, classes: Classes, min_size: int) -> np.ndarray:
    """Return the classes (bool[classes]) whose largest degree x follows from the class's mean.

    This is so if the other degrees of the class exceed the next lower degree of the block by less
    than 0.2 x in total, unless at least `min_size` people of the block have about degree x.

    >>> one = np.zeros(20, np.int32)
    >>> classes_with_lone_hub(np.r_[np.ones(19, int), 90], Classes(one, one), 10)
    array([ True])
    """
    order = np.lexsort((degrees, classes.block))
    width = int(degrees.max(initial=0)) + 1
    keys = classes.block[order].astype(np.int64) * width + degrees[order]
    sizes, c = classes.sizes, classes.n_classes
    total = np.bincount(classes.label, degrees, c)
    largest, smallest = np.zeros(c, np.int64), np.full(c, width, np.int64)
    np.maximum.at(largest, classes.label, degrees)
    np.minimum.at(smallest, classes.label, degrees)
    base = classes.block_of.astype(np.int64) * width
    # The next lower degree of the block; for the lowest class its own smallest degree.
    at = np.searchsorted(keys, base + smallest) - 1
    lower = np.where((at >= 0) & (keys[at] >= base), keys[at] - base, smallest)
    excess = total - largest - (sizes - 1) * lower
    low = np.ceil(largest / SPREAD - 1e-9).astype(np.int64)
    high = np.minimum(np.floor(largest * SPREAD + 1e-9).astype(np.int64), width - 1)
    near = np.searchsorted(keys, base + high, "right") - np.searchsorted(keys, base + low)
    return np.asarray((excess < (SPREAD - 1) * largest) & (near < min_size))


def dense_cores(
    source: np.ndarray,
    target: np.ndarray,
    degrees: np.ndarray,
    block: np.ndarray,
    limit: float,
    min_size: int,
    fewest: float,
) -> list[np.ndarray]:
    """Return the best-connected people of each block, if `limit` of their pairs are connected.

    Of the sets of at least `min_size` people of highest degree of a block with at least `fewest`
    edges, the one with the most edges above the limit is returned. Somebody who knows exact degrees
    knows who they are.
    """
    n = len(degrees)
    order = np.lexsort((-degrees, block))
    sizes = np.bincount(block)
    start = np.cumsum(sizes) - sizes
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    inner = block[source] == block[target]
    # An edge belongs to all sets that contain its end with the lower degree.
    lower_end = np.maximum(place[source[inner]], place[target[inner]])
    until = np.cumsum(np.bincount(lower_end, minlength=n))
    edges = until - np.repeat(np.r_[0, until][start], sizes)
    people = np.arange(n) - np.repeat(start, sizes) + 1
    large = (people >= min_size) & (edges >= fewest)
    above = np.where(large, edges - limit * people * (people - 1) / 2, -1.0)
    found = []
    for first, size in zip(start, sizes, strict=True):
        best = int(above[first : first + size].argmax())
        if above[first + best] >= 0 and best > 0:
            found.append(order[first : first + best + 1])
    return found


def merge_dense_cores(
    graph: Graph, block: np.ndarray, limit: float, min_size: int, core_share: float
) -> np.ndarray:
    """Merge each block that has a dense core with other blocks; return the blocks.

    Cores as in `dense_cores`, with at least `core_share` of all edges. The others have at least
    half as many edge ends, so that the degrees do not show any more who knows whom in the core. Of
    the blocks that suffice alone, the one for which the degree-corrected entropy rises least is
    taken; if there is none, the one with the most edge ends, and so on. People outside the largest
    component get partners that are outside too, if possible.
    """
    block = renumber(block)
    cores = dense_cores(
        *graph.edges(), graph.degrees, block, limit, min_size, core_share * graph.n_edges
    )
    edges = block_matrix(graph, block).astype(np.float64)
    stubs = edges.sum(1)
    outside = np.bincount(block, ~in_largest_component(graph)) * 2 > np.bincount(block)
    target = np.arange(len(stubs))
    free = np.ones(len(stubs), bool)  # blocks that were not merged
    for r in sorted(int(block[core[0]]) for core in cores):
        if not free[r]:
            continue
        free[r] = False
        cost = entropy_of_merging(edges, r)
        needed = _PARTNER_ENDS * stubs[r]
        while needed > 0 and (free & (stubs > 0)).any():
            same_side = free & (outside == outside[r]) & (stubs > 0)
            possible = same_side if same_side.any() else free
            enough = possible & (stubs >= needed)
            if enough.any():
                s = int(np.where(enough, cost, np.inf).argmin())
            else:
                s = int(np.where(possible, stubs, -1.0).argmax())
            target[s] = r
            free[s] = False
            needed -= stubs[s]
    return renumber(target[block])


class _Repair:
    """The classes between two rounds of repairs.

    Every round leaves fewer blocks, or more people who were moved once, or fewer classes of the
    same blocks, so the rounds end.
    """

    def __init__(
        self,
        graph: Graph,
        classes: Classes,
        limit: float,
        min_size: int,
        by_degree: bool,
        core_share: float,
    ) -> None:
        self.fewest = core_share * graph.n_edges  # edges of a core that is repaired
        self.graph, self.limit, self.min_size, self.by_degree = graph, limit, min_size, by_degree
        self.source, self.target = graph.edges()
        self.classes = _in_order(graph.degrees, classes.block, classes.label)
        self.moved = np.zeros(graph.n_nodes, bool)  # everybody changes the block at most once

    def round(self) -> bool:
        """Repair each block at most once; return False if nothing is left to do."""
        classes, degrees = self.classes, self.graph.degrees
        cells = count_cells(self.source, self.target, degrees, classes)
        worst = np.maximum(cells.probability, cells.density)
        dense = np.flatnonzero(worst >= self.limit)
        dense = dense[np.argsort(-worst[dense], kind="stable")]
        alone = np.flatnonzero(
            classes_with_lone_hub(degrees, classes, self.min_size) & self.by_degree
        )
        cores = self._cores()
        if not len(dense) and not len(alone) and not cores:
            return False
        state = _Round(self, cells)
        for first, second in zip(cells.first[dense], cells.second[dense], strict=True):
            state.repair_cell(int(first), int(second))
        for single in alone:
            state.repair_hub(int(single))
        for core in cores:
            state.repair_core(core)
        if not state.changed:
            return False
        self.classes = _merge_small_classes(
            _in_order(degrees, state.block, state.label), self.min_size
        )
        return True

    def _cores(self) -> list[np.ndarray]:
        if self.fewest > self.graph.n_edges:
            return []
        return dense_cores(
            self.source,
            self.target,
            self.graph.degrees,
            self.classes.block,
            self.limit,
            self.min_size,
            self.fewest,
        )


class _Round:
    """One round: repairs of disjoint blocks, all decided from the same statistics."""

    def __init__(self, repair: _Repair, cells: ClassCells) -> None:
        self.base, self.old = repair, repair.classes
        self.block, self.label = self.old.block.copy(), self.old.label.copy()
        self.left = np.bincount(self.block)  # people of each block who have not moved
        self.busy = np.zeros(self.old.n_blocks, bool)
        self.first = np.searchsorted(self.old.block_of, np.arange(self.old.n_blocks + 1))
        self.edges = block_edges(self.old, cells)
        self._inner: np.ndarray | None = None
        self.changed = False

    def repair_cell(self, a: int, b: int) -> None:
        """Make a cell that is too dense less dense."""
        r, s = (int(self.old.block_of[c]) for c in (a, b))
        if self.busy[r] or self.busy[s]:
            return
        for c in sorted({a, b}, key=lambda c: self.old.sizes[c]):
            if self._merge_class(c):
                return
        small, other = sorted((r, s), key=lambda x: self.old.sizes[self.first[x]])
        if not self._add_people(small, other):
            self._merge_block(small, other)

    def repair_hub(self, c: int) -> None:
        """Merge a class of one hub and others, or its block if it has no other class."""
        r = int(self.old.block_of[c])
        if not self.busy[r] and not self._merge_class(c):
            self._merge_block(r, r)

    def repair_core(self, core: np.ndarray) -> None:
        """Add people of similar degree to the best-connected people of a block, if possible."""
        r = int(self.old.block[core[0]])
        if not self.busy[r] and self._add_people(r, r, core):
            self._divide(np.flatnonzero(self.block == r))

    def _merge_class(self, c: int) -> bool:
        """Merge a class with the next lower one of its block, the lowest with the next higher."""
        r = int(self.old.block_of[c])
        first, end = self.first[r], self.first[r + 1]
        if end - first == 1:
            return False
        self.label[self.label == c] = c - 1 if c > first else c + 1
        self.busy[r] = self.changed = True
        return True

    def _add_people(self, r: int, s: int, core: np.ndarray | None = None) -> bool:
        """Move people of other blocks to block r until its cell with block s is below the limit.

        r and s consist of one class each; if a core of block r is given, its density is lowered
        instead. Those who lose the fewest edges inside their block go first, people of a degree as
        usual in block r (or in the core) before others. Nobody moves if that would lose too many
        edges inside blocks: of a network of cliques, every tenth person would leave the own one.
        """
        graph, limit = self.base.graph, self.base.limit
        everybody = np.flatnonzero(self.block == r)
        members = everybody if core is None else core
        inside = np.zeros(graph.n_nodes, bool)
        inside[members if r == s else self.block == s] = True
        size, partners = len(members), int(np.count_nonzero(inside))
        edges = np.count_nonzero(inside[_neighbours(graph, members)]) / (2 if r == s else 1)
        links = np.bincount(_neighbours(graph, everybody), minlength=graph.n_nodes)
        free = ~(self.base.moved | self.busy[self.block] | (self.block == r) | (self.block == s))
        most = int(_MOST_ADDED * size) + 1
        lose = _MOST_LOST * edges if core is None else np.inf
        lost = 0.0
        added: list[int] = []
        for v in self._candidates(free, links, members, most, others=core is None):
            if self.left[self.block[v]] <= self.base.min_size:
                continue
            more = np.count_nonzero(inside[graph.indices[graph.indptr[v] : graph.indptr[v + 1]]])
            if more >= limit * (size if r == s else partners):
                continue  # would not lower the density
            added.append(v)
            lost += float(self._inner_edges()[v] - links[v])
            self.left[self.block[v]] -= 1
            inside[v] = r == s
            size += 1
            edges += more
            if edges < limit * (size * (size - 1) / 2 if r == s else size * partners):
                break
            if len(added) == most or lost > lose:
                break
        dense = edges >= limit * (size * (size - 1) / 2 if r == s else size * partners)
        if dense or lost > lose:
            np.add.at(self.left, self.block[added], 1)
            return False
        self.busy[r] = self.busy[s] = self.changed = True
        self.base.moved[added] = True
        self.block[added] = r
        self.label[added] = self.first[r]
        return True

    def _candidates(
        self,
        free: np.ndarray,
        links: np.ndarray,
        members: np.ndarray,
        most: int,
        *,
        others: bool,
    ) -> Iterator[int]:
        """Yield people who could join these members, best first.

        First come neighbours of the block with a degree as usual among the members, then anybody
        with such a degree, then (if allowed) others.
        """
        degrees = self.base.graph.degrees
        typical = degrees[members].mean()
        usual = (degrees * BIN_FACTOR >= typical) & (degrees <= BIN_FACTOR * typical)
        lost = self._inner_edges() - links
        for kind in (usual & (links > 0), usual & (links == 0), ~usual)[: 3 if others else 2]:
            people = np.flatnonzero(free & kind)
            if len(people) > 2 * most:
                people = people[np.argpartition(lost[people], 2 * most)[: 2 * most]]
            yield from people[np.lexsort((people, lost[people]))].tolist()

    def _inner_edges(self) -> np.ndarray:
        """Return everybody's edges inside their block, at the start of the round."""
        if self._inner is None:
            source, target = self.base.source, self.base.target
            same = self.old.block[source] == self.old.block[target]
            ends = np.concatenate((source[same], target[same]))
            self._inner = np.bincount(ends, minlength=self.base.graph.n_nodes)
        return self._inner

    def _merge_block(self, r: int, s: int) -> None:
        """Merge blocks r and s; if they are the same, r with the block that costs least."""
        if r == s:
            cost = np.where(self.busy, np.inf, entropy_of_merging(self.edges, r))
            s = int(cost.argmin())
            if not np.isfinite(cost[s]):
                return
        merged = np.flatnonzero((self.block == r) | (self.block == s))
        self.busy[r] = self.busy[s] = self.changed = True
        self.block[merged] = r
        self.label[merged] = self.first[r]
        if self.base.by_degree:
            self._divide(merged)

    def _divide(self, block: np.ndarray) -> None:
        """Divide the people of a block into classes, with new numbers."""
        parts = divide_by_degree(
            self.base.graph, np.zeros(len(block), np.int32), self.base.min_size, BIN_FACTOR, block
        )
        self.label[block] = parts + int(self.label.max()) + 1


def _merge_small_classes(classes: Classes, min_size: int) -> Classes:
    """Merge classes that lost too many people with the next lower class of their block, or the
    next higher one; classes must be in order."""
    label, of_block = classes.label, classes.block_of
    sizes, number = classes.sizes.copy(), np.arange(classes.n_classes, dtype=np.int32)
    for c in np.flatnonzero(sizes < min_size):
        lower = c > 0 and of_block[c - 1] == of_block[c]
        if not lower and (c + 1 == len(sizes) or of_block[c + 1] != of_block[c]):
            continue  # the only class of its block
        other = c - 1 if lower else c + 1
        number[number == number[c]] = number[other]
        sizes[other] += sizes[c]
    return Classes(classes.block, renumber(number[label]))


def _neighbours(graph: Graph, nodes: np.ndarray) -> np.ndarray:
    """Return the neighbours of these nodes, one after the other."""
    if not len(nodes):
        return graph.indices[:0]
    return np.concatenate([graph.indices[graph.indptr[v] : graph.indptr[v + 1]] for v in nodes])


def _in_order(degrees: np.ndarray, block: np.ndarray, label: np.ndarray) -> Classes:
    """Renumber blocks and classes: classes by block, within a block by mean degree."""
    block, label = renumber(block), renumber(label)
    found = Classes(block, label)
    mean = np.bincount(label, degrees, found.n_classes) / np.maximum(found.sizes, 1)
    order = np.lexsort((mean, found.block_of))
    number = np.empty(found.n_classes, np.int32)
    number[order] = np.arange(found.n_classes, dtype=np.int32)
    return Classes(block, number[label])

"""Directions of edges: mutual, or one way, drawn from statistics of classes and block pairs.

Every edge of the skeleton is mutual, forward or backward. The model contains, of each class, the
shares of the three as its members see them (mutual, out, in) and how much members differ, and of
each pair of blocks how many edges are mutual and how many point each way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array

from coterie.anonymize.draw.classes import Classes
from coterie.base.randomness import stream_keys
from coterie.data import Graph
from coterie.kernels.anonymize.edge_directions import BACKWARD, FORWARD, MUTUAL, direct_edges

_ROUNDS = 200
_PRECISIONS = 2.0 ** np.arange(-2, 11)  # how alike members of a class may be, from least to most


@dataclass(frozen=True, eq=False)
class DirectionModel:
    """Everything that a draw uses of the original directions."""

    classes: Classes
    shares: np.ndarray  # float64[classes, 3]: mutual, out, in
    precision: np.ndarray  # float64[classes]: one of a few values; high if members are alike
    cell_shares: np.ndarray  # float64[blocks, blocks, 3]: mutual, forward, backward

    @classmethod
    def fit(cls, graph: Graph, classes: Classes, min_size: int) -> DirectionModel:
        """Collect the statistics of classes and block pairs of a directed graph."""
        source, target, direction = _skeleton_directions(graph)
        seen = node_directions(source, target, direction, graph.n_nodes)
        sums = np.zeros((classes.n_classes, 3))
        np.add.at(sums, classes.label, seen)
        total = sums.sum(1, keepdims=True)
        shares = np.divide(sums, total, out=np.full_like(sums, 1 / 3), where=total > 0)
        return cls(
            classes,
            shares,
            _precisions(seen, classes, shares),
            _cell_shares(classes, source, target, direction, min_size),
        )

    def draw(self, skeleton: Graph, rng: Generator) -> Graph:
        """Give every edge of a drawn skeleton a direction."""
        source, target = skeleton.edges()
        n, label, block = skeleton.n_nodes, self.classes.label, self.classes.block
        alpha = self.shares[label] * self.precision[label][:, None]
        weight = rng.standard_gamma(np.maximum(alpha, 1e-9))
        whole = weight.sum(1, keepdims=True)
        weight = np.where(whole > 0, weight / np.maximum(whole, 1e-300), self.shares[label])
        want = rng.multinomial(skeleton.degrees, weight / weight.sum(1, keepdims=True))
        _balance(want, rng)
        flip = block[source] > block[target]
        low = np.where(flip, block[target], block[source]).astype(np.int64)
        high = np.where(flip, block[source], block[target]).astype(np.int64)
        pairs, cell = np.unique(low * self.classes.n_blocks + high, return_inverse=True)
        shares = self.cell_shares[pairs // self.classes.n_blocks, pairs % self.classes.n_blocks]
        edges = np.bincount(cell, minlength=len(pairs))
        cell_want = rng.multinomial(edges, shares)
        u = rng.random(len(source))
        bounds = np.cumsum(shares, axis=1)[cell]
        seen = (u[:, None] >= bounds[:, :2]).sum(1)
        direction = np.where(flip & (seen != MUTUAL), 3 - seen, seen).astype(np.int64)
        direct_edges(
            source.astype(np.int64),
            target.astype(np.int64),
            cell.ravel().astype(np.int64),
            flip,
            direction,
            want.astype(np.int64),
            cell_want.astype(np.int64),
            _ROUNDS,
            stream_keys(rng, 1)[0],
        )
        out, into = direction != BACKWARD, direction != FORWARD
        return Graph.from_edges(
            np.concatenate([source[out], target[into]]),
            np.concatenate([target[out], source[into]]),
            n_nodes=n,
            directed=True,
        )


def direction_measures(graph: Graph) -> dict[str, float]:
    """Return reciprocity and directed clustering, by the keys of DIRECTION_MEASURES."""
    return {"reciprocity": reciprocity(graph), **directed_clustering(graph)}


def direction_distributions(graph: Graph) -> dict[str, np.ndarray]:
    """Return the degrees both ways, by the keys of DIRECTION_DISTANCES."""
    return {"out": graph.degrees, "in": in_degrees(graph)}


def in_degrees(graph: Graph) -> np.ndarray:
    """Return the number of edges that point to each node."""
    return np.bincount(graph.indices, minlength=graph.n_nodes)


def reciprocity(graph: Graph) -> float:
    """Return the share of the edges whose opposite edge exists.

    >>> reciprocity(Graph.from_edges([0, 1, 1], [1, 0, 2], directed=True)) == 2 / 3
    True
    """
    if not graph.n_edges:
        return 0.0
    rows = graph.csr
    return float(rows.astype(bool).multiply(rows.T.astype(bool)).sum() / graph.n_edges)


def directed_clustering(graph: Graph) -> dict[str, float]:
    """Return the mean local clustering of the four triangle types of Fagiolo (2007).

    A node without possible triangles of a type counts 0.
    """
    a = csr_array(
        (np.ones(len(graph.indices)), graph.indices, graph.indptr),
        shape=(graph.n_nodes, graph.n_nodes),
    )
    b = a.T.tocsr()
    out, into = graph.degrees.astype(float), in_degrees(graph).astype(float)
    both = np.asarray(a.multiply(b).sum(1)).ravel()
    crossing = out * into - both
    kinds = {
        "cycles": (_closed(a, a, b), crossing),
        "middlemen": (_closed(a, b, b), crossing),
        "two in": (_closed(b, a, b), into * (into - 1)),
        "two out": (_closed(a, a, a), out * (out - 1)),
    }
    return {
        name: float(
            np.divide(found, possible, out=np.zeros_like(possible), where=possible > 0).mean()
        )
        for name, (found, possible) in kinds.items()
    }


def _closed(first: csr_array, second: csr_array, closing: csr_array) -> np.ndarray:
    """Return per node i the walks i -first-> j -second-> k with i, k in `closing`."""
    return np.asarray((first @ second).multiply(closing).sum(1)).ravel()


def node_directions(
    source: np.ndarray, target: np.ndarray, direction: np.ndarray, n_nodes: int
) -> np.ndarray:
    """Return the mutual, outgoing and incoming edges of each node (int64[n, 3])."""
    seen = np.zeros((n_nodes, 3), np.int64)
    np.add.at(seen, (source, direction), 1)
    np.add.at(seen, (target, np.where(direction == MUTUAL, MUTUAL, 3 - direction)), 1)
    return seen


def _balance(want: np.ndarray, rng: Generator) -> None:
    """Turn edges at random, in place, until as many go out as come in."""
    surplus = int(want[:, 1].sum() - want[:, 2].sum())
    more, less = (1, 2) if surplus > 0 else (2, 1)
    ends = np.repeat(np.arange(len(want)), want[:, more])
    turned = rng.choice(ends, abs(surplus) // 2, replace=False) if surplus else ends[:0]
    count = np.bincount(turned, minlength=len(want))
    want[:, more] -= count
    want[:, less] += count


def _skeleton_directions(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return every connected pair once, smaller number first, and its direction."""
    source, target = (ends.astype(np.int64) for ends in graph.edges())
    low, high = np.minimum(source, target), np.maximum(source, target)
    pairs, which = np.unique(low * graph.n_nodes + high, return_inverse=True)
    which = which.ravel()
    forward = np.bincount(which, source < target, len(pairs)) > 0
    backward = np.bincount(which, source > target, len(pairs)) > 0
    direction = np.where(forward & backward, MUTUAL, np.where(forward, FORWARD, BACKWARD))
    return pairs // graph.n_nodes, pairs % graph.n_nodes, direction


def _precisions(seen: np.ndarray, classes: Classes, shares: np.ndarray) -> np.ndarray:
    """Return how alike the members of each class are, as one of a few values.

    The shares of members vary as if drawn from a Dirichlet distribution. Its precision follows
    from the excess of their variance over that of a multinomial draw.
    """
    degree = seen.sum(1)
    label, k = classes.label, classes.n_classes
    expected = shares[label] * degree[:, None]
    square = np.bincount(label, ((seen - expected) ** 2).sum(1), k)
    multinomial = (shares * (1 - shares)).sum(1)[label] * degree
    base = np.bincount(label, multinomial, k)
    most = np.bincount(label, multinomial * degree, k)
    # variance = base * (degree + precision) / (1 + precision), summed over the members
    found = np.divide(most - square, square - base, out=np.full(k, np.inf), where=(square > base))
    found = np.clip(found, _PRECISIONS[0], _PRECISIONS[-1])
    nearest = np.abs(np.log2(_PRECISIONS)[None, :] - np.log2(found)[:, None]).argmin(1)
    return np.asarray(_PRECISIONS[nearest])


def _cell_shares(
    classes: Classes,
    source: np.ndarray,
    target: np.ndarray,
    direction: np.ndarray,
    min_size: int,
) -> np.ndarray:
    """Return the shares of mutual, forward and backward edges between blocks r <= s.

    To the edges of each pair, `min_size` edges in the proportions of the whole graph are added, so
    that few edges do not show their directions.
    """
    k = classes.n_blocks
    counts = np.zeros((k, k, 3))
    r, s = classes.block[source], classes.block[target]
    flip = r > s
    seen = np.where(flip & (direction != MUTUAL), 3 - direction, direction)
    np.add.at(counts, (np.where(flip, s, r), np.where(flip, r, s), seen), 1)
    inside = np.arange(k)
    one_way = counts[inside, inside, 1:].sum(1) / 2  # inside a block there is no direction
    counts[inside, inside, 1] = counts[inside, inside, 2] = one_way
    total = counts.sum(2, keepdims=True)
    overall = counts.sum((0, 1)) / max(counts.sum(), 1)
    return np.asarray((counts + min_size * overall) / (total + min_size))

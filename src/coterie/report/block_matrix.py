"""A block matrix in an order that shows its structure, merged into at most 40 × 40 cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_MOST_BLOCKS = 1000  # only the largest ones: ordering more costs more than it shows
MOST_CELLS = 40


class BlockMatrix(NamedTuple):
    """Edges and pairs between bins of blocks; `members[i]` are the blocks of bin i."""

    edges: np.ndarray
    pairs: np.ndarray
    members: list[np.ndarray]

    @property
    def density(self) -> np.ndarray:
        """Edges per pair of nodes."""
        return share(self.edges, self.pairs)

    @property
    def names(self) -> list[str]:
        """A label per bin: its first block, and how many more."""
        return [f"{m[0]}" if len(m) == 1 else f"{m[0]} +{len(m) - 1}" for m in self.members]


def share(edges: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Divide edges by pairs; 0 where there is no pair."""
    some = np.asarray(pairs) > 0
    return np.asarray(np.divide(edges, pairs, out=np.zeros(np.shape(edges)), where=some))


def pairs_between(sizes: np.ndarray) -> np.ndarray:
    """Count the pairs of nodes inside and between blocks of these sizes."""
    sizes = np.asarray(sizes, np.float64)
    pairs = np.outer(sizes, sizes)
    np.fill_diagonal(pairs, sizes * (sizes - 1) / 2)
    return pairs


def density_between(rows: np.ndarray, columns: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return edges per pair of nodes; `rows` and `columns` are the blocks of the ends of edges."""
    k = len(sizes)
    edges = np.bincount(rows * k + columns, minlength=k * k).reshape(k, k).astype(np.float64)
    edges = edges + edges.T
    np.fill_diagonal(edges, np.diag(edges) / 2)
    return share(edges, pairs_between(sizes))


def arrange(
    edges: np.ndarray, pairs: np.ndarray, sizes: np.ndarray, *, directed: bool = False
) -> BlockMatrix:
    """Order the blocks so that similar ones are neighbours, then merge neighbours to 40 bins.

    >>> m = arrange(np.eye(50), np.ones((50, 50)), np.ones(50))
    >>> m.edges.shape, float(m.edges.trace())
    ((40, 40), 50.0)
    """
    kept = np.argsort(-sizes, kind="stable")[:_MOST_BLOCKS]
    kept = kept[sizes[kept] > 0]
    edges = np.asarray(edges, np.float64)[np.ix_(kept, kept)]
    pairs = np.asarray(pairs, np.float64)[np.ix_(kept, kept)]
    order = similarity_order(share(edges, pairs))
    edges, pairs = edges[np.ix_(order, order)], pairs[np.ix_(order, order)]
    bins = np.array_split(np.arange(len(order)), max(1, min(len(order), MOST_CELLS)))
    starts = np.array([b[0] for b in bins if len(b)], int)
    members = [kept[order[b]] for b in bins if len(b)]
    return BlockMatrix(_merge(edges, starts, directed), _merge(pairs, starts, directed), members)


def _merge(values: np.ndarray, starts: np.ndarray, directed: bool) -> np.ndarray:
    """Sum over bins; a symmetric matrix has each pair of blocks twice, the diagonal once."""
    if not len(starts):
        return np.zeros((0, 0))
    once = values if directed else np.triu(values)
    summed = np.add.reduceat(np.add.reduceat(once, starts, axis=0), starts, axis=1)
    return summed if directed else summed + summed.T - np.diag(np.diag(summed))


def similarity_order(density: np.ndarray) -> np.ndarray:
    """Order blocks so that similar rows are neighbours (average linkage of log densities)."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    if len(density) < 3:
        return np.arange(len(density))
    smallest = density[density > 0].min() if (density > 0).any() else 1.0
    rows = np.log(np.maximum(density, smallest / 4))
    return np.asarray(leaves_list(linkage(rows, "average")))

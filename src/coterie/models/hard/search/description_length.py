"""The description length of a clustering in nats, which chooses the number of blocks.

The entropy S falls with every additional block, so it cannot choose their number. The description
length is the information needed to restore the data: the block of each element, the block matrix,
and the data given both. Each part is the logarithm of a number of equally likely possibilities
(the microcanonical form of the integrated likelihood, Peixoto), so there is nothing to tune:

    labels    log n + log C(n-1, k-1) + log n!/(n_1! … n_k!), per side
    matrix    log of the ways to distribute E edges over B cells, C(B+E-1, E)
    data      log C(D_ij, d_ij) per cell

Models without pairs replace the last two parts. Degree correction: the ways to wire the half-edges
of the blocks, and the degree sequence of each block. Ratings: log C(d+R-1, R-1) d!/(d_1! … d_R!)
per cell. Weights are distributed over the pairs of a cell one by one: log D^W / W! per cell.
"""

from __future__ import annotations

import math

import numpy as np

from coterie.base.special_functions import gammaln
from coterie.kernels.hard.cell_costs import BERNOULLI, PLAIN
from coterie.kernels.hard.sparse_rows import SparseRows
from coterie.kernels.hard.statistics import ONE_WAY, TWO_SETS, TWO_WAY
from coterie.models.hard.costs.block_objective import BlockObjective
from coterie.models.hard.costs.interface import Labels
from coterie.models.hard.search.agglomerate import rows_of


def description_length(
    objective: BlockObjective, labels: Labels, n_blocks: tuple[int, ...]
) -> float:
    """Return the description length in nats; labels 0..n_blocks-1 must all be in use.

    >>> from coterie.data import Graph
    >>> from coterie.models.hard.costs import simple
    >>> objective = simple(Graph.from_edges([0, 0, 1], [1, 2, 2], n_nodes=4))
    >>> one = description_length(objective, (np.zeros(4, np.int32),), (1,))
    >>> round(one - math.log(4), 6) == round(math.log(math.comb(6, 3)), 6)
    True
    """
    rows = rows_of(objective, labels, n_blocks, 0)
    total: float = sum(_labels(np.bincount(z)) for z in labels)
    if objective.model.layout == TWO_SETS:
        others = rows_of(objective, labels, n_blocks, 1).sizes
        if objective.model.kind == PLAIN:
            return total + objective.constant + _ratings(rows, len(objective.model.signs), others)
    else:
        others = rows.sizes
    r, slot = np.repeat(np.arange(len(rows.sizes)), np.diff(rows.indptr)), rows.slots
    layout, q = objective.model.layout, len(others)
    once = slice(None) if layout == TWO_SETS else (slot < q if layout == TWO_WAY else slot >= r)
    r, j, d = r[once], slot[once] % q, rows.values[once]
    inner = (r == j) & (layout != TWO_SETS)
    cells = n_blocks[0] * (n_blocks[0] + 1) // 2 if layout == ONE_WAY else n_blocks[0] * q
    total += float(log_multisets(cells, d.sum())) + objective.constant
    if objective.model.kind == PLAIN:
        return total + _wiring(d, inner, rows) + _degrees(objective, labels[0], rows)
    D = np.where(inner, rows.sizes[r] - 1.0, others[j]) * rows.sizes[r]
    if layout == ONE_WAY:
        D = np.where(inner, 0.5 * D, D)
    if objective.model.kind == BERNOULLI:
        return total + float(log_choose(D, d).sum())
    return total + float((d * np.log(D) - gammaln(d + 1)).sum())


def _labels(sizes: np.ndarray) -> float:
    """Return the length of the labels of one side."""
    n, k = sizes.sum(), len(sizes)
    ways = gammaln(n + 1) - gammaln(sizes + 1).sum() + log_choose(n - 1, k - 1)
    return float(ways) + math.log(n)


def _ratings(rows: SparseRows, channels: int, others: np.ndarray) -> float:
    """Return the length of ratings; the last channel counts all ratings, the others one level."""
    together = rows.slots >= (channels - 1) * len(others)
    d, each = rows.values[together], rows.values[~together]
    ways = gammaln(d + 1).sum() - gammaln(each + 1).sum()
    return float(ways + log_multisets(channels - 1, d).sum())


def _wiring(d: np.ndarray, inner: np.ndarray, rows: SparseRows) -> float:
    """Return the log of the number of ways to wire the half-edges of blocks with these cells."""
    within = (d * math.log(2) + gammaln(d + 1))[inner].sum()
    return float(gammaln(rows.total + 1).sum() - within - gammaln(d + 1)[~inner].sum())


def _degrees(objective: BlockObjective, labels: np.ndarray, rows: SparseRows) -> float:
    """Return the length of the degree sequences: how often each degree occurs, then which node has
    it, minus the orders of a node's own half-edges, which `_wiring` counts additionally."""
    degrees = np.diff(objective.sides[0].indptr)
    classes = labels * np.int64(degrees.max(initial=0) + 1) + degrees
    nodes_per_class = np.unique(classes, return_counts=True)[1]
    arrangements = gammaln(rows.sizes + 1).sum() - gammaln(nodes_per_class + 1).sum()
    degree_counts = _log_partitions(rows.total, rows.sizes).sum()
    return float(arrangements + degree_counts - gammaln(degrees + 1.0).sum())


def _log_partitions(total: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return the log of the number of partitions of `total` into at most `parts` numbers.

    The smaller of two approximations: Hardy and Ramanujan for many parts,
    C(total+parts-1, parts-1) / parts! for few."""
    total = np.maximum(total, 1.0)
    many = math.pi * np.sqrt(2 * total / 3) - np.log(4 * math.sqrt(3) * total)
    few = log_multisets(parts, total) - gammaln(parts + 1)
    ways: np.ndarray = np.maximum(np.minimum(many, np.maximum(few, 0.0)), 0.0)
    return ways


def log_multisets(kinds: np.ndarray | int, n: np.ndarray | float) -> np.ndarray:
    """Return the log of the number of ways to distribute n things over `kinds` cells."""
    return log_choose(np.asarray(n, np.float64) + kinds - 1, n)


def log_choose(n: np.ndarray | float, k: np.ndarray | float) -> np.ndarray:
    """Return log C(n, k)."""
    n, k = np.asarray(n, np.float64), np.asarray(k, np.float64)
    ways: np.ndarray = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return ways

"""The block of a new node with known edges, found by the change of the entropy.

The new node joins the block in which the entropy of the graph with it is lowest, exactly as the
search decides for a node that is in the graph. The change follows from the block matrix alone.
"""

from __future__ import annotations

import numpy as np

from coterie.base.errors import InputError
from coterie.models.hard.label_tools import x_log_x

_CLOSED_FORM = ("simple", "directed", "weighted", "degree-corrected")


def join_costs(
    objective: str,
    labels: np.ndarray,
    block_edges: np.ndarray,
    outgoing: tuple[np.ndarray, np.ndarray],
    incoming: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Return (float64, (k,)) the entropy with the new node in each block, up to a constant.

    `outgoing` and `incoming` are node numbers and weights of the edges; an undirected graph has
    outgoing ones only.
    """
    if objective not in _CLOSED_FORM:
        raise InputError(
            f"new nodes are not placed by the objective {objective!r}",
            remedy=f"use one of {', '.join(_CLOSED_FORM)}",
        )
    k = len(block_edges)
    sizes = np.bincount(labels, minlength=k).astype(np.float64)
    x = np.bincount(labels[outgoing[0]], outgoing[1], minlength=k)
    edges = block_edges.astype(np.float64)
    if objective == "degree-corrected":
        return _degree_corrected(edges, x)
    pairs = np.outer(sizes, sizes)
    own = np.arange(k)
    if objective == "directed":
        back = np.bincount(labels[incoming[0]], incoming[1], minlength=k)
        pairs[own, own] = sizes * (sizes - 1)
        row, column = edges + x, edges.T + back  # the node in block y: row y, and column y
        more = sizes[None, :] + np.zeros((k, 1))  # pairs that the node adds to cell (y, j)
        cost = _cell(row, pairs + more) - _cell(edges, pairs)
        other = _cell(column, pairs.T + more) - _cell(edges.T, pairs.T)
        inner = _cell(edges[own, own] + x + back, pairs[own, own] + 2 * sizes) - _cell(
            edges[own, own], pairs[own, own]
        )
        both = cost + other
        both[own, own] = inner
        return np.asarray(both.sum(1))
    pairs[own, own] = sizes * (sizes - 1) / 2
    cell = _poisson if objective == "weighted" else _cell
    return np.asarray((cell(edges + x, pairs + sizes) - cell(edges, pairs)).sum(1))


def _degree_corrected(edges: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the change of sum_r g(K_r) - (1/2) sum_rs g(e_rs), with e_rr twice the inner edges."""
    k = len(edges)
    own = np.arange(k)
    ends = edges + np.diag(np.diag(edges))
    degrees = ends.sum(1)
    total = x.sum()
    with_edges = degrees + x  # the neighbours have one more edge in any case
    change = x_log_x(with_edges + total) - x_log_x(with_edges)
    cells = x_log_x(ends + x) - x_log_x(ends)
    cells[own, own] = (x_log_x(ends[own, own] + 2 * x) - x_log_x(ends[own, own])) / 2
    return np.asarray(change - cells.sum(1))


def _cell(d: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the entropy of Bernoulli cells; parallel edges to a new node are not possible."""
    return np.asarray(x_log_x(pairs) - x_log_x(d) - x_log_x(np.maximum(pairs - d, 0)))


def _poisson(weight: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the entropy of Poisson cells without the constant of the weights."""
    rate = np.divide(weight, pairs, out=np.ones(weight.shape), where=(weight > 0) & (pairs > 0))
    return np.asarray(weight - weight * np.log(rate))

"""Tables that scoring needs, made from the block statistics once per iteration.

This is Algorithm 6 of Prost & Yoon with its misprints corrected. Used by
`models/hard/costs/block_objective.py`; `scores.py` and `fixed_scores.py` read the tables.

A node v with x_s edges to slot s that joins block y changes the entropy by

    ins(y) = join[y] + sum over its slots s of row(s, x_s)[y]
    row(s, x)[y] = sign_s (g(d) - g(d + x)) + x (slope[s, y] - tail(x * bend[s, y]))

with d = counts[s, y]. join[y] is the cost of an isolated node there (the paper's A_y), slope =
1 + log(N - d) and bend = 1 / (N - d) with N = (n_y + 1) n_j, so a row needs a table of g and no
logarithm. Poisson cells have slope = 1 + log N, bend = 0; cells that are sums of g have neither.

    BASE    (slots, k)  a node without edges joins y: the terms of join
    LONE    (slots, k)  the same after block s has lost one node: v itself
    LEAVE   (slots, k)  a node of y without edges leaves and comes back: the terms of stay
    OWN_…   (slots, k)  slope and bend after block s has lost one node
    STAY    (k,)        the paper's B_y
    PARTS   (k,)        block y's share of the entropy; they sum to S

bend >= 1 marks a cell where the fast formula does not hold (few pairs left, a fractional count, a
very large count): `scores.fill_row` computes it exactly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from coterie.kernels.hard.cell_costs import (
    BERNOULLI,
    PLAIN,
    POISSON,
    SERIES,
    TABLE,
    cell,
    inner_cell,
    tail,
    widen,
)
from coterie.kernels.hard.statistics import TWO_SETS, TWO_WAY, edge_slots
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.no_refcount import borrow_without_refcount

FAST = 1024  # the largest x for which rows use the table of g


# planes of ScoreTables.cells
BASE, LONE, LEAVE, SLOPE, BEND, OWN_SLOPE, OWN_BEND = range(7)
# rows of ScoreTables.blocks; INNER_LEAVE is the diagonal's term of STAY
JOIN, STAY, INNER_LEAVE, PARTS = range(4)


class ScoreTables(NamedTuple):
    """Few arrays with many planes: Numba compiles slower with every array that is passed."""

    cells: np.ndarray  # float64 (7, slots, k)
    blocks: np.ndarray  # float64 (4, k)
    logs: np.ndarray  # float64 (3, k): log of n - 1, n, n + 1
    other_logs: np.ndarray  # float64 (3, q): the same for the blocks of the other end


def empty_tables(slots: int, k: int, q: int) -> ScoreTables:
    """Allocate the tables of one side."""
    return ScoreTables(
        np.zeros((7, slots, k)), np.zeros((4, k)), np.zeros((3, k)), np.zeros((3, q))
    )


@njit(forceinline=True, cache=True)
def inner_pairs(model, n):
    """Return the number of pairs inside a block of n nodes."""
    return n * (n - 1.0) * (1.0 if model.layout == TWO_WAY else 0.5)


@njit(forceinline=True, cache=True)
def new_inner_pairs(model, n):
    """Return the number of pairs that a node adds to a block of n others."""
    return n * (2.0 if model.layout == TWO_WAY else 1.0)


@njit(forceinline=True, cache=True)
def curve(kind, d, N, log_N):
    """Return (slope, bend) of a cell that has N pairs after the node has joined."""
    slow = d > TABLE - 2 * FAST or d != math.floor(d)
    if kind == PLAIN or N <= 0.0:
        return 0.0, 1.0 if slow else 0.0
    if kind == POISSON:
        return 1.0 + log_N, 1.0 if slow else 0.0
    M = N - d
    if slow or M < 1.0:
        return 0.0, 1.0
    return 1.0 + (log_N if d == 0.0 else log_N + log_less(d / N)), 1.0 / M


@njit(forceinline=True, cache=True)
def cell_entries(model, stats, tables, s, y):
    """Recompute every entry of the cell (s, y) from stats; return its entropy.

    With u = d / D and cell(d, D) = d (log D + 1 - tail(u)) - g(d), widening a cell costs
    d (log of the ratio + a difference of tails): no logarithm if the cell is sparse."""
    kind = model.kind
    d = stats.counts[s, y]
    q = len(stats.others)
    one_set = model.layout != TWO_SETS
    j = s % q
    if one_set and j == y and s < edge_slots(model, q):
        return 0.0  # the diagonal is scored separately: its entries stay 0
    if kind == PLAIN:
        sign = -1.0 if s >= edge_slots(model, q) else model.signs[s // q]
        tables.cells[SLOPE, s, y], tables.cells[BEND, s, y] = curve(PLAIN, d, 0.0, 0.0)
        tables.cells[OWN_SLOPE, s, y], tables.cells[OWN_BEND, s, y] = curve(PLAIN, d, 0.0, 0.0)
        return sign * cell(PLAIN, d, 0.0)
    n, m = stats.sizes[y], stats.others[j]
    log_more, log_m, log_m1 = tables.logs[2, y], tables.other_logs[1, j], tables.other_logs[0, j]
    N, own_N = (n + 1.0) * m, (n + 1.0) * (m - 1.0)
    tables.cells[SLOPE, s, y], tables.cells[BEND, s, y] = curve(kind, d, N, log_more + log_m)
    if one_set:
        own = curve(kind, d, own_N, log_more + log_m1)
        tables.cells[OWN_SLOPE, s, y], tables.cells[OWN_BEND, s, y] = own
    if d <= 0.0:
        tables.cells[BASE, s, y] = 0.0
        tables.cells[LONE, s, y] = 0.0
        tables.cells[LEAVE, s, y] = 0.0
        return 0.0
    D = n * m
    now = pairs_tail(kind, d, D)
    up, down = log_more - tables.logs[1, y], tables.logs[1, y] - tables.logs[0, y]
    tables.cells[BASE, s, y] = d * (up + now - pairs_tail(kind, d, N))
    fits = (n - 1.0) * m >= d or (kind == POISSON and n > 1.0)
    tables.cells[LEAVE, s, y] = d * (down + pairs_tail(kind, d, D - m) - now) if fits else 0.0
    if one_set:
        fits = n * (m - 1.0) >= d or (kind == POISSON and m > 1.0)
        before, after = pairs_tail(kind, d, D - n), pairs_tail(kind, d, own_N)
        tables.cells[LONE, s, y] = d * (up + before - after) if fits else 0.0
    g = model.table[int(d)] if d < TABLE and d == math.floor(d) else d * math.log(d)
    return d * (tables.logs[1, y] + log_m + 1.0 - now) - g


@njit(forceinline=True, cache=True)
def pairs_tail(kind, d, D):
    """Return tail(d / D) for a Bernoulli cell, 0 for a Poisson cell or if d exceeds D."""
    return tail(d / D) if kind == BERNOULLI and d <= D else 0.0


@njit(forceinline=True, cache=True)
def log_less(t):
    """Return log(1 - t) for 0 <= t < 1."""
    if t < SERIES:
        return -t * (1.0 + t * (1 / 2 + t * (1 / 3 + t * (1 / 4 + t * (1 / 5 + t * (1 / 6))))))
    return math.log1p(-t)


@njit(nogil=True, cache=True)
def block_logs(n, logs, b):
    """Set the logarithms of n - 1, n and n + 1 (0 if undefined)."""
    for i in range(3):
        logs[i, b] = math.log(max(n + i - 1.0, 1.0))


@njit(nogil=True, cache=True)
def refresh_logs(stats, tables):
    """Recompute the logarithms of all block sizes."""
    for y in range(len(stats.sizes)):
        block_logs(stats.sizes[y], tables.logs, y)
    for j in range(len(stats.others)):
        block_logs(stats.others[j], tables.other_logs, j)


@njit(nogil=True, cache=True)
def inner_terms(model, stats, y):
    """Return (join, stay, entropy) of the diagonal cell of block y; one node set only."""
    d, n = stats.counts[y, y], stats.sizes[y]
    pairs, c = inner_pairs(model, n), new_inner_pairs(model, n - 1.0)
    join = widen(model.kind, d, pairs, new_inner_pairs(model, n))
    return join, widen(model.kind, d, pairs - c, c), inner_cell(model.kind, d, pairs)


@njit(nogil=True, cache=True)
def fill_cells(model, stats, tables, first, last, start, stop):
    """Recompute the cells (first..last-1, start..stop-1) and add their terms to `blocks`."""
    edges = edge_slots(model, len(stats.others))
    share = 0.5 if model.layout != TWO_SETS else 1.0  # two blocks of one set share their cell
    for s in range(first, last):
        for y in range(start, stop):
            S = cell_entries(model, stats, tables, s, y)
            tables.blocks[JOIN, y] += tables.cells[BASE, s, y]
            tables.blocks[STAY, y] += tables.cells[LEAVE, s, y]
            tables.blocks[PARTS, y] += S if s >= edges else share * S


@njit(nogil=True, cache=True)
def refresh_columns(model, stats, tables, start, stop):
    """Recompute all entries of the labels start..stop-1."""
    for y in range(start, stop):
        join, stay, S = 0.0, 0.0, 0.0
        if model.layout != TWO_SETS:
            join, stay, S = inner_terms(model, stats, y)
        tables.blocks[JOIN, y] = join
        tables.blocks[STAY, y] = stay
        tables.blocks[INNER_LEAVE, y] = stay
        tables.blocks[PARTS, y] = S
    fill_cells(model, stats, tables, 0, len(stats.counts), start, stop)


@njit(nogil=True, cache=True)
def refresh(model, stats, tables, start, stop):
    """Recompute tables (OUT) for the labels start..stop-1; call refresh_logs first."""
    model, stats, tables = borrow_without_refcount((model, stats, tables))
    refresh_columns(model, stats, tables, start, stop)


@njit(nogil=True, cache=True)
def refresh_block(model, stats, tables, b):
    """Update tables (IN/OUT, except PARTS) after block b of the moving side changed.

    O(slots + k)."""
    sizes, q = stats.sizes, len(stats.others)
    one_set = model.layout != TWO_SETS
    block_logs(sizes[b], tables.logs, b)
    if one_set:
        block_logs(sizes[b], tables.other_logs, b)
        for s in range(b, edge_slots(model, q), q):
            for y in range(len(sizes)):
                tables.blocks[JOIN, y] -= tables.cells[BASE, s, y]
                tables.blocks[STAY, y] -= tables.cells[LEAVE, s, y]
            fill_cells(model, stats, tables, s, s + 1, 0, len(sizes))
    refresh_columns(model, stats, tables, b, b + 1)

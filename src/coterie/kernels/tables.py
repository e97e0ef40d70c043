"""What scoring needs of the block statistics, once an iteration (cl:alg9, mended).

A node v with x_s edges to slot s that joins block y changes the entropy by

    ins(y) = join[y] + sum over its slots s of row(s, x_s)[y]
    row(s, x)[y] = sign_s (g(d) - g(d + x)) + x (slope[s, y] - tail(x * bend[s, y]))

with d = counts[s, y]. join[y] is what an isolated node would cost there (the paper's A_y), slope =
1 + log(N - d) and bend = 1 / (N - d) with N = (n_y + 1) n_j, so a row needs a table of g and no
logarithm. Poisson cells have slope = 1 + log N, bend = 0; cells that are sums of g have neither.

    base    (slots, k)  a node without edges joins y: the terms of join
    lone    (slots, k)  the same where slot s has lost one node: v itself, taken out of block s
    leave   (slots, k)  a node without edges that sits in y goes and comes back: terms of stay
    stay    (k,)        the paper's B_y
    parts   (k,)        block y's share of the entropy; they sum to S

bend = 1 (or more) marks a cell where the fast formula does not hold (few pairs left, a fraction, a
huge count): `scores.row` computes it exactly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from coterie.kernels.blocks import TWO_SETS, TWO_WAY, edge_slots
from coterie.kernels.cells import PLAIN, POISSON, TABLE, cell, inner_cell, widen

FAST = 1024  # the largest x that rows take by table


class Tables(NamedTuple):
    base: np.ndarray  # float64 (slots, k), as the next six
    lone: np.ndarray
    leave: np.ndarray
    slope: np.ndarray
    bend: np.ndarray
    own_slope: np.ndarray  # slope and bend with n_j - 1 for n_j
    own_bend: np.ndarray
    join: np.ndarray  # float64 (k,)
    stay: np.ndarray
    inner_leave: np.ndarray  # the diagonal's term of stay
    parts: np.ndarray
    log_join: np.ndarray  # log(n_y + 1)
    log_other: np.ndarray  # float64 (q,), log n_j
    log_less: np.ndarray  # log(n_j - 1)


def empty_tables(slots: int, k: int, q: int) -> Tables:
    """Room for the tables of one side."""
    return Tables(
        *(np.zeros((slots, k)) for _ in range(7)),
        *(np.zeros(k) for _ in range(5)),
        *(np.zeros(q) for _ in range(2)),
    )


@njit(inline="always", cache=True)
def inner_pairs(model, n):
    """Pairs inside a block of n nodes"""
    return n * (n - 1.0) * (1.0 if model.layout == TWO_WAY else 0.5)


@njit(inline="always", cache=True)
def new_inner_pairs(model, n):
    """Pairs that a node adds inside a block of n others"""
    return n * (2.0 if model.layout == TWO_WAY else 1.0)


@njit(inline="always", cache=True)
def curve(kind, d, N, log_N, slope, bend, s, y):
    """Set slope and bend of a cell (s, y) with N pairs after the join"""
    slow = d > TABLE - 2 * FAST or d != math.floor(d)
    if kind == PLAIN or N <= 0.0:
        slope[s, y] = 0.0
        bend[s, y] = 1.0 if slow else 0.0
    elif kind == POISSON:
        slope[s, y] = 1.0 + log_N
        bend[s, y] = 1.0 if slow else 0.0
    else:
        M = N - d
        slope[s, y] = 1.0 + (log_N if d == 0.0 else math.log(max(M, 1.0)))
        bend[s, y] = 1.0 if slow or M < 1.0 else 1.0 / M


@njit(nogil=True, cache=True)
def refresh_cell(model, stats, tables, s, y):
    """Recompute every entry of the cell (s, y) from stats"""
    kind, layout = model.kind, model.layout
    d = stats.counts[s, y]
    q = len(stats.others)
    if s >= edge_slots(model, q) or kind == PLAIN:
        curve(PLAIN, d, 0.0, 0.0, tables.slope, tables.bend, s, y)
        curve(PLAIN, d, 0.0, 0.0, tables.own_slope, tables.own_bend, s, y)
        return
    j = s % q
    if layout != TWO_SETS and j == y:
        return  # the diagonal is scored apart: its entries stay 0
    n, m = stats.sizes[y], stats.others[j]
    log_n = tables.log_join[y]
    curve(kind, d, (n + 1) * m, log_n + tables.log_other[j], tables.slope, tables.bend, s, y)
    if d > 0.0:
        tables.base[s, y] = widen(kind, d, n * m, m)
        tables.leave[s, y] = widen(kind, d, (n - 1) * m, m)
    else:
        tables.base[s, y] = 0.0
        tables.leave[s, y] = 0.0
    if layout != TWO_SETS:
        curve(
            kind,
            d,
            (n + 1) * (m - 1),
            log_n + tables.log_less[j],
            tables.own_slope,
            tables.own_bend,
            s,
            y,
        )
        tables.lone[s, y] = widen(kind, d, n * (m - 1), m - 1) if d > 0.0 else 0.0


@njit(nogil=True, cache=True)
def refresh_logs(stats, tables):
    """The logarithms of block sizes"""
    for y in range(len(stats.sizes)):
        tables.log_join[y] = math.log(stats.sizes[y] + 1.0)
    for j in range(len(stats.others)):
        tables.log_other[j] = math.log(max(stats.others[j], 1.0))
        tables.log_less[j] = math.log(max(stats.others[j] - 1.0, 1.0))


@njit(nogil=True, cache=True)
def inner_terms(model, stats, y):
    """(join, stay, entropy) of the diagonal cell of block y; one node set"""
    d, n = stats.counts[y, y], stats.sizes[y]
    pairs, c = inner_pairs(model, n), new_inner_pairs(model, n - 1.0)
    join = widen(model.kind, d, pairs, new_inner_pairs(model, n))
    return join, widen(model.kind, d, pairs - c, c), inner_cell(model.kind, d, pairs)


@njit(nogil=True, cache=True)
def refresh(model, stats, tables, start, stop):
    """Recompute tables (OUT) for the labels start..stop-1; needs refresh_logs before"""
    counts, sizes, others, _ = stats
    slots, q = len(counts), len(others)
    edges = edge_slots(model, q)
    one_set = model.layout != TWO_SETS
    for y in range(start, stop):
        tables.join[y] = 0.0
        tables.stay[y] = 0.0
        tables.parts[y] = 0.0
        if one_set:
            join, stay, S = inner_terms(model, stats, y)
            tables.join[y] += join
            tables.stay[y] += stay
            tables.inner_leave[y] = stay
            tables.parts[y] += S
    share = 0.5 if one_set else 1.0  # two blocks of one node set share their cell
    for s in range(slots):
        j = s % q
        for y in range(start, stop):
            refresh_cell(model, stats, tables, s, y)
            if one_set and j == y and s < edges:
                continue
            tables.join[y] += tables.base[s, y]
            tables.stay[y] += tables.leave[s, y]
            d = counts[s, y]
            if d > 0.0:
                if s >= edges:
                    tables.parts[y] -= cell(PLAIN, d, 0.0)
                else:
                    sign = model.signs[s // q]
                    tables.parts[y] += share * sign * cell(model.kind, d, sizes[y] * others[j])


@njit(nogil=True, cache=True)
def refresh_block(model, stats, tables, b):
    """Bring tables (IN/OUT) up to date after block b of the moving side changed: O(slots + k)"""
    counts, sizes, others, _ = stats
    slots, k, q = len(counts), len(sizes), len(others)
    edges = edge_slots(model, q)
    one_set = model.layout != TWO_SETS
    tables.log_join[b] = math.log(sizes[b] + 1.0)
    if one_set:
        tables.log_other[b] = math.log(max(sizes[b], 1.0))
        tables.log_less[b] = math.log(max(sizes[b] - 1.0, 1.0))
    tables.join[b] = 0.0
    tables.stay[b] = 0.0
    if one_set:
        join, stay, _ = inner_terms(model, stats, b)
        tables.join[b] += join
        tables.stay[b] += stay
        tables.inner_leave[b] = stay
    for s in range(slots):
        refresh_cell(model, stats, tables, s, b)
        tables.join[b] += tables.base[s, b]
        tables.stay[b] += tables.leave[s, b]
    if not one_set:
        return
    for s in range(b, edges, q):
        for y in range(k):
            if y != b:
                tables.join[y] -= tables.base[s, y]
                tables.stay[y] -= tables.leave[s, y]
                refresh_cell(model, stats, tables, s, y)
                tables.join[y] += tables.base[s, y]
                tables.stay[y] += tables.leave[s, y]

"""Which blocks to merge: what a merge costs, exactly, and where to look for cheap ones.

Scoring every pair of k blocks is cubic. Two blocks are cheap to merge when their rows are alike,
and rows that are alike share slots, so `nearest` walks from a block to its slots and back to the
blocks that share them, sums the affinity

    sum over slots s of sqrt(d_rs d_ts)

and ranks blocks t by mass_r mass_t / (mass_r + mass_t) times the squared Hellinger distance of the
rows, to which the cost of a merge is nearly proportional. Only the best few are scored exactly.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from coterie.kernels.hard.cell_costs import BERNOULLI, PLAIN, POISSON, TABLE, cell, inner_cell
from coterie.kernels.hard.score_tables import inner_pairs
from coterie.kernels.hard.statistics import TWO_SETS, TWO_WAY
from coterie.kernels.numba.random import below, stream

WINDOW = 192  # of a slot that more blocks share, so many in a row are looked at
STRANGERS = 32  # a block that shares no slot with any other looks at so many at random
NEVER = 1e300
FREE = 1e-9  # what rounding leaves of a merge that costs nothing


@njit(inline="always", cache=True)
def quick_cell(kind, table, d, D):
    """`cell`, from the table of g where it reaches: a merge needs no more than its ten digits"""
    if d == 0.0:
        return 0.0
    i = np.int64(d)
    if kind == POISSON or i != d or i >= TABLE or (kind == BERNOULLI and D >= TABLE):
        return cell(kind, d, D)
    if kind == PLAIN:
        return -table[i]
    N = np.int64(D)
    return table[N] - table[i] - table[N - i]


@njit(nogil=True, cache=True)
def merge_cost(model, rows, others, r, t):
    """By how much S rises when blocks r and t become one; `others`: block sizes of the other end"""
    kind, q = model.kind, len(others)
    one_set = model.layout != TWO_SETS
    n_r, n_t = rows.sizes[r], rows.sizes[t]
    n = n_r + n_t
    cost, inner_r, inner_t, between = 0.0, 0.0, 0.0, 0.0
    i, i_end = rows.indptr[r], rows.indptr[r + 1]
    j, j_end = rows.indptr[t], rows.indptr[t + 1]
    while i < i_end or j < j_end:
        s = min(
            rows.slots[i] if i < i_end else np.int64(1) << 62,
            rows.slots[j] if j < j_end else np.int64(1) << 62,
        )
        a, b = 0.0, 0.0
        if i < i_end and rows.slots[i] == s:
            a = rows.values[i]
            i += 1
        if j < j_end and rows.slots[j] == s:
            b = rows.values[j]
            j += 1
        block = s % q
        if one_set and block in (r, t):
            if s < q and block == r:
                inner_r = a
                between += b if model.layout == TWO_WAY else 0.0
            elif s < q:
                inner_t = b
                between += a
            continue
        m = others[block]
        change = quick_cell(kind, model.table, a + b, n * m)
        change -= quick_cell(kind, model.table, a, n_r * m)
        change -= quick_cell(kind, model.table, b, n_t * m)
        cost += model.signs[s // q] * change
    if one_set:
        cost += inner_cell(kind, inner_r + inner_t + between, inner_pairs(model, n))
        cost -= inner_cell(kind, inner_r, inner_pairs(model, n_r))
        cost -= inner_cell(kind, inner_t, inner_pairs(model, n_t))
        cost -= between_cells(model, rows, r, t, between, n_r * n_t, q)
        if kind == PLAIN:
            K_r, K_t = rows.total[r], rows.total[t]
            cost -= cell(kind, K_r + K_t, 0.0) - cell(kind, K_r, 0.0) - cell(kind, K_t, 0.0)
    return cost


@njit(nogil=True, cache=True)
def between_cells(model, rows, r, t, between, pairs, q):
    """What the edges between r and t cost while they are two blocks"""
    if model.layout != TWO_WAY:
        return cell(model.kind, between, pairs)
    out = 0.0
    for i in range(rows.indptr[r], rows.indptr[r + 1]):
        if rows.slots[i] == t:
            out = rows.values[i]
    return cell(model.kind, out, pairs) + cell(model.kind, between - out, pairs)


@njit(nogil=True, cache=True)
def nearest(model, rows, mirror, key, start, stop, found, costs):
    """For blocks start..stop-1 the blocks that look cheapest to merge with (found, OUT, -1 where
    there is none) and the exact costs (OUT), the cheapest first.

    `mirror` holds the rows of the other end (in one node set: rows itself)."""
    k, q, few = len(rows.sizes), len(mirror.sizes), found.shape[1]
    affinity = np.zeros(k)
    shared = np.empty(k, np.int64)
    distance = np.empty(few)
    for r in range(start, stop):
        state = stream(key, r)
        found[r, :] = -1
        costs[r, :] = NEVER
        distance[:] = NEVER
        m = 0
        for i in range(rows.indptr[r], rows.indptr[r + 1]):
            channel, j = rows.slots[i] // q, rows.slots[i] % q
            if model.signs[channel] < 0.0:
                continue
            back = (1 - channel if model.layout == TWO_WAY else channel) * k
            first, last = mirror.indptr[j], mirror.indptr[j + 1]
            if last - first > WINDOW:
                state, skipped = below(state, last - first - WINDOW + 1)
                first += skipped
                last = first + WINDOW
            root = rows.roots[i]
            for e in range(first, last):
                t = mirror.slots[e] - back
                if t < 0 or t >= k:
                    continue
                if affinity[t] == 0.0:
                    shared[m] = t
                    m += 1
                affinity[t] += root * mirror.roots[e]
        a, rate, scale = rows.mass[r], rows.rate[r], -2.0 * rows.scale[r]
        affinity[r] = 0.0
        for i in range(m):
            t = shared[i]
            if t != r:
                b = rows.mass[t]
                apart = rate + rows.rate[t] + scale * affinity[t] * rows.scale[t]
                place_in(distance, found[r], apart * a * b / (a + b), t)
                affinity[t] = 0.0
        for _ in range(STRANGERS if found[r, 0] < 0 else 0):
            state, t = below(state, k)
            if t != r and t != found[r, 0]:
                b = rows.mass[t]
                apart = (rows.total[r] * b + rows.total[t] * a) / max(a + b, 1.0)
                place_in(distance, found[r], apart, t)
        for i in range(few):
            if found[r, i] >= 0:
                distance[i] = merge_cost(model, rows, mirror.sizes, r, found[r, i])
        sort_by(distance, found[r], costs[r])


@njit(inline="always", cache=True)
def place_in(values, names, value, name):
    """Insert into two parallel lists, rising, the largest falls out"""
    i = len(values) - 1
    if value < values[i]:
        while i > 0 and values[i - 1] > value:
            values[i] = values[i - 1]
            names[i] = names[i - 1]
            i -= 1
        values[i] = value
        names[i] = name


@njit(inline="always", cache=True)
def sort_by(values, names, costs):
    """Fill costs (OUT) with the values, rising; names follow"""
    for i in range(len(values)):
        if names[i] < 0:
            break
        value, name, j = values[i], names[i], i
        while j > 0 and costs[j - 1] > value:
            costs[j] = costs[j - 1]
            names[j] = names[j - 1]
            j -= 1
        costs[j] = value
        names[j] = name


@njit(nogil=True, cache=True)
def pair_up(found, costs, order, most, dearest):
    """The cheapest disjoint pairs, at most `most`, none dearer than `dearest` but the first; pairs
    that cost nothing need not be disjoint, for twins of twins are twins.

    `order` ranks the entries of `costs` (flat). Gives (into, merges made): into[r] is the smallest
    of the blocks that r becomes part of."""
    k, few = found.shape
    into = np.arange(k)
    taken = np.zeros(k, np.bool_)
    made = 0
    for place in order:
        r, t, cost = (
            place // few,
            found[place // few, place % few],
            costs[place // few, place % few],
        )
        if t < 0 or made == most or (made > 0 and cost > dearest):
            break
        if cost > FREE and (taken[r] or taken[t]):
            continue
        taken[r] = True
        taken[t] = True
        r, t = root_of(into, r), root_of(into, t)
        if r != t:
            into[max(r, t)] = min(r, t)
            made += 1
    for r in range(k):
        into[r] = into[into[r]]  # r rises, so its parent is a root already
    return into, made


@njit(inline="always", cache=True)
def root_of(into, r):
    while into[r] != r:
        into[r] = into[into[r]]
        r = into[r]
    return r

"""Which blocks to merge: the exact cost of a merge, and how to find cheap ones.

Used by `models/hard/search/agglomerate.py`. Scoring every pair of k blocks is cubic. Two blocks
are cheap to merge if their rows are similar, and similar rows share slots, so `cheapest_partners`
walks from a block to its slots and back to the blocks that share them, sums the affinity

    sum over slots s of sqrt(d_rs d_ts)

and ranks blocks t by mass_r mass_t / (mass_r + mass_t) times the squared Hellinger distance of the
rows, to which the cost of a merge is nearly proportional. Only the best few are scored exactly.
"""

from __future__ import annotations

import math

import numpy as np

from coterie.kernels.graphs.resilience import root_of
from coterie.kernels.hard.cell_costs import BERNOULLI, PLAIN, POISSON, TABLE, cell, inner_cell
from coterie.kernels.hard.score_tables import inner_pairs
from coterie.kernels.hard.statistics import TWO_SETS, TWO_WAY
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.no_refcount import borrow_without_refcount
from coterie.kernels.numba.random import below, stream

WINDOW = 192  # most blocks examined per slot, a random run of them if more blocks share the slot
RANDOM_CANDIDATES = 32  # examined by a block that shares no slot with any other
NEVER = 1e300  # the cost of a merge that is not possible
FREE = 1e-9  # merges that cost less cost nothing but rounding


@njit(forceinline=True, cache=True)
def quick_cell(kind, table, d, D):
    """Return `cell` from the table of g if possible: ten digits are enough for a merge."""
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
def spread_row(rows, r, row):
    """Write the values of block r into row (OUT): one place per slot, zeros elsewhere."""
    for i in range(rows.indptr[r], rows.indptr[r + 1]):
        row[rows.slots[i]] = rows.values[i]


@njit(nogil=True, cache=True)
def clear_row(rows, r, row):
    """Write zeros where `spread_row` wrote values (OUT)."""
    for i in range(rows.indptr[r], rows.indptr[r + 1]):
        row[rows.slots[i]] = 0.0


@njit(nogil=True, cache=True)
def merge_cost(model, rows, others, row, r, t):
    """Return how much S rises if blocks r and t merge; `others`: block sizes of the other end.

    row: the values of block r, see `spread_row`."""
    kind = model.kind
    n_r, n_t = rows.sizes[r], rows.sizes[t]
    n = n_r + n_t
    if kind == PLAIN:
        cost, inner_t, between = shared_slots_cost(model, rows, len(others), row, r, t)
    else:
        cost, inner_t, between = all_slots_cost(model, rows, others, r, t)
    if model.layout != TWO_SETS:
        inner_r, between = row[r], between + row[t]
        cost += inner_cell(kind, inner_r + inner_t + between, inner_pairs(model, n))
        cost -= inner_cell(kind, inner_r, inner_pairs(model, n_r))
        cost -= inner_cell(kind, inner_t, inner_pairs(model, n_t))
        cost -= between_cells(model, rows, r, t, between, n_r * n_t, len(others))
        if kind == PLAIN:
            K_r, K_t = rows.total[r], rows.total[t]
            cost -= cell(kind, K_r + K_t, 0.0) - cell(kind, K_r, 0.0) - cell(kind, K_t, 0.0)
    return cost


@njit(nogil=True, cache=True)
def shared_slots_cost(model, rows, q, row, r, t):
    """Return (cost of the cells with other blocks, edges inside t, edges from t to r if those are
    counted apart) of a merge in a PLAIN model, where only slots of both blocks change.

    `row` spares walking along two sorted lists, whose next step a processor cannot predict."""
    table = model.table
    one_set, one_channel = model.layout != TWO_SETS, len(model.signs) == 1
    cost, inner_t, between = 0.0, 0.0, 0.0
    for i in range(rows.indptr[t], rows.indptr[t + 1]):
        s, b = rows.slots[i], rows.values[i]
        a = row[s]
        if a == 0.0 and s not in (r, t):
            continue
        block = s if one_channel else s % q
        if one_set and block in (r, t):
            if s == t:
                inner_t = b
            elif s == r and model.layout == TWO_WAY:
                between = b
            continue
        change = quick_cell(PLAIN, table, a + b, 0.0)
        change -= quick_cell(PLAIN, table, a, 0.0)
        change -= quick_cell(PLAIN, table, b, 0.0)
        cost += change if one_channel else model.signs[s // q] * change
    return cost, inner_t, between


@njit(nogil=True, cache=True)
def all_slots_cost(model, rows, others, r, t):
    """Return what `shared_slots_cost` returns, for models whose cells have pairs of nodes."""
    kind, q = model.kind, len(others)
    one_set, one_channel = model.layout != TWO_SETS, len(model.signs) == 1
    n_r, n_t = rows.sizes[r], rows.sizes[t]
    n = n_r + n_t
    cost, inner_t, between = 0.0, 0.0, 0.0
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
        block = s if one_channel else s % q
        if one_set and block in (r, t):
            if s == t:
                inner_t = b
            elif s == r and model.layout == TWO_WAY:
                between = b
            continue
        m = others[block]
        change = quick_cell(kind, model.table, a + b, n * m)
        change -= quick_cell(kind, model.table, a, n_r * m)
        change -= quick_cell(kind, model.table, b, n_t * m)
        cost += change if one_channel else model.signs[s // q] * change
    return cost, inner_t, between


@njit(nogil=True, cache=True)
def between_cells(model, rows, r, t, between, pairs, q):
    """Return the entropy of the edges between r and t while they are two blocks."""
    if model.layout != TWO_WAY:
        return cell(model.kind, between, pairs)
    out = 0.0
    for i in range(rows.indptr[r], rows.indptr[r + 1]):
        if rows.slots[i] == t:
            out = rows.values[i]
    return cell(model.kind, out, pairs) + cell(model.kind, between - out, pairs)


@njit(nogil=True, cache=True)
def cheapest_partners(model, rows, mirror, key, start, stop, window, found, costs):
    """Find, for blocks start..stop-1, the blocks that are cheapest to merge with.

    window: how many blocks are examined per slot. found (OUT): their numbers, the cheapest first,
    -1 if there is none; costs (OUT): the exact costs. `mirror` holds the rows of the other end
    (with one node set: rows itself)."""
    model, rows, mirror = borrow_without_refcount((model, rows, mirror))
    k, q, few = len(rows.sizes), len(mirror.sizes), found.shape[1]
    one_channel = len(model.signs) == 1  # spares divisions, which take long
    affinity = np.zeros(k)
    shared = np.empty(k + 1, np.int64)
    distance = np.empty(few)
    row = np.zeros(len(model.signs) * q)
    for r in range(start, stop):
        state = stream(key, r)
        found[r, :] = -1
        costs[r, :] = NEVER
        distance[:] = NEVER
        m = 0
        for i in range(rows.indptr[r], rows.indptr[r + 1]):
            channel, j = 0, rows.slots[i]
            if not one_channel:
                channel, j = j // q, j % q
            if model.signs[channel] < 0.0:
                continue
            back = (1 - channel if model.layout == TWO_WAY else channel) * k
            first, last = mirror.indptr[j], mirror.indptr[j + 1]
            if last - first > window:
                state, skipped = below(state, last - first - window + 1)
                first += skipped
                last = first + window
            root = rows.roots[i]
            for e in range(first, last):
                t = mirror.slots[e] - back
                if t < 0 or t >= k:
                    continue
                # without a branch, which would be mispredicted half of the time
                before = affinity[t]
                shared[m] = t
                m += before == 0.0
                affinity[t] = before + root * mirror.roots[e]
        a, rate, scale = rows.mass[r], rows.rate[r], -2.0 * rows.scale[r]
        affinity[r] = 0.0
        for i in range(m):
            t = shared[i]
            if t != r:
                b = rows.mass[t]
                apart = rate + rows.rate[t] + scale * affinity[t] * rows.scale[t]
                insert_sorted(distance, found[r], apart * a * b / (a + b), t)
                affinity[t] = 0.0
        for _ in range(RANDOM_CANDIDATES if found[r, 0] < 0 else 0):
            state, t = below(state, k)
            if t != r and t != found[r, 0]:
                b = rows.mass[t]
                apart = (rows.total[r] * b + rows.total[t] * a) / max(a + b, 1.0)
                insert_sorted(distance, found[r], apart, t)
        spread_row(rows, r, row)
        for i in range(few):
            if found[r, i] >= 0:
                distance[i] = merge_cost(model, rows, mirror.sizes, row, r, found[r, i])
        clear_row(rows, r, row)
        sort_by(distance, found[r], costs[r])


@njit(forceinline=True, cache=True)
def insert_sorted(values, names, value, name):
    """Insert into two parallel sorted lists of fixed length; the largest entry drops out."""
    i = len(values) - 1
    if value < values[i]:
        while i > 0 and values[i - 1] > value:
            values[i] = values[i - 1]
            names[i] = names[i - 1]
            i -= 1
        values[i] = value
        names[i] = name


@njit(forceinline=True, cache=True)
def sort_by(values, names, costs):
    """Fill costs (OUT) with the values in rising order; reorder names (IN/OUT) alike."""
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
def choose_merges(found, costs, order, max_merges, max_cost, largest):
    """Choose the cheapest pairs, at most `max_merges`; all but the first cost at most `max_cost`.

    At most `largest` blocks become one; with 2 the pairs are disjoint. Pairs that cost nothing
    are not limited: equal rows stay equal when merged.

    `order` ranks the entries of `costs` (flat). Return (into, merges made): into[r] is the smallest
    of the blocks that r becomes part of."""
    k, few = found.shape
    into = np.arange(k)
    joined = np.ones(k, np.int64)  # blocks per root, those that were free to merge counted once
    made = 0
    for place in order:
        r, t, cost = (
            place // few,
            found[place // few, place % few],
            costs[place // few, place % few],
        )
        if t < 0 or made == max_merges or (made > 0 and cost > max_cost):
            break
        r, t = root_of(into, r), root_of(into, t)
        together = joined[r] + joined[t]
        if r == t or (cost > FREE and together > largest):
            continue
        into[max(r, t)] = min(r, t)
        joined[min(r, t)] = max(2, together) if cost > FREE else max(2, joined[r], joined[t])
        made += 1
    for r in range(k):
        into[r] = into[into[r]]  # in rising order the parent of r is already a root
    return into, made


@njit(nogil=True, cache=True)
def group_by_slot(model, rows, mirror, order, representative, most):
    """Group blocks by the one slot that says most about them; O(entries of the rows).

    Blocks that are connected with the same block are similar in every block model, whether edges
    are inside blocks or between them. Only slots of blocks j with representative[j] count. A block
    r chooses the slot with the largest d log(d M / (D_r D_j)), d being its total in the slot, D_r
    and D_j the totals of both blocks and M that of all; at most `most` blocks choose the same.
    Return into: into[r] is the first block, in `order`, that chose the slot of r."""
    k, q = len(rows.sizes), len(mirror.sizes)
    one_set = model.layout != TWO_SETS
    everything = 0.0
    for r in range(k):
        everything += rows.total[r]
    into = np.arange(k)
    first = np.full(len(model.signs) * q, -1, np.int64)
    chosen = np.zeros(len(first), np.int64)
    for r in order:
        best, high = -1, -NEVER
        for i in range(rows.indptr[r], rows.indptr[r + 1]):
            s = rows.slots[i]
            j = s % q
            if not representative[j] or chosen[s] == most or model.signs[s // q] < 0.0:
                continue
            if one_set and j == r:
                continue
            d = rows.values[i]
            score = d * math.log(d * everything / (rows.total[r] * mirror.total[j]))
            if score > high:
                best, high = s, score
        if best >= 0:
            if first[best] < 0:
                first[best] = r
            into[r] = first[best]
            chosen[best] += 1
    return into

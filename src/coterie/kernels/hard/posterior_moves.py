"""Draw partitions from the posterior: exp(-description length), for all models and hierarchies.

Used by `models/hard/posterior.py`. Every step keeps the posterior, whatever the number of steps,
as long as that number does not depend on the partition.
"""

from __future__ import annotations

import math

import numpy as np

from coterie.kernels.hard.description import change_of, shift_part
from coterie.kernels.hard.description_costs import join_cost, node_costs
from coterie.kernels.hard.description_levels import group_change, next_part
from coterie.kernels.hard.description_moves import force_move
from coterie.kernels.hard.description_state import COUNTS, FREE, NEVER, forget, node_part
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.no_refcount import borrow_without_refcount
from coterie.kernels.numba.random import below, stream, uniform

SCANS = 2  # of the members of two blocks, before the one that is counted


@njit(forceinline=True, cache=True)
def list_candidates(blocks, upper, scratch, part, a, everywhere, inside):
    """List the blocks in which a node of block a may be, a first; return how many, 0 to stay.

    All blocks, or those of its neighbours, and a block of its own. In a hierarchy a new block is in
    the group of a: with `inside` only blocks of this group and an own one, otherwise no own one.
    From every block of the list, with everything else as it is, the list is the same, so that
    drawing one of them by its probability keeps the posterior."""
    sizes, candidates, marked, K = (
        blocks.sizes,
        scratch.candidates,
        scratch.marked,
        len(blocks.sizes),
    )
    alone = sizes[a] == 1
    inside = inside or upper.depth == 0
    if alone and not inside:
        return 0
    candidates[0], count, found = a, 1, alone
    marked[a] = 1
    for i in range(K if everywhere else part.m):
        b = np.int64(i) if everywhere else scratch.touched[i] % K
        found = found or b == a
        if sizes[b] == 0 or marked[b] == 1:
            continue
        if inside and upper.depth > 0 and upper.parents[0, a] != upper.parents[0, b]:
            continue
        marked[b] = 1
        candidates[count] = b
        count += 1
    for i in range(count):
        marked[candidates[i]] = 0
    if not found:
        return 0
    if inside and not alone and blocks.scalars[FREE] > 0:
        candidates[count] = blocks.free[blocks.scalars[FREE] - 1]
        count += 1
    return count


@njit(nogil=True, cache=True)
def gibbs_sweep(model, graph, blocks, upper, scratch, order, key, far):
    """Draw the block of each node of `order` anew, given all others: a heat bath on partitions.

    The candidates are the blocks of its neighbours, or with probability `far` all blocks."""
    model, graph = borrow_without_refcount(model), borrow_without_refcount(graph)
    blocks, upper = borrow_without_refcount(blocks), borrow_without_refcount(upper)
    scratch = borrow_without_refcount(scratch)
    for i in range(len(order)):
        v = order[i]
        state = stream(key, v)
        state, u = uniform(state)
        state, w = uniform(state)
        a = np.int64(blocks.labels[v])
        part = node_part(graph, blocks.labels, v, scratch)
        next_part(upper)
        count = list_candidates(blocks, upper, scratch, part, a, u < far, w < 0.5)
        if model.cells == COUNTS and count > 1:
            node_costs(model, blocks, scratch, part, a, count)
        low = NEVER
        for j in range(count):
            b = scratch.candidates[j]
            if model.cells != COUNTS:
                scratch.costs[j] = join_cost(model, blocks, scratch, part, a, b)
            scratch.costs[j] += group_change(model, blocks, upper, scratch, part, a, b)
            low = min(low, scratch.costs[j])
        weight = 0.0
        for j in range(count):
            weight += math.exp(low - scratch.costs[j])
        state, u = uniform(state)
        u *= weight
        chosen = 0
        while chosen < count - 1:
            u -= math.exp(low - scratch.costs[chosen])
            if u < 0.0:
                break
            chosen += 1
        if count > 1 and chosen > 0:
            b = scratch.candidates[chosen]
            shift_part(model, blocks, upper, scratch, part, a, b)
            blocks.labels[v] = b
        forget(scratch, part.m)


@njit(nogil=True, cache=True)
def allocate(model, graph, blocks, upper, scratch, members, r, s, state, wanted):
    """Draw the block of each of members[2:] anew, r or s, by its exact probabilities given all
    others; r has members[0] and s has members[1].

    wanted[i] >= 0 forces the choice (to compute the probability of a division that exists).
    Return (state, log probability of the choices, change)."""
    log_probability, total = 0.0, 0.0
    for i in range(2, len(members)):
        v = members[i]
        a = np.int64(blocks.labels[v])
        b = s if a == r else r
        part = node_part(graph, blocks.labels, v, scratch)
        change = change_of(model, blocks, upper, scratch, part, a, b)
        leaves = 1.0 / (1.0 + math.exp(min(change, 700.0)))  # the probability of block b
        moves = wanted[i] == b
        if wanted[i] < 0:
            state, u = uniform(state)
            moves = u < leaves
        log_probability -= log_one_more(change if moves else -change)
        if moves:
            total += change
            shift_part(model, blocks, upper, scratch, part, a, b)
            blocks.labels[v] = b
        forget(scratch, part.m)
    return state, log_probability, total


@njit(forceinline=True, cache=True)
def log_one_more(x):
    """Return log(1 + exp(x))."""
    return x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x))


@njit(nogil=True, cache=True)
def random_partner(graph, n, i, state):
    """Return (state, node): any node, or one or two steps along edges from node i.

    It does not depend on the labels, so a split and the merge that undoes it are equally likely."""
    state, j = below(state, 4 * n)
    if j < 2 * n:
        return state, j % n
    node = i
    for _ in range(1 if j < 3 * n else 2):
        d = graph.indptr[node + 1] - graph.indptr[node]
        if d > 0:
            state, place = below(state, d)
            node = np.int64(graph.indices[graph.indptr[node] + place])
    return state, node


@njit(nogil=True, cache=True)
def merge_split_step(model, graph, blocks, upper, scratch, key, most):
    """Propose to merge the blocks of two nodes, or, if they share one, to split it;
    accept by Metropolis and Hastings. Return (1 if accepted, change).

    A split starts with all members in the block of the first node and the second one in a new
    block, and draws the others anew, in random order, SCANS times and once more (Jain & Neal 2004).
    The probability of a division is that of the choices of the last scan. A merge needs the
    probability of the division it undoes: it makes the same scans, and the last one leads there."""
    n = len(blocks.labels)
    state = stream(key, 0)
    state, i = below(state, n)
    state, j = random_partner(graph, n, i, state)
    if i == j:
        return 0, 0.0
    r, s = np.int64(blocks.labels[i]), np.int64(blocks.labels[j])
    split = r == s
    if split and blocks.scalars[FREE] == 0:
        return 0, 0.0
    if not split and upper.depth > 0 and upper.parents[0, r] != upper.parents[0, s]:
        return 0, 0.0  # a split makes two blocks of one group
    if split:
        s = blocks.free[blocks.scalars[FREE] - 1]
    size = blocks.sizes[r] + (0 if split else blocks.sizes[s])
    if size > most:  # of both blocks together, so that a split and its merge agree
        return 0, 0.0
    members = np.empty(size, np.int64)
    members[0], members[1] = i, j
    count = 2
    for v in range(n):
        if v != i and v != j and (blocks.labels[v] == r or blocks.labels[v] == s):
            members[count] = v
            count += 1
    for place in range(count - 1, 2, -1):
        state, other = below(state, place - 1)
        members[place], members[other + 2] = members[other + 2], members[place]
    before = np.empty(count, np.int64)
    for place in range(count):
        before[place] = blocks.labels[members[place]]
    free_choice = np.full(count, -1, np.int64)
    change = 0.0
    # Both directions start from the same point: j alone in s, everybody else in r.
    for place in range(2, count):
        change += force_move(model, graph, blocks, upper, scratch, members[place], r)
    change += force_move(model, graph, blocks, upper, scratch, j, s)
    for _ in range(SCANS):
        state, _, more = allocate(
            model, graph, blocks, upper, scratch, members, r, s, state, free_choice
        )
        change += more
    if split:
        state, log_probability, more = allocate(
            model, graph, blocks, upper, scratch, members, r, s, state, free_choice
        )
        change += more
        state, u = uniform(state)
        if math.log(max(u, 1e-300)) < -change - log_probability:
            return 1, change
        for place in range(count):
            force_move(model, graph, blocks, upper, scratch, members[place], before[place])
        return 0, 0.0
    state, log_probability, more = allocate(
        model, graph, blocks, upper, scratch, members, r, s, state, before
    )
    merged = 0.0
    for place in range(count):
        merged += force_move(model, graph, blocks, upper, scratch, members[place], r)
    state, u = uniform(state)
    if math.log(max(u, 1e-300)) < -merged + log_probability:
        return 1, merged
    for place in range(count):
        force_move(model, graph, blocks, upper, scratch, members[place], before[place])
    return 0, 0.0


@njit(nogil=True, cache=True)
def merge_split_steps(model, graph, blocks, upper, scratch, keys, most):
    """Make one step per key, of at most `most` nodes; return how many were accepted."""
    model, graph = borrow_without_refcount(model), borrow_without_refcount(graph)
    blocks, upper = borrow_without_refcount(blocks), borrow_without_refcount(upper)
    scratch = borrow_without_refcount(scratch)
    accepted = 0
    for i in range(len(keys)):
        accepted += merge_split_step(model, graph, blocks, upper, scratch, keys[i], most)[0]
    return accepted

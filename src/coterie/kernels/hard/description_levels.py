"""The levels above the blocks: their length, and how it changes when a part moves.

Used by the kernels of descriptions. Each level is the prior of the block matrix below it: a dense
multigraph, whose cells cost log of multisets(n_r n_s, e_rs), up to one group.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.hard.description_state import BLOCKS, NEVER
from coterie.kernels.hard.log_counts import log_choose, log_factorial, log_multisets, log_of
from coterie.kernels.numba.compile import njit

LEVELS_SLACK = 50.0  # emptying a block at a higher cost is not rescued by the levels above


@njit(nogil=True, cache=True)
def level_length(model, upper, level):
    """Return the length of one level above the blocks: its cells and its labels."""
    t, G = model.tables, upper.sizes.shape[1]
    total, groups, children = 0.0, 0, 0
    for R in range(G):
        n = upper.sizes[level, R]
        if n == 0:
            continue
        groups += 1
        children += n
        total -= log_factorial(t, n)
        total += log_multisets(t, n * (n + 1) // 2, upper.cells[level, R, R])
        for S in range(R):
            total += log_multisets(t, n * upper.sizes[level, S], upper.cells[level, R, S])
    return total + labels_length(t, children, groups)


@njit(forceinline=True, cache=True)
def labels_length(t, n, groups):
    """Return the length of the labels of n things without the sizes of their groups."""
    return log_factorial(t, n) + log_of(t, n) + log_choose(t, n - 1, groups - 1)


@njit(nogil=True, cache=True)
def top_length(model, upper):
    """Return the length of the cells of the highest level; 0 if it has one group."""
    G = 0
    for R in range(upper.sizes.shape[1]):
        G += upper.sizes[upper.depth - 1, R] > 0
    return log_multisets(model.tables, G * (G + 1) // 2, model.n_edges)


@njit(nogil=True, cache=True)
def upper_change(model, blocks, upper, scratch, part, a, b):
    """Return how the levels above change if the part moves from block a to block b.

    An empty block b joins the group of a. A move that would empty a group is not possible."""
    if upper.depth == 0 or a == b:
        return 0.0
    t = model.tables
    lost = blocks.sizes[a] == part.size
    made = blocks.sizes[b] == 0
    A = np.int64(upper.parents[0, a])
    C = A if made else np.int64(upper.parents[0, b])
    total = 0.0
    if lost != made:
        B, groups = blocks.scalars[BLOCKS], 0
        for R in range(upper.sizes.shape[1]):
            groups += upper.sizes[0, R] > 0
        after = B + (1 if made else -1)
        total += labels_length(t, after, groups) - labels_length(t, B, groups)
    if A == C:
        if lost != made:
            total += resized_row(t, upper, A, upper.sizes[0, A] + (1 if made else -1))
        return total
    if lost and upper.sizes[0, A] == 1:
        return NEVER
    now, later = 0, 1
    m = group_profile(upper, scratch, part)
    n_A = upper.sizes[0, A]
    if lost:  # first the smaller group, then the moved edges
        total += resized_row(t, upper, A, n_A - 1)
        n_A -= 1
    for level in range(upper.depth):
        n_C = upper.sizes[level, C]
        x = upper.sums[now]
        cells = upper.cells[level]
        for i in range(m):
            T = upper.touched[now, i]
            if T in (A, C):
                continue
            n_T = upper.sizes[level, T]
            total += log_multisets(t, n_A * n_T, cells[A, T] - x[T])
            total -= log_multisets(t, n_A * n_T, cells[A, T])
            total += log_multisets(t, n_C * n_T, cells[C, T] + x[T])
            total -= log_multisets(t, n_C * n_T, cells[C, T])
        total += log_multisets(t, n_A * n_C, cells[A, C] + x[A] - x[C])
        total -= log_multisets(t, n_A * n_C, cells[A, C])
        total += log_multisets(t, n_A * (n_A + 1) // 2, cells[A, A] - x[A] - part.loops)
        total -= log_multisets(t, n_A * (n_A + 1) // 2, cells[A, A])
        total += log_multisets(t, n_C * (n_C + 1) // 2, cells[C, C] + x[C] + part.loops)
        total -= log_multisets(t, n_C * (n_C + 1) // 2, cells[C, C])
        if level + 1 == upper.depth:
            break
        A, C = np.int64(upper.parents[level + 1, A]), np.int64(upper.parents[level + 1, C])
        if A == C:
            break
        m = lift(upper, level, now, later, m)
        now, later = later, now
        n_A = upper.sizes[level + 1, A]
    for i in range(m):
        upper.sums[now, upper.touched[now, i]] = 0
    return total


@njit(forceinline=True, cache=True)
def next_part(upper):
    """Forget what `group_change` has computed, for another part or other statistics."""
    upper.known[len(upper.changes)] += 1


@njit(forceinline=True, cache=True)
def group_change(model, blocks, upper, scratch, part, a, b):
    """Return `upper_change`, computed once per part for all blocks b of a group.

    It does not depend on b, unless b is empty."""
    if upper.depth == 0 or a == b:
        return 0.0
    if blocks.sizes[b] == 0:
        return upper_change(model, blocks, upper, scratch, part, a, b)
    C = upper.parents[0, b]
    if upper.known[C] != upper.known[len(upper.changes)]:
        upper.known[C] = upper.known[len(upper.changes)]
        upper.changes[C] = upper_change(model, blocks, upper, scratch, part, a, b)
    return upper.changes[C]


@njit(forceinline=True, cache=True)
def upper_relief(model, blocks, upper, scratch, part, a):
    """Return the most that the levels above can gain when the part moves from block a to a block
    that is not empty: what its edges cost in the cells of a's groups.

    A part that is the whole block changes the number of blocks too: LEVELS_SLACK."""
    if upper.depth == 0:
        return 0.0
    if blocks.sizes[a] == part.size:
        return LEVELS_SLACK
    t, A = model.tables, np.int64(upper.parents[0, a])
    now, later, total = 0, 1, 0.0
    m = group_profile(upper, scratch, part)
    for level in range(upper.depth):
        n_A, cells, x = upper.sizes[level, A], upper.cells[level], upper.sums[now]
        for i in range(m):
            T = upper.touched[now, i]
            if T != A:
                places = n_A * upper.sizes[level, T]
                total += log_multisets(t, places, cells[A, T])
                total -= log_multisets(t, places, cells[A, T] - x[T])
        total += log_multisets(t, n_A * (n_A + 1) // 2, cells[A, A])
        total -= log_multisets(t, n_A * (n_A + 1) // 2, cells[A, A] - x[A] - part.loops)
        if level + 1 < upper.depth:
            A = np.int64(upper.parents[level + 1, A])
            m = lift(upper, level, now, later, m)
            now, later = later, now
    for i in range(m):
        upper.sums[now, upper.touched[now, i]] = 0
    return total


@njit(forceinline=True, cache=True)
def group_profile(upper, scratch, part):
    """Sum the profile of the part over the groups of the first level, into Upper.sums[0] (OUT).

    Return the number of groups touched; they are in Upper.touched[0]."""
    m = 0
    for i in range(part.m):
        s = scratch.touched[i]
        T = upper.parents[0, s]
        if upper.sums[0, T] == 0:
            upper.touched[0, m] = T
            m += 1
        upper.sums[0, T] += scratch.x[s]
    return m


@njit(nogil=True, cache=True)
def lift(upper, level, now, later, m):
    """Sum the profile over the groups of the next level; return the number of groups touched."""
    count = 0
    for i in range(m):
        T = upper.touched[now, i]
        R = upper.parents[level + 1, T]
        if upper.sums[later, R] == 0:
            upper.touched[later, count] = R
            count += 1
        upper.sums[later, R] += upper.sums[now, T]
        upper.sums[now, T] = 0
    return count


@njit(nogil=True, cache=True)
def resized_row(t, upper, A, n):
    """Return how the first level changes if group A has n children, with the same edges."""
    before = upper.sizes[0, A]
    cells = upper.cells[0]
    total = log_factorial(t, before) - log_factorial(t, n)
    total += log_multisets(t, n * (n + 1) // 2, cells[A, A])
    total -= log_multisets(t, before * (before + 1) // 2, cells[A, A])
    for T in range(upper.sizes.shape[1]):
        if T != A and cells[A, T] > 0:
            other = upper.sizes[0, T]
            total += log_multisets(t, n * other, cells[A, T])
            total -= log_multisets(t, before * other, cells[A, T])
    return total


@njit(nogil=True, cache=True)
def shift_upper(upper, scratch, part, a, b):
    """Move the edges of the part in the cells of all levels above."""
    A, C = np.int64(upper.parents[0, a]), np.int64(upper.parents[0, b])
    now, later = 0, 1
    m = group_profile(upper, scratch, part)
    for level in range(upper.depth):
        if A == C:
            break
        cells, x = upper.cells[level], upper.sums[now]
        for i in range(m):
            T = upper.touched[now, i]
            w = x[T]
            cells[A, T] -= w
            if T != A:
                cells[T, A] -= w
            cells[C, T] += w
            if T != C:
                cells[T, C] += w
        cells[A, A] -= part.loops
        cells[C, C] += part.loops
        if level + 1 == upper.depth:
            break
        A, C = np.int64(upper.parents[level + 1, A]), np.int64(upper.parents[level + 1, C])
        m = lift(upper, level, now, later, m)
        now, later = later, now
    for i in range(m):
        upper.sums[now, upper.touched[now, i]] = 0


@njit(forceinline=True, cache=True)
def same_above(blocks, upper, part, a, b):
    """Whether the levels above stay the same if the part moves from a to b: most moves of a split.

    `upper_change` would find that too, but a call with so many arrays takes longer."""
    made = blocks.sizes[b] == 0
    if made != (blocks.sizes[a] == part.size):
        return False
    return made or upper.parents[0, a] == upper.parents[0, b]

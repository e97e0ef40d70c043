"""Merges, splits and moves of pieces of a partition by its description length.

Used by `models/hard/description/`. The change of every step is exact (`description.py`).
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.hard.description import change_of, move_node, shift_part
from coterie.kernels.hard.description_costs import block_costs
from coterie.kernels.hard.description_levels import group_change, next_part, upper_change
from coterie.kernels.hard.description_state import (
    BLOCKS,
    FREE,
    MIN_GAIN,
    block_part,
    category_of,
    forget,
    may_join,
    node_part,
)
from coterie.kernels.hard.sparse_rows import members_of
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.no_refcount import borrow_without_refcount
from coterie.kernels.numba.random import below, stream, uniform


@njit(forceinline=True, cache=True)
def list_merge_candidates(graph, blocks, scratch, start, nodes, r, state, tries, everything):
    """List blocks that block r may be merged with, r itself first; return how many.

    Blocks of neighbours and of neighbours of neighbours of random members, and a few random blocks;
    all blocks that are not empty with `everything`. scratch.marked is zeros again at the end."""
    labels, sizes = blocks.labels, blocks.sizes
    candidates, marked = scratch.candidates, scratch.marked
    K, members = len(sizes), start[r + 1] - start[r]
    marked[r] = 1
    candidates[0] = r
    count = 1
    for i in range(K if everything else 2 * tries):
        s = np.int64(i)
        if not everything:
            state, j = below(state, members)
            v = np.int64(nodes[start[r] + j])
            for _ in range(1 + (i % 3 > 0)):
                d = graph.indptr[v + 1] - graph.indptr[v]
                if d > 0:
                    state, j = below(state, d)
                    v = np.int64(graph.indices[graph.indptr[v] + j])
            s = np.int64(labels[v])
            if i % 8 == 7:
                state, s = below(state, K)
        if marked[s] == 1 or sizes[s] == 0:
            continue
        marked[s] = 1
        candidates[count] = s
        count += 1
    for i in range(count):
        marked[candidates[i]] = 0
    return count


@njit(nogil=True, cache=True)
def find_merges(
    model, graph, blocks, upper, scratch, start, nodes, which, key, tries, partner, change
):
    """Fill partner and change (OUT, one per block): the best of `tries` candidates of each block in
    `which`. The others stay as they are.

    Candidates are blocks of neighbours and of neighbours of neighbours of random members; all
    blocks if there are no more than `tries`. The profile of a block is read once."""
    model, graph = borrow_without_refcount(model), borrow_without_refcount(graph)
    blocks, upper = borrow_without_refcount(blocks), borrow_without_refcount(upper)
    scratch = borrow_without_refcount(scratch)
    for place in range(len(which)):
        r = which[place]
        if blocks.sizes[r] == 0 or is_frozen(graph, nodes[start[r] : start[r + 1]]):
            continue
        state = stream(key, r)
        part = block_part(blocks, r, scratch)
        next_part(upper)
        seen = list_merge_candidates(
            graph, blocks, scratch, start, nodes, r, state, tries, blocks.scalars[BLOCKS] <= tries
        )
        block_costs(model, blocks, scratch, part, r, seen)
        for i in range(1, seen):
            s = scratch.candidates[i]
            if not may_join(blocks, category_of(blocks, r), s):
                continue
            cost = scratch.costs[i] - scratch.costs[0]
            cost += group_change(model, blocks, upper, scratch, part, r, s)
            if cost < change[r]:
                change[r] = cost
                partner[r] = s
        forget(scratch, part.m)


@njit(nogil=True, cache=True)
def is_frozen(graph, members):
    """Return whether one of these nodes may not move."""
    if len(graph.ties) > 0:
        for i in range(len(members)):
            if graph.ties[members[i]] < 0:
                return True
    return False


@njit(nogil=True, cache=True)
def movable(graph, members):
    """Return a copy of the members with those that may move on their own."""
    if len(graph.ties) == 0:
        return members.copy()
    return members[graph.ties[members] == 0]


@njit(nogil=True, cache=True)
def merge_blocks(model, blocks, upper, scratch, start, nodes, order, partner, most, limit):
    """Merge blocks r of `order` with partner[r] while the exact change is below `limit`.

    A block takes part in one merge only, so the lists of members stay valid. At most `most`
    merges. Return (merges made, change)."""
    taken = scratch.marked
    made, total = 0, 0.0
    for i in range(len(order)):
        r = order[i]
        s = partner[r]
        if made == most:
            break
        if s < 0 or taken[r] == 1 or taken[s] == 1:
            continue
        part = block_part(blocks, r, scratch)
        change = change_of(model, blocks, upper, scratch, part, r, s)
        if change < limit:
            shift_part(model, blocks, upper, scratch, part, r, s)
            for j in range(start[r], start[r + 1]):
                blocks.labels[nodes[j]] = s
            taken[r] = 1
            taken[s] = 1
            made += 1
            total += change
        forget(scratch, part.m)
    taken[:] = 0
    return made, total


@njit(nogil=True, cache=True)
def settle_pair(model, graph, blocks, upper, scratch, members, r, s, passes):
    """Move members between blocks r and s only, each to the better one, for a few passes.

    Return the change. Neither block is emptied."""
    total = 0.0
    for _ in range(passes):
        moved = 0
        for i in range(len(members)):
            v = members[i]
            a = np.int64(blocks.labels[v])
            b = s if a == r else r
            if blocks.sizes[a] == 1:
                continue
            part = node_part(graph, blocks.labels, v, scratch)
            change = change_of(model, blocks, upper, scratch, part, a, b)
            if change < -MIN_GAIN:
                shift_part(model, blocks, upper, scratch, part, a, b)
                blocks.labels[v] = b
                total += change
                moved += 1
            forget(scratch, part.m)
        if moved * 200 <= len(members):
            break
    return total


@njit(nogil=True, cache=True)
def force_move(model, graph, blocks, upper, scratch, v, b):
    """Move node v to block b whatever it costs; return the change."""
    a = np.int64(blocks.labels[v])
    if a == b:
        return 0.0
    part = node_part(graph, blocks.labels, v, scratch)
    change = change_of(model, blocks, upper, scratch, part, a, b)
    shift_part(model, blocks, upper, scratch, part, a, b)
    blocks.labels[v] = b
    forget(scratch, part.m)
    return change


@njit(nogil=True, cache=True)
def scatter_members(model, graph, blocks, upper, scratch, members, r, s, state, way):
    """Distribute the members over blocks r and s anew; return (state, change).

    way 0: each at random. way 1: s grows from a random member along edges to half of them.
    way 2: one by one in random order, each to the better block so far (all but one start in r)."""
    total = 0.0
    n = len(members)
    if way == 0:
        for i in range(n):
            state, u = uniform(state)
            b = s if u < 0.5 else r
            if i == 0:
                b = r
            if i == 1:
                b = s
            total += force_move(model, graph, blocks, upper, scratch, members[i], b)
        return state, total
    for i in range(n):
        total += force_move(model, graph, blocks, upper, scratch, members[i], r)
    state, i = below(state, n)
    seed = members[i]
    total += force_move(model, graph, blocks, upper, scratch, seed, s)
    if way == 2:
        return state, total
    queue = np.empty(n, np.int64)
    queue[0] = seed
    done, count = 0, 1
    while done < count and 2 * count < n:
        v = queue[done]
        done += 1
        for e in range(graph.indptr[v], graph.indptr[v + 1]):
            w = graph.indices[e]
            if len(graph.ties) > 0 and graph.ties[w] != 0:
                continue
            if blocks.labels[w] == r and 2 * count < n and blocks.sizes[r] > 1:
                total += force_move(model, graph, blocks, upper, scratch, w, s)
                queue[count] = w
                count += 1
    return state, total


@njit(nogil=True, cache=True)
def try_split(model, graph, blocks, upper, scratch, members, r, s, key, attempts, passes, limit):
    """Distribute the members (those of r, and of s if it is not empty) over r and s anew; keep the
    best result if it is better than now by more than -limit. Return the change (0 if undone)."""
    n = len(members)
    if n < 2:
        return 0.0
    state = stream(key, r)
    before = np.empty(n, np.int32)
    best = np.empty(n, np.int32)
    for i in range(n):
        before[i] = blocks.labels[members[i]]
    low, found, now = limit, False, 0.0
    for attempt in range(attempts):
        for i in range(n - 1, 0, -1):
            state, j = below(state, i + 1)
            members[i], members[j] = members[j], members[i]
            before[i], before[j] = before[j], before[i]
            best[i], best[j] = best[j], best[i]
        state, change = scatter_members(
            model, graph, blocks, upper, scratch, members, r, s, state, attempt % 3
        )
        now += change
        now += settle_pair(model, graph, blocks, upper, scratch, members, r, s, passes)
        if now < low - MIN_GAIN:
            low, found = now, True
            for i in range(n):
                best[i] = blocks.labels[members[i]]
    goal = best if found else before
    for i in range(n):
        if goal[i] != blocks.labels[members[i]]:
            move_node(model, graph, blocks, upper, scratch, members[i], np.int64(goal[i]))
    return low if found else 0.0


@njit(nogil=True, cache=True)
def split_all(model, graph, blocks, upper, scratch, order, key, attempts, passes, limit=0.0):
    """Split each block of `order` if that changes the description length by less than `limit`;
    return (splits made, change)."""
    model, graph = borrow_without_refcount(model), borrow_without_refcount(graph)
    blocks, upper = borrow_without_refcount(blocks), borrow_without_refcount(upper)
    scratch = borrow_without_refcount(scratch)
    K = len(blocks.sizes)
    start, nodes = members_of(blocks.labels, K)
    made, total = 0, 0.0
    for i in range(len(order)):
        r = order[i]
        if blocks.scalars[FREE] == 0:
            break
        if blocks.sizes[r] < 2:
            continue
        s = blocks.free[blocks.scalars[FREE] - 1]
        members = movable(graph, nodes[start[r] : start[r + 1]])
        change = try_split(
            model, graph, blocks, upper, scratch, members, r, s, key, attempts, passes, limit
        )
        if change != 0.0:
            made += 1
            total += change
    return made, total


@njit(nogil=True, cache=True)
def resplit_pairs(model, graph, blocks, upper, scratch, order, partner, key, attempts, passes):
    """Distribute the members of r and partner[r] over the two anew; return (improved, change)."""
    model, graph = borrow_without_refcount(model), borrow_without_refcount(graph)
    blocks, upper = borrow_without_refcount(blocks), borrow_without_refcount(upper)
    scratch = borrow_without_refcount(scratch)
    K = len(blocks.sizes)
    made, total = 0, 0.0
    start, nodes = members_of(blocks.labels, K)
    dirty = np.zeros(K, np.bool_)
    for i in range(len(order)):
        r = order[i]
        s = partner[r]
        if s < 0 or dirty[r] or dirty[s] or blocks.sizes[r] == 0 or blocks.sizes[s] == 0:
            continue
        if upper.depth > 0 and upper.parents[0, r] != upper.parents[0, s]:
            continue  # a block that is empty for a moment would change its group
        members = np.concatenate(
            (
                movable(graph, nodes[start[r] : start[r + 1]]),
                movable(graph, nodes[start[s] : start[s + 1]]),
            )
        )
        change = try_split(
            model, graph, blocks, upper, scratch, members, r, s, key, attempts, passes, 0.0
        )
        if change < 0.0:
            made += 1
            total += change
            dirty[r] = True
            dirty[s] = True
    return made, total


@njit(nogil=True, cache=True)
def move_pieces(model, graph, blocks, upper, scratch, order, key, tries):
    """Move connected pieces of the blocks of `order` to other blocks, if that is shorter.

    A block of a sparse graph may consist of several pieces that are not connected inside the block,
    for example components of the graph. Moving a piece node by node is a climb over intermediate
    states that are worse, so a piece moves as a whole: it becomes a block of its own and is then
    merged with the best block, which may be the one it came from.

    Every piece except single nodes and those that are more than half of their block tries the
    blocks it has edges to, `tries` random ones, and a block of its own. Return (pieces moved,
    change)."""
    model, graph = borrow_without_refcount(model), borrow_without_refcount(graph)
    blocks, upper = borrow_without_refcount(blocks), borrow_without_refcount(upper)
    scratch = borrow_without_refcount(scratch)
    labels, sizes = blocks.labels, blocks.sizes
    start, nodes = members_of(labels, len(sizes))
    seen = np.zeros(len(labels), np.uint8)
    queue = np.empty(len(labels), np.int64)
    moved, total = 0, 0.0
    for i in range(len(order)):
        r = order[i]
        for j in range(start[r], start[r + 1]):
            if seen[nodes[j]] == 1 or labels[nodes[j]] != r or blocks.scalars[FREE] == 0:
                continue
            count = connected_piece(graph, labels, nodes[j], seen, queue)
            if count == 1 or 2 * count > sizes[r]:
                continue
            if len(graph.ties) > 0 and len(movable(graph, queue[:count])) < count:
                continue
            change = try_piece(
                model, graph, blocks, upper, scratch, queue[:count], r, stream(key, nodes[j]), tries
            )
            if change < 0.0:
                moved += 1
                total += change
    return moved, total


@njit(nogil=True, cache=True)
def move_groups(model, graph, blocks, upper, scratch, first, members, key, tries):
    """Move groups of nodes that stay together, members[first[g]:first[g + 1]], to other blocks if
    that is shorter; return (groups moved, change). A group that is a whole block is merged."""
    moved, total = 0, 0.0
    for g in range(len(first) - 1):
        piece = members[first[g] : first[g + 1]]
        r = np.int64(blocks.labels[piece[0]])
        if blocks.scalars[FREE] == 0 or len(piece) == blocks.sizes[r]:
            continue
        change = try_piece(
            model, graph, blocks, upper, scratch, piece, r, stream(key, piece[0]), tries
        )
        if change < 0.0:
            moved += 1
            total += change
    return moved, total


@njit(nogil=True, cache=True)
def connected_piece(graph, labels, v, seen, queue):
    """List in queue (OUT) the nodes of v's block that are connected with v inside it, and mark
    them in seen (IN/OUT); return how many."""
    r = labels[v]
    queue[0] = v
    seen[v] = 1
    done, count = 0, 1
    while done < count:
        u = queue[done]
        done += 1
        for e in range(graph.indptr[u], graph.indptr[u + 1]):
            w = graph.indices[e]
            if labels[w] == r and seen[w] == 0:
                seen[w] = 1
                queue[count] = w
                count += 1
    return count


@njit(nogil=True, cache=True)
def try_piece(model, graph, blocks, upper, scratch, piece, r, state, tries):
    """Move the nodes of `piece` from block r to the best block; return the change, 0 if none."""
    s = blocks.free[blocks.scalars[FREE] - 1]
    apart = 0.0
    for i in range(len(piece)):
        apart += force_move(model, graph, blocks, upper, scratch, piece[i], s)
    part = block_part(blocks, s, scratch)
    low, best = -MIN_GAIN, r
    if apart < low:
        low, best = apart, s
    K, done, candidates = len(blocks.sizes), 0, scratch.candidates
    while done < part.m + tries:  # as many at once as there is room for
        candidates[0] = s
        count, stop = 1, min(part.m + tries, done + K)
        for i in range(done, stop):
            if i < part.m:
                b = scratch.touched[i] % K
            else:
                state, b = below(state, K)
            if (
                b not in (r, s)
                and blocks.sizes[b] > 0
                and may_join(blocks, category_of(blocks, s), b)
            ):
                candidates[count] = b
                count += 1
        done = stop
        block_costs(model, blocks, scratch, part, s, count)
        for i in range(1, count):
            b = candidates[i]
            change = apart + scratch.costs[i] - scratch.costs[0]
            if change < low:
                change += upper_change(model, blocks, upper, scratch, part, s, b)
            if change < low:
                low, best = change, b
    if best != s:
        shift_part(model, blocks, upper, scratch, part, s, best)
        for i in range(len(piece)):
            blocks.labels[piece[i]] = best
    forget(scratch, part.m)
    return 0.0 if best == r else low

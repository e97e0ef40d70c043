"""Moves of connected pieces of blocks, judged by the description length.

Used by `models/hard/description/search.py`. A block of a sparse graph may consist of several
pieces that are not connected inside the block, for example components of the graph. Moving a piece
node by node is a climb over intermediate states that are worse, so a piece moves as a whole: it
becomes a block of its own and is then merged with the best block, which may be the one it came
from.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.hard.description import shift_part
from coterie.kernels.hard.description_costs import block_costs
from coterie.kernels.hard.description_levels import upper_change
from coterie.kernels.hard.description_moves import force_move
from coterie.kernels.hard.description_state import FREE, MIN_GAIN, block_part, forget
from coterie.kernels.hard.sparse_rows import members_of
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.no_refcount import borrow_without_refcount
from coterie.kernels.numba.random import below, stream


@njit(nogil=True, cache=True)
def move_pieces(model, graph, blocks, upper, scratch, order, key, tries):
    """Move connected pieces of the blocks of `order` to other blocks, if that is shorter.

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
            change = try_piece(
                model, graph, blocks, upper, scratch, queue[:count], r, stream(key, nodes[j]), tries
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
                b = scratch.touched[i]
            else:
                state, b = below(state, K)
            if b not in (r, s) and blocks.sizes[b] > 0:
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

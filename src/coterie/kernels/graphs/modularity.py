"""Communities of high modularity: local moves, refinement and aggregation, repeated.

Used by `anonymize/utility/communities.py`. The method follows V. A. Traag, L. Waltman and N. J. van
Eck, "From Louvain to Leiden: guaranteeing well-connected communities", Scientific Reports 9 (2019),
with the best move instead of a random one in the refinement. Every community is connected.

    indptr, indices   rows of the graph at the current level: the original or an aggregated one
    weights           int64, one per entry of `indices`: edges of the original between two nodes
    strength          int64, per node: sum of the original degrees of everybody in it
    total             int64: sum of all degrees, twice the number of edges
    labels            int64, per node: its community, smaller than the number of nodes

A move of v into community c is worth total * w(v, c) - strength(v) * strength(c). All sums are
integers, so results are the same on every machine. O(edges) per pass.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import below, stream


@njit(nogil=True, cache=True)
def _shuffled(n, key, counter):
    """Return 0..n-1 in random order."""
    order = np.arange(n)
    state = stream(key, counter)
    for i in range(n - 1, 0, -1):
        state, j = below(state, i + 1)
        order[i], order[j] = order[j], order[i]
    return order


@njit(nogil=True, cache=True)
def _move_nodes(indptr, indices, weights, strength, total, labels, key, counter):
    """Move nodes to the community with the largest gain until no single move helps.

    Nodes wait in a queue. A node that moves puts its neighbours outside its new community back
    into the queue. A node may also move to a community of its own.
    """
    n = len(indptr) - 1
    of_community = np.zeros(n, np.int64)
    members = np.zeros(n, np.int64)
    for v in range(n):
        of_community[labels[v]] += strength[v]
        members[labels[v]] += 1
    empty = np.empty(n, np.int64)
    n_empty = 0
    for c in range(n):
        if members[c] == 0:
            empty[n_empty] = c
            n_empty += 1
    queue = _shuffled(n, key, counter)
    waiting = np.ones(n, np.bool_)
    first, in_queue = 0, n
    weight_to = np.zeros(n, np.int64)
    near = np.empty(n, np.int64)
    while in_queue > 0:
        v = queue[first]
        first = first + 1 if first + 1 < n else 0
        in_queue -= 1
        waiting[v] = False
        here = labels[v]
        n_near = 0
        for slot in range(indptr[v], indptr[v + 1]):
            c = labels[indices[slot]]
            if weight_to[c] == 0:
                near[n_near] = c
                n_near += 1
            weight_to[c] += weights[slot]
        of_community[here] -= strength[v]
        best = here
        best_gain = total * weight_to[here] - strength[v] * of_community[here]
        if best_gain < 0 and members[here] > 1:
            best, best_gain = np.int64(-1), np.int64(0)
        for i in range(n_near):
            c = near[i]
            gain = total * weight_to[c] - strength[v] * of_community[c]
            if gain > best_gain:
                best, best_gain = c, gain
            weight_to[c] = 0
        if best < 0:
            n_empty -= 1
            best = empty[n_empty]
        of_community[best] += strength[v]
        if best == here:
            continue
        labels[v] = best
        members[best] += 1
        members[here] -= 1
        if members[here] == 0:
            empty[n_empty] = here
            n_empty += 1
        for slot in range(indptr[v], indptr[v + 1]):
            u = indices[slot]
            if not waiting[u] and labels[u] != best:
                last = first + in_queue
                queue[last if last < n else last - n] = u
                waiting[u] = True
                in_queue += 1


@njit(nogil=True, cache=True)
def _refine(indptr, indices, weights, strength, total, labels, key, counter):
    """Return parts of the communities that are well connected inside, built from single nodes.

    A node that is still alone joins the part of its community with the largest gain, if both have
    at least as many edges to the rest of the community as their degrees let expect.
    """
    n = len(indptr) - 1
    of_community = np.zeros(n, np.int64)
    inner = np.zeros(n, np.int64)  # weight of a node to the rest of its community
    for v in range(n):
        of_community[labels[v]] += strength[v]
        for slot in range(indptr[v], indptr[v + 1]):
            if labels[indices[slot]] == labels[v]:
                inner[v] += weights[slot]
    part = np.arange(n)
    of_part = strength.copy()
    outside = inner.copy()  # weight of a part to the rest of its community
    alone = np.ones(n, np.bool_)
    weight_to = np.zeros(n, np.int64)
    near = np.empty(n, np.int64)
    for v in _shuffled(n, key, counter):
        around = of_community[labels[v]]
        if not alone[v] or total * inner[v] < strength[v] * (around - strength[v]):
            continue
        n_near = 0
        for slot in range(indptr[v], indptr[v + 1]):
            u = indices[slot]
            if labels[u] == labels[v]:
                if weight_to[part[u]] == 0:
                    near[n_near] = part[u]
                    n_near += 1
                weight_to[part[u]] += weights[slot]
        best, best_gain, best_weight = v, np.int64(0), np.int64(0)
        for i in range(n_near):
            c = near[i]
            gain = total * weight_to[c] - strength[v] * of_part[c]
            if gain > best_gain and total * outside[c] >= of_part[c] * (around - of_part[c]):
                best, best_gain, best_weight = c, gain, weight_to[c]
            weight_to[c] = 0
        if best != v:
            part[v] = best
            alone[v] = False
            alone[best] = False
            of_part[best] += strength[v]
            outside[best] += inner[v] - 2 * best_weight
    return part


@njit(nogil=True, cache=True)
def _renumber(labels):
    """Number the labels 0, 1, 2 … by first appearance, in place; return how many there are."""
    number = np.full(len(labels), -1, np.int64)
    count = 0
    for v in range(len(labels)):
        if number[labels[v]] < 0:
            number[labels[v]] = count
            count += 1
        labels[v] = number[labels[v]]
    return count


@njit(nogil=True, cache=True)
def _aggregate(indptr, indices, weights, strength, part, n_parts):
    """Return the graph whose nodes are the parts; edges inside a part are left out."""
    start = np.zeros(n_parts + 1, np.int64)
    joined = np.zeros(n_parts, np.int64)
    n = len(part)
    for v in range(n):
        start[part[v] + 1] += 1
        joined[part[v]] += strength[v]
    for c in range(n_parts):
        start[c + 1] += start[c]
    members = np.empty(n, np.int64)
    fill = start[:-1].copy()
    for v in range(n):
        members[fill[part[v]]] = v
        fill[part[v]] += 1
    new_indptr = np.zeros(n_parts + 1, np.int64)
    new_indices = np.empty_like(indices)
    new_weights = np.empty_like(weights)
    place = np.full(n_parts, -1, np.int64)  # where the current row has each neighbour
    filled = 0
    for c in range(n_parts):
        row = filled
        for i in range(start[c], start[c + 1]):
            v = members[i]
            for slot in range(indptr[v], indptr[v + 1]):
                d = part[indices[slot]]
                if d == c:
                    continue
                if place[d] < row:
                    place[d] = filled
                    new_indices[filled] = d
                    new_weights[filled] = 0
                    filled += 1
                new_weights[place[d]] += weights[slot]
        new_indptr[c + 1] = filled
    return new_indptr, new_indices[:filled].copy(), new_weights[:filled].copy(), joined


@njit(nogil=True, cache=True)
def scaled_modularity(indptr, indices, weights, strength, labels):
    """Return modularity times (sum of degrees) squared, as an exact integer.

    Edges that an aggregated node has inside itself are not counted; they are inside a community in
    any case.
    """
    of_community = np.zeros(len(labels), np.int64)
    total = inside = np.int64(0)
    for v in range(len(labels)):
        of_community[labels[v]] += strength[v]
        total += strength[v]
        for slot in range(indptr[v], indptr[v + 1]):
            if labels[indices[slot]] == labels[v]:
                inside += weights[slot]
    value = total * inside
    for c in range(len(labels)):
        value -= of_community[c] * of_community[c]
    return value


def modular_communities(
    indptr: np.ndarray, indices: np.ndarray, key: np.uint64, max_passes: int
) -> np.ndarray:
    """Return the community of every node (int64, numbered by first appearance).

    A pass starts from the communities of the pass before, and goes up through aggregated graphs
    until nothing moves. Passes stop when modularity does not increase any more.

    Not a kernel: that would be compiled with a second copy of `weighted_communities`.
    """
    weights = np.ones(len(indices), np.int64)
    found: np.ndarray = weighted_communities(
        indptr, indices, weights, np.diff(indptr), key, max_passes
    )
    return found


@njit(nogil=True, cache=True)
def weighted_communities(indptr, indices, weights, strength, key, max_passes):
    """Return the communities of an aggregated graph, see `modular_communities`."""
    n = len(indptr) - 1
    total = np.int64(strength.sum())
    labels = np.arange(n)
    before = scaled_modularity(indptr, indices, weights, strength, labels)
    counter = 0
    for _ in range(max_passes):
        level_ptr, level_indices, level_weights, level_strength = indptr, indices, weights, strength
        node_of = np.arange(n)  # the node of the current level that contains each original node
        communities = labels.copy()
        while True:
            _move_nodes(
                level_ptr,
                level_indices,
                level_weights,
                level_strength,
                total,
                communities,
                key,
                counter,
            )
            n_communities = _renumber(communities)
            part = _refine(
                level_ptr,
                level_indices,
                level_weights,
                level_strength,
                total,
                communities,
                key,
                counter + 1,
            )
            counter += 2
            n_parts = _renumber(part)
            if n_parts == len(part) or n_communities == len(part):
                break
            above = np.empty(n_parts, np.int64)
            for v in range(len(part)):
                above[part[v]] = communities[v]
            communities = above
            for v in range(n):
                node_of[v] = part[node_of[v]]
            level_ptr, level_indices, level_weights, level_strength = _aggregate(
                level_ptr, level_indices, level_weights, level_strength, part, n_parts
            )
        found = communities[node_of]
        after = scaled_modularity(indptr, indices, weights, strength, found)
        if after <= before:
            break
        labels, before = found, after
    _renumber(labels)
    return labels

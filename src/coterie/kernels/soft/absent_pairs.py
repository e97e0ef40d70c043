"""Absent pairs of a graph as observations, for one block of rows.

Θ_0 is the theta of level "absent", P = 1 - Θ_0 that of "present" (all its levels together). For a
row u

    z_uv = h_u · P h_v,    a_u = Σ over absent v ≠ u of h_v / (1 - z_uv).

The pass adds h_u * Θ_0 a_u to the row's numerator and h_u a_uᵀ to η_0. `absent_exact` visits every
pair, O(n k) per row. `absent_sampled` computes the first two terms of
1/(1 - z) = 1 + z + z²/(1 - z) in closed form and estimates the small rest from s draws of v with
probability z_uv / Z_u. Letters as in `kernels/soft/em.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.kernels.numba.alias import draw
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import stream, uniform
from coterie.kernels.soft.em import FAST, IMPOSSIBLE, add_log, credit, dot, expect

_SERIES_BELOW = 0.02


class PairBlock(NamedTuple):
    """Present pairs of consecutive rows of a graph; all other pairs are absent."""

    ends: np.ndarray  # int64, rows + 1: row u has indices[ends[u]:ends[u + 1]]
    indices: np.ndarray  # int32, neighbours in ascending order


class NodeSums(NamedTuple):
    """Sums over all nodes, and alias tables that draw a node by its membership of a group."""

    total: np.ndarray  # k: Σ h_v
    outer: np.ndarray  # k × k: Σ h_v h_vᵀ
    keep: np.ndarray  # k × n: alias tables over nodes, one per group
    other: np.ndarray  # k × n


@njit(nogil=True, cache=True, fastmath=FAST)
def membership_sums(nodes):
    """Return (Σ h_v, Σ h_v h_vᵀ) over the given nodes."""
    k = nodes.shape[1]
    total, outer = np.zeros(k), np.zeros((k, k))
    for v in range(len(nodes)):
        for i in range(k):
            weight = nodes[v, i]
            if weight > 0.0:
                total[i] += weight
                for j in range(k):
                    outer[i, j] += weight * nodes[v, j]
    return total, outer


@njit(nogil=True, cache=True, fastmath=FAST)
def absent_exact(block, first, rows, nodes, theta_0, row_sums, eta_0):
    """Add the absent pairs of rows first, first + 1 … to row_sums, eta_0; return their entropy."""
    k = nodes.shape[1]
    q, a = np.empty(k), np.empty(k)
    entropy, product = 0.0, 1.0
    for u in range(len(rows)):
        expect(rows[u], theta_0, q)
        a[:] = 0.0
        place, end = block.ends[u], block.ends[u + 1]
        for v in range(len(nodes)):
            if place < end and block.indices[place] == v:
                place += 1
                continue
            if v == first + u:
                continue
            h = nodes[v]
            y = dot(h, q)
            product, entropy = add_log(y, product, entropy)
            if y > IMPOSSIBLE:
                weight = 1.0 / y
                for i in range(k):
                    a[i] += weight * h[i]
        credit(rows[u], theta_0, a, row_sums[u], eta_0)
    return entropy - np.log(product)


@njit(nogil=True, cache=True, fastmath=FAST)
def absent_sampled(block, first, rows, nodes, theta_0, node_sums, samples, key, row_sums, eta_0):
    """Estimate `absent_exact` without bias from `samples` draws per row, in the stream of `key`."""
    k = nodes.shape[1]
    presence = 1.0 - theta_0
    q, absence, a, cumulative = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    entropy = 0.0
    state = stream(key, 0)
    for u in range(len(rows)):
        own = first + u
        neighbours = block.indices[block.ends[u] : block.ends[u + 1]]
        expect(rows[u], presence, q)
        expect(rows[u], theta_0, absence)
        entropy += closed_form_terms(own, neighbours, nodes, node_sums.total, node_sums.outer, q, a)
        mass = 0.0
        for i in range(k):
            mass += q[i] * node_sums.total[i]
            cumulative[i] = mass
        if mass > 0.0:
            share = mass / samples
            for _ in range(samples):
                state, chance = uniform(state)
                i = min(np.searchsorted(cumulative, chance * mass, side="right"), k - 1)
                state, node = draw(node_sums.keep[i], node_sums.other[i], state)
                v = np.int64(node)
                if v == own or contains(neighbours, v):
                    continue
                h = nodes[v]
                z = dot(h, q)
                y = 1.0 - z if z < 0.5 else dot(h, absence)
                if z > 0.0 and y > IMPOSSIBLE:
                    weight = share * z / y
                    for n in range(k):
                        a[n] += weight * h[n]
                    entropy += share * log_remainder(z, y)
        for i in range(k):
            a[i] = max(a[i], 0.0)  # rounding may leave -1e-16 if no pair is absent
        credit(rows[u], theta_0, a, row_sums[u], eta_0)
    return entropy


@njit(nogil=True, cache=True, fastmath=FAST)
def closed_form_terms(own, neighbours, nodes, total, outer, q, a):
    """Set a = Σ (1 + z) h_v over the absent v of one row; return Σ z + z²/2 over them."""
    k = len(q)
    first = second = 0.0
    for i in range(k):
        reach = dot(outer[i], q)
        a[i] = total[i] + reach
        first += q[i] * total[i]
        second += q[i] * reach
    for place in range(-1, len(neighbours)):
        v = own if place < 0 else neighbours[place]
        h = nodes[v]
        z = dot(h, q)
        first -= z
        second -= z * z
        for i in range(k):
            a[i] -= (1.0 + z) * h[i]
    return first + 0.5 * second


@njit(inline="always", cache=True)
def log_remainder(z, y):
    """Return (-log y - z - z²/2) / z with y = 1 - z, by its series where digits would cancel."""
    if z < _SERIES_BELOW:
        return z * z * (1 / 3 + z * (1 / 4 + z * (1 / 5 + z * (1 / 6 + z * (1 / 7 + z / 8)))))
    return (-np.log(y) - z - 0.5 * z * z) / z


@njit(inline="always", cache=True)
def contains(sorted_numbers, wanted):
    """Return whether a number is in an ascending array."""
    place = np.searchsorted(sorted_numbers, wanted)
    return place < len(sorted_numbers) and sorted_numbers[place] == wanted

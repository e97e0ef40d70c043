"""Predictions, explanations and similarities from the samples of an additive block model.

T samples, L partitions, k x l groups, K factors, R levels, S styles. The location of a pair in
sample t is f = b_u + b_v + p_u . q_v + sum_s M[t, s, g[t, u, s], h[t, v, s]]. A sample holds the
means of the offsets and factors, conditional on everything else in it, and w, the variance that
their distributions add to f; the variances are integrated out:
P(rating <= r) = Phi((C[style_u, r] - f) / sqrt(1 + w_u + w_v)). Drawn offsets would need many more
samples if a user has only two or three ratings.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from coterie.kernels.additive.distributions import cdf, density, fast_cdf
from coterie.kernels.additive.factors import solve_lower, solve_upper
from coterie.kernels.additive.fold_in import posterior_root
from coterie.kernels.numba.compile import njit

# Gauss-Hermite quadrature: the mean of a function of a standard normal number
_PLACES = np.array([-2.8569700, -1.3556262, 0.0, 1.3556262, 2.8569700])
_WEIGHTS = np.array([0.01125741, 0.22207592, 0.53333333, 0.22207592, 0.01125741])
_LEAST = 1e-9  # lower bound of a probability, so that its logarithm is finite
_MAX_USERS = 2000  # users that similarities between items are averaged over


class Samples(NamedTuple):
    """The samples of all chains, chain after chain: everything that predictions need."""

    user_labels: np.ndarray  # uint8, T x users x L
    item_labels: np.ndarray  # uint8, T x items x L
    effects: np.ndarray  # float32, T x L x k x l
    user_offsets: np.ndarray  # float32, T x users: mean …
    item_offsets: np.ndarray  # float32, T x items
    user_spreads: np.ndarray  # float32, T x users: … and variance of the offset
    item_spreads: np.ndarray  # float32, T x items
    cuts: np.ndarray  # float32, T x S x (R + 1); the outer ones stand for -inf and inf
    styles: np.ndarray  # uint8, T x users
    precisions: np.ndarray  # float32, T x 2: of the users' and of the items' offsets
    user_factors: np.ndarray  # float32, T x users x K
    item_factors: np.ndarray  # float32, T x items x K
    user_links: np.ndarray  # float32, T x user features x (K + 1): of factors, and of the offset
    item_links: np.ndarray  # float32, T x item features x (K + 1)
    factor_precisions: np.ndarray  # float32, T x 2 x (K + 1): of user and of item factors


@njit(nogil=True, cache=True)
def _user_table(labels, effects, table):
    """Set table (L x l) to the effect of each item label on a user with these labels."""
    for s in range(table.shape[0]):
        i = labels[s]
        for j in range(table.shape[1]):
            table[s, j] = effects[s, i, j]


@njit(nogil=True, cache=True)
def _has_effects(effects):
    """Return whether a sample has groups; those of chains without groups are all 0."""
    found = False
    for s in range(effects.shape[0]):
        for i in range(effects.shape[1]):
            for j in range(effects.shape[2]):
                found = found or effects[s, i, j] != 0.0
    return found


@njit(nogil=True, cache=True, fastmath=True)
def _locations(samples, t, u, items, table, where, scales):
    """Set where and scales, so that Phi(cut * scale - where) is a cumulative probability."""
    L, K = table.shape[0], samples.user_factors.shape[2]
    own = samples.user_factors[t, u]
    labels, factors = samples.item_labels[t], samples.item_factors[t]
    offsets, spreads = samples.item_offsets[t], samples.item_spreads[t]
    offset, spread = samples.user_offsets[t, u], np.float32(1.0) + samples.user_spreads[t, u]
    for p in range(len(items)):
        v = items[p]
        f = offset + offsets[v]
        theirs = factors[v]
        product = np.float32(0.0)
        for k in range(K):
            product += own[k] * theirs[k]
        for s in range(L):
            f += table[s, labels[v, s]]
        scale = np.float32(1.0) / np.sqrt(spread + spreads[v])
        where[p] = (f + product) * scale
        scales[p] = scale


@njit(nogil=True, cache=True)
def _add_cumulative(cut, where, scales, below):
    """Add P(rating <= r), r the level under this cutpoint, to below."""
    for p in range(len(where)):
        below[p] += fast_cdf(cut * scales[p] - where[p])


@njit(nogil=True, cache=True)
def distributions(samples, users, items, begin, end):
    """Return P(r | u, v), averaged over the samples, for pairs begin..end: (end - begin) x R.

    Consecutive pairs of one user share the user's table, so sort the pairs by user. Samples are the
    outer loop, because the labels of one sample fit the cache and those of all samples do not.
    """
    T, L, _, l = samples.effects.shape  # noqa: E741
    R, count = samples.cuts.shape[2] - 1, end - begin
    below = np.zeros((R + 1, count), np.float32)
    table = np.empty((L, l), np.float32)
    where, scales = np.empty(count, np.float32), np.empty(count, np.float32)
    for t in range(T):
        used = table if _has_effects(samples.effects[t]) else table[:0]
        first = begin
        while first < end:
            u, last = users[first], first + 1
            while last < end and users[last] == u:
                last += 1
            a, b = first - begin, last - begin
            _user_table(samples.user_labels[t, u], samples.effects[t], used)
            _locations(samples, t, u, items[first:last], used, where[a:b], scales[a:b])
            cuts = samples.cuts[t, samples.styles[t, u]]
            for r in range(R - 1):
                _add_cumulative(cuts[r + 1], where[a:b], scales[a:b], below[r + 1, a:b])
            first = last
    below[R] = T
    out = np.empty((count, R))
    for p in range(count):
        for r in range(R):
            out[p, r] = max((below[r + 1, p] - below[r, p]) / T, _LEAST)
    return out


@njit(nogil=True, cache=True)
def _expected(cuts, values, f, scale):
    """Return the expected rating at location f."""
    R = len(values)
    total = values[R - 1]
    for r in range(R - 1):
        total -= cdf((cuts[r + 1] - f) * scale) * (values[r + 1] - values[r])
    return total


@njit(nogil=True, cache=True)
def explanations(samples, values, u, v, begin, end):
    """Return how much each part of the model adds to the expected rating, over samples begin..end.

    The difference E(f) - E(0) of a sample's expected ratings is divided in proportion to the parts
    of f (integrated gradients along the straight line from 0 to f). The result is summed over the
    samples: E(0), the user's offset, the item's offset, the factors, then the L partitions.
    """
    L, K = samples.effects.shape[1], samples.user_factors.shape[2]
    parts = np.zeros(L + 4)
    own = np.empty(L + 3)
    for t in range(begin, end):
        own[0] = samples.user_offsets[t, u]
        own[1] = samples.item_offsets[t, v]
        own[2] = 0.0
        for k in range(K):
            own[2] += samples.user_factors[t, u, k] * samples.item_factors[t, v, k]
        for s in range(L):
            i, j = samples.user_labels[t, u, s], samples.item_labels[t, v, s]
            own[s + 3] = samples.effects[t, s, i, j]
        base, rate = _base_and_rate(samples, values, t, u, v, own.sum())
        parts[0] += base
        parts[1:] += own * rate
    return parts


@njit(nogil=True, cache=True)
def _base_and_rate(samples, values, t, u, v, f):
    """Return the expected rating at location 0, and what a unit of the location f adds to it."""
    cuts = samples.cuts[t, samples.styles[t, u]]
    scale = 1.0 / math.sqrt(1.0 + samples.user_spreads[t, u] + samples.item_spreads[t, v])
    base = _expected(cuts, values, 0.0, scale)
    whole = _expected(cuts, values, f, scale)
    if abs(f) > 1e-6:
        return base, (whole - base) / f
    return whole, 0.0


@njit(nogil=True, cache=True)
def _location(samples, t, u, v):
    """Return (location of a pair without the factors, product of the factors)."""
    f, product = samples.user_offsets[t, u] + samples.item_offsets[t, v], 0.0
    for s in range(samples.effects.shape[1]):
        f += samples.effects[t, s, samples.user_labels[t, u, s], samples.item_labels[t, v, s]]
    for k in range(samples.user_factors.shape[2]):
        product += samples.user_factors[t, u, k] * samples.item_factors[t, v, k]
    return f, product


@njit(nogil=True, cache=True)
def squared_expectations(samples, values, users, items):
    """Return the mean of E(r | f)^2 for each pair, over all that is unknown about f."""
    T, out = len(samples.cuts), np.zeros(len(users))
    for p in range(len(users)):
        u, v = users[p], items[p]
        for t in range(T):
            f, product = _location(samples, t, u, v)
            spread = math.sqrt(samples.user_spreads[t, u] + samples.item_spreads[t, v])
            cuts = samples.cuts[t, samples.styles[t, u]]
            for k in range(len(_PLACES)):
                mean = _expected(cuts, values, f + product + spread * _PLACES[k], 1.0)
                out[p] += _WEIGHTS[k] * mean * mean / T
    return out


@njit(nogil=True, cache=True)
def influences(samples, values, u, v, others, levels, chosen):
    """Return what each of a user's ratings adds to the expected rating of item v by its factors.

    The user's factors are p = A^-1 (L m + sum_e q_e w_e), where L and m are prior precisions and
    means, A = L + sum_e q_e q_e', and w_e is what rating e says about p . q_e: its expected latent
    value minus offsets and groups. So p . q_v contains (q_v' A^-1 q_e) w_e. Also returned is the
    sum of w_e: above 0, the rating is higher than offsets and groups suggest. Both are means over
    the chosen samples.
    """
    K, n = samples.user_factors.shape[2], len(others)
    shares, excess = np.zeros(n), np.zeros(n)
    A, h = np.zeros((K, K)), np.zeros(K)
    for t in chosen:
        factors = samples.item_factors[t]
        cuts = samples.cuts[t, samples.styles[t, u]]
        f, product = _location(samples, t, u, v)
        _, rate = _base_and_rate(samples, values, t, u, v, f + product)
        posterior_root(factors, others, samples.factor_precisions[t, 0], A)
        for k in range(K):
            h[k] = factors[v, k]
        solve_lower(A, h)
        solve_upper(A, h)
        for e in range(n):
            f, product = _location(samples, t, u, others[e])
            low = cuts[levels[e]] - f - product
            high = cuts[levels[e] + 1] - f - product
            inside = max(cdf(high) - cdf(low), _LEAST)
            w = product + (density(low) - density(high)) / inside
            weight = 0.0
            for k in range(K):
                weight += factors[others[e], k] * h[k]
            shares[e] += rate * weight * w / len(chosen)
            excess[e] += w / len(chosen)
    return shares, excess


@njit(nogil=True, cache=True)
def _factor_covariance(factors):
    """Return the covariance of the users' factors, from evenly spaced users."""
    n, K = factors.shape
    step = max(1, n // _MAX_USERS)
    mean, C, count = np.zeros(K), np.zeros((K, K)), 0
    for u in range(0, n, step):
        count += 1
        for i in range(K):
            mean[i] += factors[u, i]
            for j in range(K):
                C[i, j] += factors[u, i] * factors[u, j]
    for i in range(K):
        for j in range(K):
            C[i, j] = C[i, j] / count - mean[i] * mean[j] / (count * count)
    return C

"""Predictions, explanations and similarities from the samples of an additive block model.

T samples, L partitions, k x l groups, R levels, S styles. The location of a pair in sample t is
f = b_u + b_v + sum_s M[t, s, g[t, u, s], h[t, v, s]]. A sample holds the mean and the variance of
the offsets, conditional on everything else in it, and the variances w are integrated out:
P(rating <= r) = Phi((C[style_u, r] - f) / sqrt(1 + w_u + w_v)). Drawn offsets would need many more
samples if a user has only two or three ratings.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from coterie.kernels.additive.distributions import cdf
from coterie.kernels.numba.dispatch import njit


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


@njit(nogil=True, cache=True)
def _user_table(samples, t, u, table):
    """Set table (L x l) to the effect of each item label on user u in sample t."""
    for s in range(table.shape[0]):
        i = samples.user_labels[t, u, s]
        for j in range(table.shape[1]):
            table[s, j] = samples.effects[t, s, i, j]


@njit(nogil=True, cache=True)
def distributions(samples, users, items, begin, end):
    """Return P(r | u, v), averaged over the samples, for pairs begin..end: (end - begin) x R.

    Consecutive pairs of one user share the user's table, so sort the pairs by user. Samples are the
    outer loop, because the labels of one sample fit the cache and those of all samples do not.
    """
    T, L, _, l = samples.effects.shape  # noqa: E741
    R = samples.cuts.shape[2] - 1
    out = np.zeros((end - begin, R))
    table = np.empty((L, l), np.float32)
    for t in range(T):
        item_labels, item_offsets = samples.item_labels[t], samples.item_offsets[t]
        item_spreads = samples.item_spreads[t]
        last = -1
        cuts, offset, spread = samples.cuts[t, 0], np.float32(0.0), 1.0
        for p in range(begin, end):
            u, v = users[p], items[p]
            if u != last:
                last = u
                _user_table(samples, t, u, table)
                offset = samples.user_offsets[t, u]
                spread = 1.0 + samples.user_spreads[t, u]
                cuts = samples.cuts[t, samples.styles[t, u]]
            f = np.float64(offset) + item_offsets[v]
            for s in range(L):
                f += table[s, item_labels[v, s]]
            scale = 1.0 / math.sqrt(spread + item_spreads[v])
            row = out[p - begin]
            below = 0.0
            for r in range(R - 1):
                upto = cdf((cuts[r + 1] - f) * scale)
                row[r] += upto - below
                below = upto
            row[R - 1] += 1.0 - below
    out /= T
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
    samples: E(0), the user's offset, the item's offset, then the L partitions.
    """
    L = samples.effects.shape[1]
    parts = np.zeros(L + 3)
    own = np.empty(L + 2)
    for t in range(begin, end):
        own[0] = samples.user_offsets[t, u]
        own[1] = samples.item_offsets[t, v]
        for s in range(L):
            i, j = samples.user_labels[t, u, s], samples.item_labels[t, v, s]
            own[s + 2] = samples.effects[t, s, i, j]
        f = own.sum()
        cuts = samples.cuts[t, samples.styles[t, u]]
        scale = 1.0 / math.sqrt(1.0 + samples.user_spreads[t, u] + samples.item_spreads[t, v])
        base = _expected(cuts, values, 0.0, scale)
        whole = _expected(cuts, values, f, scale)
        rate = (whole - base) / f if abs(f) > 1e-6 else 0.0
        parts[0] += base if abs(f) > 1e-6 else whole
        parts[1:] += own * rate
    return parts


@njit(nogil=True, cache=True)
def item_similarities(samples, v):
    """Return the correlation of each item's effects with item v's, averaged over samples."""
    T, L, _, l = samples.effects.shape  # noqa: E741
    m = samples.item_labels.shape[1]
    out = np.zeros(m)
    grouped = 0  # samples with groups: the others have no effects to compare
    inner = np.empty((L, l, l))
    for t in range(T):
        for s in range(L):
            M = samples.effects[t, s].astype(np.float64)
            for j in range(l):
                M[:, j] -= M[:, j].mean()
            for a in range(l):
                for b in range(l):
                    inner[s, a, b] = (M[:, a] * M[:, b]).sum()
        mine = samples.item_labels[t, v]
        own = 0.0
        for s in range(L):
            own += inner[s, mine[s], mine[s]]
        grouped += own > 0.0
        for w in range(m):
            cross, other = 0.0, 0.0
            for s in range(L):
                j = samples.item_labels[t, w, s]
                cross += inner[s, mine[s], j]
                other += inner[s, j, j]
            if own > 0.0 and other > 0.0:
                out[w] += cross / math.sqrt(own * other)
    return out / max(grouped, 1)

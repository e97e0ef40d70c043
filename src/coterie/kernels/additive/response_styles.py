"""Response styles of the additive block model: each user uses the rating scale in one of S ways.

A style is a row of cutpoints C[s, 0..R] with C[s, 0] = -inf and C[s, R] = +inf (here -40 and 40):
P(level r | f) = Phi(C[s, r + 1] - f) - Phi(C[s, r] - f), where f = z - x is the location of a pair.
Functions of f are tabulated at nodes 1/32 apart and interpolated, accurate to 1e-4 of a log
probability: exact values would cost more than the rest of a sweep.
"""

from __future__ import annotations

import math

import numpy as np

from coterie.kernels.additive.distributions import cdf, density, gamma
from coterie.kernels.additive.sweep import draw_category
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.copies import copy_into

_LEAST = 1e-9  # lower bound of a probability: one odd rating must not decide a style
_BATCH = 32  # probabilities of at least 1e-9 whose product does not underflow
_GAP = 1e-3  # minimum distance of two cutpoints, so that every level stays possible
FREE_LEVELS = 10  # with more levels, styles differ by smooth functions only
_SPAN = 6.0  # locations outside -6..6 are clipped
_NODES = 32.0  # nodes per unit
_COUNT = 385  # nodes from -6 to 6


@njit(forceinline=True, cache=True)
def interval_probability(low, high, f):
    """Return the probability of the interval low..high at location f."""
    return max(cdf(high - f) - cdf(low - f), _LEAST)


@njit(forceinline=True, cache=True)
def _node(f):
    """Return (node below f, fraction of the way to the next node)."""
    place = (min(max(f, -_SPAN), _SPAN - 1e-6) + _SPAN) * _NODES
    node = int(place)
    return node, place - node


@njit(nogil=True, cache=True)
def log_probabilities(cuts):
    """Return log P(r | style, f) at the nodes: R x nodes x styles."""
    S, R = cuts.shape[0], cuts.shape[1] - 1
    table = np.empty((R, _COUNT, S))
    for s in range(S):
        for node in range(_COUNT):
            f = node / _NODES - _SPAN
            below = cdf(cuts[s, 0] - f)
            for r in range(R):
                upto = cdf(cuts[s, r + 1] - f)
                table[r, node, s] = math.log(max(upto - below, _LEAST))
                below = upto
    return table


@njit(nogil=True, cache=True)
def style_scores(levels, f, table, score):
    """Add the log likelihood of one user's ratings under each style to score."""
    for t in range(len(levels)):
        node, way = _node(f[t])
        low, high = table[levels[t], node], table[levels[t], node + 1]
        for s in range(len(score)):
            score[s] += low[s] + way * (high[s] - low[s])


@njit(nogil=True, cache=True)
def exact_style_scores(levels, f, cuts, score):
    """Do the same without a table, which costs more than the ratings of a single user.

    Probabilities are multiplied in batches: one logarithm per batch instead of one per rating.
    """
    for s in range(len(score)):
        mine = cuts[s]
        for begin in range(0, len(levels), _BATCH):
            product = 1.0
            for t in range(begin, min(begin + _BATCH, len(levels))):
                product *= interval_probability(mine[levels[t]], mine[levels[t] + 1], f[t])
            score[s] += math.log(product)


@njit(nogil=True, cache=True)
def draw_styles(state, edges, level, z, x, table, style):
    """Draw each user's style, given shares drawn from Dirichlet(counts + 1).

    IN table: log_probabilities. OUT style.
    """
    n_styles = table.shape[2]
    log_share = np.empty(n_styles)
    count = np.ones(n_styles)
    for u in range(len(style)):
        count[style[u]] += 1.0
    for s in range(n_styles):
        state, draw = gamma(state, count[s])
        log_share[s] = math.log(draw)
    score = np.empty(n_styles)
    for u in range(len(style)):
        begin, end = edges.row_ptr[u], edges.row_ptr[u + 1]
        copy_into(score, log_share)
        style_scores(level[begin:end], z[begin:end] - x[begin:end], table, score)
        state, new = draw_category(state, score)
        style[u] = new
    return state


@njit(nogil=True, cache=True)
def move_cuts(edges, level, z, x, style, shrinkage, cuts):
    """Move every cutpoint by one diagonal Newton step, shrunk to the mean style. OUT cuts.

    With more than FREE_LEVELS levels `smooth_styles` follows, then `keep_order`.
    """
    S, R = cuts.shape[0], cuts.shape[1] - 1
    count = np.zeros((S, R, _COUNT))  # number of ratings by style, level and location
    for u in range(len(style)):
        mine = count[style[u]]
        for e in range(edges.row_ptr[u], edges.row_ptr[u + 1]):
            node, way = _node(z[e] - x[e])
            mine[level[e], node] += 1.0 - way
            mine[level[e], node + 1] += way
    slope = np.zeros(cuts.shape)
    bend = np.zeros(cuts.shape)
    for s in range(S):
        for r in range(R):
            for node in range(_COUNT):
                n = count[s, r, node]
                if n == 0.0:
                    continue
                f = node / _NODES - _SPAN
                inside = interval_probability(cuts[s, r], cuts[s, r + 1], f)
                low = density(cuts[s, r] - f) / inside
                high = density(cuts[s, r + 1] - f) / inside
                slope[s, r] -= n * low
                slope[s, r + 1] += n * high
                bend[s, r] += n * low * low
                bend[s, r + 1] += n * high * high
    for r in range(1, R):
        mean = 0.0
        for s in range(S):
            mean += cuts[s, r]
        mean /= S
        for s in range(S):
            cuts[s, r] += (slope[s, r] - shrinkage * (cuts[s, r] - mean)) / (bend[s, r] + shrinkage)


@njit(nogil=True, cache=True)
def keep_order(cuts):
    """Keep the cutpoints of every style in order and a little apart. OUT cuts."""
    for s in range(cuts.shape[0]):
        for r in range(1, cuts.shape[1] - 1):
            cuts[s, r] = max(cuts[s, r], cuts[s, r - 1] + _GAP)


@njit(nogil=True, cache=True)
def smooth_styles(cuts):
    """Replace each style's difference from the mean style by the closest quadratic function.

    The function is one of the mean style's cutpoints. On a fine scale many people use round numbers
    only. Free cutpoints follow these gaps, and the locations are then estimated less well.
    OUT cuts.
    """
    S, n = cuts.shape[0], cuts.shape[1] - 2
    mean = np.zeros(n)
    for s in range(S):
        for r in range(n):
            mean[r] += cuts[s, r + 1] / S
    basis = np.ones((3, n))
    for d in range(3):  # orthonormal polynomials
        if d > 0:
            basis[d] = basis[d - 1] * mean
        for c in range(d):
            basis[d] -= (basis[d] * basis[c]).sum() * basis[c]
        size = math.sqrt((basis[d] * basis[d]).sum())
        basis[d] /= max(size, 1e-12)
    for s in range(S):
        gap = cuts[s, 1 : n + 1] - mean
        for r in range(n):
            cuts[s, r + 1] = mean[r]
        for d in range(3):
            size = (gap * basis[d]).sum()
            for r in range(n):
                cuts[s, r + 1] += size * basis[d, r]


@njit(nogil=True, cache=True)
def entropy(edges, level, z, x, style, cuts):
    """Return -log P(ratings | state), in nats."""
    table = log_probabilities(cuts)
    total = 0.0
    for u in range(len(style)):
        s = style[u]
        for e in range(edges.row_ptr[u], edges.row_ptr[u + 1]):
            node, way = _node(z[e] - x[e])
            low, high = table[level[e], node, s], table[level[e], node + 1, s]
            total -= low + way * (high - low)
    return total

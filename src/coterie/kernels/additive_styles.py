"""Response styles of the additive block model: each user reads the rating scale in one of S ways.

A style is a row of cutpoints C[s, 0..R] with C[s, 0] = -inf and C[s, R] = +inf (here -40 and 40):
P(rating r | f) = Phi(C[s, r + 1] - f) - Phi(C[s, r] - f), where f = z - x is an edge's location.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from coterie.kernels.additive_normal import cdf, density, gamma
from coterie.kernels.additive_sweep import draw_category

_LEAST = 1e-9  # a probability is never taken for less: one odd rating must not decide a style
_GAP = 1e-3  # cutpoints keep this distance, so that every rating stays possible


@njit(inline="always", cache=True)
def chance(low, high, f):
    """The probability of the interval low..high around location f."""
    return max(cdf(high - f) - cdf(low - f), _LEAST)


@njit(nogil=True, cache=True)
def style_scores(codes, f, cuts, score):
    """score_s += log likelihood of one user's ratings under each style. OUT score."""
    for s in range(len(cuts)):
        product, log = 1.0, 0.0
        for t in range(len(codes)):
            product *= chance(cuts[s, codes[t]], cuts[s, codes[t] + 1], f[t])
            if product < 1e-200:  # one logarithm for many factors
                log += math.log(product)
                product = 1.0
        score[s] += log + math.log(product)


@njit(nogil=True, cache=True)
def draw_styles(state, edges, code, z, x, cuts, style):
    """Each user's style given shares pi ~ Dirichlet(counts + 1). OUT style."""
    n_styles = len(cuts)
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
        score[:] = log_share
        style_scores(code[begin:end], z[begin:end] - x[begin:end], cuts, score)
        state, new = draw_category(state, score)
        style[u] = new
    return state


@njit(nogil=True, cache=True)
def move_cuts(edges, code, z, x, style, hold, cuts):
    """One diagonal Newton step of every cutpoint, held near the styles' mean. OUT cuts."""
    slope = np.zeros(cuts.shape)
    bend = np.zeros(cuts.shape)
    for u in range(len(style)):
        s = style[u]
        for e in range(edges.row_ptr[u], edges.row_ptr[u + 1]):
            r = code[e]
            f = np.float64(z[e] - x[e])
            inside = chance(cuts[s, r], cuts[s, r + 1], f)
            low = density(cuts[s, r] - f) / inside
            high = density(cuts[s, r + 1] - f) / inside
            slope[s, r] -= low
            slope[s, r + 1] += high
            bend[s, r] += low * low
            bend[s, r + 1] += high * high
    for r in range(1, cuts.shape[1] - 1):
        mean = cuts[:, r].mean()
        for s in range(len(cuts)):
            cuts[s, r] += (slope[s, r] - hold * (cuts[s, r] - mean)) / (bend[s, r] + hold)
            cuts[s, r] = max(cuts[s, r], cuts[s, r - 1] + _GAP)


@njit(nogil=True, cache=True)
def entropy(edges, code, z, x, style, cuts):
    """-log P(ratings | state), natural logarithm."""
    total = 0.0
    for u in range(len(style)):
        for e in range(edges.row_ptr[u], edges.row_ptr[u + 1]):
            f = z[e] - x[e]
            total -= math.log(chance(cuts[style[u], code[e]], cuts[style[u], code[e] + 1], f))
    return total

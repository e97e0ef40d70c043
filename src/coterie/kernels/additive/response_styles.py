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
from coterie.kernels.additive.factors import solve
from coterie.kernels.additive.sweep import draw_category
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.copies import copy_into

_LEAST = 1e-9  # lower bound of a probability: one odd rating must not decide a style
_BATCH = 32  # probabilities of at least 1e-9 whose product does not underflow
_GAP = 1e-3  # a gap between two cutpoints that is larger does not get smaller than this at once
_PRIOR_RATINGS, _RIDGE, _HALVINGS = 0.5, 1e-3, 12  # of the Newton steps
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
    """Move the cutpoints by damped Newton steps that keep their order. OUT cuts.

    First all styles move together, then each style around their mean, to which its difference is
    pulled by `shrinkage`. With more than FREE_LEVELS levels, the difference is a quadratic function
    of the mean cutpoints. A step is halved until it raises the log likelihood, so that neighbours
    never pass each other: each style sees a fraction of a rating at every level.
    """
    S, R = cuts.shape[0], cuts.shape[1] - 1
    count = np.zeros((S, R, _COUNT))  # number of ratings by style, level and location
    for u in range(len(style)):
        mine = count[style[u]]
        for e in range(edges.row_ptr[u], edges.row_ptr[u + 1]):
            node, way = _node(z[e] - x[e])
            mine[level[e], node] += 1.0 - way
            mine[level[e], node + 1] += way
    _add_prior_ratings(count)
    n = R - 1
    if n == 0:
        return
    slope, bend = np.zeros(n), np.zeros((n, n))
    for s in range(S):
        add_derivatives(count[s], cuts[s], slope, bend)
    for r in range(n):
        bend[r, r] += _RIDGE
    solve(bend, slope)
    _move_together(count, slope, cuts)
    if S == 1:
        return
    mean = np.zeros(n)
    for s in range(S):
        mean += cuts[s, 1:R] / S
    basis = np.eye(n) if R <= FREE_LEVELS else quadratics(mean)
    for s in range(S):
        _move_style(count[s], mean, basis, shrinkage, cuts[s])


@njit(nogil=True, cache=True)
def _add_prior_ratings(count):
    """Add to each style half a rating, at the levels of all ratings and its own locations."""
    S, R = count.shape[:2]
    share = np.zeros(R)
    for s in range(S):
        for r in range(R):
            share[r] += count[s, r].sum()
    share = (share + 0.5) / (share.sum() + 0.5 * R)
    for s in range(S):
        located = np.zeros(_COUNT)
        for r in range(R):
            located += count[s, r]
        total = located.sum()
        if total > 0.0:
            for r in range(R):
                count[s, r] += (_PRIOR_RATINGS * share[r] / total) * located


@njit(nogil=True, cache=True)
def add_derivatives(count, cuts, slope, bend):
    """Add the gradient and the negative second derivatives by the inner cutpoints. OUT both."""
    R = len(count)
    for node in range(_COUNT):
        if count[0, node] == 0.0:  # a location has ratings at all levels, or at none
            continue
        f = node / _NODES - _SPAN
        b, upto, above = cuts[0] - f, 0.0, 0.0
        for r in range(R):
            a, below, under = b, upto, above
            b = cuts[r + 1] - f
            upto, above = cdf(b), density(b)
            n = count[r, node]
            inside = max(upto - below, _LEAST)
            low, high = under / inside, above / inside
            if r > 0:
                slope[r - 1] -= n * low
                bend[r - 1, r - 1] += n * low * (low - a)
            if r < R - 1:
                slope[r] += n * high
                bend[r, r] += n * high * (high + b)
            if 0 < r < R - 1:
                bend[r - 1, r] -= n * low * high
                bend[r, r - 1] -= n * low * high


@njit(nogil=True, cache=True)
def log_likelihood(count, cuts):
    """Return the log likelihood of the ratings of one style."""
    total = 0.0
    for node in range(_COUNT):
        if count[0, node] > 0.0:  # a location has ratings at all levels, or at none
            f = node / _NODES - _SPAN
            below = 0.0
            for r in range(len(count)):
                upto = cdf(cuts[r + 1] - f)
                total += count[r, node] * math.log(max(upto - below, _LEAST))
                below = upto
    return total


@njit(nogil=True, cache=True)
def _in_order(old, new):
    """Return whether no gap between cutpoints closes: it may shrink to a tenth, or to _GAP."""
    for r in range(len(old) - 1):
        if new[r + 1] - new[r] < min(_GAP, 0.1 * (old[r + 1] - old[r])):
            return False
    return True


@njit(nogil=True, cache=True)
def _move_together(count, step, cuts):
    """Move the cutpoints of all styles by a step, halved until it helps. OUT cuts."""
    S, R = cuts.shape[0], cuts.shape[1] - 1
    before, trial = 0.0, cuts.copy()
    for s in range(S):
        before += log_likelihood(count[s], cuts[s])
    share = 1.0
    for _ in range(_HALVINGS):
        ordered, after = True, 0.0
        for s in range(S):
            trial[s, 1:R] = cuts[s, 1:R] + share * step
            ordered = ordered and _in_order(cuts[s], trial[s])
            after += log_likelihood(count[s], trial[s]) if ordered else 0.0
        if ordered and after > before:
            cuts[:] = trial
            return
        share *= 0.5


@njit(nogil=True, cache=True)
def _move_style(count, mean, basis, shrinkage, cuts):
    """Move one style's difference from the mean cutpoints inside the basis. OUT cuts."""
    R, own = len(cuts) - 1, basis @ (cuts[1:-1] - mean)
    trial = cuts.copy()
    trial[1:R] = mean
    for _ in range(_HALVINGS):  # the mean is in order, so a small difference is too
        start = trial.copy()
        start[1:R] = mean + own @ basis
        if _in_order(trial, start):
            break
        own *= 0.5
    slope, bend = np.zeros(R - 1), np.zeros((R - 1, R - 1))
    add_derivatives(count, start, slope, bend)
    step = basis @ slope - shrinkage * own
    A = basis @ bend @ basis.T
    for d in range(len(own)):
        A[d, d] += shrinkage
    solve(A, step)
    before = log_likelihood(count, start) - 0.5 * shrinkage * (own * own).sum()
    cuts[1:R] = start[1:R]
    for _ in range(_HALVINGS):
        new = own + step
        trial[1:R] = mean + new @ basis
        if _in_order(start, trial):
            after = log_likelihood(count, trial) - 0.5 * shrinkage * (new * new).sum()
            if after > before:
                cuts[1:R] = trial[1:R]
                return
        step *= 0.5


@njit(nogil=True, cache=True)
def quadratics(mean):
    """Return orthonormal functions of rising numbers: constant, linear and quadratic."""
    basis = np.ones((3, len(mean)))
    for d in range(3):
        if d > 0:
            basis[d] = basis[d - 1] * mean
        for c in range(d):
            basis[d] -= (basis[d] * basis[c]).sum() * basis[c]
        size = math.sqrt((basis[d] * basis[d]).sum())
        basis[d] /= max(size, 1e-12)
    return basis


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

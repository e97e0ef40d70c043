"""Normal and gamma draws for the additive block model.

    cdf(x), fast_cdf(x)        Phi(x)
    quantile(p)                Phi^-1(p), 0 < p < 1
    normal(state)              a standard normal draw
    between(state, a, b)       a standard normal draw, conditional on a < x < b
    gamma(state, shape)        a Gamma(shape, 1) draw

Phi and its inverse are interpolated in a table where that is accurate to 1e-6 (Phi) or 1e-5 (the
inverse), and exact outside it: a sweep draws one truncated normal per rating, and erfc alone would
cost more than the rest of the sweep.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import uniform

_STANDARD = NormalDist()
_SPAN = 3.0  # the table of Phi covers -3..3
_CDF_NODES = 256  # nodes per unit
_CDF = np.array([_STANDARD.cdf(i / _CDF_NODES - _SPAN) for i in range(int(2 * _SPAN) * 256 + 2)])
_FAR = 25.0  # Phi(-25) is 3e-138: an end of the scale
_LOW = 1.0 / 64.0  # the table of the quantile covers 1/64..63/64
_QUANTILE_NODES = 4096.0
_QUANTILE = np.array([_STANDARD.inv_cdf(i / 4096.0) for i in range(64, 4096 - 64 + 2)])
_ROOT_HALF = math.sqrt(0.5)
_ROOT_TAU = math.sqrt(2.0 * math.pi)


@njit(forceinline=True, cache=True)
def density(x):
    """Return the standard normal density."""
    return math.exp(-0.5 * x * x) / _ROOT_TAU


@njit(forceinline=True, cache=True)
def cdf(x):
    """Return Phi(x), accurate to 1e-6 inside -3..3 and to machine precision outside."""
    if -_SPAN < x < _SPAN:
        place = (x + _SPAN) * _CDF_NODES
        node = int(place)
        low = _CDF[node]
        return low + (place - node) * (_CDF[node + 1] - low)
    return 0.5 * math.erfc(-x * _ROOT_HALF)


@njit(inline="always", cache=True)
def fast_cdf(x):
    """Return Phi(x) in float32, accurate to 2e-7, without branches: compilers vectorise it.

    Phi(x) - 1/2 = x P(s) / Q(s) with s = (x / 5.2)^2; a least squares fit, reweighted until the
    largest error no longer fell. `/` would test for a division by 0, and such a test is a branch:
    the loop that calls this would then take five times as long. Call it without fastmath: otherwise
    a value could depend on its place in a vector.
    """
    x = min(max(x, np.float32(-5.2)), np.float32(5.2))
    s = x * x * np.float32(1.0 / 27.04)
    p = np.float32(0.3575020190655466)
    p = p * s + np.float32(3.425637585322989)
    p = p * s + np.float32(3.1012346913310838)
    p = p * s + np.float32(3.369661203355159)
    p = p * s + np.float32(0.8800028113245479)
    p = p * s + np.float32(0.398942261037158)
    q = np.float32(18.197609386450697)
    q = q * s + np.float32(37.686898799293466)
    q = q * s + np.float32(35.92712195880794)
    q = q * s + np.float32(20.418893164832465)
    q = q * s + np.float32(6.7124978163968585)
    q = q * s + np.float32(1.0)
    return np.float32(0.5) + np.divide(x * p, q)


@njit(cache=True)
def _tail_quantile(p):
    """Return Phi^-1(p) for p < 1/64: the asymptotic value, refined by Newton steps on log Phi."""
    square = -2.0 * math.log(p)
    x = -math.sqrt(square - math.log(2.0 * math.pi * (square - math.log(2.0 * math.pi * square))))
    for _ in range(3):
        below = 0.5 * math.erfc(-x * _ROOT_HALF)
        x -= math.log(below / p) * below / density(x)
    return x


@njit(cache=True)
def quantile(p):
    """Return Phi^-1(p), accurate to 1e-5 inside the table and to 1e-9 in the tails."""
    if p < _LOW:
        return _tail_quantile(p)
    if p > 1.0 - _LOW:
        return -_tail_quantile(1.0 - p)
    place = (p - _LOW) * _QUANTILE_NODES
    node = int(place)
    low = _QUANTILE[node]
    return low + (place - node) * (_QUANTILE[node + 1] - low)


@njit(forceinline=True, cache=True)
def normal(state):
    """Return (new state, a standard normal draw)."""
    state, u = uniform(state)
    return state, quantile(u + 1e-17)


@njit(forceinline=True, cache=True)
def between(state, a, b):
    """Return (new state, a standard normal draw inside a..b), by the inverse of Phi.

    An interval right of zero is mirrored first, because Phi is precise only in its lower tail.
    """
    state, u = uniform(state)
    mirrored = a > 0.0
    if mirrored:
        a, b = -b, -a
    below = cdf(a) if a > -_FAR else 0.0
    upto = cdf(b) if b < _FAR else 1.0
    p = below + u * (upto - below)
    x = quantile(p) if 1e-300 < p < 1.0 else a
    x = min(max(x, a), b)
    if x < -1e3:  # an open end so far out that Phi is 0 there
        x = b
    return state, (-x if mirrored else x)


@njit(cache=True)
def gamma(state, shape):
    """Return (new state, a Gamma(shape, 1) draw), shape >= 1, by Marsaglia and Tsang's method."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        state, x = normal(state)
        cube = (1.0 + c * x) ** 3
        state, u = uniform(state)
        if cube > 0.0 and math.log(u + 1e-300) < 0.5 * x * x + d * (1.0 - cube + math.log(cube)):
            return state, d * cube

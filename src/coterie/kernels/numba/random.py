"""A counter-based random generator for kernels: splitmix64.

    state = stream(key, counter)          start a stream
    state, u = uniform(state)             a float64 in [0, 1)
    state, i = below(state, n)            an integer in 0..n-1

The state is one uint64 in a register: nothing is shared, nothing is allocated. Draw i of a stream
is a hash of (key, i), so streams with different keys are independent for all practical purposes.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11, _S32 = (np.uint64(s) for s in (30, 27, 31, 11, 32))
_TO_UNIT = 1.0 / 9007199254740992.0  # 2**-53


@njit(inline="always", cache=True)
def mix(z):
    """Return the finaliser of splitmix64: a bijection of uint64 that mixes all bits."""
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return z ^ (z >> _S31)


@njit(inline="always", cache=True)
def stream(key, counter):
    """Return the state of stream number `counter` under `key` (both converted to uint64)."""
    return mix(np.uint64(key) ^ mix(np.uint64(counter) + _GOLDEN))


@njit(inline="always", cache=True)
def next_word(state):
    """Return (new state, 64 random bits)."""
    state = state + _GOLDEN
    return state, mix(state)


@njit(inline="always", cache=True)
def uniform(state):
    """Return (new state, float64 in [0, 1))."""
    state, word = next_word(state)
    return state, np.float64(word >> _S11) * _TO_UNIT


@njit(inline="always", cache=True)
def below(state, n):
    """Return (new state, int64 in 0..n-1); the bias is below n / 2**53."""
    state, u = uniform(state)
    return state, np.int64(u * n)


@njit(nogil=True, cache=True)
def uniform_block(key, count):
    """Return the first `count` uniform numbers of stream 0 under `key`."""
    values = np.empty(count, np.float64)
    state = stream(key, 0)
    for i in range(count):
        state, values[i] = uniform(state)
    return values

"""Exact discrete Laplace and geometric noise from a buffer of random words, with integers only.

The sampler is that of Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential
Privacy" (2020), Algorithms 1 and 2. Every decision compares integers that are uniform on a range,
so that the law is exact: no rounding, no modulo bias. Used by `anonymize/private/noise.py`.

    words  random integers, uniform on 0..2^63 - 1 (int64)
    at     the next word that is not used; -1 after the words were used up
    t, s   the scale of the noise is t / s: P(z) ~ exp(-|z| s / t)
    signed whether z may be negative (discrete Laplace) or not (geometric)

No product overflows if t < 2^34 and s < 2^42: see `quotient` and `longest_run`.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit

_LARGEST_WORD = np.int64(2**63 - 1)
# Sizes of at least this are not told apart: twice the limit of an answer, so that an answer with
# such noise is at the limit whatever the count
_LARGEST_SIZE = np.int64(2**41)
_LONGEST_RUN = np.int64(2**48)


@njit(nogil=True, cache=True)
def uniform_below(words, at, size):
    """Return an integer that is uniform on 0..size - 1, and the next word.

    Words above the largest multiple of `size` are rejected, so that no value is more likely.
    """
    if size == 1:
        return np.int64(0), at
    beyond = (_LARGEST_WORD % size + 1) % size  # 2^63 modulo size
    while at < len(words):
        word = words[at]
        at += 1
        if word <= _LARGEST_WORD - beyond:
            return word % size, at
    return np.int64(0), np.int64(-1)


@njit(nogil=True, cache=True)
def _is_kept(words, at, a, b):
    """Return True with probability exp(-a / b), 0 <= a <= b, and the next word.

    k counts the successes of Bernoulli(a / b / k) for k = 1, 2, …; an even number of successes
    has probability exp(-a / b). Bernoulli(a / b / k) is Bernoulli(a / b) and Bernoulli(1 / k).
    """
    k = np.int64(1)
    while True:
        u, at = uniform_below(words, at, b)
        if at < 0:
            return False, at
        if u >= a:
            return k % 2 == 1, at
        u, at = uniform_below(words, at, k)
        if at < 0:
            return False, at
        if u != 0:
            return k % 2 == 1, at
        k += 1


@njit(nogil=True, cache=True)
def quotient(u, t, v, s):
    """Return floor((u + t v) / s) for u < t < 2^34, s < 2^42, v <= 2^48.

    v is split at bit 20. Every product is below 2^62, although t v may be larger.
    """
    high = t * (v >> 20)
    rest = (high % s << 20) + t * (v & 0xFFFFF) + u
    return (high // s << 20) + rest // s


@njit(nogil=True, cache=True)
def longest_run(t, s):
    """Return the number of successes v after which the size is at least `_LARGEST_SIZE`.

    Going on could only exceed 64 bits: with a scale of 2^26 a run of 2^37 would turn into a
    negative size. `_LONGEST_RUN` applies to scales below 2^-7, which no sketch has.
    """
    per_unit = _LARGEST_SIZE // t + 1  # t (v / s) >= _LARGEST_SIZE
    return _LONGEST_RUN if per_unit > _LONGEST_RUN // s else per_unit * s


@njit(nogil=True, cache=True)
def fill_noise(words, t, s, signed, out, filled):
    """Write independent samples to out[filled:]; return how many are filled and words used.

    A sample that the words do not suffice for is not written, and its words do not count as used:
    the caller must pass them again, in front of new ones. Dropping them would make samples that
    need many words too rare.
    """
    used = np.int64(0)
    longest = longest_run(t, s)
    while filled < len(out):
        at = used
        u, at = uniform_below(words, at, t)
        if at < 0:
            break
        kept, at = _is_kept(words, at, u, t)
        if at < 0:
            break
        if not kept:
            used = at
            continue
        v = np.int64(0)
        while v < longest:
            kept, at = _is_kept(words, at, np.int64(1), np.int64(1))
            if at < 0 or not kept:
                break
            v += 1
        if at < 0:
            break
        size = quotient(u, t, v, s)
        negative = np.int64(0)
        if signed:
            negative, at = uniform_below(words, at, np.int64(2))
            if at < 0:
                break
        used = at
        if negative == 1 and size == 0:  # zero has no sign: count it once
            continue
        out[filled] = -size if negative == 1 else size
        filled += 1
    return filled, used

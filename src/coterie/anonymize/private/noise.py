"""Exact random noise from the operating system's random bits.

Nothing here uses floating-point numbers or a seeded generator: a scale is a fraction, a decision
compares integers, and every random bit comes from `os.urandom` (arrays) or `secrets` (single
numbers, which reads the same source).
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from coterie.kernels.anonymize.private_noise import fill_noise

# Noisy answers are cut to this range. It is a constant, so cutting is post-processing; counts are
# far smaller, and noise beyond it has a probability below exp(-20,000) for every epsilon.
ANSWER_LIMIT = 2**40

_LARGEST_T = 2**34  # see kernels/anonymize/private_noise.py
_LARGEST_S = 2**42
_WORDS_PER_SAMPLE = 12  # about 10 are used
_WORDS_PER_READ = 2**20

RandomWords = Callable[[int], np.ndarray]
Below = Callable[[int], int]  # an integer that is uniform on 0..size - 1


def os_words(count: int) -> np.ndarray:
    """Return integers that are uniform on 0..2^63 - 1, from the operating system (int64)."""
    return (np.frombuffer(os.urandom(8 * count), np.uint64) >> np.uint64(1)).view(np.int64)


def discrete_laplace(
    scale: Fraction, count: int, *, random_words: RandomWords | None = None
) -> np.ndarray:
    """Return independent samples of the discrete Laplace law P(z) ~ exp(-|z| / scale) (int64).

    Parameters
    ----------
    scale : Fraction
        The scale, as an exact fraction.
    count : int
        How many samples.
    random_words : callable, optional
        Returns random words; tests replace it.
    """
    return _samples(scale, count, True, os_words if random_words is None else random_words)


def geometric_noise(
    scale: Fraction, count: int, *, random_words: RandomWords | None = None
) -> np.ndarray:
    """Return independent samples of the geometric law P(z) ~ exp(-z / scale), z >= 0 (int64)."""
    return _samples(scale, count, False, os_words if random_words is None else random_words)


def _samples(scale: Fraction, count: int, signed: bool, random_words: RandomWords) -> np.ndarray:
    t, s = scale.numerator, scale.denominator
    if not (0 < t < _LARGEST_T and s < _LARGEST_S):
        raise ValueError(f"the scale {scale} has too many digits for the exact sampler")
    out = np.empty(count, np.int64)
    words = np.empty(0, np.int64)
    filled = 0
    while filled < count:
        wanted = min(_WORDS_PER_SAMPLE * (count - filled) + 64, _WORDS_PER_READ)
        # words that did not suffice for a sample come first: dropping them would bias the law
        words = np.concatenate((words, random_words(wanted)))
        filled, used = fill_noise(words, t, s, signed, out, filled)
        words = words[used:]
    return out


def add_noise(exact: np.ndarray, sensitivity: int, epsilon: Fraction) -> np.ndarray:
    """Return integer counts with discrete Laplace noise: one answer with epsilon-privacy (int64).

    `sensitivity` is how much the counts may change in total (L1) if one edge is added or
    removed.
    """
    exact = np.asarray(exact, np.int64)
    noise = discrete_laplace(sensitivity / epsilon, exact.size).reshape(exact.shape)
    return limit_answers(exact + noise)


def limit_answers(noisy: np.ndarray) -> np.ndarray:
    """Cut noisy answers to +-`ANSWER_LIMIT`."""
    return np.asarray(np.clip(noisy, -ANSWER_LIMIT, ANSWER_LIMIT), np.int64)


def keep_with_probability_exp(exponent: Fraction, below: Below = secrets.randbelow) -> bool:
    """Return True with probability exp(-exponent), exactly, for any exponent >= 0."""
    whole, part = divmod(exponent, 1)
    for unit in [Fraction(1)] * whole + [part]:
        k = 1
        while below(unit.denominator * k) < unit.numerator:  # Bernoulli(unit / k)
            k += 1
        if k % 2 == 0:
            return False
    return True


def geometric(exponent: Fraction, below: Below = secrets.randbelow) -> int:
    """Return k = 0, 1, … with probability ~ exp(-exponent k), exactly, for any exponent > 0."""
    s, t = exponent.numerator, exponent.denominator
    while True:
        u = below(t)
        if keep_with_probability_exp(Fraction(u, t), below):
            break
    v = 0
    while keep_with_probability_exp(Fraction(1), below):
        v += 1
    return (u + t * v) // s

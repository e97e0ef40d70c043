"""Seeds and random streams: one stream per shard, never per thread.

A kernel receives a 64-bit key and runs its own counter-based generator
(`kernels/numba/random.py`), so the draws of a shard depend only on the seed, the iteration and the
shard.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from coterie.base.errors import InputError

RandomState = int | Generator | None


def as_generator(rng: RandomState) -> Generator:
    """Return a Generator for an int (0 included), a Generator (unchanged), or None (fresh entropy).

    >>> int(as_generator(0).integers(100)) == int(as_generator(0).integers(100))
    True
    """
    if isinstance(rng, Generator):
        return rng
    if rng is None or (isinstance(rng, int | np.integer) and rng >= 0):
        return np.random.default_rng(rng)
    raise InputError(
        f"invalid seed: {rng!r}", remedy="give an integer >= 0, a numpy Generator, or None"
    )


def stream_keys(rng: Generator, count: int) -> np.ndarray:
    """Return `count` independent 64-bit keys, one per shard of an iteration.

    >>> stream_keys(as_generator(0), 3).dtype
    dtype('uint64')
    """
    return rng.integers(0, 2**64, size=count, dtype=np.uint64)

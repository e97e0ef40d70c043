"""Seeds and streams: randomness belongs to a shard, never to a thread.

A kernel receives a 64-bit key and runs its own counter generator (`kernels/random.py`), so the
draws of a shard depend on the seed, the iteration and the shard alone.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from coterie.base.errors import InputError

RandomState = int | Generator | None


def as_generator(rng: RandomState) -> Generator:
    """A Generator from an int (0 included), a Generator (used as it is), or None (fresh entropy).

    >>> int(as_generator(0).integers(100)) == int(as_generator(0).integers(100))
    True
    """
    if isinstance(rng, Generator):
        return rng
    if rng is None or (isinstance(rng, int | np.integer) and rng >= 0):
        return np.random.default_rng(rng)
    raise InputError(
        f"rng={rng!r} is no seed", remedy="give an integer >= 0, a numpy Generator, or None"
    )


def stream_keys(rng: Generator, count: int) -> np.ndarray:
    """`count` independent 64-bit keys, one for each shard of an iteration.

    >>> stream_keys(as_generator(0), 3).dtype
    dtype('uint64')
    """
    return rng.integers(0, 2**64, size=count, dtype=np.uint64)

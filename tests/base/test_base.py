"""Errors, seeds and random streams."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.base.errors import InputError
from coterie.base.randomness import as_generator, stream_keys
from coterie.kernels.numba.random import uniform_block


def test_input_error_says_what_where_and_the_remedy() -> None:
    error = InputError("rating 'x'", path="r.csv", line=7, remedy="fix it")
    assert str(error) == "r.csv, line 7: rating 'x'; fix it"
    assert str(InputError("no edges")) == "no edges"
    assert str(InputError("empty", path="a.txt")) == "a.txt: empty"


def test_zero_is_a_seed_and_a_generator_is_used_unchanged() -> None:
    assert as_generator(0).random() == as_generator(np.int64(0)).random()
    generator = np.random.default_rng(3)
    assert as_generator(generator) is generator
    for bad in (-1, "x", 1.5):
        with pytest.raises(InputError, match="invalid seed"):
            as_generator(bad)  # type: ignore[arg-type]


def test_streams_are_uniform_and_independent() -> None:
    keys = stream_keys(as_generator(1), 2)
    a, b = (uniform_block(key, 200_000) for key in keys)
    assert np.array_equal(a, uniform_block(keys[0], 200_000))
    for draws in (a, b):
        counts = np.histogram(draws, 50, (0, 1))[0]
        assert ((counts - 4000) ** 2 / 4000).sum() < 100  # chi-square with 49 degrees: p ~ 2e-5
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.01
    assert abs(np.corrcoef(a[1:], a[:-1])[0, 1]) < 0.01

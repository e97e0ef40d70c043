"""New degrees keep block sums and reveal nobody's degree."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator, default_rng

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.draw.degrees import deal_within_classes, quantiles_by_class, redraw_degrees


def _new_degrees(degrees: np.ndarray, classes: Classes, rng: Generator) -> np.ndarray:
    drawn = redraw_degrees(quantiles_by_class(degrees, classes), classes, rng)
    return deal_within_classes(drawn, classes, rng)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_new_degrees_keep_block_sums_and_bounds(seed: int) -> None:
    rng = default_rng(seed)
    degrees = np.minimum(rng.zipf(1.7, 120), 90).astype(np.int64) - 1
    block = (np.arange(120) // 60).astype(np.int32)
    order = np.lexsort((degrees, block))
    label = np.empty(120, np.int32)
    label[order] = np.arange(120) // 12
    classes = Classes(block, label)
    new = _new_degrees(degrees, classes, rng)
    low = np.array([degrees[label == c].min() for c in range(10)])
    high = np.array([degrees[label == c].max() for c in range(10)])
    assert (new >= low[label]).all() and (new <= high[label]).all()
    drift = np.abs(np.bincount(block, new) - np.bincount(block, degrees))
    room = np.bincount(block, high[label] - new)
    assert ((drift == 0) | (room <= drift + 40)).all()


def test_an_outstanding_largest_degree_is_lowered_at_random() -> None:
    degrees = np.r_[np.full(40, 10), np.arange(11, 21), 500].astype(np.int64)
    one = np.zeros(51, np.int32)
    tops = {int(_new_degrees(degrees, Classes(one, one), default_rng(s)).max()) for s in range(9)}
    assert max(tops) < 500 and len(tops) > 3


def test_new_degrees_within_a_class_are_independent_of_the_old_ones() -> None:
    degrees = np.arange(1, 101)
    one = np.zeros(100, np.int32)
    new = _new_degrees(degrees, Classes(one, one), default_rng(0))
    assert abs(np.corrcoef(degrees, new)[0, 1]) < 0.35

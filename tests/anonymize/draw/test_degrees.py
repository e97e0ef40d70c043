"""New degrees keep block sums, and averages of them reveal nobody's degree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator, default_rng
from tests import reference

from coterie.anonymize.draw.class_limits import SPREAD, classes_with_lone_hub
from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.draw.degrees import (
    DegreeGroups,
    deal_within_classes,
    group_degrees,
    mean_degrees,
    redraw_degrees,
)

degree_lists = st.lists(st.integers(0, 60), min_size=1, max_size=40)


def _one_class(degrees: np.ndarray) -> Classes:
    one = np.zeros(len(degrees), np.int32)
    return Classes(one, one)


def _new_degrees(degrees: np.ndarray, classes: Classes, rng: Generator) -> np.ndarray:
    return deal_within_classes(
        redraw_degrees(group_degrees(degrees, classes, 10), rng), classes, rng
    )


def _two_blocks(seed: int) -> tuple[np.ndarray, Classes]:
    """Ten classes of twelve people in two blocks; degrees of a heavy tail."""
    degrees = np.minimum(default_rng(seed).zipf(1.7, 120), 90).astype(np.int64) - 1
    block = (np.arange(120) // 60).astype(np.int32)
    label = np.empty(120, np.int32)
    label[np.lexsort((degrees, block))] = np.arange(120) // 12
    return degrees, Classes(block, label)


@settings(max_examples=60, deadline=None)
@given(degree_lists, degree_lists, st.integers(1, 6))
def test_groups_equal_the_reference(low: list[int], high: list[int], minimum: int) -> None:
    """Two classes of one block: the second has all larger degrees."""
    high = [d + max(low) + 1 for d in high]
    degrees = np.array(low + high)
    label = np.repeat(np.array([0, 1], np.int32), [len(low), len(high)])
    groups = group_degrees(degrees, Classes(np.zeros_like(label), label), minimum)
    expected = [
        group
        for members in (low, high)
        for group in reference.degree_groups(members, low + high, minimum, SPREAD)
    ]
    assert groups.size.tolist() == [len(group) for group in expected]
    assert groups.mean == pytest.approx([np.mean(group) for group in expected])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_new_degrees_keep_block_sums(seed: int, redraw: bool) -> None:
    degrees, classes = _two_blocks(seed)
    groups = group_degrees(degrees, classes, 10)
    drawn = (redraw_degrees if redraw else mean_degrees)(groups, default_rng(seed))
    block = np.repeat(classes.block_of, classes.sizes)  # drawn class by class
    assert np.array_equal(np.bincount(block, drawn), np.bincount(classes.block, degrees))
    assert (drawn >= 0).all() and (drawn < len(degrees)).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_nobody_loses_the_last_edge(seed: int) -> None:
    """Degree 0 is drawn only for groups that contain it."""
    degrees, classes = _two_blocks(seed)
    drawn = redraw_degrees(group_degrees(degrees + 1, classes, 10), default_rng(seed))
    assert drawn.min() >= 1


def _mean_largest(groups: DegreeGroups, draws: int) -> float:
    return float(np.mean([redraw_degrees(groups, default_rng(s)).max() for s in range(draws)]))


# Hubs whose degrees differ by 20 % at the top; the mean of the ten best-connected is the same, and
# so is their standard deviation in four steps.
_FEWER = [300, 290, 250, 200, 160, 150, 145, 140, 135, 130]
_MORE = [360, 250, 210, 180, 160, 155, 150, 150, 145, 140]
_OTHERS = np.repeat(np.arange(2, 120), 3)
# The same with one person who has far more contacts than the others of the group.
_ONE_HUB = [2000, 400, 350, 300, 250, 200, 180, 170, 160, 150]
_ONE_LARGER_HUB = [2400, 270, 230, 210, 200, 190, 180, 170, 160, 150]


@pytest.mark.parametrize(("fewer", "more"), [(_FEWER, _MORE), (_ONE_HUB, _ONE_LARGER_HUB)])
def test_draws_do_not_tell_hubs_with_the_same_mean_apart(fewer: list[int], more: list[int]) -> None:
    """The largest degrees differ by 20 %. The same random bits draw the same degrees, so that no
    number of releases tells which of the two graphs is the original."""
    assert sum(fewer) == sum(more) and max(more) == 1.2 * max(fewer)
    one, two = (np.r_[_OTHERS, hubs].astype(np.int64) for hubs in (fewer, more))
    for seed in range(20):
        a, b = (
            redraw_degrees(group_degrees(d, _one_class(d), 10), default_rng(seed))
            for d in (one, two)
        )
        assert np.array_equal(a, b)


def test_the_average_of_many_draws_is_not_the_largest_degree() -> None:
    """With exact degrees or a blur, the averages below would differ as the originals do."""
    averages = []
    for hubs in (_FEWER, _MORE):
        degrees = np.r_[_OTHERS, hubs].astype(np.int64)
        averages.append(_mean_largest(group_degrees(degrees, _one_class(degrees), 10), 200))
    assert averages[0] == averages[1]
    assert 0.7 * max(_FEWER) < averages[0] < 1.3 * max(_MORE)  # still a hub


def test_the_largest_degree_varies_between_draws() -> None:
    """At least ten people could be meant: one draw is above, another below their neighbours."""
    degrees = np.r_[_OTHERS, _FEWER].astype(np.int64)
    groups = group_degrees(degrees, _one_class(degrees), 10)
    largest = [redraw_degrees(groups, default_rng(s)).max() for s in range(60)]
    assert min(largest) < 0.9 * max(_FEWER) and np.std(largest) > 0.03 * max(_FEWER)


def test_hubs_have_the_share_of_contacts_that_the_best_connected_people_have() -> None:
    """Thirty blocks, ten of them with one hub: the second moment of the degrees is kept.

    The draw knows the mean of the ten best-connected people of the graph and the mean of each
    group of ten, and concludes how uneven the groups are.
    """
    rng = default_rng(3)
    hubs = 300 + 150 * np.arange(10)
    degrees = np.concatenate(
        [np.r_[rng.integers(1, 30, 59), hubs[b] if b < 10 else 30] for b in range(30)]
    )
    block = np.repeat(np.arange(30, dtype=np.int32), 60)
    groups = group_degrees(degrees, Classes(block, block), 10)
    squares = [(redraw_degrees(groups, default_rng(s)) ** 2).sum() for s in range(8)]
    assert np.mean(squares) == pytest.approx((degrees**2).sum(), rel=0.15)
    largest = [redraw_degrees(groups, default_rng(s)).max() for s in range(30)]
    assert np.std(largest) > 0.05 * hubs.max()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_the_mean_of_a_group_does_not_reveal_its_largest_degree(seed: int) -> None:
    """The sharpest conclusion from two means: everybody else of the group has the degree of the
    next lower group. It must be wrong by 20 %, or at least ten people have about that degree."""
    degrees, classes = _two_blocks(seed)
    for c in np.flatnonzero(~classes_with_lone_hub(degrees, classes, 10)):
        members = np.sort(degrees[classes.label == c])
        block = degrees[classes.block == classes.block_of[c]]
        group = reference.degree_groups(members.tolist(), block.tolist(), 10, SPREAD)[-1]
        largest = group[-1]
        below = np.sort(block)[: np.searchsorted(np.sort(block), group[0])]
        lower = members[: -len(group)].tolist() or below.tolist() or group[:1]
        concluded = sum(group) - (len(group) - 1) * max(lower)
        near = ((block * SPREAD >= largest) & (block <= largest * SPREAD)).sum()
        assert near >= 10 or concluded >= SPREAD * largest - 1e-9


@pytest.mark.parametrize("exponent", [2.0, 2.5, 3.5])
def test_the_degree_distribution_is_kept(exponent: float) -> None:
    rng = default_rng(1)
    degrees = np.minimum(2 * (1 - rng.random(4000)) ** (-1 / (exponent - 1)), 900).astype(np.int64)
    block = np.repeat(np.arange(8, dtype=np.int32), 500)
    label = np.empty(4000, np.int32)
    label[np.lexsort((degrees, block))] = np.arange(4000) // 100
    drawn = redraw_degrees(group_degrees(degrees, Classes(block, label), 10), rng)
    assert reference.degree_ks(degrees.tolist(), drawn.tolist()) <= 0.02
    assert (drawn**2).sum() == pytest.approx((degrees**2).sum(), rel=0.25)


def test_new_degrees_within_a_class_are_independent_of_the_old_ones() -> None:
    degrees = np.arange(1, 101)
    new = _new_degrees(degrees, _one_class(degrees), default_rng(0))
    assert abs(np.corrcoef(degrees, new)[0, 1]) < 0.35

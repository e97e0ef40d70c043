"""What a draw estimates from noisy answers, compared with plain definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference

from coterie.anonymize.private.block_estimates import (
    adjust_to_sums,
    deal_degrees,
    ends_between,
    find_separation,
    fit_cells,
    separate,
    spread_negative,
)
from coterie.anonymize.private.clustering_profile import (
    NoisySum,
    common_sum,
    estimate_profile,
    implied_transitivity,
)
from coterie.anonymize.private.degree_estimates import (
    DegreeDistribution,
    _discounted,
    blur,
    deconvolve,
    equal_end_thresholds,
    estimate_assortativity,
    falling_fit,
    largest_degrees,
    posterior_means,
    sample_posterior,
    smooth_tail,
)
from coterie.kernels.anonymize.wiring import _OPEN_TRIES, join_open_ends
from coterie.kernels.numba.random import stream, uniform

counts = st.lists(st.integers(-20, 60), min_size=1, max_size=14)


@given(counts)
def test_the_falling_fit_is_the_isotonic_regression(values: list[int]) -> None:
    fitted = falling_fit(np.array(values, np.float64))
    assert fitted == pytest.approx(reference.falling_fit(values))


@given(counts, st.floats(0.02, 2.0))
@settings(deadline=None)
def test_the_smoothed_tail_solves_the_dense_system(values: list[int], rate: float) -> None:
    smooth = smooth_tail(np.array(values), 50, rate)
    assert smooth == pytest.approx(reference.smoothed_tail(values, 50, rate), abs=1e-6)
    assert (np.diff(smooth) <= 1e-9).all()


def test_smoothing_keeps_large_counts_and_evens_out_the_sparse_end() -> None:
    head, end = [1, 2, 3, 4, 5, 6, 7, 8], [40, 47, 58, 71]
    degrees = np.repeat(head + end, [900, 200, 300, 180, 120, 60, 30, 20, 1, 1, 1, 1])
    tail = np.array([(degrees >= d).sum() for d in range(1, 90)])
    rng = np.random.default_rng(0)
    noisy = tail + np.rint(rng.laplace(0, 13, len(tail))).astype(int)
    error = np.abs(smooth_tail(noisy, len(degrees), 1 / 13) - tail)
    assert error[:4].max() < 40
    assert error[10:].mean() < 0.5 * np.abs(noisy - tail)[10:].mean()


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=12),
    st.lists(st.integers(-20, 60), min_size=4, max_size=10),
    st.floats(0.05, 1.0),
    st.floats(0.02, 1.0),
)
def test_the_largest_degrees_are_a_mean_over_a_posterior(
    tail: list[int], largest: list[int], rate: float, largest_rate: float
) -> None:
    counts = np.sort(tail)[::-1] + np.arange(len(tail)) % 3 - 1
    smooth = np.r_[31.0, np.sort(tail)[::-1], 0.0]
    found = largest_degrees(smooth, counts, rate, np.array(largest), largest_rate)
    expected = reference.expected_largest_degrees(
        smooth.tolist(), counts.tolist(), rate, largest, largest_rate
    )
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert (np.diff(found) <= 0).all() and found.min() >= 0 and found.max() <= 30


def test_noise_does_not_make_hubs_and_hides_none() -> None:
    """Noise of scale 40 in the list, as at epsilon 1: equal degrees stay, hubs stay."""
    rng = np.random.default_rng(0)
    for hubs in (np.empty(0, int), np.array([900, 800, 700, 650, 600])):
        degrees = np.sort(np.r_[hubs, rng.poisson(20, 1000 - len(hubs))])[::-1]
        exact = np.array([(degrees >= d).sum() for d in range(1, degrees[0] + 60)])
        noisy = exact + np.rint(rng.laplace(0, 11, len(exact))).astype(int)
        listed = degrees[:130] + np.rint(rng.laplace(0, 40, 130)).astype(int)
        found = DegreeDistribution.estimate(1000, noisy, 1 / 11, listed, 1 / 40).sequence(0.5)
        assert found.var() == pytest.approx(degrees.var(), rel=0.35)
        assert found[: len(hubs)] == pytest.approx(hubs, rel=0.2)


def test_the_implied_transitivity_is_that_of_the_profile() -> None:
    degrees, lowest, profile = (
        np.array([0, 1, 2, 3, 3, 8]),
        np.array([2.0, 3.0]),
        np.array([0.5, 0.2]),
    )
    triangles_at_nodes = 0.5 * 1 + 0.2 * (3 + 3 + 28)
    assert implied_transitivity(degrees, lowest, profile) == pytest.approx(triangles_at_nodes / 35)
    assert implied_transitivity(np.array([1, 1]), lowest, profile) == 0.0


def test_the_separation_is_used_in_full_where_labels_respond_to_it() -> None:
    assert find_separation(0.1, lambda share: 0.05 + share, 0.0) == pytest.approx(0.05)
    assert find_separation(0.1, lambda share: 0.05 + share, 0.9) < 0.01
    assert find_separation(0.1, lambda share: 0.09 + 0.02 * share, 0.0) < 0.15


@given(
    st.lists(st.integers(0, 30), min_size=3, max_size=8),
    st.integers(-10, 40),
    st.floats(0.02, 1.0),
)
def test_the_mean_of_a_posterior(tail: list[int], noisy: int, rate: float) -> None:
    distribution = DegreeDistribution(
        np.r_[31.0, np.sort(tail)[::-1], 0.0], np.array([float(len(tail))])
    )
    law = reference.degree_posterior(noisy, distribution.counts.tolist(), rate)
    mean = posterior_means(np.array([noisy]), distribution, rate)[0]
    assert mean == pytest.approx(sum(d * p for d, p in enumerate(law)), abs=1e-9)


@pytest.mark.parametrize("noisy", [-4, 0, 3, 9, 40])
def test_samples_follow_the_posterior(noisy: int) -> None:
    distribution = DegreeDistribution(
        np.array([60.0, 50, 30, 30, 12, 11, 4, 2, 1, 1, 0]), np.array([9.0])
    )
    law = np.array(reference.degree_posterior(noisy, distribution.counts.tolist(), 0.2))
    size = 40_000
    drawn = sample_posterior(np.full(size, noisy), distribution, 0.2, np.random.default_rng(1))
    seen = np.bincount(drawn, minlength=len(law))
    expected = size * law
    possible = expected > 0
    assert seen[~possible].sum() == 0
    chi_square = ((seen - expected)[possible] ** 2 / expected[possible]).sum()
    assert chi_square < 35  # 9 degrees of freedom: probability of more is below 1e-4


def test_a_sequence_has_the_expected_number_of_nodes_per_degree() -> None:
    distribution = DegreeDistribution(np.array([10.0, 8, 8, 3.5, 0]), np.array([]))
    assert distribution.sequence(0.25).tolist() == [3, 3, 3, 3, 2, 2, 2, 2, 0, 0]
    assert distribution.sequence(0.75).tolist() == [3, 3, 3, 2, 2, 2, 2, 2, 0, 0]


def test_thresholds_cut_equal_numbers_of_ends() -> None:
    degrees = np.random.default_rng(0).zipf(2.0, 3000).clip(max=100)
    thresholds = equal_end_thresholds(degrees, 8)
    ends = np.bincount(np.searchsorted(thresholds, degrees, side="right"), degrees)
    largest = np.bincount(degrees).argmax()
    assert ends[1:].max() < 2.5 * degrees.sum() / 8
    assert largest in (1, 2)


@given(st.floats(0.05, 1.5), st.lists(st.integers(1, 25), min_size=2, max_size=12))
@settings(max_examples=25, deadline=None)
def test_the_blur_is_the_law_of_the_noise(rate: float, degrees: list[int]) -> None:
    thresholds, noisy_thresholds = np.array([5, 12]), np.array([2, 9, 17])
    matrix = blur(np.array(degrees), thresholds, noisy_thresholds, rate)
    edges = [-(10**6), 2, 9, 17, 10**6]
    for b, (low, high) in enumerate([(0, 5), (5, 12), (12, 10**6)]):
        inside = [d for d in degrees if low <= d < high]
        if not inside:
            continue
        for c in range(4):
            expected = sum(
                d
                * (
                    reference.noise_at_least(max(edges[c] - d, -1999), rate)
                    - reference.noise_at_least(min(edges[c + 1] - d, 2001), rate)
                )
                for d in inside
            ) / sum(inside)
            assert matrix[b, c] == pytest.approx(expected, abs=1e-9)


def test_deconvolution_follows_its_definition_and_removes_the_blur() -> None:
    rng = np.random.default_rng(3)
    true = np.array([[60.0, 10, 2], [10, 30, 8], [2, 8, 20]])
    blurring = np.array([[0.7, 0.2, 0.1, 0], [0.2, 0.5, 0.2, 0.1], [0, 0.2, 0.3, 0.5]])
    ends = true.sum(1)
    seen = blurring.T @ true @ blurring + 1e-9
    assert deconvolve(seen, blurring, ends, 4) == pytest.approx(
        np.array(reference.richardson_lucy(seen.tolist(), blurring.tolist(), ends.tolist(), 4))
    )
    found = deconvolve(seen, blurring, ends, 3000)
    assert found == pytest.approx(true, abs=1.0)
    assert found.sum(1) == pytest.approx(ends, rel=0.02)
    noisy = np.maximum(seen + rng.normal(0, 1, seen.shape), 0)
    assert np.isfinite(deconvolve(noisy, blurring, ends, 300)).all()


def test_assortativity_is_found_behind_the_noise() -> None:
    rng = np.random.default_rng(0)
    d = np.repeat([3, 10, 40], [600, 200, 60])
    # ends between the three degrees, assortative
    cells = np.array([[1300.0, 350, 150], [350, 1250, 400], [150, 400, 1850]])
    source, target = [], []
    members = [np.flatnonzero(d == x) for x in (3, 10, 40)]
    for a in range(3):
        for b in range(a, 3):
            size = int(cells[a, b] / (2 if a == b else 1))
            source.append(rng.choice(members[a], size))
            target.append(rng.choice(members[b], size))
    u, v = np.concatenate(source), np.concatenate(target)
    rate = 0.1
    p = 1 - np.exp(-rate)
    noisy = d + rng.geometric(p, len(d)) - rng.geometric(p, len(d))
    thresholds = equal_end_thresholds(noisy, 12)
    bins = np.searchsorted(thresholds, noisy, side="right")
    upper = np.zeros((len(thresholds) + 1,) * 2)
    np.add.at(upper, (np.minimum(bins[u], bins[v]), np.maximum(bins[u], bins[v])), 1)
    plain = np.corrcoef(np.r_[noisy[u], noisy[v]], np.r_[noisy[v], noisy[u]])[0, 1]
    true = np.corrcoef(np.r_[d[u], d[v]], np.r_[d[v], d[u]])[0, 1]
    found = estimate_assortativity(d, ends_between(upper, len(u)), thresholds, rate, 14, 300)
    assert abs(found.assortativity - true) < 0.06
    assert abs(found.assortativity - true) < 0.5 * abs(plain - true)


def test_the_profile_is_the_least_squares_solution_in_the_box() -> None:
    degrees = np.repeat([1, 2, 3, 5, 8, 20], [10, 40, 30, 20, 10, 4])
    lowest = np.array([2.0, 3.0, 5.0, 8.0, 20.0])
    d = degrees[degrees >= 2]
    pairs, bins = d * (d - 1) / 2, np.searchsorted(lowest, d, side="right") - 1
    damped = pairs / (np.maximum(d, 6) * (np.maximum(d, 6) - 1) / 2)
    true = np.array([0.8, 0.7, 0.6, 0.4, 0.2])
    sums = [
        NoisySum(float((pairs * true[bins]).sum()), 5.0, 0),
        NoisySum(float((damped * true[bins]).sum()), 0.5, 6),
    ]
    found = estimate_profile(degrees, lowest, sums)
    spread = [float(np.hypot(s.error, 0.01 * s.value)) for s in sums]
    identity = np.eye(5)
    system = np.vstack(
        [
            np.bincount(bins, pairs) / spread[0],
            np.bincount(bins, damped) / spread[1],
            np.diff(identity, n=2, axis=0) / 0.05,
            np.diff(identity, axis=0) / 0.3,
        ]
    )
    goal = np.r_[[s.value / x for s, x in zip(sums, spread, strict=True)], np.zeros(7)]
    expected = reference.box_least_squares(system, goal, 0.97)
    assert np.abs(system[:2] @ expected - goal[:2]).max() < 1  # so no residual is damped
    assert found == pytest.approx(expected, abs=1e-3)
    assert found == pytest.approx(true, abs=0.2)


@given(st.lists(st.floats(-1e9, 1e9), min_size=3, max_size=3))
def test_no_noise_makes_an_impossible_profile(values: list[float]) -> None:
    degrees = np.array([0, 1, 2, 2, 3, 9, 30])
    sums = [NoisySum(v, 10.0, x) for v, x in zip(values, (0, 6, 24), strict=True)]
    profile = estimate_profile(degrees, np.array([2.0, 3.0, 9.0]), sums)
    assert ((profile >= 0) & (profile <= 0.97)).all()


@given(st.lists(st.integers(-30, 50), min_size=1, max_size=9))
def test_negative_counts_are_spread(values: list[int]) -> None:
    spread = spread_negative(np.array(values, np.float64))
    assert spread == pytest.approx(reference.shifted_to_sum(values), abs=1e-6)


def test_degrees_are_dealt_so_that_blocks_get_their_ends() -> None:
    rng = np.random.default_rng(0)
    sequence = np.sort(rng.zipf(2.2, 900).clip(max=60))[::-1].astype(np.int64)
    block = rng.integers(0, 3, 900).astype(np.int32)
    wanted = sequence.sum() * np.array([0.5, 0.3, 0.2])
    dealt = deal_degrees(sequence, rng.permutation(sequence), block, wanted, rng)
    assert np.array_equal(np.sort(dealt)[::-1], sequence)
    assert np.bincount(block, dealt) == pytest.approx(wanted, rel=0.03)


def test_cells_are_whole_even_inside_and_never_too_dense() -> None:
    cells = np.array([[500.0, 3.3, 40], [3.3, 60, 9], [40, 9, 5]])
    sizes = np.array([12, 30, 5])
    fitted = fit_cells(cells, cells.sum(1), sizes)
    assert np.array_equal(fitted, fitted.T)
    assert (np.diag(fitted) % 2 == 0).all()
    assert fitted[0, 0] <= 0.95 * 12 * 11 + 1


@given(st.lists(st.integers(0, 5), min_size=4, max_size=8), st.integers(0, 40))
def test_degrees_are_adjusted_to_the_sums(degrees: list[int], total: int) -> None:
    label = np.zeros(len(degrees), np.int32)
    rng = np.random.default_rng(0)
    adjusted = adjust_to_sums(np.array(degrees), label, np.array([total]), rng)
    assert adjusted.sum() == total
    assert (adjusted >= 0).all()


@given(st.integers(0, 2**32), st.lists(st.integers(0, 9), max_size=12))
@settings(deadline=None)
def test_open_ends_are_joined(key: int, ends: list[int]) -> None:
    edges = [(0, 1), (1, 2), (3, 4), (5, 6), (2, 7)]
    ends = ends[: len(ends) // 2 * 2]
    space = len(ends) // 2
    source, target = (
        np.array([edge[side] for edge in edges] + [0] * space, np.int32) for side in (0, 1)
    )
    made = join_open_ends(source, target, len(edges), np.array(ends, np.int32), np.uint64(key))
    state = stream(np.uint64(key), 5)

    def coin() -> float:
        nonlocal state
        state, value = uniform(np.uint64(state))
        return float(value)

    def pick(n: int) -> int:
        return int(coin() * n)

    expected = reference.join_open_ends(edges, ends, pick, coin, _OPEN_TRIES)
    found = list(zip(source[:made].tolist(), target[:made].tolist(), strict=True))
    assert found == expected
    assert len({frozenset(edge) for edge in found}) == len(found)


cells = st.lists(st.integers(0, 40), min_size=10, max_size=10)


@given(cells, st.floats(0, 1))
def test_separation_moves_a_background_inside(values: list[int], share: float) -> None:
    upper = np.zeros((4, 4))
    upper[np.triu_indices(4)] = values
    ends = upper + upper.T
    moved = separate(ends, share)
    outer, rest = (x[~np.eye(4, dtype=bool)].sum() for x in (ends, moved))
    assert moved == pytest.approx(moved.T)
    assert moved.sum(1) == pytest.approx(ends.sum(1))
    assert rest == pytest.approx((1 - share) * outer, abs=1e-9 * max(outer, 1))
    assert (moved >= -1e-9).all()
    # what a pair of blocks lost is one level of the background, or all that it had
    lost = (ends - moved) / np.maximum(np.outer(ends.sum(1), ends.sum(1)), 1)
    level = lost[~np.eye(4, dtype=bool)].max(initial=0)
    for r in range(4):
        for s in range(4):
            assert r == s or moved[r, s] < 1e-6 or lost[r, s] == pytest.approx(level, abs=1e-9)


def test_pairs_of_blocks_without_more_than_the_background_become_separate() -> None:
    ends = np.array([[90.0, 30, 2], [30, 90, 2], [2, 2, 40]])
    moved = separate(ends, 0.3)
    assert moved[0, 2] == moved[1, 2] == 0
    assert moved[0, 1] > 20


@pytest.mark.parametrize("length", [0, 1, 50])
def test_discounted_sums_are_those_of_the_filter_of_scipy(length: int) -> None:
    from scipy.signal import lfilter

    values = np.random.default_rng(length).random(length)
    filtered = lfilter([1.0], [1.0, -np.exp(-0.3)], values)
    np.testing.assert_allclose(_discounted(values, 0.3), filtered, rtol=1e-14)


def power_law(n_nodes: int, largest: float) -> DegreeDistribution:
    """A distribution with N(d) = n / d^1.2 and hubs."""
    degree = np.arange(1, 60)
    tail = np.r_[float(n_nodes), n_nodes / degree**1.2, 0.0]
    return DegreeDistribution(tail, np.linspace(largest, 60.0, 10))


@pytest.mark.parametrize("factor", [0.95, 0.99, 1.0, 1.02, 1.1])
def test_degrees_get_their_sum_at_the_uncertain_degrees(factor: float) -> None:
    """The sum moves the hubs and a few nodes per degree, not one neighbour of many nodes."""
    before = power_law(5000, 900.0)
    total = factor * before.sequence(0.5).sum()
    after = before.with_sum(total, 0.09, 0.025)
    first, second = before.sequence(0.5), after.sequence(0.5)
    assert abs(second.sum() - total) <= 60  # rounding: less than a neighbour per degree
    assert (np.diff(after.tail) <= 0).all() and (np.diff(after.largest) <= 0).all()
    reached = np.arange(1, 60)
    moved = np.abs((first[:, None] >= reached).sum(0) - (second[:, None] >= reached).sum(0))
    assert moved.max() <= abs(factor - 1) * first.sum() / 59 + 2  # spread over all degrees


def test_a_sum_that_cannot_be_reached_gives_possible_degrees() -> None:
    for total in (0.0, 1e9):
        after = power_law(100, 90.0).with_sum(total, 0.09, 0.025).sequence(0.5)
        assert after.min() >= 0
        assert after.max() <= 99


def test_the_common_sum_is_large_if_hubs_have_neighbours_of_low_degree() -> None:
    star = np.r_[500, 480, np.full(900, 2)]
    dense = np.full(900, 60)
    assert common_sum(star, 480.0, 6) == pytest.approx(
        240 * (1800 / 15 + 500 / (500 * 499 / 2) + 480 / (480 * 479 / 2)) / 2780
    )
    assert common_sum(dense, 60.0, 6) == pytest.approx(30 / (60 * 59 / 2))
    assert common_sum(np.zeros(3, np.int64), 2.0, 6) == 0.0

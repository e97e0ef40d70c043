"""The additive block model: each conditional compared with the reference, then whole fits."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests import reference

import coterie as ct
from coterie.base.errors import InputError
from coterie.base.progress import Progress
from coterie.engine import LocalEngine
from coterie.kernels.additive import chain as additive_chain
from coterie.kernels.additive import distributions as additive_distributions
from coterie.kernels.additive import factors as additive_factors
from coterie.kernels.additive import response_styles as additive_styles
from coterie.kernels.additive import sweep as additive_sweep
from coterie.kernels.additive.fold_in import Newcomers, OtherSide, factor_moments, fold_in
from coterie.kernels.additive.predict import Samples, distributions, explanations
from coterie.kernels.additive.sweep import Edges
from coterie.kernels.numba.random import stream
from coterie.models.additive import chain_allocation
from coterie.models.additive.chain_allocation import best_allocation, kinds_in_play
from coterie.models.additive.chains import (
    AdditiveShape,
    ChainKind,
    PresenceSettings,
    chain_data,
    chain_inputs,
    observe,
    sample_of,
    start_chain,
)
from coterie.models.additive.rating_scale import RatingScale
from coterie.models.additive.sampling import SamplingError

STANDARD = NormalDist()


def draws(count: int, draw) -> np.ndarray:
    """Return `count` draws of one random stream, passing the state on as a kernel does."""
    state, found = stream(1, 2), []
    for _ in range(count):
        state, x = draw(np.uint64(state))
        found.append(x)
    return np.array(found)


TAU = 5.0


def small_ratings(
    seed: int = 0, n: int = 12, m: int = 9, count: int = 60, R: int = 4
) -> ct.Ratings:
    rng = np.random.default_rng(seed)
    pairs = rng.choice(n * m, count, replace=False)
    return ct.Ratings.from_arrays(pairs // m, pairs % m, rng.integers(1, R + 1, count))


class State:
    """A chain after a few sweeps, also in the form of the reference."""

    def __init__(self, seed: int, sweeps: int = 4, R: int = 4) -> None:
        ratings = small_ratings(seed, R=R)
        self.observed = observe(
            ratings.users.astype(np.int64),
            ratings.items.astype(np.int64),
            ratings.codes.astype(np.uint8),
            ratings.n_users,
            ratings.n_items,
        )
        shape = AdditiveShape(3, 2, 4, 3, len(ratings.values), 3)
        side = np.random.default_rng(seed).normal(0, 1, (ratings.n_users, 2))
        inputs = chain_inputs(shape, self.observed, PresenceSettings(0.3, 0.5), side)
        self.inputs = inputs
        self.chain, self.seen = start_chain(seed, ChainKind.PRESENCE, inputs)
        self.y = self._outcomes()
        users, items = inputs.features.user_map.columns, inputs.features.item_map.columns
        schedule = additive_chain.Schedule(0.3, 2, 1, 1, 100.0, True, True, users, items, 1, 2)
        data = chain_data(inputs, self.seen)
        additive_chain.advance(self.chain, data, schedule, sweeps)

    def _outcomes(self) -> np.ndarray:
        """Return 1 for rated pairs and 0 for others, in the order of the presence pairs."""
        rated = set(zip(self.observed.users.tolist(), self.observed.items.tolist(), strict=True))
        users = np.repeat(np.arange(len(self.chain.b_user)), np.diff(self.seen.row_ptr))
        self.seen_users = users
        return np.array([float((u, v) in rated) for u, v in zip(users, self.seen.col, strict=True)])

    @property
    def sample(self) -> reference.AdditiveSample:
        c = self.chain
        return reference.AdditiveSample(
            c.g,
            c.h,
            c.M,
            c.b_user,
            c.b_item,
            c.cuts[:, 1:-1],
            c.style,
            c.user_factors,
            c.item_factors,
        )

    @property
    def presence(self) -> reference.PresenceSample:
        c = self.chain
        return reference.PresenceSample(c.Q, c.c_user, c.c_item, float(self.y.mean()), TAU)

    @property
    def latent(self) -> list[tuple[int, int, float]]:
        return list(
            zip(self.observed.users, self.observed.items, self.chain.z.tolist(), strict=True)
        )

    @property
    def present(self) -> list[tuple[int, int, float]]:
        return list(zip(self.seen_users, self.seen.col.tolist(), self.y, strict=True))

    @property
    def ratings(self) -> list[tuple[int, int, int]]:
        o = self.observed
        return list(zip(o.users, o.items, o.level.tolist(), strict=True))


@settings(deadline=None)
@given(st.floats(-8, 8))
def test_cdf_equals_the_standard_library(x: float) -> None:
    assert additive_distributions.cdf(x) == pytest.approx(STANDARD.cdf(x), abs=2e-6)


@settings(deadline=None)
@given(st.floats(1e-12, 1 - 1e-12))
def test_quantile_equals_the_standard_library(p: float) -> None:
    assert additive_distributions.quantile(p) == pytest.approx(STANDARD.inv_cdf(p), abs=2e-5)


@settings(deadline=None)
@given(st.floats(-6, 6), st.floats(0.01, 5))
def test_truncated_normal_draws(a: float, width: float) -> None:
    b = a + width
    found = draws(600, lambda state: additive_distributions.between(state, a, b))
    assert a <= min(found) and max(found) <= b
    mass = 0.5 * (math.erfc(a / math.sqrt(2)) - math.erfc(b / math.sqrt(2)))
    expected = (STANDARD.pdf(a) - STANDARD.pdf(b)) / mass if mass > 1e-9 else None
    if expected is not None:
        assert np.mean(found) == pytest.approx(expected, abs=0.2 * min(width, 1) + 1e-3)


def test_truncated_normal_draws_in_the_tails() -> None:
    _, high = additive_distributions.between(np.uint64(stream(0, 0)), 9.0, 80.0)
    _, low = additive_distributions.between(np.uint64(stream(0, 0)), -80.0, -9.0)
    assert 9 <= high < 11 and -11 < low <= -9


@pytest.mark.parametrize("shape", [1.0, 3.5, 40.0])
def test_gamma_draws(shape: float) -> None:
    found = draws(4000, lambda state: additive_distributions.gamma(state, shape))
    assert np.mean(found) == pytest.approx(shape, rel=0.08)
    assert np.var(found) == pytest.approx(shape, rel=0.25)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_residuals_equal_the_reference(seed: int) -> None:
    state = State(seed)
    for (u, v, z), x in zip(state.latent, state.chain.x, strict=True):
        assert z - x == pytest.approx(reference.additive_location(state.sample, u, v), abs=1e-4)
    for (u, v, y), left in zip(state.present, state.chain.y, strict=True):
        location = reference.presence_location(state.sample, state.presence, u, v)
        assert y - location == pytest.approx(left, abs=1e-4)


@pytest.mark.parametrize("seed", [0, 1])
def test_latent_values_are_within_their_ratings_interval(seed: int) -> None:
    state = State(seed)
    c, edges = state.chain, state.observed.edges
    additive_sweep.draw_latent(
        np.uint64(stream(1, 1)), edges, state.observed.level, c.style, c.cuts, c.z, c.x
    )
    for u, r, z in zip(state.observed.users, state.observed.level, c.z, strict=True):
        low, high = c.cuts[c.style[u], r], c.cuts[c.style[u], r + 1]
        assert low - 1e-4 <= z <= high + 1e-4


def views(state: State, s: int) -> list[tuple[additive_sweep.SweepView, np.ndarray]]:
    """Return copies of both kinds of observation, with their effects in partition s."""
    c = state.chain
    return [
        (additive_sweep.SweepView(state.observed.edges, c.x.copy(), 1.0), c.M[s]),
        (additive_sweep.SweepView(state.seen, c.y.copy(), 0.3 * TAU), c.Q[s]),
    ]


def item_sums(state: State, s: int, view: additive_sweep.SweepView, M: np.ndarray) -> np.ndarray:
    """Return the sums and counts by user label that the items of a partition use."""
    c, (k, l) = state.chain, M.shape  # noqa: E741
    nothing, total, count = np.zeros(l), np.empty(l), np.empty(l)
    sums = np.zeros((k, len(c.b_item), 2))
    for u, label in enumerate(c.g[s]):
        additive_sweep.gather(view, u, nothing, c.h[s], M[label], c.h[s], total, count)
        additive_sweep.scatter(view, u, sums[label])
    return sums


def scores(state: State, s: int, users: bool) -> np.ndarray:
    """Return the log weights of every label of every node, computed by the kernels."""
    c = state.chain
    k, l = c.M.shape[1:]  # noqa: E741
    found = np.zeros((len(c.b_user), k) if users else (len(c.b_item), l))
    for view, M in views(state, s):
        sums = None if users else item_sums(state, s, view, M)
        for node, score in enumerate(found):
            if sums is None:
                total, count = np.empty(l), np.empty(l)
                own, back = M[c.g[s, node]], np.ascontiguousarray(M.T)
                additive_sweep.gather(view, node, np.zeros(l), c.h[s], own, c.h[s], total, count)
            else:
                total, count, back = sums[:, node, 0], sums[:, node, 1], M
            additive_sweep.label_weights(total, count, back, view.weight, score)
    return found


@pytest.mark.parametrize("users", [True, False])
@pytest.mark.parametrize("s", [0, 2])
def test_label_weights_equal_the_reference(users: bool, s: int) -> None:
    state = State(5)
    found = scores(state, s, users)
    weigh = (
        reference.additive_user_label_log_weights
        if users
        else reference.additive_item_label_log_weights
    )
    for node in range(len(found)):
        expected = weigh(state.latent, state.sample, s, node, state.present, state.presence)
        assert found[node] - found[node][0] == pytest.approx(expected - expected[0], abs=2e-3)


def test_labels_are_drawn_in_proportion_to_their_weights() -> None:
    score = np.log([0.1, 0.6, 0.3])
    found = draws(5000, lambda state: additive_sweep.draw_category(state, score.copy()))
    assert np.bincount(found) / 5000 == pytest.approx([0.1, 0.6, 0.3], abs=0.03)


def moments(draw, repeats: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    found = np.array([draw(np.uint64(stream(7, i))) for i in range(repeats)])
    return found.mean(axis=0), found.var(axis=0)


def test_offset_draws_equal_the_reference() -> None:
    state = State(1)
    c = state.chain
    prior, nothing = np.linspace(-1, 1, len(c.b_user)), np.zeros(20)

    def users(key):
        b, x = c.b_user.copy(), c.x.copy()
        additive_sweep.draw_row_offsets(key, state.observed.edges, x, b, prior, 1.0, 3.0)
        return b

    def items(key):
        b, x = c.b_item.copy(), c.x.copy()
        additive_sweep.draw_col_offsets(key, state.observed.edges, x, b, nothing, 1.0, 3.0)
        return b

    def presence_users(key):
        b, y = c.c_user.copy(), c.y.copy()
        additive_sweep.draw_row_offsets(key, state.seen, y, b, nothing, TAU, 3.0)
        return b

    for draw, expected in (
        (
            users,
            lambda u: reference.additive_user_offset_conditional(
                state.latent, state.sample, u, 3.0, prior[u]
            ),
        ),
        (
            items,
            lambda v: reference.additive_item_offset_conditional(
                state.latent, state.sample, v, 3.0
            ),
        ),
        (
            presence_users,
            lambda u: reference.additive_presence_user_offset_conditional(
                state.present, state.sample, state.presence, u, 3.0
            ),
        ),
    ):
        mean, variance = moments(draw)
        for node in range(len(mean)):
            m, v = expected(node)
            assert mean[node] == pytest.approx(m, abs=5 * math.sqrt(v / 3000))
            assert variance[node] == pytest.approx(v, rel=0.2)


def assert_scales(found: np.ndarray, log_density) -> None:
    """Compare draws of log c with the mean and variance of their density, by a fine grid."""
    grid = np.linspace(-6, 6, 4001)
    logs = np.array([log_density(math.exp(place)) for place in grid])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ grid
    variance = weights @ (grid - mean) ** 2
    # One draw is a few slice sampling steps from c = 1: chains of draws start anywhere
    assert found.mean() == pytest.approx(mean, abs=6 * math.sqrt(variance / len(found)))
    assert found.var() == pytest.approx(variance, rel=0.15)


@pytest.mark.parametrize("by_user", [True, False])
def test_scales_of_offsets_equal_the_reference(by_user: bool) -> None:
    state = State(1)
    c = state.chain
    offsets = c.b_user if by_user else c.b_item
    mean = np.linspace(-0.3, 0.3, len(offsets))
    gaps, precision, floor = offsets - mean, 7.0, 0.05

    def scaled(factor: float) -> reference.AdditiveSample:
        moved = mean + factor * gaps
        return state.sample._replace(**{f"{'user' if by_user else 'item'}_offsets": moved})

    found = []
    for i in range(3000):
        b, x = offsets.copy(), c.x.copy()
        key, now = stream(7, i), precision
        for _ in range(4):
            key, now = additive_sweep.rescale_offsets(
                np.uint64(key), state.observed.edges, x, b, mean, by_user, 1.0, now, floor
            )
        found.append(math.log((b[0] - mean[0]) / gaps[0]))
        assert now == pytest.approx(precision / math.exp(found[-1]) ** 2)
    u, v = state.observed.users[5], state.observed.items[5]
    moved = scaled(math.exp(found[-1]))
    assert c.z[5] - x[5] == pytest.approx(reference.additive_location(moved, u, v), abs=1e-4)
    latent = state.latent
    assert_scales(
        np.array(found),
        lambda s: reference.additive_scale_log_density(latent, scaled, gaps, precision, floor, s),
    )


def test_scales_of_factors_equal_the_reference() -> None:
    """The moments that a draw leaves are those of the new factors, and scales follow from them."""
    state = State(2)
    c, o = state.chain, state.observed
    means = np.random.default_rng(0).normal(0, 0.2, (len(c.b_user), 3))
    own, x = c.user_factors.copy(), c.x.copy()
    precision, square, product = np.array([2.0, 5.0, 9.0]), np.empty((3, 3)), np.empty(3)
    additive_factors.draw_factors(
        np.uint64(5), o.by_user, x, own, c.item_factors, means, precision, square, product
    )
    effects = (own - means)[o.users] * c.item_factors[o.items]
    assert square == pytest.approx(effects.T @ effects, rel=1e-4, abs=1e-4)
    assert product == pytest.approx(effects.T @ x, rel=1e-3, abs=1e-3)

    gaps = (own - means)[:, 0]

    def scaled(factor: float) -> reference.AdditiveSample:
        moved = own.astype(float)
        moved[:, 0] = means[:, 0] + factor * gaps
        return state.sample._replace(user_factors=moved)

    found = []
    for i in range(3000):
        moved, rest, now, left = own.copy(), x.copy(), precision.copy(), product.copy()
        additive_factors.rescale_factors(
            np.uint64(stream(7, i)),
            o.by_user,
            rest,
            moved,
            c.item_factors,
            means,
            now,
            square,
            left,
            0.05,
        )
        found.append(-math.log(now[0] / precision[0]) / 2)
        after = state.sample._replace(user_factors=moved)
        u, v = o.users[3], o.items[3]
        assert c.z[3] - rest[3] == pytest.approx(reference.additive_location(after, u, v), abs=1e-3)
    latent = state.latent
    assert_scales(
        np.array(found),
        lambda s: reference.additive_scale_log_density(latent, scaled, gaps, 2.0, 0.05, s),
    )


def test_scale_of_values_without_information_follows_the_prior() -> None:
    """Without effects on any residual, the precision has its prior, exp(-floor precision)."""
    now, state, found = 3.0, 9, []
    for _ in range(20_000):
        state, c = additive_sweep.draw_scale(np.uint64(state), 0.0, 0.0, now, 0.5)
        now /= c * c
        found.append(now)
    assert np.mean(found) == pytest.approx(2.0, rel=0.08)
    assert np.median(found) == pytest.approx(2.0 * math.log(2), rel=0.08)


def test_effect_draws_equal_the_reference() -> None:
    state = State(2)
    c, s = state.chain, 1
    sums = item_sums(state, s, *views(state, s)[0])

    def draw(key):
        M = c.M[s].copy()
        additive_sweep.draw_effects(key, sums, c.h[s], 1.0, 20.0, M)
        return M

    mean, variance = moments(draw)
    for i, j in np.ndindex(*mean.shape):
        m, v = reference.additive_effect_conditional(state.latent, state.sample, s, i, j, 20.0)
        assert mean[i, j] == pytest.approx(m, abs=5 * math.sqrt(v / 3000))
        assert variance[i, j] == pytest.approx(v, rel=0.2)


def test_style_weights_and_entropy_equal_the_reference() -> None:
    state = State(3)
    c, o = state.chain, state.observed
    table = additive_styles.log_probabilities(c.cuts)
    for u in range(len(c.style)):
        found = np.zeros(len(c.cuts))
        own = slice(o.edges.row_ptr[u], o.edges.row_ptr[u + 1])
        additive_styles.style_scores(o.level[own], c.z[own] - c.x[own], table, found)
        expected = reference.additive_style_log_weights(state.ratings, state.sample, u, [1.0] * 3)
        assert found == pytest.approx(expected, abs=5e-3)
        exact = np.zeros(len(c.cuts))
        additive_styles.exact_style_scores(o.level[own], c.z[own] - c.x[own], c.cuts, exact)
        assert exact == pytest.approx(expected, abs=1e-3)
    entropy = additive_styles.entropy(o.edges, o.level, c.z, c.x, c.style, c.cuts)
    log = reference.additive_log_likelihood(state.ratings, state.sample)
    assert entropy == pytest.approx(-log, rel=1e-3)


def test_cutpoints_move_to_the_maximum_of_the_penalized_likelihood() -> None:
    """The place where repeated steps end, compared with a general optimizer on the same ratings."""
    state = State(4)
    c, o = state.chain, state.observed
    S, R = len(c.cuts), c.cuts.shape[1] - 1
    shares = np.bincount(o.level, minlength=R) + 0.5
    shares /= shares.sum()
    observed = [
        (reference.additive_location(state.sample, u, v), c.style[u], r)
        for u, v, r in state.ratings
    ]
    located = [[f for f, style, _ in observed if style == s] for s in range(S)]

    def loss(free: np.ndarray) -> float:
        inner = free.reshape(S, R - 1)
        cuts = np.hstack([np.full((S, 1), -40.0), inner, np.full((S, 1), 40.0)])

        def log_chance(s: int, r: int, f: float) -> float:
            inside = STANDARD.cdf(cuts[s, r + 1] - f) - STANDARD.cdf(cuts[s, r] - f)
            return math.log(max(inside, 1e-9))

        total = sum(log_chance(s, r, f) for f, s, r in observed)
        for s, own in enumerate(located):  # half a rating per style
            for r in range(R):
                weight = 0.5 * shares[r] / max(len(own), 1)
                total += weight * sum(log_chance(s, r, f) for f in own)
        return -total + 25 * ((inner - inner.mean(axis=0)) ** 2).sum()

    moved = c.cuts.copy()
    for _ in range(40):
        additive_styles.move_cuts(o.edges, o.level, c.z, c.x, c.style, 50.0, moved)
    best = minimize(loss, c.cuts[:, 1:-1].ravel(), tol=1e-10)
    assert loss(moved[:, 1:-1].ravel()) == pytest.approx(best.fun, rel=1e-3)
    assert moved[:, 1:-1].ravel() == pytest.approx(best.x, abs=0.03)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(2, 20), st.integers(0, 200))
def test_cutpoints_stay_in_order(seed: int, S: int, R: int, n: int) -> None:
    """Rare and empty levels, empty styles and outliers: no gap closes, and the steps end."""
    rng = np.random.default_rng(seed)
    inner = np.sort(rng.normal(0, 1.5, R - 1)) + np.arange(R - 1) * 0.05
    ends = np.full((S, 1), 40.0)
    cuts = np.hstack([-ends, np.outer(np.linspace(0.8, 1.25, S), inner), ends])
    users = 1 + n // 10
    row_ptr = np.linspace(0, n, users + 1).astype(np.int64)
    edges = Edges(row_ptr, np.zeros(n, np.uint32))
    level = rng.choice([0, R // 2, R - 1], n, p=[0.1, 0.85, 0.05]).astype(np.uint8)
    complete = n >= 2 * R
    if complete:
        level[:R] = np.arange(R)
    z, x = rng.normal(0, 2, n).astype(np.float32), np.zeros(n, np.float32)
    style = rng.integers(0, S, users).astype(np.uint8)
    for _ in range(30):
        before = cuts.copy()
        additive_styles.move_cuts(edges, level, z, x, style, 100.0, cuts)
        assert (np.diff(cuts, axis=1) > 0).all() and np.isfinite(cuts).all()
    assert not complete or np.abs(cuts - before).max() < 0.05
    if R > additive_styles.FREE_LEVELS:
        mean = cuts[:, 1:-1].mean(axis=0)
        for row in cuts[:, 1:-1]:
            smooth = reference.closest_quadratic(mean, row - mean) + mean
            assert row == pytest.approx(smooth, abs=0.05)


SCALES = {
    "round numbers of 1-100": lambda z, u: np.where(
        u % 10 > 0, np.array([30, 50, 70, 90, 100])[np.searchsorted([-1, -0.3, 0.6, 1.3], z)], None
    ),
    "0-10 with halves": lambda z, u: np.clip(np.round((6 + 2.2 * z) * 2) / 2, 0, 10),
    "1-7": lambda z, u: np.clip(np.round(4 + 1.5 * z), 1, 7),
    "-10..10": lambda z, u: np.clip(np.round(1 + 4 * z), -10, 10),
    "one value of five has 90 %": lambda z, u: 1.0 + np.searchsorted([-2.6, -2.3, -2.0, 2.6], z),
}


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.filterwarnings("ignore:.*distinct ratings:coterie.base.errors.AssumptionWarning")
def test_any_scale_is_predicted_with_its_shares(name: str) -> None:
    """Rare levels between frequent ones once made the cutpoints collapse to one point."""
    rng = np.random.default_rng(0)
    pairs = rng.choice(600 * 300, 4800, replace=False)
    u, v = pairs // 300, pairs % 300
    z = rng.normal(0, 0.6, 600)[u] + rng.normal(0, 0.6, 300)[v] + rng.normal(0, 1, 4800)
    given = SCALES[name](z, u)
    exact = np.clip(np.round(65 + 22 * z), 1, 100)
    ratings = ct.Ratings.from_arrays(
        u, v, [e if g is None else g for g, e in zip(given, exact, strict=True)]
    )
    model = ct.AdditiveBlockModel(n_sweeps=60, n_chains=2, pilot=False, n_factors=0, rng=0)
    model.fit(ratings)
    levels = model.scale_.levels(ratings.ratings)
    p = model.predict_proba(ratings.users, ratings.items)
    shares = np.bincount(levels, minlength=p.shape[1]) / len(levels)
    assert p.mean(axis=0) == pytest.approx(shares, abs=0.02)
    guessed = -np.log(shares[levels]).mean()
    assert model.entropy_ / len(levels) < guessed


def fitted(**given) -> ct.AdditiveBlockModel:
    options = {
        "n_partitions": 2,
        "n_groups": (2, 3),
        "n_chains": 2,
        "n_sweeps": 40,
        "keep_every": 5,
        "rng": 0,
    }
    return ct.AdditiveBlockModel(**{**options, **given})


def test_predictions_average_the_samples() -> None:
    ratings = small_ratings()
    model = fitted().fit(ratings)
    s = model.samples_
    samples = [
        reference.AdditiveSample(
            s.user_labels[t].T,
            s.item_labels[t].T,
            s.effects[t],
            s.user_offsets[t],
            s.item_offsets[t],
            s.cuts[t][:, 1:-1],
            s.styles[t],
            s.user_factors[t],
            s.item_factors[t],
        )
        for t in range(len(s.styles))
    ]
    users, items = np.array([3, 0, 3, 11]), np.array([1, 2, 0, 8])
    p = model.predict_proba(users, items)
    for row, u, v in zip(p, users, items, strict=True):
        expected = np.zeros(len(row))
        for t, sample in enumerate(samples):
            scale = math.sqrt(1 + s.user_spreads[t, u] + s.item_spreads[t, v])
            cuts = sample.cutpoints[sample.styles[u]] / scale
            f = reference.additive_location(sample, u, v) / scale
            expected += reference.ordinal_distribution(cuts, f) / len(samples)
        assert row == pytest.approx(expected, abs=1e-5)
    shares = explanations(s, model.values_, 3, 1, 0, len(samples)) / len(samples)
    assert shares.sum() == pytest.approx(p[0] @ model.values_, abs=1e-5)


def test_sample_has_the_conditional_means_and_variances() -> None:
    state = State(1)
    c, sample = state.chain, sample_of(state.chain, state.observed)
    for users in (True, False):
        factors, spreads, nodes, others = (
            (sample.user_factors, sample.user_spreads, c.b_user, c.item_factors)
            if users
            else (sample.item_factors, sample.item_spreads, c.b_item, c.user_factors)
        )
        rated = state.observed.items if users else state.observed.users
        means = c.user_means if users else c.item_means
        side = 0 if users else 1
        moment = sum(np.outer(others[e], others[e]) for e in rated) / len(rated)
        for node in range(len(nodes)):
            mean, covariance = reference.additive_factor_conditional(
                state.latent,
                state.sample,
                node,
                users,
                means[node, :3],
                c.factor_precision[side][:3],
            )
            assert factors[node] == pytest.approx(mean, abs=2e-4)
            count = np.count_nonzero(
                (state.observed.users if users else state.observed.items) == node
            )
            expected = 1 / (count + c.precision[side]) + (covariance * moment).sum()
            assert spreads[node] == pytest.approx(expected, rel=1e-3)
    for node in range(len(c.b_user)):
        mean, _ = reference.additive_user_offset_conditional(
            state.latent, state.sample, node, c.precision[0], c.user_means[node, 3]
        )
        assert sample.user_offsets[node] == pytest.approx(mean, abs=1e-4)


def test_factor_draws_equal_the_reference() -> None:
    state = State(2)
    c, o = state.chain, state.observed
    precision = np.array([2.0, 5.0, 9.0])
    means = np.random.default_rng(0).normal(0, 0.5, (len(c.b_user), 3))

    def draw(key):
        own, x = c.user_factors.copy(), c.x.copy()
        additive_factors.draw_factors(
            key, o.by_user, x, own, c.item_factors, means, precision, np.empty((3, 3)), np.empty(3)
        )
        after = state.sample._replace(user_factors=own)
        u, v = o.users[0], o.items[0]
        assert c.z[0] - x[0] == pytest.approx(reference.additive_location(after, u, v), abs=1e-4)
        return own

    found = np.array([draw(np.uint64(stream(7, i))) for i in range(3000)])
    for node in range(len(c.b_user)):
        mean, covariance = reference.additive_factor_conditional(
            state.latent, state.sample, node, True, means[node], precision
        )
        bound = 5 * np.sqrt(np.diag(covariance) / 3000)
        assert (np.abs(found[:, node].mean(axis=0) - mean) < bound + 1e-3).all()
        assert np.cov(found[:, node].T) == pytest.approx(covariance, abs=0.15 * covariance.max())


def test_link_draws_equal_the_reference() -> None:
    rng = np.random.default_rng(0)
    features = np.linalg.qr(rng.normal(0, 1, (30, 4)))[0].astype(np.float32) * [3, 2, 1, 1]
    features = features.astype(np.float32)
    factors, offsets = rng.normal(0, 1, (30, 2)).astype(np.float32), rng.normal(0, 1, 30)
    precision, of_links = np.array([2.0, 3.0, 4.0]), np.array([1.0, 0.5, 2.0])
    # One more node without ratings, which must not count
    features = np.vstack([features, np.full((1, 4), 9, np.float32)])
    factors = np.vstack([factors, np.full((1, 2), 9, np.float32)])
    offsets, ptr = np.append(offsets, 9.0), np.append(np.arange(31), 30)

    def draw(key):
        links = np.zeros((4, 3))
        additive_factors.draw_links(
            key, ptr, features, 3, factors, offsets, precision, of_links, links
        )
        return links

    found = np.array([draw(np.uint64(stream(3, i))) for i in range(3000)])
    assert not found[:, 3].any()  # the last column is not used
    for k in range(3):
        values = factors[:, k] if k < 2 else offsets
        mean, covariance = reference.additive_link_conditional(
            features[:30, :3].astype(float), values[:30], precision[k], of_links[k]
        )
        bound = 5 * np.sqrt(np.diag(covariance) / 3000)
        assert (np.abs(found[:, :3, k].mean(axis=0) - mean) < bound).all()
        assert found[:, :3, k].var(axis=0) == pytest.approx(np.diag(covariance), rel=0.2)


def other_side(
    T: int, labels: np.ndarray, M: np.ndarray, cuts: np.ndarray, q: np.ndarray
) -> OtherSide:
    """Return T equal samples of the side that newcomers are placed by."""
    n = len(labels)
    factors = np.tile(q.astype(np.float32), (T, 1, 1))
    return OtherSide(
        np.tile(labels, (T, 1, 1)),
        np.zeros((T, n), np.float32),
        factors,
        np.zeros((T, 0), np.uint8),
        np.tile(M, (T, 1, 1, 1)),
        np.tile(cuts, (T, 1, 1)),
        factor_moments(factors),
    )


def newcomer(T: int, codes: np.ndarray, K: int, precision: float, strength: float) -> Newcomers:
    """Return one new user who rated the first items."""
    n = len(codes)
    return Newcomers(
        np.array([9]),
        np.array([0, n]),
        np.arange(n),
        codes,
        np.ones((1, 1), np.float32),
        np.full((T, 1, K + 1), 0.5, np.float32) * np.r_[np.ones(K), 0].astype(np.float32),
        np.full(T, precision, np.float32),
        np.full((T, K + 1), strength, np.float32),
    )


def test_factor_moments_are_roots_of_the_mean_of_products() -> None:
    factors = np.random.default_rng(0).normal(size=(3, 7, 4)).astype(np.float32)
    factors[1] = 0.0  # a chain without factors
    roots = factor_moments(factors)
    assert (roots == np.tril(roots)).all()
    expected = np.einsum("tvi,tvj->tij", factors, factors) / 7
    assert roots @ roots.transpose(0, 2, 1) == pytest.approx(expected, abs=1e-6)


def test_style_scores_are_sums_of_log_probabilities() -> None:
    rng = np.random.default_rng(0)
    cuts = np.array([[-40.0, -0.5, 0.7, 40.0], [-40.0, -2.0, 1.5, 40.0]])
    levels, f = rng.integers(0, 3, 70).astype(np.uint8), 3 * rng.normal(size=70)
    score = np.zeros(2)
    additive_styles.exact_style_scores(levels, f, cuts, score)
    ends = cuts[:, np.array([levels, levels + 1])] - f  # styles x 2 x ratings
    below = np.vectorize(NormalDist().cdf)(ends)
    chance = np.maximum(below[:, 1] - below[:, 0], 1e-9)
    assert score == pytest.approx(np.log(chance).sum(axis=1), rel=1e-3)


def test_fold_in_draws_labels_from_their_posterior() -> None:
    """One partition and no offset: the exact posterior is a product of probabilities."""
    T, n = 4000, 3
    rng = np.random.default_rng(0)
    M = rng.normal(0, 1, (1, 2, 3)).astype(np.float32)
    cuts = np.array([[-40, -0.5, 0.7, 40]], np.float32)
    labels, codes = np.array([[0], [1], [2]], np.uint8), np.array([2, 0, 1], np.uint8)
    side = other_side(T, labels, M, cuts, np.zeros((n, 0)))
    placed = fold_in(side, newcomer(T, codes, 0, 1e9, 1.0), True, 2, 0, 1)
    weight = [
        math.prod(
            reference.ordinal_distribution(cuts[0, 1:-1], M[0, i, labels[e, 0]])[codes[e]]
            for e in range(n)
        )
        for i in range(2)
    ]
    assert (placed.labels == 1).mean() == pytest.approx(weight[1] / sum(weight), abs=0.04)
    assert np.abs(placed.offsets).max() < 1e-3 and placed.spreads.max() < 1e-8


def test_fold_in_draws_factors_from_their_posterior() -> None:
    """One factor, no groups, no offset: the posterior mean by integrating on a grid."""
    T, q = 4000, np.array([[1.5], [-0.7], [0.4]])
    cuts, codes = np.array([[-40, -0.5, 0.7, 40]], np.float32), np.array([2, 0, 1], np.uint8)
    M, labels = np.zeros((1, 1, 1), np.float32), np.zeros((3, 1), np.uint8)
    placed = fold_in(
        other_side(T, labels, M, cuts, q), newcomer(T, codes, 1, 1e9, 2.0), True, 2, 0, 1
    )
    grid = np.linspace(-5, 5, 2001)
    weight = np.exp(-((grid - 0.5) ** 2))  # precision 2 around the prior mean of .5
    for code, (slope,) in zip(codes, q, strict=True):
        weight *= [reference.ordinal_distribution(cuts[0, 1:-1], p * slope)[code] for p in grid]
    expected = (grid * weight).sum() / weight.sum()
    assert placed.factors.mean() == pytest.approx(expected, abs=0.05)
    variance = 1 / (2 + (q**2).sum()) * (q**2).mean()
    assert placed.spreads[0, 0] == pytest.approx(variance, rel=1e-3)


@settings(deadline=None)
@given(st.floats(-7, 7))
def test_fast_cdf_equals_the_standard_library(x: float) -> None:
    found = additive_distributions.fast_cdf(np.float32(x))
    assert found == pytest.approx(STANDARD.cdf(x), abs=1e-6)


def test_same_result_on_one_and_two_threads() -> None:
    ratings = small_ratings(3)
    with LocalEngine(1) as one, LocalEngine(2) as two:
        a, b = fitted().fit(ratings, engine=one), fitted().fit(ratings, engine=two)
    for x, y in zip(a.samples_, b.samples_, strict=True):
        assert np.array_equal(x, y)
    assert a.entropy_ == b.entropy_
    assert not np.array_equal(fitted(rng=1).fit(ratings).samples_.effects, a.samples_.effects)


def test_resumed_fit_equals_an_uninterrupted_one(tmp_path) -> None:
    ratings, file = small_ratings(4), tmp_path / "fit.ckpt"
    whole = fitted(n_sweeps=80).fit(ratings)

    class StopError(Exception):
        pass

    def stop(progress: Progress) -> None:
        if progress.done >= 60:
            raise StopError

    with pytest.raises(StopError):
        fitted(n_sweeps=80).fit(ratings, callback=stop, checkpoint=file)
    again = fitted(n_sweeps=80).fit(ratings, checkpoint=file, resume=True)
    for x, y in zip(whole.samples_, again.samples_, strict=True):
        assert np.array_equal(x, y)
    assert [row.entropy for row in again.history_] == [row.entropy for row in whole.history_]
    with pytest.raises(InputError, match="n_sweeps"):
        fitted(n_sweeps=90).fit(ratings, checkpoint=file, resume=True)


def test_sampling_error_is_the_variance_between_chains() -> None:
    ratings = small_ratings(2)
    model = fitted(n_chains=3, pilot=False).fit(ratings)
    values, per_chain = model.values_, len(model.samples_.styles) // 3
    users, items = ratings.users.astype(np.int64), ratings.items.astype(np.int64)
    observed = observe(users, items, model.scale_.levels(ratings.ratings), 12, 9)
    error = SamplingError(observed, values, 7)
    for t in range(per_chain):
        error.add(
            [Samples(*(part[c * per_chain + t] for part in model.samples_)) for c in range(3)]
        )
        assert np.isinf(error.share()) == (t == 0)
    p = np.array(
        [
            distributions(
                Samples(*(part[c * per_chain : (c + 1) * per_chain] for part in model.samples_)),
                error.users,
                error.items,
                0,
                len(error.users),
            )
            for c in range(3)
        ]
    )
    rated = set(zip(ratings.users.tolist(), ratings.items.tolist(), strict=True))
    assert not rated & set(zip(error.users.tolist(), error.items.tolist(), strict=True))
    expected = reference.share_of_sampling_error(p @ values, error.noise / per_chain)
    assert error.share() == pytest.approx(expected, rel=1e-4)


def test_chains_stop_when_more_samples_do_not_help(tmp_path) -> None:
    rng = np.random.default_rng(0)
    pairs = rng.choice(100 * 60, 4000, replace=False)
    noise = ct.Ratings.from_arrays(pairs // 60, pairs % 60, rng.integers(1, 6, 4000))
    file = tmp_path / "fit.ckpt"
    auto = {"n_sweeps": "auto", "n_chains": 3}
    early = fitted(**auto).fit(noise, checkpoint=file)
    assert early.n_iter_ < 200 and not early.interrupted_
    again = fitted(**auto).fit(noise, checkpoint=file, resume=True)
    assert again.n_iter_ == early.n_iter_ and again.entropy_ == early.entropy_
    assert fitted(n_sweeps=early.n_iter_ + 20, n_chains=3).fit(noise).n_iter_ > early.n_iter_


@pytest.mark.parametrize(("every", "sweeps_saved"), [(1, 15), (2, 10)])
def test_checkpoint_is_saved_every_few_rounds(every: int, sweeps_saved: int, tmp_path) -> None:
    ratings, file = small_ratings(4), tmp_path / "fit.ckpt"

    class StopError(Exception):
        pass

    def stop(progress: Progress) -> None:
        if progress.stage == "fit" and progress.done >= 15:
            raise StopError

    with pytest.raises(StopError):
        fitted().fit(ratings, callback=stop, checkpoint=file, checkpoint_every=every)
    resumed_at = []
    fitted().fit(
        ratings, callback=lambda p: resumed_at.append(p.done), checkpoint=file, resume=True
    )
    assert resumed_at[0] == sweeps_saved + 5


def test_ctrl_c_keeps_the_samples_so_far() -> None:
    def interrupt(progress: Progress) -> None:
        if progress.done >= 30:
            raise KeyboardInterrupt

    model = fitted().fit(small_ratings(), callback=interrupt)
    assert model.interrupted_ and model.n_iter_ == 30
    assert model.predict_proba([0], [0]).sum() == pytest.approx(1)

    def at_once(progress: Progress) -> None:
        raise KeyboardInterrupt

    early = fitted().fit(small_ratings(), callback=at_once)
    assert early.interrupted_ and early.n_iter_ == 5 and len(early.samples_.styles) == 2
    assert early.predict_proba([0], [0]).sum() == pytest.approx(1)


def planted(n: int, m: int, count: int, values: np.ndarray, seed: int = 0) -> ct.Ratings:
    """Draw ratings with user and item offsets and three by three groups."""
    rng = np.random.default_rng(seed)
    pairs = rng.choice(n * m, min(count, n * m), replace=False)
    u, v = pairs // m, pairs % m
    taste = rng.normal(0, 0.7, (3, 3))[rng.integers(0, 3, n)[u], rng.integers(0, 3, m)[v]]
    place = rng.normal(0, 0.5, n)[u] + rng.normal(0, 0.5, m)[v] + taste + rng.normal(0, 0.7, len(u))
    level = np.clip(np.round((place + 2) / 4 * (len(values) - 1)), 0, len(values) - 1).astype(int)
    return ct.Ratings.from_arrays(u, v, values[level])


def bias_rmse(train: ct.Ratings, test: ct.Ratings) -> float:
    """Return the RMSE of user and item offsets fitted by regularised least squares."""
    mean = train.ratings.mean()
    b, c = np.zeros(train.n_users), np.zeros(train.n_items)
    for _ in range(10):
        left = train.ratings - mean - c[train.items]
        b = np.bincount(train.users, left, train.n_users) / (
            np.bincount(train.users, minlength=train.n_users) + 5
        )
        left = train.ratings - mean - b[train.users]
        c = np.bincount(train.items, left, train.n_items) / (
            np.bincount(train.items, minlength=train.n_items) + 5
        )
    return float(np.sqrt(np.mean((mean + b[test.users] + c[test.items] - test.ratings) ** 2)))


@pytest.mark.parametrize(
    ("n", "m", "count", "values"),
    [
        pytest.param(300, 200, 1500, np.arange(1.0, 6), id="sparse"),
        pytest.param(300, 8, 1800, np.arange(1.0, 6), id="few items"),
        pytest.param(80, 60, 2500, np.arange(0.0, 11), id="0..10"),
        pytest.param(80, 60, 2500, np.arange(0.5, 5.5, 0.5), id="half stars"),
        pytest.param(80, 60, 2500, np.linspace(-10, 10, 201), id="nearly continuous"),
    ],
)
def test_fit_is_not_worse_than_offsets_alone(
    n: int, m: int, count: int, values: np.ndarray
) -> None:
    ratings = planted(n, m, count, values)
    rows = np.random.default_rng(1).permutation(len(ratings))
    test, train = ratings.take(rows[: len(rows) // 5]), ratings.take(rows[len(rows) // 5 :])
    model = ct.AdditiveBlockModel(n_chains=3, n_sweeps=80, rng=0).fit(train)
    predicted = model.predict_proba(test.users, test.items) @ model.values_
    assert np.sqrt(np.mean((predicted - test.ratings) ** 2)) <= bias_rmse(train, test) * 1.002


def test_best_allocation_minimises_the_squared_error() -> None:
    rng = np.random.default_rng(0)
    truth, chance = rng.normal(0, 1, (2, 4000)), rng.normal(0, 0.8, (2, 2, 4000))
    errors = np.array([0.5 * truth[0], 0.6 * truth[1]])[:, None] + chance * [[[1.0]], [[0.1]]]
    # w'Aw + noise / 10: A = diag(.25, .36), noise .64 and .0064, so kind 0 gets w of
    # .25 w^2 + .36 (1 - w)^2 + .064 w + .00064 (1 - w) -> w = .54
    assert best_allocation(errors, 10) in {(5, 5), (6, 4)}
    assert best_allocation(errors, 1) == (0, 1)  # the variance of a single chain decides
    assert best_allocation(errors[:1], 3) == (3,)


def kinds_with_errors(*sizes: float, count: int = 4000) -> np.ndarray:
    """Errors of two equal chains per kind: shared noise of size 1, and other noise of this size."""
    shared, own = np.random.default_rng(0).normal(0, 1, (2, count))
    own -= shared * (own @ shared) / (shared @ shared)
    return np.array([[shared + size * own] * 2 for size in sizes])


def test_a_simpler_kind_is_used_unless_another_is_better_by_one_standard_error() -> None:
    # The first kind has the smallest error, but not by a standard error
    assert best_allocation(kinds_with_errors(0.0, 0.01, 0.4), 4) == (0, 4, 0)
    assert best_allocation(kinds_with_errors(0.0, 0.01, 0.01), 4) == (0, 0, 4)
    assert best_allocation(kinds_with_errors(0.0, 0.4, 0.4), 4) == (4, 0, 0)


def test_more_held_out_ratings_are_for_kinds_that_could_still_be_chosen() -> None:
    assert kinds_in_play(kinds_with_errors(0.0, 0.4, 0.9), 4) == [0]  # a clear winner
    assert kinds_in_play(kinds_with_errors(0.4, 0.01, 0.0), 4) == [1, 2]  # one has lost
    near = kinds_with_errors(0.01, 0.01, 0.0)
    assert kinds_in_play(near, 4) == [0, 1, 2]
    assert kinds_in_play(near, 4, sparing=True) == [1, 2]
    assert kinds_in_play(kinds_with_errors(0.9, 0.9, 0.0), 4) == [2]


def tasteful(taste: float) -> ct.Ratings:
    """1,600 ratings of two groups of users and of items, which like each other this much."""
    rng = np.random.default_rng(3)
    pairs = rng.choice(80 * 50, 1600, replace=False)
    u, v = pairs // 50, pairs % 50
    likes = taste * np.where(rng.integers(0, 2, 80)[u] == rng.integers(0, 2, 50)[v], 1, -1)
    level = np.clip(np.round(3 + likes + rng.normal(0, 1, len(u))), 1, 5)
    return ct.Ratings.from_arrays(u, v, level)


@pytest.mark.parametrize("taste", [0.0, 1.5], ids=["none", "strong"])
def test_a_clear_pilot_fits_fewer_chains(taste: float, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: list[str] = []
    predict = chain_allocation.predict_held_out

    def noting(key: int, pilot: chain_allocation.PilotChain, values: np.ndarray) -> np.ndarray:
        kinds.append(pilot.kind.value)
        return predict(key, pilot, values)

    monkeypatch.setattr(chain_allocation, "predict_held_out", noting)
    ratings = tasteful(taste)
    ct.AdditiveBlockModel(n_chains=2, n_sweeps=20, rng=0).fit(ratings, engine=LocalEngine(1))
    assert kinds[:6:2] == ["presence", "factors", "offsets"]
    if taste:
        assert len(kinds) == 6  # one fold, two chains of each of three kinds
    else:
        assert kinds.count("presence") < 6 and kinds.count("offsets") <= 6


@pytest.mark.parametrize(
    ("taste", "kinds"),
    [(0.0, {"offsets"}), (1.5, {"presence", "ratings", "factors"})],
    ids=["none", "strong"],
)
def test_chains_use_the_data_that_predict(taste: float, kinds: set[str]) -> None:
    ratings = tasteful(taste)
    options = {"n_partitions": 3, "n_groups": 3, "n_chains": 4, "n_sweeps": 12, "rng": 0}
    with LocalEngine(1) as one, LocalEngine(2) as two:
        a, b = (ct.AdditiveBlockModel(**options).fit(ratings, engine=on) for on in (one, two))
    assert a.mixture_ == b.mixture_ and np.array_equal(a.samples_.effects, b.samples_.effects)
    assert sum(a.mixture_.values()) == 4
    assert sum(a.mixture_.get(kind, 0) for kind in kinds) >= 3


@settings(deadline=None, max_examples=15)
@given(st.integers(1, 4), st.integers(1, 5), st.data())
def test_any_small_table_can_be_fitted(n: int, m: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, n * m))
    rng = np.random.default_rng(count)
    pairs = rng.choice(n * m, count, replace=False)
    values = data.draw(st.lists(st.sampled_from([-3.0, 0.5, 2.0]), min_size=count, max_size=count))
    ratings = ct.Ratings.from_arrays(pairs // m, pairs % m, values)
    model = fitted(n_chains=1, n_sweeps=20).fit(ratings)
    p = model.predict_proba(ratings.users, ratings.items)
    assert p.sum(axis=1) == pytest.approx(1) and (p >= 0).all()
    assert math.isfinite(model.entropy_)


def test_ratings_with_a_single_value() -> None:
    ratings = ct.Ratings.from_arrays([0, 1, 2], [0, 1, 0], [4, 4, 4])
    model = fitted().fit(ratings)
    assert model.predict_proba([0, 2], [1, 1]).tolist() == [[1.0], [1.0]]
    assert model.entropy_ == 0


def test_scale_with_many_values_is_binned() -> None:
    rng = np.random.default_rng(0)
    ratings = ct.Ratings.from_arrays(np.arange(500), np.zeros(500, int), rng.uniform(-10, 10, 500))
    scale = RatingScale.of(ratings)
    assert len(scale.values) == 20 and (np.diff(scale.values) > 0).all()
    levels = scale.levels(ratings.ratings)
    for level in range(20):
        assert ratings.ratings[levels == level].mean() == pytest.approx(scale.values[level])


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (
            {"n_partitions": 0},
            "invalid n_partitions: 0; give an integer of at least 1 and at most 1000",
        ),
        ({"n_groups": (0, 3)}, r"invalid n_groups: \(0, 3\)"),
        ({"n_styles": 300}, "invalid n_styles: 300"),
        ({"burn_in": 50}, r"burn_in \(50\) must be less than n_sweeps \(40\)"),
        ({"burn_in": -1}, "invalid burn_in: -1"),
        ({"n_chains": 0}, "invalid n_chains: 0"),
        ({"n_sweeps": "many"}, "invalid n_sweeps: 'many'; give an integer of at least 1, or"),
        ({"negatives_per_rating": -0.5}, "invalid negatives_per_rating: -0.5"),
        ({"presence": -1.0}, "invalid presence: -1.0; give a number of at least 0"),
        ({"rng": -1}, "-1"),
    ],
)
def test_invalid_parameters_are_rejected(given: dict, what: str) -> None:
    with pytest.raises(InputError, match=what):
        fitted(**given).fit(small_ratings())


def test_empty_ratings_are_rejected() -> None:
    with pytest.raises(InputError, match="no ratings"):
        fitted().fit(small_ratings().take(np.empty(0, np.int64)))


def test_history_and_shapes() -> None:
    seen = []
    model = fitted().fit(small_ratings(), callback=seen.append)
    assert [row.iteration for row in model.history_] == list(range(5, 45, 5))
    assert [p.done for p in seen if p.stage == "fit"] == list(range(5, 45, 5))
    assert model.user_labels_.shape == (2, 12) and model.item_labels_.shape == (2, 9)
    assert model.effects_.shape == (2, 2, 3)
    assert isinstance(model.samples_, Samples) and len(model.samples_.styles) == 2 * 6
    u, v = np.zeros(2, np.int64), np.arange(2)
    assert distributions(model.samples_, u, v, 1, 2) == pytest.approx(model.predict_proba(u, v)[1:])


def test_work_in_parts_for_large_tables_changes_nothing(monkeypatch) -> None:
    """Chains that start one after the other, and entropies that are summed in parts."""
    rng = np.random.default_rng(0)
    pairs = rng.choice(300, 90, replace=False)
    ratings = ct.Ratings.from_arrays(pairs // 15, pairs % 15, rng.integers(1, 6, 90))
    model = ct.AdditiveBlockModel(n_chains=2, n_sweeps=10, rng=0)
    together = model.fit(ratings)
    expected, entropy = together.samples_, together.entropy_
    monkeypatch.setattr("coterie.models.additive.sampling._STARTED_TOGETHER", 10)
    monkeypatch.setattr("coterie.models.additive.predict._PAIRS_AT_ONCE", 7)
    apart = model.fit(ratings)
    for name, array in apart.samples_._asdict().items():
        np.testing.assert_array_equal(array, getattr(expected, name))
    assert apart.entropy_ == pytest.approx(entropy, rel=1e-9)

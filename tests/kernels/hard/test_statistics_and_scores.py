"""Hard-clustering kernels against the plain loops of reference.py, on graphs of every shape."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference as ref

from coterie.data import Graph, Ratings
from coterie.engine import LocalEngine
from coterie.kernels.hard.cell_costs import (
    BERNOULLI,
    POISSON,
    cell,
    g_drop,
    g_table,
    gain,
    tail,
    widen,
)
from coterie.kernels.hard.scores import score, workspace
from coterie.kernels.hard.statistics import profile
from coterie.models.hard.costs import make_objective

GRAPHS = ("simple", "degree-corrected", "directed", "weighted", "fractions")
TABLES = ("ratings", "binomial", "likes")
few = settings(max_examples=30, deadline=None)


class Case:
    """Random data of one kind with labels, some blocks empty, and its reference entropy."""

    def __init__(self, kind: str, seed: int, n: int, k: int, density: float) -> None:
        rng = np.random.default_rng(seed)
        self.rng, self.kind = rng, kind
        if kind in TABLES:
            self._ratings(n, k, density)
        else:
            self._graph(n, k, density)

    def _graph(self, n: int, k: int, density: float) -> None:
        kind, rng = self.kind, self.rng
        present = rng.random((n, n)) < density
        np.fill_diagonal(present, False)
        pairs = np.argwhere(present if kind == "directed" else np.triu(present))
        weights = None
        if kind == "weighted":
            weights = rng.integers(1, 5, len(pairs)).astype(float)
        elif kind == "fractions":
            weights = rng.random(len(pairs)) * 3 + 0.01
        graph = Graph.from_edges(
            pairs[:, 0], pairs[:, 1], weights=weights, n_nodes=n, directed=kind == "directed"
        )
        edges = [tuple(p) for p in pairs.tolist()]
        if weights is not None:
            edges = [(u, v, w) for (u, v), w in zip(edges, weights.tolist(), strict=True)]
        name = "weighted" if kind == "fractions" else kind
        entropy = {
            "simple": ref.entropy_simple,
            "degree-corrected": ref.entropy_degree_corrected,
            "directed": ref.entropy_directed,
            "weighted": ref.entropy_weighted,
        }[name]
        self.edges = edges
        self.objective = make_objective(name, graph)
        self.n_blocks: tuple[int, ...] = (k,)
        self.labels = (rng.integers(0, k, n).astype(np.int32),)
        self.entropy = lambda sides: entropy(edges, sides[0], k)

    def _ratings(self, n: int, k: int, density: float) -> None:
        rng, m, values = self.rng, max(2, n - 2), 3
        q = max(1, k - 1)
        pairs = np.argwhere(rng.random((n, m)) < density)
        if not len(pairs):
            pairs = np.array([[0, 0]])
        codes = rng.integers(0, values, len(pairs))
        codes[0] = values - 1
        self.data = Ratings(
            pairs[:, 0].astype(np.int32),
            pairs[:, 1].astype(np.int32),
            codes.astype(np.int32),
            np.arange(1.0, values + 1),
            np.arange(n),
            np.arange(m),
        )
        rated = [(u, v, r) for (u, v), r in zip(pairs.tolist(), codes.tolist(), strict=True)]
        self.objective = make_objective(self.kind, self.data)
        self.n_blocks = (k, q)
        self.labels = (
            rng.integers(0, k, n).astype(np.int32),
            rng.integers(0, q, m).astype(np.int32),
        )
        if self.kind == "likes":
            likes = {(u, v) for u, v, _ in rated}
            self.entropy = lambda z: ref.entropy_likes(likes, z[0], z[1], k, q)
        else:
            plain = ref.entropy_ratings if self.kind == "ratings" else ref.entropy_binomial
            self.entropy = lambda z: plain(rated, z[0], z[1], k, q, values)

    def with_label(self, side: int, v: int, y: int) -> list[np.ndarray]:
        sides = [z.copy() for z in self.labels]
        sides[side][v] = y
        return sides


cases = st.builds(
    Case,
    st.sampled_from(GRAPHS + TABLES),
    st.integers(0, 10_000),
    st.integers(2, 11),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.15, 0.5, 0.9, 1.0]),
)


@pytest.fixture(scope="module")
def engine():
    with LocalEngine(1) as running:
        yield running


@few
@given(cases)
def test_entropy_equals_the_reference(case):
    state = case.objective.start(case.labels, case.n_blocks)
    assert case.objective.entropy(state) == pytest.approx(case.entropy(case.labels), abs=1e-9)


@few
@given(cases)
def test_every_score_is_the_exact_change_of_the_entropy(engine, case):
    objective = case.objective
    state = objective.start(case.labels, case.n_blocks)
    before = case.entropy(case.labels)
    for side, labels in enumerate(case.labels):
        objective.prepare(state, side, engine)
        slots, k = state.counts[side].shape
        work = workspace(slots, k, keep=3, capacity=5)
        other = case.labels[len(case.labels) - 1 - side]
        for v, a in enumerate(labels):
            q = case.n_blocks[len(case.n_blocks) - 1 - side]
            m = profile(objective.model, objective.sides[side], other, q, v, work.x, work.touched)
            score(objective.model, state.stats(side), state.tables[side], work, m, a)
            change = work.cost - work.cost[a]
            exact = [case.entropy(case.with_label(side, v, y)) - before for y in range(k)]
            np.testing.assert_allclose(change, exact, atol=1e-9)
            work.x[:] = 0.0


@few
@given(cases, st.data())
def test_moves_keep_the_statistics_exact(engine, case, data):
    objective = case.objective
    state = objective.start(case.labels, case.n_blocks)
    for side in [*range(len(case.labels)), 0]:
        n, k = objective.n_elements[side], case.n_blocks[side]
        batch = np.array(data.draw(st.permutations(range(n)))[: max(1, n // 2)])
        wanted = case.rng.integers(0, k, len(batch)).astype(np.int32)
        objective.apply(state, side, batch, wanted)
        np.testing.assert_array_equal(state.labels[side][batch], wanted)
    fresh = objective.start(state.labels, case.n_blocks)
    for mine, counted in zip(state.counts + state.sizes, fresh.counts + fresh.sizes, strict=True):
        np.testing.assert_allclose(mine, counted, atol=1e-9)


@few
@given(cases)
def test_plan_has_the_best_label_and_the_gain_of_the_best_other_one(engine, case):
    objective = case.objective
    state = objective.start(case.labels, case.n_blocks)
    before = case.entropy(case.labels)
    for side, labels in enumerate(case.labels):
        objective.prepare(state, side, engine)
        plan = objective.plan_moves(state, side, np.arange(len(labels)), engine)
        for v, a in enumerate(labels):
            costs = [case.entropy(case.with_label(side, v, y)) for y in range(case.n_blocks[side])]
            assert costs[plan.wanted[v]] == pytest.approx(min(costs), abs=1e-8)
            others = costs[:a] + costs[a + 1 :] or costs
            assert plan.gains[v] == pytest.approx(before - min(others), abs=1e-8)
            if before - min(costs) < 1e-10:
                assert plan.wanted[v] == a  # ties stay


@few
@given(cases)
def test_sweep_never_raises_the_entropy_and_reports_its_gain(case):
    objective = case.objective
    state = objective.start(case.labels, case.n_blocks)
    S = case.entropy(case.labels)
    for _ in range(2):
        for side in range(len(case.labels)):
            _, gained = objective.sweep(state, side, np.arange(objective.n_elements[side]))
            now = case.entropy(state.labels)
            assert gained >= 0.0
            assert now == pytest.approx(S - gained, abs=1e-7)
            S = now
    fresh = objective.start(state.labels, case.n_blocks)
    for mine, counted in zip(state.counts, fresh.counts, strict=True):
        np.testing.assert_allclose(mine, counted, atol=1e-9)


@few
@given(cases)
def test_tables_updated_by_a_sweep_equal_new_tables(engine, case):
    objective = case.objective
    state = objective.start(case.labels, case.n_blocks)
    last = len(case.labels) - 1
    objective.sweep(state, last, np.arange(objective.n_elements[last]))
    kept = [table.copy() for table in state.tables[last]]
    objective.prepare(state, last, engine)
    for old, new in zip(kept[0:1] + kept[2:], [*state.tables[last][0:1], *state.tables[last][2:]],
                        strict=True):  # fmt: skip
        np.testing.assert_allclose(old, new, atol=1e-9)
    np.testing.assert_allclose(kept[1][:3], state.tables[last].blocks[:3], atol=1e-9)


@few
@given(
    st.sampled_from(["simple", "directed", "weighted"]),
    st.integers(0, 10_000),
    st.integers(2, 9),
    st.integers(1, 4),
)
def test_fixed_scores_equal_the_likelihood_with_fixed_theta(engine, kind, seed, n, k):
    case = Case(kind, seed, n, k, 0.4)
    objective = case.objective
    objective.score = "fixed"
    state = objective.start(case.labels, case.n_blocks)
    objective.prepare(state, 0, engine)
    wanted = objective.plan_moves(state, 0, np.arange(n), engine).wanted
    z = case.labels[0]
    d, D = {
        "simple": (ref.block_edges, ref.block_pairs),
        "directed": (ref.directed_block_edges, ref.directed_block_pairs),
        "weighted": (ref.block_weights, ref.block_pairs),
    }[kind]
    d, D = d(case.edges, z, k), D(z, k)
    theta = (d + 0.5) / (D + (0.5 if kind == "weighted" else 1.0))
    plain = {
        "simple": ref.fixed_costs,
        "directed": ref.fixed_costs_directed,
        "weighted": ref.fixed_costs_weighted,
    }[kind]
    for v in range(n):
        costs = plain(case.edges, z, theta, v)
        assert costs[wanted[v]] == pytest.approx(costs.min(), abs=1e-8)


def test_cell_costs_are_exact_for_very_large_blocks():
    """D = 5e9 and more: plain differences of x log x would be wrong in the fifth digit."""
    from fractions import Fraction

    table = g_table()

    def log_series(x: Fraction) -> Fraction:  # log(1 + x) for tiny x, to 40 digits
        return sum((-1) ** (i + 1) * x**i / i for i in range(1, 6))

    d, D, c = 1_000_000, 5_000_000_000, 70_000
    u0, u1 = Fraction(d, D), Fraction(d, D + c)
    exact = (
        d * log_series(Fraction(c, D)) - (D + c - d) * log_series(-u1) + (D - d) * log_series(-u0)
    )
    assert widen(BERNOULLI, float(d), float(D), float(c)) == pytest.approx(float(exact), rel=1e-11)
    assert widen(POISSON, float(d), float(D), float(c)) == pytest.approx(d * math.log1p(c / D))
    step = gain(BERNOULLI, table, float(d), float(D), 1.0)
    assert step == pytest.approx(math.log((D - d) / (d + 1)), rel=1e-5)
    assert cell(BERNOULLI, 3.0, 3.0) == pytest.approx(0.0, abs=1e-12)


@given(st.floats(1e-9, 1.0))
def test_tail_is_exact_on_both_sides_of_its_series(t):
    exact = 1.0 + (1.0 - t) * math.log1p(-t) / t if t < 1.0 else 1.0
    assert tail(t) == pytest.approx(exact, abs=1e-12)


@given(st.integers(1, 200_000), st.integers(0, 300))
def test_differences_of_x_log_x(M, x):
    x = min(x, M)
    exact = ref.x_log_x(M) - ref.x_log_x(M - x)
    assert g_drop(g_table(), float(M), float(x)) == pytest.approx(exact, abs=1e-8)

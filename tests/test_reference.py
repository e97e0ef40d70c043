"""The reference implementation checked against hand counts, scipy, networkx and scikit-learn."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from sklearn import metrics
from tests import reference as ref

KARATE = nx.karate_club_graph()
KARATE_EDGES = [(u, v) for u, v in KARATE.edges()]

quick = settings(max_examples=30, deadline=None)


@st.composite
def labelled_graphs(draw, directed=False):
    """Draw (edges, n, labels, k), with isolated nodes and empty blocks among them."""
    n = draw(st.integers(1, 8))
    pairs = [(u, v) for u in range(n) for v in range(n) if (u != v if directed else u < v)]
    edges = [pair for pair in pairs if draw(st.booleans())]
    k = draw(st.integers(1, 4))
    labels = draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
    return edges, n, labels, k


@st.composite
def labelled_ratings(draw):
    """Draw (ratings, user labels, item labels, k, l, R); a pair may be rated twice."""
    n, m, R = draw(st.integers(1, 6)), draw(st.integers(1, 6)), draw(st.integers(1, 4))
    k, l = draw(st.integers(1, 3)), draw(st.integers(1, 3))  # noqa: E741
    row = st.tuples(st.integers(0, n - 1), st.integers(0, m - 1), st.integers(0, R - 1))
    rows = draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
    cols = draw(st.lists(st.integers(0, l - 1), min_size=m, max_size=m))
    return draw(st.lists(row, max_size=20)), rows, cols, k, l, R


def soft_state(rng, n, m, k, l, R):  # noqa: E741
    """Draw memberships of n users and m items, and theta."""
    h_row, h_col = rng.dirichlet(np.ones(k), n), rng.dirichlet(np.ones(l), m)
    return h_row, h_col, rng.dirichlet(np.ones(R), (k, l))


def some_ratings(rng, n, m, R, count):
    """Draw (user, item, level) of `count` ratings."""
    return [tuple(int(rng.integers(top)) for top in (n, m, R)) for _ in range(count)]


# --- 1  Hard clustering ------------------------------------------------------------------------


def test_entropy_of_a_path_by_hand():
    path = [(0, 1), (1, 2)]
    assert_allclose(ref.entropy_simple(path, [0, 0, 0], 1), 3 * math.log(3) - 2 * math.log(2))
    assert ref.entropy_simple(path, [0, 1, 0], 2) == 0  # every cell is full or empty
    assert ref.block_pairs([0, 1, 0], 3).tolist() == [[1, 2, 0], [2, 0, 0], [0, 0, 0]]
    assert ref.block_edges(path, [0, 0, 1], 2).tolist() == [[1, 1], [1, 0]]


@quick
@given(labelled_graphs())
def test_simple_entropy_equals_bernoulli_log_likelihood(case):
    edges, n, labels, k = case
    d, D = ref.block_edges(edges, labels, k), ref.block_pairs(labels, k)
    S = 0.0
    for u, v in itertools.combinations(range(n), 2):
        p = d[labels[u], labels[v]] / D[labels[u], labels[v]]
        S -= stats.bernoulli.logpmf((u, v) in edges, p)
    assert_allclose(ref.entropy_simple(edges, labels, k), S, atol=1e-9)


@quick
@given(labelled_graphs(directed=True))
def test_directed_entropy_equals_bernoulli_log_likelihood(case):
    edges, n, labels, k = case
    d, D = ref.directed_block_edges(edges, labels, k), ref.directed_block_pairs(labels, k)
    S = 0.0
    for u, v in itertools.permutations(range(n), 2):
        p = d[labels[u], labels[v]] / D[labels[u], labels[v]]
        S -= stats.bernoulli.logpmf((u, v) in edges, p)
    assert_allclose(ref.entropy_directed(edges, labels, k), S, atol=1e-9)


@quick
@given(labelled_graphs(), st.integers(0, 10**6))
def test_weighted_entropy_equals_poisson_log_likelihood(case, seed):
    edges, n, labels, k = case
    rng = np.random.default_rng(seed)
    weighted = [(u, v, int(rng.integers(0, 6))) for u, v in edges]
    weight = {(u, v): w for u, v, w in weighted}
    W, D = ref.block_weights(weighted, labels, k), ref.block_pairs(labels, k)
    S = 0.0
    for u, v in itertools.combinations(range(n), 2):
        i, j = labels[u], labels[v]
        S -= stats.poisson.logpmf(weight.get((u, v), 0), W[i, j] / D[i, j])
    assert_allclose(ref.entropy_weighted(weighted, labels, k), S, atol=1e-9)


def degree_corrected_log_likelihood(edges, labels, k):
    """Return the log likelihood of Karrer & Newman's Poisson model at its best parameters."""
    n = len(labels)
    degree = ref.degrees(edges, n)
    e = np.zeros((k, k))
    for u, v in edges:
        e[labels[u], labels[v]] += 1
        e[labels[v], labels[u]] += 1
    K = e.sum(axis=1)
    total = 0.0
    for u, v in itertools.combinations_with_replacement(range(n), 2):
        if degree[u] and degree[v]:
            r, s = labels[u], labels[v]
            rate = degree[u] * degree[v] * e[r, s] / (K[r] * K[s]) / (2 if u == v else 1)
            total += stats.poisson.logpmf((u, v) in edges, rate)
    return total


@quick
@given(labelled_graphs(), st.data())
def test_degree_corrected_entropy_equals_poisson_log_likelihood_up_to_a_constant(case, data):
    edges, n, labels, k = case
    other = data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
    S = [ref.entropy_degree_corrected(edges, z, k) for z in (labels, other)]
    L = [degree_corrected_log_likelihood(edges, z, k) for z in (labels, other)]
    assert_allclose(S[0] - S[1], L[1] - L[0], atol=1e-9)


@quick
@given(labelled_ratings())
def test_ratings_entropies_equal_multinomial_and_binomial_log_likelihoods(case):
    ratings, rows, cols, k, l, R = case  # noqa: E741
    d = ref.block_ratings(ratings, rows, cols, k, l, R)
    multinomial = binomial = 0.0
    for u, v, r in ratings:
        cell = d[rows[u], cols[v]]
        multinomial -= math.log(cell[r] / cell.sum())
        p = (cell @ np.arange(R)) / (cell.sum() * (R - 1)) if R > 1 else 0.5
        binomial -= stats.binom.logpmf(r, R - 1, p)
    assert_allclose(ref.entropy_ratings(*case), multinomial, atol=1e-9)
    assert_allclose(ref.entropy_binomial(*case), binomial, atol=1e-9)


@quick
@given(labelled_ratings())
def test_likes_entropy_equals_bernoulli_log_likelihood(case):
    ratings, rows, cols, k, l, _ = case  # noqa: E741
    likes = {(u, v) for u, v, _ in ratings}
    S = 0.0
    for u, v in itertools.product(range(len(rows)), range(len(cols))):
        cell = [
            (a, b)
            for a, b in itertools.product(range(len(rows)), range(len(cols)))
            if rows[a] == rows[u] and cols[b] == cols[v]
        ]
        S -= stats.bernoulli.logpmf((u, v) in likes, sum(c in likes for c in cell) / len(cell))
    assert_allclose(ref.entropy_likes(likes, rows, cols, k, l), S, atol=1e-9)


def test_gaussian_entropy_equals_normal_log_likelihood():
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(12, 3)), rng.integers(0, 3, 12)
    S = 0.0
    for x, label in zip(points, labels, strict=True):
        S -= stats.multivariate_normal.logpdf(x, points[labels == label].mean(axis=0), np.eye(3))
    assert_allclose(ref.entropy_gaussian(points, labels, 4), S)


def insertion_simple(edges, labels, k, v, y):
    """Return what v adds to S in block y, from block statistics without v."""
    others = [u for u in range(len(labels)) if u != v]
    d = ref.block_edges([e for e in edges if v not in e], labels, k)
    D, n, x = np.zeros((k, k)), np.zeros(k), np.zeros(k)
    for a, b in itertools.combinations(others, 2):
        i, j = labels[a], labels[b]
        D[i, j] += 1
        D[j, i] += i != j
    for u in others:
        n[labels[u]] += 1
        x[labels[u]] += (u, v) in edges or (v, u) in edges
    F = ref.bernoulli_cell
    return sum(F(d[y, j] + x[j], D[y, j] + n[j]) - F(d[y, j], D[y, j]) for j in range(k))


@quick
@given(labelled_graphs(), st.data())
def test_move_costs_equal_the_difference_of_insertion_costs(case, data):
    edges, n, labels, k = case
    v = data.draw(st.integers(0, n - 1))
    inserted = np.array([insertion_simple(edges, labels, k, v, y) for y in range(k)])
    costs = ref.move_costs(lambda z: ref.entropy_simple(edges, z, k), labels, v, k)
    assert_allclose(costs, inserted - inserted[labels[v]], atol=1e-9)
    assert costs[labels[v]] == 0


def test_gaussian_move_cost_equals_hartigans_formula():
    rng = np.random.default_rng(1)
    points, labels = rng.normal(size=(10, 2)), [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]
    costs = ref.move_costs(lambda z: ref.entropy_gaussian(points, z, 3), labels, 0, 3)
    mu = [points[np.array(labels) == y].mean(axis=0) for y in range(3)]
    away = [((points[0] - m) ** 2).sum() for m in mu]
    assert_allclose(costs[1], (4 / 5 * away[1] - 3 / 2 * away[0]) / 2)
    assert_allclose(ref.fixed_costs_gaussian(points, labels, 3, 0), np.array(away) / 2)


@quick
@given(labelled_graphs(), st.data(), st.sampled_from([0.0, 0.5, 1.0]))
def test_fixed_costs_equal_the_logit_formula(case, data, smoothing):
    edges, n, labels, k = case
    v = data.draw(st.integers(0, n - 1))
    p = ref.smoothed_probabilities(edges, labels, k, smoothing)
    costs = ref.fixed_costs(edges, labels, p, v)
    if smoothing == 0:  # the formula below needs finite logarithms
        assert (costs >= 0).all()
        return
    logit = np.log(p / (1 - p))
    x, others = np.zeros(k), np.zeros(k)
    for u in range(n):
        if u != v:
            others[labels[u]] += 1
            x[labels[u]] += (u, v) in edges or (v, u) in edges
    assert_allclose(costs, -logit @ x - np.log(1 - p) @ others, atol=1e-9)


def test_fixed_costs_differ_as_the_full_likelihood_with_fixed_parameters():
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 3, 34).tolist()
    p = ref.smoothed_probabilities(KARATE_EDGES, labels, 3, 0.5)

    def held(z):
        return -sum(
            stats.bernoulli.logpmf(KARATE.has_edge(u, v), p[z[u], z[v]])
            for u, v in itertools.combinations(range(34), 2)
        )

    costs = ref.fixed_costs(KARATE_EDGES, labels, p, 5)
    whole = np.array([held(ref.succ(labels, 5, y)) for y in range(3)])
    assert_allclose(costs - costs[0], whole - whole[0])
    both = KARATE_EDGES + [(v, u) for u, v in KARATE_EDGES]
    assert_allclose(ref.fixed_costs_directed(both, labels, p, 5), 2 * costs)


def test_fixed_costs_of_weights_and_ratings_are_log_probabilities():
    rates = np.array([[2.0, 0.5], [0.5, 1.0]])
    edges, labels = [(0, 1, 3.0), (1, 2, 1.0)], [0, 0, 1]
    costs = ref.fixed_costs_weighted(edges, labels, rates, 1)
    expected = [
        -stats.poisson.logpmf(3, rates[y, 0]) - stats.poisson.logpmf(1, rates[y, 1])
        for y in range(2)
    ]
    assert_allclose(costs + math.lgamma(4) + math.lgamma(2), expected)
    theta = np.random.default_rng(0).dirichlet(np.ones(3), (2, 2))
    costs = ref.fixed_costs_ratings([(0, 0, 2), (1, 0, 0), (0, 1, 1)], [1, 0], theta, 0)
    assert_allclose(costs, [-math.log(theta[y, 1, 2] * theta[y, 0, 1]) for y in range(2)])


def test_best_two_blocks_of_the_karate_club():
    """179.39 nats; single moves from many blocks stop at 196.3."""

    def entropy(z):
        return ref.entropy_simple(KARATE_EDGES, z, 2)

    rng = np.random.default_rng(0)
    ends = [ref.descend(entropy, rng.integers(0, 2, 34).tolist(), 2) for _ in range(6)]
    best = min(ends, key=entropy)
    assert_allclose(entropy(best), 179.39, atol=0.005)
    assert all(ref.is_locally_optimal(entropy, z, 2) for z in ends)
    assert not ref.is_locally_optimal(entropy, ref.succ(best, 0, 1 - best[0]), 2)
    everything = range(34)
    assert ref.generalized_kmeans_iteration(entropy, best, 2, everything) == best
    assert_allclose(
        ref.merge_cost(entropy, best, 0, 1), entropy([0] * 34) - entropy(best), atol=1e-9
    )


def test_iteration_plans_from_one_state_and_moves_only_the_batch():
    def entropy(z):
        return ref.entropy_simple([(0, 1), (2, 3)], z, 2)

    start = [0, 1, 1, 1]
    for batch in ([0], [0, 1], [1, 2, 3]):
        alone = [ref.generalized_kmeans_iteration(entropy, start, 2, [a])[a] for a in batch]
        moved = ref.generalized_kmeans_iteration(entropy, start, 2, batch)
        assert [moved[a] for a in batch] == alone
        assert all(moved[a] == start[a] for a in range(4) if a not in batch)


@quick
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=20))
def test_agreement_equals_scikit_learn(pairs):
    a, b = zip(*pairs, strict=True)
    assert_allclose(ref.adjusted_rand_index(a, b), metrics.adjusted_rand_score(a, b), atol=1e-9)
    alone = len(set(a)) == len(set(b)) == len(pairs)  # for which scikit-learn 1.4 returns 0
    expected = 1.0 if alone else metrics.adjusted_mutual_info_score(a, b)
    assert_allclose(ref.adjusted_mutual_information(a, b), expected, atol=1e-7)


# --- 2  Soft clustering ------------------------------------------------------------------------


def grouped_iteration(observations, h_row, h_col, theta):
    """Run one iteration with sums over groups (v, r), as the kernels do."""
    row_mass, col_mass = np.zeros_like(h_row), np.zeros_like(h_col)
    eta = np.zeros_like(theta)
    for v, r in {(v, r) for _, v, r in observations}:
        t = theta[:, :, r] @ h_col[v]
        s = np.zeros(h_row.shape[1])
        for u in [u for u, w, q in observations if (w, q) == (v, r)]:
            x = h_row[u] @ t
            s += h_row[u] / x
            row_mass[u] += h_row[u] * t / x
        col_mass[v] += h_col[v] * (theta[:, :, r].T @ s)
        eta[:, :, r] += np.outer(s, h_col[v])
    theta_mass = theta * eta
    return tuple(
        ref.normalised(mass, old)
        for mass, old in ((row_mass, h_row), (col_mass, h_col), (theta_mass, theta))
    )


@pytest.mark.parametrize("seed", range(3))
def test_mmsbm_iteration_on_ratings(seed):
    rng = np.random.default_rng(seed)
    ratings = some_ratings(rng, 7, 5, 3, 30)
    state = soft_state(rng, 8, 6, 3, 2, 3)  # the last user and item have no rating
    for new, grouped in zip(
        ref.mmsbm_iteration(ratings, *state), grouped_iteration(ratings, *state), strict=True
    ):
        assert_allclose(new, grouped)
    entropies = []
    for _ in range(15):
        entropies.append(ref.mmsbm_entropy(ratings, *state))
        new = ref.mmsbm_iteration(ratings, *state)
        assert_allclose(new[0][7], state[0][7])
        assert_allclose(new[1][5], state[1][5])
        for part in new:
            assert_allclose(part.sum(axis=-1), 1)
        state = new
    assert (np.diff(entropies) <= 1e-9).all()
    assert entropies[-1] < entropies[0] - 0.1


def test_iterations_with_a_prior_lower_the_penalised_entropy():
    rng = np.random.default_rng(3)
    ratings = some_ratings(rng, 6, 5, 3, 25)
    state = soft_state(rng, 6, 5, 2, 3, 3)
    values = []
    for _ in range(15):
        values.append(ref.mmsbm_penalised_entropy(ratings, *state, prior=0.1))
        state = ref.mmsbm_iteration(ratings, *state, prior=0.1)
    assert (np.diff(values) <= 1e-9).all()


@pytest.mark.parametrize("directed", [False, True])
def test_mmsbm_iteration_on_graphs(directed):
    rng = np.random.default_rng(4)
    pairs = itertools.permutations(range(7), 2) if directed else itertools.combinations(range(7), 2)
    observations = [(u, v, int(rng.integers(3))) for u, v in pairs if rng.random() < 0.7]
    h, _, theta = soft_state(rng, 8, 1, 3, 3, 3)
    if not directed:
        theta = (theta + theta.transpose(1, 0, 2)) / 2
    entropies = []
    for _ in range(15):
        entropies.append(ref.mmsbm_entropy(observations, h, h, theta))
        h, theta = ref.mmsbm_graph_iteration(observations, h, theta, directed)
        assert_allclose(h.sum(axis=1), 1)
        assert_allclose(theta.sum(axis=2), 1)
        if not directed:
            assert_allclose(theta, theta.transpose(1, 0, 2))
    assert (np.diff(entropies) <= 1e-9).all()


def test_one_group_learns_the_shares_of_the_levels():
    ratings = [(0, 0, 0), (0, 1, 1), (1, 1, 1), (1, 1, 1)]
    one = np.ones((2, 1))
    _, _, theta = ref.mmsbm_iteration(ratings, one, one, np.array([[[0.5, 0.5]]]))
    assert_allclose(theta, [[[0.25, 0.75]]])
    assert_allclose(ref.mmsbm_entropy(ratings, one, one, theta), -math.log(0.25 * 0.75**3))


def test_monte_carlo_update_converges_to_the_exact_update():
    rng = np.random.default_rng(5)
    ratings = some_ratings(rng, 4, 3, 2, 8)
    state = soft_state(rng, 4, 3, 3, 2, 2)
    exact = ref.mmsbm_iteration(ratings, *state)
    few, many = (
        ref.mcmmsbm_iteration(ratings, *state, *ref.draw_pairs(ratings, *state[:2], s, rng))
        for s in (20, 20_000)
    )
    for expected, near in zip(exact, many, strict=True):
        assert_allclose(near, expected, atol=0.03)
    assert_allclose(few[0].sum(axis=1), 1)
    assert max(np.abs(a - b).max() for a, b in zip(few, exact, strict=True)) > 0.03


def test_monte_carlo_bias_decreases_as_one_over_samples():
    rng = np.random.default_rng(6)
    state = soft_state(rng, 1, 1, 2, 2, 2)
    one = [(0, 0, 0)]
    exact = ref.mmsbm_iteration(one, *state)[0]

    def bias(s, times):
        draws = [ref.draw_pairs(one, *state[:2], s, rng) for _ in range(times)]
        mean = sum(ref.mcmmsbm_iteration(one, *state, *d)[0] for d in draws) / times
        return np.abs(mean - exact).max()

    assert bias(1, 4000) > 3 * bias(16, 4000)


def test_monte_carlo_edge_cases():
    theta = np.array([[[0.0, 1.0], [0.5, 0.5]], [[0.25, 0.75], [1.0, 0.0]]])
    h = np.array([[0.5, 0.5]])
    rows, cols, new = ref.mcmmsbm_iteration(
        [(0, 0, 0)], h, h, theta, np.array([[0, 1, 1]]), np.array([[1, 0, 0]])
    )
    assert_allclose(rows, [[0.5, 0.5]])  # .5 : .25 + .25
    assert_allclose(cols, [[0.5, 0.5]])
    assert_allclose(new[0, 0], theta[0, 0])  # never drawn
    assert_allclose(new[0, 1], [1, 0])
    nothing = np.array([[0, 0]]), np.array([[0, 0]])  # theta of both draws is 0
    for a, b in zip(
        ref.mcmmsbm_iteration([(0, 0, 0)], h, h, theta, *nothing),
        ref.mmsbm_iteration([(0, 0, 0)], h, h, theta),
        strict=True,
    ):
        assert_allclose(a, b)


def test_monte_carlo_update_of_a_graph_converges_to_the_exact_update():
    rng = np.random.default_rng(7)
    observations = [(0, 1, 0), (1, 2, 1), (0, 2, 1)]
    h, _, theta = soft_state(rng, 3, 1, 2, 2, 2)
    theta = (theta + theta.transpose(1, 0, 2)) / 2
    draws = ref.draw_pairs(observations, h, h, 20_000, rng)
    for directed in (False, True):
        exact = ref.mmsbm_graph_iteration(observations, h, theta, directed)
        near = ref.mcmmsbm_graph_iteration(observations, h, theta, *draws, directed)
        assert_allclose(near[0], exact[0], atol=0.02)
        assert_allclose(near[1], exact[1], atol=0.02)


def test_iteration_with_absent_pairs_equals_the_matrix_formula():
    rng = np.random.default_rng(8)
    n, edges = 9, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3), (6, 7)]
    h, P = rng.dirichlet(np.ones(3), n), rng.random((3, 3))
    P = (P + P.T) / 2
    z = h @ P @ h.T
    A = np.zeros((n, n), bool)
    for u, v in edges:
        A[u, v] = A[v, u] = True
    absent = ~A & ~np.eye(n, dtype=bool)
    b, a = (A / z) @ h, (absent / (1 - z)) @ h
    h_wanted = h * (b @ P + a @ (1 - P)) / (n - 1)
    N1, N0 = P * (h.T @ b), (1 - P) * (h.T @ a)
    new_h, new_P = ref.simple_graph_iteration(edges, h, P)
    assert_allclose(new_h, h_wanted)
    assert_allclose(new_P, N1 / (N1 + N0))
    entropies = []
    for _ in range(15):
        entropies.append(ref.simple_graph_entropy(edges, h, P))
        h, P = ref.simple_graph_iteration(edges, h, P)
    assert (np.diff(entropies) <= 1e-9).all()


def test_soft_entropy_of_hard_memberships_equals_the_hard_entropy():
    labels = [int(KARATE.nodes[v]["club"] == "Officer") for v in range(34)]
    h = np.eye(2)[labels]
    d, D = ref.block_edges(KARATE_EDGES, labels, 2), ref.block_pairs(labels, 2)
    soft = ref.simple_graph_entropy(KARATE_EDGES, h, d / D)
    assert_allclose(soft, ref.entropy_simple(KARATE_EDGES, labels, 2))


def test_fold_in_equals_the_users_part_of_an_iteration():
    rng = np.random.default_rng(9)
    ratings = some_ratings(rng, 3, 4, 3, 14)
    h_row, h_col, theta = soft_state(rng, 3, 4, 2, 3, 3)
    mine = [(v, r) for u, v, r in ratings if u == 1]
    once = ref.fold_in(mine, h_col, theta, h_row[1], 1)
    assert_allclose(once, ref.mmsbm_iteration(ratings, h_row, h_col, theta)[0][1])

    def entropy(h):
        return ref.mmsbm_entropy([(0, v, r) for v, r in mine], h[None], h_col, theta)

    settled = ref.fold_in(mine, h_col, theta, h_row[1], 300)
    grid = [entropy(np.array([t, 1 - t])) for t in np.linspace(0.001, 0.999, 999)]
    assert_allclose(entropy(settled), min(grid), atol=1e-3)
    assert_allclose(ref.fold_in([], h_col, theta, h_row[1], 5), h_row[1])


def test_prediction_and_its_contributions():
    rng = np.random.default_rng(10)
    h_row, h_col, theta = soft_state(rng, 1, 1, 3, 2, 5)
    p = ref.predicted_distribution(h_row[0], h_col[0], theta)
    assert_allclose(p, np.einsum("i,j,ijr->r", h_row[0], h_col[0], theta))
    values = [1, 2, 3, 4, 5]
    rating = ref.expected_rating(p, values)
    parts = ref.contributions(h_row[0], h_col[0], theta, values)
    assert_allclose(sum(weight * value for _, _, weight, value in parts), rating)
    assert_allclose(sum(weight for _, _, weight, _ in parts), 1)


# --- 3  Metrics --------------------------------------------------------------------------------


def test_metrics_equal_scikit_learn():
    rng = np.random.default_rng(11)
    truth, guess = rng.integers(1, 6, 40), rng.normal(3, 1, 40)
    assert_allclose(ref.rmse(truth, guess), metrics.mean_squared_error(truth, guess) ** 0.5)
    assert_allclose(ref.mae(truth, guess), metrics.mean_absolute_error(truth, guess))
    codes, p = rng.integers(0, 4, 40), rng.dirichlet(np.ones(4), 40)
    assert_allclose(ref.accuracy(codes, p), metrics.accuracy_score(codes, p.argmax(axis=1)))
    assert_allclose(ref.log_loss(codes, p), metrics.log_loss(codes, p, labels=range(4)))
    gains, scores = rng.integers(0, 5, 12).astype(float), rng.permutation(12).astype(float)
    ranked = gains[np.argsort(-scores)].tolist()
    for n in (3, 12):
        assert_allclose(ref.ndcg(ranked, n), metrics.ndcg_score([gains], [scores], k=n))


def test_metrics_by_hand():
    assert ref.precision([5, 3, 8], {3, 9}, 2) == 0.5
    assert ref.recall([5, 3, 8], {3, 9}, 2) == 0.5
    assert ref.recall([5], set(), 1) == 0
    assert ref.ndcg([0, 0]) == 0
    assert ref.mode([0.4, 0.4, 0.2]) == 0
    assert ref.median([0.2, 0.3, 0.5]) == 1


# --- 4  Additive block model -------------------------------------------------------------------


@pytest.fixture
def additive():
    """Return (sample, presence, ratings, latent, present) of a small random state."""
    rng = np.random.default_rng(12)
    n, m, L, k, l, S, R = 4, 5, 3, 2, 3, 2, 4  # noqa: E741
    sample = ref.AdditiveSample(
        rng.integers(0, k, (L, n)),
        rng.integers(0, l, (L, m)),
        rng.normal(size=(L, k, l)),
        rng.normal(size=n),
        rng.normal(size=m),
        np.sort(rng.normal(size=(S, R - 1)), axis=1),
        rng.integers(0, S, n),
    )
    presence = ref.PresenceSample(
        rng.normal(size=(L, k, l)), rng.normal(size=n), rng.normal(size=m), 0.6, 5.0
    )
    ratings = some_ratings(rng, n, m, R, 15)
    latent = [(u, v, float(rng.normal())) for u, v, _ in ratings]
    present = [(u, v, 1.0) for u, v, _ in ratings] + [(0, 1, 0.0), (2, 4, 0.0), (3, 0, 0.0)]
    return sample, presence, ratings, latent, present


def additive_log_density(sample, presence, latent, present):
    """Return the log density of latent ratings and presence, with the weights used for labels."""
    f = [z - ref.additive_location(sample, u, v) for u, v, z in latent]
    y = [y - ref.presence_location(sample, presence, u, v) for u, v, y in present]
    weight = ref.PRESENCE_WEIGHT * presence.tau
    return -sum(x**2 for x in f) / 2 - weight * sum(x**2 for x in y) / 2


def test_additive_distribution_equals_differences_of_the_normal_cdf(additive):
    sample, _, ratings, *_ = additive
    for u, v, _ in ratings:
        f = ref.additive_location(sample, u, v)
        below = stats.norm.cdf(np.r_[-np.inf, sample.cutpoints[sample.styles[u]], np.inf] - f)
        assert_allclose(ref.additive_distribution(sample, u, v), np.diff(below), atol=1e-12)
    flipped = sample._replace(user_offsets=sample.user_offsets + 1)
    u, v, _ = ratings[0]
    mean = ref.additive_prediction([sample, flipped], u, v)
    assert_allclose(mean.sum(), 1)
    p = [ref.additive_distribution(sample, u, v)[r] for u, v, r in ratings]
    assert_allclose(ref.additive_log_likelihood(ratings, sample), np.log(p).sum())


def test_user_label_weights_equal_the_joint_density(additive):
    sample, presence, _, latent, present = additive
    for s, user in itertools.product(range(3), range(4)):
        weights = ref.additive_user_label_log_weights(latent, sample, s, user, present, presence)
        joint = []
        for i in range(2):
            labels = sample.user_labels.copy()
            labels[s, user] = i
            moved = sample._replace(user_labels=labels)
            joint.append(additive_log_density(moved, presence, latent, present))
        assert_allclose(np.diff(weights), np.diff(joint), atol=1e-9)
        plain = np.zeros(2)
        for i in range(2):
            for u, v, z in latent:
                e = z - ref.additive_location(sample, u, v, without=s)
                effect = sample.M[s, i, sample.item_labels[s, v]]
                plain[i] += (u == user) * (e * effect - effect**2 / 2)
        alone = ref.additive_user_label_log_weights(latent, sample, s, user)
        assert_allclose(np.diff(alone), np.diff(plain), atol=1e-9)
    assert_allclose(ref.distribution_of([-1000.0, -1000.0]), [0.5, 0.5])


def test_item_label_weights_equal_the_joint_density(additive):
    sample, presence, _, latent, present = additive
    for s, item in itertools.product(range(3), range(5)):
        weights = ref.additive_item_label_log_weights(latent, sample, s, item, present, presence)
        joint = []
        for j in range(3):
            labels = sample.item_labels.copy()
            labels[s, item] = j
            moved = sample._replace(item_labels=labels)
            joint.append(additive_log_density(moved, presence, latent, present))
        assert_allclose(np.diff(weights), np.diff(joint), atol=1e-9)


def gaussian_from(log_density):
    """Return (mean, variance) of a density whose logarithm is a parabola, from three points."""
    low, mid, high = (log_density(x) for x in (-1.0, 0.0, 1.0))
    precision = -(low - 2 * mid + high)
    return (high - low) / 2 / precision, 1 / precision


def test_conditionals_of_effects_and_offsets_equal_the_joint_density(additive):
    sample, presence, _, latent, present = additive

    def with_effect(x):
        M = sample.M.copy()
        M[1, 0, 2] = x
        moved = sample._replace(M=M)
        return additive_log_density(moved, presence, latent, present) - 20 * x**2 / 2

    expected = gaussian_from(with_effect)
    assert_allclose(ref.additive_effect_conditional(latent, sample, 1, 0, 2, 20.0), expected)

    def with_presence_effect(x):
        Q = presence.Q.copy()
        Q[1, 0, 2] = x
        moved = presence._replace(Q=Q)
        return additive_log_density(sample, moved, latent, present) - 100 * x**2 / 2

    found = ref.additive_presence_effect_conditional(present, sample, presence, 1, 0, 2, 100.0)
    assert_allclose(found, gaussian_from(with_presence_effect))

    def with_offset(x):
        offsets = sample.user_offsets.copy()
        offsets[2] = x
        moved = sample._replace(user_offsets=offsets)
        return additive_log_density(moved, presence, latent, present) - 4 * x**2 / 2

    expected = gaussian_from(with_offset)
    assert_allclose(ref.additive_user_offset_conditional(latent, sample, 2, 4.0), expected)

    def with_item_offset(x):
        offsets = sample.item_offsets.copy()
        offsets[2] = x
        moved = sample._replace(item_offsets=offsets)
        return additive_log_density(moved, presence, latent, present) - 4 * x**2 / 2

    expected = gaussian_from(with_item_offset)
    assert_allclose(ref.additive_item_offset_conditional(latent, sample, 2, 4.0), expected)

    def with_presence_offset(x):
        offsets = presence.user_offsets.copy()
        offsets[2] = x
        moved = presence._replace(user_offsets=offsets)
        full = [y - ref.presence_location(sample, moved, u, v) for u, v, y in present]
        return -presence.tau * sum(e**2 for e in full) / 2 - 10 * x**2 / 2

    found = ref.additive_presence_user_offset_conditional(present, sample, presence, 2, 10.0)
    assert_allclose(found, gaussian_from(with_presence_offset))


def test_style_weights_equal_likelihoods(additive):
    sample, _, ratings, *_ = additive
    weights = ref.additive_style_log_weights(ratings, sample, 1, [0.25, 0.75])
    whole = []
    for style in range(2):
        styles = sample.styles.copy()
        styles[1] = style
        whole.append(ref.additive_log_likelihood(ratings, sample._replace(styles=styles)))
    assert_allclose(np.diff(weights), np.diff(whole) + math.log(3))


# --- 5  Graph measures -------------------------------------------------------------------------


@quick
@given(labelled_graphs())
def test_graph_measures_equal_networkx(case):
    edges, n, labels, _ = case
    graph = nx.empty_graph(n)
    graph.add_edges_from(edges)
    assert ref.degrees(edges, n) == [d for _, d in graph.degree()]
    lengths = [
        d for u, row in nx.all_pairs_shortest_path_length(graph) for v, d in row.items() if u != v
    ]
    expected = (np.mean(lengths), max(lengths)) if lengths else (0, 0)
    assert_allclose(ref.path_lengths(edges, n), expected)
    assert_allclose(ref.global_clustering(edges, n), nx.transitivity(graph))
    assert_allclose(ref.local_clustering(edges, n), list(nx.clustering(graph).values()))
    assert_allclose(ref.average_local_clustering(edges, n), nx.average_clustering(graph))
    assert ref.core_numbers(edges, n) == [nx.core_number(graph)[v] for v in range(n)]
    parts = ref.components(edges, n)
    assert sorted(map(sorted, parts)) == sorted(map(sorted, nx.connected_components(graph)))
    assert len(parts[0]) == max(map(len, parts))
    if edges:
        blocks = [{v for v in range(n) if labels[v] == b} for b in set(labels)]
        expected = nx.community.modularity(graph, blocks)
        assert_allclose(ref.modularity(edges, labels), expected, atol=1e-12)


def test_assortativity_equals_networkx():
    expected = nx.degree_assortativity_coefficient(KARATE)
    assert_allclose(ref.assortativity(KARATE_EDGES, 34), expected)
    assert math.isnan(ref.assortativity([(0, 1), (1, 2), (0, 2)], 3))


def test_degree_distance_equals_scipy():
    rng = np.random.default_rng(13)
    a, b = rng.poisson(4, 30).tolist(), rng.poisson(5, 50).tolist()
    assert_allclose(ref.degree_ks(a, b), stats.ks_2samp(a, b).statistic)


# --- 6  Anonymity ------------------------------------------------------------------------------


def test_cells_of_two_cliques_disclose_all_edges_inside():
    edges = [*itertools.combinations(range(3), 2), *itertools.combinations(range(3, 6), 2), (0, 3)]
    p = ref.sbm_edge_probabilities(edges, [0, 0, 0, 1, 1, 1])
    assert p == [1] * 6 + [1 / 9]
    assert_allclose([ref.disclosed_share(p, t) for t in (0.1, 0.5, 1)], [1, 6 / 7, 6 / 7])
    assert ref.block_risk([0, 0, 1]) == (2 / 3, 1)


def test_class_probabilities_sum_to_the_number_of_edges():
    """The sum of p_AB over all ordered pairs, including self-pairs, is 2m."""
    labels = [v % 2 for v in range(34)]
    classes = [2 * b + (d > 4) for b, d in zip(labels, ref.degrees(KARATE_EDGES, 34), strict=True)]
    p = ref.dcsbm_class_probabilities(KARATE_EDGES, labels, classes)
    total = sum(p[classes[u], classes[v]] for u in range(34) for v in range(34))
    assert_allclose(total, 2 * len(KARATE_EDGES))
    u, v = KARATE_EDGES[5]
    of_edges = ref.dcsbm_edge_probabilities(KARATE_EDGES, labels, classes)
    assert of_edges[5] == p[classes[u], classes[v]]


def test_refinement_separates_nodes_of_equal_degree():
    path = [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert ref.refinement(path, 5, 1) == [1, 2, 2, 2, 1]
    assert ref.candidates(path, path, 5, 1, 1) == {1, 2, 3}
    assert ref.candidates(path, path, 5, 2, 2) == {2}
    assert ref.candidates(path, [], 5, 1, 1) == set()


def test_seeded_matching_finds_nodes_in_a_relabelled_copy():
    graph = nx.barabasi_albert_graph(80, 4, seed=1)
    edges = list(graph.edges())
    new = np.random.default_rng(14).permutation(80).tolist()
    copy = [(new[u], new[v]) for u, v in edges]
    seeds = {u: new[u] for u in range(12)}
    found = ref.seeded_matching(edges, copy, 80, 80, seeds)
    right = sum(new[u] == v for u, v in found.items() if u not in seeds)
    assert right > 40 and right > 0.8 * (len(found) - len(seeds))
    assert ref.seeded_matching(edges, copy, 80, 80, {}) == {}
    assert len(set(found.values())) == len(found)


def test_tied_scores_are_not_matched():
    assert ref.eccentricity([1.0, 1.0, 0.0]) == 0
    star = [(0, 1), (0, 2)]
    assert ref.seeded_matching(star, star, 3, 3, {0: 0}) == {0: 0}

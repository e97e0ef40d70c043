"""Every equation of the paper and of the design, slowly, plainly, from its definition.

Nothing here is fast and nothing is shared with the package: what a kernel computes is compared with
what stands here. Statistics are counted afresh from the data each time, a move is scored by making
it, a sum is a loop. Graphs are lists of pairs, ratings lists of (user, item, code).

    1  hard clustering      block statistics, entropies, moves, merges, agreement of two partitions
    2  soft clustering      MMSBM, MCMMSBM, absent pairs, fold-in, predictions
    3  metrics              of predictions and rankings
    4  additive model       probability of a rating, conditionals of the sampler
    5  graphs               degrees, paths, triangles, cores, communities
    6  anonymity            cell probabilities, vertex refinement, seeded matching

Labels of equations and algorithms are those of the paper's source (cl:eq21, cl:alg5 …); "design
3.4" is a section of the design page. Logarithms are natural.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

Pair = tuple[int, int]
Labels = Sequence[int]
Entropy = Callable[[Labels], float]

# ---------------------------------------------------------------------------------------------
# 1  Hard clustering
# ---------------------------------------------------------------------------------------------


def g(x: float) -> float:
    """g(x) = x log x, g(0) = 0 (design 3.4)."""
    return x * math.log(x) if x > 0 else 0.0


def bernoulli_cell(d: float, D: float) -> float:
    """F(d, D) = g(D) - g(d) - g(D - d): D pairs of which d are edges (cl:eq21's f(d, D - d))."""
    return g(D) - g(d) - g(D - d)


def poisson_cell(W: float, D: float) -> float:
    """H(W, D) = W - W log(W / D), H(0, D) = 0: D pairs of total weight W (design 3.4)."""
    return W - W * math.log(W / D) if W > 0 else 0.0


def block_sizes(labels: Labels, k: int) -> list[int]:
    """|V_i| (cl:eq22)."""
    sizes = [0] * k
    for label in labels:
        sizes[label] += 1
    return sizes


def block_pairs(labels: Labels, k: int) -> np.ndarray:
    """D_ij, symmetric: how many pairs of nodes lie between blocks i and j (cl:eq22)."""
    D = np.zeros((k, k), np.int64)
    for u in range(len(labels)):
        for v in range(u + 1, len(labels)):
            i, j = labels[u], labels[v]
            D[i, j] += 1
            if i != j:
                D[j, i] += 1
    return D


def block_edges(edges: Iterable[Pair], labels: Labels, k: int) -> np.ndarray:
    """d_ij, symmetric, an inner edge counted once in d_ii (cl:eq22)."""
    d = np.zeros((k, k), np.int64)
    for u, v in edges:
        i, j = labels[u], labels[v]
        d[i, j] += 1
        if i != j:
            d[j, i] += 1
    return d


def directed_block_pairs(labels: Labels, k: int) -> np.ndarray:
    """D_ij of ordered pairs (design 3.4, directed): D_ii = n_i (n_i - 1)."""
    D = np.zeros((k, k), np.int64)
    for u in range(len(labels)):
        for v in range(len(labels)):
            if u != v:
                D[labels[u], labels[v]] += 1
    return D


def directed_block_edges(edges: Iterable[Pair], labels: Labels, k: int) -> np.ndarray:
    """d_ij: edges from block i to block j (design 3.4, directed)."""
    d = np.zeros((k, k), np.int64)
    for u, v in edges:
        d[labels[u], labels[v]] += 1
    return d


def block_weights(edges: Iterable[tuple[int, int, float]], labels: Labels, k: int) -> np.ndarray:
    """W_ij, symmetric: total weight between blocks, an inner edge once (design 3.4, weighted)."""
    W = np.zeros((k, k))
    for u, v, w in edges:
        i, j = labels[u], labels[v]
        W[i, j] += w
        if i != j:
            W[j, i] += w
    return W


def block_ratings(
    ratings: Iterable[tuple[int, int, int]],
    row_labels: Labels,
    col_labels: Labels,
    k: int,
    l: int,  # noqa: E741
    n_values: int,
) -> np.ndarray:
    """d_ijr: ratings of value r from user group i to item group j (design 3.4, ratings)."""
    d = np.zeros((k, l, n_values), np.int64)
    for u, v, r in ratings:
        d[row_labels[u], col_labels[v], r] += 1
    return d


def entropy_simple(edges: Iterable[Pair], labels: Labels, k: int) -> float:
    """S(Z) of a simple graph (cl:eq21)."""
    d, D = block_edges(edges, labels, k), block_pairs(labels, k)
    return sum(bernoulli_cell(d[i, j], D[i, j]) for i in range(k) for j in range(i, k))


def entropy_degree_corrected(edges: Iterable[Pair], labels: Labels, k: int) -> float:
    """Karrer and Newman's profile likelihood, constants dropped (design 3.4).

    S = sum_r g(K_r) - (1/2) sum_rs g(e_rs), with e_rr twice the inner edges.
    """
    e, K = np.zeros((k, k)), np.zeros(k)
    for u, v in edges:
        e[labels[u], labels[v]] += 1
        e[labels[v], labels[u]] += 1
        K[labels[u]] += 1
        K[labels[v]] += 1
    return sum(g(x) for x in K) - sum(g(x) for x in e.ravel()) / 2


def entropy_directed(edges: Iterable[Pair], labels: Labels, k: int) -> float:
    """S = sum over ordered block pairs of F(d_ij, D_ij) (design 3.4)."""
    d, D = directed_block_edges(edges, labels, k), directed_block_pairs(labels, k)
    return sum(bernoulli_cell(d[i, j], D[i, j]) for i in range(k) for j in range(k))


def entropy_weighted(edges: Iterable[tuple[int, int, float]], labels: Labels, k: int) -> float:
    """Poisson weights, an absent pair being weight 0 (design 3.4).

    S = sum_{i<=j} H(W_ij, D_ij) + sum over pairs of lgamma(w + 1).
    """
    edges = list(edges)
    W, D = block_weights(edges, labels, k), block_pairs(labels, k)
    cells = sum(poisson_cell(W[i, j], D[i, j]) for i in range(k) for j in range(i, k))
    return cells + sum(math.lgamma(w + 1) for _, _, w in edges)


def entropy_ratings(
    ratings: Iterable[tuple[int, int, int]],
    row_labels: Labels,
    col_labels: Labels,
    k: int,
    l: int,  # noqa: E741
    n_values: int,
) -> float:
    """Multinomial ratings; unrated pairs do not count (design 3.4).

    S = sum_ij [g(d_ij.) - sum_r g(d_ijr)].
    """
    d = block_ratings(ratings, row_labels, col_labels, k, l, n_values)
    return sum(g(d[i, j].sum()) - sum(g(x) for x in d[i, j]) for i in range(k) for j in range(l))


def entropy_likes(
    likes: Iterable[Pair],
    row_labels: Labels,
    col_labels: Labels,
    k: int,
    l: int,  # noqa: E741
) -> float:
    """Bernoulli likes between two node sets, D_ij = n_i m_j (design 3.4)."""
    d = np.zeros((k, l), np.int64)
    for u, v in likes:
        d[row_labels[u], col_labels[v]] += 1
    n, m = block_sizes(row_labels, k), block_sizes(col_labels, l)
    return sum(bernoulli_cell(d[i, j], n[i] * m[j]) for i in range(k) for j in range(l))


def entropy_binomial(
    ratings: Iterable[tuple[int, int, int]],
    row_labels: Labels,
    col_labels: Labels,
    k: int,
    l: int,  # noqa: E741
    n_values: int,
) -> float:
    """Binomial ratings, the paper's other choice (sec. applications): code ~ Bin(R - 1, p_ij)."""
    ratings = list(ratings)
    top = n_values - 1
    total, successes = np.zeros((k, l)), np.zeros((k, l))
    S = 0.0
    for u, v, r in ratings:
        total[row_labels[u], col_labels[v]] += top
        successes[row_labels[u], col_labels[v]] += r
        S -= math.log(math.comb(top, r))
    for i in range(k):
        for j in range(l):
            S += bernoulli_cell(successes[i, j], total[i, j])
    return S


def entropy_gaussian(points: np.ndarray, labels: Labels, k: int) -> float:
    """k-means as hard EM with unit covariance (cl:ex1.3, design 3.4).

    S = sum |x - mu|^2 / 2 + (N dim / 2) log 2 pi.
    """
    points = np.asarray(points, float)
    S = points.size / 2 * math.log(2 * math.pi)
    for i in range(k):
        members = [x for x, label in zip(points, labels, strict=True) if label == i]
        if members:
            mu = sum(members) / len(members)
            S += sum(float(((x - mu) ** 2).sum()) for x in members) / 2
    return S


def succ(labels: Labels, a: int, y: int) -> list[int]:
    """succ(Z, a, y): Z with element a moved to y (sec. cl:sec2.2)."""
    moved = list(labels)
    moved[a] = y
    return moved


def move_costs(entropy: Entropy, labels: Labels, a: int, k: int) -> np.ndarray:
    """S(succ(Z, a, y)) - S(Z) for every y: the move is made, S is counted again (cl:alg5).

    `entropy` takes labels; bind the data first: `lambda z: entropy_simple(edges, z, k)`.
    """
    before = entropy(labels)
    return np.array([entropy(succ(labels, a, y)) - before for y in range(k)])


def merge_cost(entropy: Entropy, labels: Labels, r: int, s: int) -> float:
    """What S rises by when block s becomes part of block r (and s is left empty)."""
    return entropy([r if label == s else label for label in labels]) - entropy(labels)


def is_locally_optimal(entropy: Entropy, labels: Labels, k: int, gain: float = 1e-9) -> bool:
    """No single move improves S by more than `gain` (the paper's definition, sec. cl:sec2.2)."""
    return all(move_costs(entropy, labels, a, k).min() >= -gain for a in range(len(labels)))


def best_move(costs: np.ndarray, own: int, gain: float = 1e-9) -> int:
    """The cheapest label, the lowest of equals; the own one unless the gain exceeds `gain`."""
    y = int(np.argmin(costs))
    return y if costs[y] < costs[own] - gain else own


def generalized_kmeans_iteration(
    entropy: Entropy, labels: Labels, k: int, batch: Iterable[int], gain: float = 1e-9
) -> list[int]:
    """One pass of the loop of cl:alg5: plan for every a of the batch from the same Z, then move."""
    plan = {a: best_move(move_costs(entropy, labels, a, k), labels[a], gain) for a in batch}
    return [plan.get(a, label) for a, label in enumerate(labels)]


def descend(entropy: Entropy, labels: Labels, k: int, gain: float = 1e-9) -> list[int]:
    """Single moves, one element after another, until the result is locally optimal."""
    labels = list(labels)
    while True:
        before = list(labels)
        for a in range(len(labels)):
            labels[a] = best_move(move_costs(entropy, labels, a, k), labels[a], gain)
        if labels == before:
            return labels


def times_log(x: float, p: float) -> float:
    """x log p with 0 log 0 = 0 and x log 0 = -inf."""
    if x == 0:
        return 0.0
    return x * math.log(p) if p > 0 else -math.inf


def smoothed_probabilities(
    edges: Iterable[Pair], labels: Labels, k: int, smoothing: float
) -> np.ndarray:
    """p_ij = (d_ij + smoothing) / (D_ij + 2 smoothing); .5 where there is nothing at all."""
    d, D = block_edges(edges, labels, k), block_pairs(labels, k)
    p = np.full((k, k), 0.5)
    for i in range(k):
        for j in range(k):
            if D[i, j] + 2 * smoothing > 0:
                p[i, j] = (d[i, j] + smoothing) / (D[i, j] + 2 * smoothing)
    return p


def fixed_costs(edges: Iterable[Pair], labels: Labels, p: np.ndarray, v: int) -> np.ndarray:
    """-log likelihood of v's pairs for every label y of v, theta held fixed (design 3.4).

    The rest of S(succ(Z, v, y)) does not depend on y. `p` is any k x k matrix, for one
    `smoothed_probabilities(edges, labels, k, smoothing)`.
    """
    neighbours = {b if a == v else a for a, b in edges if v in (a, b)}
    costs = np.zeros(len(p))
    for y in range(len(p)):
        for u, label in enumerate(labels):
            if u != v:
                present = u in neighbours
                costs[y] -= times_log(present, p[y, label]) + times_log(
                    not present, 1 - p[y, label]
                )
    return costs


def fixed_costs_directed(
    edges: Iterable[Pair], labels: Labels, p: np.ndarray, v: int
) -> np.ndarray:
    """As `fixed_costs`, both directions of every pair (design 3.4, directed)."""
    edges = set(edges)
    costs = np.zeros(len(p))
    for y in range(len(p)):
        for u, j in enumerate(labels):
            if u != v:
                out, back = (v, u) in edges, (u, v) in edges
                costs[y] -= times_log(out, p[y, j]) + times_log(not out, 1 - p[y, j])
                costs[y] -= times_log(back, p[j, y]) + times_log(not back, 1 - p[j, y])
    return costs


def fixed_costs_weighted(
    edges: Iterable[tuple[int, int, float]], labels: Labels, rates: np.ndarray, v: int
) -> np.ndarray:
    """As `fixed_costs` with Poisson rates a pair, lgamma(w + 1) left out (design 3.4, weighted)."""
    weight = {b if a == v else a: w for a, b, w in edges if v in (a, b)}
    costs = np.zeros(len(rates))
    for y in range(len(rates)):
        for u, j in enumerate(labels):
            if u != v:
                costs[y] += rates[y, j] - times_log(weight.get(u, 0.0), rates[y, j])
    return costs


def fixed_costs_ratings(
    ratings: Iterable[tuple[int, int, int]], col_labels: Labels, theta: np.ndarray, user: int
) -> np.ndarray:
    """-log likelihood of a user's ratings for every group y, theta_yjr fixed (design 3.4)."""
    ratings = [(v, r) for u, v, r in ratings if u == user]
    return np.array(
        [
            -sum(times_log(1, theta[y, col_labels[v], r]) for v, r in ratings)
            for y in range(len(theta))
        ]
    )


def fixed_costs_gaussian(
    points: np.ndarray, labels: Labels, k: int, a: int, absent: float = math.inf
) -> np.ndarray:
    """|x - mu_y|^2 / 2, the centres held fixed: Lloyd's k-means (cl:ex1.3)."""
    costs = np.full(k, absent)
    for y in range(k):
        members = [x for x, label in zip(points, labels, strict=True) if label == y]
        if members:
            costs[y] = float(((points[a] - sum(members) / len(members)) ** 2).sum()) / 2
    return costs


def adjusted_rand_index(a: Labels, b: Labels) -> float:
    """Hubert and Arabie's index, by looking at every pair of elements."""
    together_a = together_b = both = pairs = 0
    for x in range(len(a)):
        for y in range(x + 1, len(a)):
            pairs += 1
            together_a += a[x] == a[y]
            together_b += b[x] == b[y]
            both += a[x] == a[y] and b[x] == b[y]
    expected = together_a * together_b / pairs if pairs else 0.0
    largest = (together_a + together_b) / 2
    return 1.0 if largest == expected else (both - expected) / (largest - expected)


def adjusted_mutual_information(a: Labels, b: Labels) -> float:
    """Vinh, Epps and Bailey's index with the arithmetic mean; chance by the hypergeometric law."""
    n = len(a)
    in_a = {x: sum(y == x for y in a) for x in set(a)}
    in_b = {x: sum(y == x for y in b) for x in set(b)}

    def information(common: int, n_x: int, n_y: int) -> float:
        return common / n * math.log(n * common / (n_x * n_y)) if common else 0.0

    mutual = expected = 0.0
    for x, n_x in in_a.items():
        for y, n_y in in_b.items():
            common = sum(p == x and q == y for p, q in zip(a, b, strict=True))
            mutual += information(common, n_x, n_y)
            for m in range(max(0, n_x + n_y - n), min(n_x, n_y) + 1):
                chance = math.comb(n_x, m) * math.comb(n - n_x, n_y - m) / math.comb(n, n_y)
                expected += chance * information(m, n_x, n_y)
    entropy_a = -sum(c / n * math.log(c / n) for c in in_a.values())
    entropy_b = -sum(c / n * math.log(c / n) for c in in_b.values())
    mean = (entropy_a + entropy_b) / 2
    return 1.0 if abs(mean - expected) < 1e-15 else (mutual - expected) / (mean - expected)


# ---------------------------------------------------------------------------------------------
# 2  Soft clustering
# ---------------------------------------------------------------------------------------------

Observations = Sequence[tuple[int, int, int]]  # (u, v, configuration r)


def responsibilities(
    h_u: np.ndarray, h_v: np.ndarray, theta: np.ndarray, r: int
) -> tuple[np.ndarray, float]:
    """x_uv(i, j) of cl:alg3 and its denominator, the probability of the observation."""
    k, l = len(h_u), len(h_v)  # noqa: E741
    x = np.zeros((k, l))
    for i in range(k):
        for j in range(l):
            x[i, j] = h_u[i] * h_v[j] * theta[i, j, r]
    total = float(x.sum())
    return x / total, total


def normalised(mass: np.ndarray, old: np.ndarray, prior: float = 0.0) -> np.ndarray:
    """The last axis of mass + prior made a distribution; without any mass the old one stays."""
    mass = mass + prior
    total = mass.sum(axis=-1, keepdims=True)
    return np.where(total > 0, mass / np.where(total > 0, total, 1), old)


def mmsbm_entropy(
    observations: Observations, h_row: np.ndarray, h_col: np.ndarray, theta: np.ndarray
) -> float:
    """S(theta, h) of cl:def2.1: -sum of log sum_ij h_ui h_vj theta_ijr."""
    S = 0.0
    for u, v, r in observations:
        S -= math.log(
            sum(
                h_row[u, i] * h_col[v, j] * theta[i, j, r]
                for i in range(h_row.shape[1])
                for j in range(h_col.shape[1])
            )
        )
    return S


def mmsbm_penalised_entropy(
    observations: Observations,
    h_row: np.ndarray,
    h_col: np.ndarray,
    theta: np.ndarray,
    prior: float,
) -> float:
    """What EM with a prior brings down: S - prior * (sum of log of all h and theta)."""
    logs = sum(float(np.log(a).sum()) for a in (h_row, h_col, theta))
    return mmsbm_entropy(observations, h_row, h_col, theta) - prior * logs


def mmsbm_iteration(
    observations: Observations,
    h_row: np.ndarray,
    h_col: np.ndarray,
    theta: np.ndarray,
    prior: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One pass of cl:alg3 over ratings, O(|X| k l): new h of rows, h of columns, theta[i, j, r].

    Every numerator uses the old state. The degree counts observations, repeats too. Degree 0: h
    stays; a cell (i, j) without mass keeps its theta (design 3.1). `prior` is a pseudo-count on
    every cell of h and theta: a Dirichlet(1 + prior), the update its posterior mode.
    """
    row_mass, col_mass, theta_mass = (np.zeros_like(a) for a in (h_row, h_col, theta))
    for u, v, r in observations:
        x, _ = responsibilities(h_row[u], h_col[v], theta, r)
        row_mass[u] += x.sum(axis=1)
        col_mass[v] += x.sum(axis=0)
        theta_mass[:, :, r] += x
    return (
        normalised(row_mass, h_row, prior),
        normalised(col_mass, h_col, prior),
        normalised(theta_mass, theta, prior),
    )


def mmsbm_graph_iteration(
    observations: Observations,
    h: np.ndarray,
    theta: np.ndarray,
    directed: bool = False,
    prior: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """One pass of cl:alg3 over one node set (design 3.1): new h and theta.

    Undirected: every pair stands once in `observations`; both ends learn from it, and theta is
    symmetric, so the mass of (i, j) and of (j, i) is one. The entropy is `mmsbm_entropy` with
    h on both sides. Directed: the same without the symmetry.
    """
    h_mass, theta_mass = np.zeros_like(h), np.zeros_like(theta)
    for u, v, r in observations:
        x, _ = responsibilities(h[u], h[v], theta, r)
        h_mass[u] += x.sum(axis=1)
        h_mass[v] += x.sum(axis=0)
        theta_mass[:, :, r] += x
        if not directed:
            theta_mass[:, :, r] += x.T
    return normalised(h_mass, h, prior), normalised(theta_mass, theta, prior)


def mcmmsbm_shares(
    isample: Sequence[int],
    jsample: Sequence[int],
    h_u: np.ndarray,
    h_v: np.ndarray,
    theta: np.ndarray,
    r: int,
) -> np.ndarray:
    """x~_uv(i, j) of one edge from its draws (cl:alg4 as mended in design 3.2).

    The share of (i, j) is the theta of the draws that hit it over T, the theta of all draws; the
    exact responsibilities where T = 0.
    """
    x = np.zeros(theta.shape[:2])
    for i, j in zip(isample, jsample, strict=True):
        x[i, j] += theta[i, j, r]
    T = x.sum()
    return x / T if T > 0 else responsibilities(h_u, h_v, theta, r)[0]


def mcmmsbm_iteration(
    observations: Observations,
    h_row: np.ndarray,
    h_col: np.ndarray,
    theta: np.ndarray,
    isample: np.ndarray,
    jsample: np.ndarray,
    prior: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One pass of cl:alg4 with given draws: isample[e], jsample[e] are the s draws of edge e."""
    row_mass, col_mass, theta_mass = (np.zeros_like(a) for a in (h_row, h_col, theta))
    for e, (u, v, r) in enumerate(observations):
        x = mcmmsbm_shares(isample[e], jsample[e], h_row[u], h_col[v], theta, r)
        row_mass[u] += x.sum(axis=1)
        col_mass[v] += x.sum(axis=0)
        theta_mass[:, :, r] += x
    return (
        normalised(row_mass, h_row, prior),
        normalised(col_mass, h_col, prior),
        normalised(theta_mass, theta, prior),
    )


def mcmmsbm_graph_iteration(
    observations: Observations,
    h: np.ndarray,
    theta: np.ndarray,
    isample: np.ndarray,
    jsample: np.ndarray,
    directed: bool = False,
    prior: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """cl:alg4 on one node set, each pair once: as `mmsbm_graph_iteration`, with given draws."""
    h_mass, theta_mass = np.zeros_like(h), np.zeros_like(theta)
    for e, (u, v, r) in enumerate(observations):
        x = mcmmsbm_shares(isample[e], jsample[e], h[u], h[v], theta, r)
        h_mass[u] += x.sum(axis=1)
        h_mass[v] += x.sum(axis=0)
        theta_mass[:, :, r] += x
        if not directed:
            theta_mass[:, :, r] += x.T
    return normalised(h_mass, h, prior), normalised(theta_mass, theta, prior)


def draw_pairs(
    observations: Observations,
    h_row: np.ndarray,
    h_col: np.ndarray,
    s: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """isample ~ h_u and jsample ~ h_v, s independent draws for every observation (cl:alg4)."""
    isample = [rng.choice(h_row.shape[1], s, p=h_row[u]) for u, _, _ in observations]
    jsample = [rng.choice(h_col.shape[1], s, p=h_col[v]) for _, v, _ in observations]
    return np.array(isample).reshape(-1, s), np.array(jsample).reshape(-1, s)


def all_pairs(edges: Iterable[Pair], n: int, directed: bool = False) -> list[tuple[int, int, int]]:
    """Every pair of a simple graph as an observation: r = 1 present, r = 0 absent (design 3.3)."""
    present = set(edges)
    if not directed:
        present |= {(v, u) for u, v in present}
    return [
        (u, v, int((u, v) in present))
        for u in range(n)
        for v in range(n)
        if (u != v if directed else u < v)
    ]


def _present_absent(P: np.ndarray) -> np.ndarray:
    return np.stack([1 - P, P], axis=-1)


def simple_graph_entropy(
    edges: Iterable[Pair], h: np.ndarray, P: np.ndarray, directed: bool = False
) -> float:
    """S of the soft SBM of a simple graph over all pairs, absent ones too (design 3.3)."""
    return mmsbm_entropy(all_pairs(edges, len(h), directed), h, h, _present_absent(P))


def simple_graph_iteration(
    edges: Iterable[Pair], h: np.ndarray, P: np.ndarray, directed: bool = False, prior: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """One exact EM pass over all pairs: new h and P = theta_present (design 3.3)."""
    h, theta = mmsbm_graph_iteration(
        all_pairs(edges, len(h), directed), h, _present_absent(P), directed, prior
    )
    return h, theta[:, :, 1]


def fold_in(
    ratings: Iterable[Pair],
    h_col: np.ndarray,
    theta: np.ndarray,
    start: np.ndarray,
    iterations: int,
    prior: float = 0.0,
) -> np.ndarray:
    """A new user's membership from (item, r) by EM with items and theta fixed (cl:alg3, line 7)."""
    h = np.array(start, float)
    ratings = list(ratings)
    for _ in range(iterations):
        mass = np.zeros_like(h)
        for v, r in ratings:
            x, _ = responsibilities(h, h_col[v], theta, r)
            mass += x.sum(axis=1)
        h = normalised(mass, h, prior)
    return h


def predicted_distribution(h_u: np.ndarray, h_v: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """P(r) = sum_ij h_ui h_vj theta_ijr for every r (cl:def2.1)."""
    p = np.zeros(theta.shape[2])
    for i in range(len(h_u)):
        for j in range(len(h_v)):
            for r in range(theta.shape[2]):
                p[r] += h_u[i] * h_v[j] * theta[i, j, r]
    return p


def expected_rating(p: Sequence[float], values: Sequence[float]) -> float:
    """The mean of a predicted distribution (eq:estimate)."""
    return sum(p_r * value for p_r, value in zip(p, values, strict=True))


def contributions(
    h_u: np.ndarray, h_v: np.ndarray, theta: np.ndarray, values: Sequence[float]
) -> list[tuple[int, int, float, float]]:
    """(i, j, weight, rating) whose weight * rating sum to eq:estimate: why a prediction is so."""
    return [
        (i, j, h_u[i] * h_v[j], expected_rating(theta[i, j], values))
        for i in range(len(h_u))
        for j in range(len(h_v))
    ]


# ---------------------------------------------------------------------------------------------
# 3  Metrics
# ---------------------------------------------------------------------------------------------


def rmse(truth: Sequence[float], predicted: Sequence[float]) -> float:
    """eq:rmse."""
    squares = [(t - p) ** 2 for t, p in zip(truth, predicted, strict=True)]
    return math.sqrt(sum(squares) / len(squares))


def mae(truth: Sequence[float], predicted: Sequence[float]) -> float:
    """Mean absolute error."""
    return sum(abs(t - p) for t, p in zip(truth, predicted, strict=True)) / len(truth)


def mode(p: Sequence[float]) -> int:
    """The most probable place, the lowest of equals."""
    return max(range(len(p)), key=lambda r: (p[r], -r))


def median(p: Sequence[float]) -> int:
    """The lowest place at which the cumulative probability reaches one half."""
    total = 0.0
    for r, share in enumerate(p):
        total += share
        if total >= 0.5:
            return r
    return len(p) - 1


def accuracy(codes: Sequence[int], distributions: Sequence[Sequence[float]]) -> float:
    """Share of rows whose most probable rating is the true one."""
    return sum(mode(p) == r for r, p in zip(codes, distributions, strict=True)) / len(codes)


def log_loss(codes: Sequence[int], distributions: Sequence[Sequence[float]]) -> float:
    """Mean of -log of the probability given to what happened."""
    return -sum(math.log(p[r]) for r, p in zip(codes, distributions, strict=True)) / len(codes)


def dcg(gains: Sequence[float]) -> float:
    """Discounted cumulative gain of a ranking: gain of place i (from 0) over log2(i + 2)."""
    return sum(gain / math.log2(i + 2) for i, gain in enumerate(gains))


def ndcg(ranked_gains: Sequence[float], n: int | None = None) -> float:
    """DCG of the first n places over that of the best order; 0 where nothing can be gained."""
    best = dcg(sorted(ranked_gains, reverse=True)[:n])
    return dcg(ranked_gains[:n]) / best if best > 0 else 0.0


def precision(ranked: Sequence[int], relevant: set[int], n: int) -> float:
    """Share of the first n that are relevant (n places, whether or not all are filled)."""
    return sum(item in relevant for item in ranked[:n]) / n


def recall(ranked: Sequence[int], relevant: set[int], n: int) -> float:
    """Share of the relevant that are among the first n; 0 where there are none."""
    return sum(item in relevant for item in ranked[:n]) / len(relevant) if relevant else 0.0


# ---------------------------------------------------------------------------------------------
# 4  The additive block model
# ---------------------------------------------------------------------------------------------

PRESENCE_WEIGHT = 0.3  # how much the presence observations count in the labels and in Q


class AdditiveSample(NamedTuple):
    """One state of the chain: L partitions of users and items, their effects, the rating scale."""

    user_labels: np.ndarray  # g[s, u]
    item_labels: np.ndarray  # h[s, v]
    M: np.ndarray  # [s, i, j], effect on the rating
    user_offsets: np.ndarray  # b_u
    item_offsets: np.ndarray  # b_v
    cutpoints: np.ndarray  # C[style, r], R - 1 of them, rising
    styles: np.ndarray  # style of each user


class PresenceSample(NamedTuple):
    """The effects on who rated what; the labels are those of the AdditiveSample."""

    Q: np.ndarray  # [s, i, j]
    user_offsets: np.ndarray  # c_u
    item_offsets: np.ndarray  # c_v
    mean: float  # mean(y)
    tau: float


def normal_cdf(x: float) -> float:
    """Phi(x)."""
    return math.erfc(-x / math.sqrt(2)) / 2


def additive_location(sample: AdditiveSample, u: int, v: int, without: int | None = None) -> float:
    """f_uv = b_u + b_v + sum_s M^s[g^s_u, h^s_v]; `without` leaves one partition out."""
    f = sample.user_offsets[u] + sample.item_offsets[v]
    for s in range(len(sample.M)):
        if s != without:
            f += sample.M[s, sample.user_labels[s, u], sample.item_labels[s, v]]
    return float(f)


def presence_location(
    sample: AdditiveSample, presence: PresenceSample, u: int, v: int, without: int | None = None
) -> float:
    """The expected y_uv: mean(y) + c_u + c_v + sum_s Q^s[g^s_u, h^s_v]."""
    f = presence.mean + presence.user_offsets[u] + presence.item_offsets[v]
    for s in range(len(presence.Q)):
        if s != without:
            f += presence.Q[s, sample.user_labels[s, u], sample.item_labels[s, v]]
    return float(f)


def ordinal_distribution(cutpoints: Sequence[float], f: float) -> np.ndarray:
    """P(rating = r) when P(rating <= r) = Phi(C_r - f)."""
    below = [0.0, *(normal_cdf(c - f) for c in cutpoints), 1.0]
    return np.array([below[r + 1] - below[r] for r in range(len(below) - 1)])


def additive_distribution(sample: AdditiveSample, u: int, v: int) -> np.ndarray:
    """P(r | u, v) of one sample."""
    return ordinal_distribution(sample.cutpoints[sample.styles[u]], additive_location(sample, u, v))


def additive_prediction(samples: Sequence[AdditiveSample], u: int, v: int) -> np.ndarray:
    """P(r | u, v) averaged over samples."""
    return sum(additive_distribution(sample, u, v) for sample in samples) / len(samples)


def additive_log_likelihood(ratings: Observations, sample: AdditiveSample) -> float:
    """Log probability of the ratings (u, v, r), the latent z summed out."""
    return sum(math.log(additive_distribution(sample, u, v)[r]) for u, v, r in ratings)


def additive_user_label_log_weights(
    latent: Sequence[tuple[int, int, float]],
    sample: AdditiveSample,
    s: int,
    user: int,
    present: Sequence[tuple[int, int, float]] = (),
    presence: PresenceSample | None = None,
) -> np.ndarray:
    """log weight of every label of one user in partition s: the Gaussian log density of the data.

    `latent` holds (u, v, z), `present` (u, v, y). Constants that no label changes are kept, so
    compare differences (or `distribution_of`).
    """
    weights = np.zeros(sample.M.shape[1])
    for i in range(len(weights)):
        for u, v, z in latent:
            if u == user:
                effect = sample.M[s, i, sample.item_labels[s, v]]
                weights[i] -= (z - additive_location(sample, u, v, without=s) - effect) ** 2 / 2
        for u, v, y in present:
            if u == user:
                effect = presence.Q[s, i, sample.item_labels[s, v]]
                rest = y - presence_location(sample, presence, u, v, without=s)
                weights[i] -= PRESENCE_WEIGHT * presence.tau * (rest - effect) ** 2 / 2
    return weights


def additive_item_label_log_weights(
    latent: Sequence[tuple[int, int, float]],
    sample: AdditiveSample,
    s: int,
    item: int,
    present: Sequence[tuple[int, int, float]] = (),
    presence: PresenceSample | None = None,
) -> np.ndarray:
    """As `additive_user_label_log_weights`, for an item."""
    weights = np.zeros(sample.M.shape[2])
    for j in range(len(weights)):
        for u, v, z in latent:
            if v == item:
                effect = sample.M[s, sample.user_labels[s, u], j]
                weights[j] -= (z - additive_location(sample, u, v, without=s) - effect) ** 2 / 2
        for u, v, y in present:
            if v == item:
                effect = presence.Q[s, sample.user_labels[s, u], j]
                rest = y - presence_location(sample, presence, u, v, without=s)
                weights[j] -= PRESENCE_WEIGHT * presence.tau * (rest - effect) ** 2 / 2
    return weights


def distribution_of(log_weights: Sequence[float]) -> np.ndarray:
    """exp of the log weights, made to sum to 1."""
    top = max(log_weights)
    w = np.array([math.exp(x - top) for x in log_weights])
    return w / w.sum()


def gaussian_effect(
    residuals: Sequence[float], prior_precision: float, precision: float = 1.0
) -> tuple[float, float]:
    """(mean, variance) of an effect with prior N(0, 1/prior_precision) seen through residuals."""
    total = prior_precision + precision * len(residuals)
    return precision * sum(residuals) / total, 1 / total


def additive_effect_conditional(
    latent: Sequence[tuple[int, int, float]],
    sample: AdditiveSample,
    s: int,
    i: int,
    j: int,
    precision: float,
) -> tuple[float, float]:
    """(mean, variance) of M^s_ij given the rest: S_ij / (n_ij + lambda), 1 / (n_ij + lambda)."""
    residuals = [
        z - additive_location(sample, u, v, without=s)
        for u, v, z in latent
        if sample.user_labels[s, u] == i and sample.item_labels[s, v] == j
    ]
    return gaussian_effect(residuals, precision)


def additive_presence_effect_conditional(
    present: Sequence[tuple[int, int, float]],
    sample: AdditiveSample,
    presence: PresenceSample,
    s: int,
    i: int,
    j: int,
    precision: float,
) -> tuple[float, float]:
    """(mean, variance) of Q^s_ij given the rest, each observation weighing .3 tau."""
    residuals = [
        y - presence_location(sample, presence, u, v, without=s)
        for u, v, y in present
        if sample.user_labels[s, u] == i and sample.item_labels[s, v] == j
    ]
    return gaussian_effect(residuals, precision, PRESENCE_WEIGHT * presence.tau)


def additive_user_offset_conditional(
    latent: Sequence[tuple[int, int, float]], sample: AdditiveSample, user: int, precision: float
) -> tuple[float, float]:
    """(mean, variance) of b_u given the rest: sum(e + b) / (n + lambda), 1 / (n + lambda)."""
    residuals = [
        z - additive_location(sample, u, v) + sample.user_offsets[u]
        for u, v, z in latent
        if u == user
    ]
    return gaussian_effect(residuals, precision)


def additive_item_offset_conditional(
    latent: Sequence[tuple[int, int, float]], sample: AdditiveSample, item: int, precision: float
) -> tuple[float, float]:
    """(mean, variance) of b_v given the rest."""
    residuals = [
        z - additive_location(sample, u, v) + sample.item_offsets[v]
        for u, v, z in latent
        if v == item
    ]
    return gaussian_effect(residuals, precision)


def additive_presence_user_offset_conditional(
    present: Sequence[tuple[int, int, float]],
    sample: AdditiveSample,
    presence: PresenceSample,
    user: int,
    precision: float,
) -> tuple[float, float]:
    """(mean, variance) of c_u given the rest, each observation with precision tau."""
    residuals = [
        y - presence_location(sample, presence, u, v) + presence.user_offsets[u]
        for u, v, y in present
        if u == user
    ]
    return gaussian_effect(residuals, precision, presence.tau)


def additive_style_log_weights(
    ratings: Observations, sample: AdditiveSample, user: int, shares: Sequence[float]
) -> np.ndarray:
    """log of pi_s * prod P(r | C_s, f) for every response style of a user."""
    weights = np.array([math.log(share) for share in shares])
    for style in range(len(sample.cutpoints)):
        for u, v, r in ratings:
            if u == user:
                f = additive_location(sample, u, v)
                weights[style] += math.log(ordinal_distribution(sample.cutpoints[style], f)[r])
    return weights


# ---------------------------------------------------------------------------------------------
# 5  Graphs
# ---------------------------------------------------------------------------------------------


def neighbours(edges: Iterable[Pair], n: int) -> list[set[int]]:
    """The neighbours of every node of an undirected graph."""
    near: list[set[int]] = [set() for _ in range(n)]
    for u, v in edges:
        near[u].add(v)
        near[v].add(u)
    return near


def degrees(edges: Iterable[Pair], n: int) -> list[int]:
    """How many neighbours every node has."""
    return [len(near) for near in neighbours(edges, n)]


def distances_from(near: list[set[int]], source: int) -> dict[int, int]:
    """Breadth-first search: the distance of every node that can be reached."""
    distance, frontier = {source: 0}, [source]
    while frontier:
        ahead = []
        for u in frontier:
            for v in sorted(near[u]):
                if v not in distance:
                    distance[v] = distance[u] + 1
                    ahead.append(v)
        frontier = ahead
    return distance


def path_lengths(edges: Iterable[Pair], n: int) -> tuple[float, int]:
    """(average path length over connected pairs, diameter) (sec. experimental_results, APL).

    The diameter is the longest of the finite distances. (0, 0) where nothing is connected.
    """
    near = neighbours(edges, n)
    found = [d for u in range(n) for v, d in distances_from(near, u).items() if u != v]
    return (sum(found) / len(found), max(found)) if found else (0.0, 0)


def components(edges: Iterable[Pair], n: int) -> list[set[int]]:
    """Connected components, the largest first (of equals the one with the lowest node)."""
    near, left, found = neighbours(edges, n), set(range(n)), []
    while left:
        part = set(distances_from(near, min(left)))
        found.append(part)
        left -= part
    return sorted(found, key=lambda part: (-len(part), min(part)))


def triangles_of(near: list[set[int]], u: int) -> int:
    """How many pairs of u's neighbours are joined."""
    around = sorted(near[u])
    return sum(b in near[a] for x, a in enumerate(around) for b in around[x + 1 :])


def global_clustering(edges: Iterable[Pair], n: int) -> float:
    """3 triangles over wedges: the share of paths of length two that are closed (GCC)."""
    near = neighbours(edges, n)
    wedges = sum(len(a) * (len(a) - 1) // 2 for a in near)
    return sum(triangles_of(near, u) for u in range(n)) / wedges if wedges else 0.0


def local_clustering(edges: Iterable[Pair], n: int) -> list[float]:
    """Share of joined pairs among each node's neighbours; 0 with fewer than two neighbours."""
    near = neighbours(edges, n)
    return [
        triangles_of(near, u) / (len(near[u]) * (len(near[u]) - 1) / 2) if len(near[u]) > 1 else 0.0
        for u in range(n)
    ]


def average_local_clustering(edges: Iterable[Pair], n: int) -> float:
    """The mean over all nodes, those with fewer than two neighbours counting 0."""
    return sum(local_clustering(edges, n)) / n if n else 0.0


def assortativity(edges: Iterable[Pair], n: int) -> float:
    """Pearson's correlation of the degrees at the two ends of an edge; nan where all are equal."""
    edges = list(edges)
    degree = degrees(edges, n)
    ends = [(degree[u], degree[v]) for u, v in edges] + [(degree[v], degree[u]) for u, v in edges]
    if not ends:
        return math.nan
    mean = sum(a for a, _ in ends) / len(ends)
    variance = sum((a - mean) ** 2 for a, _ in ends)
    return sum((a - mean) * (b - mean) for a, b in ends) / variance if variance else math.nan


def core_numbers(edges: Iterable[Pair], n: int) -> list[int]:
    """The largest c such that a node survives when all of degree < c are removed, repeatedly."""
    edges, core = list(edges), [0] * n
    for c in range(1, n):
        alive = set(range(n))
        while True:
            inner = [e for e in edges if e[0] in alive and e[1] in alive]
            degree = degrees(inner, n)
            weak = {u for u in alive if degree[u] < c}
            if not weak:
                break
            alive -= weak
        for u in alive:
            core[u] = c
    return core


def degree_ks(a: Sequence[int], b: Sequence[int]) -> float:
    """Kolmogorov-Smirnov distance of two degree sequences: the widest gap of their shares <= x."""
    return max(
        abs(sum(d <= x for d in a) / len(a) - sum(d <= x for d in b) / len(b))
        for x in set(a) | set(b)
    )


def modularity(edges: Iterable[Pair], labels: Labels) -> float:
    """Newman's modularity: over ordered pairs, (A_uv - k_u k_v / 2m) / 2m inside a block."""
    edges = list(edges)
    near = neighbours(edges, len(labels))
    twice_m = 2 * len(edges)
    return sum(
        ((v in near[u]) - len(near[u]) * len(near[v]) / twice_m) / twice_m
        for u in range(len(labels))
        for v in range(len(labels))
        if labels[u] == labels[v]
    )


# ---------------------------------------------------------------------------------------------
# 6  Anonymity
# ---------------------------------------------------------------------------------------------


def block_risk(labels: Labels) -> tuple[float, float]:
    """A1 (design 3.7): mean over people and worst of 1 / |block|."""
    shares = [1 / sum(other == own for other in labels) for own in labels]
    return sum(shares) / len(shares), max(shares)


def sbm_edge_probabilities(edges: Iterable[Pair], labels: Labels) -> list[float]:
    """A2, plain SBM (design 3.7): p_ij = d_ij / D_ij of the cell of every original edge."""
    edges = list(edges)
    k = max(labels) + 1
    d, D = block_edges(edges, labels, k), block_pairs(labels, k)
    return [d[labels[u], labels[v]] / D[labels[u], labels[v]] for u, v in edges]


def dcsbm_class_probabilities(edges: Iterable[Pair], blocks: Labels, classes: Labels) -> np.ndarray:
    """p_AB = k_A k_B e_rs / (K_r K_s) for every two classes (design 3.5); 0 where K is 0.

    A class is a (block, degree bin): A lies in block r, B in s. k_A is the mean degree of a class,
    K_r the degree sum of a block, e_rs the edges between two blocks, e_rr twice the inner ones.
    """
    edges, n = list(edges), len(blocks)
    degree = degrees(edges, n)
    ordered = edges + [(v, u) for u, v in edges]
    n_classes = max(classes) + 1
    p = np.zeros((n_classes, n_classes))
    for A in range(n_classes):
        for B in range(n_classes):
            in_A = [u for u in range(n) if classes[u] == A]
            in_B = [u for u in range(n) if classes[u] == B]
            if not in_A or not in_B:
                continue
            r, s = blocks[in_A[0]], blocks[in_B[0]]
            k_A = sum(degree[u] for u in in_A) / len(in_A)
            k_B = sum(degree[u] for u in in_B) / len(in_B)
            e_rs = sum(blocks[u] == r and blocks[v] == s for u, v in ordered)
            K_r = sum(degree[u] for u in range(n) if blocks[u] == r)
            K_s = sum(degree[u] for u in range(n) if blocks[u] == s)
            if K_r and K_s:
                p[A, B] = k_A * k_B * e_rs / (K_r * K_s)
    return p


def dcsbm_edge_probabilities(edges: Iterable[Pair], blocks: Labels, classes: Labels) -> list[float]:
    """A2, degree-corrected (design 3.7): p_AB of the cell of every original edge."""
    edges = list(edges)
    p = dcsbm_class_probabilities(edges, blocks, classes)
    return [p[classes[u], classes[v]] for u, v in edges]


def disclosed_share(probabilities: Sequence[float], threshold: float) -> float:
    """A2: share of the original edges whose cell has p >= threshold."""
    return sum(p >= threshold for p in probabilities) / len(probabilities)


def refinement(edges: Iterable[Pair], n: int, depth: int) -> list[object]:
    """Hay's vertex refinement: H1 = degree, H_i = sorted H_{i-1} of the neighbours (design 3.7)."""
    near = neighbours(edges, n)
    signature: list = [len(near[u]) for u in range(n)]
    for _ in range(depth - 1):
        signature = [tuple(sorted(signature[v] for v in near[u])) for u in range(n)]
    return signature


def candidates(
    original: Iterable[Pair], published: Iterable[Pair], n: int, u: int, depth: int
) -> set[int]:
    """Published nodes that look like original node u under H_depth."""
    known = refinement(original, n, depth)[u]
    return {v for v, seen in enumerate(refinement(published, n, depth)) if seen == known}


def match_scores(
    near_left: list[set[int]], near_right: list[set[int]], mapping: dict[int, int], u: int
) -> list[float]:
    """Narayanan and Shmatikov's score of every right node as the image of left node u.

    Each mapped neighbour of u votes for the free neighbours of its image with 1 / sqrt(degree).
    """
    taken = set(mapping.values())
    scores = [0.0] * len(near_right)
    for a in sorted(near_left[u]):
        if a in mapping:
            for b in sorted(near_right[mapping[a]]):
                if b not in taken:
                    scores[b] += 1 / math.sqrt(len(near_right[b]))
    return scores


def eccentricity(scores: Sequence[float]) -> float:
    """(best - second best) / standard deviation of all scores; 0 where they do not differ."""
    if len(scores) < 2:
        return 0.0
    best, second = sorted(scores, reverse=True)[:2]
    mean = sum(scores) / len(scores)
    deviation = math.sqrt(sum((x - mean) ** 2 for x in scores) / len(scores))
    return (best - second) / deviation if deviation > 0 else 0.0


def seeded_matching(
    left: Iterable[Pair],
    right: Iterable[Pair],
    n_left: int,
    n_right: int,
    seeds: dict[int, int],
    theta: float = 0.5,
    rounds: int = 100,
) -> dict[int, int]:
    """Narayanan and Shmatikov's propagation, plainly (design 3.7, A4).

    Free left nodes are visited by rising number, round after round until one changes nothing. A
    match needs a best score whose eccentricity is over `theta`, and the same the other way round
    (from the right node back to the left one). A match is never undone. Equal best scores have
    eccentricity 0, so no tie is ever broken by node number.
    """
    near_left, near_right = neighbours(left, n_left), neighbours(right, n_right)
    mapping = dict(seeds)
    for _ in range(rounds):
        before = len(mapping)
        for u in range(n_left):
            if u in mapping:
                continue
            scores = match_scores(near_left, near_right, mapping, u)
            if eccentricity(scores) <= theta:
                continue
            v = scores.index(max(scores))
            inverse = {b: a for a, b in mapping.items()}
            back = match_scores(near_right, near_left, inverse, v)
            if eccentricity(back) > theta and back.index(max(back)) == u:
                mapping[u] = v
        if len(mapping) == before:
            break
    return mapping

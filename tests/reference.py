"""Slow, plain reference of every equation, written from its definition.

Tests compare the kernels with these functions. Nothing here is fast, and nothing is shared with the
package: statistics are counted anew from the data each time, the cost of a move is found by making
the move, and a sum is a loop. Graphs are lists of pairs, ratings are lists of (user, item, level).

    1  Hard clustering
       1.1  costs of a cell              1.5  scores with fixed parameters
       1.2  block statistics             1.6  agreement of two partitions
       1.3  entropies
       1.4  moves, merges and searches
    2  Soft clustering
       2.1  entropy and responsibilities
       2.2  MMSBM (exact EM)             2.4  absent pairs
       2.3  MCMMSBM (Monte Carlo EM)     2.5  fold-in and predictions
    3  Metrics of predictions and rankings
    4  Additive block model
       4.1  probability of a rating      4.2  conditional distributions of the sampler
    5  Graph measures
       5.1  degrees, paths, clustering   5.3  small patterns, betweenness, robustness
       5.2  communities
    6  Anonymity
       6.1  class risk and edge disclosure
       6.2  attacks: vertex refinement and seeded matching
    7  Queries of PGB
    8  Private sketch: noise, ladder, stream
    9  Draws from a private sketch
   10  Directions, weights, sides and attributes

"Prost & Yoon" is the paper "Parallel Clustering of Graphs for Anonymization and Recommender
Systems"; sections, equations and algorithms are cited by their printed numbers. Logarithms are
natural.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

Pair = tuple[int, int]
Labels = Sequence[int]
Entropy = Callable[[Labels], float]

# =============================================================================================
# 1  Hard clustering
# =============================================================================================


# --- 1.1  Costs of a cell --------------------------------------------------------------------


def x_log_x(x: float) -> float:
    """Return x log x, with 0 log 0 = 0."""
    return x * math.log(x) if x > 0 else 0.0


def bernoulli_cell(d: float, D: float) -> float:
    """Return the cost of D pairs of which d are edges: f(d, D - d) of Prost & Yoon, Equation 12."""
    return x_log_x(D) - x_log_x(d) - x_log_x(D - d)


def poisson_cell(W: float, D: float) -> float:
    """Return W - W log(W / D), 0 for W = 0: the cost of D pairs with total weight W (Poisson)."""
    return W - W * math.log(W / D) if W > 0 else 0.0


# --- 1.2  Block statistics -------------------------------------------------------------------


def block_sizes(labels: Labels, k: int) -> list[int]:
    """Return the number of nodes per block: |V_i| of Prost & Yoon, Equation 12."""
    sizes = [0] * k
    for label in labels:
        sizes[label] += 1
    return sizes


def block_pairs(labels: Labels, k: int) -> np.ndarray:
    """Return D_ij, the number of pairs of nodes between blocks (Prost & Yoon, Equation 12)."""
    D = np.zeros((k, k), np.int64)
    for u in range(len(labels)):
        for v in range(u + 1, len(labels)):
            i, j = labels[u], labels[v]
            D[i, j] += 1
            if i != j:
                D[j, i] += 1
    return D


def block_edges(edges: Iterable[Pair], labels: Labels, k: int) -> np.ndarray:
    """Return d_ij, the number of edges between blocks (Prost & Yoon, Equation 12).

    Symmetric; an edge inside a block counts once in d_ii.
    """
    d = np.zeros((k, k), np.int64)
    for u, v in edges:
        i, j = labels[u], labels[v]
        d[i, j] += 1
        if i != j:
            d[j, i] += 1
    return d


def directed_block_pairs(labels: Labels, k: int) -> np.ndarray:
    """Return D_ij of a directed graph, the number of ordered pairs: D_ii = n_i (n_i - 1)."""
    D = np.zeros((k, k), np.int64)
    for u in range(len(labels)):
        for v in range(len(labels)):
            if u != v:
                D[labels[u], labels[v]] += 1
    return D


def directed_block_edges(edges: Iterable[Pair], labels: Labels, k: int) -> np.ndarray:
    """Return d_ij of a directed graph: the number of edges from block i to block j."""
    d = np.zeros((k, k), np.int64)
    for u, v in edges:
        d[labels[u], labels[v]] += 1
    return d


def block_weights(edges: Iterable[tuple[int, int, float]], labels: Labels, k: int) -> np.ndarray:
    """Return W_ij, symmetric: the total weight between blocks; an edge inside counts once."""
    W = np.zeros((k, k))
    for u, v, w in edges:
        i, j = labels[u], labels[v]
        W[i, j] += w
        if i != j:
            W[j, i] += w
    return W


def block_ratings(
    ratings: Iterable[tuple[int, int, int]],
    user_labels: Labels,
    item_labels: Labels,
    k: int,
    l: int,  # noqa: E741
    n_levels: int,
) -> np.ndarray:
    """Return d_ijr: the number of ratings of level r by users of block i for items of block j."""
    d = np.zeros((k, l, n_levels), np.int64)
    for u, v, r in ratings:
        d[user_labels[u], item_labels[v], r] += 1
    return d


# --- 1.3  Entropies: S(Z) = -log likelihood of the data, given the blocks --------------------


def entropy_simple(edges: Iterable[Pair], labels: Labels, k: int) -> float:
    """Return S(Z) of a simple graph (Prost & Yoon, Equation 11)."""
    d, D = block_edges(edges, labels, k), block_pairs(labels, k)
    return sum(bernoulli_cell(d[i, j], D[i, j]) for i in range(k) for j in range(i, k))


def entropy_degree_corrected(edges: Iterable[Pair], labels: Labels, k: int) -> float:
    """Return S of the degree-corrected model (Karrer & Newman 2011), without constants.

    S = sum_r g(K_r) - (1/2) sum_rs g(e_rs) with g(x) = x log x; e_rr is twice the edges inside r.
    """
    e, K = np.zeros((k, k)), np.zeros(k)
    for u, v in edges:
        e[labels[u], labels[v]] += 1
        e[labels[v], labels[u]] += 1
        K[labels[u]] += 1
        K[labels[v]] += 1
    return sum(x_log_x(x) for x in K) - sum(x_log_x(x) for x in e.ravel()) / 2


def entropy_directed(edges: Iterable[Pair], labels: Labels, k: int) -> float:
    """Return S of a directed graph: the sum of Bernoulli cells over ordered pairs of blocks."""
    d, D = directed_block_edges(edges, labels, k), directed_block_pairs(labels, k)
    return sum(bernoulli_cell(d[i, j], D[i, j]) for i in range(k) for j in range(k))


def entropy_weighted(edges: Iterable[tuple[int, int, float]], labels: Labels, k: int) -> float:
    """Return S of a graph with Poisson weights; an absent pair has weight 0.

    S = sum_{i<=j} H(W_ij, D_ij) + sum over pairs of lgamma(w + 1), with H = `poisson_cell`.
    """
    edges = list(edges)
    W, D = block_weights(edges, labels, k), block_pairs(labels, k)
    cells = sum(poisson_cell(W[i, j], D[i, j]) for i in range(k) for j in range(i, k))
    return cells + sum(math.lgamma(w + 1) for _, _, w in edges)


def entropy_ratings(
    ratings: Iterable[tuple[int, int, int]],
    user_labels: Labels,
    item_labels: Labels,
    k: int,
    l: int,  # noqa: E741
    n_levels: int,
) -> float:
    """Return S of multinomial ratings; unrated pairs do not count.

    S = sum_ij [g(d_ij.) - sum_r g(d_ijr)] with g(x) = x log x.
    """
    d = block_ratings(ratings, user_labels, item_labels, k, l, n_levels)
    return sum(
        x_log_x(d[i, j].sum()) - sum(x_log_x(x) for x in d[i, j])
        for i in range(k)
        for j in range(l)
    )


def entropy_likes(
    likes: Iterable[Pair],
    user_labels: Labels,
    item_labels: Labels,
    k: int,
    l: int,  # noqa: E741
) -> float:
    """Return S of Bernoulli likes between users and items: D_ij = n_i m_j."""
    d = np.zeros((k, l), np.int64)
    for u, v in likes:
        d[user_labels[u], item_labels[v]] += 1
    n, m = block_sizes(user_labels, k), block_sizes(item_labels, l)
    return sum(bernoulli_cell(d[i, j], n[i] * m[j]) for i in range(k) for j in range(l))


def entropy_binomial(
    ratings: Iterable[tuple[int, int, int]],
    user_labels: Labels,
    item_labels: Labels,
    k: int,
    l: int,  # noqa: E741
    n_levels: int,
) -> float:
    """Return S of binomial ratings, level ~ Bin(R - 1, p_ij) (Prost & Yoon, section 4.1)."""
    ratings = list(ratings)
    top = n_levels - 1
    total, successes = np.zeros((k, l)), np.zeros((k, l))
    S = 0.0
    for u, v, r in ratings:
        total[user_labels[u], item_labels[v]] += top
        successes[user_labels[u], item_labels[v]] += r
        S -= math.log(math.comb(top, r))
    for i in range(k):
        for j in range(l):
            S += bernoulli_cell(successes[i, j], total[i, j])
    return S


def entropy_gaussian(points: np.ndarray, labels: Labels, k: int) -> float:
    """Return S of k-means as hard EM with unit covariance (Prost & Yoon, Example 2.1).

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


# --- 1.4  Moves, merges and searches ---------------------------------------------------------


def succ(labels: Labels, a: int, y: int) -> list[int]:
    """Return Z with element a moved to y: succ(Z, a, y) of Prost & Yoon, Equation 9."""
    moved = list(labels)
    moved[a] = y
    return moved


def move_costs(entropy: Entropy, labels: Labels, a: int, k: int) -> np.ndarray:
    """Return S(succ(Z, a, y)) - S(Z) for every block y, by making the move and counting again.

    This is the score of Algorithm 4 of Prost & Yoon (Generalized k-means). `entropy` takes labels;
    bind the data first: `lambda z: entropy_simple(edges, z, k)`.
    """
    before = entropy(labels)
    return np.array([entropy(succ(labels, a, y)) - before for y in range(k)])


def merge_cost(entropy: Entropy, labels: Labels, r: int, s: int) -> float:
    """Return the increase of S if block s is merged into block r (s stays empty)."""
    return entropy([r if label == s else label for label in labels]) - entropy(labels)


def is_locally_optimal(entropy: Entropy, labels: Labels, k: int, gain: float = 1e-9) -> bool:
    """Return whether no single move improves S by more than `gain` (Prost & Yoon, section 3.2)."""
    return all(move_costs(entropy, labels, a, k).min() >= -gain for a in range(len(labels)))


def best_move(costs: np.ndarray, own: int, gain: float = 1e-9) -> int:
    """Return the cheapest label, the lowest of equals; the own label unless `gain` is exceeded."""
    y = int(np.argmin(costs))
    return y if costs[y] < costs[own] - gain else own


def generalized_kmeans_iteration(
    entropy: Entropy, labels: Labels, k: int, batch: Iterable[int], gain: float = 1e-9
) -> list[int]:
    """Run one iteration of Algorithm 4 of Prost & Yoon (Generalized k-means).

    The moves of all elements of the batch are planned from the same Z, and then made.
    """
    plan = {a: best_move(move_costs(entropy, labels, a, k), labels[a], gain) for a in batch}
    return [plan.get(a, label) for a, label in enumerate(labels)]


def descend(entropy: Entropy, labels: Labels, k: int, gain: float = 1e-9) -> list[int]:
    """Make single moves, one element after another, until the result is locally optimal."""
    labels = list(labels)
    while True:
        before = list(labels)
        for a in range(len(labels)):
            labels[a] = best_move(move_costs(entropy, labels, a, k), labels[a], gain)
        if labels == before:
            return labels


# --- 1.5  Scores with fixed parameters (the approximation in Prost & Yoon, Equation 10) ------


def times_log(x: float, p: float) -> float:
    """Return x log p, with 0 log 0 = 0 and x log 0 = -inf."""
    if x == 0:
        return 0.0
    return x * math.log(p) if p > 0 else -math.inf


def smoothed_probabilities(
    edges: Iterable[Pair], labels: Labels, k: int, smoothing: float
) -> np.ndarray:
    """Return p_ij = (d_ij + smoothing) / (D_ij + 2 smoothing); 0.5 if both are 0."""
    d, D = block_edges(edges, labels, k), block_pairs(labels, k)
    p = np.full((k, k), 0.5)
    for i in range(k):
        for j in range(k):
            if D[i, j] + 2 * smoothing > 0:
                p[i, j] = (d[i, j] + smoothing) / (D[i, j] + 2 * smoothing)
    return p


def fixed_costs(edges: Iterable[Pair], labels: Labels, p: np.ndarray, v: int) -> np.ndarray:
    """Return the -log likelihood of v's pairs for every label y of v, with p fixed.

    The rest of S(succ(Z, v, y)) does not depend on y. `p` is any k x k matrix, for example
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
    """Return `fixed_costs` of a directed graph: both directions of every pair."""
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
    """Return `fixed_costs` of a weighted graph with Poisson rates, without lgamma(w + 1)."""
    weight = {b if a == v else a: w for a, b, w in edges if v in (a, b)}
    costs = np.zeros(len(rates))
    for y in range(len(rates)):
        for u, j in enumerate(labels):
            if u != v:
                costs[y] += rates[y, j] - times_log(weight.get(u, 0.0), rates[y, j])
    return costs


def fixed_costs_ratings(
    ratings: Iterable[tuple[int, int, int]], item_labels: Labels, theta: np.ndarray, user: int
) -> np.ndarray:
    """Return the -log likelihood of a user's ratings for every block y, with theta_yjr fixed."""
    ratings = [(v, r) for u, v, r in ratings if u == user]
    return np.array(
        [
            -sum(times_log(1, theta[y, item_labels[v], r]) for v, r in ratings)
            for y in range(len(theta))
        ]
    )


def fixed_costs_gaussian(
    points: np.ndarray, labels: Labels, k: int, a: int, absent: float = math.inf
) -> np.ndarray:
    """Return |x - mu_y|^2 / 2 with fixed centres: Lloyd's k-means (Prost & Yoon, Example 2.1)."""
    costs = np.full(k, absent)
    for y in range(k):
        members = [x for x, label in zip(points, labels, strict=True) if label == y]
        if members:
            costs[y] = float(((points[a] - sum(members) / len(members)) ** 2).sum()) / 2
    return costs


# --- 1.6  Agreement of two partitions --------------------------------------------------------


def adjusted_rand_index(a: Labels, b: Labels) -> float:
    """Return Hubert and Arabie's index, by comparing every pair of elements."""
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
    """Return Vinh, Epps and Bailey's index, normalised by the arithmetic mean of the entropies."""
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


# =============================================================================================
# 2  Soft clustering
# =============================================================================================

Observations = Sequence[tuple[int, int, int]]  # (u, v, level r)


# --- 2.1  Entropy and responsibilities -------------------------------------------------------


def responsibilities(
    h_u: np.ndarray, h_v: np.ndarray, theta: np.ndarray, r: int
) -> tuple[np.ndarray, float]:
    """Return x_uv(i, j) of Algorithm 8 of Prost & Yoon (MMSBM), and its denominator.

    The denominator is the probability of the observation.
    """
    k, l = len(h_u), len(h_v)  # noqa: E741
    x = np.zeros((k, l))
    for i in range(k):
        for j in range(l):
            x[i, j] = h_u[i] * h_v[j] * theta[i, j, r]
    total = float(x.sum())
    return x / total, total


def normalised(mass: np.ndarray, old: np.ndarray, prior: float = 0.0) -> np.ndarray:
    """Normalise mass + prior along the last axis; keep the old distribution if there is no mass."""
    mass = mass + prior
    total = mass.sum(axis=-1, keepdims=True)
    return np.where(total > 0, mass / np.where(total > 0, total, 1), old)


def mmsbm_entropy(
    observations: Observations, h_row: np.ndarray, h_col: np.ndarray, theta: np.ndarray
) -> float:
    """Return S(theta, h), -sum of log sum_ij h_ui h_vj theta_ijr (Prost & Yoon, Equation 5)."""
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
    """Return what EM with a prior minimises: S - prior * (sum of log of all h and theta)."""
    logs = sum(float(np.log(a).sum()) for a in (h_row, h_col, theta))
    return mmsbm_entropy(observations, h_row, h_col, theta) - prior * logs


# --- 2.2  MMSBM: exact EM (Algorithm 8 of Prost & Yoon) --------------------------------------


def mmsbm_iteration(
    observations: Observations,
    h_row: np.ndarray,
    h_col: np.ndarray,
    theta: np.ndarray,
    prior: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Run one iteration over ratings; return h of users, h of items and theta[i, j, r].

    Every numerator uses the old state. The degree counts observations, including repeats. A node
    of degree 0 keeps its h, and a cell (i, j) without mass keeps its theta. `prior` is a
    pseudo-count on every cell of h and theta: the update is the mode of a Dirichlet(1 + prior).
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
    """Run one iteration over the pairs of one node set; return new h and theta.

    Undirected: every pair appears once in `observations` and updates both of its nodes; theta is
    symmetric, so (i, j) and (j, i) share their mass. The entropy is `mmsbm_entropy` with h on both
    sides. Directed: the same without the symmetry.
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


# --- 2.3  MCMMSBM: Monte Carlo EM (Algorithm 3 of Prost & Yoon) ------------------------------


def mcmmsbm_shares(
    isample: Sequence[int],
    jsample: Sequence[int],
    h_u: np.ndarray,
    h_v: np.ndarray,
    theta: np.ndarray,
    r: int,
) -> np.ndarray:
    """Return x~_uv(i, j) of one observation from its draws (Prost & Yoon, Equation 21).

    The share of (i, j) is the sum of theta over its draws, divided by T, the sum over all draws;
    if T = 0, the exact responsibilities. (The printed algorithm divides by T once per draw.)
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
    """Run one iteration with given draws: isample[e], jsample[e] are those of observation e."""
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
    """Run one iteration over one node set, as `mmsbm_graph_iteration`, with given draws."""
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
    """Draw s independent pairs per observation: isample ~ h_u and jsample ~ h_v."""
    isample = [rng.choice(h_row.shape[1], s, p=h_row[u]) for u, _, _ in observations]
    jsample = [rng.choice(h_col.shape[1], s, p=h_col[v]) for _, v, _ in observations]
    return np.array(isample).reshape(-1, s), np.array(jsample).reshape(-1, s)


# --- 2.4  Simple graphs with absent pairs as observations ------------------------------------


def all_pairs(edges: Iterable[Pair], n: int, directed: bool = False) -> list[tuple[int, int, int]]:
    """Return every pair of a simple graph as an observation: r = 1 present, r = 0 absent."""
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
    """Return theta of absent and present from the probability of an edge."""
    return np.stack([1 - P, P], axis=-1)


def simple_graph_entropy(
    edges: Iterable[Pair], h: np.ndarray, P: np.ndarray, directed: bool = False
) -> float:
    """Return S of the soft model of a simple graph, over all pairs."""
    return mmsbm_entropy(all_pairs(edges, len(h), directed), h, h, _present_absent(P))


def simple_graph_iteration(
    edges: Iterable[Pair], h: np.ndarray, P: np.ndarray, directed: bool = False, prior: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Run one exact EM iteration over all pairs; return new h and P, theta of present."""
    h, theta = mmsbm_graph_iteration(
        all_pairs(edges, len(h), directed), h, _present_absent(P), directed, prior
    )
    return h, theta[:, :, 1]


# --- 2.5  Fold-in and predictions ------------------------------------------------------------


def fold_in(
    ratings: Iterable[Pair],
    h_col: np.ndarray,
    theta: np.ndarray,
    start: np.ndarray,
    iterations: int,
    prior: float = 0.0,
) -> np.ndarray:
    """Return a new user's memberships from (item, r), by EM with items and theta fixed.

    This repeats line 7 of Algorithm 8 of Prost & Yoon (MMSBM).
    """
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
    """Return P(r) = sum_ij h_ui h_vj theta_ijr for every r (Prost & Yoon, Definition 3.1)."""
    p = np.zeros(theta.shape[2])
    for i in range(len(h_u)):
        for j in range(len(h_v)):
            for r in range(theta.shape[2]):
                p[r] += h_u[i] * h_v[j] * theta[i, j, r]
    return p


def expected_rating(p: Sequence[float], values: Sequence[float]) -> float:
    """Return the mean of a predicted distribution (Prost & Yoon, Equation 13)."""
    return sum(p_r * value for p_r, value in zip(p, values, strict=True))


def contributions(
    h_u: np.ndarray, h_v: np.ndarray, theta: np.ndarray, values: Sequence[float]
) -> list[tuple[int, int, float, float]]:
    """Return (i, j, weight, rating) per pair of groups; weight * rating sums to the prediction."""
    return [
        (i, j, h_u[i] * h_v[j], expected_rating(theta[i, j], values))
        for i in range(len(h_u))
        for j in range(len(h_v))
    ]


# =============================================================================================
# 3  Metrics
# =============================================================================================


def rmse(truth: Sequence[float], predicted: Sequence[float]) -> float:
    """Return the root mean squared error (Prost & Yoon, Equation 14)."""
    squares = [(t - p) ** 2 for t, p in zip(truth, predicted, strict=True)]
    return math.sqrt(sum(squares) / len(squares))


def mae(truth: Sequence[float], predicted: Sequence[float]) -> float:
    """Return the mean absolute error."""
    return sum(abs(t - p) for t, p in zip(truth, predicted, strict=True)) / len(truth)


def mode(p: Sequence[float]) -> int:
    """Return the most probable level, the lowest of equals."""
    return max(range(len(p)), key=lambda r: (p[r], -r))


def median(p: Sequence[float]) -> int:
    """Return the lowest level at which the cumulative probability reaches one half."""
    total = 0.0
    for r, share in enumerate(p):
        total += share
        if total >= 0.5:
            return r
    return len(p) - 1


def accuracy(levels: Sequence[int], distributions: Sequence[Sequence[float]]) -> float:
    """Return the share of ratings whose most probable level is the true one."""
    return sum(mode(p) == r for r, p in zip(levels, distributions, strict=True)) / len(levels)


def log_loss(levels: Sequence[int], distributions: Sequence[Sequence[float]]) -> float:
    """Return the mean of -log of the probability of the true level."""
    return -sum(math.log(p[r]) for r, p in zip(levels, distributions, strict=True)) / len(levels)


def dcg(gains: Sequence[float]) -> float:
    """Return the discounted cumulative gain: the gain at rank i (from 0) over log2(i + 2)."""
    return sum(gain / math.log2(i + 2) for i, gain in enumerate(gains))


def ndcg(ranked_gains: Sequence[float], n: int | None = None) -> float:
    """Return the DCG of the first n ranks over that of the best order; 0 without any gain."""
    best = dcg(sorted(ranked_gains, reverse=True)[:n])
    return dcg(ranked_gains[:n]) / best if best > 0 else 0.0


def precision(ranked: Sequence[int], relevant: set[int], n: int) -> float:
    """Return the share of the first n ranks that are relevant; empty ranks count as irrelevant."""
    return sum(item in relevant for item in ranked[:n]) / n


def recall(ranked: Sequence[int], relevant: set[int], n: int) -> float:
    """Return the share of relevant items among the first n ranks; 0 if none is relevant."""
    return sum(item in relevant for item in ranked[:n]) / len(relevant) if relevant else 0.0


# =============================================================================================
# 4  Additive block model
# =============================================================================================

PRESENCE_WEIGHT = 0.3  # weight of presence observations for the labels and for Q


# --- 4.1  Probability of a rating ------------------------------------------------------------


class AdditiveSample(NamedTuple):
    """One state of a chain: L partitions of users and items, their effects, the rating scale."""

    user_labels: np.ndarray  # g[s, u]
    item_labels: np.ndarray  # h[s, v]
    M: np.ndarray  # [s, i, j], effect on the rating
    user_offsets: np.ndarray  # b_u
    item_offsets: np.ndarray  # b_v
    cutpoints: np.ndarray  # C[style, r], R - 1 per style, ascending
    styles: np.ndarray  # style of each user
    user_factors: np.ndarray | None = None  # p[u, k]
    item_factors: np.ndarray | None = None  # q[v, k]


class PresenceSample(NamedTuple):
    """Effects on presence (who rated what); the labels are those of the AdditiveSample."""

    Q: np.ndarray  # [s, i, j]
    user_offsets: np.ndarray  # c_u
    item_offsets: np.ndarray  # c_v
    mean: float  # mean(y)
    tau: float


def normal_cdf(x: float) -> float:
    """Return Phi(x), the standard normal distribution function."""
    return math.erfc(-x / math.sqrt(2)) / 2


def additive_location(sample: AdditiveSample, u: int, v: int, without: int | None = None) -> float:
    """Return f_uv = b_u + b_v + p_u . q_v + sum_s M^s[g^s_u, h^s_v].

    `without` leaves one partition out.
    """
    f = sample.user_offsets[u] + sample.item_offsets[v]
    if sample.user_factors is not None and sample.item_factors is not None:
        for k in range(sample.user_factors.shape[1]):
            f += float(sample.user_factors[u, k]) * float(sample.item_factors[v, k])
    for s in range(len(sample.M)):
        if s != without:
            f += sample.M[s, sample.user_labels[s, u], sample.item_labels[s, v]]
    return float(f)


def presence_location(
    sample: AdditiveSample, presence: PresenceSample, u: int, v: int, without: int | None = None
) -> float:
    """Return the expected y_uv: mean(y) + c_u + c_v + sum_s Q^s[g^s_u, h^s_v]."""
    f = presence.mean + presence.user_offsets[u] + presence.item_offsets[v]
    for s in range(len(presence.Q)):
        if s != without:
            f += presence.Q[s, sample.user_labels[s, u], sample.item_labels[s, v]]
    return float(f)


def ordinal_distribution(cutpoints: Sequence[float], f: float) -> np.ndarray:
    """Return P(rating = r), where P(rating <= r) = Phi(C_r - f)."""
    below = [0.0, *(normal_cdf(c - f) for c in cutpoints), 1.0]
    return np.array([below[r + 1] - below[r] for r in range(len(below) - 1)])


def additive_distribution(sample: AdditiveSample, u: int, v: int) -> np.ndarray:
    """Return P(r | u, v) of one sample."""
    return ordinal_distribution(sample.cutpoints[sample.styles[u]], additive_location(sample, u, v))


def additive_prediction(samples: Sequence[AdditiveSample], u: int, v: int) -> np.ndarray:
    """Return P(r | u, v), averaged over samples."""
    return sum(additive_distribution(sample, u, v) for sample in samples) / len(samples)


def additive_log_likelihood(ratings: Observations, sample: AdditiveSample) -> float:
    """Return the log probability of the ratings (u, v, r), with latent z integrated out."""
    return sum(math.log(additive_distribution(sample, u, v)[r]) for u, v, r in ratings)


# --- 4.2  Conditional distributions of the sampler -------------------------------------------


def additive_user_label_log_weights(
    latent: Sequence[tuple[int, int, float]],
    sample: AdditiveSample,
    s: int,
    user: int,
    present: Sequence[tuple[int, int, float]] = (),
    presence: PresenceSample | None = None,
) -> np.ndarray:
    """Return the log weight of each label of a user in partition s: the data's log density.

    `latent` holds (u, v, z), `present` (u, v, y). Constants are included, so compare differences
    (or `distribution_of`).
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
    """Return the log weight of each label of an item in partition s."""
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
    """Return exp of the log weights, normalised to sum to 1."""
    top = max(log_weights)
    w = np.array([math.exp(x - top) for x in log_weights])
    return w / w.sum()


def gaussian_effect(
    residuals: Sequence[float],
    prior_precision: float,
    precision: float = 1.0,
    prior_mean: float = 0.0,
) -> tuple[float, float]:
    """Return (mean, variance) of an effect with prior N(prior_mean, 1/prior_precision)."""
    total = prior_precision + precision * len(residuals)
    return (prior_precision * prior_mean + precision * sum(residuals)) / total, 1 / total


def additive_effect_conditional(
    latent: Sequence[tuple[int, int, float]],
    sample: AdditiveSample,
    s: int,
    i: int,
    j: int,
    precision: float,
) -> tuple[float, float]:
    """Return (mean, variance) of M^s_ij: S_ij / (n_ij + lambda), 1 / (n_ij + lambda)."""
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
    """Return (mean, variance) of Q^s_ij, with weight 0.3 tau per observation."""
    residuals = [
        y - presence_location(sample, presence, u, v, without=s)
        for u, v, y in present
        if sample.user_labels[s, u] == i and sample.item_labels[s, v] == j
    ]
    return gaussian_effect(residuals, precision, PRESENCE_WEIGHT * presence.tau)


def additive_user_offset_conditional(
    latent: Sequence[tuple[int, int, float]],
    sample: AdditiveSample,
    user: int,
    precision: float,
    prior_mean: float = 0.0,
) -> tuple[float, float]:
    """Return (mean, variance) of b_u: (sum(e + b) + lambda mu) / (n + lambda), 1 / (n + lambda)."""
    residuals = [
        z - additive_location(sample, u, v) + sample.user_offsets[u]
        for u, v, z in latent
        if u == user
    ]
    return gaussian_effect(residuals, precision, prior_mean=prior_mean)


def additive_item_offset_conditional(
    latent: Sequence[tuple[int, int, float]], sample: AdditiveSample, item: int, precision: float
) -> tuple[float, float]:
    """Return (mean, variance) of b_v, as for b_u."""
    residuals = [
        z - additive_location(sample, u, v) + sample.item_offsets[v]
        for u, v, z in latent
        if v == item
    ]
    return gaussian_effect(residuals, precision)


def additive_factor_conditional(
    latent: Sequence[tuple[int, int, float]],
    sample: AdditiveSample,
    node: int,
    users: bool,
    prior_mean: Sequence[float],
    precision: Sequence[float],
) -> tuple[np.ndarray, np.ndarray]:
    """Return (mean, covariance) of the factors of a user or an item, given all else.

    The prior is N(prior_mean, diag(1 / precision)); each z - f + p . q is an observation of p . q
    with variance 1.
    """
    own, others = sample.user_factors, sample.item_factors
    if not users:
        own, others = others, own
    inverse = np.diag(np.array(precision, float))
    pull = inverse @ np.array(prior_mean, float)
    for u, v, z in latent:
        here, there = (u, v) if users else (v, u)
        if here == node:
            q = others[there].astype(float)
            rest = z - additive_location(sample, u, v) + float(own[node].astype(float) @ q)
            inverse = inverse + np.outer(q, q)
            pull = pull + q * rest
    covariance = np.linalg.inv(inverse)
    return covariance @ pull, covariance


def additive_link_conditional(
    features: np.ndarray, values: np.ndarray, precision: float, link_precision: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return (mean, covariance) of w in values = features @ w + N(0, 1 / precision)."""
    inverse = precision * features.T @ features + link_precision * np.eye(features.shape[1])
    covariance = np.linalg.inv(inverse)
    return covariance @ (precision * features.T @ values), covariance


def additive_scale_log_density(
    latent: Sequence[tuple[int, int, float]],
    scaled: Callable[[float], AdditiveSample],
    gaps: np.ndarray,
    precision: float,
    floor: float,
    c: float,
) -> float:
    """Return the log density of log c, the move (d, lambda) -> (c d, lambda / c^2), given all else.

    `gaps` are the d, values minus prior means; `scaled(c)` is the sample with c d in their place.
    The posterior of the moved state is multiplied by the Jacobian of the move, c^n c^-2.
    """
    sample, moved = scaled(c), precision / c**2
    found = -sum((z - additive_location(sample, u, v)) ** 2 for u, v, z in latent) / 2
    found += sum(math.log(moved) / 2 - moved * (c * gap) ** 2 / 2 for gap in gaps.ravel())
    return found - floor * moved + (gaps.size - 2) * math.log(c)


def additive_presence_user_offset_conditional(
    present: Sequence[tuple[int, int, float]],
    sample: AdditiveSample,
    presence: PresenceSample,
    user: int,
    precision: float,
) -> tuple[float, float]:
    """Return (mean, variance) of c_u, with precision tau per observation."""
    residuals = [
        y - presence_location(sample, presence, u, v) + presence.user_offsets[u]
        for u, v, y in present
        if u == user
    ]
    return gaussian_effect(residuals, precision, presence.tau)


def additive_style_log_weights(
    ratings: Observations, sample: AdditiveSample, user: int, shares: Sequence[float]
) -> np.ndarray:
    """Return log of pi_s * prod P(r | C_s, f) for every response style of a user."""
    weights = np.array([math.log(share) for share in shares])
    for style in range(len(sample.cutpoints)):
        for u, v, r in ratings:
            if u == user:
                f = additive_location(sample, u, v)
                weights[style] += math.log(ordinal_distribution(sample.cutpoints[style], f)[r])
    return weights


def closest_quadratic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the values at x of the quadratic function with the smallest squared distance to y."""
    columns = np.column_stack([np.ones(len(x)), x, x**2])
    return columns @ np.linalg.lstsq(columns, y, rcond=None)[0]


def share_of_sampling_error(predictions: np.ndarray, noise: float) -> float:
    """Return the squared error of the mean over chains (rows), relative to the ratings' noise."""
    total = 0.0
    chains, pairs = predictions.shape
    for pair in range(pairs):
        mean = sum(predictions[chain, pair] for chain in range(chains)) / chains
        gaps = sum((predictions[chain, pair] - mean) ** 2 for chain in range(chains))
        total += gaps / (chains - 1) / chains
    return float(total / pairs / noise)


# =============================================================================================
# 5  Graph measures
# =============================================================================================


# --- 5.1  Degrees, paths, clustering ----------------------------------------------------------


def neighbours(edges: Iterable[Pair], n: int) -> list[set[int]]:
    """Return the neighbours of every node of an undirected graph."""
    near: list[set[int]] = [set() for _ in range(n)]
    for u, v in edges:
        near[u].add(v)
        near[v].add(u)
    return near


def degrees(edges: Iterable[Pair], n: int) -> list[int]:
    """Return the number of neighbours of every node."""
    return [len(near) for near in neighbours(edges, n)]


def distances_from(near: list[set[int]], source: int) -> dict[int, int]:
    """Return the distance of every reachable node, by breadth-first search."""
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
    """Return (average path length over connected pairs, diameter) (Prost & Yoon, section 5.3).

    The diameter is the longest finite distance. (0, 0) if no pair is connected.
    """
    near = neighbours(edges, n)
    found = [d for u in range(n) for v, d in distances_from(near, u).items() if u != v]
    return (sum(found) / len(found), max(found)) if found else (0.0, 0)


def components(edges: Iterable[Pair], n: int) -> list[set[int]]:
    """Return connected components, the largest first (of equals, the one with the lowest node)."""
    near, left, found = neighbours(edges, n), set(range(n)), []
    while left:
        part = set(distances_from(near, min(left)))
        found.append(part)
        left -= part
    return sorted(found, key=lambda part: (-len(part), min(part)))


def triangles_of(near: list[set[int]], u: int) -> int:
    """Return the number of connected pairs of neighbours of u."""
    around = sorted(near[u])
    return sum(b in near[a] for x, a in enumerate(around) for b in around[x + 1 :])


def global_clustering(edges: Iterable[Pair], n: int) -> float:
    """Return 3 triangles / wedges: the share of paths of length two that are closed."""
    near = neighbours(edges, n)
    wedges = sum(len(a) * (len(a) - 1) // 2 for a in near)
    return sum(triangles_of(near, u) for u in range(n)) / wedges if wedges else 0.0


def local_clustering(edges: Iterable[Pair], n: int) -> list[float]:
    """Return the share of connected pairs of neighbours per node; 0 with fewer than two."""
    near = neighbours(edges, n)
    return [
        triangles_of(near, u) / (len(near[u]) * (len(near[u]) - 1) / 2) if len(near[u]) > 1 else 0.0
        for u in range(n)
    ]


def average_local_clustering(edges: Iterable[Pair], n: int) -> float:
    """Return the mean of `local_clustering` over all nodes."""
    return sum(local_clustering(edges, n)) / n if n else 0.0


def assortativity(edges: Iterable[Pair], n: int) -> float:
    """Return Pearson's correlation of the degrees of an edge's nodes; nan if all are equal."""
    edges = list(edges)
    degree = degrees(edges, n)
    ends = [(degree[u], degree[v]) for u, v in edges] + [(degree[v], degree[u]) for u, v in edges]
    if not ends:
        return math.nan
    mean = sum(a for a, _ in ends) / len(ends)
    variance = sum((a - mean) ** 2 for a, _ in ends)
    return sum((a - mean) * (b - mean) for a, b in ends) / variance if variance else math.nan


def core_numbers(edges: Iterable[Pair], n: int) -> list[int]:
    """Return the largest c per node for which it survives repeated removal of degrees < c."""
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
    """Return the Kolmogorov-Smirnov distance of two degree sequences."""
    return max(
        abs(sum(d <= x for d in a) / len(a) - sum(d <= x for d in b) / len(b))
        for x in set(a) | set(b)
    )


def modularity(edges: Iterable[Pair], labels: Labels) -> float:
    """Return Newman's modularity: sum of (A_uv - k_u k_v / 2m) / 2m over pairs in a block."""
    edges = list(edges)
    near = neighbours(edges, len(labels))
    twice_m = 2 * len(edges)
    return sum(
        ((v in near[u]) - len(near[u]) * len(near[v]) / twice_m) / twice_m
        for u in range(len(labels))
        for v in range(len(labels))
        if labels[u] == labels[v]
    )


# --- 5.2  Communities ------------------------------------------------------------------------


def set_partitions(n: int) -> Iterable[list[int]]:
    """Yield every way to divide 0..n-1, as labels numbered by first appearance."""
    if n == 0:
        yield []
        return
    for labels in set_partitions(n - 1):
        for label in range(max(labels, default=-1) + 2):
            yield [*labels, label]


def expected_modularity(
    matrix: Sequence[Sequence[int]],
    blocks: Sequence[int],
    degrees: Sequence[int],
    labels: Sequence[int],
) -> float:
    """Return the modularity to expect of communities in a graph with this block matrix, if an edge
    end of a block belongs to one of its people with a probability in proportion to the degree."""
    ends = [sum(row) for row in matrix]
    total = sum(ends)
    of_block = [0] * len(matrix)
    for block, degree in zip(blocks, degrees, strict=True):
        of_block[block] += degree
    share = [d / max(of_block[b], 1) for b, d in zip(blocks, degrees, strict=True)]
    return sum(
        share[u] * share[v] * (matrix[r][s] / total - ends[r] * ends[s] / total**2)
        for u, r in enumerate(blocks)
        for v, s in enumerate(blocks)
        if labels[u] == labels[v]
    )


def modularity_of_blocks(matrix: Sequence[Sequence[int]], labels: Sequence[int]) -> float:
    """Return the modularity of communities of blocks; edges inside a block count twice."""
    ends = [sum(row) for row in matrix]
    total = sum(ends)
    blocks = range(len(matrix))
    return sum(
        matrix[r][s] / total - ends[r] * ends[s] / total**2
        for r in blocks
        for s in blocks
        if labels[r] == labels[s]
    )


def best_modularity(edges: Iterable[Pair], n: int) -> float:
    """Return the largest modularity of all ways to divide the nodes."""
    edges = list(edges)
    return max(modularity(edges, labels) for labels in set_partitions(n))


def normalized_mutual_information(a: Labels, b: Labels) -> float:
    """Return mutual information over the mean of the two entropies; 1 if both entropies are 0."""
    n = len(a)
    pairs = list(zip(a, b, strict=True))

    def share(values: Sequence[object], value: object) -> float:
        return sum(x == value for x in values) / n

    information = sum(
        share(pairs, (x, y)) * math.log(share(pairs, (x, y)) / (share(a, x) * share(b, y)))
        for x, y in set(pairs)
    )
    entropies = [-sum(x_log_x(share(labels, x)) for x in set(labels)) for labels in (a, b)]
    return 2 * information / sum(entropies) if sum(entropies) else 1.0


# --- 5.3  Small patterns, betweenness, robustness --------------------------------------------

PATTERNS = {  # sorted degrees of the connected graphs with three and four nodes
    (1, 1, 2): "open_triples",
    (2, 2, 2): "triangles",
    (1, 1, 2, 2): "four_paths",
    (1, 1, 1, 3): "four_stars",
    (2, 2, 2, 2): "four_cycles",
    (1, 2, 2, 3): "tailed_triangles",
    (2, 2, 3, 3): "diamonds",
    (3, 3, 3, 3): "four_cliques",
}


def graphlets(edges: Iterable[Pair], n: int) -> dict[str, int]:
    """Count the induced patterns of three and four nodes, by looking at every set of nodes."""
    near = neighbours(edges, n)
    found = dict.fromkeys(PATTERNS.values(), 0)
    for size in (3, 4):
        for nodes in itertools.combinations(range(n), size):
            # (1, 1, 1, 1) and other disconnected patterns are in no row of the table
            pattern = tuple(sorted(len(near[v] & set(nodes)) for v in nodes))
            if pattern in PATTERNS:
                found[PATTERNS[pattern]] += 1
    return found


def shortest_paths(near: list[set[int]], source: int, target: int) -> list[list[int]]:
    """List all shortest paths between two nodes, by following every path of the right length."""
    length = distances_from(near, source).get(target)
    paths = [[source]]
    for _ in range(length or 0):
        paths = [[*path, v] for path in paths for v in near[path[-1]] if v not in path]
    return [path for path in paths if path[-1] == target] if length else []


def betweenness(edges: Iterable[Pair], n: int, sources: Iterable[int]) -> list[float]:
    """Return, per node, the shares of the shortest paths from the sources that pass through it."""
    near = neighbours(edges, n)
    through = [0.0] * n
    for source in sources:
        for target in range(n):
            paths = shortest_paths(near, source, target) if target != source else []
            for path in paths:
                for v in path[1:-1]:
                    through[v] += 1 / len(paths)
    return through


def largest_component_without(edges: Iterable[Pair], n: int, removed: Iterable[int]) -> int:
    """Return the size of the largest component once nodes are removed; 0 if none are left."""
    gone = set(removed)
    kept = [(u, v) for u, v in edges if u not in gone and v not in gone]
    return max((len(c) for c in components(kept, n) if not c & gone), default=0)


def expected_outbreak(edges: Iterable[Pair], n: int, probability: float) -> float:
    """Return the expected size of the largest component if every edge is kept with a chance."""
    edges = list(edges)
    total = 0.0
    for kept in itertools.product((False, True), repeat=len(edges)):
        chance = math.prod(probability if keep else 1 - probability for keep in kept)
        chosen = [edge for edge, keep in zip(edges, kept, strict=True) if keep]
        total += chance * max(map(len, components(chosen, n)))
    return total


def cut_points(edges: Iterable[Pair], n: int) -> tuple[int, int]:
    """Count the nodes and the edges whose removal leaves more components than before."""
    edges = list(edges)
    before = len(components(edges, n))
    nodes = 0
    for v in range(n):
        rest = [edge for edge in edges if v not in edge]
        nodes += len(components(rest, n)) - 1 > before  # v itself remains as a component
    bridges = sum(len(components([f for f in edges if f != e], n)) > before for e in edges)
    return nodes, bridges


def gini(values: Sequence[float]) -> float:
    """Return the mean difference of all pairs over twice the mean; 0 if all values are 0."""
    n, total = len(values), sum(values)
    return sum(abs(x - y) for x in values for y in values) / (2 * n * total) if total else 0.0


# =============================================================================================
# 6  Anonymity
# =============================================================================================


# --- 6.1  Class risk (A1) and edge disclosure (A2) -------------------------------------------


def block_risk(labels: Labels) -> tuple[float, float]:
    """Return the mean over people, and the maximum, of 1 / |block|."""
    shares = [1 / sum(other == own for other in labels) for own in labels]
    return sum(shares) / len(shares), max(shares)


def sbm_edge_probabilities(edges: Iterable[Pair], labels: Labels) -> list[float]:
    """Return p_ij = d_ij / D_ij of the cell of every original edge (plain block model)."""
    edges = list(edges)
    k = max(labels) + 1
    d, D = block_edges(edges, labels, k), block_pairs(labels, k)
    return [d[labels[u], labels[v]] / D[labels[u], labels[v]] for u, v in edges]


def dcsbm_class_probabilities(edges: Iterable[Pair], blocks: Labels, classes: Labels) -> np.ndarray:
    """Return p_AB = k_A k_B e_rs / (K_r K_s) for every two classes; 0 if K is 0.

    A class is a (block, degree bin): A is in block r, B in s. k_A is the mean degree of a class,
    K_r the degree sum of a block, e_rs the edges between two blocks, e_rr twice the edges inside.
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
    """Return p_AB of the cell of every original edge (degree-corrected block model)."""
    edges = list(edges)
    p = dcsbm_class_probabilities(edges, blocks, classes)
    return [p[classes[u], classes[v]] for u, v in edges]


def disclosed_share(probabilities: Sequence[float], threshold: float) -> float:
    """Return the share of original edges whose cell has p >= threshold."""
    return sum(p >= threshold for p in probabilities) / len(probabilities)


# --- 6.2  Attacks: vertex refinement (A3) and seeded matching (A4) ---------------------------


def refinement(edges: Iterable[Pair], n: int, depth: int) -> list[object]:
    """Return Hay's vertex refinement: H1 = degree, H_i = sorted H_{i-1} of the neighbours."""
    near = neighbours(edges, n)
    signature: list = [len(near[u]) for u in range(n)]
    for _ in range(depth - 1):
        signature = [tuple(sorted(signature[v] for v in near[u])) for u in range(n)]
    return signature


def candidates(
    original: Iterable[Pair], published: Iterable[Pair], n: int, u: int, depth: int
) -> set[int]:
    """Return the published nodes with the same H_depth as original node u."""
    known = refinement(original, n, depth)[u]
    return {v for v, seen in enumerate(refinement(published, n, depth)) if seen == known}


def match_scores(
    near_left: list[set[int]], near_right: list[set[int]], mapping: dict[int, int], u: int
) -> list[float]:
    """Return Narayanan and Shmatikov's score of every right node as the image of left node u.

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
    """Return (best - second best) / standard deviation of all scores; 0 if all are equal."""
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
    """Return the mapping found by Narayanan and Shmatikov's propagation from seeds.

    Unmatched left nodes are visited in ascending order, round after round, until a round changes
    nothing. A match needs a best score with eccentricity above `theta`, in both directions (from
    left to right and back). A match is never undone. Equal best scores have eccentricity 0, so a
    tie is never broken by node number.
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


# =============================================================================================
# 7  Queries of PGB (Liu et al., arXiv 2408.02928)
# =============================================================================================


def degree_variance(edges: Iterable[Pair], n: int) -> float:
    """Return the sum of squared deviations from the mean degree over n - 1."""
    all_degrees = degrees(edges, n)
    mean = sum(all_degrees) / n
    return sum((d - mean) ** 2 for d in all_degrees) / (n - 1)


def distance_counts(edges: Iterable[Pair], n: int) -> list[int]:
    """Return the number of ordered pairs at distance 0, 1, 2 …; every node is at 0 from itself."""
    near = neighbours(edges, n)
    found = [d for u in range(n) for d in distances_from(near, u).values()]
    return [found.count(d) for d in range(max(found) + 1)]


def kl_divergence(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the divergence of two histograms; 2.2e-16 is added to every share."""
    tiny, total = 2.0**-52, 0.0
    for i in range(max(len(a), len(b))):
        p = a[i] / sum(a) if i < len(a) else 0.0
        q = b[i] / sum(b) if i < len(b) else 0.0
        total += p * math.log((p + tiny) / (q + tiny))
    return total


def randomized_response_probability(
    original: set[Pair], drawn: set[Pair], n: int, epsilon: float
) -> float:
    """Return the probability that randomized response turns one graph into another."""
    probability = 1.0
    for v in range(n):
        for u in range(v):
            same = ((u, v) in original) == ((u, v) in drawn)
            probability *= (math.exp(epsilon) if same else 1.0) / (1 + math.exp(epsilon))
    return probability


# --- 6.3  Attackers who know blocks and exact degrees (A2) -----------------------------------


def maximum_entropy_probabilities(
    edges: Iterable[Pair], blocks: Labels, rounds: int = 4000
) -> np.ndarray:
    """Return the n x n edge probabilities of the most random graph with given degrees and blocks.

    p_uv = z / (1 + z) with z = x_u x_v w_rs, such that everybody's expected degree and the expected
    number of edges of every two blocks are those of the graph. Fixed-point iteration, node by node.
    """
    edges, n = list(edges), len(blocks)
    k = max(blocks) + 1
    degree = np.array(degrees(edges, n), float)
    block = np.asarray(blocks)
    given = block_edges(edges, blocks, k).astype(float)
    given = np.maximum(given, given.T)
    x, w = degree / np.sqrt(max(degree.sum(), 1.0)), np.ones((k, k))
    w[given == 0] = 0.0
    others = 1.0 - np.eye(n)

    def rates() -> np.ndarray:  # p_uv / x_u / x_v / w_rs
        return others / (1.0 + np.outer(x, x) * w[np.ix_(block, block)])

    for _ in range(rounds):
        for u in range(n):
            if degree[u]:
                near = w[block[u], block] * x
                x[u] = degree[u] / (near / (1.0 + x[u] * near) * others[u]).sum()
        total = np.outer(x, x) * rates()
        for r in range(k):
            for s in range(k):
                if given[r, s]:
                    of_cell = total[np.ix_(block == r, block == s)].sum()
                    w[r, s] = given[r, s] / (of_cell / (2.0 if r == s else 1.0))
    z = np.outer(x, x) * w[np.ix_(block, block)] * others
    return z / (1.0 + z)


def expected_edge_numbers(edges: Iterable[Pair], blocks: Labels) -> np.ndarray:
    """Return d_u d_v e_rs / (K_r K_s) for every two nodes."""
    edges, n = list(edges), len(blocks)
    degree = degrees(edges, n)
    return np.array(
        [
            [
                0.0
                if u == v
                else degree[u]
                * degree[v]
                * sum(
                    (blocks[a], blocks[b]) == (blocks[u], blocks[v])
                    for a, b in edges + [(b, a) for a, b in edges]
                )
                / max(sum(degree[a] for a in range(n) if blocks[a] == blocks[u]), 1)
                / max(sum(degree[a] for a in range(n) if blocks[a] == blocks[v]), 1)
                for v in range(n)
            ]
            for u in range(n)
        ]
    )


def edges_named_by_probability(
    probability: np.ndarray, edges: Iterable[Pair], certainty: float
) -> tuple[float, float]:
    """Name pairs by falling probability while their mean is at least `certainty`.

    Returns the named pairs and the edges among them. Of pairs that are equal (to nine digits), as
    many are named as the mean allows, and the edges among them are counted in proportion.
    """
    true = {tuple(sorted(e)) for e in edges}
    n = len(probability)
    groups: dict[float, list[Pair]] = {}
    for u in range(n):
        for v in range(u + 1, n):
            groups.setdefault(round(float(probability[u, v]), 9), []).append((u, v))
    named = hits = spare = 0.0
    for p in sorted(groups, reverse=True):
        pairs = groups[p]
        share = 1.0 if p >= certainty else min(1.0, spare / (certainty - p) / len(pairs))
        named += share * len(pairs)
        hits += share * sum(pair in true for pair in pairs)
        spare += share * len(pairs) * (p - certainty)
        if share < 1.0:
            break
    return named, hits


def most_edges_named(scores: np.ndarray, edges: Iterable[Pair], certainty: float) -> int:
    """Return the edges in the longest list of highest scores of which `certainty` are edges.

    Every score is tried as a threshold; lists of fewer than 10 pairs do not count.
    """
    true = {tuple(sorted(e)) for e in edges}
    n = len(scores)
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    best = 0
    for threshold in {float(scores[u, v]) for u, v in pairs}:
        listed = [(u, v) for u, v in pairs if scores[u, v] >= threshold - 1e-9]
        hits = sum(pair in true for pair in listed)
        if len(listed) >= 10 and hits >= certainty * len(listed):
            best = max(best, hits)
    return best


# --- 6.4  Density of cells, and averages of degrees (A2, hubs) -------------------------------


def cell_densities(edges: Iterable[Pair], classes: Labels) -> dict[Pair, float]:
    """Return the share of connected pairs of every two classes (A <= B) that have an edge."""
    edges = list(edges)
    n = len(classes)
    found = {}
    for A, B in {tuple(sorted((classes[u], classes[v]))) for u, v in edges}:
        wanted = [
            (u, v)
            for u in range(n)
            for v in range(u + 1, n)
            if sorted((classes[u], classes[v])) == [A, B]
        ]
        joined = {tuple(sorted(edge)) for edge in edges}
        found[A, B] = sum(pair in joined for pair in wanted) / len(wanted)
    return found


def degree_groups(
    degrees: Sequence[int], block: Sequence[int], minimum: int, spread: float
) -> list[list[int]]:
    """Cut one class into groups, from the largest degree downwards; `block` has all its degrees."""
    left = sorted(degrees)
    below = [d for d in block if d < left[0]]  # lower classes of the block
    groups: list[list[int]] = []

    def hides(left: list[int], size: int) -> bool:
        group, largest = left[-size:], left[-1]
        lower = left[:-size] or below or group[:1]
        near = [d for d in block if largest <= d * spread and d <= largest * spread]
        others = sum(group) - largest - (size - 1) * max(lower)
        return size >= minimum and (len(near) >= minimum or others >= (spread - 1) * largest)

    while left:
        size = min(minimum, len(left))
        while size < len(left) and not hides(left, size):
            size = min(2 * size, len(left))
        hidden = hides(left, size)
        if len(left) - size < minimum:
            size = len(left)
        group, left = left[-size:], left[:-size]
        if hidden or not groups:
            groups.append(group)
        else:
            groups[-1] = group + groups[-1]
    return groups[::-1]


# =============================================================================================
# 8  Private sketch
# =============================================================================================


# --- 8.1  Exact noise, from random words of 63 bits ------------------------------------------


def uniform_from_words(words: Iterator[int], size: int) -> int:
    """Return an integer that is uniform on 0..size - 1; words of an incomplete round are skipped.

    A range of one value needs no word.
    """
    if size == 1:
        return 0
    complete = 2**63 // size * size
    while True:
        word = next(words)
        if word < complete:
            return word % size


def bernoulli_exp(words: Iterator[int], x: Fraction) -> bool:
    """Return True with probability exp(-x), 0 <= x <= 1 (Canonne, Kamath & Steinke, Algorithm 1).

    Bernoulli(x / k) is tossed for k = 1, 2, … until it fails; exp(-x) is the probability that the
    first failure has an odd k. Bernoulli(x / k) is tossed as Bernoulli(x) and Bernoulli(1 / k).
    """
    k = 1
    while (
        uniform_from_words(words, x.denominator) < x.numerator and uniform_from_words(words, k) == 0
    ):
        k += 1
    return k % 2 == 1


def noise_from_words(words: Iterator[int], scale: Fraction, signed: bool) -> int:
    """Return z with P(z) ~ exp(-|z| / scale) (Canonne, Kamath & Steinke, Algorithm 2)."""
    t, s = scale.numerator, scale.denominator
    while True:
        u = uniform_from_words(words, t)
        # not reduced to lowest terms: the number of words would differ, not the law
        k = 1
        while uniform_from_words(words, t) < u and uniform_from_words(words, k) == 0:
            k += 1
        if k % 2 == 0:
            continue
        v = 0
        while bernoulli_exp(words, Fraction(1)):
            v += 1
        size = (u + t * v) // s
        negative = signed and uniform_from_words(words, 2) == 1
        if negative and size == 0:
            continue
        return -size if negative else size


def discrete_laplace_probability(z: int, scale: float) -> float:
    """Return P(z) = (1 - q) / (1 + q) q^|z|, q = exp(-1 / scale)."""
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** abs(z)


def geometric_probability(z: int, scale: float) -> float:
    """Return P(z) = (1 - q) q^z, q = exp(-1 / scale), for z >= 0."""
    q = math.exp(-1 / scale)
    return (1 - q) * q**z if z >= 0 else 0.0


# --- 8.2  Ladder -----------------------------------------------------------------------------


def ladder_rung(x: int, value: int, width: int, step: int) -> int:
    """Return the rung of x: the first t with |x - value| <= I(0) + … + I(t-1)."""
    t, reach = 0, 0
    while abs(x - value) > reach:
        reach += width + t * step
        t += 1
    return t


def ladder_log_probability(
    x: int, value: int, width: int, step: int, epsilon: float, half: float = 0.5
) -> float:
    """Return log P(x) of the ladder; `half` = 1 is the mutant without its half."""
    q = math.exp(-half * epsilon)
    total = 1 + 2 * q * (width / (1 - q) + step * q / (1 - q) ** 2)
    return -half * epsilon * ladder_rung(x, value, width, step) - math.log(total)


def largest_common_weight(edges: Iterable[Pair], n: int, weight: Sequence[int]) -> int:
    """Return the largest sum of weights over the common neighbours of two nodes, 0 if none."""
    near = neighbours(edges, n)
    return max(
        (sum(weight[z] for z in near[u] & near[w]) for w in range(n) for u in range(w)), default=0
    )


def damped_weight(degree: int, damping: int, unit: int) -> int:
    """Return floor(unit / C(max(degree, damping), 2))."""
    return unit // math.comb(max(degree, damping), 2)


# --- 8.3  Stream -----------------------------------------------------------------------------


def place_in_stream(
    edges: Iterable[Pair],
    order: Sequence[int],
    noise: Sequence[Sequence[int]],
    expected: Sequence[float],
) -> list[int]:
    """Return the block of each node: most noisy earlier neighbours over expectation."""
    n, n_blocks = len(order), len(noise[0])
    near = neighbours(edges, n)
    labels = [-1] * n
    sums = [0.0] * n_blocks
    for v, row in zip(order, noise, strict=True):
        scores = []
        for c in range(n_blocks):
            count = sum(labels[u] == c for u in near[v])
            public = round(expected[v] * sums[c] / sum(expected) * 2**16)
            scores.append((count + row[c]) * 2**16 - public)
        labels[v] = scores.index(max(scores))
        sums[labels[v]] += expected[v]
    return labels


def choice_probabilities(
    counts: Sequence[int], public: Sequence[int], rate: float, longest: int
) -> list[float]:
    """Return how likely each block is chosen: the largest (count + noise) 2^16 - public.

    The first of equals is chosen. The noise is geometric, P(z) ~ exp(-rate z), and is cut at
    `longest`. Block c wins if every other block stays below it.
    """
    chosen = []
    for c in range(len(counts)):
        total = 0.0
        for z in range(longest):
            score = (counts[c] + z) * 2**16 - public[c]
            wins = geometric_probability(z, 1 / rate)
            for i in range(len(counts)):
                if i != c:
                    # the largest noise with which block i loses against c
                    room = score + public[i] - (1 if i < c else 0)
                    most = room // 2**16 - counts[i]
                    wins *= 1 - math.exp(-rate * (most + 1)) if most >= 0 else 0.0
            total += wins
        chosen.append(total)
    return chosen


# =============================================================================================
# 9  Draws from a private sketch
# =============================================================================================


def falling_fit(values: Sequence[float]) -> list[float]:
    """Least-squares falling sequence: the smallest, over starts, of the largest mean of a run."""
    n = len(values)

    def mean(first: int, last: int) -> float:
        return sum(values[first : last + 1]) / (last + 1 - first)

    return [min(max(mean(a, b) for b in range(i, n)) for a in range(i + 1)) for i in range(n)]


def smoothed_tail(noisy: Sequence[float], n_nodes: int, rate: float) -> list[float]:
    """Three rounds of a smoothing spline with weights by count, as one dense linear system."""

    def on_lines(values: list[float]) -> list[float]:
        plateaus = [(v, [i for i, w in enumerate(values) if w == v]) for v in dict.fromkeys(values)]
        middles = [(places[0] + places[-1]) / 2 for _, places in plateaus]
        heights = [v for v, _ in plateaus]
        return [float(np.interp(i, middles, heights)) for i in range(len(values))]

    given = [float(v) for v in noisy]
    n = len(given)
    fitted = on_lines([min(max(v, 0.0), float(n_nodes)) for v in falling_fit(given)])
    if n < 3:
        return fitted
    precision = rate**2 / 2
    for _ in range(3):
        count = [fitted[i] - (fitted[i + 1] if i + 1 < n else 0.0) for i in range(n)]
        variance = []
        for d in range(1, n + 1):
            near = [count[k - 1] for k in range(1, n + 1) if abs(k - d) <= int(0.1 * d)]
            local = max(sum(near) / len(near), 0.0)
            variance.append(0.5 * local + ((0.15 + 1 / d) * local) ** 2 + 1e-3)
        matrix, right = np.eye(n) * precision, np.array(given) * precision
        for i in range(n - 2):
            bend = np.zeros(n)
            bend[i : i + 3] = 1.0, -2.0, 1.0
            matrix += np.outer(bend, bend) / max(variance[i], variance[i + 1])
        solved = np.linalg.solve(matrix, right).tolist()
        fitted = [min(max(v, 0.0), float(n_nodes)) for v in falling_fit(solved)]
    return on_lines(fitted)


def degree_posterior(noisy: int, counts: Sequence[float], rate: float) -> list[float]:
    """P(degree = d | noisy degree), for d = 0, 1, …"""
    weights = [c * math.exp(-rate * abs(noisy - d)) for d, c in enumerate(counts)]
    return [w / sum(weights) for w in weights]


def noise_at_least(z: int, rate: float) -> float:
    """P(noise >= z) of the discrete Laplace distribution, by adding up."""
    far = 2000
    law = {k: math.exp(-rate * abs(k)) for k in range(-far, far + 1)}
    return sum(p for k, p in law.items() if k >= z) / sum(law.values())


def richardson_lucy(
    blurred: Sequence[Sequence[float]],
    blur: Sequence[Sequence[float]],
    ends: Sequence[float],
    rounds: int,
) -> list[list[float]]:
    """Deconvolution of a symmetric matrix of ends, cell by cell."""
    n, k, total = len(ends), len(blurred), sum(ends)
    j = [[ends[a] * ends[b] / total for b in range(n)] for a in range(n)]
    for _ in range(rounds):
        seen = [
            [
                sum(blur[a][c] * j[a][b] * blur[b][d] for a in range(n) for b in range(n))
                for d in range(k)
            ]
            for c in range(k)
        ]
        factor = [
            [
                sum(
                    blur[a][c] * blurred[c][d] / seen[c][d] * blur[b][d]
                    for c in range(k)
                    for d in range(k)
                )
                for b in range(n)
            ]
            for a in range(n)
        ]
        j = [[j[a][b] * factor[a][b] for b in range(n)] for a in range(n)]
        j = [[(j[a][b] + j[b][a]) / 2 for b in range(n)] for a in range(n)]
        scale = [math.sqrt(ends[a] / sum(j[a])) for a in range(n)]
        j = [[scale[a] * j[a][b] * scale[b] for b in range(n)] for a in range(n)]
    return j


def box_least_squares(
    system: np.ndarray, goal: np.ndarray, highest: float, rounds: int = 4000
) -> np.ndarray:
    """Least squares with 0 <= x <= highest, one coordinate at a time."""
    x = np.zeros(system.shape[1])
    for _ in range(rounds):
        for i in range(len(x)):
            column = system[:, i]
            rest = goal - system @ x + column * x[i]
            x[i] = min(max(float(column @ rest / (column @ column)), 0.0), highest)
    return x


def shifted_to_sum(values: Sequence[float]) -> list[float]:
    """max(v - c, 0) with the constant c that keeps the sum, by bisection; all 0 if it is <= 0."""
    total = sum(values)
    if total <= 0:
        return [0.0] * len(values)
    low, high = 0.0, max(values)
    for _ in range(200):
        middle = (low + high) / 2
        if sum(max(v - middle, 0.0) for v in values) > total:
            low = middle
        else:
            high = middle
    return [max(v - low, 0.0) for v in values]


def join_open_ends(
    edges: list[tuple[int, int]],
    ends: Sequence[int],
    pick: Callable[[int], int],
    coin: Callable[[], float],
    tries: int,
) -> list[tuple[int, int]]:
    """Join ends pair by pair: an edge (a, b) becomes (u, a), (v, b)."""
    made = list(edges)
    for u, v in zip(ends[::2], ends[1::2], strict=False):
        if not made:
            if u != v:
                made.append((u, v))
            continue
        present = {frozenset(edge) for edge in made}
        for _ in range(tries):
            at = pick(len(made))
            turned = coin() < 0.5
            a, b = made[at][::-1] if turned else made[at]
            if {a, b} & {u, v} or {frozenset((u, a)), frozenset((v, b))} & present:
                continue
            made[at] = (u, a)
            made.append((v, b))
            break
    return made


# 10  Directions, weights, sides and attributes -------------------------------------------------


def butterflies(edges: Sequence[tuple[int, int]], first_side: set[int]) -> int:
    """Cycles of four nodes, two of each side: pairs of the first side times pairs of neighbours."""
    neighbours: dict[int, set[int]] = {u: set() for u in first_side}
    for u, v in edges:
        a, b = (u, v) if u in first_side else (v, u)
        neighbours[a].add(b)
    return sum(
        math.comb(len(neighbours[u] & neighbours[v]), 2)
        for u, v in itertools.combinations(sorted(first_side), 2)
    )


def mixing(edges: Sequence[tuple[int, int]], codes: Sequence[int], n_codes: int) -> list[list[int]]:
    """Edge ends per pair of codes."""
    counts = [[0] * n_codes for _ in range(n_codes)]
    for u, v in edges:
        counts[codes[u]][codes[v]] += 1
        counts[codes[v]][codes[u]] += 1
    return counts


def diversity(values: Sequence[int], label: Sequence[int]) -> int:
    """l: the number of different values in the class with the fewest."""
    return min(len({v for v, r in zip(values, label, strict=True) if r == c}) for c in set(label))


def closeness(values: Sequence[int], label: Sequence[int], n_codes: int, ordered: bool) -> float:
    """t: the largest distance of a class from everybody.

    Categories: the share of people whose value must change. Ordered values: the least total
    distance by which values must be moved, where the whole scale has length 1.
    """
    everybody = [sum(v == c for v in values) / len(values) for c in range(n_codes)]
    worst = 0.0
    for r in set(label):
        own = [v for v, c in zip(values, label, strict=True) if c == r]
        share = [sum(v == c for v in own) / len(own) for c in range(n_codes)]
        if ordered:
            carried, moved = 0.0, 0.0
            for c in range(n_codes - 1):
                carried += share[c] - everybody[c]
                moved += abs(carried)
            distance = moved / (n_codes - 1) if n_codes > 1 else 0.0
        else:
            distance = sum(max(s - e, 0.0) for s, e in zip(share, everybody, strict=True))
        worst = max(worst, distance)
    return worst


def directed_clustering(edges: Sequence[tuple[int, int]], n: int) -> dict[str, float]:
    """Mean local clustering by triangle type (Fagiolo 2007), by enumeration of all triples."""
    has = set(edges)
    sums = dict.fromkeys(("cycles", "middlemen", "two in", "two out"), 0.0)
    for i in range(n):
        out = sum((i, j) in has for j in range(n))
        into = sum((j, i) in has for j in range(n))
        both = sum((i, j) in has and (j, i) in has for j in range(n))
        found = dict.fromkeys(sums, 0)
        for j, k in itertools.permutations([v for v in range(n) if v != i], 2):
            found["cycles"] += (i, j) in has and (j, k) in has and (k, i) in has
            found["middlemen"] += (i, j) in has and (k, j) in has and (k, i) in has
            found["two in"] += (j, i) in has and (j, k) in has and (k, i) in has
            found["two out"] += (i, j) in has and (j, k) in has and (i, k) in has
        possible = {
            "cycles": out * into - both,
            "middlemen": out * into - both,
            "two in": into * (into - 1),
            "two out": out * (out - 1),
        }
        for kind, count in found.items():
            sums[kind] += count / possible[kind] if possible[kind] else 0.0
    return {kind: total / n for kind, total in sums.items()}


# --- drawing -------------------------------------------------------------------------------------


def layout_forces(
    edges: Iterable[Pair], place: np.ndarray, scaling: float, gravity: float
) -> np.ndarray:
    """Forces of ForceAtlas2: edges attract by d, pairs repel by mass * mass / d, gravity."""
    n = len(place)
    mass = np.ones(n)
    force = np.zeros((n, 2))
    for u, v in edges:
        mass[u] += 1
        mass[v] += 1
        force[u] += place[v] - place[u]
        force[v] += place[u] - place[v]
    for u in range(n):
        for v in range(n):
            if u != v:
                between = place[u] - place[v]
                force[u] += scaling * mass[u] * mass[v] * between / (between @ between)
        force[u] -= gravity * mass[u] * place[u] / math.hypot(*place[u])
    return force


# --- link scores ---------------------------------------------------------------------------------


def link_probability(
    edges: Iterable[Pair], labels: Labels, u: int, v: int, *, model: str = "simple"
) -> float:
    """Probability of the pair (u, v) from all other pairs; see models/hard/link_scores.py."""
    n, ordered = len(labels), model == "directed"
    others = [e for e in edges if e != (u, v) and (ordered or e != (v, u))]
    everything = len(others) + (len(list(edges)) != len(others))
    possible = n * (n - 1) / (1 if ordered else 2)
    r, s = labels[u], labels[v]

    def between(a: int, b: int) -> bool:
        cell = (labels[a], labels[b])
        return cell == (r, s) or (not ordered and cell == (s, r))

    count = sum(between(a, b) for a, b in others)
    if model in ("simple", "directed"):
        pairs = sum(
            between(a, b) and {a, b} != {u, v}
            if not ordered
            else between(a, b) and (a, b) != (u, v)
            for a in range(n)
            for b in range(n)
            if (a != b if ordered else a < b)
        )
        return (count + everything / possible) / (pairs + 1)
    degree = [sum((a == w) + (b == w) for a, b in others) for w in range(n)]
    block_degree = [sum(degree[w] for w in range(n) if labels[w] == c) for c in (r, s)]
    ends = 2 * everything
    half_edges = count * (2 if r == s else 1)
    affinity = (half_edges + 0.3) / (block_degree[0] * block_degree[1] / ends + 0.3)
    return 1 - math.exp(-(degree[u] + 0.5) * (degree[v] + 0.5) / ends * affinity)


# --- rankings -------------------------------------------------------------------------------------


def item_regression(X: np.ndarray, penalty: float) -> np.ndarray:
    """Ridge regression of every item on all other items: coefficients, other items x item."""
    m = X.shape[1]
    B = np.zeros((m, m))
    for j in range(m):
        others = [i for i in range(m) if i != j]
        A = X[:, others].T @ X[:, others] + penalty * np.eye(m - 1)
        B[others, j] = np.linalg.solve(A, X[:, others].T @ X[:, j])
    return B


def implicit_row(row: np.ndarray, Y: np.ndarray, penalty: float, absent_weight: float):
    """Weighted ridge regression of one 0/1 row on the factors Y, with every pair written out.

    An observed pair has the target 1 / (1 + a) and the weight 1 + a, which is the loss
    (x y - 1)^2 + a (x y)^2 up to a constant; an absent one has the target 0 and the weight a.
    """
    if not row.any():
        return np.zeros(Y.shape[1])
    own_penalty = penalty * (row.sum() + absent_weight * len(row))
    A, b = own_penalty * np.eye(Y.shape[1]), np.zeros(Y.shape[1])
    for v, seen in enumerate(row):
        weight = absent_weight + (1.0 if seen else 0.0)
        target = 1 / (1 + absent_weight) if seen else 0.0
        A += weight * np.outer(Y[v], Y[v])
        b += weight * target * Y[v]
    return np.linalg.solve(A, b)


def calibration_error(levels: Sequence[int], p: np.ndarray, bins: int) -> float:
    """Mean distance of predicted probabilities from frequencies, both per bin of equal width."""
    members: dict[int, list[tuple[float, bool]]] = {}
    for level, row in zip(levels, p, strict=True):
        for value, probability in enumerate(row):
            bin_ = min(int(probability * bins), bins - 1)
            members.setdefault(bin_, []).append((float(probability), value == level))
    distance = sum(abs(sum(q - hit for q, hit in own)) for own in members.values())
    return distance / p.size


def reciprocal_rank(ranked: list, wanted: set, n: int) -> float:
    """1 / place of the first relevant item among the first n, else 0."""
    for place, item in enumerate(ranked[:n], 1):
        if item in wanted:
            return 1 / place
    return 0.0


def average_precision(ranked: list, wanted: set, n: int) -> float:
    """Mean precision at the places of relevant items, over min(n, number of relevant items)."""
    total, hits = 0.0, 0
    for place, item in enumerate(ranked[:n], 1):
        if item in wanted:
            hits += 1
            total += hits / place
    return total / min(n, len(wanted))


# --- Description length (Peixoto, Physical Review E 95, 012317, 2017) -----------------------------


def log_choose(n: int, k: int) -> float:
    """Return the log of a binomial coefficient."""
    return math.log(math.comb(n, k))


def partitions_into_at_most(n: int, k: int) -> int:
    """Count the partitions of n into at most k parts: a recursion on the largest part."""
    ways = [1] + [0] * n
    for part in range(1, k + 1):  # conjugate: parts of size at most k
        for total in range(part, n + 1):
            ways[total] += ways[total - part]
    return ways[n]


def labels_description(sizes: Sequence[int]) -> float:
    """Return the length of labels: number of groups, their sizes, and who is in which."""
    sizes = [s for s in sizes if s > 0]
    n, k = sum(sizes), len(sizes)
    ways = math.factorial(n)
    for s in sizes:
        ways //= math.factorial(s)
    return math.log(n) + log_choose(n - 1, k - 1) + math.log(ways)


def description_length(edges: Sequence[Pair], labels: Labels, model: str) -> float:
    """Return the description length of a simple graph in nats, by the formulas for multigraphs."""
    n, m = len(labels), len(edges)
    blocks = sorted(set(labels))
    B = len(blocks)
    sizes = {r: sum(1 for z in labels if z == r) for r in blocks}
    degree = degrees(edges, n)
    cells: dict[tuple[int, int], int] = {}
    for u, v in edges:
        pair = (min(labels[u], labels[v]), max(labels[u], labels[v]))
        cells[pair] = cells.get(pair, 0) + 1
    ends = {r: sum(d for d, z in zip(degree, labels, strict=True) if z == r) for r in blocks}
    total = labels_description(list(sizes.values()))
    if "communities" not in model:
        total += log_choose(B * (B + 1) // 2 + m - 1, m)
        for (r, s), e in cells.items():
            total -= math.log(math.factorial(e)) + (e * math.log(2) if r == s else 0.0)
    else:
        inner = [e for (r, s), e in cells.items() if r == s]
        inside = sum(inner)
        if model == "uniform-communities":  # one density inside all blocks
            total += inside * math.log(B / 2) - math.log(math.factorial(inside))
        else:  # one per block: how many edges each has, and how they are wired
            total += log_choose(B + inside - 1, inside)
            total -= sum(math.log(math.factorial(e)) + e * math.log(2) for e in inner)
        total -= math.log(math.factorial(m - inside))
        if B > 1:
            total += (m - inside) * math.log(B * (B - 1) / 2) + math.log(m + 1)
    if model == "simple":
        return total + sum(ends[r] * math.log(sizes[r]) for r in blocks)
    for r in blocks:
        total += math.log(math.factorial(ends[r])) + degrees_description(
            [d for d, z in zip(degree, labels, strict=True) if z == r]
        )
    return total - sum(math.log(math.factorial(d)) for d in degree)


def degrees_description(block: Sequence[int]) -> float:
    """Return the length of the degrees of a block: how often each occurs, and who has which."""
    total = math.log(partitions_into_at_most(sum(block), len(block)))
    total += math.log(math.factorial(len(block)))
    return total - sum(math.log(math.factorial(block.count(d))) for d in set(block))


def directed_description_length(
    edges: Sequence[Pair], labels: Labels, degree_corrected: bool = False
) -> float:
    """Return the description length of a directed graph, by the formulas for multigraphs."""
    n, m = len(labels), len(edges)
    blocks = sorted(set(labels))
    out = [sum(1 for u, _ in edges if u == v) for v in range(n)]
    into = [sum(1 for _, u in edges if u == v) for v in range(n)]
    total = labels_description([list(labels).count(r) for r in blocks])
    total += log_choose(len(blocks) ** 2 + m - 1, m)
    for r in blocks:
        for s in blocks:
            e = sum(1 for u, v in edges if (labels[u], labels[v]) == (r, s))
            total -= math.log(math.factorial(e))
    for r in blocks:
        members = [v for v in range(n) if labels[v] == r]
        for degree in (out, into):
            ends = sum(degree[v] for v in members)
            if not degree_corrected:
                total += ends * math.log(len(members))
                continue
            total += math.log(math.factorial(ends))
            total += math.log(partitions_into_at_most(ends, len(members)))
        if degree_corrected:
            pairs = [(out[v], into[v]) for v in members]
            total += math.log(math.factorial(len(members)))
            total -= sum(math.log(math.factorial(pairs.count(p))) for p in set(pairs))
            total -= sum(
                math.log(math.factorial(out[v]) * math.factorial(into[v])) for v in members
            )
    return total


def weights_description(cells: Iterable[Sequence[float]], model: str, weights: Sequence[float]):
    """Return minus the log density of the weights of each cell, the parameters integrated over
    their priors, one weight after the other: the density of each given those before it.

    Normal: mean 0.05 times, variance 2 times known from weights like all `weights` together;
    exponential: the rate known from one weight, their mean."""
    if model == "lognormal":
        logs = [[math.log(x) for x in cell] for cell in cells]
        total = weights_description(logs, "normal", [math.log(x) for x in weights])
        return total + sum(x for cell in logs for x in cell)
    mean = sum(weights) / len(weights)
    variance = sum((x - mean) ** 2 for x in weights) / len(weights)
    total = 0.0
    for cell in cells:
        if model == "exponential":
            a, b = 1.0, mean
            for x in cell:  # Lomax distribution
                total -= math.log(a) + a * math.log(b) - (a + 1) * math.log(b + x)
                a, b = a + 1, b + x
            continue
        k, v, m, s = 0.05, 2.0, mean, 2.0 * variance  # s: v times the variance
        for x in cell:  # Student's t distribution
            scale = s / v * (k + 1) / k
            t = (x - m) ** 2 / scale
            total -= math.lgamma((v + 1) / 2) - math.lgamma(v / 2) - 0.5 * math.log(v * math.pi)
            total += 0.5 * math.log(scale) + (v + 1) / 2 * math.log1p(t / v)
            s += k / (k + 1) * (x - m) ** 2
            m = (k * m + x) / (k + 1)
            k, v = k + 1, v + 1
    return total


def weighted_description_length(
    edges: Sequence[tuple[int, int, float]], labels: Labels, model: str, topology: str = "simple"
) -> float:
    """Return the description length of a graph with real-valued weights on its edges."""
    pairs = [(u, v) for u, v, _ in edges]
    cells: dict[Pair, list[float]] = {}
    for u, v, x in edges:
        ends = (labels[u], labels[v])
        if topology != "directed":
            ends = (min(ends), max(ends))
        cells.setdefault(ends, []).append(x)
    if topology == "directed":
        total = directed_description_length(pairs, labels)
    else:
        total = description_length(pairs, labels, topology)
    if not edges:
        return total
    return total + weights_description(cells.values(), model, [x for _, _, x in edges])


def nested_description_length(edges: Sequence[Pair], levels: Sequence[Labels]) -> float:
    """Return the description length of a hierarchy: levels[0] are labels of nodes, levels[l] those
    of the groups of level l - 1. Degree-corrected below, dense multigraphs above."""
    m, B = len(edges), len(set(levels[0]))
    total = description_length(edges, levels[0], "degree-corrected")
    total -= log_choose(B * (B + 1) // 2 + m - 1, m)
    ends = [(levels[0][u], levels[0][v]) for u, v in edges]
    for labels in levels[1:]:
        groups = sorted(set(labels))
        sizes = {r: list(labels).count(r) for r in groups}
        total += labels_description(list(sizes.values()))
        ends = [(labels[u], labels[v]) for u, v in ends]
        for r in groups:
            for s in groups:
                if s < r:
                    continue
                e = sum(1 for u, v in ends if (min(u, v), max(u, v)) == (r, s))
                places = sizes[r] * (sizes[r] + 1) // 2 if r == s else sizes[r] * sizes[s]
                total += log_choose(places + e - 1, e)
    top = len(set(levels[-1]))
    return total + log_choose(top * (top + 1) // 2 + m - 1, m)


def expected_largest_degrees(
    tail: list[float], counts: list[int], rate: float, largest: list[int], largest_rate: float
) -> list[float]:
    """Return the posterior mean of the largest degrees, one value of the parameters at a time."""
    n = round(tail[0])
    count = min(max(round(1.5 * math.sqrt(2) / rate), 4), len(largest), max(n // 4, 1))
    reached = [d for d, nodes in enumerate(tail) if nodes >= count + 0.5]
    threshold = max(reached, default=0)
    above = max(tail[threshold], 1.0)
    top = max(n - 1.0 - threshold, 1.0)
    options = []
    for shape in (-0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5):
        for step in range(30):
            scale = 0.5 * (top / 0.5) ** (step / 29)
            degrees = []
            for i in range(count):
                times = above / (i + 0.5)
                excess = math.log(times) if shape == 0 else (times**shape - 1) / shape
                degrees.append(min(max(threshold + scale * excess, 0.0), n - 1.0))
            log = 0.0
            for d in range(threshold + 1, len(counts) + 1):
                excess = (d - threshold) / scale
                if shape == 0:
                    chance = math.exp(-excess)
                else:
                    base = 1 + shape * excess
                    chance = base ** (-1 / shape) if base > 0 else 0.0
                log -= rate * abs(counts[d - 1] - above * chance)
            for i in range(count):
                log -= largest_rate * abs(largest[i] - degrees[i])
            options.append((log, degrees))
    best = max(log for log, _ in options)
    total = sum(math.exp(log - best) for log, _ in options)
    mean = [
        sum(math.exp(log - best) * degrees[i] for log, degrees in options) / total
        for i in range(count)
    ]
    first = min(max(round(0.75 / rate), 1), count)
    clipped = [float(min(max(x, 0), n - 1)) for x in largest]
    steps = falling_fit(clipped)
    middles: dict[float, list[int]] = {}
    for i, value in enumerate(steps):
        middles.setdefault(round(value, 9), []).append(i)
    knots = sorted((sum(places) / len(places), value) for value, places in middles.items())

    def between(i: int) -> float:
        if i <= knots[0][0]:
            return knots[0][1]
        for (x, a), (y, b) in itertools.pairwise(knots):
            if x <= i <= y:
                return a + (b - a) * (i - x) / (y - x)
        return knots[-1][1]

    squares = sum((largest[i] - mean[i]) ** 2 for i in range(first))
    weight = max(1 - 2 * first * 2 / largest_rate**2 / max(squares, 1e-300), 0.0)
    for i in range(first):
        mean[i] += weight * (between(i) - mean[i])
    falling = []
    for value in mean:
        falling.append(min(value, falling[-1]) if falling else value)
    return falling


def held_back_ridge_errors(X, Y, counts, fold, power, penalty):
    """Return the squared error of each node, predicted by a weighted ridge regression of others.

    The constant is not penalized; an infinite penalty leaves the constant only.
    """
    errors = np.zeros(len(X))
    for v in range(len(X)):
        rest = np.flatnonzero(fold != fold[v])
        w = np.array([counts[u] ** power for u in rest]) / np.mean(counts**power)
        # The penalty belongs to weights of mean 1 over all nodes.
        columns = np.column_stack([np.ones(len(rest)), X[rest]])
        root = np.sqrt(w)[:, None]
        if np.isinf(penalty):
            guess = w @ Y[rest] / w.sum()
        else:
            ridge = np.diag([0.0] + [np.sqrt(penalty)] * X.shape[1])
            A = np.vstack([columns * root, ridge])
            b = np.vstack([Y[rest] * root, np.zeros((X.shape[1] + 1, Y.shape[1]))])
            links = np.linalg.lstsq(A, b, rcond=None)[0]
            guess = np.concatenate([[1.0], X[v]]) @ links
        errors[v] = ((Y[v] - guess) ** 2).sum()
    return errors


def hits_of_swapped_members(
    guess: Sequence[int], identity: Sequence[int], label: Sequence[int], known: Sequence[int]
) -> list[int]:
    """Return the right guesses (-1: none) for every way in which members of classes swap places."""
    swapped = [[]]
    for c in sorted(set(label)):
        members = [v for v in range(len(label)) if label[v] == c and v not in known]
        nodes = [identity[v] for v in members]
        orders = [list(zip(members, order, strict=True)) for order in itertools.permutations(nodes)]
        swapped = [pairs + more for pairs in swapped for more in orders]
    return [sum(guess[v] == node for v, node in pairs) for pairs in swapped]


def excess_of_single_edges(
    chosen: Sequence[Pair], edges: Sequence[Pair], named: Callable[[list[Pair], Pair], float]
) -> float:
    """Return how many more of some edges are named with the edge in the data than without it."""
    differences = []
    for edge in chosen:
        others = [other for other in edges if other != edge]
        differences.append(named(list(edges), edge) - named(others, edge))
    return sum(differences) / len(differences)


def attribute_guesses(
    edges: Sequence[Pair],
    block: Sequence[int],
    label: Sequence[int],
    codes: Sequence[int],
    published: Sequence[int],
) -> tuple[float, float]:
    """Return the shares of values guessed right from the class: own class, and person left out."""
    n = len(codes)
    contacts = [[v for e in edges for v in e if w in e and v != w] for w in range(n)]
    degree = [math.log1p(len(near)) for near in contacts]
    members = {c: [v for v in range(n) if label[v] == c] for c in set(label)}
    mean = {c: sum(degree[v] for v in who) / len(who) for c, who in members.items()}

    def most(values: list[int]) -> int:
        return min(set(values) or {0}, key=lambda value: (-values.count(value), value))

    right = control = 0
    for p in range(n):
        right += most([published[v] for v in members[label[p]]]) == codes[p]
        near = [block[v] for v in contacts[p]]
        there = most(near)
        possible = sorted(c for c, who in members.items() if block[who[0]] == there)
        guessed = min(possible, key=lambda c: (abs(mean[c] - degree[p]), c))
        values = [published[v] for v in members[guessed]]
        if guessed == label[p] and codes[p] in values:
            values.remove(codes[p])
        control += most(values) == codes[p]
    return right / n, max(control, max(map(codes.count, codes))) / n

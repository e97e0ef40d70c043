"""Random graphs and ratings with known groups, in O(edges), and two invented data sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.base.errors import InputError
from coterie.base.randomness import RandomState, as_generator
from coterie.data.demo_data import COMMUNITIES as COMMUNITIES
from coterie.data.demo_data import movie_ratings as movie_ratings
from coterie.data.demo_data import social_network as social_network
from coterie.data.graph import Graph
from coterie.data.layers import LayeredGraph
from coterie.data.ratings import Ratings


def planted_partition(
    n_nodes: int,
    n_blocks: int,
    *,
    mean_degree: float = 20.0,
    mixing: float = 0.1,
    p_in: float | None = None,
    p_out: float | None = None,
    shuffle: bool = True,
    directed: bool = False,
    rng: RandomState = 0,
) -> tuple[Graph, np.ndarray]:
    """Draw a graph with equal blocks, denser inside than between; return it and its labels.

    Give `p_in` and `p_out`, or the mean degree and the share of it (`mixing`) that leaves a node's
    block.

    >>> graph, labels = planted_partition(1000, 4, mean_degree=10, rng=0)
    >>> source, target = graph.edges()
    >>> bool(np.mean(labels[source] == labels[target]) > 0.85)
    True
    """
    _check_count(n_nodes, n_blocks)
    sizes = np.full(n_blocks, n_nodes // n_blocks) + (np.arange(n_blocks) < n_nodes % n_blocks)
    if p_in is None or p_out is None:
        if p_in is not None or p_out is not None:
            raise InputError("one of p_in and p_out is missing", remedy="give both or neither")
        size = n_nodes / n_blocks
        p_in = mean_degree * (1 - mixing) / max(size - 1, 1)
        p_out = mean_degree * mixing / max(n_nodes - size, 1)
    P = np.full((n_blocks, n_blocks), float(p_out))
    np.fill_diagonal(P, p_in)
    return stochastic_block_model(sizes, P, shuffle=shuffle, directed=directed, rng=rng)


def stochastic_block_model(
    sizes: Sequence[int] | np.ndarray,
    probabilities: Sequence[Sequence[float]] | np.ndarray,
    *,
    shuffle: bool = True,
    directed: bool = False,
    rng: RandomState = 0,
) -> tuple[Graph, np.ndarray]:
    """Draw a graph from a stochastic block model; return it and its labels.

    Every pair of nodes is an edge with the probability of its two blocks. `shuffle` permutes the
    nodes; otherwise the nodes of a block have consecutive numbers.

    >>> graph, labels = stochastic_block_model([3, 2], [[1, 0], [0, 1]], shuffle=False)
    >>> [end.tolist() for end in graph.edges()], labels.tolist()
    ([[0, 0, 1, 3], [1, 2, 2, 4]], [0, 0, 0, 1, 1])
    """
    from coterie.kernels.graphs.planted import draw_cells

    random = as_generator(rng)
    n_r, P = np.asarray(sizes, np.int64), np.asarray(probabilities, np.float64)
    _check_blocks(n_r, P, directed)
    starts = np.concatenate([[0], np.cumsum(n_r)])
    expected = float(n_r @ P @ n_r) / (1 if directed else 2)
    capacity = int(expected + 6 * np.sqrt(expected) + 64)
    key = random.integers(0, 2**64, dtype=np.uint64)
    while True:
        source, target = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
        drawn = draw_cells(starts, P, directed, key, source, target)
        if drawn <= capacity:
            break
        capacity = drawn
    labels = np.repeat(np.arange(len(n_r), dtype=np.int32), n_r)
    return _as_graph(source[:drawn], target[:drawn], labels, directed, shuffle, random)


def degree_corrected_sbm(
    n_nodes: int,
    n_blocks: int,
    *,
    mean_degree: float = 20.0,
    mixing: float = 0.1,
    exponent: float = 2.5,
    max_degree: float | None = None,
    shuffle: bool = True,
    rng: RandomState = 0,
) -> tuple[Graph, np.ndarray]:
    """Draw a graph with equal blocks and power-law degrees; return it and its labels.

    The expected degree of a node has a density d^-exponent up to `max_degree` (default: the square
    root of the degree sum, above which many edges would be repeated). An edge joins two nodes drawn
    in proportion to their degrees: of one block with probability 1 - mixing, else of any block.
    Self-loops and repeated edges are dropped, so the mean degree is slightly lower than requested.

    >>> graph, labels = degree_corrected_sbm(2000, 5, mean_degree=8, rng=1)
    >>> bool(graph.degrees.max() > 5 * graph.degrees.mean())
    True
    """
    _check_count(n_nodes, n_blocks)
    random = as_generator(rng)
    labels = (np.arange(n_nodes) * n_blocks // max(n_nodes, 1)).astype(np.int32)
    degrees = _power_law(n_nodes, mean_degree, exponent, max_degree, random)
    ends = np.repeat(np.arange(n_nodes, dtype=np.int32), degrees)
    first_end = np.concatenate([[0], np.cumsum(np.bincount(labels, degrees, n_blocks))])
    m = int(random.poisson(len(ends) / 2)) if len(ends) else 0
    source = ends[random.integers(0, max(len(ends), 1), m)]
    inside = random.random(m) >= mixing
    low = np.where(inside, first_end[labels[source]], 0).astype(np.int64)
    high = np.where(inside, first_end[labels[source] + 1], len(ends)).astype(np.int64)
    target = ends[random.integers(low, high)] if m else source
    return _as_graph(source, target, labels, False, shuffle, random)


class RatingTruth(NamedTuple):
    """The model that `mmsbm_ratings` drew from."""

    user_memberships: np.ndarray  # users x k
    item_memberships: np.ndarray  # items x l
    theta: np.ndarray  # k x l x values


def layered_blocks(
    n_nodes: int,
    n_layers: int,
    n_shared: int,
    *,
    n_blocks: int = 4,
    mean_degree: float = 10.0,
    mixing: float = 0.1,
    rng: RandomState = 0,
) -> LayeredGraph:
    """Draw layers with planted blocks, which the first `n_shared` of them share.

    >>> layered_blocks(100, 3, 2, rng=0)
    LayeredGraph(3 layers, 100 nodes, 1531 edges)
    """
    random = as_generator(rng)
    graphs: list[Graph] = []
    place = np.arange(n_nodes)
    for layer in range(n_layers):
        graph, _ = planted_partition(
            n_nodes, n_blocks, mean_degree=mean_degree, mixing=mixing, shuffle=False, rng=random
        )
        if layer == 0 or layer >= n_shared:
            place = random.permutation(n_nodes)
        source, target = graph.edges()
        graphs.append(Graph.from_edges(place[source], place[target], n_nodes=n_nodes))
    return LayeredGraph(tuple(f"layer {k + 1}" for k in range(n_layers)), tuple(graphs))


def mmsbm_ratings(
    n_users: int,
    n_items: int,
    n_ratings: int,
    n_groups: tuple[int, int] = (5, 5),
    *,
    values: Sequence[float] = (1, 2, 3, 4, 5),
    concentration: float = 0.2,
    sharpness: float = 0.3,
    skew: float = 0.8,
    rng: RandomState = 0,
) -> tuple[Ratings, RatingTruth]:
    """Draw ratings of distinct pairs from a mixed-membership model; return them and the model.

    With a small `concentration`, memberships are close to a single group. With a small `sharpness`,
    each pair of groups nearly always gives the same rating. `skew` is the standard deviation of the
    logarithm of the users' activity and the items' popularity.

    >>> ratings, truth = mmsbm_ratings(50, 40, 600, (2, 3), rng=0)
    >>> ratings
    Ratings(50 users, 40 items, 600 ratings, values 1..5)
    >>> truth.theta.shape
    (2, 3, 5)
    """
    if n_ratings > 0.5 * n_users * n_items:
        raise InputError(
            f"{n_ratings} ratings are more than half of {n_users} x {n_items} pairs",
            remedy="draw fewer ratings or use more users",
        )
    random = as_generator(rng)
    k, l = n_groups  # noqa: E741
    grid = np.unique(np.asarray(values, np.float64))
    truth = RatingTruth(
        random.dirichlet(np.full(k, concentration), n_users),
        random.dirichlet(np.full(l, concentration), n_items),
        random.dirichlet(np.full(len(grid), sharpness), (k, l)),
    )
    users, items = _distinct_pairs(n_users, n_items, n_ratings, skew, random)
    i = _draw_rows(truth.user_memberships, users, random)
    j = _draw_rows(truth.item_memberships, items, random)
    codes = _draw_rows(truth.theta.reshape(k * l, -1), i * l + j, random)
    return Ratings(
        users,
        items,
        codes.astype(np.int32),
        grid,
        np.arange(n_users),
        np.arange(n_items),
    ), truth


def _check_count(n_nodes: int, n_blocks: int) -> None:
    """Raise InputError for negative numbers of nodes and fewer than one block."""
    if n_nodes < 0 or n_blocks < 1:
        raise InputError(
            f"cannot draw {n_nodes} nodes in {n_blocks} blocks",
            remedy="use at least 0 nodes and 1 block",
        )


def _check_blocks(sizes: np.ndarray, P: np.ndarray, directed: bool) -> None:
    """Raise InputError for block sizes and probabilities that do not describe a model."""
    if (sizes < 0).any():
        raise InputError(f"negative block sizes: {sizes.tolist()}", remedy="use 0 or more")
    if P.shape != (len(sizes), len(sizes)):
        raise InputError(
            f"{len(sizes)} block sizes, but probabilities of shape {P.shape}",
            remedy="give one probability per pair of blocks",
        )
    if not ((P >= 0) & (P <= 1)).all():
        raise InputError(
            f"the probabilities are between {P.min():g} and {P.max():g}",
            remedy="probabilities must be between 0 and 1; try a lower mean degree",
        )
    if not directed and not np.array_equal(P, P.T):
        raise InputError(
            "the probabilities are not symmetric", remedy="make them symmetric or set `directed`"
        )


def _as_graph(
    source: np.ndarray,
    target: np.ndarray,
    labels: np.ndarray,
    directed: bool,
    shuffle: bool,
    random: Generator,
) -> tuple[Graph, np.ndarray]:
    """Return the graph and its labels, with the nodes permuted if `shuffle` is set."""
    n = len(labels)
    if shuffle:
        place = random.permutation(n).astype(np.int32)
        source, target = place[source], place[target]
        shuffled = np.empty_like(labels)
        shuffled[place] = labels
        labels = shuffled
    return Graph.from_edges(source, target, n_nodes=n, directed=directed), labels


def _power_law(
    n: int, mean: float, exponent: float, largest: float | None, random: Generator
) -> np.ndarray:
    """Draw integer degrees from a power law, truncated and scaled to the mean."""
    if exponent <= 2:
        raise InputError(
            f"a power law with exponent {exponent} has no mean", remedy="use an exponent above 2"
        )
    cut = largest if largest is not None else max(np.sqrt(mean * n), mean)
    raw = (1 - random.random(n)) ** (-1 / (exponent - 1))
    for _ in range(20):  # truncation lowers the mean, scaling exceeds the limit: converges quickly
        raw = np.minimum(raw * (mean / max(raw.mean(), 1e-300)), cut) if n else raw
    whole = np.floor(raw)
    return (whole + (random.random(n) < raw - whole)).astype(np.int64)


def _distinct_pairs(
    rows: int, columns: int, count: int, skew: float, random: Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw `count` distinct pairs in random order, with log-normal activities of both sides."""
    tables = [np.cumsum(np.exp(skew * random.standard_normal(n))) for n in (rows, columns)]
    pairs = np.empty(0, np.int64)
    for _ in range(1000):
        missing = count - len(pairs)
        if missing <= 0:
            break
        draws = [
            np.searchsorted(table, random.random(missing + 16) * table[-1], side="right")
            for table in tables
        ]
        fresh = np.unique(draws[0] * columns + draws[1])
        fresh = np.setdiff1d(fresh, pairs, assume_unique=True)
        pairs = np.concatenate([pairs, random.permutation(fresh)[:missing]])
    else:
        raise InputError(f"cannot draw {count} distinct pairs", remedy="lower `skew`")
    random.shuffle(pairs)
    return (pairs // columns).astype(np.int32), (pairs % columns).astype(np.int32)


def _draw_rows(table: np.ndarray, rows: np.ndarray, random: Generator) -> np.ndarray:
    """Draw, for each entry of `rows`, a column of that row of `table` by its probabilities."""
    cumulative = np.cumsum(table, axis=1)
    cumulative[:, -1] = np.inf
    drawn = np.empty(len(rows), np.int64)
    for begin in range(0, len(rows), 1 << 18):
        part = slice(begin, begin + (1 << 18))
        u = random.random(len(rows[part]))
        drawn[part] = (cumulative[rows[part]] <= u[:, None]).sum(axis=1)
    return drawn

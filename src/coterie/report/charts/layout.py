"""Positions of nodes and of blocks for a drawing: near each other if they are connected."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from coterie.data import Graph
from coterie.kernels.graphs.layout import force_layout, pivot_distances
from coterie.report.charts.drawing import WIDTH

BLOCKS_HEIGHT = 400.0  # of the drawing of the blocks

_PIVOTS = 32
_ITERATIONS = 400
_FEWEST = 40  # iterations of a layout of many nodes, whose start is close to its end
_SCALING = 4.0  # of the repulsion
_GRAVITY = 1.0
_THETA = 0.9
_APART = 6.0  # distance between the circles of two blocks
_SEPARATION_STEPS = 150
_MOST_SEPARATED = 1_000  # discs of blocks
_GAP = 0.08  # between two components, in radii of the largest


def place_nodes(graph: Graph, *, seed: int = 0, iterations: int | None = None) -> np.ndarray:
    """Return a position in the plane for every node, by a force-directed layout.

    Every connected component starts from multidimensional scaling of the distances to a few
    nodes (Brandes & Pich, 2006), which is close to the final form, and is laid out on its own;
    then the components are packed next to each other. Directions and weights are not used.

    Parameters
    ----------
    graph : Graph
        The network; one iteration costs O(m + n log n).
    seed : int, default=0
        Seed of the small random shifts at the start, which separate nodes at the same place. The
        same seed gives the same positions.
    iterations : int, optional
        Number of iterations of the layout; by default 400, and fewer above 3,000 nodes.

    Returns
    -------
    ndarray of float64 of shape (n_nodes, 2)
        Positions; distances have no unit.

    Examples
    --------
    >>> import coterie as ct
    >>> path = place_nodes(ct.Graph.from_edges([0, 1, 2], [1, 2, 3]))
    >>> far = abs(path[:, None] - path).sum(2)
    >>> bool(far[0, 1] < far[0, 2] < far[0, 3])
    True
    """
    n = graph.n_nodes
    if not n:
        return np.zeros((0, 2))
    if iterations is None:
        iterations = max(_FEWEST, min(_ITERATIONS, _ITERATIONS * 3_000 // n))
    adjacency = _neighbours(graph)
    count, part = connected_components(adjacency, directed=False)
    sizes = np.bincount(part, minlength=count)
    members = np.split(np.argsort(part, kind="stable"), np.cumsum(sizes)[:-1])
    rng = np.random.default_rng(seed)
    placed = [
        _place_component(adjacency[nodes][:, nodes] if count > 1 else adjacency, rng, iterations)
        for nodes in members
    ]
    place = np.empty((n, 2))
    for nodes, component, shift in zip(members, placed, _pack(placed), strict=True):
        place[nodes] = component + shift
    return place


def place_by_blocks(graph: Graph, labels: np.ndarray) -> np.ndarray:
    """Return a position for every node of a large graph: blocks first, then nodes inside them.

    Blocks that share more edges than their degrees explain attract each other. Each block is a
    disc of the area of its nodes. Inside, a node is on the side of its neighbours in other blocks,
    and farther out the larger its share of them is. The cost grows with the edges.

    Parameters
    ----------
    graph : Graph
        The network.
    labels : ndarray of shape (n_nodes,)
        The block of each node, numbered from 0 without gaps.

    Returns
    -------
    ndarray of float64 of shape (n_nodes, 2)
        Positions; discs do not overlap if there are at most 1,000 blocks.
    """
    sizes = np.bincount(labels)
    k = len(sizes)
    source, target = graph.edges()
    a, b = labels[source].astype(np.int64), labels[target].astype(np.int64)
    ends = np.bincount(a, minlength=k) + np.bincount(b, minlength=k)
    pairs, count = np.unique(np.minimum(a, b) * k + np.maximum(a, b), return_counts=True)
    first, second = pairs // k, pairs % k
    expected = ends[first] * ends[second] / max(2 * len(a), 1)
    close = (first != second) & (count > expected)
    centre = place_nodes(Graph.from_edges(first[close], second[close], n_nodes=k))
    radius = np.sqrt(sizes)
    spread = np.sqrt(np.mean(np.sum((centre - centre.mean(0)) ** 2, 1)))
    centre = centre * (1.5 * np.sqrt(graph.n_nodes) / max(float(spread), 1e-9))
    if k <= _MOST_SEPARATED:
        centre = _apart(centre, radius)
    adjacency = _neighbours(graph)
    degree = np.maximum(np.diff(adjacency.indptr), 1)
    aim = adjacency @ centre[labels] / degree[:, None] - centre[labels]
    rows = np.repeat(np.arange(graph.n_nodes), np.diff(adjacency.indptr))
    outside = np.bincount(rows, labels[rows] != labels[adjacency.indices], graph.n_nodes) / degree
    start = np.cumsum(sizes) - sizes
    turn, far = np.empty(graph.n_nodes), np.empty(graph.n_nodes)
    for order, into in (
        (np.lexsort((np.arctan2(aim[:, 1], aim[:, 0]), labels)), turn),
        (np.lexsort((-degree, outside, labels)), far),
    ):
        block = labels[order]
        into[order] = (np.arange(graph.n_nodes) - start[block] + 0.5) / sizes[block]
    angle = 2 * np.pi * turn - np.pi
    offset = np.column_stack([np.cos(angle), np.sin(angle)]) * np.sqrt(far)[:, None]
    return np.asarray(centre[labels] + offset * radius[labels][:, None])


def _apart(centre: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Move discs that overlap apart; then enlarge all distances if some still do."""
    reach = (radius[:, None] + radius) * 1.06
    np.fill_diagonal(reach, 0)
    for _ in range(_SEPARATION_STEPS):
        between = centre[:, None, :] - centre
        distance = np.sqrt((between**2).sum(2)) + 1e-6
        short_by = np.maximum(reach - distance, 0)
        if not short_by.any():
            return centre
        centre = centre + (between * (short_by / distance / 2)[:, :, None]).sum(1) * 0.5
    distance = np.sqrt(((centre[:, None, :] - centre) ** 2).sum(2)) + 1e-6
    return np.asarray(centre * max(1.0, float((reach / distance).max())))


def _neighbours(graph: Graph) -> csr_array:
    """Return the adjacency matrix with every edge in both directions."""
    rows = csr_array(
        (np.ones(len(graph.indices)), graph.indices, graph.indptr),
        shape=(graph.n_nodes, graph.n_nodes),
    )
    both = csr_array(rows + rows.T) if graph.directed else rows
    both.sort_indices()
    return both


def _place_component(adjacency: csr_array, rng: np.random.Generator, iterations: int) -> np.ndarray:
    """Lay out a connected graph around the origin."""
    n = adjacency.shape[0]
    shift = rng.standard_normal((n, 2))
    if n == 1:
        return np.zeros((1, 2))
    indptr, indices = adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int64)
    hub = int(np.diff(indptr).argmax())
    start = _scaled_distances(pivot_distances(indptr, indices, min(_PIVOTS, n), hub))
    start = start * np.sqrt(_SCALING * n) * 2 + shift
    place = force_layout(indptr, indices, start, iterations, _SCALING, _GRAVITY, _THETA)
    place = place - (place.min(0) + place.max(0)) / 2
    return _turned(place)


def _scaled_distances(distance: np.ndarray) -> np.ndarray:
    """Return two coordinates per node whose distances resemble those to the pivots, within ±1."""
    square = distance**2
    centred = square - square.mean(0) - square.mean(1, keepdims=True) + square.mean()
    _, vectors = np.linalg.eigh(centred.T @ centred)
    axes = np.zeros((len(distance), 2))
    some = vectors[:, ::-1][:, :2]
    # The sign of an eigenvector is arbitrary; fix it, so that machines agree.
    some = some * np.where(some[np.abs(some).argmax(0), range(some.shape[1])] < 0, -1.0, 1.0)
    axes[:, : some.shape[1]] = centred @ some
    most = np.abs(axes).max()
    return axes / most if most > 0 else axes


def _turned(place: np.ndarray) -> np.ndarray:
    """Turn the longest direction into the horizontal one: pictures are wider than tall."""
    centred = place - place.mean(0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1]
    axes = axes * np.where(axes[np.abs(axes).argmax(0), [0, 1]] < 0, -1.0, 1.0)
    turned = centred @ axes
    return np.asarray(turned - (turned.min(0) + turned.max(0)) / 2)


def _pack(components: list[np.ndarray]) -> np.ndarray:
    """Return a shift per component so that their circles do not overlap, the largest in the centre.

    The others follow by size on rings around it.
    """
    reach = np.array([float(np.hypot(c[:, 0], c[:, 1]).max(initial=0)) for c in components])
    radius = reach + max(_GAP * reach.max(), 1.0) / 2
    shift = np.zeros((len(components), 2))
    order = np.argsort(-radius, kind="stable")
    edge = radius[order[0]]  # of what is packed so far
    ring, filled = 0.0, np.inf  # radius of the current ring, and its angle in use
    for c in order[1:]:
        wide = 2 * np.arcsin(min(1.0, radius[c] / ring)) if ring > 0 else 0.0
        if filled + wide > 2 * np.pi:  # a new ring, as wide as its first and largest component
            ring, filled = edge + radius[c], 0.0
            edge += 2 * radius[c]
            wide = 2 * np.arcsin(min(1.0, radius[c] / ring))
        angle = filled + wide / 2
        shift[c] = ring * np.cos(angle), ring * np.sin(angle)
        filled += wide
    return shift


def place_blocks(
    first: np.ndarray, second: np.ndarray, strength: np.ndarray, radius: np.ndarray
) -> np.ndarray:
    """Compute positions of circles by springs along lines and repulsion between all of them.

    `strength`, 1 to 5, is that of each line. The start is a circle in the order of the numbers, so
    that the result is deterministic.
    """
    count = len(radius)
    angle = 2 * np.pi * np.arange(count) / count
    place = np.column_stack([np.cos(angle), np.sin(angle)]) * 150
    pull = np.zeros((count, count))
    pull[first, second] = pull[second, first] = 0.4 + 0.6 * strength / 5
    wanted = 90 + radius[:, None] + radius[None, :]
    gap = radius[:, None] + radius[None, :] + 6
    for step in range(300):
        between = place[:, None, :] - place[None, :, :]
        far = np.sqrt((between**2).sum(2)) + 1e-6
        push = wanted**2 / far**2 * 0.9 - pull * far / wanted * 3
        push += np.where(far < gap, (gap - far) * 1.5, 0)
        np.fill_diagonal(push, 0)
        force = (between / far[:, :, None] * push[:, :, None]).sum(1) - 0.03 * place
        most = np.linalg.norm(force, axis=1, keepdims=True) + 1e-9
        place += force / most * np.minimum(most, 12 * (1 - step / 300) + 0.5)
    return _fit(place, radius)


def _fit(place: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Stretch the positions to fill the picture, then separate circles that overlap."""
    box = np.array([WIDTH, BLOCKS_HEIGHT])
    margin = np.column_stack([radius, radius]) + 3
    if len(place) == 1:
        return np.asarray(box[None, :] / 2)
    least, most = place.argmin(0), place.argmax(0)
    low, high = place.min(0), place.max(0)
    first = radius[least] + 3
    room = box - radius[most] - 3 - first
    place = np.clip(first + (place - low) / (high - low + 1e-9) * room, margin, box - margin)
    for _ in range(_SEPARATION_STEPS):
        between = place[:, None, :] - place[None, :, :]
        far = np.sqrt((between**2).sum(2)) + 1e-6
        short_by = radius[:, None] + radius[None, :] + _APART - far
        np.fill_diagonal(short_by, 0)
        if (short_by <= 0).all():
            break
        move = np.maximum(short_by, 0)[:, :, None] * between / far[:, :, None] * 0.5
        place = np.clip(place + move.sum(1), margin, box - margin)
    return place

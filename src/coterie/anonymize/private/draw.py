"""Draw graphs from a private sketch: the sketch's noisy answers are all that is used."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.draw.reconnection import reconnect
from coterie.anonymize.draw.rewiring import (
    RewiringTargets,
    degree_bins,
    products_over_edges,
    rewire,
)
from coterie.anonymize.draw.wiring import Wired, wire_inner_outer
from coterie.anonymize.private import public_rules
from coterie.anonymize.private.answers import SketchAnswers
from coterie.anonymize.private.block_estimates import (
    adjust_to_sums,
    block_modularity,
    deal_degrees,
    ends_between,
    find_separation,
    fit_cells,
    repeated_modularity,
    separate,
)
from coterie.anonymize.private.budget import HIGHEST_DEGREES
from coterie.anonymize.private.clustering_profile import (
    NoisySum,
    common_sum,
    estimate_profile,
    implied_transitivity,
    ladder_error,
    lost_by_cap,
    triangle_sum,
)
from coterie.anonymize.private.degree_estimates import (
    BinnedEnds,
    sample_posterior,
)
from coterie.anonymize.private.exact_counts import CAPPED_UNIT, clustering_constants
from coterie.anonymize.private.posterior import degree_estimate, mixing_estimate, sample_answers
from coterie.base.progress import Callback, Progress, silent
from coterie.base.randomness import RandomState, as_generator, stream_keys
from coterie.data import Graph
from coterie.engine import Engine, LocalEngine
from coterie.kernels.anonymize.wiring import WiringCells, join_open_ends

_COARSE = 4  # bins per degree class of a disassortative graph
# Degree classes are used if the assortativity is below this multiple of the global clustering
_DISASSORTATIVE = -0.5
# Share of the edges between degree classes whose ends are anywhere. The others are at the same
# place of two rings, so that hubs and their neighbours form communities.
_ANYWHERE = 0.2
_PROPOSALS = (35, 15)  # swaps per edge, in each round of rewiring and reconnecting …
# Weight of the triangles, relative to the clustering by degree, in each round. If it is large from
# the beginning, hubs get all triangles, and other nodes never reach their clustering.
_TRIANGLE_WEIGHTS = (1.0, 3.0)
_TRIAL_PROPOSALS = 6  # … and per edge of a trial graph, …
_MAX_PROPOSALS, _MAX_TRIAL_PROPOSALS = 30_000_000, 20_000_000  # … limited for large networks
_TOLERANCE = 0.01
_BY_NODE = 0.5  # share of open triangles that are found from a random node, not a random edge
_NOISES = np.geomspace(0.1, 6.4, 13)  # of the ring order: from sorted by degree to random


class _Plan(NamedTuple):
    """What is wired: classes, degrees and the ends between classes."""

    classes: Classes
    n_edges: int
    dealt: np.ndarray  # the degree of each node
    degrees: np.ndarray  # the same, with the sums of `cells`: some cells have no room for all ends
    cells: np.ndarray
    by_degree: bool  # whether the classes are degree classes inside blocks
    targets: RewiringTargets


def draw_graphs(
    answers: SketchAnswers,
    draws: int,
    *,
    rng: RandomState = 0,
    engine: Engine | None = None,
    callback: Callback = silent,
    point: bool = False,
) -> list[Graph]:
    """Draw graphs; graph i is the same for every number of draws and of threads.

    Before each draw, the true answers are drawn from their posterior, so that graphs differ by as
    much as the noise of the sketch leaves open. With `point`, the noisy answers are used as they
    are in every draw.
    """
    streams = as_generator(rng).spawn(draws)
    done = 0

    def draw_one(stream: Generator) -> Graph:
        nonlocal done
        graph = draw_graph(
            answers if point else sample_answers(answers, stream), stream, separation
        )
        done += 1
        callback(Progress("drawing", done, draws))
        return graph

    callback(Progress("drawing", 0, draws))
    separation = choose_separation(answers)
    return list((engine or LocalEngine(1)).map(draw_one, streams))


def draw_graph(answers: SketchAnswers, rng: Generator, separation: float | None = None) -> Graph:
    """Draw one graph; its nodes 0..n-1 are in random order and stand for nobody.

    `separation` is that of `choose_separation`, which is called if it is not given.
    """
    drawn = draw_in_order(answers, rng, separation)
    shuffled = rng.permutation(drawn.n_nodes)
    source, target = drawn.edges()
    return Graph.from_edges(shuffled[source], shuffled[target], n_nodes=drawn.n_nodes)


def draw_in_order(answers: SketchAnswers, rng: Generator, separation: float | None = None) -> Graph:
    """Draw one graph in which node v has the block and a degree of the v-th declared node.

    Benchmarks compare communities node by node with it.
    """
    n = answers.n_nodes
    if n < 2 or answers.edge_count <= 0:
        return Graph.from_edges(np.empty(0, np.int64), np.empty(0, np.int64), n_nodes=n)
    if separation is None:
        separation = choose_separation(answers)
    plan = _plan(answers, separation, rng)
    edges = _wire(plan, rng)
    with_edge = np.count_nonzero(np.bincount(np.r_[edges.source, edges.target], minlength=n))
    # Reconnecting costs triangles, which the second round restores
    for proposals, weight in zip(_PROPOSALS, _TRIANGLE_WEIGHTS, strict=True):
        edges = _rewire(edges, plan, proposals, _MAX_PROPOSALS, weight, rng)
        edges = reconnect(edges, plan.classes.block, _no_limits(n), with_edge / n, rng)
    return Graph.from_edges(edges.source, edges.target, n_nodes=n)


def _rewire(
    edges: Wired, plan: _Plan, per_edge: int, in_total: int, triangles: float, rng: Generator
) -> Wired:
    """Swap edges towards the targets; the number of swaps tried is limited in two ways."""
    affordable = in_total // max(len(edges.source), 1)
    return rewire(
        edges,
        plan.classes.block,
        _no_limits(len(plan.degrees)),
        plan.targets,
        rng,
        proposals=max(min(per_edge, affordable), 1),
        tolerance=_TOLERANCE,
        triangle_weight=triangles,
        by_node=_BY_NODE,
    )


def _no_limits(n_nodes: int) -> WiringCells:
    """Return counters for no cell: the draw has no limit on edges between classes."""
    none = np.zeros((0, 0), np.int32)
    return WiringCells(np.full(n_nodes, -1, np.int32), none, none)


class _Frame(NamedTuple):
    """What is known before classes are made."""

    n_edges: int
    degrees: np.ndarray  # int64[n]
    block_ends: np.ndarray  # float64[k, k]
    binned: BinnedEnds


def _frame(answers: SketchAnswers, rng: Generator) -> _Frame:
    n, rate = answers.n_nodes, answers.degree_noise_rate
    m = min(answers.edge_count, n * (n - 1) // 2)
    distribution = degree_estimate(answers)
    sequence = np.minimum(distribution.sequence(rng.random()), answers.highest_degree)
    samples = sample_posterior(answers.noisy_degrees, distribution, rate, rng)
    block_ends = ends_between(answers.block_edges, m)
    degrees = deal_degrees(sequence, samples, answers.labels, block_ends.sum(1), rng)
    binned = mixing_estimate(answers, sequence, m)
    return _Frame(m, degrees, block_ends, binned)


def _plan(answers: SketchAnswers, separation: float, rng: Generator) -> _Plan:
    frame = _frame(answers, rng)
    clustering = _clustering_targets(answers, frame.degrees, frame.binned.assortativity)
    label, degrees, cells = _fit_classes(answers, frame, separation, clustering.transitivity, rng)
    targets = _clustering_targets(answers, degrees, frame.binned.assortativity)
    by_degree = len(cells) > len(np.unique(answers.labels))
    classes = Classes(label, label)
    return _Plan(classes, frame.n_edges, frame.degrees, degrees, cells, by_degree, targets)


def _clustering_targets(
    answers: SketchAnswers, degrees: np.ndarray, assortativity: float
) -> RewiringTargets:
    lowest = degree_bins(degrees)
    profile = estimate_profile(degrees, lowest, noisy_sums(answers, degrees))
    transitivity = implied_transitivity(degrees, lowest, profile)
    return RewiringTargets(lowest, profile, transitivity, assortativity)


def _fit_classes(
    answers: SketchAnswers,
    frame: _Frame,
    separation: float,
    transitivity: float,
    rng: Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the class of each node, its degree, and the ends between classes (whole numbers)."""
    block_ends = separate(frame.block_ends, separation)
    by_degree = frame.binned.assortativity < _DISASSORTATIVE * transitivity
    label, cells = _classes(frame.degrees, answers.labels, block_ends, frame.binned, by_degree)
    sizes = np.bincount(label, minlength=len(cells))
    ends = np.bincount(label, frame.degrees, len(cells))
    cells = fit_cells(cells, ends * (2 * frame.n_edges / max(ends.sum(), 1.0)), sizes)
    return label, adjust_to_sums(frame.degrees, label, cells.sum(1), rng), cells


def choose_separation(answers: SketchAnswers) -> float:
    """Return how separate the blocks of draws should be; the same for all draws of a sketch."""
    if answers.n_nodes < 2 or answers.edge_count <= 0 or answers.n_blocks < 2:
        return 0.0

    def repeated(share: float) -> float:
        rng = np.random.default_rng(0)
        plan = _plan(answers, share, rng)
        edges = _wire_once(plan, np.inf, rng)
        edges = _rewire(edges, plan, _TRIAL_PROPOSALS, _MAX_TRIAL_PROPOSALS, 1.0, rng)
        graph = Graph.from_edges(edges.source, edges.target, n_nodes=answers.n_nodes)
        return repeated_modularity(graph, answers, rng)

    clustering = _plan(answers, 0.0, np.random.default_rng(0)).targets.transitivity
    modularity = block_modularity(ends_between(answers.block_edges, 1))
    return find_separation(modularity, repeated, clustering)


def noisy_sums(answers: SketchAnswers, degrees: np.ndarray) -> list[NoisySum]:
    """Return the triangles and the clustering sums of a sketch, with their expected errors.

    `degrees` are those of a draw; the errors follow from them and from the answers.
    """
    epsilon, shares, unit = float(answers.exact_epsilon), answers.shares, answers.clustering_unit
    third = float(np.sort(answers.largest_degrees)[-3:].min(initial=answers.n_nodes))
    sums = [triangle_sum(answers.triangles, third, epsilon * float(shares.triangles))]
    for value, damping, share in zip(
        answers.clustering_sums, answers.damping_degrees, shares.clustering_sums, strict=True
    ):
        own, step = clustering_constants(answers.n_nodes, damping)
        width = 2 * (own / unit) + common_sum(degrees, third, damping)
        error = ladder_error(width, step / unit, epsilon * float(share))
        sums.append(NoisySum(max(value / unit, 0.0), error, damping))
    return sums + capped_sums(answers)


def capped_sums(answers: SketchAnswers) -> list[NoisySum]:
    """Return the capped sums of local clustering; what the cap removes is estimated and added.

    An undamped sum is one that is damped below degree 2.
    """
    cap = public_rules.clustering_cap(answers.hub_ratio)
    lost = lost_by_cap(answers.hub_ratio)
    sums = []
    for value, highest, share in zip(
        answers.capped_sums, HIGHEST_DEGREES, answers.shares.capped_sums, strict=False
    ):
        noise = np.sqrt(2) * (cap + 2) / float(answers.exact_epsilon * share)
        total = max(value, 0) / CAPPED_UNIT * (1 + lost)
        sums.append(NoisySum(total, float(np.hypot(noise, lost * total)), 2, highest))
    return sums


def _classes(
    degrees: np.ndarray,
    labels: np.ndarray,
    block_ends: np.ndarray,
    binned: BinnedEnds,
    by_degree: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the wiring class of each node (int32[n]), and the ends between classes.

    The classes are the blocks. A clearly disassortative graph has classes of similar degree inside
    blocks (`by_degree`), since swaps alone would not connect hubs with nodes of low degree. In a
    clustered graph such classes would do harm: triangles contain nodes of different degrees.
    """
    if not by_degree:
        present, label = np.unique(labels, return_inverse=True)
        return label.astype(np.int32), block_ends[np.ix_(present, present)]
    coarse = np.searchsorted(binned.thresholds[_COARSE - 1 :: _COARSE], degrees, side="right")
    n_bins = len(binned.edges)
    group = np.arange(n_bins) // _COARSE
    n_coarse = int(group.max()) + 1
    merged = np.zeros((n_coarse, n_coarse))
    np.add.at(merged, (group[:, None], group[None, :]), binned.edges)
    key = labels.astype(np.int64) * n_coarse + coarse
    present, label = np.unique(key, return_inverse=True)
    block, degree_bin = np.divmod(present, n_coarse)
    ends = np.bincount(label, degrees, len(present))

    def relative(matrix: np.ndarray) -> np.ndarray:
        total = np.maximum(matrix.sum(1), 1e-9)
        return np.asarray(matrix / np.outer(total, total) * matrix.sum())

    cells = relative(block_ends)[np.ix_(block, block)]
    cells = cells * relative(merged)[np.ix_(degree_bin, degree_bin)]
    return label.astype(np.int32), cells * np.outer(ends, ends) / max(ends.sum(), 1.0)


def _wire(plan: _Plan, rng: Generator) -> Wired:
    """Join inner ends near each other on a ring per class, and outer ends anywhere.

    Outer ends of degree classes are mostly near the same place of two rings. The order of the
    rings is the one, of a fixed list from sorted by degree to random, that reaches the
    assortativity; a less random order makes a graph more assortative.
    """
    goal = products_over_edges(plan.degrees, plan.targets.assortativity)
    d = plan.degrees.astype(np.float64)
    seed = rng.integers(2**63)

    def wired(position: int) -> Wired:
        noise = float(_NOISES[position]) if position < len(_NOISES) else np.inf
        return _wire_once(plan, noise, np.random.default_rng(seed))

    low, high = 0, len(_NOISES)
    best = None  # the wiring at position `high`
    while low < high:
        middle = (low + high) // 2
        edges = wired(middle)
        if (d[edges.source] * d[edges.target]).sum() <= goal:
            high, best = middle, edges
        else:
            low = middle + 1
    edges = wired(low) if best is None else best
    return _join_rest(edges.source, edges.target, plan.dealt, plan.n_edges, rng)


def _wire_once(plan: _Plan, noise: float, rng: Generator) -> Wired:
    edges, _ = wire_inner_outer(
        plan.classes,
        plan.degrees,
        plan.cells,
        noise=noise,
        epsilon=0.0,
        limit=1.0,
        rng=rng,
        outer_epsilon=_ANYWHERE if plan.by_degree else 1.0,
    )
    return edges


def _join_rest(
    source: np.ndarray, target: np.ndarray, degrees: np.ndarray, n_edges: int, rng: Generator
) -> Wired:
    """Join the ends that found no place, so that nodes get their degrees if possible.

    No more than `n_edges` edges are made.
    """
    made = np.bincount(np.r_[source, target], minlength=len(degrees))
    open_ends = rng.permutation(np.repeat(np.arange(len(degrees)), np.maximum(degrees - made, 0)))
    open_ends = open_ends[: 2 * max(n_edges - len(source), 0)]
    space = np.zeros(len(open_ends) // 2, np.int32)
    sources, targets = np.r_[source, space], np.r_[target, space]
    found = join_open_ends(
        sources, targets, len(source), open_ends.astype(np.int32), stream_keys(rng, 1)[0]
    )
    return Wired(sources[:found], targets[:found], len(open_ends) // 2 + len(source) - found)

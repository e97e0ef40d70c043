"""The control of A2 and A3: clusterings of the graph without a random sample of its edges.

An edge that was left out was not in the data. An attacker who names it nevertheless has learned
nothing from its presence: people of these blocks and degrees are connected that often. So the
share of the left-out edges that an attacker names is compared with that of the others.

A3 asks whether the model predicts the edges it was fitted to better than edges that it never saw.
As in Anonymeter (Giomi et al. 2023), the main attack is run on edges that were used, the control
on edges that were held out, and guessing is the baseline.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.classes import Classes, cell_probability
from coterie.anonymize.figures import Private
from coterie.anonymize.intervals import NORMAL_95, Interval, wilson
from coterie.anonymize.risk.exact_degrees import NamedEdges, PairClaim, name_edges
from coterie.data import Graph

PARTS = 50  # a sample is one of so many random parts of the edges: 2 %
_MANY = 5  # the first sample has so many parts: a tenth, for A3 and for the extrapolation
_FEWEST = 4  # samples from which a figure that is above the limit needs no further ones
_WIDTH = 0.005  # samples are added until the interval is at most this far from the estimate


class LeftOutSample(NamedTuple):
    """One sample of edges, and what attackers name if the blocks were found without it."""

    left_out: np.ndarray  # bool[edges]
    named: list[np.ndarray]  # float32[edges] per attacker: left-out edges as if they were absent


@dataclass(frozen=True, eq=False)
class LeftOutEdges:
    """What was found on clusterings without some of the edges."""

    inference: EdgeInference
    samples: list[LeftOutSample]


class ControlledClaim(NamedTuple):
    """The share of the edges that one attacker names, next to the control.

    `excess` is the share of the edges that are named because they are in the data: named among
    the edges that were kept, minus named among those that were left out, extrapolated to samples
    without an edge. Both groups are random, so they differ by luck; the difference that the claim
    on the whole graph shows already is subtracted.
    """

    attacker: str
    certain: bool  # on the whole graph, the list is right as often as required
    kept: float  # share of the kept edges that are named, extrapolated
    left_out: float  # share of the left-out edges that are named, extrapolated
    excess: float
    interval: Interval  # of the excess, 95 %
    bound: float  # upper end of the interval and what has no control; at most all that is named
    edges_left_out: int


def leave_edges_out(
    graph: Graph,
    fit: Callable[[Graph], Classes],
    rng: Generator,
    *,
    certainty: float,
    allowed: float = 1.0,
) -> LeftOutEdges:
    """Leave random edges out, cluster the rest, and let attackers name edges.

    The first sample is a tenth of the edges. It spoils the blocks a little, so that also fewer of
    the kept edges are named; therefore samples of 2 % follow, each with a new clustering, until the
    excess is known to half a percentage point, and both are extrapolated to 0 %. It is enough to
    know that the excess is above what is `allowed`.
    """
    source, target = graph.edges()
    part = rng.permutation(len(source)) % PARTS
    samples: list[LeftOutSample] = []
    inference: EdgeInference | None = None
    whole = name_edges(graph, fit(graph).block, certainty).attackers
    for i in range(PARTS + 1):
        left_out = part < _MANY if i == 0 else part == (i + _MANY - 1) % PARTS
        rest = Graph.from_edges(source[~left_out], target[~left_out], n_nodes=graph.n_nodes)
        classes = fit(rest)
        if inference is None:
            inference = edge_inference(graph, rest, classes, left_out, rng)
        claims = name_edges(graph, classes.block, certainty).attackers
        samples.append(
            LeftOutSample(left_out, [np.where(left_out, c.absent, c.present) for c in claims])
        )
        found = compare_with_left_out(whole, samples)
        wide = max(claim.interval[1] - claim.excess for claim in found) > _WIDTH
        exceeds = any(claim.interval[0] > allowed for claim in found)
        if i and (not wide or (i >= _FEWEST and exceeds)):
            break
    assert inference is not None
    return LeftOutEdges(inference, samples)


def compare_with_left_out(
    whole: Sequence[NamedEdges], samples: Sequence[LeftOutSample]
) -> list[ControlledClaim]:
    """Compare the edges named in the samples: those that were kept with those left out.

    `whole` are the edges named with the data of the whole graph. They do not depend on the
    samples, so what the two groups differ in there is luck, and subtracting it (as far as the two
    are related) makes the estimate more precise without a bias. If the samples have two sizes, a
    straight line through both gives the shares for samples without an edge.
    """
    sizes = [float(sample.left_out.mean()) if len(sample.left_out) else 0.0 for sample in samples]
    small = [s for s, size in zip(samples, sizes, strict=True) if size < 2 * min(sizes)]
    large = [s for s, size in zip(samples, sizes, strict=True) if size >= 2 * min(sizes)]
    weight = min(sizes) / (max(sizes) - min(sizes)) if large else 0.0
    return [
        _compare(
            named.claim,
            _shares(named.present, [(s.left_out, s.named[i]) for s in small]),
            _shares(named.present, [(s.left_out, s.named[i]) for s in large or small]),
            weight,
        )
        for i, named in enumerate(whole)
    ]


class _Shares(NamedTuple):
    """What is named in samples of one size."""

    kept: float
    left_out: float
    excess: float  # after the luck of the samples is subtracted
    error: float  # its standard error
    edges_left_out: int


def _shares(whole: np.ndarray, samples: list[tuple[np.ndarray, np.ndarray]]) -> _Shares:
    left_out = np.concatenate([hidden for hidden, _ in samples])
    named = np.concatenate([n for _, n in samples]).astype(np.float64)
    before = np.tile(whole.astype(np.float64), len(samples))
    spread = before - before.mean()
    variance = float(spread @ spread)
    slope = float(spread @ named) / variance if variance > 0 else 0.0
    adjusted = named - slope * spread
    kept, left, kept_adjusted, left_adjusted = (
        float(values[group].mean()) if group.any() else 0.0
        for values in (named, adjusted)
        for group in (~left_out, left_out)
    )
    trials = int(left_out.sum())
    error = float(adjusted.std()) * np.sqrt(1 / max(trials, 1) + 1 / max(len(whole), 1))
    return _Shares(kept, left, kept_adjusted - left_adjusted, error, trials)


def _compare(claim: PairClaim, few: _Shares, many: _Shares, weight: float) -> ControlledClaim:
    """Extrapolate from samples of few and of many edges; the excess never falls below that of few.

    The release names what its own clustering tells, other clusterings may name less: what is
    missing has no control and counts as named because it is in the data.
    """
    kept = few.kept + weight * (few.kept - many.kept)
    left_out = max(0.0, few.left_out + weight * (few.left_out - many.left_out))
    excess = few.excess + weight * max(0.0, few.excess - many.excess)
    half = NORMAL_95 * math.hypot((1 + weight) * few.error, weight * many.error)
    without_control = max(0.0, claim.named - max(kept, few.kept))
    bound = max(0.0, min(claim.named, max(0.0, excess + half) + without_control))
    return ControlledClaim(
        claim.attacker,
        claim.certain,
        kept,
        left_out,
        excess,
        (excess - half, excess + half),
        bound,
        few.edges_left_out,
    )


_TRIALS = 20_000


@dataclass(frozen=True, repr=False)
class EdgeInference(Private):
    """A3: how often edges are recognised, and the advantage of fitted over held-out edges."""

    main: float  # share of fitted edges that are recognised
    main_interval: Interval
    control: float  # share of held-out edges that are recognised
    control_interval: Interval
    baseline: float  # guessing
    risk: float | None  # advantage, from 0 (none) to 1; None without enough edges
    risk_interval: Interval
    held_out: int  # number of edges


def edge_inference(
    graph: Graph, rest: Graph, classes: Classes, hidden: np.ndarray, rng: Generator
) -> EdgeInference:
    """Recognise edges by the classes of `rest`, the graph without the `hidden` edges.

    An edge is recognised if its probability is higher than that of a random pair with the same
    degrees that is not an edge. Ties count half.
    """
    source, target = graph.edges()
    # A person whose only edge is held out has no meaningful block: leave such edges out.
    fair = np.minimum(graph.degrees[source], graph.degrees[target]) > 1
    main, control = (
        _wins(graph, rest, classes, source[group & fair], target[group & fair], rng)
        for group in (~hidden, hidden)
    )
    main_share, control_share = (wins / max(tried, 1) for wins, tried in (main, control))
    gain = (main_share - control_share) / max(1.0 - control_share, 1e-9)
    of_main, of_control = wilson(*main), wilson(*control)
    return EdgeInference(
        main=main_share,
        main_interval=of_main,
        control=control_share,
        control_interval=of_control,
        baseline=0.5,
        risk=max(0.0, gain) if main[1] and control[1] else None,
        risk_interval=(
            max(0.0, (of_main[0] - of_control[1]) / max(1.0 - of_control[1], 1e-9)),
            min(1.0, max(0.0, (of_main[1] - of_control[0]) / max(1.0 - of_control[0], 1e-9))),
        ),
        held_out=int(hidden.sum()),
    )


def _wins(
    graph: Graph,
    rest: Graph,
    classes: Classes,
    source: np.ndarray,
    target: np.ndarray,
    rng: Generator,
) -> tuple[float, int]:
    """Return (edges that are recognised, edges tried)."""
    chosen = rng.permutation(len(source))[:_TRIALS]
    u, v = source[chosen], target[chosen]
    other_u, other_v = _same_degree(graph, u, rng), _same_degree(graph, v, rng)
    n = graph.n_nodes
    edges = np.repeat(np.arange(n, dtype=np.int64), graph.degrees) * n + graph.indices
    others = other_u.astype(np.int64) * n + other_v
    at = np.minimum(np.searchsorted(edges, others), max(len(edges) - 1, 0))
    fair = (other_u != other_v) & (edges[at] != others) if len(edges) else np.zeros(len(u), bool)
    p, q = (
        cell_probability(rest, classes, classes.label[a[fair]], classes.label[b[fair]])
        for a, b in ((u, v), (other_u, other_v))
    )
    return float((p > q).sum() + 0.5 * (p == q).sum()), int(fair.sum())


def _same_degree(graph: Graph, nodes: np.ndarray, rng: Generator) -> np.ndarray:
    """Return, per node, a random node of the same degree, or of nearby ranks if there are few."""
    order = np.lexsort((rng.random(graph.n_nodes), graph.degrees))
    sorted_degrees = graph.degrees[order]
    low = np.searchsorted(sorted_degrees, graph.degrees[nodes], side="left")
    high = np.searchsorted(sorted_degrees, graph.degrees[nodes], side="right")
    spread = np.maximum(0, 10 - (high - low))
    low, high = np.maximum(low - spread, 0), np.minimum(high + spread, graph.n_nodes)
    return np.asarray(order[low + (rng.random(len(nodes)) * (high - low)).astype(np.int64)])

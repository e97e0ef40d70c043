"""What the noisy answers of a sketch say about the true ones: samples and intervals.

The law of the noise is public. With a flat prior, the true answer given a noisy one has the law of
the noise around it, cut to what is possible. So the exact samplers of the sketch serve here too,
with a seeded generator in place of the operating system's bits. Tables (edges between blocks and
bins, degree counts) are not cut cell by cell, which would add edges to every empty cell: the
estimates that read them make them consistent.

The width of a ladder is private. Two nodes share at most as many neighbours as the second largest
degree. On 16 networks the largest number was between 0.10 and 1.01 times the third largest degree,
so every share between is equally likely here.

Everything here is post-processing and costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.anonymize.private import ladder, public_rules
from coterie.anonymize.private.answers import SketchAnswers
from coterie.anonymize.private.block_estimates import block_modularity, ends_between
from coterie.anonymize.private.clustering_profile import lost_by_cap
from coterie.anonymize.private.degree_estimates import (
    EXTRA_BINS,
    BinnedEnds,
    DegreeDistribution,
    estimate_assortativity,
    n_rounds,
)
from coterie.anonymize.private.exact_counts import (
    CAPPED_UNIT,
    capped_sensitivity,
    clustering_constants,
)
from coterie.anonymize.private.noise import discrete_laplace
from coterie.anonymize.private.noise_laws import (
    LEVEL,
    LadderLaw,
    ladder_half_width,
    laplace_half_width,
)

_SHARED = (0.1, 1.0)  # common neighbours of two nodes, relative to the third largest degree
_WEIGHTS = (0.2, 7.0)  # weight of a common neighbour, relative to that of the end of an edge
_N_WIDTHS = 12
_N_SAMPLES = 100
_MOST_TRIES = 1000
# The assortativity: what the estimate misses on networks without noise, and, if the noise of the
# degrees hides their differences, how far it may be off
_MIXING_ERROR, _HIDDEN_MIXING = 0.02, 0.6


class Interval(NamedTuple):
    """A figure of the original, estimated from a sketch, and its 95 % interval."""

    value: float
    low: float
    high: float
    extrapolated: str = ""  # what the sketch does not say, in words

    @property
    def relative(self) -> float:
        """Half the width of the interval, relative to its lower end; infinite if that is 0."""
        half = (self.high - self.low) / 2
        return half / self.low if self.low > 0 else math.inf if half > 0 else 0.0


# --- samples ---------------------------------------------------------------------------------


def sample_answers(answers: SketchAnswers, rng: Generator) -> SketchAnswers:
    """Draw the true answers from their posterior; the blocks and noisy degrees stay as they are.

    The degree of a node is drawn later, given its noisy degree and the degree distribution.
    """
    epsilon, shares = answers.exact_epsilon, answers.shares
    cap = public_rules.clustering_cap(answers.hub_ratio)
    most = CAPPED_UNIT * answers.n_nodes
    return replace(
        _sample_counts(answers, rng),
        clustering_sums=tuple(
            sample_ladder(value, *_clustering_width(answers, damping, rng), epsilon * share, rng)
            for value, damping, share in zip(
                answers.clustering_sums,
                answers.damping_degrees,
                shares.clustering_sums,
                strict=True,
            )
        ),
        capped_sums=tuple(
            sample_count(value, capped_sensitivity(cap) / (epsilon * share), most, rng)
            for value, share in zip(answers.capped_sums, shares.capped_sums, strict=True)
        ),
    )


def _sample_counts(answers: SketchAnswers, rng: Generator) -> SketchAnswers:
    """Draw the counts and the triangles from their posterior."""
    epsilon, shares, n = answers.exact_epsilon, answers.shares, answers.n_nodes
    pairs = n * (n - 1) // 2

    def moved(noisy: np.ndarray, sensitivity: int, share: Fraction) -> np.ndarray:
        noise = _noise(sensitivity / (epsilon * share), noisy.size, rng)
        return np.asarray(noisy - noise.reshape(noisy.shape), np.int64)

    def table(noisy: np.ndarray, share: Fraction) -> np.ndarray:
        upper = np.triu(moved(noisy, 1, share))
        return np.asarray(upper + np.triu(upper, 1).T)

    return replace(
        answers,
        edge_count=sample_count(answers.edge_count, 1 / (epsilon * shares.edge_count), pairs, rng),
        degree_counts=moved(answers.degree_counts, 2, shares.degree_counts),
        largest_degrees=moved(answers.largest_degrees, 2, shares.largest_degrees),
        block_edges=table(answers.block_edges, shares.block_edges),
        bin_edges=table(answers.bin_edges, shares.bin_edges),
        triangles=sample_ladder(
            answers.triangles,
            _triangle_width(answers, rng.uniform(*_SHARED)),
            1,
            epsilon * shares.triangles,
            rng,
        ),
    )


def sample_count(noisy: int, scale: Fraction, most: int, rng: Generator) -> int:
    """Draw a true count between 0 and `most` from its posterior, given a noisy one.

    If the noisy count is far outside, hardly any noise brings it back; then it is moved to the
    nearest possible count.
    """
    return _first_possible(lambda count: noisy - _noise(scale, count, rng), noisy, most)


def sample_ladder(noisy: int, width: int, step: int, epsilon: Fraction, rng: Generator) -> int:
    """Draw a true value that is not negative from its posterior, given a ladder's answer."""
    around = ladder.Ladder(noisy, width, step)

    def below(size: int) -> int:
        return int(rng.integers(size))

    return _first_possible(
        lambda count: (ladder.draw(around, epsilon, below=below) for _ in range(count)), noisy, None
    )


def _first_possible(
    samples: Callable[[int], Iterator[int] | np.ndarray], noisy: int, most: int | None
) -> int:
    """Return the first sample that is possible: rejection cuts the posterior to these."""
    for batch in (8, _MOST_TRIES):
        for sample in samples(batch):
            if sample >= 0 and (most is None or sample <= most):
                return int(sample)
    return max(noisy, 0) if most is None else min(max(noisy, 0), most)


def _noise(scale: Fraction, count: int, rng: Generator) -> np.ndarray:
    """Return discrete Laplace noise of the exact sampler, from a seeded generator."""
    return discrete_laplace(
        Fraction(scale),
        count,
        random_words=lambda size: rng.integers(0, 2**63 - 1, size, endpoint=True),
    )


def _third_degree(answers: SketchAnswers) -> float:
    noisy = np.sort(answers.largest_degrees)[-3:].min(initial=answers.n_nodes)
    return float(np.clip(noisy, 2, answers.n_nodes))


def _triangle_width(answers: SketchAnswers, share: float) -> int:
    return max(round(share * _third_degree(answers)), 1)


def _clustering_width(answers: SketchAnswers, damping: int, rng: Generator) -> tuple[int, int]:
    """Return a possible width of a clustering sum, and its step."""
    own, step = clustering_constants(answers.n_nodes, damping)
    degrees = answers.degree_distribution().sequence(0.5)
    d = np.maximum(degrees[degrees > 0], damping).astype(np.float64)
    ends = degrees[degrees > 0]
    weight = float(np.average(2 / (d * (d - 1)), weights=ends)) if len(d) else 0.0
    factor = math.exp(rng.uniform(*np.log(_WEIGHTS)))
    common = rng.uniform(*_SHARED) * _third_degree(answers) * weight * factor
    return 2 * own + round(common * answers.clustering_unit), step


# --- intervals -------------------------------------------------------------------------------


def intervals(answers: SketchAnswers) -> dict[str, Interval]:
    """Return every figure that a sketch estimates, with its 95 % interval.

    `edges`, `mean_degree`, `nodes_with_edges`, `largest_degree`, `triangles` and
    `mean_clustering` are answers, whose law is known; `global_clustering`, `assortativity` and
    `modularity` (of the blocks) are computed from several answers, and their intervals from
    samples of these. Sketches of the rules 1 and 2 have no answer for the mean clustering.
    """
    n, epsilon, shares = answers.n_nodes, answers.exact_epsilon, answers.shares
    pairs = n * (n - 1) // 2

    def counted(noisy: int, sensitivity: int, share: Fraction, most: float) -> Interval:
        return _around(noisy, laplace_half_width(float(sensitivity / (epsilon * share))), most)

    edges = counted(answers.edge_count, 1, shares.edge_count, pairs)
    found = {
        "edges": edges,
        "mean_degree": Interval(2 * edges.value / n, 2 * edges.low / n, 2 * edges.high / n),
        "nodes_with_edges": counted(int(answers.degree_counts[0]), 2, shares.degree_counts, n),
        "largest_degree": counted(
            int(answers.largest_degrees[0]), 2, shares.largest_degrees, answers.highest_degree
        ),
        "triangles": _around(
            answers.triangles, ladder_half_width(_triangle_laws(answers)), pairs * n / 3
        ),
    }
    if answers.capped_sums:
        found["mean_clustering"] = _mean_clustering(answers)
    return found | _sampled(answers)


def _around(noisy: float, half: float, most: float) -> Interval:
    """Return an interval around an answer, cut to what is possible."""
    value, low, high = (min(max(x, 0), most) for x in (noisy, noisy - half, noisy + half))
    return Interval(value, low, high)


def triangle_error(answers: SketchAnswers) -> float:
    """Return the expected error of the number of triangles, over the possible widths."""
    return float(np.mean([law.error() for law in _triangle_laws(answers)]))


def clustering_error(answers: SketchAnswers, place: int) -> float:
    """Return the expected error of a damped clustering sum, over the possible widths."""
    rng, damping = np.random.default_rng(0), answers.damping_degrees[place]
    epsilon = float(answers.exact_epsilon * answers.shares.clustering_sums[place])
    widths = [_clustering_width(answers, damping, rng) for _ in range(_N_WIDTHS)]
    laws = [LadderLaw.of(*width, epsilon) for width in widths]
    return float(np.mean([law.error() for law in laws])) / answers.clustering_unit


def _triangle_laws(answers: SketchAnswers) -> list[LadderLaw]:
    epsilon = float(answers.exact_epsilon * answers.shares.triangles)
    shares = np.linspace(*_SHARED, 2 * _N_WIDTHS + 1)[1::2]
    return [LadderLaw.of(_triangle_width(answers, share), 1, epsilon) for share in shares]


def _mean_clustering(answers: SketchAnswers) -> Interval:
    """Return the mean clustering: the capped sum, and what the cap may have removed."""
    ratio = answers.hub_ratio
    cap, lost = public_rules.clustering_cap(ratio), lost_by_cap(ratio)
    scale = capped_sensitivity(cap) / (answers.exact_epsilon * answers.shares.capped_sums[0])
    total = CAPPED_UNIT * answers.n_nodes
    value, low, high, _ = _around(answers.capped_sums[0], laplace_half_width(float(scale)), total)
    words = ""
    if lost > 2 * lost_by_cap(0.0):
        words = "friendships between hubs close more triangles than are counted"
    return Interval(
        min(value * (1 + lost) / total, 1.0),
        low / total,
        min(high * (1 + 2 * lost) / total, 1.0),
        words,
    )


def _sampled(answers: SketchAnswers) -> dict[str, Interval]:
    """Return the figures that follow from several answers."""
    rng = np.random.default_rng(0)
    point = _computed(answers)
    rows = [_computed(_sample_counts(answers, rng)) for _ in range(_N_SAMPLES)]
    found = {}
    for key, value in point.items():
        low, high = np.quantile([row[key] for row in rows], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        found[key] = Interval(value, min(float(low), value), max(float(high), value))
    mixing, hidden = found["assortativity"], _hidden_mixing(answers)
    more = _MIXING_ERROR + _HIDDEN_MIXING * hidden
    found["assortativity"] = Interval(
        mixing.value,
        max(mixing.low - more, -1.0),
        min(mixing.high + more, 1.0),
        "the noise of the degrees hides most of their differences" if hidden > 0.5 else "",
    )
    return found


def degree_estimate(answers: SketchAnswers) -> DegreeDistribution:
    """Estimate the degree distribution, with the sum that the number of edges gives."""
    epsilon, shares, n = answers.exact_epsilon, answers.shares, answers.n_nodes
    return answers.degree_distribution().with_sum(
        2 * min(max(answers.edge_count, 0), n * (n - 1) // 2),
        float(epsilon * shares.degree_counts / 2),
        float(epsilon * shares.largest_degrees / 2),
    )


def mixing_estimate(answers: SketchAnswers, degrees: np.ndarray, n_edges: int) -> BinnedEnds:
    """Estimate the edges between bins of true degrees, given the degree sequence."""
    n_bins = len(answers.bin_edges)
    return estimate_assortativity(
        degrees,
        ends_between(answers.bin_edges, n_edges),
        answers.bin_thresholds,
        answers.degree_noise_rate,
        n_bins + EXTRA_BINS,
        n_rounds(n_edges, n_bins, float(answers.exact_epsilon * answers.shares.bin_edges)),
    )


def _degrees(answers: SketchAnswers) -> np.ndarray:
    sequence = degree_estimate(answers).sequence(0.5)
    return np.asarray(np.minimum(sequence, answers.n_nodes - 1))


def _hidden_mixing(answers: SketchAnswers) -> float:
    """Return the share of the variance of noisy degrees, over ends of edges, that is noise."""
    d = _degrees(answers).astype(np.float64)
    total = max(float(d.sum()), 1.0)
    variance = (d**3).sum() / total - ((d**2).sum() / total) ** 2
    noise = 2 / answers.degree_noise_rate**2
    return float(noise / (noise + max(variance, 0.0)))


def _computed(answers: SketchAnswers) -> dict[str, float]:
    """Return the figures that follow from several answers, for one set of answers."""
    degrees = _degrees(answers)
    d = degrees.astype(np.float64)
    paths = float((d * (d - 1) / 2).sum())
    closed = min(3 * max(answers.triangles, 0) / paths, 1.0) if paths > 0 else 0.0
    edges = max(answers.edge_count, 1)
    return {
        "global_clustering": closed,
        "assortativity": mixing_estimate(answers, degrees, edges).assortativity,
        "modularity": block_modularity(ends_between(answers.block_edges, edges)),
    }

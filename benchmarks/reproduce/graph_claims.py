"""Claims of the paper about clustering and releasing graphs, judged by the numbers of a run.

Every function takes measurements and returns a verdict; no verdict is written down in advance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from coterie.base.progress import Iteration
from coterie.report.charts import percent, short

from .outcome import Claim, judge
from .published_figures import ALPHA, AlphaRun

OPTIMIZED, RANDOM = "optimized", "random"
Bars = tuple[list[int], list[float], list[float]]  # k, mean, standard deviation
_FEW_PERCENT = 0.05
_TENTH = 0.1
_HALF = 0.5
_NODES, _SECONDS = 30_000, 10.0  # the speed that the paper compares with Hay et al.


class AlphaRuns(NamedTuple):
    """One graph clustered with all nodes, and with a tenth of them, moving per iteration."""

    graph: str
    nodes: int
    start: float  # entropy of random labels
    at_once: Sequence[Iteration]  # α = 1
    tenth: Sequence[Iteration]  # α = 0.1
    tried: int  # iterations with α = 0.1 in total, including those after the figure
    locally_optimal: bool  # after them
    best: float  # entropy at the end of the best search

    @property
    def printed(self) -> AlphaRun:
        """The figures that the paper prints about this graph."""
        return ALPHA[self.graph]


def alpha(runs: AlphaRuns) -> list[Claim]:
    """Judge the claims about Figure 5 (CAIDA) or Figure 6 (astro-ph)."""
    claims = [_small_alpha(runs), _keeps_falling(runs), _printed_time(runs)]
    if runs.graph == "CAIDA":  # the graph of the paper's sentence
        claims.append(_thirty_thousand(runs))
    return [*claims, _locally_optimal(runs)]


def _small_alpha(runs: AlphaRuns) -> Claim:
    few, all_ = runs.tenth[-1].entropy, runs.at_once[-1].entropy
    fell, fell_at_once = 1 - few / runs.start, 1 - all_ / runs.start
    return judge(
        f"{runs.graph}: α = 1.0 does not work, α = 0.1 optimizes very well",
        fell > _FEW_PERCENT and fell_at_once < _HALF * fell,
        f"from {runs.start:,.0f} with random labels the entropy {_changes(fell)} with α = 0.1 "
        f"(to {few:,.0f}) and {_changes(fell_at_once)} with α = 1.0 (to {all_:,.0f})",
    )


def _changes(fall: float) -> str:
    """
    >>> _changes(0.5), _changes(-0.025)
    ('falls by 50.0 %', 'rises by 2.5 %')
    """
    return f"{'falls' if fall >= 0 else 'rises'} by {100 * abs(fall):.1f} %"


def _keeps_falling(runs: AlphaRuns) -> Claim:
    """Judge the rises after the first fall relative to the whole fall."""
    entropy = np.array([runs.start, *(h.entropy for h in runs.tenth)])
    steps = np.diff(entropy)
    falls = np.flatnonzero(steps < 0)
    after = steps[falls[0] :] if len(falls) else steps
    whole = runs.start - float(entropy[-1])
    risen = float(np.maximum(after, 0).sum() / whole) if whole > 0 else float("inf")
    rises = int((after > 0).sum())
    return judge(
        f"{runs.graph}: once S(Z) falls it keeps falling (α = 0.1)",
        risen < _FEW_PERCENT,
        f"{rises} of {len(after)} iterations rise, together by {percent(risen)} of the whole fall",
        in_part=rises > 0,
        remark="Nearly always." if 0 < risen < _FEW_PERCENT else "",
    )


def _printed_time(runs: AlphaRuns) -> Claim:
    printed, done, seconds = runs.printed, len(runs.tenth), runs.tenth[-1].seconds
    whole = done >= printed.iterations
    return judge(
        f"{runs.graph}: {printed.iterations} iterations take {printed.seconds:g} s on 32 cores",
        seconds <= printed.seconds,
        f"{done} iterations in {short(seconds)} s on this machine",
        in_part=not whole,
        remark="" if whole else "Fewer iterations were run (quick).",
    )


def _thirty_thousand(runs: AlphaRuns) -> Claim:
    seconds = runs.tenth[-1].seconds
    scaled = seconds * _NODES / runs.nodes
    whole = len(runs.tenth) >= runs.printed.iterations
    return judge(
        "A graph of 30,000 nodes is clustered in 10 s (Hay et al.: an hour for 5,000)",
        scaled <= _SECONDS,
        f"{runs.nodes:,} nodes in {short(seconds)} s; scaled to 30,000 nodes {short(scaled)} s",
        in_part=not whole,
        remark="" if whole else "Fewer iterations were run (quick).",
    )


def _locally_optimal(runs: AlphaRuns) -> Claim:
    found = "no improving move" if runs.locally_optimal else "moves that still improve"
    longer = runs.tried > len(runs.tenth)
    return judge(
        f"{runs.graph}: Generalized k-means ends in a locally optimal classification",
        runs.locally_optimal,
        f"a pass over all nodes finds {found} after {runs.tried:,} iterations; entropy "
        f"{runs.tenth[-1].entropy:,.0f}, with the best search {runs.best:,.0f}",
        in_part=longer,
        remark=f"Not within the {len(runs.tenth)} iterations of the figure."
        if longer and runs.locally_optimal
        else "",
    )


def entropy_against_k(graph: str, found: Mapping[str, list[float]], ks: Sequence[int]) -> Claim:
    """Judge entropy against k; very many blocks fit noise even with random labels."""
    optimized, random = (
        [1 - v / found[kind][0] for v in found[kind]] for kind in (OPTIMIZED, RANDOM)
    )
    falls = bool((np.diff(found[OPTIMIZED]) < 0).all())
    holds = falls and random[-1] < _HALF * optimized[-1]
    noise = random[-1] > _TENTH
    return judge(
        f"{graph}: with random clustering k hardly matters; with optimized clustering more blocks "
        "mean less entropy",
        holds,
        f"the entropy is lower than with k={ks[0]} by "
        + ", ".join(
            f"{100 * a:.0f} % (optimized) and {100 * b:.1f} % (random) at k={k}"
            for k, a, b in list(zip(ks, optimized, random, strict=True))[1:]
        ),
        in_part=noise,
        remark="With very many blocks even random clustering fits noise."
        if holds and noise
        else "",
    )


def released_property(
    graph: str, axis: str, found: Mapping[str, Bars], extension: Bars, original: float
) -> list[Claim]:
    """Judge error bars and closeness to the original, and the degree-corrected release."""
    tight, loose = (_widest(found[kind]) for kind in (OPTIMIZED, RANDOM))
    off, off_random, off_extension = (
        [abs(m / original - 1) for m in bars[1]]
        for bars in (found[OPTIMIZED], found[RANDOM], extension)
    )
    nearest = min(off)
    preserved = off[-1] < off_random[-1] and nearest < _HALF
    return [
        judge(
            f"{graph}: error bars of the {axis} are very tight",
            tight < _FEW_PERCENT,
            f"largest standard deviation: {100 * tight:.2f} % of the mean (optimized), "
            f"{100 * loose:.2f} % (random)",
            in_part=loose >= _FEW_PERCENT,
            remark="Not with random clustering." if tight < _FEW_PERCENT <= loose else "",
        ),
        judge(
            f"{graph}: entropy optimization preserves the {axis}",
            preserved,
            f"original {short(original)}; at the largest k optimized "
            f"{short(found[OPTIMIZED][1][-1])} ({100 * off[-1]:.0f} % off), random "
            f"{short(found[RANDOM][1][-1])} ({100 * off_random[-1]:.0f} % off)",
            in_part=nearest > _TENTH,
            remark=f"Closer than random, but at best {100 * nearest:.0f} % off."
            if preserved and nearest > _TENTH
            else "",
        ),
        judge(
            f"{graph}: the degree-corrected release is closer to the original in {axis}",
            min(off_extension) < nearest,
            f"{100 * min(off_extension):.1f} % off; the model of the paper at best "
            f"{100 * nearest:.1f} % off",
            extension=True,
        ),
    ]


def _widest(bars: Bars) -> float:
    """Return the largest standard deviation relative to its mean."""
    return max((s / m for m, s in zip(bars[1], bars[2], strict=True) if m > 0), default=0.0)


class Draws(NamedTuple):
    """Edges and global clustering of each graph drawn from one model."""

    edges: list[int]
    clustering: list[float]


def exact_counts(graph: str, bernoulli: Draws, exact: Draws) -> Claim:
    """Judge whether edge counts vary: constant with Hay et al., random in the paper."""
    gcc = [float(np.mean(d.clustering)) for d in (bernoulli, exact)]
    alike = abs(gcc[0] - gcc[1]) < _FEW_PERCENT * max(gcc[1], 1e-12)
    holds = len(set(exact.edges)) == 1 and len(set(bernoulli.edges)) > 1
    return judge(
        f"{graph}: edge counts between clusters are constant with Hay et al. and vary here",
        holds,
        f"number of edges: {min(bernoulli.edges):,} to {max(bernoulli.edges):,} (Bernoulli), "
        f"{min(exact.edges):,} to {max(exact.edges):,} (exact counts); global clustering "
        f"{short(gcc[0])} and {short(gcc[1])}",
        in_part=alike,
        remark="The global clustering hardly differs." if holds and alike else "",
    )


class Degrees(NamedTuple):
    """Distance of a release's degrees from the original's, and nodes without edges."""

    ks: float
    isolates: int


def degrees(graph: str, k: int, best: Degrees, random: Degrees, extension: Degrees) -> Claim:
    """Judge the degree distributions of releases."""
    preserved = best.ks < _HALF * random.ks
    return judge(
        f"{graph}: optimized clustering preserves the degree distribution",
        preserved,
        f"Kolmogorov-Smirnov distance at k={k}: {short(best.ks)} optimized, {short(random.ks)} "
        f"random, {short(extension.ks)} degree-corrected (extension); isolated nodes: "
        f"{best.isolates:,}, {random.isolates:,}, {extension.isolates:,}",
        in_part=best.ks > _FEW_PERCENT,
        remark="Closer than random, but still visibly different."
        if preserved and best.ks > _FEW_PERCENT
        else "",
    )

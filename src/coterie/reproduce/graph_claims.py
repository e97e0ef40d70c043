"""What the paper says of clustering graphs and of graphs drawn anew, held against a run.

Every function takes what was measured and gives the verdict; none knows how it will come out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from coterie.base.progress import Iteration
from coterie.report.charts import percent, short
from coterie.reproduce.outcome import Claim, judge
from coterie.reproduce.published_figures import ALPHA, AlphaRun

OPTIMIZED, RANDOM = "optimized", "random"
Bars = tuple[list[int], list[float], list[float]]  # k, mean, standard deviation
_FEW_PERCENT = 0.05
_TENTH = 0.1
_HALF = 0.5
_NODES, _SECONDS = 30_000, 10.0  # what the paper says of its speed beside Hay et al.


class AlphaRuns(NamedTuple):
    """One graph clustered by all nodes at once and by a tenth of them at a time."""

    graph: str
    nodes: int
    start: float  # S of random labels
    at_once: Sequence[Iteration]  # α = 1
    tenth: Sequence[Iteration]  # α = 0.1
    tried: int  # iterations of α = 0.1 in all, those of the figure and what was added
    locally_optimal: bool  # after them
    best: float  # S where our best search ends

    @property
    def printed(self) -> AlphaRun:
        return ALPHA[self.graph]


def alpha(runs: AlphaRuns) -> list[Claim]:
    """Figures fig:compare:ascaida and fig:compare:astroph."""
    claims = [_small_alpha(runs), _keeps_falling(runs), _printed_time(runs)]
    if runs.graph == "CAIDA":  # the graph that the paper's sentence is about
        claims.append(_thirty_thousand(runs))
    return [*claims, _locally_optimal(runs)]


def _small_alpha(runs: AlphaRuns) -> Claim:
    few, all_ = runs.tenth[-1].entropy, runs.at_once[-1].entropy
    fell, fell_at_once = 1 - few / runs.start, 1 - all_ / runs.start
    return judge(
        f"{runs.graph}: α = 1.0 does not work, α = 0.1 optimizes very well",
        fell > _FEW_PERCENT and fell_at_once < _HALF * fell,
        f"from {runs.start:,.0f} at random the entropy {_changes(fell)} with 0.1 (to {few:,.0f}) "
        f"and {_changes(fell_at_once)} with 1.0 (to {all_:,.0f})",
    )


def _changes(fall: float) -> str:
    """
    >>> _changes(0.5), _changes(-0.025)
    ('falls by 50.0 %', 'rises by 2.5 %')
    """
    return f"{'falls' if fall >= 0 else 'rises'} by {100 * abs(fall):.1f} %"


def _keeps_falling(runs: AlphaRuns) -> Claim:
    """Rises after the first fall, against all that was won."""
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
        but=rises > 0,
        remark="Nearly always." if 0 < risen < _FEW_PERCENT else "",
    )


def _printed_time(runs: AlphaRuns) -> Claim:
    printed, done, seconds = runs.printed, len(runs.tenth), runs.tenth[-1].seconds
    whole = done >= printed.iterations
    return judge(
        f"{runs.graph}: {printed.iterations} iterations take {printed.seconds:g} s on 32 cores",
        seconds <= printed.seconds,
        f"{done} iterations in {short(seconds)} s on this machine",
        but=not whole,
        remark="" if whole else "Fewer iterations were run (--quick).",
    )


def _thirty_thousand(runs: AlphaRuns) -> Claim:
    seconds = runs.tenth[-1].seconds
    scaled = seconds * _NODES / runs.nodes
    whole = len(runs.tenth) >= runs.printed.iterations
    return judge(
        "A graph of 30,000 nodes is clustered in 10 s (Hay et al.: an hour for 5,000)",
        scaled <= _SECONDS,
        f"{runs.nodes:,} nodes in {short(seconds)} s, in proportion {short(scaled)} s for 30,000",
        but=not whole,
        remark="" if whole else "Fewer iterations were run (--quick).",
    )


def _locally_optimal(runs: AlphaRuns) -> Claim:
    found = "no single move that helps" if runs.locally_optimal else "single moves that still help"
    longer = runs.tried > len(runs.tenth)
    return judge(
        f"{runs.graph}: Generalized k-means ends in a locally optimal classification",
        runs.locally_optimal,
        f"a full pass finds {found} after {runs.tried:,} iterations; best search ends at "
        f"{runs.best:,.0f} against {runs.tenth[-1].entropy:,.0f}",
        but=longer,
        remark=f"The {len(runs.tenth)} iterations of its figure do not suffice."
        if longer and runs.locally_optimal
        else "",
    )


def entropy_against_k(graph: str, found: Mapping[str, list[float]], ks: Sequence[int]) -> Claim:
    """Random labels cannot explain a graph, but very many cells can fit its noise."""
    optimized, random = (
        [1 - v / found[kind][0] for v in found[kind]] for kind in (OPTIMIZED, RANDOM)
    )
    falls = bool((np.diff(found[OPTIMIZED]) < 0).all())
    holds = falls and random[-1] < _HALF * optimized[-1]
    noise = random[-1] > _TENTH
    return judge(
        f"{graph}: k hardly matters for random clustering; "
        "optimized, more blocks mean less entropy",
        holds,
        f"compared with k={ks[0]} the entropy is lower by "
        + ", ".join(
            f"{100 * a:.0f} % optimized and {100 * b:.1f} % random at k={k}"
            for k, a, b in list(zip(ks, optimized, random, strict=True))[1:]
        ),
        but=noise,
        remark="With very many blocks even random ones fit noise." if holds and noise else "",
    )


def released_property(
    graph: str, axis: str, found: Mapping[str, Bars], ours: Bars, original: float
) -> list[Claim]:
    """Error bars, nearness to the original, and whether our release is nearer."""
    tight, loose = (_widest(found[kind]) for kind in (OPTIMIZED, RANDOM))
    off, off_random, off_ours = (
        [abs(m / original - 1) for m in bars[1]] for bars in (found[OPTIMIZED], found[RANDOM], ours)
    )
    nearest = min(off)
    preserved = off[-1] < off_random[-1] and nearest < _HALF
    return [
        judge(
            f"{graph}: error bars of the {axis} are very tight",
            tight < _FEW_PERCENT,
            f"largest standard deviation: {100 * tight:.2f} % of the mean optimized, "
            f"{100 * loose:.2f} % random",
            but=loose >= _FEW_PERCENT,
            remark="Not with random clustering." if tight < _FEW_PERCENT <= loose else "",
        ),
        judge(
            f"{graph}: entropy optimization preserves the {axis}",
            preserved,
            f"original {short(original)}; at the largest k {short(found[OPTIMIZED][1][-1])} "
            f"optimized ({100 * off[-1]:.0f} % off), {short(found[RANDOM][1][-1])} random "
            f"({100 * off_random[-1]:.0f} % off)",
            but=nearest > _TENTH,
            remark=f"Better than random, but {100 * nearest:.0f} % off at best."
            if preserved and nearest > _TENTH
            else "",
        ),
        judge(
            f"Ours: {graph}: the degree-corrected release comes nearer in {axis}",
            min(off_ours) < nearest,
            f"{100 * min(off_ours):.1f} % off against {100 * nearest:.1f} %",
        ),
    ]


def _widest(bars: Bars) -> float:
    """The largest standard deviation as a share of its mean."""
    return max((s / m for m, s in zip(bars[1], bars[2], strict=True) if m > 0), default=0.0)


class Draws(NamedTuple):
    """Edges and global clustering of each graph drawn one way."""

    edges: list[int]
    clustering: list[float]


def exact_counts(graph: str, bernoulli: Draws, exact: Draws) -> Claim:
    """Hay et al. rearrange a constant number of edges between clusters; here it is drawn."""
    gcc = [float(np.mean(d.clustering)) for d in (bernoulli, exact)]
    alike = abs(gcc[0] - gcc[1]) < _FEW_PERCENT * max(gcc[1], 1e-12)
    holds = len(set(exact.edges)) == 1 and len(set(bernoulli.edges)) > 1
    return judge(
        f"{graph}: Hay et al. keep the edges between clusters constant, here it may change",
        holds,
        f"edges over draws: {min(bernoulli.edges):,} to {max(bernoulli.edges):,} (Bernoulli), "
        f"{min(exact.edges):,} to {max(exact.edges):,} (exact counts); global clustering "
        f"{short(gcc[0])} and {short(gcc[1])}",
        but=alike,
        remark="The properties hardly differ." if holds and alike else "",
    )


class Degrees(NamedTuple):
    """How far a release's degrees are from the original's, and who lost every edge."""

    ks: float
    isolates: int


def degrees(graph: str, k: int, best: Degrees, random: Degrees, ours: Degrees) -> Claim:
    preserved = best.ks < _HALF * random.ks
    return judge(
        f"{graph}: optimized clustering preserves the degree distribution",
        preserved,
        f"KS distance at k={k}: {short(best.ks)} optimized, {short(random.ks)} random, "
        f"{short(ours.ks)} degree-corrected (ours); isolated nodes {best.isolates:,}, "
        f"{random.isolates:,}, {ours.isolates:,}",
        but=best.ks > _FEW_PERCENT,
        remark="Nearer than random, still visibly off."
        if preserved and best.ks > _FEW_PERCENT
        else "",
    )

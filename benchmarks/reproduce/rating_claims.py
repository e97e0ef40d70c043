"""Claims of the paper about clustering ratings, judged by the numbers of a run.

Every function takes measurements and returns a verdict; no verdict is written down in advance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from coterie.base.progress import Iteration
from coterie.report.charts import short

from .outcome import Claim, judge
from .published_figures import TABLE_2, TABLE_3
from .rating_runs import FACTORED, HARD, SAMPLED, TEXTBOOK, RatingRun

Costs = Mapping[tuple[str, int], float]  # seconds per iteration by method and groups
_SLOWEST = SAMPLED[-1]
_MUCH = 5.0  # times faster
_SETTLED = 1.001  # within a thousandth of the final entropy
_MOMENTS = 60  # times at which runs are compared, in equal steps of log time


class FoldMeans(NamedTuple):
    """Means over the folds of one method."""

    entropy: float
    rmse: float
    seconds: float


def median_step(history: Sequence[Iteration]) -> float:
    """Return the median time between iterations; for a single iteration, its whole time."""
    steps = np.diff([0.0, *(h.seconds for h in history)])
    return float(np.median(steps[1:] if len(steps) > 1 else steps))


def time_to(run: RatingRun, entropy: float) -> float:
    """Return the seconds until a run first reached an entropy; infinity if it did not."""
    return next((h.seconds for h in run.history if h.entropy <= entropy), float("inf"))


def efficiency(mmsbm: RatingRun, sampled: Sequence[RatingRun], budget: float) -> Claim:
    """Judge for which part of the time the best sampled run has the lower entropy."""
    begin = max(r.history[0].seconds for r in (mmsbm, *sampled))
    moments = np.geomspace(begin, max(budget, begin), _MOMENTS)
    ahead = float(
        np.mean(
            [min(r.entropy_after(t) for r in sampled) < mmsbm.entropy_after(t) for t in moments]
        )
    )
    early = max(budget / 10, begin)
    return judge(
        "MCMMSBM optimizes entropy more efficiently than MMSBM (10 groups, by time)",
        ahead >= 0.5,
        f"the best MCMMSBM has the lower entropy for {100 * ahead:.0f} % of the time from "
        f"{short(begin)} to {short(budget)} s (log scale); after {short(early)} s: "
        + ", ".join(
            f"{r.method.removeprefix('MCMMSBM ')} {r.entropy_after(early):,.0f}"
            for r in (mmsbm, *sampled)
        ),
        in_part=ahead < 1,
        remark="Not at all times." if 0.5 <= ahead < 1 else "",
    )


def growth(costs: Costs) -> Claim:
    """Judge the time per iteration of MMSBM relative to s=30, for growing k = l."""
    ks = sorted({k for _, k in costs})
    ratio = [costs[TEXTBOOK, k] / costs[_SLOWEST, k] for k in ks]
    rising = all(a < b for a, b in pairwise(ratio))
    return judge(
        "With bigger k, l MCMMSBM becomes more efficient than MMSBM",
        rising and ratio[-1] > 1,
        "time per iteration of MMSBM divided by that of s=30: "
        + ", ".join(f"{short(r)} at k={k}" for k, r in zip(ks, ratio, strict=True)),
        in_part=ratio[0] < 1,
        remark=f"At k={ks[0]} sampling is slower." if ratio[0] < 1 < ratio[-1] else "",
    )


def samples(sampled: Sequence[RatingRun]) -> Claim:
    """Judge runs with growing s: slower iterations, lower final entropy."""
    times = [median_step(r.history) for r in sampled]
    ends = [r.entropy for r in sampled]
    steady = all(a < b for a, b in pairwise(times)) and all(a > b for a, b in pairwise(ends))
    return judge(
        "s is a trade-off: a small s is fastest per iteration and ends at a higher entropy",
        times[0] < times[-1] and ends[0] > ends[-1],
        "; ".join(
            f"{r.method.removeprefix('MCMMSBM ')}: {short(1000 * t)} ms per iteration, ends at "
            f"{r.entropy:,.0f}"
            for r, t in zip(sampled, times, strict=True)
        ),
        in_part=not steady,
        remark="" if steady else "Not between every two values of s.",
    )


def lowest_end(mmsbm: RatingRun, s30: RatingRun) -> Claim:
    """Judge the final entropies of s=30 and MMSBM."""
    printed = TABLE_2[_SLOWEST].entropy, TABLE_2[TEXTBOOK].entropy
    return judge(
        "At the end of the time the entropy of MCMMSBM with s=30 is below that of MMSBM",
        s30.entropy < mmsbm.entropy,
        f"{s30.entropy:,.0f} and {mmsbm.entropy:,.0f}; the paper: {printed[0]:,.0f} and "
        f"{printed[1]:,.0f}",
    )


def factored(extension: RatingRun, papers: Sequence[RatingRun], costs: Costs) -> Claim:
    """Judge the factored exact update: entropy as low as any, and faster per iteration."""
    k = max(k for _, k in costs)
    cost = {m: 1000 * costs[m, k] for m in (FACTORED, _SLOWEST, TEXTBOOK)}
    return judge(
        "The exact update, factored, makes sampling unnecessary",
        extension.entropy <= min(r.entropy for r in papers) * _SETTLED
        and cost[FACTORED] < cost[_SLOWEST],
        f"{extension.entropy:,.0f}, within 0.1 % of it after "
        f"{short(time_to(extension, extension.entropy * _SETTLED))} s; "
        f"{short(cost[FACTORED])} ms per iteration at k={k}, {short(cost[_SLOWEST])} ms with s=30, "
        f"{short(cost[TEXTBOOK])} ms as printed",
        extension=True,
    )


def prediction(means: Mapping[str, FoldMeans]) -> list[Claim]:
    """Judge Table 2: whether less entropy predicts better, and s=30 better than MMSBM."""
    papers = (TEXTBOOK, *SAMPLED)
    entropy = [means[m].entropy for m in papers]
    rmse = [means[m].rmse for m in papers]
    rank = _rank_correlation(entropy, rmse)
    lowest = papers[int(np.argmin(entropy))]
    first, second = means[_SLOWEST].rmse, means[TEXTBOOK].rmse
    return [
        judge(
            "Small entropy implies nice prediction",
            rank > 0,
            f"rank correlation of entropy and RMSE over four methods: {rank:.2f}; lowest entropy: "
            f"{lowest}, RMSE {means[lowest].rmse:.4f}; best RMSE {min(rmse):.4f}",
            in_part=rank < 0.9,
            remark="Not for every pair of methods." if 0 < rank < 0.9 else "",
        ),
        judge(
            "MCMMSBM (s=30) predicts better than MMSBM in the same time",
            first < second,
            f"RMSE {first:.4f} and {second:.4f}; the paper: {TABLE_2[_SLOWEST].rmse:.4f} "
            f"and {TABLE_2[TEXTBOOK].rmse:.4f}",
        ),
    ]


def hard_is_faster(hard: RatingRun, soft: RatingRun) -> Claim:
    """Judge when each settles, and whether soft reaches hard's final entropy first."""
    settled, later = (time_to(r, r.entropy * _SETTLED) for r in (hard, soft))
    reached = time_to(soft, hard.entropy)
    overtaken, much = reached < settled, later >= _MUCH * settled
    when = f"after {short(reached)} s" if np.isfinite(reached) else "not within its time"
    remarks = {
        "Soft clustering reaches the final entropy of hard clustering first.": overtaken,
        "Faster, but less than five times.": not much,
    }
    return judge(
        "Hard clustering is much faster than soft clustering",
        settled < later,
        f"hard settles in {short(settled)} s, s=30 in {short(later)} s; s=30 reaches the final "
        f"entropy of hard {when}",
        in_part=overtaken or not much,
        remark=" ".join(text for text, true in remarks.items() if true) if settled < later else "",
    )


def hard_ends_higher(hard: RatingRun, soft: RatingRun) -> Claim:
    """Judge the final entropies of hard and soft clustering."""
    return judge(
        "The optimized entropy of hard clustering is bigger",
        hard.entropy > soft.entropy,
        f"{hard.entropy:,.0f} and {soft.entropy:,.0f}; the paper: {TABLE_3[HARD].entropy:,.0f} "
        f"and {TABLE_3[_SLOWEST].entropy:,.0f}",
    )


def hard_is_cheaper(hard: FoldMeans, soft: FoldMeans) -> Claim:
    """Judge time and RMSE of hard and soft clustering."""
    printed = TABLE_3[HARD], TABLE_3[_SLOWEST]
    return judge(
        "Hard clustering is cheaper, with a worse quality than soft clustering",
        hard.seconds < soft.seconds and hard.rmse > soft.rmse,
        f"hard {short(hard.seconds)} s, RMSE {hard.rmse:.4f}; soft "
        f"{short(soft.seconds)} s, {soft.rmse:.4f}. The paper: {printed[0].seconds:g} s, "
        f"{printed[0].rmse:.4f}; {printed[1].seconds:g} s, {printed[1].rmse:.4f}",
    )


def additive(best: FoldMeans, *papers: FoldMeans) -> Claim:
    """Judge the RMSE of the additive block model."""
    return judge(
        "A sum of small hard block models (additive block model) predicts better than both",
        best.rmse < min(p.rmse for p in papers),
        f"RMSE {best.rmse:.4f} in {short(best.seconds)} s per fold",
        extension=True,
    )


def _rank_correlation(a: list[float], b: list[float]) -> float:
    """Return Spearman's rank correlation."""
    x, y = np.argsort(np.argsort(a)), np.argsort(np.argsort(b))
    return float(np.corrcoef(x, y)[0, 1])

"""What the paper says of soft and hard clustering of ratings, held against a run.

Every function takes what was measured and gives the verdict; none knows how it will come out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from coterie.base.progress import Iteration
from coterie.report.charts import short
from coterie.reproduce.outcome import Claim, judge
from coterie.reproduce.published_figures import TABLE_2, TABLE_3
from coterie.reproduce.rating_runs import FACTORED, HARD, SAMPLED, TEXTBOOK, RatingRun

Costs = Mapping[tuple[str, int], float]  # seconds of an iteration by method and groups
Means = Mapping[str, Mapping[str, float]]  # entropy, rmse, seconds by method
_SLOWEST = SAMPLED[-1]
_MUCH = 5.0  # times faster
_SETTLED = 1.001  # within a thousandth of where it ends
_MOMENTS = 60  # at which runs are compared, in equal steps of log time


def median_step(history: Sequence[Iteration]) -> float:
    """The median time between iterations; of a single one, all its time."""
    steps = np.diff([0.0, *(h.seconds for h in history)])
    return float(np.median(steps[1:] if len(steps) > 1 else steps))


def time_to(run: RatingRun, entropy: float) -> float:
    """When a run first came down to an entropy; never is infinite."""
    return next((h.seconds for h in run.history if h.entropy <= entropy), float("inf"))


def efficiency(mmsbm: RatingRun, sampled: Sequence[RatingRun], budget: float) -> Claim:
    """Of the time in which all have something to show, how much of it is sampling ahead?"""
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
        f"from {short(begin)} to {short(budget)} s (in equal steps of log time) the best of the "
        f"sampled is ahead for {100 * ahead:.0f} % of it; after {short(early)} s: "
        + ", ".join(
            f"{r.method.removeprefix('MCMMSBM ')} {r.entropy_after(early):,.0f}"
            for r in (mmsbm, *sampled)
        ),
        but=ahead < 1,
        remark="Not at all times." if 0.5 <= ahead < 1 else "",
    )


def growth(costs: Costs) -> Claim:
    """An iteration of MMSBM over one with s=30, for growing k = l."""
    ks = sorted({k for _, k in costs})
    ratio = [costs[TEXTBOOK, k] / costs[_SLOWEST, k] for k in ks]
    rising = all(a < b for a, b in pairwise(ratio))
    return judge(
        "With bigger k, l MCMMSBM becomes more efficient than MMSBM",
        rising and ratio[-1] > 1,
        "time of an MMSBM iteration over one with s=30: "
        + ", ".join(f"{short(r)} at k={k}" for k, r in zip(ks, ratio, strict=True)),
        but=ratio[0] < 1,
        remark=f"At k={ks[0]} sampling is the slower one." if ratio[0] < 1 < ratio[-1] else "",
    )


def samples(sampled: Sequence[RatingRun]) -> Claim:
    """Runs with growing s: dearer iterations, lower ends."""
    times = [median_step(r.history) for r in sampled]
    ends = [r.entropy for r in sampled]
    steady = all(a < b for a, b in pairwise(times)) and all(a > b for a, b in pairwise(ends))
    return judge(
        "s is a trade-off: small s is fastest an iteration and ends higher",
        times[0] < times[-1] and ends[0] > ends[-1],
        "; ".join(
            f"{r.method.removeprefix('MCMMSBM ')}: {short(1000 * t)} ms an iteration, ends at "
            f"{r.entropy:,.0f}"
            for r, t in zip(sampled, times, strict=True)
        ),
        but=not steady,
        remark="" if steady else "Not for every step of s.",
    )


def lowest_end(mmsbm: RatingRun, s30: RatingRun) -> Claim:
    printed = TABLE_2[_SLOWEST].entropy, TABLE_2[TEXTBOOK].entropy
    return judge(
        "At the end of the time the entropy of s=30 is below MMSBM's",
        s30.entropy < mmsbm.entropy,
        f"{s30.entropy:,.0f} against {mmsbm.entropy:,.0f}; the paper {printed[0]:,.0f} against "
        f"{printed[1]:,.0f}",
    )


def factored(ours: RatingRun, papers: Sequence[RatingRun], costs: Costs) -> Claim:
    """The exact update without the k·l factor: as low as any, and cheaper an iteration."""
    k = max(k for _, k in costs)
    cost = {m: 1000 * costs[m, k] for m in (FACTORED, _SLOWEST, TEXTBOOK)}
    return judge(
        "Ours: the exact update, factored, makes sampling unnecessary",
        ours.entropy <= min(r.entropy for r in papers) * _SETTLED
        and cost[FACTORED] < cost[_SLOWEST],
        f"{ours.entropy:,.0f}, nearly there after {short(time_to(ours, ours.entropy * _SETTLED))} "
        f"s; {short(cost[FACTORED])} ms an iteration at k={k} against {short(cost[_SLOWEST])} "
        f"(s=30) and {short(cost[TEXTBOOK])} (as printed)",
    )


def prediction(means: Means) -> list[Claim]:
    """Table cl:table2: does less entropy predict better, and s=30 better than MMSBM?"""
    papers = (TEXTBOOK, *SAMPLED)
    entropy, rmse = ([means[m][key] for m in papers] for key in ("entropy", "rmse"))
    rank = _rank_correlation(entropy, rmse)
    lowest = papers[int(np.argmin(entropy))]
    first, second = means[_SLOWEST]["rmse"], means[TEXTBOOK]["rmse"]
    return [
        judge(
            "Small entropy implies nice prediction",
            rank > 0,
            f"rank correlation of entropy and RMSE over the four: {rank:.2f}; lowest entropy: "
            f"{lowest}, RMSE {means[lowest]['rmse']:.4f}; best RMSE {min(rmse):.4f}",
            but=rank < 0.9,
            remark="Not for every pair of them." if 0 < rank < 0.9 else "",
        ),
        judge(
            "MCMMSBM (s=30) predicts better than MMSBM in the same time",
            first < second,
            f"RMSE {first:.4f} against {second:.4f}; the paper {TABLE_2[_SLOWEST].rmse:.4f} "
            f"against {TABLE_2[TEXTBOOK].rmse:.4f}",
        ),
    ]


def hard_is_faster(hard: RatingRun, soft: RatingRun) -> Claim:
    """When each has settled, and whether soft was below hard's end before hard got there."""
    settled, later = (time_to(r, r.entropy * _SETTLED) for r in (hard, soft))
    passed = time_to(soft, hard.entropy)
    overtaken, much = passed < settled, later >= _MUCH * settled
    when = f"after {short(passed)} s" if np.isfinite(passed) else "never in its time"
    remarks = {
        "Soft is below hard's end before hard is there.": overtaken,
        "Faster, not much faster.": not much,
    }
    return judge(
        "Hard clustering is much faster than soft clustering",
        settled < later,
        f"hard settles in {short(settled)} s, s=30 in {short(later)} s; s=30 passes hard's "
        f"entropy {when}",
        but=overtaken or not much,
        remark=" ".join(text for text, true in remarks.items() if true) if settled < later else "",
    )


def hard_ends_higher(hard: RatingRun, soft: RatingRun) -> Claim:
    return judge(
        "The optimized entropy of hard clustering is bigger",
        hard.entropy > soft.entropy,
        f"{hard.entropy:,.0f} against {soft.entropy:,.0f}; the paper {TABLE_3[HARD].entropy:,.0f} "
        f"against {TABLE_3[_SLOWEST].entropy:,.0f}",
    )


def hard_is_cheaper(hard: Mapping[str, float], soft: Mapping[str, float]) -> Claim:
    printed = TABLE_3[HARD], TABLE_3[_SLOWEST]
    return judge(
        "Hard clustering is cheaper, with a worse quality than soft clustering",
        hard["seconds"] < soft["seconds"] and hard["rmse"] > soft["rmse"],
        f"{short(hard['seconds'])} s and RMSE {hard['rmse']:.4f} against "
        f"{short(soft['seconds'])} s and {soft['rmse']:.4f}; the paper {printed[0].seconds:g} s "
        f"and {printed[0].rmse:.4f} against {printed[1].seconds:g} s and {printed[1].rmse:.4f}",
    )


def additive(best: Mapping[str, float], *papers: Mapping[str, float]) -> Claim:
    return judge(
        "Ours: a sum of small hard block models predicts better than either",
        best["rmse"] < min(p["rmse"] for p in papers),
        f"RMSE {best['rmse']:.4f} in {short(best['seconds'])} s a fold",
    )


def _rank_correlation(a: list[float], b: list[float]) -> float:
    """Spearman's."""
    x, y = np.argsort(np.argsort(a)), np.argsort(np.argsort(b))
    return float(np.corrcoef(x, y)[0, 1])

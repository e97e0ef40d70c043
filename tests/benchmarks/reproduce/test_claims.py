"""Verdicts follow from the numbers: every claim is tested with numbers for each verdict."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from benchmarks.reproduce.graph_claims import OPTIMIZED, RANDOM, Degrees, Draws
from benchmarks.reproduce.outcome import FAILS, HOLDS, REMARK
from benchmarks.reproduce.rating_claims import FoldMeans
from benchmarks.reproduce.rating_runs import FACTORED, SAMPLED, TEXTBOOK, RatingRun
from benchmarks.reproduce.tradeoff_figures import TradeoffPoint, judged

from benchmarks.reproduce import graph_claims, rating_claims
from coterie.base.progress import Iteration


def run(method: str, entropies: Sequence[float], step: float = 1.0, rmse: float = 1.0) -> RatingRun:
    history = [Iteration(i, step * i, s) for i, s in enumerate(entropies, start=1)]
    return RatingRun(method, 10, 0, history, min(entropies), rmse, history[-1].seconds)


@pytest.mark.parametrize(
    ("mmsbm", "sampled", "verdict"),
    [
        ([9, 8, 7, 6, 5, 4], [8, 7, 6, 5, 4, 3], HOLDS),
        ([9, 8, 7, 6, 5, 2], [8, 7, 6, 5, 4, 3], REMARK),
        ([9, 8, 7, 6, 5, 4], [9, 9, 9, 9, 9, 3], FAILS),
    ],
)
def test_sampling_reaches_low_entropy_earlier(
    mmsbm: list[float], sampled: list[float], verdict: str
) -> None:
    runs = run(TEXTBOOK, mmsbm), [run(s, sampled) for s in SAMPLED]
    assert rating_claims.efficiency(*runs, budget=6.0).verdict == verdict


@pytest.mark.parametrize(
    ("textbook", "verdict"),
    [
        ((2, 20, 200), HOLDS),
        ((0.5, 3, 40), REMARK),
        ((2, 1.5, 1.2), FAILS),
        ((0.1, 0.2, 0.3), FAILS),
    ],
)
def test_mmsbm_gets_slower_with_more_groups(textbook: Sequence[float], verdict: str) -> None:
    costs = {(SAMPLED[2], k): 1.0 for k in (10, 30, 100)}
    costs |= {(TEXTBOOK, k): cost for k, cost in zip((10, 30, 100), textbook, strict=True)}
    assert rating_claims.growth(costs).verdict == verdict


@pytest.mark.parametrize(
    ("steps", "ends", "verdict"),
    [
        ((1, 2, 3), (30, 20, 10), HOLDS),
        ((1, 3, 2), (30, 20, 10), REMARK),
        ((3, 2, 1), (30, 20, 10), FAILS),
        ((1, 2, 3), (10, 20, 30), FAILS),
    ],
)
def test_number_of_samples_trades_speed_for_entropy(
    steps: Sequence[float], ends: Sequence[float], verdict: str
) -> None:
    runs = [run(s, [99, end], step) for s, end, step in zip(SAMPLED, ends, steps, strict=True)]
    assert rating_claims.samples(runs).verdict == verdict


@pytest.mark.parametrize(("s30", "verdict"), [(5, HOLDS), (15, FAILS)])
def test_final_entropy_of_30_samples_is_compared_with_mmsbm(s30: float, verdict: str) -> None:
    assert rating_claims.lowest_end(run(TEXTBOOK, [10]), run(SAMPLED[2], [s30])).verdict == verdict


@pytest.mark.parametrize(
    ("entropy", "cost", "verdict"), [(10, 1, HOLDS), (12, 1, FAILS), (10, 3, FAILS)]
)
def test_factored_update_is_as_good_and_faster(entropy: float, cost: float, verdict: str) -> None:
    costs = {(FACTORED, 9): cost, (SAMPLED[2], 9): 2.0, (TEXTBOOK, 9): 9.0}
    papers = [run(TEXTBOOK, [10]), run(SAMPLED[2], [11])]
    assert rating_claims.factored(run(FACTORED, [entropy]), papers, costs).verdict == verdict


@pytest.mark.parametrize(
    ("rmse", "verdicts"),
    [
        ((0.93, 0.94, 0.92, 0.91), [HOLDS, HOLDS]),  # in the order of the entropies
        ((0.91, 0.94, 0.93, 0.92), [REMARK, FAILS]),
        ((0.91, 0.90, 0.92, 0.93), [FAILS, FAILS]),
    ],
)
def test_low_entropy_predicts_well(rmse: Sequence[float], verdicts: list[str]) -> None:
    entropies = (3.0, 4.0, 2.0, 1.0)
    means = {
        m: FoldMeans(s, e, 1.0)
        for m, s, e in zip((TEXTBOOK, *SAMPLED), entropies, rmse, strict=True)
    }
    assert [c.verdict for c in rating_claims.prediction(means)] == verdicts


@pytest.mark.parametrize(
    ("soft", "verdict"),
    [
        ([40, 30, 20, 15, 14, 13, 12, 11, 10, 9, 8, 5], HOLDS),
        (
            [19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 5],
            REMARK,
        ),  # reaches the final entropy of hard at once
        ([40, 30, 20, 5], REMARK),  # less than five times faster
        ([5, 5], FAILS),
    ],
)
def test_hard_clustering_is_much_faster(soft: list[float], verdict: str) -> None:
    hard = run("hard", [50, 20])
    assert rating_claims.hard_is_faster(hard, run("soft", soft)).verdict == verdict


def test_hard_clustering_is_cheaper_and_worse() -> None:
    soft = FoldMeans(1.0, 0.94, 15.0)
    for seconds, rmse, verdict in ((1, 0.96, HOLDS), (1, 0.93, FAILS), (20, 0.96, FAILS)):
        found = rating_claims.hard_is_cheaper(FoldMeans(1.0, rmse, seconds), soft)
        assert found.verdict == verdict
    assert rating_claims.hard_ends_higher(run("h", [9]), run("s", [8])).verdict == HOLDS
    assert rating_claims.hard_ends_higher(run("h", [7]), run("s", [8])).verdict == FAILS
    assert rating_claims.additive(FoldMeans(1.0, 0.9, 1.0), soft).verdict == HOLDS
    assert rating_claims.additive(FoldMeans(1.0, 0.95, 1.0), soft).verdict == FAILS


def alpha(
    tenth: Sequence[float],
    at_once: Sequence[float] = (101.0,),
    *,
    step: float = 0.01,
    iterations: int = 300,
    tried: int = 300,
    optimal: bool = True,
) -> dict[str, str]:
    """Return the verdicts by a word of each claim."""
    padded = [*tenth, *([tenth[-1]] * (iterations - len(tenth)))]
    histories = [
        [Iteration(i, step * i, s) for i, s in enumerate(values, start=1)]
        for values in (at_once, padded)
    ]
    found = graph_claims.alpha(
        graph_claims.AlphaRuns("CAIDA", 26_475, 100.0, *histories, tried, optimal, 1.0)
    )
    words = ("α = 1.0", "keeps falling", "32 cores", "30,000", "locally optimal")
    assert len(found) == len(words)
    return {word: next(c.verdict for c in found if word in c.text) for word in words}


def test_claims_about_alpha() -> None:
    good = alpha([90, 70, 50])
    assert set(good.values()) == {HOLDS}
    assert alpha([90, 70, 50], [60])["α = 1.0"] == FAILS  # all at once works too
    assert alpha([99, 98, 97])["α = 1.0"] == FAILS  # a tenth hardly helps
    assert alpha([90, 70, 71, 50])["keeps falling"] == REMARK
    assert alpha([90, 70, 95, 50])["keeps falling"] == FAILS
    assert alpha([110, 120, 130])["keeps falling"] == FAILS  # it never falls at all
    assert alpha([90, 50], step=1.0)["32 cores"] == FAILS
    assert alpha([90, 50], step=0.033)["32 cores"] == HOLDS
    assert alpha([90, 50], step=0.033)["30,000"] == FAILS  # 9.9 s, for fewer nodes than 30,000
    assert alpha([90, 50], iterations=100)["32 cores"] == REMARK
    assert alpha([90, 50], tried=900)["locally optimal"] == REMARK
    assert alpha([90, 50], optimal=False)["locally optimal"] == FAILS


@pytest.mark.parametrize(
    ("optimized", "random", "verdict"),
    [
        ([100, 80, 50], [100, 99, 98], HOLDS),
        ([100, 80, 50], [100, 99, 85], REMARK),
        ([100, 80, 50], [100, 80, 60], FAILS),  # k matters for random labels as well
        ([100, 80, 90], [100, 100, 100], FAILS),  # more blocks, more entropy
    ],
)
def test_entropy_falls_with_more_blocks(
    optimized: list[float], random: list[float], verdict: str
) -> None:
    found = {OPTIMIZED: optimized, RANDOM: random}
    assert graph_claims.entropy_against_k("g", found, (10, 100, 1000)).verdict == verdict


@pytest.mark.parametrize(
    ("means", "spread", "random", "random_spread", "extension", "verdicts"),
    [
        ([0.7, 0.95], 0.01, 0.3, 0.001, 0.99, [HOLDS, HOLDS, HOLDS]),
        ([0.5, 0.7], 0.01, 0.3, 0.1, 0.6, [REMARK, REMARK, FAILS]),
        ([0.7, 0.95], 0.1, 0.98, 0.001, 0.99, [FAILS, FAILS, HOLDS]),
        (
            [0.1, 0.2],
            0.0,
            0.1,
            0.0,
            0.9,
            [HOLDS, FAILS, HOLDS],
        ),  # closer, still far off
    ],
)
def test_properties_of_released_graphs(
    means: list[float],
    spread: float,
    random: float,
    random_spread: float,
    extension: float,
    verdicts: list[str],
) -> None:
    ks = [10, 100]
    found = {
        OPTIMIZED: (ks, means, [spread] * 2),
        RANDOM: (ks, [random] * 2, [random_spread] * 2),
    }
    claims = graph_claims.released_property("g", "GCC", found, ([100], [extension], [0.0]), 1.0)
    assert [c.verdict for c in claims] == verdicts


@pytest.mark.parametrize(
    ("bernoulli", "exact", "verdict"),
    [
        (Draws([9, 10], [0.2, 0.2]), Draws([10, 10], [0.1, 0.1]), HOLDS),
        (Draws([9, 10], [0.1, 0.1]), Draws([10, 10], [0.1, 0.1]), REMARK),
        (Draws([9, 10], [0.2, 0.2]), Draws([10, 11], [0.1, 0.1]), FAILS),
        (Draws([10, 10], [0.2, 0.2]), Draws([10, 10], [0.1, 0.1]), FAILS),
    ],
)
def test_edge_counts_vary_between_draws(bernoulli: Draws, exact: Draws, verdict: str) -> None:
    assert graph_claims.exact_counts("g", bernoulli, exact).verdict == verdict


@pytest.mark.parametrize(("ks", "verdict"), [(0.02, HOLDS), (0.1, REMARK), (0.3, FAILS)])
def test_degree_distribution_is_preserved(ks: float, verdict: str) -> None:
    found = graph_claims.degrees("g", 9, Degrees(ks, 1), Degrees(0.4, 2), Degrees(0.0, 0))
    assert found.verdict == verdict


def release(
    kept: float, worst: float, certain: float, found: int = 0, model: str = "sbm"
) -> TradeoffPoint:
    return TradeoffPoint(model, 9, kept, 1.0, 0.0, worst, worst, (certain,) * 3, found)


@pytest.mark.parametrize(
    ("low", "high", "extension", "verdicts"),
    [
        (
            release(0.3, 0.01, 0),
            release(0.9, 1.0, 0.2, 500),
            release(0.95, 0.1, 0),
            [HOLDS, HOLDS, HOLDS],
        ),
        (
            release(0.3, 0.01, 0),
            release(0.2, 1.0, 0.2),
            release(0.6, 0.1, 0.1),
            [REMARK, REMARK, FAILS],
        ),
        (
            release(0.95, 0.01, 0),
            release(0.9, 0.05, 0),
            release(0.5, 0.1, 0),
            [FAILS, FAILS, FAILS],
        ),
    ],
)
def test_tradeoff_between_utility_and_anonymity(
    low: TradeoffPoint, high: TradeoffPoint, extension: TradeoffPoint, verdicts: list[str]
) -> None:
    assert [c.verdict for c in judged("g", [low, high], extension, naive=1000)] == verdicts

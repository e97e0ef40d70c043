"""fig-entropy, fig-apl, fig-gcc, fig-degree: released graphs against the number of blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.report.charts import Axis, Reference, Series, short, xy
from coterie.report.page import Figure
from coterie.report.reproduce.graph_runs import BEST, OPTIMIZED, RANDOM, GraphRuns
from coterie.report.reproduce.outcome import Claim, Outcome, judge
from coterie.report.reproduce.setting import GRAPHS

_NAMES = tuple(GRAPHS.values())


def fig_entropy(runs: GraphRuns) -> Outcome:
    """Entropy against k, optimized and random clustering."""
    ks = runs.setting.ks
    outcome = Outcome(
        "fig-entropy",
        "Figure cl:myfig1: entropy against the number of blocks",
        "Optimized: Generalized k-means from a random start, α = 0.1. Random: labels at random.",
    )
    for name in _NAMES:
        found = {
            kind: [runs.clustering(name, k, kind).entropy for k in ks]
            for kind in (OPTIMIZED, RANDOM)
        }
        better = {k: runs.clustering(name, k, BEST).entropy for k in _best_ks(runs)}
        outcome.figures += [
            Figure(name, _against_k(found, ks, name)),
            Figure(
                f"{name}, with the best search",
                _against_k(
                    found, ks, name, [Series(BEST, list(better), list(better.values()), "both")]
                ),
                ours=True,
            ),
        ]
        outcome.records += [
            {"graph": name, "k": k, "clustering": kind, "entropy": s}
            for kind, values in found.items()
            for k, s in zip(ks, values, strict=True)
        ] + [{"graph": name, "k": k, "clustering": BEST, "entropy": s} for k, s in better.items()]
        outcome.claims.append(_claim_entropy(name, found, ks))
    return outcome


def _best_ks(runs: GraphRuns) -> tuple[int, ...]:
    return tuple(
        k for k in runs.setting.ks if k in ((100,) if runs.setting.quick else (10, 100, 300))
    )


def _against_k(
    found: dict[str, list[float]],
    ks: tuple[int, ...],
    name: str,
    more: list[Series] | None = None,
) -> Any:
    series = [Series(kind, ks, values, "both") for kind, values in found.items()]
    return xy(
        [*series, *(more or [])],
        Axis("blocks k", log=True),
        Axis("entropy S (nats)"),
        description=f"{name}: entropy of optimized and random clustering against k.",
    )


def _claim_entropy(name: str, found: dict[str, list[float]], ks: tuple[int, ...]) -> Claim:
    """Random labels cannot explain a graph, but very many cells can fit its noise."""
    change = {kind: [1 - v / values[0] for v in values] for kind, values in found.items()}
    optimized, random = change[OPTIMIZED], change[RANDOM]
    falls = bool((np.diff(found[OPTIMIZED]) < 0).all())
    noise = random[-1] > 0.1
    return judge(
        f"{name}: k hardly matters for random clustering; optimized, more blocks mean less entropy",
        falls and random[-1] < 0.5 * optimized[-1],
        f"compared with k={ks[0]} the entropy is lower by "
        + ", ".join(
            f"{100 * a:.0f} % optimized and {100 * b:.1f} % random at k={k}"
            for k, a, b in list(zip(ks, optimized, random, strict=True))[1:]
        ),
        but=noise,
        remark="With very many blocks even random ones fit noise." if noise else "",
    )


def fig_apl(runs: GraphRuns) -> Outcome:
    """Average path length of released graphs."""
    outcome = _property(
        runs,
        "fig-apl",
        "Figure cl:myfig2: average path length",
        "path_length",
        "average path length",
    )
    outcome.lead += (
        f" From {runs.setting.sources:,} random sources each; the 95 % interval of one estimate is "
        f"± {max(runs.original(n).path_error for n in _NAMES):.3f} at most."
    )
    return outcome


def fig_gcc(runs: GraphRuns) -> Outcome:
    """Global clustering of released graphs, and exact counts against Bernoulli cells."""
    outcome = _property(
        runs, "fig-gcc", "Figure cl:myfig3: global clustering", "clustering", "global clustering"
    )
    outcome.claims += [_claim_exact_counts(runs, name) for name in _NAMES]
    return outcome


def _property(runs: GraphRuns, name: str, title: str, key: str, axis: str) -> Outcome:
    outcome = Outcome(
        name,
        f"{title} of released graphs",
        f"{runs.setting.draws} graphs drawn from each clustering; bars are one standard deviation.",
    )
    for graph in _NAMES:
        original = float(getattr(runs.original(graph), key))
        found = {kind: _summary(runs, graph, kind, "sbm", key) for kind in (OPTIMIZED, RANDOM)}
        ours = _summary(runs, graph, OPTIMIZED, "dcsbm", key, _stub_ks(runs))
        outcome.figures += [
            Figure(graph, _with_bars(found, original, axis, graph)),
            Figure(
                f"{graph}, with the degree-corrected release",
                _with_bars({**found, "dcsbm (ours)": ours}, original, axis, graph),
                ours=True,
            ),
        ]
        outcome.records += [
            {
                "graph": graph,
                "k": k,
                "clustering": kind,
                "mean": m,
                "standard_deviation": s,
                "original": original,
            }
            for kind, (ks, means, spread) in {**found, "dcsbm": ours}.items()
            for k, m, s in zip(ks, means, spread, strict=True)
        ]
        outcome.claims += _claims_property(graph, axis, found, ours, original)
    return outcome


def _stub_ks(runs: GraphRuns) -> tuple[int, ...]:
    """Where our release is drawn for comparison: it takes seconds, not milliseconds."""
    return (100,) if runs.setting.quick else (30, 100)


Bars = tuple[list[int], list[float], list[float]]


def _summary(
    runs: GraphRuns,
    graph: str,
    kind: str,
    model: str,
    key: str,
    ks: tuple[int, ...] | None = None,
) -> Bars:
    chosen = list(ks or runs.setting.ks)
    values = [
        [float(getattr(m, key)) for m in runs.releases(graph, k, kind, model)] for k in chosen
    ]
    return chosen, [float(np.mean(v)) for v in values], [float(np.std(v, ddof=1)) for v in values]


def _with_bars(found: dict[str, Bars], original: float, axis: str, graph: str) -> Any:
    return xy(
        [Series(kind, ks, means, "both", spread) for kind, (ks, means, spread) in found.items()],
        Axis("blocks k", log=True),
        Axis(axis),
        description=f"{graph}: {axis} of released graphs against k, the original a dashed line.",
        references=[Reference("original", original)],
    )


def _claims_property(
    graph: str, axis: str, found: dict[str, Bars], ours: Bars, original: float
) -> list[Claim]:
    _, optimized, spread = found[OPTIMIZED]
    random = found[RANDOM][1]
    relative = max(
        s / m
        for means, spreads in (found[OPTIMIZED][1:], found[RANDOM][1:])
        for m, s in zip(means, spreads, strict=True)
        if m > 0
    )
    off = [abs(m / original - 1) for m in optimized]
    off_random = [abs(m / original - 1) for m in random]
    off_ours = min(abs(m / original - 1) for m in ours[1])
    tight = max(s / m for m, s in zip(optimized, spread, strict=True))
    return [
        judge(
            f"{graph}: error bars of the {axis} are very tight",
            tight < 0.05,
            f"largest standard deviation: {100 * tight:.2f} % of the mean (optimized), "
            f"{100 * relative:.2f} % with random clustering too",
            but=relative > 0.05,
            remark="Random clustering's few triangles vary more."
            if tight < 0.05 < relative
            else "",
        ),
        judge(
            f"{graph}: entropy optimization preserves the {axis}",
            off[-1] < off_random[-1],
            f"original {short(original)}; at the largest k {short(optimized[-1])} optimized "
            f"({100 * off[-1]:.0f} % off), {short(random[-1])} random "
            f"({100 * off_random[-1]:.0f} % off)",
            but=min(off) > 0.1,
            remark=f"Better than random, but {100 * min(off):.0f} % off at best."
            if min(off) > 0.1
            else "",
        ),
        judge(
            f"Ours: {graph}: the degree-corrected release comes nearer in {axis}",
            off_ours < min(off),
            f"{100 * off_ours:.1f} % off against {100 * min(off):.1f} %",
        ),
    ]


def _claim_exact_counts(runs: GraphRuns, graph: str) -> Claim:
    k = 100
    bernoulli = runs.releases(graph, k, OPTIMIZED, "sbm")
    exact = runs.releases(graph, k, OPTIMIZED, "exact-counts")
    edges = [[m.edges for m in group] for group in (bernoulli, exact)]
    gcc = [float(np.mean([m.clustering for m in group])) for group in (bernoulli, exact)]
    constant = len(set(edges[1])) == 1
    return judge(
        f"{graph}: Hay et al. keep the edges between clusters constant, here it may change",
        constant and len(set(edges[0])) > 1,
        f"edges over draws: {min(edges[0]):,} to {max(edges[0]):,} (Bernoulli), "
        f"{min(edges[1]):,} to {max(edges[1]):,} (exact counts); global clustering "
        f"{short(gcc[0])} and {short(gcc[1])}",
        but=abs(gcc[0] / gcc[1] - 1) < 0.05,
        remark="The properties hardly differ." if abs(gcc[0] / gcc[1] - 1) < 0.05 else "",
    )

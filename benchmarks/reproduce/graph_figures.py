"""Figures 7 to 9: entropy, path length and clustering against the number of blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.report.charts import Axis, Reference, Series, xy
from coterie.report.page import Figure

from . import graph_claims
from .graph_claims import OPTIMIZED, RANDOM
from .graph_runs import BEST, GraphRuns
from .outcome import Claim, Outcome
from .published_figures import ALPHA
from .settings import GRAPHS

_NAMES = tuple(GRAPHS.values())
_COMPARED = 100  # number of blocks for the comparison with exact counts


def fig_entropy(runs: GraphRuns) -> Outcome:
    """Compare the entropy of optimized and random clustering."""
    ks = runs.setting.ks
    outcome = Outcome(
        "fig-entropy",
        "Figure 7: entropy against the number of blocks",
        "Optimized: Generalized k-means from a random start, α = 0.1. Random: random labels.",
    )
    for name in _NAMES:
        found = {
            kind: [runs.clustering(name, k, kind).entropy for k in ks]
            for kind in (OPTIMIZED, RANDOM)
        }
        better = {k: runs.clustering(name, k, BEST).entropy for k in _best_ks(runs, name)}
        outcome.figures += [
            Figure(name, _against_k(found, ks, name)),
            Figure(
                f"{name}, with the best search",
                _against_k(
                    found, ks, name, [Series(BEST, list(better), list(better.values()), "both")]
                ),
                extension=True,
            ),
        ]
        outcome.records += [
            {"graph": name, "k": k, "clustering": kind, "entropy": s}
            for kind, values in found.items()
            for k, s in zip(ks, values, strict=True)
        ] + [{"graph": name, "k": k, "clustering": BEST, "entropy": s} for k, s in better.items()]
        outcome.claims.append(graph_claims.entropy_against_k(name, found, ks))
    return outcome


def _best_ks(runs: GraphRuns, name: str) -> tuple[int, ...]:
    """Return the numbers of blocks of the best search; if quick, only that of fig-alpha."""
    wanted = (ALPHA[name].blocks,) if runs.setting.quick else (10, 100, 300)
    return tuple(k for k in runs.setting.ks if k in wanted)


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


def fig_apl(runs: GraphRuns) -> Outcome:
    """Compare the average path length of released graphs."""
    outcome = _property(
        runs,
        "fig-apl",
        "Figure 8: average path length",
        "path_length",
        "average path length",
    )
    outcome.lead += (
        f" Estimated from {runs.setting.sources:,} random sources per graph; the 95 % confidence "
        f"interval is at most ± {max(runs.original(n).path_error for n in _NAMES):.3f}."
    )
    return outcome


def fig_gcc(runs: GraphRuns) -> Outcome:
    """Compare the global clustering of released graphs, and exact counts with Bernoulli cells."""
    outcome = _property(
        runs, "fig-gcc", "Figure 9: global clustering", "clustering", "global clustering"
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
        extension = _summary(runs, graph, OPTIMIZED, "dcsbm", key, _stub_ks(runs))
        outcome.figures += [
            Figure(graph, _with_bars(found, original, axis, graph)),
            Figure(
                f"{graph}, with the degree-corrected release",
                _with_bars({**found, "dcsbm (extension)": extension}, original, axis, graph),
                extension=True,
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
            for kind, (ks, means, spread) in {**found, "dcsbm": extension}.items()
            for k, m, s in zip(ks, means, spread, strict=True)
        ]
        outcome.claims += graph_claims.released_property(graph, axis, found, extension, original)
    return outcome


def _stub_ks(runs: GraphRuns) -> tuple[int, ...]:
    """Return the numbers of blocks of the degree-corrected release, which takes seconds to draw."""
    return (100,) if runs.setting.quick else (30, 100)


def _summary(
    runs: GraphRuns,
    graph: str,
    kind: str,
    model: str,
    key: str,
    ks: tuple[int, ...] | None = None,
) -> graph_claims.Bars:
    chosen = list(ks or runs.setting.ks)
    values = [
        [float(getattr(m, key)) for m in runs.releases(graph, k, kind, model)] for k in chosen
    ]
    spread = [float(np.std(v, ddof=1)) if len(v) > 1 else 0.0 for v in values]
    return chosen, [float(np.mean(v)) for v in values], spread


def _with_bars(found: dict[str, graph_claims.Bars], original: float, axis: str, graph: str) -> Any:
    return xy(
        [Series(kind, ks, means, "both", spread) for kind, (ks, means, spread) in found.items()],
        Axis("blocks k", log=True),
        Axis(axis),
        description=f"{graph}: {axis} of released graphs against k; the original as a dashed line.",
        references=[Reference("original", original)],
    )


def _claim_exact_counts(runs: GraphRuns, graph: str) -> Claim:
    draws = (runs.releases(graph, _COMPARED, OPTIMIZED, model) for model in ("sbm", "exact-counts"))
    return graph_claims.exact_counts(
        graph,
        *(
            graph_claims.Draws([m.edges for m in drawn], [m.clustering for m in drawn])
            for drawn in draws
        ),
    )

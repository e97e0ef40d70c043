"""Figure 10 (fig-degree): the degree distribution of released graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.report.charts import Axis, ChartTable, Series, xy
from coterie.report.charts.drawing import Cell
from coterie.report.page import Figure, Panel

from . import graph_claims
from .graph_claims import OPTIMIZED, RANDOM
from .graph_runs import GraphRuns, Measured
from .outcome import Claim, Outcome
from .settings import GRAPHS

_NAMES = tuple(GRAPHS.values())


def fig_degree(runs: GraphRuns) -> Outcome:
    """Compare the degree distributions of released graphs."""
    ks = (runs.setting.ks[0], runs.setting.ks[-1])
    outcome = Outcome(
        "fig-degree",
        "Figure 10: degree distribution of released graphs",
        "The share of nodes with at least the given degree.",
    )
    rows: list[list[Cell]] = []
    for name in _NAMES:
        original = runs.original(name)
        for kind in (OPTIMIZED, RANDOM):
            drawn = {f"k = {k}": runs.releases(name, k, kind)[0] for k in ks}
            outcome.figures.append(
                Figure(
                    f"{name}, {kind} clustering", _degrees({"original": original, **drawn}, name)
                )
            )
        extension = {"dcsbm": runs.releases(name, 100, OPTIMIZED, "dcsbm")[0]}
        outcome.figures.append(
            Figure(
                f"{name}, degree-corrected release",
                _degrees({"original": original, **extension}, name),
                extension=True,
            )
        )
        for kind, model, k in [
            *((kind, "sbm", k) for kind in (OPTIMIZED, RANDOM) for k in ks),
            (OPTIMIZED, "dcsbm", 100),
        ]:
            m = runs.releases(name, k, kind, model)[0]
            rows.append([name, model, kind, k, m.degree_ks, m.largest_degree, m.isolates])
        outcome.claims.append(_claim_degree(runs, name, ks[-1]))
    columns = ["graph", "model", "clustering", "k", "KS distance", "largest degree", "isolates"]
    outcome.tables.append(Panel("Distance from the original's degrees", ChartTable(columns, rows)))
    outcome.records = [dict(zip(columns, row, strict=True)) for row in rows]
    return outcome


def _claim_degree(runs: GraphRuns, name: str, k: int) -> Claim:
    drawn = (
        runs.releases(name, *which)[0]
        for which in ((k, OPTIMIZED), (k, RANDOM), (100, OPTIMIZED, "dcsbm"))
    )
    return graph_claims.degrees(
        name, k, *(graph_claims.Degrees(m.degree_ks, m.isolates) for m in drawn)
    )


def _degrees(graphs: dict[str, Measured], name: str) -> Any:
    series = []
    for title, m in graphs.items():
        share = 1 - np.r_[0, np.cumsum(m.degrees)[:-1]] / m.degrees.sum()
        at = np.unique(np.geomspace(1, len(share) - 1, 60).astype(int)) if len(share) > 2 else [1]
        series.append(Series(title, at, share[at]))
    return xy(
        series,
        Axis("degree", log=True),
        Axis("share of nodes", log=True),
        description=f"{name}: degree distribution of the original and of released graphs.",
    )

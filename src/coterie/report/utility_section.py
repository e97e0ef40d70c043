"""Original against release: every measure, and the curves behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coterie.data import Graph
from coterie.report.charts import Axis, ChartTable, Series, percent, xy
from coterie.report.charts.drawing import Cell, Chart
from coterie.report.page import Figure, Panel, Section

MEASURES = {
    "nodes": "nodes",
    "edges": "edges",
    "average_path_length": "average path length",
    "diameter": "diameter",
    "global_clustering": "global clustering",
    "average_local_clustering": "mean local clustering",
    "degree_mean": "mean degree",
    "degree_max": "largest degree",
    "assortativity": "assortativity",
    "isolates": "nodes without an edge",
    "largest_component": "nodes in the largest component",
    "modularity": "modularity of the blocks",
    "core_max": "innermost core",
}

_SHARES = {"largest_component"}

_PROFILES: dict[str, tuple[str, Axis, Axis, str, str]] = {
    "degree": (
        "Degrees",
        Axis("degree", log=True),
        Axis("share of nodes with at least so many", log=True),
        "points",
        "How the number of neighbours is distributed.",
    ),
    "clustering": (
        "Clustering by degree",
        Axis("degree", log=True),
        Axis("mean local clustering", lo=0.0),
        "both",
        "How often two neighbours of a node are neighbours themselves.",
    ),
    "distance": (
        "Path lengths",
        Axis("steps"),
        Axis("share of connected pairs", lo=0.0),
        "both",
        "How many steps lie between two nodes.",
    ),
    "spectrum": (
        "Largest eigenvalues",
        Axis("rank"),
        Axis("eigenvalue"),
        "both",
        "The large-scale structure in few numbers.",
    ),
    "core": (
        "Cores",
        Axis("core number"),
        Axis("share of nodes with at least this core", lo=0.0),
        "both",
        "How deep in the dense middle nodes are.",
    ),
}

_SIDES = ("original", "published")


def degree_profile(original: Graph, published: Graph) -> dict[str, dict[str, list[float]]]:
    """Share of nodes with at least so many neighbours, at up to 60 degrees of each graph.

    >>> g = Graph.from_edges([0, 0], [1, 2])
    >>> degree_profile(g, g)["original"]["x"]
    [1.0, 2.0]
    """
    return dict(zip(_SIDES, map(_at_least, (original, published)), strict=True))


def _at_least(graph: Graph) -> dict[str, list[float]]:
    degrees = np.sort(graph.degrees)
    top = int(degrees[-1]) if len(degrees) else 0
    at = np.unique(np.geomspace(1, top, 60).round()) if top > 0 else np.empty(0)
    share = 1 - np.searchsorted(degrees, at) / max(len(degrees), 1)
    return {"x": at.tolist(), "y": share.tolist()}


def _profiles(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Curves that were given, and those that the measures of `compare` hold."""
    utility = summary.get("utility") or {}
    measured = {side: utility.get(side) or {} for side in _SIDES}
    found: dict[str, Any] = {}
    for key, name, read in (
        ("clustering", "clustering_by_degree", _by_degree),
        ("distance", "distances", _distances),
        ("spectrum", "spectrum", _ranked),
    ):
        sides = {side: read(m[name]) for side, m in measured.items() if m.get(name)}
        if sides:
            found[key] = sides
    return {**found, **(summary.get("profiles") or {})}


def _by_degree(bins: list[Mapping[str, float]]) -> dict[str, list[float]]:
    return {"x": [b["degree_from"] for b in bins], "y": [b["clustering"] for b in bins]}


def _distances(pairs: list[float]) -> dict[str, list[float]]:
    total = max(sum(pairs), 1)
    return {"x": list(range(1, len(pairs) + 1)), "y": [p / total for p in pairs]}


def _ranked(values: list[float]) -> dict[str, list[float]]:
    return {"x": list(range(1, len(values) + 1)), "y": list(values)}


def likeness(summary: Mapping[str, Any]) -> Section:
    section = Section("How alike the two graphs are")
    profiles = _profiles(summary)
    for key, (title, x, y, kind, caption) in _PROFILES.items():
        profile = profiles.get(key)
        if profile:
            section.figures.append(Figure(title, _profile(profile, x, y, kind, title), caption))
    return section


def _profile(profile: Mapping[str, Any], x: Axis, y: Axis, kind: str, title: str) -> Chart:
    series = [
        Series(name, profile[side]["x"], profile[side]["y"], kind, colour=colour)
        for colour, (side, name) in enumerate(zip(_SIDES, ("original", "release"), strict=True))
        if side in profile
    ]
    return xy(series, x, y, description=f"{title} of the original and of the release.")


def measure_by_measure(summary: Mapping[str, Any]) -> Section:
    utility = summary.get("utility", {})
    original, published = utility.get("original", {}), utility.get("published", {})
    rows: list[list[Cell]] = []
    for key in [*MEASURES, *(k for k in original if k not in MEASURES)]:
        a, b = original.get(key), published.get(key)
        if not isinstance(a, int | float) or not isinstance(b, int | float):
            continue
        shown = [percent(a), percent(b)] if key in _SHARES else [a, b]
        rows.append([MEASURES.get(key, key.replace("_", " ")), *shown, _change(a, b)])
    panel = Panel("", ChartTable(["measure", "original", "release", "change"], rows))
    return Section("Measure by measure", tables=[panel] if rows else [])


def _change(a: float, b: float) -> str:
    if a == b:
        return "±0"
    if (
        (abs(a) < 20 and float(a).is_integer() and float(b).is_integer())
        or a == 0
        or (a < 0) != (b < 0)
        or abs(a) < 1e-9
    ):
        return f"{b - a:+.3g}"
    percents = round(100 * (b - a) / abs(a), 1)
    return f"{percents:+} %" if percents else "±0.0 %"

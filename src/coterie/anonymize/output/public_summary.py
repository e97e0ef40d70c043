"""What a report may show: aggregate figures only, and none that is one person's.

The report is published with the graph. So figures of the original are rounded, its distributions
end where fewer than `CROWD` people would be left, and no id, seed or path of a file is in it. The
exact figures go to the private audit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.anonymize.policy import Limit, attack_rows
from coterie.anonymize.utility.measures import Measures
from coterie.data import Graph

CROWD = 10

_REMARKS = [
    "This page is made to be published with the graph: no name, id, seed or file of the original "
    "is in it, and the original's figures are rounded. What lies in the folder .private is not.",
    "This is no differential privacy: the figures come from attacks that were tried and from the "
    "model's own probabilities, not from a bound on every possible attack.",
    "The block of a person leaks in part: an attacker with many known people guesses it more often "
    "than chance (see the block figures).",
    "Degrees by class, the edges between blocks, clustering by degree and assortativity of the "
    "original are statistics the release was made from, and are published by it.",
    "Every further release of the same original gives away more; the private audit counts them.",
]


def public_summary(
    *,
    original: Graph,
    published: Graph,
    before: Measures,
    utility: dict[str, Any],
    risk: dict[str, Any],
    limits: list[Limit],
    levels: list[dict[str, Any]],
    about: dict[str, Any],
) -> dict[str, Any]:
    """The dictionary `report.anonymize.render` takes."""
    shown = {key: coarse(value) for key, value in _plain(utility["original"]).items()}
    shown["degree_max"] = coarse_degree(before.degree_max)
    return {
        **about,
        "nodes": before.nodes,
        "edges": before.edges,
        "utility": {
            "original": shown,
            "published": _plain(utility["published"]),
            "degree_ks": utility["degree_ks"],
            "not_kept": utility["not_kept"],
        },
        "profiles": _profiles(original, published, utility),
        "limits": [
            {
                "name": item.name,
                "value": item.value,
                "limit": item.limit,
                "at_least": item.at_least,
                "percent": item.percent,
                "note": "" if item.holds else item.reason,
            }
            for item in limits
        ]
        + _inference(risk, limits),
        "levels": levels,
        "attacks": _attacks(risk),
        "remarks": [*_REMARKS, *_block_remark(risk)],
    }


def _inference(risk: dict[str, Any], limits: list[Limit]) -> list[dict[str, Any]]:
    """A3 where the policy sets no limit for it: shown all the same."""
    a3 = risk.get("a3")
    if not a3 or a3["risk"] is None or any(item.name == "edge inference" for item in limits):
        return []
    note = f"fitted edges recognised {a3['main']:.3f}, held-out ones {a3['control']:.3f}"
    return [{"name": "edge inference", "value": a3["risk"], "limit": None, "note": note}]


def _plain(figures: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in figures.items() if isinstance(v, int | float)}


def _coarse_curve(curve: dict[str, list[float]]) -> dict[str, list[float]]:
    return {"x": curve["x"], "y": [coarse(y) for y in curve["y"]]}


def _profiles(original: Graph, published: Graph, utility: dict[str, Any]) -> dict[str, Any]:
    sides = {"original": utility["original"], "published": utility["draws"][0]}
    graphs = {"original": original, "published": published}
    curves = {
        "degree": {name: _tail(graph.degrees) for name, graph in graphs.items()},
        "clustering": {
            name: {
                "x": [b["degree_from"] for b in m["clustering_by_degree"] if b["nodes"] >= CROWD],
                "y": [b["clustering"] for b in m["clustering_by_degree"] if b["nodes"] >= CROWD],
            }
            for name, m in sides.items()
        },
        "distance": {name: _shares(m["distances"]) for name, m in sides.items()},
        "spectrum": {
            name: {"x": list(range(1, len(m["spectrum"]) + 1)), "y": m["spectrum"]}
            for name, m in sides.items()
        },
    }
    for curve in curves.values():
        curve["original"] = _coarse_curve(curve["original"])
    return curves


def _tail(degrees: np.ndarray) -> dict[str, list[float]]:
    """Share of nodes with at least each degree, as far as CROWD nodes have it, at 40 places."""
    ordered = np.sort(degrees[degrees > 0])[::-1]
    if len(ordered) < CROWD:
        return {"x": [], "y": []}
    top = int(ordered[CROWD - 1])
    places = np.unique(np.round(np.geomspace(1, max(top, 1), 40)).astype(int))
    places = places[places <= top]
    return {
        "x": places.tolist(),
        "y": [float((degrees >= place).mean()) for place in places],
    }


def _shares(counts: list[int]) -> dict[str, list[float]]:
    """The share of the pairs at every distance, as far as CROWD pairs have it."""
    total = max(sum(counts), 1)
    told = [(x, c / total) for x, c in enumerate(counts, 1) if c >= CROWD]
    return {"x": [x for x, _ in told], "y": [y for _, y in told]}


def _attacks(risk: dict[str, Any]) -> list[dict[str, Any]]:
    a4 = risk["a4"]
    controls = a4["controls"]
    rows = [
        {
            "attack": attack.figures["attack"],
            "release": attack.figures["correct"],
            "naive": attack.naive,
            "deleted_10": attack.deleted_10,
            "chance": attack.figures["expected" if attack.bold else "chance"],
        }
        for attack in attack_rows(risk)
    ]
    for key, name in (("H1", "degree known (H1)"), ("H2", "neighbours' degrees known (H2)")):
        rows.append(
            {
                "attack": name,
                "release": a4["vertex_refinement"][key]["unique"],
                "naive": controls["naive"]["vertex_refinement"][key]["unique"],
                "deleted_10": controls["deleted_10"]["vertex_refinement"][key]["unique"],
            }
        )
    return rows


def _block_remark(risk: dict[str, Any]) -> list[str]:
    row = risk["a4"]["seeded"][-1]
    if not row["correct"] + row["wrong"]:
        return []
    return [
        f"An attacker who knows {row['seeds']} people names the right block for "
        f"{100 * row['block_accuracy']:.0f} % of those it matches; by chance, degrees known, "
        f"{100 * row['block_chance']:.0f} %."
    ]


_DIGITS = 3


def coarse(value: float) -> float:
    """Three significant digits; counts stay whole.

    >>> coarse(4.193987), coarse(0.0073187), coarse(12)
    (4.19, 0.00732, 12)
    """
    return value if isinstance(value, int) else float(f"{value:.{_DIGITS}g}")


def coarse_degree(value: int) -> int:
    """One person's figure to two digits at most, more coarsely where small.

    >>> coarse_degree(2628), coarse_degree(504), coarse_degree(47)
    (2600, 500, 50)
    """
    step = 10 ** max(len(str(value)) - 2, 1)
    return int(round(value / step) * step)

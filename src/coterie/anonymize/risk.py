"""The risk of a release: A1 to A4 for exactly what is published."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.anonymize.averaging import averaging_attack
from coterie.anonymize.chance import chance_of
from coterie.anonymize.classes import Cells, Classes
from coterie.anonymize.disclosure import cell_disclosure, class_risk, disclosure_with_degrees
from coterie.anonymize.suite import Battery, Target
from coterie.base.progress import Callback, silent
from coterie.engine import Engine
from coterie.graph import Graph


def model_risk(
    graph: Graph, classes: Classes, cells: Cells, edge_probability: float
) -> dict[str, Any]:
    """A1 and A2: what the model gives away to somebody who knows everybody's class."""
    above = cells.edges[cells.probability >= edge_probability].sum()
    return {
        "a1": class_risk(classes.label),
        "a2": {
            **cell_disclosure(cells),
            "above_limit": float(above / max(cells.edges.sum(), 1)),
            "exact_degrees": disclosure_with_degrees(graph, classes, edge_probability),
        },
    }


def attack_risk(
    battery: Battery,
    controls: dict[str, Any],
    releases: list[Target],
    classes: Classes,
    engine: Engine | None = None,
    *,
    callback: Callback = silent,
) -> dict[str, Any]:
    """A4 on every release, beside the figures of the controls; those of the release that fared
    worst."""
    original = battery.original
    named = {f"draw {i + 1}": target for i, target in enumerate(releases)}
    figures, claims = battery.run(named, engine, blocks=classes.block, callback=callback)
    for name, target in named.items():
        for kind in ("seeded", "bold", "with_blocks"):
            for row, claim in zip(figures[name][kind], getattr(claims[name], kind), strict=True):
                row.update(chance_of(original, target, claim, classes))
    worst = max(named, key=lambda name: max(r["correct"] for r in figures[name]["seeded"]))
    naive = max(row["correct"] for row in controls["naive"]["seeded"])
    return {
        **figures[worst],
        "controls": controls,
        "draws": [figures[name]["seeded"] for name in named],
        "proves_something": bool(naive > 0),
        "averaging": averaging_attack(original, releases),
    }


def release_levels(risk: dict[str, Any]) -> list[dict[str, Any]]:
    """The same release, if more than the graph were published: each row gives away more."""
    a1, a2, a4 = risk["a1"], risk["a2"], risk["a4"]
    attacked = [*a4["seeded"], *a4["bold"]]
    labelled = max(row["found_share"] for row in [*attacked, *a4["with_blocks"]])
    shown = a4["averaging"][-1]["precision"]

    def row(level: str, found: float, why: str, **other: Any) -> dict[str, Any]:
        figures = {"A1 mean": a1["mean"], "A1 worst": a1["worst"], "edges with p ≥ 0.9": None}
        return {"level": level, **figures, "people found": found, **other, "why": why}

    disclosed = {"edges with p ≥ 0.9": a2["0.9"]}
    return [
        row(
            "graph with new ids (this release)",
            max(row["found_share"] for row in attacked),
            "A1 for somebody who guessed every class right",
        ),
        row("+ block labels", labelled, "block and degree of a node show its class"),
        row("+ block matrix", labelled, "two classes show p of an edge between them", **disclosed),
        row(
            "ids kept",
            1.0,
            f"who is who is known; of the edges shown {100 * shown:.1f} % are true",
            **disclosed,
            **{"A1 mean": 1.0, "A1 worst": 1.0},
        ),
    ]


def blocks_published(classes: Classes, truth: np.ndarray) -> np.ndarray:
    """The block of every published node."""
    block = np.empty(len(truth), np.int32)
    block[truth] = classes.block
    return block

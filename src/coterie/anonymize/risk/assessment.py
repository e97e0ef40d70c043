"""Measuring a release before anybody sees it: utility, risk, and the policy's answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.anonymize.draw.classes import ClassCells, Classes
from coterie.anonymize.draw.models import ReleaseModel
from coterie.anonymize.policy import Limit, Policy
from coterie.anonymize.risk.attack_suite import AttackSuite, Target
from coterie.anonymize.risk.averaging import averaging_attack
from coterie.anonymize.risk.disclosure import cell_disclosure, class_risk, disclosure_with_degrees
from coterie.anonymize.risk.expected_hits import chance_of
from coterie.anonymize.utility.measures import Measures, degree_ks, measure, modularity
from coterie.anonymize.utility.tolerances import mean_and_spread, not_kept
from coterie.base.progress import Callback, Progress, silent
from coterie.data import Graph
from coterie.engine import Engine


@dataclass(frozen=True, eq=False)
class Case:
    """An original, the model made of it, and what was drawn from that."""

    original: Graph
    before: Measures
    model: ReleaseModel
    releases: list[Target]


def utility_of(case: Case, engine: Engine, callback: Callback = silent) -> dict[str, Any]:
    """The original's figures, each draw's, their mean and spread, and what was not kept."""
    block = case.model.classes.block
    before = case.before.as_dict() | {"modularity": modularity(case.original, block)}
    draws = []
    for i, (graph, truth) in enumerate(case.releases):
        callback(Progress("measuring", i, len(case.releases)))
        draws.append(measure(graph, engine, blocks=blocks_published(case.model.classes, truth)))
    mean, spread = mean_and_spread(draws)
    ks = float(np.mean([degree_ks(case.original, graph) for graph, _ in case.releases]))
    return {
        "original": before,
        "published": mean,
        "spread": spread,
        "draws": [m.as_dict() for m in draws],
        "degree_ks": ks,
        "not_kept": not_kept(Measures(**before), draws, ks),
    }


def assess(
    case: Case,
    policy: Policy,
    engine: Engine,
    *,
    battery: AttackSuite,
    controls: dict[str, Any],
    releases_before: int,
    inference: dict[str, Any] | None,
    callback: Callback = silent,
) -> tuple[dict[str, Any], list[Limit]]:
    """(risk, limits): A1 to A4, and every limit of the policy against them."""
    classes = case.model.classes
    cells = case.model.cells(case.original)
    risk = model_risk(case.original, classes, cells, policy.edge_probability)
    risk["a3"] = inference
    risk["a4"] = attack_risk(battery, controls, case.releases, classes, engine, callback=callback)
    return risk, policy.check(risk, releases_before + len(case.releases))


def model_risk(
    graph: Graph, classes: Classes, cells: ClassCells, edge_probability: float
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
    battery: AttackSuite,
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

"""Measuring a release before anybody sees it: utility, risk, and the policy's answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.anonymize.generate import Model
from coterie.anonymize.kept import mean_and_spread, not_kept
from coterie.anonymize.policy import Limit, Policy
from coterie.anonymize.risk import attack_risk, blocks_published, model_risk
from coterie.anonymize.suite import Battery, Target
from coterie.anonymize.utility import Measures, degree_ks, measure, modularity
from coterie.base.progress import Callback, Progress, silent
from coterie.engine import Engine
from coterie.graph import Graph


@dataclass(frozen=True, eq=False)
class Case:
    """An original, the model made of it, and what was drawn from that."""

    original: Graph
    before: Measures
    model: Model
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
    battery: Battery,
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

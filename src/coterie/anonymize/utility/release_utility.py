"""The utility of a release: the measures of the original and of the published graphs."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from coterie.anonymize.published_graph import PublishedGraph, per_published_node
from coterie.anonymize.utility.measures import (
    Measures,
    ScalarMeasures,
    degree_ks,
    measure,
    modularity,
)
from coterie.anonymize.utility.tolerances import properties_not_kept
from coterie.base.progress import Callback, Progress, silent
from coterie.data import Graph
from coterie.engine import Engine

_SCALARS = tuple(f.name for f in fields(ScalarMeasures))


@dataclass(frozen=True)
class Utility:
    """The similarity of the published graphs to the original."""

    original: Measures
    published: ScalarMeasures  # mean over the draws
    spread: ScalarMeasures  # standard deviation over the draws, 0 for a single one
    draws: list[Measures]
    degree_ks: float  # Kolmogorov-Smirnov distance of the degrees, mean over the draws
    not_kept: list[str]  # one sentence per property outside its tolerance


def assess_utility(
    original: Graph,
    before: Measures,
    blocks: np.ndarray,
    releases: list[PublishedGraph],
    engine: Engine,
    callback: Callback = silent,
) -> Utility:
    """Measure every draw and compare it with the measures of the original (`before`)."""
    before = replace(before, modularity=modularity(original, blocks))
    draws = []
    for i, (graph, identity) in enumerate(releases):
        callback(Progress("measuring", i, len(releases)))
        draws.append(measure(graph, engine, blocks=per_published_node(blocks, identity)))
    mean, spread = mean_and_spread(draws)
    distance = float(np.mean([degree_ks(original, graph) for graph, _ in releases]))
    not_kept = properties_not_kept(before, draws, distance)
    return Utility(before, mean, spread, draws, distance, not_kept)


def mean_and_spread(draws: list[Measures]) -> tuple[ScalarMeasures, ScalarMeasures]:
    """Return mean and standard deviation over the draws; counts of a single draw stay integers."""
    mean: dict[str, Any] = {}
    spread: dict[str, Any] = {}
    for name in _SCALARS:
        values = [getattr(m, name) for m in draws]
        if values[0] is None:
            mean[name] = spread[name] = None
            continue
        column = np.array(values, float)
        mean[name] = values[0] if len(values) == 1 else float(column.mean())
        spread[name] = float(column.std(ddof=1)) if len(values) > 1 else 0.0
    return ScalarMeasures(**mean), ScalarMeasures(**spread)

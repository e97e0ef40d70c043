"""The utility of a release: the measures of the original and of the published graphs."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from coterie.anonymize.figures import FigureRow, Private
from coterie.anonymize.published_graph import PublishedGraph, per_published_node
from coterie.anonymize.utility.communities import modularity
from coterie.anonymize.utility.community_utility import CommunityUtility, assess_communities
from coterie.anonymize.utility.full_measures import full_rows, measure_fully
from coterie.anonymize.utility.measures import (
    Measures,
    ScalarMeasures,
    degree_ks,
    measure,
    with_communities,
)
from coterie.anonymize.utility.resilience import epidemic_threshold
from coterie.anonymize.utility.tolerances import properties_not_kept
from coterie.base.progress import Callback, Progress, silent
from coterie.data import Graph
from coterie.engine import Engine

_BETWEENNESS_WORK = 1 << 27  # an eighth of `compare --full`, to save time
_SCALARS = tuple(f.name for f in fields(ScalarMeasures))


@dataclass(frozen=True, repr=False)
class Utility(Private):
    """The similarity of the published graphs to the original."""

    original: Measures
    published: ScalarMeasures  # mean over the draws
    spread: ScalarMeasures  # standard deviation over the draws, 0 for a single one
    draws: list[Measures]
    degree_ks: float  # Kolmogorov-Smirnov distance of the degrees, mean over the draws
    communities: CommunityUtility  # of the release, compared with those of the original
    further: list[FigureRow]  # measures that the draw is not fitted to
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
    callback(Progress("measuring", 0, len(releases)))
    communities = assess_communities(original, releases, engine)
    before = replace(before, modularity=modularity(original, blocks))
    before = with_communities(before, communities.original)
    threshold = epidemic_threshold(original)
    fully = partial(
        measure_fully, threshold=threshold, engine=engine, betweenness_work=_BETWEENNESS_WORK
    )
    draws, further = [], []
    for i, ((graph, identity), found) in enumerate(zip(releases, communities.draws, strict=True)):
        callback(Progress("measuring", i, len(releases)))
        measures = measure(graph, engine, blocks=per_published_node(blocks, identity))
        draws.append(with_communities(measures, found.figures))
        further.append(fully(graph, measures))
    mean, spread = mean_and_spread(draws)
    distance = float(np.mean([degree_ks(original, graph) for graph, _ in releases]))
    rows = full_rows(fully(original, before), further)
    not_kept = properties_not_kept(before, draws, distance, communities, rows)
    return Utility(before, mean, spread, draws, distance, communities, rows, not_kept)


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

"""The utility of a release: the measures of the original and of the published graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from coterie.anonymize.figures import (
    AGREEMENT_SHARE,
    CLEAR_AGREEMENT,
    DEGREES,
    EIGENVALUES,
    FOREIGN_SHARE,
    ISOLATES,
    MEASURES,
    FigureRow,
    Private,
    shown,
)
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


def properties_not_kept(
    original: Measures,
    draws: list[Measures],
    degree_distance: float,
    communities: CommunityUtility | None = None,
    further: Sequence[FigureRow] = (),
) -> list[str]:
    """Describe each property whose mean over the draws is outside its tolerance.

    The sentences are for the owner. A published report shows only what precedes the colon.
    """
    lost = []
    for figure in MEASURES:
        before = figure.of(original)
        if before is None or not figure.tolerance:
            continue
        after = float(np.mean([figure.of(m) for m in draws]))
        if not figure.keeps(before, after):
            lost.append(figure.lost(before, after))
    isolates = float(np.mean([m.isolates for m in draws])) - original.isolates
    if isolates > ISOLATES * original.nodes:
        lost.append(f"connection: {isolates:.0f} more nodes without an edge")
    if degree_distance > DEGREES.tolerance:
        lost.append(
            f"{DEGREES.label}: it differs for up to {100 * degree_distance:.1f} % of the nodes "
            "(Kolmogorov-Smirnov distance)"
        )
    first = np.array(original.spectrum[:3])
    then = np.mean([m.spectrum[:3] for m in draws], axis=0)
    if (np.abs(then - first) > EIGENVALUES.tolerance * np.abs(first) + 1e-9).any():
        shown_values = (", ".join(map(shown, values)) for values in (first, then))
        lost.append("{}: {} became {}".format(EIGENVALUES.label, *shown_values))
    if communities is not None:
        lost += communities_not_kept(communities)
    return [*lost, *further_not_kept(further)]


def further_not_kept(rows: Sequence[FigureRow]) -> list[str]:
    """Describe the headline measures among the further ones that are outside their tolerance."""
    return [
        f"{row.figure.label}: {row.original:,.0f} became {row.published:,.0f}"
        for row in rows
        if row.figure.headline and not row.kept
    ]


def communities_not_kept(found: CommunityUtility) -> list[str]:
    """Describe how the communities of the release differ from those of the original."""
    lost = []
    own = found.original.community_modularity
    if found.foreign_share < FOREIGN_SHARE - 1e-9:
        lost.append(
            "communities: those found in the release have modularity "
            f"{found.foreign_modularity:.3g} in the original; its own have {own:.3g}"
        )
    clear = found.self_agreement > CLEAR_AGREEMENT
    if clear and found.agreement < AGREEMENT_SHARE * found.self_agreement - 1e-9:
        lost.append(
            "who is in which community: original and release agree at "
            f"{found.agreement:.2f} (1: equal, 0: unrelated); two searches on the original agree "
            f"at {found.self_agreement:.2f}"
        )
    if lost and not clear:
        lost.append(
            "the original has no clear communities: two searches on it agree at "
            f"{found.self_agreement:.2f} only"
        )
    return lost

"""The utility of a release: the measures of the original and of the published graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from coterie.anonymize.figures import (
    AGREEMENT_SHARE,
    CLEAR_AGREEMENT,
    DEGREES,
    EIGENVALUES,
    FIT_SHARE,
    FOREIGN_SHARE,
    MEASURES,
    PURPOSES,
    SHARE,
    WORTH_SHARE,
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
    properties: list[Property]  # everything that is judged

    @property
    def not_kept(self) -> list[str]:
        """One sentence per property outside its tolerance."""
        return [found.sentence for found in self.properties if not found.kept]

    @property
    def kept_share(self) -> float:
        """The share of the properties that are preserved."""
        return _kept_share(self.properties)

    @property
    def fit_for(self) -> list[str]:
        """The purposes, in words, of which enough properties are preserved."""
        return purposes_kept(self.properties)

    @property
    def verdict(self) -> str:
        """One sentence about the usefulness of the release."""
        return usefulness(self.properties)


def purposes_kept(properties: list[Property]) -> list[str]:
    """Return the purposes, in words, of which enough properties are preserved."""
    by_purpose = {key: [p for p in properties if p.purpose == key] for key in PURPOSES}
    return [PURPOSES[key] for key, found in by_purpose.items() if _kept_share(found) >= FIT_SHARE]


def usefulness(properties: list[Property]) -> str:
    """Describe in one or two sentences how useful a release with these properties is."""
    count = f"{sum(found.kept for found in properties)} of {len(properties)} properties"
    if _kept_share(properties) < WORTH_SHARE:
        return f"Not worth publishing: only {count} are preserved."
    fit = "; ".join(purposes_kept(properties)) or "none"
    return f"{count} are preserved. Fit for questions about: {fit}."


def _kept_share(properties: list[Property]) -> float:
    return sum(found.kept for found in properties) / len(properties) if properties else 1.0


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
    judged = judge(before, draws, distance, communities, rows)
    return Utility(before, mean, spread, draws, distance, communities, rows, judged)


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


class Property(NamedTuple):
    """One property that is judged, and whether the release preserves it."""

    name: str
    purpose: str  # one of PURPOSES
    kept: bool
    sentence: str  # for the owner: exact figures of both


def judge(
    original: Measures,
    draws: list[Measures],
    degree_distance: float,
    communities: CommunityUtility | None = None,
    further: Sequence[FigureRow] = (),
) -> list[Property]:
    """Compare the mean over the draws with the original, by the rule of tolerances in figures.py.

    The sentences are for the owner. A published report shows only what precedes the colon.
    """
    judged = []
    for figure in MEASURES:
        before = figure.of(original)
        if before is not None and figure.purpose:
            after = float(np.mean([figure.of(m) for m in draws]))
            kept, sentence = figure.keeps(before, after), figure.lost(before, after)
            name = sentence.partition(":")[0]
            judged.append(Property(name, figure.purpose, kept, sentence))
    isolates = float(np.mean([m.isolates for m in draws])) - original.isolates
    text = f"connection: {isolates:.0f} more nodes without an edge"
    judged.append(Property("connection", "paths", isolates <= SHARE * original.nodes, text))
    near = degree_distance <= DEGREES.tolerance
    text = (
        f"{DEGREES.label}: it differs for up to {100 * degree_distance:.1f} % of the nodes "
        "(Kolmogorov-Smirnov distance)"
    )
    judged.append(Property(DEGREES.label, DEGREES.purpose, near, text))
    first = np.array(original.spectrum[:3])
    then = np.mean([m.spectrum[:3] for m in draws], axis=0)
    near = bool((np.abs(then - first) <= EIGENVALUES.tolerance * np.abs(first) + 1e-9).all())
    values = (", ".join(map(shown, values)) for values in (first, then))
    text = "{}: {} became {}".format(EIGENVALUES.label, *values)
    judged.append(Property(EIGENVALUES.label, EIGENVALUES.purpose, near, text))
    if communities is not None:
        judged += judge_communities(communities)
    for row in further:
        if row.original is not None and row.figure.purpose:
            lost = row.figure.lost(row.original, row.published)
            judged.append(Property(row.figure.label, row.figure.purpose, row.kept, lost))
    return judged


def judge_communities(found: CommunityUtility) -> list[Property]:
    """Judge how the communities of the release differ from those of the original."""
    own = found.original.community_modularity
    foreign = found.foreign_share >= FOREIGN_SHARE - 1e-9
    text = (
        "communities: those found in the release have modularity "
        f"{found.foreign_modularity:.3g} in the original; its own have {own:.3g}"
    )
    if found.self_agreement <= CLEAR_AGREEMENT:
        text += (
            "; the original has no clear communities: two searches on it agree at "
            f"{found.self_agreement:.2f} only"
        )
        return [Property("communities", "groups", foreign, text)]
    agree = found.agreement >= AGREEMENT_SHARE * found.self_agreement - 1e-9
    members = (
        "who is in which community: original and release agree at "
        f"{found.agreement:.2f} (1: equal, 0: unrelated); two searches on the original agree "
        f"at {found.self_agreement:.2f}"
    )
    return [
        Property("communities", "groups", foreign, text),
        Property("who is in which community", "groups", agree, members),
    ]

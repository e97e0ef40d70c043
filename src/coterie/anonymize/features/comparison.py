"""How similar the directions, weights, sides and attributes of a release are to the original's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from coterie.anonymize import figures
from coterie.anonymize.draw.bipartite import butterflies
from coterie.anonymize.features.attribute_coding import SensitiveRisk
from coterie.anonymize.features.attribute_measures import (
    column_measures,
    combination_distance,
    distribution_distance,
    same_columns,
)
from coterie.anonymize.features.directions import direction_distributions, direction_measures
from coterie.anonymize.features.full_knowledge_attack import FullKnowledgeAttack
from coterie.anonymize.features.network import Network, skeleton_of
from coterie.anonymize.features.weights import weight_distributions, weight_measures
from coterie.anonymize.figures import (
    DistributionDistance,
    FeatureMeasure,
    FeatureRow,
    Figure,
    Private,
)
from coterie.anonymize.utility.measures import ks_distance
from coterie.data import Graph

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class FeatureResults(Private):
    """The utility and risk of what a release contains besides undirected edges."""

    measures: list[FeatureMeasure] = field(default_factory=list)
    distances: list[DistributionDistance] = field(default_factory=list)
    sensitive: list[SensitiveRisk] = field(default_factory=list)
    attacks: list[FullKnowledgeAttack] = field(default_factory=list)

    def rows(self) -> list[FeatureRow]:
        """Return all figures as pages and tables show them, exactly."""
        return [
            *(FeatureRow(m.name, m.original, m.published, m.kept) for m in self.measures),
            *(
                FeatureRow(f"distance of the {d.name}", None, d.value, d.kept, is_distance=True)
                for d in self.distances
            ),
        ]

    def not_kept(self) -> list[str]:
        """Return one phrase per measure outside its tolerance."""
        found = [
            f"{m.name} ({m.published:.3g} instead of {m.original:.3g})"
            for m in self.measures
            if not m.kept
        ]
        return found + [f"{d.name} (distance {d.value:.2g})" for d in self.distances if not d.kept]


def compare_networks(
    original: tuple[Network, np.ndarray | None],
    published: list[tuple[Network, np.ndarray | None]],
    *,
    min_size: int = 10,
) -> FeatureResults:
    """Compare directions, weights, sides and attributes; each network comes with its sides."""
    network, sides = original
    graphs = [other.graph for other, _ in published]
    found = FeatureResults()
    if network.graph.directed:
        _compare(
            found,
            (figures.DIRECTION_MEASURES, direction_measures),
            (figures.DIRECTION_DISTANCES, direction_distributions),
            [network.graph, *graphs],
        )
    if network.graph.weights is not None:
        _compare(
            found,
            (figures.WEIGHT_MEASURES, weight_measures),
            (figures.WEIGHT_DISTANCES, weight_distributions),
            [network.graph, *graphs],
        )
    if sides is not None:
        placed = [(other.graph, there) for other, there in published if there is not None]
        _compare(
            found,
            (figures.SIDE_MEASURES, _side_measures),
            (figures.SIDE_DISTANCES, _side_distributions),
            [(network.graph, sides), *placed],
        )
    if network.attributes is not None:
        _compare_attributes(found, network, [other for other, _ in published], min_size)
    return found


def _compare(
    found: FeatureResults,
    measured: tuple[Sequence[Figure], Callable[[T], Mapping[str, float | None]]],
    distributed: tuple[Sequence[Figure], Callable[[T], Mapping[str, np.ndarray]]],
    networks: Sequence[T],
) -> None:
    """Add the figures of one feature; the first network is the original."""
    declared, measures = measured
    found.measures.extend(_measures(declared, [measures(network) for network in networks]))
    declared, distributions = distributed
    before, *after = (distributions(network) for network in networks)
    for figure in declared:
        values = [ks_distance(before[figure.key], other[figure.key]) for other in after]
        found.distances.append(_distance(figure, values))


def _compare_attributes(
    found: FeatureResults, original: Network, published: list[Network], min_size: int
) -> None:
    """Add the figures of attributes; all networks have the same columns."""
    table = original.attributes
    if table is None:
        return
    tables = [table, *(same_columns(table, network.attributes) for network in published)]
    skeletons = [skeleton_of(network.graph) for network in (original, *published)]
    for column in table.columns:
        columns = [other[column.name] for other in tables]
        values = [distribution_distance(column, other) for other in columns[1:]]
        found.distances.append(_distance(figures.ATTRIBUTE_VALUES, values, column.name))
        measured = [column_measures(g, c) for g, c in zip(skeletons, columns, strict=True)]
        found.measures.extend(_measures(figures.ATTRIBUTE_MEASURES, measured, column.name))
    if len(table.columns) > 1:
        both = [combination_distance(table, other, min_size) for other in tables[1:]]
        by_chance = float(np.mean([chance for _, chance in both]))
        distances = [distance for distance, _ in both]
        found.distances.append(
            _distance(figures.ATTRIBUTE_COMBINATIONS, distances, by_chance=by_chance)
        )


def _measures(
    declared: Sequence[Figure], measured: Sequence[Mapping[str, float | None]], column: str = ""
) -> list[FeatureMeasure]:
    """Return the declared figures of the original, measured first, and of the release."""
    before, *after = measured
    return [
        FeatureMeasure(
            figure.label.format(column=column),
            before[figure.key],
            _mean([other[figure.key] for other in after]),
            figure.tolerance,
            relative=figure.absolute is None,
        )
        for figure in declared
    ]


def _distance(
    figure: Figure, values: Sequence[float], column: str = "", by_chance: float = 0.0
) -> DistributionDistance:
    return DistributionDistance(
        figure.label.format(column=column), float(np.mean(values)), figure.tolerance + by_chance
    )


def _mean(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None


def _side_measures(network: tuple[Graph, np.ndarray]) -> dict[str, float]:
    return {"butterflies": float(butterflies(*network))}


def _side_distributions(network: tuple[Graph, np.ndarray]) -> dict[str, np.ndarray]:
    graph, sides = network
    return {"first": graph.degrees[sides == 0], "second": graph.degrees[sides == 1]}

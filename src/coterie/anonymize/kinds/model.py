"""Draw everything that a network has besides its skeleton, and measure it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.kinds.attributes.diversity import sensitive_risk
from coterie.anonymize.kinds.attributes.measures import attribute_measures
from coterie.anonymize.kinds.attributes.model import AttributeModel
from coterie.anonymize.kinds.directions import DirectionModel, compare_directions
from coterie.anonymize.kinds.network import Network
from coterie.anonymize.kinds.network_attack import attack_naive_copy, attack_network
from coterie.anonymize.kinds.outcome import (
    DistanceMeasure,
    KindMeasure,
    KindOutcome,
    NetworkAttack,
    SensitiveRisk,
)
from coterie.anonymize.kinds.sides import compare_sides
from coterie.anonymize.kinds.weights import WeightModel, compare_weights
from coterie.data import Graph


@dataclass(frozen=True, eq=False)
class KindModel:
    """What is drawn on top of the skeleton; None for what the network does not have."""

    directions: DirectionModel | None
    weights: WeightModel | None
    attributes: AttributeModel | None

    @classmethod
    def fit(
        cls,
        network: Network,
        classes: Classes,
        *,
        min_size: int,
        sensitive: tuple[str, ...] = (),
        sensitive_distance: float = 1.0,
    ) -> KindModel:
        """Collect the statistics of the classes."""
        graph, table = network.graph, network.attributes
        return cls(
            DirectionModel.fit(graph, classes, min_size) if graph.directed else None,
            None if graph.weights is None else WeightModel.fit(graph, classes, min_size),
            None
            if table is None
            else AttributeModel.fit(
                graph,
                table,
                classes,
                min_size=min_size,
                sensitive=list(sensitive),
                closeness=sensitive_distance,
            ),
        )

    def draw(self, skeleton: Graph, rng: Generator) -> Network:
        """Return a network with this skeleton."""
        graph, table, codes = skeleton, None, None
        if self.attributes is not None:
            codes = self.attributes.draw(skeleton, rng)
            table = self.attributes.coded.table(codes, rng)
        if self.directions is not None:
            graph = self.directions.draw(skeleton, rng)
        elif self.weights is not None:
            graph = self.weights.draw(skeleton, rng)
        return Network(graph, table, codes)

    def sensitive_risks(self, networks: list[tuple[Network, np.ndarray]]) -> list[SensitiveRisk]:
        """Return what the classes of the published networks say about sensitive columns.

        Each figure is that of the network in which it is worst.
        """
        if self.attributes is None:
            return []
        label, found = self.attributes.classes.label, []
        for column in self.attributes.sensitive:
            coding = self.attributes.coded.columns[column]
            risks = [
                sensitive_risk(
                    coding.name,
                    network.codes[identity, column],
                    label,
                    coding.n_codes,
                    coding.ordered,
                )
                for network, identity in networks
                if network.codes is not None
            ]
            found.append(
                SensitiveRisk(
                    coding.name,
                    min(risk.least_values for risk in risks),
                    max(risk.largest_distance for risk in risks),
                    max(risk.certain_people for risk in risks),
                )
            )
        return found


def assess_kind(
    original: Network,
    sides: np.ndarray | None,
    model: KindModel,
    classes: Classes,
    networks: list[tuple[Network, np.ndarray]],
    rng: Generator,
    *,
    min_size: int,
) -> KindOutcome | None:
    """Measure and attack the published networks, given with the node of each person in them.

    Returns None for a network without directions, weights, sides and attributes.
    """
    placed = []
    for network, identity in networks:
        there = None
        if sides is not None:
            there = np.empty(len(sides), bool)
            there[identity] = sides
        placed.append((network, there))
    measured = compare_networks((original, sides), placed, min_size=min_size)
    if not measured.measures and not measured.distances:
        return None
    return replace(
        measured,
        sensitive=model.sensitive_risks(networks),
        attacks=[attack_networks(original, networks, classes.label, rng)],
    )


def compare_networks(
    original: tuple[Network, np.ndarray | None],
    published: list[tuple[Network, np.ndarray | None]],
    *,
    min_size: int = 10,
) -> KindOutcome:
    """Compare directions, weights, sides and attributes; each network comes with its sides."""
    network, sides = original
    graphs = [other.graph for other, _ in published]
    found = []
    if network.graph.directed:
        found.append(compare_directions(network.graph, graphs))
    if network.graph.weights is not None:
        found.append(compare_weights(network.graph, graphs))
    if sides is not None:
        placed = [(other.graph, there) for other, there in published if there is not None]
        found.append(compare_sides((network.graph, sides), placed))
    if network.attributes is not None:
        found.append(attribute_measures(network, [other for other, _ in published], min_size))
    measures: list[KindMeasure] = []
    distances: list[DistanceMeasure] = []
    for some, others in found:
        measures += some
        distances += others
    return KindOutcome(measures, distances)


def attack_networks(
    original: Network,
    networks: list[tuple[Network, np.ndarray]],
    label: np.ndarray,
    rng: Generator,
) -> NetworkAttack:
    """Attack each network, given with the node of each person, and a copy without names.

    The result is that of the network in which the most people are found. `label` is the class of
    each person.
    """
    results = [
        attack_network(original, network, identity, label, rng) for network, identity in networks
    ]
    worst = max(results, key=lambda result: result.z)
    known = ["degrees"]
    known += ["directions"] * original.graph.directed
    known += ["weights"] * (original.graph.weights is not None)
    known += ["all attributes"] * (original.attributes is not None)
    return NetworkAttack(
        f"knows {', '.join(known)} of everybody",
        worst.guesses,
        worst.correct,
        worst.expected,
        attack_naive_copy(original, label, rng).correct,
    )

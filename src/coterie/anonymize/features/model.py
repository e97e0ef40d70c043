"""Draw everything that a network has besides its skeleton, and measure it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.features.attribute_coding import SensitiveRisk, sensitive_risk
from coterie.anonymize.features.attribute_model import AttributeModel
from coterie.anonymize.features.comparison import FeatureResults, compare_networks
from coterie.anonymize.features.directions import DirectionModel
from coterie.anonymize.features.full_knowledge_attack import attack_with_full_knowledge
from coterie.anonymize.features.network import Network, sides_of_nodes
from coterie.anonymize.features.weights import WeightModel
from coterie.anonymize.risk.disclosure import AttributeInference, attribute_inference
from coterie.data import Graph


@dataclass(frozen=True, eq=False)
class FeatureModel:
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
    ) -> FeatureModel:
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

    def inference(
        self, skeleton: Graph, networks: list[tuple[Network, np.ndarray]]
    ) -> list[AttributeInference]:
        """Return what the classes of the published networks say about every column, at worst."""
        model = self.attributes
        if model is None:
            return []
        return [
            max(
                (
                    attribute_inference(
                        coding.name,
                        skeleton,
                        model.classes,
                        model.coded.codes[:, column],
                        network.codes[identity, column],
                        coding.n_codes,
                    )
                    for network, identity in networks
                    if network.codes is not None
                ),
                key=lambda found: found.bound,
            )
            for column, coding in enumerate(model.coded.columns)
        ]

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


def assess_features(
    original: Network,
    sides: np.ndarray | None,
    model: FeatureModel,
    classes: Classes,
    networks: list[tuple[Network, np.ndarray]],
    rng: Generator,
    *,
    min_size: int,
) -> FeatureResults | None:
    """Measure and attack the published networks, given with the node of each person in them.

    Returns None for a network without directions, weights, sides and attributes.
    """
    placed = [
        (network, None if sides is None else sides_of_nodes(sides, identity))
        for network, identity in networks
    ]
    measured = compare_networks((original, sides), placed, min_size=min_size)
    if not measured.measures and not measured.distances:
        return None
    return replace(
        measured,
        sensitive=model.sensitive_risks(networks),
        attacks=[attack_with_full_knowledge(original, networks, classes.label, rng)],
    )

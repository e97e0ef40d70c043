"""Compare networks with two sides: degrees of both, and butterflies."""

from __future__ import annotations

import numpy as np

from coterie.anonymize.draw.bipartite import butterflies
from coterie.anonymize.kinds.directions import ks_distance
from coterie.anonymize.kinds.outcome import DistanceMeasure, KindMeasure
from coterie.data import Graph

_DEGREE_DISTANCE = 0.02
_BUTTERFLIES = 0.15


def compare_sides(
    original: tuple[Graph, np.ndarray], published: list[tuple[Graph, np.ndarray]]
) -> tuple[list[KindMeasure], list[DistanceMeasure]]:
    """Compare the degrees of both sides and the number of butterflies."""
    graph, sides = original
    measures = [
        KindMeasure(
            "butterflies",
            float(butterflies(graph, sides)),
            float(np.mean([butterflies(g, s) for g, s in published])),
            _BUTTERFLIES,
            relative=True,
        )
    ]
    distances = []
    for side, name in ((False, "degrees of the first side"), (True, "degrees of the second side")):
        found = [
            ks_distance(graph.degrees[sides == side], g.degrees[s == side]) for g, s in published
        ]
        distances.append(DistanceMeasure(name, float(np.mean(found)), _DEGREE_DISTANCE))
    return measures, distances

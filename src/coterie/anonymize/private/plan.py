"""What a sketch would know about a network of a given size, before anything is spent.

Only public numbers are used: how many nodes there are, about how many edges, and epsilon. The laws
are those of the sketch (noise_laws.py), so a plan and a sketch agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from coterie.anonymize.private import public_rules
from coterie.anonymize.private.budget import Shares
from coterie.anonymize.private.noise_laws import (
    LadderLaw,
    geometric_error,
    ladder_half_width,
    laplace_error,
    laplace_half_width,
)

EPSILONS = ("0.25", "0.5", "1", "2", "4")
SHARED = (10, 100, 300)  # friends that two people have in common, for the triangles


class PlannedFigure(NamedTuple):
    """What the noise does to one figure."""

    key: str
    label: str
    error: float  # expected
    half_width: float  # of a 95 % interval


@dataclass(frozen=True)
class SketchPlan:
    """The expected errors of a sketch.

    Attributes
    ----------
    nodes, edges : int
        Size of the network.
    epsilon : fractions.Fraction
        Privacy loss.
    blocks : int
        Number of blocks that the sketch would use.
    figures : tuple of PlannedFigure
        Expected error and half of a 95 % interval, per figure.
    """

    nodes: int
    edges: int
    epsilon: Fraction
    blocks: int
    figures: tuple[PlannedFigure, ...]

    def __getitem__(self, key: str) -> PlannedFigure:
        return next(each for each in self.figures if each.key == key)


def plan(nodes: int, edges: int, epsilon: Fraction, shares: Shares) -> SketchPlan:
    """Return the expected errors of a sketch of a network with this many nodes and edges."""
    found: list[PlannedFigure] = []

    def counted(key: str, label: str, sensitivity: int, share: Fraction, unit: float = 1) -> None:
        scale = float(sensitivity / (epsilon * share))
        error, half = laplace_error(scale) / unit, laplace_half_width(scale) / unit
        found.append(PlannedFigure(key, label, error, half))

    counted("edges", "number of edges", 1, shares.edge_count)
    counted("mean_degree", "mean degree", 1, shares.edge_count, nodes / 2)
    counted("degree", "degree of one node", 2, shares.degrees)
    counted("nodes_with_degree", "number of nodes with at least d edges", 2, shares.degree_counts)
    counted("largest_degree", "largest degree", 2, shares.largest_degrees)
    counted("block_edges", "edges between two blocks", 1, shares.block_edges)
    for common in SHARED:
        law = LadderLaw.of(common, 1, float(epsilon * shares.triangles))
        label = f"triangles, if two nodes share at most {common} neighbours"
        half = ladder_half_width([law])
        found.append(PlannedFigure(f"triangles_{common}", label, law.error(), half))
    cap = public_rules.clustering_cap(0.0)
    label = "mean local clustering"
    counted("mean_clustering", label, cap + 2, shares.capped_sums[0], nodes)
    noise = geometric_error(float(1 / (epsilon * shares.labels)))
    label = "neighbours of a node in one block, when its block is chosen"
    found.append(PlannedFigure("block_choice", label, noise, 3 * noise))
    blocks = public_rules.n_blocks(nodes, epsilon / shares.stability, edges)
    return SketchPlan(nodes, edges, epsilon, blocks, tuple(found))

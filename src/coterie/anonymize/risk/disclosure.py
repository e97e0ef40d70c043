"""A1 and A2: risks that follow from classes, cells and degrees, without attacking a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coterie.anonymize.draw.classes import ClassCells, Classes
from coterie.anonymize.figures import Private
from coterie.anonymize.risk.exact_degrees import PairClaim, name_edges
from coterie.anonymize.risk.left_out_edges import (
    ControlledClaim,
    LeftOutSample,
    compare_with_left_out,
)
from coterie.data import Graph

_ROUNDING = 1e-12  # a probability this close to a threshold counts as reaching it


@dataclass(frozen=True, repr=False)
class ClassRisk(Private):
    """A1: the probability of picking the right person in a known class, 1 / (class size)."""

    mean: float  # over people
    worst: float
    classes: int
    smallest: int  # people in the smallest class


@dataclass(frozen=True, repr=False)
class EdgeShares(Private):
    """The share of the original edges whose probability reaches a threshold."""

    at_least_50: float
    at_least_90: float
    certain: float
    largest: float  # the largest probability of an original edge


@dataclass(frozen=True, repr=False)
class DegreeDisclosure(Private):
    """A2 for attackers who know everyone's block and exact degree, and the block edges."""

    shares: EdgeShares  # by the probability of the maximum-entropy attacker
    claims: list[PairClaim]  # one per attacker
    controls: list[ControlledClaim]  # the same compared with left-out edges; empty if not measured

    @property
    def named(self) -> float:
        """The largest share of the edges that an attacker names with the required certainty.

        The certainty is the attacker's own for one of them; also that list counts if it turns out
        to be right less often.
        """
        return max((claim.named for claim in self.claims), default=0.0)

    @property
    def control(self) -> ControlledClaim | None:
        """The comparison with left-out edges that shows the most."""
        return max(self.controls, key=lambda claim: claim.bound, default=None)

    @property
    def disclosed(self) -> float:
        """The largest share that may be named because the edges are in the data.

        This is the upper end of a 95 % interval; without a control it is all that is named.
        """
        return self.named if self.control is None else self.control.bound


@dataclass(frozen=True, repr=False)
class CellDensities(Private):
    """The share of the pairs of a cell that are connected in the original, for all cells."""

    largest: float
    above_limit: float  # share of the edges in cells at or above the limit of the policy


@dataclass(frozen=True, repr=False)
class CellDisclosure(Private):
    """A2: original edges that the edge probabilities or densities of their cells disclose."""

    shares: EdgeShares
    above_limit: float  # share of the edges at or above the limit of the policy
    densities: CellDensities
    known_degrees: DegreeDisclosure


def class_risk(labels: np.ndarray) -> ClassRisk:
    """Compute A1 from the class of every person.

    >>> vars(class_risk(np.array([0, 0, 0, 1])))
    {'mean': 0.5, 'worst': 1.0, 'classes': 2, 'smallest': 1}
    """
    sizes = np.bincount(labels)
    sizes = sizes[sizes > 0]
    return ClassRisk(
        mean=float(len(sizes) / max(len(labels), 1)),
        worst=float(1.0 / sizes.min()) if len(sizes) else 0.0,
        classes=len(sizes),
        smallest=int(sizes.min()) if len(sizes) else 0,
    )


def cell_disclosure(
    graph: Graph,
    classes: Classes,
    cells: ClassCells,
    edge_probability: float,
    left_out: Sequence[LeftOutSample] = (),
) -> CellDisclosure:
    """Compute A2: what the model discloses to somebody who knows everyone's class."""
    above = cells.edges[cells.probability >= edge_probability].sum()
    return CellDisclosure(
        edge_shares(cells.probability, cells.edges),
        float(above / max(cells.edges.sum(), 1)),
        cell_densities(cells, edge_probability),
        degree_disclosure(graph, classes, edge_probability, left_out),
    )


def cell_densities(cells: ClassCells, edge_probability: float = 0.9) -> CellDensities:
    """Summarise how many pairs of each cell are connected in the original.

    All cells count, also small ones: a cell of classes with at least 10 people has at least 45
    pairs, and a smaller one could only be made under a policy that allows smaller classes.
    """
    above = cells.edges[cells.density >= edge_probability - _ROUNDING].sum()
    return CellDensities(
        float(cells.density.max(initial=0.0)), float(above / max(cells.edges.sum(), 1))
    )


def edge_shares(probability: np.ndarray, edges: np.ndarray) -> EdgeShares:
    """Return the shares of the edges with a probability of at least 0.5, 0.9 and 1."""
    total = max(float(edges.sum()), 1.0)
    half, high, certain = (
        float(edges[probability >= t - _ROUNDING].sum() / total) for t in (0.5, 0.9, 1.0)
    )
    return EdgeShares(half, high, certain, float(min(probability.max(initial=0.0), 1.0)))


def degree_disclosure(
    graph: Graph,
    classes: Classes,
    certainty: float = 0.9,
    left_out: Sequence[LeftOutSample] = (),
) -> DegreeDisclosure:
    """Compute A2 for attackers who know all blocks, exact degrees and edges between blocks."""
    named, probability = name_edges(graph, classes.block, certainty)
    controls = compare_with_left_out(named, left_out) if left_out else []
    shares = edge_shares(probability, np.ones(len(probability)))
    return DegreeDisclosure(shares, [edges.claim for edges in named], controls)

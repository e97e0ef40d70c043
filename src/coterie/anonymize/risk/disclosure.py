"""A1 and A2: risks that follow from classes, cells and degrees, without attacking a release.

And what the class of a person tells about each released column: somebody who knows the class
guesses the value that most of it have in the release. That is right for many people if values
follow groups, whether or not the person is in the data. So the control is a person who was left
out: the class is guessed from the contacts and their number, and the own value is not among those
of the class; or the most frequent value of all is guessed, if that is right more often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from coterie.anonymize.draw.classes import ClassCells, Classes
from coterie.anonymize.figures import Private
from coterie.anonymize.intervals import NORMAL_95
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


_CERTAIN = 0.9


@dataclass(frozen=True, repr=False)
class AttributeInference(Private):
    """How often a column is guessed right from the class. All but the last are shares."""

    column: str
    right: float  # of all people
    control: float  # of the same people if they are left out of the data
    majority: float  # if the most frequent value is guessed for everybody
    bound: float  # upper end of the 95 % interval of the excess over the control
    certain_people: int  # people of classes of which nine in ten have one value

    @property
    def excess(self) -> float:
        """What is guessed right because the people are in the data."""
        return self.right - self.control


def attribute_inference(
    column: str,
    graph: Graph,
    classes: Classes,
    codes: np.ndarray,
    published: np.ndarray,
    n_codes: int,
) -> AttributeInference:
    """Guess a column from the classes; `codes` are true values, `published` those of the release.

    Both are listed by person; the published value is that of the node that stands for the person.
    """
    n, label = len(codes), classes.label.astype(np.int64)
    counts = np.zeros((classes.n_classes, n_codes), np.int64)
    np.add.at(counts, (label, published), 1)
    right = counts.argmax(1)[label] == codes
    guessed = class_by_contacts(graph, classes)
    seen = counts[guessed]
    own = np.flatnonzero(guessed == label)
    seen[own, codes[own]] -= 1
    control = max(seen.argmax(1) == codes, np.bincount(codes).argmax() == codes, key=np.mean)
    difference = right.astype(np.float64) - control
    half = NORMAL_95 * float(difference.std()) / np.sqrt(max(n, 1))
    certain = counts.max(1) >= _CERTAIN * np.maximum(counts.sum(1), 1)
    return AttributeInference(
        column,
        float(right.mean()),
        float(control.mean()),
        float(np.bincount(codes).max() / max(n, 1)),
        max(0.0, float(difference.mean()) + half),
        int(certain[label].sum()),
    )


def class_by_contacts(graph: Graph, classes: Classes) -> np.ndarray:
    """Return the class in which each person would be looked for: block of most contacts, degree."""
    n, k = graph.n_nodes, max(classes.n_blocks, 1)
    owner = np.repeat(np.arange(n), graph.degrees)
    contacts = csr_array((np.ones(len(owner)), (owner, classes.block[graph.indices])), shape=(n, k))
    block = np.asarray(contacts.argmax(axis=1)).ravel()
    degree = np.log1p(graph.degrees)
    sizes = np.maximum(classes.sizes, 1)
    mean = np.bincount(classes.label, degree, classes.n_classes) / sizes
    guessed = np.zeros(n, np.int64)
    for b in np.unique(block):
        here, possible = np.flatnonzero(block == b), np.flatnonzero(classes.block_of == b)
        nearest = np.abs(mean[possible][None, :] - degree[here][:, None]).argmin(1)
        guessed[here] = possible[nearest]
    return guessed

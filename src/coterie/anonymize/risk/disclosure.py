"""A1 and A2: risks that follow from the model alone, without running an attack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coterie.anonymize.draw.classes import ClassCells, Classes, block_matrix
from coterie.data import Graph

_ROUNDING = 1e-12  # a probability this close to a threshold counts as reaching it
_EXPECTED_EDGES = (0.3, 0.5, 0.7, 0.9, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
_FEWEST_PAIRS = 10  # a precision measured on fewer pairs means nothing


@dataclass(frozen=True)
class ClassRisk:
    """A1: the probability of picking the right person in a known class, 1 / (class size)."""

    mean: float  # over people
    worst: float
    classes: int
    smallest: int  # people in the smallest class


@dataclass(frozen=True)
class EdgeShares:
    """The share of the original edges whose probability reaches a threshold."""

    at_least_50: float
    at_least_90: float
    certain: float
    largest: float  # the largest probability of an original edge


class PairClaim(NamedTuple):
    """All pairs above a number of expected edges, if an attacker claims that they are edges."""

    expected_edges: float  # the threshold, per pair
    pairs: int
    edges: int  # pairs that are edges
    precision: float


@dataclass(frozen=True)
class DegreeDisclosure:
    """A2 for an attacker who knows everyone's block and exact degree."""

    shares: EdgeShares
    claims: list[PairClaim]
    named: float  # largest share of the edges that can be claimed with the required certainty


@dataclass(frozen=True)
class CellDisclosure:
    """A2: original edges that the edge probabilities of their cells disclose."""

    shares: EdgeShares
    above_limit: float  # share of the edges at or above the limit of the policy
    known_degrees: DegreeDisclosure


def class_risk(labels: np.ndarray) -> ClassRisk:
    """Compute A1 from the class of every person.

    >>> class_risk(np.array([0, 0, 0, 1]))
    ClassRisk(mean=0.5, worst=1.0, classes=2, smallest=1)
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
    graph: Graph, classes: Classes, cells: ClassCells, edge_probability: float
) -> CellDisclosure:
    """Compute A2: what the model discloses to somebody who knows everyone's class."""
    above = cells.edges[cells.probability >= edge_probability].sum()
    return CellDisclosure(
        edge_shares(cells.probability, cells.edges),
        float(above / max(cells.edges.sum(), 1)),
        degree_disclosure(graph, classes, edge_probability),
    )


def edge_shares(probability: np.ndarray, edges: np.ndarray) -> EdgeShares:
    """Return the shares of the edges with a probability of at least 0.5, 0.9 and 1."""
    total = max(float(edges.sum()), 1.0)
    half, high, certain = (
        float(edges[probability >= t - _ROUNDING].sum() / total) for t in (0.5, 0.9, 1.0)
    )
    return EdgeShares(half, high, certain, float(min(probability.max(initial=0.0), 1.0)))


def degree_disclosure(graph: Graph, classes: Classes, certainty: float = 0.9) -> DegreeDisclosure:
    """Compute A2 for an attacker who knows all blocks, exact degrees and edges between blocks.

    The attacker expects d_u d_v e_rs / (K_r K_s) edges between two people. This is not a
    probability, because two hubs are connected at most once. Therefore the precision is measured
    too: of all pairs above a number of expected edges, how many are edges. `named` is the
    largest share of the edges that can be claimed with a precision of at least `certainty`.
    """
    source, target = graph.edges()
    block, degrees = classes.block, graph.degrees.astype(np.float64)
    matrix = block_matrix(graph, block).astype(np.float64)
    stubs = np.maximum(matrix.sum(1), 1)
    rate = matrix / np.outer(stubs, stubs)
    expected = degrees[source] * degrees[target] * rate[block[source], block[target]]
    edges = np.array([(expected >= t - _ROUNDING).sum() for t in _EXPECTED_EDGES])
    pairs = _pairs_above(degrees, block, rate, np.array(_EXPECTED_EDGES) - _ROUNDING)
    precision = edges / np.maximum(pairs, 1)
    certain = edges[(precision >= certainty) & (pairs >= _FEWEST_PAIRS)]
    return DegreeDisclosure(
        edge_shares(expected, np.ones(len(expected))),
        [
            PairClaim(t, int(n), int(m), float(p))
            for t, n, m, p in zip(_EXPECTED_EDGES, pairs, edges, precision, strict=True)
        ],
        float(certain.max(initial=0) / max(len(expected), 1)),
    )


def _pairs_above(
    degrees: np.ndarray, block: np.ndarray, rate: np.ndarray, thresholds: np.ndarray
) -> np.ndarray:
    """Count the pairs of people with d_u d_v rate_rs at or above each threshold (int64)."""
    members = [np.sort(degrees[block == b]) for b in range(len(rate))]
    top = np.array([m[-1] if len(m) else 0.0 for m in members])
    lowest = thresholds.min()
    total = np.zeros(len(thresholds), np.int64)
    for r, s in zip(*np.nonzero(np.triu(np.outer(top, top) * rate >= lowest)), strict=True):
        high = members[r][members[r] * top[s] * rate[r, s] >= lowest]
        needed = thresholds / (rate[r, s] * high[:, None])
        above = (len(members[s]) - np.searchsorted(members[s], needed)).sum(0)
        if r == s:  # this counts every pair twice, and everyone with themselves
            above = (above - (high[:, None] ** 2 * rate[r, r] >= thresholds).sum(0)) // 2
        total += above
    return total

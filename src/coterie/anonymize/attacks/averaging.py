"""The averaging attack: true edges that several releases of one original disclose together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.anonymize.figures import Private
from coterie.anonymize.intervals import Interval, wilson
from coterie.anonymize.published_graph import PublishedGraph
from coterie.data import Graph


@dataclass(frozen=True, repr=False)
class AveragingResult(Private):
    """The pairs that are connected in at least `joined_in` of the releases."""

    joined_in: int
    pairs: int
    true_edges: int
    precision: float
    interval: Interval  # of the precision


def averaging_attack(original: Graph, releases: list[PublishedGraph]) -> list[AveragingResult]:
    """Count the true edges among the pairs that are connected in at least 1, 2, … releases.

    This is the worst case: the attacker knows who is who in every release. With new random ids in
    each release, the attacker would first have to re-identify everyone.
    """
    n = original.n_nodes
    true = _keys(*original.edges(), n)
    drawn = []
    for graph, identity in releases:
        person = np.empty(n, np.int64)
        person[identity] = np.arange(n)
        source, target = graph.edges()
        drawn.append(_keys(person[source], person[target], n))
    pairs, times = np.unique(np.concatenate(drawn), return_counts=True)
    is_edge = np.isin(pairs, true, assume_unique=True)
    results = []
    for least in range(1, len(releases) + 1):
        often = times >= least
        n_pairs, hits = int(often.sum()), int(is_edge[often].sum())
        precision = hits / max(n_pairs, 1)
        results.append(AveragingResult(least, n_pairs, hits, precision, wilson(hits, n_pairs)))
    return results


def _keys(source: np.ndarray, target: np.ndarray, n: int) -> np.ndarray:
    """Return one sorted integer per pair of nodes."""
    low, high = np.minimum(source, target), np.maximum(source, target)
    return np.sort(low.astype(np.int64) * n + high)

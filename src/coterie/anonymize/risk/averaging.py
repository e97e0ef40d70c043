"""What several releases of one original give away together."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.anonymize.risk.attack_suite import Target
from coterie.anonymize.risk.intervals import wilson
from coterie.data import Graph


def averaging_attack(original: Graph, releases: list[Target]) -> list[dict[str, Any]]:
    """Pairs that are joined in at least 1, 2 … releases, and how many of them are true edges.

    The worst case: the attacker can line the releases up person by person (the level "ids kept").
    With new random ids in every release it first needs the seeded attack for that.
    """
    n = original.n_nodes
    true = _keys(*original.edges(), n)
    drawn = []
    for graph, truth in releases:
        person = np.empty(n, np.int64)
        person[truth] = np.arange(n)
        source, target = graph.edges()
        drawn.append(_keys(person[source], person[target], n))
    pairs, times = np.unique(np.concatenate(drawn), return_counts=True)
    is_edge = np.isin(pairs, true, assume_unique=True)
    rows = []
    for least in range(1, len(releases) + 1):
        often = times >= least
        hits = int(is_edge[often].sum())
        rows.append(
            {
                "joined_in": least,
                "pairs": int(often.sum()),
                "true_edges": hits,
                "precision": hits / max(int(often.sum()), 1),
                "interval": wilson(hits, int(often.sum())),
            }
        )
    return rows


def _keys(source: np.ndarray, target: np.ndarray, n: int) -> np.ndarray:
    low, high = np.minimum(source, target), np.maximum(source, target)
    return np.sort(low.astype(np.int64) * n + high)

"""What an attack's claims would hit by chance alone, given the degrees: the yardstick of A4."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.anonymize.attacks import Matching
from coterie.anonymize.intervals import wilson
from coterie.anonymize.suite import Target
from coterie.graph import Graph


def chance_of(
    original: Graph, target: Target, claim: Matching, block: np.ndarray
) -> dict[str, Any]:
    """Beside a seeded attack: how many people, and whose block, random picks among published nodes
    of like degree would find; and how often the block of a claimed node is the person's own."""
    people = np.flatnonzero(claim.guess >= 0)
    guess = claim.guess[people]
    level = _degree_level(target.graph.degrees)
    size = np.bincount(level)
    block_of_published = np.empty(target.graph.n_nodes, block.dtype)
    block_of_published[target.truth] = block
    k = int(block.max(initial=0)) + 1
    together = np.bincount(level * k + block_of_published, minlength=len(size) * k)
    there = level[guess]
    right = int((block_of_published[guess] == block[people]).sum())
    by_chance = together[there * k + block[people]] / size[there]
    return {
        "chance": float((1.0 / size[there])[level[target.truth[people]] == there].sum()),
        "block_accuracy": right / len(people) if len(people) else 0.0,
        "block_interval": wilson(right, len(people)),
        "block_chance": float(by_chance.mean()) if len(people) else 0.0,
    }


def _degree_level(degrees: np.ndarray) -> np.ndarray:
    """Degrees up to 8 apart, then in steps of a quarter."""
    return np.unique(
        np.where(degrees <= 8, degrees, 9 + np.floor(np.log(np.maximum(degrees, 9) / 9) / 0.2231)),
        return_inverse=True,
    )[1]

"""What an attack's claims would hit by chance alone, given the degrees: the yardstick of A4."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.risk.attack_suite import Target
from coterie.anonymize.risk.attacks import Matching
from coterie.anonymize.risk.intervals import wilson
from coterie.data import Graph


def chance_of(original: Graph, target: Target, claim: Matching, classes: Classes) -> dict[str, Any]:
    """Beside an attack: how many people, and whose block, random picks among published nodes of
    like degree would find; how often the block of a claimed node is the person's own; and
    `expected`, what these claims hit on average if the members of each class change places, which
    is all that they can expect of a release that holds nothing of a person but the class."""
    block = classes.block
    people = np.flatnonzero(claim.guess >= 0)
    guess = claim.guess[people]
    level = _degree_level(target.graph.degrees)
    size = np.bincount(level)
    block_of_published = np.empty(target.graph.n_nodes, block.dtype)
    block_of_published[target.truth] = block
    k = int(block.max(initial=0)) + 1
    together = np.bincount(level * k + block_of_published, minlength=len(size) * k)
    there = level[guess]
    class_of_published = np.empty(target.graph.n_nodes, classes.label.dtype)
    class_of_published[target.truth] = classes.label
    free = np.bincount(np.delete(classes.label, claim.seeds), minlength=classes.n_classes)
    own_class = class_of_published[guess] == classes.label[people]
    right = int((block_of_published[guess] == block[people]).sum())
    by_chance = together[there * k + block[people]] / size[there]
    return {
        "chance": float((1.0 / size[there])[level[target.truth[people]] == there].sum()),
        "expected": float((own_class / np.maximum(free[classes.label[people]], 1)).sum()),
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

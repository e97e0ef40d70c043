"""The number of guesses that would be right by luck: the reference for A4."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.intervals import Interval, wilson
from coterie.anonymize.published_graph import PublishedGraph, per_published_node


@dataclass(frozen=True)
class ExpectedHits:
    """The part of an attack's guesses that luck alone explains.

    A release contains nothing about a person but the class, so `same_class` is all that an attack
    can expect from it.
    """

    same_degree: float  # hits of random guesses among published nodes of similar degree
    same_class: float  # mean hits of these guesses if the members of each class swap places
    block_accuracy: float  # share of the guesses that are in the person's block
    block_interval: Interval
    block_chance: float  # the same share for random guesses of similar degree


def expected_hits(
    target: PublishedGraph, guess: np.ndarray, seeds: np.ndarray, classes: Classes
) -> ExpectedHits:
    """Compute what luck explains of `guess` (published node per person, -1 for none)."""
    block = classes.block
    people = np.flatnonzero(guess >= 0)
    guessed = guess[people]
    bin_of = _degree_bins(target.graph.degrees)
    size = np.bincount(bin_of)
    block_of_published = per_published_node(block, target.identity)
    class_of_published = per_published_node(classes.label, target.identity)
    k = int(block.max(initial=0)) + 1
    together = np.bincount(bin_of * k + block_of_published, minlength=len(size) * k)
    guessed_bin = bin_of[guessed]
    unknown = np.bincount(np.delete(classes.label, seeds), minlength=classes.n_classes)
    own_class = class_of_published[guessed] == classes.label[people]
    right = int((block_of_published[guessed] == block[people]).sum())
    by_chance = together[guessed_bin * k + block[people]] / size[guessed_bin]
    return ExpectedHits(
        same_degree=hits_by_degree(target, guess),
        same_class=float((own_class / np.maximum(unknown[classes.label[people]], 1)).sum()),
        block_accuracy=right / len(people) if len(people) else 0.0,
        block_interval=wilson(right, len(people)),
        block_chance=float(by_chance.mean()) if len(people) else 0.0,
    )


def hits_by_degree(target: PublishedGraph, guess: np.ndarray) -> float:
    """Return the mean hits of random guesses among published nodes of the same degree bins."""
    people = np.flatnonzero(guess >= 0)
    bin_of = _degree_bins(target.graph.degrees)
    guessed_bin = bin_of[guess[people]]
    own_bin = bin_of[target.identity[people]]
    chance = 1.0 / np.bincount(bin_of)[guessed_bin]
    return float(chance[own_bin == guessed_bin].sum())


def _degree_bins(degrees: np.ndarray) -> np.ndarray:
    """Return a bin per node: one per degree up to 8, above that bins that grow by a quarter."""
    return np.unique(
        np.where(degrees <= 8, degrees, 9 + np.floor(np.log(np.maximum(degrees, 9) / 9) / 0.2231)),
        return_inverse=True,
    )[1]

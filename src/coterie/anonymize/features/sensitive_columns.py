"""How much a class says about a sensitive column: l-diversity and t-closeness.

Somebody who knows the class of a person learns how the column is distributed in it. The class is
l-diverse if it contains at least l different values [1]_, and t-close if its distribution is at
most t away from that of everybody [2]_. For categories the distance is the share of people whose
value would have to change; for ordered values it is the earth mover's distance, where moving
everybody from the lowest to the highest value counts 1.

.. [1] A. Machanavajjhala et al., "l-diversity: privacy beyond k-anonymity", ICDE 2006.
.. [2] N. Li, T. Li and S. Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and
   l-diversity", ICDE 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from coterie.anonymize.figures import Private


@dataclass(frozen=True, repr=False)
class SensitiveRisk(Private):
    """What classes say about one sensitive column."""

    column: str
    least_values: int  # different values in the class with the fewest
    largest_distance: float  # of a class from everybody
    certain_people: int  # people whose class has a single value


def class_counts(codes: np.ndarray, label: np.ndarray, n_codes: int) -> np.ndarray:
    """Return how many people of each class have each code (int64[classes, codes])."""
    n_classes = int(label.max(initial=-1)) + 1
    flat = np.bincount(label.astype(np.int64) * n_codes + codes, minlength=n_classes * n_codes)
    return flat.reshape(n_classes, n_codes)


def distances(counts: np.ndarray, ordered: bool) -> np.ndarray:
    """Return the distance of each class from everybody (float64[classes]).

    >>> distances(np.array([[2, 0], [0, 2]]), ordered=False)
    array([0.5, 0.5])
    """
    people = np.maximum(counts.sum(1, keepdims=True), 1)
    difference = counts / people - counts.sum(0) / max(counts.sum(), 1)
    if not ordered:
        return np.asarray(np.abs(difference).sum(1) / 2)
    steps = np.abs(np.cumsum(difference, axis=1)[:, :-1]).sum(1)
    return np.asarray(steps / max(counts.shape[1] - 1, 1))


def sensitive_risk(
    column: str, codes: np.ndarray, label: np.ndarray, n_codes: int, ordered: bool
) -> SensitiveRisk:
    """Measure what the classes say about a column with these codes."""
    counts = class_counts(codes, label, n_codes)
    values = (counts > 0).sum(1)
    return SensitiveRisk(
        column,
        int(values.min()),
        float(distances(counts, ordered).max()),
        int(counts[values == 1].sum()),
    )


def blend_sensitive(
    codes: np.ndarray,
    label: np.ndarray,
    n_codes: int,
    ordered: bool,
    limit: float,
    rng: Generator,
) -> np.ndarray:
    """Replace values of classes that are too far from everybody, until none is.

    In such a class the smallest necessary share of people gets values in the proportions of
    everybody. The codes are listed class by class, in any order within a class.
    """
    blended = codes.copy()
    first = np.r_[0, np.cumsum(np.bincount(label))]
    everybody = np.bincount(codes, minlength=n_codes) / max(len(codes), 1)
    for _ in range(50):
        counts = class_counts(blended, label, n_codes)
        distance = distances(counts, ordered)
        for r in np.flatnonzero((distance > limit) | ((counts > 0).sum(1) < 2)):
            size = first[r + 1] - first[r]
            excess = 1 - limit / distance[r] if distance[r] > 0 else 0.0
            n_new = min(size, max(1, int(np.ceil(size * excess))))
            chosen = first[r] + rng.choice(size, n_new, replace=False)
            blended[chosen] = rng.choice(n_codes, n_new, p=everybody)
        if (distance <= limit).all() and ((counts > 0).sum(1) >= 2).all():
            break
    return blended

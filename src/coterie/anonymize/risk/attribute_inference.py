"""What the class of a person tells about each released column, next to people who were left out.

Somebody who knows the class of a person guesses the value that most of the class have in the
release. That is right for many people if values follow groups, whether or not the person is in the
data. So the control is a person who was left out: the class is guessed from the contacts and their
number, and the own value is not among those of the class; or the most frequent value of all is
guessed, if that is right more often.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.figures import Private
from coterie.anonymize.intervals import NORMAL_95
from coterie.data import Graph

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

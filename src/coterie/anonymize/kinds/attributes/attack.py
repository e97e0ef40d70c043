"""An attacker who knows every attribute of everybody, and degrees.

For each person, the published node with the most similar attributes and degrees is guessed. In a
release, the guess is right as often as the class sizes allow: about once per class. In a copy with
only the names removed, the same attacker finds most people.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.spatial import cKDTree

from coterie.anonymize.published_graph import PublishedGraph
from coterie.data import Graph
from coterie.data.attributes import AttributeKind, Attributes

_MOST_GUESSES = 20_000
_DEGREE_WEIGHT = 1.0
_ATTRIBUTE_WEIGHT = 2.0


@dataclass(frozen=True)
class AttributeAttackResult:
    """The people whom somebody finds who knows all attributes and degrees."""

    guesses: int
    correct: int
    expected: float  # by luck: one in the size of the class, if the class was guessed right
    deviation: float  # standard deviation of the number that luck explains

    @property
    def z(self) -> float:
        """The number of standard deviations above what luck explains."""
        if self.deviation > 0:
            return (self.correct - self.expected) / self.deviation
        return 0.0 if self.correct <= self.expected + 1e-9 else float("inf")


def attribute_attack(
    original: Graph,
    attributes: Attributes,
    published: PublishedGraph,
    released: Attributes,
    label: np.ndarray,
    rng: Generator,
    known: list[str] | None = None,
) -> AttributeAttackResult:
    """Guess the published node of everybody; `label` is the class of each original node.

    `known` are the columns that the attacker knows, by default all.
    """
    columns = attributes.names if known is None else known
    mine = _features(original, attributes, attributes, columns)
    theirs = _features(published.graph, released, attributes, columns)
    people = np.arange(original.n_nodes)
    if len(people) > _MOST_GUESSES:
        people = np.sort(rng.choice(len(people), _MOST_GUESSES, replace=False))
    noise = 1e-6  # breaks ties at random
    tree = cKDTree(theirs + noise * rng.standard_normal(theirs.shape))
    guess = tree.query(mine[people])[1]
    correct = int((published.identity[people] == guess).sum())
    class_of_node = np.empty(len(label), label.dtype)
    class_of_node[published.identity] = label
    same = class_of_node[guess] == label[people]
    chance = same / np.bincount(label)[label[people]]
    return AttributeAttackResult(
        len(people),
        correct,
        float(chance.sum()),
        float(np.sqrt((chance * (1 - chance)).sum())),
    )


def _features(
    graph: Graph, table: Attributes, scale: Attributes, columns: list[str]
) -> np.ndarray:
    """Return a vector per node: attributes, log degree, and mean log degree of the neighbours."""
    degree = np.log1p(graph.degrees.astype(np.float64))
    sums = np.bincount(
        np.repeat(np.arange(graph.n_nodes), graph.degrees),
        degree[graph.indices],
        graph.n_nodes,
    )
    parts = [_DEGREE_WEIGHT * degree, _DEGREE_WEIGHT * sums / np.maximum(graph.degrees, 1)]
    for name in columns:
        known, values = scale[name], table[name].values
        if known.kind is AttributeKind.categorical:
            for category in np.unique(known.values.astype(str)):
                parts.append(_ATTRIBUTE_WEIGHT / np.sqrt(2) * (values.astype(str) == category))
        else:
            spread = known.values.std() or 1.0
            parts.append(_ATTRIBUTE_WEIGHT * (values - known.values.mean()) / spread)
    return np.stack(parts, axis=1)


def naive_copy_attack(
    original: Graph, attributes: Attributes, label: np.ndarray, rng: Generator
) -> AttributeAttackResult:
    """Attack a copy with only the names removed: the control that shows the attack's power."""
    identity = rng.permutation(original.n_nodes).astype(np.int32)
    source, target = original.edges()
    copy = Graph.from_edges(identity[source], identity[target], n_nodes=original.n_nodes)
    table = attributes.reordered(np.argsort(identity))
    return attribute_attack(
        original, attributes, PublishedGraph(copy, identity), table, label, rng
    )

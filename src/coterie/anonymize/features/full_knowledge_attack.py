"""An attacker who knows everything about everybody but the new number.

For each person, the published node with the most similar attributes, degrees, directions and
weights is guessed. In a release, a guess is right as often as the class sizes allow: about once
per class. In a copy with only the names removed, the same attacker finds most people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from coterie.anonymize.attacks.attack import hits_by_exchange
from coterie.anonymize.features.directions import in_degrees
from coterie.anonymize.features.network import Network, skeleton_of
from coterie.anonymize.features.weights import strengths
from coterie.anonymize.figures import Private
from coterie.data.node_table import ColumnKind, NodeTable

_MOST_GUESSES = 20_000
_ATTRIBUTE_WEIGHT = 2.0  # one standard deviation, or another category; a factor e of degrees is 1
_TIES = 1e-6


@dataclass(frozen=True, repr=False)
class FullKnowledgeAttack(Private):
    """The people whom an attacker finds who knows attributes, degrees, directions and weights."""

    label: str
    guesses: int
    correct: int  # in all draws together, like the expected number
    expected: float  # by luck: if the members of every class swap places
    naive: int  # in as many copies with only the names removed
    deviation: float = 0.0  # standard deviation of the number that luck explains


def attack_with_full_knowledge(
    original: Network,
    networks: list[tuple[Network, np.ndarray]],
    label: np.ndarray,
    rng: Generator,
) -> FullKnowledgeAttack:
    """Attack each network, given with the node of each person, and a copy without names.

    The hits on all networks are added up. `label` is the class of each person.
    """
    results = [
        identify_people(original, network, identity, label, rng) for network, identity in networks
    ]
    known = ["degrees"]
    known += ["directions"] * original.graph.directed
    known += ["weights"] * (original.graph.weights is not None)
    known += ["all attributes"] * (original.attributes is not None)
    return FullKnowledgeAttack(
        f"knows {', '.join(known)} of everybody",
        sum(result.guesses for result in results),
        sum(result.correct for result in results),
        sum(result.expected for result in results),
        identify_in_naive_copy(original, label, rng).correct * len(results),
        math.hypot(*(result.deviation for result in results)),
    )


def identify_people(
    original: Network,
    published: Network,
    identity: np.ndarray,
    label: np.ndarray,
    rng: Generator,
) -> FullKnowledgeAttack:
    """Guess the published node of everybody.

    `identity` is the published node of each person and `label` the class; without classes, give
    everybody the same one.
    """
    mine = _features(original, original.attributes)
    theirs = _features(published, original.attributes)
    people = np.arange(original.graph.n_nodes)
    if len(people) > _MOST_GUESSES:
        people = np.sort(rng.choice(len(people), _MOST_GUESSES, replace=False))
    from scipy.spatial import cKDTree  # here: loading it takes long

    tree = cKDTree(theirs + _TIES * rng.standard_normal(theirs.shape))
    guess = tree.query(mine[people])[1]
    class_of_node = np.empty(len(label), label.dtype)
    class_of_node[identity] = label
    mean, deviation = hits_by_exchange(guess, label[people], class_of_node, np.bincount(label))
    correct = int((identity[people] == guess).sum())
    return FullKnowledgeAttack("", len(people), correct, mean, 0, deviation)


def identify_in_naive_copy(
    original: Network, label: np.ndarray, rng: Generator
) -> FullKnowledgeAttack:
    """Attack a copy with only the names removed: the control that shows the attack's power."""
    identity = rng.permutation(original.graph.n_nodes).astype(np.int32)
    return identify_people(original, original.renumbered(identity), identity, label, rng)


def _features(network: Network, scale: NodeTable | None) -> np.ndarray:
    """Return a vector per node; attributes are measured on the scale of the original."""
    graph = network.graph
    skeleton = skeleton_of(graph)
    degree = np.log1p(skeleton.degrees.astype(np.float64))
    owner = np.repeat(np.arange(graph.n_nodes), skeleton.degrees)
    around = np.bincount(owner, degree[skeleton.indices], graph.n_nodes)
    parts = [degree, around / np.maximum(skeleton.degrees, 1)]
    if graph.directed:
        parts += [np.log1p(graph.degrees), np.log1p(in_degrees(graph))]
    if graph.weights is not None:
        parts.append(np.log1p(strengths(graph)))
    if scale is not None and network.attributes is not None:
        for known in scale.columns:
            parts += _attribute_features(known.kind, known.values, network.attributes, known.name)
    return np.stack(parts, axis=1)


def _attribute_features(
    kind: ColumnKind, known: np.ndarray, table: NodeTable, name: str
) -> list[np.ndarray]:
    values = table[name].values
    if kind is ColumnKind.categorical:
        text = values.astype(str)
        return [
            _ATTRIBUTE_WEIGHT / np.sqrt(2) * (text == category)
            for category in np.unique(known.astype(str))
        ]
    return [_ATTRIBUTE_WEIGHT * (values - known.mean()) / (known.std() or 1.0)]

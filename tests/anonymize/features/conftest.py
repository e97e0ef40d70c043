"""One network with planted attributes, directions, weights and two sides, for all tests here."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.random import default_rng

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.draw.dcsbm import release_classes
from coterie.data import Graph
from coterie.data.node_table import NodeTable


class Planted(NamedTuple):
    """People in communities; friends are similar in department and age."""

    graph: Graph
    classes: Classes
    attributes: NodeTable


@pytest.fixture(scope="module")
def planted() -> Planted:
    rng = default_rng(0)
    n = 800
    community = rng.integers(0, 8, n)
    department = np.where(rng.random(n) < 0.6, community % 4, rng.integers(0, 4, n))
    age = np.clip(rng.normal(40, 12, n) + department, 18, 80).astype(int)
    activity = rng.pareto(2.5, n) + 0.5
    share = activity / activity.sum()
    u, v = (rng.choice(n, 60_000, p=share) for _ in range(2))
    chance = np.where(community[u] == community[v], 1, 0.05)
    chance *= np.where(department[u] == department[v], 1, 0.3) * np.exp(-abs(age[u] - age[v]) / 20)
    kept = rng.random(len(u)) < chance
    graph = Graph.from_edges(u[kept], v[kept], n_nodes=n)
    diagnosis = rng.choice(["none", "acute", "chronic"], n, p=[0.7, 0.2, 0.1])
    table = NodeTable.from_columns(
        range(n),
        {
            "department": [f"d{x}" for x in department],
            "age": age,
            "diagnosis": diagnosis,
        },
    ).of_graph(graph)
    return Planted(graph, release_classes(graph, community, 10, 0.85), table)


def exchanged(n: int, label: np.ndarray, seed: int) -> np.ndarray:
    """Return a random permutation of the nodes that stays within classes."""
    order = np.lexsort((default_rng(seed).random(n), label))
    place = np.argsort(label, kind="stable")
    permutation = np.empty(n, np.int64)
    permutation[place] = order
    return permutation


@pytest.fixture(scope="module")
def permutation(planted: Planted) -> np.ndarray:
    """A new place within the class for everybody."""
    return exchanged(planted.graph.n_nodes, planted.classes.label, 3)


@pytest.fixture(scope="module")
def directed(planted: Planted) -> Graph:
    """The planted network with directions: half of the people mostly send, a quarter is mutual."""
    rng = default_rng(4)
    source, target = planted.graph.edges()
    sender = rng.random(planted.graph.n_nodes)
    forward = rng.random(len(source)) < 0.5 + 0.4 * (sender[source] - sender[target])
    a, b = np.where(forward, source, target), np.where(forward, target, source)
    mutual = rng.random(len(source)) < 0.25
    return Graph.from_edges(
        np.r_[a, b[mutual]], np.r_[b, a[mutual]], n_nodes=planted.graph.n_nodes, directed=True
    )


@pytest.fixture(scope="module")
def weighted(planted: Planted) -> Graph:
    """The planted network with weights: some people have large ones."""
    rng = default_rng(4)
    source, target = planted.graph.edges()
    generous = rng.normal(0, 0.6, planted.graph.n_nodes)
    amount = np.exp(generous[source] + generous[target]) * (rng.pareto(2.0, len(source)) + 0.3)
    return Graph.from_edges(
        source, target, n_nodes=planted.graph.n_nodes, weights=np.ceil(4 * amount)
    )

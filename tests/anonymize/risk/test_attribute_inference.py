"""What classes tell about released columns equals slow loops; people left out are the control."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from numpy.random import default_rng
from tests import reference

from coterie.anonymize.draw.classes import Classes, divide_into_classes
from coterie.anonymize.policy import Policy
from coterie.anonymize.risk.disclosure import AttributeInference, attribute_inference
from coterie.data import Graph


def _network(seed: int, groups: int = 4, size: int = 15) -> tuple[Graph, Classes]:
    network = nx.planted_partition_graph(groups, size, 0.5, 0.05, seed=seed)
    graph = Graph.from_edges(*np.array(network.edges).T, n_nodes=groups * size)
    return graph, divide_into_classes(graph, np.repeat(np.arange(groups), size), 5)


@pytest.mark.parametrize("seed", range(5))
def test_attribute_inference_equals_the_reference(seed: int) -> None:
    graph, classes = _network(seed)
    rng = default_rng(seed)
    noise = rng.integers(0, 4, 60)
    codes = np.where(rng.random(60) < 0.2 * seed, noise, classes.block)
    published = codes.copy()
    for c in range(classes.n_classes):  # members of a class exchange places
        members = np.flatnonzero(classes.label == c)
        published[members] = rng.permutation(codes[members])
    found = attribute_inference("x", graph, classes, codes, published, 4)
    edges = list(zip(*(ends.tolist() for ends in graph.edges()), strict=True))
    right, control = reference.attribute_guesses(
        edges, classes.block.tolist(), classes.label.tolist(), codes.tolist(), published.tolist()
    )
    assert (found.right, found.control) == pytest.approx((right, control))
    assert found.excess <= found.bound
    assert found.majority == np.bincount(codes).max() / 60


def test_values_that_follow_groups_are_no_secret_of_the_data_and_single_values_are() -> None:
    graph, classes = _network(1, groups=6, size=20)
    by_group = attribute_inference("g", graph, classes, classes.block, classes.block, 6)
    assert by_group.right == 1.0 and by_group.control > 0.9
    assert by_group.certain_people == 120 and by_group.bound < 0.1
    alone = np.arange(120) % 60  # in small classes, a value that nobody else has is most frequent
    single = attribute_inference("s", graph, classes, alone, alone, 60)
    assert single.excess > 0.03 and single.control <= 2 / 120


def test_the_policy_limits_what_is_concluded_because_people_are_in_the_data() -> None:
    limit = Policy()._attribute_limit(AttributeInference("country", 0.58, 0.4, 0.21, 0.19, 40))
    assert not limit.holds and limit.limit == 0.1
    assert "tells the column country of 58 % of the people, and of 40 %" in limit.reason
    assert "most frequent value would be right for 21 %" in limit.note

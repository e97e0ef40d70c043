"""The drawing of a network: its layout, its colours, its names and its limits."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.fitted_stand_ins import with_labels

from coterie.data import Graph
from coterie.data.generators import planted_partition
from coterie.report.charts import network_drawing
from coterie.report.charts.network import (
    MOST_EDGES,
    MOST_NODES,
    STYLES,
    largest_blocks,
    styles_of_blocks,
)
from coterie.report.cluster_report import render
from coterie.report.network_layout import place_nodes


def planted(blocks: int, size: int) -> tuple[Graph, np.ndarray]:
    n = blocks * size
    labels = np.repeat(np.arange(blocks), size)
    rng = np.random.default_rng(5)
    source, target = rng.integers(0, n, (2, 24 * n))
    keep = (labels[source] == labels[target]) | (rng.random(len(source)) < 0.02)
    return Graph.from_edges(source[keep], target[keep], n_nodes=n), labels


def test_same_seed_same_positions_and_another_seed_others() -> None:
    graph, _ = planted(4, 40)
    np.testing.assert_array_equal(place_nodes(graph), place_nodes(graph))
    assert not np.array_equal(place_nodes(graph), place_nodes(graph, seed=1))


def test_nodes_of_a_block_are_near_each_other() -> None:
    graph, labels = planted(6, 50)
    place = place_nodes(graph)
    far = np.linalg.norm(place[:, None] - place, axis=2)
    same = labels[:, None] == labels
    nearest = np.argsort(far, axis=1)[:, 1:11]
    assert (labels[nearest] == labels[:, None]).mean() > 0.9
    assert far[same].mean() < 0.5 * far[~same].mean()


def test_components_do_not_overlap() -> None:
    """Ten triangles and five single nodes: the circles around any two of them are disjoint."""
    corner = 3 * np.arange(10)
    source = np.concatenate([corner, corner + 1, corner + 2])
    target = np.concatenate([corner + 1, corner + 2, corner])
    place = place_nodes(Graph.from_edges(source, target, n_nodes=35))
    parts = np.split(place, [*range(3, 31, 3), 31, 32, 33, 34])
    centre = np.array([(part.min(0) + part.max(0)) / 2 for part in parts])
    reach = np.array([np.hypot(*(p - c).T).max() for p, c in zip(parts, centre, strict=True)])
    for i in range(15):
        for j in range(i):
            assert np.hypot(*(centre[i] - centre[j])) > reach[i] + reach[j]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30))
def test_any_small_graph_is_drawn_inside_its_frame(n: int, pairs: list[tuple[int, int]]) -> None:
    pairs = [(u, v) for u, v in pairs if u < n and v < n]
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    graph = Graph.from_edges(source, target, n_nodes=n, directed=n % 2 == 1)
    root = ElementTree.fromstring(network_drawing(graph, np.arange(n) % 3).svg)
    circles = list(root.iter("circle"))
    assert len(circles) == n
    wide, tall = (float(side) for side in root.get("viewBox", "").split()[2:])
    for circle in circles:
        assert 0 <= float(circle.get("cx", "nan")) <= wide
        assert 0 <= float(circle.get("cy", "nan")) <= tall


def test_every_node_has_the_colour_of_its_block_and_hubs_are_named() -> None:
    star = Graph.from_edges(["<hub>"] * 5, ["a", "b", "c", "d", "e"])
    labels = (star.ids != "<hub>").astype(int)
    chart = network_drawing(star, labels)
    root = ElementTree.fromstring(chart.svg)
    tips = {
        group.findtext("title", ""): group.find("circle").get("class")  # type: ignore[union-attr]
        for group in root.iter("g")
    }
    assert tips["<hub>\nblock 0\n5 edges"] == "dot s1"  # the larger block has the first colour
    assert tips["a\nblock 1\n1 edges"] == "dot s0"
    assert "<hub>" in [text.text for text in root.iter("text")]
    assert chart.table.rows[0] == ["<hub>", 0, 5]


def test_first_blocks_have_different_styles_and_equal_styles_are_apart() -> None:
    graph, labels = planted(20, 12)
    place = place_nodes(graph)
    style = styles_of_blocks(labels, place)
    assert len(set(style.tolist())) == STYLES
    centre = np.stack([place[labels == b].mean(0) for b in range(20)])
    far = np.linalg.norm(centre[:, None] - centre, axis=2)
    for block in range(20):
        nearest = int(np.argsort(far[block])[1])
        assert style[block] != style[nearest]


def test_edges_above_the_limit_are_left_out_and_counted() -> None:
    graph = planted_partition(400, 2, mean_degree=80, mixing=0.4)[0]
    drawn = network_drawing(graph, np.zeros(400, np.int64)).svg
    left_out = graph.n_edges - MOST_EDGES
    assert left_out > 0 and len(re.findall(r"M[\d.]+ [\d.]+L", drawn)) == MOST_EDGES
    model = with_labels(graph, np.zeros(400, np.int64), 1)
    text = render(model, graph)
    assert f"{left_out:,} of the {graph.n_edges:,} edges" in text


@pytest.mark.parametrize("directed", [False, True])
def test_large_networks_are_drawn_by_their_blocks(directed: bool) -> None:
    n = MOST_NODES + 2
    labels = np.arange(n) % 2
    ring = np.arange(n)
    graph = Graph.from_edges(ring, (ring + 1) % n, directed=directed)
    blocks, sizes, density = largest_blocks(graph, labels)
    half = n // 2
    assert sizes.tolist() == [half, half]
    assert density[0, 0] == 0
    possible = half * half * (2 if directed else 1)
    assert density[0, 1] == pytest.approx(n / possible)
    root = ElementTree.fromstring(network_drawing(graph, labels).svg)
    assert {text.text for text in root.iter("text")} == {str(b) for b in blocks}


def test_report_shows_the_network_and_leaves_out_a_large_one() -> None:
    graph, labels = planted(3, 20)
    html = render(with_labels(graph, labels, 3), graph)
    assert html.count('class="chart network nodes"') == 1
    n = MOST_NODES + 1
    large = Graph.from_edges(np.arange(n - 1), np.arange(1, n))
    html = render(with_labels(large, np.zeros(n, np.int64), 1), large)
    assert 'class="chart network nodes"' not in html

"""The drawing of a network: its layout, its colours, its names and its limits."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.fitted_stand_ins import with_labels

from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.data.generators import planted_partition
from coterie.report.charts import network as module
from coterie.report.charts import network_drawing
from coterie.report.charts.layout import place_nodes
from coterie.report.charts.network import MOST_EDGES, MOST_NODES, largest_blocks
from coterie.report.charts.network_style import (
    MISSING,
    PALETTES,
    STYLES,
    NetworkStyle,
    colour_values,
    styles_of_blocks,
)
from coterie.report.cluster_report import render


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
def test_very_large_networks_are_drawn_by_their_blocks(
    directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    monkeypatch.setattr(module, "MOST_PLACED", MOST_NODES)
    root = ElementTree.fromstring(network_drawing(graph, labels).svg)
    assert {text.text for text in root.iter("text")} == {str(b) for b in blocks}


def test_nodes_that_are_close_together_are_one_dot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every square with nodes has one dot, in the colour of most of its nodes."""
    graph, labels = planted(3, 60)
    monkeypatch.setattr(module, "MOST_NODES", 20)
    monkeypatch.setattr(module, "_SQUARE", 12.0)
    seen: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    original = module._merged_dots

    def spy(nodes: module._PlacedNodes, styles: np.ndarray, size: float) -> list[str]:
        seen.append((nodes.x, nodes.y, styles))
        return original(nodes, styles, size)

    monkeypatch.setattr(module, "_merged_dots", spy)
    drawn = network_drawing(graph, labels).svg
    (x, y, styles) = seen[0]
    squares: dict[tuple[int, int], list[int]] = {}
    for a, b, style in zip(x, y, styles.tolist(), strict=True):
        squares.setdefault((int(a // 12), int(b // 12)), []).append(style)
    paths = re.findall(r'<path d="((?:M[\d.]+ [\d.]+h0)+)"[^>]*class="dots s(\d)', drawn)
    dots = [
        (float(a), float(b), int(s)) for d, s in paths for a, b in re.findall(r"M(\S+) (\S+?)h0", d)
    ]
    assert len(dots) == len(squares)
    for a, b, style in dots:
        inside = squares[int(a // 12), int(b // 12)]
        assert inside.count(style) == max(inside.count(s) for s in inside)


def test_a_report_shows_the_network_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, labels = planted(3, 20)
    html = render(with_labels(graph, labels, 3), graph)
    assert html.count('class="chart network nodes"') == 1
    n = MOST_NODES + 1
    large = Graph.from_edges(np.arange(n - 1), np.arange(1, n))
    html = render(with_labels(large, np.zeros(n, np.int64), 1), large)
    assert 'class="chart network nodes"' in html and "are one dot" in html
    monkeypatch.setattr("coterie.report.interactive.MOST_NODES", MOST_NODES)
    html = render(with_labels(large, np.zeros(n, np.int64), 1), large)
    assert 'class="chart network nodes"' not in html


def test_colours_show_categories_by_id_and_nodes_without_a_value() -> None:
    graph = Graph.from_edges(["a", "b", "c", "d"], ["b", "c", "d", "a"])
    found = colour_values(graph, {"a": "red team", "b": "blue team", "c": "red team"})
    by_id = dict(zip(graph.ids.tolist(), found.styles.tolist(), strict=True))
    assert by_id == {"a": 0, "b": 1, "c": 0, "d": MISSING}
    assert found.names == ["red team", "blue team"] and not found.ordered
    labels = np.zeros(4, np.int64)
    drawn = network_drawing(graph, labels, style=NetworkStyle(color={"a": "x"})).svg
    assert drawn.count("dot missing") == 3 and ">x</text>" in drawn


def test_colours_show_many_numbers_by_size() -> None:
    ring = np.arange(40)
    graph = Graph.from_edges(ring, (ring + 1) % 40)
    values = (ring**2).astype(float)
    found = colour_values(graph, values)
    width = values.max() / 7
    assert found.styles.tolist() == [min(6, int(v // width)) for v in values]
    assert found.ordered and len(found.names) == 7
    drawn = network_drawing(graph, np.zeros(40, np.int64), style=NetworkStyle(color=values)).svg
    assert f"--s0: {PALETTES['viridis'][0]}" in drawn


@pytest.mark.parametrize(
    ("style", "message"),
    [
        ({"palette": "rainbow"}, "no palette 'rainbow'"),
        ({"palette": ["url(x)"]}, "no colour"),
        ({"font": "x; } * { color: red"}, "no font"),
        ({"color": "club"}, 'not "block"'),
        ({"color": [1, 2]}, "2 values"),
        ({"color": {"nobody": 1}}, "no id"),
        ({"node_size": 0}, "above 0"),
    ],
)
def test_a_style_that_cannot_be_drawn_is_an_error(style: dict[str, object], message: str) -> None:
    graph = Graph.from_edges(["a", "b"], ["b", "c"])
    with pytest.raises(InputError, match=message):
        network_drawing(graph, np.zeros(3, np.int64), style=NetworkStyle(**style))  # type: ignore[arg-type]


def test_hulls_contain_nine_tenths_of_their_block_and_have_names() -> None:
    graph, labels = planted(3, 40)
    style = NetworkStyle(hulls=True, block_names={0: "makers"}, n_names=3)
    drawn = network_drawing(graph, labels, style=style).svg
    assert drawn.count('class="hull') == 3
    texts = re.findall(r'class="block-name"[^>]*>([^<]*)<', drawn)
    assert texts == ["makers", "block 1", "block 2"]


def _seen_by(colour: str, missing: int) -> np.ndarray:
    """Simulate a reader without one kind of cone (Viénot, Brettel & Mollon 1999), in Lab-like
    distances of linear light."""
    value = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    light = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    to_lms = np.array(
        [[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]]
    )
    lms = to_lms @ light
    if missing == 0:
        lms[0] = 2.02344 * lms[1] - 2.52581 * lms[2]
    elif missing == 1:
        lms[1] = 0.494207 * lms[0] + 1.24827 * lms[2]
    return np.cbrt(np.clip(np.linalg.inv(to_lms) @ lms, 0, None))


@pytest.mark.parametrize("missing", [0, 1, 2], ids=["no red cones", "no green cones", "all cones"])
def test_the_colours_of_papers_can_be_told_apart_by_colour_blind_readers(missing: int) -> None:
    colours = [_seen_by(colour, missing) for colour in PALETTES["okabe-ito"]]
    far = [np.linalg.norm(a - b) for i, a in enumerate(colours) for b in colours[:i]]
    assert min(far) > 0.1

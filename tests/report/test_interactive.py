"""The interactive drawing: its data, and what a browser does with it."""

from __future__ import annotations

import json
import time
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import coterie as ct
from coterie.report import render_cluster_report
from coterie.report.charts.layout import place_by_blocks
from coterie.report.interactive import MOST_EDGES, network_data

HOSTILE = ['<img src=x onerror="window.hacked=1">', "</script><script>window.hacked=1</script>"]


def unpacked(part: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(b64decode(part["data"]), f"<u{part['bytes']}").astype(np.int64)


@pytest.fixture(scope="module")
def fitted() -> tuple[Any, ct.Graph]:
    graph, _ = ct.generators.planted_partition(400, 16, mean_degree=14, mixing=0.2, rng=0)
    names = [*HOSTILE, *(f"person {i}" for i in range(2, 400))]
    source, target = graph.edges()
    graph = ct.Graph.from_edges([names[v] for v in source], [names[v] for v in target])
    model = ct.BlockModel("degree-corrected", nested=True, rng=0).fit(graph)
    model.levels_ = [model.labels_, model.labels_ // 4]  # two levels for certain
    return model, graph


def test_the_data_are_those_of_the_graph(fitted: tuple[Any, ct.Graph]) -> None:
    model, graph = fitted
    place = np.random.default_rng(0).random((graph.n_nodes, 2)) * [3.0, 1.0]
    data = json.loads(network_data(graph, model.levels_, place=place))
    assert data["names"] == graph.ids.tolist()
    x, y = unpacked(data["x"]), unpacked(data["y"])
    scale = 65_535 / np.ptp(place[:, 0])
    assert np.abs(x - (place[:, 0] - place[:, 0].min()) * scale).max() <= 0.5
    assert np.abs(y - (place[:, 1] - place[:, 1].min()) * scale).max() <= 0.5
    source = np.repeat(np.arange(graph.n_nodes), unpacked(data["out"]))
    pairs = {frozenset(p) for p in zip(source, unpacked(data["target"]), strict=True)}
    assert pairs == {frozenset(p) for p in zip(*graph.edges(), strict=True)}
    assert unpacked(data["degree"]).tolist() == graph.degrees.tolist()
    assert len(data["levels"]) == len(model.levels_)
    for level, labels in zip(data["levels"], model.levels_, strict=True):
        of, inside = unpacked(level["of"]), 0
        assert level["sizes"] == np.bincount(of).tolist()
        same = labels[:, None] == labels
        assert ((of[:, None] == of) == same).all()
        a, b = graph.edges()
        assert sum(level["inside"]) == int((of[a] == of[b]).sum())
        for first, second, number in zip(*level["links"], strict=True):
            between = (of[a] == first) & (of[b] == second) | (of[a] == second) & (of[b] == first)
            assert number == int(between.sum())
            inside += number
        assert inside + sum(level["inside"]) == graph.n_edges


def test_a_report_of_five_thousand_nodes_is_small(tmp_path: Path) -> None:
    graph, labels = ct.generators.planted_partition(5000, 40, mean_degree=20, rng=0)
    place = np.random.default_rng(0).random((graph.n_nodes, 2))
    assert graph.n_edges < MOST_EDGES
    assert len(network_data(graph, [labels], place=place)) < 400_000


def test_blocks_of_a_large_graph_are_discs_apart() -> None:
    graph, labels = ct.generators.planted_partition(4000, 20, mean_degree=12, rng=0)
    place = place_by_blocks(graph, labels)
    centre = np.array([place[labels == b].mean(0) for b in range(20)])
    far = np.array([np.hypot(*(place[labels == b] - centre[b]).T).max() for b in range(20)])
    between = np.hypot(*(centre[:, None] - centre).T)
    np.fill_diagonal(between, np.inf)
    assert (between > 0.95 * (far[:, None] + far)).all()
    area = far**2 / np.bincount(labels)
    assert area.max() < 1.3 * area.min()
    assert (place_by_blocks(graph, labels) == place).all()


def test_names_cannot_leave_the_data(fitted: tuple[Any, ct.Graph]) -> None:
    model, graph = fitted
    text = network_data(graph, model.levels_, attributes={HOSTILE[0]: graph.ids.tolist()})
    assert "<" not in text
    assert json.loads(text)["colours"][0]["name"] == HOSTILE[0]


def _wait(browser: Any, script: str) -> Any:
    for _ in range(100):
        if found := browser.execute_script(f"try {{ return {script} }} catch {{}}"):
            return found
        time.sleep(0.1)
    raise AssertionError(script)


def test_the_drawing_in_a_browser(
    browser: Any, fitted: tuple[Any, ct.Graph], tmp_path: Path
) -> None:
    model, graph = fitted
    values = [HOSTILE[0] if i % 2 else "other" for i in range(graph.n_nodes)]
    drawing = model.show(attributes={"kind": values}, block_names={0: HOSTILE[0]})
    drawing.save(tmp_path / "drawing.html")
    browser.get((tmp_path / "drawing.html").as_uri())
    net = "document.querySelector('.network-widget').network"
    assert _wait(browser, f"{net}.frames > 0")
    painted = (
        f"[...{net}.canvas.getContext('2d').getImageData(0, 0, {net}.canvas.width, "
        f"{net}.canvas.height).data].some((x) => x > 0)"
    )
    assert browser.execute_script(f"return {painted}")
    # search, then fly: the node is in the middle
    browser.execute_script(f"{net}.search('person 17')")
    name = browser.execute_script(
        "return document.querySelector('.network-found button').innerText"
    )
    assert name.startswith("person 17")
    number = graph.ids.tolist().index(name)
    browser.execute_script("document.querySelector('.network-found button').click()")
    assert _wait(browser, f"Math.abs({net}.view.x - {net}.x[{number}]) < 1")
    assert name in browser.execute_script(f"return {net}.about.textContent")
    near = {graph.ids[v] for v in graph.indices[graph.indptr[number] : graph.indptr[number + 1]]}
    rows = f"[...{net}.table.querySelectorAll('tbody button')].map((b) => b.textContent)"
    assert set(browser.execute_script(f"return {rows}")) == near
    # the view of the blocks; one of them opened
    browser.execute_script(f"{net}.choose(null); {net}.showBlocks(true)")
    assert browser.execute_script(f"return {net}.closed(0)")
    browser.execute_script(f"{net}.toggle({net}.blockOf(0))")
    assert not browser.execute_script(f"return {net}.closed(0)")
    for level in range(len(model.levels_)):
        browser.execute_script(f"{net}.setLevel({level})")
        shown = browser.execute_script(f"return {net}.levelText.textContent")
        assert int(shown.split()[0]) == len(np.unique(model.levels_[level]))
    # keys
    before = browser.execute_script(f"return {net}.view.scale")
    browser.execute_script(
        f"{net}.canvas.dispatchEvent(new KeyboardEvent('keydown', {{key: '+'}}))"
    )
    assert browser.execute_script(f"return {net}.view.scale") > before
    # hostile names are text
    browser.execute_script(
        "const s = document.querySelector('select'); s.selectedIndex = 1;"
        "s.dispatchEvent(new Event('change'))"
    )
    browser.execute_script(f"{net}.search('<img')")
    assert HOSTILE[0] in browser.execute_script("return document.body.innerText")
    assert not browser.execute_script("return document.querySelectorAll('img').length")
    assert browser.execute_script("return window.hacked") is None
    assert [one for one in browser.get_log("browser") if one["level"] == "SEVERE"] == []


def test_a_report_has_the_drawing_and_the_picture(
    browser: Any, fitted: tuple[Any, ct.Graph], tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text(render_cluster_report(*fitted), encoding="utf-8")
    browser.get(path.as_uri())
    _wait(browser, "document.querySelector('.network-widget').network.frames > 0")
    hidden = "getComputedStyle(document.querySelector('.network-widget + .chart')).display"
    assert browser.execute_script(f"return {hidden}") == "none"
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(path.as_uri())
        picture = browser.find_element("css selector", ".network-widget + .chart")
        assert picture.is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_a_notebook_shows_a_frame(fitted: tuple[Any, ct.Graph]) -> None:
    html = fitted[0].show()._repr_html_()
    assert html.startswith("<iframe srcdoc=")
    assert 'sandbox="allow-scripts"' in html
    assert "<script" not in html

"""The reports in a real browser: drawn, without errors, nothing clipped or overlapping."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.baselines.configuration import configuration
from benchmarks.reproduce.outcome import Outcome, judge
from benchmarks.reproduce.settings import hardware
from benchmarks.reproduce.write_page import Reproduction
from benchmarks.reproduce.write_page import page as reproduction_page
from numpy.random import default_rng
from tests.support import fitted_stand_ins as stand_ins

import coterie as ct
from coterie.report import cluster_report as cluster
from coterie.report import recommender_report as recommend
from coterie.report import release_report as anonymize
from coterie.report import sketch_report as private
from coterie.report import soft_report as soft
from coterie.report.charts import Axis, Series, xy
from coterie.report.page import Figure, write

WIDTHS = (400, 1400)


def _recommend() -> str:
    ratings = stand_ins.ratings()
    model = ct.MMSBM(n_groups=(6, 5), max_iter=30, rng=0).fit(ratings)
    h, w = model.user_memberships_[ratings.users], model.item_memberships_[ratings.items]
    p = np.einsum("ni,ijr,nj->nr", h, model.theta_, w)
    titles = {str(i): f"A film with a rather long title, part {i} (19{i})" for i in range(80)}
    return recommend.render(
        stand_ins.evaluation(),
        name="ratings of films",
        model=model,
        ratings=ratings,
        test=(ratings.codes, p),
        titles=titles,
    )


def _additive() -> str:
    ratings = stand_ins.ratings()
    titles = {str(i): f"Film, The, with a long title ({1900 + i})" for i in range(80)}
    model = stand_ins.additive(ratings)
    return recommend.render(stand_ins.evaluation(), model=model, ratings=ratings, titles=titles)


def _soft() -> str:
    ratings = stand_ins.ratings()
    return soft.render(ct.MMSBM(n_groups=(12, 20), max_iter=20, rng=0).fit(ratings), ratings)


def _two_sides() -> str:
    ratings = stand_ins.ratings()
    return cluster.render(stand_ins.co_clustered(ratings, (15, 15)), ratings)


def _reproduction() -> str:
    series = [Series("MMSBM", [0.1, 1, 10], [5e5, 4e5, 3e5]), Series("s=30", [1, 3], [4e5, 3e5])]
    axes = Axis("seconds", log=True), Axis("entropy S (nats)")
    outcome = Outcome(
        "fig4",
        "Figure 3: entropy over time, MMSBM and MCMMSBM",
        figures=[Figure("Entropy over time", xy(series, *axes, description="d"), extension=True)],
        claims=[
            judge("s trades speed for quality", True, "10 and 30 ms"),
            judge("the factored update is faster", False, "3 and 2 ms", extension=True),
        ],
    )
    return write(reproduction_page(Reproduction([outcome], hardware(2), 12.0)))


def _sketch() -> str:
    graph = stand_ins.clique_network()
    return private.render(stand_ins.sketch(graph), [graph, configuration(graph, default_rng(0))])


def _star_sketch() -> str:
    """The warning for a large epsilon, ten draws, and answers that are mostly noise."""
    graph = stand_ins.star_network()
    return private.render(stand_ins.sketch(graph, "6"), [graph] * 10)


REPORTS = {
    "cluster": lambda: cluster.render(*stand_ins.clustered(600, 12)),
    "cluster_many": lambda: cluster.render(*stand_ins.clustered(6000, 300)),
    "cluster_ratings": _two_sides,
    "reproduction": _reproduction,
    "soft": _soft,
    "recommend": _recommend,
    "recommend_best": _additive,
    "anonymize": lambda: anonymize.render(stand_ins.release()),
    "refused": lambda: anonymize.render(stand_ins.release(refused=True)),
    "sketch": _sketch,
    "sketch_alone": lambda: private.render(stand_ins.sketch(stand_ins.clique_network(), "0.1")),
    "sketch_star": _star_sketch,
}


@pytest.fixture(scope="module", params=sorted(REPORTS))
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reports") / f"{request.param}.html"
    path.write_text(REPORTS[request.param](), encoding="utf-8")
    return path


def open_page(browser: Any, page: Path, width: int, scheme: str = "light") -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.get(page.as_uri())


@pytest.mark.parametrize("width", WIDTHS)
def test_report_has_no_errors_and_fits_the_window(browser: Any, page: Path, width: int) -> None:
    open_page(browser, page, width)
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    text = page.read_text(encoding="utf-8")
    data = re.findall('application/json">(.*?)</script>', text, re.DOTALL)  # of a network
    assert len(text) - sum(map(len, data)) < 1_000_000 and len(text) < 3_000_000
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


@pytest.mark.parametrize("width", WIDTHS)
def test_every_chart_is_drawn(browser: Any, page: Path, width: int) -> None:
    """Also where scripts do not run: there the drawing of a network is a picture."""
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        open_page(browser, page, width)
        charts = _charts(browser)
        assert not browser.find_elements("css selector", ".network-widget.on")
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert charts
    for name, wide, tall, marks in charts:
        assert name and wide > 250 and tall > 40 and marks > 3, (name, wide, tall, marks)


def _charts(browser: Any) -> Any:
    """Return the name, width, height and number of marks of every chart."""
    return browser.execute_script("""
        return [...document.querySelectorAll("svg.chart")].map(svg => {
            const box = svg.getBoundingClientRect();
            const size = m => m.getBoundingClientRect().width + m.getBoundingClientRect().height;
            const marks = [...svg.querySelectorAll("path, rect, circle, line")].filter(size);
            return [svg.getAttribute("aria-label"), box.width, box.height, marks.length];
        });""")


@pytest.mark.parametrize("width", WIDTHS)
def test_no_text_is_clipped_or_overlaps(browser: Any, page: Path, width: int) -> None:
    open_page(browser, page, width)
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    clipped = browser.execute_script("""
        const bad = [];
        const words = "h1, h2, h3, p, dt, dd, figcaption, summary, li, td, th, .scroll";
        for (const e of document.querySelectorAll(words))
            if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline")
                bad.push(e.tagName + ": " + e.textContent.slice(0, 80));
        for (const svg of document.querySelectorAll("svg.chart")) {
            const frame = svg.getBoundingClientRect();
            for (const t of svg.querySelectorAll("text")) {
                const b = t.getBoundingClientRect();
                const out = b.left < frame.left - 2 || b.right > frame.right + 2
                    || b.top < frame.top - 2 || b.bottom > frame.bottom + 2;
                if (out || t.textContent.endsWith("…"))
                    bad.push(svg.getAttribute("aria-label") + ": " + t.textContent);
            }
        }
        return bad;""")
    assert clipped == []
    covered = browser.execute_script("""
        const bad = [];
        for (const svg of document.querySelectorAll("svg.chart:not(.network)")) {
            const texts = [...svg.querySelectorAll("text, .legend line")]
                .map(t => [t, t.getBoundingClientRect()]);
            for (let i = 0; i < texts.length; i++) for (let j = 0; j < i; j++) {
                const a = texts[i][1], b = texts[j][1];
                const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                const tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                if (wide > 1.5 && tall > 0.3 * Math.min(a.height, b.height))
                    bad.push(svg.getAttribute("aria-label") + ": " + texts[i][0].textContent
                             + " | " + texts[j][0].textContent);
            }
        }
        return bad;""")
    assert covered == []


def test_numbers_are_written_for_people(browser: Any, page: Path) -> None:
    """No 5.3844e-05, no twelve digits: neither in the page nor in a table or tip."""
    open_page(browser, page, 1400)
    texts = browser.execute_script("""
        const all = "dt, dd, td, th, p, li, figcaption, svg text, svg title";
        return [...document.querySelectorAll(all)].map(e => e.textContent);""")
    silly = re.compile(r"\de[-+]?\d|\.0*[1-9]\d{5,}|\bnan\b|\binf\b|undefined|None|np\.")
    assert [text for text in texts if silly.search(text)] == []


def test_pointing_at_a_mark_shows_its_numbers(browser: Any, page: Path) -> None:
    from selenium.webdriver import ActionChains

    open_page(browser, page, 1400)
    charts = browser.find_elements("css selector", "svg.chart")
    checked = 0
    for chart in charts:
        marks = chart.find_elements(
            "css selector", ".hit .spot, .hit .cell, .hit .block, .hit .fill"
        )
        if not marks:
            continue
        mark = marks[len(marks) // 2]
        wanted = browser.execute_script(
            "const h = arguments[0].closest('.hit');"
            "arguments[0].scrollIntoView({block: 'center'});"
            "return h.querySelector('title').textContent;",
            mark,
        )
        ActionChains(browser, duration=0).move_to_element(mark).perform()
        tip = browser.find_element("id", "tip")
        assert tip.is_displayed()
        shown = tip.get_attribute("textContent")
        assert shown == wanted or shown in chart.get_attribute("outerHTML")
        box = tip.rect
        assert box["x"] >= 0 and box["x"] + box["width"] <= 1400
        checked += 1
    assert checked >= len(charts) // 2


def test_dark_and_light_differ_and_print_is_light(browser: Any, page: Path) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        open_page(browser, page, 1400, scheme)
        grounds.append(
            browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        )
    assert grounds[0] != grounds[1]
    feature = {"name": "prefers-color-scheme", "value": "dark"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": [feature]})
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert ground == "rgb(255, 255, 255)"


def test_headings_are_in_order_and_every_chart_has_a_table(browser: Any, page: Path) -> None:
    open_page(browser, page, 1400)
    levels = browser.execute_script(
        "return [...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    bare = browser.execute_script(
        "return [...document.querySelectorAll('figure')].filter(f => !f.querySelector('details "
        "table')).length"
    )
    assert bare == 0

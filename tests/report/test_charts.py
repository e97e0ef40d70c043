"""Charts are well-formed SVG with marks at the positions of their numbers."""

from __future__ import annotations

import math
import re
from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coterie.report.charts import (
    Axis,
    Gauge,
    Grouping,
    Reference,
    Series,
    alluvial,
    bars,
    block_graph,
    gauges,
    heatmap,
    histogram,
    percent,
    short,
    standalone,
    xy,
)
from coterie.report.charts.drawing import WIDTH, template, text_width
from coterie.report.charts.layout import place_blocks
from coterie.report.charts.scales import Scale

finite = st.floats(-1e12, 1e12, allow_nan=False)
anything = st.floats(allow_nan=True, allow_infinity=True)


def parsed(svg: str) -> ElementTree.Element:
    assert "nan" not in re.sub(r">[^<]*<", "><", svg).lower()
    return ElementTree.fromstring(svg)


def of(root: ElementTree.Element, name: str, class_: str) -> list[ElementTree.Element]:
    return [e for e in root.iter(name) if class_ in e.get("class", "").split()]


@given(st.lists(st.tuples(anything, anything), max_size=30), st.booleans(), st.booleans())
@example([(0.0, 0.0), (5e-324, 0.0)], False, False)
@example([(5e-324, 0.0)], True, False)
@example([(5e-324, 1.0), (1e-310, 2.0), (1e-299, 3.0)], True, True)
def test_xy_draws_any_numbers_inside_its_frame(
    points: list[tuple[float, float]], x_log: bool, y_log: bool
) -> None:
    points = [(a, b) for a, b in points if not (abs(a) > 1e15 or abs(b) > 1e15)]
    x, y = [a for a, _ in points], [b for _, b in points]
    chart = xy(
        [Series("s", x, y, "both")], Axis("x", log=x_log), Axis("y", log=y_log), description="d"
    )
    root = parsed(chart.svg)
    height = float(root.get("viewBox", "").split()[3])
    for dot in root.iter("circle"):
        assert -0.1 <= float(dot.get("cx", "nan")) <= WIDTH + 0.1
        assert -0.1 <= float(dot.get("cy", "nan")) <= height + 0.1


def test_xy_leaves_out_values_that_a_log_axis_cannot_show() -> None:
    chart = xy(
        [Series("s", [0, 1, 10], [5, 0, 7], "points")],
        Axis("x", log=True),
        Axis("y", log=True),
        description="d",
    )
    assert chart.table.rows == [[10.0, 7.0]]


def test_xy_tooltip_shows_every_series_at_a_shared_x() -> None:
    chart = xy(
        [Series("a", [1, 2], [3, 4]), Series("b", [1, 2], [5, 6])],
        Axis("step"),
        Axis("y"),
        description="d",
    )
    titles = [t.text for t in parsed(chart.svg).iter("title")]
    assert titles == ["step 1\na: 3\nb: 5", "step 2\na: 4\nb: 6"]


def test_xy_larger_values_are_higher_and_error_bars_span_both_sides() -> None:
    chart = xy(
        [Series("a", [1, 2], [3, 4], "both", [0.5, 0.25])],
        Axis("x"),
        Axis("y"),
        description="d",
        references=[Reference("goal", 3.5)],
    )
    root = parsed(chart.svg)
    low, high = (float(c.get("cy", 0)) for c in of(root, "g", "dot")[0])
    assert low > high
    bar = of(root, "g", "error")[0][0]
    assert float(bar.get("y1", 0)) > low > float(bar.get("y2", 0))
    assert chart.table.columns == ["x", "y", "±"]


def test_empty_charts_say_so() -> None:
    empty = [
        xy([], Axis("x"), Axis("y"), description="d"),
        bars([], {}, description="d"),
        histogram([0, 1], [0], x_title="x", y_title="y", description="d"),
        heatmap(np.full((2, 2), np.nan), ["a", "b"], ["c", "d"], value="v", description="d"),
        gauges([], description="d"),
    ]
    assert all("no data" in chart.svg for chart in empty)


def test_heatmap_colour_is_stronger_for_larger_values() -> None:
    chart = heatmap(
        np.array([[1.0, 10.0], [0.0, 1000.0]]),
        ["a", "b"],
        ["c", "d"],
        value="v",
        description="d",
        log=True,
    )
    root = parsed(chart.svg)
    cells = [g[1].get("class", "") for g in of(root, "g", "hit")]
    assert cells == ["cell q1", "cell q4", "cell q9"]  # the 0 has no logarithm and no cell


@pytest.mark.parametrize(
    ("gauge", "holds"),
    [
        (Gauge("a", 1, 2), True),
        (Gauge("a", 3, 2), False),
        (Gauge("a", 3, 2, at_least=True), True),
        (Gauge("a", 0, 0), True),
        (Gauge("a", 3), None),
    ],
)
def test_gauges_compare_values_with_their_limits(gauge: Gauge, holds: bool | None) -> None:
    chart = gauges([gauge], description="d")
    assert gauge.holds is holds
    assert ("✗" in chart.svg) == (holds is False)
    assert chart.table.rows[0][3] == gauge.verdict


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 30), st.integers(0, 100))
def test_block_circles_are_inside_the_picture_and_do_not_overlap(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 1000, count)
    density = rng.random((count, count)) * (rng.random((count, count)) < 0.3)
    root = parsed(
        block_graph([f"block {i}" for i in range(count)], sizes, density, description="d").svg
    )
    circles = [
        (float(c.get("cx", 0)), float(c.get("cy", 0)), float(c.get("r", 0)))
        for c in of(root, "circle", "block")
    ]
    assert len(circles) == count
    for i, (x, y, r) in enumerate(circles):
        assert r <= x <= WIDTH - r and r <= y <= 400 - r
        for x2, y2, r2 in circles[:i]:
            assert math.hypot(x - x2, y - y2) > 0.75 * (r + r2)


def test_the_picture_of_two_blocks_is_not_mostly_empty() -> None:
    density = np.array([[0.05, 0.4], [0.4, 0.5]])
    root = parsed(block_graph(["a", "b"], np.array([29, 5]), density, description="d").svg)
    height = float(root.get("viewBox", "").split()[3])
    lowest = max(float(c.get("cy", 0)) + float(c.get("r", 0)) for c in of(root, "circle", "block"))
    assert lowest <= height <= lowest + 10


def test_numbers_of_a_heat_map_of_zeros_are_short() -> None:
    chart = heatmap(np.zeros((2, 2)), ["a", "b"], ["c", "d"], value="effect", description="d")
    assert {text.text for text in of(parsed(chart.svg), "text", "value")} == {"0.00"}


def test_layout_is_deterministic() -> None:
    first, second = np.array([0, 1]), np.array([1, 2])
    strength, radius = np.array([5, 1]), np.full(3, 10.0)
    one = place_blocks(first, second, strength, radius)
    assert np.array_equal(one, place_blocks(first, second, strength, radius))


@given(finite, finite, st.booleans())
def test_ticks_are_inside_the_axis_and_match_their_labels(a: float, b: float, log: bool) -> None:
    lo, hi = min(a, b), max(a, b)
    if log:
        lo, hi = abs(lo) + 1e-6, abs(lo) + abs(hi) + 1.0
    if hi - lo < 1e-6 * max(1.0, abs(hi)):
        return
    scale = Scale(lo, hi, 0, 100, log=log)
    ticks = scale.ticks()
    assert all(-1 <= scale(value) <= 101 for value, _ in ticks)
    texts = [text for _, text in ticks]
    assert len(set(texts)) == len(texts)


def test_ticks_of_a_narrow_range_differ_and_a_range_that_cannot_be_shown_is_flat() -> None:
    texts = [text for _, text in Scale(1496.5300, 1496.5309, 0, 100).ticks()]
    assert len(texts) > 2 and len(set(texts)) == len(texts)
    flat = xy(
        [Series("entropy", [1, 2], [1496.53, 1496.53 - 1e-9])],
        Axis("iteration"),
        Axis("entropy"),
        description="",
    )
    heights = re.findall(r"[ML][\d.]+ ([\d.]+)", flat.svg)
    assert len(heights) == 2 and len(set(heights)) == 1


def test_legend_shows_dots_for_points() -> None:
    series = [Series(name, [1, 2], [1, 2], "points") for name in ("a", "b")]
    key = xy(series, Axis("x"), Axis("y"), description="").svg.split("</g>")[0]
    assert key.count("<circle") == 2 and "<line" not in key


def _read_back(text: str) -> float:
    text = text.replace(",", "")
    power = re.fullmatch(r"(?:(.*)·)?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", text)
    if power:
        exponent = power[2].translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
        return float(power[1] or 1) * 10.0 ** int(exponent)
    return float(text.rstrip("kM")) * {"k": 1e3, "M": 1e6}.get(text[-1], 1.0)


@given(st.floats(-1e15, 1e15, allow_nan=False, allow_subnormal=False))
def test_short_numbers_are_close_to_the_number_and_readable(value: float) -> None:
    assert "e" not in short(value)
    assert _read_back(short(value)) == pytest.approx(value, rel=6e-3)


@given(st.floats(0, 1))
def test_shares_are_written_as_percent(share: float) -> None:
    text = percent(share)
    if 0 < share < 1e-5:
        assert text == "< 0.001 %"
    else:
        assert float(text.removesuffix(" %")) == pytest.approx(100 * share, rel=6e-3)


@pytest.mark.parametrize("name", ["degree known", "neighbours' degrees known (H2), each of them"])
def test_names_of_bars_are_not_cut(name: str) -> None:
    svg = bars([name, "b"], {"one": [1, 2], "two": [3, float("nan")]}, description="d").svg
    texts = of(parsed(svg), "text", "tick")
    assert name in [t.text for t in texts]


def test_a_long_name_is_continued_in_the_next_line_above_its_bars() -> None:
    name = "200 people known to the attacker, a guess for a sample of 50,000 people"
    svg = bars([name, name], {"one": [1, 2], "two": [3, 4]}, description="d", names_above=True).svg
    root = parsed(svg)
    lines = of(root, "text", "tick")[2:]  # after the legend
    assert " ".join(t.text or "" for t in lines) == f"{name} {name}"
    assert len(lines) == 4 and all(text_width(t.text or "") <= WIDTH for t in lines)
    heights = [float(t.get("y", 0)) for t in lines]
    rows = [float(r.get("y", 0)) for r in of(root, "rect", "s0") if r.get("rx")]
    assert heights[0] < heights[1] < rows[0] < heights[2] < heights[3] < rows[1]
    assert rows[1] + 28 < float((root.get("viewBox") or "").split()[-1])


def test_table_of_a_wide_matrix_has_one_row_per_cell() -> None:
    values = np.arange(14.0).reshape(2, 7)
    chart = heatmap(values, ["a", "b"], list("cdefghi"), value="v", description="d")
    assert chart.table.columns == ["row", "column", "v"]
    assert chart.table.rows[8] == ["b", "d", 8.0]


def test_standalone_files_contain_their_style() -> None:
    chart = xy([Series("a", [1, 2], [3, 4])], Axis("x"), Axis("y"), description="d")
    root = ElementTree.fromstring(standalone(chart.svg))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme: dark" in "".join(root.itertext())


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(a: str, b: str) -> float:
    high, low = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_colours_have_contrast_in_light_dark_and_print() -> None:
    """WCAG AA: 4.5 for text, 3 for lines and marks."""
    schemes = [
        dict(re.findall(r"--(\w+): (#\w{6})", block))
        for block in re.findall(r"\.chart \{([^}]*)\}", template("palette.css"))
    ]
    assert len(schemes) == 3
    for colours in schemes:
        for ground in ("ground", "surface"):
            for word in ("ink", "muted", "accent", "good", "bad", "warn"):
                assert _contrast(colours[word], colours[ground]) >= 4.5, (word, ground)
            for mark in (f"s{i}" for i in range(7)):
                assert _contrast(colours[mark], colours[ground]) >= 3, (mark, ground)


def test_an_alluvial_chart_counts_what_goes_from_group_to_group() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 3, 200), rng.integers(0, 30, 200)
    chart = alluvial([Grouping("a", first, "club"), Grouping("b", second)], description="d")
    counted = Counter(zip((f"club {x}" for x in first), map(str, second), strict=True))
    kept = {name for name, _ in Counter(second.tolist()).most_common(13)}
    rows = {(row[0], row[1]): row[2] for row in chart.table.rows}
    assert sum(rows.values()) == 200
    joined = [key for key in rows if str(key[1]).endswith("others")]
    assert joined and all(key[1] == "17 others" for key in joined)
    for key, number in rows.items():
        if key not in joined:
            assert counted[key] == number and int(str(key[1])) in kept | set(second.tolist())
    assert len({key[1] for key in rows}) == 14
    bars = re.findall(r'y="([\d.]+)" width="11" height="([\d.]+)"', chart.svg)
    height = float(re.findall(r'viewBox="0 0 440 (\d+)"', chart.svg)[0])
    assert len(bars) == 3 + 14 and all(float(y) + float(tall) <= height for y, tall in bars)


def test_an_alluvial_chart_of_nothing_is_empty() -> None:
    nothing = alluvial([Grouping("a", []), Grouping("b", [])], description="d")
    assert "no data" in nothing.svg and nothing.table.rows == []

"""Draw the pictures of the tutorials: run each tutorial and take charts out of its reports.

    python tools/tutorial_pictures.py

writes docs/images/tutorial-*.svg and, from the first tutorial, the network of README.md.
Run it after a change of the tutorials or of the charts.
"""

from __future__ import annotations

import html
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from tools.documentation import DOCS, run_page

_FIGURE = re.compile(r"<figure[^>]*>\s*<h3>(.*?)</h3>\s*(<svg.*?</svg>)", re.DOTALL)
_TIP = re.compile(r"<title>.*?</title>", re.DOTALL)


class Picture(NamedTuple):
    """A chart of a report that a tutorial writes."""

    page: str
    report: str
    chart: str  # the beginning of its title in the report
    name: str


PICTURES = (
    Picture("find-groups", "blocks.html", "The graph of blocks", "tutorial-block-graph"),
    Picture("find-groups", "blocks.html", "The block matrix", "tutorial-block-matrix"),
    Picture("recommend", "quality.html", "Calibration", "tutorial-calibration"),
    Picture("publish", "release/report.html", "Degrees", "tutorial-degrees"),
    Picture("publish", "release/report.html", "People guessed right", "tutorial-attacks"),
)


def take_chart(report: str, chart: str) -> tuple[str, str]:
    """The title and the SVG of a chart in a report."""
    found = [(html.unescape(title), svg) for title, svg in _FIGURE.findall(report)]
    for title, svg in found:
        if title.startswith(chart):
            return title, svg
    raise SystemExit(f"no chart {chart!r}; the report has {[title for title, _ in found]}")


# Okabe and Ito's colours, which colour-blind people can tell apart
_COLOURS = ("#1d2330", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
_WIDTH, _HEIGHT, _MARGIN = 800, 420, 14


def draw_network(graph: Any, labels: np.ndarray) -> str:
    """The nodes in the colours of their blocks, those with many common ties close together."""
    import networkx as nx

    source, target = graph.edges()
    inside = labels[source] == labels[target]
    drawing = nx.Graph()
    drawing.add_nodes_from(range(graph.n_nodes))
    drawing.add_weighted_edges_from(
        (int(u), int(v), 3.0 if same else 0.4)
        for u, v, same in zip(source, target, inside, strict=True)
    )
    angles = 2 * np.pi * labels / (labels.max() + 1)
    jitter = np.random.default_rng(0).normal(0, 0.1, (graph.n_nodes, 2))
    start = np.column_stack([2 * np.cos(angles), np.sin(angles)]) + jitter
    found = nx.spring_layout(
        drawing, pos=dict(enumerate(start)), k=0.16, iterations=60, seed=0, weight="weight"
    )
    place = np.array([found[v] for v in range(graph.n_nodes)])
    low, high = np.quantile(place, [0.003, 0.997], axis=0)
    room = np.array([_WIDTH, _HEIGHT]) - 2 * _MARGIN
    place = np.rint(_MARGIN + room * np.clip((place - low) / (high - low), 0, 1)).astype(int)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'width="{_WIDTH}" height="{_HEIGHT}">',
        f"<title>{graph.n_nodes} people in the colours of their blocks</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fcfcf9"/>',
    ]
    for same, colour in ((True, "#b8bfc6"), (False, "#dfe3e6")):
        lines = "".join(
            f"M{place[u][0]} {place[u][1]}L{place[v][0]} {place[v][1]}"
            for u, v in zip(source[inside == same], target[inside == same], strict=True)
        )
        parts.append(f'<path d="{lines}" stroke="{colour}" stroke-width=".7" fill="none"/>')
    for block in np.unique(labels):
        circles = "".join(
            f'<circle cx="{x}" cy="{y}" r="{3 + degree**0.5 * 0.7:.1f}"/>'
            for (x, y), degree in zip(
                place[labels == block], graph.degrees[labels == block], strict=True
            )
        )
        colour = _COLOURS[block % len(_COLOURS)]
        parts.append(f'<g fill="{colour}" stroke="#fff" stroke-width=".8">{circles}</g>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Write every picture."""
    from coterie.report.charts import standalone

    for page in dict.fromkeys(picture.page for picture in PICTURES):
        with tempfile.TemporaryDirectory() as folder:
            names, _ = run_page(DOCS / "tutorials" / f"{page}.md", Path(folder))
            if page == "find-groups":
                network = draw_network(names["people"], names["model"].labels_)
                (DOCS / "images" / "network.svg").write_text(network, encoding="utf-8")
            for picture in (p for p in PICTURES if p.page == page):
                report = (Path(folder) / picture.report).read_text(encoding="utf-8")
                title, svg = take_chart(report, picture.chart)
                target = DOCS / "images" / f"{picture.name}.svg"
                target.write_text(standalone(svg, title), encoding="utf-8")
                print(f"{target.relative_to(DOCS.parent)}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

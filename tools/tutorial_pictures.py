"""Draw the pictures of the tutorials: run each tutorial and take charts out of its reports.

    python tools/tutorial_pictures.py

writes docs/images/tutorial-*.svg, gallery-*.svg and, from the first tutorial, the network of
README.md.
Run it after a change of the tutorials or of the charts.
"""

from __future__ import annotations

import html
import re
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

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


def main() -> None:
    """Write every picture."""
    from coterie.report.charts import standalone

    for page in dict.fromkeys(picture.page for picture in PICTURES):
        with tempfile.TemporaryDirectory() as folder:
            names, _ = run_page(DOCS / "tutorials" / f"{page}.md", Path(folder))
            if page == "find-groups":
                drawn = names["model"].plot(n_names=0, palette="page").svg
                network = _TIP.sub("", re.sub(r'<g class="legend">.*?</g>', "", drawn))
                (DOCS / "images" / "network.svg").write_text(network, encoding="utf-8")
            for picture in (p for p in PICTURES if p.page == page):
                report = (Path(folder) / picture.report).read_text(encoding="utf-8")
                title, svg = take_chart(report, picture.chart)
                target = DOCS / "images" / f"{picture.name}.svg"
                target.write_text(standalone(svg, title), encoding="utf-8")
                print(f"{target.relative_to(DOCS.parent)}: {target.stat().st_size:,} bytes")
    with tempfile.TemporaryDirectory() as folder:
        run_page(DOCS / "how-to" / "gallery.md", Path(folder))
        for drawn_file in sorted(Path(folder).glob("gallery-*.svg")):
            without_tips = _TIP.sub("", drawn_file.read_text(encoding="utf-8"))
            (DOCS / "images" / drawn_file.name).write_text(without_tips, encoding="utf-8")


if __name__ == "__main__":
    main()

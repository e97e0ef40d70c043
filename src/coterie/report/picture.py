"""The picture of a report: its main charts, or the network alone, as SVG, PNG or PDF."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from os import PathLike
from pathlib import Path

from coterie.base.errors import InputError
from coterie.data.atomic_files import atomic_write
from coterie.report.charts.drawing import WIDTH, clip, label, standalone, tag
from coterie.report.page import Figure, Section
from coterie.report.pdf import find_browser, print_pdf

_GAP = 28.0  # between two charts
_HEADING = 30.0  # above a chart, for its title
_ZOOM = 2.0  # pixels of a PNG file per unit of the SVG file


@dataclass(frozen=True, repr=False)
class Picture:
    """A drawing that a notebook shows and that can be saved as a file.

    Attributes
    ----------
    svg : str
        The drawing as a complete SVG file, which fetches nothing from the network.
    """

    svg: str

    def __repr__(self) -> str:
        return f"Picture({len(self.svg):,} characters of SVG)"

    def _repr_svg_(self) -> str:
        return self.svg.replace("<svg", '<svg style="max-width: 100%; height: auto"', 1)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the drawing; the file appears complete or not at all.

        Parameters
        ----------
        path : str or path-like
            The file to write, with the suffix .svg, .png or .pdf. PNG requires the package
            resvg_py, PDF an installed browser (Chromium, Chrome or Edge).
        """
        check_picture_path(path)
        suffix = Path(path).suffix.lower()
        if suffix == ".pdf":
            content = print_pdf(self._page(), path)
        else:
            content = self.svg.encode() if suffix == ".svg" else self.png()
        with atomic_write(Path(path), "wb") as file:
            file.write(content)

    def _page(self) -> str:
        """Return a page of the size of the drawing, in the colours of the light mode."""
        width, height = re.findall(r'width="(\d+)" height="(\d+)"', self.svg)[0]
        size = f"@page {{ size: {width}px {height}px; margin: 0 }} body {{ margin: 0 }}"
        return f"<!DOCTYPE html><style>{size}</style>{_light_colours(self.svg)}"

    def png(self) -> bytes:
        """Return the drawing as a PNG file with the colours of the light mode."""
        import resvg_py

        image: bytes = resvg_py.svg_to_bytes(svg_string=_light_colours(self.svg), zoom=_ZOOM)
        return image


def check_picture_path(path: str | PathLike[str]) -> None:
    """Raise an InputError if no picture can be written to this path."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".svg", ".png", ".pdf"):
        raise InputError(
            f"{path}: a picture is an SVG, PNG or PDF file",
            remedy="give a name that ends with .svg, .png or .pdf",
        )
    if suffix == ".pdf":
        find_browser(path)
    if suffix == ".png" and find_spec("resvg_py") is None:
        raise InputError(
            f"{path}: PNG files require the package resvg_py",
            remedy="install it with `pip install 'coterie[png]'`, or give a name that ends "
            "with .svg",
        )


def draw_figures(sections: Sequence[Section], title: str = "") -> Picture:
    """Draw the figures that are marked as `pictured`: wide ones, then two columns of others."""
    figures = [figure for part in sections for figure in part.figures if figure.pictured]
    wide = [figure for figure in figures if figure.wide]
    narrow = [figure for figure in figures if not figure.wide]
    across = 2 * WIDTH + _GAP
    drawn, y = [], 0.0
    for figure in wide:
        chart, height = _placed(figure, 0.0, y, across)
        drawn.append(chart)
        y += height
    ends = [y, y]  # of the two columns
    for figure in narrow:
        column = int(ends[1] < ends[0])
        chart, height = _placed(figure, column * (WIDTH + _GAP), ends[column], WIDTH)
        drawn.append(chart)
        ends[column] += height
    box = f"0 0 {across:g} {max(ends):.0f}"
    name = title or "Clustering"
    svg = tag("svg", *drawn, viewBox=box, class_="chart", role="img", aria_label=name)
    return Picture(standalone(svg, title))


def _placed(figure: Figure, x: float, y: float, width: float) -> tuple[str, float]:
    """Return a chart with its title as a group at a place, and the height of both."""
    head, content = figure.chart.svg.removesuffix("</svg>").split(">", 1)
    box, class_ = re.findall(r'viewBox="0 0 ([^"]*)" class="([^"]*)"', head)[0]
    own_width, own_height = map(float, box.split())
    scale = width / own_width
    place = f"translate({x:g} {y + _HEADING:g}) scale({scale:.4g})"
    heading = label(clip(figure.title, width), x, y + 16, "heading")
    group = tag("g", content, transform=place, class_=class_)
    return heading + group, _HEADING + own_height * scale + _GAP


def _light_colours(svg: str) -> str:
    """Write the colours of the light mode in place of CSS variables, for programs without them."""
    colours: dict[str, str] = {}
    for name, colour in re.findall(r"--(\w+): (#\w+)", svg):
        colours.setdefault(name, colour)  # the light mode is the first
    return re.sub(r"var\(--(\w+)\)", lambda found: colours[found[1]], svg)

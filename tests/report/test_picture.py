"""The picture of a clustering: the main charts of its report in one file."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.support.command_line import coterie

import coterie as ct
from coterie.base.errors import InputError
from coterie.report import pdf
from coterie.report import picture as module
from coterie.report.charts.network import MOST_NODES

SVG = "{http://www.w3.org/2000/svg}"


def clustered(n: int) -> ct.GeneralizedKMeans:
    ring = np.arange(n)
    names = [f"<{v}>" for v in ring]
    graph = ct.Graph.from_edges(names, [names[(v + 1) % n] for v in ring])
    return ct.GeneralizedKMeans(3, max_iter=2, rng=0).fit(graph)


@pytest.mark.parametrize("n", [90, MOST_NODES + 1])
def test_a_picture_has_the_charts_of_the_report(n: int) -> None:
    model = clustered(n)
    root = ElementTree.fromstring(model.plot(title="a ring").svg)
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert texts[0] == "a ring"
    network = "Nodes in the colours of their blocks"
    assert {network, "The block matrix", "Entropy at each iteration"} <= set(texts)
    assert "<0>" in texts
    groups = [g for g in root if g.tag == f"{SVG}g" and g.get("transform")]
    report = model.report()
    assert len(groups) == 3
    for group in groups:  # the same marks as in the report
        marks = [m.get("d") for m in group.iter(f"{SVG}path")]
        assert all(f'd="{path}"' in report for path in marks)


def test_a_png_file_has_the_size_and_the_colours_of_the_drawing(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    picture = clustered(30).plot()
    picture.save(tmp_path / "p.PNG")
    content = (tmp_path / "p.PNG").read_bytes()
    root = ElementTree.fromstring(picture.svg)
    assert content.startswith(b"\x89PNG")
    size = struct.unpack(">II", content[16:24])
    assert size == tuple(2 * int(root.get(side, "")) for side in ("width", "height"))
    light = module._light_colours(picture.svg)
    assert "var(" not in light and "fill: #fbfaf7" in light  # the ground of the light mode


@pytest.mark.parametrize("name", ["p.bmp", "p", "svg"])
def test_other_files_are_refused_before_the_fit(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="SVG, PNG or PDF"):
        clustered(30).plot(tmp_path / name)
    done = coterie("cluster", "karate", "--blocks", 2, "--plot", tmp_path / name)
    assert done.returncode == 2 and ".svg, .png or .pdf" in done.stderr
    assert not list(tmp_path.iterdir())


def test_png_without_the_package_names_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="resvg_py") as caught:
        clustered(30).plot(tmp_path / "p.png")
    assert "coterie[png]" in str(caught.value.remedy)


def test_pictures_and_reports_are_printed_as_pdf_by_a_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = clustered(30)
    with monkeypatch.context() as patch:
        patch.setattr("coterie.report.pdf.BROWSERS", ())
        for write in (model.plot, model.report):
            with pytest.raises(InputError, match="none was found"):
                write(tmp_path / "p.pdf")
        done = coterie("cluster", "karate", "--blocks", 2, "--report", tmp_path / "r.pdf")
        assert done.returncode == 2 and "none was found" in done.stderr
    assert not list(tmp_path.iterdir())
    if not any(map(shutil.which, pdf.BROWSERS)):
        pytest.skip("no browser: apt-get install chromium")
    model.plot(tmp_path / "p.pdf", hulls=True)
    model.report(tmp_path / "r.pdf")
    for name in ("p.pdf", "r.pdf"):
        assert (tmp_path / name).read_bytes().startswith(b"%PDF-")


@pytest.mark.parametrize("name", ["r.docx", "r"])
def test_a_report_has_a_known_suffix(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="HTML or a PDF"):
        clustered(30).report(tmp_path / name)
    done = coterie("cluster", "karate", "--blocks", 2, "--report", tmp_path / name)
    assert done.returncode == 2 and ".html, .htm, .pdf" in done.stderr


def test_a_style_draws_the_network_alone() -> None:
    model = clustered(30)
    drawn = model.plot(hulls=True, palette="grey", n_names=0)
    assert "The block matrix" not in drawn.svg and "--s0: #1a1a1a" in drawn.svg
    with pytest.raises(TypeError, match="colour"):
        model.plot(colour="block")

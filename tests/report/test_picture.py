"""The picture of a clustering: the main charts of its report in one file."""

from __future__ import annotations

import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.support.command_line import coterie

import coterie as ct
from coterie.base.errors import InputError
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
    network = "Nodes in the colours of their blocks" if n == 90 else "The graph of blocks"
    assert {network, "The block matrix", "Entropy at each iteration"} <= set(texts)
    assert ("<0>" in texts) == (n == 90)
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

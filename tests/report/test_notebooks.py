"""Results in a notebook: short texts, and cards that can be read in light and dark notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

_CELLS = (
    """import coterie as ct
from coterie.data.demo_data import movie_ratings, social_network
people, _ = social_network()
model = ct.BlockModel("degree-corrected", rng=0).fit(people)
model""",
    "model.plot()",
    "model.report('blocks.html')",
    "model.sample(n_samples=4, rng=0)",
    "ct.compare_models(people)",
    "ct.GeneralizedKMeans(7, rng=0).fit(people)",
    "ct.MMSBM(3, max_iter=5, rng=0).fit(people)",
    "ct.Recommender(ct.MMSBM((2, 3), max_iter=5, rng=0)).fit(movie_ratings()[0])",
    "ct.Anonymizer(6, infer_edges=False).release(people, suggest=False)",
)

# Text boxes of every card and picture, in pixels, with the colours of text and background
_BOXES = """
const seen = (node) => getComputedStyle(node).visibility !== 'hidden';
const found = [];
for (const card of document.querySelectorAll('.coterie-card')) {
  const boxes = [];
  const walk = document.createTreeWalker(card, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode, holder = text.parentElement;
    if (!text.textContent.trim() || holder.closest('style, title') || !seen(holder)) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    for (const box of range.getClientRects())
      if (box.width) boxes.push([box.left, box.top, box.right, box.bottom, text.textContent]);
  }
  const style = getComputedStyle(card);
  found.push({boxes, ink: style.color, ground: style.backgroundColor,
              page: document.documentElement.scrollWidth - document.documentElement.clientWidth});
}
return found;
"""


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Run one cell per public result with a real kernel."""
    nbformat = pytest.importorskip("nbformat", reason="no nbconvert: pip install '.[dev]'")
    nbclient = pytest.importorskip("nbclient", reason="no nbconvert: pip install '.[dev]'")
    pytest.importorskip("ipykernel", reason="no ipykernel: pip install '.[dev]'")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in _CELLS])
    folder = str(tmp_path_factory.mktemp("notebook"))
    nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": folder}}
    ).execute()
    assert (Path(folder) / "blocks.html").read_text().startswith("<!DOCTYPE html>")
    return notebook


def test_the_text_of_every_result_is_short(executed: Any) -> None:
    for cell in executed.cells:
        shown = [out.data for out in cell.outputs if out.output_type == "execute_result"]
        assert len(shown) == 1, cell.source
        assert len(shown[0]["text/plain"]) < 200, shown[0]["text/plain"]
        assert "text/html" in shown[0] or "image/svg+xml" in shown[0], cell.source


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_texts_overlap_and_colours_differ(
    executed: Any, browser: Any, tmp_path: Path, theme: str, width: int
) -> None:
    nbconvert = pytest.importorskip("nbconvert", reason="no nbconvert: pip install '.[dev]'")
    html, _ = nbconvert.HTMLExporter(theme=theme).from_notebook_node(executed)
    page = tmp_path / "notebook.html"
    page.write_text(html, encoding="utf-8")
    browser.set_window_size(width, 900)
    browser.get(page.as_uri())
    cards = browser.execute_script(_BOXES)
    assert len(cards) == len(_CELLS) - 1  # the picture is no card
    for card in cards:
        boxes = card["boxes"]
        assert len(boxes) > 2
        for i, a in enumerate(boxes):
            for b in boxes[i + 1 :]:
                overlap = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
                assert min(overlap) < 2.5, (a[4], b[4])
        ink, ground = (_brightness(card[name]) for name in ("ink", "ground"))
        assert abs(ink - ground) > 120
        assert (ground < 128) == (theme == "dark")


def _brightness(colour: str) -> float:
    """Return the mean of red, green and blue of a computed colour."""
    assert colour.startswith("rgb(")
    return float(np.mean([float(part) for part in colour[4:-1].split(",")]))

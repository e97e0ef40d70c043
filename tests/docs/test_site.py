"""Links and images resolve, pages mention only files that exist, and the language is plain."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tools.documentation import DOCS, ROOT, links, pages

_HEADING = re.compile(r"^#+ +(.*?)(?: *\{#([\w-]+)\})?$", re.MULTILINE)
_MENTION = re.compile(
    r"(?<![\w/.$~-])((?:src|tests|tools|benchmarks|docs|shared)/[\w./-]*\w"
    r"|(?:kernels|models|engine|data|anonymize|recommend|report|base|cli)/[\w./-]*\w\.py)"
)

# What house style replaces, with the page's own quotation of a peer's name excepted.
PHRASES = (
    "It is no differential privacy",
    "and goes past it",
    "taken in without refitting",
    "how the house is built",
    "The paper, made again",
    "Beside others",
    "hits one a class",
    "is no seed",
    "keeps no checkpoints",
    "Scikit-learn's manners",
    "PASSED",
)
DIALECT = (
    r"\bmend(ed|s|ing)?\b",
    r"\bdearest\b",
    r"\bheld against\b",
    r"\bof ours\b",
    r"\bof yours\b",
    r"\bwhose list\b",
    r"\bat most so many\b",
    r"\bissue \d+\b",
    r"\bdesign \d+\.\d+\b",
    r"\b(cl|eq|fig|tab):[a-z]+\d*\b",
    r"\bone (file|task|row|line|sample|worker|shard) an? (command|worker|node|edge|rating)\b",
)


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_images_resolve(page: Path) -> None:
    broken = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        inside = target.exists() and ROOT in (target, *target.parents)
        named = not anchor or target.suffix != ".md" or (inside and anchor in _anchors(target))
        if not (inside and named):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_mentioned_files_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [name for name in _MENTION.findall(text) if not _exists(name, page)]
    assert not missing


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_language_is_plain(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = [phrase for phrase in PHRASES if phrase in text]
    found += [m.group() for pattern in DIALECT for m in re.finditer(pattern, text, re.IGNORECASE)]
    assert not found


def test_every_image_is_used() -> None:
    used = {(page.parent / link).resolve() for page in pages() for link in links(page)}
    unused = [image.name for image in (DOCS / "images").iterdir() if image not in used]
    assert not unused


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    missing = [
        name
        for page in DOCS.rglob("*.md")
        if (name := page.relative_to(DOCS).as_posix()) not in navigation
    ]
    assert not missing


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; the build fails on any warning."""
    for module in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(module, reason="needs the extra `docs`")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_site_loads_nothing_from_the_network(site: Path) -> None:
    tags = re.compile(
        r"<(?:script|img|iframe|source)[^>]*\ssrc=\"?(?:https?:)?//[^\s\">]+"
        r"|<link(?![^>]*rel=\"?canonical)[^>]*\shref=\"?(?:https?:)?//[^\s\">]+"
    )
    styles = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)\"']+")
    found = [
        f"{file.relative_to(site)}: {hit}"
        for suffix, pattern in ((".html", tags), (".css", styles))
        for file in site.rglob(f"*{suffix}")
        for hit in pattern.findall(file.read_text(encoding="utf-8"))
    ]
    assert not found


def test_search_works_from_disk(site: Path, browser: Any) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.wait import WebDriverWait

    browser.set_window_size(1400, 1000)
    browser.get((site / "reference" / "models.html").as_uri())
    browser.find_element(By.CSS_SELECTOR, "input.md-search__input").send_keys("glossary")
    first = WebDriverWait(browser, 30).until(
        lambda page: page.find_elements(By.CSS_SELECTOR, "a.md-search-result__link")
    )[0]
    assert "reference/glossary.html" in first.get_attribute("href")
    fetched = browser.execute_script(
        "return performance.getEntriesByType('resource').map((entry) => entry.name)"
    )
    assert not [url for url in fetched if url.startswith("http")]


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize(
    "page",
    [
        "index",
        "tutorials/publish",
        "how-to/data",
        "benchmarks/index",
        "reference/command-line",
        "reference/models",
    ],
)
def test_pages_fit_the_window(site: Path, browser: Any, page: str, width: int) -> None:
    browser.set_window_size(width, 1000)
    browser.get((site / f"{page}.html").as_uri())
    wide = browser.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert wide <= 0
    empty = browser.execute_script(
        "return [...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)"
    )
    assert not empty


def test_the_tables_of_the_policy_are_visible_without_scrolling(site: Path, browser: Any) -> None:
    browser.set_window_size(1400, 1000)
    browser.get((site / "tutorials" / "publish.html").as_uri())
    script = (
        "return [...document.querySelectorAll('pre > code')]"
        ".filter((block) => block.textContent.includes('people in the smallest class'))"
        ".map((block) => block.scrollWidth - block.clientWidth)"
    )
    # On a busy machine the browser may still show the page of the test before
    until = time.monotonic() + 30
    while not (hidden := browser.execute_script(script)) and time.monotonic() < until:
        time.sleep(0.2)
    assert hidden == [0]


def test_docstrings_are_shown_without_restructured_text() -> None:
    pytest.importorskip("griffe", reason="needs the extra `docs`")
    from tools.docstring_markup import as_markdown

    assert as_markdown("A :class:`Graph`, see [1]_.") == "A `Graph`, see [1]."
    assert as_markdown(".. [1] Karrer & Newman") == "- [1] Karrer & Newman"
    assert as_markdown("See Also\n--------\nPolicy : Limits.").endswith("- `Policy`: Limits.")


def _anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as Python-Markdown makes them."""
    found = set()
    for heading, own in _HEADING.findall(page.read_text(encoding="utf-8")):
        plain = re.sub(r"[^\w\s-]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading))
        found.add(own or re.sub(r"[-\s]+", "-", plain.strip().lower()))
    return found


def _exists(name: str, page: Path) -> bool:
    """A path from the root, from the package, or from the page."""
    if name.startswith("shared/"):
        return False
    places = (ROOT, ROOT / "src" / "coterie", page.parent, DOCS)
    return any((place / name).exists() for place in places) or "…" in name

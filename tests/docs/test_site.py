"""Links and images resolve, pages mention only files that exist, and the language is plain."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tools.documentation import DOCS, ROOT, links, pages

_HEADING = re.compile(r"^#+ +(.*?)(?: *\{#([\w-]+)\})?$", re.MULTILINE)
_MENTION = re.compile(
    r"(?<![\w/.$~-])((?:src|tests|tools|benchmarks|docs|shared)/[\w./-]*\w"
    r"|(?:kernels|models|engine|data|anonymize|recommend|report|reproduce|base|cli)/[\w./-]*\w\.py)"
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


def test_site_builds_without_warnings_and_loads_nothing_from_the_network(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="needs the extra `docs`")
    pytest.importorskip("mkdocstrings", reason="needs the extra `docs`")
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    fetched = re.compile(
        r"<(?:script|img|iframe|source)[^>]*\ssrc=\"?(?:https?:)?//[^\s\">]+"
        r"|<link(?![^>]*rel=\"?canonical)[^>]*\shref=\"?(?:https?:)?//[^\s\">]+"
    )
    styles = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)\"']+")
    found = [
        f"{file.relative_to(tmp_path)}: {hit}"
        for file in tmp_path.rglob("*")
        if file.suffix in (".html", ".css")
        for hit in (fetched if file.suffix == ".html" else styles).findall(
            file.read_text(encoding="utf-8")
        )
    ]
    assert not found
    assert (tmp_path / "search" / "search_index.js").exists(), "search would not work from disk"


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

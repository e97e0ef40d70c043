"""Pages and pictures as PDF files, printed by an installed browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from coterie.base.errors import InputError
from coterie.data.atomic_files import atomic_write

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge", "microsoft-edge")
_SECONDS = 120


def find_browser(path: object) -> str:
    """Return the program that prints PDF files; an InputError if there is none."""
    for name in BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    raise InputError(
        f"{path}: PDF files are printed by a browser, and none was found",
        remedy="install Chromium, Chrome or Edge, or write HTML or SVG and print that",
    )


def check_page_path(path: str | os.PathLike[str]) -> None:
    """Raise an InputError if no report can be written to this path."""
    suffix = Path(path).suffix.lower()
    if suffix == ".pdf":
        find_browser(path)
    elif suffix not in (".html", ".htm"):
        raise InputError(
            f"{path}: a report is an HTML or a PDF file",
            remedy="give a name that ends with .html or .pdf",
        )


def write_page(html: str, path: str | os.PathLike[str]) -> None:
    """Write a report as HTML, or as PDF by the suffix; the file appears complete or not at all."""
    check_page_path(path)
    content = print_pdf(html, path) if Path(path).suffix.lower() == ".pdf" else html.encode()
    with atomic_write(Path(path), "wb") as file:
        file.write(content)


def print_pdf(html: str, path: str | os.PathLike[str]) -> bytes:
    """Print a page that needs no network; `path` is named in errors."""
    browser = find_browser(path)
    with tempfile.TemporaryDirectory(prefix="coterie-pdf-") as folder:
        page, printed = Path(folder) / "page.html", Path(folder) / "page.pdf"
        page.write_text(html, encoding="utf-8")
        command = [
            browser,
            "--headless=new",
            "--disable-gpu",
            "--no-pdf-header-footer",
            f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={printed}",
            page.as_uri(),
        ]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # Chromium refuses to start as root otherwise
        try:
            done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"{path}: {browser} did not print: {error}") from None
        if not printed.exists():
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise InputError(
                f"{path}: {browser} printed nothing" + (f": {said[-1]}" if said else ""),
                remedy="write HTML or SVG and print that",
            )
        return printed.read_bytes()

"""PDF files of pages and pictures, printed by a browser of this computer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from coterie.base.errors import InputError

_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
_FLAGS = (
    "--headless=new",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-pdf-header-footer",
)
_TIMEOUT = 120.0  # seconds


def find_browser() -> str:
    """Return the program that prints PDF files; raise InputError if there is none."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        raise InputError(
            "a PDF file needs a browser on this computer: Chromium, Chrome or Edge",
            remedy="install one, or write .html and print it from any browser",
        )
    return found


def pdf_of(page: str) -> bytes:
    """Return an HTML page as a PDF file; the page must not fetch anything from the network."""
    browser = find_browser()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "page.html", Path(folder) / "page.pdf"
        source.write_text(page, encoding="utf-8")
        flags = [*_FLAGS, f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}"]
        if sys.platform == "linux" and os.geteuid() == 0:
            flags.append("--no-sandbox")  # the sandbox of Chromium does not run as root
        try:
            subprocess.run(
                [browser, *flags, source.as_uri()],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_TIMEOUT,
                check=True,
            )
            return target.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise InputError(
                f"{browser} could not print the PDF file ({type(error).__name__})",
                remedy="write .html and print it from any browser",
            ) from error

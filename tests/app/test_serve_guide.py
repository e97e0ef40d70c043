"""Every command of docs/how-to/serve.md gives the answer that the page shows."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tools.documentation import DOCS, Console, commands, read_blocks

import coterie as ct
from coterie.app.api.routes import ROUTES

DEMO = Path(__file__).parents[2] / "src/coterie/app/web/demo/demo-ratings.csv"
MARK = "<!-- run by tests/app/test_serve_guide.py"


def _transcript() -> list[Console]:
    blocks = read_blocks(DOCS / "how-to" / "serve.md")
    return [one for block in blocks if block.note.startswith(MARK) for one in commands(block)]


def _same(shown: Any, found: Any) -> bool:
    """Compare answers; numbers up to the digits shown, and "…" is any text."""
    if isinstance(shown, dict) and isinstance(found, dict):
        return list(shown) == list(found) and all(_same(shown[k], found[k]) for k in shown)
    if isinstance(shown, list) and isinstance(found, list):
        return len(shown) == len(found) and all(map(_same, shown, found))
    if isinstance(shown, float):
        return found == pytest.approx(shown, abs=0.002)
    return shown == "…" or shown == found


def _read(text: str) -> Any:
    """Return JSON or a Python list as a value, other text as it is."""
    if text.startswith("{"):
        return json.loads(text)
    return ast.literal_eval(text) if text.startswith("[") else text.strip()


def test_the_transcript_is_real(start, tmp_path):
    if shutil.which("curl") is None:
        pytest.skip("no curl: apt-get install curl")
    ct.Recommender("mmsbm").fit(ct.read_ratings(DEMO)).save(tmp_path / "films.model")
    running = start("serve", str(tmp_path / "films.model"), "--port", "0")
    assert running.address, running.printed
    asked = set()
    for command, shown in _transcript():
        command = command.replace("http://127.0.0.1:8000", running.address)
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
        assert _same(_read(shown), _read(done.stdout)), f"{command}\n{done.stdout}"
        asked.add(re.search(rf"{re.escape(running.address)}(/[a-z.]+)", command)[1])
    described = {route.path for route in ROUTES}
    assert asked == described | {"/openapi.json", "/nothing"}
    assert running.stop() == 0

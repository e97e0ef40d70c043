"""Which kernels a command compiles, in the order in which it needs them.

`compile_plans.json` contains one list per command. A command that has to compile starts helpers
(`background.py`) that go through its list from the end, while the command compiles from the
beginning: they meet in the middle. An entry that is missing or no longer right costs time, nothing
else. `tools/compile_plans.py` writes the file by running the commands.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("compile_plans.json")


@functools.cache
def compile_plan(name: str) -> list[str]:
    """Return the requests (`background.py`) of a command; none if it has no list."""
    plans = _plans()
    return [json.dumps(plans["requests"][place]) for place in plans["commands"].get(name, [])]


@functools.cache
def planned_kernels() -> frozenset[tuple[str, str]]:
    """Return module and name of every kernel that a command with a list calls from Python."""
    return frozenset(tuple(request["kernel"]) for request in _plans()["requests"])


@functools.cache
def _plans() -> dict[str, Any]:
    try:
        plans: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {"requests": [], "commands": {}}
    return plans

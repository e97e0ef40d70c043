"""What holds figures of the original never prints them, wherever it is reached from a release."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import coterie as ct
from coterie.data.demo_data import social_network

DIGITS = re.compile(r"\d\.\d{3,}")  # a figure that was not rounded


def parts(value: Any, name: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield the results that can be reached from one through its fields."""
    if id(value) in seen or not dataclasses.is_dataclass(value):
        return
    seen.add(id(value))
    yield name, value
    for field in dataclasses.fields(value):
        yield from parts(getattr(value, field.name), f"{name}.{field.name}", seen)


def test_no_part_of_a_release_prints_a_figure_of_the_original() -> None:
    people, _ = social_network()
    release = ct.Anonymizer(6, dataset="repr").release(people)
    seen: set[int] = set()
    for start in ("utility", "risk", "decision"):
        for name, part in parts(getattr(release, start), start, seen):
            assert not DIGITS.search(repr(part)), name
    assert len(seen) > 8
    assert len(repr(release)) < 200 and "\n" not in repr(release)

"""Sketches and ledgers of earlier versions are read, and give the same answers."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tools.build_wheel import writable_copy

import coterie as ct
from coterie.anonymize.ledger import Ledger

FILES = Path(__file__).parent / "files"
DRAWS = json.loads((FILES / "expected-draws.json").read_text())


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A copy of the ledger of version 0.1.0: the original must not change."""
    return Ledger(writable_copy(FILES / "state", tmp_path / "state"))


@pytest.mark.parametrize("epsilon", sorted(DRAWS))
def test_sketch_of_0_1_draws_the_same_graphs(epsilon: str) -> None:
    sketch = ct.load_sketch(FILES / f"staff-{epsilon}.sketch")
    for seed, expected in zip((0, 3), DRAWS[epsilon], strict=True):
        assert np.stack(sketch.draw(rng=seed, point=True).edges(), axis=1).tolist() == expected


def test_sketch_of_0_1_has_intervals_for_what_it_asked() -> None:
    sketch = ct.load_sketch(FILES / "staff-1.sketch")
    found = sketch.interval("edges")
    assert found.low <= found.value <= found.high
    with pytest.raises(ct.InputError, match="no interval for 'mean_clustering'"):
        sketch.interval("mean_clustering")
    assert sketch.draw(rng=0).n_nodes == sketch.answers_.n_nodes


def test_ledger_of_0_1_is_read(ledger: Ledger) -> None:
    assert ledger.datasets() == ["Other data", "staff"]
    assert ledger.verify("staff") == 8
    assert [(e.kind, e.state, e.graphs, e.epsilon) for e in ledger.entries("staff")] == [
        ("sketch", "written", 0, Fraction(1)),
        ("sketch", "written", 0, Fraction("2.5")),
        ("release", "written", 2, None),
        ("release", "refused", 1, None),
    ]
    assert (ledger.spent("staff"), ledger.releases("staff")) == (Fraction("3.5"), 2)
    assert ledger.releases("other data") == 1


def test_ledger_of_0_1_keeps_its_limits(ledger: Ledger) -> None:
    with pytest.raises(ct.LedgerRefusal):
        ledger.begin("staff", kind="sketch", epsilon=Fraction(1), cap=Fraction(4), details={})
    with pytest.raises(ct.LedgerRefusal):
        ledger.begin("staff", kind="release", max_releases=2, details={})
    options = {"epsilon": Fraction("0.5"), "cap": Fraction(4), "details": {}}
    ledger.begin("staff", kind="sketch", **options, after_release=True)
    assert ledger.spent("staff") == 4


def test_changed_ledger_of_0_1_is_refused(ledger: Ledger) -> None:
    file = ledger.file("staff")
    file.write_text(file.read_text().replace('"written"', '"refused"', 1))
    with pytest.raises(ct.LedgerRefusal):
        ledger.verify("staff")

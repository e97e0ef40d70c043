"""The recipe "Add an attack", executed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.contract.recipes import MOST_LINES, module_of, recipe

from coterie.anonymize.attacks.catalogue import ATTACKS
from coterie.anonymize.attacks.suite import attack, naive_copy
from coterie.anonymize.output.json_form import result_json
from coterie.data.demo_data import social_network

RECIPE = recipe("Add an attack")


def test_it_is_short_and_touches_two_files() -> None:
    assert len(RECIPE.text.splitlines()) <= MOST_LINES
    assert len(RECIPE.files) == 2
    assert Path(RECIPE.files[0]).name == "catalogue.py" and Path(RECIPE.files[0]).exists()


def test_the_new_attack_is_run_compared_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = module_of(RECIPE.code[0], "twins", tmp_path)
    monkeypatch.setattr("coterie.anonymize.attacks.catalogue.ATTACKS", (*ATTACKS, made.Twins()))
    monkeypatch.setattr("coterie.anonymize.attacks.suite.ATTACKS", (*ATTACKS, made.Twins()))
    people, _ = social_network()
    found = attack(people, naive_copy(people, np.random.default_rng(0)))
    assert found.target.twins[0].correct > 0 == found.target.twins[0].wrong
    row = next(row for row in found.comparisons() if row.label == made.Twins.label)
    assert row.found == row.naive and row.has_power
    assert "twins" in result_json(found)["target"]

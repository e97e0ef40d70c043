"""The recipe "Add an objective", executed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.contract.recipes import MOST_LINES, module_of, recipe

import coterie as ct
from coterie.models.declaration import OneOf
from coterie.models.hard.costs import OBJECTIVES, ObjectiveKind

RECIPE = recipe("Add an objective")
ASSUMPTION = "A tie counts if its weight is at least 2."


def test_it_is_short_and_touches_at_most_six_files() -> None:
    assert len(RECIPE.text.splitlines()) <= MOST_LINES
    assert len(RECIPE.files) <= 6
    new = [file for file in RECIPE.files if not Path(file).exists()]
    assert new == ["src/coterie/models/hard/costs/strong_ties.py"]
    assert ASSUMPTION in RECIPE.text


def test_the_new_objective_is_fitted_and_states_its_assumption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = module_of(RECIPE.code[0], "strong_ties", tmp_path)
    entry = ObjectiveKind(ct.Graph, made.strong_ties, ASSUMPTION)
    monkeypatch.setitem(OBJECTIVES, "strong-ties", entry)
    # What the class derives from the list when it is defined
    declared = ct.GeneralizedKMeans.declaration.parameters
    monkeypatch.setitem(declared, "objective", OneOf(*OBJECTIVES))  # type: ignore[arg-type]
    strong, weak = ([0, 0, 1, 3, 3, 4], [1, 2, 2, 4, 5, 5]), ([0, 1, 2, 0, 1], [3, 4, 5, 4, 5])
    graph = ct.Graph.from_edges(
        strong[0] + weak[0], strong[1] + weak[1], weights=np.array([2.0] * 6 + [1.0] * 5)
    )
    model = ct.GeneralizedKMeans(2, objective="strong-ties").fit(graph)
    assert model.labels_[0] == model.labels_[2] != model.labels_[3] == model.labels_[5]
    assert any(ASSUMPTION in sentence for sentence in model.assumptions(graph))
    with pytest.raises(ct.InputError, match="strong-ties"):
        ct.GeneralizedKMeans(2, objective="strong-tie").fit(graph)

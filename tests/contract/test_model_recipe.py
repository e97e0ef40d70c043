"""The recipe "Add a recommender model", executed: the new model keeps the contract."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.rating_model import RatingModelContract
from tests.contract.recipes import MOST_LINES, module_of, recipe

from coterie.recommend import registry

RECIPE = recipe("Add a recommender model")


def test_it_is_short_and_touches_three_files() -> None:
    assert len(RECIPE.text.splitlines()) <= MOST_LINES + 5
    tests = set(re.findall(r"`(tests/[\w/]+\.py)`", RECIPE.text))
    assert len(RECIPE.files) + len(tests) == 3
    assert all(Path(file).exists() for file in tests)


class TestHistogram(RatingModelContract):
    name = "histogram"

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def added(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        """Add the model of the recipe to the package, in memory."""
        made = module_of(RECIPE.code[0], "histogram", tmp_path_factory.mktemp("recipe"))
        entry = eval(RECIPE.code[1], vars(registry))
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, "coterie.models.histogram", made)
            for user in ("registry", "recommender", "model_file"):
                name = f"coterie.recommend.{user}.MODELS"
                patch.setattr(name, (*registry.MODELS, entry))
            yield

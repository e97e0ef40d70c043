"""Every model of the list keeps the contract of rating models."""

from __future__ import annotations

from typing import Any, ClassVar

from tests.contract.rating_model import RatingModelContract

from coterie.recommend.registry import MODELS


class TestAdditiveBlockModel(RatingModelContract):
    name = "best"
    settings: ClassVar[dict[str, Any]] = {"n_chains": 2, "n_sweeps": 40}


class TestMMSBM(RatingModelContract):
    name = "mmsbm"
    settings: ClassVar[dict[str, Any]] = {"n_groups": (3, 2), "max_iter": 40}


class TestMCMMSBM(RatingModelContract):
    name = "mcmmsbm"
    settings: ClassVar[dict[str, Any]] = {"n_groups": (2, 2), "max_iter": 40, "n_samples": 10}


class TestGeneralizedKMeans(RatingModelContract):
    name = "hard"
    settings: ClassVar[dict[str, Any]] = {"n_blocks": (2, 2), "n_init": 5}


class TestBlockModel(RatingModelContract):
    name = "block-model"


class TestPopularity(RatingModelContract):
    name = "popularity"


class TestItemMean(RatingModelContract):
    name = "item-mean"


class TestEASE(RatingModelContract):
    name = "ease"


class TestIALS(RatingModelContract):
    name = "ials"


def test_every_model_of_the_list_has_a_contract_class() -> None:
    tested = {one.name for one in RatingModelContract.__subclasses__()}
    assert {entry.name for entry in MODELS} <= tested

"""The catalogue of options says each thing once, and agrees with what the models declare."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from tests.cli.test_file_arguments import commands

from coterie.anonymize.anonymizer import Anonymizer
from coterie.cli.options import CATALOGUE, option_of
from coterie.models.base import Estimator
from coterie.models.declaration import OneOf
from coterie.models.hard.block_model import BlockModel
from coterie.models.hard.description.choice import DENSITIES
from coterie.models.hard.k_means import GeneralizedKMeans
from coterie.models.soft.mmsbm import MMSBM
from coterie.recommend.registry import MODELS

COMMANDS: dict[str, Any] = dict(commands())


def names_of(model: type[Estimator], parameter: str) -> set[str]:
    constraint = model.declaration.parameters[parameter]
    assert isinstance(constraint, OneOf)
    return set(constraint.names)


def test_every_entry_of_the_catalogue_is_an_option_of_a_command() -> None:
    used = {id(option) for run in COMMANDS.values() for option in run.options.values()}
    assert [key for key, option in CATALOGUE.items() if id(option) not in used] == []


def choices_of(command: str, option: str) -> set[str]:
    return set(option_of(command, option).choices.split())


def test_objectives_and_models_are_those_that_the_models_declare() -> None:
    graphs_and_ratings = names_of(GeneralizedKMeans, "objective") - {"gaussian"}
    declared = graphs_and_ratings | names_of(BlockModel, "model")
    by_density = {"uniform-communities"}  # --objective communities --communities uniform
    assert choices_of("cluster", "objective") == declared - by_density
    assert choices_of("cluster", "communities") == set(DENSITIES)
    assert choices_of("cluster", "search") == names_of(GeneralizedKMeans, "search")
    assert choices_of("cluster", "weights") == names_of(BlockModel, "weight_model")
    offered = choices_of("recommend fit", "model")
    assert offered <= {entry.name for entry in MODELS}


@pytest.mark.parametrize(
    ("command", "model", "option", "parameter"),
    [
        ("cluster", GeneralizedKMeans, "search", "search"),
        ("cluster", GeneralizedKMeans, "alpha", "alpha"),
        ("cluster", GeneralizedKMeans, "iterations", "max_iter"),
        ("cluster", GeneralizedKMeans, "tol", "tol"),
        ("cluster", GeneralizedKMeans, "runs", "n_init"),
        ("cluster", GeneralizedKMeans, "min_block_size", "min_block_size"),
        ("cluster", BlockModel, "weights", "weight_model"),
        ("soft", MMSBM, "iterations", "max_iter"),
        ("soft", MMSBM, "tol", "tol"),
        ("soft", MMSBM, "prior", "prior"),
        ("soft", MMSBM, "absent_pairs", "absent"),
        ("anonymize", Anonymizer, "min_class_size", "min_class_size"),
        ("anonymize", Anonymizer, "max_edge_probability", "max_edge_probability"),
        ("anonymize", Anonymizer, "draws", "draws"),
    ],
)
def test_defaults_are_those_of_the_library(
    command: str, model: type, option: str, parameter: str
) -> None:
    given = inspect.signature(COMMANDS[command].__wrapped__).parameters[option].default
    assert given == inspect.signature(model).parameters[parameter].default

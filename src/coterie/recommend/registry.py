"""The models that a Recommender can use: one list, from which only the chosen model is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.base.randomness import RandomState

if TYPE_CHECKING:
    from coterie.models.rating_model import RatingModel, RatingPredictor


@dataclass(frozen=True)
class RatingModelEntry:
    """One model: its name in options, and where its two classes are ("module:class")."""

    name: str
    estimator: str
    predictor: str  # what a saved file holds
    kind: str  # the name of the predictor in saved files
    settings: Mapping[str, Any] = field(default_factory=dict)  # unless something else is chosen
    ranked_by: tuple[str, ...] = ("regression", "factors")  # as the estimator says

    @property
    def estimator_name(self) -> str:
        """The name of the estimator class, which saved files hold."""
        return self.estimator.partition(":")[2]

    def estimator_class(self) -> type[RatingModel]:
        """Import the estimator."""
        found: type[RatingModel] = _imported(self.estimator)
        return found

    def predictor_class(self) -> type[RatingPredictor]:
        """Import the predictor, which needs neither the estimator nor its search."""
        found: type[RatingPredictor] = _imported(self.predictor)
        return found


_SOFT = "coterie.models.soft.predictor:SoftPredictor"
_HARD = "coterie.models.hard.predictor:HardPredictor"
_SOFT_SETTINGS = {"n_groups": (10, 10), "max_iter": 200, "prior": 0.1}  # chosen on held-out ratings

MODELS = (
    RatingModelEntry(
        "best",
        "coterie.models.additive.estimator:AdditiveBlockModel",
        "coterie.models.additive.predictor:AdditivePredictor",
        "additive",
    ),
    RatingModelEntry(
        "mmsbm", "coterie.models.soft.mmsbm:MMSBM", _SOFT, "soft", settings=_SOFT_SETTINGS
    ),
    RatingModelEntry(
        "mcmmsbm", "coterie.models.soft.mmsbm:MCMMSBM", _SOFT, "soft", settings=_SOFT_SETTINGS
    ),
    RatingModelEntry(
        "hard",
        "coterie.models.hard.k_means:GeneralizedKMeans",
        _HARD,
        "hard",
        settings={"n_blocks": (15, 15), "objective": "ratings", "search": "paper"},
    ),
    RatingModelEntry(
        "block-model",
        "coterie.models.hard.block_model:BlockModel",
        _HARD,
        "hard",
        settings={"model": "ratings"},
    ),
    *(
        RatingModelEntry(
            name, f"coterie.models.baselines:{class_name}", _HARD, "hard", ranked_by=parts
        )
        for name, class_name, parts in (
            ("popularity", "Popularity", ()),
            ("item-mean", "ItemMean", ("rating",)),
            ("ease", "EASE", ("regression",)),
            ("ials", "IALS", ("factors",)),
        )
    ),
)


@dataclass(eq=False)
class SavedModel:
    """The unfitted estimator of a model file, which is imported when it is first needed."""

    entry: RatingModelEntry
    parameters: JsonObject
    path: str

    @cached_property
    def estimator(self) -> RatingModel:
        """Build the estimator; parameters of older files get their present names."""
        model = self.entry.estimator_class()()
        renamed = model.declaration.renamed
        parameters = {
            renamed.get(name, name): tuple(value) if isinstance(value, list) else value
            for name, value in self.parameters.items()
            if name not in model.declaration.removed
        }
        if unknown := set(parameters) - set(model.get_params()):
            raise InputError(
                f"has an unknown parameter {min(unknown)!r}",
                path=self.path,
                remedy="upgrade coterie",
            )
        return model.set_params(**parameters)


def make_model(name: str, *, rng: RandomState = 0, **options: Any) -> RatingModel:
    """Return the model with this name; an option that the model does not have is an error.

    Options that are None are left out. Which ones there are says the declaration of the model.

    >>> make_model("best", runs=2)
    AdditiveBlockModel(n_chains=2)
    """
    entry = next((entry for entry in MODELS if entry.name == name), None)
    if entry is None:
        known = ", ".join(repr(entry.name) for entry in MODELS)
        raise InputError(f"unknown model {name!r}", remedy=f"use one of {known}")
    model = entry.estimator_class()(**entry.settings)
    parameters = {option: own for own, option in model.declaration.option_names.items()}
    for option, value in options.items():
        if value is None:
            continue
        if option not in parameters:
            raise InputError(
                f"model {name!r} has no option `{option}`",
                remedy=f"its options are {', '.join(f'`{x}`' for x in sorted(parameters))}",
            )
        pair = option == "groups" and isinstance(value, int)
        model.set_params(**{parameters[option]: (value, value) if pair else value})
    return model.set_params(rng=rng)


def _imported(place: str) -> Any:
    """Return the class at "module:class"."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)

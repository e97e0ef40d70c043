"""The models that a Recommender can use: by name, by class, and with the adapter of each class.

Each adapter module registers its adapter for the model classes that it serves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from coterie.base.errors import InputError
from coterie.base.randomness import RandomState
from coterie.models.base import Estimator
from coterie.recommend.adapter import Adapter

MODEL_NAMES = ("best", "mmsbm", "mcmmsbm", "hard")
_PRIOR = 0.1  # chosen on held-out ratings of a training set

AnyAdapter = TypeVar("AnyAdapter", bound=Adapter)
_adapters: dict[type[Estimator], type[Adapter]] = {}


def register_adapter(
    *model_classes: type[Estimator],
) -> Callable[[type[AnyAdapter]], type[AnyAdapter]]:
    """Return a class decorator that registers an adapter for these model classes."""

    def register(adapter: type[AnyAdapter]) -> type[AnyAdapter]:
        for model_class in model_classes:
            _adapters[model_class] = adapter
        return adapter

    return register


def registered_adapters() -> dict[type[Estimator], type[Adapter]]:
    """Return the adapter class of each model class."""
    # Imported here, because each of these modules imports this one to register its adapter.
    from coterie.recommend import additive_adapter, hard_adapter, soft_adapter  # noqa: F401

    return _adapters


def adapter_for(model: Estimator) -> type[Adapter]:
    """Return the adapter class of a model, found through the model's class."""
    adapters = registered_adapters()
    for base in type(model).__mro__:
        if base in adapters:
            return adapters[base]
    known = ", ".join(sorted(cls.__name__ for cls in adapters))
    raise InputError(
        f"a Recommender cannot use a {type(model).__name__}", remedy=f"use one of {known}"
    )


def adapter_of_kind(kind: str) -> type[Adapter] | None:
    """Return the adapter class that has this name in saved files, or None."""
    return next((cls for cls in registered_adapters().values() if cls.kind == kind), None)


def model_class_named(name: str) -> type[Estimator] | None:
    """Return the model class of this name, or None."""
    return next((cls for cls in registered_adapters() if cls.__name__ == name), None)


class _NamedModel(NamedTuple):
    """A model with its defaults, and the name of its parameter for each option."""

    model: Estimator
    parameters: dict[str, str]  # option -> name of the model's parameter


def make_model(
    name: str,
    *,
    groups: int | tuple[int, int] | None = None,
    samples: int | None = None,
    iterations: int | None = None,
    runs: int | None = None,
    prior: float | None = None,
    negatives_per_rating: float | None = None,
    rng: RandomState = 0,
) -> Estimator:
    """Return the model with this name; an option that the model does not have is an error.

    >>> make_model("best", runs=2)
    AdditiveBlockModel(n_chains=2)
    """
    model, parameters = _named_model(name)
    options = {
        "groups": groups,
        "samples": samples,
        "iterations": iterations,
        "runs": runs,
        "prior": prior,
        "negatives_per_rating": negatives_per_rating,
    }
    for option, value in options.items():
        if value is None:
            continue
        if option not in parameters:
            raise InputError(
                f"model {name!r} has no option `{option}`",
                remedy=f"its options are {', '.join(f'`{x}`' for x in sorted(parameters))}",
            )
        model.set_params(**{parameters[option]: value})
    pair = getattr(model, parameters["groups"])
    model.set_params(**{parameters["groups"]: (pair, pair) if isinstance(pair, int) else pair})
    return model.set_params(rng=rng)


def _named_model(name: str) -> _NamedModel:
    """Return the model with its defaults."""
    if name == "best":
        from coterie.models.additive import AdditiveBlockModel

        parameters = {
            "groups": "n_groups",
            "iterations": "n_sweeps",
            "runs": "n_chains",
            "negatives_per_rating": "negatives_per_rating",
        }
        return _NamedModel(AdditiveBlockModel(), parameters)
    if name == "hard":
        from coterie.models.hard.k_means import GeneralizedKMeans

        parameters = {"groups": "n_blocks", "iterations": "max_iter", "runs": "n_init"}
        hard = GeneralizedKMeans(n_blocks=(15, 15), objective="ratings", search="paper")
        return _NamedModel(hard, parameters)
    parameters = {
        "groups": "n_groups",
        "iterations": "max_iter",
        "runs": "n_init",
        "prior": "prior",
        "negatives_per_rating": "negatives_per_rating",
    }
    defaults: dict[str, Any] = {"n_groups": (10, 10), "max_iter": 200, "prior": _PRIOR}
    if name == "mmsbm":
        from coterie.models.soft.mmsbm import MMSBM

        return _NamedModel(MMSBM(**defaults), parameters)
    if name == "mcmmsbm":
        from coterie.models.soft.mcmmsbm import MCMMSBM

        return _NamedModel(MCMMSBM(**defaults), {**parameters, "samples": "samples"})
    raise InputError(
        f"unknown model {name!r}", remedy=f"use one of {', '.join(map(repr, MODEL_NAMES))}"
    )


def fits_shards(model: Estimator) -> bool:
    """Return whether a model can learn from shards without loading all of them."""
    from coterie.models.soft.estimator import SoftModel

    return isinstance(model, SoftModel) and not (model.negatives_per_rating or model.validation)

"""The models a Recommender can be built on, by name."""

from __future__ import annotations

from typing import Any

from coterie.base.errors import InputError
from coterie.base.randomness import RandomState
from coterie.data import Ratings
from coterie.models.base import Estimator
from coterie.recommend.adapter import Adapter

_PRIOR = 0.1  # chosen on a validation part of a training set, as docs/additive.md tells
NAMES = ("best", "mmsbm", "mcmmsbm", "hard")


def make_model(
    name: str,
    *,
    groups: int | tuple[int, int] | None = None,
    samples: int | None = None,
    iterations: int | None = None,
    runs: int | None = None,
    prior: float | None = None,
    absent: float | None = None,
    rng: RandomState = 0,
) -> Estimator:
    """A model by name; an option that the model does not know is refused.

    >>> make_model("best", runs=2)
    AdditiveBlockModel(n_chains=2)
    """
    if name not in NAMES:
        raise InputError(f"model {name!r} is unknown", remedy=f"give one of {', '.join(NAMES)}")
    model, spelling = _blank(name)
    given = {
        "groups": groups,
        "samples": samples,
        "iterations": iterations,
        "runs": runs,
        "prior": prior,
        "absent": absent,
    }
    for option, value in given.items():
        if value is None:
            continue
        if option not in spelling:
            raise InputError(
                f"model {name!r} has no {option}", remedy=f"it has {', '.join(sorted(spelling))}"
            )
        model.set_params(**{spelling[option]: value})
    pair = getattr(model, spelling["groups"])
    model.set_params(**{spelling["groups"]: (pair, pair) if isinstance(pair, int) else pair})
    return model.set_params(rng=rng)


def _blank(name: str) -> tuple[Estimator, dict[str, str]]:
    """The model with its defaults, and its own words for the options."""
    if name == "best":
        from coterie.models.additive import AdditiveBlockModel

        words = {
            "groups": "n_groups",
            "iterations": "n_sweeps",
            "runs": "n_chains",
            "absent": "negatives_per_rating",
        }
        return AdditiveBlockModel(), words
    if name == "hard":
        from coterie.models.hard.estimator import GeneralizedKMeans

        model = GeneralizedKMeans(n_blocks=(15, 15), objective="ratings", search="paper")
        return model, {"groups": "n_blocks", "iterations": "max_iter", "runs": "n_init"}
    words = {
        "groups": "n_groups",
        "iterations": "max_iter",
        "runs": "n_init",
        "prior": "prior",
        "absent": "negatives_per_rating",
    }
    defaults: dict[str, Any] = {"n_groups": (10, 10), "max_iter": 200, "prior": _PRIOR}
    if name == "mmsbm":
        from coterie.models.soft.mmsbm import MMSBM

        return MMSBM(**defaults), words
    from coterie.models.soft.mcmmsbm import MCMMSBM

    return MCMMSBM(**defaults), {**words, "samples": "samples"}


def fits_shards(model: Estimator) -> bool:
    """Whether a model learns from ratings that lie in shards, without all of them in one place."""
    from coterie.models.soft.estimator import SoftModel

    return isinstance(model, SoftModel) and not (model.negatives_per_rating or model.validation)


def adapter_of(model: Any, ratings: Ratings) -> Adapter:
    """The adapter of a fitted model."""
    if hasattr(model, "samples_"):
        from coterie.recommend.additive_adapter import AdditiveAdapter

        return AdditiveAdapter.of(model)
    if hasattr(model, "user_labels_"):
        from coterie.recommend.hard_adapter import HardAdapter

        return HardAdapter.of(model, ratings)
    if hasattr(model, "user_memberships_"):
        from coterie.recommend.soft_adapter import SoftAdapter

        return SoftAdapter.of(model)
    raise InputError(
        f"{model!r} is not fitted to ratings", remedy="fit it to coterie.Ratings first"
    )


def adapter_class(kind: str) -> type[Adapter]:
    """The class that writes `kind` into a file."""
    from coterie.recommend.additive_adapter import AdditiveAdapter
    from coterie.recommend.hard_adapter import HardAdapter
    from coterie.recommend.soft_adapter import SoftAdapter

    classes: tuple[type[Adapter], ...] = (AdditiveAdapter, HardAdapter, SoftAdapter)
    return next(cls for cls in classes if cls.kind == kind)

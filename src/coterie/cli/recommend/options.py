"""Options that the commands of `recommend` share, and the model that they describe."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.cli.input_options import parse_groups
from coterie.cli.session import Session

if TYPE_CHECKING:
    import numpy as np

    from coterie.data.ids import IdLookup
    from coterie.data.node_table import NodeTable
    from coterie.data.titles import Titles
    from coterie.models.base import Estimator
    from coterie.recommend.recommender import Recommender


class ModelName(StrEnum):
    """The models that can be fitted."""

    best = "best"
    mmsbm = "mmsbm"
    mcmmsbm = "mcmmsbm"
    hard = "hard"


class OrderName(StrEnum):
    """The orders of a ranking."""

    both = "both"
    interaction = "interaction"
    rating = "rating"


OrderOption = Annotated[
    OrderName,
    typer.Option(
        help="What comes first: both (items that the user will probably interact with and like), "
        "interaction (will probably interact with), rating (highest expected rating).",
    ),
]
ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="Model file that `coterie recommend fit` wrote.")
]
ModelOption = Annotated[
    ModelName,
    typer.Option(
        "--model",
        help="Model to fit: best (additive block model, the lowest errors), mmsbm or mcmmsbm "
        "(mixed membership), hard (one block per user and item).",
    ),
]
GroupsOption = Annotated[
    str | None,
    typer.Option(
        metavar="K|K,L",
        help="Number of groups, or of user groups and item groups (default: 3,5 for best, 10 for "
        "mmsbm and mcmmsbm, 15 for hard). Example: --groups 10,8",
    ),
]
SamplesOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Monte Carlo samples per rating and iteration (mcmmsbm only; default: 30).",
    ),
]
IterationsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Maximum number of iterations; for best, sweeps per chain. Default for best: "
        "until more would hardly help, at most 200; for mmsbm and mcmmsbm: 200; for hard: 300.",
    ),
]
RunsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Number of random starts. mmsbm and mcmmsbm average them, best averages as many "
        "chains, hard keeps the best one (default: 1; for best, 4).",
    ),
]
PriorOption = Annotated[
    float | None,
    typer.Option(
        min=0,
        metavar="X",
        help="Pseudo-count added to every group membership (mmsbm and mcmmsbm; default: 0.1).",
    ),
]
NegativesOption = Annotated[
    float | None,
    typer.Option(
        "--negatives",
        "--absent",
        min=0,
        metavar="X",
        help="Unrated pairs to learn from, per rating (default: 1 for best, 0 for mmsbm and "
        "mcmmsbm; not for hard).",
    ),
]
LikesOption = Annotated[
    bool | None,
    typer.Option(
        "--likes/--no-likes",
        help="Read pairs of user and item without ratings: predictions are then probabilities of "
        "a like. --no-likes reads ratings even if all of them are 1 (default: likes if all "
        "ratings are 1).",
    ),
]
TitlesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Table of item id and title, such as u.item or movies.csv of MovieLens; titles are "
        "shown next to the ids.",
    ),
]
UserFeaturesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Table of user id and features (numbers, categories, several categories separated "
        "by |), for --model best. Users without ratings are predicted from it.",
    ),
]
ItemFeaturesOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The same for items. Example: --item-features movies.csv"),
]
CountOption = Annotated[
    int, typer.Option("-n", min=1, metavar="N", help="Maximum number of items to show.")
]


def make_estimator(
    session: Session,
    model: ModelName,
    groups: str | None,
    samples: int | None,
    iterations: int | None,
    runs: int | None,
    prior: float | None,
    negatives: float | None,
) -> Estimator:
    """Return the model that the options of `fit` and `evaluate` describe."""
    from coterie.recommend.registry import make_model

    return make_model(
        model.value,
        groups=None if groups is None else parse_groups(groups),
        samples=samples,
        iterations=iterations,
        runs=runs,
        prior=prior,
        negatives_per_rating=negatives,
        rng=session.seed,
    )


def load_features(
    session: Session, model: ModelName, user_features: Path | None, item_features: Path | None
) -> dict[str, NodeTable]:
    """Read the feature tables that were given, and say how each column was read."""
    from coterie.data.node_table import read_features

    found = {}
    for name, file in (("user_features", user_features), ("item_features", item_features)):
        if file is None:
            continue
        if model is not ModelName.best:
            option = f"--{name.replace('_', '-')}"
            raise InputError(
                f"--model {model.value} does not use {option}", remedy="use --model best"
            )
        found[name] = read_features(file)
        session.say(f"{file}: {found[name]!r}")
    return found


def load_model(path: str) -> Recommender:
    """Read the recommender in a file."""
    from coterie.recommend.model_file import load_recommender

    return load_recommender(path)


def check_known(recommender: Recommender, user: str | None = None, item: str | None = None) -> None:
    """Raise InputError for a user or item that the model does not know."""
    for kind, id_, lookup, remedy in (
        ("user", user, recommender.users_, "add a new user with `top --ratings FILE`"),
        ("item", item, recommender.items_, "use an item of the ratings it was fitted to"),
    ):
        if id_ is not None and lookup.numbers([id_])[0] < 0:
            example = f", such as {lookup.ids[0]}" if len(lookup) else ""
            raise InputError(
                f"the model has no {kind} {id_!r} (it has {len(lookup):,} {kind}s{example})",
                remedy=remedy,
            )


def id_as_in_data(lookup: IdLookup, text: str) -> Any:
    """Return the id that an option names, with the type that it has in the data."""
    number = int(lookup.numbers([text])[0])
    return lookup.ids[number : number + 1].tolist()[0] if number >= 0 else text


def item_row(item: Any, titles: dict[Any, str], **figures: float) -> JsonObject:
    """Return one row of JSON about an item, with its title if it has one."""
    title = titles.get(item)
    return {"item": item, **figures, **({"title": title} if title else {})}


def say_coverage(session: Session, titles: Titles, path: Path | None, items: np.ndarray) -> None:
    """Say how many of a model's items have no title; nothing if all of them have one."""
    if path is None:
        return
    found = sum(str(item) in titles for item in items.tolist())
    if found < len(items):
        session.say(
            f"{path}: {found:,} of the {len(items):,} items of the model have a title",
            important=found == 0,
        )

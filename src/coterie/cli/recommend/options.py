"""Options that the commands of `recommend` share, and the model that they describe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.cli.reading import parse_groups
from coterie.cli.session import Session

if TYPE_CHECKING:
    import numpy as np

    from coterie.data.ids import IdLookup
    from coterie.data.node_table import NodeTable
    from coterie.data.titles import Titles
    from coterie.models.base import Estimator
    from coterie.recommend.recommender import Recommender


def make_estimator(
    session: Session,
    model: str,
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
        model,
        groups=None if groups is None else parse_groups(groups),
        samples=samples,
        iterations=iterations,
        runs=runs,
        prior=prior,
        negatives_per_rating=negatives,
        rng=session.seed,
    )


def load_features(
    session: Session, model: str, user_features: Path | None, item_features: Path | None
) -> dict[str, NodeTable]:
    """Read the feature tables that were given, and say how each column was read."""
    from coterie.data.node_table import read_features

    found = {}
    for name, file in (("user_features", user_features), ("item_features", item_features)):
        if file is None:
            continue
        if model != "best":
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"--model {model} does not use {option}", remedy="use --model best")
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


def load_titles(session: Session, path: Path | None, items: np.ndarray) -> dict[Any, str]:
    """Read the titles of a model's items, if a file is given; say how many items have one."""
    if path is None:
        return {}
    from coterie.data.titles import read_titles

    titles = read_titles(path)
    say_coverage(session, titles, path, items)
    return titles


def say_coverage(session: Session, titles: Titles, path: Path, items: np.ndarray) -> None:
    """Say how many of a model's items have no title; nothing if all of them have one."""
    found = sum(str(item) in titles for item in items.tolist())
    if found < len(items):
        session.say(
            f"{path}: {found:,} of the {len(items):,} items of the model have a title",
            important=found == 0,
        )

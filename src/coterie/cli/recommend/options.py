"""What the commands of `recommend` share: options, the model they make, titles."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.base.errors import InputError
from coterie.cli.input_options import parse_groups
from coterie.cli.session import Session

if TYPE_CHECKING:
    from coterie.models.base import Estimator
    from coterie.recommend.recommender import Recommender


class Model(StrEnum):
    best = "best"
    mmsbm = "mmsbm"
    mcmmsbm = "mcmmsbm"
    hard = "hard"


ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="What `fit --out` wrote.")]
KindOption = Annotated[Model, typer.Option("--model", help="The model; best predicts best.")]
GroupsOption = Annotated[str | None, typer.Option(help="Groups: K, or K,L for users and items.")]
SamplesOption = Annotated[int | None, typer.Option(min=1, help="Draws a rating (mcmmsbm).")]
IterationsOption = Annotated[int | None, typer.Option(min=1, help="Iterations (best: sweeps).")]
RunsOption = Annotated[
    int | None,
    typer.Option(min=1, help="Runs to average (best: chains; hard: the best run is kept)."),
]
PriorOption = Annotated[float | None, typer.Option(min=0, help="Pseudo-count (mmsbm, mcmmsbm).")]
AbsentOption = Annotated[
    float | None, typer.Option(min=0, help="Unrated pairs to learn from, for each rating.")
]
LikesOption = Annotated[bool, typer.Option("--likes", help="Pairs user, item without ratings.")]
TitlesOption = Annotated[
    Path | None, typer.Option(help="id and title of each item, such as MovieLens's u.item.")
]
OutOption = Annotated[Path | None, typer.Option(help="CSV or .parquet; stdout if not given.")]


def make(
    session: Session,
    model: Model,
    groups: str | None,
    samples: int | None,
    iterations: int | None,
    runs: int | None,
    prior: float | None,
    absent: float | None,
) -> Estimator:
    """The model that the options of fit and evaluate describe."""
    from coterie.recommend.registry import make_model

    return make_model(
        model.value,
        groups=None if groups is None else parse_groups(groups),
        samples=samples,
        iterations=iterations,
        runs=runs,
        prior=prior,
        absent=absent,
        rng=session.seed,
    )


def load_model(path: str) -> Recommender:
    """The recommender in a file."""
    from coterie.recommend.model_file import load_recommender

    return load_recommender(path)


def known(recommender: Recommender, user: str | None = None, item: str | None = None) -> None:
    """Refuse a user or item that the model has never seen."""
    for kind, name, names, remedy in (
        ("user", user, recommender.users_, "--ratings FILE takes a new user in"),
        ("item", item, recommender.items_, "use an item of the ratings it was fitted to"),
    ):
        if name is not None and names.numbers([name])[0] < 0:
            example = names.ids[0] if len(names) else "nothing"
            raise InputError(
                f"the model knows no {kind} {name!r} (it knows {len(names):,}, such as {example})",
                remedy=remedy,
            )


def as_given(names: Any, name: str) -> Any:
    """The id that a text on the command line names, as the data had it."""
    number = int(names.numbers([name])[0])
    return names.ids[number : number + 1].tolist()[0] if number >= 0 else name

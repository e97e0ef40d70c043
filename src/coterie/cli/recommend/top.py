"""`coterie recommend top`: the best items for a user, known or new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.cli.input_options import SeparatorOption, TableFormatOption
from coterie.cli.recommend.options import (
    CountOption,
    ModelArgument,
    TitlesOption,
    check_known,
    id_as_in_data,
    item_row,
    load_model,
)
from coterie.cli.session import Session, command

if TYPE_CHECKING:
    from coterie.recommend.recommender import Recommender

_NEW_USER = "new user"  # the id of the user of --ratings, if --user is not given


@command(unused=("seed",))
def run(
    session: Session,
    model: ModelArgument,
    user: Annotated[
        str | None, typer.Option(metavar="ID", help="Id of the user to recommend items to.")
    ] = None,
    n: CountOption = 10,
    ratings: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Table of item and rating (of likes: item alone): the ratings of a new user, or "
            "more ratings of --user. They are added without refitting the model.",
        ),
    ] = None,
    titles: TitlesOption = None,
    rated: Annotated[
        bool, typer.Option("--rated", help="Include items that the user has rated already.")
    ] = False,
    format: TableFormatOption = None,
    separator: SeparatorOption = None,
) -> JsonObject:
    """Rank items for a user.

    Items that the user has not rated are ranked by their expected ratings.

    Example: coterie recommend top films.model --user 42 -n 5
    """
    from coterie.cli.recommend.title_coverage import say_coverage
    from coterie.data.titles import Titles, read_titles

    if user is None and ratings is None:
        raise InputError(
            "no user given", remedy="add --user ID, or --ratings FILE with ratings of a new user"
        )
    recommender = load_model(model)
    title_of = read_titles(titles) if titles is not None else Titles()
    say_coverage(session, title_of, titles, recommender.items_.ids)
    who: Any = id_as_in_data(recommender.users_, user) if user is not None else _NEW_USER
    if ratings is not None:
        _fold_in(session, recommender, who, ratings, format, separator)
    else:
        check_known(recommender, user=user)
    with session.engine() as engine:
        found = recommender.recommend(who, n, exclude_seen=not rated, engine=engine)
    items = [item_row(item, title_of, rating=rating) for item, rating in found]
    _show(session, who, items, recommender.likes_)
    return {"user": who, "items": items}


def _fold_in(
    session: Session,
    recommender: Recommender,
    who: Any,
    path: str,
    format: str | None,
    separator: str | None,
) -> None:
    """Add a user's ratings from a file of item and rating (of likes: item alone)."""
    import numpy as np

    from coterie.data import Ratings
    from coterie.data.readers import read_columns

    numbers = () if recommender.likes_ else ("rating",)
    given = read_columns(
        path, ("item",), numbers, format=format, separator=separator, threads=session.threads
    )
    items = given["item"]
    values = np.ones(len(items)) if recommender.likes_ else given["rating"]
    unknown = int((recommender.items_.numbers(items) < 0).sum())
    if unknown == len(items):
        raise InputError(
            f"the model knows none of the {len(items):,} items", path=path, remedy="check the ids"
        )
    if unknown:
        session.say(f"the model does not know {unknown:,} of the {len(items):,} items")
    low, high = float(recommender.values_[0]), float(recommender.values_[-1])
    if values.min() < low or values.max() > high:
        session.say(f"ratings outside {low:g} to {high:g} are replaced by the nearest of the two")
    users = np.empty(len(items), object)
    users[:] = [who] * len(items)
    recommender.fold_in(Ratings.from_arrays(users, items, values))


def _show(session: Session, who: Any, items: list[JsonObject], likes: bool) -> None:
    from rich.table import Table
    from rich.text import Text  # plain text: a title such as "[rec]" is not markup

    session.show(Text(f"Best items for {'the' if who == _NEW_USER else 'user'} {who}:"))
    table = Table(box=None)
    table.add_column("item")
    titled = any("title" in row for row in items)
    if titled:
        table.add_column("title")
    table.add_column("P(like)" if likes else "rating", justify="right")
    for row in items:
        title = [Text(row.get("title", ""))] if titled else []
        table.add_row(Text(str(row["item"])), *title, f"{row['rating']:.2f}")
    session.show(table)

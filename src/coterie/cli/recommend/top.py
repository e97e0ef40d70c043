"""`coterie recommend top`: the best items of a user, known or new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.base.errors import InputError
from coterie.cli.input_options import FormatOption, SeparatorOption
from coterie.cli.recommend.options import ModelArgument, TitlesOption, as_given, known, load_model
from coterie.cli.session import Session, command

if TYPE_CHECKING:
    from coterie.recommend.recommender import Recommender


@command
def run(
    session: Session,
    model: ModelArgument,
    user: Annotated[str | None, typer.Option(help="Whose list.")] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="How many items.")] = 10,
    ratings: Annotated[
        str | None, typer.Option(help="item, rating of a new user, or more of a known one.")
    ] = None,
    titles: TitlesOption = None,
    rated: Annotated[bool, typer.Option("--rated", help="Rank items already rated, too.")] = False,
    format: FormatOption = None,
    separator: SeparatorOption = None,
) -> dict[str, Any]:
    """Ranked items that the user has not rated; --ratings takes a new user in."""
    from coterie.cli.recommend.titles import Titles, read_titles

    if user is None and ratings is None:
        raise InputError("whose list?", remedy="give --user U, or --ratings FILE of a new user")
    recommender = load_model(model)
    names = read_titles(titles) if titles is not None else Titles()
    who: Any = as_given(recommender.users_, user) if user is not None else "new user"
    if ratings is not None:
        _take_in(session, recommender, who, ratings, format, separator)
    else:
        known(recommender, user=user)
    engine = session.engine()
    try:
        found = recommender.recommend(who, n, exclude_seen=not rated, engine=engine)
    finally:
        engine.close()
    items = [
        {"item": item, "rating": rating, **({"title": names[item]} if names.get(item) else {})}
        for item, rating in found
    ]
    _show(session, who, items, recommender.likes_)
    return {"user": who, "items": items}


def _take_in(
    session: Session,
    recommender: Recommender,
    who: Any,
    path: str,
    format: str | None,
    separator: str | None,
) -> None:
    """Fold a user in from a file of item, rating (of likes: item alone)."""
    import numpy as np

    from coterie.data import Ratings
    from coterie.data.readers import read_columns

    numbers = () if recommender.likes_ else ("rating",)
    given = read_columns(
        path, ("item",), numbers, format=format, separator=separator, threads=session.threads
    )
    items = given["item"]
    values = np.ones(len(items)) if recommender.likes_ else given["rating"]
    strange = int((recommender.items_.numbers(items) < 0).sum())
    if strange == len(items):
        raise InputError(
            f"the model knows none of the {len(items):,} items", path=path, remedy="check the ids"
        )
    if strange:
        session.say(f"{strange:,} of {len(items):,} items are unknown to the model")
    low, high = float(recommender.values_[0]), float(recommender.values_[-1])
    if values.min() < low or values.max() > high:
        session.say(f"ratings outside {low:g}..{high:g} are taken for the nearest")
    users = np.empty(len(items), object)
    users[:] = [who] * len(items)
    recommender.fold_in(Ratings.from_arrays(users, items, values))


def _show(session: Session, who: Any, items: list[dict[str, Any]], likes: bool) -> None:
    from rich.table import Table

    table = Table(box=None, title=f"for {who}", title_justify="left")
    table.add_column("item")
    if any("title" in row for row in items):
        table.add_column("title")
    table.add_column("likely" if likes else "rating", justify="right")
    for row in items:
        title = [row.get("title", "")] if len(table.columns) == 3 else []
        table.add_row(str(row["item"]), *title, f"{row['rating']:.2f}")
    session.show(table)

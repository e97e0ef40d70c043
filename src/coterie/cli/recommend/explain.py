"""`coterie recommend explain`: why a prediction is what it is."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from coterie.cli.recommend.options import ModelArgument, TitlesOption, as_given, known, load_model
from coterie.cli.session import Session, command


@command
def run(
    session: Session,
    model: ModelArgument,
    user: Annotated[str, typer.Option(help="The user.")],
    item: Annotated[str, typer.Option(help="The item.")],
    titles: TitlesOption = None,
) -> dict[str, Any]:
    """Which groups make the prediction, with what weight; the shares add up to it."""
    from coterie.cli.recommend.titles import Titles, read_titles

    recommender = load_model(model)
    names = read_titles(titles) if titles is not None else Titles()
    known(recommender, user, item)
    why = recommender.explain(
        as_given(recommender.users_, user), as_given(recommender.items_, item)
    )
    lines = why.words(names)
    for line in lines:
        session.show(line)
    return {
        "user": why.user,
        "item": why.item,
        "rating": why.rating,
        "contributions": [part._asdict() for part in why.contributions],
        "words": lines,
    }

"""`coterie recommend similar`: items that the model holds alike."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from coterie.cli.recommend.options import ModelArgument, TitlesOption, as_given, known, load_model
from coterie.cli.session import Session, command


@command
def run(
    session: Session,
    model: ModelArgument,
    item: Annotated[str, typer.Option(help="The item.")],
    n: Annotated[int, typer.Option("-n", min=1, help="How many items.")] = 10,
    titles: TitlesOption = None,
) -> dict[str, Any]:
    """The items that groups of users see most alike."""
    from rich.table import Table

    from coterie.cli.recommend.titles import Titles, read_titles

    recommender = load_model(model)
    names = read_titles(titles) if titles is not None else Titles()
    known(recommender, item=item)
    wanted = as_given(recommender.items_, item)
    items = [
        {"item": other, "likeness": like, **({"title": names[other]} if names.get(other) else {})}
        for other, like in recommender.similar_items(wanted, n)
    ]
    table = Table(box=None, title=f"like {names.get(wanted, wanted)}", title_justify="left")
    for heading in ("item", "title", "likeness") if names else ("item", "likeness"):
        table.add_column(heading)
    for row in items:
        title = [row.get("title", "")] if names else []
        table.add_row(str(row["item"]), *title, f"{row['likeness']:.3f}")
    session.show(table)
    return {"item": wanted, "items": items}

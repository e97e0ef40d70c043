"""`coterie recommend similar`: items or users that are similar according to the model."""

from __future__ import annotations

from pathlib import Path

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.cli.recommend.options import (
    check_known,
    id_as_in_data,
    item_row,
    load_model,
    load_titles,
)
from coterie.cli.session import Session, command


@command(unused=("seed", "threads"))
def run(
    session: Session,
    model: str,
    item: str | None = None,
    user: str | None = None,
    n: int = 10,
    titles: Path | None = None,
) -> JsonObject:
    """List the items (or users) that are most similar to one.

    Items are similar if the same groups of users like them; users are similar if they have, and
    like, items that occur together. A similarity is at most 1.

    Example: coterie recommend similar films.model --item 7 -n 5
    """
    from rich.table import Table
    from rich.text import Text  # plain text: a title such as "[rec]" is not markup

    if (item is None) == (user is None):
        raise InputError("give either --item ID or --user ID")
    recommender = load_model(model)
    title_of = load_titles(session, titles, recommender.items_.ids)
    check_known(recommender, user=user, item=item)
    if user is not None:
        wanted = id_as_in_data(recommender.users_, user)
        found = recommender.similar_users(wanted, n)
        rows: list[JsonObject] = [{"user": other, "likeness": x} for other, x in found]
        session.show(Text(f"Users similar to {wanted}:"))
        table = Table("user", "similarity", box=None)
        for row in rows:
            table.add_row(Text(str(row["user"])), f"{row['likeness']:.3f}")
        session.show(table)
        return {"user": wanted, "users": rows}
    assert item is not None
    wanted = id_as_in_data(recommender.items_, item)
    items = [
        item_row(other, title_of, likeness=similarity)
        for other, similarity in recommender.similar_items(wanted, n)
    ]
    session.show(Text(f"Items similar to {title_of.get(wanted, wanted)}:"))
    table = Table(box=None)
    for name in ("item", "title", "similarity") if title_of else ("item", "similarity"):
        table.add_column(name)
    for row in items:
        title = [Text(row.get("title", ""))] if title_of else []
        table.add_row(Text(str(row["item"])), *title, f"{row['likeness']:.3f}")
    session.show(table)
    return {"item": wanted, "items": items}

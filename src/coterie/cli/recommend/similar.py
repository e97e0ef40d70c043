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


@command(unused=("seed", "threads"), answers=True)
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
    if (item is None) == (user is None):
        raise InputError("give either --item ID or --user ID")
    recommender = load_model(model)
    title_of = load_titles(session, titles, recommender.items_.ids)
    check_known(recommender, user=user, item=item)
    if user is not None:
        wanted = id_as_in_data(recommender.users_, user)
        found = recommender.similar_users(wanted, n)
        rows: list[JsonObject] = [{"user": other, "likeness": x} for other, x in found]
        columns, title_of = ["user"], {}
    else:
        assert item is not None
        wanted = id_as_in_data(recommender.items_, item)
        found = recommender.similar_items(wanted, n)
        rows = [item_row(other, title_of, likeness=x) for other, x in found]
        columns = ["item", "title"] if title_of else ["item"]
    kind = columns[0]
    session.show(f"{kind.capitalize()}s similar to {title_of.get(wanted, wanted)}:")
    shown = ((*(row.get(c, "") for c in columns), f"{row['likeness']:.3f}") for row in rows)
    session.show_table(shown, *columns, "similarity")
    session.summary = f"{len(rows):,} {kind}s similar to {wanted}"
    return {kind: wanted, f"{kind}s": rows}

"""`coterie recommend predict`: the rating of each pair, with its whole distribution."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from coterie.cli.input_options import FormatOption, SeparatorOption
from coterie.cli.recommend.options import ModelArgument, OutOption, load_model
from coterie.cli.session import Session, command


@command
def run(
    session: Session,
    model: ModelArgument,
    pairs: Annotated[str, typer.Argument(metavar="PAIRS", help="user, item; - is stdin.")],
    out: OutOption = None,
    format: FormatOption = None,
    separator: SeparatorOption = None,
) -> dict[str, Any]:
    """One row for each input row, in order: user,item,rating,p_<value>…,unseen."""
    from coterie.data.readers import read_columns
    from coterie.data.writers import write_table

    recommender = load_model(model)
    given = read_columns(
        pairs,
        ("user", "item"),
        format=format,
        separator=separator,
        threads=session.threads,
    )
    users, items = given["user"], given["item"]
    engine = session.engine()
    try:
        p = recommender.predict_proba(users, items, engine=engine)
    finally:
        engine.close()
    unseen = recommender.unseen(users, items)
    columns: dict[str, Any] = {"user": users, "item": items, "rating": p @ recommender.values_}
    columns |= {f"p_{value:.6g}": p[:, r] for r, value in enumerate(recommender.values_)}
    columns["unseen"] = unseen
    if out is not None or not session.json:
        write_table("-" if out is None else out, columns)
    if unseen.any():
        session.say(
            f"{int(unseen.sum()):,} of {len(p):,} rows have a user or item without ratings: "
            "answered from the item's, the user's or all ratings"
        )
    return {"rows": len(p), "unseen": int(unseen.sum())}

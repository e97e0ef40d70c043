"""`coterie recommend predict`: the expected rating of each pair, with its distribution."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.cli.reading import TEXT
from coterie.cli.recommend.options import load_model
from coterie.cli.session import Session, command

if TYPE_CHECKING:
    from coterie.data.foreign import TableColumns


@command(unused=("seed",), reads=TEXT)
def run(
    session: Session,
    model: str,
    pairs: str,
    out: Path | None = None,
    interval: float | None = None,
) -> JsonObject:
    """Predict the rating of each pair in a table.

    The output has one row per pair, in order: user, item, rating, p_<value> …, unseen. The column
    p_<value> is the probability of that rating. unseen is True if the user or the item has no
    ratings; such rows are predicted from the other ratings of the item, of the user, or of all.
    --interval 0.8 adds low and high, between which the rating is with a probability of 0.8, its
    standard deviation sd, and the parts of it: sd_taste (what is not known yet) and sd_noise.

    Example: coterie recommend predict films.model pairs.csv --out predictions.csv
    """
    from coterie.data.readers import read_columns
    from coterie.data.writers import write_table

    recommender = load_model(model)
    given = read_columns(
        pairs,
        ("user", "item"),
        **session.reading.given,
        threads=session.threads,
    )
    users, items = given["user"], given["item"]
    if not len(users):
        raise InputError("there are no pairs to predict", path=pairs, remedy="give at least one")
    with session.engine() as engine:
        p = recommender.predict_proba(users, items, engine=engine)
    unseen = recommender.unseen(users, items)
    columns: TableColumns = {"user": users, "item": items, "rating": p @ recommender.values_}
    columns |= {f"p_{value:.6g}": p[:, r] for r, value in enumerate(recommender.values_)}
    columns["unseen"] = unseen
    found = {}
    if interval is not None:
        intervals = recommender.predict_interval(users, items, level=interval)._asdict()
        columns |= intervals
        found = {name: intervals[name].tolist() for name in ("low", "high", "sd")}
    if out is not None or not session.json:
        write_table("-" if out is None else out, columns)
    if unseen.any():
        session.say(
            f"{int(unseen.sum()):,} of {len(p):,} rows have a user or an item without ratings; "
            "they were predicted from the other ratings of the item, of the user, or of all"
        )
    if out is not None:
        session.summary = f"{len(p):,} rows in {out}, {int(unseen.sum()):,} of them unseen"
    return {"rows": len(p), "unseen": int(unseen.sum()), **found}

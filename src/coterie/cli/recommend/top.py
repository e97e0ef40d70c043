"""`coterie recommend top`: the best items for a user, known or new, or for all users."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.cli.reading import TEXT
from coterie.cli.recommend.options import (
    check_known,
    id_as_in_data,
    item_row,
    load_model,
    load_titles,
)
from coterie.cli.session import Session, command, stopwatch

if TYPE_CHECKING:
    from coterie.recommend.recommender import Recommender
    from coterie.recommend.rules import Rules

_NEW_USER = "new user"  # the id of the user of --ratings, if --user is not given


class RankingArguments(TypedDict):
    """Keyword arguments of `Recommender.recommend` and `recommend_in_blocks`."""

    order: str
    candidates: list[Any] | None  # None: all items
    exclude: list[str] | None
    exclude_seen: bool
    rng: int
    rules: Rules | None


@command(reads=TEXT, answers=True)
def run(
    session: Session,
    model: str,
    user: str | None = None,
    users: str | None = None,
    n: int = 10,
    order: str = "both",
    out: Path | None = None,
    candidates: Path | None = None,
    exclude: Path | None = None,
    items: Path | None = None,
    where: list[str] | None = None,
    ratings: str | None = None,
    titles: Path | None = None,
    rated: bool = False,
    rules: Path | None = None,
) -> JsonObject:
    """Rank items for a user, or for all users.

    Items that the user has not rated are ranked by how probably the user will interact with them
    and like them; --order chooses another order. A score orders the items of one user; it is not a
    probability. The rating is the one that the model expects.

    Example: coterie recommend top films.model --user 42 -n 5
    """

    if users is not None:
        if user is not None or ratings is not None:
            raise InputError("--users cannot be combined with --user or --ratings")
        if out is None:
            raise InputError("--users requires a file for the lists", remedy="add --out FILE")
    elif user is None and ratings is None:
        raise InputError(
            "no user given",
            remedy="add --user ID, --ratings FILE with ratings of a new user, or --users all",
        )
    declared = _read_rules(rules, rated)  # errors come before the work
    recommender = load_model(model)
    title_of = load_titles(session, titles, recommender.items_.ids)
    choice: RankingArguments = {
        "order": order,
        "candidates": None,
        "exclude": None,
        "exclude_seen": not rated,
        "rng": session.seed,  # of the draws of --order explore
        "rules": declared,
    }
    if candidates or exclude or items or where:
        from coterie.cli.recommend.item_lists import allowed_items, items_to_exclude

        known = recommender.items_
        choice["candidates"] = allowed_items(session, candidates, items, where or [], known)
        choice["exclude"] = items_to_exclude(session, exclude, known)
    if users is not None:
        assert out is not None
        wanted = None if users == "all" else _known_users(session, recommender, users)
        return _write_lists(session, recommender, wanted, n, out, title_of, choice)
    who: Any = id_as_in_data(recommender.users_, user) if user is not None else _NEW_USER
    if ratings is not None:
        _fold_in(session, recommender, who, ratings)
    else:
        check_known(recommender, user=user)
    with session.engine() as engine:
        found = recommender.recommend(who, n, engine=engine, **choice)
    rows = [item_row(best.item, title_of, rating=best.rating, score=best.score) for best in found]
    unmet = [] if declared is None else declared.unmet([best.item for best in found])
    if out is not None:
        _write(out, [(who, found)], title_of)
    if rows:
        _show(session, who, rows, recommender.likes_, order)
    else:
        session.say(
            "no item is left to recommend: the options exclude all of them"
            if rated
            else "no item is left to recommend: those that the options allow have been rated "
            "already; --rated includes them"
        )
    for lack in unmet:
        session.say(f"no more items are left for a quota: {lack}")
    written = "" if out is None else f"; table: {out}"
    session.summary = f"{len(rows):,} items for {who}, ordered by {order}{written}"
    told = {} if declared is None else {"unmet": unmet}
    return {"user": who, "order": order, "items": rows, **told}


def _read_rules(path: Path | None, rated: bool) -> Rules | None:
    """Return the rules of a file."""
    if path is None:
        return None
    from coterie.recommend.rules import Rules

    rules = Rules.from_file(path)
    if rules.seen is not None and rated:
        raise InputError(
            f"seen = {rules.seen!r} and --rated exclude each other", path=path, remedy="use one"
        )
    return rules


def _known_users(session: Session, recommender: Recommender, path: str) -> list[Any]:
    """Return the users that a file lists, with the types that they have in the data."""
    from coterie.cli.recommend.item_lists import read_ids

    given = read_ids(Path(path), recommender.users_)
    numbers = recommender.users_.numbers(given)
    known: list[Any] = recommender.users_.ids[numbers[numbers >= 0]].tolist()
    if not known:
        raise InputError(f"the model knows none of the {len(given):,} users", path=path)
    if len(known) < len(given):
        unknown = len(given) - len(known)
        session.say(f"the model does not know {unknown:,} of the {len(given):,} users; left out")
    return known


def _write_lists(
    session: Session,
    recommender: Recommender,
    users: list[Any] | None,
    n: int,
    out: Path,
    titles: dict[Any, str],
    choice: RankingArguments,
) -> JsonObject:
    """Write the lists of many users to a file, with progress."""
    from coterie.base.progress import Progress

    total = len(recommender.users_) if users is None else len(users)
    lists: list[tuple[Any, Any]] = []
    with (
        session.engine() as engine,
        session.progress("recommend") as callback,
        stopwatch() as seconds,
    ):
        for block in recommender.recommend_in_blocks(users, n, engine=engine, **choice):
            lists += block.items()
            callback(Progress("users", len(lists), total))
        taken = seconds()
    rows = _write(out, lists, titles)
    session.show(f"{rows:,} rows for {len(lists):,} users in {out} ({taken:.1f} s)")
    told = {}
    if choice["rules"] is not None:
        check = choice["rules"].unmet
        told["unmet"] = sum(bool(check([best.item for best in found])) for _, found in lists)
        if told["unmet"]:
            session.say(f"for {told['unmet']:,} users no more items are left for a quota")
    return {
        **told,
        "users": len(lists),
        "rows": rows,
        "order": choice["order"],
        "seconds": taken,
        "out": str(out),
    }


def _write(out: Path, lists: list[tuple[Any, Any]], titles: dict[Any, str]) -> int:
    """Write one row per user and item; return the number of rows."""
    from coterie.data.writers import write_table

    columns: dict[str, list[Any]] = {
        name: [] for name in ("user", "rank", "item", "score", "rating")
    }
    for user, found in lists:
        columns["user"] += [user] * len(found)
        columns["rank"] += range(1, len(found) + 1)
        columns["item"] += [best.item for best in found]
        columns["score"] += [best.score for best in found]
        columns["rating"] += [best.rating for best in found]
    if titles:
        columns["title"] = [titles.get(item, "") for item in columns["item"]]
    write_table(out, columns)
    return len(columns["user"])


def _fold_in(
    session: Session,
    recommender: Recommender,
    who: Any,
    path: str,
) -> None:
    """Add a user's ratings from a file of item and rating (of likes: item alone)."""
    import numpy as np

    from coterie.data import Ratings
    from coterie.data.readers import read_columns

    numbers = () if recommender.likes_ else ("rating",)
    given = read_columns(path, ("item",), numbers, threads=session.threads, **session.reading.given)
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
        values = np.clip(values, low, high)
    users = np.empty(len(items), object)
    users[:] = [who] * len(items)
    recommender.fold_in(Ratings.from_arrays(users, items, values))


def _show(session: Session, who: Any, items: list[JsonObject], likes: bool, order: str) -> None:
    session.show(f"Best items for {'the' if who == _NEW_USER else 'user'} {who}:")
    rated = "P(like)" if likes else "rating"
    titled, scored = any("title" in row for row in items), order != "rating"
    rows = (
        (
            row["item"],
            *([row.get("title", "")] if titled else []),
            *([f"{row['score']:.2f}"] if scored else []),
            f"{row['rating']:.2f}",
        )
        for row in items
    )
    columns = ("item", *["title"] * titled, *["score"] * scored, rated)
    session.show_table(rows, *columns, right=("score", rated))

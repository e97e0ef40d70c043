"""What the page of the recommender shows: a user's list, and the list of the person who looks."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from coterie.app.problem import ProblemError
from coterie.app.web.routes import Form, whole_number
from coterie.app.web.state import StepResult, Workspace
from coterie.base.json_values import JsonObject

if TYPE_CHECKING:
    from coterie.recommend.recommender import Recommender

RATED_AT_ONCE = 10
_SHOWN = 10
_NAMED_USERS = 500
_YOU = "(you)"


def values(workspace: Workspace, *, user: str | None, offset: str) -> JsonObject:
    """Return what the template needs besides the result of the fit."""
    result = workspace.chosen_result("recommend")
    if result is None:
        return {}
    recommender = workspace.recommender(result)
    titles = _titles(result)
    rated = dict(workspace.own_ratings)  # another tab may change them meanwhile
    step = whole_number(offset, len(recommender.items_)) or 0
    more: JsonObject = {
        "users": [str(name) for name in recommender.users_.ids[:_NAMED_USERS].tolist()],
        "values": [f"{value:g}" for value in recommender.values_],
        "to_rate": _popular(recommender, titles, step, rated),
        "next_ten": (step + 1) * RATED_AT_ONCE < len(recommender.items_) and step + 1,
        "asked": user,
        "own_ratings": len(rated),
    }
    if user:
        number = int(recommender.users_.numbers([user])[0])
        if number < 0:
            more["unknown_user"] = True
        else:
            known = recommender.users_.ids[number : number + 1].tolist()[0]
            more["list"] = _list(recommender, known, titles, ranked=result.result["ranked"])
    if rated and result.result["ranked"]:
        own = copy.copy(recommender)
        items, values = zip(*rated.items(), strict=True)
        own.fold_in([[_YOU, item] for item in items], list(values))
        more["own_list"] = _list(own, _YOU, titles)
    return more


def take_ratings(workspace: Workspace, result: StepResult, form: Form) -> None:
    """Remember the ratings of the form; "forget" removes all."""
    if form.text("forget", "no") == "yes":
        workspace.own_ratings = {}
        return
    if not result.result["ranked"]:
        raise ProblemError(409, "the model is not finished; let it go on first")
    recommender = workspace.recommender(result)
    known = {f"{value:g}": float(value) for value in recommender.values_}
    removed = False
    for name, value in form.items():
        if not name.startswith("item-"):
            continue
        number = whole_number(name.removeprefix("item-"), len(recommender.items_) - 1)
        if number is None:
            raise ProblemError(422, "the form names an item that does not exist")
        item = recommender.items_.ids[number : number + 1].tolist()[0]
        if not value:  # “not known”, also of an item that was rated before
            removed |= workspace.own_ratings.pop(item, None) is not None
            continue
        if value not in known:
            raise ProblemError(422, f"{value[:20]} is not one of the ratings {', '.join(known)}")
        workspace.own_ratings[item] = known[value]
    if not workspace.own_ratings and not removed:
        raise ProblemError(422, "rate at least one item first")


def _titles(result: StepResult) -> Mapping[Any, str]:
    from coterie.data.titles import Titles, read_titles

    path = result.settings.get("titles")
    return Titles() if path is None else read_titles(path)


def _popular(
    recommender: Recommender, titles: Mapping[Any, str], step: int, own: Mapping[Any, float]
) -> list[tuple[int, str, str]]:
    """Return ten items that many users rated: number, name, and the visitor's own rating."""
    import numpy as np

    order = np.argsort(-recommender.table_.item_counts.sum(axis=1), kind="stable")
    chosen = order[step * RATED_AT_ONCE : (step + 1) * RATED_AT_ONCE].tolist()
    items = recommender.items_.ids[chosen].tolist()
    return [
        (i, str(titles.get(item, item)), f"{own[item]:g}" if item in own else "")
        for i, item in zip(chosen, items, strict=True)
    ]


def _list(
    recommender: Recommender, user: Any, titles: Mapping[Any, str], *, ranked: bool = True
) -> list[JsonObject]:
    """Return the best items of a user, each with an explanation."""
    rows: list[JsonObject] = []
    order = "both" if ranked else "rating"
    for item, _, rating in recommender.recommend(user, _SHOWN, order=order):
        words = recommender.explain(user, item).words(titles)[1:]
        rows.append(
            {
                "item": str(titles.get(item, item)),
                "rating": f"{rating:.2f}",
                "why": [line.partition("  ")[::2] for line in words],
            }
        )
    return rows

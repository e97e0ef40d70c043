"""What each route computes, with the recommender of the library; no HTTP here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from coterie.app.api.messages import (
    ExplainRequest,
    PredictRequest,
    Rating,
    RecommendRequest,
    SimilarRequest,
)
from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.data import Ratings
from coterie.engine import LocalEngine
from coterie.recommend.explanation import Explanation, group_labels
from coterie.recommend.recommender import Recommender


class UnknownIdError(InputError):
    """An id that the model does not know, where it has to."""


class Somebody(NamedTuple):
    """A recommender, and the id of the user whom a request is about."""

    recommender: Recommender
    user: Any


def predictions(
    recommender: Recommender, request: PredictRequest, engine: LocalEngine
) -> JsonObject:
    """Answer /predict."""
    users = [pair.user for pair in request.pairs]
    items = [pair.item for pair in request.pairs]
    p = recommender.predict_proba(users, items, engine=engine)
    ratings, unseen = p @ recommender.values_, recommender.unseen(users, items)
    rows: list[JsonObject] = [
        {"user": user, "item": item, "rating": rating, "unseen": flag}
        for user, item, rating, flag in zip(
            users, items, ratings.tolist(), unseen.tolist(), strict=True
        )
    ]
    if request.distribution:
        for row, shares in zip(rows, p.tolist(), strict=True):
            row["probabilities"] = shares
    return {"predictions": rows, "values": recommender.values_.tolist()}


def recommendations(
    recommender: Recommender, request: RecommendRequest, engine: LocalEngine
) -> JsonObject:
    """Answer /recommend."""
    who = _somebody(recommender, request.user, request.ratings)
    # Without `order`, the library decides.
    order = {} if request.order is None else {"order": request.order}
    found = who.recommender.recommend(
        who.user,
        request.n,
        candidates=request.candidates,
        exclude=request.exclude or None,
        exclude_seen=request.exclude_seen,
        engine=engine,
        **order,
    )
    named = [
        *(rating.item for rating in request.ratings or ()),
        *(request.candidates or ()),
        *request.exclude,
    ]
    return {
        "items": [{"item": item, "rating": rating} for item, _, rating in found],
        "unseen": not _has_ratings(who),
        "unknown_items": _unknown(recommender, named),
    }


def explanation(
    recommender: Recommender, request: ExplainRequest, engine: LocalEngine
) -> JsonObject:
    """Answer /explain."""
    who = _somebody(recommender, request.user, request.ratings)
    if request.user is not None and not _has_ratings(who):
        raise UnknownIdError(
            f"user {request.user!r} has no rating in this model, so there is nothing to explain",
            remedy="send the ratings of the user instead of the id",
        )
    if not _rated(recommender, request.item):
        raise UnknownIdError(
            f"item {request.item!r} has no rating in this model, so there is nothing to explain"
        )
    found: Explanation = who.recommender.explain(who.user, request.item)
    words = found.words()
    if request.ratings is not None:
        words[0] = f"Expected rating for item {request.item}: {found.rating:.2f}"
    reasons = []
    for term, examples in found.reasons:
        user_group, item_group = group_labels(term)
        reasons.append(
            {
                "share": term.share,
                "source": str(term.source),
                "user_group": user_group,
                "item_group": item_group,
                "examples": examples,
            }
        )
    return {"item": request.item, "rating": found.rating, "reasons": reasons, "words": words}


def similar(recommender: Recommender, request: SimilarRequest, engine: LocalEngine) -> JsonObject:
    """Answer /similar."""
    if not _rated(recommender, request.item):
        raise UnknownIdError(f"item {request.item!r} has no rating in this model")
    found = recommender.similar_items(request.item, request.n)
    return {
        "item": request.item,
        "items": [{"item": item, "similarity": likeness} for item, likeness in found],
    }


def _somebody(recommender: Recommender, user: Any, ratings: Sequence[Rating] | None) -> Somebody:
    """Return whom a request is about; the ratings of an unknown user are added to a copy."""
    if ratings is None:
        return Somebody(recommender, user)
    table = newcomer_ratings(
        recommender, [rating.item for rating in ratings], [rating.rating for rating in ratings]
    )
    return Somebody(recommender.only_newcomers(table), table.user_ids.tolist()[0])


def newcomer_ratings(
    recommender: Recommender, items: Sequence[Any], ratings: Sequence[float]
) -> Ratings:
    """Return the ratings of somebody whom the model does not know."""
    numbers = recommender.items_.numbers(items)
    known = recommender.items_.ids[np.maximum(numbers, 0)].tolist()
    # Ids as in the model, so that 7 and "7" are one item
    same = [own if n >= 0 else item for own, n, item in zip(known, numbers, items, strict=True)]
    return Ratings.from_arrays([_new_user_id(recommender)] * len(same), same, ratings)


def _new_user_id(recommender: Recommender) -> Any:
    """Return an id that no user of the model has."""
    ids = recommender.users_.ids
    if ids.dtype.kind in "iu":
        return int(ids.max(initial=0)) + 1
    newcomer = "you"
    while recommender.users_.numbers([newcomer])[0] >= 0:
        newcomer += "'"
    return newcomer


def _unknown(recommender: Recommender, items: Sequence[Any]) -> list[Any]:
    """Return the items that the model does not know, each once."""
    if not items:
        return []
    unique = list(dict.fromkeys(items))
    numbers = recommender.items_.numbers(unique)
    return [item for item, number in zip(unique, numbers, strict=True) if number < 0]


def _has_ratings(who: Somebody) -> bool:
    number = int(who.recommender.users_.numbers([who.user])[0])
    return number >= 0 and bool(who.recommender.table_.user_counts[number].any())


def _rated(recommender: Recommender, item: Any) -> bool:
    number = int(recommender.items_.numbers([item])[0])
    return number >= 0 and bool(recommender.table_.item_counts[number].any())

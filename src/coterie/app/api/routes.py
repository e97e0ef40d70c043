"""The routes of the API: path, request, response, and the function that answers; no HTTP here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel

from coterie.app.api import messages
from coterie.app.api.metrics import CONTENT_TYPE, Metrics
from coterie.app.api.model_file import LoadedModel, ModelFile, newcomer_ratings
from coterie.app.api.rating_log import NewRating, RatingLog
from coterie.app.problem import ProblemError
from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.base.version import __version__
from coterie.engine import LocalEngine
from coterie.recommend.explanation import Explanation, group_labels
from coterie.recommend.recommender import Recommender
from coterie.recommend.rules import Rules

_FEW_PAIRS = 20


class Answering(NamedTuple):
    """What an answer is made from."""

    model: LoadedModel
    engine: LocalEngine
    log: RatingLog | None
    metrics: Metrics
    rules: Rules | None = None


class UnknownIdError(InputError):
    """An id that the model does not know, where it has to."""


class Route(NamedTuple):
    """A route and everything that is said about it.

    One with a request is sent a JSON document with POST, the others are read with GET."""

    path: str
    answer: Callable[..., JsonObject | str]
    request: type[BaseModel] | None
    response: Any  # a model, several with |, or None: text
    further: tuple[int, ...] = ()  # statuses besides 200 and those of every request
    is_quick: Callable[[Any], bool] = lambda asked: False  # whether it takes about a millisecond
    media_type: str = "application/json"
    is_open: bool = False  # needs no token
    repeatable: bool = True  # the same request has the same answer and changes nothing

    @property
    def method(self) -> str:
        """The method of HTTP."""
        return "GET" if self.request is None else "POST"

    @property
    def statuses(self) -> tuple[int, ...]:
        """Statuses of the answers besides 200."""
        return (*self.further, *((400, 413, 415, 422) if self.request else ()))

    @property
    def summary(self) -> str:
        """What the route does: the docstring of its function."""
        return " ".join((self.answer.__doc__ or self.path).split())


ROUTES: list[Route] = []
Answer = TypeVar("Answer", bound=Callable[..., JsonObject | str])


def _route(path: str, request: Any, response: Any, **more: Any) -> Callable[[Answer], Answer]:
    """Make a function the answer of a route."""

    def decorate(answer: Answer) -> Answer:
        ROUTES.append(Route(path, answer, request, response, **more))
        return answer

    return decorate


class Somebody(NamedTuple):
    """A recommender, and the id of the user whom a request is about."""

    recommender: Recommender
    user: Any


@_route(
    "/predict",
    messages.PredictRequest,
    messages.PredictResponse,
    is_quick=lambda asked: len(asked.pairs) <= _FEW_PAIRS,
)
def predictions(context: Answering, request: messages.PredictRequest) -> JsonObject:
    """Predict the ratings of pairs of a user and an item."""
    recommender, engine = context.model.recommender, context.engine
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


@_route(
    "/recommend",
    messages.RecommendRequest,
    messages.RecommendResponse | messages.BatchResponse,
    is_quick=lambda asked: not (asked.ratings or asked.users or asked.rules),
)
def recommendations(context: Answering, request: messages.RecommendRequest) -> JsonObject:
    """Recommend items to a user, to several users, or to somebody with the given ratings."""
    recommender, engine = context.model.recommender, context.engine
    # Without `order`, the library decides.
    order: dict[str, Any] = {} if request.order is None else {"order": request.order}
    who = _somebody(recommender, request.user, request.ratings)
    users = [who.user] if request.users is None else request.users
    rules = None if request.rules is False else context.rules
    if request.rules:
        table = None if context.rules is None else context.rules.items
        rules = Rules(table, **request.rules.model_dump())
    found = who.recommender.recommend(
        users,
        request.n,
        candidates=request.candidates,
        exclude=request.exclude or None,
        exclude_seen=request.exclude_seen,
        engine=engine,
        rules=rules,
        **order,
    )
    named = [
        *(rating.item for rating in request.ratings or ()),
        *(request.candidates or ()),
        *request.exclude,
    ]
    lists: list[JsonObject] = [
        {
            "items": [{"item": item, "rating": rating} for item, _, rating in best],
            "unseen": not _has_ratings(Somebody(who.recommender, user)),
            **({} if rules is None else {"unmet": rules.unmet([one.item for one in best])}),
        }
        for user, best in zip(users, found, strict=True)
    ]
    unknown = {"unknown_items": _unknown(recommender, named)}
    if request.users is None:
        return lists[0] | unknown
    named_lists = [{"user": user, **one} for user, one in zip(users, lists, strict=True)]
    return {"lists": named_lists} | unknown


@_route("/explain", messages.ExplainRequest, messages.ExplainResponse, further=(404,))
def explanation(context: Answering, request: messages.ExplainRequest) -> JsonObject:
    """Explain an expected rating by the terms that add up to it."""
    recommender = context.model.recommender
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


@_route("/similar", messages.SimilarRequest, messages.SimilarResponse, further=(404,))
def similar(context: Answering, request: messages.SimilarRequest) -> JsonObject:
    """List the items that are most similar to an item."""
    recommender = context.model.recommender
    if not _rated(recommender, request.item):
        raise UnknownIdError(f"item {request.item!r} has no rating in this model")
    found = recommender.similar_items(request.item, request.n)
    return {
        "item": request.item,
        "items": [{"item": item, "similarity": likeness} for item, likeness in found],
    }


def _somebody(
    recommender: Recommender, user: Any, ratings: Sequence[messages.Rating] | None
) -> Somebody:
    """Return whom a request is about; further ratings are added to a copy."""
    if ratings is None:
        return Somebody(recommender, user)
    table = newcomer_ratings(
        recommender,
        [rating.item for rating in ratings],
        [rating.rating for rating in ratings],
        user,
    )
    return Somebody(recommender.only_newcomers(table), table.user_ids.tolist()[0])


@_route(
    "/ratings",
    messages.NewRatingsRequest,
    messages.NewRatingsResponse,
    further=(507,),
    repeatable=False,
)
def new_ratings(context: Answering, request: messages.NewRatingsRequest) -> JsonObject:
    """Take new ratings, which are on the disk when the request is answered.

    About a second later they are in the answers of the server.
    """
    values = context.model.recommender.values_
    rows = [NewRating(*one) for one in (row.model_dump().values() for row in request.ratings)]
    outside = [row for row in rows if not values[0] <= row.rating <= values[-1]]
    if outside:
        raise InputError(
            f"{outside[0].rating:g} is outside the ratings of this model, {values[0]:g} to "
            f"{values[-1]:g}"
        )
    if context.log is None:
        raise InputError("this server takes no ratings")
    context.log.append(rows)
    context.metrics.add("ratings_received_total", len(rows))
    return {"accepted": len(rows)}


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


@_route("/health", None, messages.HealthResponse, is_open=True)
def health(model_file: ModelFile, metrics: Metrics) -> JsonObject:
    """Return whether the server answers, and with which model."""
    current = model_file.current
    recommender = current.recommender
    return {
        "status": "ok" if model_file.problem is None else "degraded",
        "model": current.name,
        "model_hash": current.digest,
        "model_version": current.version,
        "users": len(recommender.users_),
        "items": len(recommender.items_),
        "ratings": len(recommender.table_.users),
        "ratings_applied": current.applied,
        "loaded": current.loaded.isoformat(timespec="seconds"),
        "reloads": model_file.reloads,
        "problem": model_file.problem,
        "version": __version__,
    }


@_route("/livez", None, messages.Alive, is_open=True)
def live(model_file: ModelFile, metrics: Metrics) -> JsonObject:
    """Return whether the process answers."""
    return {"status": "ok"}


@_route("/readyz", None, messages.Alive, further=(503,), is_open=True)
def ready(model_file: ModelFile, metrics: Metrics) -> JsonObject:
    """Return whether the server can take requests: 503 shortly before it ends."""
    if model_file.closing:
        raise ProblemError(503, "the server is about to end")
    return {"status": "ok"}


@_route("/metrics", None, None, media_type=CONTENT_TYPE)
def counters(model_file: ModelFile, metrics: Metrics) -> str:
    """Return counters in the text format of Prometheus."""
    return metrics.text(model_file)


def examples(recommender: Recommender) -> dict[str, JsonObject]:
    """Return a request per route, with ids that the model has."""
    user, item = recommender.users_.ids[:1].tolist(), recommender.items_.ids[:1].tolist()
    pair = {"user": user[0] if user else 1, "item": item[0] if item else 1}
    rated = {**pair, "rating": float(recommender.values_[-1])}
    return {
        "/predict": {"pairs": [pair]},
        "/recommend": {"user": pair["user"], "n": 5},
        "/explain": pair,
        "/similar": {"item": pair["item"], "n": 5},
        "/ratings": {"ratings": [rated]},
    }

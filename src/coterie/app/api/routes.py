"""The routes that compute something: path, request, response, and the function that answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import BaseModel

from coterie.app.api import answers, messages
from coterie.base.json_values import JsonObject

_FEW_PAIRS = 20


def _never(asked: BaseModel) -> bool:
    return False


def _few_pairs(asked: messages.PredictRequest) -> bool:
    return len(asked.pairs) <= _FEW_PAIRS


def _known_user(asked: messages.RecommendRequest) -> bool:
    return asked.ratings is None


class Route(NamedTuple):
    """A route that takes a JSON document with POST and returns one."""

    path: str
    summary: str
    request: type[BaseModel]
    response: type[BaseModel]
    answer: Callable[..., JsonObject]
    statuses: tuple[int, ...] = (400, 413, 415, 422)  # besides 200
    is_quick: Callable[[Any], bool] = _never  # whether a request takes about a millisecond

    @property
    def name(self) -> str:
        """The path without the slash."""
        return self.path.removeprefix("/")


ROUTES = (
    Route(
        "/predict",
        "Predict the ratings of pairs of a user and an item.",
        messages.PredictRequest,
        messages.PredictResponse,
        answers.predictions,
        is_quick=_few_pairs,
    ),
    Route(
        "/recommend",
        "Recommend items to a user of the model, or to somebody with the given ratings.",
        messages.RecommendRequest,
        messages.RecommendResponse,
        answers.recommendations,
        is_quick=_known_user,
    ),
    Route(
        "/explain",
        "Explain an expected rating by the groups of the user and the item.",
        messages.ExplainRequest,
        messages.ExplainResponse,
        answers.explanation,
        (400, 404, 413, 415, 422),
    ),
    Route(
        "/similar",
        "List the items that are most similar to an item.",
        messages.SimilarRequest,
        messages.SimilarResponse,
        answers.similar,
        (400, 404, 413, 415, 422),
    ),
)


class PlainRoute(NamedTuple):
    """A route that is read with GET."""

    path: str
    summary: str
    media_type: str
    response: type[Any] | None = None


PLAIN_ROUTES = (
    PlainRoute(
        "/health",
        "Return whether the server answers, and with which model.",
        "application/json",
        messages.HealthResponse,
    ),
    PlainRoute("/metrics", "Return counters in the text format of Prometheus.", "text/plain"),
)

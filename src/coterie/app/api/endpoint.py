"""Answer the requests of one route: checks, the cache of answers, threads and counters."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from coterie.app.api.metrics import Metrics
from coterie.app.api.model_file import LoadedModel, ModelFile
from coterie.app.api.routes import Answering, Route, UnknownIdError
from coterie.app.problem import ProblemError
from coterie.base.errors import InputError
from coterie.engine import LocalEngine
from coterie.recommend.rules import Rules

MAX_BYTES = 32 << 20  # of remembered answers
_LONGEST_REMEMBERED = 4096  # bytes of a request; long ones are rarely sent twice
_FEW_ITEMS = 5000  # up to which ranking all of them takes a millisecond
_MOST_ERRORS = 20  # wrong fields named per response


class AnswerCache:
    """The most recently used answers, up to a total size; dropped when the model changes.

    >>> cache = AnswerCache(max_bytes=100)
    >>> cache.put(1, b"question", b"answer")
    >>> cache.get(1, b"question"), cache.get(2, b"question")
    (b'answer', None)
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._model = 0
        self._size = 0
        self._answers: OrderedDict[bytes, bytes] = OrderedDict()

    def get(self, model: int, request: bytes) -> bytes | None:
        """Return the answer of a model to a request, if it is known; `model` counts the reloads."""
        with self._lock:
            if model != self._model or request not in self._answers:
                return None
            self._answers.move_to_end(request)
            return self._answers[request]

    def put(self, model: int, request: bytes, answer: bytes) -> None:
        """Remember an answer; answers of an older model than the last are not kept."""
        with self._lock:
            if model < self._model:
                return
            if model > self._model:
                self._model, self._size = model, 0
                self._answers.clear()
            if request in self._answers:
                return
            self._answers[request] = answer
            self._size += len(request) + len(answer)
            while self._size > self._max_bytes:
                old, dropped = self._answers.popitem(last=False)
                self._size -= len(old) + len(dropped)


@dataclass(frozen=True)
class Endpoint:
    """Answers the requests of one route."""

    route: Route
    model_file: ModelFile
    engine: LocalEngine
    pool: ThreadPoolExecutor
    metrics: Metrics
    cache: AnswerCache
    rules: Rules | None = None

    async def answer(self, request: Request) -> Response:
        """Answer a request: from the cache, at once if it is quick, or on a thread."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise ProblemError(415, "send a JSON document: Content-Type: application/json")
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise ProblemError(415, "send the JSON document without Content-Encoding")
        body = await request.body()
        model = self.model_file.current
        content = self.cache.get(model.number, self._key(body)) if self.route.repeatable else None
        if content is not None:
            self.metrics.add("cache_hits_total")
        else:
            loop = asyncio.get_running_loop()
            if len(body) > _LONGEST_REMEMBERED:  # reading it takes a while, too
                content = await loop.run_in_executor(self.pool, self._compute_long, model, body)
            elif self._is_quick(model, asked := self._parsed(body)):
                # A millisecond at most: passing it to a thread and back would take as long.
                content = self._compute(model, asked, body)
            else:
                content = await loop.run_in_executor(self.pool, self._compute, model, asked, body)
        return Response(content, media_type="application/json", headers={"x-model": model.version})

    def _parsed(self, body: bytes) -> BaseModel:
        assert self.route.request is not None
        try:
            return self.route.request.model_validate_json(body)
        except ValidationError as error:
            raise _invalid(error) from None

    def _compute(self, model: LoadedModel, asked: BaseModel, body: bytes) -> bytes:
        """Compute an answer, and remember it if the request is short."""
        context = Answering(model, self.engine, self.model_file.log, self.metrics, self.rules)
        try:
            answer = json.dumps(self.route.answer(context, asked)).encode()
        except UnknownIdError as error:
            raise ProblemError(404, str(error)) from None
        except InputError as error:
            raise ProblemError(422, str(error)) from None
        if len(body) <= _LONGEST_REMEMBERED and self.route.repeatable:
            self.cache.put(model.number, self._key(body), answer)
        return answer

    def _compute_long(self, model: LoadedModel, body: bytes) -> bytes:
        return self._compute(model, self._parsed(body), body)

    def _is_quick(self, model: LoadedModel, asked: BaseModel) -> bool:
        return len(model.recommender.items_) <= _FEW_ITEMS and self.route.is_quick(asked)

    def _key(self, body: bytes) -> bytes:
        """Return the name of an answer in the cache."""
        return self.route.path.encode() + b" " + body


def _invalid(error: ValidationError) -> ProblemError:
    """Return what is wrong with a request: 400 if it is not JSON, else 422."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    if any(entry["type"] == "json_invalid" for entry in found):
        return ProblemError(400, f"the body is not a JSON document: {found[0]['msg']}")
    errors = [
        {"field": field[:200] or "body", "problem": problem}
        for field, problem in dict.fromkeys(_field_and_problem(entry) for entry in found)
    ]
    named = errors[:_MOST_ERRORS]
    more = f" and {len(errors) - _MOST_ERRORS} more" if len(errors) > _MOST_ERRORS else ""
    first = errors[0]
    return ProblemError(
        422,
        f"the request is not valid: {first['field']}: {first['problem']}{more}",
        errors=named,
    )


def _field_and_problem(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return the place in the request, and what is wrong there."""
    place = [str(part) for part in entry["loc"]]
    kinds = [i for i, part in enumerate(place) if part.startswith(("constrained-", "function-"))]
    if kinds:  # one line per possible type of an id, of which the client knows nothing
        return ".".join(place[: kinds[0]]), "an id must be a whole number of 64 bits or a text"
    return ".".join(place), str(entry["msg"]).removeprefix("Value error, ").replace("`", "")

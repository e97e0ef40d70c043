"""The API as an ASGI application: routes, limits, hot reload and counters."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import time
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import PathLike
from typing import Any

from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route as WebRoute

from coterie.app.api.answer_cache import MAX_BYTES, AnswerCache
from coterie.app.api.answers import UnknownIdError
from coterie.app.api.documentation import documentation_page
from coterie.app.api.metrics import CONTENT_TYPE, Metrics
from coterie.app.api.model_file_watch import ModelFile, ReloadThread, seconds_since
from coterie.app.api.openapi import openapi_document
from coterie.app.api.routes import ROUTES, Route
from coterie.app.guard import AllowedHosts, Guard
from coterie.app.problem import ProblemError, problem_response
from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.base.version import __version__
from coterie.engine import LocalEngine

MAX_BODY = 1 << 20
_LONGEST_REMEMBERED = 4096  # bytes of a request; long ones are rarely sent twice
_FEW_ITEMS = 5000  # up to which ranking all of them takes a millisecond
_MOST_ERRORS = 20  # wrong fields named per response


def make_api(
    path: str | PathLike[str],
    *,
    hosts: AllowedHosts,
    token: str | None = None,
    threads: int | None = None,
    answer_memory: int = MAX_BYTES,
    reload_seconds: float = 1.0,
) -> Guard:
    """Load a model and return the application that answers for it.

    Parameters
    ----------
    path : str or path-like
        The model file. It is watched and loaded again when it is replaced.
    hosts : AllowedHosts
        The names under which the server may be asked.
    token : str, optional
        Required from every client, if given; /health needs none.
    threads : int, optional
        Number of requests that are computed at the same time. The default is the number of cores.
    answer_memory : int
        Bytes for answers that are remembered; 0 computes every answer.
    reload_seconds : float, default=1
        How often to look for a replaced model file.

    Returns
    -------
    Guard
        An ASGI application.
    """
    # Each request is computed on one thread; several requests run at the same time.
    engine = LocalEngine(1)
    model_file = ModelFile(path, engine)
    metrics, cache = Metrics(), AnswerCache(answer_memory)
    pool = ThreadPoolExecutor(threads or LocalEngine().threads, "request")
    document = json.dumps(openapi_document(token=token is not None)).encode()

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        # What is loaded now stays: collections need not look at it, which would take 0.1 s each.
        gc.collect()
        gc.freeze()
        watch = ReloadThread(model_file, reload_seconds)
        watch.start()
        yield
        await asyncio.to_thread(watch.stop)
        gc.unfreeze()

    async def health(request: Request) -> Response:
        return _json(_health(model_file))

    async def counters(request: Request) -> Response:
        return Response(metrics.text(model_file, cache.hits), media_type=CONTENT_TYPE)

    async def describe(request: Request) -> Response:
        return Response(document, media_type="application/json")

    async def documentation(request: Request) -> Response:
        address = str(request.base_url).rstrip("/")  # of an allowed host
        return HTMLResponse(documentation_page(model_file.current.name, address))

    async def style(request: Request) -> Response:
        from coterie.app.style import stylesheet

        return Response(stylesheet(), media_type="text/css")

    routes = [
        WebRoute(
            route.path,
            _Endpoint(route, model_file, engine, pool, metrics, cache).answer,
            methods=["POST"],
        )
        for route in ROUTES
    ]
    routes += [
        WebRoute("/health", health),
        WebRoute("/metrics", counters),
        WebRoute("/openapi.json", describe),
        WebRoute("/", documentation),
        WebRoute("/style.css", style),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={
            ProblemError: problem_response,
            HTTPException: _http_error,
            Exception: _unexpected,
        },
    )
    app.state.model_file = model_file
    return Guard(app, hosts=hosts, max_body=MAX_BODY, token=token, open_paths=("/health",))


@dataclass(frozen=True)
class _Endpoint:
    """Answers the requests of one route."""

    route: Route
    model_file: ModelFile
    engine: LocalEngine
    pool: ThreadPoolExecutor
    metrics: Metrics
    cache: AnswerCache

    async def answer(self, request: Request) -> Response:
        """Answer a request: from the cache, at once if it is quick, or on a thread."""
        start = time.perf_counter()
        status = 500
        try:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise ProblemError(415, "send a JSON document: Content-Type: application/json")
            if request.headers.get("content-encoding", "identity").lower() != "identity":
                raise ProblemError(415, "send the JSON document without Content-Encoding")
            body = await request.body()
            content = self.cache.get(self.model_file.current.number, self._key(body))
            if content is None:
                loop = asyncio.get_running_loop()
                if len(body) > _LONGEST_REMEMBERED:  # reading it takes a while, too
                    content = await loop.run_in_executor(self.pool, self._compute_long, body)
                elif self._is_quick(asked := self._parsed(body)):
                    # A millisecond at most: passing it to a thread and back would take as long.
                    content = self._compute(asked, body)
                else:
                    content = await loop.run_in_executor(self.pool, self._compute, asked, body)
            status = 200
            return Response(content, media_type="application/json")
        except ProblemError as problem:
            status = problem.status
            raise
        except ClientDisconnect:
            status = 499  # the client did not wait; nobody sees this response
            return Response(status_code=499)
        finally:
            self.metrics.record(self.route.path, status, seconds_since(start))

    def _parsed(self, body: bytes) -> BaseModel:
        try:
            return self.route.request.model_validate_json(body)
        except ValidationError as error:
            raise _invalid(error) from None

    def _compute(self, asked: BaseModel, body: bytes) -> bytes:
        """Compute an answer, and remember it if the request is short."""
        current = self.model_file.current
        try:
            found = self.route.answer(current.recommender, asked, self.engine)
            answer = json.dumps(found).encode()
        except UnknownIdError as error:
            raise ProblemError(404, str(error)) from None
        except InputError as error:
            raise ProblemError(422, str(error)) from None
        if len(body) <= _LONGEST_REMEMBERED:
            self.cache.put(current.number, self._key(body), answer)
        return answer

    def _compute_long(self, body: bytes) -> bytes:
        return self._compute(self._parsed(body), body)

    def _is_quick(self, asked: BaseModel) -> bool:
        few_items = len(self.model_file.current.recommender.items_) <= _FEW_ITEMS
        return few_items and self.route.is_quick(asked)

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


def _health(model_file: ModelFile) -> JsonObject:
    current = model_file.current
    recommender = current.recommender
    return {
        "status": "ok" if model_file.problem is None else "degraded",
        "model": current.name,
        "users": len(recommender.users_),
        "items": len(recommender.items_),
        "ratings": len(recommender.table_.users),
        "loaded": current.loaded.isoformat(timespec="seconds"),
        "reloads": model_file.reloads,
        "problem": model_file.problem,
        "version": __version__,
    }


def _json(content: JsonObject) -> Response:
    return Response(json.dumps(content), media_type="application/json")


async def _http_error(request: Request, error: Exception) -> Response:
    """Answer unknown routes and wrong methods."""
    assert isinstance(error, HTTPException)
    paths = ", ".join([route.path for route in ROUTES] + ["/health", "/metrics", "/openapi.json"])
    detail = {
        404: f"there is no such route; the routes are {paths}",
        405: f"{request.method} is not possible here; use {(error.headers or {}).get('Allow')}",
    }.get(error.status_code, error.detail)
    return ProblemError(error.status_code, detail, headers=error.headers).response()


async def _unexpected(request: Request, error: Exception) -> Response:
    """Answer what should not happen, without details of the server."""
    return ProblemError(500, "an error of the server; its log says more").response()

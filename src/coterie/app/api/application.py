"""The API as an ASGI application: routes, limits, hot reload and counters."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route as WebRoute

from coterie.app.api.documentation import documentation_page, openapi_document
from coterie.app.api.endpoint import MAX_BYTES, AnswerCache, Endpoint
from coterie.app.api.metrics import Metrics
from coterie.app.api.model_file import ModelFile, ReloadThread
from coterie.app.api.rating_log import RatingLog
from coterie.app.api.routes import ROUTES, Route
from coterie.app.guard import AllowedHosts, Finished, Guard
from coterie.app.page import static_text, stylesheet
from coterie.app.problem import ProblemError, problem_handlers
from coterie.base.json_values import JsonObject
from coterie.engine import LocalEngine
from coterie.recommend.rules import Rules

MAX_BODY = 1 << 20


def make_api(
    path: str | PathLike[str],
    *,
    hosts: AllowedHosts,
    tokens: Callable[[], Sequence[str]] | None = None,
    origins: Sequence[str] = (),
    threads: int | None = None,
    workers: int = 1,
    answer_memory: int = MAX_BYTES,
    reload_seconds: float = 0.5,
    log: RatingLog | None = None,
    rules: Rules | None = None,
    logged: Callable[[JsonObject], None] | None = None,
) -> Guard:
    """Load a model and return the application that answers for it.

    Parameters
    ----------
    path : str or path-like
        The model file. It is watched and loaded again when it is replaced.
    hosts : AllowedHosts
        The names under which the server may be asked.
    tokens : callable, optional
        Returns the tokens, one of which every client must send; /health, /livez and /readyz need
        none.
    origins : sequence of str
        Other web sites whose pages may ask.
    threads : int, optional
        Number of requests that are computed at the same time. The default is the number of cores.
    workers : int, default=1
        Number of processes that will answer, each with the application after `be_worker`.
    answer_memory : int
        Bytes for answers that are remembered; 0 computes every answer.
    reload_seconds : float, default=0.5
        How often to look for a replaced model file and for new ratings.
    log : RatingLog, optional
        The file for the ratings that clients send.
    rules : Rules, optional
        Rules for the lists of requests that have none of their own.
    logged : callable, optional
        Called with an entry of the access log after each request.

    Returns
    -------
    Guard
        An ASGI application.
    """
    # Each request is computed on one thread; several requests run at the same time.
    engine = LocalEngine(1)
    model_file = ModelFile(path, engine, log)
    metrics = Metrics([route.path for route in ROUTES], workers)
    cache = AnswerCache(answer_memory)
    pool = ThreadPoolExecutor(threads or LocalEngine().threads, "request")

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

    def answering(route: Route) -> Callable[[Request], Awaitable[Response]]:
        if route.request is not None:
            return Endpoint(route, model_file, engine, pool, metrics, cache, rules).answer

        async def read(request: Request) -> Response:
            found = route.answer(model_file, metrics)
            content = found if isinstance(found, str) else json.dumps(found)
            return Response(content, media_type=route.media_type)

        return read

    async def describe(request: Request) -> Response:
        document = openapi_document(model_file.current, token=tokens is not None)
        return Response(json.dumps(document), media_type="application/json")

    async def documentation(request: Request) -> Response:
        address = str(request.base_url).rstrip("/")  # of an allowed host
        page = documentation_page(model_file.current, address, token=tokens is not None)
        return HTMLResponse(page)

    async def style(request: Request) -> Response:
        return Response(stylesheet(), media_type="text/css")

    async def script(request: Request) -> Response:
        return Response(static_text("explorer.js"), media_type="text/javascript")

    def finished(done: Finished) -> None:
        metrics.record(done.path, done.status, done.seconds)
        metrics.add("in_flight", -1)
        if logged is not None:
            entry = done._asdict() | {"model": model_file.current.version}
            logged(entry | {"seconds": round(done.seconds, 6)})

    routes = [
        *(WebRoute(route.path, answering(route), methods=[route.method]) for route in ROUTES),
        WebRoute("/openapi.json", describe),
        WebRoute("/", documentation),
        WebRoute("/style.css", style),
        WebRoute("/explorer.js", script),
    ]
    handlers = problem_handlers(_show, "an error of the server; its log says more")
    other_sites = Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["GET", "POST"],
        allow_headers=["authorization", "content-type", "x-request-id"],
        expose_headers=["x-request-id", "x-model"],
    )
    middleware = [other_sites] if origins else []
    app = Starlette(
        routes=routes, lifespan=lifespan, exception_handlers=handlers, middleware=middleware
    )
    app.state.model_file, app.state.metrics = model_file, metrics
    open_paths = tuple(route.path for route in ROUTES if route.is_open)
    return Guard(
        app,
        hosts=hosts,
        max_body=MAX_BODY,
        tokens=tokens,
        origins=origins,
        began=lambda: metrics.add("in_flight"),
        finished=finished,
        open_paths=open_paths,
    )


def _show(request: Request, problem: ProblemError) -> Response:
    """Answer with a problem document that names the routes if the one asked for is unknown."""
    if problem.status == 404 and request.url.path not in {route.path for route in ROUTES}:
        paths = ", ".join([*(route.path for route in ROUTES), "/openapi.json"])
        problem = ProblemError(404, f"there is no such route; the routes are {paths}")
    return problem.response()

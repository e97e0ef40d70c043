"""The API as an ASGI application: routes, limits, hot reload and counters."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from os import PathLike

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route as WebRoute

from coterie.app.api.documentation import documentation_page, openapi_document
from coterie.app.api.endpoint import MAX_BYTES, AnswerCache, Endpoint
from coterie.app.api.metrics import Metrics
from coterie.app.api.model_file import ModelFile, ReloadThread
from coterie.app.api.routes import ROUTES, Route
from coterie.app.guard import AllowedHosts, Guard
from coterie.app.page import stylesheet
from coterie.app.problem import ProblemError, problem_handlers
from coterie.engine import LocalEngine

MAX_BODY = 1 << 20


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

    def answering(route: Route) -> Callable[[Request], Awaitable[Response]]:
        if route.request is not None:
            return Endpoint(route, model_file, engine, pool, metrics, cache).answer

        async def read(request: Request) -> Response:
            found = route.answer(model_file, metrics)
            content = found if isinstance(found, str) else json.dumps(found)
            return Response(content, media_type=route.media_type)

        return read

    async def describe(request: Request) -> Response:
        return Response(document, media_type="application/json")

    async def documentation(request: Request) -> Response:
        address = str(request.base_url).rstrip("/")  # of an allowed host
        return HTMLResponse(documentation_page(model_file.current.name, address))

    async def style(request: Request) -> Response:
        return Response(stylesheet(), media_type="text/css")

    routes = [
        *(WebRoute(route.path, answering(route), methods=[route.method]) for route in ROUTES),
        WebRoute("/openapi.json", describe),
        WebRoute("/", documentation),
        WebRoute("/style.css", style),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers=problem_handlers(_show, "an error of the server; its log says more"),
    )
    app.state.model_file = model_file
    open_paths = tuple(route.path for route in ROUTES if route.is_open)
    return Guard(app, hosts=hosts, max_body=MAX_BODY, token=token, open_paths=open_paths)


def _show(request: Request, problem: ProblemError) -> Response:
    """Answer with a problem document that names the routes if the one asked for is unknown."""
    if problem.status == 404 and request.url.path not in {route.path for route in ROUTES}:
        paths = ", ".join([*(route.path for route in ROUTES), "/openapi.json"])
        problem = ProblemError(404, f"there is no such route; the routes are {paths}")
    return problem.response()

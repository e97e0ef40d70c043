"""Routes that show something: pages, parts of pages, style, script and the stream of events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from importlib import resources
from typing import Any

from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from coterie.app.problem import ProblemError
from coterie.app.style import stylesheet
from coterie.app.web import recommendations
from coterie.app.web.forms import whole_number
from coterie.app.web.pages import Pages
from coterie.app.web.route_table import routes_of
from coterie.app.web.state import Workspace

_HEARTBEAT = 15.0  # seconds between two signs of life on the event stream


class PageRoutes:
    """Answer requests for pages and parts of pages."""

    def __init__(self, workspace: Workspace, pages: Pages) -> None:
        self.workspace = workspace
        self.pages = pages

    def routes(self) -> list[Route]:
        """Return the routes by path."""
        get: dict[str, Callable[..., Any]] = {
            "/": self.home,
            "/data": self.page("data"),
            "/explore": self.page("explore"),
            "/publish": self.page("publish"),
            "/recommend": self.recommend_page,
            "/explore/block/{block}": self.block,
            "/explore/search": self.search,
            "/publish/ledger": self.ledger,
            "/events": self.events,
            "/state": self.state,
            "/style.css": self.style,
            "/app.js": self.script,
        }
        return routes_of("GET", get)

    async def home(self, request: Request) -> Response:
        return RedirectResponse("/data", 303)

    def page(self, step: str) -> Callable[..., Any]:
        async def show(request: Request) -> Response:
            if step != "data" and step not in self.workspace.steps:
                return RedirectResponse("/data", 303)
            return HTMLResponse(await asyncio.to_thread(self.pages.render, step))

        return show

    async def recommend_page(self, request: Request) -> Response:
        if "recommend" not in self.workspace.steps:
            return RedirectResponse("/data", 303)
        query = request.query_params
        more = await asyncio.to_thread(
            recommendations.for_page,
            self.workspace,
            user=query.get("user"),
            offset=query.get("other", "0"),
        )
        return HTMLResponse(await asyncio.to_thread(self.pages.render, "recommend", **more))

    async def block(self, request: Request) -> Response:
        result = self.workspace.required_result("explore")
        number = whole_number(request.path_params["block"], 10**9)
        if number is None:
            raise ProblemError(404, "there is no such block")
        return HTMLResponse(await asyncio.to_thread(self.pages.block, result, number))

    async def search(self, request: Request) -> Response:
        result = self.workspace.required_result("explore")
        wanted = request.query_params.get("q", "")[:200]
        return HTMLResponse(await asyncio.to_thread(self.pages.search, result, wanted))

    async def ledger(self, request: Request) -> Response:
        dataset = request.query_params.get("q", "")[:200]
        return HTMLResponse(await asyncio.to_thread(self.pages.ledger, dataset))

    async def style(self, request: Request) -> Response:
        return Response(stylesheet(), media_type="text/css")

    async def script(self, request: Request) -> Response:
        own = resources.files("coterie.app") / "web" / "static" / "app.js"
        hover = resources.files("coterie.report") / "templates" / "hover.js"
        text = hover.read_text(encoding="utf-8") + own.read_text(encoding="utf-8")
        return Response(text, media_type="text/javascript")

    async def state(self, request: Request) -> Response:
        job = self.workspace.jobs.current
        return JSONResponse({"job": None if job is None else job.as_json()})

    async def events(self, request: Request) -> Response:
        queue = self.workspace.listen()

        async def stream() -> AsyncIterator[str]:
            try:
                yield "retry: 1000\n\n"
                yield self.workspace.hello()
                waited = 0.0
                while not self.workspace.closing:
                    try:
                        yield await asyncio.wait_for(queue.get(), 0.5)
                    except TimeoutError:
                        waited += 0.5
                        if waited >= _HEARTBEAT:
                            waited = 0.0
                            yield self.workspace.hello()
            finally:
                self.workspace.forget(queue)

        return StreamingResponse(stream(), media_type="text/event-stream")

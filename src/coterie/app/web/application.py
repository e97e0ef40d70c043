"""The web application as an ASGI application: its routes, its errors and its limits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response

from coterie.app.guard import AllowedHosts, Guard
from coterie.app.problem import ProblemError, storage_problem
from coterie.app.web.data_routes import DataRoutes
from coterie.app.web.downloads import DownloadRoutes
from coterie.app.web.job_routes import JobRoutes
from coterie.app.web.pages import Pages
from coterie.app.web.sign_in import SignIn
from coterie.app.web.state import MAX_PEOPLE, MAX_UPLOAD, Workspace

_MAX_FORM = 1 << 20
_UPLOAD_SECONDS = 1800.0


def make_app(
    *,
    hosts: AllowedHosts,
    renewed: Callable[[str], None],
    private: Path | None = None,
    demo: bool = False,
) -> tuple[Guard, SignIn, Workspace]:
    """Return the application, the part that signs browsers in, and the state.

    Parameters
    ----------
    hosts : AllowedHosts
        The names under which the application may be asked.
    renewed : callable
        Called with the next one-time token whenever one was used.
    private : pathlib.Path, optional
        Where the private files of releases go; the state folder by default.
    demo : bool, default=False
        Whether to begin with the demo network.
    """
    workspace = Workspace(private)
    pages = Pages(workspace)
    data, errors = DataRoutes(workspace), ErrorPages(pages)
    parts = (pages, data, JobRoutes(workspace), DownloadRoutes(workspace))

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        if demo:
            await data.load_demo("network")
        preparing = asyncio.create_task(workspace.jobs.prepare())
        yield
        preparing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await preparing
        await workspace.close()

    app = Starlette(
        routes=[route for part in parts for route in part.routes()],
        lifespan=lifespan,
        exception_handlers={
            ProblemError: errors.problem,
            HTTPException: errors.http_error,
            ClientDisconnect: errors.disconnected,
            OSError: errors.storage_error,
            Exception: errors.unexpected,
        },
    )
    sign_in = SignIn(app, renewed)
    guard = Guard(
        sign_in,
        hosts=hosts,
        max_body=_MAX_FORM,
        large_paths={
            "/data/upload": MAX_UPLOAD,
            "/recommend/titles": MAX_UPLOAD,
            "/publish/people": MAX_PEOPLE,
        },
        body_seconds=_UPLOAD_SECONDS,
    )
    return guard, sign_in, workspace


class ErrorPages:
    """Answer requests that fail: forms with a page, scripts with a problem document."""

    def __init__(self, pages: Pages) -> None:
        self.pages = pages

    async def problem(self, request: Request, error: Exception) -> Response:
        """Answer forms with a page, and scripts with a problem document."""
        assert isinstance(error, ProblemError)
        if "text/html" in request.headers.get("accept", ""):
            return HTMLResponse(self.pages.problem(error.detail), error.status)
        return error.response()

    async def http_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        detail = "there is no such page" if error.status_code == 404 else error.detail
        return await self.problem(request, ProblemError(error.status_code, detail))

    async def storage_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, OSError)
        return await self.problem(request, storage_problem(error))

    async def disconnected(self, request: Request, error: Exception) -> Response:
        """End a request whose client has gone before it was complete; nobody reads this."""
        return ProblemError(400, "the request was interrupted").response()

    async def unexpected(self, request: Request, error: Exception) -> Response:
        detail = "an error of the application; the terminal shows more"
        return await self.problem(request, ProblemError(500, detail))

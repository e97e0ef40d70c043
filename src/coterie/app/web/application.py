"""The web application as an ASGI application: its routes, its errors and its limits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from starlette.applications import Starlette

from coterie.app.guard import AllowedHosts, Guard
from coterie.app.problem import problem_handlers
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
    data = DataRoutes(workspace)
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
        exception_handlers=problem_handlers(
            pages.problem, "an error of the application; the terminal shows more"
        ),
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

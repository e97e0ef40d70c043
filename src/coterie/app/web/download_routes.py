"""Routes for downloads. Files are chosen from a fixed table: no path of a client is opened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from coterie.app.problem import ProblemError
from coterie.app.web.reproduction import (
    file_name,
    policy_toml,
    release_command,
    release_script,
)
from coterie.app.web.route_table import routes_of
from coterie.app.web.state import Workspace
from coterie.base.json_values import JsonObject

_FILES = {  # what can be downloaded: (step, file) -> name for the user
    ("explore", "labels.csv"): "blocks.csv",
    ("explore", "report.html"): "blocks-report.html",
    ("explore", "picture.svg"): "network.svg",
    ("release", "release.zip"): "release.zip",
    ("release", "report.html"): "release-report.html",
    ("release", "graph.csv"): "graph.csv",
    ("release", "network.sketch"): "network.sketch",
    ("recommend", "model.coterie"): "recommender.model",
    ("recommend", "recommendations.csv"): "recommendations.csv",
    ("recommend", "report.html"): "recommender-report.html",
}


class DownloadRoutes:
    """Answer with files: results, and what repeats them without the application."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def routes(self) -> list[Route]:
        """Return the routes by path."""
        get: dict[str, Callable[..., Any]] = {
            "/download/input": self.download_input,
            "/download/people": self.download_people,
            "/download/reproduce.sh": self.download_command,
            "/download/reproduce.py": self.download_script,
            "/download/policy.toml": self.download_policy,
            "/download/{step}/{file}": self.download,
        }
        return routes_of("GET", get)

    async def download(self, request: Request) -> Response:
        step, file = request.path_params["step"], request.path_params["file"]
        name = _FILES.get((step, file))
        if name is None:
            raise ProblemError(404, "there is no such file")
        path = self.workspace.required_result(step).folder / file
        if not path.exists():
            raise ProblemError(404, "this release was refused, so there is nothing to download")
        return FileResponse(path, filename=name, media_type="application/octet-stream")

    async def download_input(self, request: Request) -> Response:
        current = self.workspace.current
        if current is None or current.read is None:
            raise ProblemError(404, "there are no data")
        return FileResponse(
            current.read["path"],
            filename=_input_name(current),
            media_type="application/octet-stream",
        )

    async def download_people(self, request: Request) -> Response:
        nodes = self.workspace.required_result("release").settings.get("nodes")
        if not isinstance(nodes, str):
            raise ProblemError(404, "this release was made without a node list")
        return FileResponse(nodes, filename="nodes.txt", media_type="application/octet-stream")

    async def download_command(self, request: Request) -> Response:
        settings, name = self._release_settings()
        return _attachment(release_command(settings, name), "reproduce.sh")

    async def download_script(self, request: Request) -> Response:
        settings, name = self._release_settings()
        text = await asyncio.to_thread(release_script, settings, name)
        return _attachment(text, "reproduce.py")

    async def download_policy(self, request: Request) -> Response:
        from coterie.anonymize.policy import Policy

        settings = self.workspace.required_result("release").settings
        return _attachment(policy_toml(Policy(**settings.get("policy", {}))), "policy.toml")

    def _release_settings(self) -> tuple[JsonObject, str]:
        current = self.workspace.current
        assert current is not None
        return self.workspace.required_result("release").settings, _input_name(current)


def _input_name(current: Any) -> str:
    """Return the name of the file that the commands read: as given, or with chosen columns."""
    return "columns.csv" if current.read["chosen"] else file_name(current.name)


def _attachment(text: str, name: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, headers=headers, media_type="text/plain; charset=utf-8")

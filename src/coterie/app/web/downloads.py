"""Downloads: results, and the command and the script that repeat them without the application.

Files are chosen from a fixed table: no path of a client is opened.
"""

from __future__ import annotations

import re
from dataclasses import fields
from functools import partial
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from coterie.app.page import filled
from coterie.app.problem import ProblemError
from coterie.app.web.routes import page_route
from coterie.app.web.state import Input, Workspace
from coterie.base.json_values import JsonObject

_UNSAFE = re.compile(r"[^\w.@+=-]+")
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
        return [
            Route("/download/input", self.download_input),
            Route("/download/people", self.download_people),
            *(
                page_route(f"/download/{name}", partial(self.download_steps, name))
                for name in ("reproduce.sh", "reproduce.py", "policy.toml")
            ),
            Route("/download/{step}/{file}", self.download),
        ]

    async def download(self, request: Request) -> Response:
        step, file = request.path_params["step"], request.path_params["file"]
        name = _FILES.get((step, file))
        if name is None:
            raise ProblemError(404, "there is no such file")
        path = self.workspace.required_result(step).folder / file
        if not path.exists():
            raise ProblemError(404, "this release was refused, so there is nothing to download")
        return _file(path, name)

    async def download_input(self, request: Request) -> Response:
        current = self.workspace.current
        if current is None or current.read is None:
            raise ProblemError(404, "there are no data")
        return _file(current.read["path"], _input_name(current))

    async def download_people(self, request: Request) -> Response:
        nodes = self.workspace.required_result("release").settings.get("nodes")
        if not isinstance(nodes, str):
            raise ProblemError(404, "this release was made without a node list")
        return _file(nodes, "nodes.txt")

    def download_steps(self, name: str, request: Request) -> Response:
        release, current = self.workspace.required_result("release"), self.workspace.current
        assert current is not None
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        text = steps_of_release(name, release.settings, _input_name(current))
        return Response(text, headers=headers, media_type="text/plain; charset=utf-8")


def _input_name(current: Input) -> str:
    """Return the name of the file that the commands read: as given, or with chosen columns."""
    assert current.read is not None
    return "columns.csv" if current.read["chosen"] else file_name(current.name)


def _file(path: str | Path, name: str) -> Response:
    return FileResponse(path, filename=name, media_type="application/octet-stream")


def file_name(name: str) -> str:
    """Return a name that is safe in a folder, a header and a shell.

    >>> file_name("../my net*work.csv"), file_name("…")
    ('my-net-work.csv', 'data.csv')
    """
    plain = _UNSAFE.sub("-", name.rpartition("/")[2].encode("ascii", "ignore").decode()).strip("-.")
    return plain[:80] or "data.csv"


def steps_of_release(name: str, settings: JsonObject, source: str) -> str:
    """Return the commands, the script or the policy that make a release with these settings."""
    from coterie.anonymize.policy import Policy  # slow to import; the first page is not to wait

    policy = Policy(**settings.get("policy", {}))
    values = {"epsilon": None, **settings, "source": file_name(source)}
    if isinstance(values.get("nodes"), str):
        values["nodes"] = "nodes.txt"
    limits = [(entry.name, getattr(policy, entry.name)) for entry in fields(policy)]
    return filled(name, limits=limits, **values)

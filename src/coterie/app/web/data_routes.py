"""Routes that take data: uploads, the demo, and how a file is read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from coterie.app.problem import ProblemError, storage_problem
from coterie.app.web.forms import Form
from coterie.app.web.route_table import routes_of
from coterie.app.web.state import Workspace

_SUFFIXES = (
    ".csv", ".tsv", ".txt", ".edges", ".edgelist", ".dat", ".data", ".gz", ".csv.gz", ".txt.gz",
    ".tsv.gz", ".parquet", ".pq", ".graphml", ".gml", ".xlsx", ".net", ".mtx", ".json",
)  # fmt: skip


class DataRoutes:
    """Take files, and how they are to be read."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def routes(self) -> list[Route]:
        """Return the routes by path."""
        post: dict[str, Callable[..., Any]] = {
            "/data/upload": self.upload,
            "/data/demo": self.demo,
            "/data/settings": self.data_settings,
            "/data/choose": self.choose_data,
            "/publish/people": self.upload_people,
            "/publish/demo-people": self.take_demo_people,
            "/recommend/titles": self.upload_titles,
        }
        return routes_of("POST", post)

    async def upload(self, request: Request) -> Response:
        name = _given_name(request)
        await self._end_reading()
        path = await self._received(request, name)
        try:
            await self._end_reading()  # something may have begun during the upload
        except ProblemError:
            path.unlink(missing_ok=True)
            raise
        self.workspace.add_input(path, name)
        return JSONResponse({"next": "/data"})

    async def upload_titles(self, request: Request) -> Response:
        name = _given_name(request)
        current = self.workspace.current
        if current is None or current.found_kind != "ratings":
            raise ProblemError(409, "titles belong to ratings; give a table of ratings first")
        current.titles = await self._received(request, name)
        current.titles_name = name
        self.workspace.tell("changed")
        return JSONResponse({"next": "/recommend"})

    async def upload_people(self, request: Request) -> Response:
        name = _given_name(request)
        self.workspace.required_network()  # refuse before the file is stored
        path = await self._received(request, name)
        try:
            await self._take_people(path, name)
        except ProblemError:
            path.unlink(missing_ok=True)
            raise
        return JSONResponse({"next": "/publish"})

    async def take_demo_people(self, request: Request) -> Response:
        if not self.workspace.required_network().is_demo:
            raise ProblemError(409, "this list belongs to the demo network")
        path = self._demo_copy("demo-people.txt")
        await self._take_people(path, "demo-people.txt")
        return RedirectResponse("/publish#dp", 303)

    async def _take_people(self, path: Path, name: str) -> None:
        """Check a node list and make it that of the current network."""
        from coterie.anonymize.private.node_list import declared_ids
        from coterie.base.errors import InputError

        current = self.workspace.required_network()
        try:
            ids = await asyncio.to_thread(declared_ids, path)
        except InputError as error:
            text = str(error).replace(str(path), name).replace("`", "")
            raise ProblemError(422, text) from None
        current.people, current.people_name, current.people_count = path, name, len(ids)
        self.workspace.tell("changed")

    async def _received(self, request: Request, name: str) -> Path:
        """Write the body of a request to a file of our own name."""
        lower = name.lower()
        suffix = max((end for end in _SUFFIXES if lower.endswith(end)), key=len, default=".txt")
        path = self.workspace.new_upload(suffix)
        size = 0
        try:
            with path.open("xb") as file:
                async for piece in request.stream():
                    size += len(piece)
                    file.write(piece)
        except ClientDisconnect:
            path.unlink(missing_ok=True)
            raise ProblemError(400, "the upload was interrupted") from None
        except OSError as error:
            path.unlink(missing_ok=True)
            raise storage_problem(error) from None
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        if not size:
            path.unlink()
            raise ProblemError(422, f"{name} is empty")
        return path

    async def demo(self, request: Request) -> Response:
        form = await Form.of(request)
        await self._end_reading()
        await self.load_demo(form.choice("kind", ("network", "ratings")))
        return RedirectResponse("/data", 303)

    async def load_demo(self, kind: str) -> None:
        """Take the demo network or the demo ratings, as if they had been given as a file."""
        name = f"demo-{kind}.csv"
        for earlier in self.workspace.inputs:
            if earlier.is_demo and earlier.name == name and earlier.read is not None:
                self.workspace.choose_input(earlier.number)
                return
        self.workspace.add_input(self._demo_copy(name), name).is_demo = True

    def _demo_copy(self, name: str) -> Path:
        ready = resources.files("coterie.app") / "web" / "demo" / name
        path = self.workspace.new_upload(Path(name).suffix)
        try:
            path.write_bytes(ready.read_bytes())
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return path

    async def data_settings(self, request: Request) -> Response:
        form = await Form.of(request)
        current = self.workspace.current
        if current is None:
            raise ProblemError(409, "there are no data yet; choose a file first")
        await self._end_reading()
        current.kind = form.choice("kind", ("network", "ratings"))
        names = ("source", "target") if current.kind == "network" else ("user", "item", "rating")
        chosen = [form.number(name, -1, 999, -1) for name in names]
        current.columns = None if min(chosen) < 0 else chosen
        if current.columns and len(set(chosen)) < len(chosen):
            raise ProblemError(422, "choose a different column for each meaning")
        self.workspace.read_current()
        return RedirectResponse("/data", 303)

    async def choose_data(self, request: Request) -> Response:
        form = await Form.of(request)
        await self._end_reading()
        self.workspace.choose_input(form.number("number", 1, 10**6))
        return RedirectResponse("/data", 303)

    async def _end_reading(self) -> None:
        """Make room for other data: end a file that is being read, never other work."""
        if self.workspace.job_of("data") is not None:
            await self.workspace.jobs.cancel()
        if self.workspace.jobs.running:
            raise ProblemError(409, "something is being computed; wait for it or cancel it")


def _given_name(request: Request) -> str:
    """Return the name that the user's file has; it is shown, never opened."""
    name = unquote(request.headers.get("x-file-name", ""))
    plain = "".join(c for c in name.replace("\\", "/").rpartition("/")[2] if c.isprintable())
    return plain[:120] or "file"

"""Routes that take data: uploads, the demo, and how a file is read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import resources
from pathlib import Path
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from coterie.app.problem import ProblemError
from coterie.app.web.routes import Form, form_route, problems_of_input
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
        return [
            Route("/data/upload", self.upload, methods=["POST"]),
            form_route("/data/demo", self.demo),
            form_route("/data/settings", self.data_settings),
            form_route("/data/choose", self.choose_data),
            Route("/publish/people", self.upload_people, methods=["POST"]),
            Route("/publish/demo-people", self.take_demo_people, methods=["POST"]),
            Route("/recommend/titles", self.upload_titles, methods=["POST"]),
        ]

    async def upload(self, request: Request) -> Response:
        await self._end_reading()
        async with self._received(request) as (path, name):
            await self._end_reading()  # something may have begun during the upload
        self.workspace.add_input(path, name)
        return JSONResponse({"next": "/data"})

    async def upload_titles(self, request: Request) -> Response:
        current = self.workspace.current
        if current is None or current.found_kind != "ratings":
            raise ProblemError(409, "titles belong to ratings; give a table of ratings first")
        async with self._received(request) as (path, name):
            current.titles, current.titles_name = path, name
        self.workspace.tell("changed")
        return JSONResponse({"next": "/recommend"})

    async def upload_people(self, request: Request) -> Response:
        self.workspace.required_network()  # refuse before the file is stored
        async with self._received(request) as (path, name):
            await self._take_people(path, name)
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

        current = self.workspace.required_network()
        with problems_of_input({str(path): name}):
            ids = await asyncio.to_thread(declared_ids, path)
        current.people, current.people_name, current.people_count = path, name, len(ids)
        self.workspace.tell("changed")

    @asynccontextmanager
    async def _received(self, request: Request) -> AsyncIterator[tuple[Path, str]]:
        """Write the body of a request to a file of our own name; an error deletes the file."""
        name = _given_name(request)
        lower = name.lower()
        suffix = max((end for end in _SUFFIXES if lower.endswith(end)), key=len, default=".txt")
        path = self.workspace.new_upload(suffix)
        try:
            with path.open("xb") as file:
                async for piece in request.stream():
                    file.write(piece)
            if not path.stat().st_size:
                raise ProblemError(422, f"{name} is empty")
            yield path, name
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    async def demo(self, form: Form) -> str:
        await self._end_reading()
        await self.load_demo(form.choice("kind", ("network", "ratings")))
        return "/data"

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

    async def data_settings(self, form: Form) -> str:
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
        return "/data"

    async def choose_data(self, form: Form) -> str:
        await self._end_reading()
        self.workspace.choose_input(form.number("number", 1, 10**6))
        return "/data"

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

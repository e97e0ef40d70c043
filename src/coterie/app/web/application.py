"""The web application as an ASGI application: pages, forms, downloads and events."""

from __future__ import annotations

import asyncio
import contextlib
import errno
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from coterie.app.guard import AllowedHosts, Guard
from coterie.app.problem import ProblemError
from coterie.app.style import stylesheet
from coterie.app.web import recommendations
from coterie.app.web.forms import Form, whole_number
from coterie.app.web.pages import Pages
from coterie.app.web.privacy_loss import DEFAULT_CAP
from coterie.app.web.reproduction import (
    file_name,
    policy_toml,
    release_command,
    release_script,
)
from coterie.app.web.sign_in import SignIn
from coterie.app.web.state import MAX_PEOPLE, MAX_UPLOAD, Input, StepResult, Workspace
from coterie.base.json_values import JsonObject

_MAX_FORM = 1 << 20
_UPLOAD_SECONDS = 1800.0
_HEARTBEAT = 15.0  # seconds between two signs of life on the event stream
_SUFFIXES = (
    ".csv", ".tsv", ".txt", ".edges", ".edgelist", ".dat", ".data", ".gz", ".csv.gz", ".txt.gz",
    ".tsv.gz", ".parquet", ".pq", ".graphml", ".gml", ".xlsx", ".net", ".mtx", ".json",
)  # fmt: skip
_MODELS = ("best", "mmsbm", "hard")
_OBJECTIVES = ("degree-corrected", "simple")
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
    handlers = _Handlers(workspace, Pages(workspace))

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        if demo:
            await handlers.load_demo("network")
        preparing = asyncio.create_task(workspace.jobs.prepare())
        yield
        preparing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await preparing
        await workspace.close()

    app = Starlette(
        routes=handlers.routes(),
        lifespan=lifespan,
        exception_handlers={
            ProblemError: handlers.problem,
            HTTPException: handlers.http_error,
            ClientDisconnect: handlers.disconnected,
            OSError: handlers.storage_error,
            Exception: handlers.unexpected,
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


class _Handlers:
    """One method per route."""

    def __init__(self, workspace: Workspace, pages: Pages) -> None:
        self.workspace = workspace
        self.pages = pages

    def routes(self) -> list[Route]:
        """Return every route of the application."""
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
            "/download/input": self.download_input,
            "/download/people": self.download_people,
            "/download/reproduce.sh": self.download_command,
            "/download/reproduce.py": self.download_script,
            "/download/policy.toml": self.download_policy,
            "/download/{step}/{file}": self.download,
            "/style.css": self.style,
            "/app.js": self.script,
        }
        post: dict[str, Callable[..., Any]] = {
            "/data/upload": self.upload,
            "/data/demo": self.demo,
            "/data/settings": self.data_settings,
            "/data/choose": self.choose_data,
            "/explore/start": self.start_explore,
            "/publish/frontier": self.start_frontier,
            "/publish/point": self.choose_point,
            "/publish/release": self.start_release,
            "/publish/private": self.start_private_release,
            "/publish/people": self.upload_people,
            "/publish/demo-people": self.take_demo_people,
            "/recommend/fit": self.start_recommend,
            "/recommend/rate": self.rate,
            "/recommend/titles": self.upload_titles,
            "/result/choose": self.choose_result,
            "/job/stop": self.stop,
            "/job/cancel": self.cancel,
        }
        return [
            *(Route(path, handler, methods=["GET"]) for path, handler in get.items()),
            *(Route(path, handler, methods=["POST"]) for path, handler in post.items()),
        ]

    # --- pages -------------------------------------------------------------------------------

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
        result = self._result("explore")
        number = whole_number(request.path_params["block"], 10**9)
        if number is None:
            raise ProblemError(404, "there is no such block")
        return HTMLResponse(await asyncio.to_thread(self.pages.block, result, number))

    async def search(self, request: Request) -> Response:
        result = self._result("explore")
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

    # --- data --------------------------------------------------------------------------------

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
        self._network()  # refuse before the file is stored
        path = await self._received(request, name)
        try:
            await self._take_people(path, name)
        except ProblemError:
            path.unlink(missing_ok=True)
            raise
        return JSONResponse({"next": "/publish"})

    async def take_demo_people(self, request: Request) -> Response:
        if not self._network().is_demo:
            raise ProblemError(409, "this list belongs to the demo network")
        path = self._demo_copy("demo-people.txt")
        await self._take_people(path, "demo-people.txt")
        return RedirectResponse("/publish#dp", 303)

    async def _take_people(self, path: Path, name: str) -> None:
        """Check a node list and make it that of the current network."""
        from coterie.anonymize.private.node_list import declared_ids
        from coterie.base.errors import InputError

        current = self._network()
        try:
            ids = await asyncio.to_thread(declared_ids, path)
        except InputError as error:
            text = str(error).replace(str(path), name).replace("`", "")
            raise ProblemError(422, text) from None
        current.people, current.people_name, current.people_count = path, name, len(ids)
        self.workspace.tell("changed")

    def _network(self) -> Input:
        current = self.workspace.current
        if current is None or current.found_kind != "network":
            raise ProblemError(409, "a node list belongs to a network; give a network first")
        return current

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
            raise _storage_problem(error) from None
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

    # --- jobs --------------------------------------------------------------------------------

    async def start_explore(self, request: Request) -> Response:
        form = await Form.of(request)
        blocks = form.text("blocks", "auto")
        if blocks != "auto":
            blocks = str(form.number("blocks", 1, 5000))
        objective = form.choice("objective", _OBJECTIVES)
        self._start("explore", "explore", {"blocks": blocks, "objective": objective})
        return RedirectResponse("/explore", 303)

    async def start_frontier(self, request: Request) -> Response:
        form = await Form.of(request)
        self._start("publish", "frontier", {"policy": _policy(form)})
        return RedirectResponse("/publish", 303)

    async def choose_point(self, request: Request) -> Response:
        form = await Form.of(request)
        result = self._result("publish")
        highest = len(result.result["points"]) - 1
        self.workspace.point[result.key] = form.number("point", 0, highest)
        self.workspace.tell("changed")
        return RedirectResponse("/publish", 303)

    async def start_release(self, request: Request) -> Response:
        form = await Form.of(request)
        frontier = self._result("publish")
        highest = len(frontier.result["points"]) - 1
        point = frontier.result["points"][form.number("point", 0, highest)]
        self.workspace.point[frontier.key] = frontier.result["points"].index(point)
        settings = {
            "blocks": point["blocks"],
            "min_class_size": point["min_class_size"],
            "policy": frontier.settings["policy"],
        }
        self._start("release", "release", settings | self._publication(form))
        return RedirectResponse("/publish#release", 303)

    async def start_private_release(self, request: Request) -> Response:
        from coterie.anonymize.private.budget import parse_decimal, parse_epsilon
        from coterie.base.errors import InputError

        form = await Form.of(request)
        epsilon, cap = form.text("epsilon"), form.text("cap", DEFAULT_CAP)
        try:
            parse_epsilon(epsilon)
            parse_decimal(cap, "the maximum in total")
        except InputError as error:
            raise ProblemError(422, str(error).replace("`", "")) from None
        nodes: int | str
        if form.choice("people", ("file", "number")) == "number":
            nodes = form.number("nodes", 2, 10**8)
        elif (current := self._network()).people is not None:
            nodes = str(current.people)
        else:
            raise ProblemError(
                422, "give the node list: choose a file with one name per line, or a number"
            )
        settings = {"epsilon": epsilon, "cap": cap, "nodes": nodes}
        self._start("release", "private_release", settings | self._publication(form))
        return RedirectResponse("/publish#release", 303)

    def _publication(self, form: Form) -> JsonObject:
        """Return the name of the dataset, and the places of the folders."""
        from coterie.anonymize.ledger import check_dataset_name
        from coterie.base.errors import InputError

        dataset = form.text("dataset")
        try:
            check_dataset_name(dataset)
        except InputError as error:
            raise ProblemError(422, str(error).replace("dataset=", "the name ")) from None
        private = self.workspace.private
        number = len(self.workspace.results.get("release", {})) + 1
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        return {
            "dataset": dataset,
            "folder_name": f"app-{stamp}-{number}",
            "private": None if private is None else str(private),
        }

    async def start_recommend(self, request: Request) -> Response:
        form = await Form.of(request)
        current = self.workspace.current
        settings: JsonObject = {"model": form.choice("model", _MODELS)}
        if current is not None and current.titles is not None:
            settings["titles"] = str(current.titles)
        self._start("recommend", "recommend", settings)
        return RedirectResponse("/recommend", 303)

    async def rate(self, request: Request) -> Response:
        form = await Form.of(request)
        result = self._result("recommend")
        await asyncio.to_thread(recommendations.take_ratings, self.workspace, result, form)
        self.workspace.tell("changed")
        user = form.text("user", "")
        shown = f"?{urlencode({'user': user})}" if user else ""
        return RedirectResponse(f"/recommend{shown}#your-list", 303)

    async def choose_result(self, request: Request) -> Response:
        form = await Form.of(request)
        step = form.choice("step", ("explore", "publish", "release", "recommend"))
        self.workspace.choose(step, form.text("key"))
        return RedirectResponse("/publish" if step == "release" else f"/{step}", 303)

    async def stop(self, request: Request) -> Response:
        self.workspace.jobs.stop()
        return self._back_to_job()

    async def cancel(self, request: Request) -> Response:
        response = self._back_to_job()
        await self.workspace.jobs.cancel()
        return response

    def _back_to_job(self) -> Response:
        job = self.workspace.jobs.current
        step = "data" if job is None else job.step
        return RedirectResponse("/publish" if step == "release" else f"/{step}", 303)

    def _start(self, step: str, task: str, settings: JsonObject) -> None:
        current = self.workspace.current
        if current is None or current.read is None:
            raise ProblemError(409, "there are no data yet; choose a file first")
        common = {"path": current.read["path"], "name": current.name}
        self.workspace.start(step, task, common | settings)

    async def _end_reading(self) -> None:
        """Make room for other data: end a file that is being read, never other work."""
        if self.workspace.job_of("data") is not None:
            await self.workspace.jobs.cancel()
        if self.workspace.jobs.running:
            raise ProblemError(409, "something is being computed; wait for it or cancel it")

    # --- downloads ---------------------------------------------------------------------------

    async def download(self, request: Request) -> Response:
        step, file = request.path_params["step"], request.path_params["file"]
        name = _FILES.get((step, file))
        if name is None:
            raise ProblemError(404, "there is no such file")
        path = self._result(step).folder / file
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
        nodes = self._result("release").settings.get("nodes")
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

        settings = self._result("release").settings
        return _attachment(policy_toml(Policy(**settings.get("policy", {}))), "policy.toml")

    def _release_settings(self) -> tuple[JsonObject, str]:
        current = self.workspace.current
        assert current is not None
        return self._result("release").settings, _input_name(current)

    def _result(self, step: str) -> StepResult:
        result = self.workspace.chosen_result(step)
        if result is None:
            raise ProblemError(404, "there is no result yet")
        return result

    # --- errors ------------------------------------------------------------------------------

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
        return await self.problem(request, _storage_problem(error))

    async def disconnected(self, request: Request, error: Exception) -> Response:
        """End a request whose client has gone before it was complete; nobody reads this."""
        return ProblemError(400, "the request was interrupted").response()

    async def unexpected(self, request: Request, error: Exception) -> Response:
        detail = "an error of the application; the terminal shows more"
        return await self.problem(request, ProblemError(500, detail))


def _storage_problem(error: OSError) -> ProblemError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    text = "the disk is full" if full else f"the file cannot be stored: {error.strerror}"
    return ProblemError(507, f"{text}; free some space and try again")


def _given_name(request: Request) -> str:
    """Return the name that the user's file has; it is shown, never opened."""
    name = unquote(request.headers.get("x-file-name", ""))
    plain = "".join(c for c in name.replace("\\", "/").rpartition("/")[2] if c.isprintable())
    return plain[:120] or "file"


def _input_name(current: Any) -> str:
    """Return the name of the file that the commands read: as given, or with chosen columns."""
    return "columns.csv" if current.read["chosen"] else file_name(current.name)


def _policy(form: Form) -> JsonObject:
    """Return the limits of the form; the others have their defaults."""
    return {
        "min_class_size": form.number("min_class_size", 2, 10_000, 10),
        "releases": form.number("releases", 0, 1000, 0),
    }


def _attachment(text: str, name: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, headers=headers, media_type="text/plain; charset=utf-8")

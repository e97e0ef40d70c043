"""The pages: their routes, and how templates are filled from the state."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import AsyncIterator
from functools import partial
from importlib import resources
from itertools import islice
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

from coterie.app.page import filled, static_text, stylesheet
from coterie.app.problem import ProblemError
from coterie.app.web import recommend_page
from coterie.app.web.glossary import CHOICES, LIMIT_MEANINGS, MEASURE_WORDS
from coterie.app.web.routes import page_route, whole_number
from coterie.app.web.state import MAX_PEOPLE, MAX_UPLOAD, Workspace
from coterie.app.web.tasks.spreadsheet import as_given
from coterie.base.json_values import JsonObject

TITLES = {"data": "Data", "explore": "Explore", "publish": "Publish", "recommend": "Recommend"}
_MOST_FOUND = 50
_WORDS = {  # of every page
    "measure_words": MEASURE_WORDS,
    "limit_meanings": LIMIT_MEANINGS,
    "form_choices": CHOICES,
    "most_upload": MAX_UPLOAD,
    "most_people": MAX_PEOPLE,
}
_HEARTBEAT = 15.0  # seconds between two signs of life on the event stream


class Pages:
    """The pages of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def routes(self) -> list[Route]:
        """Return the routes of pages and parts of pages, and the stream of events."""
        return [
            page_route("/", lambda request: RedirectResponse("/data", 303)),
            *(page_route(f"/{step}", partial(self._step, step)) for step in TITLES),
            page_route("/explore/block/{block}", self._block),
            page_route("/explore/search", self._search),
            page_route("/explore/network.json", self._network),
            page_route("/publish/ledger", self._ledger),
            Route("/events", self._events),
            Route("/state", self._state),
            page_route("/style.css", lambda request: Response(stylesheet(), media_type="text/css")),
            page_route("/app.js", _script),
            page_route("/sign-in.js", lambda request: _javascript(static_text("sign_in.js"))),
        ]

    def render(self, step: str, **more: Any) -> str:
        """Return the page of a step."""
        workspace = self.workspace
        version = workspace.version  # before anything else is read
        job = workspace.jobs.current
        running = job if job is not None and job.running else None
        values: JsonObject = {
            "step": step,
            "page_version": version,
            "title": TITLES[step],
            "steps": [(name, TITLES[name]) for name in workspace.steps],
            "chosen_results": {n: workspace.chosen_result(n) for n in (*TITLES, "release")},
            "chosen_points": workspace.point,
            "input": workspace.current,
            "inputs": workspace.inputs,
            "job": running,
            "problem": workspace.problem_of(step)
            or (workspace.problem_of("release") if step == "publish" else ""),
            "result": workspace.chosen_result(step),
            "earlier": workspace.earlier_results(step),
            "private": workspace.private,
        }
        if step == "publish":
            from coterie.app.web import publish_page  # imports Numba: slow

            values |= publish_page.values(workspace, values["result"], running)
        return _filled(step, **values, **more)

    def _step(self, step: str, request: Request) -> str | Response:
        if step not in self.workspace.steps:
            return RedirectResponse("/data", 303)
        more: JsonObject = {}
        if step == "recommend":
            query = request.query_params
            user, offset = query.get("user"), query.get("other", "0")
            more = recommend_page.values(self.workspace, user=user, offset=offset)
        return self.render(step, **more)

    def _ledger(self, request: Request) -> str:
        """Return what was published from a data set, as a part of a page."""
        from coterie.app.web.publish_page import ledger_lines

        return _filled("ledger", ledger=ledger_lines(request.query_params.get("q", "")[:200]))

    def _block(self, request: Request) -> str:
        """Return the list of the nodes of a block, as a part of a page."""
        result = self.workspace.required_result("explore")
        number = whole_number(request.path_params["block"], 10**9)
        if number is None:
            raise ProblemError(404, "there is no such block")
        blocks = json.loads((result.folder / "blocks.json").read_text(encoding="utf-8"))
        found = next((block for block in blocks if block["block"] == number), None)
        return _filled("block", block=found, number=number)

    def _network(self, request: Request) -> Response:
        """Return what the interactive drawing shows."""
        path = self.workspace.required_result("explore").folder / "network.json"
        return Response(path.read_bytes(), media_type="application/json")

    def _search(self, request: Request) -> str:
        """Return the nodes whose name contains a text, as a part of a page."""
        result = self.workspace.required_result("explore")
        wanted = request.query_params.get("q", "")[:200]
        low = wanted.strip().casefold()
        found: list[tuple[str, str]] = []
        if low:
            with (result.folder / "labels.csv").open(encoding="utf-8", newline="") as file:
                rows = csv.reader(file)
                next(rows)
                named = ((as_given(text), block) for text, block in rows)
                matching = (row for row in named if low in row[0].casefold())
                found = list(islice(matching, _MOST_FOUND + 1))
        more = len(found) > _MOST_FOUND
        return _filled("found", found=found[:_MOST_FOUND], more=more, wanted=wanted)

    async def _state(self, request: Request) -> Response:
        return JSONResponse(self.workspace.summary())

    async def _events(self, request: Request) -> Response:
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

    def problem(self, request: Request, problem: ProblemError) -> Response:
        """Answer a request that failed: a form with a page, a script with a problem document."""
        if "text/html" not in request.headers.get("accept", ""):
            return problem.response()
        nothing: JsonObject = {"steps": [], "input": None, "step": "", "job": None}
        page = _filled("problem", detail=problem.detail, title="Problem", page_version=0, **nothing)
        return HTMLResponse(page, problem.status)


def _script(request: Request) -> Response:
    templates = resources.files("coterie.report") / "templates"
    drawn = [(templates / name).read_text("utf-8") for name in ("hover.js", "network.js")]
    return _javascript("".join(drawn) + static_text("app.js"))


def _javascript(text: str) -> Response:
    return Response(text, media_type="text/javascript")


def _filled(template: str, **values: Any) -> str:
    return filled(f"{template}.html", **_WORDS, **values)

"""Routes that start, stop and choose work: explore, publish, recommend."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from coterie.app.problem import ProblemError
from coterie.app.web import recommendations
from coterie.app.web.forms import Form
from coterie.app.web.privacy_loss import DEFAULT_CAP
from coterie.app.web.route_table import routes_of
from coterie.app.web.state import Workspace
from coterie.base.json_values import JsonObject

_MODELS = ("best", "mmsbm", "hard")
_OBJECTIVES = ("degree-corrected", "simple")


class JobRoutes:
    """Start and end jobs, and choose among their results."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def routes(self) -> list[Route]:
        """Return the routes by path."""
        post: dict[str, Callable[..., Any]] = {
            "/explore/start": self.start_explore,
            "/publish/frontier": self.start_frontier,
            "/publish/point": self.choose_point,
            "/publish/release": self.start_release,
            "/publish/private": self.start_private_release,
            "/recommend/fit": self.start_recommend,
            "/recommend/rate": self.rate,
            "/result/choose": self.choose_result,
            "/job/stop": self.stop,
            "/job/cancel": self.cancel,
        }
        return routes_of("POST", post)

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
        result = self.workspace.required_result("publish")
        highest = len(result.result["points"]) - 1
        self.workspace.point[result.key] = form.number("point", 0, highest)
        self.workspace.tell("changed")
        return RedirectResponse("/publish", 303)

    async def start_release(self, request: Request) -> Response:
        form = await Form.of(request)
        frontier = self.workspace.required_result("publish")
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
        elif (current := self.workspace.required_network()).people is not None:
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
        result = self.workspace.required_result("recommend")
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


def _policy(form: Form) -> JsonObject:
    """Return the limits of the form; the others have their defaults."""
    return {
        "min_class_size": form.number("min_class_size", 2, 10_000, 10),
        "releases": form.number("releases", 0, 1000, 0),
    }

"""Routes that start, stop and choose work: explore, publish, recommend."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from coterie.app.problem import ProblemError
from coterie.app.web import recommend_page
from coterie.app.web.glossary import CHOICES
from coterie.app.web.routes import Form, form_route, problems_of_input
from coterie.app.web.state import StepResult, Workspace
from coterie.base.json_values import JsonObject


class JobRoutes:
    """Start and end jobs, and choose among their results."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def routes(self) -> list[Route]:
        """Return the routes by path."""
        return [
            form_route("/explore/start", self.start_explore),
            form_route("/publish/frontier", self.start_frontier),
            form_route("/publish/point", self.choose_point),
            form_route("/publish/release", self.start_release),
            form_route("/publish/private", self.start_private_release),
            form_route("/recommend/fit", self.start_recommend),
            form_route("/recommend/rate", self.rate),
            form_route("/result/choose", self.choose_result),
            Route("/job/stop", self.stop, methods=["POST"]),
            Route("/job/cancel", self.cancel, methods=["POST"]),
        ]

    async def start_explore(self, form: Form) -> str:
        blocks = form.text("blocks", "auto")
        if blocks != "auto":
            blocks = str(form.number("blocks", 1, 5000))
        objective = form.choice("objective", CHOICES["objective"])
        self._start("explore", "explore", {"blocks": blocks, "objective": objective})
        return "/explore"

    async def start_frontier(self, form: Form) -> str:
        self._start("publish", "frontier", {"policy": _policy(form)})
        return "/publish"

    async def choose_point(self, form: Form) -> str:
        self._chosen_point(form)
        self.workspace.tell("changed")
        return "/publish"

    async def start_release(self, form: Form) -> str:
        frontier, number = self._chosen_point(form)
        point = frontier.result["points"][number]
        settings = {
            "blocks": point["blocks"],
            "min_class_size": point["min_class_size"],
            "policy": frontier.settings["policy"],
        }
        self._start("release", "release", settings | self._publication(form))
        return "/publish#release"

    def _chosen_point(self, form: Form) -> tuple[StepResult, int]:
        """Remember which setting of the frontier the form chooses."""
        frontier = self.workspace.required_result("publish")
        number = form.number("point", 0, len(frontier.result["points"]) - 1)
        self.workspace.point[frontier.key] = number
        return frontier, number

    async def start_private_release(self, form: Form) -> str:
        from coterie.anonymize.private.budget import parse_decimal, parse_epsilon
        from coterie.app.web.publish_page import DEFAULT_CAP

        epsilon, cap = form.text("epsilon"), form.text("cap", DEFAULT_CAP)
        with problems_of_input():
            parse_epsilon(epsilon)
            parse_decimal(cap, "the maximum in total")
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
        return "/publish#release"

    def _publication(self, form: Form) -> JsonObject:
        """Return the name of the dataset, and the places of the folders."""
        from coterie.anonymize.ledger import check_dataset_name

        dataset = form.text("dataset")
        with problems_of_input({"dataset=": "the name "}):
            check_dataset_name(dataset)
        private = self.workspace.private
        number = len(self.workspace.results.get("release", {})) + 1
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        return {
            "dataset": dataset,
            "folder_name": f"app-{stamp}-{number}",
            "private": None if private is None else str(private),
        }

    async def start_recommend(self, form: Form) -> str:
        current = self.workspace.current
        settings: JsonObject = {"model": form.choice("model", CHOICES["model"])}
        if current is not None and current.titles is not None:
            settings["titles"] = str(current.titles)
        self._start("recommend", "recommend", settings)
        return "/recommend"

    async def rate(self, form: Form) -> str:
        result = self.workspace.required_result("recommend")
        await asyncio.to_thread(recommend_page.take_ratings, self.workspace, result, form)
        self.workspace.tell("changed")
        user = form.text("user", "")
        shown = f"?{urlencode({'user': user})}" if user else ""
        return f"/recommend{shown}#your-list"

    async def choose_result(self, form: Form) -> str:
        step = form.choice("step", ("explore", "publish", "release", "recommend"))
        go_on = form.choice("go_on", ("no", "yes")) == "yes"
        self.workspace.choose(step, form.text("key"), go_on=go_on)
        return _page_of(step)

    async def stop(self, request: Request) -> Response:
        self.workspace.jobs.stop()
        return self._back_to_job()

    async def cancel(self, request: Request) -> Response:
        response = self._back_to_job()
        await self.workspace.jobs.cancel()
        return response

    def _back_to_job(self) -> Response:
        job = self.workspace.jobs.current
        return RedirectResponse(_page_of("data" if job is None else job.step), 303)

    def _start(self, step: str, task: str, settings: JsonObject) -> None:
        current = self.workspace.current
        if current is None or current.read is None:
            raise ProblemError(409, "there are no data yet; choose a file first")
        common = {"path": current.read["path"], "name": current.name}
        self.workspace.start(step, task, common | settings)


def _page_of(step: str) -> str:
    """Return the page that shows a step."""
    return "/publish" if step == "release" else f"/{step}"


def _policy(form: Form) -> JsonObject:
    """Return the limits of the form; the others have their defaults."""
    return {
        "min_class_size": form.number("min_class_size", 2, 10_000, 10),
        "releases": form.number("releases", 0, 1000, 0),
    }

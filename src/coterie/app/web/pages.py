"""Fill the templates of the pages from the state."""

from __future__ import annotations

import csv
import json
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from coterie.app.web.glossary import ATTACK_WORDS, GLOSSARY, LIMIT_MEANINGS, MEASURE_WORDS
from coterie.app.web.privacy_loss import (
    DEFAULT_CAP,
    DEFAULT_EPSILON,
    epsilon_table,
    ledger_lines,
)
from coterie.app.web.state import MAX_PEOPLE, MAX_UPLOAD, StepResult, Workspace
from coterie.app.web.tasks.spreadsheet import as_given
from coterie.base.json_values import JsonObject
from coterie.base.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

TITLES = {"data": "Data", "explore": "Explore", "publish": "Publish", "recommend": "Recommend"}
_MOST_FOUND = 50


class Pages:
    """The pages of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

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
            "choices": self._choices(),
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
            values |= self._publish(values["result"], running)
        return _environment().get_template(f"{step}.html.j2").render(**values, **more)

    def _publish(self, result: StepResult | None, job: Any) -> JsonObject:
        from coterie.app.web.frontier_chart import frontier_chart  # imports Numba: slow

        workspace = self.workspace
        points = [] if result is None else result.result["points"]
        recommended = None if result is None else result.result["recommended"]
        if job is not None and job.task == "frontier":
            points, recommended = job.points, None
        tried = job is not None and job.task == "frontier"
        chosen = 0 if result is None else workspace.point.get(result.key, 0)
        order = sorted(range(len(points)), key=lambda i: points[i]["communities"])
        release = workspace.chosen_result("release")
        dataset = ""
        if release is not None:
            dataset = release.settings["dataset"]
        elif workspace.current is not None:
            from coterie.anonymize.ledger import dataset_name_of

            dataset = dataset_name_of(workspace.current.name)
        has_people = workspace.current is not None and workspace.current.people is not None
        last = workspace.jobs.current
        failed = last is not None and last.task == "private_release" and last.state == "failed"
        private = release.settings if release is not None and "epsilon" in release.settings else {}
        return {
            "points": points,
            "order": order,
            "recommended": recommended,
            "chosen": min(chosen, max(len(points) - 1, 0)),
            "chart": Markup(frontier_chart(points, recommended, -1 if tried else chosen))
            if points
            else "",
            "release": release,
            "releases": workspace.earlier_results("release"),
            "dataset": dataset,
            "ledger": ledger_lines(dataset),
            "epsilons": epsilon_table(),
            "epsilon": private.get("epsilon", DEFAULT_EPSILON),
            "cap": private.get("cap", DEFAULT_CAP),
            "private_open": failed or bool(private) or has_people,
        }

    def _choices(self) -> list[tuple[str, str]]:
        """Return the choices made so far, for the top of every page."""
        workspace = self.workspace
        current = workspace.current
        if current is None:
            return []
        kind = {"network": "a network", "ratings": "ratings"}.get(current.found_kind, "not read")
        rows = [("Data", f"{current.name}, {kind}")]
        if found := workspace.chosen_result("explore"):
            asked = found.settings["blocks"]
            number = "chosen automatically" if asked == "auto" else "chosen by you"
            rows.append(("Blocks", f"{len(found.result['blocks']):,}, {number}"))
        if found := workspace.chosen_result("publish"):
            points = found.result["points"]
            point = points[min(workspace.point.get(found.key, 0), len(points) - 1)]
            rows.append(
                ("Setting", f"{point['blocks']} blocks, classes of {point['min_class_size']}")
            )
        if found := workspace.chosen_result("release"):
            verdict = "refused" if found.result["refused"] else "may be published"
            rows.append(("Release", f"{found.settings['dataset']}: {verdict}"))
        if found := workspace.chosen_result("recommend"):
            rows.append(("Model", found.settings["model"]))
        return rows

    def ledger(self, dataset: str) -> str:
        """Return what was published from a data set, as a part of a page."""
        found = ledger_lines(dataset)
        return _environment().get_template("ledger.html.j2").render(ledger=found)

    def block(self, result: StepResult, number: int) -> str:
        """Return the list of the nodes of a block, as a part of a page."""
        blocks = json.loads((result.folder / "blocks.json").read_text(encoding="utf-8"))
        found = next((block for block in blocks if block["block"] == number), None)
        return _environment().get_template("block.html.j2").render(block=found, number=number)

    def search(self, result: StepResult, wanted: str) -> str:
        """Return the nodes whose name contains a text, as a part of a page."""
        low = wanted.strip().casefold()
        found: list[tuple[str, str]] = []
        if low:
            with (result.folder / "labels.csv").open(encoding="utf-8", newline="") as file:
                rows = csv.reader(file)
                next(rows)
                for text, block in rows:
                    node = as_given(text)
                    if low in node.casefold():
                        found.append((node, block))
                        if len(found) > _MOST_FOUND:
                            break
        return (
            _environment()
            .get_template("found.html.j2")
            .render(found=found[:_MOST_FOUND], more=len(found) > _MOST_FOUND, wanted=wanted)
        )

    def problem(self, detail: str) -> str:
        """Return the page that says what is wrong with a request."""
        return (
            _environment()
            .get_template("problem.html.j2")
            .render(
                detail=detail,
                title="Problem",
                steps=[],
                choices=[],
                step="",
                job=None,
                page_version=0,
            )
        )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("coterie.app.web"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals["glossary"] = GLOSSARY
    environment.globals["measure_words"] = MEASURE_WORDS
    environment.globals["limit_meanings"] = LIMIT_MEANINGS
    environment.globals["attack_words"] = ATTACK_WORDS
    environment.globals["version"] = __version__
    environment.globals["most_upload"] = MAX_UPLOAD
    environment.globals["most_people"] = MAX_PEOPLE
    # Charts and tables of `report`, which escape every text themselves
    environment.filters["own_markup"] = Markup
    return environment

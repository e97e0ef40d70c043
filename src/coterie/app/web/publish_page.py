"""What the page "Publish" shows: the frontier of settings, epsilon, and the ledger."""

from __future__ import annotations

import math
from typing import NamedTuple

from markupsafe import Markup

from coterie.anonymize.ledger import DEFAULT_CAP as LARGEST_TOTAL
from coterie.anonymize.ledger import Ledger, dataset_name_of, exact_text
from coterie.anonymize.private.budget import SHARES
from coterie.app.web.jobs import Job
from coterie.app.web.state import StepResult, Workspace
from coterie.base.errors import CoterieError
from coterie.base.json_values import JsonObject
from coterie.report.charts.drawing import WIDTH, frame, label, tag, with_tooltip

_HEIGHT = 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, WIDTH - 16.0, 46.0, 252.0
EPSILONS = ("0.25", "0.5", "1", "2", "4")
DEFAULT_EPSILON, DEFAULT_CAP = "1", exact_text(LARGEST_TOTAL)
_KINDS = {
    "sketch": "with differential privacy",
    "release": "measured and attacked",
    "record": "published elsewhere",
    "cap": "new maximum of epsilon",
    "repair": "repair of the ledger",
}


def values(workspace: Workspace, result: StepResult | None, job: Job | None) -> JsonObject:
    """Return what the template needs besides what every page shows."""
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
        dataset = dataset_name_of(workspace.current.name)
    has_people = workspace.current is not None and workspace.current.people is not None
    last = workspace.jobs.current
    failed = last is not None and last.task == "private_release" and last.state == "failed"
    private = release.settings if release is not None and "epsilon" in release.settings else {}
    known = ledger_lines(dataset)
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
        "ledger": known,
        "epsilons": epsilon_table(),
        "epsilon": private.get("epsilon", DEFAULT_EPSILON),
        "cap": private.get("cap", known.cap),
        "private_open": failed or bool(private) or has_people,
    }


class EpsilonRow(NamedTuple):
    """What one epsilon means. It follows from epsilon alone, never from the data."""

    epsilon: str
    belief: int  # percent: what a belief of 10 % in a connection becomes at most
    edge_noise: int  # typical noise of the number of connections
    degree_noise: int  # typical noise of one person's number of connections


class LedgerLines(NamedTuple):
    """What was published from a data set, or why that is not known."""

    dataset: str
    networks: int = 0
    spent: str = "0"
    cap: str = DEFAULT_CAP
    rows: tuple[tuple[str, str, str, str], ...] = ()  # time, kind, epsilon, state
    problem: str = ""


def epsilon_table() -> list[EpsilonRow]:
    """Return the rows of the table that helps to choose epsilon.

    >>> epsilon_table()[2]
    EpsilonRow(epsilon='1', belief=24, edge_noise=50, degree_noise=20)
    """
    rows = []
    for text in EPSILONS:
        epsilon = float(text)
        odds = math.exp(epsilon) / 9  # a belief of 10 % has the odds 1 : 9
        rows.append(
            EpsilonRow(
                text,
                math.ceil(100 * odds / (1 + odds)),
                math.ceil(1 / (float(SHARES.edge_count) * epsilon)),
                math.ceil(2 / (float(SHARES.degrees) * epsilon)),  # one connection changes two
            )
        )
    return rows


def ledger_lines(dataset: str) -> LedgerLines:
    """Return what the ledger of this computer says about a data set."""
    ledger = Ledger()
    try:
        entries = ledger.entries(dataset)
        spent, networks, cap = ledger.spent(dataset), ledger.releases(dataset), ledger.cap(dataset)
    except CoterieError as error:
        return LedgerLines(dataset, problem=str(error).replace("`", ""))
    return LedgerLines(
        dataset,
        networks,
        exact_text(spent),
        exact_text(cap),
        tuple(
            (
                entry.time[:16].replace("T", " "),
                _KINDS.get(entry.kind, entry.kind),
                "" if entry.epsilon is None else exact_text(entry.epsilon),
                entry.state if entry.counted else f"{entry.state}, not counted",
            )
            for entry in entries
        ),
    )


def frontier_chart(points: list[JsonObject], recommended: int | None, chosen: int) -> str:
    """Draw one mark per setting: a disc if it may be published, a cross if it is refused."""
    risks = [_risk(point) for point in points]
    most = max([*risks, 0.02]) * 1.15

    def x(risk: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * risk / most

    def y(kept: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * kept

    parts = [label("communities kept", 0, 14, "axis")]
    parts.append(
        label("● may be published   ✕ refused   ◎ recommended", WIDTH - 16, 32, "tick", "end")
    )
    for share in (0, 0.25, 0.5, 0.75, 1):
        at = y(share)
        parts.append(tag("line", x1=_LEFT, x2=_RIGHT, y1=at, y2=at, class_="grid"))
        parts.append(label(f"{100 * share:.0f} %", _LEFT - 6, at + 4, "tick", "end"))
    parts += [
        label(f"{percent:g} %", x(percent / 100), _BOTTOM + 18, "tick", "middle")
        for percent in _ticks(100 * most)
    ]
    parts.append(
        label(
            "chance to pick the right person of the smallest class",
            _RIGHT,
            _HEIGHT - 8,
            "axis",
            "end",
        )
    )
    for i, (point, risk) in enumerate(zip(points, risks, strict=True)):
        parts.append(_mark(point, x(risk), y(point["communities"]), i == recommended, i == chosen))
    description = f"{len(points)} settings: communities kept against the chance to pick somebody."
    return frame(_HEIGHT, description, *parts, class_="frontier")


def _ticks(most: float) -> list[float]:
    """Return round numbers from 0 to at most `most`, about five.

    >>> _ticks(11.5), _ticks(0.9)
    ([0, 2, 4, 6, 8, 10], [0.0, 0.2, 0.4, 0.6, 0.8])
    """
    step = next(s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if most / s <= 6)
    return [round(step * i, 1) for i in range(int(most / step) + 1)]


def _risk(point: JsonObject) -> float:
    return 1 / point["smallest"] if point["smallest"] else 0.0


def _mark(point: JsonObject, x: float, y: float, recommended: bool, chosen: bool) -> str:
    verdict = "refused" if point["refused"] else "may be published"
    tip = (
        f"{point['blocks']} blocks, classes of at least {point['min_class_size']}\n{verdict}\n"
        f"communities kept: {100 * point['communities']:.0f} %"
    )
    marks = [tag("circle", cx=x, cy=y, r=12.0, class_="spot")]
    if chosen:
        marks.append(tag("circle", cx=x, cy=y, r=11.0, class_="chosen"))
    if recommended:
        marks.append(tag("circle", cx=x, cy=y, r=8.0, class_="recommended"))
    if point["refused"]:
        path = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
        marks.append(tag("path", d=path, class_="cross"))
    else:
        marks.append(tag("circle", cx=x, cy=y, r=4.5, class_="dot s2"))
    return with_tooltip(tip, *marks)

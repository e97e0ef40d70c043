"""What the page "Publish" shows: the frontier of settings, epsilon, and the ledger."""

from __future__ import annotations

import math
from typing import NamedTuple

from coterie.anonymize.ledger import DEFAULT_CAP as LARGEST_TOTAL
from coterie.anonymize.ledger import Ledger, dataset_name_of, exact_text
from coterie.anonymize.private.budget import SHARES
from coterie.app.web.jobs import Job
from coterie.app.web.state import StepResult, Workspace
from coterie.base.errors import CoterieError
from coterie.base.json_values import JsonObject

_HEIGHT = 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 424, 46, 252
_APART = 18  # between the middles of two marks
EPSILONS = ("0.25", "0.5", "1", "2", "4")
DEFAULT_EPSILON, DEFAULT_CAP = "1", exact_text(LARGEST_TOTAL)


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
        "unfinished": tried or (result is not None and result.unfinished),
        "chosen": min(chosen, max(len(points) - 1, 0)),
        "chart": frontier_chart(points, recommended, -1 if tried else chosen),
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
                entry.kind,
                "" if entry.epsilon is None else exact_text(entry.epsilon),
                entry.state if entry.counted else f"{entry.state}, not counted",
            )
            for entry in entries
        ),
    )


def frontier_chart(points: list[JsonObject], recommended: int | None, chosen: int) -> JsonObject:
    """Return where the chart has its marks and ticks, one mark per setting."""
    risks = [1 / point["smallest"] if point["smallest"] else 0.0 for point in points]
    most = max([*risks, 0.02]) * 1.15
    step = next(s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if 100 * most / s <= 6)
    ticks = [round(step * i, 1) for i in range(int(100 * most / step) + 1)]

    def x(risk: float) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * risk / most, 1)

    def y(kept: float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * kept, 1)

    places: list[tuple[float, float]] = []
    for point, risk in zip(points, risks, strict=True):
        place = (x(risk), y(point["communities"]))
        while any(math.dist(place, other) < _APART for other in places):
            place = (place[0] + _APART / 2, place[1])  # both can be pressed
        places.append(place)
    return {
        "marks": [
            (point, *places[i], i == recommended, i == chosen) for i, point in enumerate(points)
        ],
        "rows": [(share, y(share / 100)) for share in (0, 25, 50, 75, 100)],
        "ticks": [(f"{tick:g}", x(tick / 100)) for tick in ticks],
        "box": {"left": _LEFT, "right": _RIGHT, "bottom": _BOTTOM, "height": _HEIGHT},
    }

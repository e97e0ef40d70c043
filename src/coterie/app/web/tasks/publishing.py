"""Try settings for a release, then make the one that is published."""

from __future__ import annotations

import json
import math
import shutil
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from coterie.anonymize.anonymizer import Anonymizer
from coterie.anonymize.draw.clustering import default_n_blocks
from coterie.anonymize.figures import measured
from coterie.anonymize.ledger import exact_text
from coterie.anonymize.output.release import Release
from coterie.anonymize.output.release_folder import (
    make_private_folder,
    plan_folders,
    staged_folder,
)
from coterie.anonymize.policy import Policy
from coterie.anonymize.private.draw import draw_graphs
from coterie.anonymize.private.node_list import declared_ids, on_node_list
from coterie.anonymize.private.sketch import PrivateSketch
from coterie.anonymize.settings_search import SettingsSearch, Trial
from coterie.app.web.tasks.context import TaskContext
from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject, json_value
from coterie.base.progress import Progress
from coterie.data import Graph
from coterie.data.readers import read_graph
from coterie.report import sketch_report

_SHARES_OF_BLOCKS = (1.0, 0.5, 2.0, 0.25)
_FACTORS_OF_CLASSES = (1, 2, 4)
PUBLISH = "release"
SKETCH_NAME = "network.sketch"


def frontier(context: TaskContext) -> JsonObject:
    """Try up to a dozen settings; a stop keeps those that are finished.

    The trials are never written and never leave this process as graphs, so they are not counted
    in the ledger.
    """
    graph = read_graph(context.settings["path"])
    policy = policy_of(context.settings)
    settings = _settings_to_try(graph, policy)
    if not settings:
        raise InputError(
            f"a network of {graph.n_nodes:,} people with {graph.n_edges:,} connections is too "
            f"small to publish: classes of {policy.min_class_size} people need at least "
            f"{2 * policy.min_class_size}",
            remedy="publish figures instead of the network, or use a larger network",
        )
    kept = context.kept("points.json")
    points: list[JsonObject] = json.loads(kept.read_text("utf-8")) if kept.exists() else []
    context.require_result(bool(points))

    def attempt(setting: tuple[int, int]) -> Trial:
        blocks, class_size = setting
        name, done = f"{blocks} blocks, classes of {class_size}", len(points)
        context.stage(name, done, len(settings))

        def report(progress: Progress) -> None:
            context.progress(Progress(name, done, len(settings), note=progress.stage))
            if context.stop_requested and points:
                raise KeyboardInterrupt

        release = Anonymizer(
            blocks, min_class_size=class_size, policy=replace(policy, releases=0), rng=0
        ).release(graph, callback=report, suggest=False)
        point = json_value({"blocks": blocks, "min_class_size": class_size, **_outcome(release)})
        points.append(point)
        kept.write_text(json.dumps(points), encoding="utf-8")
        context.send({"event": "point", "point": point})
        return _trial(point)

    search = SettingsSearch(attempt)
    for point in points:  # tried before a stop
        search.trials[point["blocks"], point["min_class_size"]] = _trial(point)
        context.send({"event": "point", "point": point})
    # A stop was requested if this is interrupted; there is at least one point.
    with suppress(KeyboardInterrupt), context.search():
        search.run(settings, enough=lambda _: context.stop_requested)
    return {
        "points": points,
        "recommended": None if search.best is None else settings.index(search.best),
        "of": len(settings),
        "unfinished": len(points) < len(settings),
    }


def _trial(point: JsonObject) -> Trial:
    return Trial(point["refused"], len(point["not_kept"]), point["communities"])


def policy_of(settings: JsonObject) -> Policy:
    """Return the policy that the form describes."""
    return Policy(**settings.get("policy", {}))


def _settings_to_try(graph: Graph, policy: Policy) -> list[tuple[int, int]]:
    """Return pairs (blocks, smallest class), the usual ones first."""
    least = max(policy.min_class_size, 1)
    if not graph.n_edges or graph.n_nodes < 2 * least:
        return []
    usual = default_n_blocks(graph)
    found: list[tuple[int, int]] = []
    for factor in _FACTORS_OF_CLASSES:
        for share in _SHARES_OF_BLOCKS:
            class_size = factor * least
            blocks = max(1, min(round(share * usual), graph.n_nodes // (2 * class_size)))
            if graph.n_nodes >= 2 * class_size and (blocks, class_size) not in found:
                found.append((blocks, class_size))
    return found


def _outcome(release: Release) -> JsonObject:
    """Return what the page shows about a release or a trial."""
    utility, risk = release.utility, release.risk
    attacks = [] if risk is None else risk.attacks.comparisons()
    rows: list[JsonObject] = [
        {
            "name": attack.label,
            "found": attack.found,
            "luck": round(attack.expected or 0.0, 1),
            "naive": attack.naive,
            "thinned": attack.deleted_10,
        }
        for attack in attacks
    ]
    shown: JsonObject = {
        "refused": release.refused,
        "reasons": release.reasons,
        "limits": release.decision.limits,
        "smallest": 0 if risk is None else risk.class_size.smallest,
        "worst": max(rows, key=lambda row: row["found"] - row["luck"], default=None),
        "attacks": rows,
    }
    if utility is None:
        return shown | {"communities": 0.0, "not_kept": ["nothing could be drawn"], "measures": []}
    return shown | {
        "communities": min(1.0, max(0.0, utility.communities.foreign_share)),
        "not_kept": utility.not_kept,
        "measures": [
            (figure.label, figure.percent, before, after)
            for figure, before, after in measured(utility.original, utility.published)
        ],
    }


def release(context: TaskContext) -> JsonObject:
    """Make the release, write its folder, and keep the private files where only the owner looks."""
    settings = context.settings
    graph = read_graph(context.settings["path"])
    made = Anonymizer(
        int(settings["blocks"]),
        min_class_size=int(settings["min_class_size"]),
        policy=policy_of(settings),
        dataset=settings["dataset"],
        rng=0,
    ).release(graph, callback=context.progress)
    result: JsonObject = {"kind": "measured", **_outcome(made), "suggestions": made.suggestions}
    if made.refused:
        return result
    context.stage("writing")
    folder = context.folder / settings["folder_name"]
    private = _private_folder(settings)
    made.write(folder, private=private, inputs=[settings["path"]])
    result["private"] = str(private or made.private_folder(folder))
    _pack(folder, context.folder)
    return result


def private_release(context: TaskContext) -> JsonObject:
    """Make a sketch with differential privacy, draw from it, and write the folder to publish."""
    settings = context.settings
    graph = read_graph(context.settings["path"])
    nodes: int | str = settings["nodes"]
    ids = declared_ids(nodes if isinstance(nodes, int) else Path(nodes))
    original = on_node_list(graph, ids)
    folder = context.folder / settings["folder_name"]
    folders = plan_folders(
        folder, _private_folder(settings), dataset=settings["dataset"], inputs=[settings["path"]]
    )
    is_new = not folders.private.exists()
    make_private_folder(folders.private)
    kept = folders.private / SKETCH_NAME
    sketch = PrivateSketch(
        epsilon=settings["epsilon"], dataset=settings["dataset"], cap=settings["cap"]
    )
    try:
        sketch.fit(original, nodes=ids, path=kept, callback=context.progress)
    except BaseException:
        if is_new:
            shutil.rmtree(folders.private, ignore_errors=True)
        raise
    graphs = draw_graphs(sketch.answers_, 1, rng=0, callback=context.progress)
    context.stage("writing")
    page = sketch_report.render(sketch.answers_, graphs)
    with staged_folder(folders, graphs, page, more={SKETCH_NAME: kept.read_bytes()}) as publish:
        publish()
    _pack(folder, context.folder)
    for name in ("graph.csv", SKETCH_NAME):
        shutil.copy(folder / name, context.folder / name)
    return {
        "kind": "private",
        "factor": f"{math.exp(float(sketch.answers_.exact_epsilon)):.3g}",
        "refused": False,
        "epsilon": settings["epsilon"],
        "spent": exact_text(sketch.spent_),
        "cap": settings["cap"],
        "edges": graphs[0].n_edges,
        "nodes": graphs[0].n_nodes,
        "private": str(folders.private),
        "limits": [],
        "attacks": [],
        "measures": [],
    }


def _private_folder(settings: JsonObject) -> Path | None:
    """Return where private files go; None for the usual place in the state folder."""
    place = settings.get("private")
    return None if place is None else Path(place) / settings["folder_name"]


def _pack(folder: Path, into: Path) -> None:
    """Make the archive and the report that can be downloaded, from the folder to publish alone."""
    with zipfile.ZipFile(into / "release.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, f"{PUBLISH}/{file.name}")
    shutil.copy(folder / "report.html", into / "report.html")

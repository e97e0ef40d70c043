"""What would pass: other parameters, tried before they are named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coterie.anonymize.draw.clustering import default_blocks
from coterie.anonymize.policy import Policy
from coterie.base.progress import Callback, Progress
from coterie.data import Graph
from coterie.engine import Engine

if TYPE_CHECKING:
    from coterie.anonymize.anonymizer import Anonymizer
    from coterie.anonymize.output.release import Release

_MOST_TRIALS = 3
_OPTIONS = {
    "n_blocks": "--blocks",
    "min_class_size": "--min-class-size",
    "max_edge_probability": "--max-edge-probability",
}


def advise(
    refused: Anonymizer, graph: Graph, release: Release, engine: Engine, callback: Callback
) -> list[str]:
    """Sentences like "--blocks 40 would pass": each was tried by a whole release that passed."""
    tried: list[str] = []
    inference_failed = any(reason.startswith("A3") for reason in release.reasons)
    for changes in candidates(refused, graph)[:_MOST_TRIALS]:
        shown = " ".join(f"{_OPTIONS[key]} {value:g}" for key, value in changes.items())
        callback(Progress("looking for what would pass", len(tried), note=shown))
        parameters = {**refused.get_params(), **changes, "infer_edges": inference_failed}
        trial = type(refused)(**parameters)
        if not trial.release(graph, engine=engine, look_for_advice=False).refused:
            return [f"{shown} would pass (tried)"]
        tried.append(shown)
    if not tried:
        return []
    return [f"tried without success: {'; '.join(tried)}"]


def candidates(refused: Anonymizer, graph: Graph) -> list[dict[str, Any]]:
    """Changes worth a trial, the mildest first; none for a graph that cannot hide anybody."""
    policy = refused.policy or Policy()
    least = max(refused.min_class_size, policy.min_class_size)
    if graph.n_nodes < 2 * least or not graph.n_edges:
        return []
    k = refused.n_blocks if refused.n_blocks is not None else default_blocks(graph)
    room = graph.n_nodes // (2 * least)
    needed: dict[str, Any] = {}
    if least > refused.min_class_size:
        needed["min_class_size"] = least
    if refused.max_edge_probability > policy.edge_probability:
        needed["max_edge_probability"] = round(0.95 * policy.edge_probability, 3)
    fewer = (min(k - 1, room), min(k // 2, room // 2), min(k // 8, room // 4))
    changes = [{**needed, "n_blocks": b} for b in dict.fromkeys(fewer) if b > 0]
    return [needed, *changes] if needed and k <= room else changes

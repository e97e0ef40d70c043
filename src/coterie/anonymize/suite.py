"""All attacks on one published graph, beside the two controls that say whether they have power."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie.anonymize.attacks import (
    SEED_COUNTS,
    Matching,
    choose_seeds,
    degree_attack,
    deleted_copy,
    naive_copy,
    seeded_attack,
    vertex_refinement,
)
from coterie.base.progress import Callback, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.engine import Engine, LocalEngine
from coterie.graph import Graph


class Target(NamedTuple):
    """A published graph under attack, and who is who in it."""

    graph: Graph
    truth: np.ndarray  # int32[n]: original node -> published node


def attack(
    original: Graph,
    target: Target,
    engine: Engine | None = None,
    *,
    rng: RandomState = 0,
    callback: Callback = silent,
) -> dict[str, Any]:
    """The figures of `coterie attack`: the target's, and the same for each control."""
    figures, _ = attack_all(original, {"target": target}, engine, rng=rng, callback=callback)
    result: dict[str, Any] = figures.pop("target")
    result["controls"] = figures
    return result


def attack_all(
    original: Graph,
    targets: dict[str, Target],
    engine: Engine | None = None,
    *,
    rng: RandomState = 0,
    callback: Callback = silent,
) -> tuple[dict[str, Any], dict[str, list[Matching]]]:
    """Every attack on every target and on both controls, with the same seeds for all.

    Gives the figures by target, and what the seeded attacks claimed.
    """
    random = as_generator(rng)
    everything = {
        **targets,
        "naive": Target(*naive_copy(original, random)),
        "deleted_10": Target(*deleted_copy(original, random)),
    }
    seed_sets = [choose_seeds(original, k, random) for k in usable_seeds(original)]
    orders = random.integers(2**63, size=len(seed_sets))
    jobs = [(name, i) for i in reversed(range(len(seed_sets))) for name in everything]
    done: list[tuple[str, int]] = []

    def seeded(job: tuple[str, int]) -> Matching:
        name, i = job
        graph, truth = everything[name]
        found = seeded_attack(original, graph, truth, seed_sets[i], as_generator(int(orders[i])))
        done.append(job)
        callback(Progress("attacking", len(done), len(jobs), note=name))
        return found

    engine = engine or LocalEngine(1)
    found = dict(zip(jobs, engine.map(seeded, jobs), strict=True))
    claims = {name: [found[name, i] for i in range(len(seed_sets))] for name in everything}
    figures = {
        name: {
            "seeded": [claim.figures(target.truth) for claim in claims[name]],
            "vertex_refinement": {
                f"H{depth}": vertex_refinement(original, target.graph, target.truth, depth)
                for depth in (1, 2)
            },
            "degree": degree_attack(original, target.graph, target.truth, random),
        }
        for name, target in everything.items()
    }
    return figures, claims


def usable_seeds(graph: Graph) -> list[int]:
    """10, 50 and 200 seeds, as far as they are a fifth of the people at most; at least one number.

    >>> usable_seeds(Graph.from_edges([0], [1], n_nodes=300))
    [10, 50]
    """
    fitting = [k for k in SEED_COUNTS if 5 * k <= graph.n_nodes]
    return fitting or [max(1, graph.n_nodes // 5)]

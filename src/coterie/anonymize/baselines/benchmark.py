"""Our release and other techniques, on one table of utility and risk."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.random import Generator

from coterie.anonymize.baselines.configuration import configuration
from coterie.anonymize.baselines.generalization import generalize
from coterie.anonymize.baselines.k_degree import k_degree
from coterie.anonymize.baselines.perturbation import delete_edges, naive, replace_edges
from coterie.anonymize.draw.clustering import blocks_for, default_blocks
from coterie.anonymize.draw.models import MODELS, build_model
from coterie.anonymize.risk.attack_suite import Target, attack_all
from coterie.anonymize.risk.attacks import relabel
from coterie.anonymize.risk.averaging import averaging_attack
from coterie.anonymize.utility.measures import Measures, degree_ks, measure
from coterie.base.progress import Callback, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.data import Graph
from coterie.engine import Engine, running_engine

Technique = Callable[[Graph, Generator], Graph]

TECHNIQUES: dict[str, Technique] = {
    "naive copy": naive,
    "10 % of edges deleted": delete_edges,
    "10 % of edges replaced": replace_edges,
    "configuration model": configuration,
    "k-degree anonymity (k = 10)": partial(k_degree, k=10),
    "generalization (clusters of 10)": partial(generalize, k=10),
}
_FIGURES = (
    "edges",
    "global_clustering",
    "average_local_clustering",
    "average_path_length",
    "degree_max",
    "assortativity",
    "isolates",
    "largest_component",
)


def benchmark(
    graph: Graph,
    n_blocks: int | None = None,
    *,
    min_class_size: int = 10,
    max_edge_probability: float = 0.85,
    engine: str | Engine = "local",
    rng: RandomState = 0,
    callback: Callback = silent,
) -> list[dict[str, Any]]:
    """One row a technique: how alike its graph is, and whom the attacks find in it."""
    random = as_generator(rng)
    with running_engine(engine) as running:
        before = measure(graph, running, eigenvalues=0)
        labels = cache(
            lambda degree_corrected: blocks_for(
                graph,
                n_blocks or default_blocks(graph),
                degree_corrected=degree_corrected,
                min_block_size=min_class_size,
                rng=random,
                engine=running,
            )
        )
        ours: dict[str, Technique] = {
            f"coterie {name}": partial(
                _drawn,
                name,
                labels,
                min_class_size,
                max_edge_probability,
                before.average_path_length,
                running,
            )
            for name in MODELS
        }
        targets, seconds = {}, {}
        everything = {**TECHNIQUES, **ours}
        for i, (name, technique) in enumerate(everything.items()):
            callback(Progress("publishing", i, len(everything), note=name))
            started = time.perf_counter()
            made = technique(graph, random)
            seconds[name] = time.perf_counter() - started
            targets[name] = Target(*relabel(made, random))
        figures, _ = attack_all(graph, targets, running, rng=random, callback=callback)
        rows = [{"technique": "original", **_utility(graph, before, graph)}]
        for name, target in targets.items():
            rows.append(
                {
                    "technique": name,
                    **_utility(graph, measure(target.graph, running, eigenvalues=0), target.graph),
                    **_risk(graph, target, figures[name]),
                    "seconds": seconds[name],
                }
            )
        return rows


def _drawn(
    model: str,
    labels: Callable[[bool], np.ndarray],
    min_size: int,
    limit: float,
    path_length: float,
    engine: Engine,
    graph: Graph,
    rng: Generator,
) -> Graph:
    made = build_model(
        model,
        graph,
        labels(model == "dcsbm"),
        min_size=min_size,
        limit=limit,
        path_length=path_length,
        rng=rng,
        engine=engine,
    )
    return made.draw(rng, engine)


def _utility(original: Graph, after: Measures, published: Graph) -> dict[str, Any]:
    figures = {key: getattr(after, key) for key in _FIGURES}
    return {**figures, "degree_ks": degree_ks(original, published)}


def _risk(original: Graph, target: Target, figures: dict[str, Any]) -> dict[str, Any]:
    seeded = {f"found_{row['seeds']}_seeds": row["correct"] for row in figures["seeded"]}
    last = figures["seeded"][-1]
    claimed, alike = figures["bold"]
    return {
        **seeded,
        "precision": last["precision"],
        "all_claimed": claimed["correct"],  # from the most seeds; then by surroundings alone
        "all_claimed_no_seeds": alike["correct"],
        "h1_unique": figures["vertex_refinement"]["H1"]["unique"],
        "h2_unique": figures["vertex_refinement"]["H2"]["unique"],
        "degree_found": figures["degree"]["correct"],
        "true_edges": float(np.round(averaging_attack(original, [target])[0]["precision"], 6)),
    }

"""Compare the release models with other techniques: utility and risk in one table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.random import Generator

from coterie.anonymize.attacks.attack import Controls, GraphAttacks
from coterie.anonymize.attacks.catalogue import compare_attacks
from coterie.anonymize.attacks.suite import attack_all, averaging_attack
from coterie.anonymize.draw.clustering import cluster_for_release, default_n_blocks
from coterie.anonymize.draw.models import MODELS, build_model
from coterie.anonymize.published_graph import PublishedGraph, assign_new_ids
from coterie.anonymize.utility.measures import Measures, degree_ks, measure
from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.base.progress import Callback, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.data import Graph
from coterie.engine import Engine, running_engine

from .configuration import configuration
from .generalization import generalize
from .k_degree import k_degree
from .perturbation import delete_edges, naive, replace_edges

Technique = Callable[[Graph, Generator], Graph]

TECHNIQUES: dict[str, Technique] = {
    "naive copy": naive,
    "10 % of edges deleted": delete_edges,
    "10 % of edges replaced": replace_edges,
    "configuration model": configuration,
    "k-degree anonymity (k = 10)": partial(k_degree, k=10),
    "generalization (clusters of 10)": partial(generalize, k=10),
}


@dataclass(frozen=True)
class BenchmarkRisk:
    """The people that the attacks identify in the graph of one technique."""

    attacks: GraphAttacks
    found: dict[str, int]  # people found, by label of the attack
    true_edges: float  # share of the published edges that are true


@dataclass(frozen=True)
class BenchmarkRow:
    """Utility and risk of one technique; the original has no risk."""

    technique: str
    measures: Measures
    degree_ks: float
    risk: BenchmarkRisk | None = None
    seconds: float | None = None


def benchmark(
    graph: Graph,
    n_blocks: int | None = None,
    *,
    min_class_size: int = 10,
    max_edge_probability: float = 0.85,
    engine: str | Engine = "local",
    rng: RandomState = 0,
    callback: Callback = silent,
) -> list[BenchmarkRow]:
    """Publish a graph with every technique; measure and attack the results."""
    k = n_blocks or default_n_blocks(graph, min_class_size)
    _check_sizes(graph.n_nodes, k, min_class_size)
    random = as_generator(rng)
    with running_engine(engine) as running:
        before = measure(graph, running, eigenvalues=0)
        labels = cache(
            lambda degree_corrected: cluster_for_release(
                graph,
                k,
                degree_corrected=degree_corrected,
                min_block_size=min_class_size,
                rng=random,
                engine=running,
            )
        )
        models: dict[str, Technique] = {
            f"coterie {name}": partial(
                _drawn,
                name,
                labels,
                min_class_size,
                max_edge_probability,
                running,
            )
            for name in MODELS
        }
        targets, seconds = {}, {}
        techniques = {**TECHNIQUES, **models}
        for i, (name, technique) in enumerate(techniques.items()):
            callback(Progress("publishing", i, len(techniques), note=name))
            started = time.perf_counter()
            made = technique(graph, random)
            seconds[name] = time.perf_counter() - started
            targets[name] = assign_new_ids(made, random)
        attacks, controls = attack_all(graph, targets, running, rng=random, callback=callback)
        rows = [BenchmarkRow("original", before, degree_ks(graph, graph))]
        for name, target in targets.items():
            rows.append(
                BenchmarkRow(
                    name,
                    measure(target.graph, running, eigenvalues=0),
                    degree_ks(graph, target.graph),
                    _risk(graph, target, attacks[name], controls),
                    seconds[name],
                )
            )
        return rows


def _check_sizes(n_nodes: int, n_blocks: int, min_class_size: int) -> None:
    """Raise InputError if there are too few people for this many blocks."""
    needed = n_blocks * min_class_size
    if needed > n_nodes:
        remedies = [
            f"`{name}={value}`"
            for name, value in (
                ("min_class_size", n_nodes // n_blocks),
                ("n_blocks", n_nodes // min_class_size),
            )
            if value
        ]
        raise InputError(
            f"{n_blocks} blocks of at least {min_class_size} people need {needed:,} people, and "
            f"the graph has {n_nodes:,}",
            remedy=f"use at most {' or '.join(remedies)}" if remedies else "give a larger graph",
        )


def _drawn(
    model: str,
    labels: Callable[[bool], np.ndarray],
    min_size: int,
    limit: float,
    engine: Engine,
    graph: Graph,
    rng: Generator,
) -> Graph:
    """Draw a graph from one of the release models."""
    made = build_model(
        model,
        graph,
        labels(model == "dcsbm"),
        min_size=min_size,
        limit=limit,
        rng=rng,
    )
    return made.draw(rng, engine)


def _risk(
    original: Graph, target: PublishedGraph, attacks: GraphAttacks, controls: Controls
) -> BenchmarkRisk:
    return BenchmarkRisk(
        attacks,
        {row.label: row.found for row in compare_attacks(attacks, controls)},
        float(np.round(averaging_attack(original, [target])[0].precision, 6)),
    )


def benchmark_json(rows: list[BenchmarkRow]) -> list[JsonObject]:
    """Return the rows of the JSON of `python -m benchmarks.baselines anonymize`."""
    return [_benchmark_row(row) for row in rows]


def _benchmark_row(row: BenchmarkRow) -> JsonObject:
    measures = row.measures
    keys: JsonObject = {
        "technique": row.technique,
        "edges": measures.edges,
        "global_clustering": measures.global_clustering,
        "average_local_clustering": measures.average_local_clustering,
        "average_path_length": measures.average_path_length,
        "degree_max": measures.degree_max,
        "assortativity": measures.assortativity,
        "isolates": measures.isolates,
        "largest_component": measures.largest_component,
        "degree_ks": row.degree_ks,
    }
    if row.risk is not None:
        keys |= {
            "people_found": row.risk.found,
            "precision": row.risk.attacks.seeded[-1].precision,
            "true_edges": row.risk.true_edges,
        }
    if row.seconds is not None:
        keys["seconds"] = row.seconds
    return keys

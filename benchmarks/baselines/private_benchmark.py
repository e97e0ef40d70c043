"""Compare graphs drawn from a private sketch with other generators, on PGB's queries.

A benchmark is not private: it compares with the original, and every draw spends its epsilon again.
So nothing here is written to the ledger, and no sketch leaves this module.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.clustering import cluster_for_release, default_n_blocks
from coterie.anonymize.draw.models import ReleaseModel, build_model
from coterie.anonymize.ledger import exact_text
from coterie.anonymize.private.answers import ask
from coterie.anonymize.private.draw import draw_in_order
from coterie.anonymize.utility.communities import modularity
from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.base.progress import Callback, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.data import Graph
from coterie.engine import Engine, running_engine
from coterie.models.agreement import adjusted_mutual_information

from .pgb_queries import (
    QUERY_NAMES,
    QueryAnswers,
    QueryErrors,
    answer_queries,
    query_errors,
)
from .private_configuration import private_configuration
from .randomized_response import (
    expected_false_edges,
    randomized_response,
)

# Randomized response adds so many edges that measuring the graph costs more than drawing it.
MAX_FALSE_EDGES = 5_000_000

SKETCH = "coterie sketch"
CONFIGURATION = "configuration model, private degrees"
RESPONSE = "randomized response"
RELEASE = "coterie release (not private)"


class BlockQuality(NamedTuple):
    """How well the private blocks of a sketch fit the original."""

    modularity: float  # of the blocks, in the original
    ami: float  # with the communities of the original


class Drawn(NamedTuple):
    """One graph of a generator; `blocks` if it comes from a sketch."""

    graph: Graph
    blocks: np.ndarray | None = None


@dataclass(frozen=True)
class PrivateBenchmarkRow:
    """Mean and standard deviation of one generator's errors, over several draws."""

    technique: str
    epsilon: Fraction | None  # None: the generator is not private
    draws: int
    mean: QueryErrors | None = None
    sd: QueryErrors | None = None  # None for a single draw
    blocks: BlockQuality | None = None  # means, of a sketch
    seconds: float | None = None  # per draw, mean
    not_run: str = ""  # the reason, if the generator was left out


Generate = Callable[[Graph, Generator], Drawn]


def private_benchmark(
    graph: Graph,
    epsilons: Sequence[Fraction],
    *,
    draws: int = 10,
    with_release: bool = True,
    engine: str | Engine = "local",
    rng: RandomState = 0,
    callback: Callback = silent,
) -> list[PrivateBenchmarkRow]:
    """Draw graphs with every generator and compare their answers with the original's.

    The nodes are numbered in a random order first, because in many files neighbouring numbers
    belong to one community. Every draw of a private generator starts again from the original
    with fresh noise, so that the spread contains the noise. The noise of the sketch and of the
    private degrees comes from the operating system: `rng` does not determine it. The release that
    is not private is the last row, unless `with_release` is False.
    """
    if graph.directed or graph.n_edges == 0:
        raise InputError(
            "the private benchmark needs an undirected graph with at least one edge",
            remedy="read the graph without directions",
        )
    random = as_generator(rng)
    original = shuffle_nodes(graph, random)
    with running_engine(engine) as running:
        callback(Progress("measuring the original", 0, 1))
        answers = answer_queries(original, running)
        tasks: list[tuple[str, Fraction | None, Generate]] = [*_private(epsilons)]
        if with_release:
            release = _release_model(original, running, random)
            tasks.append((RELEASE, None, release))
        rows: list[PrivateBenchmarkRow] = []
        for i, (name, epsilon, generate) in enumerate(tasks):
            callback(Progress("drawing", i, len(tasks), note=_title(name, epsilon)))
            reason = _reason_to_skip(name, epsilon, original)
            if reason:
                rows.append(PrivateBenchmarkRow(name, epsilon, 0, not_run=reason))
                continue
            rows.append(_row(name, epsilon, generate, original, answers, draws, random, running))
        return rows


def shuffle_nodes(graph: Graph, rng: Generator) -> Graph:
    """Return the same graph with its nodes in a random order."""
    place = rng.permutation(graph.n_nodes)
    source, target = graph.edges()
    return Graph.from_edges(place[source], place[target], n_nodes=graph.n_nodes)


def _private(epsilons: Sequence[Fraction]) -> Iterator[tuple[str, Fraction, Generate]]:
    for epsilon in epsilons:
        yield SKETCH, epsilon, partial(_from_sketch, epsilon)
        yield CONFIGURATION, epsilon, partial(_plain, private_configuration, epsilon)
        yield RESPONSE, epsilon, partial(_plain, randomized_response, epsilon)


def _from_sketch(epsilon: Fraction, graph: Graph, rng: Generator) -> Drawn:
    answers = ask(graph, np.arange(graph.n_nodes), epsilon)
    return Drawn(draw_in_order(answers, rng), answers.labels)


def _plain(
    generator: Callable[[Graph, Fraction, Generator], Graph],
    epsilon: Fraction,
    graph: Graph,
    rng: Generator,
) -> Drawn:
    return Drawn(generator(graph, epsilon, rng))


def _release_model(graph: Graph, engine: Engine, rng: Generator) -> Generate:
    """Return the draw of the default release; the model is fitted at the first one."""
    fitted: list[ReleaseModel] = []

    def draw(_: Graph, draw_rng: Generator) -> Drawn:
        if not fitted:
            labels = cluster_for_release(
                graph,
                min(default_n_blocks(graph), max(graph.n_nodes // 10, 1)),
                degree_corrected=True,
                min_block_size=10,
                rng=rng,
                engine=engine,
            )
            fitted.append(build_model("dcsbm", graph, labels, min_size=10, limit=0.85, rng=rng))
        return Drawn(fitted[0].draw(draw_rng, engine))

    return draw


def _reason_to_skip(name: str, epsilon: Fraction | None, graph: Graph) -> str:
    if name == RESPONSE and epsilon is not None:
        expected = expected_false_edges(graph, epsilon)
        if expected > MAX_FALSE_EDGES:
            return f"it would add about {expected:,.0f} false edges"
    if name == RELEASE and graph.n_nodes < 20:
        return "a release needs at least 20 people"
    return ""


def _row(
    name: str,
    epsilon: Fraction | None,
    generate: Generate,
    original: Graph,
    answers: QueryAnswers,
    draws: int,
    rng: Generator,
    engine: Engine,
) -> PrivateBenchmarkRow:
    errors, blocks, seconds = [], [], []
    for _ in range(draws):
        started = time.perf_counter()
        drawn = generate(original, rng)
        seconds.append(time.perf_counter() - started)
        errors.append(query_errors(original, answers, answer_queries(drawn.graph, engine)))
        if drawn.blocks is not None:
            blocks.append(
                (
                    modularity(original, drawn.blocks),
                    adjusted_mutual_information(answers.communities, drawn.blocks),
                )
            )
    values = np.array([astuple(each) for each in errors])
    return PrivateBenchmarkRow(
        name,
        epsilon,
        draws,
        QueryErrors(*values.mean(0).tolist()),
        QueryErrors(*values.std(0, ddof=1).tolist()) if draws > 1 else None,
        BlockQuality(*np.mean(blocks, 0).tolist()) if blocks else None,
        float(np.mean(seconds)),
    )


def _title(name: str, epsilon: Fraction | None) -> str:
    return name if epsilon is None else f"{name}, epsilon {float(epsilon):g}"


def private_benchmark_json(rows: list[PrivateBenchmarkRow]) -> list[JsonObject]:
    """Return the rows of the JSON of `python -m benchmarks.baselines private`."""
    return [_private_benchmark_row(row) for row in rows]


def _private_benchmark_row(row: PrivateBenchmarkRow) -> JsonObject:
    queries = {
        key: {
            "mean": getattr(row.mean, key),
            "sd": None if row.sd is None else getattr(row.sd, key),
        }
        for key in QUERY_NAMES
        if row.mean is not None
    }
    return {
        "technique": row.technique,
        "epsilon": None if row.epsilon is None else exact_text(row.epsilon),
        "draws": row.draws,
        "queries": queries,
        "blocks": None if row.blocks is None else row.blocks._asdict(),
        "seconds": row.seconds,
        "not_run": row.not_run or None,
    }

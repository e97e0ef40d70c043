"""A3: does the model predict the edges it was fitted to better than edges that it never saw?

As in Anonymeter (Giomi et al. 2023), the main attack is run on edges that were used, the control
on edges that were held out, and guessing is the baseline. The risk is the advantage of the main
attack over the control.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.classes import Classes, cell_probability
from coterie.anonymize.figures import Private
from coterie.anonymize.intervals import Interval, wilson
from coterie.data import Graph

_TRIALS = 20_000


@dataclass(frozen=True, repr=False)
class EdgeInference(Private):
    """A3: how often edges are recognised, and the advantage of fitted over held-out edges."""

    main: float  # share of fitted edges that are recognised
    main_interval: Interval
    control: float  # share of held-out edges that are recognised
    control_interval: Interval
    baseline: float  # guessing
    risk: float | None  # advantage, from 0 (none) to 1; None without enough edges
    risk_interval: Interval
    held_out: int  # number of edges


def edge_inference(
    graph: Graph, rest: Graph, classes: Classes, hidden: np.ndarray, rng: Generator
) -> EdgeInference:
    """Recognise edges by the classes of `rest`, the graph without the `hidden` edges.

    An edge is recognised if its probability is higher than that of a random pair with the same
    degrees that is not an edge. Ties count half.
    """
    source, target = graph.edges()
    # A person whose only edge is held out has no meaningful block: leave such edges out.
    fair = np.minimum(graph.degrees[source], graph.degrees[target]) > 1
    main, control = (
        _wins(graph, rest, classes, source[group & fair], target[group & fair], rng)
        for group in (~hidden, hidden)
    )
    main_share, control_share = (wins / max(tried, 1) for wins, tried in (main, control))
    gain = (main_share - control_share) / max(1.0 - control_share, 1e-9)
    of_main, of_control = wilson(*main), wilson(*control)
    return EdgeInference(
        main=main_share,
        main_interval=of_main,
        control=control_share,
        control_interval=of_control,
        baseline=0.5,
        risk=max(0.0, gain) if main[1] and control[1] else None,
        risk_interval=(
            max(0.0, (of_main[0] - of_control[1]) / max(1.0 - of_control[1], 1e-9)),
            min(1.0, max(0.0, (of_main[1] - of_control[0]) / max(1.0 - of_control[0], 1e-9))),
        ),
        held_out=int(hidden.sum()),
    )


def _wins(
    graph: Graph,
    rest: Graph,
    classes: Classes,
    source: np.ndarray,
    target: np.ndarray,
    rng: Generator,
) -> tuple[float, int]:
    """Return (edges that are recognised, edges tried)."""
    chosen = rng.permutation(len(source))[:_TRIALS]
    u, v = source[chosen], target[chosen]
    other_u, other_v = _same_degree(graph, u, rng), _same_degree(graph, v, rng)
    n = graph.n_nodes
    edges = np.repeat(np.arange(n, dtype=np.int64), graph.degrees) * n + graph.indices
    others = other_u.astype(np.int64) * n + other_v
    at = np.minimum(np.searchsorted(edges, others), max(len(edges) - 1, 0))
    fair = (other_u != other_v) & (edges[at] != others) if len(edges) else np.zeros(len(u), bool)
    p, q = (
        cell_probability(rest, classes, classes.label[a[fair]], classes.label[b[fair]])
        for a, b in ((u, v), (other_u, other_v))
    )
    return float((p > q).sum() + 0.5 * (p == q).sum()), int(fair.sum())


def _same_degree(graph: Graph, nodes: np.ndarray, rng: Generator) -> np.ndarray:
    """Return, per node, a random node of the same degree, or of nearby ranks if there are few."""
    order = np.lexsort((rng.random(graph.n_nodes), graph.degrees))
    sorted_degrees = graph.degrees[order]
    low = np.searchsorted(sorted_degrees, graph.degrees[nodes], side="left")
    high = np.searchsorted(sorted_degrees, graph.degrees[nodes], side="right")
    spread = np.maximum(0, 10 - (high - low))
    low, high = np.maximum(low - spread, 0), np.minimum(high + spread, graph.n_nodes)
    return np.asarray(order[low + (rng.random(len(nodes)) * (high - low)).astype(np.int64)])

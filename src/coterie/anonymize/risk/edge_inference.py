"""A3: does the model know the edges it was fitted on better than edges it never saw?

As Anonymeter puts it: a main attack on what was used, the same attack on what was held out as its
control, and guessing as its baseline; the risk is what the main attack has over the control.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.classes import Classes, cell_probability
from coterie.anonymize.risk.intervals import wilson
from coterie.data import Graph

HELD_OUT = 0.05
_TRIALS = 20_000


def edge_inference(
    graph: Graph, fit: Callable[[Graph], Classes], rng: Generator, *, held_out: float = HELD_OUT
) -> dict[str, Any]:
    """Hold out a share of the edges, fit classes on the rest, and ask of each: is p_AB of the edge
    above that of a pair whose ends have the same degrees but which is no edge? Ties count half."""
    source, target = graph.edges()
    hidden = rng.random(len(source)) < held_out
    rest = Graph.from_edges(source[~hidden], target[~hidden], n_nodes=graph.n_nodes)
    classes = fit(rest)
    # A person whose only edge is hidden has no block to speak of: such edges are in neither group.
    fair = np.minimum(graph.degrees[source], graph.degrees[target]) > 1
    main, control = (
        _wins(graph, rest, classes, source[group & fair], target[group & fair], rng)
        for group in (~hidden, hidden)
    )
    share = {name: wins / max(n, 1) for name, (wins, n) in (("main", main), ("control", control))}
    gain = (share["main"] - share["control"]) / max(1.0 - share["control"], 1e-9)
    low, high = wilson(*main), wilson(*control)
    return {
        "main": share["main"],
        "main_interval": low,
        "control": share["control"],
        "control_interval": high,
        "baseline": 0.5,
        "risk": max(0.0, gain) if main[1] and control[1] else None,
        "risk_interval": (
            max(0.0, (low[0] - high[1]) / max(1.0 - high[1], 1e-9)),
            min(1.0, max(0.0, (low[1] - high[0]) / max(1.0 - high[0], 1e-9))),
        ),
        "held_out": int(hidden.sum()),
    }


def _wins(
    graph: Graph,
    rest: Graph,
    classes: Classes,
    source: np.ndarray,
    target: np.ndarray,
    rng: Generator,
) -> tuple[float, int]:
    """(edges that score above their twin, edges tried)"""
    chosen = rng.permutation(len(source))[:_TRIALS]
    u, v = source[chosen], target[chosen]
    twin_u, twin_v = _same_degree(graph, u, rng), _same_degree(graph, v, rng)
    n = graph.n_nodes
    edges = np.repeat(np.arange(n, dtype=np.int64), graph.degrees) * n + graph.indices
    twins = twin_u.astype(np.int64) * n + twin_v
    at = np.minimum(np.searchsorted(edges, twins), max(len(edges) - 1, 0))
    fair = (twin_u != twin_v) & (edges[at] != twins) if len(edges) else np.zeros(len(u), bool)
    p, q = (
        cell_probability(rest, classes, classes.label[a[fair]], classes.label[b[fair]])
        for a, b in ((u, v), (twin_u, twin_v))
    )
    return float((p > q).sum() + 0.5 * (p == q).sum()), int(fair.sum())


def _same_degree(graph: Graph, nodes: np.ndarray, rng: Generator) -> np.ndarray:
    """For each node a random one of the same degree; of the nearest ranks where it is alone."""
    order = np.lexsort((rng.random(graph.n_nodes), graph.degrees))
    sorted_degrees = graph.degrees[order]
    low = np.searchsorted(sorted_degrees, graph.degrees[nodes], side="left")
    high = np.searchsorted(sorted_degrees, graph.degrees[nodes], side="right")
    spread = np.maximum(0, 10 - (high - low))
    low, high = np.maximum(low - spread, 0), np.minimum(high + spread, graph.n_nodes)
    return np.asarray(order[low + (rng.random(len(nodes)) * (high - low)).astype(np.int64)])

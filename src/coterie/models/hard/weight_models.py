"""Models of real-valued weights of edges: normal, log-normal and exponential.

The weights of the edges of a cell are drawn from one distribution. Its parameters are integrated
over their conjugate prior, so that cells with few edges, or with different weights, cost what they
are worth (Peixoto, Nonparametric weighted stochastic block models, Physical Review E 97, 012306,
2018). The prior is the same for all cells and follows the unit in which weights are measured: a
weight in metres and in kilometres gives the same blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from coterie.base.errors import InputError
from coterie.base.special_functions import gammaln
from coterie.data import Graph
from coterie.kernels.hard.description_state import EDGES, EXPONENTIAL, NORMAL

COUNTS = "counts"
REAL = ("normal", "lognormal", "exponential")  # models of real-valued weights
WEIGHT_MODELS = (COUNTS, *REAL)

# Normal: the mean of a cell is known as well as from k0 weights, its variance as from v0 weights.
# Exponential: its rate as from a0 weights of the mean b0 / a0. Weights are standardised before.
_NORMAL_PRIOR = (0.05, 2.0)
_EXPONENTIAL_PRIOR = (1.0, 1.0)


@dataclass(frozen=True)
class WeightModel:
    """The weights of a graph in the form of the kernels."""

    name: str  # "" without weights
    kind: int
    values: np.ndarray  # standardised, one per entry of graph.indices; empty without weights
    prior: np.ndarray
    constant: float  # nats that no partition changes: the unit of the weights

    def sizes(self, n_edges: int) -> np.ndarray:
        """Return the part of the cost of a cell with 0..n_edges edges that depends on their number
        only, with the - log n! of their places."""
        n = np.arange(n_edges + 1, dtype=np.float64)
        places = -gammaln(n + 1)
        if self.kind == NORMAL:
            k0, v0 = self.prior
            cost = gammaln(np.float64(v0 / 2)) - gammaln((v0 + n) / 2)
            cost = cost + 0.5 * np.log((k0 + n) / k0) - v0 / 2 * math.log(v0)
            return np.asarray(places + cost + n / 2 * math.log(math.pi))
        if self.kind == EXPONENTIAL:
            a0, b0 = self.prior
            return np.asarray(
                places + gammaln(np.float64(a0)) - gammaln(a0 + n) - a0 * math.log(b0)
            )
        return np.asarray(places)


def no_weights() -> WeightModel:
    """Return the model of a graph without weights."""
    return WeightModel("", EDGES, np.zeros(0), np.zeros(2), 0.0)


def weight_model(name: str, graph: Graph) -> WeightModel:
    """Return the model of the weights of a graph.

    >>> graph = Graph.from_edges([0, 1], [1, 2], weights=[1.0, 3.0])
    >>> weight_model("normal", graph).values
    array([-1., -1.,  1.,  1.])
    """
    if graph.weights is None:
        raise InputError(
            f"`weight_model={name!r}` needs weights and the graph has none",
            remedy="read the graph with its weights, or leave out `weight_model`",
        )
    values = np.asarray(graph.weights, np.float64)
    _refuse(graph, ~np.isfinite(values), "weights must be finite")
    logs = 0.0
    if name == "exponential":
        remedy = 'weights must be at least 0; use `weight_model="normal"` for negative ones'
        _refuse(graph, values < 0, remedy)
    if name == "lognormal":
        remedy = 'weights must be above 0; use `weight_model="normal"` or `"exponential"`'
        _refuse(graph, values <= 0, remedy)
        values = np.log(values)
        logs = float(values.sum())
    twice = 1 if graph.directed else 2  # entries per edge
    if name == "exponential":
        scale = float(values.mean()) if len(values) else 1.0
        scale = scale if scale > 0 else 1.0
        prior, kind, values = _EXPONENTIAL_PRIOR, EXPONENTIAL, values / scale
    else:
        mean = float(values.mean()) if len(values) else 0.0
        scale = float(values.std()) if len(values) else 1.0
        if scale <= 1e-12 * max(1.0, abs(mean)):  # all weights are equal
            scale = 1.0
        prior, kind, values = _NORMAL_PRIOR, NORMAL, (values - mean) / scale
    constant = (len(values) * math.log(scale) + logs) / twice
    return WeightModel(name, kind, np.ascontiguousarray(values), np.array(prior), constant)


def mean_weights(graph: Graph, labels: np.ndarray) -> np.ndarray:
    """Return the mean weight of the edges of each cell; NaN without edges.

    >>> graph = Graph.from_edges([0, 1], [1, 2], weights=[1.0, 3.0])
    >>> mean_weights(graph, np.array([0, 0, 1])).tolist()
    [[1.0, 3.0], [3.0, nan]]
    """
    k = int(labels.max(initial=-1)) + 1
    source, target = graph.edges()
    cell = labels[source].astype(np.int64) * k + labels[target]
    count = np.bincount(cell, minlength=k * k).reshape(k, k).astype(np.float64)
    total = np.bincount(cell, graph.edge_weights(), minlength=k * k).reshape(k, k)
    if not graph.directed:
        both = ~np.eye(k, dtype=bool)
        count, total = count + count.T * both, total + total.T * both
    means: np.ndarray = np.divide(total, count, out=np.full((k, k), np.nan), where=count > 0)
    return means


def _refuse(graph: Graph, bad: np.ndarray, remedy: str) -> None:
    """Raise an error that names the first edge with a bad weight."""
    places = np.flatnonzero(bad)
    if not len(places):
        return
    assert graph.weights is not None
    v = int(np.searchsorted(graph.indptr, places[0], side="right")) - 1
    pair = f"{graph.ids[v]}, {graph.ids[graph.indices[places[0]]]}"
    raise InputError(
        f"invalid weight of edge ({pair}): {graph.weights[places[0]]:g}", remedy=remedy
    )

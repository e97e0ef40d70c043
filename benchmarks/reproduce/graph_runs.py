"""Clusterings of the paper's two graphs and graphs drawn from them, computed once and reused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import coterie as ct
from coterie.anonymize.draw.classes import block_matrix
from coterie.anonymize.draw.clustering import cluster_for_release
from coterie.anonymize.draw.dcsbm import StubModel
from coterie.anonymize.draw.models import CellModel, ReleaseModel
from coterie.anonymize.utility.measures import degree_ks
from coterie.anonymize.utility.paths import path_lengths
from coterie.data import Graph
from coterie.kernels.graphs.triangles import triangles
from coterie.models.hard.label_tools import x_log_x

from .graph_claims import RANDOM
from .published_figures import ALPHA
from .settings import Setting

BEST = "best search"
RELEASE = "blocks of a release"  # degree-corrected, best search, minimum block size
_NO_LIMIT = 2.0  # edge probability: the paper sets no limit
_MIN_CLASS = 10
_MAX_EDGE_PROBABILITY = 0.85


class Clustering(NamedTuple):
    """Labels of a graph and how they were found."""

    labels: np.ndarray
    entropy: float
    seconds: float


class Measured(NamedTuple):
    """The measures of a graph that are compared."""

    path_length: float
    path_error: float  # half of the 95 % interval of the sampled sources
    clustering: float
    edges: int
    isolates: int
    largest_degree: int
    degree_ks: float
    degrees: np.ndarray  # number of nodes by degree


@dataclass
class GraphRuns:
    """Clusterings by graph, k and kind, and the measures of graphs drawn from them."""

    setting: Setting
    clusterings: dict[tuple[str, int, str], Clustering] = field(default_factory=dict)
    measured: dict[tuple[str, int, str, str], list[Measured]] = field(default_factory=dict)
    originals: dict[str, Measured] = field(default_factory=dict)
    drawn: dict[tuple[str, int, str, str], Graph] = field(default_factory=dict)
    models: dict[tuple[str, int, str, str], ReleaseModel] = field(default_factory=dict)

    def graph(self, name: str) -> Graph:
        """Return a graph by its name in the paper."""
        return self.setting.graphs[name]

    def clustering(self, name: str, k: int, kind: str) -> Clustering:
        """Return a clustering, computed when first needed."""
        key = (name, k, kind)
        if key not in self.clusterings:
            self.setting.say(f"{name}: {kind} clustering, k = {k}")
            self.clusterings[key] = self._cluster(*key)
        return self.clusterings[key]

    def _cluster(self, name: str, k: int, kind: str) -> Clustering:
        graph = self.graph(name)
        if kind == RANDOM:
            rng = np.random.default_rng([self.setting.seed, k])
            labels = rng.integers(0, k, graph.n_nodes).astype(np.int32)
            return Clustering(labels, entropy_of(graph, labels), 0.0)
        if kind == RELEASE:
            labels = cluster_for_release(
                graph,
                min(k, graph.n_nodes // _MIN_CLASS),  # no more than the sizes allow
                degree_corrected=True,
                min_block_size=_MIN_CLASS,
                rng=self.setting.seed,
                engine=self.setting.engine,
            )
            return Clustering(labels, entropy_of(graph, labels), 0.0)
        iterations = ALPHA[name].iterations // (3 if self.setting.quick else 1)
        model = fit_k_means(
            self.setting,
            graph,
            n_blocks=k,
            search="best" if kind == BEST else "paper",
            max_iter=iterations,
        )
        return Clustering(model.labels_, float(model.entropy_), float(model.seconds_))

    def original(self, name: str) -> Measured:
        """Return the measures of the original graph."""
        if name not in self.originals:
            self.setting.say(f"{name}: measuring the original")
            self.originals[name] = self._measure(name, self.graph(name))
        return self.originals[name]

    def releases(self, name: str, k: int, kind: str, model: str = "sbm") -> list[Measured]:
        """Return the measures of several graphs drawn from one clustering."""
        key = (name, k, kind, model)
        if key not in self.measured:
            drawing = self.model(name, k, kind, model)
            found = []
            for draw in range(self.setting.draws_of(model)):
                self.setting.say(f"{name}: {model}, {kind}, k = {k}, draw {draw + 1}")
                rng = np.random.default_rng([self.setting.seed, k, draw])
                graph = drawing.draw(rng, self.setting.engine)
                self.drawn.setdefault(key, graph)
                found.append(self._measure(name, graph))
            self.measured[key] = found
        return self.measured[key]

    def model(self, name: str, k: int, kind: str, model: str) -> ReleaseModel:
        """Return the model to draw from: sbm (the paper), exact-counts (Hay et al.) or dcsbm."""
        key = (name, k, kind, model)
        if key not in self.models:
            self.models[key] = self._model(*key)
        return self.models[key]

    def _model(self, name: str, k: int, kind: str, model: str) -> ReleaseModel:
        graph = self.graph(name)
        labels = self.clustering(name, k, RELEASE if model == "dcsbm" else kind).labels
        if model == "dcsbm":
            return StubModel.fit(graph, labels, min_size=_MIN_CLASS, limit=_MAX_EDGE_PROBABILITY)
        return CellModel.fit(graph, labels, limit=_NO_LIMIT, exact=model == "exact-counts")

    def _measure(self, name: str, graph: Graph) -> Measured:
        degrees = graph.degrees
        wedges = float((degrees * (degrees - 1) / 2).sum())
        paths = path_lengths(graph, self.setting.engine, sources=self.setting.sources)
        return Measured(
            paths.mean,
            (paths.interval[1] - paths.interval[0]) / 2,
            float(triangles(graph.indptr, graph.indices).sum() / wedges) if wedges else 0.0,
            graph.n_edges,
            int((degrees == 0).sum()),
            int(degrees.max(initial=0)),
            degree_ks(self.graph(name), graph),
            np.bincount(degrees),
        )


def fit_k_means(setting: Setting, graph: Graph, **options: Any) -> Any:
    """Fit a GeneralizedKMeans to a graph; `search` is "paper" unless given."""
    return ct.GeneralizedKMeans(**{"search": "paper", "rng": setting.seed, **options}).fit(
        graph, engine=setting.engine
    )


def entropy_of(graph: Graph, labels: np.ndarray) -> float:
    """Compute the entropy S of a simple graph for given labels.

    >>> g = Graph.from_edges([0, 1], [1, 2], n_nodes=4)
    >>> round(entropy_of(g, np.zeros(4, np.int32)), 6)  # 2 of 6 pairs
    3.819085
    """
    e = block_matrix(graph, labels).astype(np.float64)
    sizes = np.bincount(labels, minlength=len(e)).astype(np.float64)
    pairs = np.outer(sizes, sizes)
    np.fill_diagonal(pairs, sizes * (sizes - 1) / 2)
    np.fill_diagonal(e, np.diag(e) / 2)
    once = np.triu_indices(len(e))
    d, D = e[once], pairs[once]
    return float((x_log_x(D) - x_log_x(d) - x_log_x(D - d)).sum())

"""Generated inputs for the reports: objects with the attributes of fitted models."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie.base.progress import Iteration
from coterie.data import Graph, Ratings
from coterie.data.generators import planted_partition
from coterie.models.base import Estimator
from coterie.recommend.metrics import METRIC_NAMES, Metrics


class Clustered(Estimator):
    """A fitted hard clustering with the true labels, counted by NumPy."""

    def __init__(self, n_blocks: int = 3, objective: str = "simple") -> None:
        self.n_blocks = n_blocks
        self.objective = objective

    def fit(self, graph: Graph, labels: np.ndarray) -> Clustered:
        k = self.n_blocks
        source, target = graph.edges()
        edges = np.zeros((k, k), np.int64)
        np.add.at(edges, (labels[source], labels[target]), 1)
        sizes = np.bincount(labels, minlength=k)
        self.labels_ = labels
        self.block_edges_ = edges + edges.T - np.diag(np.diag(edges))
        self.block_pairs_ = np.outer(sizes, sizes)
        np.fill_diagonal(self.block_pairs_, sizes * (sizes - 1) // 2)
        self.history_ = [
            Iteration(i, 0.01 * i, 5_000 + 40_000 * 0.95**i, int(200 * 0.9**i)) for i in range(150)
        ]
        self.entropy_ = self.history_[-1].entropy
        self.converged_ = True
        self.locally_optimal_ = False
        return self


def clustered(n_nodes: int = 600, n_blocks: int = 12) -> tuple[Clustered, Graph]:
    graph, labels = planted_partition(n_nodes, n_blocks, mean_degree=12, rng=0)
    return Clustered(n_blocks).fit(graph, labels), graph


def ratings(rows: int = 4000) -> Ratings:
    rng = np.random.default_rng(1)
    users, items = rng.integers(0, 120, rows), rng.integers(0, 80, rows)
    liking = 3.4 + (users % 4 - 1.5) * 0.5 + (items % 3 - 1) * 0.7 + rng.normal(0, 0.8, rows)
    return Ratings.from_arrays(users, items, np.clip(np.round(liking), 1, 5))


class CoClustered(Estimator):
    """A fitted hard clustering of users and items."""

    def __init__(self, n_blocks: tuple[int, int] = (4, 3)) -> None:
        self.n_blocks = n_blocks

    def fit(self, data: Ratings) -> CoClustered:
        self.user_labels_ = np.arange(data.n_users) % self.n_blocks[0]
        self.item_labels_ = np.arange(data.n_items) % self.n_blocks[1]
        self.history_ = [Iteration(i, 0.01 * i, 5_000 - 10 * i, 3) for i in range(20)]
        self.entropy_ = self.history_[-1].entropy
        self.converged_ = True
        self.locally_optimal_ = True
        return self


class Samples(NamedTuple):
    """Samples of an additive model: labels by partition, and the effect of pairs of labels."""

    user_labels: np.ndarray
    item_labels: np.ndarray
    effects: np.ndarray


class Additive(Estimator):
    """A fitted additive block model: three partitions of 4 × 6 groups."""

    def __init__(self, n_partitions: int = 3) -> None:
        self.n_partitions = n_partitions

    def fit(self, data: Ratings) -> Additive:
        rng = np.random.default_rng(3)
        p = self.n_partitions
        self.samples_ = Samples(
            rng.integers(0, 4, (2, data.n_users, p)),
            rng.integers(0, 6, (2, data.n_items, p)),
            rng.normal(0, 0.3, (2, p, 4, 6)),
        )
        self.chain_of_sample_ = np.array([0, 1])
        self.history_ = [Iteration(10 * i, 0.1 * i, 9_000 - 50 * i) for i in range(1, 9)]
        return self


def evaluation() -> list[Metrics]:
    """Metrics of five folds; those that are NaN were not measured."""
    rng = np.random.default_rng(2)
    unmeasured = dict.fromkeys(METRIC_NAMES, float("nan"))
    return [
        Metrics(
            **{
                **unmeasured,
                "rmse": 0.94 + rng.normal(0, 0.004),
                "mae": 0.74 + rng.normal(0, 0.003),
                "accuracy": 0.43 + rng.normal(0, 0.004),
                "log_loss": 1.2 + rng.normal(0, 0.01),
                "entropy": 89_000.0 + 10 * fold,
                "fit_seconds": 1.2,
            }
        )
        for fold in range(5)
    ]


def release(refused: bool = False) -> dict[str, Any]:
    degree = np.unique(np.logspace(0, 2.7, 40).astype(int))
    steps = np.arange(1, 10)
    share = np.array([0.001, 0.02, 0.2, 0.45, 0.25, 0.06, 0.01, 0.006, 0.003])
    return {
        "name": "a made-up network",
        "refused": refused,
        "reasons": ["1,571 edges stand in cells with p >= 0.9; 0 may"] if refused else [],
        "advice": ["--blocks 40 would pass"] if refused else [],
        "model": "dcsbm",
        "nodes": 18_772,
        "edges": 198_050,
        "blocks": 60,
        "seconds": 71.2,
        "utility": {
            "original": {
                "nodes": 18_772,
                "edges": 198_050,
                "global_clustering": 0.318,
                "isolates": 1,
                "largest_component": 0.954,
            },
            "published": {
                "nodes": 18_772,
                "edges": 197_720,
                "global_clustering": 0.299,
                "isolates": 0,
                "largest_component": 0.95,
            },
            "degree_ks": 0.0012,
        },
        "profiles": {
            "degree": _both(degree, degree**-1.1, degree**-1.07),
            "clustering": _both(degree, 0.7 * 0.99**degree, 0.63 * 0.99**degree),
            "distance": _both(steps, share, share[::-1]),
        },
        "limits": [
            {"name": "Smallest class", "value": 10, "limit": 10, "at_least": True},
            {"name": "Worst chance to point at a person", "value": 0.1, "limit": 0.1},
            {
                "name": "Edges in cells with p ≥ 0.9",
                "value": 0.08 if refused else 0.0,
                "limit": 0.0,
                "percent": True,
            },
            {"name": "Edge inference", "value": 0.03, "limit": 0.05, "percent": True},
            {"name": "Seeded attack, share of naive", "value": 0.0013, "limit": 0.01},
        ],
        "levels": [
            _level("graph with new ids (this release)", "A1 for somebody who guessed every class"),
            _level("+ block labels", "block and degree of a node show its class"),
            _level(
                "ids kept", "who is who is known; of the edges 5.1 % are true", 1.0, 1.0, 0, 1.0
            ),
        ],
        "attacks": [
            {"attack": "10 people known", "release": 0, "naive": 0, "deleted_10": 0, "chance": 0},
            {
                "attack": "200 people known",
                "release": 11,
                "naive": 8_316,
                "deleted_10": 6_100,
                "chance": 0.000391,
            },
            {"attack": "a claim for everybody", "release": 4, "naive": 9_000, "deleted_10": 5},
            {"attack": "degree known (H1)", "release": 0, "naive": 70, "deleted_10": 0},
            {"attack": "neighbours' degrees known (H2)", "release": 0, "naive": 9, "deleted_10": 2},
        ],
        "remarks": ["It is not differentially private."],
    }


def _level(
    level: str,
    why: str,
    mean: float = 0.02749,
    worst: float = 0.1,
    certain: float | None = None,
    found: float = 5.3844e-05,
) -> dict[str, Any]:
    """A row as `anonymize.risk.release_levels` gives it."""
    figures = {"A1 mean": mean, "A1 worst": worst, "edges with p ≥ 0.9": certain}
    return {"level": level, **figures, "people found": found, "why": why}


def _both(x: np.ndarray, original: np.ndarray, published: np.ndarray) -> dict[str, Any]:
    return {"original": {"x": x, "y": original}, "published": {"x": x, "y": published}}

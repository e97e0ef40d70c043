"""Inputs for the reports: small fitted models, metrics, the summary of a release, a sketch."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from coterie.anonymize.attacks.attack import AttackComparison
from coterie.anonymize.figures import (
    EDGE_INFERENCE,
    FIGURES,
    MEASURES,
    NAMED_EDGES,
    PEOPLE_FOUND,
    PROBABLE_EDGES,
    SMALLEST_CLASS,
    Figure,
    FigureRow,
)
from coterie.anonymize.output.public_summary import (
    Curve,
    CurvePair,
    PublicSummary,
    PublicUtility,
)
from coterie.anonymize.policy import Limit
from coterie.anonymize.private import exact_counts, public_rules
from coterie.anonymize.private.answers import SketchAnswers, square_of
from coterie.anonymize.private.budget import DAMPING_DEGREES, HIGHEST_DEGREES, SHARES
from coterie.anonymize.risk.assessment import PublicationLevel
from coterie.anonymize.utility.community_utility import PublicCommunities
from coterie.anonymize.utility.measures import ScalarMeasures
from coterie.data import Graph, Ratings
from coterie.data.generators import planted_partition
from coterie.models.additive.estimator import AdditiveBlockModel
from coterie.models.hard.k_means import GeneralizedKMeans
from coterie.recommend.metrics import METRIC_NAMES, Metrics


def with_labels(graph: Graph, labels: np.ndarray, n_blocks: int) -> GeneralizedKMeans:
    """A hard clustering with exactly these blocks."""
    return GeneralizedKMeans(n_blocks, search="paper", init=labels, max_iter=0).fit(graph)


def clustered(n_nodes: int = 600, n_blocks: int = 12) -> tuple[GeneralizedKMeans, Graph]:
    """A hard clustering that began with planted blocks, and its graph."""
    graph, labels = planted_partition(n_nodes, n_blocks, mean_degree=12, rng=0)
    model = GeneralizedKMeans(n_blocks, search="paper", init=labels, max_iter=1, rng=0)
    return model.fit(graph), graph


def ratings(rows: int = 4000) -> Ratings:
    rng = np.random.default_rng(1)
    users, items = rng.integers(0, 120, rows), rng.integers(0, 80, rows)
    liking = 3.4 + (users % 4 - 1.5) * 0.5 + (items % 3 - 1) * 0.7 + rng.normal(0, 0.8, rows)
    return Ratings.from_arrays(users, items, np.clip(np.round(liking), 1, 5))


def co_clustered(
    data: Ratings, n_blocks: tuple[int, int] = (4, 3), max_iter: int = 20
) -> GeneralizedKMeans:
    """A hard clustering of users and items that began with their numbers modulo the blocks."""
    start = (np.arange(data.n_users) % n_blocks[0], np.arange(data.n_items) % n_blocks[1])
    return GeneralizedKMeans(
        n_blocks, objective="ratings", search="paper", init=start, max_iter=max_iter, rng=0
    ).fit(data)


def additive(data: Ratings) -> AdditiveBlockModel:
    """A fitted additive block model: three partitions of 4 × 6 groups."""
    return AdditiveBlockModel(
        n_partitions=3, n_groups=(4, 6), n_chains=1, burn_in=2, n_sweeps=4, pilot=False, rng=0
    ).fit(data)


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


def release(refused: bool = False) -> PublicSummary:
    """The public summary of a release, or of a refusal."""
    degree = np.unique(np.logspace(0, 2.7, 40).astype(int))
    steps = np.arange(1, 10)
    share = np.array([0.001, 0.02, 0.2, 0.45, 0.25, 0.06, 0.01, 0.006, 0.003])
    original = ScalarMeasures(
        nodes=18_772,
        edges=198_050,
        average_path_length=4.19,
        diameter=14,
        global_clustering=0.318,
        average_local_clustering=0.63,
        degree_mean=21.1,
        degree_max=500,
        assortativity=0.205,
        isolates=1,
        largest_component=0.954,
        core_max=56,
        modularity=0.41,
        community_modularity=0.642,
        communities=328,
        communities_for_half=6,
        largest_community=0.134,
    )
    published = replace(
        original, edges=197_720, global_clustering=0.299, isolates=0, largest_component=0.95
    )
    return PublicSummary(
        refused=refused,
        reasons=["1,571 edges stand in cells with p >= 0.9; 0 may"] if refused else [],
        suggestions=["40 blocks would pass"] if refused else [],
        name="a made-up network",
        model="dcsbm",
        nodes=18_772,
        edges=198_050,
        blocks=60,
        utility=PublicUtility(
            [
                FigureRow(
                    figure,
                    figure.of(original),
                    figure.of(published),
                    error=0.005 if "clustering" in figure.key else 0.0,
                )
                for figure in MEASURES
            ],
            0.0012,
            communities=PublicCommunities(0.642, 0.696, 0.293, 0.291, 0.812, False, False),
            further=[
                FigureRow(FIGURES["graphlets.four_cliques"], None, 9_100_000),
                FigureRow(FIGURES["cores.innermost_nodes"], None, 80, kept=False),
                FigureRow(FIGURES["robustness.random_mean"], None, 0.311),
            ],
        ),
        profiles={
            "degree": _both(degree, degree**-1.1, degree**-1.07),
            "clustering": _both(degree, 0.7 * 0.99**degree, 0.63 * 0.99**degree),
            "distance": _both(steps, share, share[::-1]),
            "spectrum": _both(steps, 94.0 / steps, 91.0 / steps),
        },
        limits=[
            _limit(SMALLEST_CLASS, 10, 10),
            _limit(NAMED_EDGES, 0.1, 0.1),
            _limit(PROBABLE_EDGES, 0.08 if refused else 0.0, 0.0),
            _limit(EDGE_INFERENCE, 0.03, 0.05),
            _limit(PEOPLE_FOUND, 3, 8),
        ],
        levels=[
            _level("graph with new ids (this release)", "for an attacker who knows every class"),
            _level("+ block labels", "block and degree of a node show its class"),
            _level(
                "ids kept", "identities are known; 5.1 % of the edges are true", 1.0, 1.0, 0, 1.0
            ),
        ],
        attacks=[
            _attack("10 people known", 0, 0, 0, 0),
            _attack("200 people known", 11, 8_316, 6_100, 0.000391),
            _attack("a guess for everyone", 4, 9_000, 5),
            _attack("exact degree known", 0, 70, 0),
            _attack("exact degrees of all neighbours known", 0, 9, 2),
        ],
        remarks=["This model does not provide differential privacy."],
    )


def _limit(figure: Figure, value: float, limit: float) -> Limit:
    words = {"certainty": "90 %", "which": "in all", "by": " by an attack"}
    return Limit.compare(figure, figure.key, (value, limit), "", **words)


def _attack(
    label: str, found: int, naive: int, deleted_10: int, expected: float | None = None
) -> AttackComparison:
    people = found, naive, deleted_10
    return AttackComparison(label, None, *people, expected, has_power=naive > 0, public=True)


def _level(
    level: str,
    why: str,
    mean: float = 0.02749,
    worst: float = 0.1,
    disclosed: float | None = None,
    found: float = 5.3844e-05,
) -> PublicationLevel:
    return PublicationLevel(
        level=level,
        class_mean=mean,
        class_worst=worst,
        disclosed_edges=disclosed,
        people_found=found,
        why=why,
    )


def _both(x: np.ndarray, original: np.ndarray, published: np.ndarray) -> CurvePair:
    places = x.tolist()
    return CurvePair(Curve(places, original.tolist()), Curve(places, published.tolist()))


def sketch(graph: Graph, epsilon: str = "1", rng: int = 0) -> SketchAnswers:
    """The answers of a sketch with noise of the right size from a seed: for pages, not private."""
    random = np.random.default_rng(rng)
    exact_epsilon, n = Fraction(epsilon), graph.n_nodes

    def noisy(values: np.ndarray, sensitivity: int, share: Fraction) -> np.ndarray:
        scale = float(sensitivity / (exact_epsilon * share))
        return np.asarray(values + np.rint(random.laplace(0, scale, len(values))), np.int64)

    edges = int(noisy(exact_counts.edge_count(graph), 1, SHARES.edge_count)[0])
    degrees = noisy(exact_counts.degrees(graph), 2, SHARES.degrees)
    length = public_rules.n_degree_counts(n, degrees)
    most = public_rules.n_largest_degrees(n, exact_epsilon, SHARES)
    thresholds = public_rules.bin_thresholds(degrees)
    k, bins = public_rules.n_blocks(n, exact_epsilon, edges), len(thresholds) + 1
    labels = (np.arange(n) * k // n).astype(np.int32)
    placed = public_rules.bins_of(degrees, thresholds)
    between = exact_counts.edges_between
    at_node = exact_counts.node_triangles(graph)
    return SketchAnswers(
        node_ids=np.arange(n),
        epsilon=epsilon,
        edge_count=edges,
        noisy_degrees=degrees,
        degree_counts=noisy(exact_counts.degree_counts(graph, length), 2, SHARES.degree_counts),
        largest_degrees=noisy(exact_counts.largest_degrees(graph, most), 2, SHARES.largest_degrees),
        labels=labels,
        block_edges=square_of(noisy(between(graph, labels, k), 1, SHARES.block_edges), k),
        bin_thresholds=thresholds,
        bin_edges=square_of(noisy(between(graph, placed, bins), 1, SHARES.bin_edges), bins),
        triangles=exact_counts.triangle_ladder(graph, at_node, 0).value,
        clustering_sums=tuple(
            exact_counts.clustering_ladder(graph, at_node, d, 0).value for d in DAMPING_DEGREES
        ),
        capped_sums=tuple(
            int(noisy(exact_counts.capped_clustering(graph, highest, 2), 20, share)[0])
            for highest, share in zip(HIGHEST_DEGREES, SHARES.capped_sums, strict=True)
        ),
    )


def clique_network(n_nodes: int = 800, size: int = 20) -> Graph:
    """Cliques next to each other on a ring, each person in two of them; no randomness."""
    pairs = [
        (u, v % n_nodes)
        for start in range(0, n_nodes, size // 2)
        for u in range(start, start + size)
        for v in range(u + 1, start + size)
    ]
    source, target = np.array(pairs).T % n_nodes
    return Graph.from_edges(source, target, n_nodes=n_nodes)


def star_network(n_nodes: int = 2000, hubs: int = 5) -> Graph:
    """Everybody knows one of a few hubs, and the hubs know each other."""
    people = np.arange(hubs, n_nodes)
    first, second = np.triu_indices(hubs, 1)
    return Graph.from_edges(np.r_[people, first], np.r_[people % hubs, second], n_nodes=n_nodes)

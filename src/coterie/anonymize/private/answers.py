"""The nine answers of a sketch, and how they are asked."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from coterie.anonymize.ledger import exact_text
from coterie.anonymize.private import exact_counts, ladder, public_rules
from coterie.anonymize.private.budget import (
    DAMPING_BEFORE,
    DAMPING_DEGREES,
    HIGHEST_DEGREES,
    SHARES,
    Shares,
)
from coterie.anonymize.private.contact_bound import STABILITY, first_contacts
from coterie.anonymize.private.degree_estimates import DegreeDistribution
from coterie.anonymize.private.noise import add_noise
from coterie.anonymize.private.stream_partition import stream_labels
from coterie.base.progress import Callback, Progress, silent
from coterie.data import Graph

_ANSWERS = 9


@dataclass(frozen=True, eq=False)
class SketchAnswers:
    """Everything that a sketch knows: noisy answers and public facts. All of it may be published.

    Noisy counts are integers and may be negative. Symmetric tables hold each pair of parts twice;
    an edge within a part is counted once, on the diagonal.
    """

    node_ids: np.ndarray  # the declared node list: int64 or str objects
    epsilon: str  # as a decimal number, for example "0.5"
    edge_count: int
    noisy_degrees: np.ndarray  # int64[n], in the order of `node_ids`
    degree_counts: np.ndarray  # int64[cap]: nodes with degree >= 1, 2, …
    largest_degrees: np.ndarray  # int64[L], of falling true degree
    labels: np.ndarray  # int32[n]: the block of each node
    block_edges: np.ndarray  # int64[K, K], symmetric
    bin_thresholds: np.ndarray  # int64[B - 1]: follows from `noisy_degrees`
    bin_edges: np.ndarray  # int64[B, B], symmetric
    triangles: int
    clustering_sums: tuple[int, ...]  # per damping degree, in units of `clustering_unit`
    capped_sums: tuple[int, ...] = ()  # per highest degree, in fifths; none before the rules 3
    shares: Shares = SHARES  # the part of epsilon that the mechanism of each answer got
    max_contacts: int | None = None  # of the reduced network that the answers are about
    rules: int = public_rules.RULES

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the declared list."""
        return len(self.node_ids)

    @property
    def n_blocks(self) -> int:
        """Number of blocks K."""
        return len(self.block_edges)

    @property
    def highest_degree(self) -> int:
        """The largest degree that a node of the network may have, from public facts."""
        return min(self.n_nodes - 1, self.max_contacts or self.n_nodes)

    @property
    def person_epsilon(self) -> float | None:
        """Epsilon of all edges of a person that are counted, together; None without a bound."""
        return self.max_contacts and float(self.max_contacts * self.exact_epsilon)

    @property
    def exact_epsilon(self) -> Fraction:
        """Epsilon as an exact fraction."""
        return Fraction(self.epsilon)

    @property
    def damping_degrees(self) -> tuple[int, ...]:
        """D of each clustering sum: nodes with fewer neighbours count less."""
        return DAMPING_DEGREES if self.rules >= 3 else DAMPING_BEFORE

    @property
    def hub_ratio(self) -> float:
        """How many times the mean degree the largest degrees are, from noisy answers."""
        return public_rules.hub_ratio(
            self.n_nodes, self.exact_epsilon, self.edge_count, self.largest_degrees, self.shares
        )

    @property
    def clustering_unit(self) -> int:
        """The integer that stands for 1 in a clustering sum."""
        return exact_counts.clustering_unit(self.n_nodes)

    @property
    def bins(self) -> np.ndarray:
        """The degree bin of each node (int64): how many thresholds its noisy degree reaches."""
        return public_rules.bins_of(self.noisy_degrees, self.bin_thresholds)

    @property
    def degree_noise_rate(self) -> float:
        """1 / scale of the noise in `noisy_degrees`: P(z) ~ exp(-rate |z|)."""
        return float(self.exact_epsilon * self.shares.degrees / 2)

    def degree_distribution(self) -> DegreeDistribution:
        """Estimate the degree distribution, as the sketch did when it placed the nodes."""
        return public_rules.degree_distribution(
            self.n_nodes,
            self.exact_epsilon,
            self.degree_counts,
            self.largest_degrees,
            self.shares,
        )


def ask(
    graph: Graph,
    node_ids: np.ndarray,
    epsilon: Fraction,
    callback: Callback = silent,
    shares: Shares = SHARES,
    max_contacts: int | None = None,
) -> SketchAnswers:
    """Ask the nine questions, in order, at a total cost of `epsilon`.

    Each answer is drawn by a mechanism whose parameters come from earlier answers and public
    facts, so the costs add up (adaptive sequential composition). `graph` must be undirected and
    have the nodes of the declared list, in its order. With `max_contacts`, the questions are about
    the reduced graph of `first_contacts`; the shares must be divided accordingly.
    """
    n = graph.n_nodes
    if max_contacts is not None:
        graph = first_contacts(graph, max_contacts)
        assert shares.stability == STABILITY, "one edge changes several edges of the reduced graph"

    def progress(done: int, what: str) -> None:
        callback(Progress(what, done, _ANSWERS))

    progress(0, "counting edges and degrees")
    edge_count = int(add_noise(exact_counts.edge_count(graph), 1, epsilon * shares.edge_count)[0])
    noisy_degrees = add_noise(exact_counts.degrees(graph), 2, epsilon * shares.degrees)
    degree_counts = add_noise(
        exact_counts.degree_counts(graph, public_rules.n_degree_counts(n, noisy_degrees)),
        2,
        epsilon * shares.degree_counts,
    )
    largest_degrees = add_noise(
        exact_counts.largest_degrees(graph, public_rules.n_largest_degrees(n, epsilon, shares)),
        2,
        epsilon * shares.largest_degrees,
    )
    distribution = public_rules.degree_distribution(
        n, epsilon, degree_counts, largest_degrees, shares
    )
    expected = public_rules.expected_degrees(noisy_degrees, distribution, epsilon, shares)

    progress(4, "placing nodes in blocks")
    n_blocks = public_rules.n_blocks(n, epsilon / shares.stability, edge_count)
    order = public_rules.stream_order(noisy_degrees)
    labels = stream_labels(graph, order, expected, n_blocks, epsilon * shares.labels)
    block_edges = add_noise(
        exact_counts.edges_between(graph, labels, n_blocks), 1, epsilon * shares.block_edges
    )
    thresholds = public_rules.bin_thresholds(noisy_degrees)
    n_bins = len(thresholds) + 1
    bins = public_rules.bins_of(noisy_degrees, thresholds)
    bin_edges = add_noise(
        exact_counts.edges_between(graph, bins, n_bins), 1, epsilon * shares.bin_edges
    )

    progress(7, "counting triangles")
    floor = public_rules.common_neighbour_floor(expected, distribution)
    at_node = exact_counts.node_triangles(graph)
    triangles = ladder.draw(
        exact_counts.triangle_ladder(graph, at_node, floor), epsilon * shares.triangles
    )
    progress(8, "summing local clustering")
    clustering_sums = tuple(
        ladder.draw(exact_counts.clustering_ladder(graph, at_node, damping, floor), epsilon * share)
        for damping, share in zip(DAMPING_DEGREES, shares.clustering_sums, strict=True)
    )
    ratio = public_rules.hub_ratio(n, epsilon, edge_count, largest_degrees, shares)
    cap = public_rules.clustering_cap(ratio)
    capped_sums = tuple(
        int(
            add_noise(
                exact_counts.capped_clustering(graph, highest, cap),
                exact_counts.capped_sensitivity(cap),
                epsilon * share,
            )[0]
        )
        for highest, share in zip(HIGHEST_DEGREES, shares.capped_sums, strict=True)
    )
    return SketchAnswers(
        node_ids=node_ids,
        epsilon=exact_text(epsilon),
        edge_count=edge_count,
        noisy_degrees=noisy_degrees,
        degree_counts=degree_counts,
        largest_degrees=largest_degrees,
        labels=labels,
        block_edges=square_of(block_edges, n_blocks),
        bin_thresholds=thresholds,
        bin_edges=square_of(bin_edges, n_bins),
        triangles=triangles,
        clustering_sums=clustering_sums,
        capped_sums=capped_sums,
        shares=shares,
        max_contacts=max_contacts,
    )


def square_of(upper: np.ndarray, size: int) -> np.ndarray:
    """Return the symmetric table of an upper triangle.

    >>> square_of(np.array([1, 2, 3]), 2).tolist()
    [[1, 2], [2, 3]]
    """
    table = np.zeros((size, size), np.int64)
    table[np.triu_indices(size)] = upper
    return table + np.triu(table, 1).T

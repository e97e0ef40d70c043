"""The 15 queries of PGB, a benchmark of private graph generators, and a few more.

PGB is Liu et al., "PGB: Benchmarking Differentially Private Synthetic Graph Generation
Algorithms" (arXiv 2408.02928). The definitions follow the program that its authors published. They
differ in one point: communities come from `find_communities`, not from python-louvain.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from coterie.anonymize.utility.communities import (
    community_agreement,
    find_communities,
    modularity,
)
from coterie.anonymize.utility.measures import assortativity, local_clustering
from coterie.anonymize.utility.paths import path_lengths
from coterie.base.randomness import as_generator
from coterie.data import Graph
from coterie.engine import Engine
from coterie.kernels.graphs.triangles import triangles
from coterie.models.agreement import adjusted_mutual_information

_TOP_SHARE = 100  # the eigenvector query compares the first hundredth of the nodes
_TINY = float(np.finfo(np.float64).eps)  # added to every share, so that no logarithm is of 0
_COMMUNITY_SEED = 0  # fixed: the answers depend on the graph alone
_DENSE = 500  # nodes up to which all eigenvectors are computed


@dataclass(frozen=True, eq=False)
class QueryAnswers:
    """What one graph answers to the 15 queries, in PGB's order."""

    nodes: int
    edges: int
    triangles: int
    mean_degree: float
    degree_variance: float  # sample variance
    degree_counts: np.ndarray  # nodes of degree 0, 1, 2 …
    diameter: int  # largest over the components
    mean_path: float  # over the connected pairs
    distance_counts: np.ndarray  # ordered pairs at distance 0, 1, 2 …; 0: a node and itself
    global_clustering: float
    local_clustering: float  # mean over all nodes
    communities: np.ndarray  # label per node
    modularity: float  # of these communities
    assortativity: float
    centrality: np.ndarray  # eigenvector centralities, falling


@dataclass(frozen=True)
class QueryErrors:
    """How far the answers of a drawn graph are from those of the original.

    The first 15 are PGB's: relative errors, except the two divergences, the normalised mutual
    information (1 is best) and the mean absolute error of the eigenvector centralities.
    """

    nodes: float
    edges: float
    triangles: float
    mean_degree: float
    degree_variance: float
    degree_kl: float
    diameter: float
    mean_path: float
    distance_kl: float
    global_clustering: float
    local_clustering: float
    community_nmi: float  # higher is better
    modularity: float
    assortativity: float
    eigenvector_mae: float
    community_ami: float  # higher is better
    foreign_modularity: float  # of the drawn graph's communities in the original; higher is better
    degree_ks: float
    assortativity_difference: float  # absolute


# Names in tables, in their order
QUERY_NAMES = {
    "nodes": "nodes",
    "edges": "edges",
    "triangles": "triangles",
    "mean_degree": "mean degree",
    "degree_variance": "degree variance",
    "degree_kl": "degree distribution, KL",
    "diameter": "diameter",
    "mean_path": "mean path length",
    "distance_kl": "distance distribution, KL",
    "global_clustering": "global clustering",
    "local_clustering": "mean local clustering",
    "community_nmi": "communities, NMI (higher is better)",
    "modularity": "modularity",
    "assortativity": "assortativity",
    "eigenvector_mae": "eigenvector centrality, MAE",
    "community_ami": "communities, AMI (higher is better)",
    "foreign_modularity": "modularity in the original (higher is better)",
    "degree_ks": "degree distribution, KS",
    "assortativity_difference": "assortativity, absolute",
}
PGB_QUERIES = tuple(QUERY_NAMES)[:15]
HIGHER_IS_BETTER = frozenset({"community_nmi", "community_ami", "foreign_modularity"})
assert tuple(QUERY_NAMES) == tuple(field.name for field in fields(QueryErrors))


def answer_queries(graph: Graph, engine: Engine | None = None) -> QueryAnswers:
    """Answer the 15 queries; path lengths of large graphs are sampled.

    >>> answers = answer_queries(Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3]))
    >>> answers.triangles, answers.diameter, answers.distance_counts.tolist()
    (1, 2, [4, 8, 4])
    """
    degrees, counts = graph.degrees, triangles(graph.indptr, graph.indices)
    paths = path_lengths(graph, engine)
    wedges = int((degrees * (degrees - 1) // 2).sum())
    communities = find_communities(graph, as_generator(_COMMUNITY_SEED))
    return QueryAnswers(
        nodes=graph.n_nodes,
        edges=graph.n_edges,
        triangles=int(counts.sum()) // 3,
        mean_degree=float(degrees.mean()) if len(degrees) else 0.0,
        degree_variance=float(degrees.var(ddof=1)) if len(degrees) > 1 else 0.0,
        degree_counts=np.bincount(degrees),
        diameter=paths.longest,
        mean_path=paths.mean,
        distance_counts=paths.counts,
        global_clustering=float(counts.sum() / wedges) if wedges else 0.0,
        local_clustering=float(local_clustering(degrees, counts).mean()) if len(degrees) else 0.0,
        communities=communities,
        modularity=modularity(graph, communities),
        assortativity=assortativity(graph),
        centrality=np.sort(eigenvector_centrality(graph))[::-1],
    )


def query_errors(graph: Graph, original: QueryAnswers, drawn: QueryAnswers) -> QueryErrors:
    """Compare the answers of `graph` with those of a drawn graph that has the same nodes."""
    top = max(original.nodes // _TOP_SHARE, 1)
    return QueryErrors(
        nodes=relative_error(original.nodes, drawn.nodes),
        edges=relative_error(original.edges, drawn.edges),
        triangles=relative_error(original.triangles, drawn.triangles),
        mean_degree=relative_error(original.mean_degree, drawn.mean_degree),
        degree_variance=relative_error(original.degree_variance, drawn.degree_variance),
        degree_kl=divergence(original.degree_counts, drawn.degree_counts),
        diameter=relative_error(original.diameter, drawn.diameter),
        mean_path=relative_error(original.mean_path, drawn.mean_path),
        distance_kl=divergence(original.distance_counts, drawn.distance_counts),
        global_clustering=relative_error(original.global_clustering, drawn.global_clustering),
        local_clustering=relative_error(original.local_clustering, drawn.local_clustering),
        community_nmi=community_agreement(original.communities, drawn.communities),
        modularity=relative_error(original.modularity, drawn.modularity),
        assortativity=relative_error(original.assortativity, drawn.assortativity),
        eigenvector_mae=float(np.abs(original.centrality[:top] - drawn.centrality[:top]).mean()),
        community_ami=adjusted_mutual_information(original.communities, drawn.communities),
        foreign_modularity=modularity(graph, drawn.communities),
        degree_ks=_largest_gap(original.degree_counts, drawn.degree_counts),
        assortativity_difference=abs(original.assortativity - drawn.assortativity),
    )


def relative_error(original: float, drawn: float) -> float:
    """Return the difference as a share of the original; the difference itself if that is 0.

    >>> relative_error(-4.0, -5.0), relative_error(0.0, 0.5)
    (0.25, 0.5)
    """
    return abs(drawn - original) / (abs(original) or 1.0)


def divergence(original: np.ndarray, drawn: np.ndarray) -> float:
    """Return the Kullback-Leibler divergence of two histograms, in nats, as PGB computes it.

    Shares that are 0 count as 2.2e-16, so a value that only the original has costs about 36 nats
    times its share.

    >>> round(divergence(np.array([1, 1]), np.array([1, 3])), 4)
    0.1438
    """
    p, q = _shares(original, drawn)
    return float((p * np.log((p + _TINY) / (q + _TINY))).sum())


def eigenvector_centrality(graph: Graph) -> np.ndarray:
    """Return the eigenvector of the largest eigenvalue, not negative, with length 1.

    >>> eigenvector_centrality(Graph.from_edges([0, 0], [1, 2])).round(3).tolist()
    [0.707, 0.5, 0.5]
    """
    n = graph.n_nodes
    uniform = np.full(n, 1 / np.sqrt(max(n, 1)))
    if not graph.n_edges:
        return uniform
    if n <= _DENSE:
        values, vectors = np.linalg.eigh(graph.csr.toarray().astype(np.float64))
        # Several components may share the eigenvalue; take what power iteration converges to
        largest = vectors[:, values > values[-1] - 1e-9]
        leading = largest @ (largest.T @ uniform)
    else:
        try:
            found = eigsh(graph.csr.astype(np.float64), 1, which="LA", v0=uniform, tol=1e-8)[1]
        except ArpackNoConvergence:  # retry with a larger search space
            options = {"ncv": min(100, n), "maxiter": 100 * n}
            found = eigsh(graph.csr.astype(np.float64), 1, which="LA", v0=uniform, **options)[1]
        leading = found[:, 0]
    leading = np.abs(leading)
    return np.asarray(leading / np.linalg.norm(leading))


def _shares(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two histograms as shares, of the same length."""
    length = max(len(first), len(second))
    p, q = (np.pad(counts, (0, length - len(counts))) for counts in (first, second))
    return p / max(p.sum(), 1), q / max(q.sum(), 1)


def _largest_gap(first: np.ndarray, second: np.ndarray) -> float:
    """Return the Kolmogorov-Smirnov distance of two histograms."""
    p, q = _shares(first, second)
    return float(np.abs(np.cumsum(p) - np.cumsum(q)).max(initial=0.0))

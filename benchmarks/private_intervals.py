"""Coverage of the 95 % intervals of private sketches.

    python benchmarks/private_intervals.py                      # all networks
    python benchmarks/private_intervals.py papers viewers --sketches 5

Of each network, 20 sketches are made for each of three epsilons. The table has the share of the
intervals that contain the true figure, per figure and epsilon, and per network. It goes to
results/private_intervals.json. No graphs are drawn.

Data: ca-astroph, as-caida and ml-100k, from $COTERIE_DATA or the cache; the others are generated.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp

import coterie as ct
from coterie.anonymize.private import exact_counts
from coterie.anonymize.private.answers import SketchAnswers, ask
from coterie.anonymize.private.block_estimates import block_modularity
from coterie.anonymize.private.posterior import intervals
from coterie.anonymize.utility.measures import assortativity
from coterie.data import Graph, datasets
from coterie.data.generators import degree_corrected_sbm, planted_partition
from private_networks import collaborations, egos, messages
from record import Recorder, add_options


def real(name: str) -> Graph:
    """Return a network of a file."""
    return ct.read_graph(datasets.path(name))


def of_networkx(graph: Any) -> Graph:
    """Return a generated network."""
    pairs = np.array(graph.edges())
    return Graph.from_edges(pairs[:, 0], pairs[:, 1], n_nodes=graph.number_of_nodes())


def part(graph: Graph, kept: np.ndarray) -> Graph:
    """Return the network of some nodes."""
    place = np.full(graph.n_nodes, -1)
    place[kept] = np.arange(len(kept))
    source, target = (place[ends] for ends in graph.edges())
    inside = (source >= 0) & (target >= 0)
    return Graph.from_edges(source[inside], target[inside], n_nodes=len(kept))


def ball(graph: Graph, size: int, start: int) -> Graph:
    """Return the nodes nearest to a node."""
    order, seen = [start], {start}
    for node in order:
        near = graph.indices[graph.indptr[node] : graph.indptr[node + 1]].tolist()
        new = [other for other in near if other not in seen][: size - len(seen)]
        seen.update(new)
        order += new
    return part(graph, np.array(sorted(seen)))


def shared_ratings(users: bool, least: int) -> Graph:
    """Return the users who rated, or the films that were rated by, at least so many in common."""
    ratings = ct.read_ratings(datasets.path("ml-100k"))
    table = sp.csr_matrix((np.ones(len(ratings)), (ratings.users, ratings.items)))
    table = table if users else table.T.tocsr()
    common = sp.triu(table @ table.T, 1).tocoo()
    kept = common.data >= least
    return Graph.from_edges(common.row[kept], common.col[kept], n_nodes=table.shape[0])


def papers() -> Graph:
    """Return co-authors of small papers: most have few neighbours, who know each other."""
    rng = np.random.default_rng(0)
    weight = rng.pareto(1.5, 9000) + 1
    source, target = [], []
    for size in rng.choice([2, 3, 4, 5, 6, 8], 7000, p=[0.25, 0.3, 0.2, 0.12, 0.08, 0.05]):
        authors = np.unique(rng.choice(9000, size, p=weight / weight.sum()))
        a, b = np.triu_indices(len(authors), 1)
        source.append(authors[a])
        target.append(authors[b])
    return Graph.from_edges(np.concatenate(source), np.concatenate(target), n_nodes=9000)


def caida_core() -> Graph:
    """Return CAIDA without the nodes of degree 1."""
    graph = real("as-caida")
    return part(graph, np.flatnonzero(graph.degrees >= 2))


NETWORKS: dict[str, Callable[[], Graph]] = {
    "astro-ph": lambda: real("ca-astroph"),
    "CAIDA": lambda: real("as-caida"),
    "CAIDA core": caida_core,
    "astro-ph ball": lambda: ball(real("ca-astroph"), 3000, 5),
    "viewers": lambda: shared_ratings(True, 40),
    "films": lambda: shared_ratings(False, 25),
    "egos": lambda: egos(np.random.default_rng(0)),
    "collaborations": lambda: collaborations(np.random.default_rng(0)),
    "messages": lambda: messages(np.random.default_rng(0)),
    "papers": papers,
    "planted": lambda: planted_partition(2000, 10, mean_degree=20, rng=0)[0],
    "blocks": lambda: degree_corrected_sbm(5000, 12, mean_degree=12, rng=1)[0],
    "small world": lambda: of_networkx(nx.watts_strogatz_graph(5000, 12, 0.1, seed=1)),
    "clustered": lambda: of_networkx(nx.powerlaw_cluster_graph(5000, 6, 0.8, seed=1)),
    "places": lambda: of_networkx(nx.random_geometric_graph(4000, 0.033, seed=1)),
    "attachment": lambda: of_networkx(nx.barabasi_albert_graph(6000, 5, seed=1)),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("networks", nargs="*", help=f"any of {', '.join(NETWORKS)}")
    parser.add_argument("--sketches", type=int, default=20, help="per network and epsilon")
    parser.add_argument("--epsilon", default="0.5,1,2", help="default: 0.5,1,2")
    add_options(parser)
    given = parser.parse_args()
    record = Recorder("private_intervals", given)
    by_figure: dict[tuple[str, str], list[bool]] = {}
    by_network: dict[tuple[str, str], list[bool]] = {}
    for name in given.networks or NETWORKS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = NETWORKS[name]()
        for epsilon in given.epsilon.split(","):
            for _ in range(given.sketches):
                answers = ask(graph, np.arange(graph.n_nodes), Fraction(epsilon))
                truth = true_figures(graph, answers)
                for key, found in intervals(answers).items():
                    inside = found.low - 1e-9 <= truth[key] <= found.high + 1e-9
                    by_figure.setdefault((key, epsilon), []).append(inside)
                    by_network.setdefault((name, epsilon), []).append(inside)
        print(
            name, np.mean([x for (of, _), hits in by_network.items() if of == name for x in hits])
        )
        save(record, by_figure, by_network, given)


def true_figures(graph: Graph, answers: SketchAnswers) -> dict[str, float]:
    """Return the exact figures of a network; the modularity is that of the sketch's blocks."""
    d = graph.degrees.astype(np.float64)
    at_node = exact_counts.node_triangles(graph)
    pairs = d * (d - 1) / 2
    ends = np.zeros((answers.n_blocks, answers.n_blocks))
    labels = answers.labels
    np.add.at(ends, (np.repeat(labels, graph.degrees), labels[graph.indices]), 1.0)
    return {
        "edges": graph.n_edges,
        "mean_degree": 2 * graph.n_edges / graph.n_nodes,
        "nodes_with_edges": int((d > 0).sum()),
        "largest_degree": float(d.max()),
        "triangles": at_node.sum() / 3,
        "global_clustering": at_node.sum() / pairs.sum(),
        "mean_clustering": float((at_node / np.maximum(pairs, 1)).mean()),
        "assortativity": assortativity(graph),
        "modularity": block_modularity(ends),
    }


def save(record: Recorder, by_figure: Any, by_network: Any, given: argparse.Namespace) -> None:
    """Record both tables."""
    for title, table, column in (
        ("by figure", by_figure, "figure"),
        ("by network", by_network, "network"),
    ):
        names = list(dict.fromkeys(name for name, _ in table))
        epsilons = list(dict.fromkeys(epsilon for _, epsilon in table))
        rows = [
            {column: name}
            | {f"epsilon {e}": f"{np.mean(table[name, e]):.3f}" for e in epsilons}
            | {"all": f"{np.mean([x for e in epsilons for x in table[name, e]]):.3f}"}
            for name in names
        ]
        together = {
            f"epsilon {e}": f"{np.mean([x for name in names for x in table[name, e]]):.3f}"
            for e in epsilons
        }
        everything = [inside for hits in table.values() for inside in hits]
        rows.append({column: "all"} | together | {"all": f"{np.mean(everything):.3f}"})
        record.add(
            title.replace(" ", "-"),
            rows,
            title=f"Coverage of 95 % intervals, {title}",
            data=f"{len({name for name, _ in by_network})} networks",
            asked=f"{given.sketches} sketches per network and epsilon; share of the intervals "
            "that contain the true figure",
            threads="1",
        )


if __name__ == "__main__":
    main()

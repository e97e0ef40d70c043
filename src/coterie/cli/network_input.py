"""Load networks with directions, weights, two sides or attributes, and compare two of them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from coterie.base.errors import InputError
from coterie.cli.reading import load_graph
from coterie.cli.session import Session

if TYPE_CHECKING:
    import numpy as np

    from coterie.anonymize.features.comparison import FeatureResults
    from coterie.anonymize.features.full_knowledge_attack import FullKnowledgeAttack
    from coterie.data import Graph
    from coterie.data.node_table import NodeTable


class LoadedNetwork(NamedTuple):
    """The input of a command about releases."""

    graph: Graph
    sides: np.ndarray | None  # of a bipartite network
    attributes: NodeTable | None


def load_network(
    session: Session,
    path: str,
    objective: str | None,
    attributes: Path | None = None,
) -> LoadedNetwork:
    """Load a graph of the kind that `objective` names, and its attributes.

    Without an objective the graph is simple, and a file that may be directed is an error.
    """
    from coterie.data.node_table import read_attributes
    from coterie.data.readers import read_bipartite
    from coterie.data.table import refuse_times

    given = session.reading.given
    refuse_times(path, separator=given.get("separator"), sheet=given.get("sheet"))
    sides = None
    if objective == "bipartite":
        reading = session.reading.for_graph()
        if "weight" in reading:
            raise InputError(
                "--weight names a column that --objective bipartite does not read",
                remedy="leave out --weight",
            )
        graph, sides = read_bipartite(path, **reading)
    else:
        graph = load_graph(
            session,
            path,
            directed=objective == "directed",
            weighted=objective == "weighted",
        )
        if objective == "weighted" and graph.weights is None:
            raise InputError(
                "the file has no column of weights",
                path=path,
                remedy="add a third column, or release it with --objective simple",
            )
    if objective is None and path != "-":  # standard input cannot be read twice
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the remarks were printed
            one_way = load_graph(session, path, notify=lambda found: None, directed=True).n_edges
        both = one_way - graph.n_edges
        if 0 < both < graph.n_edges:
            raise InputError(
                f"{both:,} of {graph.n_edges:,} connections are given in both directions, the "
                "others in one: the network may be directed",
                path=path,
                remedy="set --objective directed, or --objective simple to release it without "
                "directions",
            )
    table = None if attributes is None else read_attributes(attributes, graph)
    return LoadedNetwork(graph, sides, table)


def load_both(
    session: Session,
    original: tuple[str, Path | None],
    published: tuple[str, Path | None],
    objective: str,
) -> tuple[LoadedNetwork, LoadedNetwork]:
    """Load two networks, each from a graph and a table of attributes; both or neither have one."""
    if (original[1] is None) != (published[1] is None):
        raise InputError(
            "there is a table of attributes for one of the two networks only",
            remedy="give both --attributes and --published-attributes",
        )
    first, second = (
        load_network(session, path, objective, table) for path, table in (original, published)
    )
    return first, second


def compare_features(original: LoadedNetwork, published: LoadedNetwork) -> FeatureResults | None:
    """Compare what two networks have besides undirected edges; None if that is nothing."""
    from coterie.anonymize.features.comparison import compare_networks
    from coterie.anonymize.features.network import Network

    pairs = [(Network(n.graph, n.attributes), n.sides) for n in (original, published)]
    found = compare_networks(pairs[0], [pairs[1]])
    return found if found.measures or found.distances else None


def attack_features(
    original: LoadedNetwork, published: LoadedNetwork, identity: np.ndarray, seed: int
) -> FullKnowledgeAttack | None:
    """Attack with all that is known besides undirected edges; None if that is nothing."""
    import numpy as np

    from coterie.anonymize.features.full_knowledge_attack import attack_with_full_knowledge
    from coterie.anonymize.features.network import Network

    graph = original.graph
    if not (graph.directed or graph.weights is not None or original.attributes is not None):
        return None
    return attack_with_full_knowledge(
        Network(graph, original.attributes),
        [(Network(published.graph, published.attributes), identity)],
        np.zeros(graph.n_nodes, np.int64),
        np.random.default_rng(seed),
    )

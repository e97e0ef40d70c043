"""Load networks with directions, weights, two sides or attributes; show what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from coterie.base.errors import InputError
from coterie.cli.input_options import load_graph
from coterie.cli.session import Session

if TYPE_CHECKING:
    import numpy as np
    from rich.table import Table

    from coterie.anonymize.kinds.outcome import KindOutcome, NetworkAttack
    from coterie.data import Graph
    from coterie.data.attributes import Attributes


OriginalAttributesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Table of what is known about each node of ORIGINAL: a column node, then one column "
        "per attribute.",
    ),
]
PublishedAttributesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The same for PUBLISHED, for example nodes.csv of a release.",
    ),
]


WHO_IS_WHO = (
    "Who is who: a table with the columns published,original, as written by "
    "`coterie anonymize --research-truth`."
)


class LoadedNetwork(NamedTuple):
    """The input of a command about releases."""

    graph: Graph
    sides: np.ndarray | None  # of a bipartite network
    attributes: Attributes | None


def load_network(
    session: Session,
    path: str,
    objective: str,
    attributes: Path | None = None,
    *,
    format: str | None = None,
    separator: str | None = None,
) -> LoadedNetwork:
    """Load a graph of the kind that `objective` names, and its attributes."""
    from coterie.data.attributes import read_attributes
    from coterie.data.edge_times import refuse_times
    from coterie.data.readers import read_bipartite

    refuse_times(path, separator=separator)
    sides = None
    if objective == "bipartite":
        graph, sides = read_bipartite(path, format=format, separator=separator)
    else:
        graph = load_graph(
            session,
            path,
            directed=objective == "directed",
            weighted=objective == "weighted",
            format=format,
            separator=separator,
        )
        if objective == "weighted" and graph.weights is None:
            raise InputError(
                "the file has no column of weights",
                path=path,
                remedy="add a third column, or release it with --objective simple",
            )
    table = None if attributes is None else read_attributes(attributes, graph)
    return LoadedNetwork(graph, sides, table)


def load_both(
    session: Session,
    original: tuple[str, Path | None],
    published: tuple[str, Path | None],
    objective: str,
    *,
    format: str | None,
    separator: str | None,
) -> tuple[LoadedNetwork, LoadedNetwork]:
    """Load two networks, each from a graph and a table of attributes; both or neither have one."""
    if (original[1] is None) != (published[1] is None):
        raise InputError(
            "there is a table of attributes for one of the two networks only",
            remedy="give both --attributes and --published-attributes",
        )
    first, second = (
        load_network(session, path, objective, table, format=format, separator=separator)
        for path, table in (original, published)
    )
    return first, second


def compare_kinds(original: LoadedNetwork, published: LoadedNetwork) -> KindOutcome | None:
    """Compare what two networks have besides undirected edges; None if that is nothing."""
    from coterie.anonymize.kinds.model import compare_networks
    from coterie.anonymize.kinds.network import Network

    pairs = [(Network(n.graph, n.attributes), n.sides) for n in (original, published)]
    found = compare_networks(pairs[0], [pairs[1]])
    return found if found.measures or found.distances else None


def attack_kinds(
    original: LoadedNetwork, published: LoadedNetwork, identity: np.ndarray, seed: int
) -> NetworkAttack | None:
    """Attack with all that is known besides undirected edges; None if that is nothing."""
    import numpy as np

    from coterie.anonymize.kinds.model import attack_networks
    from coterie.anonymize.kinds.network import Network

    graph = original.graph
    if not (graph.directed or graph.weights is not None or original.attributes is not None):
        return None
    return attack_networks(
        Network(graph, original.attributes),
        [(Network(published.graph, published.attributes), identity)],
        np.zeros(graph.n_nodes, np.int64),
        np.random.default_rng(seed),
    )


def kind_table(kind: KindOutcome) -> Table:
    """Return a table of the measures of directions, weights, sides and attributes."""
    from rich.table import Table

    table = Table(
        "measure",
        "original",
        "published",
        "",
        title="directions, weights, sides and attributes",
        title_justify="left",
    )
    for m in kind.measures:
        table.add_row(m.name, _figure(m.original), _figure(m.published), _mark(m.kept))
    for d in kind.distances:
        table.add_row(f"distance of the {d.name}", "", f"{100 * d.value:.2g} %", _mark(d.kept))
    return table


def _figure(value: float | None) -> str:
    """Format a figure with four significant digits; a dash if it is not defined.

    >>> _figure(162325.0), _figure(0.5930238), _figure(None)
    ('162,325', '0.593', '–')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _mark(kept: bool) -> str:
    return "kept" if kept else "not kept"

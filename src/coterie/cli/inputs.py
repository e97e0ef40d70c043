"""What commands that read a graph or ratings share: arguments, options, reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.base.errors import InputError
from coterie.cli.session import Session

if TYPE_CHECKING:
    from coterie.graph import Graph, Ratings

GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH", help="Edge list, Parquet, GraphML, GML, or a folder of shards; - is stdin."
    ),
]
RatingsArgument = Annotated[
    str, typer.Argument(metavar="RATINGS", help="user, item, rating[, timestamp]; - is stdin.")
]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", help="text, parquet, graphml or gml, where the suffix does not say."),
]
SeparatorOption = Annotated[
    str | None,
    typer.Option("--separator", help='Between fields: ",", "::", tab, whitespace … (found out).'),
]


def load_graph(
    session: Session,
    path: str,
    *,
    directed: bool = False,
    weighted: bool = False,
    format: str | None = None,
    separator: str | None = None,
) -> Graph:
    """The graph of a command's argument; what was cleaned or not read is said."""
    from coterie.graph.readers import read_graph

    return read_graph(
        path,
        directed=directed,
        weighted=weighted,
        format=format,
        separator=separator,
        threads=session.threads,
    )


def load_shards(path: str) -> Any:
    """A folder that `coterie shard` made, as the models take it."""
    from coterie.engine.sharded import open_shards

    return open_shards(path)


def load_ratings(
    session: Session,
    path: str,
    *,
    likes: bool = False,
    merge: bool = True,
    format: str | None = None,
    separator: str | None = None,
) -> Ratings:
    """The ratings of a command's argument; what was merged or not read is said."""
    from coterie.graph.readers import read_ratings

    return read_ratings(
        path,
        likes=likes,
        merge=merge,
        format=format,
        separator=separator,
        threads=session.threads,
    )


def parse_groups(text: str) -> int | tuple[int, int]:
    """ "10" or "10,5" (users and items) as numbers.

    >>> parse_groups("10,5")
    (10, 5)
    """
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2) or min(numbers) < 1:
        raise InputError(f"--groups {text}", remedy="give a number, or K,L for users and items")
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])

"""What commands that read a graph or ratings share: arguments, options, reading."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.base.errors import InputError
from coterie.cli.session import Session

if TYPE_CHECKING:
    from coterie.data import Graph, Ratings

GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH", help="Edge list, Parquet, GraphML, GML, or a folder of shards; - is stdin."
    ),
]
RatingsArgument = Annotated[
    str,
    typer.Argument(
        metavar="RATINGS", help="user, item, rating[, timestamp], or shards of them; - is stdin."
    ),
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
    from coterie.data.readers import read_graph

    return read_graph(
        path,
        directed=directed,
        weighted=weighted,
        format=format,
        separator=separator,
        threads=session.threads,
    )


def load_shards(path: str, *, holds: str | None = None, **options: Any) -> Any:
    """A folder that `coterie shard` made, as the models take it; what it `holds` may matter.

    It says by itself how its data are to be read, so options about that are refused."""
    from coterie.engine.sharded_data import RATINGS, ShardedRatings, open_shards

    for name, value in options.items():
        if value:
            raise InputError(
                f"--{name} is for files, and this is a folder of shards",
                path=path,
                remedy=f"leave --{name} out",
            )
    data = open_shards(path)
    if holds is not None and isinstance(data, ShardedRatings) != (holds == RATINGS):
        raise InputError(
            f"its shards hold no {holds}", path=path, remedy=f"name a file or shards of {holds}"
        )
    return data


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
    from coterie.data.readers import read_ratings

    if Path(path).is_dir():
        options = {"likes": likes, "format": format, "separator": separator}
        loaded: Ratings = load_shards(path, holds="ratings", **options).load()
        return loaded
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

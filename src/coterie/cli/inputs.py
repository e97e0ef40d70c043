"""What commands that read a graph or ratings share: options, and remarks about the input."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from coterie.base.errors import AssumptionWarning
from coterie.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coterie.graph import Graph, Ratings

GraphArgument = Annotated[
    str, typer.Argument(metavar="GRAPH", help="Edge list, Parquet, GraphML or GML; - is stdin.")
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


@contextmanager
def remarks(session: Session) -> Iterator[None]:
    """What the library assumed or cleaned inside the block is said to the person, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AssumptionWarning)
        yield
    for warning in caught:
        if issubclass(warning.category, AssumptionWarning):
            session.say(str(warning.message))
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


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

    with remarks(session):
        return read_graph(
            path,
            directed=directed,
            weighted=weighted,
            format=format,
            separator=separator,
            threads=session.threads,
        )


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

    with remarks(session):
        return read_ratings(
            path,
            likes=likes,
            merge=merge,
            format=format,
            separator=separator,
            threads=session.threads,
        )

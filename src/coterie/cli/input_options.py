"""Arguments, options and readers of the commands that take a graph or ratings."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.base.errors import InputError
from coterie.cli.session import Session
from coterie.data.formats import FORMATS, TABLES, listed

if TYPE_CHECKING:
    from coterie.data import Graph, Ratings
    from coterie.data.table import Notify, Recognised

_WEIGHT_NAMES = frozenset({"weight", "weights"})

_GRAPH_FILE = f"Graph as a {listed(FORMATS)} file, also as .gz"
_FORMAT_DEFAULT = "default: from the first bytes, then from the file name"
GRAPH_HELP = f"{_GRAPH_FILE}; - reads stdin."
GraphArgument = Annotated[str, typer.Argument(metavar="GRAPH", help=GRAPH_HELP)]
DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help=f"{_GRAPH_FILE}; a table of user, item and rating with --objective ratings; or a "
        "folder made by `coterie shard`. - reads stdin.",
    ),
]
RatingsArgument = Annotated[
    str,
    typer.Argument(
        metavar="RATINGS",
        help="Table of user, item, rating and optionally timestamp as a "
        f"{listed(TABLES)} file, also as .gz, or a folder made by `coterie shard`; - reads stdin.",
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"File format: {listed(FORMATS, titles=False)}; {_FORMAT_DEFAULT}.",
    ),
]
TableFormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"File format: {listed(TABLES, titles=False)}; {_FORMAT_DEFAULT}.",
    ),
]
SeparatorOption = Annotated[
    str | None,
    typer.Option(
        "--separator",
        metavar="TEXT",
        help="Field separator of a text file: comma, semicolon, tab, whitespace, '|' or "
        "'::' (auto-detected). Example: --separator ';'",
    ),
]


class Contents(StrEnum):
    """The kind of rows in an input."""

    simple = "simple"
    directed = "directed"
    weighted = "weighted"
    ratings = "ratings"


ContentsOption = Annotated[
    Contents,
    typer.Option(
        "--objective",
        "--kind",
        help="What the input contains: simple (undirected edges without weights), directed, "
        "weighted (the third column is a count), or ratings (user, item, rating).",
    ),
]


class HardObjective(StrEnum):
    """The content of an input, and its model in a hard clustering."""

    simple = "simple"
    degree_corrected = "degree-corrected"
    communities = "communities"
    auto = "auto"
    directed = "directed"
    directed_degree_corrected = "directed-degree-corrected"
    weighted = "weighted"
    ratings = "ratings"
    binomial = "binomial"
    likes = "likes"


_RATINGS = ("ratings", "binomial", "likes")  # objectives with users and items


def load_data(
    session: Session,
    path: str,
    objective: str,
    *,
    format: str | None = None,
    separator: str | None = None,
    weights: str = "counts",
) -> Any:
    """Load the input of a command: a graph or ratings, in memory or in shards.

    `weights`: the model of real-valued weights; they are then read, whatever the objective."""
    if Path(path).is_dir():
        columns = {**session.reading.for_graph(), **session.reading.for_ratings()}
        return load_shards(path, {"format": format, "separator": separator, **columns})
    if objective in _RATINGS:
        return load_ratings(
            session,
            path,
            likes=objective == "likes",
            format=format,
            separator=separator,
        )
    return load_graph(
        session,
        path,
        directed=objective.startswith("directed"),
        weighted=objective == "weighted" or weights != "counts",
        signed=weights == "normal",
        format=format,
        separator=separator,
    )


def load_graph(
    session: Session,
    path: str,
    *,
    directed: bool = False,
    weighted: bool = False,
    signed: bool = False,
    format: str | None = None,
    separator: str | None = None,
    notify: Notify | None = None,
) -> Graph:
    """Load the graph of a command's argument; remarks about cleaning are printed."""
    from coterie.data.readers import read_graph

    return read_graph(
        file_or_dataset(path),
        directed=directed,
        weighted=weighted,
        signed=signed,
        format=format,
        separator=separator,
        threads=session.threads,
        on_recognised=notify or _say(session),
        **session.reading.for_graph(),
    )


def load_graph_for_sketch(
    session: Session, path: str, *, format: str | None = None, separator: str | None = None
) -> Graph:
    """Load a graph that a sketch can protect: a file with directions or weights is an error.

    To read such a file without them would spend privacy on something else than the file says.
    The exact size of the graph is not printed: logs are published more easily than data.
    """

    def check(found: Recognised) -> None:
        session.say(replace(found, contents="graph").line())
        if found.declared_directed:
            raise InputError(
                "the file says that its edges are directed; a sketch protects undirected edges",
                path=path,
                remedy="save the network as an undirected one",
            )
        weights = [name for name in found.unread if name.strip("'\"").lower() in _WEIGHT_NAMES]
        if weights:
            raise InputError(
                f"the edges have weights ({weights[0]}), which a sketch does not protect or keep",
                path=path,
                remedy="remove the weights from the file",
            )
        if "column 3" in found.unread:  # a file without a header: nobody says what it holds
            raise InputError(
                "the file has a third column without a name; if it holds weights, a sketch does "
                "not protect or keep them",
                path=path,
                remedy="remove the column, or give the columns names",
            )

    with warnings.catch_warnings():  # the error above says what to do with a third column
        warnings.filterwarnings("ignore", message=".*column 3 was not read")
        return load_graph(session, path, format=format, separator=separator, notify=check)


def file_or_dataset(path: str) -> str:
    """Return the path of a file; the name of a data set such as karate stands for its file.

    >>> file_or_dataset("karate").endswith("karate.csv"), file_or_dataset("-")
    (True, '-')
    """
    from coterie.data.datasets import REGISTRY, local_path

    if path in REGISTRY and not Path(path).exists():
        return str(local_path(REGISTRY[path]) or path)
    return path


def _say(session: Session) -> Notify:
    """Return a function that says in one line what was recognised."""
    return lambda found: session.say(found.line())


def load_shards(path: str, reading: Mapping[str, object], *, holds: str | None = None) -> Any:
    """Open a folder that `coterie shard` made; `holds` restricts it to graphs or ratings.

    The folder records how its data were read, so the options in `reading` are refused.
    """
    from coterie.engine.sharded_data import RATINGS, ShardedRatings, open_shards

    for name, value in reading.items():
        if value is not None and value is not False:
            raise InputError(
                f"--{name} applies to files, and this is a folder of shards",
                path=path,
                remedy=f"leave out --{name}",
            )
    data = open_shards(path)
    if holds is not None and isinstance(data, ShardedRatings) != (holds == RATINGS):
        raise InputError(
            f"the shards hold no {holds}",
            path=path,
            remedy=f"give a file of {holds}, or a folder of shards made from one",
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
    notify: Notify | None = None,
) -> Ratings:
    """Load the ratings of a command's argument; remarks about merging are printed."""
    from coterie.data.readers import read_ratings

    if Path(path).is_dir():
        columns = session.reading.for_ratings()
        reading = {"likes": likes, "format": format, "separator": separator, **columns}
        loaded: Ratings = load_shards(path, reading, holds="ratings").load()
        return loaded
    return read_ratings(
        file_or_dataset(path),
        likes=likes,
        merge=merge,
        format=format,
        separator=separator,
        threads=session.threads,
        on_recognised=notify or _say(session),
        **session.reading.for_ratings(),
    )


def refuse_report_of_shards(report: Path | None, path: str) -> None:
    """Raise InputError for --report with shards: the page draws data in memory."""
    if report is not None and Path(path).is_dir():
        raise InputError(
            "--report is not available for a folder of shards", remedy="use --out instead"
        )


def parse_groups(text: str) -> int | tuple[int, int]:
    """Parse "10", or "10,5" for users and items, as the value of --groups.

    >>> parse_groups("10,5")
    (10, 5)
    """
    return _parse_counts("--groups", text, "give K, or K,L for users and items")


def parse_blocks(text: str) -> int | tuple[int, int] | str:
    """Parse "10", "10,5", "auto" or "nested" as the value of --blocks.

    >>> parse_blocks("10,5"), parse_blocks("auto")
    ((10, 5), 'auto')
    """
    if text in ("auto", "nested"):
        return text
    return _parse_counts("--blocks", text, "give K, K,L for users and items, auto or nested")


def _parse_counts(option: str, text: str, remedy: str) -> int | tuple[int, int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2) or min(numbers) < 1:
        raise InputError(f"{option} {text} is not a positive number", remedy=remedy)
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])

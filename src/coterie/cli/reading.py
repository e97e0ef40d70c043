"""Reading the input of a command: the options that say how, and the readers.

`@command(reads=…)` adds these options to a command; `session.reading` has those that were given.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.base.errors import InputError

if TYPE_CHECKING:
    from coterie.cli.session import Session
    from coterie.data import Graph, Ratings
    from coterie.data.table import Notify, Recognised

TEXT = ("header", "format", "separator", "sheet")
GRAPH = (*TEXT, "source", "target", "weight")
RATINGS = (*TEXT, "user", "item", "rating", "time")
ANYTHING = tuple(dict.fromkeys(GRAPH + RATINGS))

RATING_OBJECTIVES = ("ratings", "binomial", "likes")  # with users and items
_WEIGHT_NAMES = frozenset({"weight", "weights"})


@dataclass(frozen=True)
class Reading:
    """How a command reads its input: the options of the readers that were given."""

    given: dict[str, Any] = field(default_factory=dict)
    dry_run: bool = False

    def for_graph(self) -> dict[str, Any]:
        """Return the arguments of `read_graph`; columns of ratings are refused."""
        return self._without(RATINGS[len(TEXT) :], "ratings, and this is a graph")

    def for_ratings(self) -> dict[str, Any]:
        """Return the arguments of `read_ratings`; columns of graphs are refused."""
        return self._without(GRAPH[len(TEXT) :], "graphs, and these are ratings")

    def _without(self, names: Sequence[str], applies_to: str) -> dict[str, Any]:
        for name in names:
            if name in self.given:
                raise InputError(f"--{name} applies to {applies_to}", remedy=f"leave out --{name}")
        return dict(self.given)


def load_data(session: Session, path: str, objective: str, *, weights: str = "counts") -> Any:
    """Load the input of a command: a graph or ratings, in memory or in shards.

    `weights`: the model of real-valued weights; they are then read, whatever the objective."""
    if Path(path).is_dir():
        return load_shards(session, path)
    if objective in RATING_OBJECTIVES:
        return load_ratings(session, path, likes=objective == "likes")
    return load_graph(
        session,
        path,
        directed=objective.startswith("directed"),
        weighted=objective == "weighted" or weights != "counts",
        signed=weights == "normal",
    )


def load_graph(session: Session, path: str, *, notify: Notify | None = None, **kind: bool) -> Graph:
    """Load the graph of a command's argument; remarks about cleaning are printed.

    `kind`: whether it is directed, weighted or signed."""
    from coterie.data.readers import read_graph

    return read_graph(
        file_or_dataset(path),
        threads=session.threads,
        on_recognised=notify or _say(session),
        **kind,
        **session.reading.for_graph(),
    )


def load_ratings(
    session: Session,
    path: str,
    *,
    likes: bool = False,
    merge: bool = True,
    notify: Notify | None = None,
) -> Ratings:
    """Load the ratings of a command's argument; remarks about merging are printed."""
    from coterie.data.readers import read_ratings

    if Path(path).is_dir():
        loaded: Ratings = load_shards(session, path, holds="ratings", likes=likes).load()
        return loaded
    return read_ratings(
        file_or_dataset(path),
        likes=likes,
        merge=merge,
        threads=session.threads,
        on_recognised=notify or _say(session),
        **session.reading.for_ratings(),
    )


def load_two_mode(session: Session, path: str) -> tuple[Ratings, tuple[str, str]]:
    """Load a network with two kinds of nodes, and what the kinds are called: as their columns."""
    from coterie.data.readers import read_ratings

    found: list[Recognised] = []
    other = {"source": "user", "target": "item"}
    given = {other.get(name, name): value for name, value in session.reading.given.items()}
    data = read_ratings(
        file_or_dataset(path),
        likes=True,
        threads=session.threads,
        on_recognised=found.append,
        **given,
    )
    contents = (
        f"two-mode network of {data.n_users:,} and {data.n_items:,} nodes, {len(data):,} edges"
    )
    session.say(replace(found[0], contents=contents).line())
    first, second = (found[0].columns[name].strip("'") for name in ("user", "item"))
    return data, (first, second)


def load_graph_for_sketch(session: Session, path: str) -> Graph:
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
        for cleaned in ("dropped", "merged"):  # how many is an exact figure of the network
            warnings.filterwarnings("ignore", message=rf"(?s).*\d .* {cleaned}")
        return load_graph(session, path, notify=check)


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


def load_shards(
    session: Session, path: str, *, holds: str | None = None, likes: bool = False
) -> Any:
    """Open a folder that `coterie shard` made; `holds` restricts it to graphs or ratings.

    The folder records how its data were read, so options about that are refused.
    """
    from coterie.engine.sharded_data import RATINGS as SHARDED_RATINGS
    from coterie.engine.sharded_data import ShardedRatings, open_shards

    for name in [*(["likes"] if likes else []), *session.reading.given]:
        raise InputError(
            f"--{name} applies to files, and this is a folder of shards",
            path=path,
            remedy=f"leave out --{name}",
        )
    data = open_shards(path)
    if holds is not None and isinstance(data, ShardedRatings) != (holds == SHARDED_RATINGS):
        raise InputError(
            f"the shards hold no {holds}",
            path=path,
            remedy=f"give a file of {holds}, or a folder of shards made from one",
        )
    return data


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

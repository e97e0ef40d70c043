"""`coterie shard`: split an input into shards on storage that every worker of a cluster reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.base.json_values import JsonObject
from coterie.cli.reading import ANYTHING
from coterie.cli.session import Session, command, stopwatch

if TYPE_CHECKING:
    from coterie.engine.sharding import GraphSharding, RatingSharding

EXAMPLES = """\b
Examples:
  coterie shard edges.txt.gz --out shards
  coterie shard 'data/*.parquet' --out shards
  coterie shard ratings.csv --objective ratings --shards 16 --out shards
  coterie cluster shards --blocks 100 --engine dask
"""


_READS = tuple(name for name in ANYTHING if name not in ("format", "sheet"))


@command(unused=("seed",), reads=_READS)
def run(
    session: Session,
    data: list[str],
    out: Path,
    objective: str = "simple",
    shards: int | None = None,
) -> JsonObject:
    """Split an input larger than memory into shards.

    The input may be several files: a quoted pattern, or a folder of Parquet files. They are read
    twice, which needs little memory. The folder can be given to `coterie cluster`,
    `coterie soft` and `coterie recommend fit` in place of a file.
    """
    from coterie.engine.sharding import shard_graph, shard_ratings

    with session.progress("sharding") as callback, stopwatch() as seconds:
        options: dict[str, Any] = {
            "shards": shards,
            "threads": session.threads,
            "callback": callback,
        }
        made: GraphSharding | RatingSharding
        if objective == "ratings":
            made = shard_ratings(data, out, **session.reading.for_ratings(), **options)
            loops, what = 0, "ratings"
            contents = (
                f"{_count(made.n_ratings, 'rating')} by {_count(made.n_users, 'user')} of "
                f"{_count(made.n_items, 'item')}"
            )
        else:
            made = shard_graph(
                data,
                out,
                directed=objective == "directed",
                weighted=objective == "weighted",
                **session.reading.for_graph(),
                **options,
            )
            loops, what = made.self_loops, "edges"
            contents = f"{_count(made.n_edges, 'edge')} of {_count(made.n_nodes, 'node')}"
    if loops or made.merged:
        session.say(f"{loops:,} self-loops dropped, {made.merged:,} repeated {what} merged")
    session.show(f"{contents} written as {_count(made.shards, 'shard')} to {out}")
    return made._asdict() | {"seconds": seconds()}


def _count(number: int, noun: str) -> str:
    """Write a number with its noun.

    >>> _count(1, "shard"), _count(1737, "rating")
    ('1 shard', '1,737 ratings')
    """
    return f"{number:,} {noun}" + "s" * (number != 1)

"""`coterie shard`: fixed shards of an input, on storage that every worker of a cluster reads."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from coterie.cli.input_options import SeparatorOption
from coterie.cli.session import Session, command, stopwatch


class Objective(StrEnum):
    """What the rows of the input are."""

    simple = "simple"
    directed = "directed"
    weighted = "weighted"
    ratings = "ratings"


@command
def run(
    session: Session,
    data: Annotated[Path, typer.Argument(metavar="INPUT", help="An edge list or ratings.")],
    out: Annotated[Path, typer.Option("--out", help="A new folder that every worker reaches.")],
    shards: Annotated[
        int | None, typer.Option("--shards", min=1, help="How many; follows from the size if not.")
    ] = None,
    objective: Annotated[
        Objective, typer.Option("--objective", "--kind", help="What the rows are.")
    ] = Objective.simple,
    separator: SeparatorOption = None,
) -> dict[str, Any]:
    """Cut an input of any size into shards by rows, in two streaming passes."""
    from coterie.engine.sharding import shard_graph, shard_ratings

    with session.progress("sharding") as callback, stopwatch() as seconds:
        options: dict[str, Any] = {
            "shards": shards,
            "separator": separator,
            "threads": session.threads,
            "callback": callback,
        }
        if objective is Objective.ratings:
            made = shard_ratings(data, out, **options)
        else:
            made = shard_graph(
                data,
                out,
                directed=objective is Objective.directed,
                weighted=objective is Objective.weighted,
                **options,
            )
    entries = made.get("n_edges", made.get("n_ratings"))
    if made.get("self_loops") or made["merged"]:
        session.say(f"{made.get('self_loops', 0):,} self-loops dropped, {made['merged']:,} merged")
    session.show(f"{made['shards']} shards of {made['rows']:,} rows, {entries:,} entries in {out}")
    return made | {"seconds": seconds()}

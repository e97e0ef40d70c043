"""`coterie benchmark`: our methods beside others, on data of yours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli.input_options import FormatOption, GraphArgument, SeparatorOption, load_graph
from coterie.cli.session import Session, command, stopwatch

if TYPE_CHECKING:
    from rich.table import Table

app = typer.Typer(no_args_is_help=True, help="Our methods beside others, on data of yours.")


@app.callback()
def _group() -> None:
    """Our methods beside others, on data of yours."""


@app.command("anonymize")
@command
def anonymize(
    session: Session,
    graph: GraphArgument,
    blocks: Annotated[
        int | None, typer.Option(min=1, help="Blocks; half the square root of the nodes.")
    ] = None,
    min_class_size: Annotated[
        int, typer.Option(min=1, help="People in the smallest class at least.")
    ] = 10,
    format: FormatOption = None,
    separator: SeparatorOption = None,
) -> dict[str, Any]:
    """Techniques to publish a graph: how alike their graphs are, and whom attacks find in them."""
    from coterie.anonymize.baselines.benchmark import benchmark

    original = load_graph(session, graph, format=format, separator=separator)
    with stopwatch() as seconds, session.progress("benchmark") as callback:
        rows = benchmark(
            original,
            blocks,
            min_class_size=min_class_size,
            engine=session.engine(),
            rng=session.seed,
            callback=callback,
        )
        result = {"rows": rows, "seconds": seconds()}
    session.show(_table(rows))
    return result


def _table(rows: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    shown = {
        "global_clustering": "GCC",
        "average_local_clustering": "local",
        "average_path_length": "APL",
        "degree_ks": "KS",
        "degree_max": "max deg",
        "isolates": "isolates",
        "precision": "precision",
        "all_claimed": "all claimed",
        "h2_unique": "H2",
        "true_edges": "true edges",
    }
    found = [key for key in rows[-1] if key.startswith("found_")]
    columns = {**shown, **{key: f"{key.split('_')[1]} seeds" for key in found}}
    table = Table(box=None, padding=(0, 1))
    table.add_column("technique", no_wrap=True)
    for name in columns.values():
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        cells = (row.get(key) for key in columns)
        table.add_row(
            row["technique"],
            *("" if c is None else f"{c:.3g}" if c < 1000 else f"{c:.0f}" for c in cells),
        )
    return table


def _figure(value: float | None) -> str:
    """Three places, counts whole, nothing where nothing was measured."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"

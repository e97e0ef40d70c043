"""`coterie benchmark`: compare coterie with other techniques on your data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from coterie.base.json_values import JsonObject
from coterie.cli.anonymize import BlocksOption, MinClassSizeOption
from coterie.cli.input_options import FormatOption, GraphArgument, SeparatorOption, load_graph
from coterie.cli.session import Session, command, stopwatch

if TYPE_CHECKING:
    from rich.table import Table

    from coterie.anonymize.baselines.benchmark import BenchmarkRow

app = typer.Typer(no_args_is_help=True, help="Compare coterie with other techniques on your data.")


@app.callback()
def _group() -> None:
    """Compare coterie with other techniques on your data."""


@app.command("anonymize")
@command
def anonymize(
    session: Session,
    graph: GraphArgument,
    blocks: BlocksOption = None,
    min_class_size: MinClassSizeOption = 10,
    format: FormatOption = None,
    separator: SeparatorOption = None,
) -> JsonObject:
    """Compare nine ways to publish a graph: utility and risk.

    Publishes GRAPH with each technique, measures how similar the result is, and attacks it.

    Example: coterie benchmark anonymize friends.csv --blocks 60
    """
    from coterie.anonymize.baselines.benchmark import benchmark
    from coterie.anonymize.output.json_form import benchmark_json

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
        result = {"rows": benchmark_json(rows), "seconds": seconds()}
    session.show(_table(rows))
    session.show(
        "The last columns count the people whom attacks guess right: by the degrees of all "
        "neighbours, with a guess for everyone, and by the seeded attack that knows some people."
    )
    return result


def _table(rows: list[BenchmarkRow]) -> Table:
    """Return utility and risk of each technique."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 1))
    table.add_column("technique", no_wrap=True)
    seeded = rows[-1].risk.seeded if rows[-1].risk else []
    for name in (
        "global clustering",
        "local clustering",
        "path length",
        "degree KS",
        "max degree",
        "isolates",
        "true edges",
        "neighbour degrees",
        "guess everyone",
        *(f"{found.seeds} known" for found in seeded),
    ):
        table.add_column(name, justify="right")
    for row in rows:
        m, risk = row.measures, row.risk
        figures: list[float] = [
            m.global_clustering,
            m.average_local_clustering,
            m.average_path_length,
            row.degree_ks,
            m.degree_max,
            m.isolates,
        ]
        if risk is not None:
            figures += [risk.true_edges, risk.unique_by_neighbour_degrees, risk.guess_everyone]
            figures += [found.correct for found in risk.seeded]
        table.add_row(row.technique, *(f"{x:.3g}" if x < 1000 else f"{x:.0f}" for x in figures))
    return table

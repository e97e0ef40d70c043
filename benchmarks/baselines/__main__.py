"""Compare coterie with other techniques on your data.

python -m benchmarks.baselines anonymize GRAPH --blocks 60
python -m benchmarks.baselines private GRAPH --epsilon 0.5,1,2
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from coterie.base.json_values import JsonObject
from coterie.cli.options import Option
from coterie.cli.reading import GRAPH, load_graph
from coterie.cli.session import Session, command, stopwatch

if TYPE_CHECKING:
    from fractions import Fraction

    from rich.table import Table

    from .benchmark import BenchmarkRow
    from .private_benchmark import PrivateBenchmarkRow

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
def _group() -> None:
    """Compare coterie with other techniques on your data."""


@app.command("anonymize")
@command(reads=GRAPH)
def anonymize(
    session: Session,
    graph: str,
    blocks: int | None = None,
    min_class_size: int = 10,
) -> JsonObject:
    """Compare nine ways to publish a graph: utility and risk.

    Publishes GRAPH with each technique, measures how similar the result is, and attacks it.

    Example: python -m benchmarks.baselines anonymize friends.csv --blocks 60
    """
    from .benchmark import benchmark, benchmark_json

    original = load_graph(session, graph)
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
    session.show("The last columns count the people whom each attack guesses right.")
    return result


def _table(rows: list[BenchmarkRow]) -> Table:
    """Return utility and risk of each technique."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 1))
    table.add_column("technique", no_wrap=True)
    found = rows[-1].risk.found if rows[-1].risk else {}
    for name in (
        "global clustering",
        "local clustering",
        "path length",
        "degree KS",
        "max degree",
        "isolates",
        "true edges",
        *found,
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
            figures += [risk.true_edges, *risk.found.values()]
        table.add_row(row.technique, *(f"{x:.3g}" if x < 1000 else f"{x:.0f}" for x in figures))
    return table


@app.command("private")
@command(
    reads=GRAPH,
    options={
        "seed": Option(
            "Seed of the draws and of the order of the nodes. The noise of the private answers "
            "always comes from the operating system, so two runs differ.",
            metavar="N",
            least=0,
        ),
        "epsilon": Option(
            "Privacy parameters, decimal numbers separated by commas, e.g. 0.5,1,2.",
            metavar="E,E,…",
        ),
        "draws": Option(
            "Graphs per technique and epsilon; each one comes from its own sketch.",
            metavar="N",
            least=1,
        ),
    },
)
def private(
    session: Session,
    graph: str,
    epsilon: str = "0.5,1,2",
    draws: int = 10,
) -> JsonObject:
    """Compare private graph generators on the 15 queries of PGB.

    Draws graphs from private sketches, from the configuration model with private degrees and by
    randomized response, and from the release that is not private, and compares each with GRAPH.

    The result is not private: it is computed from the original. Nothing is written, neither a
    sketch nor an entry in the ledger.

    Example: python -m benchmarks.baselines private friends.csv --epsilon 0.5,1,2 --draws 10
    """
    from coterie.anonymize.private.budget import parse_epsilon

    from .private_benchmark import private_benchmark, private_benchmark_json

    values = [parse_epsilon(part) for part in epsilon.split(",")]
    original = load_graph(session, graph)
    session.say("A benchmark compares with the original: its figures are not private.")
    with stopwatch() as seconds, session.progress("benchmark") as callback:
        rows = private_benchmark(
            original,
            values,
            draws=draws,
            engine=session.engine(),
            rng=session.seed,
            callback=callback,
        )
        result = {"rows": private_benchmark_json(rows), "private": False, "seconds": seconds()}
    for value in values:
        session.show(_private_table(rows, value))
    session.show(
        "Mean ± standard deviation over the draws. Relative errors, unless the row says otherwise; "
        "lower is better, unless the row says otherwise."
    )
    return result


def _private_table(rows: list[PrivateBenchmarkRow], epsilon: Fraction) -> Table:
    """Return one row per query and one column per technique, for one epsilon."""
    from rich.table import Table

    from .pgb_queries import QUERY_NAMES

    shown = [row for row in rows if row.epsilon in (epsilon, None)]
    title = f"epsilon = {float(epsilon):g}"
    table = Table(box=None, padding=(0, 2), title=title, title_justify="left")
    table.add_column("query", no_wrap=True)
    for row in shown:
        table.add_column(row.technique, justify="right")
    for key, name in QUERY_NAMES.items():
        table.add_row(name, *(_private_cell(row, key) for row in shown))
    blocks = [row.blocks for row in shown]
    for name, place in (
        ("blocks of the sketch: modularity in the original", 0),
        ("blocks of the sketch: AMI with its communities", 1),
    ):
        table.add_row(name, *("" if each is None else f"{each[place]:.3g}" for each in blocks))
    return table


def _private_cell(row: PrivateBenchmarkRow, key: str) -> str:
    if row.mean is None:
        return "not run"
    mean = f"{getattr(row.mean, key):.3g}"
    return mean if row.sd is None else f"{mean} ± {getattr(row.sd, key):.2g}"


if __name__ == "__main__":
    app(prog_name="python -m benchmarks.baselines")

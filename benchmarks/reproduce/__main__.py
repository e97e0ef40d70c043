"""Compute the tables and figures of the paper on this machine.

make reproduce QUICK=1 OUT=results
python -m benchmarks.reproduce table2 --out results
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from coterie.base.json_values import JsonObject
from coterie.cli.options import Option
from coterie.cli.session import Session, command

if TYPE_CHECKING:
    from .write_page import Reproduction

_BUDGET, _QUICK_BUDGET = 15.0, 1.0  # seconds per fit

EXAMPLES = """\b
Names of tables and figures:
  table2, table3     Tables 2 and 3
  fig4, fig5         Figures 3 and 4: entropy over time
  fig-alpha-caida    Figure 5: nodes moved at once, CAIDA
  fig-alpha-astroph  Figure 6: nodes moved at once, astro-ph
  fig-entropy        Figure 7: entropy against the number of blocks
  fig-apl            Figure 8: average path length of released graphs
  fig-gcc            Figure 9: global clustering of released graphs
  fig-degree         Figure 10: degree distribution of released graphs
  fig-tradeoff       the trade-off between utility and anonymity (no figure in the paper)

\b
Examples:
  python -m benchmarks.reproduce table2 --out results
  python -m benchmarks.reproduce all --quick --out results
"""


app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


_OPTIONS = {
    "what": Option("Table or figure (see the names below), or all.", metavar="NAME", argument=True),
    "out": Option("Folder for index.html and the CSV, JSON and SVG files.", metavar="DIR"),
    "quick": Option("Run fewer folds, sizes and iterations: about two minutes for all."),
    "budget": Option(
        "Seconds per fit, equal for all methods "
        f"(default: {_BUDGET:g}; with --quick {_QUICK_BUDGET:g}).",
        metavar="SECONDS",
        least=0.1,
    ),
}


@app.command(epilog=EXAMPLES)
@command(options=_OPTIONS)
def run(
    session: Session,
    what: str,
    out: Path,
    quick: bool = False,
    budget: float | None = None,
) -> JsonObject:
    """Reproduce the tables and figures of the paper.

    Runs the experiments of Prost & Yoon on the same data and reports which of the paper's claims
    hold.
    """
    from . import reproduce
    from .settings import Setting

    seconds = budget if budget is not None else _QUICK_BUDGET if quick else _BUDGET
    with session.engine() as engine, session.progress("reproduce") as callback:
        setting = Setting(session.seed, seconds, quick, engine, callback)
        reproduction = reproduce(what, setting, out)
    _show(session, reproduction)
    session.show(f"\nreport: {out / 'index.html'}")
    return reproduction.as_dict()


def _show(session: Session, reproduction: Reproduction) -> None:
    from rich.table import Table

    for outcome in reproduction.outcomes:
        for panel in outcome.tables:
            table = Table(title=outcome.title, title_justify="left")
            for column in panel.table.columns:
                table.add_column(column, justify="left" if column == "method" else "right")
            for row in panel.table.rows:
                table.add_row(*map(_text, row))
            session.show(table)
    claims = Table(title="Claims", title_justify="left", show_lines=False)
    for column in ("verdict", "claim", "measured"):
        claims.add_column(column, overflow="fold")
    for _, claim in reproduction.claims:
        claims.add_row(claim.verdict, claim.text, claim.numbers)
    session.show(claims)


def _text(value: str | float | int | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 100 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else value


if __name__ == "__main__":
    app(prog_name="python -m benchmarks.reproduce")

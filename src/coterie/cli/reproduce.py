"""`coterie reproduce`: the paper's tables and figures, made again on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from coterie.cli.session import Session, command


@command
def run(
    session: Session,
    what: Annotated[str, typer.Argument(help="fig4, table2, fig-gcc … or all.")],
    out: Annotated[Path, typer.Option(help="Folder for index.html, CSV, JSON and SVG files.")],
    quick: Annotated[bool, typer.Option("--quick", help="A first look in two minutes.")] = False,
    budget: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds a fit, equal for all (15; quick: 1).")
    ] = None,
) -> dict[str, Any]:
    """Make tables and figures of the paper again, and say which of its claims hold."""
    from coterie.reproduce import reproduce
    from coterie.reproduce.settings import Setting

    seconds = budget if budget is not None else 1.0 if quick else 15.0
    with session.engine() as engine, session.progress("reproduce") as callback:  # type: ignore[attr-defined]
        setting = Setting(session.seed, seconds, quick, engine, callback)
        result = reproduce(what, setting, out)
    _show(session, result)
    session.show(f"\nThe page: {out / 'index.html'}")
    return result


def _show(session: Session, result: dict[str, Any]) -> None:
    from rich.table import Table

    for part in result["results"].values():
        for rows in part["tables"]:
            table = Table(title=part["title"], title_justify="left")
            for column in rows[0] if rows else ():
                table.add_column(column, justify="left" if column == "method" else "right")
            for row in rows:
                table.add_row(*(_text(v) for v in row.values()))
            session.show(table)
    claims = Table(title="Claims", title_justify="left", show_lines=False)
    for column in ("verdict", "claim", "measured"):
        claims.add_column(column, overflow="fold")
    for claim in result["claims"]:
        claims.add_row(claim["verdict"], claim["text"], claim["numbers"])
    session.show(claims)


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 100 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)

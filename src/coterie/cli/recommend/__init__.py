"""`coterie recommend …`: one file per command."""

from __future__ import annotations

import typer

from coterie.cli.recommend import compare, evaluate, explain, fit, predict, similar, top, update

app = typer.Typer(
    help="Predict ratings, rank items and explain predictions.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("fit")(fit.run)
app.command("predict")(predict.run)
app.command("top")(top.run)
app.command("explain")(explain.run)
app.command("similar")(similar.run)
app.command("evaluate")(evaluate.run)
app.command("compare")(compare.run)
app.command("update")(update.run)

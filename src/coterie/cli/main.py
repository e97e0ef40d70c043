"""The application: every command file registered under its name.

Command files import nothing heavy at the top, so `coterie --help` stays quick.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated

import typer

from coterie.cli.session import INTERRUPTED

app = typer.Typer(
    name="coterie",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

# name -> module of coterie.cli with a function `run` (a command) or `app` (a group of commands)
_COMMANDS = {
    "anonymize": "anonymize",
    "attack": "attack",
    "benchmark": "benchmark",
    "cluster": "cluster",
    "compare": "compare",
    "datasets": "datasets",
    "demo": "demo",
    "doctor": "doctor",
    "recommend": "recommend",
    "reproduce": "reproduce",
    "shard": "shard",
    "soft": "soft",
}


def _print_version(asked: bool) -> None:
    if asked:
        from coterie.base.version import __version__

        typer.echo(f"coterie {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Find the groups in a graph; predict ratings; publish a network without exposing people."""


def _register() -> None:
    for name, module_name in _COMMANDS.items():
        module = import_module(f"coterie.cli.{module_name}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name)
        else:
            app.command(name)(module.run)


def main() -> None:
    """The console script."""
    try:
        _register()
        app()
    except KeyboardInterrupt:  # before or after a command's own handling
        sys.exit(INTERRUPTED)

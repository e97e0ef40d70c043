"""The application: every command file registered under its name.

Command files import nothing heavy at the top, so `coterie --help` stays quick.
"""

from __future__ import annotations

from importlib import import_module

import typer

app = typer.Typer(
    name="coterie",
    help="Find the groups in a graph; predict ratings; publish a network without exposing people.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

# name -> module of coterie.cli with a function `run` (a command) or `app` (a group of commands)
_COMMANDS = {
    "doctor": "doctor",
}


def _register() -> None:
    for name, module_name in _COMMANDS.items():
        module = import_module(f"coterie.cli.{module_name}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name)
        else:
            app.command(name)(module.run)


def main() -> None:
    """The console script."""
    _register()
    app()

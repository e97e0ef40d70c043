"""The command-line application: registers every command under its name.

Command files import nothing heavy at the top, so that `coterie --help` answers at once.
"""

from __future__ import annotations

import inspect
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.base.early_interrupt import INTERRUPTED
from coterie.base.json_values import as_json
from coterie.cli.interruption import end_if_threads_are_busy, watch_interruptions
from coterie.cli.session import BAD_INPUT, error_json

if TYPE_CHECKING:
    from typer.models import CommandInfo

app = typer.Typer(
    name="coterie",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 100},
)

UsageError: Any = typer.BadParameter.__base__  # any mistake in the words of a command

# Modules of coterie.cli with a function `run` (a command) or `app` (a group of commands).
# A module's `EXAMPLES`, or the paragraphs of its docstring that begin with "Example", end the help.
_COMMANDS = (
    "anonymize",
    "app",
    "attack",
    "cluster",
    "compare",
    "datasets",
    "demo",
    "doctor",
    "draw",
    "ledger",
    "recommend",
    "serve",
    "shard",
    "sketch",
    "soft",
    "warmup",
)

# Former command -> what to use instead
_MOVED = {
    "benchmark": "use `python -m benchmarks.baselines` in a clone of the repository",
    "reproduce": "use `make reproduce` in a clone of the repository",
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
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Find groups in networks, predict ratings, and publish networks without exposing people.

    `coterie COMMAND --help` explains a command. `coterie demo` shows all three uses in a minute.
    """


def register_commands(only: str | None = None) -> None:
    """Add every command, or `only` one, to the application; a second call changes nothing."""
    if app.registered_commands or app.registered_groups:
        return
    for name in _COMMANDS if only is None else (only,):
        module = import_module(f"coterie.cli.{name}")
        if hasattr(module, "app"):
            for info in module.app.registered_commands:
                _move_examples_to_the_end(info)
            app.add_typer(module.app, name=name)
        else:
            app.command(name, epilog=getattr(module, "EXAMPLES", None))(module.run)
            if app.registered_commands[-1].epilog is None:
                _move_examples_to_the_end(app.registered_commands[-1])


def _move_examples_to_the_end(info: CommandInfo) -> None:
    """Show the examples of a command's docstring below its options."""
    paragraphs = (inspect.getdoc(info.callback) or "").split("\n\n")
    examples = [p for p in paragraphs if p.removeprefix("\b\n").startswith("Example")]
    if examples:
        info.help = "\n\n".join(p for p in paragraphs if p not in examples)
        info.epilog = "\n\n".join(examples)


def _run() -> int:
    """Run the command of the process; return its exit code."""
    try:
        return int(app(standalone_mode=False) or 0)
    except UsageError as error:
        error.show()
        if "--json" in sys.argv:
            sys.stdout.write(as_json(error_json(error.format_message(), BAD_INPUT)) + "\n")
        return BAD_INPUT


def main() -> None:
    """Run the command line: the entry point of the `coterie` script."""
    try:
        watch_interruptions()
        if sys.stderr is None:
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115  for the rest of the process
        if sys.stdout is None:  # a result could not be printed
            sys.stderr.write(
                "coterie: standard output is closed; redirect it to /dev/null instead\n"
            )
            sys.exit(BAD_INPUT)
        # By default, idle threads of OpenBLAS wait for work on a busy core: half of the processor
        # time of a small `recommend fit`. To be set before NumPy is loaded.
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # 2^4 cycles, the lowest
        # The other commands would only cost time, if the first word is the name of one
        first = sys.argv[1] if len(sys.argv) > 1 else ""
        if first in _MOVED:
            sys.stderr.write(f"coterie: {first} is no longer a command; {_MOVED[first]}\n")
            sys.exit(BAD_INPUT)
        register_commands(first if first in _COMMANDS else None)
        sys.exit(_run())
    except KeyboardInterrupt:  # before or after a command's own handling
        end_if_threads_are_busy(INTERRUPTED)
        sys.exit(INTERRUPTED)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            end_if_threads_are_busy(INTERRUPTED)
        raise

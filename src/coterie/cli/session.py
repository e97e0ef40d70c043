"""What every command shares: its five options, its errors and exit codes, its output.

A command is a function that takes a Session first and returns the dictionary that `--json`
prints; `@command` adds the shared options to its signature and turns errors into exit codes.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.base.errors import (
    AssumptionWarning,
    CoterieError,
    InputError,
    PolicyRefusedError,
)
from coterie.base.json_values import as_json
from coterie.base.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from coterie.engine import Engine

FAILED = 1
BAD_INPUT = 2
REFUSED = 3
INTERRUPTED = 130

# Options whose name differs from the parameter of the library
_OPTION_NAMES = {
    "n_blocks": "blocks",
    "n_groups": "groups",
    "max_iter": "iterations",
    "n_sweeps": "iterations",
    "n_init": "runs",
    "n_chains": "runs",
    "rng": "seed",
    "sep": "separator",
}
_PARAMETER = re.compile(r"`([a-z_]+)(?:=([^`]+))?`")

_SHARED = {
    "seed": (Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")], 0),
    "threads": (
        Annotated[int | None, typer.Option(min=1, help="Threads; all cores if not given.")],
        None,
    ),
    "json_": (
        Annotated[bool, typer.Option("--json", help="One JSON object on stdout, nothing else.")],
        False,
    ),
    "quiet": (Annotated[bool, typer.Option("--quiet", help="Say nothing but the result.")], False),
    "debug": (Annotated[bool, typer.Option("--debug", help="Show tracebacks.")], False),
}


@dataclass
class Session:
    """One run of a command: its shared options, and where it may speak."""

    seed: int = 0
    threads: int | None = None
    json: bool = False
    quiet: bool = False
    debug: bool = False
    interrupted: bool = False  # set by a command that stopped early but kept its results
    assumed: list[str] = field(default_factory=list)  # what the library remarked on, for reports
    _said: set[str] = field(default_factory=set)

    def say(self, text: str) -> None:
        """A line for the person, once, on stderr."""
        if not self.quiet and text not in self._said:
            self._said.add(text)
            self.errors.print(text, markup=False, highlight=False, soft_wrap=True)

    def show(self, renderable: Any) -> None:
        """The human form of the result (text or a rich table) on stdout; nothing with --json."""
        if not self.json:
            self.output.print(renderable)

    @functools.cached_property
    def errors(self) -> Console:
        from rich.console import Console

        return Console(stderr=True)

    @functools.cached_property
    def output(self) -> Console:
        from rich.console import Console

        return Console(highlight=False, width=None if sys.stdout.isatty() else 160)

    def engine(self) -> Engine:
        """The threads of this process."""
        from coterie.engine import LocalEngine

        return LocalEngine(self.threads)

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[[Progress], None]]:
        """A callback for the library: a bar with entropy and time left, only on a terminal."""
        from coterie.base.progress import silent

        if self.quiet or not sys.stderr.isatty():
            yield silent
            return
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[what]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with Bar(*columns, console=self.errors, transient=True) as bar:
            task = bar.add_task(title, total=None, what="")

            def update(p: Progress) -> None:
                entropy = "" if p.entropy is None else f"S = {p.entropy:,.1f}"
                bar.update(
                    task,
                    description=f"{title}: {p.stage}",
                    completed=p.done,
                    total=p.total,
                    what=" ".join(part for part in (entropy, p.note) if part),
                )

            yield update


def command(run: Callable[..., dict[str, Any]]) -> Callable[..., None]:
    """Make a command of `run(session, ...) -> dict`: shared options, exit codes, JSON."""
    own = list(inspect.signature(run, eval_str=True).parameters.values())[1:]
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, (kind, default) in _SHARED.items()
    ]

    @functools.wraps(run)
    def wrapper(**given: Any) -> None:
        session = Session(
            given.pop("seed"),
            given.pop("threads"),
            given.pop("json_"),
            given.pop("quiet"),
            given.pop("debug"),
        )
        with exit_codes(session), remarks(session):
            result = run(session, **given)
            if session.json:
                sys.stdout.write(as_json(result) + "\n")
                sys.stdout.flush()
        if session.interrupted:
            raise typer.Exit(INTERRUPTED)

    wrapper.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own] + shared
    )
    wrapper.__annotations__ = {p.name: p.annotation for p in own + shared}
    return wrapper


@contextmanager
def remarks(session: Session) -> Iterator[None]:
    """What the library assumed or cleaned is said to the person, each once, as it happens."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", AssumptionWarning)
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, AssumptionWarning):
                session.say(str(message))
                if str(message) not in session.assumed:
                    session.assumed.append(str(message))
            else:
                usual(message, category, *place, **more)

        warnings.showwarning = show  # type: ignore[assignment]
        yield


@contextmanager
def exit_codes(session: Session) -> Iterator[None]:
    """The one place where an error becomes a message and an exit code."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        _fail(session, "interrupted; nothing was written", INTERRUPTED)
    except CoterieError as error:
        _fail(session, spell_options(str(error)), _exit_code(error))
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  the interpreter flushes it at exit
        raise typer.Exit(FAILED) from None
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        _fail(session, f"{name}{error.strerror or error}", BAD_INPUT)
    except MemoryError:
        _fail(session, "out of memory; try a smaller input or fewer blocks", FAILED)
    except Exception as error:
        _fail(session, f"{type(error).__name__}: {error} (--debug shows where)", FAILED)


def spell_options(message: str) -> str:
    """Write the parameters that a message names between backticks as options.

    >>> spell_options("use fewer blocks, for example `n_blocks=20`, or set `force`")
    'use fewer blocks, for example --blocks 20, or set --force'
    """

    def option(match: re.Match[str]) -> str:
        name = _OPTION_NAMES.get(match[1], match[1]).replace("_", "-")
        return f"--{name} {match[2]}" if match[2] not in (None, "True") else f"--{name}"

    return _PARAMETER.sub(option, message)


def _exit_code(error: CoterieError) -> int:
    if isinstance(error, InputError):
        return BAD_INPUT
    return REFUSED if isinstance(error, PolicyRefusedError) else FAILED


def _fail(session: Session, message: str, code: int) -> None:
    if session.debug:
        session.errors.print_exception()
    session.errors.print(f"coterie: {message}", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(code)


@contextmanager
def stopwatch() -> Iterator[Callable[[], float]]:
    """Seconds since the block began."""
    start = time.perf_counter()
    yield lambda: time.perf_counter() - start

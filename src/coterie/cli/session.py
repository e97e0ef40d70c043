"""The parts that all commands share: five options, error messages, exit codes and output.

A command is a function that takes a Session first and returns what `--json` prints (a dictionary
or a dataclass). `@command` adds the shared options to its signature and turns errors into exit
codes.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, overload

import typer

from coterie.base.early_interrupt import INTERRUPTED
from coterie.base.errors import (
    AssumptionWarning,
    CoterieError,
    ImportantWarning,
    InputError,
    LedgerRefusal,
    PolicyRefusedError,
)
from coterie.base.json_values import as_json
from coterie.base.machine import address_space_limit
from coterie.base.progress import Progress
from coterie.cli.dry_run import preview
from coterie.cli.file_arguments import check_outputs
from coterie.cli.reading_options import (
    ReadingOptions,
    optional_for_dry_run,
    reading_parameters,
    take_reading_options,
)
from coterie.kernels.numba.cache import watch_compilations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from coterie.engine import LocalEngine

FAILED = 1
BAD_INPUT = 2
REFUSED = 3

# Options whose name differs from the parameter of the library
_OPTION_NAMES = {
    "absent": "absent-pairs",
    "directed": "objective directed",
    "max_iter": "iterations",
    "n_blocks": "blocks",
    "n_chains": "runs",
    "n_groups": "groups",
    "n_init": "runs",
    "n_sweeps": "iterations",
    "move_score": "score",
    "negatives_per_rating": "negatives",
    "nested": "blocks nested",
    "rng": "seed",
    "weight_model": "weights",
    "weighted": "objective weighted",
}
_PARAMETER = re.compile(r"`([a-z_]+)(?:=([^`]+))?`")
_BLOCK_MODEL = re.compile(r'`BlockModel\("([a-z-]+)"(, nested=True)?\)`')
_K_MEANS = re.compile(r'`GeneralizedKMeans\((\d+)(?:, objective="([a-z-]+)")?\)`')

_ADDRESS_SPACE = 1_000_000_000  # bytes; with 0.7 GB, loading and compiling fail
_COMPILING = "compiling (slow only the first time)"
_COMPILES_ONCE = (
    "compiling numerical code, once; this takes up to a minute "
    "(`coterie warmup` does it for all commands)"
)
_SEED_HELP = "Random seed. The same seed gives the same result, for any number of threads."


def _shared_options(
    seed_help: str, unused: Sequence[str]
) -> dict[str, tuple[Any, int | bool | None]]:
    """Annotation and default of the options that every command has, by parameter name."""
    return {
        "seed": (
            Annotated[
                int,
                typer.Option(min=0, metavar="N", help=seed_help, hidden="seed" in unused),
            ],
            0,
        ),
        "threads": (
            Annotated[
                int | None,
                typer.Option(
                    min=1,
                    metavar="N",
                    help="Number of threads (default: all cores).",
                    hidden="threads" in unused,
                ),
            ],
            None,
        ),
        "json_": (
            Annotated[
                bool,
                typer.Option("--json", help="Print one JSON object on stdout and nothing else."),
            ],
            False,
        ),
        "quiet": (
            Annotated[
                bool, typer.Option("--quiet", help="Print only the result: no progress, no notes.")
            ],
            False,
        ),
        "debug": (
            Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")],
            False,
        ),
    }


@dataclass
class Session:
    """One run of a command: its shared options, and where it prints."""

    seed: int = 0
    threads: int | None = None
    json: bool = False
    quiet: bool = False
    debug: bool = False
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    interrupted: bool = False  # set by a command that stopped early but kept its results
    assumed: list[str] = field(default_factory=list)  # remarks of the library, for reports
    _said: set[str] = field(default_factory=set)

    def say(self, text: str, *, important: bool = False) -> None:
        """Print a line on stderr, once; with --quiet only if it is important."""
        if (important or not self.quiet) and text not in self._said:
            self._said.add(text)
            self.errors.print(text, highlight=False, soft_wrap=True)

    def show(self, renderable: Any) -> None:
        """Print the result for people (text or a rich table) on stdout; nothing with --json."""
        if not self.json:
            self.output.print(renderable)

    @functools.cached_property
    def errors(self) -> Console:
        """The console on stderr: progress, notes and errors."""
        from rich.console import Console

        return Console(stderr=True, markup=False, emoji=False)

    @functools.cached_property
    def output(self) -> Console:
        """The console on stdout: results."""
        from rich.console import Console

        # no markup: titles and ids of the user may contain square brackets
        width = None if sys.stdout.isatty() else 160
        return Console(highlight=False, markup=False, emoji=False, width=width)

    def engine(self) -> LocalEngine:
        """Return an engine that runs on the threads of this process."""
        from coterie.engine import LocalEngine

        return LocalEngine(self.threads)

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[[Progress], None]]:
        """Yield a callback that draws a bar on a terminal, or else writes lines now and then."""
        from coterie.base.progress import silent
        from coterie.cli.plain_progress import PlainProgress

        if self.quiet:
            yield silent
            return
        if not sys.stderr.isatty():
            with PlainProgress(title, self.say) as report:
                yield report
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
                entropy = "" if p.entropy is None else f"entropy {p.entropy:,.1f}"
                stage = _COMPILING if p.stage == "compiling" else p.stage
                bar.update(
                    task,
                    description=f"{title}: {stage}",
                    completed=p.done,
                    total=p.total,
                    what=" ".join(part for part in (entropy, p.note) if part),
                )

            yield update


Body = Callable[..., Any]  # run(session, ...) -> what --json prints


@overload
def command(run: Body) -> Callable[..., None]: ...


@overload
def command(
    *, seed_help: str = ..., unused: Sequence[str] = ...
) -> Callable[[Body], Callable[..., None]]: ...


def command(
    run: Body | None = None, *, seed_help: str = _SEED_HELP, unused: Sequence[str] = ()
) -> Callable[..., Any]:
    """Make a command of `run(session, ...)`: add shared options, exit codes and JSON output.

    `seed_help` replaces the help text of --seed; options in `unused` ("seed", "threads") are
    accepted but not shown in --help.
    """
    if run is None:
        return functools.partial(_make_command, seed_help=seed_help, unused=unused)
    return _make_command(run, seed_help=seed_help, unused=unused)


def _make_command(run: Body, *, seed_help: str, unused: Sequence[str]) -> Callable[..., None]:
    own = list(inspect.signature(run, eval_str=True).parameters.values())[1:]
    added = reading_parameters(own)
    names = {p.name: _user_name(p) for p in own}
    required: list[str] = []
    if any(p.name == "dry_run" for p in added):  # which needs the input, and nothing else
        own, required = optional_for_dry_run(own)
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, (kind, default) in _shared_options(seed_help, unused).items()
    ]

    @functools.wraps(run)
    def wrapper(**given: Any) -> None:
        session = Session(
            given.pop("seed"),
            given.pop("threads"),
            given.pop("json_"),
            given.pop("quiet"),
            given.pop("debug"),
            reading=take_reading_options(given, added),
        )
        with (
            exit_codes(session),
            remarks(session),
            watch_compilations(lambda _: session.say(_COMPILES_ONCE)),
        ):
            _check_address_space()
            check_outputs(given, names)
            if not session.reading.dry_run:
                _check_required(given, required, names)
            result = preview(session, given) if session.reading.dry_run else run(session, **given)
            if session.json:
                sys.stdout.write(as_json(result) + "\n")
                sys.stdout.flush()
        if session.interrupted:
            raise typer.Exit(INTERRUPTED)

    wrapper.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own] + added + shared
    )
    wrapper.__annotations__ = {p.name: p.annotation for p in own + added + shared}
    return wrapper


def _check_required(
    given: Mapping[str, Any], required: Sequence[str], names: Mapping[str, str]
) -> None:
    """Stop as the parser does if an option is missing that only --dry-run does without."""
    for name in required:
        if given[name] is None:
            raise InputError(f"missing option: {names[name]}", remedy=f"add {names[name]}")


def _check_address_space() -> None:
    """Stop if `ulimit -v` leaves too little for Numba, which would end without a clear message."""
    limit = address_space_limit()
    if limit is not None and limit < _ADDRESS_SPACE:
        raise InputError(
            f"out of memory: this shell allows a process {limit / 1e9:.1f} GB of address space, "
            f"and coterie needs at least {_ADDRESS_SPACE / 1e9:.0f} GB",
            remedy="raise the limit (ulimit -v unlimited)",
        )


def _user_name(parameter: inspect.Parameter) -> str:
    """Return what the user calls a parameter: --research-truth, or GRAPH for an argument."""
    from typer.models import ArgumentInfo, OptionInfo

    for note in getattr(parameter.annotation, "__metadata__", ()):
        if isinstance(note, ArgumentInfo):
            return str(note.metavar or parameter.name.upper())
        if isinstance(note, OptionInfo):
            long = [name for name in note.param_decls or () if name.startswith("--")]
            return long[0] if long else "--" + parameter.name.replace("_", "-")
    return parameter.name


@contextmanager
def remarks(session: Session) -> Iterator[None]:
    """Print what the library assumed or cleaned, each remark once, as it happens."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", AssumptionWarning)
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, AssumptionWarning):
                remark = spell_options(str(message))
                session.say(remark, important=issubclass(category, ImportantWarning))
                if remark not in session.assumed:
                    session.assumed.append(remark)
            else:
                usual(message, category, *place, **more)

        warnings.showwarning = show  # type: ignore[assignment]
        yield


@contextmanager
def exit_codes(session: Session) -> Iterator[None]:
    """Turn errors into a message and an exit code; the only place that does."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        _fail(session, "interrupted; nothing was written", INTERRUPTED)
    except CoterieError as error:
        _fail(session, spell_options(str(error)), _exit_code(error))
    except BrokenPipeError:  # the program that reads our output ended, as `| head` does
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  the interpreter flushes it at exit
        raise typer.Exit(FAILED) from None
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        _fail(session, f"{name}{error.strerror or error}", BAD_INPUT)
    except MemoryError:
        _fail(session, "out of memory; use a smaller input or fewer blocks", FAILED)
    except Exception as error:
        _fail(session, f"{type(error).__name__}: {error} (run with --debug to see where)", FAILED)


def spell_options(message: str) -> str:
    """Write the parameters that a message names between backticks as options.

    >>> spell_options("use fewer blocks, for example `n_blocks=20`, or set `force`")
    'use fewer blocks, for example --blocks 20, or set --force'
    >>> spell_options("set `weighted=True` to read column 3")
    'set --objective weighted to read column 3'
    >>> spell_options('try `BlockModel("communities")`')
    'try --objective communities with --blocks auto'
    """
    message = _BLOCK_MODEL.sub(
        lambda call: f"--objective {call[1]} with --blocks {'nested' if call[2] else 'auto'}",
        message,
    )
    message = _K_MEANS.sub(
        lambda call: f"--blocks {call[1]}" + (f" with --objective {call[2]}" if call[2] else ""),
        message,
    )

    def option(match: re.Match[str]) -> str:
        name = _OPTION_NAMES.get(match[1], match[1]).replace("_", "-")
        value = (match[2] or "True").strip("\"'")  # `search="paper"` is --search paper
        if value == "False":
            return f"--no-{name}"
        return f"--{name}" if value == "True" else f"--{name} {value}"

    return _PARAMETER.sub(option, message)


def _exit_code(error: CoterieError) -> int:
    if isinstance(error, InputError):
        return BAD_INPUT
    return REFUSED if isinstance(error, PolicyRefusedError | LedgerRefusal) else FAILED


def _fail(session: Session, message: str, code: int) -> None:
    if session.debug:
        session.errors.print_exception()
    session.errors.print(f"coterie: {message}", highlight=False, soft_wrap=True)
    raise typer.Exit(code)


@contextmanager
def stopwatch() -> Iterator[Callable[[], float]]:
    """Yield a function that returns the seconds since the block began."""
    start = time.perf_counter()
    yield lambda: time.perf_counter() - start

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

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
from coterie.base.json_values import JsonObject, as_json
from coterie.base.machine import address_space_limit
from coterie.base.progress import Progress
from coterie.cli.file_arguments import check_outputs
from coterie.cli.options import Option, option_name, option_of, typer_parameter
from coterie.cli.reading import Reading
from coterie.kernels.numba.cache import watch_compilations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from coterie.engine import LocalEngine

FAILED = 1
BAD_INPUT = 2
REFUSED = 3

_PARAMETER = re.compile(r"`([a-z_]+)(?:=([^`]+))?`")
_BLOCK_MODEL = re.compile(r'`BlockModel\("([a-z-]+)"(, nested=True)?\)`')
_K_MEANS = re.compile(r'`GeneralizedKMeans\((\d+)(?:, objective="([a-z-]+)")?\)`')

_ADDRESS_SPACE = 1_000_000_000  # bytes; with 0.7 GB, loading and compiling fail
_LENGTHS = ("describing", "sampling")  # stages whose progress has a description length
_COMPILING = "compiling (slow only the first time)"
_COMPILES_ONCE = (
    "compiling numerical code, once; this takes up to a minute "
    "(`coterie warmup` does it for all commands)"
)
_SHARED: dict[str, tuple[Any, Any]] = {
    "seed": (int, 0),
    "threads": (int | None, None),
    "json_": (bool, False),
    "quiet": (bool, False),
    "debug": (bool, False),
}
_PUBLISHING = ("anonymize", "publish", "sketch")
_READ: dict[str, Any] = {"header": bool | None}
_NONE: Mapping[str, Option] = MappingProxyType({})


@dataclass
class Session:
    """One run of a command: its shared options, and where it prints."""

    seed: int = 0
    threads: int | None = None
    json: bool = False
    quiet: bool = False
    debug: bool = False
    reading: Reading = field(default_factory=Reading)
    answers: bool = False  # the command answers a question; --quiet does not hide that
    publishes: bool = False  # the command publishes data; --quiet does not hide its warnings
    interrupted: bool = False  # set by a command that stopped early but kept its results
    summary: str = ""  # one line that ends the output
    answered: bool = False  # the JSON object was printed
    assumed: list[str] = field(default_factory=list)  # remarks of the library, for reports
    _said: set[str] = field(default_factory=set)

    def say(self, text: str, *, important: bool = False) -> None:
        """Print a line on stderr, once; with --quiet only if it is important."""
        if (important or not self.quiet) and text not in self._said:
            self._said.add(text)
            self.errors.print(text, highlight=False, soft_wrap=True)

    def show(self, renderable: Any) -> None:
        """Print the result for people (text or a rich table) on stdout; nothing with --json.

        With --quiet, only commands print it whose output is an answer, not a report of work done.
        """
        if not self.json and (self.answers or not self.quiet):
            self.output.print(renderable)

    def answer(self, result: Any) -> None:
        """Print the JSON object, once; nothing without --json. Then, for people, the summary."""
        if self.json and not self.answered:
            sys.stdout.write(as_json(result) + "\n")
            sys.stdout.flush()
        elif self.summary and not self.quiet:
            self.output.print(self.summary, soft_wrap=True)
        self.answered = True

    def show_table(
        self,
        rows: Iterable[Sequence[Any]],
        *columns: str,
        title: str | None = None,
        boxed: bool = False,
        right: Sequence[str] = (),
    ) -> None:
        """Print rows for people; without names of columns, the table has no header.

        `right`: the columns that are aligned right.
        """
        from rich.table import Table

        table = Table(show_header=bool(columns), title=title, title_justify="left")
        if not boxed:
            table.box = None
        for column in columns:
            side: Any = "right" if column in right else "left"
            table.add_column(column, justify=side, overflow="fold")
        for row in rows:
            table.add_row(*map(str, row))
        self.show(table)

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
                what = "description length" if p.stage in _LENGTHS else "entropy"
                value = "" if p.entropy is None else f"{what} {p.entropy:,.1f}"
                stage = _COMPILING if p.stage == "compiling" else p.stage
                bar.update(
                    task,
                    description=f"{title}: {stage}",
                    completed=p.done,
                    total=p.total,
                    what=" ".join(part for part in (value, p.note) if part),
                )

            yield update


Body = Callable[..., Any]  # run(session, ...) -> what --json prints


def command(
    run: Body | None = None,
    *,
    unused: Sequence[str] = (),
    reads: Sequence[str] = (),
    options: Mapping[str, Option] = _NONE,
    answers: bool = False,
) -> Callable[..., Any]:
    """Make a command of `run(session, ...)`: add shared options, exit codes and JSON output.

    The catalogue (`options.py`) describes the parameters, or `options` those that only this
    command has. Shared options in `unused` ("seed", "threads") are accepted but not shown in
    --help. `reads` are the options about the input (`reading.py`); with them comes --dry-run.
    `answers`: what it prints is the answer to a question, which --quiet does not hide.
    """
    if run is None:
        return functools.partial(
            command, unused=unused, reads=reads, options=options, answers=answers
        )
    words = [*run.__module__.removeprefix("coterie.cli.").split("."), run.__name__.strip("_")]
    name = " ".join(words).removesuffix(" run")  # "recommend fit", from where it is defined
    own = list(inspect.signature(run, eval_str=True).parameters.values())[1:]
    types = {key: (_READ.get(key, str | None), None) for key in reads} | _SHARED
    if reads:
        types["dry_run"] = (bool, False)
    added = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for key, (kind, default) in types.items()
    ]
    found = {p.name: options.get(p.name) or option_of(name, p.name) for p in own + added}
    required: list[str] = []
    if reads:  # --dry-run needs the input, and nothing else
        required = [p.name for p in own if p.default is p.empty and not found[p.name].argument]
    parameters = [
        typer_parameter(
            found[p.name], p, hidden=p.name in unused, required_later=p.name in required
        )
        for p in own + added
    ]

    @functools.wraps(run)
    def wrapper(**given: Any) -> None:
        taken = {key.strip("_"): given.pop(key) for key in _SHARED}
        chosen = {key: given.pop(key, None) for key in reads}
        reading = Reading(
            {key: value for key, value in chosen.items() if value is not None},
            given.pop("dry_run", False),
        )
        session = Session(
            **taken,
            reading=reading,
            answers=answers or reading.dry_run,
            publishes=name in _PUBLISHING,
        )
        with (
            exit_codes(session),
            remarks(session),
            watch_compilations(lambda _: session.say(_COMPILES_ONCE)),
        ):
            _check_address_space()
            check_outputs(given, found)
            for key, value in given.items():
                found[key].check(key, value)
            if reading.dry_run:
                from coterie.cli.dry_run import preview

                result = preview(session, given)
            else:
                for key in required:
                    if given[key] is None:
                        raise found[key].missing(key)
                result = run(session, **given)
            session.answer(result)
        if session.interrupted:
            raise typer.Exit(INTERRUPTED)

    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
    wrapper.options = found  # type: ignore[attr-defined]
    return wrapper


def _check_address_space() -> None:
    """Stop if `ulimit -v` leaves too little for Numba, which would end without a clear message."""
    limit = address_space_limit()
    if limit is not None and limit < _ADDRESS_SPACE:
        raise InputError(
            f"out of memory: this shell allows a process {limit / 1e9:.1f} GB of address space, "
            f"and coterie needs at least {_ADDRESS_SPACE / 1e9:.0f} GB",
            remedy="raise the limit (ulimit -v unlimited)",
        )


@contextmanager
def remarks(session: Session) -> Iterator[None]:
    """Print what the library assumed or cleaned, each remark once, as it happens."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", AssumptionWarning)
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, AssumptionWarning):
                remark = spell_options(str(message))
                important = issubclass(category, ImportantWarning) and session.publishes
                session.say(remark, important=important)
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
        _fail(session, spell_options(str(error)), _exit_code(error), error)
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
        name = option_name(match[1])
        value = (match[2] or "True").strip("\"'")  # `search="paper"` is --search paper
        if value == "False":
            return name.replace("--", "--no-", 1)
        return name if value == "True" else f"{name} {value}"

    return _PARAMETER.sub(option, message)


def _exit_code(error: CoterieError) -> int:
    if isinstance(error, InputError):
        return BAD_INPUT
    return REFUSED if isinstance(error, PolicyRefusedError | LedgerRefusal) else FAILED


def _fail(session: Session, message: str, code: int, error: Exception | None = None) -> None:
    if session.debug:
        session.errors.print_exception()
    session.errors.print(f"coterie: {message}", highlight=False, soft_wrap=True)
    session.answer(error_json(message, code, error))
    raise typer.Exit(code)


def error_json(message: str, code: int, error: Exception | None = None) -> JsonObject:
    """Return what --json prints of an error; it has the file and the line, if there are any."""
    path, line = (error.path, error.line) if isinstance(error, InputError) else (None, None)
    place = {"file": None if path is None else str(path), "line": line}
    return {"error": {"message": message, **place}, "exit_code": code}


@contextmanager
def stopwatch() -> Iterator[Callable[[], float]]:
    """Yield a function that returns the seconds since the block began."""
    start = time.perf_counter()
    yield lambda: time.perf_counter() - start

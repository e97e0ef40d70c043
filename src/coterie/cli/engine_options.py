"""`--engine` and `--scheduler`: where the work of a command runs."""

from __future__ import annotations

from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from coterie.base.errors import InputError
from coterie.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coterie.engine import Engine


class Where(StrEnum):
    """Threads of this process, or a Dask cluster."""

    local = "local"
    dask = "dask"


EngineOption = Annotated[
    Where,
    typer.Option(
        "--engine", help="Where the work runs: on the threads of this process, or on Dask workers."
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Address of a running Dask scheduler (default: start a Dask cluster on this "
        "machine). Example: --engine dask --scheduler tcp://10.0.0.5:8786",
    ),
]


@contextmanager
def engine_of(session: Session, where: Where, scheduler: str | None) -> Iterator[Engine]:
    """Yield the engine and close it at the end of the block."""
    if scheduler is not None and where is not Where.dask:
        raise InputError("--scheduler requires Dask", remedy="add --engine dask")
    if where is Where.local:
        engine = session.engine()
    else:
        from coterie.engine.dask import DaskEngine

        engine = DaskEngine(scheduler, workers=session.threads)
        session.say(f"Dask dashboard: {engine.dashboard}")
    try:
        yield engine
    finally:
        engine.close()

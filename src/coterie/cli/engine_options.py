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


class EngineName(StrEnum):
    """Threads of this process, or a Dask cluster."""

    local = "local"
    dask = "dask"


EngineOption = Annotated[
    EngineName,
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
def engine_of(session: Session, name: str, scheduler: str | None) -> Iterator[Engine]:
    """Yield the engine and close it at the end of the block."""
    if scheduler is not None and name != "dask":
        raise InputError("--scheduler requires Dask", remedy="add --engine dask")
    engine: Engine
    if name == "local":
        engine = session.engine()
    else:
        from coterie.engine.dask import DaskEngine

        engine = dask = DaskEngine(scheduler, workers=session.threads)
        session.say(f"Dask dashboard: {dask.dashboard}")
    try:
        yield engine
    finally:
        engine.close()

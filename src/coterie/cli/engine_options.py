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


EngineOption = Annotated[Where, typer.Option("--engine", help="Where the work runs.")]
SchedulerOption = Annotated[
    str | None,
    typer.Option("--scheduler", help="A Dask scheduler, tcp://…; without one a cluster is made."),
]


@contextmanager
def engine_of(session: Session, where: Where, scheduler: str | None) -> Iterator[Engine]:
    """The engine for the length of a block."""
    if scheduler is not None and where is not Where.dask:
        raise InputError("--scheduler is for Dask", remedy="add --engine dask")
    if where is Where.local:
        engine = session.engine()
    else:
        from coterie.engine.dask import DaskEngine

        engine = DaskEngine(scheduler, workers=session.threads)
        session.say(f"Dask shows what it is doing at {engine.dashboard}")
    try:
        yield engine
    finally:
        engine.close()

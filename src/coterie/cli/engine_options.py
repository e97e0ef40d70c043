"""`--engine` and `--scheduler`: where the work of a command runs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from coterie.base.errors import InputError
from coterie.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coterie.engine import Engine


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

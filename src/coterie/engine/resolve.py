"""An engine from what a user passed, closed again if it was made here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from coterie.base.errors import InputError
from coterie.engine.interface import Engine
from coterie.engine.local import LocalEngine


def resolve_engine(engine: str | Engine | None, threads: int | None = None) -> Engine:
    """ "local" (or None) gives the threads of this process, "dask" a cluster of its own on this
    machine; an engine object is used as it is."""
    if engine is None or engine == "local":
        return LocalEngine(threads)
    if engine == "dask":
        from coterie.engine.dask import DaskEngine

        return DaskEngine(workers=threads)
    if isinstance(engine, str):
        raise InputError(
            f"engine={engine!r} is unknown", remedy='give "local", "dask" or an engine object'
        )
    return engine


@contextmanager
def running_engine(engine: str | Engine | None, threads: int | None = None) -> Iterator[Engine]:
    """The engine for the length of a block; closed at its end unless the user brought it."""
    running = resolve_engine(engine, threads)
    try:
        yield running
    finally:
        if running is not engine:
            running.close()

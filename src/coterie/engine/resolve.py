"""Create the engine that a user requested, and close it if it was created here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from coterie.base.errors import InputError
from coterie.engine.interface import Engine
from coterie.engine.local import LocalEngine


def resolve_engine(engine: str | Engine, threads: int | None = None) -> Engine:
    """Return the engine for the name "local" or "dask"; return an engine object unchanged.

    "local" uses the threads of this process, "dask" starts a cluster on this machine.
    """
    if engine == "local":
        return LocalEngine(threads)
    if engine == "dask":
        from coterie.engine.dask import DaskEngine

        return DaskEngine(workers=threads)
    if isinstance(engine, str):
        raise InputError(
            f"unknown engine: {engine!r}", remedy='use "local", "dask" or an engine object'
        )
    return engine


@contextmanager
def running_engine(engine: str | Engine, threads: int | None = None) -> Iterator[Engine]:
    """Provide the engine for a `with` block; close it afterwards unless the caller created it."""
    running = resolve_engine(engine, threads)
    try:
        yield running
    finally:
        if running is not engine:
            running.close()

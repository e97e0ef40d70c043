"""`coterie warmup`: compile every kernel now, on all cores."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from coterie.base.json_values import JsonObject
from coterie.cli.session import FAILED, Session, command, stopwatch

EXAMPLES = """\b
Examples:
  coterie warmup
  coterie warmup --only cluster
"""


class Group(StrEnum):
    """The commands to compile for."""

    all = "all"
    demo = "demo"
    cluster = "cluster"
    soft = "soft"
    recommend = "recommend"
    anonymize = "anonymize"
    compare = "compare"
    sketch = "sketch"


@command(unused=("seed",))
def run(
    session: Session,
    only: Annotated[
        Group, typer.Option(help="Compile what these commands need (default: everything).")
    ] = Group.all,
) -> JsonObject:
    """Compile the numerical code of all commands, once, on all cores.

    Without it, the first commands on a large input compile what they need, which takes up to a
    minute. Takes one to three minutes and about 1 GB of memory per core; a second call finds
    everything compiled. --threads N limits the number of processes.
    """
    import tempfile
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context
    from pathlib import Path

    from coterie.base.machine import available_cores
    from coterie.base.progress import Progress
    from coterie.cli.warmup_runs import DEMO, RUNS, prepare_process, run_lines, write_inputs
    from coterie.kernels.numba.cache import cache_folder, compiled_files

    if only is Group.all:
        chains = list(RUNS.values())
    else:
        chains = DEMO if only is Group.demo else [RUNS[only]]
    folder = cache_folder()
    if folder is None:
        session.say(
            "no folder for compiled code can be written to: set NUMBA_CACHE_DIR to one that can",
            important=True,
        )
        raise typer.Exit(FAILED)
    before = compiled_files()
    failed = []
    workers = min(session.threads or available_cores(), len(chains))
    session.say(f"compiling numerical code in {workers} processes: a minute or more, once …")
    with (
        stopwatch() as seconds,
        tempfile.TemporaryDirectory() as work,
        session.progress("compiling") as callback,
    ):
        write_inputs(Path(work))
        pool = ProcessPoolExecutor(
            workers, get_context("spawn"), initializer=prepare_process, initargs=(work,)
        )
        with pool:
            jobs = [pool.submit(run_lines, chain) for chain in chains]
            try:
                for done, job in enumerate(as_completed(jobs), 1):
                    failed += job.result()
                    callback(Progress("kernels", done, len(jobs)))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        taken = seconds()
    after = compiled_files()
    for message in failed:
        session.say(f"failed: {message}", important=True)
    session.show(
        f"{len(after)} compiled versions in {folder}, {len(after - before)} of them new, "
        f"in {taken:.0f} s"
    )
    if failed:
        raise typer.Exit(FAILED)
    return {
        "seconds": taken,
        "kernels": len({name.rsplit(".", 2)[0] for name in after}),
        "versions": len(after),
        "compiled": len(after - before),
        "folder": str(folder),
        "processes": workers,
    }

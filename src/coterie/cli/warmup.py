"""`coterie warmup`: compile every kernel now, on all cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coterie.base.errors import CoterieError
from coterie.base.json_values import JsonObject
from coterie.cli.options import Option
from coterie.cli.session import Session, command, stopwatch
from coterie.cli.warmup_runs import GROUPS

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from coterie.base.progress import Callback

EXAMPLES = """\b
Examples:
  coterie warmup
  coterie warmup --only cluster
"""


@command(
    unused=("seed",),
    options={
        "only": Option("Compile what a group of commands needs.", choices=" ".join(GROUPS)),
    },
)
def run(session: Session, only: str = "all") -> JsonObject:
    """Compile the numerical code of all commands, once, on all cores.

    Without it, the first commands compile what they need, which takes up to a minute. Takes one to
    three minutes and about 1 GB of memory per core; a second call finds everything compiled.
    --threads N limits the number of processes.
    """
    import tempfile
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context
    from pathlib import Path

    from coterie.base.machine import available_cores
    from coterie.cli.warmup_runs import prepare_process, write_inputs
    from coterie.kernels.numba.cache import cache_folder, compiled_files

    chains = GROUPS[only]
    folder = cache_folder()
    if folder is None:
        raise CoterieError(
            "no folder for compiled code can be written to: set NUMBA_CACHE_DIR to one that can"
        )
    before = compiled_files()
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
            try:
                failed = _run_chains(pool, chains, callback)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        taken = seconds()
    after = compiled_files()
    session.show(
        f"{len(after)} compiled versions in {folder}, {len(after - before)} of them new, "
        f"in {taken:.0f} s"
    )
    if failed:
        raise CoterieError("; ".join(f"failed: {message}" for message in failed))
    return {
        "seconds": taken,
        "kernels": len({name.rsplit(".", 2)[0] for name in after}),
        "versions": len(after),
        "compiled": len(after - before),
        "folder": str(folder),
        "processes": workers,
    }


def _run_chains(pool: Executor, chains: list[list[str]], callback: Callback) -> list[str]:
    """Run chains of command lines side by side; return the messages of those that failed.

    The next command of a chain, which may need the files of the one before, waits for that."""
    from concurrent.futures import FIRST_COMPLETED, wait

    from coterie.base.progress import Progress
    from coterie.cli.warmup_runs import run_line

    failed: list[str] = []
    done, total = 0, sum(map(len, chains))
    waiting = {pool.submit(run_line, chain[0]): chain[1:] for chain in chains}
    while waiting:
        for job in wait(waiting, return_when=FIRST_COMPLETED).done:
            later = waiting.pop(job)
            if later:
                waiting[pool.submit(run_line, later[0])] = later[1:]
            failed += filter(None, [job.result()])
            done += 1
            callback(Progress("kernels", done, total))
    return failed

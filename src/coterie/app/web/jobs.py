"""Background jobs: one process per task, progress to every open page, stop and cancel."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coterie.app.web.glossary import STAGE_WORDS
from coterie.base.json_values import JsonObject

_LINE_LIMIT = 1 << 28  # bytes; a result with charts is one line
_MOST_POINTS = 400  # of the entropy curve


@dataclass
class Job:
    """A task that runs, or has ended."""

    step: str
    task: str
    key: str
    folder: Path
    number: int = 0  # of the jobs of this application
    input_number: int = 0
    stage: str = STAGE_WORDS["starting"]
    done: int = 0
    total: int | None = None
    note: str = ""
    curve: list[float] = field(default_factory=list)
    points: list[JsonObject] = field(default_factory=list)
    guess: JsonObject = field(default_factory=dict)  # what a file seems to hold
    state: str = "running"  # running, stopping, finished, failed, cancelled
    message: str = ""
    started: bool = False  # the process has begun with the task

    @property
    def running(self) -> bool:
        """Whether the task has not ended."""
        return self.state in ("running", "stopping")

    def as_json(self) -> JsonObject:
        """Return what pages show."""
        names = ("number", "step", "stage", "done", "total", "note", "state", "message", "curve")
        return {name: getattr(self, name) for name in names} | {"points": len(self.points)}


class Worker:
    """A process that has imported the library and waits for a task."""

    def __init__(self) -> None:
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> asyncio.subprocess.Process:
        """Start the process."""
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "coterie.app.web.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LINE_LIMIT,
            start_new_session=True,  # Ctrl-C in the terminal reaches the server alone
        )
        return self.process

    async def end(self) -> None:
        """End the process, whatever it does."""
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()


class JobRunner:
    """Runs one job at a time, and keeps one process ready for the next.

    Parameters
    ----------
    changed : callable
        Called after every message of a job; with True if the pages must be drawn again.
    """

    def __init__(self, changed: Callable[[bool], None]) -> None:
        self.current: Job | None = None
        self._changed = changed
        self._idle: Worker | None = None
        self._busy: Worker | None = None
        self._task: asyncio.Task[None] | None = None
        self._preparing = asyncio.Lock()

    @property
    def running(self) -> bool:
        """Whether a job has not ended."""
        return self.current is not None and self.current.running

    async def prepare(self) -> None:
        """Start a process for the next job, if none is ready."""
        async with self._preparing:
            if self._idle is None:
                worker = Worker()
                await worker.start()
                self._idle = worker

    def start(
        self,
        job: Job,
        settings: JsonObject,
        shown: dict[str, str],
        finished: Callable[..., None],
        earlier: Path | None = None,
    ) -> None:
        """Start a job; `finished(job, result, remarks)` is called if it has a result.

        `earlier` is the folder of an unfinished result that the job continues."""
        assert not self.running
        job.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.current = job
        order = {
            "task": job.task,
            "settings": settings,
            "folder": str(job.folder),
            "shown": shown,
            "earlier": None if earlier is None else str(earlier),
        }
        self._task = asyncio.create_task(self._run(job, order, finished))
        self._changed(True)

    async def _run(self, job: Job, order: JsonObject, finished: Callable[..., None]) -> None:
        worker: Worker | None = None
        try:
            await self.prepare()
            if job.running:  # else it was cancelled before there was a process
                worker, self._idle = self._idle, None
                assert worker is not None and worker.process is not None
                self._busy = worker
                process = worker.process
                assert process.stdin is not None and process.stdout is not None
                process.stdin.write(json.dumps(order).encode() + b"\n")
                with contextlib.suppress(ConnectionError):
                    await process.stdin.drain()
                while line := await process.stdout.readline():
                    self._receive(job, json.loads(line), finished)
                await process.wait()
            if job.running:
                job.state = "failed"
                job.message = "the computation ended unexpectedly; the machine may be out of memory"
        except asyncio.CancelledError:
            raise
        except Exception as error:
            job.state, job.message = "failed", f"{type(error).__name__}: {error}"
        finally:
            # The next job may have begun already, with another process.
            if worker is not None:
                await worker.end()
                if self._busy is worker:
                    self._busy = None
            if job.state in ("failed", "cancelled"):
                shutil.rmtree(job.folder, ignore_errors=True)
        self._changed(True)
        await self.prepare()

    def _receive(self, job: Job, message: JsonObject, finished: Callable[..., Any]) -> None:
        event = message["event"]
        if event == "started":
            job.started = True
            if job.state == "stopping":
                self._interrupt()
        elif event == "progress":
            stage, note = str(message["stage"]), str(message["note"])
            job.stage, job.note = STAGE_WORDS.get(stage, stage), STAGE_WORDS.get(note, note)
            job.done, job.total = message["done"], message["total"]
            if message["entropy"] is not None:
                job.curve.append(message["entropy"])
                if len(job.curve) > _MOST_POINTS:
                    job.curve = job.curve[::2]
            self._changed(False)
        elif event == "point":
            if message["point"] not in job.points:  # else sent again after a stop
                job.points.append(message["point"])
            self._changed(False)
        elif event == "guess":
            job.guess = message["guess"]
        elif event == "failed" and job.running:
            job.state, job.message = "failed", message["message"]
            self._changed(True)  # at once, so that no page shows neither progress nor problem
        elif event == "finished" and job.running:
            job.state = "finished"
            finished(job, message["result"], message["remarks"])

    def stop(self) -> None:
        """Ask the job to end with the best result so far."""
        if self.running:
            assert self.current is not None
            self.current.state = "stopping"
            if self.current.started:  # else as soon as it has started
                self._interrupt()
            self._changed(True)

    def _interrupt(self) -> None:
        if self._busy is not None and self._busy.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._busy.process.send_signal(signal.SIGINT)

    async def cancel(self) -> None:
        """End the job without a result."""
        if self.running:
            assert self.current is not None
            self.current.state = "cancelled"
            if self._busy is not None:
                await self._busy.end()
            if self._task is not None:
                await asyncio.wait([self._task], timeout=10)

    async def close(self) -> None:
        """End every process."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        for worker in (self._busy, self._idle):
            if worker is not None:
                await worker.end()

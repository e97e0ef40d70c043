"""The state of the application: inputs, results, and the choices made. All pages show the same."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from coterie.app.problem import ProblemError
from coterie.app.web.jobs import Job, JobRunner
from coterie.base.json_values import JsonObject

if TYPE_CHECKING:
    from coterie.recommend.recommender import Recommender

_PREFIX, _LOCK = "coterie-app-", "lock"
MAX_UPLOAD = 512 << 20  # bytes of a file
MAX_PEOPLE = 32 << 20  # bytes of a node list
MAX_UPLOADS = 20
MAX_PAGES = 50  # that are told about changes
MAX_RESULTS = 12  # kept per step
NETWORK_STEPS = ("data", "explore", "publish")
RATING_STEPS = ("data", "recommend")


def locked(path: Path) -> IO[bytes] | None:
    """Lock a file for as long as this process lives; None if another process has locked it."""
    file = path.open("ab")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # Windows
        pass
    except OSError:
        file.close()
        return None
    return file


def remove_abandoned_folders() -> None:
    """Delete what an application of this account left when it was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError, AttributeError):  # Windows has no getuid
            lock = folder / _LOCK
            if folder.lstat().st_uid == os.getuid() and lock.is_file() and (held := locked(lock)):
                shutil.rmtree(folder)
                held.close()


@dataclass
class Input:
    """A file that the user gave, and how it was read."""

    number: int
    path: Path  # of our choosing
    name: str  # as the user calls it
    size: int
    kind: str | None = None  # as the user said; None: guessed
    columns: list[int] | None = None
    read: JsonObject | None = None
    remarks: list[str] = field(default_factory=list)
    problem: str = ""
    guess: JsonObject = field(default_factory=dict)  # kind, columns and lines of a wrong file
    titles: Path | None = None
    titles_name: str = ""
    people: Path | None = None  # the public node list
    people_name: str = ""
    people_count: int = 0
    is_demo: bool = False

    @property
    def found_kind(self) -> str:
        """The kind of the data, "" before they were read."""
        return "" if self.read is None else str(self.read["kind"])


@dataclass(frozen=True)
class StepResult:
    """The result of a job, and the settings that it was made with."""

    key: str
    settings: JsonObject
    result: JsonObject
    remarks: list[str]
    folder: Path

    @property
    def unfinished(self) -> bool:
        """Whether the job was stopped; it can go on from the files in `folder`."""
        return bool(self.result.get("unfinished"))


class Workspace:
    """Everything that the pages show. There is one per application, for all tabs.

    Parameters
    ----------
    private : pathlib.Path, optional
        Where the private files of releases go; the state folder by default.
    """

    def __init__(self, private: Path | None = None) -> None:
        remove_abandoned_folders()
        self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX))  # only the owner may enter
        self._lock = locked(self.folder / _LOCK)
        self.private = private
        self.inputs: list[Input] = []
        self.current: Input | None = None
        self.results: dict[str, dict[str, StepResult]] = {}
        self.chosen: dict[tuple[int, str], str] = {}
        self.point: dict[str, int] = {}
        self.own_ratings: dict[Any, float] = {}
        self.jobs = JobRunner(self._changed)
        self._problems: dict[tuple[int, str], str] = {}  # by input and step
        self._listeners: set[asyncio.Queue[str]] = set()
        self._uploads = 0
        self._job_count = 0
        self._recommenders: deque[tuple[str, Recommender]] = deque(maxlen=2)
        self.closing = False
        self.version = 0  # of what the pages show

    # --- what pages ask ----------------------------------------------------------------------

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps for the kind of the current data."""
        kind = "" if self.current is None else self.current.found_kind
        return {"network": NETWORK_STEPS, "ratings": RATING_STEPS}.get(kind, ("data",))

    def chosen_result(self, step: str) -> StepResult | None:
        """Return the result that the page of a step shows."""
        if self.current is None:
            return None
        key = self.chosen.get((self.current.number, step))
        return None if key is None else self.results.get(step, {}).get(key)

    def required_result(self, step: str) -> StepResult:
        """Return the result that the page of a step shows; a problem if there is none."""
        result = self.chosen_result(step)
        if result is None:
            raise ProblemError(404, "there is no result yet")
        return result

    def required_network(self) -> Input:
        """Return the current network; a problem if the current data are none."""
        current = self.current
        if current is None or current.found_kind != "network":
            raise ProblemError(409, "a node list belongs to a network; give a network first")
        return current

    def earlier_results(self, step: str) -> list[StepResult]:
        """Return the results of a step for the current data, oldest first."""
        if self.current is None:
            return []
        begin = f"{self.current.number}:"
        return [r for k, r in self.results.get(step, {}).items() if k.startswith(begin)]

    def problem_of(self, step: str) -> str:
        """Return why the last job of a step failed for the current data, "" if it did not."""
        return "" if self.current is None else self._problems.get((self.current.number, step), "")

    def job_of(self, step: str) -> Job | None:
        """Return the job of a step, if it runs."""
        job = self.jobs.current
        return job if job is not None and job.running and job.step == step else None

    def recommender(self, result: StepResult) -> Recommender:
        """Return the fitted recommender of a result; the last two are kept in memory."""
        for key, loaded in self._recommenders:
            if key == result.key:
                return loaded
        from coterie.recommend.model_file import load_recommender

        loaded = load_recommender(result.folder / "model.coterie")
        self._recommenders.append((result.key, loaded))
        return loaded

    # --- changes -----------------------------------------------------------------------------

    def new_upload(self, suffix: str) -> Path:
        """Return the place for a new upload; its name does not come from the user."""
        if len(list(self.folder.glob("upload-*"))) >= MAX_UPLOADS:
            raise ProblemError(
                409,
                f"{MAX_UPLOADS} files were given already; stop the application and start it "
                "again to free their space",
            )
        self._uploads += 1
        return self.folder / f"upload-{self._uploads}{suffix}"

    def add_input(self, path: Path, name: str) -> Input:
        """Make a file the current data and start to read it."""
        added = Input(len(self.inputs) + 1, path, name, path.stat().st_size)
        self.inputs.append(added)
        self.current = added
        self.own_ratings = {}
        self.read_current()
        return added

    def read_current(self) -> None:
        """Read the current data with the present choices."""
        current = self._required_input()
        settings: JsonObject = {"path": str(current.path)}
        if current.kind:
            settings["kind"] = current.kind
        if current.columns:
            settings["columns"] = current.columns
        current.read, current.problem = None, ""
        self.start("data", "read", settings)

    def start(self, step: str, task: str, settings: JsonObject) -> None:
        """Show the result for these settings: an earlier one, or that of a new job."""
        current = self._required_input()
        key = f"{current.number}:{task}:{json.dumps(settings, sort_keys=True)}"
        self._problems.pop((current.number, step), None)
        repeatable = task not in ("release", "private_release")
        earlier = self.results.get(step, {}).get(key) if repeatable else None
        if earlier is not None and not earlier.unfinished:
            self._show(current, step, earlier)
            return
        if self.jobs.running:
            raise ProblemError(409, "something else is being computed; wait for it or cancel it")
        self._job_count += 1
        folder = self.folder / f"job-{self._job_count}"
        job = Job(step, task, key, folder, self._job_count, current.number)
        shown = {str(current.path): current.name}
        if current.read is not None:
            shown[str(current.read["path"])] = current.name
        for path, name in (
            (current.titles, current.titles_name),
            (current.people, current.people_name),
        ):
            if path is not None:
                shown[str(path)] = name

        def finished(job: Job, result: JsonObject, remarks: list[str]) -> None:
            self._keep(current, step, StepResult(key, settings, result, remarks, job.folder))

        unfinished = None if earlier is None else earlier.folder
        self.jobs.start(job, settings, shown, finished, unfinished)

    def _keep(self, current: Input, step: str, result: StepResult) -> None:
        kept = self.results.setdefault(step, {})
        if result.key in kept:  # unfinished; this one went on from it
            shutil.rmtree(kept.pop(result.key).folder, ignore_errors=True)
        kept[result.key] = result
        while len(kept) > MAX_RESULTS:
            oldest = next(iter(kept))
            shutil.rmtree(kept.pop(oldest).folder, ignore_errors=True)
        self._show(current, step, result)

    def _show(self, current: Input, step: str, result: StepResult) -> None:
        self.chosen[current.number, step] = result.key
        if step == "data":
            current.read, current.remarks = result.result, result.remarks
        if step == "publish" and "recommended" in result.result:
            self.point[result.key] = result.result["recommended"] or 0
        self._changed(True)

    def choose(self, step: str, key: str, *, go_on: bool = False) -> None:
        """Show an earlier result again, without computing anything; or go on with a stopped one."""
        if self.current is None or key not in self.results.get(step, {}):
            raise ProblemError(404, "this result is no longer kept")
        found = self.results[step][key]
        if go_on:
            self.start(step, key.split(":")[1], found.settings)
        else:
            self._show(self.current, step, found)

    def choose_input(self, number: int) -> None:
        """Go back to data that were given earlier."""
        found = next((one for one in self.inputs if one.number == number), None)
        if found is None:
            raise ProblemError(404, "there are no such data")
        self.current = found
        self.own_ratings = {}
        self._changed(True)

    def _required_input(self) -> Input:
        if self.current is None:
            raise ProblemError(409, "there are no data yet; choose a file first")
        return self.current

    # --- open pages --------------------------------------------------------------------------

    def listen(self) -> asyncio.Queue[str]:
        """Return a queue that gets a message whenever something changes."""
        if len(self._listeners) >= MAX_PAGES:
            raise ProblemError(503, f"{MAX_PAGES} pages are open already; close one")
        queue: asyncio.Queue[str] = asyncio.Queue(maxsize=100)
        self._listeners.add(queue)
        return queue

    def forget(self, queue: asyncio.Queue[str]) -> None:
        """End a queue: its page was closed."""
        self._listeners.discard(queue)

    def _changed(self, redraw: bool) -> None:
        job = self.jobs.current
        if job is not None and job.state == "failed":
            self._problems[job.input_number, job.step] = job.message
            if job.step == "data":
                failed = self.inputs[job.input_number - 1]
                failed.problem, failed.guess = job.message, job.guess
        elif job is not None and job.running:
            self._problems.pop((job.input_number, job.step), None)
        self.tell("changed" if redraw else "progress")

    def summary(self) -> JsonObject:
        """Return what pages need to know to be up to date."""
        job = self.jobs.current
        return {"job": None if job is None else job.as_json(), "version": self.version}

    def hello(self) -> str:
        """Return the event that lets a page find out whether it is up to date."""
        return f"event: hello\ndata: {json.dumps({'version': self.version})}\n\n"

    def tell(self, kind: str) -> None:
        """Send an event to every open page; a page that does not read misses some."""
        if kind == "changed":
            self.version += 1
        content = json.dumps(self.summary())
        for queue in self._listeners:
            if not queue.full():
                queue.put_nowait(f"event: {kind}\ndata: {content}\n\n")

    async def close(self) -> None:
        """End every process and delete every file."""
        self.closing = True
        await self.jobs.close()
        self.remove_files()

    def remove_files(self) -> None:
        """Delete everything that was uploaded or computed."""
        shutil.rmtree(self.folder, ignore_errors=True)

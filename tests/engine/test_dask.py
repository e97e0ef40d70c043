"""The Dask engine gives the same bits as one thread, even if workers die."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.support import engine_tasks as tasks

from coterie.base.errors import InputError
from coterie.engine import Engine, EngineError, LocalEngine, resolve_engine
from coterie.engine.dask import DaskEngine

PARTS = [tasks.Part(np.linspace(0, 1, 50) + i, i) for i in range(5)]
ITERATIONS = 6


@pytest.fixture(scope="module")
def dask() -> Iterator[DaskEngine]:
    with DaskEngine(workers=2) as engine:
        yield engine


def test_an_abandoned_transfer_prints_no_traceback() -> None:
    async def gather(futures: Any, asynchronous: bool) -> Any:
        raise RuntimeError("cancelled, as futures are when a terminated command closes its client")

    async def reported() -> list[Any]:
        engine = object.__new__(DaskEngine)
        engine._client = SimpleNamespace(gather=gather)
        messages: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, about: messages.append(about))
        transfer = await engine._begin_transfer([])
        await asyncio.sleep(0.01)
        del transfer
        gc.collect()
        return messages

    assert asyncio.run(reported()) == []


def iterate(engine: Engine, before: Any = lambda iteration: None) -> tuple[np.ndarray, list]:
    shards = engine.scatter(PARTS)
    rows: list[Any] = [np.zeros(50)] * len(shards)
    shared = engine.broadcast(np.ones(2))
    for iteration in range(ITERATIONS):
        before(iteration)
        done = engine.reduce(tasks.step, tasks.add, shards, rows, repeat(shared), keep=True)
        rows, (shared,) = done.kept, engine.submit(tasks.renewed, [done.total], [shared])
    total, *rows = engine.gather([shared, *rows])
    return total, rows


EXPECTED = iterate(LocalEngine(1))


def same_bits(result: tuple[np.ndarray, list]) -> bool:
    return np.array_equal(result[0], EXPECTED[0]) and all(
        np.array_equal(a, b) for a, b in zip(result[1], EXPECTED[1], strict=True)
    )


def test_two_threads_and_two_workers_equal_one_thread(dask: DaskEngine) -> None:
    assert same_bits(iterate(LocalEngine(2)))
    assert same_bits(iterate(dask))


def test_a_worker_killed_between_iterations_changes_nothing(dask: DaskEngine) -> None:
    """Only this worker had the rows of its shards: the scheduler computes them again."""

    def kill(iteration: int) -> None:
        if iteration == 3:
            os.kill(next(iter(dask._client.run(os.getpid).values())), signal.SIGKILL)

    assert same_bits(iterate(dask, kill))


def test_several_totals_and_separate_tasks(dask: DaskEngine) -> None:
    for engine in (LocalEngine(2), dask):
        done = engine.reduce(divmod, tasks.add, range(9), repeat(4), n_totals=2)
        doubled = engine.submit(tasks.add, done.total, done.total, one_task_each=True)
        assert engine.gather([*done.total, *doubled]) == [6, 12, 12, 24]


def test_a_worker_killed_inside_a_task_changes_nothing(dask: DaskEngine, tmp_path: Path) -> None:
    marker = str(tmp_path / "died")
    assert dask.map(tasks.die_once, dask.scatter(PARTS), [marker] * 5) == list(range(5))
    assert Path(marker).exists()


def test_error_names_a_damaged_shard(dask: DaskEngine) -> None:
    shards = dask.scatter([tasks.Part(np.full(3, 7.25), 77)])
    Path(shards[0].shards.refs[0].path).write_bytes(b"rubbish")
    with pytest.raises(InputError, match=r"shard-00000.safetensors.*damaged"):
        dask.map(tasks.step, shards, [0.0], [np.ones(1)])


def test_error_of_a_task_is_raised_unchanged(dask: DaskEngine) -> None:
    with pytest.raises(TypeError):
        dask.map(tasks.sleep, ["not a number"])


def test_closing_an_engine_removes_its_shards() -> None:
    engine = resolve_engine("dask", threads=1)
    path = Path(engine.scatter(PARTS)[0].shards.refs[0].path)
    assert path.exists() and engine.threads == 1
    engine.close()
    assert not path.parent.exists()


def test_wrong_scheduler_address_is_reported() -> None:
    with pytest.raises(InputError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9"):
        DaskEngine("tcp://127.0.0.1:9", patience=1)


class Cluster:
    """A scheduler and a worker without a nanny, which would restart it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--no-dashboard")
        self.workers = [self._start("worker", "--no-nanny", "--nthreads", "3", "--no-dashboard")]

    def _start(self, what: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", what, "--scheduler-file", str(self.file), *options]
        root = str(Path(tasks.__file__).parents[2])
        path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": path},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def address(self) -> str:
        import json
        import time

        for _ in range(300):
            if self.file.exists() and self.file.read_text().strip().endswith("}"):
                return str(json.loads(self.file.read_text())["address"])
            time.sleep(0.1)
        raise TimeoutError("the scheduler did not start")

    def stop(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    running = Cluster(tmp_path)
    yield running
    running.stop()


def test_error_without_workers_says_how_to_continue(cluster: Cluster) -> None:
    with DaskEngine(cluster.address(), patience=2) as engine:
        assert same_bits(iterate(engine)) and engine.threads == 3
        cluster.workers[0].kill()
        with pytest.raises(EngineError, match=r"all Dask workers are gone.*`resume`"):
            engine.map(tasks.sleep, [0.01])


def test_worker_lost_before_the_transfer_of_its_result_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with DaskEngine(workers=1, patience=1) as engine:
        wait = engine._wait

        def wait_and_lose(handles: Sequence[object]) -> None:
            wait(handles)
            engine._cluster.scale(0)
            while engine._client.nthreads():
                time.sleep(0.05)

        monkeypatch.setattr(engine, "_wait", wait_and_lose)
        with pytest.raises(EngineError, match="all Dask workers are gone"):
            engine.map(tasks.sleep, [0.0])


def test_error_without_scheduler_says_how_to_continue(cluster: Cluster) -> None:
    with DaskEngine(cluster.address(), patience=2) as engine:
        assert engine.map(tasks.sleep, [0.0]) == [0.0]
        running = engine.submit(tasks.sleep, [60.0])
        cluster.scheduler.kill()
        with pytest.raises(EngineError, match=r"scheduler is gone.*`resume`"):
            engine.gather(running)

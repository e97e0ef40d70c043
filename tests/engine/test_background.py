"""Background tasks: stopping, errors, and engines of a single thread."""

from __future__ import annotations

import threading

import pytest

from coterie.base.progress import Callback, Progress
from coterie.engine import Engine, LocalEngine
from coterie.engine.background import BackgroundTask


def test_leaving_the_block_stops_the_task() -> None:
    begun, ended = threading.Event(), threading.Event()

    def endless(engine: Engine, callback: Callback) -> None:
        try:
            while True:
                begun.set()
                callback(Progress("working", 0))
        finally:
            ended.set()

    with BackgroundTask(endless, LocalEngine(2)):
        assert begun.wait(timeout=30)
    assert ended.wait(timeout=30)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_the_task_is_raised_with_its_result(threads: int) -> None:
    def broken(engine: Engine, callback: Callback) -> int:
        return 1 // (engine.threads - 1)

    with BackgroundTask(broken, LocalEngine(threads)) as answer, pytest.raises(ZeroDivisionError):
        answer.result()


def test_with_a_single_thread_the_task_runs_when_its_result_is_asked_for() -> None:
    calls: list[int] = []

    def counted(engine: Engine, callback: Callback) -> int:
        calls.append(1)
        return len(calls)

    with BackgroundTask(counted, LocalEngine(1)) as answer:
        assert calls == []
        assert answer.result() == 1
        assert answer.result() == 1

"""The local engine: order of results, errors, background tasks; shards depend on data only."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.base.errors import InputError
from coterie.base.progress import Callback, Progress
from coterie.engine import (
    BackgroundTask,
    Engine,
    LocalEngine,
    cut_rows,
    merge_tree,
    resolve_engine,
    shard_count,
)
from coterie.engine.local import reduce_run
from coterie.engine.shard_layout import Reduction, merge_runs, spans


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_come_in_the_order_of_the_arguments(threads: int) -> None:
    def slow_first(i: int) -> int:
        time.sleep(0.01 if i == 0 else 0)
        return i * i

    with LocalEngine(threads) as engine:
        assert engine.map(slow_first, range(6)) == [i * i for i in range(6)]


def test_a_failing_task_fails_the_map() -> None:
    with LocalEngine(2) as engine, pytest.raises(ZeroDivisionError):
        engine.map(lambda i: 1 // i, [1, 0])


def test_engine_by_name_or_object_and_invalid_values() -> None:
    engine = LocalEngine(1)
    assert resolve_engine(engine) is engine
    assert resolve_engine("local", threads=1).threads == 1
    with pytest.raises(InputError, match="spark"):
        resolve_engine("spark")
    with pytest.raises(InputError, match="invalid number of threads: 0"):
        LocalEngine(0)


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 8))
def test_row_cuts_cover_every_row_once(degrees: list[int], shards: int) -> None:
    indptr = np.r_[0, np.cumsum(degrees)].astype(np.int64)
    cuts = cut_rows(indptr, shards)
    assert cuts[0] == 0 and cuts[-1] == len(degrees) and len(cuts) == shards + 1
    assert (np.diff(cuts) >= 0).all()
    parts = np.diff(indptr[cuts])
    assert parts.max(initial=0) <= indptr[-1] / shards + max(degrees, default=0)


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_more_edges_never_mean_fewer_shards(a: int, b: int) -> None:
    low, high = sorted((a, b))
    assert 1 <= shard_count(low) <= shard_count(high)


@given(st.lists(st.integers(), min_size=1))
def test_merge_tree_merges_every_part_once_in_order(parts: list[int]) -> None:
    assert merge_tree([[p] for p in parts], lambda a, b: a + b) == parts


@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 4))
def test_any_runs_of_neighbours_merge_to_the_same_tree(
    leaves: int, runs: int, threads: int
) -> None:
    """So results do not depend on the number of workers and threads."""

    def merge(a: str, b: str) -> str:
        return f"({a}{b})"

    tree = merge_tree([str(leaf) for leaf in range(leaves)], merge)
    calls = [(leaf,) for leaf in range(leaves)]
    with LocalEngine(threads) as engine:
        forests = [
            reduce_run(engine, str, [calls[i] for i in run], Reduction(merge, run, leaves))[1]
            for run in spans(leaves, runs)
        ]
        assert engine.reduce(str, merge, range(leaves)).total == tree
    assert list(merge_runs(reversed(forests), leaves, merge).values()) == [tree]


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

"""Numbers of blocks whose tables do not fit into memory are refused before any work."""

from __future__ import annotations

import numpy as np
import pytest

import coterie as ct
from coterie.base import machine
from coterie.base.errors import InputError
from coterie.models.hard import validation as memory
from coterie.models.hard.costs import directed, simple


def path(n: int, *, is_directed: bool = False) -> ct.Graph:
    return ct.Graph.from_edges(np.arange(n - 1), np.arange(1, n), directed=is_directed)


def test_free_memory_is_positive_and_not_more_than_the_machine_has() -> None:
    assert 0 < machine.free_memory() <= machine.physical_memory()


def test_limit_of_a_container_counts(monkeypatch, tmp_path) -> None:
    (tmp_path / "max").write_text("5000000\n")
    (tmp_path / "current").write_text("2000000\n")
    files = ((str(tmp_path / "max"), str(tmp_path / "current")),)
    monkeypatch.setattr(machine, "_CONTAINER_LIMITS", files)
    assert machine.free_memory() == 3_000_000
    (tmp_path / "max").write_text("max\n")
    assert machine.free_memory() > 3_000_000


def test_estimate_grows_with_the_square_and_with_directions() -> None:
    one = memory.table_bytes(simple(path(10)), (1_000,), "best")
    assert memory.table_bytes(simple(path(10)), (2_000,), "best") == 4 * one
    both = directed(path(10, is_directed=True))
    assert memory.table_bytes(both, (1_000,), "best") == 2 * one
    assert memory.table_bytes(simple(path(10)), (1_000,), "paper") < one


@pytest.mark.parametrize("search", ["best", "paper"])
def test_too_many_blocks_are_refused_before_work(monkeypatch, search: str) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 2**30)
    monkeypatch.setattr(ct.GeneralizedKMeans, "_search", lambda *_: pytest.fail("work began"))
    model = ct.GeneralizedKMeans(20_000, search=search)
    with pytest.raises(InputError, match=r"20,000 blocks need tables of about .* GB") as error:
        model.fit(path(30_000))
    fewer = int(str(error.value).split("n_blocks=")[1].split("`")[0])
    memory.check_memory(simple(path(10)), (fewer,), search)  # what it advises is possible
    with pytest.raises(InputError):
        memory.check_memory(simple(path(10)), (2 * fewer,), search)

"""Small searches do not hand their work to other threads: it would take longer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import coterie as ct
from coterie.models.hard.costs import block_objective


class CountingEngine(ct.LocalEngine):
    """Counts the calls that several threads share."""

    calls = 0

    def map(self, task: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        self.calls += 1
        return super().map(task, *arguments)


def test_a_small_graph_needs_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    graph = ct.Graph.from_edges(rng.integers(0, 60, 300), rng.integers(60, 120, 300))
    found = []
    for limit in (block_objective._LITTLE_WORK, 0):
        monkeypatch.setattr(block_objective, "_LITTLE_WORK", limit)
        monkeypatch.setattr(block_objective, "_FEW_CELLS", limit)
        with CountingEngine(2) as engine:
            labels = ct.GeneralizedKMeans(4, rng=0).fit(graph, engine=engine).labels_
        found.append((engine.calls > 0, labels.tolist()))
    (small_shares, small), (always_shares, always) = found
    assert not small_shares
    assert always_shares
    assert small == always

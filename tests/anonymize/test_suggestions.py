"""Suggestions after a refusal: of the settings that pass, the one that keeps most."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.anonymize import anonymizer as anonymizer_module
from coterie.anonymize.anonymizer import Anonymizer
from coterie.anonymize.policy import Policy
from coterie.anonymize.settings_search import (
    ALTERNATIVE,
    MAX_TRIALS,
    Change,
    SearchSpace,
    Trial,
    search_space,
    suggest,
)
from coterie.base.progress import Callback, silent
from coterie.data import Graph

RING = Graph.from_edges(*np.array(nx.cycle_graph(400).edges).T, n_nodes=400)


def _space(**more: object) -> SearchSpace:
    start = SearchSpace(Change(), 40, 100, 0.51, 20)
    return start._replace(**more)  # type: ignore[arg-type]


def test_the_setting_that_keeps_most_is_suggested_not_the_first_that_passes() -> None:
    """Half the blocks pass first, but larger classes keep two measures more."""

    def attempt(change: Change) -> Trial:
        if change.n_blocks is not None:
            return Trial(refused=change.n_blocks > 20, not_kept=5, communities=0.4)
        return Trial(change.min_class_size is None, not_kept=3, communities=0.3)

    first, alternative = suggest(_space(), attempt, silent)
    assert first == (
        "`min_class_size=20` would pass (tried); of 2 settings that pass it keeps most"
    )
    assert alternative == ALTERNATIVE
    assert "coterie sketch" in alternative and "`epsilon=1`" in alternative


def test_communities_decide_between_settings_that_keep_as_many_measures() -> None:
    def attempt(change: Change) -> Trial:
        blocks = change.n_blocks or 0
        return Trial(refused=blocks > 30 or not blocks, not_kept=2, communities=blocks / 40)

    first, _ = suggest(_space(), attempt, silent)
    assert first.startswith("`n_blocks=30` would pass")  # 20, then 30, then 35


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 60), st.integers(1, 60), st.integers(1, 60), st.booleans())
def test_the_number_of_trials_is_limited(
    passing: int, n_blocks: int, most: int, needs: bool
) -> None:
    tried = []

    def attempt(change: Change) -> Trial:
        tried.append(change)
        return Trial(refused=(change.n_blocks or 99) > passing)

    needed = Change(min_class_size=12) if needs else Change()
    found = suggest(_space(n_blocks=n_blocks, most_blocks=most, needed=needed), attempt, silent)
    assert len(tried) <= MAX_TRIALS and len(set(tried)) == len(tried)
    assert all(change.n_blocks is None or 0 < change.n_blocks <= most for change in tried)
    assert all(change.n_blocks is None or change.n_blocks < n_blocks for change in tried)
    assert not needs or all(change.min_class_size for change in tried)
    assert found[-1] == ALTERNATIVE


def test_nothing_else_is_tried_if_the_needed_changes_suffice() -> None:
    tried = []

    def attempt(change: Change) -> Trial:
        tried.append(change)
        return Trial(refused=False)

    needed = Change(min_class_size=12)
    assert suggest(_space(needed=needed), attempt, silent)[0] == (
        "`min_class_size=12` would pass (tried)"
    )
    assert tried == [needed]


def test_changes_without_success_are_listed() -> None:
    first, _ = suggest(_space(), lambda change: Trial(refused=True), silent)
    assert first.startswith("tried without success: `n_blocks=20`; `n_blocks=10`")


def test_a_stricter_policy_needs_changes() -> None:
    space = search_space(
        RING,
        Policy(min_class_size=25, edge_probability=0.5),
        n_blocks=10,
        min_class_size=10,
        max_edge_probability=0.85,
    )
    assert space is not None
    assert space.needed == Change(min_class_size=25, max_edge_probability=0.475)
    assert space.most_blocks == 8 and space.class_size == 50


@pytest.mark.parametrize(
    "graph", [Graph.from_edges([0], [1]), Graph.from_edges([], [], n_nodes=100)]
)
def test_hopeless_graphs_get_the_alternative_only(graph: Graph) -> None:
    space = search_space(graph, Policy(), n_blocks=2, min_class_size=10, max_edge_probability=0.85)
    assert space is None
    assert suggest(space, lambda change: Trial(refused=True), silent) == [ALTERNATIVE]


def test_advice_after_a_refusal_says_what_was_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A clique of 25 people with 200 others, who have one contact each, is refused by default:
    exact degrees tell who is in the clique. Every setting of the message was tried."""
    u, v = np.triu_indices(25, 1)
    others = np.random.default_rng(0).integers(0, 25, 200)
    graph = Graph.from_edges(np.r_[u, others], np.r_[v, np.arange(25, 225)], n_nodes=225)
    trials: dict[Change, Trial] = {}

    def watched(
        space: SearchSpace | None, attempt: Callable[[Change], Trial], callback: Callback, most: int
    ) -> list[str]:
        def watch(change: Change) -> Trial:
            trials[change] = attempt(change)
            return trials[change]

        return suggest(space, watch, callback, most)

    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(anonymizer_module, "suggest", watched)
    made = Anonymizer(dataset="cliques").release(graph)
    assert made.refused and "exact number of neighbours" in made.reasons[0]
    assert len(trials) == MAX_TRIALS
    passed = [change for change, trial in trials.items() if not trial.refused]
    if passed:
        best = max(passed, key=lambda change: trials[change].keeps())
        assert made.suggestions[0].startswith(f"{best.text()} would pass (tried)")
    else:
        named = "; ".join(change.text() for change in trials)
        assert made.suggestions[0] == f"tried without success: {named}"
    assert made.suggestions[1:] == [ALTERNATIVE]

"""Blocks to begin with, and constraints: kept always, contradictions found, names persist."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie as ct
from coterie.base.errors import InputError
from coterie.data.generators import degree_corrected_sbm, planted_partition
from coterie.models.hard.description.choice import description_length_of


def with_more_edges(graph: ct.Graph, share: float, seed: int) -> ct.Graph:
    rng = np.random.default_rng(seed)
    source, target = graph.edges()
    count = int(share * len(source))
    more = rng.choice(graph.n_nodes, (2, count))
    keep = more[0] != more[1]
    ends = (np.concatenate([source, more[0][keep]]), np.concatenate([target, more[1][keep]]))
    return ct.Graph.from_edges(*ends, n_nodes=graph.n_nodes)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    model=st.sampled_from(["auto", "simple", "communities", "directed"]),
    nested=st.booleans(),
    started=st.booleans(),
)
def test_constraints_are_never_violated(seed, model, nested, started):
    rng = np.random.default_rng(seed)
    directed = model == "directed"
    graph = planted_partition(60, 3, mean_degree=6, directed=directed, rng=seed)[0]
    n = graph.n_nodes
    categories = [None if rng.random() < 0.3 else "xyz"[k] for k in rng.integers(0, 3, n)]
    free = rng.permutation(n)
    frozen = {}
    for v in free[:6].tolist():  # the block "x" has nodes of x only
        if categories[v] is not None:
            frozen[v] = f"{categories[v]}{rng.integers(0, 2)}"
    groups = []
    for v in free[6:30].reshape(8, 3):
        kinds = {categories[u] for u in v} - {None}
        if len(kinds) < 2:
            groups.append(v.tolist())
    start = rng.integers(0, 5, n) if started else None
    m = ct.BlockModel(model, nested=nested and model in ("auto", "simple"), rng=seed % 7).fit(
        graph, start=start, frozen=frozen, never_together=categories, must_link=groups
    )
    for block in np.unique(m.labels_):
        assert len({categories[v] for v in np.flatnonzero(m.labels_ == block)} - {None}) <= 1
    for group in groups:
        assert len(set(m.labels_[group])) == 1
    for node, name in frozen.items():
        assert m.block_names_[m.labels_[node]] == name
    if not m.nested:
        data_length = description_length_of(m.model_, graph, m.labels_)
        assert m.description_length_ == pytest.approx(data_length)


def test_contradictions_are_errors():
    graph = planted_partition(30, 2, mean_degree=5, rng=0)[0]
    fit = ct.BlockModel("simple").fit
    with pytest.raises(InputError, match=r"contradict.*0 and 1.*categories"):
        fit(graph, must_link=[(0, 1)], never_together={0: "a", 1: "b"})
    with pytest.raises(InputError, match=r"contradict.*different blocks p and q"):
        fit(graph, must_link=[(0, 1), (1, 2)], frozen={0: "p", 2: "q"})
    with pytest.raises(InputError, match="contradict"):
        fit(graph, frozen={0: "p", 2: "p"}, never_together={0: "a", 2: "b"})
    with pytest.raises(InputError, match="no `start`"):
        fit(graph, frozen=[1, 2])
    with pytest.raises(InputError, match="no node of `start`"):
        fit(graph, start={"x": 1})
    with pytest.raises(InputError, match="5 values"):
        fit(graph, start=[0, 1, 0, 1, 0])
    with pytest.raises(InputError, match="samples do not support"):
        fit(graph, must_link=[(0, 1)]).sample(10)


def test_an_update_is_short_and_keeps_names():
    graph, _ = degree_corrected_sbm(3000, 12, mean_degree=14, mixing=0.2, rng=0)
    before = ct.BlockModel("degree-corrected", rng=0).fit(graph)
    names = {v: f"block {b}" for v, b in enumerate(before.labels_.tolist())}
    later = with_more_edges(graph, 0.01, 1)
    again = ct.BlockModel("degree-corrected", rng=0).fit(later)
    updated = ct.BlockModel("degree-corrected", rng=0).fit(later, start=names)
    assert updated.description_length_ <= 1.001 * again.description_length_
    named = [updated.block_names_[b] for b in updated.labels_]
    assert np.mean([name == names[v] for v, name in enumerate(named)]) > 0.97
    assert updated.diff(names).earlier_length >= updated.description_length_ - 1e-6


def test_diff_says_what_changed():
    cliques = [(a + u, a + v) for a in (0, 10, 20) for u in range(10) for v in range(u)]
    graph = ct.Graph.from_edges(*np.array(cliques).T)
    together = {v: "left" if v < 20 else "right" for v in range(30)} | {99: "right"}
    m = ct.BlockModel("communities", rng=0).fit(graph, start=together)
    changes = m.diff(together)
    assert m.n_blocks_ == 3
    assert [event.kind for event in changes.events] == ["splits", "nodes move"]
    assert changes.events[0].before == ("left",)
    assert "left" in changes.events[0].after
    assert changes.gone == [99]
    assert len(changes.moved) == 10
    assert changes.description_length < changes.earlier_length
    assert "1 node is no longer there." in changes.sentences()

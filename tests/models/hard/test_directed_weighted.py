"""Directions and real-valued weights: what users get."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from tests.reference import (
    directed_description_length,
    labels_description,
    log_choose,
    set_partitions,
    weighted_description_length,
)
from tests.support.command_line import coterie
from tests.support.hard_models import hard_model

import coterie as ct
from coterie.base.errors import InputError
from coterie.models.agreement import adjusted_rand
from coterie.models.hard import checkpoint as hard_checkpoint


def random_pairs(n: int, edges: int, seed: int) -> np.ndarray:
    pairs = np.random.default_rng(seed).integers(0, n, (edges, 2))
    return np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)


def weighted_graph(model: str, seed: int = 0) -> tuple[ct.Graph, np.ndarray]:
    """Return a random graph whose weights, and nothing else, depend on three groups."""
    pairs, truth = random_pairs(90, 900, seed), np.arange(90) % 3
    rng = np.random.default_rng(seed)
    level = np.array([[-3.0, 0.0, 3.0], [0.0, 3.0, -3.0], [3.0, -3.0, 0.0]])
    mean = level[truth[pairs[:, 0]], truth[pairs[:, 1]]]
    weights = mean + rng.normal(size=len(pairs))
    if model == "lognormal":
        weights = np.exp(weights)
    if model == "exponential":
        weights = rng.exponential(np.exp(mean))
    return ct.Graph.from_edges(pairs[:, 0], pairs[:, 1], weights=weights, n_nodes=90), truth


@pytest.mark.parametrize("model", ["normal", "lognormal", "exponential"])
def test_groups_that_differ_in_their_weights_only_are_found(model):
    graph, truth = weighted_graph(model)
    for n_blocks in ("auto", 3):
        found = hard_model(n_blocks, objective="weighted", weight_model=model).fit(graph)
        assert found.n_blocks_ == 3
        assert adjusted_rand(found.labels_, truth) > 0.95
        edges = [
            *zip(*(ends.tolist() for ends in graph.edges()), graph.edge_weights(), strict=True)
        ]
        length = weighted_description_length(edges, found.labels_.tolist(), model)
        assert math.isclose(found.description_length_, length, abs_tol=1e-6)
        assert found.block_weights_.shape == (3, 3) and found.block_edges_.sum() > 0
        assert found.predict([[0, 3]]).shape == (1,)


def test_unit_of_the_weights_does_not_matter():
    graph, _ = weighted_graph("exponential")
    longer = ct.Graph.from_edges(*graph.edges(), weights=1000 * graph.edge_weights(), n_nodes=90)
    a, b = (ct.BlockModel("weighted", weight_model="exponential").fit(g) for g in (graph, longer))
    assert np.array_equal(a.labels_, b.labels_)
    assert math.isclose(
        b.description_length_ - a.description_length_, graph.n_edges * math.log(1000), rel_tol=1e-9
    )


def test_small_graphs_get_the_shortest_of_all_partitions():
    edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)]
    graph = ct.Graph.from_edges(*zip(*edges, strict=True), directed=True)
    found = ct.BlockModel("directed").fit(graph)
    shortest = min(directed_description_length(edges, list(z)) for z in set_partitions(6))
    assert math.isclose(found.description_length_, shortest, abs_tol=1e-8)
    weights = [1.0, 1.1, 0.9, 9.0, 9.1, 8.9, 5.0, 5.1, 4.9]
    triples = [(u, v, w) for (u, v), w in zip(edges, weights, strict=True)]
    measured = ct.Graph.from_edges(*zip(*edges, strict=True), weights=weights)
    found = ct.BlockModel("weighted", weight_model="normal").fit(measured)
    shortest = min(
        weighted_description_length(triples, list(z), "normal") for z in set_partitions(6)
    )
    assert math.isclose(found.description_length_, shortest, abs_tol=1e-7)


def directed_blocks(seed: int = 3) -> tuple[ct.Graph, np.ndarray]:
    """Return a cycle of three groups: edges lead from each to the next."""
    rng = np.random.default_rng(seed)
    source = rng.integers(0, 150, 1200)
    target = (source + 1) % 3 + 3 * rng.integers(0, 50, 1200)
    keep = source != target
    graph = ct.Graph.from_edges(source[keep], target[keep], n_nodes=150, directed=True)
    return graph, np.arange(150) % 3


@pytest.mark.parametrize("objective", ["directed", "directed-degree-corrected"])
def test_directed_groups_and_their_number_are_found(objective):
    graph, truth = directed_blocks()
    model = ct.BlockModel(objective).fit(graph)
    assert model.n_blocks_ == 3 and adjusted_rand(model.labels_, truth) == 1.0
    assert model.locally_optimal_ and model.model_ == objective
    assert model.description_lengths_[3,] == model.description_length_
    assert model.predict_links(3)


def test_models_of_a_directed_graph_are_compared():
    rows = ct.compare_models(directed_blocks()[0])
    assert {row.model for row in rows} == {
        "one block, directed",
        "one block, directed-degree-corrected",
        "directed",
        "directed-degree-corrected",
    }
    assert rows[0].model in ("directed", "directed-degree-corrected") and rows[0].n_blocks == 3


def test_whole_weights_are_numbers_of_edges():
    truth = np.arange(60) % 3
    u, v = np.triu_indices(60, 1)
    rate = np.where(truth[u] == truth[v], 1.2, 0.2)
    counts = np.random.default_rng(0).poisson(rate)
    kept = counts > 0
    graph = ct.Graph.from_edges(u[kept], v[kept], weights=counts[kept], n_nodes=60)
    model = ct.BlockModel("weighted").fit(graph)
    assert model.n_blocks_ == 3 and adjusted_rand(model.labels_, truth) == 1.0
    assert model.locally_optimal_
    total = int(counts.sum())
    plain = labels_description([20, 20, 20]) + log_choose(6 + total - 1, total)
    plain += 2 * total * math.log(20) + sum(math.lgamma(w + 1) for w in counts.tolist())
    for r in range(3):
        for s in range(r + 1):
            cell = (np.minimum(truth[u], truth[v]) == s) & (np.maximum(truth[u], truth[v]) == r)
            e = int(counts[cell].sum())
            plain -= math.lgamma(e + 1) + (e * math.log(2) if r == s else 0.0)
    assert math.isclose(model.description_length_, plain, abs_tol=1e-6)


@pytest.mark.parametrize("n_blocks", ["auto", 3])
def test_search_is_continued_to_the_same_bits(n_blocks, tmp_path, monkeypatch):
    monkeypatch.setattr(hard_checkpoint, "SAVING_SHARE", 1e12)
    graph, _ = weighted_graph("normal")

    def make():
        return hard_model(n_blocks, objective="weighted", weight_model="normal", rng=4)

    whole = make().fit(graph)
    for stop_at in (2, 6, 12):
        left = [stop_at]

        def stop(progress, left=left):
            left[0] -= progress.stage == "describing"
            if left[0] == 0:
                raise ZeroDivisionError  # an error that no fit catches

        file = tmp_path / f"{stop_at}.ckpt"
        with pytest.raises(ZeroDivisionError):
            make().fit(graph, checkpoint=file, callback=stop)
        resumed = make().fit(graph, checkpoint=file, resume=True)
        assert resumed.description_length_ == whole.description_length_
        assert np.array_equal(resumed.labels_, whole.labels_)
        assert [i.entropy for i in resumed.history_] == [i.entropy for i in whole.history_]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight_model": "gamma"}, "invalid weight_model"),
        ({"weight_model": "normal", "search": "paper"}, "paper"),
        ({"weight_model": "normal", "n_blocks": "nested"}, "nested"),
        ({"weight_model": "normal", "connected": True}, "connected"),
        ({"weight_model": "exponential"}, r"invalid weight of edge \(.*\): -"),
        ({"weight_model": "lognormal"}, "invalid weight"),
        ({"weight_model": "counts"}, "invalid weight"),
        ({"objective": "directed-degree-corrected"}, "BlockModel"),
    ],
)
def test_requests_that_cannot_work_are_refused(options, message):
    graph, _ = weighted_graph("normal")
    with pytest.raises(InputError, match=message):
        hard_model(**{"n_blocks": 3, "objective": "weighted", **options}).fit(graph)


def test_command_line_reads_negative_weights(tmp_path):
    graph, truth = weighted_graph("normal")
    ends = (ends.tolist() for ends in graph.edges())
    rows = [f"{u},{v},{w}" for u, v, w in zip(*ends, graph.edge_weights(), strict=True)]
    (tmp_path / "g.csv").write_text("\n".join(rows) + "\n")
    lines = [f"{v},{z}" for v, z in enumerate(truth)]
    (tmp_path / "truth.csv").write_text("node,block\n" + "\n".join(lines) + "\n")
    given = [str(tmp_path / "g.csv"), "--objective", "weighted", "--blocks", "auto", "--json"]
    named = ["--truth", str(tmp_path / "truth.csv")]
    done = coterie("cluster", *given, *named, "--weights", "normal")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["blocks"] == 3 and found["ari"] > 0.95
    refused = coterie("cluster", *given)
    assert refused.returncode == 2 and "negative" in refused.stderr

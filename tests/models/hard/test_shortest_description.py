"""`BlockModel`: blocks and hierarchies by description length."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.reference import description_length, set_partitions
from tests.support.hard_models import hard_model

import coterie as ct
from coterie.base.errors import InputError
from coterie.base.progress import silent
from coterie.data.generators import degree_corrected_sbm, planted_partition
from coterie.engine import LocalEngine
from coterie.models.agreement import adjusted_rand
from coterie.models.hard.description.nested import nested_length
from coterie.models.hard.description.search import DescriptionSearch, Trail
from coterie.models.hard.description.state import KINDS, multigraph, start_state
from coterie.models.hard.label_tools import renumber

EDGES = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)]


@pytest.fixture(scope="module")
def ring_of_cliques():
    """24 cliques of 6 nodes in a ring: more blocks than a flat model can tell apart."""
    source, target = [], []
    for c in range(24):
        nodes = range(6 * c, 6 * c + 6)
        source += [u for u in nodes for v in nodes if u < v] + [6 * c]
        target += [v for u in nodes for v in nodes if u < v] + [(6 * c + 7) % 144]
    return ct.Graph.from_edges(source, target), np.repeat(np.arange(24), 6)


@pytest.mark.parametrize(
    "objective", ["simple", "degree-corrected", "communities", "uniform-communities"]
)
def test_small_graphs_get_the_shortest_of_all_partitions(objective):
    graph = ct.Graph.from_edges(*zip(*EDGES, strict=True))
    found = ct.BlockModel(objective).fit(graph)
    shortest = min(description_length(EDGES, z, objective) for z in map(list, set_partitions(6)))
    assert math.isclose(found.description_length_, shortest, abs_tol=1e-8)
    own = description_length(EDGES, found.labels_.tolist(), objective)
    assert math.isclose(found.description_length_, own, abs_tol=1e-8)
    assert found.locally_optimal_


def test_merging_past_the_first_minimum_keeps_the_best():
    graph, _ = degree_corrected_sbm(400, 4, mean_degree=10, rng=1)
    edges = multigraph(graph.indptr, graph.indices)
    state = start_state(KINDS["degree-corrected"], edges, np.arange(400) // 10)
    search = DescriptionSearch(state, np.random.default_rng(0), Trail(silent))
    search.descend()
    shortest, blocks = search.best_length, search.state.n_blocks
    assert search.merges(1) == 0  # no merge alone helps
    assert search.overshoot_level(1)
    assert search.state.n_blocks < blocks
    assert math.isclose(search.length, search.state.length(), abs_tol=1e-6)
    assert search.best_length <= shortest
    assert not search.overshoot_level(search.state.n_blocks)


def test_planted_blocks_and_their_number_are_found():
    graph, truth = planted_partition(600, 6, mean_degree=16, mixing=0.2, rng=2)
    model = ct.BlockModel("simple").fit(graph)
    assert model.n_blocks_ == 6
    assert adjusted_rand(model.labels_, truth) > 0.98
    assert min(model.description_lengths_, key=model.description_lengths_.get) == (6,)
    assert model.description_lengths_[6,] == model.description_length_
    assert len(model.description_lengths_) > 3


def test_auto_objective_recognises_how_a_graph_was_drawn():
    graph, truth = degree_corrected_sbm(1000, 5, mean_degree=16, mixing=0.2, rng=4)
    model = ct.BlockModel("auto").fit(graph)
    assert model.model_ in ("degree-corrected", "communities", "uniform-communities")
    assert adjusted_rand(model.labels_, truth) > 0.9
    simple = ct.BlockModel("simple").fit(graph)
    assert simple.description_length_ > model.description_length_


def test_result_does_not_depend_on_threads():
    graph, _ = planted_partition(400, 5, mean_degree=12, rng=3)
    results = []
    for threads in (1, 3):
        with LocalEngine(threads) as engine:
            model = ct.BlockModel("degree-corrected", nested=True)
            results.append(model.fit(graph, engine=engine).labels_)
    assert np.array_equal(*results)


def test_communities_and_hierarchies_tell_more_blocks_apart(ring_of_cliques):
    graph, truth = ring_of_cliques
    flat = ct.BlockModel("degree-corrected").fit(graph)
    communities = ct.BlockModel("communities").fit(graph)
    nested = ct.BlockModel("degree-corrected", nested=True).fit(graph)
    assert flat.n_blocks_ < 24
    assert adjusted_rand(communities.labels_, truth) == 1.0
    assert nested.n_blocks_ > flat.n_blocks_
    assert nested.description_length_ < flat.description_length_


def test_a_hierarchy_is_not_longer_than_the_flat_description_of_planted_blocks():
    """A search that starts from many small blocks ends with small blocks in the planted groups."""
    graph, truth = degree_corrected_sbm(900, 6, mean_degree=24, rng=5)
    flat = ct.BlockModel("degree-corrected").fit(graph)
    nested = ct.BlockModel("degree-corrected", nested=True).fit(graph)
    assert nested.n_blocks_ == flat.n_blocks_ == len(np.unique(truth))
    assert nested.description_length_ < 1.001 * flat.description_length_


def test_small_blocks_that_a_flat_model_merges_are_found_by_cutting_its_blocks():
    n, m = 1800, 40  # 120 groups of 15, in 12 regions
    rng = np.random.default_rng(8)
    group = np.arange(n) // 15
    source = np.repeat(np.arange(n), 4)
    inside = rng.random(len(source)) < 0.85
    region = np.where(inside, group[source] * 15, group[source] // 10 * 150)
    target = region + rng.integers(0, np.where(inside, 15, 150))
    graph = ct.Graph.from_edges(source, target, n_nodes=n)
    flat = ct.BlockModel("degree-corrected").fit(graph)
    nested = ct.BlockModel("degree-corrected", nested=True).fit(graph)
    assert nested.n_blocks_ > flat.n_blocks_ + m
    assert nested.description_length_ < 0.99 * flat.description_length_


def test_two_large_communities_are_found():
    """Many small blocks in two communities are longer than one block, and each merge lengthens."""
    graph, truth = degree_corrected_sbm(600, 2, mean_degree=24, rng=1)
    model = ct.BlockModel("communities").fit(graph)
    assert model.n_blocks_ == 2
    assert adjusted_rand(model.labels_, truth) == 1.0


def test_levels_are_nested_and_have_the_length_that_is_reported(ring_of_cliques):
    graph, _ = ring_of_cliques
    model = ct.BlockModel("degree-corrected", nested=True).fit(graph)
    assert np.array_equal(model.levels_[0], model.labels_)
    steps = [model.levels_[0]]
    for fine, coarse in zip(model.levels_, model.levels_[1:], strict=False):
        pairs = set(zip(fine.tolist(), coarse.tolist(), strict=True))
        assert len(pairs) == len(set(fine.tolist()))  # a block has one parent
        parent = dict(pairs)
        steps.append(renumber(np.array([parent[b] for b in range(int(fine.max()) + 1)])))
    steps.append(np.zeros(int(steps[-1].max()) + 1, np.int32))
    length = nested_length(
        KINDS["degree-corrected"], multigraph(graph.indptr, graph.indices), steps
    )
    assert math.isclose(length, model.description_length_, abs_tol=1e-6)


def test_models_are_compared_by_length():
    graph, _ = degree_corrected_sbm(300, 3, mean_degree=12, mixing=0.1, rng=1)
    rows = ct.compare_models(graph)
    assert [row.difference for row in rows] == sorted(row.difference for row in rows)
    assert rows[0].odds == 1.0
    lengths = {row.model: row.description_length for row in rows}
    assert len(lengths) == 7
    assert lengths["one block, degree-corrected"] < lengths["one block, simple"]
    assert lengths["degree-corrected"] < lengths["one block, degree-corrected"]
    for name in ("simple", "degree-corrected", "communities", "uniform-communities"):
        alone = ct.BlockModel(name).fit(graph)
        assert lengths[name] == alone.description_length_
    nested = ct.BlockModel("degree-corrected", nested=True).fit(graph)
    assert lengths["nested, degree-corrected"] == nested.description_length_


@pytest.mark.parametrize("edges", [([], []), ([0], [1])])
@pytest.mark.parametrize("n_blocks", ["auto", "nested"])
def test_tiny_graphs_have_one_block(edges, n_blocks):
    graph = ct.Graph.from_edges(*edges, n_nodes=2)
    model = hard_model(n_blocks, objective="degree-corrected").fit(graph)
    assert model.labels_.tolist() == [0, 0]
    assert math.isfinite(model.description_length_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_blocks": 3, "objective": "communities"}, "chooses the number"),
        ({"n_blocks": 3, "objective": "auto"}, "chooses the number"),
        ({"n_blocks": "auto", "objective": "auto", "search": "paper"}, "paper"),
        ({"n_blocks": "nested", "objective": "communities"}, "nested.*communities"),
        ({"n_blocks": "nested", "search": "paper"}, "paper.*nested"),
        ({"n_blocks": "nested", "min_block_size": 5}, "min_block_size"),
        ({"n_blocks": "nested", "connected": True}, "connected"),
    ],
)
def test_requests_that_cannot_work_are_refused(options, message):
    graph = ct.Graph.from_edges(*zip(*EDGES, strict=True))
    with pytest.raises(InputError, match=message):
        hard_model(**options).fit(graph)


def cliques_and_sparse_groups():
    """Communities of unequal density: five cliques of eight, and five sparse groups of thirty."""
    rng = np.random.default_rng(0)
    pairs, truth, first = [], [], 0
    for block, (size, p) in enumerate([(8, 1.0)] * 5 + [(30, 0.2)] * 5):
        u, v = np.triu_indices(size, 1)
        kept = rng.random(len(u)) < p
        pairs.append(np.stack([u[kept], v[kept]]) + first)
        truth += [block] * size
        first += size
    pairs.append(rng.integers(0, first, (2, 40)))
    edges = np.unique(np.sort(np.concatenate(pairs, axis=1), axis=0), axis=1)
    edges = edges[:, edges[0] != edges[1]]
    return ct.Graph.from_edges(*edges, n_nodes=first), np.array(truth)


def test_communities_of_unequal_density():
    graph, truth = cliques_and_sparse_groups()
    own = ct.BlockModel("communities", density="per-block").fit(graph)
    same = ct.BlockModel("communities", density="uniform").fit(graph)
    assert (own.model_, same.model_) == ("communities", "uniform-communities")
    assert adjusted_rand(own.labels_, truth) > 0.9
    assert own.description_length_ < same.description_length_
    chosen = ct.BlockModel(density="uniform").fit(graph)
    assert chosen.model_ != "communities"
    assert chosen.description_length_ <= same.description_length_
    with pytest.raises(InputError, match="density"):
        ct.BlockModel("simple", density="uniform").fit(graph)


def test_auto_contains_the_whole_fit_of_the_degree_corrected_model():
    rng = np.random.default_rng(0)
    n, weight = 2000, rng.pareto(1.5, 2000) + 1
    kind = np.arange(n) % 6  # edges join a kind with the next one: no communities
    drawn = [np.flatnonzero(kind == k) for k in range(6)]
    source = rng.choice(n, 9000, p=weight / weight.sum())
    share = [weight[z] / weight[z].sum() for z in drawn]
    target = [rng.choice(drawn[(kind[u] + 1) % 6], p=share[(kind[u] + 1) % 6]) for u in source]
    graph = ct.Graph.from_edges(source, target, n_nodes=n)
    auto, alone = ct.BlockModel().fit(graph), ct.BlockModel("degree-corrected").fit(graph)
    assert auto.model_ == "degree-corrected"
    assert (auto.labels_ == alone.labels_).all()
    assert auto.description_length_ == alone.description_length_


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_auto_is_not_longer_than_a_model_alone(nested, seed):
    """Of graphs that are too large to search for every model in full."""
    draw = (planted_partition, degree_corrected_sbm)[seed % 2]
    graph, truth = draw(1500, (3, 12, 5)[seed], mean_degree=16, mixing=0.2, rng=seed)
    auto = ct.BlockModel(nested=nested).fit(graph)
    names = ["simple", "degree-corrected"] + ([] if nested else ["communities"])
    for name in names:
        alone = ct.BlockModel(name, nested=nested).fit(graph)
        assert auto.description_length_ < alone.description_length_ + 5
    assert adjusted_rand(auto.labels_, truth) > 0.85


def test_few_large_blocks_are_not_cut_into_small_ones():
    graph, truth = planted_partition(1000, 3, mean_degree=20, mixing=0.2, rng=3)
    for seed in range(3):
        assert adjusted_rand(ct.BlockModel("simple", rng=seed).fit(graph).labels_, truth) == 1.0


def test_effort_shortens_the_description_and_shows_when():
    rng = np.random.default_rng(5)
    graph = ct.Graph.from_edges(*rng.integers(0, 400, (2, 3000)) // rng.integers(1, 9, (2, 3000)))
    short = ct.BlockModel("degree-corrected").fit(graph)
    long = ct.BlockModel("degree-corrected", effort=8).fit(graph)
    assert long.description_length_ <= short.description_length_
    assert len(long.history_) > len(short.history_)
    lengths = [entry.entropy for entry in long.history_]
    assert min(lengths) == pytest.approx(long.description_length_, abs=1.0)
    with pytest.raises(InputError, match="effort"):
        ct.BlockModel(effort=0.5).fit(graph)

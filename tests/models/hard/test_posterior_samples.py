"""Samples of `BlockModel.sample` against the exact posterior, by enumeration of all partitions."""

from __future__ import annotations

import math
import warnings
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2
from tests.reference import (
    description_length,
    directed_description_length,
    nested_description_length,
    set_partitions,
    weighted_description_length,
)

import coterie as ct
from coterie.base.errors import AssumptionWarning
from coterie.data.generators import planted_partition
from coterie.models.hard.posterior import aligned, effective_size, r_hat


def _clique(*nodes):
    return [(u, v) for place, u in enumerate(nodes) for v in nodes[:place]]


# Ten graphs of at most 8 nodes: clear groups, none, roles, isolated nodes, several components.
GRAPHS = {
    "two 4-cliques": (8, [*_clique(0, 1, 2, 3), *_clique(4, 5, 6, 7)]),
    "two triangles, joined": (6, [*_clique(0, 1, 2), *_clique(3, 4, 5), (2, 3)]),
    "path": (7, [(v, v + 1) for v in range(6)]),
    "star": (7, [(0, v) for v in range(1, 7)]),
    "ring": (6, [(v, (v + 1) % 6) for v in range(6)]),
    "complete bipartite": (7, [(u, v) for u in range(3) for v in range(3, 7)]),
    "clique and isolated nodes": (7, _clique(0, 1, 2, 3)),
    "wheel": (6, [(0, v) for v in range(1, 6)] + [(v, v % 5 + 1) for v in range(1, 6)]),
    "two stars": (8, [(0, v) for v in (1, 2, 3)] + [(4, v) for v in (5, 6, 7)] + [(0, 4)]),
    "two edges": (5, [(0, 1), (2, 3)]),
}
WEIGHTS = [1.0, 2.0, 5.0, 1.5, 4.0, 0.5, 3.0, 1.0, 6.0, 2.5, 1.0, 4.5]


def _weighted(edges):
    return [(u, v, WEIGHTS[place % len(WEIGHTS)]) for place, (u, v) in enumerate(edges)]


# What a model is given, and the independent length of labels
LENGTHS = {
    "simple": lambda edges, z: description_length(edges, z, "simple"),
    "degree-corrected": lambda edges, z: description_length(edges, z, "degree-corrected"),
    "communities": lambda edges, z: description_length(edges, z, "communities"),
    "directed": directed_description_length,
    "directed-degree-corrected": lambda edges, z: directed_description_length(edges, z, True),
    "normal": lambda edges, z: weighted_description_length(_weighted(edges), z, "normal"),
    "lognormal": lambda edges, z: weighted_description_length(_weighted(edges), z, "lognormal"),
    "exponential": lambda edges, z: weighted_description_length(_weighted(edges), z, "exponential"),
}


def _canonical(labels):
    names = {}
    return tuple(names.setdefault(int(z), len(names)) for z in labels)


def _fitted(n, edges, name, **options):
    ends = [np.array(side) for side in zip(*edges, strict=True)]
    if name in ("normal", "lognormal", "exponential"):
        weights = [w for _, _, w in _weighted(edges)]
        graph = ct.Graph.from_edges(*ends, n_nodes=n, weights=weights)
        model = ct.BlockModel("weighted", weight_model=name, **options)
    else:
        graph = ct.Graph.from_edges(*ends, n_nodes=n, directed=name.startswith("directed"))
        model = ct.BlockModel(name, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)  # about the few nodes
        return model.fit(graph)


def _p_value(seen, lengths):
    """Return the probability of a chi-square this large; rare partitions are counted together."""
    low = min(lengths.values())
    weights = {z: math.exp(low - length) for z, length in lengths.items()}
    draws, total = sum(seen.values()), sum(weights.values())
    assert set(seen) <= set(weights)
    cells = [(seen[z], draws * w / total) for z, w in weights.items()]
    rare = [(s, e) for s, e in cells if e < 5]
    cells = [(s, e) for s, e in cells if e >= 5]
    if rare and sum(e for _, e in rare) >= 5:
        cells.append((sum(s for s, _ in rare), sum(e for _, e in rare)))
    distance = sum((s - e) ** 2 / e for s, e in cells)
    return float(chi2.sf(distance, len(cells) - 1)) if len(cells) > 1 else 1.0


def _drawn(model, n_samples=1200, thin=4):
    """Samples that are far enough apart to be independent; the seed is fixed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", AssumptionWarning)
        return model.sample(n_samples, thin=thin, burn_in=100, rng=1)


NAMES = list(GRAPHS)
CASES = [
    *(
        (name, NAMES[(place + step) % 10])
        for place, name in enumerate(LENGTHS)
        for step in (0, 3, 7)
    ),
]


@pytest.mark.parametrize(("name", "graph"), CASES)
def test_samples_have_the_exact_distribution(name, graph):
    n, edges = GRAPHS[graph]
    lengths = {_canonical(z): LENGTHS[name](edges, list(z)) for z in set_partitions(n)}
    samples = _drawn(_fitted(n, edges, name))
    assert _p_value(Counter(map(_canonical, samples.labels_)), lengths) > 0.001
    shown = samples.description_lengths_.ravel()[:20]
    for labels, length in zip(samples.labels_, shown, strict=False):
        assert math.isclose(lengths[_canonical(labels)], length, abs_tol=1e-6)


@pytest.mark.parametrize("graph", ["two triangles, joined", "ring", "wheel", "two edges"])
@pytest.mark.parametrize("name", ["simple", "degree-corrected"])
def test_samples_of_hierarchies_have_the_exact_distribution(name, graph):
    """Two free levels below the one with one group."""
    n, edges = GRAPHS[graph]
    n = min(n, 6)
    lengths = {}
    for nodes in set_partitions(n):
        blocks = _canonical(nodes)
        for groups in set_partitions(max(blocks) + 1):
            parents = _canonical(groups)
            levels = [blocks, parents, [0] * (max(parents) + 1)]
            length = nested_description_length(edges, levels)
            if name == "simple":
                length += description_length(edges, blocks, "simple")
                length -= description_length(edges, blocks, "degree-corrected")
            lengths[blocks, _canonical([parents[b] for b in blocks])] = length
    model = _fitted(n, edges, name, nested=True)
    model.levels_ = [np.arange(n, dtype=np.int32) // 2, np.arange(n, dtype=np.int32) // 4]
    samples = _drawn(model)
    assert len(samples.levels_) == 2
    drawn = zip(*(map(_canonical, level) for level in samples.levels_), strict=True)
    assert _p_value(Counter(drawn), lengths) > 0.001


def test_two_clear_communities_are_certain_and_chains_agree():
    graph, truth = planted_partition(60, 2, p_in=0.5, p_out=0.02, rng=1)
    model = ct.BlockModel("degree-corrected").fit(graph)
    samples = model.sample(80, thin=5)
    assert samples.labels_.shape == (80, 60)
    assert np.allclose(samples.marginals_.sum(axis=1), 1.0)
    assert samples.confidence_.min() > 0.9
    assert np.array_equal(samples.consensus_, model.labels_)
    assert max(samples.block_counts_, key=samples.block_counts_.get) == 2
    same = np.flatnonzero(truth == truth[0])[1:3]
    other = np.flatnonzero(truth != truth[0])[:2]
    assert samples.co_membership([0, 0], same).min() > 0.9
    assert samples.co_membership([0, 0], other).max() < 0.1
    again = model.sample(80, thin=5, engine=ct.LocalEngine(1))
    assert np.array_equal(samples.labels_, again.labels_)


def test_warning_if_the_chains_disagree():
    graph, _ = planted_partition(90, 3, p_in=0.5, p_out=0.05, rng=1)
    model = ct.BlockModel("simple").fit(graph)
    with pytest.warns(AssumptionWarning, match="not yet reliable: R-hat of the"):
        samples = model.sample(8, burn_in=0, thin=1)
    assert not samples.chains_agree


def test_modes_are_the_distinct_explanations_with_their_weight():
    n, edges = GRAPHS["two 4-cliques"]
    modes = _drawn(_fitted(n, edges, "simple")).modes()
    assert [mode.n_blocks for mode in modes[:2]] == [1, 2]
    assert math.isclose(sum(mode.weight for mode in modes), 1.0)
    assert abs(modes[0].weight - 0.652) < 0.1
    assert _canonical(modes[1].labels) == (0, 0, 0, 0, 1, 1, 1, 1)
    for mode in modes:
        length = description_length(edges, mode.labels.tolist(), "simple")
        assert math.isclose(mode.description_length, length, abs_tol=1e-6)


def test_one_node_one_sample_and_bad_requests():
    model = _fitted(1, [(0, 0)], "simple")
    assert model.sample(3).confidence_.tolist() == [1.0]
    assert len(model.sample(1, n_chains=1).modes()) == 1
    with pytest.raises(ct.InputError, match="invalid n_samples"):
        model.sample(0)
    with pytest.raises(ct.InputError, match="invalid n_samples"):
        model.sample(model.graph_)
    with pytest.raises(ct.InputError, match="not fitted to this graph"):
        model.sample(data=ct.Graph.from_edges([0], [1]))


def test_alignment_and_agreement_of_chains():
    best = np.array([0, 0, 1, 1, 2])
    assert aligned(np.array([2, 2, 0, 0, 1]), best).tolist() == best.tolist()
    assert r_hat(np.array([[0.0, 1.0, 0.0, 1.0], [9.0, 8.0, 9.0, 8.0]])) > 5
    assert math.isnan(r_hat(np.array([[1.0, 2.0]])))


def test_effective_size_of_an_autoregressive_process():
    rng = np.random.default_rng(0)
    values = np.zeros((4, 4000))
    for step in range(1, values.shape[1]):
        values[:, step] = 0.8 * values[:, step - 1] + rng.normal(size=4)
    assert math.isclose(effective_size(values), values.size * 0.2 / 1.8, rel_tol=0.15)

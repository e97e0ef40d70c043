"""Samples of partitions against the exact posterior, by enumeration of all partitions."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from tests.reference import description_length, set_partitions

import coterie as ct
from coterie.data.generators import planted_partition
from coterie.kernels.hard import description_moves as moves
from coterie.models.hard.description.sampling import aligned, r_hat
from coterie.models.hard.description.state import KINDS, multigraph, start_state

# Two triangles and a tail: several partitions have similar probabilities.
EDGES = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)]
N = 6


def _canonical(labels):
    names = {}
    return tuple(names.setdefault(z, len(names)) for z in labels)


def _exact(model):
    lengths = {
        _canonical(z): description_length(EDGES, z, model) for z in map(list, set_partitions(N))
    }
    low = min(lengths.values())
    weights = {z: math.exp(low - value) for z, value in lengths.items()}
    total = sum(weights.values())
    return {z: w / total for z, w in weights.items()}


@pytest.mark.parametrize("model", list(KINDS))
@pytest.mark.parametrize("kind", ["moves", "merges and splits"])
def test_chains_have_the_exact_distribution(model, kind):
    """The seed is fixed, so this cannot fail by chance; the distance is that of 20,000 draws."""
    exact = _exact(model)
    assert len(exact) == 203
    graph = ct.Graph.from_edges(*zip(*EDGES, strict=True))
    state = start_state(
        KINDS[model], multigraph(graph.indptr, graph.indices), np.zeros(N), spare=N + 1
    )
    rng = np.random.default_rng(5)
    seen: Counter[tuple[int, ...]] = Counter()
    draws = 20_000
    for _ in range(draws):
        keys = rng.integers(0, 2**63, 4, dtype=np.uint64)
        if kind == "moves":
            moves.gibbs_sweep(*state.arguments, rng.permutation(N), keys[0], 1.0)
        else:
            for key in keys:
                moves.merge_split_step(*state.arguments, key)
        seen[_canonical(state.labels.tolist())] += 1
    distance = 0.5 * sum(abs(seen[z] / draws - p) for z, p in exact.items())
    assert distance < 0.05
    length = description_length(EDGES, state.labels.tolist(), model)
    assert math.isclose(state.length(), length, abs_tol=1e-8)


def test_two_clear_communities_are_certain_and_chains_agree():
    graph, truth = planted_partition(60, 2, p_in=0.5, p_out=0.02, rng=1)
    model = ct.BlockModel("degree-corrected").fit(graph)
    samples = model.sample(graph, n_samples=40, n_chains=2)
    assert samples.labels_.shape == (80, 60)
    assert np.allclose(samples.marginals_.sum(axis=1), 1.0)
    assert samples.confidence_.min() > 0.9
    assert max(samples.block_counts_, key=samples.block_counts_.get) == 2
    same = np.flatnonzero(truth == truth[0])[1:3]
    other = np.flatnonzero(truth != truth[0])[:2]
    assert samples.co_membership([0, 0], same).min() > 0.9
    assert samples.co_membership([0, 0], other).max() < 0.1
    again = model.sample(graph, n_samples=40, n_chains=2)
    assert np.array_equal(samples.labels_, again.labels_)


def test_alignment_and_agreement_of_chains():
    best = np.array([0, 0, 1, 1, 2])
    assert aligned(np.array([2, 2, 0, 0, 1]), best).tolist() == best.tolist()
    assert r_hat(np.array([[0.0, 1.0, 0.0, 1.0], [9.0, 8.0, 9.0, 8.0]])) > 5
    assert math.isnan(r_hat(np.array([[1.0, 2.0]])))

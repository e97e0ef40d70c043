"""GeneralizedKMeans: planted blocks, k-means, minimum sizes, invalid input."""

from __future__ import annotations

import warnings

import networkx as nx
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from tests import reference as ref
from tests.support.hard_models import hard_model

import coterie as ct
from coterie.base.errors import AssumptionWarning, InputError
from coterie.engine import LocalEngine
from coterie.engine.sharded_data import open_shards
from coterie.engine.sharding import shard_graph
from coterie.models.agreement import adjusted_mutual_information, adjusted_rand


def planted(n=240, k=4, p_in=0.3, p_out=0.02, seed=0, directed=False):
    rng = np.random.default_rng(seed)
    z = rng.permutation(np.arange(n) % k)
    p = np.where(z[:, None] == z[None, :], p_in, p_out)
    present = rng.random((n, n)) < p
    np.fill_diagonal(present, False)
    s, t = np.nonzero(present if directed else np.triu(present))
    return ct.Graph.from_edges(s, t, n_nodes=n, directed=directed), z


def karate() -> ct.Graph:
    s, t = np.array(list(nx.karate_club_graph().edges())).T
    return ct.Graph.from_edges(s, t)


@pytest.mark.parametrize("objective", ["simple", "degree-corrected", "directed"])
def test_planted_blocks_are_found(objective):
    graph, z = planted(directed=objective == "directed")
    model = ct.GeneralizedKMeans(4, search="paper", objective=objective, n_init=40, rng=0).fit(
        graph
    )
    assert adjusted_rand_score(z, model.labels_) >= 0.99
    assert model.locally_optimal_ and model.converged_


@pytest.mark.parametrize("score", ["exact", "fixed"])
def test_both_scores_lower_the_entropy(score):
    graph, _ = planted()
    model = ct.GeneralizedKMeans(4, search="paper", move_score=score, rng=1).fit(graph)
    first, last = model.history_[0].entropy, model.entropy_
    assert last < 0.95 * first


def test_moving_all_nodes_at_once_does_not_converge(data_dir):
    """As Prost & Yoon report for the Caida network: with alpha = 1 the entropy does not fall."""
    graph = ct.read_graph(data_dir / "as-caida20071105.txt.gz")
    few, whole = (
        ct.GeneralizedKMeans(100, search="paper", alpha=alpha, max_iter=n, tol=0, rng=0).fit(graph)
        for alpha, n in ((0.1, 100), (1.0, 10))
    )
    assert few.entropy_ < 300_000 < 350_000 < whole.entropy_
    assert (np.diff([entry.entropy for entry in whole.history_]) > 0).any()


def test_lloyd_equals_scikit_learn():
    rng = np.random.default_rng(3)
    points = np.concatenate([rng.normal(c, 1.0, (60, 3)) for c in (0.0, 2.5, 6.0)])
    start = rng.integers(0, 3, len(points))
    centers = np.array([points[start == y].mean(axis=0) for y in range(3)])
    expected = KMeans(3, init=centers, n_init=1, tol=0, max_iter=100).fit(points)
    fitted = ct.GeneralizedKMeans(
        3, search="paper", objective="gaussian", alpha=1.0, tol=0, max_iter=100, init=start
    ).fit(points)
    np.testing.assert_array_equal(fitted.labels_, expected.labels_)
    np.testing.assert_allclose(fitted.centers_, expected.cluster_centers_)
    constant = points.size / 2 * np.log(2 * np.pi)
    assert fitted.entropy_ - constant == pytest.approx(expected.inertia_ / 2)
    exact = ct.GeneralizedKMeans(
        3, search="paper", objective="gaussian", move_score="exact", init=start
    ).fit(points)
    assert exact.entropy_ == pytest.approx(ref.entropy_gaussian(points, exact.labels_, 3))


def test_block_matrices_equal_the_reference():
    graph, _ = planted(n=60)
    edges = list(zip(*(e.tolist() for e in graph.edges()), strict=True))
    model = ct.GeneralizedKMeans(5, search="paper", rng=0).fit(graph)
    np.testing.assert_array_equal(model.block_edges_, ref.block_edges(edges, model.labels_, 5))
    np.testing.assert_array_equal(model.block_pairs_, ref.block_pairs(model.labels_, 5))
    some = model.block_pairs_ > 0
    ratio = model.block_edges_[some] / model.block_pairs_[some]
    np.testing.assert_allclose(model.block_probabilities_[some], ratio)
    assert model.entropy_ == pytest.approx(ref.entropy_simple(edges, model.labels_, 5), rel=1e-9)


def test_ratings_have_two_label_sets_and_one_distribution_per_cell():
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 40, 600), rng.integers(0, 30, 600)
    values = np.where((users + items) % 2 == 0, 5, 1)
    ratings = ct.Ratings.from_arrays(users, items, values)
    model = ct.GeneralizedKMeans((2, 2), search="paper", objective="ratings", n_init=4, rng=0).fit(
        ratings
    )
    assert model.labels_[0].shape == (40,) and model.labels_[1].shape == (30,)
    assert model.entropy_ == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(model.block_probabilities_.sum(axis=2), 1.0)
    assert model.block_edges_.sum() == len(ratings)
    for objective in ("likes", "binomial"):
        other = ct.GeneralizedKMeans((2, 2), search="paper", objective=objective, rng=0).fit(
            ratings
        )
        assert np.isfinite(other.entropy_)


def test_no_block_is_smaller_than_min_block_size():
    graph, _ = planted(n=100, k=4)
    for score in ("exact", "fixed"):
        model = ct.GeneralizedKMeans(
            8, search="paper", min_block_size=9, move_score=score, rng=0
        ).fit(graph)
        assert np.bincount(model.labels_, minlength=8).min() >= 9
    with pytest.raises(InputError, match="at most `min_block_size=12`"):
        ct.GeneralizedKMeans(8, search="paper", min_block_size=13).fit(graph)


@pytest.mark.parametrize(
    "options",
    [
        {"n_blocks": 0},
        {"n_blocks": 241},
        {"n_blocks": 2.5},
        {"n_blocks": "auto"},
        {"n_blocks": "nested"},
        {"n_blocks": (2, 2)},
        {"alpha": 0.0},
        {"alpha": 1.5},
        {"alpha": float("nan")},
        {"tol": -1.0},
        {"max_iter": -1},
        {"n_init": 0},
        {"min_block_size": -1},
        {"objective": "no such"},
        {"objective": "ratings"},
        {"objective": "weighted"},
        {"search": "no such"},
        {"move_score": "no such"},
        {"init": "no such"},
        {"init": np.zeros(3, int)},
        {"init": np.full(240, 4)},
        {"rng": -1},
    ],
    ids=repr,
)
def test_invalid_parameters_are_rejected(options):
    graph, _ = planted()
    with pytest.raises(InputError):
        ct.GeneralizedKMeans(**{"n_blocks": 4, "search": "paper", **options}).fit(graph)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_invalid_weights_are_rejected(weight):
    def fit():
        graph = ct.Graph.from_edges([0, 1], [1, 2], weights=[1.0, weight])
        ct.GeneralizedKMeans(2, search="paper", objective="weighted").fit(graph)

    with pytest.raises(InputError):
        fit()


def test_ignored_directions_are_reported():
    graph, _ = planted(directed=True)
    with pytest.warns(AssumptionWarning, match="directions"):
        ct.GeneralizedKMeans(2, search="paper", max_iter=2).fit(graph)


def test_empty_and_complete_graphs():
    nothing = ct.Graph.from_edges([], [], n_nodes=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for k in (1, 2, 5):
            model = ct.GeneralizedKMeans(k, search="paper", rng=0).fit(nothing)
            assert model.entropy_ == 0.0
        complete = ct.Graph.from_edges(*np.triu_indices(6, 1))
        assert ct.GeneralizedKMeans(3, search="paper", rng=0).fit(
            complete
        ).entropy_ == pytest.approx(0, abs=1e-9)
        graph, _ = planted(n=30)
        assert ct.GeneralizedKMeans(30, search="paper", rng=0).fit(graph).n_blocks_ <= 30
    with pytest.raises(InputError):
        ct.GeneralizedKMeans(1).fit(ct.Graph.from_edges([], [], n_nodes=0))


def test_entropies_do_not_depend_on_the_order_of_nodes():
    graph, _ = planted(n=120, k=3, p_in=0.15)
    turn = np.random.default_rng(5).permutation(120)
    s, t = graph.edges()
    turned = ct.Graph.from_edges(turn[s], turn[t], n_nodes=120)
    a, b = (
        [ct.GeneralizedKMeans(6, search="paper", rng=seed).fit(g).entropy_ for seed in range(10)]
        for g in (graph, turned)
    )
    spread = np.std(a) + np.std(b)
    assert abs(np.mean(a) - np.mean(b)) <= 2 * spread


def test_number_of_threads_does_not_change_the_result():
    graph, _ = planted(n=600, k=6, p_in=0.1)
    found = []
    for threads in (1, 2):
        with LocalEngine(threads) as engine:
            found.append(
                ct.GeneralizedKMeans(12, search="paper", rng=0, max_iter=40).fit(
                    graph, engine=engine
                )
            )
    np.testing.assert_array_equal(found[0].labels_, found[1].labels_)
    assert found[0].entropy_ == found[1].entropy_


def test_labels_by_id_of_a_networkx_graph():
    names = nx.relabel_nodes(nx.karate_club_graph(), lambda v: f"member {v}")
    graph = ct.Graph.from_networkx(names)
    by_id = ct.GeneralizedKMeans(2, search="paper", rng=0).fit(graph).labels_by_id(graph)
    assert set(by_id) == set(names) and set(by_id.values()) <= {0, 1}


def test_best_labels_are_kept_if_later_ones_are_worse():
    graph = karate()
    model = ct.GeneralizedKMeans(6, search="paper", alpha=1.0, tol=0, max_iter=30, rng=0).fit(graph)
    seen = [entry.entropy for entry in model.history_]
    assert model.entropy_ <= min(seen) + 1e-9
    assert len(seen) == 30


def test_agreement_equals_scikit_learn():
    rng = np.random.default_rng(0)
    for n, k, q in ((1, 1, 1), (50, 4, 6), (400, 30, 10), (60, 60, 3)):
        a, b = rng.integers(0, k, n), rng.integers(0, q, n)
        mixed = np.where(rng.random(n) < 0.5, a, b)
        for x, y in ((a, b), (a, mixed), (a, a), (np.zeros(n, int), b)):
            assert adjusted_rand(x, y) == pytest.approx(adjusted_rand_score(x, y), abs=1e-9)
            expected = adjusted_mutual_info_score(x, y)
            assert adjusted_mutual_information(x, y) == pytest.approx(expected, abs=1e-7)


def foreign_graphs():
    edges = nx.karate_club_graph()
    yield nx.to_numpy_array(edges), r"numpy\.ndarray.*ct\.Graph\.from_numpy"
    yield [(0, 1)], "not to list; convert the data"


@pytest.mark.parametrize(("graph", "message"), list(foreign_graphs()))
def test_graph_of_another_library_is_named_with_its_conversion(graph, message):
    with pytest.raises(InputError, match=message):
        ct.GeneralizedKMeans(2).fit(graph)


class _OtherEngine:
    """An engine that is not local; using it fails."""


@pytest.mark.parametrize(
    ("parameters", "options", "message"),
    [
        ({"model": "weighted", "weight_model": "normal"}, {"engine": "dask"}, "the Dask engine"),
        ({}, {"engine": _OtherEngine()}, "does not support the Dask engine"),
        ({"model": "simple"}, {"engine": "dask"}, "does not support the Dask engine"),
    ],
)
def test_description_lengths_are_refused_on_a_cluster_before_any_work(
    parameters, options, message, monkeypatch
):
    def work(*arguments):
        raise AssertionError("work has started")

    monkeypatch.setattr("coterie.models.hard.clustering.running_engine", work)
    with pytest.raises(InputError, match=f'{message}.*use `engine="local"`'):
        ct.BlockModel(**parameters).fit(karate(), **options)


@pytest.mark.parametrize("objective", ["simple", "directed", "weighted"])
@pytest.mark.parametrize("n_blocks", [3, "auto"])
def test_default_search_loads_shards(objective, n_blocks, tmp_path):
    rng = np.random.default_rng(0)
    pairs = np.unique(np.sort(rng.integers(0, 40, (150, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    rows = [
        f"n{u},n{v},{w}" for (u, v), w in zip(pairs, rng.integers(1, 5, len(pairs)), strict=True)
    ]
    (tmp_path / "g.csv").write_text("\n".join(rows) + "\n")
    kind = {"directed": objective == "directed", "weighted": objective == "weighted"}
    shard_graph(tmp_path / "g.csv", tmp_path / "shards", shards=3, **kind)
    graph = ct.read_graph(tmp_path / "g.csv", **kind)
    loaded = open_shards(tmp_path / "shards").load()
    order = [graph.ids.tolist().index(name) for name in loaded.ids.tolist()]
    expected = graph.csr.toarray()[np.ix_(order, order)]
    np.testing.assert_array_equal(loaded.csr.toarray(), expected)
    from_shards = hard_model(n_blocks, objective=objective)
    from_shards.fit(open_shards(tmp_path / "shards"))
    in_memory = hard_model(n_blocks, objective=objective).fit(loaded)
    np.testing.assert_array_equal(from_shards.labels_, in_memory.labels_)


def test_shards_that_do_not_fit_into_memory_are_refused(tmp_path, monkeypatch):
    (tmp_path / "g.csv").write_text("0,1\n1,2\n")
    shard_graph(tmp_path / "g.csv", tmp_path / "shards", shards=1)
    monkeypatch.setattr("coterie.engine.sharded_data.free_memory", lambda: 100)
    with pytest.raises(InputError, match=r"3 nodes and 2 edges.*use `search=.paper.`"):
        ct.GeneralizedKMeans(2).fit(open_shards(tmp_path / "shards"))


def test_invalid_seed_is_rejected():
    with pytest.raises(InputError, match="invalid seed: -1"):
        ct.GeneralizedKMeans(2, rng=-1).fit(karate())

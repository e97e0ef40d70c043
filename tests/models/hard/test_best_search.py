"""The best search: what it must reach for every objective, size and number of threads."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference

from coterie.base.errors import InputError
from coterie.base.progress import Progress, silent
from coterie.data import Graph, Ratings
from coterie.data.generators import (
    degree_corrected_sbm,
    planted_partition,
    stochastic_block_model,
)
from coterie.engine import LocalEngine
from coterie.models.hard.block_model import BlockModel, searched_block_model
from coterie.models.hard.costs import make_objective
from coterie.models.hard.k_means import GeneralizedKMeans
from coterie.models.hard.saved_search import SearchSaver
from coterie.models.hard.search import SearchSettings, SearchTask, auto_k, best, checked_moves
from coterie.models.hard.search import agglomerate as agglomeration
from coterie.models.hard.search.agglomerate import agglomerate, enlarge_small
from coterie.models.hard.search.auto_k import description_length
from coterie.models.hard.search.checked_moves import settle


def task(objective, n_blocks, *, rng, engine, start=None, callback=silent, **settings):
    settings = SearchSettings(**settings)
    return SearchTask(objective, n_blocks, rng, engine, settings, start, callback)


def search(objective, *n_blocks, seed=0, threads=1, **options):
    with LocalEngine(threads) as engine:
        rng = np.random.default_rng(seed)
        return best.run(task(objective, n_blocks, rng=rng, engine=engine, **options))


def chosen(objective, **options):
    with LocalEngine(1) as engine:
        return auto_k.choose(objective, rng=np.random.default_rng(0), engine=engine, **options)[0]


def karate() -> Graph:
    networkx = pytest.importorskip("networkx")
    u, v = zip(*networkx.karate_club_graph().edges(), strict=True)
    return Graph.from_edges(u, v, n_nodes=34)


def pairs_of(graph: Graph) -> list[tuple[int, int]]:
    return list(zip(*(end.tolist() for end in graph.edges()), strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_karate_two_blocks(seed):
    result = search(make_objective("simple", karate()), 2, seed=seed)
    assert result.entropy == pytest.approx(179.39, abs=0.01)


@given(seed=st.integers(0, 10**6), k=st.integers(1, 12), density=st.floats(0, 0.6))
@settings(max_examples=25, deadline=None)
def test_result_is_locally_optimal_and_has_the_reported_entropy(seed, k, density):
    rng = np.random.default_rng(seed)
    u, v = np.nonzero(np.triu(rng.random((12, 12)) < density, 1))
    graph = Graph.from_edges(u, v, n_nodes=12)
    result = search(make_objective("simple", graph), k, seed=seed, max_iter=3)
    pairs, labels = pairs_of(graph), result.labels[0]
    assert result.entropy == pytest.approx(reference.entropy_simple(pairs, labels, k), abs=1e-9)
    assert reference.is_locally_optimal(
        lambda z: reference.entropy_simple(pairs, z, k), labels, k, gain=2e-9
    )


@pytest.mark.parametrize("kind", ["simple", "degree-corrected", "directed"])
@pytest.mark.parametrize("k", [3, 12])
def test_planted_blocks_are_recovered(kind, k):
    graph, truth = planted_partition(
        900, k, mean_degree=25, mixing=0.15, directed=kind == "directed", rng=k
    )
    result = search(make_objective(kind, graph), k)
    assert reference.adjusted_rand_index(result.labels[0], truth) >= 0.99


def test_planted_blocks_with_uneven_degrees_are_recovered():
    graph, truth = degree_corrected_sbm(1200, 4, mean_degree=30, mixing=0.05, rng=1)
    labels = search(make_objective("degree-corrected", graph), 4).labels[0]
    seen = graph.degrees > 4
    assert reference.adjusted_rand_index(labels[seen], truth[seen]) >= 0.97


def test_blocks_are_recovered_from_weights_alone():
    """A complete graph: only the weights differ."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 20)
    u, v = np.triu_indices(60, 1)
    weights = rng.poisson(np.where(truth[u] == truth[v], 9.0, 5.0)) + 1.0
    graph = Graph.from_edges(u, v, weights=weights)
    result = search(make_objective("weighted", graph), 3)
    assert reference.adjusted_rand_index(result.labels[0], truth) >= 0.99


@pytest.mark.parametrize("kind", ["likes", "ratings", "binomial"])
def test_groups_of_users_and_items_are_recovered(kind):
    rng = np.random.default_rng(2)
    rows, columns = np.arange(90) % 3, np.arange(60) % 2
    p = np.array([[0.9, 0.1], [0.1, 0.9], [0.4, 0.5]])[rows][:, columns]
    if kind == "likes":
        u, v = np.nonzero(rng.random(p.shape) < p)
        ratings = Ratings.from_arrays(u, v, np.ones(len(u)))
    else:
        u, v = np.nonzero(rng.random(p.shape) < 0.7)
        ratings = Ratings.from_arrays(u, v, rng.binomial(4, p[u, v]))
    result = search(make_objective(kind, ratings), 3, 2)
    assert reference.adjusted_rand_index(result.labels[0], rows) >= 0.95
    assert reference.adjusted_rand_index(result.labels[1], columns) >= 0.99


def test_points_are_clustered_by_restarts():
    rng = np.random.default_rng(0)
    truth = np.arange(120) % 4
    points = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])[truth] + rng.normal(size=(120, 2))
    result = search(make_objective("gaussian", points), 4)
    assert reference.adjusted_rand_index(result.labels[0], truth) == 1.0
    assert result.entropy == min(step.entropy for step in result.history)
    assert result.converged


@pytest.mark.parametrize("kind", ["simple", "degree-corrected"])
def test_same_labels_on_one_thread_and_two(kind):
    graph, _ = planted_partition(3000, 20, mean_degree=12, mixing=0.4, rng=0)
    objective = make_objective(kind, graph)
    one, two = (search(objective, 15, threads=threads, max_iter=2) for threads in (1, 2))
    assert (one.labels[0] == two.labels[0]).all()
    assert one.entropy == two.entropy


def test_entropy_never_rises_while_settling():
    graph, _ = planted_partition(400, 5, mean_degree=8, mixing=0.4, rng=3)
    objective = make_objective("simple", graph)
    rng = np.random.default_rng(0)
    state = objective.start((rng.integers(0, 30, 400),), (30,))
    entropies = [objective.entropy(state)]
    with LocalEngine(1) as engine:
        for _ in range(12):
            outcome = settle(objective, state, rng, engine, passes=1)
            entropies.append(objective.entropy(state))
            assert entropies[-2] - entropies[-1] == pytest.approx(outcome.gained, abs=1e-6)
    assert (np.diff(entropies) <= 1e-9).all()
    assert entropies[-1] < 0.9 * entropies[0]


@pytest.mark.parametrize("threads", [1, 2])
def test_large_graphs_settle_in_few_full_passes_and_no_move_is_left(monkeypatch, threads):
    n, k = 6_000, 30
    graph, _ = planted_partition(n, 20, mean_degree=6, mixing=0.4, rng=1)
    objective = make_objective("simple", graph)
    visited: list[int] = []
    one_pass = checked_moves._pass

    def counted(*arguments):
        visited.append(len(arguments[3]))
        return one_pass(*arguments)

    monkeypatch.setattr(checked_moves, "_pass", counted)
    rng = np.random.default_rng(0)
    state = objective.start((rng.integers(0, k, n),), (k,))
    with LocalEngine(threads) as engine:
        assert settle(objective, state, rng, engine).locally_optimal
        objective.prepare(state, 0, engine)
        plan = objective.plan_moves(state, 0, np.arange(n), engine)
    assert (plan.wanted == state.labels[0]).all()
    assert plan.gains.max() < 1e-9
    assert visited[-1] == n
    # Passes over nodes that were close to moving replaced most of the passes over all of them.
    assert visited.count(n) <= 4 < len(visited)


def test_history_has_one_entry_per_descent_and_a_final_one():
    graph, _ = planted_partition(300, 6, mean_degree=8, mixing=0.5, rng=0)
    result = search(make_objective("simple", graph), 8, max_iter=4)
    assert [step.iteration for step in result.history] == [1, 2, 3, 4, 5]
    assert result.entropy == min(step.entropy for step in result.history)


def test_levels_of_merges_are_reported_on_large_graphs(monkeypatch):
    graph, _ = planted_partition(300, 6, mean_degree=8, rng=0)
    objective = make_objective("simple", graph)
    seen: list[Progress] = []
    search(objective, 6, max_iter=1, callback=seen.append)
    assert {progress.stage for progress in seen} == {"fit"}
    monkeypatch.setattr(best, "_REPORTED", 300)
    search(objective, 6, max_iter=1, callback=seen.append)
    notes = [progress.note for progress in seen if progress.stage == "merging"]
    counts = [int(note.split()[0].replace(",", "")) for note in notes]
    assert len(counts) >= 2 and counts == sorted(counts, reverse=True) and counts[-1] >= 6


def test_given_labels_start_the_search():
    graph, truth = planted_partition(300, 3, mean_degree=20, rng=0)
    objective = make_objective("simple", graph)
    result = search(objective, 3, start=(truth,), max_iter=1)
    assert result.entropy <= objective.entropy(objective.start((truth,), (3,)))
    assert reference.adjusted_rand_index(result.labels[0], truth) >= 0.99


@pytest.mark.parametrize(("k", "least"), [(4, 6), (5, 6), (2, 17), (3, 11), (1, 34)])
def test_no_block_is_smaller_than_the_minimum(k, least):
    result = search(make_objective("simple", karate()), k, min_block_size=least)
    sizes = np.bincount(result.labels[0], minlength=k)
    assert len(sizes) == k
    assert sizes.min() >= least


@given(seed=st.integers(0, 10**6), k=st.integers(1, 8))
@settings(max_examples=25, deadline=None)
def test_small_blocks_are_enlarged(seed, k):
    graph, _ = planted_partition(60, 3, mean_degree=5, rng=seed)
    rng = np.random.default_rng(seed)
    least = 60 // k
    labels = (rng.integers(0, 2 * k, 60),)
    with LocalEngine(1) as engine:
        large = enlarge_small(make_objective("simple", graph), labels, (k,), least, rng, engine)
    assert np.bincount(large[0], minlength=k).min() >= least
    assert large[0].max() < k


@pytest.mark.parametrize("kind", ["simple", "degree-corrected"])
def test_degenerate_graphs(kind):
    empty = make_objective(kind, Graph.from_edges([], [], n_nodes=7))
    assert search(empty, 3).entropy == 0.0
    lonely = make_objective(kind, Graph.from_edges([], [], n_nodes=1))
    assert search(lonely, 1).labels[0].tolist() == [0]
    islands = make_objective(kind, Graph.from_edges([0, 2, 4], [1, 3, 5], n_nodes=8))
    for k in (1, 2, 8):
        assert np.isfinite(search(islands, k).entropy)


def test_one_block_per_node_has_entropy_zero():
    graph = karate()
    assert search(make_objective("simple", graph), 34).entropy == pytest.approx(0.0, abs=1e-9)
    one = search(make_objective("simple", graph), 1)
    assert one.entropy == pytest.approx(reference.entropy_simple(pairs_of(graph), [0] * 34, 1))


def test_agglomeration_stops_at_its_target():
    graph, _ = planted_partition(500, 5, mean_degree=10, rng=0)
    singles = (np.arange(500, dtype=np.int32),)
    with LocalEngine(1) as engine:
        for target in (400, 37, 1):
            labels = agglomerate(
                make_objective("simple", graph),
                singles,
                (target,),
                np.random.default_rng(0),
                engine,
            )
            assert len(np.unique(labels[0])) == target


def test_rough_agglomeration_of_dense_data_ends_between_half_of_the_target_and_the_target():
    graph, truth = planted_partition(3000, 6, mean_degree=40, rng=2)
    objective = make_objective("degree-corrected", graph)
    assert agglomeration.is_dense(objective)
    singles = (np.arange(3000, dtype=np.int32),)
    results = []
    for threads in (1, 2):
        with LocalEngine(threads) as engine:
            rng = np.random.default_rng(0)
            results.append(agglomerate(objective, singles, (400,), rng, engine, rough=True)[0])
    assert (results[0] == results[1]).all()
    B = len(np.unique(results[0]))
    assert 200 <= B <= 400
    counts = np.zeros((B, 6))
    np.add.at(counts, (results[0], truth), 1)
    assert counts.max(axis=1).sum() > 0.7 * 3000  # chance: 0.35


@pytest.mark.parametrize("kind", ["inside", "between", "directed", "likes"])
def test_large_data_are_grouped_into_similar_blocks(kind, monkeypatch):
    """The shortcut for large data, also where no edge is inside a block."""
    monkeypatch.setattr(agglomeration, "_LARGE", 0)
    monkeypatch.setattr(agglomeration, "_FEW", 100)
    k, n = 4, 2000
    P = np.full((k, k), 0.0005)
    P += 0.08 * (np.eye(k) if kind == "inside" else np.eye(k)[[1, 0, 3, 2]])
    directed = kind == "directed"
    graph, truth = stochastic_block_model([n // k] * k, P, directed=directed, rng=5)
    if kind == "likes":
        source, target = graph.edges()
        objective = make_objective(
            "likes", Ratings.from_arrays(source, target, np.ones(len(source)))
        )
    else:
        objective = make_objective("directed" if directed else "simple", graph)
    goal = (60,) * len(objective.n_elements)
    singles = tuple(np.arange(m, dtype=np.int32) for m in objective.n_elements)
    results = []
    for threads in (1, 2):
        with LocalEngine(threads) as engine:
            rng = np.random.default_rng(0)
            results.append(agglomerate(objective, singles, goal, rng, engine))
    assert all((a == b).all() for a, b in zip(*results, strict=True))
    labels = results[0][0]
    assert labels.max() + 1 == 60
    if kind != "likes":
        counts = np.zeros((60, k))
        np.add.at(counts, (labels, truth), 1)
        assert counts.max(axis=1).sum() > 0.7 * n  # chance: 0.3


def test_fixed_scores_are_rejected():
    with pytest.raises(
        InputError, match='does not support `move_score="fixed"`; use `search="paper"`'
    ):
        GeneralizedKMeans(2, move_score="fixed").fit(karate())


def test_interrupt_keeps_the_best_result_so_far():
    calls = []

    def stop_at_second(progress):
        calls.append(progress)
        if len(calls) == 2:
            raise KeyboardInterrupt

    result = search(make_objective("simple", karate()), 3, callback=stop_at_second)
    assert result.interrupted
    assert len(result.history) == 2
    assert np.isfinite(result.entropy)


def test_interrupt_before_any_result_is_raised():
    class Impatient(LocalEngine):
        def map(self, task, *arguments):
            raise KeyboardInterrupt

    rng, objective = np.random.default_rng(0), make_objective("simple", karate())
    given = task(objective, (2,), rng=rng, engine=Impatient(1))
    with pytest.raises(KeyboardInterrupt):
        best.run(given)


@pytest.mark.parametrize("search", ["best", "paper"])
@pytest.mark.parametrize("kind", ["simple", "degree-corrected"])
@pytest.mark.parametrize("k", [1, 3, 10])
def test_the_planted_number_of_blocks_is_chosen(kind, k, search):
    graph, _ = planted_partition(1000, k, mean_degree=20, mixing=0.2 if k > 1 else 0, rng=k)
    model = searched_block_model(kind, search=search)
    with warnings.catch_warnings(action="ignore"):  # one block
        assert model.fit(graph).n_blocks_ == k


def test_thirty_blocks_are_chosen_with_the_true_labels():
    graph, truth = planted_partition(6000, 30, mean_degree=20, mixing=0.2, rng=1)
    model = BlockModel("simple").fit(graph)
    assert model.n_blocks_ == 30
    assert reference.adjusted_rand_index(model.labels_, truth) >= 0.99


def test_degree_correction_does_not_split_blocks_by_degree():
    graph, _ = degree_corrected_sbm(2000, 4, mean_degree=20, mixing=0.1, rng=1)
    assert BlockModel("degree-corrected").fit(graph).n_blocks_ == 4
    assert BlockModel("simple").fit(graph).n_blocks_ > 4


def test_numbers_of_user_and_item_blocks_are_chosen_separately():
    rng = np.random.default_rng(0)
    rows, columns = np.arange(300) % 5, np.arange(200) % 3
    p = rng.permutation(np.linspace(0.05, 0.95, 15)).reshape(5, 3)[rows][:, columns]
    u, v = np.nonzero(rng.random(p.shape) < 0.3)
    ratings = Ratings.from_arrays(u, v, rng.binomial(4, p[u, v]))
    assert chosen(make_objective("ratings", ratings)).n_blocks == (5, 3)


def test_minimum_size_bounds_the_chosen_number():
    rng = np.random.default_rng(1)
    rows, columns = np.arange(600) % 12, np.arange(300) % 6
    u, v = np.nonzero(rng.random((600, 300)) < np.where(columns == rows[:, None] % 6, 0.6, 0.05))
    likes = make_objective("likes", Ratings.from_arrays(u, v, np.ones(len(u))))
    assert chosen(likes).n_blocks == (6, 6)
    assert max(chosen(likes, min_block_size=100).n_blocks) <= 6
    assert chosen(likes, min_block_size=100).n_blocks[1] <= 3


@given(seed=st.integers(0, 10**6), k=st.integers(1, 5), q=st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_description_length_counts_possibilities(seed, k, q):
    """Each part from its definition, by plain loops over the cells."""
    rng = np.random.default_rng(seed)
    liked = rng.random((9, 7)) < 0.4
    liked[0], liked[:, 0] = True, True  # every user and every item occurs
    ratings = Ratings.from_arrays(*np.nonzero(liked), np.ones(liked.sum()))
    users = rng.permutation(np.r_[np.arange(k), rng.integers(0, k, 9 - k)]).astype(np.int32)
    items = rng.permutation(np.r_[np.arange(q), rng.integers(0, q, 7 - q)]).astype(np.int32)
    ways = 9 * 7 * math.comb(8, k - 1) * math.comb(6, q - 1) * math.factorial(9) * math.factorial(7)
    n, m = reference.block_sizes(users, k), reference.block_sizes(items, q)
    for size in (*n, *m):
        ways //= math.factorial(size)
    ways *= math.comb(k * q + int(liked.sum()) - 1, int(liked.sum()))
    for i in range(k):
        for j in range(q):
            inside = int(liked[users == i][:, items == j].sum())
            ways *= math.comb(n[i] * m[j], inside)
    objective = make_objective("likes", ratings)
    assert description_length(objective, (users, items), (k, q)) == pytest.approx(math.log(ways))


def test_description_length_of_ratings_counts_possibilities():
    """Two users, one item, ratings 1 and 2 in one cell: 2 orders, 3 ways to split two ratings."""
    ratings = Ratings.from_arrays([0, 1], [0, 0], [1, 2])
    labels = (np.zeros(2, np.int32), np.zeros(1, np.int32))
    length = description_length(make_objective("ratings", ratings), labels, (1, 1))
    assert length == pytest.approx(math.log(2) + math.log(2 * 3))


def test_description_length_of_weights_counts_possibilities():
    """Three units of weight over the 3 pairs of one block: 3^3 / 3! ways times 2! 1! orders."""
    graph = Graph.from_edges([0, 1], [1, 2], weights=[2.0, 1.0], n_nodes=3)
    length = description_length(make_objective("weighted", graph), (np.zeros(3, np.int32),), (1,))
    assert length == pytest.approx(math.log(3) + math.log(3**3 / 6 * 2))


@pytest.mark.parametrize("search", ["paper", "best"])
def test_estimator_reports_the_numbers_of_blocks_it_tried(search):
    graph, truth = planted_partition(400, 4, mean_degree=20, mixing=0.1, rng=0)
    model = searched_block_model("simple", search=search, n_init=3, rng=0).fit(graph)
    assert model.n_blocks_ == 4
    assert min(model.description_lengths_, key=model.description_lengths_.get) == (4,)
    assert reference.adjusted_rand_index(model.labels_, truth) >= 0.99


def test_best_search_of_the_estimator_is_locally_optimal():
    model = GeneralizedKMeans(4, search="best", min_block_size=3).fit(karate())
    assert model.locally_optimal_
    assert np.bincount(model.labels_).min() >= 3
    assert not hasattr(model, "description_lengths_")


class _InterruptedEngine(LocalEngine):
    """Raises KeyboardInterrupt at the next call after `armed` was set."""

    armed = False

    def map(self, task, *arguments):
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt
        return super().map(task, *arguments)


def test_interrupt_early_in_a_later_run_does_not_count_the_best_run_twice():
    engine = _InterruptedEngine(1)
    descents = []

    def arm_after_first_run(progress):
        if progress.stage == "fit":
            descents.append(progress.entropy)
            engine.armed = len(descents) == 2  # max_iter=1: a run is one descent and its finish

    model = GeneralizedKMeans(3, search="best", n_init=3, max_iter=1)
    model.fit(karate(), engine=engine, callback=arm_after_first_run)
    assert model.interrupted_
    assert model.run_entropies_ == [model.entropy_]
    assert model.locally_optimal_


def test_large_directed_graphs_are_repaired_by_splits(monkeypatch):
    """Two planted blocks in one, and another cut in two: no single move repairs that."""
    graph, truth = planted_partition(600, 6, mean_degree=20, directed=True, rng=0)
    objective = make_objective("directed", graph)
    stuck = np.where(truth == 1, 0, truth).astype(np.int32)
    stuck[np.flatnonzero(truth == 2)[::2]] = 1
    monkeypatch.setattr(best, "_WORK", 0)
    found = search(objective, 6, start=(stuck,))
    planted = objective.entropy(objective.start((truth,), (6,)))
    assert found.history[0].entropy > planted + 1000
    assert found.entropy <= planted + 1e-6
    assert 2 < len(found.history) <= best._SPLITS + 2


@pytest.mark.parametrize(
    ("kind", "n_blocks", "least", "splits"),
    [("directed", 4, 0, True), ("directed", 4, 5, False), ("directed", 1001, 0, False),
     ("simple", 4, 0, False)],
)  # fmt: skip
def test_splits_are_for_graphs_that_have_no_other_repair(kind, n_blocks, least, splits):
    graph, _ = planted_partition(60, 2, directed=kind == "directed", rng=0)
    objective, rng = make_objective(kind, graph), np.random.default_rng(0)
    given = task(objective, (n_blocks,), rng=rng, engine=LocalEngine(1), min_block_size=least)
    descent = best._Descent(given, objective, SearchSaver())
    assert descent.can_split is splits

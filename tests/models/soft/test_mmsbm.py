"""MMSBM and MCMMSBM through their public interface."""

from __future__ import annotations

import numpy as np
import pytest

import coterie as ct
from coterie.base.errors import AssumptionWarning, InputError
from coterie.base.progress import Progress
from coterie.data import Graph, Ratings
from coterie.data.generators import mmsbm_ratings, planted_partition
from coterie.engine import LocalEngine
from coterie.models.soft.em import has_converged

MODELS = [
    pytest.param(lambda **given: ct.MMSBM(**given), id="exact"),
    pytest.param(lambda **given: ct.MCMMSBM(n_samples=8, **given), id="monte-carlo"),
]


@pytest.fixture(scope="module")
def planted():
    """Ratings with nearly hard memberships and nearly deterministic values."""
    return mmsbm_ratings(
        150, 100, 6_000, (2, 3), concentration=0.05, sharpness=0.1, skew=0.3, rng=4
    )


@pytest.fixture(scope="module")
def many():
    """Enough ratings for several shards."""
    return mmsbm_ratings(900, 300, 70_000, (3, 3), rng=1)[0]


def test_planted_memberships_are_recovered(planted):
    ratings, truth = planted
    model = ct.MMSBM(n_groups=(2, 3), n_init=5, max_iter=300, rng=0).fit(ratings)
    for found, planted_memberships in (
        (model.user_memberships_, truth.user_memberships),
        (model.item_memberships_, truth.item_memberships),
    ):
        assert abs(ct.align(planted_memberships, found) - planted_memberships).mean() < 0.06
    own = -np.log(
        np.einsum(
            "ei,ej,ije->e",
            truth.user_memberships[ratings.users],
            truth.item_memberships[ratings.items],
            truth.theta[:, :, ratings.codes],
        )
    ).sum()
    assert model.entropy_ < own  # the fit explains the data better than the true parameters


def test_planted_groups_of_a_graph_are_recovered():
    graph, labels = planted_partition(120, 2, mean_degree=20, mixing=0.1, rng=3)
    model = ct.MMSBM(n_groups=2, n_init=3, max_iter=300, rng=0).fit(graph)
    assert (ct.align(labels, model.memberships_.argmax(axis=1)) == labels).mean() > 0.95
    np.testing.assert_array_equal(model.values_, [0, 1])
    np.testing.assert_array_equal(model.theta_[:, :, 1], model.theta_[:, :, 1].T)


@pytest.mark.parametrize("make", MODELS)
def test_memberships_and_theta_are_distributions(make, planted):
    model = make(n_groups=(4, 2), max_iter=15, rng=1).fit(planted[0])
    np.testing.assert_allclose(model.user_memberships_.sum(axis=1), 1)
    np.testing.assert_allclose(model.item_memberships_.sum(axis=1), 1)
    np.testing.assert_allclose(model.theta_.sum(axis=2), 1)
    assert model.theta_.shape == (4, 2, 5)
    assert [i.iteration for i in model.history_] == list(range(1, 16))
    assert (np.diff([i.seconds for i in model.history_]) > 0).all()


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("flipped", [False, True])
def test_ratings_give_the_same_result_on_one_and_two_threads(make, many, flipped):
    ratings = many
    if flipped:
        ratings = Ratings(
            many.items, many.users, many.codes, many.values, many.item_ids, many.user_ids
        )
    results = []
    for threads in (1, 2):
        with LocalEngine(threads) as engine:
            model = make(n_groups=(3, 4), max_iter=4, rng=0)
            results.append(model.fit(ratings, engine))
    one, two = results
    np.testing.assert_array_equal(one.user_memberships_, two.user_memberships_)
    np.testing.assert_array_equal(one.item_memberships_, two.item_memberships_)
    np.testing.assert_array_equal(one.theta_, two.theta_)
    assert [i.entropy for i in one.history_] == [i.entropy for i in two.history_]


@pytest.mark.parametrize("absent", ["exact", "sampled"])
@pytest.mark.parametrize("make", MODELS)
def test_graphs_give_the_same_result_on_one_and_two_threads(make, absent):
    graph, _ = planted_partition(400, 3, mean_degree=10, rng=0)
    results = []
    for threads in (1, 2):
        with LocalEngine(threads) as engine:
            results.append(make(n_groups=3, absent=absent, max_iter=3, rng=0).fit(graph, engine))
    np.testing.assert_array_equal(results[0].memberships_, results[1].memberships_)
    np.testing.assert_array_equal(results[0].theta_, results[1].theta_)
    assert results[0].entropy_ == results[1].entropy_


def test_entropy_never_increases_and_the_last_state_is_the_result(planted):
    model = ct.MMSBM(n_groups=3, max_iter=120, tol=0, rng=2).fit(planted[0])
    entropies = np.array([*(i.entropy for i in model.history_), model.entropy_])
    assert (np.diff(entropies) <= 1e-9 * entropies[1:]).all()
    longer = ct.MMSBM(n_groups=3, max_iter=121, tol=0, rng=2).fit(planted[0])
    assert longer.history_[-1].entropy == pytest.approx(model.entropy_, rel=1e-12)


def test_order_of_ratings_does_not_matter(planted):
    ratings, _ = planted
    shuffled = ratings.take(np.random.default_rng(0).permutation(len(ratings)))
    one, two = (ct.MMSBM(n_groups=2, max_iter=10).fit(r) for r in (ratings, shuffled))
    np.testing.assert_array_equal(one.theta_, two.theta_)


def test_converged_fit_has_a_stable_entropy(planted):
    model = ct.MMSBM(n_groups=(2, 3), max_iter=2000, tol=1e-4, rng=0).fit(planted[0])
    assert model.converged_ and len(model.history_) < 2000
    late = [i.entropy for i in model.history_]
    assert min(late[:-10]) - min(late[-10:]) < 1e-4 * min(late[:-10])
    assert not ct.MMSBM(n_groups=(2, 3), max_iter=12, tol=0).fit(planted[0]).converged_
    assert not has_converged([3.0] * 30, tol=0, window=10)


@pytest.mark.parametrize("make", MODELS)
def test_best_of_several_runs_is_the_result_and_all_are_kept(make, planted):
    model = make(n_groups=3, n_init=4, max_iter=8, rng=0).fit(planted[0])
    entropies = [run.entropy for run in model.runs_]
    assert len(set(entropies)) == 4
    assert model.entropy_ == min(entropies)
    best = model.runs_[int(np.argmin(entropies))]
    np.testing.assert_array_equal(best.theta, model.theta_)
    np.testing.assert_array_equal(best.user_memberships, model.user_memberships_)


def test_prior_keeps_all_parameters_positive(planted):
    model = ct.MMSBM(n_groups=4, prior=0.02, max_iter=200, rng=0).fit(planted[0])
    assert model.theta_.min() > 0 and model.user_memberships_.min() > 0
    plain = ct.MMSBM(n_groups=4, max_iter=200, rng=0).fit(planted[0])
    assert plain.theta_.min() < 1e-6 < model.theta_.min()
    assert plain.entropy_ < model.entropy_


def test_fit_starts_from_labels(planted):
    ratings, truth = planted
    labels = (truth.user_memberships.argmax(axis=1), truth.item_memberships.argmax(axis=1))
    started = ct.MMSBM(n_groups=(2, 3), init=labels, max_iter=3, rng=0).fit(ratings)
    random = ct.MMSBM(n_groups=(2, 3), max_iter=3, rng=0).fit(ratings)
    assert started.entropy_ < 0.9 * random.entropy_

    class Clustering:
        labels_ = labels

    again = ct.MMSBM(n_groups=(2, 3), init=Clustering(), max_iter=3, rng=0).fit(ratings)
    assert again.entropy_ == started.entropy_
    graph, blocks = planted_partition(60, 2, mean_degree=10, rng=0)
    assert (
        ct.MMSBM(n_groups=2, init=blocks, max_iter=2).fit(graph).entropy_
        < ct.MMSBM(n_groups=2, max_iter=2).fit(graph).entropy_
    )


def test_warm_start_continues_the_last_fit(planted):
    ratings, _ = planted
    whole = ct.MMSBM(n_groups=2, max_iter=20, tol=0, rng=0).fit(ratings)
    parts = ct.MMSBM(n_groups=2, max_iter=10, tol=0, warm_start=True, rng=0).fit(ratings)
    assert parts.fit(ratings).entropy_ == whole.entropy_
    copied = ct.MMSBM(n_groups=2, max_iter=0, init=whole).fit(ratings)
    np.testing.assert_array_equal(copied.theta_, whole.theta_)


def test_early_stopping_keeps_the_state_with_the_lowest_held_out_entropy(planted):
    ratings, _ = planted
    few = ratings.take(np.arange(700))
    model = ct.MMSBM(n_groups=8, validation=0.2, patience=5, max_iter=300, rng=0).fit(few)
    held_out = model.validation_history_
    assert model.converged_ and len(held_out) < 300
    assert min(held_out) < held_out[-1]  # overfitting had begun
    # The state kept is the one with the smallest held-out entropy, not the smallest entropy.
    assert model.entropy_ > min(i.entropy for i in model.history_)
    assert model.entropy_ == pytest.approx(model.history_[int(np.argmin(held_out))].entropy)


def test_unrated_pairs_are_one_more_level(planted):
    ratings, _ = planted
    model = ct.MMSBM(n_groups=3, negatives_per_rating=1.0, max_iter=40, rng=0).fit(ratings)
    assert model.theta_.shape[2] == len(model.values_) == 5
    rated = model.theta_.sum(axis=2)
    assert (rated <= 1 + 1e-12).all() and 0.2 < rated.mean() < 0.8
    again = ct.MMSBM(n_groups=3, negatives_per_rating=1.0, max_iter=0, init=model).fit(ratings)
    np.testing.assert_allclose(again.theta_, model.theta_, atol=1e-15)


def test_callback_is_called_after_every_iteration(planted):
    seen: list[Progress] = []
    model = ct.MMSBM(n_groups=2, max_iter=6, tol=0).fit(planted[0], callback=seen.append)
    assert [p.done for p in seen] == [1, 2, 3, 4, 5, 6]
    assert {p.total for p in seen} == {6}
    assert [p.entropy for p in seen] == [i.entropy for i in model.history_]
    assert seen[-1].note.startswith("change -")


@pytest.mark.parametrize("make", MODELS)
def test_ctrl_c_keeps_the_best_state_so_far(make, planted):
    def interrupt(progress: Progress) -> None:
        if progress.done == 7:
            raise KeyboardInterrupt

    model = make(n_groups=2, max_iter=50, n_init=3, tol=0).fit(planted[0], callback=interrupt)
    assert model.interrupted_ and not model.converged_
    assert len(model.history_) == 7 and len(model.runs_) == 1
    assert model.entropy_ <= min(i.entropy for i in model.history_)
    assert not make(n_groups=2, max_iter=1).fit(planted[0]).interrupted_


def test_monte_carlo_result_is_the_best_state_with_its_exact_entropy(planted):
    model = ct.MCMMSBM(n_groups=3, n_samples=3, max_iter=60, tol=0, rng=0).fit(planted[0])
    entropies = [i.entropy for i in model.history_]
    assert (np.diff(entropies) > 0).any()  # the sampled update is noisy
    assert model.entropy_ <= min(entropies)
    exact = ct.MMSBM(n_groups=3, max_iter=0, init=model).fit(planted[0])
    assert exact.entropy_ == pytest.approx(model.entropy_, rel=1e-12)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"n_groups": 0}, "n_groups"),
        ({"n_groups": (3, 0)}, "n_groups"),
        ({"n_groups": (1, 2, 3)}, "n_groups"),
        ({"n_groups": 2.5}, "n_groups"),
        ({"n_groups": True}, "n_groups"),
        ({"max_iter": -1}, "max_iter"),
        ({"tol": float("nan")}, "tol"),
        ({"prior": -0.1}, "prior"),
        ({"prior": "much"}, "prior"),
        ({"n_init": 0}, "n_init"),
        ({"validation": 1.0}, "validation"),
        ({"init": "spectral"}, "init"),
        ({"init": [0, 1]}, "init"),
        ({"init": ([0, 9, 0], [0, 0])}, "n_groups"),
        ({"init": ([0, 1], [0, 0])}, "init labels"),
        ({"init": ([0.5, 1.0, 0.0], [0, 0])}, "init labels"),
        ({"rng": -1}, "-1"),
    ],
)
def test_invalid_parameters_are_rejected_by_name(given, word):
    ratings = Ratings.from_arrays([0, 1, 2], [0, 0, 1], [1, 2, 1])
    with pytest.raises(InputError, match=word):
        ct.MMSBM(**{"n_groups": 2, **given}).fit(ratings)


def test_invalid_data_are_rejected():
    empty = Ratings.from_arrays([], [], [])
    with pytest.raises(InputError, match="no ratings"):
        ct.MMSBM(n_groups=2).fit(empty)
    with pytest.raises(InputError, match="list cannot be fitted"):
        ct.MMSBM(n_groups=2).fit([[1, 2, 3]])
    with pytest.raises(InputError, match="invalid n_samples: 0"):
        ct.MCMMSBM(n_groups=2, n_samples=0).fit(Ratings.from_arrays([0], [0], [1]))
    with pytest.raises(InputError, match="nan"):
        Ratings.from_arrays([0], [0], [float("nan")])
    broken = Ratings.from_arrays([0], [0], [1.0])
    object.__setattr__(broken, "values", np.array([np.nan]))
    with pytest.raises(InputError, match="nan"):
        ct.MMSBM(n_groups=1).fit(broken)
    graph = Graph.from_edges([0], [1])
    with pytest.raises(InputError, match="share one set"):
        ct.MMSBM(n_groups=(1, 2)).fit(graph)
    with pytest.raises(InputError, match="invalid absent: 'some'; give one of auto, exact"):
        ct.MMSBM(n_groups=1, absent="some").fit(graph)
    with pytest.raises(InputError, match="looks the same"):
        ct.MMSBM(n_groups=1, absent="ignored").fit(graph)
    with pytest.raises(InputError, match="is for ratings"):
        ct.MMSBM(n_groups=1, validation=0.1).fit(graph)
    with pytest.raises(InputError, match="no nodes"):
        ct.MMSBM(n_groups=1).fit(Graph.from_edges([], []))
    weights = np.linspace(0, 1, 200)
    with pytest.raises(InputError, match="200 distinct"):
        ct.MMSBM(n_groups=1).fit(
            Graph.from_edges(np.zeros(200, int), np.arange(1, 201), weights=weights)
        )


@pytest.mark.parametrize("make", MODELS)
def test_small_and_odd_data(make):
    one = Ratings.from_arrays(["a"], ["x"], [3])
    with pytest.warns(AssumptionWarning, match="more groups|stay empty"):
        model = make(n_groups=3, max_iter=5).fit(one)
    assert model.entropy_ == pytest.approx(0, abs=1e-9)
    repeats = Ratings.from_arrays([0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 2, 2], merge=False)
    model = make(n_groups=1, max_iter=5).fit(repeats)
    np.testing.assert_allclose(model.theta_[0, 0], [0.5, 0.5])
    edgeless = Graph.from_edges([], [], n_nodes=4)
    model = make(n_groups=2, max_iter=30).fit(edgeless)
    assert model.entropy_ == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1)
    lonely = Graph.from_edges([], [], n_nodes=1)
    with pytest.warns(AssumptionWarning):
        assert make(n_groups=2, max_iter=2).fit(lonely).entropy_ == 0
    full = Graph.from_edges(*np.triu_indices(6, 1))
    for absent in ("exact", "sampled"):
        model = make(n_groups=2, max_iter=20, absent=absent).fit(full)
        assert np.isfinite(model.entropy_) and model.entropy_ < 1e-3


def test_empty_groups_leave_finite_numbers():
    """One group explains all ratings; the others lose their mass."""
    rng = np.random.default_rng(0)
    ratings = Ratings.from_arrays(
        rng.integers(0, 30, 400), rng.integers(0, 30, 400), np.full(400, 2.0), merge=False
    )
    model = ct.MMSBM(n_groups=5, max_iter=300, tol=0, rng=0).fit(ratings)
    for array in (model.user_memberships_, model.item_memberships_, model.theta_):
        assert np.isfinite(array).all()
    assert model.entropy_ == pytest.approx(0, abs=1e-9)


def test_entropy_on_movielens_is_below_the_papers(data_dir):
    """80 % of MovieLens 100K, 10 groups: the paper reports 92,920 after 300 s on 32 cores."""
    ratings = ct.read_ratings(data_dir / "ml-100k" / "u.data.gz")
    folds = np.array_split(np.random.default_rng(0).permutation(len(ratings)), 5)
    model = ct.MMSBM(n_groups=10, max_iter=60, rng=0).fit(ratings.take(np.concatenate(folds[1:])))
    assert model.entropy_ < 92_920

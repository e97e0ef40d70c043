"""The contract of every estimator: one suite over all models and the Recommender.

A case is a model, its data, and how to read its result. A new model is one more case.
"""

from __future__ import annotations

import inspect
import itertools
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from tests import reference as ref

import coterie as ct
from coterie.base.errors import AssumptionWarning, InputError
from coterie.base.progress import Iteration, Progress
from coterie.engine import LocalEngine

N, M, R = 60, 40, 5


def planted_edges(directed: bool = False) -> list[tuple[int, int]]:
    """Return the edges of three groups of twenty nodes; the last node is isolated."""
    rng = np.random.default_rng(7)
    pairs = itertools.permutations if directed else itertools.combinations
    return [
        (u, v)
        for u, v in pairs(range(N - 1), 2)
        if rng.random() < (0.5 if u // 20 == v // 20 else 0.05)
    ]


def graph(directed: bool = False, weighted: bool = False) -> ct.Graph:
    source, target = np.array(planted_edges(directed)).T
    weights = np.random.default_rng(8).integers(1, 6, len(source)) if weighted else None
    return ct.Graph.from_edges(source, target, n_nodes=N, weights=weights, directed=directed)


def ratings() -> ct.Ratings:
    """Return ratings of two groups; repeated pairs count as separate observations."""
    rng = np.random.default_rng(9)
    users, items = rng.integers(0, N, 900), rng.integers(0, M, 900)
    values = np.clip(rng.integers(1, 4, 900) + 2 * ((users + items) % 2), 1, R)
    return ct.Ratings.from_arrays(users, items, values, merge=False)


class Case(NamedTuple):
    """A model, its data, and how to read its result."""

    model: Callable[..., Any]  # takes parameters that override those of the case
    data: Callable[[], Any]
    answer: Callable[[Any], tuple[np.ndarray, ...]]  # arrays that are equal for equal fits
    kind: str  # "hard", "soft", "sampled" or "recommender"


def labels_of(model: Any) -> tuple[np.ndarray, ...]:
    return model.labels_ if isinstance(model.labels_, tuple) else (model.labels_,)


def memberships_of(model: Any) -> tuple[np.ndarray, ...]:
    if hasattr(model, "memberships_"):
        return (model.memberships_, model.theta_)
    return (model.user_memberships_, model.item_memberships_, model.theta_)


def samples_of(model: Any) -> tuple[np.ndarray, ...]:
    return tuple(model.samples_)


def hard(objective: str, data: Callable[[], Any], **own: Any) -> Case:
    def make(**params: Any) -> Any:
        n_blocks = (3, 3) if objective in ("ratings", "likes") else 3
        given = {
            "n_blocks": n_blocks,
            "objective": objective,
            "search": "paper",
            "max_iter": 25,
            **own,
            **params,
        }
        return ct.GeneralizedKMeans(**given)

    return Case(make, data, labels_of, "hard")


def soft(name: str, data: Callable[[], Any], **own: Any) -> Case:
    def make(**params: Any) -> Any:
        return getattr(ct, name)(**{"n_groups": 3, "max_iter": 25, **own, **params})

    return Case(make, data, memberships_of, "soft")


def sampled(**own: Any) -> Case:
    def make(**params: Any) -> Any:
        few = {"n_chains": 2, "n_sweeps": 30, "n_partitions": 3, **own}
        return ct.AdditiveBlockModel(**{**few, **params})

    return Case(make, ratings, samples_of, "sampled")


def recommender(name: str, **own: Any) -> Case:
    """Return the case of a Recommender; parameters go to the model that it wraps."""

    def make(**params: Any) -> Any:
        return ct.Recommender(getattr(ct, name)(**{**own, **params}))

    def predictions(fitted: Any) -> tuple[np.ndarray, ...]:
        return (fitted.predict_proba(fitted.users_.ids[:30], fitted.items_.ids[:30]),)

    return Case(make, ratings, predictions, "recommender")


CASES = {
    "simple": hard("simple", graph),
    "simple fixed": hard("simple", graph, move_score="fixed"),
    "simple best": hard("simple", graph, search="best"),
    "degree-corrected": hard("degree-corrected", graph),
    "directed": hard("directed", lambda: graph(directed=True)),
    "weighted": hard("weighted", lambda: graph(weighted=True)),
    "ratings": hard("ratings", ratings),
    "likes": hard("likes", ratings),
    "mmsbm ratings": soft("MMSBM", ratings),
    "mmsbm graph": soft("MMSBM", graph),
    "mmsbm directed": soft("MMSBM", lambda: graph(directed=True)),
    "mmsbm weighted": soft("MMSBM", lambda: graph(weighted=True)),
    "mmsbm sampled absent": soft("MMSBM", graph, absent="sampled"),
    "mmsbm prior": soft("MMSBM", ratings, prior=0.05),
    "mcmmsbm ratings": soft("MCMMSBM", ratings, n_samples=10),
    "mcmmsbm graph": soft("MCMMSBM", graph, n_samples=10),
    "additive": sampled(),
    "recommender mmsbm": recommender("MMSBM", n_groups=3, max_iter=25),
    "recommender hard": recommender(
        "GeneralizedKMeans", n_blocks=3, objective="ratings", max_iter=5
    ),
}
EXACT_EM = ["mmsbm ratings", "mmsbm graph", "mmsbm directed", "mmsbm weighted"]

MODELS = ("hard", "soft", "sampled")  # a Recommender has no history of its own


def cases(*kinds: str) -> Any:
    """Parametrize a test with the cases of these kinds."""
    chosen = {name: case for name, case in CASES.items() if case.kind in kinds}
    return pytest.mark.parametrize("case", chosen.values(), ids=chosen.keys())


every_case = cases(*MODELS, "recommender")
every_model = cases(*MODELS)


@pytest.fixture(autouse=True)
def many_shards(monkeypatch):
    """Cut small data into several shards, so that threads can make a difference."""
    monkeypatch.setattr("coterie.engine.shard_layout._EDGES_PER_SHARD", 64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        yield


# --- conventions of scikit-learn ----------------------------------------------------------------


@every_case
def test_init_only_stores_parameters_and_fit_does_not_change_them(case):
    model = case.model()
    assert set(vars(model)) == set(model.get_params(deep=False))
    before = repr(model.get_params())
    assert model.fit(case.data()) is model
    assert repr(model.get_params()) == before


@every_case
def test_parameters_follow_scikit_learn_conventions(case):
    model = case.model(rng=5)
    twin = clone(model)
    assert type(twin) is type(model) and twin is not model
    assert repr(twin.get_params()) == repr(model.get_params())
    for name, value in model.get_params(deep=False).items():
        assert getattr(clone(model).set_params(**{name: value}), name) is value
    with pytest.raises(ValueError, match="no_such_thing"):
        model.set_params(no_such_thing=1)


@every_case
def test_fit_has_the_same_engine_and_callback_parameters(case):
    parameters = inspect.signature(case.model().fit).parameters
    assert parameters["engine"].default == "local"
    assert "callback" in parameters


@every_case
def test_compile_does_not_fit_the_model(case):
    model = case.model()
    before = repr(vars(model))
    model.compile(case.data())
    assert repr(vars(model)) == before


@every_case
def test_fit_does_not_change_the_data(case):
    data = case.data()
    before = {name: np.copy(v) for name, v in vars(data).items() if isinstance(v, np.ndarray)}
    case.model().fit(data)
    for name, array in before.items():
        assert_array_equal(getattr(data, name), array)


@every_model
def test_history_has_every_iteration(case):
    model = case.model(**({"tol": 0} if case.kind != "sampled" else {})).fit(case.data())
    history = model.history_
    assert history and all(isinstance(entry, Iteration) for entry in history)
    numbers = [entry.iteration for entry in history]
    assert numbers == sorted(set(numbers)) and numbers[0] >= 0
    seconds = [entry.seconds for entry in history]
    assert seconds == sorted(seconds) and seconds[0] >= 0
    assert np.isfinite([entry.entropy for entry in history]).all()
    assert np.isfinite(model.entropy_)
    for entry in history:
        moved = entry.moved
        assert (moved is None) == (case.kind != "hard")
        assert moved is None or 0 <= moved <= N + M


@cases("soft")
def test_zero_tolerance_runs_all_iterations(case):
    model = case.model(tol=0, max_iter=13).fit(case.data())
    assert len(model.history_) == 13
    assert not model.converged_


@every_case
def test_callback_receives_progress(case):
    received: list[Progress] = []
    case.model().fit(case.data(), callback=received.append)
    assert any(p.stage == "fit" for p in received)
    assert all(isinstance(p, Progress) for p in received)


# --- randomness ---------------------------------------------------------------------------------


@every_case
def test_number_of_threads_does_not_change_the_result(case):
    answers, entropies = [], []
    for threads in (1, 2):
        with LocalEngine(threads) as engine:
            model = case.model(rng=3).fit(case.data(), engine=engine)
        answers.append(case.answer(model))
        fitted = model.model_ if case.kind == "recommender" else model
        entropies.append([entry.entropy for entry in fitted.history_])
    for one, two in zip(*answers, strict=True):
        assert_array_equal(one, two)
    assert entropies[0] == entropies[1]


@every_case
def test_same_seed_gives_the_same_result_and_refitting_starts_again(case):
    model = case.model(rng=0).fit(case.data())
    first = [np.copy(a) for a in case.answer(model)]
    again = case.answer(model.fit(case.data()))
    twin = case.answer(case.model(rng=np.random.default_rng(0)).fit(case.data()))
    for a, b, c in zip(first, again, twin, strict=True):
        assert_array_equal(a, b)
        assert_array_equal(a, c)


@cases("soft", "sampled")
def test_another_seed_gives_another_result(case):
    one, two = (case.answer(case.model(rng=seed).fit(case.data())) for seed in (0, 1))
    assert any(not np.array_equal(a, b) for a, b in zip(one, two, strict=True))


@every_case
def test_fit_does_not_change_the_global_random_state(case):
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    case.model().fit(case.data())
    assert_array_equal(np.random.get_state()[1], before)


@every_case
@pytest.mark.parametrize("rng", [-1, "zero", 0.5])
def test_invalid_seed_is_rejected(case, rng):
    with pytest.raises(InputError, match="invalid seed"):
        case.model(rng=rng).fit(case.data())


# --- interruption -------------------------------------------------------------------------------


@every_model
def test_interrupted_fit_keeps_the_best_result_so_far(case):
    calls = 0

    def interrupt(progress: Progress) -> None:
        nonlocal calls
        if progress.stage == "fit":
            calls += 1
            if calls == 5:
                raise KeyboardInterrupt

    slow = (
        {"n_sweeps": 200, "burn_in": 2} if case.kind == "sampled" else {"max_iter": 200, "tol": 0}
    )
    model = case.model(**slow)
    try:
        model.fit(case.data(), callback=interrupt)
    except KeyboardInterrupt:
        pytest.fail("the interrupt was not caught")
    assert model.interrupted_ is True
    assert 1 <= len(model.history_) < 100
    assert np.isfinite(model.entropy_)
    if case.kind != "sampled":
        best = min(entry.entropy for entry in model.history_)
        assert model.entropy_ <= best * (1 + 1e-12)
    assert case.model().fit(case.data()).interrupted_ is False


# --- entropies ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXACT_EM)
def test_exact_em_never_raises_the_entropy(name):
    case = CASES[name]
    for seed in range(3):
        model = case.model(rng=seed, tol=0, max_iter=60).fit(case.data())
        S = np.array([entry.entropy for entry in model.history_] + [model.entropy_])
        assert (np.diff(S) <= 1e-9 * S[0]).all()
        assert S[-1] < S[0]


def test_prior_lowers_the_penalised_entropy():
    """With a prior, EM lowers the penalised entropy, so that decides which state is best."""
    data = ratings()
    observed = list(zip(data.users, data.items, data.codes, strict=True))
    start = ct.MMSBM(n_groups=3, tol=0, max_iter=4).fit(data)
    model = ct.MMSBM(n_groups=3, prior=5.0, tol=0, max_iter=20, init=start).fit(data)
    before, after = (
        ref.mmsbm_penalised_entropy(observed, *memberships_of(m), 5.0) for m in (start, model)
    )
    assert after < before - 1


@pytest.mark.parametrize("scale", [1.0, 1 / 3])
def test_zero_and_fractional_weights_are_supported(scale):
    """Zeros once overran a buffer, and fractions left residues in empty blocks."""
    rng = np.random.default_rng(13)
    source, target = np.triu_indices(12, 1)
    for seed in range(8):
        weights = scale * rng.integers(0, 3, len(source))
        data = ct.Graph.from_edges(source, target, n_nodes=12, weights=weights)
        model = ct.GeneralizedKMeans(
            3, search="paper", objective="weighted", max_iter=20, alpha=0.5, rng=seed
        ).fit(data)
        assert_allclose(model.entropy_, hard_entropy("weighted", model, data), rtol=1e-9)


@cases("soft")
def test_memberships_and_thetas_are_distributions(case):
    model = case.model().fit(case.data())
    *memberships, theta = case.answer(model)
    for h in memberships:
        assert (h >= 0).all()
        assert_allclose(h.sum(axis=1), 1, atol=1e-12)
    assert ((theta >= 0) & (theta <= 1)).all()
    assert_allclose(theta.sum(axis=-1), 1, atol=1e-12)


def soft_entropy(model: Any, data: Any) -> float:
    """Return the entropy of a fitted soft model by the reference."""
    if isinstance(data, ct.Ratings):
        observed = list(zip(data.users, data.items, data.codes, strict=True))
        h_row, h_col = model.user_memberships_, model.item_memberships_
        return ref.mmsbm_entropy(observed, h_row, h_col, model.theta_)
    edges = list(zip(*(a.tolist() for a in data.edges()), strict=True))
    observed = ref.all_pairs(edges, data.n_nodes, data.directed)
    return ref.mmsbm_entropy(observed, model.memberships_, model.memberships_, model.theta_)


@pytest.mark.parametrize("name", ["mmsbm ratings", "mmsbm prior", "mcmmsbm ratings"])
def test_entropy_of_a_soft_model_equals_the_reference(name):
    case = CASES[name]
    data = case.data()
    model = case.model().fit(data)
    assert_allclose(model.entropy_, soft_entropy(model, data), rtol=1e-10)


def hard_entropy(objective: str, model: Any, data: Any) -> float:
    """Return the entropy of a fitted clustering by the reference."""
    if objective in ("ratings", "likes"):
        rows, cols = model.labels_[0], model.labels_[1]
        rated = list(zip(data.users, data.items, data.codes, strict=True))
        if objective == "ratings":
            return ref.entropy_ratings(rated, rows, cols, 3, 3, len(data.values))
        return ref.entropy_likes({(u, v) for u, v, _ in rated}, rows, cols, 3, 3)
    edges = list(zip(*(a.tolist() for a in data.edges()), strict=True))
    if objective == "weighted":
        weight = data.csr
        edges = [(u, v, float(weight[u, v])) for u, v in edges]
    entropy = {
        "simple": ref.entropy_simple,
        "degree-corrected": ref.entropy_degree_corrected,
        "directed": ref.entropy_directed,
        "weighted": ref.entropy_weighted,
    }[objective]
    return entropy(edges, model.labels_, 3)


@cases("hard")
def test_entropy_of_a_clustering_equals_the_reference(case):
    data = case.data()
    model = case.model().fit(data)
    assert_allclose(model.entropy_, hard_entropy(model.objective, model, data), rtol=1e-9)
    for labels in case.answer(model):
        assert labels.min() >= 0 and labels.max() < 3


@cases("hard")
def test_locally_optimal_is_correct(case):
    data = case.data()
    model = case.model(max_iter=60).fit(data)
    sides = case.answer(model)
    truth = all(
        ref.move_costs(lambda z, s=s: hard_entropy(model.objective, _with(model, s, z), data),
                       sides[s], a, 3).min() >= -1e-7
        for s in range(len(sides))
        for a in range(0, len(sides[s]), 7)
    )  # fmt: skip
    assert not model.locally_optimal_ or truth


def _with(model: Any, side: int, labels: Any) -> SimpleNamespace:
    """Return a stand-in for the model with other labels on one side."""
    if not isinstance(model.labels_, tuple):
        return SimpleNamespace(labels_=np.asarray(labels))
    sides = list(model.labels_)
    sides[side] = np.asarray(labels)
    return SimpleNamespace(labels_=tuple(sides))


# --- results do not depend on node numbers ------------------------------------------------------


def renumbered(data: Any, users: np.ndarray, items: np.ndarray) -> Any:
    """Return the same data with node v renumbered to users[v] (items likewise)."""
    if isinstance(data, ct.Ratings):
        return ct.Ratings.from_arrays(
            users[data.users], items[data.items], data.ratings, merge=False
        )
    source, target = data.edges()
    weights = None
    if data.weights is not None:
        csr = data.csr
        weights = np.array([csr[u, v] for u, v in zip(source, target, strict=True)])
    return ct.Graph.from_edges(
        users[source],
        users[target],
        n_nodes=data.n_nodes,
        weights=weights,
        directed=data.directed,
    )


@cases("hard")
def test_renumbering_nodes_renumbers_the_labels(case):
    rng = np.random.default_rng(10)
    users, items = rng.permutation(N), rng.permutation(M)
    data = case.data()
    params: dict[str, Any] = {"alpha": 1.0, "tol": 0, "max_iter": 4}
    if "best" in repr(case.model()):
        pytest.skip("the best search draws its own starts")
    start = [rng.integers(0, 3, N)]
    if isinstance(data, ct.Ratings):
        start.append(rng.integers(0, 3, M))
    turned_start = [np.empty_like(z) for z in start]
    for turned, z, names in zip(turned_start, start, (users, items), strict=False):
        turned[names] = z
    init = tuple(start) if len(start) > 1 else start[0]
    turned_init = tuple(turned_start) if len(start) > 1 else turned_start[0]
    plain = case.model(init=init, **params).fit(data)
    turned = case.model(init=turned_init, **params).fit(renumbered(data, users, items))
    assert_allclose(turned.entropy_, plain.entropy_, rtol=1e-12)
    for a, b, names in zip(case.answer(plain), case.answer(turned), (users, items), strict=False):
        assert_array_equal(b[names], a)


@pytest.mark.parametrize("name", [*EXACT_EM, "mmsbm prior"])
def test_renumbering_nodes_renumbers_the_memberships(name):
    case, data = CASES[name], CASES[name].data()
    rng = np.random.default_rng(11)
    users, items = rng.permutation(N), rng.permutation(M)
    began = case.model(max_iter=2, tol=0).fit(data)
    names = ["user_memberships_", "item_memberships_"]
    sides = (users, items)
    if hasattr(began, "memberships_"):
        names, sides = ["memberships_"], (users,)
    start = ct.MMSBM(n_groups=3)  # the same model with other node numbers
    start.theta_ = began.theta_
    for attribute, order in zip(names, sides, strict=True):
        turned_memberships = np.empty_like(getattr(began, attribute))
        turned_memberships[order] = getattr(began, attribute)
        setattr(start, attribute, turned_memberships)
    plain = case.model(init=began, max_iter=8, tol=0).fit(data)
    turned = case.model(init=start, max_iter=8, tol=0).fit(renumbered(data, users, items))
    assert_allclose(turned.entropy_, plain.entropy_, rtol=1e-10)
    for attribute, order in zip(names, sides, strict=True):
        assert_allclose(getattr(turned, attribute)[order], getattr(plain, attribute), atol=1e-8)
    assert_allclose(turned.theta_, plain.theta_, atol=1e-8)


# --- small and degenerate data ------------------------------------------------------------------

DEGENERATE_GRAPHS = {
    "one edge": ([0], [1], 2),
    "no edge": ([], [], 5),
    "star": ([0] * 6, list(range(1, 7)), 8),
    "clique": (*np.triu_indices(6, 1), 6),
    "two parts": ([0, 1, 3, 4], [1, 2, 4, 5], 7),
}
DEGENERATE_RATINGS = {
    "one rating": ([0], [0], [3]),
    "one value": ([0, 1, 1], [0, 0, 1], [4, 4, 4]),
    "one user": ([0, 0, 0], [0, 1, 2], [1, 2, 5]),
    "repeats": ([0, 0, 0, 1], [0, 0, 0, 1], [1, 1, 5, 2]),
}


def degenerate_data(case: Case) -> list[tuple[str, Any]]:
    like = case.data()
    if isinstance(like, ct.Ratings):
        return [
            (name, ct.Ratings.from_arrays(*rows, merge=False))
            for name, rows in DEGENERATE_RATINGS.items()
        ]
    made = []
    for name, (source, target, n) in DEGENERATE_GRAPHS.items():
        weights = None if like.weights is None else np.ones(len(source))
        made.append(
            (
                name,
                ct.Graph.from_edges(
                    source, target, n_nodes=n, weights=weights, directed=like.directed
                ),
            )
        )
    return made


@cases("hard", "soft")
@pytest.mark.parametrize("groups", [1, 2])
def test_degenerate_data_give_a_finite_result_or_an_error(case, groups):
    size = "n_blocks" if case.kind == "hard" else "n_groups"
    for name, data in degenerate_data(case):
        wanted: Any = groups
        if isinstance(data, ct.Ratings):
            wanted = (groups, groups)
        try:
            model = case.model(**{size: wanted}, max_iter=10).fit(data)
        except InputError:
            continue
        assert np.isfinite(model.entropy_), name
        assert model.entropy_ >= -1e-9 or "degree" in repr(model), name
        for array in case.answer(model):
            assert np.isfinite(array).all(), name


@cases("hard", "soft")
@pytest.mark.parametrize("groups", [0, -1, 2.5, "many"])
def test_invalid_numbers_of_groups_are_rejected(case, groups):
    size = "n_blocks" if case.kind == "hard" else "n_groups"
    with pytest.raises(InputError):
        case.model(**{size: groups}).fit(case.data())


@cases("hard")
def test_at_most_one_block_per_node_is_accepted(case):
    data = case.data()
    two = isinstance(data, ct.Ratings)
    model = case.model(n_blocks=(N, M) if two else N, max_iter=3).fit(data)
    assert np.isfinite(model.entropy_)
    with pytest.raises(InputError):
        case.model(n_blocks=(N + 1, M) if two else N + 1).fit(data)


@every_case
def test_other_types_than_data_are_rejected(case):
    with pytest.raises(InputError):
        case.model().fit([[1, 2], [3, 4]])


@every_model
def test_impossible_checkpoint_options_are_rejected(case: Case, tmp_path: Path) -> None:
    model, data = case.model(), case.data()
    with pytest.raises(InputError, match="no checkpoint to resume from"):
        model.fit(data, resume=True)
    with pytest.raises(InputError, match="invalid checkpoint_every: 0"):
        model.fit(data, checkpoint=tmp_path / "run.ckpt", checkpoint_every=0)

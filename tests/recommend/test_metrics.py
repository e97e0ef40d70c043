"""Metrics compared with plain loops, and evaluation."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests import reference

import coterie as ct
from coterie.base.errors import InputError
from coterie.engine import LocalEngine
from coterie.recommend.evaluation import (
    evaluate,
    evaluate_split,
    fold_rows,
    relevant_items,
    split_rows,
)
from coterie.recommend.metrics import ranking_metrics, rating_metrics


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 10**6))
def test_rating_metrics_equal_the_reference(n: int, R: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(R), n)
    values, levels = np.sort(rng.normal(size=R)), rng.integers(0, R, n)
    found = rating_metrics(p, values, levels, values[levels])
    mean = [reference.expected_rating(row, values) for row in p]
    median = [values[reference.median(row)] for row in p]
    assert found.rmse == pytest.approx(reference.rmse(values[levels], mean))
    assert found.mae == pytest.approx(reference.mae(values[levels], median))
    assert found.accuracy == pytest.approx(reference.accuracy(levels, p))
    assert found.log_loss == pytest.approx(reference.log_loss(levels, p))
    assert found.calibration == pytest.approx(reference.calibration_error(levels, p, 12))


@settings(deadline=None)
@given(st.integers(1, 8), st.integers(1, 6), st.integers(0, 10**6))
def test_ranking_metrics_equal_the_reference(users: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ranked = [rng.permutation(12)[:n] for _ in range(users)]
    relevant = [rng.choice(12, rng.integers(1, 5), replace=False) for _ in range(users)]
    has = (rng.random((12, 7)) < 0.6) | (np.arange(7) == 0)  # items x users
    found = ranking_metrics(ranked, relevant, 12, n, csr_array(has.astype(float)))
    wanted = [set(row.tolist()) for row in relevant]
    lists = [row.tolist() for row in ranked]
    expected = [reference.precision(a, b, n) for a, b in zip(lists, wanted, strict=True)]
    assert found.precision == pytest.approx(np.mean(expected))
    expected = [reference.recall(a, b, n) for a, b in zip(lists, wanted, strict=True)]
    assert found.recall == pytest.approx(np.mean(expected))
    gains = [
        reference.dcg([float(x in b) for x in a]) / reference.dcg([1.0] * min(n, len(b)))
        for a, b in zip(lists, wanted, strict=True)
    ]
    assert found.ndcg == pytest.approx(np.mean(gains))
    assert found.coverage == pytest.approx(len({x for a in lists for x in a}) / 12)
    pairs = list(zip(lists, wanted, strict=True))
    assert found.hit_rate == pytest.approx(np.mean([bool(set(a) & b) for a, b in pairs]))
    assert found.mrr == pytest.approx(
        np.mean([reference.reciprocal_rank(a, b, n) for a, b in pairs])
    )
    assert found.map == pytest.approx(
        np.mean([reference.average_precision(a, b, n) for a, b in pairs])
    )
    readers = has.any(axis=0).sum()
    bits = [-np.log2(has[x].sum() / readers) for a in lists for x in a]
    assert found.novelty == pytest.approx(np.mean(bits))
    sets = [set(np.flatnonzero(row)) for row in has]
    if n > 1:
        distances = [
            1 - len(sets[x] & sets[y]) / (len(sets[x]) * len(sets[y])) ** 0.5
            for a in lists
            for x in a
            for y in a
            if x != y
        ]
        assert found.diversity == pytest.approx(np.mean(distances))
    places = [sum(x in a for a in lists) for x in range(12)]
    apart = sum(abs(a - b) for a in places for b in places)
    assert found.gini == pytest.approx(apart / (2 * 12 * sum(places)))
    longer = [np.append(row, rng.permutation(12)) for row in ranked]
    again = ranking_metrics(longer, relevant, 12, n, csr_array(has.astype(float)))
    assert again == pytest.approx(found, nan_ok=True)


def test_folds_are_a_seeded_permutation_cut_evenly() -> None:
    rows = fold_rows(103, 5, 7)
    expected = np.array_split(np.random.default_rng(7).permutation(103), 5)
    assert all((a == b).all() for a, b in zip(rows, expected, strict=True))
    with pytest.raises(InputError, match="4 ratings"):
        fold_rows(4, 5, 0)


def test_evaluation_uses_the_predictions_of_the_recommender(ratings) -> None:
    found = evaluate(lambda: ct.MMSBM(n_groups=2, max_iter=20, rng=0), ratings, folds=3, seed=1)
    assert len(found.folds) == 3
    rows = fold_rows(len(ratings), 3, 1)[0]
    train = ratings.take(np.setdiff1d(np.arange(len(ratings)), rows))
    rec = ct.Recommender(ct.MMSBM(n_groups=2, max_iter=20, rng=0)).fit(train)
    test = ratings.take(rows)
    predicted = rec.predict(test.user_ids[test.users], test.item_ids[test.items])
    assert found.folds[0].rmse == pytest.approx(reference.rmse(test.ratings, predicted))
    assert found.means.rmse == pytest.approx(np.mean([fold.rmse for fold in found.folds]))
    assert found.spreads.rmse == pytest.approx(np.std([fold.rmse for fold in found.folds]))
    measured = found.to_json()
    assert {"entropy", "fit_seconds", "fit_cpu_seconds", "ndcg", "coverage"} <= set(measured)
    assert measured["folds"][0]["rmse"] == found.folds[0].rmse
    assert measured["spread"]["mae"] == found.spreads.mae


def test_user_without_training_ratings_is_evaluated(ratings) -> None:
    alone = np.flatnonzero(ratings.users == 0)
    rest = np.flatnonzero(ratings.users != 0)
    with LocalEngine(1) as engine:
        result = evaluate_split(
            ct.AdditiveBlockModel(n_chains=1, n_sweeps=10),
            ratings.take(rest),
            ratings.take(alone),
            top=5,
            engine=engine,
        )
    assert np.isfinite(list(asdict(result.metrics).values())).all()


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(0, 10**6))
def test_relevant_items_equal_a_plain_loop(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = ct.Ratings.from_arrays(
        rng.integers(0, 6, n), rng.integers(0, 6, n), rng.integers(1, 6, n), merge=False
    )
    expected: dict[int, list[int]] = {}
    for user, item, rating in zip(table.users, table.items, table.ratings, strict=True):
        if rating >= 3:
            expected.setdefault(int(user), []).append(int(item))
    users, items = relevant_items(table, 3.0)
    assert dict(zip(users.tolist(), map(list, items), strict=True)) == expected


class CountedOperations(np.ndarray):
    """An array that counts the operations on whole arrays."""

    operations = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        CountedOperations.operations += 1
        plain = [x.view(np.ndarray) if isinstance(x, CountedOperations) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **kwargs)


def test_ranking_passes_over_the_test_ratings_once() -> None:
    """The number of passes does not grow with the number of users."""
    counts = []
    for n_users in (10, 200):
        users = np.repeat(np.arange(n_users), 5)
        table = ct.Ratings.from_arrays(users, np.tile(np.arange(5), n_users), np.ones(5 * n_users))
        table = replace(table, users=table.users.view(CountedOperations))
        CountedOperations.operations = 0
        found, _ = relevant_items(table, 0.0)
        assert len(found) == n_users
        counts.append(CountedOperations.operations)
    assert counts[0] == counts[1] > 0


@settings(deadline=None)
@given(st.integers(3, 40), st.integers(1, 3), st.integers(0, 10**6))
def test_last_ratings_of_each_user_equal_a_plain_loop(n: int, last: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = ct.Ratings.from_arrays(
        rng.integers(0, 5, n),
        np.arange(n),
        rng.integers(1, 6, n),
        timestamps=rng.integers(0, 6, n),
    )
    expected = []
    for user in range(table.n_users):
        rows = [row for row in range(len(table)) if table.users[row] == user]
        rows.sort(key=lambda row: (table.timestamps[row], row))
        if len(rows) > last:
            expected += rows[-last:]
    if not expected:
        with pytest.raises(InputError, match="0 to test on"):
            split_rows(table, "last-n", last=last)
    else:
        assert split_rows(table, "last-n", last=last).tolist() == sorted(expected)


def test_split_by_time_tests_on_the_latest_ratings(ratings) -> None:
    rows = split_rows(ratings, "time", test_share=0.1)
    assert len(rows) == 70
    assert ratings.timestamps[rows].min() > np.delete(ratings.timestamps, rows).max()
    drawn = split_rows(ratings, "random", test_share=0.1, seed=4)
    assert len(set(drawn.tolist())) == 70 and drawn.tolist() != rows.tolist()
    assert drawn.tolist() == split_rows(ratings, "random", test_share=0.1, seed=4).tolist()


def test_invalid_splits_are_rejected(ratings) -> None:
    without_times = replace(ratings, timestamps=None)
    for split in ("time", "last-n"):
        with pytest.raises(InputError, match="needs the time of each rating"):
            split_rows(without_times, split)
    for share in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="test_share"):
            split_rows(ratings, "random", test_share=share)
    with pytest.raises(InputError, match="to learn from"):
        split_rows(ratings, "random", test_share=1e-6)
    with pytest.raises(InputError, match="unknown `split`"):
        split_rows(ratings, "alphabet")


def test_evaluation_reports_rankings_of_every_length(ratings) -> None:
    found = evaluate(
        lambda: ct.MMSBM(n_groups=2, max_iter=20, rng=0),
        ratings,
        split="time",
        top=[3, 5],
        order="interaction",
    )
    assert list(found.rankings) == [3, 5] and len(found.folds) == 1
    rows = split_rows(ratings, "time")
    train = ratings.take(np.setdiff1d(np.arange(len(ratings)), rows))
    rec = ct.Recommender(ct.MMSBM(n_groups=2, max_iter=20, rng=0)).fit(train)
    test = ratings.take(rows)
    wanted: dict = {}
    for user, item in zip(test.users, test.items, strict=True):
        wanted.setdefault(test.user_ids[user], set()).add(int(test.item_ids[item]))
    for n in (3, 5):
        recalls = []
        for user, items in wanted.items():
            best = [one.item for one in rec.recommend(user, n, order="interaction")]
            recalls.append(reference.recall(best, items, n))
        assert found.rankings[n].recall == pytest.approx(np.mean(recalls))
    assert found.to_json()["at"]["5"]["recall"] == found.rankings[5].recall
    assert found.means.ndcg == found.rankings[3].ndcg


@pytest.mark.parametrize("split", ["cold-users", "cold-items"])
def test_cold_splits_hide_all_ratings_of_some_nodes(ratings, split: str) -> None:
    rows = split_rows(ratings, split, test_share=0.25, seed=3)
    nodes = ratings.users if split == "cold-users" else ratings.items
    hidden = set(nodes[rows].tolist())
    rest = np.setdiff1d(np.arange(len(ratings)), rows)
    assert not hidden & set(nodes[rest].tolist())
    assert len(hidden) == round(0.25 * len(np.unique(nodes)))
    assert np.array_equal(rows, split_rows(ratings, split, test_share=0.25, seed=3))
    assert not np.array_equal(rows, split_rows(ratings, split, test_share=0.25, seed=4))


def test_features_are_used_in_evaluations() -> None:
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 2
    pairs = rng.choice(50 * 60, 1500, replace=False)
    u, v = pairs // 60, pairs % 60
    stars = np.clip(np.round(3 + 1.2 * (2 * kind[v] - 1) + rng.normal(0, 0.5, len(u))), 1, 5)
    table = ct.Ratings.from_arrays(u, v, stars)
    items = ct.NodeTable.from_columns(np.arange(60), {"kind": np.array(["a", "b"])[kind]})

    def make() -> ct.AdditiveBlockModel:
        return ct.AdditiveBlockModel(n_partitions=2, n_chains=1, n_sweeps=30, pilot=False, rng=0)

    without = evaluate(make, table, split="cold-items", seed=1).means.rmse
    known = evaluate(make, table, split="cold-items", seed=1, item_features=items).means.rmse
    assert known < 0.7 < 1.0 < without

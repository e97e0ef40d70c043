"""Updates: new ratings of known and new users and items, compared with folding in and refitting."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.support.command_line import coterie, result_of
from tests.support.small_models import model_of

import coterie as ct
from coterie.base.errors import InputError

USERS, ITEMS = 150, 60


def table(seed: int = 0, count: int = 3000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    pairs = rng.choice(USERS * ITEMS, count, replace=False)
    u, v = pairs // ITEMS, pairs % ITEMS
    likes, liked = rng.normal(0, 0.8, (USERS, 2)), rng.normal(0, 0.8, (ITEMS, 2))
    z = rng.normal(0, 0.5, USERS)[u] + rng.normal(0, 0.5, ITEMS)[v]
    z += (likes[u] * liked[v]).sum(axis=1) + rng.normal(0, 0.6, count)
    return u, v, np.searchsorted([-1.2, -0.4, 0.4, 1.2], z) + 1.0


def fitted(rows: slice, name: str = "best") -> ct.Recommender:
    u, v, r = (column[rows] for column in table())
    return ct.Recommender(model_of(name)).fit(ct.Ratings.from_arrays(u, v, r))


def copy_of(rec: ct.Recommender) -> ct.Recommender:
    return ct.Recommender._from_state(rec._fitted)


@pytest.fixture(scope="module")
def rec() -> ct.Recommender:
    return fitted(slice(2400)).fit_rankings()


def test_users_alone_are_updated_as_by_fold_in(rec: ct.Recommender) -> None:
    """Few ratings of items that have many: nothing but the users moves."""
    busy = rec.items_.ids[np.argsort(-rec.table_.item_counts.sum(axis=1))[:5]].tolist()
    known = rec.users_.ids[3]
    new = ct.Ratings.from_arrays(["new", "new", known], [busy[0], busy[1], busy[2]], [5, 1, 4])
    added, updated = copy_of(rec).fold_in(new), copy_of(rec)
    before = rec.predict_proba([known], [busy[4]])
    done = updated.update(new)
    assert (done.users, done.items, done.ratings, done.moved_items) == (1, 0, 3, 0)
    assert not done.refit_advised
    pairs = ["new", known, 7, 8], [busy[3], busy[4], busy[0], busy[1]]
    assert_array_equal(updated.predict_proba(*pairs), added.predict_proba(*pairs))
    assert updated.recommend("new", 5) == added.recommend("new", 5)
    again = ct.Ratings.from_arrays([known], [busy[3]], [2])  # in place now
    updated.update(again)
    assert_array_equal(updated.predict_proba(*pairs), added.fold_in(again).predict_proba(*pairs))
    assert_array_equal(rec.predict_proba([known], [busy[4]]), before)  # the original is untouched


@pytest.mark.parametrize(("name", "least"), [("best", 0.5), ("mmsbm", 0.1), ("hard", 0.0)])
def test_an_item_with_many_new_ratings_moves(name: str, least: float) -> None:
    """As far as the groups of the model allow: two blocks of items may leave it where it is."""
    rec = fitted(slice(2400), name)
    u, v, _ = table()
    counts = rec.table_.item_counts.sum(axis=1)
    item = int(rec.items_.ids[np.argsort(counts)[-3]])
    fresh = [x for x in range(USERS) if x not in set(u[:2400][v[:2400] == item].tolist())][:60]
    others = rec.users_.ids[rec.table_.rated_users][:40].tolist()
    before = rec.predict(others, [item] * 40).mean()
    done = rec.update([[x, item] for x in fresh], [1.0] * len(fresh))
    assert done.moved_items >= 1 and done.drift > 0.5
    after = rec.predict(others, [item] * 40).mean()
    refit = fitted_with(fresh, item, name).predict(others, [item] * 40).mean()
    assert after <= before - least
    assert name != "best" or abs(after - refit) < 0.45


def fitted_with(users: list[int], item: int, name: str) -> ct.Recommender:
    u, v, r = (column[:2400] for column in table())
    u, v = np.append(u, users), np.append(v, [item] * len(users))
    return ct.Recommender(model_of(name)).fit(
        ct.Ratings.from_arrays(u, v, np.append(r, np.ones(len(users))))
    )


def test_a_stream_of_updates_stays_close_to_a_new_fit(rec: ct.Recommender, tmp_path) -> None:
    u, v, r = table()
    live = copy_of(rec)
    for begin in range(2400, 2700, 30):
        done = live.update(np.stack([u, v], axis=1)[begin : begin + 30], r[begin : begin + 30])
    assert done.refit_advised and abs(done.drift) < 1
    test = slice(2700, 3000)

    def rmse(model: ct.Recommender) -> float:
        return float(np.sqrt(np.mean((model.predict(u[test], v[test]) - r[test]) ** 2)))

    refit = fitted(slice(2700))
    assert rmse(live) < rmse(refit) + 0.03 and rmse(live) < rmse(rec)
    live.save(tmp_path / "live")
    loaded = ct.load_recommender(tmp_path / "live")
    assert_array_equal(loaded.predict(u[test], v[test]), live.predict(u[test], v[test]))
    more = np.stack([u, v], axis=1)[2700:2720], r[2700:2720]
    assert loaded.update(*more) == live.update(*more)
    assert loaded.predict(u[test], v[test]) == pytest.approx(
        live.predict(u[test], v[test]), abs=0.02
    )


def test_a_changed_rating_replaces_the_old_one(rec: ct.Recommender) -> None:
    u, v, _ = table()
    live, size = copy_of(rec), len(rec.table_.users)
    live.update([[u[0], v[0]]], [1])
    assert len(live.table_.users) == size
    rows = live.table_.rows_of_user(int(live.users_.numbers([u[0]])[0]))
    assert len(rows) == (u[:2400] == u[0]).sum()
    with pytest.raises(InputError, match="outside the scale"):
        live.update([[u[0], v[0]]], [17])


def write(path, rows: slice) -> None:
    u, v, r = (column[rows] for column in table())
    lines = (f"{a},{b},{c:g}\n" for a, b, c in zip(u, v, r, strict=True))
    path.write_text("user,item,rating\n" + "".join(lines))


def test_the_command_updates_a_file_and_its_gate_refuses_a_worse_model(rec, tmp_path) -> None:
    model, new, out = tmp_path / "m", tmp_path / "new.csv", tmp_path / "out"
    rec.save(model)
    write(new, slice(2400, 2600))
    done = result_of("recommend", "update", model, new, "--out", out, "--gate")
    assert done["ratings"] == 200 and done["refit_advised"] is False and "drift" in done
    assert done["gate"]["after"] <= done["gate"]["before"] + 0.05
    live = copy_of(rec)
    u, v, r = table()
    live.update(np.stack([u, v], axis=1)[2400:2600], r[2400:2600])
    assert_array_equal(ct.load_recommender(out).predict(u, v), live.predict(u, v))
    # Ratings turned round, for all but the last tenth
    turned = np.where(np.arange(600) < 540, 6 - r[2400:], r[2400:])
    new.write_text(
        "user,item,rating\n"
        + "".join(f"{a},{b},{c:g}\n" for a, b, c in zip(u[2400:], v[2400:], turned, strict=True))
    )
    refused = coterie("recommend", "update", model, new, "--out", tmp_path / "worse", "--gate")
    assert refused.returncode == 2 and "worse" in refused.stderr
    assert not (tmp_path / "worse").exists()

"""Side information: feature tables, users and items without ratings, and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import coterie

import coterie as ct
from coterie.base.errors import AssumptionWarning, InputError
from coterie.models.additive.feature_encoding import FeatureEncoding

KINDS = np.array(["red", "blue"])


def described_ratings(seed: int = 0) -> tuple[ct.Ratings, ct.NodeTable, ct.NodeTable]:
    """Draw ratings that depend on the kind of the item and the age of the user."""
    rng = np.random.default_rng(seed)
    n, m = 60, 40
    kind, age = np.arange(m) % 2, rng.uniform(20, 60, n)
    pairs = rng.choice(n * (m - 4), 1200, replace=False)  # the last four items have no ratings
    u, v = pairs // (m - 4), pairs % (m - 4)
    level = 3 + 1.2 * (2 * kind[v] - 1) + (age[u] - 40) / 20 + rng.normal(0, 0.5, len(u))
    ratings = ct.Ratings.from_arrays(u, v, np.clip(np.round(level), 1, 5))
    items = ct.NodeTable.from_columns(np.arange(m), {"colour": KINDS[kind]})
    people = ct.NodeTable.from_columns(np.arange(n), {"age": age})
    return ratings, people, items


@pytest.fixture(scope="module")
def described() -> ct.Recommender:
    ratings, people, items = described_ratings()
    model = ct.AdditiveBlockModel(n_partitions=2, n_chains=2, n_sweeps=40, pilot=False, rng=0)
    return ct.Recommender(model).fit(ratings, user_features=people, item_features=items)


def test_items_without_ratings_are_predicted_from_features(described: ct.Recommender) -> None:
    users = np.arange(10)
    red, blue = (described.predict(users, np.full(10, item)) for item in (38, 39))
    assert (blue - red > 1).all()  # 39 is blue, which is rated higher
    assert not described.unseen(users, np.full(10, 39)).any()
    why = described.explain(3, 39)
    found = [term for term in why.contributions if term.source == "features of this item"]
    assert len(found) == 1 and found[0].rating > 0 and "colour" in found[0].features
    total = sum(term.share for term in why.contributions)
    assert total == pytest.approx(described.predict([3], [39])[0], abs=1e-9)
    assert any("features of this item" in line for line in why.words())


def test_rankings_include_users_and_items_without_ratings() -> None:
    ratings, people, items = described_ratings()
    ids = np.append(people.ids, 99)
    people = ct.NodeTable.from_columns(ids, {"age": np.append(people["age"].values, 58.0)})
    model = ct.AdditiveBlockModel(n_partitions=2, n_chains=1, n_sweeps=40, pilot=False, rng=0)
    rec = ct.Recommender(model).fit(ratings, user_features=people, item_features=items)
    best = [found.item for found in rec.recommend(99, n=20, order="rating")]
    assert len(best) == 20 and all(item % 2 for item in best)  # blue items are odd
    assert {37, 39} & set(best)  # without ratings
    assert (
        rec.predict([99], [1])[0] > rec.predict([int(people["age"].values[:60].argmin())], [1])[0]
    )


def test_features_are_saved(described: ct.Recommender, tmp_path: Path) -> None:
    described.save(tmp_path / "model")
    again = ct.load_recommender(tmp_path / "model")
    users, items = [0, 5, 9], [39, 38, 2]
    assert np.array_equal(again.predict(users, items), described.predict(users, items))
    new = ct.Ratings.from_arrays(["60", "60"], [1, 3], [5, 4])
    assert np.array_equal(
        again.fold_in(new).predict([60], [39]), described_copy(described, new).predict([60], [39])
    )


def described_copy(rec: ct.Recommender, new: ct.Ratings) -> ct.Recommender:
    """Return a recommender with these ratings added, leaving the given one alone."""
    return ct.Recommender._from_state(rec._fitted).fold_in(new)


def test_encoding_of_numbers_categories_and_missing_values() -> None:
    table = ct.NodeTable.from_columns(
        ["a", "b", "c", "d", "e"],
        {
            "year": [1.0, 3.0, np.nan, np.nan, 2.0],
            "genre": ["x|y", "y", "", "x", "rare"],
            "same": ["1", "1", "1", "1", "1"],
        },
    )
    ids = np.array(["a", "b", "c", "d", "e"], object)
    encoding = FeatureEncoding.of(table, ids, "item")
    titles = [column.title for column in encoding.columns]
    assert titles == ["year", "year = (missing)", "genre = x", "genre = y"]
    found = encoding.encode(table, ids)
    scaled = 1 / np.std([1, 2, 3])
    assert found[:, 0] == pytest.approx([-scaled, scaled, 0, 0, 0])
    assert found[:, 1:].tolist() == [[0, 1, 1], [0, 0, 1], [1, 0, 0], [1, 1, 0], [0, 0, 0]]
    other = ct.NodeTable.from_columns(["z"], {"year": [2.0], "genre": ["new"], "same": ["1"]})
    assert encoding.encode(other, np.array(["z", "?"], object)).tolist() == [[0] * 4] * 2


def test_integer_and_text_ids_match() -> None:
    table = ct.NodeTable.from_columns(["1", "2", "3"], {"age": [1, 2, 3]})
    encoding = FeatureEncoding.of(table, np.array([1, 2, 3]), "user")
    assert encoding.encode(table, np.array([3]))[0, 0] > 0


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("id,age,job\n7,30,cook\n8,,cook\n", ["age", "job"]),
        ("7|30|cook\n8|31|nurse\n", ["column 2", "column 3"]),
        ("7\tComedy|Drama\n8\tDrama\n", ["column 2"]),
        ("7::Heat::Action|Crime\n8::Jumanji::Drama\n", ["column 2", "column 3"]),
    ],
)
def test_feature_files(text: str, columns: list[str], tmp_path: Path) -> None:
    file = tmp_path / "features.txt"
    file.write_text(text)
    table = ct.read_features(file)
    assert table.ids.tolist() == [7, 8] and table.names == columns


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "has no rows"),
        ("id,age\n1,2\n2\n", "line 3: 1 fields where the first row has 2"),
        ("id,age\n1,2\n1,3\n", "line 3: the id 1 has two rows"),
        ("id\n1\n", "the table has one column, 'id'"),
        ("id,age\n1,inf\n2,3\n", "line 2: the 'age' is infinite"),
        ("id,age,age\n1,2,3\n", "two columns are called 'age'"),
    ],
)
def test_bad_feature_files_are_rejected(text: str, what: str, tmp_path: Path) -> None:
    file = tmp_path / "features.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=what) as caught:
        ct.read_features(file)
    assert "features.csv" in str(caught.value)


def test_bad_features_are_rejected() -> None:
    ratings, people, items = described_ratings()
    few = ct.AdditiveBlockModel(n_partitions=1, n_chains=1, n_sweeps=5, pilot=False)
    foreign = ct.NodeTable.from_columns(["x", "y"], {"age": [1, 2]})
    with pytest.raises(InputError, match="none of the 2 ids of the user features"):
        ct.Recommender(few).fit(ratings, user_features=foreign)
    with pytest.raises(InputError, match="MMSBM does not use `item_features`"):
        ct.Recommender("mmsbm").fit(ratings, item_features=items)
    with pytest.raises(InputError, match="dict cannot be used as user features"):
        few.fit(ratings, user_features={"age": [1]})
    constant = ct.NodeTable.from_columns(people.ids, {"age": np.ones(len(people))})
    with pytest.warns(AssumptionWarning, match="constant or unique"):
        few.fit(ratings, user_features=constant)
    part = ct.NodeTable.from_columns(people.ids[:50], {"age": people["age"].values[:50]})
    with pytest.warns(AssumptionWarning, match="10 of 60 users have no row"):
        few.fit(ratings, user_features=part)


def test_command_line_uses_features(tmp_path: Path) -> None:
    ratings, _, items = described_ratings()
    rows = zip(ratings.users, ratings.items, ratings.ratings, strict=True)
    lines = [f"{u},{v},{r:g}" for u, v, r in rows]
    (tmp_path / "r.csv").write_text("\n".join(["user,item,rating", *lines]))
    kinds = items["colour"].values.tolist()
    colours = [f"{v},{kind}" for v, kind in zip(items.ids.tolist(), kinds, strict=True)]
    (tmp_path / "i.csv").write_text("\n".join(["item,colour", *colours]))
    (tmp_path / "pairs.csv").write_text("user,item\n3,38\n3,39\n")
    fit = ["recommend", "fit", "r.csv", "--out", "m", "--iterations", "30", "--runs", "1"]
    done = coterie(*fit, "--item-features", "i.csv", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    predicted = coterie("recommend", "predict", "m", "pairs.csv", folder=tmp_path)
    red, blue = (line.split(",") for line in predicted.stdout.split()[1:])
    assert float(blue[2]) > float(red[2]) and blue[-1].lower() == "false"
    missing = coterie(*fit, "--item-features", "none.csv", folder=tmp_path)
    assert missing.returncode == 2 and "none.csv" in missing.stderr
    evaluation = ["recommend", "evaluate", "r.csv", "--iterations", "30", "--runs", "1", "--json"]
    cold = [*evaluation, "--split", "cold-items", "--test-share", "0.2"]
    plain = coterie(*cold, folder=tmp_path)
    better = coterie(*cold, "--item-features", "i.csv", folder=tmp_path)
    assert json.loads(better.stdout)["rmse"] < 0.9 * json.loads(plain.stdout)["rmse"]
    for options, what in (
        (["--item-features", "none.csv"], "none.csv"),
        (
            ["--item-features", "i.csv", "--model", "mmsbm"],
            "--model mmsbm does not use --item-feat",
        ),
        (["--split", "time"], "needs the time of each rating"),
        (["--test-share", "0.2"], "--test-share requires --split"),
    ):
        refused = coterie(*evaluation, *options, folder=tmp_path)
        assert refused.returncode == 2 and what in refused.stderr, refused.stderr


def test_features_of_other_ids_are_rejected() -> None:
    """Without features of rated ids there is nothing to learn; most often ids are misspelled."""
    ratings = ct.Ratings.from_arrays(["a", "b"], ["x", "y"], [1, 2])
    table = ct.NodeTable.from_columns(["A", "B"], {"age": [1.0, 2.0]})
    with pytest.raises(ct.InputError, match="none of the 2 ids of the user features"):
        ct.Recommender("best").fit(ratings, user_features=table)
    with pytest.raises(ct.InputError, match="none of the 2 ids of the item features"):
        ct.Recommender("best").fit(ratings, item_features=table)

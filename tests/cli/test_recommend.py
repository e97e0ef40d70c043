"""The commands `coterie recommend …`."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import coterie as ct
from coterie.cli import main as cli

cli.register_commands()
QUICK = ["--model", "mmsbm", "--groups", "2", "--iterations", "30"]


def coterie(*words: object, stdin: str | None = None):
    return CliRunner().invoke(cli.app, [str(word) for word in words], input=stdin)


def result_of(*words: object, stdin: str | None = None) -> dict:
    done = coterie(*words, "--json", stdin=stdin)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    from tests.support.small_models import two_tastes

    ratings = two_tastes()
    file = tmp_path_factory.mktemp("data") / "ratings.csv"
    rows = zip(
        ratings.user_ids[ratings.users],
        ratings.item_ids[ratings.items],
        ratings.ratings,
        strict=True,
    )
    file.write_text("user,item,rating\n" + "".join(f"{u},{i},{r:g}\n" for u, i, r in rows))
    return file


@pytest.fixture(scope="module")
def model(table):
    file = table.with_name("model.ct")
    options = ["--model", "best", "--runs", 2, "--iterations", 60]
    result = result_of("recommend", "fit", table, "--out", file, *options)
    assert result["users"] == 40 and result["items"] == 30 and result["ratings"] == 700
    assert result["entropy"] > 0 and result["iterations"] == 60 and result["seconds"] > 0
    return file


@pytest.fixture(scope="module")
def titles(table):
    file = table.with_name("u.item")
    lines = [f"{100 + j}|Café {j} (19{10 + j})|01-Jan-1995||x|0|1" for j in range(30)]
    file.write_bytes("\n".join(lines).encode("latin-1"))
    return file


def test_shard_counts_users_items_and_ratings(table, tmp_path) -> None:
    done = coterie("shard", table, "--objective", "ratings", "--out", tmp_path / "shards")
    shown = " ".join(done.stdout.split())
    assert "700 ratings by 40 users of 30 items written as 1 shard to" in shown


def test_predict_writes_one_row_per_pair_in_order(model, tmp_path) -> None:
    pairs = "user,item\nu3,104\nnobody,104\nu3,104\nu9,999\n"
    done = coterie("recommend", "predict", model, "-", stdin=pairs)
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["user"] for row in rows] == ["u3", "nobody", "u3", "u9"]
    assert [row["unseen"] for row in rows] == ["False", "True", "False", "True"]
    assert list(rows[0]) == ["user", "item", "rating", "p_1", "p_2", "p_3", "p_4", "p_5", "unseen"]
    assert rows[0]["rating"] == rows[2]["rating"]
    assert float(rows[0]["rating"]) == pytest.approx(
        ct.load_recommender(model).predict(["u3"], [104])[0]
    )
    assert "2 of 4 rows" in done.stderr
    result = result_of(
        "recommend", "predict", model, "-", "--out", tmp_path / "p.parquet", stdin=pairs
    )
    assert result == {"rows": 4, "unseen": 2}
    import pyarrow.parquet

    assert pyarrow.parquet.read_table(tmp_path / "p.parquet").num_rows == 4


def test_top_for_a_known_user(model, titles) -> None:
    result = result_of("recommend", "top", model, "--user", "u3", "-n", "4", "--titles", titles)
    expected = ct.load_recommender(model).recommend("u3", 4)
    assert [(row["item"], row["score"], row["rating"]) for row in result["items"]] == expected
    assert result["items"][0]["title"].startswith("Café")
    shown = coterie("recommend", "top", model, "--user", "u3", "--titles", titles).stdout
    assert "Café" in shown and "rating" in shown


def test_top_for_a_new_user_from_a_file(model, tmp_path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("item,rating\n" + "".join(f"{100 + j},{1 + 4 * (j % 2)}\n" for j in range(12)))
    result = result_of("recommend", "top", model, "--ratings", file, "-n", "3")
    assert {row["item"] % 2 for row in result["items"]} == {1}
    assert not {row["item"] for row in result["items"]} & set(range(100, 112))
    file.write_text("item,rating\nx,1\ny,2\n")
    done = coterie("recommend", "top", model, "--ratings", file)
    assert done.exit_code == 2 and "none of the 2 items" in done.stderr


def test_explain_and_similar_items(model, titles) -> None:
    result = result_of("recommend", "explain", model, "--user", "u3", "--item", 104)
    total = sum(part["weight"] * part["rating"] for part in result["contributions"])
    assert total == pytest.approx(result["rating"], abs=1e-9)
    assert {"user_group", "item_group", "weight", "rating"} <= set(result["contributions"][0])
    done = coterie("recommend", "explain", model, "--user", "u3", "--item", 104, "--titles", titles)
    assert "Café 4" in done.stdout
    result = result_of("recommend", "similar", model, "--item", 104, "-n", 3)
    assert len(result["items"]) == 3


def test_titles_in_brackets_are_shown_unchanged(model, tmp_path) -> None:
    file = tmp_path / "titles.csv"
    file.write_text("".join(f"{100 + j},[rec] {j}\n" for j in range(30)))
    for words in (
        ["top", model, "--user", "u3"],
        ["explain", model, "--user", "u3", "--item", 104],
        ["similar", model, "--item", 104],
    ):
        assert "[rec] " in coterie("recommend", *words, "--titles", file).stdout


@pytest.mark.parametrize(
    "options",
    [
        ["--model", "best", "--runs", 2, "--iterations", 60],
        ["--model", "mmsbm", "--groups", 2, "--iterations", 30],
        ["--model", "mcmmsbm", "--groups", 2, "--iterations", 30],
        ["--model", "hard", "--groups", 2],
    ],
    ids=lambda options: options[1],
)
def test_evaluate_writes_a_report_of_each_model(options, table, tmp_path) -> None:
    page = tmp_path / "report.html"
    done = coterie("recommend", "evaluate", table, "--folds", 2, *options, "--report", page)
    assert done.exit_code == 0, done.output
    html = page.read_text()
    assert "Results by fold" in html and "</html>" in html
    assert "350 ratings of fold 2, the last one" in html


def test_evaluate_with_folds_and_with_files(table, tmp_path) -> None:
    result = result_of("recommend", "evaluate", table, "--folds", 3, *QUICK)
    keys = "rmse mae accuracy log_loss entropy fit_seconds fit_cpu_seconds ndcg precision recall"
    for key in (*keys.split(), "coverage"):
        assert key in result and key in result["folds"][0]
    assert result["rmse"] == pytest.approx(np.mean([fold["rmse"] for fold in result["folds"]]))
    page = tmp_path / "report.html"
    split = result_of(
        "recommend", "evaluate", "--train", table, "--test", table, *QUICK, "--report", page
    )
    assert len(split["folds"]) == 1 and split["rmse"] < result["rmse"] + 0.5
    assert page.read_text().startswith("<!")
    assert "rmse" in coterie("recommend", "evaluate", table, "--folds", 2, *QUICK).stdout


def test_fit_to_likes(table, tmp_path) -> None:
    file, model = tmp_path / "likes.csv", tmp_path / "likes.ct"
    pairs = [(u, i) for u in range(20) for i in range(u % 2, 20, 2) if (u * 7 + i) % 5]
    file.write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in pairs))
    result_of("recommend", "fit", file, "--likes", "--out", model, *QUICK)
    result = result_of("recommend", "top", model, "--user", 4, "-n", 3)
    assert all(0 <= row["rating"] <= 1 for row in result["items"])


def test_table_of_ones_asks_for_a_decision(tmp_path) -> None:
    file, model = tmp_path / "ones.csv", tmp_path / "ones.ct"
    pairs = [(u, i) for u in range(10) for i in range(u % 2, 10, 2)]
    file.write_text("user,item,rating\n" + "".join(f"{u},{i},1\n" for u, i in pairs))
    done = coterie("recommend", "fit", file, "--out", model, *QUICK)
    assert done.exit_code == 0 and "every rating is 1" in done.stderr
    assert "--likes" in done.stderr and "--no-likes" in done.stderr
    done = coterie("recommend", "fit", file, "--out", model, *QUICK, "--likes")
    assert done.exit_code == 0 and "every rating is 1" not in done.stderr
    assert ct.load_recommender(model).likes_
    done = coterie("recommend", "fit", file, "--out", model, *QUICK, "--no-likes")
    assert done.exit_code == 0 and not ct.load_recommender(model).likes_


def test_resumed_fit_writes_the_same_file(table, tmp_path) -> None:
    first, second, kept = tmp_path / "a", tmp_path / "b", tmp_path / "kept"
    options = ["--model", "best", "--runs", "1", "--iterations", "120"]
    result_of("recommend", "fit", table, "--out", first, *options, "--checkpoint", kept)
    assert kept.exists()
    result_of(
        "recommend", "fit", table, "--out", second, *options, "--checkpoint", kept, "--resume"
    )
    assert first.read_bytes() == second.read_bytes()


def test_model_file_does_not_depend_on_the_number_of_threads(table, tmp_path) -> None:
    files = [tmp_path / "1", tmp_path / "2"]
    for threads, file in enumerate(files, 1):
        options = ["--model", "best", "--runs", 2, "--iterations", 20, "--threads", threads]
        result_of("recommend", "fit", table, "--out", file, "--seed", 5, *options)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["top", "MODEL", "--user", "nobody"], "--ratings FILE"),
        (["top", "MODEL"], "no user given"),
        (["top", "RATINGS", "--user", "u1"], "not a saved model"),
        (["explain", "MODEL", "--user", "u1", "--item", "999"], "no item '999'"),
        (["similar", "MODEL", "--item", "x"], "no item 'x'"),
        (["predict", "MODEL", "nothing.csv"], "nothing.csv"),
        (["fit", "RATINGS", "--out", "OUT", "--groups", "x"], "--groups x"),
        (["fit", "RATINGS", "--out", "OUT", "--samples", "3"], "no option --samples"),
        (
            ["fit", "RATINGS", "--out", "OUT", "--model", "hard", "--prior", "1"],
            "no option --prior",
        ),
        (["fit", "RATINGS", "--out", "OUT", "--resume"], "--checkpoint"),
        (["fit", "RATINGS", "--out", "OUT", "--scheduler", "tcp://x:1"], "--engine dask"),
        (["evaluate"], "--train"),
        (["evaluate", "RATINGS", "--train", "RATINGS"], "--test"),
        (["evaluate", "RATINGS", "--folds", "1000"], "into 1000 folds"),
    ],
)
def test_bad_input_exits_with_2_and_a_remedy(model, table, tmp_path, words, said) -> None:
    places = {"MODEL": model, "RATINGS": table, "OUT": tmp_path / "out"}
    done = coterie("recommend", *(places.get(word, word) for word in words))
    assert done.exit_code == 2, done.output
    assert said in done.stderr and "Traceback" not in done.output
    assert not (tmp_path / "out").exists()


def test_duplicate_ratings_are_reported_once(tmp_path) -> None:
    file = tmp_path / "r.csv"
    file.write_text("user,item,rating\na,x,1\na,x,5\nb,x,5\nb,y,3\n")
    done = coterie("recommend", "fit", file, "--out", tmp_path / "m", *QUICK)
    assert done.exit_code == 0 and done.stderr.count("replaced") == 1
    assert ct.load_recommender(tmp_path / "m").table_.users.size == 3


def test_titles_of_movielens_are_found_although_genres_contain_a_bar(model, tmp_path) -> None:
    file = tmp_path / "movies.csv"
    rows = "".join(f'{n},"Film, The ({n})",Adventure|Comedy\n' for n in range(100, 150))
    file.write_text("movieId,title,genres\n" + rows)
    result = result_of("recommend", "top", model, "--user", "u3", "-n", 3, "--titles", file)
    assert all(row["title"] == f"Film, The ({row['item']})" for row in result["items"])
    file.write_text("1|x|\n2|y|\n")
    done = coterie("recommend", "top", model, "--user", "u3", "--quiet", "--titles", file)
    assert "0 of the " in done.stderr and "items of the model have a title" in done.stderr


def test_titles_are_read_from_several_formats(tmp_path) -> None:
    from coterie.data.titles import read_titles

    file = tmp_path / "movies.csv"
    file.write_text('movieId,title\n7,"Twelve, Monkeys"\n')
    assert read_titles(file)[7] == "Twelve, Monkeys"
    file.write_text("1::Toy Story (1995)::Animation\n")
    assert read_titles(file)[1] == "Toy Story (1995)"
    file.write_text("1\n")
    with pytest.raises(ct.InputError, match="line 1"):
        read_titles(file)


def test_lists_of_all_users_are_written(model, titles, tmp_path) -> None:
    import pyarrow.parquet as parquet

    out = tmp_path / "lists.csv"
    options = ["--users", "all", "-n", 3, "--titles", titles]
    result = result_of("recommend", "top", model, *options, "--out", out)
    assert result["users"] == 40 and result["rows"] == 120 and result["out"] == str(out)
    rows = list(csv.DictReader(out.open()))
    rec = ct.load_recommender(model)
    for user in ("u0", "u17"):
        own = [row for row in rows if row["user"] == user]
        expected = rec.recommend(user, 3)
        assert [int(row["item"]) for row in own] == [one.item for one in expected]
        assert [row["rank"] for row in own] == ["1", "2", "3"]
        assert [float(row["score"]) for row in own] == pytest.approx([x.score for x in expected])
        assert [float(row["rating"]) for row in own] == pytest.approx([x.rating for x in expected])
        assert all(row["title"].startswith("Café") for row in own)
    result_of("recommend", "top", model, *options, "--out", tmp_path / "lists.parquet")
    table = parquet.read_table(tmp_path / "lists.parquet").to_pydict()
    assert table["item"] == [int(row["item"]) for row in rows]


def test_lists_of_some_users_and_items(model, tmp_path) -> None:
    users, wanted, unwanted = tmp_path / "users", tmp_path / "wanted", tmp_path / "unwanted"
    users.write_text("u3\nu5\n# a comment\nnobody\n")
    wanted.write_text("\n".join(str(item) for item in range(100, 112)) + "\nnothing\n")
    unwanted.write_text("100\n101\n")
    out = tmp_path / "lists.csv"
    options = ["--candidates", wanted, "--exclude", unwanted, "--rated", "-n", 99]
    done = coterie("recommend", "top", model, "--users", users, "--out", out, *options)
    assert done.exit_code == 0, done.output
    assert "does not know 1 of the " in done.output and "users; left out" in done.output
    assert "does not know 1 of the 13 candidates" in done.output
    rows = list(csv.DictReader(out.open()))
    assert {row["user"] for row in rows} == {"u3", "u5"}
    assert {int(row["item"]) for row in rows} == set(range(102, 112))


def test_header_of_a_list_of_ids_is_not_an_id(model, tmp_path) -> None:
    """A name of a column, or among integer ids any text; unknown ids are still reported."""
    wanted, unwanted, users = tmp_path / "wanted", tmp_path / "unwanted", tmp_path / "users"
    wanted.write_text("film number\n" + "\n".join(map(str, range(100, 112))) + "\n")
    unwanted.write_text("movieId\n100\n101\n9999\n")
    users.write_text("user_id\nu3\n")
    options = ["--candidates", wanted, "--exclude", unwanted, "--rated", "-n", 99]
    out = tmp_path / "lists.csv"
    done = coterie("recommend", "top", model, "--users", users, "--out", out, *options)
    assert done.exit_code == 0, done.output
    assert "candidates" not in done.output and "users;" not in done.output
    assert "does not know 1 of the 3 items to exclude" in done.output
    rows = list(csv.DictReader(out.open()))
    assert {row["user"] for row in rows} == {"u3"}
    assert {int(row["item"]) for row in rows} == set(range(102, 112))
    users.write_text("u3\nuser_id\n")  # not the first line, so an unknown id
    done = coterie("recommend", "top", model, "--users", users, "--out", out)
    assert "does not know 1 of the " in done.output and "users; left out" in done.output
    wanted.write_text("movieId\n")
    done = coterie("recommend", "top", model, "--user", "u3", "--candidates", wanted)
    assert done.exit_code == 2 and "lists no ids" in done.output


def test_rankings_that_cannot_be_measured_are_left_out(table, tmp_path) -> None:
    options = ["--split", "cold-items", "--top", "5,10", *QUICK]
    result = result_of("recommend", "evaluate", table, *options)
    for part in (result, result["spread"], *result["folds"]):
        assert "rmse" in part and "ndcg" not in part and "coverage" not in part
    assert result["at"] == {}
    page = tmp_path / "report.html"
    done = coterie("recommend", "evaluate", table, *options, "--report", page)
    assert "rankings were not measured" in done.output and "hit rate" not in done.output
    assert "nan" not in done.output and "nan" not in page.read_text().lower().split("<style")[0]
    by_rating = result_of("recommend", "evaluate", table, *options, "--order", "rating")
    assert 0 <= by_rating["ndcg"] <= 1 and set(by_rating["at"]) == {"5", "10"}


def test_an_empty_list_is_explained(model, tmp_path) -> None:
    seen = ct.load_recommender(model)
    user = seen.users_.ids[0]
    own = seen.items_.ids[seen.table_.items[seen.table_.rows_of_user(0)]]
    wanted = tmp_path / "own.txt"
    wanted.write_text(f"{own[0]}\n")
    done = coterie("recommend", "top", model, "--user", user, "--candidates", wanted)
    assert done.exit_code == 0 and "--rated includes them" in done.output


def test_top_with_rules(model, tmp_path) -> None:
    rows = "".join(f"{100 + j},{'ab'[j % 2]}\n" for j in range(30))
    (tmp_path / "items.csv").write_text("item,kind\n" + rows)
    file = tmp_path / "rules.toml"
    file.write_text(
        'items = "items.csv"\nseen = "include"\n[max_per]\nkind = 3\n'
        '[[quota]]\nwhere = "kind=a"\nat_least = 2\n'
    )
    call = ("recommend", "top", model, "--user", "u3", "-n", 5, "--rules", file)
    result = result_of(*call)
    expected = ct.load_recommender(model).recommend("u3", 5, rules=ct.Rules.from_file(file))
    items = [row["item"] for row in result["items"]]
    assert items == [one.item for one in expected] and result["unmet"] == []
    assert 2 <= sum(item % 2 == 0 for item in items) <= 3
    only = tmp_path / "only.txt"
    only.write_text("100\n101\n103\n105\n")
    done = coterie(*call, "--candidates", only)
    assert "no more items are left for a quota: kind=a: 1 of at least 2 items" in done.stderr
    lists = tmp_path / "lists.csv"
    many = ("recommend", "top", model, "--users", "all", "--out", lists, "--rules", file)
    assert result_of(*many, "-n", 5)["unmet"] == 0
    assert result_of(*many, "-n", 5, "--candidates", only)["unmet"] == 40
    done = coterie(*call, "--rated")
    assert done.exit_code == 2 and "rules.toml: seen = 'include' and --rated" in done.stderr
    done = coterie(*call[:-4], "-n", 1, "--rules", file)
    assert done.exit_code == 2 and "contradict each other" in done.stderr
    file.write_text("max_pr = 2")
    done = coterie(*call)
    assert done.exit_code == 2 and "unknown key 'max_pr'; did you mean 'max_per'" in done.stderr
    (tmp_path / "none.toml").write_text('items = "missing.csv"')
    done = coterie(*call[:-1], tmp_path / "none.toml")
    assert done.exit_code == 2 and "missing.csv" in done.stderr


def test_orders_of_top(model) -> None:
    rec = ct.load_recommender(model)
    for order in ("both", "interaction", "rating"):
        result = result_of("recommend", "top", model, "--user", "u3", "-n", 4, "--order", order)
        expected = rec.recommend("u3", 4, order=order)
        assert [row["item"] for row in result["items"]] == [one.item for one in expected]
        assert [row["score"] for row in result["items"]] == [one.score for one in expected]


def test_items_are_chosen_by_features(model, tmp_path) -> None:
    features = tmp_path / "films.csv"
    lines = [
        f"{100 + j},{'Comedy|Drama' if j % 3 else 'Drama'},{1980 + j if j else ''}"
        for j in range(30)
    ]
    features.write_text("movieId,genres,year\n" + "\n".join(lines) + "\n")

    def items(*conditions: str) -> set[int]:
        words = [word for condition in conditions for word in ("--where", condition)]
        command = ["recommend", "top", model, "--user", "u3", "--rated", "-n", 99]
        found = result_of(*command, "--items", features, *words)
        return {row["item"] - 100 for row in found["items"]}

    assert items("genres=Comedy") == {j for j in range(30) if j % 3}
    assert items("genres!=Comedy", "year>=1990") == {12, 15, 18, 21, 24, 27}
    assert items("year<=1983") == {1, 2, 3}


def test_similar_users_are_listed(model) -> None:
    result = result_of("recommend", "similar", model, "--user", "u3", "-n", 2)
    expected = ct.load_recommender(model).similar_users("u3", 2)
    assert [(row["user"], row["likeness"]) for row in result["users"]] == expected


def test_explanation_names_the_own_items(model) -> None:
    result = result_of("recommend", "explain", model, "--user", "u3", "--item", "104")
    total = sum(own["share"] for own in result["own_items"])
    assert result["score"] == pytest.approx(total)
    assert any("Score for interaction and liking" in line for line in result["words"])


def test_evaluate_on_splits_and_several_lengths(tmp_path) -> None:
    from tests.support.small_models import two_tastes

    ratings, file = two_tastes(), tmp_path / "timed.csv"
    rows = zip(
        ratings.user_ids[ratings.users],
        ratings.item_ids[ratings.items],
        ratings.ratings,
        ratings.timestamps,
        strict=True,
    )
    lines = [f"{u},{i},{r:g},{t}" for u, i, r, t in rows]
    file.write_text("user,item,rating,timestamp\n" + "\n".join(lines) + "\n")
    command = ["recommend", "evaluate", file, *QUICK, "--top", "3,6"]
    for options in (
        ["--split", "time", "--test-share", "0.1"],
        ["--split", "last-n", "--test-last", "2", "--order", "interaction"],
        ["--split", "random"],
    ):
        result = result_of(*command, *options)
        assert len(result["folds"]) == 1 and list(result["at"]) == ["3", "6"]
        assert result["ndcg"] == result["at"]["3"]["ndcg"]
        assert 0 < result["at"]["6"]["hit_rate"] <= 1 and result["novelty"] > 0
        assert result["at"]["3"]["recall"] <= result["at"]["6"]["recall"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["top", "MODEL", "--users", "all"], "add --out FILE"),
        (["top", "MODEL", "--users", "all", "--user", "u1", "--out", "x"], "cannot be combined"),
        (["top", "MODEL", "--users", "all", "--out", "MODEL"], "is also an input"),
        (["top", "MODEL", "--user", "u1", "--where", "a=b"], "add --items FILE"),
        (["top", "MODEL", "--user", "u1", "--items", "FEATURES"], "add --where"),
        (["top", "MODEL", "--user", "u1", "--items", "FEATURES", "--where", "x=1"], "no column"),
        (["top", "MODEL", "--user", "u1", "--items", "FEATURES", "--where", "b"], "not understood"),
        (
            ["top", "MODEL", "--user", "u1", "--items", "FEATURES", "--where", "b>=z"],
            "not a number",
        ),
        (["top", "MODEL", "--user", "u1", "--items", "FEATURES", "--where", "b=9"], "no item"),
        (["top", "MODEL", "--user", "u1", "--candidates", "EMPTY"], "lists no ids"),
        (["top", "MODEL", "--user", "u1", "--candidates", "FEATURES"], "knows none of the 1 items"),
        (["similar", "MODEL"], "either --item ID or --user ID"),
        (["similar", "MODEL", "--user", "nobody"], "no user 'nobody'"),
        (["evaluate", "TABLE", "--split", "time"], "needs the time of each rating"),
        (["evaluate", "TABLE", "--split", "random", "--test-share", "2"], "between 0 and 1"),
        (["evaluate", "TABLE", "--test-share", "0.1"], "requires --split"),
        (["evaluate", "TABLE", "--test-last", "1"], "requires --split last-n"),
        (["evaluate", "TABLE", "--top", "0"], "not a list of lengths"),
        (["evaluate", "TABLE", "--top", "ten"], "not a list of lengths"),
        (["evaluate", "--train", "TABLE", "--test", "TABLE", "--split", "time"], "divides RATINGS"),
    ],
)
def test_bad_ranking_options_exit_with_2(model, table, tmp_path, words, said) -> None:
    features, empty = tmp_path / "features", tmp_path / "empty"
    features.write_text("a,b\nx,1\n")
    empty.write_text("# nothing\n")
    files = {"MODEL": model, "TABLE": table, "FEATURES": features, "EMPTY": empty}
    before = model.read_bytes()
    done = coterie("recommend", *(files.get(word, word) for word in words))
    assert done.exit_code == 2 and said in done.output.replace("\n", " "), done.output
    assert model.read_bytes() == before

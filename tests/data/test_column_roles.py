"""Which column is what: by words in four languages, by content, or a question."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import coterie as ct
from coterie.base.errors import InputError
from coterie.data.column_roles import role_of
from coterie.data.readers import read_graph, read_ratings
from coterie.data.table import Recognised


def recognised(read: Any, path: Path, **options: Any) -> dict[str, str]:
    seen: list[Recognised] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read(path, on_recognised=seen.append, **options)
    return {what: name.strip("'") for what, name in seen[0].columns.items()}


def written(folder: Path, content: str) -> Path:
    path = folder / "x.csv"
    path.write_text(content, encoding="utf-8")
    return path


RATINGS = [  # header, two rows, and the columns of user, item, rating and time
    ("business_id,user_id,stars", "b1,u1,5", "b1,u2,4", "user_id business_id stars"),
    ("track_id,user_id,play_count", "t1,u1,5", "t1,u2,4", "user_id track_id play_count"),
    ("ISBN;User-ID;Book-Rating", "0345;7;5", "0345;8;0", "User-ID ISBN Book-Rating"),
    ("asin,reviewerID,overall", "B00,A1,5", "B00,A2,4", "reviewerID asin overall"),
    (
        "timestamp,score,product_id,customer_id",
        "1200000000,5,p1,c1",
        "1200000001,4,p1,c2",
        "customer_id product_id score timestamp",
    ),
    ("userId,movieId,rating,timestamp", "1,31,2.5,1260759144", "1,10,3,1260759179",
     "userId movieId rating timestamp"),
    ("Kundennummer;Artikel;Bewertung;Datum", "7;Tee;4;2026-01-02", "8;Tee;5;2026-01-03",
     "Kundennummer Artikel Bewertung Datum"),
    ("Datum;Bewertung;Artikelnummer;Kunde", "2026-01-02;4;77;Ann", "2026-01-03;5;77;Bo",
     "Kunde Artikelnummer Bewertung Datum"),
    ("livre,lecteur,note", "l1,ann,4", "l1,bob,5", "lecteur livre note"),
    ("película,usuario,puntuación", "p1,ana,4", "p1,luz,5", "usuario película puntuación"),
    ("foo,user_id,stars", "f1,u1,5", "f1,u2,4", "user_id foo stars"),
    ("stars,thing,reader", "5,t1,u1", "4,t1,u2", "reader thing stars"),
    ("user_id,user_name,item_id,rating", "1,ann,x,5", "2,bob,x,4", "user_id item_id rating"),
    ("a,b,c", "u1,x,5", "u2,x,4", "a b c"),
    ("first_user,thing,stars", "u1,x,5", "u2,x,4", "first_user thing stars"),
]  # fmt: skip


@pytest.mark.parametrize(("header", "one", "two", "expected"), RATINGS, ids=[r[0] for r in RATINGS])
def test_columns_of_ratings(tmp_path: Path, header: str, one: str, two: str, expected: str) -> None:
    found = recognised(read_ratings, written(tmp_path, f"{header}\n{one}\n{two}\n"))
    wanted = ["user", "item", "rating", "timestamp"]
    assert found == dict(zip(wanted, expected.split(), strict=False))


GRAPHS = [  # header, rows, and the columns of source, target and weight
    ("Date,From person,To person,Hours", "2026-01-02,Ann,Bob,3", "2026-01-03,Bob,Cy,1.5",
     ["From person", "To person", "Hours"]),
    ("Absender;Empfänger;Anzahl", "Ann;Bob;3", "Bob;Cy;4", ["Absender", "Empfänger", "Anzahl"]),
    ("destinataire,expéditeur,date", "Ann,Bob,2026-01-02", "Bob,Cy,2026-01-02",
     ["expéditeur", "destinataire"]),
    ("remitente,destinatario", "Ann,Bob", "Bob,Cy", ["remitente", "destinatario"]),
    ("to,from,weight", "1,2,5", "2,3,6", ["from", "to", "weight"]),
    ("Person A,Person B", "Ann,Bob", "Bob,Cy", ["Person A", "Person B"]),
    ("id,person1,person2", "1,Ann,Bob", "2,Bob,Cy", ["person1", "person2"]),
    ("sender email,receiver email,sent date", "a@x,b@x,2026-01-02", "b@x,c@x,2026-01-02",
     ["sender email", "receiver email"]),
    ("user_id,friend_id", "1,2", "2,3", ["user_id", "friend_id"]),
    ("when,who,whom", "5,Ann,Bob", "6,Bob,Cy", ["who", "whom"]),
    ("team,source,manager,since", "x,Ann,Bob,2", "y,Bob,Cy,3", ["source", "manager"]),
]  # fmt: skip


@pytest.mark.parametrize(("header", "one", "two", "expected"), GRAPHS, ids=[g[0] for g in GRAPHS])
def test_columns_of_edges(
    tmp_path: Path, header: str, one: str, two: str, expected: list[str]
) -> None:
    path = written(tmp_path, f"{header}\n{one}\n{two}\n")
    weighted = len(expected) > 2
    found = recognised(read_graph, path, weighted=weighted)
    assert list(found.values()) == expected
    assert list(found) == ["source", "target", "weight"][: len(expected)]


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (read_graph, "user,item,rating\nann,tea,5\nbob,tea,4\n", "two kinds of nodes.*`two_mode`"),
        (read_graph, "customer_id,product_id\n1,2\n2,2\n", "'customer_id' and 'product_id'"),
        (read_graph, "name,age,city\nann,31,Rome\nbob,40,Bonn\n", "no id is both.*`source`"),
        (read_graph, "name,city,job\nann,Rome,cook\nbob,Bonn,nurse\n", "no id is both"),
        (read_graph, "2026-01-02,Ann,Bob\n2026-01-03,Bob,Cy\n", "is the source.*its number"),
        (
            read_graph,
            "source,a,b,hours\nx,y,z,1\nz,x,y,2\n",
            "'a', 'b' is the target.*set `target`",
        ),
        (read_ratings, "user,a,b,stars\n1,2,3,4\n5,6,7,1\n", "'a', 'b' is the item"),
        (read_ratings, "user,item,a,b\n1,2,3,4\n5,6,7,1\n", "'a', 'b' is the rating"),
        (read_ratings, "user,item,rating,score\n1,2,3,4\n", "'rating', 'score' is the rating"),
        (read_ratings, "user,item,comment\n1,x,good\n2,y,bad\n", "no rating column"),
    ],
)
def test_two_readings_are_a_question(tmp_path: Path, read: Any, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(written(tmp_path, content))


def test_a_choice_answers_the_question(tmp_path: Path) -> None:
    path = written(tmp_path, "user,item,rating\nann,tea,5\nbob,tea,4\n")
    assert read_graph(path, source="user", target="item").n_edges == 2
    path = written(tmp_path, "2026-01-02,Ann,Bob\n2026-01-03,Bob,Cy\n")
    graph = read_graph(path, source="2", target="3", header=False)
    assert graph.ids.tolist() == ["Ann", "Bob", "Cy"]


def test_names_of_nodes_are_not_names_of_columns(tmp_path: Path) -> None:
    graph = read_graph(written(tmp_path, "node1,node2\nnode2,node3\n"))
    assert graph.ids.tolist() == ["node1", "node2", "node3"]


def test_frames_follow_the_same_words(tmp_path: Path) -> None:
    frame = pd.DataFrame({"business_id": ["b", "c"], "user_id": ["u", "v"], "stars": [5, 4]})
    ratings = ct.Ratings.from_pandas(frame)
    assert ratings.user_ids.tolist() == ["u", "v"] and ratings.item_ids.tolist() == ["b", "c"]
    with pytest.raises(InputError, match="two kinds of nodes"):
        ct.Graph.from_pandas(frame)
    dates = pd.to_datetime(["2026-01-02", "2026-01-03"])
    calls = pd.DataFrame({"day": dates, "an": ["b", "c"], "von": ["a", "b"]})
    source, target = (ends.tolist() for ends in ct.Graph.from_pandas(calls, directed=True).edges())
    assert (source, target) == ([0, 1], [1, 2])


@pytest.mark.parametrize("name", ["age", "city", "user type", "rating id", "x", "", "42"])
def test_other_names_say_nothing(name: str) -> None:
    assert role_of(name) is None

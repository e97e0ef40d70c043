"""Every kind of table through every door: graphs, ratings, attributes, features, titles, lists."""

from __future__ import annotations

import ast
import gzip
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import coterie as ct
from coterie.anonymize.private.node_list import declared_ids
from coterie.app.web.tasks.reading import sample_of
from coterie.base.errors import AssumptionWarning
from coterie.cli.recommend.item_lists import read_ids
from coterie.data.formats import FORMATS
from coterie.data.ids import IdLookup
from coterie.data.titles import read_titles
from coterie.recommend.item_table import ItemTable

NODES = ["ann", "bö", "cy"]
GRAPH = ct.Graph.from_edges(["ann", "bö"], ["bö", "cy"])

# Each door: the header of its table, its rows, and what it must find there.
EDGES = [["ann", "bö", 1.5], ["bö", "cy", 2.5]]
RATINGS = [["ann", "x", 1.5], ["bö", "x", 2.5], ["cy", "y", 0.5]]
ABOUT = [["ann", "red", 1.5], ["bö", "blue", 2.5], ["cy", "red", 0.5]]
PEOPLE = [["ann", "1"], ["bö", "2"], ["cy", "3"]]


def graph_door(path: Path) -> Any:
    graph = ct.read_graph(path, weighted=True)
    return graph.ids.tolist(), graph.edge_weights().tolist()


def ratings_door(path: Path) -> Any:
    ratings = ct.read_ratings(path)
    return ratings.user_ids.tolist(), ratings.values.tolist()


def attributes_door(path: Path) -> Any:
    table = ct.read_attributes(path, GRAPH)
    return [column.values.tolist() for column in table.columns]


def features_door(path: Path) -> Any:
    table = ct.read_features(path)
    return table.ids.tolist(), [column.values.tolist() for column in table.columns]


def titles_door(path: Path) -> Any:
    return dict(read_titles(path))


def node_list_door(path: Path) -> Any:
    return declared_ids(path).tolist()


def item_list_door(path: Path) -> Any:
    return read_ids(path, IdLookup(np.array(NODES, object)))


def conditions_door(path: Path) -> Any:
    return ItemTable.of(path).with_all(["size>=1"])


def preview_door(path: Path) -> Any:
    sample = sample_of(path)
    assert sample is not None
    return [row[0] for row in sample.rows]


Door = tuple[Callable[[Path], Any], list[str], list[list[Any]], Any]
DOORS: list[Door] = [
    (graph_door, ["source", "target", "weight"], EDGES, (NODES, [1.5, 2.5])),
    (ratings_door, ["user", "item", "rating"], RATINGS, (NODES, [0.5, 1.5, 2.5])),
    (attributes_door, ["node", "team", "size"], ABOUT, [["red", "blue", "red"], [1.5, 2.5, 0.5]]),
    (features_door, ["id", "team", "size"], ABOUT,
     (NODES, [["red", "blue", "red"], [1.5, 2.5, 0.5]])),
    (titles_door, ["id", "title", "size"], ABOUT, {"ann": "red", "bö": "blue", "cy": "red"}),
    (node_list_door, ["node", "badge"], PEOPLE, NODES),
    (item_list_door, ["item", "badge"], PEOPLE, NODES),
    (conditions_door, ["item", "team", "size"], ABOUT, ["ann", "bö"]),
    (preview_door, ["source", "target", "weight"], EDGES, ["ann", "bö"]),
]  # fmt: skip
NO_HEADER = [door for door in DOORS if door[0] not in (conditions_door, node_list_door)]
NO_HEADER = [door for door in NO_HEADER if door[0] is not item_list_door]


def as_text(rows: list[list[Any]], separator: str, comma: bool = False) -> str:
    lines = [separator.join(map(str, row)) for row in rows]
    text = "\n".join(lines) + "\n"
    return text.replace(".", ",") if comma else text


def write(folder: Path, kind: str, header: list[str], rows: list[list[Any]]) -> Path:
    """Write a table as people have it."""
    path = folder / "table.csv"
    table = [header, *rows]
    if kind == "excel":
        path = folder / "table.xlsx"
        pd.DataFrame(rows, columns=header).to_excel(path, index=False)
    elif kind == "parquet":
        path = folder / "table.parquet"
        pd.DataFrame(rows, columns=header).to_parquet(path)
    elif kind == "json":
        path = folder / "table.json"
        path.write_text(json.dumps([dict(zip(header, row, strict=True)) for row in rows]))
    elif kind == "gz":
        path = folder / "table.csv.gz"
        path.write_bytes(gzip.compress(as_text(table, ",").encode()))
    elif kind == "comments":
        path.write_text("# made by hand\n% twice\n\n" + as_text(table, ",") + "# end\n")
    elif kind == "decimal commas":
        path.write_text(as_text(table, ";", comma=True))
    elif kind == "byte order mark":
        path.write_bytes(b"\xef\xbb\xbf" + as_text(table, ",").encode())
    elif kind == "latin-1":
        path.write_bytes(as_text(table, ",").encode("latin-1"))
    elif kind == "old line ends":
        path.write_bytes(as_text(table, "\t").replace("\n", "\r\n").encode())
    elif kind == "quotes":
        path.write_text(as_text([[f'"{cell}"' for cell in row] for row in table], ","))
    elif kind == "no header":
        path.write_text(as_text(rows, ","))
    else:
        path.write_text(as_text(table, kind))
    return path


KINDS = [
    ",", ";", "\t", "|", "::", "excel", "parquet", "json", "gz", "comments", "decimal commas",
    "byte order mark", "latin-1", "old line ends", "quotes",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("door", DOORS, ids=[door[0].__name__ for door in DOORS])
def test_every_door_reads_every_kind_of_table(tmp_path: Path, door: Door, kind: str) -> None:
    read, header, rows, expected = door
    path = write(tmp_path, kind, header, rows)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", AssumptionWarning)
        assert read(path) == expected
    latin = [str(note.message) for note in said if "Latin-1" in str(note.message)]
    if kind == "latin-1" and read is not preview_door:
        assert latin and path.name in latin[0]
    else:
        assert not latin


@pytest.mark.parametrize("door", NO_HEADER, ids=[door[0].__name__ for door in NO_HEADER])
def test_a_header_may_be_missing(tmp_path: Path, door: Door) -> None:
    read, header, rows, expected = door
    assert read(write(tmp_path, "no header", header, rows)) == expected


@pytest.mark.parametrize("read", [node_list_door, item_list_door])
def test_a_list_has_one_id_per_line(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    path = tmp_path / "list.txt"
    path.write_text('# people\n"Lee, Ann"\nLee, Bo\n\nCy Ng\n')
    assert read(path) == ["Lee, Ann", "Lee, Bo", "Cy Ng"]


@pytest.mark.parametrize("door", DOORS[:7], ids=[door[0].__name__ for door in DOORS[:7]])
def test_damaged_tables_name_the_file(tmp_path: Path, door: Door) -> None:
    for number, content in enumerate((b"\x81\x8d,\x8f\n", b"a,b\0c\n", b"PK\x03\x04x", b"%PDF")):
        path = tmp_path / f"damaged-{number}.csv"
        path.write_bytes(content)
        with pytest.raises(ct.InputError, match=path.name):
            door[0](path)


def test_options_that_do_not_exist_are_refused_with_a_suggestion() -> None:
    with pytest.raises(TypeError, match="has no argument 'seperator'; did you mean 'separator'"):
        ct.read_graph("x.csv", seperator=",")
    with pytest.raises(TypeError, match="has no argument 'likes'"):
        ct.read_graph("x.csv", likes=True)


def test_only_the_text_reader_splits_tables() -> None:
    """`csv` reads in two modules of `data`; other modules of the package only write with it."""
    package = Path(ct.__file__).parent
    for path in package.rglob("*.py"):
        if path.name in ("text_reader.py", "text_layout.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_reader = isinstance(node, ast.Attribute) and node.attr in ("reader", "DictReader")
            if is_reader and isinstance(node.value, ast.Name) and node.value.id == "csv":
                own_output = path.name in ("pages.py", "release_folder.py")
                assert own_output, f"{path} reads a table by itself"


def test_formats_are_declared_once() -> None:
    names = [name for known in FORMATS for name in (known.name, *known.aliases)]
    suffixes = [suffix for known in FORMATS for suffix in known.suffixes]
    assert len(set(names)) == len(names) and len(set(suffixes)) == len(suffixes)


@pytest.mark.parametrize("name", ["Attributes", "FeatureTable"])
def test_old_names_say_the_new_one(name: str) -> None:
    with pytest.raises(AttributeError, match="NodeTable"):
        getattr(ct, name)

"""The table that says who is who is read strictly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from coterie.anonymize.output.release_folder import (
    IdentityMap,
    read_identity_map,
    write_identity_map,
)
from coterie.base.errors import InputError
from coterie.data import Graph


@pytest.fixture
def original() -> Graph:
    return Graph.from_edges([0, 1], [1, 2], ids=np.array(["a", "b", "c"], object))


def test_what_is_written_is_read_back(original: Graph, tmp_path: Path) -> None:
    file = tmp_path / "who.csv"
    identity = np.array([2, 0, 1], np.int32)
    write_identity_map(file, IdentityMap(original.ids, identity))
    assert file.read_text() == "published,original\n0,b\n1,c\n2,a\n"
    published = Graph.from_edges([0, 1], [1, 2])
    assert np.array_equal(read_identity_map(file, original, published), identity)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("published,original\n0,a\n1,b\n", "1 nodes of the original are missing"),
        ("published,original\n0,a\n1,b\n9,c\n", "published node 9"),
        ("published,original\n0,a\n1,b\n1,c\n", "more than one row"),
        ("published,original\n0,a\n1,b\n2,z\n", "original node z"),
    ],
)
def test_an_identity_map_of_another_graph_is_rejected(
    original: Graph, tmp_path: Path, rows: str, message: str
) -> None:
    file = tmp_path / "who.csv"
    file.write_text(rows)
    with pytest.raises(InputError, match=message):
        read_identity_map(file, original, Graph.from_edges([0, 1], [1, 2]))

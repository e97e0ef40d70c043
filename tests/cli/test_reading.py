"""Reading the input of a command: remarks on stderr, parsing, errors."""

from __future__ import annotations

import pytest

from coterie.base.errors import InputError
from coterie.cli.reading import load_graph, load_ratings, parse_blocks, parse_groups
from coterie.cli.session import Session, remarks


def test_remarks_are_printed_once_and_raise_no_warning(tmp_path, capsys, recwarn):
    path = tmp_path / "g.txt"
    path.write_text("1 2 -1\n2 1 1\n2 2 0\n")
    session = Session()
    with remarks(session):
        for _ in range(2):
            graph = load_graph(session, str(path))
    captured = capsys.readouterr()
    assert graph.n_edges == 1
    assert captured.out == ""
    assert captured.err.count("1 self-loop dropped, 1 pair given in both directions merged") == 1
    assert captured.err.count("column 3 was not read") == 1
    assert not recwarn.list


def test_quiet_prints_no_remarks(tmp_path, capsys):
    path = tmp_path / "r.csv"
    path.write_text("a,x,1\na,x,2\n")
    session = Session(quiet=True)
    with remarks(session):
        ratings = load_ratings(session, str(path))
    assert ratings.duplicates == 1
    assert capsys.readouterr().err == ""


def test_missing_files_are_input_errors(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_graph(Session(), str(tmp_path / "none.txt"))


def test_counts_are_parsed():
    assert parse_blocks("auto") == "auto"
    assert parse_blocks("7") == parse_groups("7") == 7
    assert parse_blocks("7,8") == parse_groups("7,8") == (7, 8)


@pytest.mark.parametrize("text", ["0", "-1", "x", "", "1,2,3", "1,0", "1.5"])
def test_invalid_counts_are_rejected(text):
    for parse, option in ((parse_blocks, "--blocks"), (parse_groups, "--groups")):
        with pytest.raises(InputError, match=option):
            parse(text)

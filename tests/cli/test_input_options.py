"""What the command line says about its input: once, and on stderr."""

from __future__ import annotations

import pytest

from coterie.base.errors import InputError
from coterie.cli.input_options import load_graph, load_ratings
from coterie.cli.session import Session, remarks


def test_remarks_are_said_once_and_not_warned(tmp_path, capsys, recwarn):
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


def test_quiet_says_nothing(tmp_path, capsys):
    path = tmp_path / "r.csv"
    path.write_text("a,x,1\na,x,2\n")
    session = Session(quiet=True)
    with remarks(session):
        ratings = load_ratings(session, str(path))
    assert ratings.duplicates == 1
    assert capsys.readouterr().err == ""


def test_errors_pass_through(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_graph(Session(), str(tmp_path / "none.txt"))

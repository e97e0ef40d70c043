"""`coterie cluster --start`, `--frozen` and `--never-together`."""

from __future__ import annotations

from pathlib import Path

from tests.support.command_line import coterie, result_of


def blocks_of(path: Path) -> dict[str, str]:
    return dict(line.split(",")[:2] for line in path.read_text().split()[1:])


def test_a_second_clustering_begins_with_the_first(tmp_path: Path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    words = ("cluster", "karate", "--blocks", "auto")
    result_of(*words, "--out", first)
    first.write_text(first.read_text().replace(",0\n", ",north\n").replace(",1\n", ",south\n"))
    found = result_of(*words, "--start", first, "--out", second)
    assert blocks_of(second) == blocks_of(first)
    assert found["changed"]["moved"] == []
    printed = coterie(*words, "--start", first).stdout
    assert "No node changes its block." in printed


def test_constraints_from_files(tmp_path: Path) -> None:
    people, frozen, out = (tmp_path / name for name in ("people.csv", "frozen.csv", "out.csv"))
    people.write_text("node,team\n" + "".join(f"{v},{'ab'[v % 2]}\n" for v in range(34)))
    frozen.write_text("node,block\n0,alpha\n2,beta\n")
    words = ("cluster", "karate", "--blocks", "auto", "--frozen", frozen)
    result_of(*words, "--never-together", "team", "--attributes", people, "--out", out)
    blocks = blocks_of(out)
    assert (blocks["0"], blocks["2"]) == ("alpha", "beta")
    for block in set(blocks.values()):
        assert len({int(v) % 2 for v, own in blocks.items() if own == block}) == 1


def test_bad_input_is_refused(tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("node,block\nx,1\ny,2\n")
    for words, problem in (
        (("--blocks", "auto", "--start", labels), "no node of"),
        (("--blocks", "2", "--start", labels), "--start is for --blocks auto or nested"),
        (("--blocks", "auto", "--never-together", "team"), "--attributes"),
    ):
        answer = coterie("cluster", "karate", *words)
        assert answer.returncode == 2
        assert problem in answer.stderr

"""`anonymize`, `compare` and `attack`: files, JSON, printed text and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from tests.support.command_line import COMMAND, result_of
from tests.support.command_line import coterie as call
from tests.support.system_randomness import process_environment

_MEASURES = {
    "nodes",
    "edges",
    "average_path_length",
    "diameter",
    "global_clustering",
    "average_local_clustering",
    "degree_mean",
    "degree_max",
    "assortativity",
    "isolates",
    "largest_component",
}


def coterie(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return call(*arguments, folder=folder, environment={"COTERIE_STATE": str(folder / "state")})


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder with one release, and the JSON that was printed."""
    folder = tmp_path_factory.mktemp("cli")
    network = nx.planted_partition_graph(5, 60, 0.2, 0.01, seed=2)
    lines = (f"n{u} n{v}" for u, v in network.edges)
    (folder / "g.txt").write_text("\n".join(lines) + "\n")
    result = result_of(
        "anonymize", "g.txt", "--blocks", 5, "--out", "out", "--research-truth", "who.csv",
        folder=folder, environment={"COTERIE_STATE": str(folder / "state")},
    )  # fmt: skip
    return folder, result


def test_anonymize_writes_a_release(written: tuple[Path, dict[str, Any]]) -> None:
    folder, result = written
    assert set(result) == {
        "format_version", "refused", "reasons", "suggestions", "utility", "risk", "limits",
        "weaker", "levels", "dataset", "private", "seconds", "fit_for",
    }  # fmt: skip
    assert result["refused"] is False and result["reasons"] == []
    assert sorted(p.name for p in (folder / "out").iterdir()) == ["graph.csv", "report.html"]
    assert result["dataset"] == "g"
    assert Path(result["private"]) == (folder / "state" / "private" / "g" / "out").resolve()
    assert (Path(result["private"]) / "audit.json").exists()


def test_compare_and_attack_read_what_anonymize_wrote(
    written: tuple[Path, dict[str, Any]],
) -> None:
    folder, _ = written
    figures = result_of("compare", "g.txt", "out/graph.csv", folder=folder)
    assert set(figures) == {"format_version", "original", "published", "degree_ks", "seconds"}
    assert set(figures["original"]) >= _MEASURES <= set(figures["published"])
    assert 0 <= figures["degree_ks"] < 0.1
    found = result_of("attack", "g.txt", "out/graph.csv", "--truth", "who.csv", folder=folder)
    assert set(found["controls"]) == {"naive", "deleted_10"}
    for graph in (found, *found["controls"].values()):
        assert {"seeds", "correct", "wrong", "precision"} <= set(graph["seeded"][0])
        assert "neighbour_degrees_known" in graph
    assert found["controls"]["naive"]["seeded"][-1]["correct"] > 200
    assert found["seeded"][-1]["correct"] < 10


def test_printed_tables_use_words_and_percentages(written: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = written
    compared = coterie("compare", "g.txt", "out/graph.csv", folder=folder).stdout
    assert "nodes in the largest component" in compared and "100.00 %" in compared
    attacked = coterie(
        "attack", "g.txt", "out/graph.csv", "--truth", "who.csv", folder=folder
    ).stdout
    assert "50 people known, a guess for everyone" in attacked
    assert "controls" in attacked and "by luck" in attacked


@pytest.mark.parametrize("option", ["--epsilon", "--nodes", "--cap"])
def test_private_releases_are_made_by_sketch_and_draw(
    written: tuple[Path, dict[str, Any]], option: str
) -> None:
    folder, _ = written
    done = coterie("anonymize", "g.txt", option, "1", "--out", "none", folder=folder)
    assert done.returncode == 2
    assert "coterie sketch" in done.stderr and "coterie draw" in done.stderr
    assert not (folder / "none").exists()


def test_a_second_release_needs_another_folder(written: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = written
    done = coterie("anonymize", "g.txt", "--blocks", 5, "--out", "out", folder=folder)
    assert done.returncode == 2
    assert "already contains a release" in done.stderr and "--overwrite" in done.stderr


def test_a_refusal_exits_with_3_and_writes_nothing(written: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = written
    done = coterie("anonymize", "g.txt", "--blocks", 40, "--out", "no", "--json", folder=folder)
    assert done.returncode == 3
    result = json.loads(done.stdout)
    assert result["refused"] and "40 blocks of at least 10" in result["reasons"][0]
    assert result["suggestions"][0].startswith("--blocks ")
    assert "would pass (tried)" in done.stderr
    assert not (folder / "no").exists()
    assert not (folder / "state" / "private" / "g" / "no").exists()


def test_an_exceeded_limit_is_printed_as_exceeded(written: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = written
    (folder / "strict.toml").write_text("[limits]\nmin_class_size = 200\n")
    done = coterie(
        "anonymize", "g.txt", "--blocks", 5, "--out", "forced", "--policy", "strict.toml",
        "--force", "--no-rewire", folder=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "FORCED: the privacy policy refuses this release" in done.stderr
    (row,) = (line for line in done.stdout.splitlines() if "people in the smallest class" in line)
    assert "EXCEEDED" in row and "≥ 200" in row
    assert "PASSED" not in done.stdout
    audit = json.loads((folder / "state" / "private" / "g" / "forced" / "audit.json").read_text())
    assert audit["forced"] is True


def test_help_does_not_promise_the_same_graph_for_the_same_seed() -> None:
    help_text = " ".join(call("anonymize", "--help").stdout.split())
    assert "It does not determine the new graph" in help_text
    assert "The same seed gives the same result" not in help_text


def test_the_identity_map_cannot_be_written_into_the_release(
    written: tuple[Path, dict[str, Any]],
) -> None:
    folder, _ = written
    done = coterie(
        "anonymize", "g.txt", "--blocks", 5, "--out", "new", "--research-truth", "new/who.csv",
        folder=folder,
    )  # fmt: skip
    assert done.returncode == 2 and "folder to publish" in done.stderr
    assert not (folder / "new").exists()


def test_quiet_does_not_hide_a_dropped_column_or_a_second_dataset_name(
    written: tuple[Path, dict[str, Any]],
) -> None:
    folder, _ = written
    rows = (folder / "g.txt").read_text().splitlines()
    (folder / "w.txt").write_text("".join(f"{row} 5\n" for row in rows))
    done = coterie(
        "anonymize", "w.txt", "--blocks", 5, "--no-rewire", "--out", "weighted", "--quiet",
        folder=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "column 3 was not read" in done.stderr
    assert "published before under the dataset name 'g'" in done.stderr


def test_the_dataset_and_the_private_folder_are_printed(
    written: tuple[Path, dict[str, Any]],
) -> None:
    folder, _ = written
    done = coterie(
        "anonymize", "g.txt", "--blocks", 5, "--no-rewire", "--out", "site/release",
        folder=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "dataset: g (from the file name; --dataset sets another name)" in done.stderr
    private = (folder / "state" / "private" / "g" / "release").resolve()
    assert str(private) in "".join(done.stdout.split())
    assert {p.name for p in (folder / "site").rglob("*")} == {"release", "graph.csv", "report.html"}


def test_of_four_commands_at_once_only_the_allowed_number_releases(
    written: tuple[Path, dict[str, Any]],
) -> None:
    folder, _ = written
    (folder / "once.toml").write_text("[limits]\nreleases = 1\n")
    unnamed = coterie(
        "anonymize", "g.txt", "--policy", "once.toml", "--out", "race-0", folder=folder
    )
    assert unnamed.returncode == 2 and "set --dataset" in unnamed.stderr
    running = [
        subprocess.Popen(
            [
                *COMMAND, "anonymize", "g.txt", "--blocks", "5", "--no-rewire", "--quiet",
                "--policy", "once.toml", "--dataset", "race", "--out", f"race-{i}",
            ],
            cwd=folder,
            env={**os.environ, **process_environment(), "COTERIE_STATE": str(folder / "state")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(4)
    ]  # fmt: skip
    answers = [process.communicate()[1] for process in running]
    assert sorted(process.returncode for process in running) == [0, 3, 3, 3], answers
    assert sum((folder / f"race-{i}").exists() for i in range(4)) == 1


def test_invalid_policy_exits_with_2(written: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = written
    (folder / "p.toml").write_text("[limits]\nspeed = 3\n")
    done = coterie(
        "anonymize", "g.txt", "--blocks", 5, "--out", "new", "--policy", "p.toml", folder=folder
    )
    assert done.returncode == 2 and "speed" in done.stderr and "p.toml" in done.stderr


def test_attack_with_the_identity_map_of_another_graph_exits_with_2(
    written: tuple[Path, dict[str, Any]],
) -> None:
    folder, _ = written
    (folder / "bad.csv").write_text("published,original\n0,nobody\n")
    done = coterie("attack", "g.txt", "out/graph.csv", "--truth", "bad.csv", folder=folder)
    assert done.returncode == 2 and "nobody" in done.stderr


def test_a_policy_weaker_than_the_default_is_named_in_the_verdict(
    written: tuple[Path, dict[str, Any]],
) -> None:
    folder, _ = written
    (folder / "weak.toml").write_text("[limits]\nmin_class_size = 1\nattack_margin = 1\n")
    done = coterie(
        "anonymize", "g.txt", "--blocks", 5, "--out", "weak", "--policy", "weak.toml",
        folder=folder,
    )  # fmt: skip
    assert done.returncode == 0
    assert "released under a weaker policy" in done.stderr
    page = (folder / "weak" / "report.html").read_text()
    for text in (done.stderr, page):
        assert "smallest class: 1, which is no limit (default 10)" in " ".join(text.split())
    assert "within every limit" not in page + done.stdout + done.stderr


def _friends(folder: Path, both_ways: int = 0) -> None:
    edges = list(nx.planted_partition_graph(4, 30, 0.3, 0.02, seed=1).edges)
    edges += [(v, u) for u, v in edges[:both_ways]]
    rows = "\n".join(f"p{u},p{v}" for u, v in edges)
    (folder / "friends.csv").write_text(f"source,target\n{rows}\n")


def test_a_network_that_may_be_directed_is_not_released_without_a_decision(tmp_path: Path) -> None:
    _friends(tmp_path, both_ways=20)
    done = coterie("anonymize", "friends.csv", "--out", "r", folder=tmp_path)
    assert done.returncode == 2 and "20 of" in done.stderr
    assert "set --objective directed, or --objective simple" in done.stderr
    assert not (tmp_path / "state").exists()  # nothing is counted


def test_a_column_that_may_be_sensitive_is_not_released_without_a_decision(tmp_path: Path) -> None:
    _friends(tmp_path)
    rows = "\n".join(f"p{i},{'abc'[i % 3]}" for i in range(120))
    (tmp_path / "people.csv").write_text(f"node,Diagnosis\n{rows}\n")
    command = ("anonymize", "friends.csv", "--out", "r", "--attributes", "people.csv")
    done = coterie(*command, folder=tmp_path)
    assert done.returncode == 2 and "the column 'Diagnosis' may be sensitive" in done.stderr
    assert not (tmp_path / "state").exists()
    decided = coterie(*command, "--not-sensitive", "Diagnosis", "--blocks", 2, folder=tmp_path)
    assert decided.returncode in (0, 3)


def test_earlier_releases_are_announced_and_a_killed_run_can_be_repeated(tmp_path: Path) -> None:
    _friends(tmp_path)
    command = ("anonymize", "friends.csv", "--dataset", "five", "--blocks", 2, "--private", "keep")
    (tmp_path / "keep").mkdir()  # as a run leaves it that was killed while it wrote
    (tmp_path / "keep" / ".DO-NOT-PUBLISH.txt.1234.part").write_text("This fol")
    first = coterie(*command, "--out", "a", folder=tmp_path)
    assert first.returncode == 0 and "published from" not in first.stderr
    second = coterie(*command, "--out", "b", folder=tmp_path)
    assert second.returncode == 0
    assert "published from 'five' before: 1 graph; each further release" in second.stderr

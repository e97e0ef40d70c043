"""`coterie sketch`: files, exit codes, and what a refused run costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from coterie.anonymize.ledger import Ledger
from coterie.cli.main import app, register_commands

EDGES = "0 1\n0 2\n1 2\n3 4\n4 5\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with an edge list and a ledger of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    (tmp_path / "g.txt").write_text(EDGES, encoding="utf-8")
    return tmp_path


class Done(NamedTuple):
    """What a command gave."""

    returncode: int
    stdout: str
    stderr: str


def run(*arguments: object) -> Done:
    """Run a command in this process, in the current folder."""
    register_commands()
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return Done(result.exit_code, result.stdout, result.stderr)


def sketch(*more: object, **options: object) -> Done:
    """Run the command on the edge list."""
    given = {"dataset": "staff", "epsilon": "1", "nodes": "8", "out": "g.sketch", **options}
    flags = [part for name, value in given.items() for part in (f"--{name}", value)]
    return run("sketch", "g.txt", *flags, *more)


def test_sketch_then_show_then_the_cap(folder: Path) -> None:
    done = sketch("--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert {"epsilon": 1.0, "spent": 1.0, "cap": 4.0, "nodes": 8}.items() <= made.items()

    shown = run("sketch", "--show", "g.sketch")
    assert shown.returncode == 0, shown.stderr
    assert "edges between blocks" in shown.stdout
    assert "epsilon 1, 8 nodes" in shown.stdout

    again = sketch()
    assert again.returncode == 2
    assert "exists already" in again.stderr
    refused = sketch(out="h.sketch", epsilon="3.5")
    assert refused.returncode == 3
    assert "cap of 4" in refused.stderr
    assert not (folder / "h.sketch").exists()


def test_intervals_are_printed_and_in_the_json(folder: Path) -> None:
    made = json.loads(sketch("--json", "--for", "degrees").stdout)
    found = made["figures"]["edges"]
    assert set(found) == {"value", "low", "high"} and found["low"] <= found["high"]
    shown = run("sketch", "--show", "g.sketch")
    assert "95 % interval" in shown.stdout and "mean clustering" in shown.stdout
    assert json.loads(run("sketch", "--show", "g.sketch", "--json").stdout)["figures"]
    unknown = sketch("--for", "fame", out="h.sketch")
    assert unknown.returncode == 2


def test_a_plan_needs_public_numbers_and_spends_nothing(folder: Path) -> None:
    plan = ("sketch", "--plan", "--nodes", "5000", "--edges", "40000", "--epsilon", "1")
    done = run(*plan, "--plot", "plan.svg", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    # the figures of an independent reviewer, from the ladder's law
    assert [round(found["figures"][f"triangles_{w}"]["error"]) for w in (10, 100, 300)] == [
        4872,
        7639,
        15369,
    ]
    assert found["figures"]["edges"]["half_width"] == 150
    assert (folder / "plan.svg").read_text(encoding="utf-8").startswith("<")
    assert not (folder / "state").exists()
    assert "error at 0.25" in run(*plan).stdout
    for wrong, message in (
        (("--plan", "--edges", "3"), "a plan needs --nodes"),
        (("--plan", "--nodes", "3", "--edges", "9"), "cannot have 9 edges"),
        (("--plan", "g.txt", "--nodes", "3", "--edges", "1"), "does not take a GRAPH"),
        (("g.txt", "--edges", "3"), "belong to --plan"),
    ):
        stopped = run("sketch", *wrong)
        assert stopped.returncode == 2 and message in stopped.stderr


def test_a_sketch_after_a_measured_release_says_what_it_means(folder: Path) -> None:
    ledger = Ledger(folder / "state")
    ledger.begin("staff", kind="release", graphs=2, details={})
    stopped = sketch()
    assert stopped.returncode == 3
    assert "2 graphs were published" in stopped.stderr and "--after-release" in stopped.stderr
    assert not (folder / "g.sketch").exists() and ledger.spent("staff") == 0
    done = sketch("--after-release")
    assert done.returncode == 0, done.stderr
    assert "together with them, the sketch has none either" in done.stderr


def test_a_bound_on_the_contacts_is_stated_per_edge_and_per_person(folder: Path) -> None:
    done = sketch("--max-contacts", 3, "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert (made["epsilon"], made["max_contacts"], made["epsilon_per_person"]) == (1, 3, 3)
    assert made["spent"] == 1
    shown = " ".join(run("sketch", "--show", "g.sketch").stdout.split())
    assert "At most 3 edges per node were counted" in shown
    assert "3 for the counted edges of one node together" in shown
    wrong = sketch("--max-contacts", 7, out="h.sketch")
    assert wrong.returncode == 2 and "from 1 to 6" in wrong.stderr
    errors = [
        json.loads(run("sketch", "--plan", "--nodes", 99, "--edges", 400, *more, "--json").stdout)
        for more in ((), ("--max-contacts", 9))
    ]
    plain, bound = (each["figures"] for each in errors)
    assert bound["edges"] == plain["edges"]
    assert bound["block_edges"]["error"] == pytest.approx(3 * plain["block_edges"]["error"], 0.01)


def test_the_cap_on_a_run_does_not_raise_the_stored_one(folder: Path) -> None:
    run("ledger", "init", "staff", "--cap", "2", "--owner", "HR")
    refused = sketch(cap="999")
    assert refused.returncode == 3 and "a run can only lower it" in refused.stderr
    made = sketch("--json")
    assert json.loads(made.stdout)["cap"] == 2


def test_a_small_network_is_said_to_have_much_noise(folder: Path) -> None:
    # The noise of the number of edges is 50 on average: 1,000 or more have probability 2e-9.
    assert "The noise is large for this network" in sketch().stdout
    assert "The noise is large" in run("sketch", "--show", "g.sketch").stdout
    ring = "".join(f"{v} {(v + 1) % 4000}\n" for v in range(4000))
    (folder / "g.txt").write_text(ring, encoding="utf-8")
    large = sketch(nodes="4000", out="ring.sketch", dataset="ring")
    assert large.returncode == 0 and "The noise is large" not in large.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": "0"}, "above 0"),
        ({"epsilon": "0.000001"}, "smallest value is 0.0001"),
        ({"epsilon": "20"}, "--allow-large-epsilon"),
        ({"nodes": "4"}, "not in the node list"),
        ({"nodes": "ids.txt"}, "ids.txt: no such file"),
        ({"out": "missing/g.sketch"}, "there is no folder"),
        ({"out": "g.txt", "nodes": "8"}, "also an input"),
        ({"dataset": "a/b"}, "not a possible name"),
    ],
)
def test_bad_input_is_exit_code_2_and_costs_nothing(folder: Path, options, message: str) -> None:
    done = sketch(**options)
    assert done.returncode == 2
    assert message in done.stderr
    assert not list((folder / "state").glob("ledger/*.jsonl"))
    assert (folder / "g.txt").read_text(encoding="utf-8") == EDGES


def test_nothing_printed_says_how_many_edges_there_are(folder: Path) -> None:
    """The exact number is private; a log with it next to the noisy one could be published."""
    nodes = 300
    edges = [(i, j) for i in range(nodes) for j in (i + 1, i + 7) if j < nodes]
    assert len(edges) == 592
    (folder / "g.txt").write_text("".join(f"{i} {j}\n" for i, j in edges), encoding="utf-8")
    reading = sketch("--json", nodes=nodes)
    assert reading.returncode == 0, reading.stderr
    assert "→ graph\n" in reading.stderr
    assert "592" not in reading.stderr


def test_nothing_printed_says_how_many_lines_were_dropped(folder: Path) -> None:
    (folder / "g.txt").write_text("0 1\n1 0\n2 2\n1 2\n1 2\n3 3\n", encoding="utf-8")
    done = sketch()
    assert done.returncode == 0
    assert "dropped" not in done.stderr and "merged" not in done.stderr


def test_missing_options_are_named(folder: Path) -> None:
    done = run("sketch", "g.txt", "--dataset", "x", "--epsilon", "1")
    assert done.returncode == 2
    assert "--nodes is required" in done.stderr
    assert run("sketch").returncode == 2


DIRECTED = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<graph edgedefault="directed"><node id="0"/><node id="1"/><edge source="0" target="1"/></graph>
</graphml>"""


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("d.graphml", DIRECTED, "directed"),
        ("w.graphml", DIRECTED.replace('="directed"', '="undirected"'), ""),
        ("w.csv", "source,target,weight\n0,1,2.5\n1,2,1\n", "weights ('weight')"),
        ("w.txt", "0 1 2.5\n1 2 1\n", "the file has a third column without a name"),
        ("c.csv", "source,target,colour\n0,1,red\n1,2,blue\n", ""),
    ],
)
def test_a_file_with_directions_or_weights_costs_nothing(
    folder: Path, name: str, content: str, message: str
) -> None:
    (folder / name).write_text(content, encoding="utf-8")
    options = ("--dataset", "x", "--epsilon", "1", "--nodes", "8")
    done = run("sketch", name, *options, "--out", "x.sketch")
    assert done.returncode == (2 if message else 0), done.stderr
    assert message in done.stderr
    if message:
        assert f"{name}: the " in done.stderr
        assert not (folder / "x.sketch").exists()
        assert not (folder / "state").exists()

"""Files of `cluster` by suffix, networks with two kinds of nodes, and sheets of a workbook."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import networkx as nx
import openpyxl
import pytest
from tests.support.command_line import coterie, result_of

import coterie as ct


@pytest.mark.parametrize("suffix", [".graphml", ".gexf", ".json"])
def test_a_graph_is_written_with_its_blocks(tmp_path: Path, suffix: str) -> None:
    out, labels = tmp_path / f"x{suffix}", tmp_path / "labels.csv"
    words = ("cluster", "karate", "--blocks", "2", "--samples", "2")
    result_of(*words, "--out", labels)
    result_of(*words, "--out", out)
    graph = ct.read_graph(out)
    assert (graph.n_nodes, graph.n_edges) == (34, 78)
    table = ct.read_attributes(out, graph)
    assert table.names == ["block", "confidence"]
    rows = [line.split(",") for line in labels.read_text().split()[1:]]
    found = dict(zip(graph.ids.tolist(), table["block"].values.tolist(), strict=True))
    assert found == {int(node): int(block) for node, block, _ in rows}
    if suffix == ".gexf":
        nodes = nx.read_gexf(out).nodes(data=True)
        assert {int(name): data["block"] for name, data in nodes} == found


def test_levels_of_a_hierarchy_are_attributes_too(tmp_path: Path) -> None:
    from coterie.data.demo_data import social_network

    ct.write_graph(social_network()[0], tmp_path / "people.csv")
    out = tmp_path / "x.graphml"
    levels = result_of("cluster", tmp_path / "people.csv", "--blocks", "nested", "--out", out)[
        "levels"
    ]
    data = nx.read_graphml(out).nodes["Ada Abara"] if "Ada Abara" in nx.read_graphml(out) else {}
    keys = set(next(iter(nx.read_graphml(out).nodes(data=True)))[1])
    assert keys == {"block", *(f"level_{n}" for n in range(1, len(levels)))}
    assert set(data) <= keys


@pytest.mark.parametrize("option", ["--report", "--plot"])
def test_pdf_files_are_printed_by_a_browser(tmp_path: Path, option: str) -> None:
    if shutil.which("chromium") is None:
        pytest.skip("no browser: apt-get install chromium")
    result_of("cluster", "karate", "--blocks", "2", option, tmp_path / "x.pdf")
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF-")


def test_without_a_browser_a_pdf_is_refused_before_the_work(tmp_path: Path) -> None:
    done = coterie(
        "cluster", "karate", "--blocks", "2", "--report", tmp_path / "x.pdf",
        environment={"PATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 2 and "printed by a browser, and none was found" in done.stderr
    assert "nodes" not in done.stdout


@pytest.fixture
def women(tmp_path: Path) -> Path:
    random.seed(1)
    pairs = [
        f"w{woman},e{event}"
        for woman in range(18)
        for event in range(14)
        if random.random() < (0.7 if (woman < 9) == (event < 7) else 0.05)
    ]
    path = tmp_path / "women.csv"
    path.write_text("\n".join(["woman,event", *pairs]) + "\n")
    return path


@pytest.mark.parametrize("blocks", ["2,2", "auto"])
def test_two_kinds_of_nodes_get_their_own_blocks(women: Path, blocks: str, tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    words = ("cluster", women, "--two-mode", "--header", "--blocks", blocks, "--out", out)
    found = result_of(*words)
    assert found["nodes"] == [18, 14] and found["blocks"] == [2, 2]
    block = {}
    for line in out.read_text().split()[1:]:
        side, node, label = line.split(",")
        assert side == {"w": "woman", "e": "event"}[node[0]]
        block[node] = label
    for kind, count, half in (("w", 18, 9), ("e", 14, 7)):
        halves = [{block[f"{kind}{n}"] for n in part} for part in (range(half), range(half, count))]
        assert len(halves[0]) == len(halves[1]) == 1 and halves[0] != halves[1]
    likes = result_of("cluster", women, "--objective", "likes", "--header", "--blocks", blocks)
    assert likes["entropy"] == found["entropy"]
    assert "woman" in coterie(*words).stdout


def test_a_two_mode_network_without_names_is_questioned(women: Path) -> None:
    said = coterie("cluster", women, "--two-mode", "--blocks", "2,2").stderr
    assert "'woman' and 'event' were read as two nodes, but appear nowhere else" in said


def test_a_sheet_is_chosen_by_its_name(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    calls = book.active
    calls.title = "Calls"
    for row in (["Date", "From person", "To person", "Hours"], ["2026-01-02", "Ann", "Bob", 3],
                ["2026-01-03", "Bob", "Cy", 2], ["2026-01-04", "Cy", "Dan", 2]):  # fmt: skip
        calls.append(row)
    book.create_sheet("Notes").append(["hello"])
    path = tmp_path / "calls.xlsx"
    book.save(path)
    done = coterie("cluster", path, "--blocks", "2", "--json")
    assert done.returncode == 2
    assert "set --sheet to one of them" in json.loads(done.stdout)["error"]["message"]
    assert result_of("cluster", path, "--blocks", "2", "--sheet", "Calls")["nodes"] == 4
    assert ct.read_graph(path, sheet="Calls").ids.tolist() == ["Ann", "Bob", "Cy", "Dan"]
    wrong = coterie("cluster", path, "--blocks", "2", "--sheet", "Call")
    assert "there is no sheet 'Call'" in wrong.stderr and "did you mean 'Calls'" in wrong.stderr


def test_two_far_cells_do_not_fill_the_memory(tmp_path: Path) -> None:
    import tracemalloc

    book = openpyxl.Workbook()
    for place, value in {"A1": "source", "B1": "target", "A2": 1, "B2": 2, "XFD1048576": 5}.items():
        book.active[place] = value
    book.save(tmp_path / "far.xlsx")
    tracemalloc.start()
    with pytest.raises(ct.InputError, match="the source is empty"):
        ct.read_graph(tmp_path / "far.xlsx")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


def test_a_command_ends_with_one_line_and_quiet_prints_nothing(tmp_path: Path) -> None:
    words = ("cluster", "karate", "--blocks", "2", "--out", tmp_path / "x.csv")
    last = coterie(*words).stdout.splitlines()[-1]
    assert last.startswith(
        "34 nodes, 78 edges, 2 blocks (simple model), entropy 179.39 nats; labels"
    )
    done = coterie(*words, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

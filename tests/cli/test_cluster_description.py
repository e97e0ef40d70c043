"""`coterie cluster` with description lengths: nested, communities, compared models, samples."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from tests.support.command_line import coterie, result_of

from coterie.data import generators


@pytest.fixture(scope="module")
def cliques(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty cliques of five nodes in a ring."""
    path = tmp_path_factory.mktemp("cliques") / "cliques.txt"
    with path.open("w") as file:
        for c in range(20):
            nodes = range(5 * c, 5 * c + 5)
            for u in nodes:
                file.writelines(f"n{u} n{v}\n" for v in nodes if u < v)
            file.write(f"n{5 * c} n{(5 * c + 6) % 100}\n")
    return path


def test_nested_blocks_have_levels_in_json_file_and_report(cliques: Path) -> None:
    out, report = cliques.with_suffix(".csv"), cliques.with_suffix(".html")
    result = result_of(
        "cluster", cliques, "--blocks", "nested", "--objective", "degree-corrected",
        "--out", out, "--report", report, "--compare-models",
    )  # fmt: skip
    assert result["levels"][0] == result["blocks"]
    assert result["levels"] == sorted(result["levels"], reverse=True)
    with out.open() as file:
        header = next(csv.reader(file))
    expected = [f"level_{i}" for i in range(1, len(result["levels"]))]
    assert header == ["node", "block", *expected]
    page = report.read_text()
    assert "The hierarchy" in page and "Which model describes the network best" in page
    rows = result["models"]
    assert rows[0]["difference"] == 0 and rows[0]["odds"] == 1
    lengths = {row["model"]: row["description_length"] for row in rows}
    assert lengths["communities"] < lengths["degree-corrected"]


def test_printed_options_fit_the_shortest_model(cliques: Path) -> None:
    command = ("cluster", cliques, "--blocks", "auto", "--compare-models")
    shortest = result_of(*command)["models"][0]
    printed = coterie(*command).stdout
    sentence = printed.splitlines()[-2]  # the summary is the last line
    options = sentence.split("To fit it: ")[1].split()
    assert options[:4] == ["--objective", "communities", "--communities", "uniform"]
    fitted = result_of("cluster", cliques, *options)
    assert fitted["description_length"] == shortest["description_length"]


def test_the_chosen_objective_is_printed(cliques: Path) -> None:
    printed = coterie("cluster", cliques, "--blocks", "auto", "--objective", "auto").stdout
    assert "communities (it has the shortest description)" in printed
    printed = coterie("cluster", cliques, "--blocks", "auto", "--objective", "communities").stdout
    assert "it has the shortest description" not in printed


def test_communities_with_confidence(cliques: Path) -> None:
    out, report = cliques.with_name("c.csv"), cliques.with_name("c.html")
    result = result_of(
        "cluster", cliques, "--blocks", "auto", "--objective", "communities",
        "--communities", "uniform", "--samples", 10, "--out", out, "--report", report,
    )  # fmt: skip
    # Pairs of neighbouring cliques take 722.6 nats, single cliques 728.1.
    assert result["blocks"] == 10 and result["objective"] == "uniform-communities"
    assert result["description_length"] > 0
    assert result["samples"]["drawn"] == 12  # the same number in each of four chains
    assert abs(sum(mode["weight"] for mode in result["samples"]["modes"]) - 1) < 1e-9
    assert abs(sum(result["samples"]["block_counts"].values()) - 1) < 1e-9
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert all(0 <= float(row["confidence"]) <= 1 for row in rows)
    assert "How certain the blocks are" in report.read_text()


def test_hierarchies_and_directions_are_sampled(cliques: Path) -> None:
    out = cliques.with_name("n.csv")
    nested = ("--blocks", "nested", "--objective", "degree-corrected", "--samples", 8)
    result = result_of("cluster", cliques, *nested, "--out", out)
    assert result["samples"]["drawn"] == 8
    with out.open() as file:
        columns = csv.DictReader(file).fieldnames or []
    assert sum(name.startswith("confidence") for name in columns) == len(result["levels"])
    directed = ("--blocks", "auto", "--objective", "directed", "--samples", 8)
    assert result_of("cluster", cliques, *directed)["samples"]["drawn"] == 8


def test_unsupported_combinations_are_refused(cliques: Path) -> None:
    refused = [
        ("--blocks", "4", "--objective", "communities"),
        ("--blocks", "3", "--objective", "ratings", "--samples", "5"),
        ("--blocks", "nested", "--search", "paper"),
    ]
    for options in refused:
        done = coterie("cluster", cliques, *options)
        assert done.returncode == 2 and "--" in done.stderr, options


def test_layers_and_time(tmp_path: Path) -> None:
    table, out, report = (tmp_path / name for name in ("t.csv", "o.csv", "r.html"))
    layers = generators.layered_blocks(150, 3, 2, n_blocks=3, rng=0)
    rows = ["who,whom,kind,sent"]
    for place, (name, graph) in enumerate(zip(layers.names, layers.graphs, strict=True)):
        for a, b in zip(*graph.edges(), strict=True):
            rows.append(f"p{a},p{b},{name},2026-0{place + 1}-05")
    table.write_text("\n".join(rows))
    read = ("cluster", table, "--blocks", "auto", "--source", "who", "--target", "whom")
    result = result_of(*read, "--layers", "kind", "--out", out, "--report", report)
    assert [row["group"] for row in result["layers"]] == [1, 1, 2]
    assert out.read_text().startswith("node,layer 1,layer 2,layer 3\n")
    assert "These layers share their blocks: layer 1, layer 2." in report.read_text()
    result = result_of(*read, "--time", "sent", "--every", "month")
    assert [row["layer"] for row in result["layers"]] == ["2026-01", "2026-02", "2026-03"]
    assert {event["period"] for event in result["events"]} == {"2026-03"}
    for wrong, message in (
        (("--time", "kind", "--every", "month"), "'layer 1' is not a time"),
        (("--layers", "kind", "--samples", "5"), "--samples does not support layers"),
        (("--every", "month"), "add --time COLUMN"),
    ):
        done = coterie(*read, *wrong)
        assert done.returncode == 2 and message in done.stderr, done.stderr

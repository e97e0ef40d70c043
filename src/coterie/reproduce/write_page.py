"""A reproduction as files: rows as CSV, everything as JSON, pictures as SVG, and one page."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

from coterie.data.writers import atomic_write
from coterie.report.charts import ChartTable, short, standalone
from coterie.report.charts.drawing import Cell
from coterie.report.page import Fact, Page, Panel, Section, Verdict, write
from coterie.reproduce.outcome import FAILS, HOLDS, REMARK, Claim, Outcome
from coterie.reproduce.published_figures import TABLE_1


def save(outcomes: list[Outcome], machine: dict[str, Any], seconds: float, folder: Path) -> None:
    """Write DIR/NAME.csv, DIR/NAME-i.svg, DIR/results.json and DIR/index.html."""
    folder.mkdir(parents=True, exist_ok=True)
    for outcome in outcomes:
        _save_rows(outcome, folder / f"{outcome.name}.csv")
        for place, figure in enumerate(outcome.figures, start=1):
            with atomic_write(folder / f"{outcome.name}-{place}.svg", "w") as file:
                file.write(standalone(figure.chart.svg, figure.title))
    with atomic_write(folder / "results.json", "w") as file:
        json.dump(as_dict(outcomes, machine, seconds), file, indent=1, default=_plain)
    with atomic_write(folder / "index.html", "w") as file:
        file.write(write(page(outcomes, machine, seconds)))


def _save_rows(outcome: Outcome, path: Path) -> None:
    columns = list(dict.fromkeys(key for row in outcome.records for key in row))
    with atomic_write(path, "w") as file:
        rows = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        rows.writeheader()
        rows.writerows(outcome.records)


def as_dict(outcomes: list[Outcome], machine: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The JSON of a reproduction: the claims, the tables beside the paper's, the rows."""
    return {
        "seconds": seconds,
        "hardware": machine,
        "paper_hardware": TABLE_1,
        "claims": [{"what": o.name, **c.as_dict()} for o in outcomes for c in o.claims],
        "results": {
            o.name: {
                "title": o.title,
                "lead": o.lead,
                "figures": [
                    {"file": f"{o.name}-{i}.svg", "title": f.title, "ours": f.ours}
                    for i, f in enumerate(o.figures, start=1)
                ],
                "tables": [
                    [dict(zip(p.table.columns, row, strict=True)) for row in p.table.rows]
                    for p in o.tables
                ],
                "rows": o.records,
            }
            for o in outcomes
        },
    }


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def page(outcomes: list[Outcome], machine: dict[str, Any], seconds: float) -> Page:
    """The page: what holds on top, then every figure and table."""
    claims = [(o.name, c) for o in outcomes for c in o.claims]
    of_paper = [c for _, c in claims if not c.ours]
    counts = {v: sum(c.verdict == v for c in of_paper) for v in (HOLDS, REMARK, FAILS)}
    text = (
        f"Of {len(of_paper)} claims of the paper that were measured again, {counts[HOLDS]} hold, "
        f"{counts[REMARK]} hold with a remark, and {counts[FAILS]} do not hold."
    )
    return Page(
        "reproduction",
        "Parallel Clustering of Graphs for Anonymization and Recommender Systems, made again",
        Verdict(text),
        _facts(counts, len(claims) - len(of_paper), machine, seconds),
        [
            _claims_section(claims),
            *(o.section() for o in outcomes),
            _hardware_section(machine, seconds),
        ],
        ["The paper: F. Prost and J. Yoon, Parallel Clustering of Graphs. Labels: its source."],
    )


def _facts(
    counts: dict[str, int], ours: int, machine: dict[str, Any], seconds: float
) -> list[Fact]:
    return [
        Fact("hold", f"{counts[HOLDS]}", "claims of the paper"),
        Fact("hold with a remark", f"{counts[REMARK]}"),
        Fact("do not hold", f"{counts[FAILS]}"),
        Fact("claims of ours", f"{ours}", "what later methods change"),
        Fact("time", duration(seconds), f"{machine.get('threads')} threads"),
    ]


def duration(seconds: float) -> str:
    """
    >>> duration(12.34), duration(839.5)
    ('12.3 s', '14 min 0 s')
    """
    whole = round(seconds)
    return f"{short(seconds)} s" if whole < 100 else f"{whole // 60} min {whole % 60} s"


def _claims_section(claims: list[tuple[str, Claim]]) -> Section:
    section = Section(
        "The claims",
        "Every verdict is computed from this run's own numbers. Tables and figures go by their "
        "labels in the paper's source (cl:fig4 …); panels marked as ours are not the paper's.",
    )
    for title, ours in (("The paper's", False), ("What our methods change", True)):
        rows: list[list[Cell]] = [
            [
                c.verdict,
                c.text.removeprefix("Ours: "),
                c.numbers + (f". {c.remark}" if c.remark else ""),
                name,
            ]
            for name, c in claims
            if c.ours is ours
        ]
        if rows:
            table = ChartTable(["verdict", "claim", "measured", "where"], rows)
            section.tables.append(Panel(title, table))
    return section


def _hardware_section(machine: dict[str, Any], seconds: float) -> Section:
    rows: list[list[Cell]] = [
        [name, _text(TABLE_1.get(key)), _text(machine.get(key))]
        for key, name in (
            ("cpu", "CPU"),
            ("cores", "cores"),
            ("memory_gb", "memory (GB)"),
            ("system", "system"),
        )
    ]
    table = ChartTable(["", "the paper's Table 1", "here"], rows)
    return Section(
        "The machine",
        f"Everything on this page took {duration(seconds)} with {machine.get('threads')} threads.",
        tables=[Panel("", table)],
    )


def _text(value: Any) -> str:
    return "–" if value is None else re.sub(r"\s+", " ", str(value))

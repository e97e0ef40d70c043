"""Write a reproduction: rows as CSV, everything as JSON, figures as SVG, and one HTML page."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coterie.base.json_values import JsonObject, as_json
from coterie.data.writers import atomic_write
from coterie.report.charts import ChartTable, short, standalone
from coterie.report.charts.drawing import Cell
from coterie.report.page import Fact, Page, Panel, Section, Verdict, write

from .outcome import FAILS, HOLDS, REMARK, Claim, Outcome
from .published_figures import TABLE_1
from .settings import Hardware


@dataclass(frozen=True)
class Reproduction:
    """All results of one run."""

    outcomes: Sequence[Outcome]
    hardware: Hardware
    seconds: float

    @property
    def claims(self) -> list[tuple[Outcome, Claim]]:
        """Every claim with its table or figure."""
        return [(outcome, claim) for outcome in self.outcomes for claim in outcome.claims]

    def as_dict(self) -> JsonObject:
        """Return what results.json contains: machines, claims, tables and rows."""
        return {
            "seconds": self.seconds,
            "hardware": self.hardware._asdict(),
            "paper_hardware": TABLE_1._asdict(),
            "claims": [{"what": o.name, **claim._asdict()} for o, claim in self.claims],
            "results": {
                outcome.name: {
                    "title": outcome.title,
                    "lead": outcome.lead,
                    "figures": [
                        {
                            "file": f"{outcome.name}-{i}.svg",
                            "title": figure.title,
                            "extension": figure.extension,
                        }
                        for i, figure in enumerate(outcome.figures, start=1)
                    ],
                    "tables": [
                        [dict(zip(p.table.columns, row, strict=True)) for row in p.table.rows]
                        for p in outcome.tables
                    ],
                    "rows": outcome.records,
                }
                for outcome in self.outcomes
            },
        }


def save(reproduction: Reproduction, folder: Path) -> None:
    """Write DIR/NAME.csv, DIR/NAME-i.svg, DIR/results.json and DIR/index.html."""
    folder.mkdir(parents=True, exist_ok=True)
    for outcome in reproduction.outcomes:
        _save_rows(outcome, folder / f"{outcome.name}.csv")
        for place, figure in enumerate(outcome.figures, start=1):
            with atomic_write(folder / f"{outcome.name}-{place}.svg", "w") as file:
                file.write(standalone(figure.chart.svg, figure.title))
    with atomic_write(folder / "results.json", "w") as file:
        file.write(as_json(reproduction.as_dict(), indent=1))
    with atomic_write(folder / "index.html", "w") as file:
        file.write(write(page(reproduction)))


def _save_rows(outcome: Outcome, path: Path) -> None:
    columns = list(dict.fromkeys(key for row in outcome.records for key in row))
    with atomic_write(path, "w") as file:
        rows = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        rows.writeheader()
        rows.writerows(outcome.records)


def page(reproduction: Reproduction) -> Page:
    """Make the page: the verdicts on top, then every figure and table."""
    claims = reproduction.claims
    of_paper = [claim for _, claim in claims if not claim.extension]
    counts = {v: sum(c.verdict == v for c in of_paper) for v in (HOLDS, REMARK, FAILS)}
    text = (
        f"Claims of the paper that hold: {counts[HOLDS]} of {len(of_paper)}; with a remark: "
        f"{counts[REMARK]}; that do not hold: {counts[FAILS]}."
    )
    return Page(
        "reproduction",
        "Reproducing “Parallel Clustering of Graphs for Anonymization and Recommender Systems”",
        Verdict(text),
        _facts(counts, len(claims) - len(of_paper), reproduction),
        [
            _claims_section(claims),
            *(outcome.section() for outcome in reproduction.outcomes),
            _hardware_section(reproduction),
        ],
        [
            "The paper: F. Prost and J. Yoon, Parallel Clustering of Graphs for Anonymization and "
            "Recommender Systems."
        ],
    )


def _facts(counts: dict[str, int], extensions: int, reproduction: Reproduction) -> list[Fact]:
    return [
        Fact("hold", f"{counts[HOLDS]}", "claims of the paper"),
        Fact("hold with a remark", f"{counts[REMARK]}", "claims of the paper"),
        Fact("do not hold", f"{counts[FAILS]}", "claims of the paper"),
        Fact("about extensions", f"{extensions}", "claims about methods not in the paper"),
        Fact("time", duration(reproduction.seconds), f"{reproduction.hardware.threads} threads"),
    ]


def duration(seconds: float) -> str:
    """Write a duration for people.

    >>> duration(12.34), duration(839.5)
    ('12.3 s', '14 min 0 s')
    """
    whole = round(seconds)
    return f"{short(seconds)} s" if whole < 100 else f"{whole // 60} min {whole % 60} s"


def _claims_section(claims: list[tuple[Outcome, Claim]]) -> Section:
    section = Section(
        "The claims",
        "Every verdict is computed from the numbers of this run. Tables and figures have the "
        "numbers of the paper. Charts marked “extension” show methods that are not in the paper.",
    )
    titles = ((False, "Claims of the paper"), (True, "Claims about the extensions"))
    for extension, title in titles:
        rows: list[list[Cell]] = [
            [
                claim.verdict,
                claim.text,
                claim.numbers + (f". {claim.remark}" if claim.remark else ""),
                outcome.place,
            ]
            for outcome, claim in claims
            if claim.extension is extension
        ]
        if rows:
            table = ChartTable(["verdict", "claim", "measured", "where"], rows)
            section.tables.append(Panel(title, table))
    return section


def _hardware_section(reproduction: Reproduction) -> Section:
    here, paper = reproduction.hardware, TABLE_1
    rows: list[list[Cell]] = [
        ["CPU", _text(paper.cpu), _text(here.cpu)],
        ["cores", _text(paper.cores), _text(here.cores)],
        ["memory (GB)", _text(paper.memory_gb), _text(here.memory_gb)],
        ["system", _text(paper.system), _text(here.system)],
    ]
    took, threads = duration(reproduction.seconds), here.threads
    return Section(
        "Machines",
        f"Everything on this page took {took} with {threads} threads.",
        tables=[Panel("", ChartTable(["", "Table 1 of the paper", "here"], rows))],
    )


def _text(value: object) -> str:
    return re.sub(r"\s+", " ", str(value))

"""Record one run of `make reproduce OUT=DIR` and update docs/benchmarks/reproduction.md.

    make reproduce OUT=DIR
    python benchmarks/reproduction_page.py DIR

Claims, tables, machine and time come from DIR/results.json and go to
benchmarks/results/reproduction.json; the pictures go to docs/images; the tables of the page are
then rewritten by tables.py. No figure is typed in.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from record import RESULTS, Section, add_options, commit, installed, machine, write_section

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
PICTURES = (
    "fig4-2.svg",
    "fig4-4.svg",
    "fig5-2.svg",
    "fig-alpha-caida-3.svg",
    "fig-alpha-astroph-3.svg",
    "fig-entropy-2.svg",
    "fig-entropy-4.svg",
    "fig-apl-2.svg",
    "fig-apl-4.svg",
    "fig-gcc-2.svg",
    "fig-gcc-4.svg",
    "fig-degree-4.svg",
    "fig-degree-6.svg",
    "fig-tradeoff-8.svg",
    "fig-tradeoff-10.svg",
)
TABLES = {
    "table2": ("table2", "Table 2: mean of five folds, equal time"),
    "table3": ("table3", "Table 3: mean of five folds"),
    "degrees": ("fig-degree", "Figure 10: degrees of released graphs"),
    "tradeoff": ("fig-tradeoff", "The trade-off of the conclusion"),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the folder that `make reproduce` wrote")
    add_options(parser)
    given = parser.parse_args()
    result = json.loads((given.folder / "results.json").read_text(encoding="utf-8"))
    for name, (title, rows) in sections(result).items():
        write_section(
            Path(given.results) / "reproduction.json",
            name,
            Section(
                title=title,
                data="MovieLens-100k, CAIDA, astro-ph",
                asked=f"make reproduce, {result['seconds'] / 60:.0f} minutes in total; each "
                "claim is judged by a rule in `benchmarks/reproduce/` from the numbers of this "
                "run",
                threads=str(result["hardware"]["threads"]),
                rows=rows,
                command="make reproduce OUT=DIR",
                date=str(result.get("date") or date_of(given.folder / "results.json")),
                source="measured by this command",
                quiet=given.quiet_machine,
                commit=commit(),
                machine=machine(),
                versions=installed(["coterie", "numpy", "numba"]),
            ),
        )
    if Path(given.results) == RESULTS:
        for file in PICTURES:
            shutil.copy(given.folder / file, IMAGES / file)
    print("now run `python benchmarks/tables.py`")


def date_of(path: Path) -> str:
    """Return the day a file was written."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()


def sections(result: dict[str, Any]) -> dict[str, tuple[str, list[dict[str, Any]]]]:
    """Return title and rows of each section of the results file."""
    here, paper = result["hardware"], result["paper_hardware"]
    claims = result["claims"]
    found = {
        "machine": (
            "Machines",
            [
                {"": name, "Table 1 of the paper": str(paper[key]), "here": str(here[key])}
                for name, key in (
                    ("CPU", "cpu"),
                    ("cores", "cores"),
                    ("memory (GB)", "memory_gb"),
                    ("system", "system"),
                )
            ],
        ),
        "claims": (
            "Claims of the paper",
            claim_rows(c for c in claims if not c["extension"]),
        ),
        "extensions": (
            "What coterie's own methods change",
            claim_rows(c for c in claims if c["extension"]),
        ),
    }
    for name, (source, title) in TABLES.items():
        rows = [row for table in result["results"][source]["tables"] for row in table]
        found[name] = (
            title,
            [{key: cell(value) for key, value in row.items()} for row in rows],
        )
    return found


def claim_rows(claims: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return verdict, claim and numbers of each claim."""
    return [
        {
            "verdict": claim["verdict"],
            "claim": claim["text"],
            "measured": claim["numbers"] + (f". {claim['remark']}" if claim["remark"] else ""),
        }
        for claim in claims
    ]


def cell(value: Any) -> str:
    """Return a number as text: four significant digits, thousands separated."""
    if value is None:
        return "–"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.4g}"
    return f"{value:,.0f}" if isinstance(value, int | float) else str(value)


if __name__ == "__main__":
    main()

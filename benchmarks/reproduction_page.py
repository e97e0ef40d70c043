"""docs/reproduction.md and its pictures from one run of `coterie reproduce all --out DIR`.

    python benchmarks/reproduction_page.py DIR

Nothing on the page is typed in: claims, tables, machine and time come from DIR/results.json.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from coterie.reproduce.outcome import FAILS, HOLDS, REMARK
from coterie.reproduce.write_page import duration

DOCS = Path(__file__).parent.parent / "docs"
PICTURES = {
    "Figure cl:fig4 with the factored update, and what an iteration costs as groups grow.": (
        "fig4-2.svg",
        "fig4-4.svg",
    ),
    "Figure cl:fig5, hard and soft clustering.": ("fig5-2.svg",),
    "Figures fig:compare:ascaida and fig:compare:astroph, with the end of our best search.": (
        "fig-alpha-caida-3.svg",
        "fig-alpha-astroph-3.svg",
    ),
    "Figure cl:myfig1, with the best search.": ("fig-entropy-2.svg", "fig-entropy-4.svg"),
    "Figures cl:myfig2 and cl:myfig3, with the degree-corrected release; bars are one standard "
    "deviation of five graphs.": (
        "fig-apl-2.svg",
        "fig-apl-4.svg",
        "fig-gcc-2.svg",
        "fig-gcc-4.svg",
    ),
    "Figure cl:myfig4, optimized clustering and the degree-corrected release (astro-ph).": (
        "fig-degree-4.svg",
        "fig-degree-6.svg",
    ),
    "The trade-off of the conclusion, on astro-ph: edges given away, and what is kept.": (
        "fig-tradeoff-8.svg",
        "fig-tradeoff-10.svg",
    ),
}
TABLES = {
    "table2": "Table cl:table2, mean of five folds, equal time",
    "table3": "Table cl:table3, mean of five folds",
    "fig-degree": "Degrees of released graphs",
    "fig-tradeoff": "The trade-off",
}
MARK = "<!-- below: benchmarks/reproduction_page.py, from one run -->"


def main(folder: Path) -> None:
    """Keep what stands above the mark, and write the rest anew."""
    result = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    path = DOCS / "reproduction.md"
    above = path.read_text(encoding="utf-8").split(MARK)[0]
    parts = [*machine(result), *claims(result), *tables(result), *pictures(result, folder)]
    path.write_text(above + MARK + "\n" + "\n".join(parts).rstrip() + "\n", encoding="utf-8")


def machine(result: dict[str, Any]) -> list[str]:
    here, paper = result["hardware"], result["paper_hardware"]
    return [
        f"Everything below is from one run by the clock, which took {duration(result['seconds'])}.",
        "",
        "| | the paper's Table 1 | here |",
        "|---|---|---|",
        f"| CPU | {paper['cpu']} | {here['cpu']} |",
        f"| cores | {paper['cores']} | {here['cores']} ({here['threads']} threads) |",
        f"| memory (GB) | {paper['memory_gb']} | {here['memory_gb']} |",
        f"| system | {paper['system']} | {here['system']}, Python {here['python']} |",
        "",
    ]


def claims(result: dict[str, Any]) -> list[str]:
    of_paper = [c for c in result["claims"] if not c["text"].startswith("Ours: ")]
    ours = [c for c in result["claims"] if c["text"].startswith("Ours: ")]
    count = {v: sum(c["verdict"] == v for c in of_paper) for v in (HOLDS, REMARK, FAILS)}
    return [
        f"## Of {len(of_paper)} claims, {count[HOLDS]} hold, {count[REMARK]} hold with a remark, "
        f"{count[FAILS]} do not hold",
        "",
        *claim_rows(of_paper),
        "",
        "## What our methods change",
        "",
        *claim_rows(ours),
        "",
    ]


def claim_rows(found: list[dict[str, Any]]) -> list[str]:
    rows = ["| verdict | claim | measured |", "|---|---|---|"]
    for claim in found:
        text = claim["text"].removeprefix("Ours: ")
        measured = claim["numbers"] + (f". {claim['remark']}" if claim["remark"] else "")
        rows.append(f"| {claim['verdict']} | {text} | {measured} |")
    return rows


def tables(result: dict[str, Any]) -> list[str]:
    lines = ["## Tables", ""]
    for name, title in TABLES.items():
        for rows in result["results"][name]["tables"]:
            lines += [
                f"{title}:",
                "",
                "| " + " | ".join(rows[0]) + " |",
                "|---" * len(rows[0]) + "|",
            ]
            lines += ["| " + " | ".join(map(cell, row.values())) + " |" for row in rows]
            lines.append("")
    return lines


def cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.4g}"
    return f"{value:,.0f}" if isinstance(value, int | float) else str(value)


def pictures(result: dict[str, Any], folder: Path) -> list[str]:
    titles = {f["file"]: f["title"] for part in result["results"].values() for f in part["figures"]}
    shelf = DOCS / "pictures"
    shelf.mkdir(exist_ok=True)
    for old in shelf.glob("fig*.svg"):
        old.unlink()
    lines = ["## Pictures", ""]
    for caption, files in PICTURES.items():
        for file in files:
            shutil.copy(folder / file, shelf / file)
            lines.append(f"![{titles[file]}](pictures/{file})")
        lines += ["", caption, ""]
    return lines


if __name__ == "__main__":
    main(Path(sys.argv[1]))

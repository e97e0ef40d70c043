"""Write the tables of docs/how-to/choose-epsilon.md, and check that they are current.

    python tools/epsilon_page.py            # writes the page
    python tools/epsilon_page.py --check    # exit code 1 if it is not current

The figures are those of `coterie sketch --plan`.
"""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

import coterie as ct
from coterie.anonymize.private.plan import EPSILONS
from coterie.base.number_text import figure
from coterie.report.sketch_report import factor

PAGE = Path(__file__).parent.parent / "docs" / "how-to" / "choose-epsilon.md"
NODES, EDGES = 5000, 40_000


def tables() -> dict[str, str]:
    """Return the tables by name."""
    beliefs = [
        "| ε | factor e^ε | 10 % becomes at most | person with 10 friends, all of them together |",
        "|---|---|---|---|",
    ]
    for text in ("0.1", *EPSILONS[1:]):
        epsilon = float(text)
        odds = math.exp(epsilon) / 9
        together = "no useful bound" if 10 * epsilon > 10 else f"factor {factor(10 * epsilon)}"
        percent = f"{math.ceil(100 * odds / (1 + odds))} %"
        beliefs.append(f"| {text} | {factor(epsilon)} | {percent} | {together} |")
    plans = [ct.PrivateSketch.plan(nodes=NODES, edges=EDGES, epsilon=each) for each in EPSILONS]
    noise = ["| expected error | " + " | ".join(f"ε = {each}" for each in EPSILONS) + " |"]
    noise.append("|---" * (len(EPSILONS) + 1) + "|")
    for i, row in enumerate(plans[0].figures):
        errors = " | ".join(figure(each.figures[i].error, 2) for each in plans)
        noise.append(f"| {row.label} | {errors} |")
    return {"beliefs": "\n".join(beliefs), "plan": "\n".join(noise)}


def filled(page: str) -> str:
    """Return the page with its tables."""
    for name, table in tables().items():
        place = re.compile(rf"(<!-- {name} -->\n\n).*?(\n\n<!-- /{name} -->)", re.DOTALL)
        assert place.search(page), name
        page = place.sub(lambda found, table=table: found[1] + table + found[2], page)
    return page


def main() -> int:
    page = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        return int(filled(page) != page)
    PAGE.write_text(filled(page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The result of an experiment: figures, tables, rows for a CSV file, and judged claims."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from coterie.base.json_values import JsonObject
from coterie.report.page import Figure, Panel, Section

HOLDS, FAILS, REMARK = "holds", "does not hold", "holds with a remark"


class Claim(NamedTuple):
    """A statement, the verdict on it, and the measured numbers behind the verdict.

    `extension`: the statement is about a method of coterie that is not in the paper.
    """

    text: str
    verdict: str
    numbers: str
    remark: str = ""
    extension: bool = False


def judge(
    text: str,
    holds: bool,
    numbers: str,
    *,
    in_part: bool = False,
    remark: str = "",
    extension: bool = False,
) -> Claim:
    """Judge a claim: it `holds` or not, or holds only `in_part`.

    >>> judge("S falls", True, "5 to 4").verdict, judge("S falls", False, "4 to 5").verdict
    ('holds', 'does not hold')
    """
    verdict = FAILS if not holds else REMARK if in_part else HOLDS
    return Claim(text, verdict, numbers, remark, extension)


@dataclass
class Outcome:
    """One table or figure of the paper, reproduced. `name` is what users type."""

    name: str
    title: str
    lead: str = ""
    figures: list[Figure] = field(default_factory=list)
    tables: list[Panel] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    records: list[JsonObject] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Its place in the paper: "Table 2", "Figure 3" or "Conclusion"."""
        return self.title.partition(":")[0]

    def section(self) -> Section:
        """Return the part of the page about this table or figure."""
        return Section(self.title, self.lead, self.figures, self.tables, label=self.place)

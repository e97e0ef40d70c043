"""What an experiment gives back: pictures, tables, rows for a CSV, and claims with numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from coterie.report.page import Figure, Panel, Section

HOLDS, FAILS, REMARK = "holds", "does not hold", "holds with a remark"


class Claim(NamedTuple):
    """A sentence of the paper, what was measured, and what follows from it."""

    text: str
    verdict: str
    numbers: str
    remark: str = ""

    @property
    def ours(self) -> bool:
        """Whether it is about what coterie adds to the paper."""
        return self.text.startswith("Ours: ")

    def as_dict(self) -> dict[str, str]:
        return self._asdict()


def judge(text: str, holds: bool, numbers: str, *, but: bool = False, remark: str = "") -> Claim:
    """A verdict from what was measured: `holds`, and `but` where it holds only in part.

    >>> judge("S falls", True, "5 to 4").verdict, judge("S falls", False, "4 to 5").verdict
    ('holds', 'does not hold')
    """
    verdict = FAILS if not holds else REMARK if but else HOLDS
    return Claim(text, verdict, numbers, remark)


@dataclass
class Outcome:
    """One table or figure of the paper, made again."""

    name: str
    title: str
    lead: str = ""
    figures: list[Figure] = field(default_factory=list)
    tables: list[Panel] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)

    def section(self) -> Section:
        return Section(self.title, self.lead, self.figures, self.tables, label=self.name)


Experiment = Callable[[Any], Outcome]

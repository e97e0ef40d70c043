"""The report of a release: the decision, the risk and the utility.

The report is published with the release, so it shows nothing but what the public summary
contains: not the seed, not an id of the original, not a figure about one person.
"""

from __future__ import annotations

from typing import NamedTuple

from coterie.anonymize.output.public_summary import PublicSummary
from coterie.anonymize.utility.measures import MEASURE_NAMES
from coterie.report.charts import percent, short
from coterie.report.page import Fact, Page, Section, Verdict, write
from coterie.report.risk_section import attacks, risk
from coterie.report.shared_sections import assumptions, count
from coterie.report.utility_section import curves, measure_by_measure


class _Method(NamedTuple):
    """The name and the explanation of a release model in the report."""

    name: str
    explanation: str


_SIMPLE_GRAPH = "The original was read as a simple graph: no directions, no weights, no self-loops."
_METHODS = {
    "dcsbm": _Method(
        "degree-corrected block model",
        "Who is connected to whom depends only on blocks and degree classes. Degrees are drawn "
        "again within each class, then edges are swapped to reach the original's clustering.",
    ),
    "sbm": _Method(
        "stochastic block model",
        "Each pair is connected with a probability that depends only on its two blocks.",
    ),
    "exact-counts": _Method(
        "block model with exact counts",
        "The number of edges between two blocks is that of the original; which pairs are connected "
        "is random.",
    ),
}


def render(summary: PublicSummary) -> str:
    """Return the report of a release, or of a refusal, as HTML."""
    return write(compose(summary))


def compose(summary: PublicSummary) -> Page:
    """Arrange the sections and charts of the report."""
    method = _METHODS.get(summary.model)
    return Page(
        "anonymization report",
        "Refused release" if summary.refused and not summary.forced else "Published network",
        _verdict(summary),
        _facts(summary),
        [
            risk(summary.limits, summary.levels),
            attacks(summary.attacks, summary.nodes),
            curves(summary.profiles),
            measure_by_measure(summary.utility),
            Section("What is not guaranteed", notes=summary.remarks),
            assumptions([] if method is None else [method.explanation, _SIMPLE_GRAPH]),
        ],
        subtitle=f"“{summary.name}”" if summary.name else "",
    )


def _verdict(summary: PublicSummary) -> Verdict:
    reasons = [*summary.reasons, *summary.suggestions]
    if summary.refused and summary.forced:
        text = (
            "The privacy policy refuses this release. Its owner decided to write it nevertheless "
            "(`force`)."
        )
        return Verdict(text, "bad", "✗ forced", reasons)
    if summary.refused:
        text = "Nothing was released: a limit of the privacy policy would have been exceeded."
        return Verdict(text, "bad", "✗ refused", reasons)
    not_kept = summary.utility.not_kept if summary.utility else []
    return Verdict(
        decision_text(summary),
        "good",
        "✓ released",
        [f"Not preserved: {what}" for what in not_kept],
    )


def decision_text(summary: PublicSummary) -> str:
    """Say that a release is within its limits, and how many people attacks guessed right."""
    found = _best_attack(summary)
    return "The release is within every limit of the privacy policy." + f" {found}" * bool(found)


def _best_attack(summary: PublicSummary) -> str:
    """Describe the attack that guessed the most people right; "" if none has power."""
    able = [a for a in summary.attacks if a.naive >= 1]
    if not able or not summary.nodes:
        return ""
    best = max(able, key=lambda a: a.release)
    luck = "" if best.expected is None else f" ({_about(best.expected)} expected by luck)"
    return (
        f"No attack guessed more than {best.release:,.0f} of {summary.nodes:,} people right{luck}. "
        f"In a copy with only the names removed, the same attacks identify up to "
        f"{max(a.naive for a in able):,.0f}."
    )


def _about(people: float) -> str:
    return "less than 1" if 0 < people < 1 else f"{people:,.0f}"


def _facts(summary: PublicSummary) -> list[Fact]:
    """Return the numbers at the top of the page."""
    facts = []
    utility = summary.utility
    for key in ("nodes", "edges", "blocks"):
        shown = before = getattr(summary, key)
        if utility is not None and key != "blocks":
            shown, before = getattr(utility.published, key), getattr(utility.original, key)
        if shown:
            facts.append(count(key, shown, "" if before == shown else f"original {before:,.0f}"))
    if utility is not None:
        for key in ("global_clustering", "average_path_length"):
            released, original = getattr(utility.published, key), getattr(utility.original, key)
            facts.append(Fact(MEASURE_NAMES[key], short(released), f"original {short(original)}"))
        facts.append(
            Fact(
                "degrees differ by",
                percent(utility.degree_ks),
                "largest gap between original and release in the chart “Degrees”",
            )
        )
    if summary.model in _METHODS:
        facts.append(Fact("method", summary.model, _METHODS[summary.model].name))
    return facts

"""The reports of a release: the decision, the risk and the utility.

One report is published with the release and shows nothing but what the public summary contains:
not the seed, not an id of the original, no figure that fewer than `min_class_size` people decide.
The other one has exact figures and is for the owner.
"""

from __future__ import annotations

from typing import NamedTuple

from coterie.anonymize.figures import FigureRow
from coterie.anonymize.output.public_summary import OwnerSummary, PublicSummary
from coterie.report.charts import percent, short
from coterie.report.page import Fact, Page, Section, Verdict, write
from coterie.report.release_sections import (
    attacks,
    communities,
    curves,
    features,
    measure_by_measure,
    risk,
)
from coterie.report.shared_sections import assumptions, count


class _Method(NamedTuple):
    """The name and the explanation of a release model in the report."""

    name: str
    explanation: str


_ON_TOP = (
    "The figures and attacks above are about who is connected; {what} are drawn on top of that, "
    "from statistics of the same classes."
)
_READ_AS = {
    "simple": "The original was read as a simple graph: no directions, no weights, no self-loops.",
    "directed": "The original has directions. " + _ON_TOP.format(what="directions"),
    "weighted": "The original has weights. " + _ON_TOP.format(what="weights"),
    "bipartite": "The original has two kinds of nodes, and edges between them only. Every class is "
    "on one side.",
}
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
    private = isinstance(summary, OwnerSummary)
    return Page(
        "PRIVATE anonymization report" if private else "anonymization report",
        "Refused release" if summary.refused and not summary.forced else "Published network",
        _verdict(summary),
        _facts(summary),
        [
            risk(summary.limits, summary.levels, None if private else summary.group),
            attacks(summary.attacks, summary.nodes, None if private else summary.group),
            curves(summary.profiles),
            communities(summary.utility),
            measure_by_measure(summary.utility),
            features(summary.features, exact=private),
            Section(
                "What is private, and what is not guaranteed"
                if private
                else "What is not guaranteed",
                notes=summary.remarks,
            ),
            assumptions(
                [] if method is None else [method.explanation, _READ_AS[summary.objective]]
            ),
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
    useful = [summary.utility.verdict] if summary.utility and summary.utility.verdict else []
    not_kept = summary.utility.not_kept if summary.utility else []
    return Verdict(
        decision_text(summary),
        "warn" if summary.weaker else "good",
        "! released under a weaker policy" if summary.weaker else "✓ released",
        [*useful, *([f"Not preserved: {'; '.join(not_kept)}"] if not_kept else [])],
    )


def decision_text(summary: PublicSummary) -> str:
    """Say that a release is within its limits, and how many people attacks guessed right."""
    found = _best_attack(summary)
    within = "The release is within every limit of the privacy policy."
    if summary.weaker:
        within = f"Released under a weaker policy, whose limits it keeps. {summary.weaker}"
    return within + f" {found}" * bool(found)


def _best_attack(summary: PublicSummary) -> str:
    """Describe the attack that guessed the most people right; "" if none has power."""
    able = [a for a in summary.attacks if a.has_power]
    if not able or not summary.nodes:
        return ""
    best = max(able, key=lambda a: a.found)
    exact = isinstance(summary, OwnerSummary)
    luck = ""
    if best.expected is not None:
        most = "up to " if best.expected >= 1 and not exact else ""
        luck = f" ({most}{_about(best.expected)} expected by luck)"
    return (
        f"No attack guessed more than {best.found:,.0f} of {summary.nodes:,} people right{luck}. "
        f"In a copy with only the names removed, the same attacks identify "
        f"{'up to' if exact else 'about'} {max(a.naive for a in able):,.0f}."
    )


def _about(people: float) -> str:
    return "less than 1" if 0 < people < 1 else f"{people:,.0f}"


def _facts(summary: PublicSummary) -> list[Fact]:
    """Return the numbers at the top of the page."""
    facts = []
    utility = summary.utility
    for key in ("nodes", "edges"):
        found = None if utility is None else utility.measure(key)
        shown = getattr(summary, key) if found is None else found.published
        if shown:
            facts.append(count(key, shown, "" if found is None else _original(found)))
    if summary.blocks:
        facts.append(count("blocks", summary.blocks, ""))
    if utility is not None:
        for key in ("global_clustering", "average_path_length"):
            found = utility.measure(key)
            if found is not None:
                note = _original(found)
                facts.append(Fact(found.figure.label, short(found.published), note))
        facts.append(
            Fact(
                "degrees differ by",
                ("" if isinstance(summary, OwnerSummary) else "at most ")
                + percent(utility.degree_ks),
                "largest gap between original and release in the chart “Degrees”",
            )
        )
    if summary.model in _METHODS:
        facts.append(Fact("method", summary.model, _METHODS[summary.model].name))
    return facts


def _original(found: FigureRow) -> str:
    """Describe the original's figure; "" if both are equal."""
    if found.original is None or (found.original == found.published and not found.error):
        return ""
    if found.figure.key in ("nodes", "edges") and not found.error:
        return f"original {found.original:,.0f}"
    return f"original {'about ' if found.error else ''}{short(found.original)}"

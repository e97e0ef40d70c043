"""The report of a release: may it go out, what does it keep, what could be found in it.

It is published with the release, so it holds nothing but what `summary` has: no seed, no id of
the original, no figure of a single person.

The summary (every part but `refused` may be missing; a section without data is left out):

    name, refused, forced, reasons, advice, model, nodes, edges, blocks, draws, seconds
    utility   original, published: {nodes, edges, global_clustering, …}; degree_ks; not_kept: [text]
    profiles  {"degree" | "clustering" | "distance" | "spectrum" | "core":
               {"original": {"x": [], "y": []}, "published": {"x": [], "y": []}}}
    limits    [{name, value, limit, at_least, percent, note}]
    levels    [{level, …figures}]      the risk for each level of publication
    attacks   [{attack, release, naive, deleted_10, chance}]   people found, of `nodes`
    remarks   [text]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coterie.report.charts import percent, short
from coterie.report.page import Fact, Page, Section, Verdict, write
from coterie.report.risk_section import attacks, risk
from coterie.report.shared_sections import assumptions, count
from coterie.report.utility_section import MEASURES, likeness, measure_by_measure

_UNDIRECTED = "The original was read as a simple graph: no direction, no weight, no self-loop."
_METHODS = {
    "dcsbm": (
        "degree-corrected blocks",
        "Who is joined to whom depends on blocks and degree bins alone; degrees are drawn anew "
        "inside each bin, then edges are swapped towards the original's clustering.",
        _UNDIRECTED,
    ),
    "sbm": (
        "the paper's blocks",
        "Every pair is joined with a probability that depends on its two blocks alone.",
        _UNDIRECTED,
    ),
    "exact-counts": (
        "Hay et al.",
        "Edges between two blocks are dealt anew at random, as many as the original has.",
        _UNDIRECTED,
    ),
}


def render(summary: Mapping[str, Any]) -> str:
    """The report of a release (or of a refusal) as HTML."""
    return write(compose(summary))


def compose(summary: Mapping[str, Any]) -> Page:
    """Sections and charts from a summary."""
    return Page(
        "anonymization report",
        f"Release of {summary.get('name', 'a graph')}",
        _verdict(summary),
        _facts(summary),
        [
            risk(summary),
            attacks(summary),
            likeness(summary),
            measure_by_measure(summary),
            Section("What this does not promise", notes=list(summary.get("remarks", []))),
            assumptions(
                [*_METHODS.get(str(summary.get("model")), ())[1:], *summary.get("assumed", [])]
            ),
        ],
    )


def _verdict(summary: Mapping[str, Any]) -> Verdict:
    reasons = [str(r) for r in summary.get("reasons", [])]
    advice = [str(a) for a in summary.get("advice", [])]
    found = _found(summary)
    if summary["refused"] and summary.get("forced"):
        text = (
            "The privacy policy refuses this release; it was written because --force asked for it."
        )
        return Verdict(text, "bad", "✗ forced", [*reasons, *advice])
    if summary["refused"]:
        text = "Nothing was released: a limit of the privacy policy would have been passed."
        return Verdict(text, "bad", "✗ refused", [*reasons, *advice])
    text = "The release keeps within every limit of the privacy policy" + (
        f": {found}." if found else "."
    )
    lost = [f"Not kept: {what}" for what in summary.get("utility", {}).get("not_kept", [])]
    return Verdict(text, "good", "✓ released", lost)


def _found(summary: Mapping[str, Any]) -> str:
    """The most that any attack with power found, in words; "" where none was tried."""
    able = [a for a in summary.get("attacks", []) if (a.get("naive") or 0) >= 1]
    if not able or not summary.get("nodes"):
        return ""
    best = max(able, key=lambda a: float(a["release"]))
    naive = max(float(a["naive"]) for a in able)
    chance = best.get("chance")
    luck = "" if chance is None else f" ({_about(float(chance))} by chance)"
    return (
        f"no attack found more than {best['release']:,.0f} of {summary['nodes']:,} people in it"
        f"{luck}, where the same attacks find up to {naive:,.0f} in a copy with only the names "
        "removed"
    )


def _about(people: float) -> str:
    return "less than 1" if 0 < people < 1 else f"{people:,.0f}"


def _facts(summary: Mapping[str, Any]) -> list[Fact]:
    utility = summary.get("utility", {})
    original, published = utility.get("original", {}), utility.get("published", {})
    facts = []
    for key in ("nodes", "edges", "blocks"):
        here, before = published.get(key, summary.get(key)), original.get(key)
        if here:
            note = f"original {before:,.0f}" if before is not None and before != here else ""
            facts.append(count(key, here, note))
    facts += [
        Fact(MEASURES[key], short(published[key]), f"original {short(original[key])}")
        for key in ("global_clustering", "average_path_length")
        if original.get(key) is not None and published.get(key) is not None
    ]
    if utility.get("degree_ks") is not None:
        facts.append(
            Fact(
                "degrees differ by",
                percent(utility["degree_ks"]),
                "of the nodes at most (Kolmogorov-Smirnov)",
            )
        )
    if summary.get("model"):
        model = str(summary["model"])
        facts.append(Fact("method", model, _METHODS.get(model, ("",))[0]))
    if summary.get("seconds"):
        facts.append(Fact("time", f"{short(float(summary['seconds']))} s"))
    return facts

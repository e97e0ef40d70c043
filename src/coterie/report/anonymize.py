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

from coterie.report.charts import Gauge, Table, bars, gauges, short
from coterie.report.charts.drawing import Cell
from coterie.report.likeness import MEASURES, likeness, measure_by_measure
from coterie.report.page import Fact, Figure, Page, Panel, Section, Verdict, write
from coterie.report.parts import assumptions, count


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
            _risk(summary),
            _attacks(summary),
            likeness(summary),
            measure_by_measure(summary),
            Section("What this does not promise", notes=list(summary.get("remarks", []))),
            assumptions(summary.get("assumed", [])),
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
    most, naive = (max(float(a[key]) for a in able) for key in ("release", "naive"))
    return (
        f"no attack found more than {most:,.0f} of {summary['nodes']:,} people in it, where the "
        f"same attacks find up to {naive:,.0f} in a copy with only the names removed"
    )


def _facts(summary: Mapping[str, Any]) -> list[Fact]:
    facts = [count(key, summary[key]) for key in ("nodes", "edges", "blocks") if summary.get(key)]
    utility = summary.get("utility", {})
    original, published = utility.get("original", {}), utility.get("published", {})
    facts += [
        Fact(MEASURES[key], short(published[key]), f"original {short(original[key])}")
        for key in ("global_clustering", "average_path_length")
        if original.get(key) is not None and published.get(key) is not None
    ]
    if utility.get("degree_ks") is not None:
        facts.append(Fact("degrees differ by", short(utility["degree_ks"]), "Kolmogorov-Smirnov"))
    if summary.get("model"):
        facts.append(Fact("method", str(summary["model"])))
    if summary.get("seconds"):
        facts.append(Fact("time", f"{short(float(summary['seconds']))} s"))
    return facts


def _risk(summary: Mapping[str, Any]) -> Section:
    limits = [
        Gauge(
            str(item["name"]),
            float(item["value"]),
            None if item.get("limit") is None else float(item["limit"]),
            bool(item.get("at_least", False)),
            bool(item.get("percent", False)),
            str(item.get("note", "")),
        )
        for item in summary.get("limits", [])
    ]
    section = Section("Risk, and the limits set for it", figures_first=True)
    if limits:
        section.lead = _count_limits(limits)
        half = -(-len(limits) // 2) if len(limits) > 4 else len(limits)
        for part in (limits[:half], limits[half:]):
            if part:
                title = "Figures and limits" + ", continued" * bool(section.figures)
                chart = gauges(part, description="Risk figures, each against its limit.")
                section.figures.append(Figure(title, chart))
    rows = [dict(level) for level in summary.get("levels", [])]
    if rows:
        columns = list(dict.fromkeys(key for row in rows for key in row))
        body: list[list[Cell]] = [[_shown(row.get(c)) for c in columns] for row in rows]
        named = [c.replace("_", " ") for c in columns]
        section.tables.append(
            Panel(
                "The risk by what is published",
                Table(named, body),
                "Each row gives away more than the one above it.",
            )
        )
    return section


def _count_limits(limits: list[Gauge]) -> str:
    set_ = [g for g in limits if g.limit is not None]
    kept = sum(bool(g.holds) for g in set_)
    return f"{kept} of {len(set_)} limits hold. The black mark is the limit."


def _shown(value: Any) -> Cell:
    return value if isinstance(value, str | int | float) or value is None else str(value)


def _attacks(summary: Mapping[str, Any]) -> Section:
    attacks = [dict(a) for a in summary.get("attacks", [])]
    section = Section("Attacks on the release, beside their controls")
    if not attacks:
        return section
    section.lead = (
        "Each attack was run on the release, on a naive copy (names removed, edges kept) and on a "
        "copy with a tenth of the edges deleted. An attack that finds nobody in the naive copy "
        "proves nothing."
    )
    named = {
        "release": "this release",
        "naive": "naive copy",
        "deleted_10": "10 % of edges deleted",
        "chance": "by chance",
    }
    groups = {
        title: [float(a[key]) if a.get(key) is not None else float("nan") for a in attacks]
        for key, title in named.items()
        if any(a.get(key) is not None for a in attacks)
    }
    chart = bars(
        [str(a["attack"]) for a in attacks],
        groups,
        description="People found by each attack in the release and in its controls.",
        of="attack",
    )
    section.figures.append(Figure("People found", chart))
    blind = [str(a["attack"]) for a in attacks if a.get("naive") is not None and a["naive"] < 1]
    if blind:
        section.notes.append(
            f"Proves nothing here, since it finds nobody in the naive copy: {', '.join(blind)}."
        )
    return section

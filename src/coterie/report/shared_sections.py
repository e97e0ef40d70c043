"""Sections that several reports share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from coterie.report.charts import Axis, ChartTable, Series, short, xy
from coterie.report.charts.drawing import Cell
from coterie.report.page import Fact, Figure, Panel, Section


def history_rows(history: Iterable[Any]) -> list[dict[str, Any]]:
    """`history_` (named tuples, or mappings from JSON) as plain rows."""
    return [dict(h) if isinstance(h, Mapping) else dict(h._asdict()) for h in history]


def convergence(history: Sequence[Mapping[str, Any]], *, lead: str = "") -> Section:
    """Entropy over iterations and over time, and how many nodes still move."""
    if not history:
        return Section("Convergence")
    start = _steep_start([float(h["entropy"]) for h in history])
    drawn = history[start:]
    entropy = [float(h["entropy"]) for h in drawn]
    iteration = [int(h["iteration"]) for h in drawn]
    seconds = [float(h["seconds"]) for h in drawn]
    axis = Axis("entropy S (nats)")
    sudden = _sudden(entropy)
    caption = "Lower is a better explanation of the data."
    if start:
        first = short(float(history[0]["entropy"]))
        caption += f" Not drawn: the fall from {first}, before iteration {iteration[0]}."
    figures = [
        Figure(
            "Entropy at each iteration",
            xy(
                [Series("entropy", iteration, entropy)],
                Axis("iteration", log=sudden),
                axis,
                description=_fall("iteration", iteration, entropy),
            ),
            caption,
        )
    ]
    if any(h.get("moved") is not None for h in drawn):
        moved = [float(h["moved"]) if h.get("moved") is not None else np.nan for h in drawn]
        figures.append(
            Figure(
                "Nodes that changed their block",
                xy(
                    [Series("moved", iteration, moved)],
                    Axis("iteration", log=sudden),
                    Axis("nodes moved", lo=0.0),
                    description="Nodes that moved at each iteration.",
                ),
            )
        )
    elif seconds[-1] > seconds[0]:
        figures.append(
            Figure(
                "Entropy over time",
                xy(
                    [Series("entropy", seconds, entropy)],
                    Axis("seconds", log=sudden),
                    axis,
                    description=_fall("seconds", seconds, entropy),
                ),
            )
        )
    return Section("Convergence", lead, figures)


def _steep_start(entropy: Sequence[float]) -> int:
    """How many first iterations would hide all that comes after them.

    >>> _steep_start([900.0, 9.0, 8.0, 7.0]), _steep_start([9.0, 8.0, 7.0, 6.0])
    (1, 0)
    """
    lowest = min(entropy)
    high = lowest + abs(lowest)
    start = next((i for i, s in enumerate(entropy) if s <= high), 0)
    return start if len(entropy) - start >= 3 else 0


def _sudden(entropy: Sequence[float]) -> bool:
    """Whether most of the fall is in the first few iterations: then they need more room."""
    early = entropy[min(len(entropy) - 1, max(1, len(entropy) // 20))]
    return entropy[0] - early > 0.5 * (entropy[0] - min(entropy)) > 0


def _fall(what: str, at: Sequence[float], entropy: Sequence[float]) -> str:
    return (
        f"Entropy from {short(entropy[0], 4)} at {what} {short(at[0])} "
        f"to {short(entropy[-1], 4)} at {what} {short(at[-1])}."
    )


def parameters(given: Mapping[str, Any], of: str = "") -> Section:
    """What the run was asked to do."""
    rows: list[list[Cell]] = [[name, _plain(value)] for name, value in given.items()]
    section = Section("Settings", f"As {of} was given them." if of else "")
    if rows:
        section.tables.append(Panel("", ChartTable(["setting", "value"], rows)))
    return section


def _plain(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, float):
        return short(value, 6)
    if isinstance(value, np.ndarray) or (isinstance(value, list | tuple) and len(value) > 6):
        return f"{type(value).__name__} of {len(value):,}"
    return str(value)


def assumptions(remarks: Sequence[str]) -> Section:
    """What was cleaned or taken for granted on the way."""
    return Section("What was assumed", notes=list(remarks))


def unfinished(converged: bool | None, locally_optimal: bool | None = None) -> list[str]:
    """What is left to try, in sentences; nothing where the search came to its end."""
    reasons = []
    if converged is False:
        reasons.append("The search stopped before it converged: more iterations may find better.")
    if locally_optimal is False:
        reasons.append(
            "Some single move would still improve it: --search best ends where none does."
        )
    return reasons


def yes_no(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"


def count(name: str, value: float, note: str = "") -> Fact:
    """A whole number as a fact."""
    return Fact(name, f"{int(value):,}" if value < 10_000_000 else short(value), note)

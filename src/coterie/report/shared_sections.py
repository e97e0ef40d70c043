"""Sections that several reports share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coterie.base.number_text import short
from coterie.base.progress import Iteration
from coterie.report.charts import Axis, ChartTable, Series, xy
from coterie.report.charts.drawing import Cell
from coterie.report.page import Fact, Figure, Panel, Section

_ENTROPY = (
    "The entropy S is minus the natural logarithm of the likelihood: how much information it takes "
    "to describe the data with this model, in nats (1 nat is about 1.44 bits). Lower is better. "
    "Compare it only between fits of the same data with the same objective."
)
_MERGES_FIRST = (
    " The search starts with many small blocks and merges them to the requested number, so the "
    "entropy rises at first."
)


def convergence(
    history: Sequence[Iteration], *, merges_first: bool = False, described: bool = False
) -> Section:
    """Draw entropy over iterations and over time, and how many nodes still move.

    `merges_first`: the search begins by merging blocks, which raises the entropy. `described`: the
    history has description lengths.
    """
    if not history:
        return Section("Convergence")
    start = _steep_start([h.entropy for h in history])
    drawn = history[start:]
    entropy = [float(h.entropy) for h in drawn]
    iteration = [int(h.iteration) for h in drawn]
    seconds = [float(h.seconds) for h in drawn]
    axis = Axis("description length (nats)" if described else "entropy S (nats)")
    sudden = _falls_early(entropy)
    caption = "Lower is better."
    if merges_first and max(entropy) > entropy[0]:
        caption += _MERGES_FIRST
    if start:
        first = short(float(history[0].entropy))
        caption += f" Not drawn: the fall from {first}, before iteration {iteration[0]}."
    figures = [
        Figure(
            "Description length at each step" if described else "Entropy at each iteration",
            xy(
                [Series("entropy", iteration, entropy)],
                Axis("iteration", log=sudden),
                axis,
                description=_fall("iteration", iteration, entropy),
            ),
            caption,
            pictured=True,
        )
    ]
    if any(h.moved is not None for h in drawn):
        moved = [float(h.moved) if h.moved is not None else np.nan for h in drawn]
        figures.append(
            Figure(
                "Nodes that changed their block",
                xy(
                    [Series("moved", iteration, moved)],
                    Axis("iteration", log=sudden),
                    Axis("nodes moved", lo=0.0),
                    description="Nodes that changed their block at each iteration.",
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
    return Section("Convergence", _ENTROPY, figures)


def _steep_start(entropy: Sequence[float]) -> int:
    """Count the first iterations that are so high that they would flatten the rest of the curve.

    >>> _steep_start([900.0, 9.0, 8.0, 7.0]), _steep_start([9.0, 8.0, 7.0, 6.0])
    (1, 0)
    """
    lowest = min(entropy)
    high = lowest + abs(lowest)
    start = next((i for i, s in enumerate(entropy) if s <= high), 0)
    return start if len(entropy) - start >= 3 else 0


def _falls_early(entropy: Sequence[float]) -> bool:
    """Return whether most of the fall is in the first few iterations: then they need more room."""
    early = entropy[min(len(entropy) - 1, max(1, len(entropy) // 20))]
    return entropy[0] - early > 0.5 * (entropy[0] - min(entropy)) > 0


def _fall(what: str, at: Sequence[float], entropy: Sequence[float]) -> str:
    return (
        f"Entropy from {short(entropy[0], 4)} at {what} {short(at[0])} "
        f"to {short(entropy[-1], 4)} at {what} {short(at[-1])}."
    )


def parameters(given: Mapping[str, Any], estimator: str = "") -> Section:
    """List the settings of the fit, by the names of the estimator's parameters."""
    rows: list[list[Cell]] = [[name, _plain(value)] for name, value in given.items()]
    section = Section("Settings", f"The parameters of {estimator}." if estimator else "")
    if rows:
        section.tables.append(Panel("", ChartTable(["parameter", "value"], rows)))
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
    """List what was cleaned while reading and what the model assumes."""
    return Section("What was assumed", notes=list(remarks))


def next_steps(
    converged: bool | None, locally_optimal: bool | None = None, *, searched_best: bool = False
) -> list[str]:
    """Suggest in sentences what may improve the result; nothing if the search finished."""
    steps = []
    if converged is False:
        steps.append(
            "The search stopped before it converged. Allow more iterations; the result may improve."
        )
    if locally_optimal is False:
        remedy = (
            "more iterations or more starts"
            if searched_best
            else "the search “best” (the default), which stops only where no single move helps"
        )
        steps.append(
            "The result is not locally optimal: moving one node to another block would still "
            f"lower the entropy. Try {remedy}."
        )
    return steps


def yes_no(value: bool | None) -> str:
    """Write a truth value for people; None is unknown."""
    return "unknown" if value is None else "yes" if value else "no"


def count(name: str, value: float, note: str = "") -> Fact:
    """Return a fact with a whole number."""
    return Fact(name, f"{int(value):,}" if value < 10_000_000 else short(value), note)

"""What several reports share: the fit, its convergence, its assumptions and its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.base.number_text import short
from coterie.base.progress import Iteration
from coterie.data import Graph
from coterie.models.hard.clustering import ClusteringFacts
from coterie.report.charts import Axis, Series, xy
from coterie.report.charts.drawing import Cell, Chart
from coterie.report.page import Fact, Section

_ENTROPY = (
    "The entropy S is minus the natural logarithm of the likelihood: how much information it takes "
    "to describe the data with this model, in nats (1 nat is about 1.44 bits). Lower is better. "
    "Compare it only between fits of the same data with the same objective."
)
_LENGTH = (
    "The description length is how much information it takes to write down the blocks and then the "
    "network with their help, in nats (1 nat is about 1.44 bits). Lower is better. Lengths of the "
    "same network may be compared between models and between numbers of blocks."
)
_MERGES_FIRST = (
    " The search starts with many small blocks and merges them to the requested number, so the "
    "{what} rises at first."
)


@dataclass(frozen=True)
class Fit:
    """One fit of one model, whatever it found.

    `assumed` are remarks made while the data were read; `facts` those of a hard clustering.
    """

    model: Any
    data: Any
    assumed: Sequence[str] = ()
    facts: ClusteringFacts | None = None

    @property
    def converged(self) -> bool | None:
        """Whether the search converged; None if the model does not report it."""
        return getattr(self.model, "converged_", None)

    @property
    def interrupted(self) -> bool:
        """Whether the search was stopped before it was finished."""
        return bool(getattr(self.model, "interrupted_", False))

    @property
    def locally_optimal(self) -> bool | None:
        """Whether no single move improves the result; None if it is not known."""
        return None if self.interrupted else getattr(self.model, "locally_optimal_", None)

    @property
    def merges_first(self) -> bool:
        """Whether the search began by merging many small blocks."""
        return self.facts is not None and self.facts.merges_first

    @property
    def description_length(self) -> float | None:
        """The description length if the search minimised it: the history has it then."""
        if self.facts is None or not self.facts.minimised_length:
            return None
        return self.facts.description_length

    def next_steps(self) -> list[str]:
        """Suggest in sentences what may improve the result; nothing if the search finished."""
        steps = []
        if self.interrupted:
            steps.append(
                "The search was stopped before it was finished. This is its best result so far; "
                "the blocks and their number can still change."
                if self.facts is not None
                else "The search was stopped before it was finished; the result can still change."
            )
        elif self.converged is False:
            steps.append(
                "The search stopped before it converged. Allow more iterations; the result may "
                "improve."
            )
        if self.locally_optimal is False:
            what = "entropy" if self.description_length is None else "description length"
            remedy = (
                "more iterations or more starts"
                if self.merges_first
                else "the search “best” (the default), which stops only where no single move helps"
            )
            steps.append(
                "The result is not locally optimal: moving one node to another block would still "
                f"lower the {what}. Try {remedy}."
            )
        return steps

    def top_facts(self) -> list[Fact]:
        """Entropy, iterations, time and convergence as figures on top of the page."""
        described, history = self.description_length, self.model.history_
        what, value = ("entropy", float(self.model.entropy_))
        if described is not None:
            what, value = ("description length", described)
        facts = [
            Fact(what, short(value, 4), "nats; lower is better"),
            count("iterations", len(history)),
            Fact("time", f"{short(history[-1].seconds if history else 0.0)} s", "the fit alone"),
            Fact("converged", yes_no(self.converged)),
        ]
        if self.locally_optimal is not None:
            lower, what = ("lower", "entropy") if described is None else ("shorten", "description")
            note = (
                f"no single move {lower}s the {what}"
                if self.locally_optimal
                else f"a single move would {lower} the {what}"
            )
            facts.append(Fact("locally optimal", yes_no(self.locally_optimal), note))
        return facts

    def closing_sections(self) -> list[Section]:
        """Convergence, assumptions and settings: the end of every report of a fit."""
        described = self.description_length is not None
        return [
            convergence(self.model.history_, merges_first=self.merges_first, described=described),
            assumptions(model_assumptions(self.model, self.data, self.assumed)),
            settings(self.model),
        ]


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
    what = "description length" if described else "entropy"
    height = Axis("description length (nats)" if described else "entropy S (nats)")
    sudden = _falls_early(entropy)

    def curve(name: str, unit: str, x: Sequence[float], y: Sequence[float], up: Axis) -> Chart:
        ends = [f"{short(y[i], 4)} at {unit} {short(x[i])}" for i in (0, -1)]
        description = "Nodes that changed their block at each iteration."
        if name == what:
            description = f"{what.capitalize()} from {ends[0]} to {ends[1]}."
        return xy([Series(name, x, y)], Axis(unit, log=sudden), up, description=description)

    caption = "Lower is better."
    if merges_first and max(entropy) > entropy[0]:
        caption += _MERGES_FIRST.format(what=what)
    if start:
        first = short(float(history[0].entropy))
        caption += f" Not drawn: the fall from {first}, before iteration {iteration[0]}."
    section = Section("Convergence", _LENGTH if described else _ENTROPY)
    section.draw(
        "Description length at each step" if described else "Entropy at each iteration",
        curve(what, "iteration", iteration, entropy, height),
        caption,
        pictured=True,
    )
    if any(h.moved is not None for h in drawn):
        moved = [float(h.moved) if h.moved is not None else np.nan for h in drawn]
        chart = curve("moved", "iteration", iteration, moved, Axis("nodes moved", lo=0.0))
        section.draw("Nodes that changed their block", chart)
    elif seconds[-1] > seconds[0]:
        chart = curve(what, "seconds", seconds, entropy, height)
        section.draw(f"{what.capitalize()} over time", chart)
    return section


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


def settings(model: Any) -> Section:
    """List the parameters of a model by their names."""
    rows: list[list[Cell]] = [[name, _plain(value)] for name, value in model.get_params().items()]
    section = Section("Settings", f"The parameters of {model.public_name()}.")
    section.tabulate(["parameter", "value"], rows)
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


def model_assumptions(model: Any, data: Any, remarks: Sequence[str] = ()) -> list[str]:
    """List what was cleaned, what the model assumes, and how the result depends on the seed.

    `remarks`: the AssumptionWarnings of this run, which come first and are not repeated.
    """
    sentences = list(remarks)
    if isinstance(data, Graph):
        cleaned = str(data.cleaned)
        if not any(cleaned in sentence for sentence in sentences):
            sentences.append(f"Cleaned while reading: {cleaned}.")
    if model is not None:
        sentences += model.assumptions(data)
    return [_sentence(text) for text in dict.fromkeys(sentences) if text]


def _sentence(text: str) -> str:
    """Write a remark as a sentence; a path is shortened to the name of the file.

    >>> _sentence("edges merged"), _sentence("/home/me/a.txt: 2 edges merged")
    ('Edges merged.', 'a.txt: 2 edges merged.')
    """
    file, colon, rest = text.partition(": ")
    if colon and "." in file and " " not in file:
        text = f"{file.rsplit('/', 1)[-1]}: {rest}"
    else:
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def yes_no(value: bool | None) -> str:
    """Write a truth value for people; None is unknown."""
    return "unknown" if value is None else "yes" if value else "no"


def count(name: str, value: float, note: str = "") -> Fact:
    """Return a fact with a whole number."""
    return Fact(name, f"{int(value):,}" if value < 10_000_000 else short(value), note)

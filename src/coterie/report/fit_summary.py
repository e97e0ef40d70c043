"""The part of a report about the fit: settings, entropy, history and assumptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coterie.base.number_text import short
from coterie.base.progress import Iteration
from coterie.data import Graph, Ratings
from coterie.models.hard.graph_results import ClusteringFacts
from coterie.report.assumptions import model_assumptions
from coterie.report.page import Fact, Section
from coterie.report.shared_sections import (
    assumptions,
    convergence,
    count,
    next_steps,
    parameters,
    yes_no,
)


@dataclass(frozen=True)
class FitSummary:
    """One fit of one model, independent of what was found."""

    name: str  # of the data, as the reader knows them
    method: str  # class name of the estimator
    parameters: Mapping[str, Any]  # by name, as the estimator was given them
    entropy: float
    history: tuple[Iteration, ...]
    converged: bool | None  # None if the model does not report it
    locally_optimal: bool | None
    assumed: tuple[str, ...]
    description_length: float | None = None  # if the search minimised it; `history` has it then
    merges_first: bool = False  # the search began by merging many small blocks

    @property
    def seconds(self) -> float:
        """Duration of the fit, without compiling."""
        return self.history[-1].seconds if self.history else 0.0

    def next_steps(self) -> list[str]:
        """Suggestions to improve the result, in sentences."""
        return next_steps(self.converged, self.locally_optimal, searched_best=self.merges_first)

    def facts(self) -> list[Fact]:
        """Entropy, iterations, time and convergence as figures on top of the page."""
        described = self.description_length
        facts = [Fact("entropy", short(self.entropy, 4), "nats; lower is better")]
        if described is not None:
            facts = [Fact("description length", short(described, 4), "nats; lower is better")]
        facts += [
            count("iterations", len(self.history)),
            Fact("time", f"{short(self.seconds)} s", "the fit alone"),
            Fact("converged", yes_no(self.converged)),
        ]
        if self.locally_optimal is not None:
            lower = ("lowers", "lower") if described is None else ("shortens", "shorten")
            what = "entropy" if described is None else "description"
            note = (
                f"no single move {lower[0]} the {what}"
                if self.locally_optimal
                else f"a single move would {lower[1]} the {what}"
            )
            facts.append(Fact("locally optimal", yes_no(self.locally_optimal), note))
        return facts

    def closing_sections(self) -> list[Section]:
        """Convergence, assumptions and settings: the end of every report of a fit."""
        return [
            convergence(
                self.history,
                merges_first=self.merges_first,
                described=self.description_length is not None,
            ),
            assumptions(self.assumed),
            parameters(self.parameters, self.method),
        ]


def minimised_description(facts: ClusteringFacts) -> float | None:
    """Return the description length of a fitted model if its search minimised it, else None.

    The history of such a model has description lengths, not entropies."""
    return facts.description_length if facts.minimised_length else None


def summarize_fit(
    model: Any,
    data: Graph | Ratings,
    *,
    name: str,
    assumed: Sequence[str] = (),
    facts: ClusteringFacts | None = None,
) -> FitSummary:
    """Summarize a fitted model; `assumed` are remarks made while the data were read.

    `facts`: of a hard clustering."""
    return FitSummary(
        name=name,
        method=type(model).__name__,
        parameters=model.get_params(),
        entropy=float(model.entropy_),
        history=tuple(model.history_),
        converged=getattr(model, "converged_", None),
        locally_optimal=getattr(model, "locally_optimal_", None),
        assumed=tuple(model_assumptions(model, data, assumed)),
        description_length=None if facts is None else minimised_description(facts),
        merges_first=facts is not None and facts.merges_first,
    )

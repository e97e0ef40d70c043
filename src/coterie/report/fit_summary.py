"""The part of a report about the fit: settings, entropy, history and assumptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coterie.base.number_text import short
from coterie.base.progress import Iteration
from coterie.data import Graph, Ratings
from coterie.models.hard.description.choice import is_described
from coterie.models.hard.weight_models import COUNTS
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

    @property
    def seconds(self) -> float:
        """Duration of the fit, without compiling."""
        return self.history[-1].seconds if self.history else 0.0

    @property
    def searched_best(self) -> bool:
        """Whether the search was `best`, which merges many small blocks at first."""
        return self.parameters.get("search") == "best"

    def next_steps(self) -> list[str]:
        """Suggestions to improve the result, in sentences."""
        return next_steps(self.converged, self.locally_optimal, searched_best=self.searched_best)

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
                merges_first=self.searched_best,
                described=self.description_length is not None,
            ),
            assumptions(self.assumed),
            parameters(self.parameters, self.method),
        ]


def minimised_description(model: Any) -> float | None:
    """Return the description length of a fitted model if its search minimised it, else None.

    The history of such a model has description lengths, not entropies."""
    graph = getattr(model, "graph_", None)
    if graph is None or getattr(model, "search", "") != "best":
        return None
    real = getattr(model, "weight_model", COUNTS) != COUNTS
    free = model.n_blocks in ("auto", "nested")
    if real or (free and is_described(model.objective, graph)):
        return float(model.description_length_)
    return None


def summarize_fit(
    model: Any, data: Graph | Ratings, *, name: str, assumed: Sequence[str] = ()
) -> FitSummary:
    """Summarize a fitted model; `assumed` are remarks made while the data were read."""
    return FitSummary(
        name=name,
        method=type(model).__name__,
        parameters=model.get_params(),
        entropy=float(model.entropy_),
        history=tuple(model.history_),
        converged=getattr(model, "converged_", None),
        locally_optimal=getattr(model, "locally_optimal_", None),
        assumed=tuple(model_assumptions(model, data, assumed)),
        description_length=minimised_description(model),
    )

"""Reproduce the experiments of the paper (section 5) and judge its claims."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from coterie.base.errors import InputError

from .alpha_figures import fig_alpha_astroph, fig_alpha_caida
from .degree_figures import fig_degree
from .graph_figures import fig_apl, fig_entropy, fig_gcc
from .graph_runs import GraphRuns
from .hard_figures import fig5, table3
from .outcome import Outcome
from .rating_runs import RatingRuns
from .settings import Setting, hardware
from .soft_figures import fig4, table2
from .tradeoff_figures import fig_tradeoff
from .write_page import Reproduction, save

_RATING_EXPERIMENTS: dict[str, Callable[[RatingRuns], Outcome]] = {
    "fig4": fig4,
    "table2": table2,
    "fig5": fig5,
    "table3": table3,
}
_GRAPH_EXPERIMENTS: dict[str, Callable[[GraphRuns], Outcome]] = {
    "fig-alpha-caida": fig_alpha_caida,
    "fig-alpha-astroph": fig_alpha_astroph,
    "fig-entropy": fig_entropy,
    "fig-apl": fig_apl,
    "fig-gcc": fig_gcc,
    "fig-degree": fig_degree,
    "fig-tradeoff": fig_tradeoff,
}
NAMES = (*_RATING_EXPERIMENTS, *_GRAPH_EXPERIMENTS)


def reproduce(what: str, setting: Setting, folder: Path) -> Reproduction:
    """Run the experiment of one of NAMES, or "all", and write the results to `folder`."""
    if what != "all" and what not in NAMES:
        raise InputError(
            f"{what!r} is not a table or figure of the paper",
            remedy=f"give all or one of {', '.join(NAMES)}",
        )
    began = perf_counter()
    ratings, graphs = RatingRuns(setting), GraphRuns(setting)
    chosen = NAMES if what == "all" else (what,)
    outcomes = []
    for place, name in enumerate(chosen):
        setting.say(name, place, len(chosen))
        if name in _RATING_EXPERIMENTS:
            outcomes.append(_RATING_EXPERIMENTS[name](ratings))
        else:
            outcomes.append(_GRAPH_EXPERIMENTS[name](graphs))
    seconds = perf_counter() - began
    reproduction = Reproduction(outcomes, hardware(setting.engine.threads), seconds)
    save(reproduction, folder)
    return reproduction

"""`coterie soft`: soft clustering (mixed memberships) of a graph or of ratings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.cli.fitting import (
    CheckpointArguments,
    Counts,
    FitOutcome,
    checkpoint_arguments,
    engine_of,
    show_fit,
    summary_of,
)
from coterie.cli.reading import ANYTHING, load_data, parse_groups, refuse_report_of_shards
from coterie.cli.session import Session, command, stopwatch

if TYPE_CHECKING:
    from coterie.data.foreign import TableColumns
    from coterie.engine import Engine
    from coterie.models.soft.mmsbm import MMSBM

EXAMPLES = """\b
Examples:
  coterie soft friends.csv --groups 5 --out memberships.csv --report report.html
  coterie soft ratings.csv --groups 10,12 --objective ratings --runs 4
  coterie soft friends.csv --groups 5 --method monte-carlo --samples 50
"""


_SAMPLES = 30  # default of --samples


@command(reads=ANYTHING)
def run(
    session: Session,
    graph: str,
    groups: str,
    objective: str = "simple",
    method: str = "exact",
    samples: int | None = None,
    absent_pairs: str = "auto",
    iterations: int = 500,
    tol: float = 1e-6,
    prior: float = 0.0,
    init: str | None = None,
    runs: int = 1,
    out: Path | None = None,
    report: Path | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    engine: str = "local",
    scheduler: str | None = None,
) -> JsonObject:
    """Give every node a share of each group (soft clustering).

    Fits a mixed membership stochastic block model to a graph or to ratings. Prints the entropy
    (lower is better).
    """
    from coterie.models.soft.mmsbm import MCMMSBM, MMSBM

    saving = checkpoint_arguments(checkpoint, resume)
    if samples is not None and method == "exact":
        raise InputError(
            "--samples has no effect on the exact method", remedy="add --method monte-carlo"
        )
    data = load_data(session, graph, objective)
    refuse_report_of_shards(report, graph)
    make: Callable[..., MMSBM] = (
        MMSBM if method == "exact" else partial(MCMMSBM, n_samples=samples or _SAMPLES)
    )
    model = make(
        n_groups=parse_groups(groups),
        max_iter=iterations,
        tol=tol,
        prior=prior,
        n_init=runs,
        init=_start_of(init, data),
        absent=absent_pairs,
        rng=session.seed,
    )
    with engine_of(session, engine, scheduler) as running:
        seconds = _fit(session, model, data, running, saving)
    if out is not None:
        from coterie.data.writers import write_table

        write_table(out, _memberships_table(model, data))
    if report is not None:
        from coterie.report.pdf import write_page
        from coterie.report.soft_report import render

        page = render(model, data, name=Path(graph).name, assumed=session.assumed)
        write_page(page, report)
    groups_found = list(model.theta_.shape[:2])
    counts: Counts = (
        {"nodes": data.n_nodes, "edges": data.n_edges, "groups": groups_found[0]}
        if model.fitted_to_graph
        else {"nodes": [data.n_users, data.n_items], "edges": len(data), "groups": groups_found}
    )
    outcome = FitOutcome(model, seconds, [run.entropy for run in model.runs_])
    files = {"memberships": out, "report": report}
    show_fit(session, counts, outcome, more=_comparison_rows(model), files=files)
    session.summary = summary_of(outcome, counts, "mixed memberships", files)
    return {
        **counts,
        **outcome.json_keys(),
        "init": model.init,
        "hard_entropy": model.hard_entropy_,
    }


def _comparison_rows(model: MMSBM) -> list[tuple[str, str]]:
    """Return the row of the table that compares with the hard clustering at the start."""
    if model.hard_entropy_ is None:
        return []
    lower = model.hard_entropy_ - model.entropy_
    verdict = (
        f"mixed memberships lower it by {lower:,.2f}"
        if lower >= 0
        else f"mixed memberships are {-lower:,.2f} above; increase --iterations"
    )
    return [("hard clustering", f"{model.hard_entropy_:,.2f} nats; {verdict}")]


def _start_of(given: str | None, data: Any) -> str:
    """Return the start of the fit; a hard clustering needs the data in memory."""
    from coterie.data import Graph, Ratings

    if given is not None:
        return given
    return "hard" if isinstance(data, Graph | Ratings) else "random"


def _fit(
    session: Session,
    model: MMSBM,
    data: Any,
    engine: Engine,
    saving: CheckpointArguments,
) -> float:
    """Fit the model and return the seconds it took, without compiling."""
    from coterie.base.progress import Progress

    with session.progress("soft clustering") as callback:
        callback(Progress("compiling", 0))
        model.compile(data, engine)
        with stopwatch() as seconds:
            model.fit(data, engine, callback, **saving)
            taken = seconds()
    session.interrupted = model.interrupted_
    return taken


def _memberships_table(model: MMSBM, data: Any) -> TableColumns:
    """Make the columns of the memberships file, one row per node.

    Users and items get a side, and empty cells where one side has fewer groups.
    """
    import numpy as np

    if model.fitted_to_graph:
        shares = model.memberships_
        return {"node": data.ids} | {f"g_{i}": shares[:, i] for i in range(shares.shape[1])}
    sides = (model.user_memberships_, model.item_memberships_)
    width = max(side.shape[1] for side in sides)
    columns: TableColumns = {
        "side": np.repeat(["user", "item"], [len(side) for side in sides]),
        "node": [*data.user_ids.tolist(), *data.item_ids.tolist()],
    }
    for i in range(width):
        parts = [side[:, i].tolist() if i < side.shape[1] else [""] * len(side) for side in sides]
        columns[f"g_{i}"] = np.array([*parts[0], *parts[1]], dtype=object)
    return columns

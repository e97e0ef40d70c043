"""`coterie soft`: to which groups does each node belong, and how much?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.base.errors import InputError
from coterie.cli.checkpoint_options import CheckpointOption, ResumeOption, saving
from coterie.cli.engine_options import EngineOption, SchedulerOption, Where, engine_of
from coterie.cli.input_options import (
    FormatOption,
    GraphArgument,
    SeparatorOption,
    load_graph,
    load_ratings,
    load_shards,
    parse_groups,
)
from coterie.cli.session import Session, command, stopwatch

if TYPE_CHECKING:
    from coterie.engine import Engine
    from coterie.models.soft.estimator import SoftModel


class Method(StrEnum):
    exact = "exact"
    monte_carlo = "monte-carlo"


class Absent(StrEnum):
    auto = "auto"
    exact = "exact"
    sampled = "sampled"
    ignored = "ignored"


class Objective(StrEnum):
    simple = "simple"
    directed = "directed"
    weighted = "weighted"
    ratings = "ratings"


_DRAWS = 30


@command
def run(
    session: Session,
    graph: GraphArgument,
    groups: Annotated[str, typer.Option(help="How many groups; K,L for users and items.")],
    method: Annotated[Method, typer.Option(help="The update: exact, or drawn.")] = Method.exact,
    samples: Annotated[
        int | None, typer.Option(min=1, help=f"Draws a pair, monte-carlo only ({_DRAWS}).")
    ] = None,
    absent: Annotated[
        Absent,
        typer.Option(help="Absent pairs: all, sampled, or (weighted) ignored; auto by size."),
    ] = Absent.auto,
    iterations: Annotated[int, typer.Option(min=0, help="At most so many.")] = 500,
    tol: Annotated[
        float, typer.Option(min=0, help="Stop below this relative gain; 0: run all.")
    ] = 1e-6,
    prior: Annotated[float, typer.Option(min=0, help="A pseudo-count on everything.")] = 0.0,
    runs: Annotated[int, typer.Option(min=1, help="Starts; the best is kept.")] = 1,
    objective: Annotated[
        Objective, typer.Option("--objective", "--kind", help="What the file contains.")
    ] = Objective.simple,
    checkpoint: CheckpointOption = None,
    resume: ResumeOption = False,
    report: Annotated[Path | None, typer.Option(help="Write a report: FILE.html.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write node,g_0,g_1…: FILE.csv.")] = None,
    engine: EngineOption = Where.local,
    scheduler: SchedulerOption = None,
    format: FormatOption = None,
    separator: SeparatorOption = None,
) -> dict[str, Any]:
    """Mixed membership of a graph (or of ratings): a little of each group for every node."""
    from coterie.models.soft.mcmmsbm import MCMMSBM
    from coterie.models.soft.mmsbm import MMSBM

    kept = saving(checkpoint, resume)
    if samples is not None and method is Method.exact:
        raise InputError(
            "--samples has no meaning for the exact update", remedy="add --method monte-carlo"
        )
    data = _read(session, graph, objective, format, separator)
    if report is not None and Path(graph).is_dir():
        raise InputError("--report shows data in memory, not in shards", remedy="use --out")
    options: dict[str, Any] = {
        "n_groups": parse_groups(groups),
        "max_iter": iterations,
        "tol": tol,
        "prior": prior,
        "n_init": runs,
        "absent": absent.value,
        "rng": session.seed,
    }
    model: SoftModel = (
        MMSBM(**options)
        if method is Method.exact
        else MCMMSBM(samples=samples or _DRAWS, **options)
    )
    with engine_of(session, engine, scheduler) as where:
        seconds = _fit(session, model, data, where, kept)
    if out is not None:
        from coterie.data.writers import write_table

        write_table(out, _table(model, data))
    if report is not None:
        from coterie.data.writers import atomic_write
        from coterie.report.soft_report import render

        with atomic_write(report) as file:
            file.write(render(model, data, name=Path(graph).name, assumed=session.assumed))
    result = _result(model, data, seconds)
    _show(session, model, result, out)
    return result


def _fit(
    session: Session,
    model: SoftModel,
    data: Any,
    engine: Engine,
    kept: dict[str, Any],
) -> float:
    """Fit; the seconds it took, without compiling."""
    from coterie.base.progress import Progress

    with session.progress("soft") as callback:
        callback(Progress("compiling", 0))
        model.compile(data, engine)
        with stopwatch() as seconds:
            model.fit(data, engine, callback, **kept)
            taken = seconds()
    session.interrupted = model.interrupted_
    return taken


def _read(
    session: Session, path: str, objective: Objective, format: str | None, separator: str | None
) -> Any:
    """A graph or ratings, in memory or in shards."""
    if Path(path).is_dir():
        return load_shards(path, format=format, separator=separator)
    if objective is Objective.ratings:
        return load_ratings(session, path, format=format, separator=separator)
    return load_graph(
        session,
        path,
        directed=objective is Objective.directed,
        weighted=objective is Objective.weighted,
        format=format,
        separator=separator,
    )


def _table(model: SoftModel, data: Any) -> dict[str, Any]:
    """One row a node; two node sets get a side, and empty cells where one has fewer groups."""
    import numpy as np

    if hasattr(model, "memberships_"):
        shares = model.memberships_
        return {"node": data.ids} | {f"g_{i}": shares[:, i] for i in range(shares.shape[1])}
    sides = (model.user_memberships_, model.item_memberships_)
    width = max(side.shape[1] for side in sides)
    columns: dict[str, Any] = {
        "side": np.repeat(["user", "item"], [len(side) for side in sides]),
        "node": [*data.user_ids.tolist(), *data.item_ids.tolist()],
    }
    for i in range(width):
        parts = [side[:, i].tolist() if i < side.shape[1] else [""] * len(side) for side in sides]
        columns[f"g_{i}"] = np.array([*parts[0], *parts[1]], dtype=object)
    return columns


def _result(model: SoftModel, data: Any, seconds: float) -> dict[str, Any]:
    groups = list(model.theta_.shape[:2])
    size: dict[str, Any] = (
        {"nodes": data.n_nodes, "edges": data.n_edges, "groups": groups[0]}
        if hasattr(model, "memberships_")
        else {"nodes": [data.n_users, data.n_items], "edges": len(data), "groups": groups}
    )
    return size | {
        "entropy": model.entropy_,
        "iterations": len(model.history_),
        "converged": model.converged_,
        "interrupted": model.interrupted_,
        "seconds": seconds,
        "run_entropies": [run.entropy for run in model.runs_],
        "history": [
            {"iteration": i.iteration, "seconds": i.seconds, "entropy": i.entropy}
            for i in model.history_
        ],
    }


def _show(session: Session, model: SoftModel, result: dict[str, Any], out: Path | None) -> None:
    from rich.table import Table

    table = Table(show_header=False, box=None)
    for name in ("nodes", "edges", "groups"):
        sides = result[name] if isinstance(result[name], list) else [result[name]]
        table.add_row(name, " and ".join(f"{count:,}" for count in sides))
    table.add_row("entropy", f"{result['entropy']:,.2f}")
    ended = "converged" if result["converged"] else "not converged: more --iterations would help"
    if result["interrupted"]:
        ended = "interrupted; the best state so far was kept"
    table.add_row("iterations", f"{result['iterations']:,} ({ended})")
    table.add_row("seconds", f"{result['seconds']:.2f}")
    if out is not None:
        table.add_row("memberships", str(out))
    session.show(table)

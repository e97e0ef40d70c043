"""`coterie cluster`: which block does each node belong to?"""

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
    SeparatorOption,
    load_graph,
    load_ratings,
    load_shards,
)
from coterie.cli.session import Session, command

if TYPE_CHECKING:
    import numpy as np

    from coterie.models.hard.estimator import GeneralizedKMeans


class Search(StrEnum):
    paper = "paper"
    best = "best"


class Score(StrEnum):
    exact = "exact"
    fixed = "fixed"


class Objective(StrEnum):
    simple = "simple"
    degree_corrected = "degree-corrected"
    directed = "directed"
    weighted = "weighted"
    ratings = "ratings"
    binomial = "binomial"
    likes = "likes"


_TWO_SETS = (Objective.ratings, Objective.binomial, Objective.likes)


@command
def run(
    session: Session,
    graph: Annotated[str, typer.Argument(metavar="GRAPH", help="The file; - is stdin.")],
    blocks: Annotated[str, typer.Option(help="How many blocks: K, K,L for two node sets, auto.")],
    search: Annotated[
        Search, typer.Option(help="Generalized k-means, or the lowest entropy we can reach.")
    ] = Search.best,
    score: Annotated[
        Score, typer.Option(help="The exact change of S, or with theta held fixed.")
    ] = Score.exact,
    alpha: Annotated[float, typer.Option(help="The share of the nodes in a batch.")] = 0.1,
    iterations: Annotated[int, typer.Option(min=0, help="At most so many.")] = 300,
    tol: Annotated[
        float, typer.Option(min=0, help="Stop below this relative gain; 0: run all.")
    ] = 1e-6,
    objective: Annotated[
        Objective,
        typer.Option(
            "--objective", "--kind", help="What the file contains and how it is modelled."
        ),
    ] = Objective.simple,
    min_block_size: Annotated[int, typer.Option(min=0, help="No block is smaller.")] = 0,
    runs: Annotated[int, typer.Option(min=1, help="Starts; the best is kept.")] = 1,
    checkpoint: CheckpointOption = None,
    resume: ResumeOption = False,
    truth: Annotated[
        Path | None, typer.Option(help="Compare with the labels in FILE (node,block).")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw convergence and blocks: FILE.svg.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report: FILE.html.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write node,block: FILE.csv.")] = None,
    engine: EngineOption = Where.local,
    scheduler: SchedulerOption = None,
    format: FormatOption = None,
    separator: SeparatorOption = None,
) -> dict[str, Any]:
    """Hard clustering: every node in one block of a stochastic block model."""
    from coterie.models.hard.estimator import GeneralizedKMeans

    count = _blocks(blocks)
    kept = saving(checkpoint, resume)
    data = _read(session, graph, objective, format, separator)
    if report is not None and Path(graph).is_dir():
        raise InputError(
            "--report draws a graph in memory, not one in shards", remedy="use --plot or --out"
        )
    known = None if truth is None else _truth(truth, data)
    model = GeneralizedKMeans(
        count,
        objective=objective.value,
        search=search.value,
        score=score.value,
        alpha=alpha,
        max_iter=iterations,
        tol=tol,
        n_init=runs,
        min_block_size=min_block_size,
        rng=session.seed,
    )
    with (
        engine_of(session, engine, scheduler) as where,
        session.progress("cluster") as callback,
    ):
        model.fit(data, engine=where, callback=callback, **kept)
    session.interrupted = model.interrupted_
    result = _result(model, data)
    if known is not None:
        result |= _agreement(model, known)
    _write(session, model, data, Path(graph).name, out, plot, report)
    _show(session, result, {"labels": out, "picture": plot, "report": report})
    return result


def _blocks(text: str) -> int | tuple[int, int] | str:
    if text == "auto":
        return text
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise InputError(f"--blocks {text}", remedy="give K, K,L for users and items, or auto")
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def _read(
    session: Session, path: str, objective: Objective, format: str | None, separator: str | None
) -> Any:
    """A graph or ratings, in memory or in shards."""
    if Path(path).is_dir():
        return load_shards(path, format=format, separator=separator)
    if objective in _TWO_SETS:
        return load_ratings(
            session, path, likes=objective is Objective.likes, format=format, separator=separator
        )
    return load_graph(
        session,
        path,
        directed=objective is Objective.directed,
        weighted=objective is Objective.weighted,
        format=format,
        separator=separator,
    )


def _truth(path: Path, data: Any) -> tuple[np.ndarray, np.ndarray]:
    """(nodes, their true blocks): the nodes of the file that the graph has."""
    import numpy as np

    from coterie.data import Graph
    from coterie.data.readers import read_columns
    from coterie.engine.sharded_data import ShardedGraph

    if not isinstance(data, Graph | ShardedGraph):
        raise InputError("--truth compares the nodes of a graph, not users and items")
    table = read_columns(path, ("node", "block"))
    place = {str(name): v for v, name in enumerate(data.ids.tolist())}
    nodes = np.array([place.get(str(name), -1) for name in table["node"].tolist()], np.int64)
    if not (nodes >= 0).any():
        raise InputError(
            "no node of this file is in the graph", path=path, remedy="give node,block"
        )
    return nodes[nodes >= 0], np.asarray(table["block"])[nodes >= 0]


def _agreement(model: GeneralizedKMeans, known: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
    from coterie.models.agreement import adjusted_mutual_information, adjusted_rand

    nodes, blocks = known
    found = model.labels_[nodes]
    return {
        "compared": len(nodes),
        "ari": adjusted_rand(found, blocks),
        "ami": adjusted_mutual_information(found, blocks),
    }


def _result(model: GeneralizedKMeans, data: Any) -> dict[str, Any]:
    one_set = hasattr(model, "labels_")
    return {
        "nodes": data.n_nodes if one_set else [data.n_users, data.n_items],
        "edges": data.n_edges if one_set else len(data),
        "blocks": model.n_blocks_,
        "entropy": model.entropy_,
        "iterations": len(model.history_),
        "converged": model.converged_,
        "locally_optimal": model.locally_optimal_,
        "interrupted": model.interrupted_,
        "seconds": model.seconds_,
        "run_entropies": model.run_entropies_,
        "history": [entry._asdict() for entry in model.history_],
    }


def _write(
    session: Session,
    model: GeneralizedKMeans,
    data: Any,
    name: str,
    out: Path | None,
    plot: Path | None,
    report: Path | None,
) -> None:
    if out is not None:
        from coterie.data.writers import write_table

        write_table(out, _table(model, data))
    if plot is not None:
        from coterie.report.cluster_plots import write_plot

        write_plot(model, plot, title=name)
    if report is not None:
        from coterie.data.atomic_files import atomic_write
        from coterie.report.cluster_report import render

        with atomic_write(report) as file:
            file.write(render(model, data, name=name, assumed=session.assumed))


def _table(model: GeneralizedKMeans, data: Any) -> dict[str, Any]:
    """One row a node; two node sets get a side."""
    import numpy as np

    if hasattr(model, "labels_"):
        return {"node": data.ids, "block": model.labels_}
    return {
        "side": np.repeat(["user", "item"], [data.n_users, data.n_items]),
        "node": [*data.user_ids.tolist(), *data.item_ids.tolist()],
        "block": np.concatenate([model.user_labels_, model.item_labels_]),
    }


def _show(session: Session, result: dict[str, Any], files: dict[str, Path | None]) -> None:
    from rich.table import Table

    table = Table(show_header=False, box=None)
    for name in ("nodes", "edges", "blocks"):
        sides = result[name] if isinstance(result[name], list | tuple) else [result[name]]
        table.add_row(name, " and ".join(f"{count:,}" for count in sides))
    table.add_row("entropy", f"{result['entropy']:,.2f}")
    ended = "converged" if result["converged"] else "not converged: more --iterations may help"
    if result["interrupted"]:
        ended = "interrupted; the best labels so far were kept"
    table.add_row("iterations", f"{result['iterations']:,} ({ended})")
    optimal = "yes: no single move lowers the entropy" if result["locally_optimal"] else "no"
    if not result["interrupted"]:
        table.add_row("locally optimal", optimal)
    table.add_row("seconds", f"{result['seconds']:.2f}")
    if "ari" in result:
        agreed = f"ARI {result['ari']:.4f}, AMI {result['ami']:.4f}"
        table.add_row("truth", f"{agreed} ({result['compared']:,} nodes)")
    for name, path in files.items():
        if path is not None:
            table.add_row(name, str(path))
    session.show(table)

"""What the commands that fit a model share: where it runs, checkpoints, and their output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.cli.session import Session

if TYPE_CHECKING:
    from coterie.base.progress import Iteration
    from coterie.engine import Engine

Counts = Mapping[str, int | Sequence[int]]  # nodes, edges, blocks … ; two numbers for two sides


class CheckpointArguments(TypedDict, total=False):
    """Keyword arguments of a model's `fit`."""

    checkpoint: Path
    resume: bool


def checkpoint_arguments(checkpoint: Path | None, resume: bool) -> CheckpointArguments:
    """Return the keyword arguments for a model's `fit`."""
    if resume and checkpoint is None:
        raise InputError(
            "--resume requires the file to continue from", remedy="add --checkpoint FILE"
        )
    return {} if checkpoint is None else {"checkpoint": checkpoint, "resume": resume}


@contextmanager
def engine_of(session: Session, name: str, scheduler: str | None) -> Iterator[Engine]:
    """Yield the engine and close it at the end of the block."""
    if scheduler is not None and name != "dask":
        raise InputError("--scheduler requires Dask", remedy="add --engine dask")
    engine: Engine
    if name == "local":
        engine = session.engine()
    else:
        from coterie.engine.dask import DaskEngine

        engine = dask = DaskEngine(scheduler, workers=session.threads)
        session.say(f"Dask dashboard: {dask.dashboard}")
    try:
        yield engine
    finally:
        engine.close()


@dataclass(frozen=True)
class FitOutcome:
    """The result of a fit."""

    entropy: float
    history: Sequence[Iteration]
    converged: bool
    interrupted: bool
    seconds: float
    run_entropies: Sequence[float]
    hard: bool = False  # hard clustering counts moved nodes and checks local optimality
    locally_optimal: bool | None = None
    connected: bool = False  # blocks were kept connected
    description_length: float | None = None  # where it was minimised
    blocks_given: bool = False  # the number of blocks was not chosen by the description length

    def json_keys(self) -> JsonObject:
        """Return the keys of the JSON output that every fit has."""
        keys: JsonObject = {
            "entropy": self.entropy,
            "iterations": len(self.history),
            "converged": self.converged,
            "locally_optimal": self.locally_optimal,
            "interrupted": self.interrupted,
            "seconds": self.seconds,
            "run_entropies": list(self.run_entropies),
            "history": [
                {
                    "iteration": entry.iteration,
                    "seconds": entry.seconds,
                    "entropy": entry.entropy,
                    **({"moved": entry.moved} if self.hard else {}),
                }
                for entry in self.history
            ],
        }
        if not self.hard:
            del keys["locally_optimal"]
        if self.description_length is not None:
            keys["description_length"] = self.description_length
        return keys

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table that every fit has."""
        rows = [
            ("entropy", f"{self.entropy:,.2f} nats (lower is better)"),
            ("iterations", f"{len(self.history):,} ({self._ending()})"),
        ]
        if self.description_length is not None:
            how = "the number of blocks minimises it"
            if self.blocks_given:
                how = "with the number of blocks given"
            described = f"{self.description_length:,.2f} nats ({how})"
            rows.insert(0, ("description length", described))
        if self.hard and not self.interrupted:
            rows.append(("locally optimal", self._optimality()))
        return [*rows, ("seconds", f"{self.seconds:.2f}")]

    def _ending(self) -> str:
        if self.interrupted:
            return "interrupted; the best result so far was kept"
        if self.converged:
            return "converged"
        return "not converged; increase --iterations"

    def _optimality(self) -> str:
        measure = "lower the entropy"
        if self.description_length is not None:
            measure = "shorten the description"
        if self.locally_optimal:
            return f"yes: moving any single node would not {measure}"
        if self.connected:
            return f"no: moving a single node would {measure}, but blocks stay connected"
        if self.description_length is not None:
            return "not verified: moving a single node might shorten the description"
        return "no: moving a single node would lower the entropy; try --search best or more --runs"


def show_fit(
    session: Session,
    counts: Counts,
    outcome: FitOutcome,
    *,
    more: Sequence[tuple[str, str]] = (),
    files: Mapping[str, Path | None],
) -> None:
    """Print the result of a fit: what was read and found, how it ended, which files it wrote."""
    from rich.table import Table

    table = Table(show_header=False, box=None)
    for row in (*_count_rows(counts), *outcome.rows(), *more):
        table.add_row(*row)
    for name, path in files.items():
        if path is not None:
            table.add_row(name, str(path))
    session.show(table)


def _count_rows(counts: Counts) -> list[tuple[str, str]]:
    """Return the rows of the printed table about the data; two node sets are users and items.

    >>> _count_rows({"nodes": [100, 60], "edges": 1737, "blocks": [4, 3]})
    [('users', '100'), ('items', '60'), ('ratings', '1,737'), ('blocks', '4 and 3')]
    """
    rows = []
    ratings = not isinstance(counts["nodes"], int)
    for name, value in counts.items():
        sides = [value] if isinstance(value, int) else value
        texts = [f"{side:,}" for side in sides]
        if ratings and name == "nodes":
            rows += list(zip(("users", "items"), texts, strict=True))
        else:
            rows.append(("ratings" if ratings and name == "edges" else name, " and ".join(texts)))
    return rows


def write_page(path: Path, html: str) -> None:
    """Write a report; the file appears complete or not at all."""
    from coterie.data.atomic_files import atomic_write

    with atomic_write(path) as file:
        file.write(html)

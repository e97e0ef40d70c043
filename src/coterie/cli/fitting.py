"""What the commands that fit a model share: where it runs, checkpoints, and their output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.cli.session import Session

if TYPE_CHECKING:
    from coterie.engine import Engine
    from coterie.models.hard.clustering import ClusteringFacts

_SIDES = ("user", "item")
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

    model: Any  # fitted
    seconds: float
    run_entropies: Sequence[float]
    facts: ClusteringFacts | None = None  # of a hard clustering

    @property
    def length(self) -> float | None:
        """The description length, if it was computed."""
        return None if self.facts is None else self.facts.description_length

    def json_keys(self) -> JsonObject:
        """Return the keys of the JSON output that every fit has."""
        model, hard = self.model, self.facts is not None
        history = [entry._asdict() for entry in model.history_]
        for entry in history:
            if self.facts is None:
                del entry["moved"]
            elif self.facts.minimised_length:  # "entropy" has it too, its name in earlier versions
                entry["description_length"] = entry["entropy"]
        return {
            "entropy": model.entropy_,
            "iterations": len(history),
            "converged": model.converged_,
            **({"locally_optimal": model.locally_optimal_} if hard else {}),
            "interrupted": model.interrupted_,
            "seconds": self.seconds,
            "run_entropies": list(self.run_entropies),
            "history": history,
            **({} if self.length is None else {"description_length": self.length}),
        }

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows of the printed table that every fit has."""
        model, facts = self.model, self.facts
        rows = [
            ("entropy", f"{model.entropy_:,.2f} nats (lower is better)"),
            ("iterations", f"{len(model.history_):,} ({self._ending()})"),
        ]
        if facts is not None and self.length is not None:
            how = "with the number of blocks given"
            if model.interrupted_:
                how = "interrupted; a longer search may find a shorter one"
            elif facts.blocks_chosen:
                how = "the number of blocks minimises it"
            rows.insert(0, ("description length", f"{self.length:,.2f} nats ({how})"))
        if facts is not None and not model.interrupted_:
            rows.append(("locally optimal", self._optimality()))
        return [*rows, ("seconds", f"{self.seconds:.2f}")]

    def _ending(self) -> str:
        if self.model.interrupted_:
            return "interrupted; the best result so far was kept"
        if self.model.converged_:
            return "converged"
        return "not converged; increase --iterations"

    def _optimality(self) -> str:
        measure = "lower the entropy" if self.length is None else "shorten the description"
        if self.model.locally_optimal_:
            return f"yes: moving any single node would not {measure}"
        if self.model.connected:
            return f"no: moving a single node would {measure}, but blocks stay connected"
        if self.length is not None:
            return "not verified: moving a single node might shorten the description"
        return "no: moving a single node would lower the entropy; try --search best or more --runs"


def show_fit(
    session: Session,
    counts: Counts,
    outcome: FitOutcome,
    *,
    more: Sequence[tuple[str, str]] = (),
    files: Mapping[str, Path | None],
    sides: tuple[str, str] = _SIDES,
) -> None:
    """Print the result of a fit: what was read and found, how it ended, which files it wrote."""
    written = [(name, path) for name, path in files.items() if path is not None]
    session.show_table([*_count_rows(counts, sides), *outcome.rows(), *more, *written])


def summary_of(
    outcome: FitOutcome,
    counts: Counts,
    model: str,
    files: Mapping[str, Path | None],
    sides: tuple[str, str] = _SIDES,
) -> str:
    """Return one line that says what was found and where it is."""
    parts = [f"{text} {name}" for name, text in _count_rows(counts, sides)]
    value, what = outcome.model.entropy_, "entropy"
    if outcome.length is not None:
        value, what = outcome.length, "description length"
    written = "".join(f"; {name}: {path}" for name, path in files.items() if path is not None)
    return f"{', '.join(parts)} ({model}), {what} {value:,.2f} nats{written}"


def _count_rows(counts: Counts, sides: tuple[str, str] = _SIDES) -> list[tuple[str, str]]:
    """Return the rows of the printed table about the data; two node sets are users and items.

    In a two-mode network, `sides` are other names, and its pairs are called edges.

    >>> _count_rows({"nodes": [100, 60], "edges": 1737, "blocks": [4, 3]})
    [('users', '100'), ('items', '60'), ('ratings', '1,737'), ('blocks', '4 and 3')]
    """
    rows = []
    ratings = not isinstance(counts["nodes"], int)
    for name, value in counts.items():
        texts = [f"{count:,}" for count in ([value] if isinstance(value, int) else value)]
        if ratings and name == "nodes":
            plural = ("users", "items") if sides == _SIDES else sides
            rows += list(zip(plural, texts, strict=True))
        else:
            rated = ratings and name == "edges" and sides == _SIDES
            rows.append(("ratings" if rated else name, " and ".join(texts)))
    return rows

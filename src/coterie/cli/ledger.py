"""`coterie ledger`: what was published from each dataset, its budget, and repairs."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import typer

from coterie.base.errors import InputError, LedgerRefusal
from coterie.base.json_values import JsonObject
from coterie.cli.session import Session, command

if TYPE_CHECKING:
    from coterie.anonymize.ledger import Ledger, LedgerEntry

app = typer.Typer(
    help="Show, check and repair what was published from each dataset.",
    no_args_is_help=True,
    epilog="""\b
Examples:
  coterie ledger init staff --cap 2 --owner 'HR, Ms Lee'
  coterie ledger show
  coterie ledger verify --dataset staff --json
""",
)

_UNUSED = ("seed", "threads")


@command(unused=_UNUSED, answers=True)
def show(
    session: Session,
    dataset: str | None = None,
) -> JsonObject:
    """Print every release and sketch of a dataset, and their totals.

    Every line of the ledger is checked first. Exit code 3 says that the ledger is damaged or
    missing.

    Example: coterie ledger show --dataset staff
    """
    from rich.table import Table

    from coterie.anonymize.ledger import exact_text

    ledger = _ledger()
    found = {name: ledger.entries(name) for name in _names(ledger, dataset)}
    table = Table("dataset", "opened (UTC)", "kind", "graphs", "epsilon", "state", box=None)
    for name, entries in found.items():
        for entry in entries:
            table.add_row(
                name,
                entry.time.removesuffix("+00:00").replace("T", " "),
                entry.kind,
                str(entry.graphs or ""),
                "" if entry.epsilon is None else exact_text(entry.epsilon),
                _remark(entry),
            )
    if not found:
        session.show("the ledger is empty")
    else:
        session.show(table)
    totals = []
    for name in found:
        spent, releases = ledger.spent(name), ledger.releases(name)
        cap = exact_text(ledger.cap(name))
        graphs = "1 graph" if releases == 1 else f"{releases} graphs"
        session.show(f"{name}: {graphs} released, epsilon {exact_text(spent)} spent of {cap}")
        total = {"dataset": name, "releases": releases, "spent": exact_text(spent), "cap": cap}
        totals.append(total)
    return {
        "entries": [_entry_json(entry) for entries in found.values() for entry in entries],
        "totals": totals,
        "folder": str(ledger.folder),
    }


@command(unused=_UNUSED, answers=True)
def verify(
    session: Session,
    dataset: str | None = None,
) -> JsonObject:
    """Check that no line of the ledger was edited, moved or removed.

    Exit code 3 says that the ledger is damaged or missing.

    Example: coterie ledger verify
    """
    ledger = _ledger()
    checked = []
    problems = []
    for name in _names(ledger, dataset):
        try:
            checked.append({"dataset": name, "lines": ledger.verify(name)})
        except LedgerRefusal as problem:
            problems.append(problem)
            session.say(f"coterie: {problem}", important=True)
    if problems:
        raise LedgerRefusal(f"{len(problems)} of {len(problems) + len(checked)} datasets failed")
    for row in checked:
        session.show(f"{row['dataset']}: {row['lines']} lines, all as they were written")
    if not checked:
        session.show("the ledger is empty")
    entries = [entry for row in checked for entry in ledger.entries(str(row["dataset"]))]
    return {
        "entries": [_entry_json(entry) for entry in entries],
        "datasets": checked,
        "folder": str(ledger.folder),
    }


@command(unused=_UNUSED, answers=True)
def init(
    session: Session, name: str, cap: str, owner: str, continues: str | None = None
) -> JsonObject:
    """Store the maximum of the total epsilon of a dataset, and its owner.

    Example: coterie ledger init staff --cap 2 --owner 'HR, Ms Lee'
    """
    ledger = _ledger()
    ledger.init(name, cap=_exact(cap, "cap"), owner=owner, continues=continues)
    return _told(session, ledger, name)


@command(unused=_UNUSED, answers=True)
def record(
    session: Session, name: str, reason: str, epsilon: str | None = None, graphs: int = 0
) -> JsonObject:
    """Record what was spent or released elsewhere; it counts from now on.

    Example: coterie ledger record staff --epsilon 0.5 --reason 'sketch of 2025, other computer'
    """
    ledger = _ledger()
    spent = None if epsilon is None else _exact(epsilon, "epsilon")
    ledger.record(name, epsilon=spent, reason=reason, graphs=graphs)
    return _told(session, ledger, name)


@command(unused=_UNUSED, answers=True)
def raise_(session: Session, name: str, cap: str, reason: str) -> JsonObject:
    """Raise the stored maximum of the total epsilon of a dataset.

    Example: coterie ledger raise staff --cap 3 --reason 'board decision of 3 May'
    """
    ledger = _ledger()
    ledger.raise_cap(name, cap=_exact(cap, "cap"), reason=reason)
    return _told(session, ledger, name)


@command(unused=_UNUSED, answers=True)
def repair(
    session: Session, name: str, reason: str, epsilon: str | None = None, graphs: int = 0
) -> JsonObject:
    """Keep what is left of a damaged ledger, and record what was lost.

    --epsilon and --graphs say what the lost lines have spent and released, at most. The damaged
    file is kept under another name. A run that was killed needs no repair.

    Example: coterie ledger repair staff --epsilon 1 --reason 'disk failure of 3 May'
    """
    ledger = _ledger()
    lost = None if epsilon is None else _exact(epsilon, "epsilon")
    done = ledger.repair(name, reason=reason, epsilon=lost, graphs=graphs)
    if not done.found:
        session.show(f"{name}: nothing to repair; {done.lines} lines, all as they were written")
    else:
        kept = "" if done.copy is None else f"; the damaged file is {done.copy}"
        session.show(f"{name}: {done.found}; repaired, and recorded{kept}")
    return {**_told(session, ledger, name), "found": done.found, "lines": done.lines}


for _run in (show, verify, init, record, raise_, repair):
    app.command(_run.__name__.strip("_"))(_run)


def _ledger() -> Ledger:
    from coterie.anonymize.ledger import Ledger

    return Ledger()


def _exact(text: str, name: str) -> Fraction:
    from coterie.anonymize.private.budget import parse_decimal

    return parse_decimal(text, name)


def _told(session: Session, ledger: Ledger, name: str) -> JsonObject:
    """Print and return the budget of a dataset."""
    from coterie.anonymize.ledger import exact_text

    spent, cap = exact_text(ledger.spent(name)), exact_text(ledger.cap(name))
    session.show(f"{name}: epsilon {spent} spent of {cap}")
    return {"dataset": name, "spent": spent, "cap": cap, "releases": ledger.releases(name)}


def _remark(entry: LedgerEntry) -> str:
    """Return the state of a run, or what a note says."""
    from coterie.anonymize.ledger import exact_text

    if entry.kind in ("release", "sketch"):
        return entry.state if entry.counted else f"{entry.state} (not counted)"
    cap = [] if entry.cap is None else [f"cap {exact_text(entry.cap)}"]
    return "; ".join(cap + [f"{key}: {value}" for key, value in entry.details.items()])


def _names(ledger: Ledger, dataset: str | None) -> list[str]:
    """Return the dataset that was asked for, or all."""
    from coterie.anonymize.ledger import check_dataset_name

    names = ledger.datasets()
    if dataset is None:
        return names
    wanted = check_dataset_name(dataset)
    known = [name for name in names if name.casefold() == wanted.casefold()]
    if not known:
        raise InputError(
            f"there is no dataset {wanted!r} in {ledger.folder}",
            remedy=f"use one of {', '.join(names)}" if names else "nothing was published yet",
        )
    return known


def _entry_json(entry: LedgerEntry) -> JsonObject:
    from coterie.anonymize.ledger import exact_text

    shown = {key: value for key, value in vars(entry).items() if not key.startswith("_")}
    exact = {key: exact_text(x) if isinstance(x, Fraction) else x for key, x in shown.items()}
    return {**exact, "counted": entry.counted}

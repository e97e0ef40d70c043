"""`coterie ledger`: show and check what was published from each dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from coterie.base.errors import InputError, LedgerRefusal
from coterie.base.json_values import JsonObject
from coterie.cli.session import Session, command

if TYPE_CHECKING:
    from coterie.anonymize.ledger import Ledger, LedgerEntry

app = typer.Typer(
    help="Show and check what was published from each dataset.",
    no_args_is_help=True,
    epilog="""\b
Examples:
  coterie ledger show
  coterie ledger verify --dataset staff --json
""",
)

_UNUSED = ("seed", "threads")


@command(unused=_UNUSED)
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

    from coterie.anonymize.ledger import Ledger, exact_text

    ledger = Ledger()
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
                entry.state if entry.counted else f"{entry.state} (not counted)",
            )
    if not found:
        session.show("the ledger is empty")
    else:
        session.show(table)
    totals = []
    for name in found:
        spent, releases = ledger.spent(name), ledger.releases(name)
        graphs = "1 graph" if releases == 1 else f"{releases} graphs"
        session.show(f"{name}: {graphs} released, epsilon {exact_text(spent)} spent")
        totals.append({"dataset": name, "releases": releases, "spent": exact_text(spent)})
    return {
        "entries": [_entry_json(entry) for entries in found.values() for entry in entries],
        "totals": totals,
        "folder": str(ledger.folder),
    }


@command(unused=_UNUSED)
def verify(
    session: Session,
    dataset: str | None = None,
) -> JsonObject:
    """Check that no line of the ledger was edited, moved or removed.

    Exit code 3 says that the ledger is damaged or missing.

    Example: coterie ledger verify
    """
    from coterie.anonymize.ledger import Ledger

    ledger = Ledger()
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


app.command("show")(show)
app.command("verify")(verify)


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

    return {
        "dataset": entry.dataset,
        "id": entry.id,
        "kind": entry.kind,
        "state": entry.state,
        "counted": entry.counted,
        "time": entry.time,
        "graphs": entry.graphs,
        "epsilon": None if entry.epsilon is None else exact_text(entry.epsilon),
        "cap": None if entry.cap is None else exact_text(entry.cap),
        "version": entry.version,
        "details": entry.details,
    }

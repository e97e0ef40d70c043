"""`coterie datasets`: the data sets of the paper, where they lie, and how to get them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli.session import Session, command

if TYPE_CHECKING:
    from coterie.data.datasets import Dataset

app = typer.Typer(help="The data sets of the paper: list, path, get.", no_args_is_help=True)

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="ml-100k, as-caida, ca-astroph or karate.")
]


@command
def list_(session: Session) -> dict[str, Any]:
    """What there is, and what of it is here already."""
    from rich.table import Column, Table

    from coterie.data.datasets import REGISTRY, local_path

    rows = []
    table = Table("name", "what", "checksum", Column("file", overflow="fold"), box=None)
    for dataset in REGISTRY.values():
        path = local_path(dataset)
        counts = ", ".join(f"{n:,} {name.replace('_', '-')}" for name, n in dataset.counts.items())
        what = f"{dataset.about}: {counts}"
        table.add_row(dataset.name, what, _checksum(dataset), str(path or "not here"))
        rows.append(
            {
                "name": dataset.name,
                "about": dataset.about,
                "counts": dataset.counts,
                "address": dataset.address,
                "checksum": dataset.checksum,
                "checksum_verified": dataset.verified,
                "path": None if path is None else str(path),
                "cite": dataset.cite,
            }
        )
    session.show(table)
    return {"datasets": rows}


def _checksum(dataset: Dataset) -> str:
    if not dataset.address:
        return "not fetched"
    if dataset.checksum is None:
        return "none published"
    return dataset.checksum.split(":")[0] + ("" if dataset.verified else ", not verified here")


@command
def path_(session: Session, name: NameArgument) -> dict[str, Any]:
    """Where the file of a data set lies; it is not fetched (exit 2 if it is not here)."""
    return _located(session, name, fetch=False)


@command
def get(session: Session, name: NameArgument) -> dict[str, Any]:
    """The same, fetching it into the cache if it is not here."""
    return _located(session, name, fetch=True)


def _located(session: Session, name: str, *, fetch: bool) -> dict[str, Any]:
    from coterie.data.datasets import find, path, titles

    file = path(name, fetch=fetch)
    names = titles(name)
    if not session.json:
        typer.echo(str(file))  # as it is: a path must not be wrapped
    result: dict[str, Any] = {"name": name, "path": str(file), "counts": find(name).counts}
    return result | ({"titles": str(names)} if names else {})


app.command("list")(list_)
app.command("path")(path_)
app.command("get")(get)

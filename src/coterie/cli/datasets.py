"""`coterie datasets`: list, locate and download the data sets of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from coterie.base.json_values import JsonObject
from coterie.cli.session import Session, command

if TYPE_CHECKING:
    from coterie.data.datasets import Dataset

app = typer.Typer(
    help="List, locate and download the data sets of the paper.",
    no_args_is_help=True,
    epilog="""\b
Examples:
  coterie datasets list
  coterie datasets get ml-100k
""",
)

_UNUSED = ("seed", "threads")


@command(unused=_UNUSED, answers=True)
def list_(session: Session) -> JsonObject:
    """List the data sets and the files on this machine.

    Files are searched in the folder that COTERIE_DATA names, then in the cache.
    """
    from coterie.data.datasets import REGISTRY, local_path

    rows, shown = [], []
    for dataset in REGISTRY.values():
        path = local_path(dataset)
        counts = ", ".join(f"{n:,} {name.replace('_', '-')}" for name, n in dataset.counts.items())
        what = f"{dataset.about}: {counts}"
        shown.append((dataset.name, what, _checksum(dataset), path or "not downloaded"))
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
    session.show_table(shown, "name", "contents", "checksum", "file")
    return {"datasets": rows}


def _checksum(dataset: Dataset) -> str:
    if not dataset.address:
        return "not needed"
    if dataset.checksum is None:
        return "none published"
    return dataset.checksum.split(":")[0] + ("" if dataset.verified else " (not verified)")


@command(unused=_UNUSED, answers=True)
def path_(session: Session, name: str) -> JsonObject:
    """Print the path of a data set on this machine.

    Nothing is downloaded; the exit code is 2 if there is no file.
    """
    return _located(session, name, fetch=False)


@command(unused=_UNUSED, answers=True)
def get(session: Session, name: str) -> JsonObject:
    """Download a data set if needed and print its path.

    The file is stored in the cache, and its contents are checked.
    """
    return _located(session, name, fetch=True)


def _located(session: Session, name: str, *, fetch: bool) -> JsonObject:
    from coterie.data.datasets import find, path, titles

    file = path(name, fetch=fetch)
    names = titles(name)
    if not session.json:
        typer.echo(str(file))  # not through rich, which would wrap a long path
    result: JsonObject = {"name": name, "path": str(file), "counts": find(name).counts}
    return result | ({"titles": str(names)} if names else {})


app.command("list", epilog="Example: coterie datasets list --json")(list_)
app.command("path", epilog="Example: coterie cluster $(coterie datasets path karate) --blocks 4")(
    path_
)
app.command("get", epilog="Example: coterie datasets get ml-100k")(get)

"""Writing a release: a folder to publish, and beside it one to keep."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.data.writers import atomic_write, write_graph

FORMATS = ("csv", "parquet", "graphml")


def private_folder(folder: Path) -> Path:
    """DIR.private, beside DIR."""
    return folder.with_name(folder.name + ".private")


def check_folder(folder: Path, overwrite: bool) -> None:
    """A folder that holds anything is not written into, but with `overwrite`."""
    if folder.exists() and not folder.is_dir():
        raise InputError("is a file, not a folder", path=folder, remedy="name a new folder")
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        what = "a release already" if any(folder.glob("graph*")) else "other files"
        raise InputError(
            f"holds {what}", path=folder, remedy="name a new folder, or add --overwrite"
        )


def check_truth_path(truth: Path, folder: Path) -> None:
    """The mapping back to people must not lie in the folder that is published."""
    inside = truth.resolve()
    if inside == folder.resolve() or folder.resolve() in inside.parents:
        raise InputError(
            "the research truth would lie in the folder to publish",
            path=truth,
            remedy=f"write it somewhere outside {folder}",
        )


@contextmanager
def staged_folder(
    folder: Path, graphs: list[Graph], page: str, *, form: str = "csv", overwrite: bool = False
) -> Iterator[Callable[[], None]]:
    """graph.csv (graph-2.csv … for more draws) and report.html, all or none: written beside
    `folder` and put in its place when the function that this gives is called; else removed."""
    if form not in FORMATS:
        raise InputError(f"format {form!r} is unknown", remedy=f"give one of {', '.join(FORMATS)}")
    check_folder(folder, overwrite)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    except OSError as error:
        raise InputError(
            f"cannot be made: {error.strerror}", path=folder, remedy="choose another place"
        ) from error

    def publish() -> None:
        made.chmod(0o755)
        if not folder.is_dir():
            os.rename(made, folder)
            return
        for old in [*folder.glob("graph*"), *folder.glob("report.html")]:
            old.unlink()
        for new in made.iterdir():
            os.replace(new, folder / new.name)

    try:
        for number, graph in enumerate(graphs, 1):
            stem = "graph" if number == 1 else f"graph-{number}"
            write_graph(graph, made / f"{stem}.{form}")
        with atomic_write(made / "report.html") as file:
            file.write(page)
        yield publish
    finally:
        shutil.rmtree(made, ignore_errors=True)

"""The folder to publish, and the private folder next to it."""

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
    """Return DIR.private for DIR."""
    return folder.with_name(folder.name + ".private")


def check_folder(folder: Path, overwrite: bool) -> None:
    """Raise InputError if the folder is not empty, unless `overwrite` is set."""
    if folder.exists() and not folder.is_dir():
        raise InputError("this is a file, not a folder", path=folder, remedy="choose a new folder")
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        what = "already contains a release" if any(folder.glob("graph*")) else "is not empty"
        raise InputError(
            f"the folder {what}", path=folder, remedy="choose a new folder or set `overwrite`"
        )


def check_identity_map_path(path: Path, folder: Path) -> None:
    """Raise InputError if the identity map would be written into the folder to publish."""
    resolved = path.resolve()
    if resolved == folder.resolve() or folder.resolve() in resolved.parents:
        raise InputError(
            "the table of identities would be in the folder to publish",
            path=path,
            remedy=f"choose a place outside {folder}",
        )


@contextmanager
def staged_folder(
    folder: Path, graphs: list[Graph], page: str, *, format: str = "csv", overwrite: bool = False
) -> Iterator[Callable[[], None]]:
    """Prepare graph.csv (graph-2.csv … for more draws) and report.html next to `folder`.

    The files are moved to `folder` when the function that this yields is called; otherwise they
    are deleted.
    """
    if format not in FORMATS:
        raise InputError(f"unknown format {format!r}", remedy=f"use one of {', '.join(FORMATS)}")
    check_folder(folder, overwrite)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    except OSError as error:
        raise InputError(
            f"cannot be created: {error.strerror}", path=folder, remedy="choose another place"
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
            write_graph(graph, made / f"{stem}.{format}")
        with atomic_write(made / "report.html") as file:
            file.write(page)
        yield publish
    finally:
        shutil.rmtree(made, ignore_errors=True)

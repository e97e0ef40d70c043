"""The folder with graphs that were drawn from a sketch: complete, or not there at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.data.atomic_files import atomic_write, temporary_beside
from coterie.data.writers import write_graph

_REMEDY = "choose a new folder"


def check_draw_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the folder as a path; raise InputError unless it is new or empty."""
    path = Path(folder)
    if path.is_symlink() and not path.exists():
        raise InputError("this link points nowhere", path=path, remedy=_REMEDY)
    if path.exists() and not path.is_dir():
        raise InputError("this is a file, not a folder", path=path, remedy=_REMEDY)
    if path.is_dir() and any(path.iterdir()):
        raise InputError("the folder is not empty", path=path, remedy=_REMEDY)
    nearest = path.resolve()
    while not nearest.exists():
        nearest = nearest.parent
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError("cannot be created there", path=path, remedy="choose another place")
    return path


def graph_names(draws: int) -> list[str]:
    """Return the file names of the graphs.

    >>> graph_names(1), graph_names(2)
    (['graph.csv'], ['graph-1.csv', 'graph-2.csv'])
    """
    return ["graph.csv"] if draws == 1 else [f"graph-{i}.csv" for i in range(1, draws + 1)]


def write_draws(folder: str | os.PathLike[str], graphs: Sequence[Graph], page: str) -> None:
    """Write the graphs and report.html to a folder, which must be new or empty.

    The files are made next to the folder and appear by a rename, all at once.
    """
    path = check_draw_folder(folder).resolve()
    made = temporary_beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        made.mkdir()
        for name, graph in zip(graph_names(len(graphs)), graphs, strict=True):
            write_graph(graph, made / name)
        with atomic_write(made / "report.html") as file:
            file.write(page)
        if path.is_dir():
            path.rmdir()  # fails if somebody put files there in the meantime
        os.rename(made, path)
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror}", path=path, remedy="choose another place"
        ) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)

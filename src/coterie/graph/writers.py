"""Files that appear whole or not at all: graphs and tables as CSV, text, Parquet, GraphML, GML."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from coterie.base.errors import InputError
from coterie.graph.graph import Graph

_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO}


@contextmanager
def atomic_write(
    path: str | os.PathLike[str], mode: str = "w", *, permissions: int = 0o666
) -> Iterator[IO[Any]]:
    """A file that replaces `path` when the block ends well and leaves nothing behind otherwise.

    The bytes go to a temporary file in the same folder, which is synced and renamed. `permissions`
    are those of a new file, less the umask (0o600 for what only the owner may read). A device or a
    pipe (`/dev/stdout`) is written directly, `-` is standard output.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "x.txt") as file:
    ...         _ = file.write("whole")
    ...     (Path(folder) / "x.txt").read_text()
    'whole'
    """
    if str(path) == "-":
        yield sys.stdout.buffer if "b" in mode else sys.stdout
        return
    target = Path(os.path.realpath(path))
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            with open(target, mode, **text) as file:  # type: ignore[call-overload]
                yield file
            return
        temporary = _beside(target)
        try:
            handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, permissions)
            with open(handle, mode, **text) as file:  # type: ignore[call-overload]
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        if error.errno not in _FULL and error.filename not in (None, str(temporary), str(target)):
            raise
        raise InputError(
            f"cannot be written: {error.strerror or error}",
            path=path,
            remedy="nothing was left behind; make room or choose another place",
        ) from error


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{next(tempfile._get_candidate_names())}.part")  # type: ignore[attr-defined]


def write_table(path: str | os.PathLike[str], columns: Mapping[str, Any]) -> None:
    """Columns of equal length as CSV (also .csv.gz), Parquet (.parquet), or `-`: CSV on stdout.

    >>> write_table("-", {"node": ["a", "b, c"], "block": np.array([0, 1])})
    node,block
    a,0
    "b, c",1
    """
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    if Path(path).suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet

        table = pa.table({name: pa.array(column) for name, column in arrays.items()})
        with atomic_write(path, "wb") as file:
            pa.parquet.write_table(table, file)
        return
    with _text_output(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(arrays)
        writer.writerows(zip(*(column.tolist() for column in arrays.values()), strict=True))


@contextmanager
def _text_output(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    if Path(path).suffix != ".gz":
        with atomic_write(path) as file:
            yield file
        return
    with (
        atomic_write(path, "wb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as file,
    ):
        yield file


def write_graph(graph: Graph, path: str | os.PathLike[str]) -> None:
    """The edges of a graph as CSV, after a line `# nodes: N` where the ids are 0..N-1.

    >>> write_graph(Graph.from_edges([0, 1], [1, 2], n_nodes=4), "-")
    # nodes: 4
    source,target
    0,1
    1,2
    """
    source, target = graph.edges()
    columns: dict[str, list[Any]] = {
        "source": graph.ids[source].tolist(),
        "target": graph.ids[target].tolist(),
    }
    if graph.weights is not None:
        rows = np.repeat(np.arange(graph.n_nodes), graph.degrees)
        keep = slice(None) if graph.directed else rows < graph.indices
        columns["weight"] = graph.weights[keep].tolist()
    with _text_output(path) as file:
        if np.array_equal(graph.ids, np.arange(graph.n_nodes)):
            file.write(f"# nodes: {graph.n_nodes}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))

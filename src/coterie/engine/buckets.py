"""Entries on disk, one file a row block, and what becomes of a file: a cleaned block of rows."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np

from coterie.base.errors import InputError
from coterie.graph.source import PathLike
from coterie.kernels.rowblocks import RowBlock

EDGE = np.dtype([("row", np.int32), ("column", np.int32)])
DIRECTED = np.dtype([*EDGE.descr, ("channel", np.int32)])
WEIGHTED = np.dtype([*EDGE.descr, ("weight", np.float64), ("turned", np.int8)])
RATING = np.dtype([*EDGE.descr, ("code", np.int32), ("time", np.float64)])
_NO_CHANNELS, _NO_WEIGHTS = np.zeros(0, np.int32), np.zeros(0)


class Buckets:
    """Files of a temporary folder beside the target; the target is made, and must be new."""

    def __init__(self, folder: PathLike, cuts: np.ndarray, kind: np.dtype[Any]) -> None:
        self.folder, self.cuts, self.kind = Path(folder), cuts, kind
        self.count = len(cuts) - 1

    def __enter__(self) -> Self:
        if self.folder.exists() and any(self.folder.iterdir()):
            raise InputError(
                "the folder is not empty", path=self.folder, remedy="name a new one or clear it"
            )
        self.made = not self.folder.exists()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._temporary = Path(tempfile.mkdtemp(prefix=".buckets-", dir=self.folder))
        self._open = ExitStack()
        self._files: list[IO[bytes]] = [
            self._open.enter_context((self._temporary / str(b)).open("w+b"))
            for b in range(self.count)
        ]
        return self

    def place(self, entries: np.ndarray) -> None:
        """Append each entry to the file of its row block."""
        bucket = (np.searchsorted(self.cuts, entries["row"], side="right") - 1).astype(np.uint16)
        entries = entries[np.argsort(bucket, kind="stable")]
        ends = np.cumsum(np.bincount(bucket, minlength=self.count))
        for file, part in zip(self._files, np.split(entries, ends[:-1]), strict=True):
            file.write(part.tobytes())

    def take(self, number: int) -> tuple[np.ndarray, int, int]:
        """(entries, first row, row after the last); the file is given up."""
        file = self._files[number]
        file.flush()
        file.seek(0)
        entries = np.frombuffer(file.read(), self.kind)
        file.truncate(0)
        return entries, int(self.cuts[number]), int(self.cuts[number + 1])

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._open.close()
        shutil.rmtree(self._temporary, ignore_errors=True)
        if error is not None:
            for path in list(self.folder.iterdir()):
                path.unlink()
            if self.made:
                self.folder.rmdir()


def graph_block(entries: np.ndarray, low: int, high: int) -> RowBlock:
    """Rows low..high-1, each sorted, repeats merged: weights of one direction add, and the two
    directions of an undirected pair must agree. A directed edge stands in both its rows, in
    channel 0 of its source and in channel 1 of its target."""
    if entries.dtype == EDGE:
        return _block(np.unique(_key(entries, low)), low, high, _NO_CHANNELS, _NO_WEIGHTS)
    if entries.dtype == DIRECTED:
        key = np.unique(_key(entries, low) << 1 | entries["channel"])
        return _block(key >> 1, low, high, (key & 1).astype(np.int32), _NO_WEIGHTS)
    key, turned = _key(entries, low), entries["turned"].astype(bool)
    pairs, where = np.unique(key, return_inverse=True)
    ways = [
        np.bincount(where[way], entries["weight"][way], len(pairs)) for way in (~turned, turned)
    ]
    given = [np.bincount(where[way], minlength=len(pairs)) > 0 for way in (~turned, turned)]
    differ = given[0] & given[1] & (ways[0] != ways[1])
    if differ.any():
        at = int(np.argmax(differ))
        raise InputError(
            f"a pair of nodes is given in both directions with weights {ways[0][at]:g} and "
            f"{ways[1][at]:g}",
            remedy="make them equal, keep one of them, or shard the graph as directed",
        )
    weights = np.where(given[0], ways[0], ways[1])
    return _block(pairs, low, high, _NO_CHANNELS, weights)


def rating_block(entries: np.ndarray, low: int, high: int) -> RowBlock:
    """Users low..high-1; the last rating of a pair stands, by time, else by line."""
    key = _key(entries, low)
    order = np.lexsort((entries["time"], key))  # stable: later lines come later
    key = key[order]
    last = np.concatenate([key[1:] != key[:-1], np.ones(min(len(key), 1), bool)])
    codes = entries["code"][order][last]
    return _block(key[last], low, high, np.ascontiguousarray(codes), _NO_WEIGHTS)


def _key(entries: np.ndarray, low: int) -> np.ndarray:
    key: np.ndarray = (entries["row"].astype(np.int64) - low) << 32 | entries["column"]
    return key


def _block(
    key: np.ndarray, low: int, high: int, channels: np.ndarray, weights: np.ndarray
) -> RowBlock:
    indptr = np.searchsorted(key, np.arange(high - low + 1, dtype=np.int64) << 32)
    columns = (key & 0xFFFFFFFF).astype(np.int32)
    return RowBlock(low, indptr.astype(np.int64), columns, channels, weights)

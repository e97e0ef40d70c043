"""Sort entries into files on disk, one per row block, and build clean blocks of rows from them."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike
from coterie.kernels.hard.row_blocks import RowBlock
from coterie.kernels.io.placing import owners, sort_rows
from coterie.kernels.soft.grouping import counting_order

EDGE = np.dtype([("row", np.int32), ("column", np.int32)])
DIRECTED = np.dtype([*EDGE.descr, ("channel", np.int32)])
WEIGHTED = np.dtype([*EDGE.descr, ("weight", np.float64), ("turned", np.int8)])
RATING = np.dtype([*EDGE.descr, ("code", np.int32), ("time", np.float64)])
_GUESS_BITS = 16  # leading bits of a row number that are looked up in a table that fits the cache
_PLACE_MASK = 2**32 - 1  # the low bits of a sort key: the position of the entry
_BUCKETS = ".buckets-"  # beginning of the name of the temporary folder
_LEFTOVER = re.compile(
    r"\.buckets-.*|shard-\d+\.safetensors|(nodes|users|items)\.parquet|manifest\.json"
    r"|\..*\.part"
)
_NO_CHANNELS, _NO_WEIGHTS = np.zeros(0, np.int32), np.zeros(0)


class Buckets:
    """Files in a temporary folder inside the target folder, which must be new or empty."""

    def __init__(self, folder: PathLike, cuts: np.ndarray, kind: np.dtype[Any]) -> None:
        self.folder, self.cuts, self.kind = Path(folder), cuts, kind
        self.count = len(cuts) - 1
        self._shift = max(0, int(cuts[-1]).bit_length() - _GUESS_BITS)
        heads = np.arange((int(cuts[-1]) >> self._shift) + 1) << self._shift
        self._guess = (np.searchsorted(cuts, heads, side="right") - 1).astype(np.int32)

    def __enter__(self) -> Self:
        if self.folder.exists() and any(self._foreign_entries()):
            raise InputError(
                "the folder is not empty", path=self.folder, remedy="use a new or empty folder"
            )
        self._created = not self.folder.exists()
        self._clear()  # what a killed process left
        self.folder.mkdir(parents=True, exist_ok=True)
        self._temporary = Path(tempfile.mkdtemp(prefix=_BUCKETS, dir=self.folder))
        return self

    def _foreign_entries(self) -> Iterator[Path]:
        """Return what is in the folder and was not left there by a process that was killed.

        A process deletes its buckets last, so without buckets nothing is a leftover.
        """
        entries = list(self.folder.iterdir())
        killed = any(path.name.startswith(_BUCKETS) for path in entries)
        return (path for path in entries if not (killed and _LEFTOVER.fullmatch(path.name)))

    def _clear(self) -> None:
        """Delete the files and folders that sharding writes."""
        for path in list(self.folder.iterdir()) if self.folder.exists() else []:
            if path.name.startswith(_BUCKETS):
                shutil.rmtree(path, ignore_errors=True)
            elif _LEFTOVER.fullmatch(path.name):
                path.unlink()

    def place(self, entries: np.ndarray) -> None:
        """Append each entry to the file of its row block."""
        owner = np.empty(len(entries), np.int32)
        rows = np.ascontiguousarray(entries["row"])
        owners(rows, self.cuts, self._shift, self._guess, owner)
        order = counting_order(np.arange(len(entries)), owner, self.count)
        ends = np.cumsum(np.bincount(owner, minlength=self.count))
        parts = np.split(entries[order], ends[:-1])
        try:
            for number, part in enumerate(parts):
                if len(part):  # opened per piece: the system limits the number of open files
                    with self._file(number).open("ab") as file:
                        file.write(part.data)
        except OSError as error:
            raise InputError(
                f"cannot be written: {error.strerror or error}",
                path=self.folder,
                remedy="free disk space or choose another folder (nothing was left behind)",
            ) from error

    def take(self, number: int) -> tuple[np.ndarray, int, int]:
        """Return (entries, first row, row after the last) and delete the file."""
        path = self._file(number)
        entries = np.empty(0, self.kind)
        if path.exists():
            entries = np.fromfile(path, self.kind)
            path.unlink()
        return entries, int(self.cuts[number]), int(self.cuts[number + 1])

    def _file(self, number: int) -> Path:
        """Return the path of a bucket."""
        return self._temporary / str(number)

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        shutil.rmtree(self._temporary, ignore_errors=True)
        if error is not None:
            self._clear()
            if self._created:
                self.folder.rmdir()


def graph_block(entries: np.ndarray, low: int, high: int) -> RowBlock:
    """Build the rows low..high-1 of a graph, sorted and without repeats.

    Weights of one direction are added; the two directions of an undirected pair must have equal
    weights. A directed edge is in channel 0 of its source's row and channel 1 of its target's."""
    if entries.dtype == DIRECTED:
        both = entries["column"].astype(np.uint32) << 1 | entries["channel"].astype(np.uint32)
        groups = _grouped(entries, both, low, high)
        columns = (groups.columns >> 1).astype(np.int32)
        channels = (groups.columns & 1).astype(np.int32)
        return RowBlock(low, groups.indptr, columns, channels, _NO_WEIGHTS)
    groups = _grouped(entries, entries["column"], low, high)
    weights = _NO_WEIGHTS if entries.dtype == EDGE else _merged_weights(entries, groups)
    return RowBlock(low, groups.indptr, groups.columns.astype(np.int32), _NO_CHANNELS, weights)


def rating_block(entries: np.ndarray, low: int, high: int) -> RowBlock:
    """Build the rows of users low..high-1; the last rating of a pair counts, by time, then line."""
    groups = _grouped(entries, entries["column"], low, high)
    group, place = groups.group, groups.place
    several = np.flatnonzero(np.bincount(group)[group] > 1)
    by_time = np.lexsort((entries["time"][place[several]], group[several]))  # stable: by line
    place[several] = place[several][by_time]
    last = np.append(group[1:] != group[:-1], np.ones(min(len(group), 1), bool))
    codes = np.ascontiguousarray(entries["code"][place[last]])
    return RowBlock(low, groups.indptr, groups.columns.astype(np.int32), codes, _NO_WEIGHTS)


class _Groups(NamedTuple):
    """Entries grouped by row and column."""

    indptr: np.ndarray  # int64, rows + 1: the groups of each row
    columns: np.ndarray  # uint32, of each group
    group: np.ndarray  # of each entry, in order
    place: np.ndarray  # of each entry, in order: its original position


def _grouped(entries: np.ndarray, columns: np.ndarray, low: int, high: int) -> _Groups:
    """Sort entries by row and column and group equal ones."""
    rows = np.ascontiguousarray(entries["row"])
    indptr, keys = sort_rows(rows, columns.astype(np.uint32), low, high)
    column = (keys >> np.uint64(32)).astype(np.uint32)
    first = np.append(np.ones(min(len(column), 1), bool), column[1:] != column[:-1])
    first[indptr[:-1][np.diff(indptr) > 0]] = True
    before = np.append(0, np.cumsum(first))
    return _Groups(
        before[indptr],
        column[first],
        before[1:] - 1,
        (keys & np.uint64(_PLACE_MASK)).astype(np.int64),
    )


def _merged_weights(entries: np.ndarray, groups: _Groups) -> np.ndarray:
    """Return the weight of each group; the two directions of a pair must agree."""
    turned, weight = entries["turned"][groups.place].astype(bool), entries["weight"][groups.place]
    count = len(groups.columns)
    ways = [np.bincount(groups.group[way], weight[way], count) for way in (~turned, turned)]
    given = [np.bincount(groups.group[way], minlength=count) > 0 for way in (~turned, turned)]
    differ = given[0] & given[1] & (ways[0] != ways[1])
    if differ.any():
        at = int(np.argmax(differ))
        raise InputError(
            f"a pair of nodes is given in both directions with weights {ways[0][at]:g} and "
            f"{ways[1][at]:g}",
            remedy="make them equal, keep one of them, or set `directed`",
        )
    return np.where(given[0], ways[0], ways[1])

"""Cut an input that is larger than memory into shards, in two passes over the file.

The first pass counts how often each id occurs; this gives the numbering and row blocks with equal
numbers of edges. The second pass writes every edge to the file of its row block. Then each of these
files, which fits into memory, is sorted, cleaned and written as a shard.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.base.progress import Callback, Progress, silent
from coterie.data.byte_source import PathLike
from coterie.data.column_roles import WantedColumns
from coterie.data.formats import IN_PIECES
from coterie.data.formats.recognise import find_format
from coterie.data.ordered_threads import in_order
from coterie.data.table import ReadOptions
from coterie.data.text_reader import Columns
from coterie.data.writers import write_table
from coterie.engine.id_numbering import IdCounter, IdNumbers
from coterie.engine.shard_layout import cut_rows, shard_count
from coterie.engine.shard_storage import MANIFEST, ShardRef, write_manifest, write_shard
from coterie.engine.sharded_data import GRAPH, MAX_DISTINCT_WEIGHTS, RATINGS
from coterie.kernels.hard.row_blocks import RowBlock
from coterie.kernels.io.placing import owners, sort_rows
from coterie.kernels.soft.grouping import counting_order

Pieces = dict[str, list[Any]]  # the columns of one block of the file, each in pieces
Inputs = PathLike | Sequence[PathLike]  # a file, a folder of Parquet files, a pattern, or several


class GraphSharding(NamedTuple):
    """The result of `shard_graph`: the counts of the whole graph and of the shards."""

    holds: str
    n_nodes: int
    directed: bool
    weighted: bool
    n_edges: int
    self_loops: int  # dropped
    merged: int  # repeated edges
    shards: int
    rows: int


class RatingSharding(NamedTuple):
    """The result of `shard_ratings`: the counts of the whole table and of the shards."""

    holds: str
    n_users: int
    n_items: int
    n_ratings: int
    merged: int  # earlier ratings of the same pair
    values: list[float]  # the distinct ratings
    shards: int
    rows: int


def shard_graph(
    path: Inputs,
    folder: PathLike,
    *,
    shards: int | None = None,
    callback: Callback = silent,
    **reading: Any,
) -> GraphSharding:
    """Cut an edge list into shards of rows; return the counts.

    The rules are those of `read_graph`: self-loops are dropped, repeats merged, and an undirected
    pair in both directions is one edge. Several files are read as if they were one. `reading`:
    keyword arguments of `ReadOptions`.
    """
    options = ReadOptions(**reading)
    directed, weighted = options.directed, options.weighted
    if directed and weighted:
        raise InputError(
            "shards do not support graphs that are both directed and weighted",
            remedy="set `directed` or `weighted`, not both",
        )
    reader = _Reader(path, options.edge_columns, options)
    counter = IdCounter()
    columns = reader.read(lambda pieces: counter.add_all(pieces["source"] + pieces["target"]))
    callback(Progress("ids counted", 1, 3))
    ids, counts = _all_nodes(*counter.finish(), columns)
    numbers = IdNumbers(ids)
    kind = DIRECTED if directed else WEIGHTED if weighted else EDGE
    loops = 0

    def entries(pieces: Pieces) -> np.ndarray:
        nonlocal loops
        source, target = numbers.of_all(pieces["source"]), numbers.of_all(pieces["target"])
        distinct = source != target
        loops += len(distinct) - int(distinct.sum())
        source, target = source[distinct], target[distinct]
        made = np.empty((2, len(source)), kind)
        for turned, (row, column) in enumerate([(source, target), (target, source)]):
            made[turned]["row"], made[turned]["column"] = row, column
            if directed:
                made[turned]["channel"] = turned
            if weighted:
                made[turned]["weight"] = np.concatenate(pieces["weight"])[distinct]
                made[turned]["turned"] = turned
        return made.ravel()

    cuts = _cuts(counts, shards or shard_count(int(counts.sum())), reader.paths[0])
    with Buckets(folder, cuts, kind) as buckets:
        reader.read(lambda pieces: buckets.place(entries(pieces)))
        callback(Progress("edges placed", 2, 3))
        written = _write(buckets, folder, graph_block, options.threads, callback)
        edges = written.entries // 2
        result = GraphSharding(
            holds=GRAPH,
            n_nodes=len(ids),
            directed=directed,
            weighted=weighted,
            n_edges=edges,
            self_loops=loops,
            merged=columns.rows - loops - edges,
            shards=len(written.refs),
            rows=len(ids),
        )
        write_table(Path(folder) / "nodes.parquet", {"node": ids})
        facts = _manifest_facts(result) | {"cuts": cuts.tolist(), "weights": written.weights}
        write_manifest(Path(folder), written.refs, RowBlock, facts)
    return result


def shard_ratings(
    path: Inputs,
    folder: PathLike,
    *,
    shards: int | None = None,
    callback: Callback = silent,
    **reading: Any,
) -> RatingSharding:
    """Cut ratings into shards of users; return the counts.

    Of several ratings of a pair the last one counts. `reading`: keyword arguments of
    `ReadOptions`.
    """
    options = ReadOptions(**reading)
    reader = _Reader(path, options.rating_columns, options)
    users, items, distinct = IdCounter(), IdCounter(), IdCounter()

    def count(pieces: Pieces) -> None:
        users.add_all(pieces["user"])
        items.add_all(pieces["item"])
        distinct.add_all(pieces["rating"])

    columns = reader.read(count)
    callback(Progress("ids counted", 1, 3))
    (user_ids, counts), (item_ids, _), (values, _) = (c.finish() for c in (users, items, distinct))
    user_numbers, item_numbers = IdNumbers(user_ids), IdNumbers(item_ids)

    def entries(pieces: Pieces) -> np.ndarray:
        ratings = np.concatenate(pieces["rating"]) if pieces["rating"] else np.empty(0)
        made = np.zeros(len(ratings), RATING)
        made["row"], made["column"] = (
            user_numbers.of_all(pieces["user"]),
            item_numbers.of_all(pieces["item"]),
        )
        made["code"] = np.searchsorted(values, ratings)
        times = pieces.get("timestamp", [])
        if sum(map(len, times)) == len(made) and len(made):
            made["time"] = np.concatenate(times)
        return made

    cuts = _cuts(counts, shards or shard_count(int(counts.sum())), reader.paths[0])
    with Buckets(folder, cuts, RATING) as buckets:
        reader.read(lambda pieces: buckets.place(entries(pieces)))
        callback(Progress("ratings placed", 2, 3))
        written = _write(buckets, folder, rating_block, options.threads, callback)
        kept = written.entries
        result = RatingSharding(
            holds=RATINGS,
            n_users=len(user_ids),
            n_items=len(item_ids),
            n_ratings=kept,
            merged=columns.rows - kept,
            values=values.tolist(),
            shards=len(written.refs),
            rows=len(user_ids),
        )
        write_table(Path(folder) / "users.parquet", {"user": user_ids})
        write_table(Path(folder) / "items.parquet", {"item": item_ids})
        facts = _manifest_facts(result) | {"cuts": cuts.tolist()}
        write_manifest(Path(folder), written.refs, RowBlock, facts)
    return result


def _manifest_facts(result: GraphSharding | RatingSharding) -> JsonObject:
    """Return the JSON of a result for the manifest, which counts its shards itself."""
    return {k: v for k, v in result._asdict().items() if k not in ("shards", "rows")}


def input_files(given: Inputs) -> list[PathLike]:
    """Return the files: patterns such as ``data/*.parquet`` and folders of Parquet are listed."""
    files: list[PathLike] = []
    for path in [given] if isinstance(given, str | os.PathLike) else given:
        text, found = str(path), [str(path)]
        if Path(path).is_dir():
            if (Path(path) / MANIFEST).exists():
                raise InputError("this is a folder of shards already", path=path)
            inside = (p for p in Path(path).rglob("*") if p.suffix in (".parquet", ".pq"))
            found = sorted(map(str, inside))
        elif any(sign in text for sign in "*?[") and not Path(path).exists():
            found = sorted(glob(text, recursive=True))
        if not found:
            raise InputError(
                "no file matches, or the folder has no Parquet files",
                path=path,
                remedy="check the name; quote a pattern",
            )
        files += found
    return files


class _Reader:
    """Files that can be read twice, block by block."""

    def __init__(self, given: Inputs, wanted: WantedColumns, options: ReadOptions) -> None:
        self.paths, self.wanted, self.options = input_files(given), wanted, options
        if "-" in map(str, self.paths):
            raise InputError(
                "sharding needs two passes and standard input cannot be read twice",
                remedy="write it to a file first",
            )

    def read(self, use: Callable[[Pieces], None]) -> Columns:
        """Call `use` with the pieces of every block; return what is known about all files."""

        def consume(columns: Columns) -> None:
            pieces = columns.take()
            if any(pieces.values()):
                use(pieces)

        whole: Columns | None = None
        for path in self.paths:
            kind = find_format(path, None, IN_PIECES)
            assert kind.columns is not None
            columns = kind.columns(path, self.wanted, self.options, consume=consume)
            if whole is None:
                whole = columns
                continue
            if columns.layout.names != whole.layout.names:
                raise InputError(
                    f"has the columns {', '.join(columns.layout.names)}, and {whole.name} has "
                    f"{', '.join(whole.layout.names)}",
                    path=path,
                    remedy="give files with the same columns",
                )
            whole.rows += columns.rows
            whole.isolated += columns.isolated
            if columns.nodes is not None:
                whole.nodes = max(columns.nodes, whole.nodes or 0)
        assert whole is not None
        return whole


class _Written(NamedTuple):
    """The shards that were written."""

    refs: list[ShardRef]
    entries: int
    weights: list[float] | None  # the distinct ones; None if there are too many


def _write(
    buckets: Buckets,
    folder: PathLike,
    build: Callable[[np.ndarray, int, int], RowBlock],
    threads: int | None,
    callback: Callback,
) -> _Written:
    """Write every bucket as a shard."""

    def write(number: int) -> tuple[ShardRef, int, np.ndarray]:
        block = build(*buckets.take(number))
        return (
            write_shard(Path(folder), number, block),
            len(block.indices),
            first_distinct(block.weights),
        )

    def first_distinct(weights: np.ndarray) -> np.ndarray:
        return np.unique(weights)[: MAX_DISTINCT_WEIGHTS + 1]

    refs: list[ShardRef] = []
    entries, weights = 0, np.empty(0)
    for ref, kept, seen in in_order(write, ((n,) for n in range(buckets.count)), threads):
        refs.append(ref)
        entries += kept
        weights = first_distinct(np.append(weights, seen))
        callback(Progress("shards written", len(refs), buckets.count))
    return _Written(
        refs, entries, weights.tolist() if len(weights) <= MAX_DISTINCT_WEIGHTS else None
    )


def _all_nodes(
    ids: np.ndarray, counts: np.ndarray, columns: Columns
) -> tuple[np.ndarray, np.ndarray]:
    """Add the isolated nodes of the comments `# nodes: N` and `# isolated: ID`."""
    extra: list[Any] = list(columns.isolated)
    if columns.nodes is not None and ids.dtype != object:
        full = np.zeros(columns.nodes, np.int64)
        if len(ids) and (ids[0] < 0 or ids[-1] >= columns.nodes):
            wrong = ids[0] if ids[0] < 0 else ids[-1]
            raise InputError(
                f"id {wrong} does not fit '# nodes: {columns.nodes}': ids must be 0 to "
                f"{columns.nodes - 1}",
                path=columns.name,
                remedy="correct or remove the comment",
            )
        full[ids] = counts
        ids, counts = np.arange(columns.nodes), full
    if ids.dtype != object and all(name.isdigit() for name in extra):
        extra = [int(name) for name in extra]
    elif extra:
        ids = np.array([str(x) for x in ids.tolist()], object)
    missing = sorted(set(extra) - set(ids.tolist())) if extra else []
    if not missing:
        return ids, counts
    ids = np.concatenate([ids, np.array(missing, ids.dtype)])
    order = np.argsort(ids, kind="stable")
    return ids[order], np.concatenate([counts, np.zeros(len(missing), np.int64)])[order]


def _cuts(counts: np.ndarray, shards: int, path: PathLike) -> np.ndarray:
    """Return the row boundaries of the shards."""
    if not len(counts):
        raise InputError("nothing to shard", path=path, remedy="give at least one row")
    ends = np.concatenate([[0], np.cumsum(counts)])
    return np.unique(cut_rows(ends, min(shards, len(counts))))


# --- entries in files on disk, one per row block, and clean blocks of rows from them -------------


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

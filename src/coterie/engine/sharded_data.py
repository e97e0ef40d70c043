"""Data that are stored in shards: `coterie shard` writes them, and models can be fitted to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import parquet

from coterie.base.array_checks import ArrayError, check_array, file_errors
from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.base.machine import free_memory, physical_memory
from coterie.data import Graph, Ratings
from coterie.engine.shard_storage import (
    MANIFEST,
    ShardLimits,
    ShardRef,
    load_shard,
    read_manifest,
)
from coterie.kernels.hard.row_blocks import RowBlock

GRAPH, RATINGS = "graph", "ratings"
MAX_DISTINCT_WEIGHTS = 1000  # weights that a manifest lists
_BYTES_PER_EDGE, _BYTES_PER_NODE = 60, 200  # in memory, with the tables of a search
_BYTES_PER_RATING = 40  # in memory, including what a recommender needs


@dataclass(frozen=True, eq=False)
class _Sharded:
    """Data that are stored in a folder; `shards` are blocks of rows, cut at `cuts`."""

    folder: Path
    shards: list[ShardRef]
    cuts: np.ndarray

    def _blocks(self) -> list[RowBlock]:
        """Load all shards into the memory of this process."""
        blocks = [load_shard(ref) for ref in self.shards]
        load_shard.cache_clear()  # otherwise they would stay in memory twice
        return blocks


@dataclass(frozen=True, eq=False)
class ShardedGraph(_Sharded):
    """A graph that is stored in a folder, in blocks of nodes."""

    n_nodes: int
    n_edges: int
    directed: bool
    weighted: bool
    weights: np.ndarray | None = None  # distinct ones, rising; None: too many

    @cached_property
    def ids(self) -> np.ndarray:
        """Original ids of the nodes, read when first needed."""
        return read_ids(self.folder, "nodes", self.n_nodes)

    def load(self) -> Graph:
        """Load the whole graph into the memory of this process."""
        needed, free = self.bytes_in_memory, free_memory()
        if needed > free:
            raise InputError(
                f"{self.n_nodes:,} nodes and {self.n_edges:,} edges need about "
                f"{needed / 1e9:.1f} GB in one process, and {free / 1e9:.1f} GB are free",
                path=self.folder,
                remedy='use `search="paper"`, which does not load all shards',
            )
        blocks = self._blocks()
        if self.directed:  # a row has the edges in both directions; keep those that go out
            blocks = [_outward(block) for block in blocks]
        degrees = [np.diff(block.indptr) for block in blocks]
        indptr = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *degrees]))])
        indices = np.concatenate([np.zeros(0, np.int32), *(block.indices for block in blocks)])
        weights = None
        if self.weighted:
            weights = np.concatenate([np.zeros(0), *(block.weights for block in blocks)])
        return Graph(indptr, indices, self.ids, weights, self.directed)

    @property
    def bytes_in_memory(self) -> int:
        """About the memory that `load` and a search need."""
        return _BYTES_PER_EDGE * self.n_edges + _BYTES_PER_NODE * self.n_nodes


def _outward(block: RowBlock) -> RowBlock:
    """Return the rows with their outgoing edges only (channel 0)."""
    kept = block.channels == 0
    before = np.concatenate([[0], np.cumsum(kept)])
    weights = block.weights[kept] if len(block.weights) else block.weights
    return block._replace(
        indptr=before[block.indptr],
        indices=block.indices[kept],
        channels=block.channels[:0],
        weights=weights,
    )


@dataclass(frozen=True, eq=False)
class ShardedRatings(_Sharded):
    """Ratings that are stored in a folder, in blocks of users; channels are indices of `values`."""

    n_users: int
    n_items: int
    n_ratings: int
    values: np.ndarray

    def __len__(self) -> int:
        return self.n_ratings

    @cached_property
    def user_ids(self) -> np.ndarray:
        """Original ids of the users, read when first needed."""
        return read_ids(self.folder, "users", self.n_users)

    @cached_property
    def item_ids(self) -> np.ndarray:
        """Original ids of the items, read when first needed."""
        return read_ids(self.folder, "items", self.n_items)

    def load(self) -> Ratings:
        """Load all ratings into the memory of this process, user by user."""
        needed, available = _BYTES_PER_RATING * len(self), physical_memory()
        if needed > available:
            raise InputError(
                f"{len(self):,} ratings need about {needed / 1e9:.0f} GB in one process, and this "
                f"machine has {available / 1e9:.0f} GB",
                path=self.folder,
                remedy="use MMSBM or the command 'coterie soft', which do not load all shards",
            )
        blocks = self._blocks()
        degrees = np.concatenate([np.diff(block.indptr) for block in blocks])
        return Ratings(
            np.repeat(np.arange(self.n_users, dtype=np.int32), degrees),
            np.concatenate([block.indices for block in blocks]),
            np.concatenate([block.channels for block in blocks]),
            self.values,
            self.user_ids,
            self.item_ids,
        )


def open_shards(folder: str | Path) -> ShardedGraph | ShardedRatings:
    """Open a folder that `coterie shard` has written."""
    folder = Path(folder)
    shards, whole = read_manifest(folder, RowBlock)
    with file_errors(folder / MANIFEST, "manifest", "shard the input again"):
        if whole["holds"] == GRAPH:
            return _sharded_graph(folder, shards, whole)
        return _sharded_ratings(folder, shards, whole)


def _sharded_graph(folder: Path, shards: list[ShardRef], whole: JsonObject) -> ShardedGraph:
    n, edges = _count(whole, "n_nodes"), _count(whole, "n_edges")
    directed, weighted = whole["directed"], whole["weighted"]
    if not (isinstance(directed, bool) and isinstance(weighted, bool)):
        raise ArrayError("directed and weighted must be true or false")
    weights = None
    if whole.get("weights") is not None:
        weights = _rising("weights", whole["weights"])
    largest = float(weights[-1]) if weights is not None and len(weights) else None
    cuts = _cuts(whole["cuts"], n, len(shards))
    limited = _limited(shards, cuts, n, 2 if directed else 0, largest)
    return ShardedGraph(folder, limited, cuts, n, edges, directed, weighted, weights)


def _sharded_ratings(folder: Path, shards: list[ShardRef], whole: JsonObject) -> ShardedRatings:
    users, items, ratings = (_count(whole, name) for name in ("n_users", "n_items", "n_ratings"))
    values = _rising("values", whole["values"])
    cuts = _cuts(whole["cuts"], users, len(shards))
    limited = _limited(shards, cuts, items, len(values), None)
    return ShardedRatings(folder, limited, cuts, users, items, ratings, values)


def _count(whole: JsonObject, name: str) -> int:
    value = whole[name]
    if type(value) is not int or not 0 <= value < 2**48:
        raise ArrayError(f"{name}: {value!r} is not a count")
    return value


def _rising(name: str, numbers: Any) -> np.ndarray:
    array = check_array(name, np.array(numbers, np.float64), np.float64, (None,))
    if (np.diff(array) <= 0).any():
        raise ArrayError(f"{name}: not in rising order")
    return array


def _cuts(given: Any, rows: int, shards: int) -> np.ndarray:
    cuts = check_array("cuts", np.array(given, np.int64), np.int64, (shards + 1,))
    if cuts[0] != 0 or cuts[-1] != rows or (np.diff(cuts) < 0).any():
        raise ArrayError("cuts: the shards do not cover the rows")
    return cuts


def _limited(
    shards: list[ShardRef], cuts: np.ndarray, columns: int, levels: int, weight: float | None
) -> list[ShardRef]:
    """Return the shards with what the manifest says about each."""
    return [
        ref._replace(limits=ShardLimits(int(low), int(high - low), columns, levels, weight))
        for ref, (low, high) in zip(shards, pairwise(cuts), strict=True)
    ]


def read_ids(folder: Path, name: str, count: int) -> np.ndarray:
    """Read a column of ids: int64 or text."""
    try:
        column = parquet.read_table(folder / f"{name}.parquet").column(0)
        ids = np.asarray(column.to_numpy())
    except (OSError, ValueError, IndexError) as error:
        raise InputError(f"the ids of the {name} cannot be read ({error})", path=folder) from error
    if len(ids) != count:
        raise InputError(
            f"{len(ids):,} ids of the {name}, but the manifest has {count:,}",
            path=folder,
            remedy="shard the input again",
        )
    return ids

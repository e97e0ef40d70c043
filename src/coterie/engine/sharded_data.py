"""Data that are stored in shards: `coterie shard` writes them, and models can be fitted to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from pyarrow import parquet

from coterie.base.errors import InputError
from coterie.base.machine import physical_memory
from coterie.data import Ratings
from coterie.engine.shard_storage import ShardRef, load_shard, read_manifest
from coterie.kernels.hard.row_blocks import RowBlock

GRAPH, RATINGS = "graph", "ratings"
MAX_DISTINCT_WEIGHTS = 1000  # weights that a manifest lists
_BYTES_PER_RATING = 40  # in memory, including what a recommender needs


@dataclass(frozen=True, eq=False)
class ShardedGraph:
    """A graph that is stored in a folder; `shards` are blocks of rows, cut at `cuts`."""

    folder: Path
    shards: list[ShardRef]
    cuts: np.ndarray
    n_nodes: int
    n_edges: int
    directed: bool
    weighted: bool
    weights: np.ndarray | None = None  # distinct ones, rising; None: too many

    @cached_property
    def ids(self) -> np.ndarray:
        """Original ids of the nodes, read when first needed."""
        return read_ids(self.folder, "nodes")


@dataclass(frozen=True, eq=False)
class ShardedRatings:
    """Ratings that are stored in a folder, in blocks of users; channels are indices of `values`."""

    folder: Path
    shards: list[ShardRef]
    cuts: np.ndarray
    n_users: int
    n_items: int
    n_ratings: int
    values: np.ndarray

    def __len__(self) -> int:
        return self.n_ratings

    @cached_property
    def user_ids(self) -> np.ndarray:
        """Original ids of the users, read when first needed."""
        return read_ids(self.folder, "users")

    @cached_property
    def item_ids(self) -> np.ndarray:
        """Original ids of the items, read when first needed."""
        return read_ids(self.folder, "items")

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
        blocks = [load_shard(ref) for ref in self.shards]
        load_shard.cache_clear()  # otherwise they would stay in memory twice
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
    try:
        cuts = np.array(whole["cuts"], np.int64)
        if whole["holds"] == GRAPH:
            sizes = {name: whole[name] for name in ("n_nodes", "n_edges", "directed", "weighted")}
            weights = None if whole.get("weights") is None else np.array(whole["weights"])
            return ShardedGraph(folder, shards, cuts, weights=weights, **sizes)
        sizes = {name: whole[name] for name in ("n_users", "n_items", "n_ratings")}
        return ShardedRatings(folder, shards, cuts, values=np.array(whole["values"]), **sizes)
    except KeyError as error:
        raise InputError(
            f"the manifest has no entry {error}", path=folder, remedy="shard the input again"
        ) from error


def read_ids(folder: Path, name: str) -> np.ndarray:
    """Read a column of ids: int64 or text."""
    try:
        column = parquet.read_table(folder / f"{name}.parquet").column(0)
    except (OSError, ValueError) as error:
        raise InputError(f"the ids of the {name} cannot be read ({error})", path=folder) from error
    return np.asarray(column.to_numpy())

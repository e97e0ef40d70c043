"""Data that lie on storage in shards: what `coterie shard` makes and models can fit."""

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
MOST_WEIGHTS = 1000  # distinct weights that a manifest names
_BYTES_A_RATING = 40  # in memory, with what a recommender needs beside them


@dataclass(frozen=True, eq=False)
class ShardedGraph:
    """A graph whose rows lie in a folder; `shards` are blocks of rows, cut at `cuts`."""

    folder: Path
    shards: list[ShardRef]
    cuts: np.ndarray
    n_nodes: int
    n_edges: int
    directed: bool
    weighted: bool
    weights: np.ndarray | None = None  # the distinct ones, rising; None: more than MOST_WEIGHTS

    @cached_property
    def ids(self) -> np.ndarray:
        """The nodes' ids as they were given; read when first asked for."""
        return read_ids(self.folder, "nodes")


@dataclass(frozen=True, eq=False)
class ShardedRatings:
    """Ratings whose users lie in a folder, block by block; channels are places in `values`."""

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
        return read_ids(self.folder, "users")

    @cached_property
    def item_ids(self) -> np.ndarray:
        return read_ids(self.folder, "items")

    def load(self) -> Ratings:
        """All of them in the memory of this process, user by user."""
        needed, there = _BYTES_A_RATING * len(self), physical_memory()
        if needed > there:
            raise InputError(
                f"{len(self):,} ratings take about {needed / 1e9:.0f} GB in one process, and this "
                f"machine has {there / 1e9:.0f} GB",
                path=self.folder,
                remedy="`coterie soft` fits them where they lie",
            )
        blocks = [load_shard(ref) for ref in self.shards]
        load_shard.cache_clear()  # or they would stay in memory a second time
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
    """What `coterie shard` has put into a folder."""
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
        raise InputError(f"its manifest lacks {error}", path=folder) from error


def read_ids(folder: Path, name: str) -> np.ndarray:
    """A column of ids: int64, or text."""
    try:
        column = parquet.read_table(folder / f"{name}.parquet").column(0)
    except (OSError, ValueError) as error:
        raise InputError(f"the ids of the {name} cannot be read ({error})", path=folder) from error
    return np.asarray(column.to_numpy())

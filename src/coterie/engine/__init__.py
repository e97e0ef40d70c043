"""Engines run the work: they map pure functions over shards and merge the results.

interface.py      what an engine does, and what all of them share
local.py          threads of this process, and a task that runs next to the main one
dask.py           workers of a Dask cluster, and what a worker does
shard_layout.py   how data are cut into shards, and in which order results are merged
shard_storage.py  shards as files; sharding.py writes them, sharded_data.py opens them
checkpoint.py     the state of a fit as a file
"""

from coterie.engine.interface import Engine, EngineError
from coterie.engine.local import BackgroundTask, LocalEngine, resolve_engine, running_engine
from coterie.engine.shard_layout import cut_rows, merge_tree, shard_count

__all__ = [
    "BackgroundTask",
    "Engine",
    "EngineError",
    "LocalEngine",
    "cut_rows",
    "merge_tree",
    "resolve_engine",
    "running_engine",
    "shard_count",
]

"""Where work runs. An engine maps pure functions over shards and merges what comes back."""

from coterie.engine.interface import Engine, EngineError
from coterie.engine.local import LocalEngine
from coterie.engine.resolve import resolve_engine, running_engine
from coterie.engine.shard_layout import cut_rows, merge_tree, shard_count

__all__ = [
    "Engine",
    "EngineError",
    "LocalEngine",
    "cut_rows",
    "merge_tree",
    "resolve_engine",
    "running_engine",
    "shard_count",
]

"""Where work runs. An engine maps a pure function over shards and gives the results in order."""

from coterie.engine.local import Engine, LocalEngine, resolve_engine
from coterie.engine.shards import cut_rows, merge_tree, shard_count

__all__ = ["Engine", "LocalEngine", "cut_rows", "merge_tree", "resolve_engine", "shard_count"]

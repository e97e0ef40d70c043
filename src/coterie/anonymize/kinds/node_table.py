"""The table of published nodes: the side of each and its attributes."""

from __future__ import annotations

import numpy as np

from coterie.anonymize.kinds.network import Network
from coterie.anonymize.published_graph import PublishedGraph

SIDE_NAMES = ("first", "second")

PublishedColumns = dict[str, np.ndarray]


def published_node_tables(
    networks: list[Network], releases: list[PublishedGraph], sides: np.ndarray | None
) -> list[PublishedColumns]:
    """Return one table per draw: node, side and attributes; empty if there is nothing to say."""
    tables = []
    for network, (_, identity) in zip(networks, releases, strict=True):
        table: PublishedColumns = {}
        if sides is not None:
            there = np.empty(len(sides), np.int64)
            there[identity] = sides
            table["side"] = np.array(SIDE_NAMES, object)[there]
        if network.attributes is not None:
            table |= network.attributes.to_columns()
        if table:
            tables.append({"node": np.arange(network.graph.n_nodes), **table})
    return tables

"""The table published,original that says who is who in a release (`research_truth`)."""

from __future__ import annotations

import csv
from os import PathLike
from typing import NamedTuple

import numpy as np

from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.data.readers import read_columns
from coterie.data.writers import atomic_write


class IdentityMap(NamedTuple):
    """The identities of the nodes of a published graph. Private: never publish them."""

    ids: np.ndarray  # the ids of the original
    identity: np.ndarray  # int32[n]: the published node of each original node

    def __repr__(self) -> str:
        return f"<IdentityMap: who is who among {len(self.ids):,} nodes, private>"


def write_identity_map(path: str | PathLike[str], identities: IdentityMap) -> None:
    """Write published,original in the order of the published nodes, for the owner (mode 0600)."""
    ids, identity = identities
    person = np.argsort(identity)
    with atomic_write(path, permissions=0o600) as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("published", "original"))
        table.writerows(zip(range(len(person)), ids[person].tolist(), strict=True))


def read_identity_map(path: str | PathLike[str], original: Graph, published: Graph) -> np.ndarray:
    """Return the published node of every original node (int32[n]).

    Raises InputError if the file does not match the two graphs.
    """
    table = read_columns(path, ("published", "original"))
    person = _numbers(table["original"], original, path, "original")
    node = _numbers(table["published"], published, path, "published")
    for numbers, name in ((person, "original"), (node, "published")):
        distinct, count = np.unique(numbers, return_counts=True)
        if len(distinct) < len(numbers):
            graph = original if name == "original" else published
            twice = graph.ids[distinct[count.argmax()]]
            raise InputError(f"{name} node {twice} appears in more than one row", path=path)
    if len(person) < original.n_nodes:
        missing = np.setdiff1d(np.arange(original.n_nodes), person)
        raise InputError(
            f"{len(missing)} nodes of the original are missing, for example "
            f"{original.ids[missing[0]]}",
            path=path,
            remedy="use the identity map that was written with this release",
        )
    identity = np.empty(original.n_nodes, np.int32)
    identity[person] = node
    return identity


def _numbers(ids: np.ndarray, graph: Graph, path: str | PathLike[str], name: str) -> np.ndarray:
    """Return the node numbers of ids of a graph."""
    number = {str(identity): v for v, identity in enumerate(graph.ids)}
    found = np.array([number.get(str(identity), -1) for identity in ids], np.int64)
    if (found < 0).any():
        unknown = ids[int(np.argmax(found < 0))]
        raise InputError(
            f"{name} node {unknown} is not in the {name} graph",
            path=path,
            remedy="use the columns published,original that were written with this release",
        )
    return found

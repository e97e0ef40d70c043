"""Who is who: the table published,original that `--research-truth` writes."""

from __future__ import annotations

import csv
from os import PathLike

import numpy as np

from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.data.readers import read_columns
from coterie.data.writers import atomic_write


def write_truth(path: str | PathLike[str], ids: np.ndarray, truth: np.ndarray) -> None:
    """published,original, in the order of the published nodes; for the owner's eyes (mode 0600)."""
    person = np.argsort(truth)
    with atomic_write(path, permissions=0o600) as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("published", "original"))
        table.writerows(zip(range(len(person)), ids[person].tolist(), strict=True))


def read_truth(path: str | PathLike[str], original: Graph, published: Graph) -> np.ndarray:
    """int32[n]: the published node of every original one; an error where the file does not fit."""
    table = read_columns(path, ("published", "original"))
    person = _numbers(table["original"], original, path, "original")
    node = _numbers(table["published"], published, path, "published")
    for numbers, name in ((person, "original"), (node, "published")):
        distinct, count = np.unique(numbers, return_counts=True)
        if len(distinct) < len(numbers):
            graph = original if name == "original" else published
            twice = graph.ids[distinct[count.argmax()]]
            raise InputError(f"{name} node {twice} stands in more than one row", path=path)
    if len(person) < original.n_nodes:
        missing = np.setdiff1d(np.arange(original.n_nodes), person)
        raise InputError(
            f"{len(missing)} nodes of the original are missing, {original.ids[missing[0]]} is one",
            path=path,
            remedy="give the truth file of this very release",
        )
    truth = np.empty(original.n_nodes, np.int32)
    truth[person] = node
    return truth


def _numbers(ids: np.ndarray, graph: Graph, path: str | PathLike[str], name: str) -> np.ndarray:
    number = {str(identity): v for v, identity in enumerate(graph.ids)}
    found = np.array([number.get(str(identity), -1) for identity in ids], np.int64)
    if (found < 0).any():
        strange = ids[int(np.argmax(found < 0))]
        raise InputError(
            f"{name} node {strange} is not in the {name} graph",
            path=path,
            remedy="give the columns published,original of this very release",
        )
    return found

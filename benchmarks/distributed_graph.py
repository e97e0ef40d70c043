"""A planted partition with as many edges as the disk holds, written as text and truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from coterie.kernels.graphs.planted import draw_cells

_PIECE = 1 << 22  # edges written at once


def write(folder: str | Path, n: int, k: int, degree: float, mixing: float = 0.1) -> None:
    """Write edges.txt (nodes in random order) and truth.parquet (node, block); seed 0."""
    rng = np.random.default_rng(0)
    P = np.full((k, k), degree * mixing / (n - n / k))
    np.fill_diagonal(P, degree * (1 - mixing) / (n / k - 1))
    starts = np.linspace(0, n, k + 1).astype(np.int64)
    capacity = int(0.51 * degree * n + 1000)
    source, target = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    drawn = draw_cells(starts, P, False, np.uint64(1), source, target)
    if drawn > capacity:
        raise ValueError("more edges than expected")
    place = rng.permutation(n).astype(np.int32)
    options = csv.WriteOptions(include_header=False, delimiter="\t")
    with (Path(folder) / "edges.txt").open("wb") as file:
        file.write(f"# nodes: {n}\n".encode())
        for start in range(0, drawn, _PIECE):
            piece = slice(start, min(start + _PIECE, drawn))
            ends = {"s": place[source[piece]], "t": place[target[piece]]}
            csv.write_csv(pa.table(ends), file, options)
    blocks = np.empty(n, np.int32)
    blocks[place] = np.repeat(np.arange(k, dtype=np.int32), np.diff(starts))
    parquet.write_table(
        pa.table({"node": np.arange(n), "block": blocks}), Path(folder) / "truth.parquet"
    )

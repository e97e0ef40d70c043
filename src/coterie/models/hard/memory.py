"""The memory that a search needs for its tables of pairs of blocks, checked before any work.

The tables grow with the square of the number of blocks, so a large number fills the memory long
before a large graph does, and the operating system then ends the process without a message.
"""

from __future__ import annotations

from coterie.base.errors import InputError
from coterie.base.machine import free_memory
from coterie.models.hard.costs.block_objective import BlockObjective
from coterie.models.hard.costs.interface import Objective

# Peak bytes / (8 bytes x slots x blocks), measured with 2,000 and 4,000 blocks: "best" 20.6 to
# 23.2 (it works with 1.5 times the blocks at first), "paper" 13.2; with buffers of the threads.
_TABLES = {"best": 22.0, "paper": 12.0}
_BUFFER = 1 << 25  # bytes per thread


def table_bytes(objective: BlockObjective, n_blocks: tuple[int, ...], search: str) -> int:
    """Return the estimated peak of the tables of pairs of blocks.

    >>> from coterie.data import Graph
    >>> from coterie.models.hard.costs import simple
    >>> round(table_bytes(simple(Graph.from_edges([0], [1])), (20_000,), "best") / 2**30)
    66
    """
    cells = sum(objective.slots(side, n_blocks) * k for side, k in enumerate(n_blocks))
    return int(8 * cells * _TABLES[search])


def check_memory(
    objective: Objective, n_blocks: tuple[int, ...], search: str, threads: int = 1
) -> None:
    """Raise an error if the tables of these numbers of blocks do not fit into the free memory."""
    if not isinstance(objective, BlockObjective):
        return
    needed = table_bytes(objective, n_blocks, search)
    free = free_memory()
    if needed + threads * _BUFFER <= free or needed < _BUFFER:
        return
    fewer = max(1, int(max(n_blocks) * (0.8 * free / needed) ** 0.5))
    count = " x ".join(f"{k:,}" for k in n_blocks)
    other = ' or `search="paper"`, which needs about half' if search == "best" else ""
    raise InputError(
        f"{count} blocks need tables of about {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB of "
        "memory are free",
        remedy=f"use at most about `n_blocks={fewer}`{other}",
    )

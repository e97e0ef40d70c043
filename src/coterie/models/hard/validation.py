"""Combinations of parameters that a hard clustering does not have, numbers of blocks and labels,
and the memory for tables of pairs of blocks, which grow with the square of their number.

Types and ranges of single parameters are checked by the declaration of the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.base.errors import InputError
from coterie.base.machine import free_memory
from coterie.models.hard.costs import OBJECTIVES
from coterie.models.hard.costs.block_objective import BlockObjective
from coterie.models.hard.costs.interface import Labels, Objective
from coterie.models.hard.description.choice import AT_FIXED_NUMBER, NESTED
from coterie.models.hard.weight_models import COUNTS

if TYPE_CHECKING:
    from coterie.models.hard.block_model import BlockModel

# Peak bytes / (8 bytes x slots x blocks), measured with 2,000 and 4,000 blocks: "best" 20.6 to
# 23.2 (it works with 1.5 times the blocks at first), "paper" 13.2; with buffers of the threads.
_TABLES = {"best": 22.0, "paper": 12.0}
_BUFFER = 1 << 25  # bytes per thread
_WITH_WEIGHTS = ("weighted", "simple", "degree-corrected", "directed", "directed-degree-corrected")


def require_number_of_blocks(n_blocks: Any, objective: Any) -> None:
    """Raise an error that names `BlockModel` for what only a description length can choose."""
    if isinstance(n_blocks, str) and n_blocks in ("auto", "nested"):
        name = objective if isinstance(objective, str) else "auto"
        nested = ", nested=True" if n_blocks == "nested" else ""
        raise InputError(
            f"GeneralizedKMeans needs a number of blocks, not {n_blocks!r}",
            remedy=f'use `BlockModel("{name}"{nested})`, which chooses it',
        )
    if isinstance(objective, str) and objective not in (*OBJECTIVES, *AT_FIXED_NUMBER):
        raise InputError(
            f"unknown objective: {objective!r}",
            remedy=f"choose one of {', '.join(OBJECTIVES)}; BlockModel also has "
            f"{', '.join(AT_FIXED_NUMBER)}",
        )
    if isinstance(objective, str) and objective in AT_FIXED_NUMBER:
        raise InputError(
            f'`objective="{objective}"` chooses the number of blocks itself',
            remedy=f'use `BlockModel("{objective}")`, or '
            f'`objective="{AT_FIXED_NUMBER[objective]}"` with a number',
        )


def check_block_model(model: BlockModel) -> None:
    """Raise an error for parameters that exclude each other."""
    real = model.weight_model != COUNTS
    nested_models = ("auto", *NESTED)
    if model.n_blocks is not None and not real:
        known = model.model if model.model in OBJECTIVES else "degree-corrected"
        raise InputError(
            "a BlockModel chooses the number of blocks itself, except with real-valued weights",
            remedy=f'use GeneralizedKMeans({model.n_blocks}, objective="{known}")',
        )
    if real and model.model not in _WITH_WEIGHTS:
        raise InputError(
            f'`weight_model="{model.weight_model}"` does not support `objective="{model.model}"`',
            remedy=f"use one of {', '.join(_WITH_WEIGHTS)}",
        )
    if model.density is not None and model.model not in ("communities", "auto"):
        raise InputError(
            f'`density` belongs to communities, not to `objective="{model.model}"`',
            remedy='use `objective="communities"`, or leave out `density`',
        )
    if model.nested and model.model not in nested_models:
        raise InputError(
            f'`nested` does not support `objective="{model.model}"`',
            remedy='use `objective="degree-corrected"`, `"simple"` or `"auto"`',
        )
    refused = {
        "nested": {
            "weight_model": real,
            "connected": model.connected,
            "min_block_size": model.min_block_size > 1,
        },
        "weight_model": {"connected": model.connected, "min_block_size": model.min_block_size > 1},
        "connected": {"min_block_size": model.min_block_size > 0},
    }
    used = {"nested": model.nested, "weight_model": real, "connected": model.connected}
    for option, others in refused.items():
        for other, given in others.items():
            if used[option] and given:
                raise InputError(
                    f"`{option}` does not support `{other}`", remedy="leave one of them out"
                )


def block_counts(
    n_blocks: int | tuple[int, ...], n_elements: tuple[int, ...], min_block_size: int
) -> tuple[int, ...]:
    """Return the number of blocks per side; one number applies to both sides.

    >>> block_counts(3, (10, 5), 0)
    (3, 3)
    """
    given = n_blocks if isinstance(n_blocks, tuple | list) else (n_blocks,) * len(n_elements)
    if len(given) != len(n_elements):
        raise InputError(
            f"n_blocks={n_blocks!r} does not fit data with {len(n_elements)} node set(s)",
            remedy="give one number, or for ratings one for users and one for items",
        )
    for k, n in zip(given, n_elements, strict=True):
        if k > n:
            raise InputError(
                f"{k} blocks are more than the {n} nodes",
                remedy=f"ask for at most {n} blocks" if n else None,
            )
        if k * min_block_size > n:
            raise InputError(
                f"{k} blocks of at least {min_block_size} nodes need {k * min_block_size:,} nodes, "
                f"and there are {n:,}",
                remedy=f"use at most `min_block_size={n // k}`"
                + (f" or `n_blocks={n // min_block_size}`" if n >= min_block_size else ""),
            )
    return tuple(int(k) for k in given)


def given_labels(
    init: str | np.ndarray | tuple[np.ndarray, ...],
    n_elements: tuple[int, ...],
    n_blocks: tuple[int, ...],
    min_block_size: int,
) -> Labels | None:
    """Return the labels given as `init`, checked; None for "random"."""
    if isinstance(init, str):
        if init != "random":
            raise InputError(
                f"unknown init: {init!r}", remedy="give 'random' or an array of labels"
            )
        return None
    sides = init if isinstance(init, tuple) else (init,)
    if len(sides) != len(n_elements):
        raise InputError(
            f"init has labels for {len(sides)} node set(s), the data have {len(n_elements)}",
            remedy="give a tuple with one array per node set",
        )
    labels = []
    for side, n, k in zip(sides, n_elements, n_blocks, strict=True):
        z = np.asarray(side)
        if z.shape != (n,):
            raise InputError(
                f"init has shape {z.shape}, the data have {n} elements",
                remedy="give one label per element",
            )
        bad = np.flatnonzero(~((z >= 0) & (z < k) & (z == np.floor(z))))
        if len(bad):
            raise InputError(
                f"invalid label: init[{bad[0]}] = {z[bad[0]]}",
                remedy=f"labels must be integers from 0 to {k - 1}",
            )
        sizes = np.bincount(z.astype(np.int64), minlength=k)
        if sizes.min() < min_block_size:
            raise InputError(
                f"block {int(sizes.argmin())} of init has {int(sizes.min())} nodes, fewer than "
                f"min_block_size={min_block_size}",
                remedy="start with larger blocks, or lower `min_block_size`",
            )
        labels.append(z.astype(np.int32))
    return tuple(labels)


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

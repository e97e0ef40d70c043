"""Where a hard clustering starts: options checked, block counts, first labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.base.errors import InputError
from coterie.models.hard.objectives.interface import Labels


def check_options(model: Any) -> None:
    """Refuse what no search can use, by name and value."""
    if model.search not in ("paper", "best"):
        raise InputError(f"search={model.search!r} is unknown", remedy="take 'paper' or 'best'")
    if model.score not in ("auto", "exact", "fixed"):
        raise InputError(
            f"score={model.score!r} is unknown", remedy="take 'exact', 'fixed' or 'auto'"
        )
    if not 0.0 < model.alpha <= 1.0:
        raise InputError(
            f"alpha={model.alpha:g} is outside (0, 1]",
            remedy="alpha is the share of the nodes in a batch: try 0.1",
        )
    if not model.tol >= 0.0:
        raise InputError(f"tol={model.tol:g} is negative", remedy="give 0 to run all iterations")
    if model.n_blocks == "auto" and not isinstance(model.init, str):
        raise InputError(
            "n_blocks='auto' cannot start from labels of your own",
            remedy="give the number of blocks, or init='random'",
        )
    for name, least in (("max_iter", 0), ("n_init", 1), ("min_block_size", 0)):
        value = getattr(model, name)
        if not isinstance(value, int | np.integer) or value < least:
            raise InputError(f"{name}={value!r}", remedy=f"give an integer of at least {least}")


def check_saving(model: Any, every: int) -> None:
    """Refuse a checkpoint of what keeps none."""
    if model.search != "paper" or model.n_blocks == "auto":
        what = f"search={model.search!r}" if model.search != "paper" else "n_blocks='auto'"
        raise InputError(
            f"{what} keeps no checkpoints", remedy="use search='paper' with a number of blocks"
        )
    if every < 1:
        raise InputError(f"checkpoint_every={every}", remedy="give an integer of at least 1")


def block_counts(
    n_blocks: int | str | tuple[int, ...], n_elements: tuple[int, ...], min_block_size: int
) -> tuple[int, ...]:
    """How many blocks each side gets; one number serves both sides.

    >>> block_counts(3, (10, 5), 0)
    (3, 3)
    """
    given = n_blocks if isinstance(n_blocks, tuple | list) else (n_blocks,) * len(n_elements)
    if len(given) != len(n_elements):
        raise InputError(
            f"n_blocks={n_blocks!r} for {len(n_elements)} node set(s)",
            remedy="give one number, or one for users and one for items",
        )
    for k, n in zip(given, n_elements, strict=True):
        if not isinstance(k, int | np.integer) or k < 1:
            raise InputError(f"n_blocks={k!r}", remedy="give an integer of at least 1, or 'auto'")
        if k > n:
            raise InputError(
                f"{k} blocks for {n} nodes", remedy=f"ask for at most {n} blocks" if n else None
            )
        if k * min_block_size > n:
            raise InputError(
                f"{k} blocks of at least {min_block_size} nodes need {k * min_block_size:,}, "
                f"and there are {n:,}",
                remedy=f"with {k} blocks the largest min_block_size is {n // k}; "
                f"with min_block_size={min_block_size} the most blocks are {n // min_block_size}",
            )
    return tuple(int(k) for k in given)


def given_labels(
    init: str | np.ndarray | tuple[np.ndarray, ...],
    n_elements: tuple[int, ...],
    n_blocks: tuple[int, ...],
    min_block_size: int,
) -> Labels | None:
    """The user's own start, checked; None for "random"."""
    if isinstance(init, str):
        if init != "random":
            raise InputError(f"init={init!r} is unknown", remedy="give 'random' or labels")
        return None
    sides = init if isinstance(init, tuple) else (init,)
    if len(sides) != len(n_elements):
        raise InputError(
            f"init has labels for {len(sides)} node set(s), the data have {len(n_elements)}",
            remedy="give a tuple with an array for each",
        )
    labels = []
    for side, n, k in zip(sides, n_elements, n_blocks, strict=True):
        z = np.asarray(side)
        if z.shape != (n,):
            raise InputError(f"init has shape {z.shape}, the data have {n} elements")
        bad = np.flatnonzero(~((z >= 0) & (z < k) & (z == np.floor(z))))
        if len(bad):
            raise InputError(
                f"init[{bad[0]}] = {z[bad[0]]} is no block", remedy=f"labels run 0..{k - 1}"
            )
        sizes = np.bincount(z.astype(np.int64), minlength=k)
        if sizes.min() < min_block_size:
            raise InputError(
                f"init gives block {int(sizes.argmin())} {int(sizes.min())} nodes, under "
                f"min_block_size={min_block_size}",
                remedy="start with larger blocks",
            )
        labels.append(z.astype(np.int32))
    return tuple(labels)

"""Check the parameters of a hard clustering, the numbers of blocks and the first labels."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from coterie.base.errors import InputError
from coterie.engine import Engine, LocalEngine
from coterie.engine.checkpoint import check_checkpoint_options
from coterie.models.hard.objectives.interface import Labels
from coterie.models.hard.weight_models import COUNTS, WEIGHT_MODELS


def check_request(
    model: Any,
    engine: str | Engine = "local",
    *,
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_every: int = 10,
    resume: bool = False,
) -> None:
    """Raise an error for a fit that cannot work, before any work is done.

    The data are not needed, so the command line can call this before it reads a file or starts a
    cluster.
    """
    check_options(model)
    check_placement(model, engine)
    check_checkpoint_options(checkpoint, checkpoint_every, resume)


def check_options(model: Any) -> None:
    """Raise an error for a parameter that no search can use."""
    if model.search not in ("paper", "best"):
        raise InputError(f"unknown search: {model.search!r}", remedy="choose best or paper")
    if model.score not in ("auto", "exact", "fixed"):
        raise InputError(f"unknown score: {model.score!r}", remedy="choose exact, fixed or auto")
    if model.search == "best" and model.score == "fixed" and model.objective != "gaussian":
        raise InputError(
            '`search="best"`, the default, does not support `score="fixed"`',
            remedy='use `search="paper"`',
        )
    if not 0.0 < model.alpha <= 1.0:
        raise InputError(
            f"alpha={model.alpha:g} is outside (0, 1]",
            remedy="alpha is the share of the nodes in a batch: try `alpha=0.1`",
        )
    if not model.tol >= 0.0:
        raise InputError(
            f"tol must not be negative: {model.tol:g}", remedy="set `tol=0` to run all iterations"
        )
    if model.objective in ("communities", "auto") and model.n_blocks not in ("auto", "nested"):
        raise InputError(
            f'`objective="{model.objective}"` chooses the number of blocks itself',
            remedy='use `n_blocks="auto"`, or `objective="degree-corrected"` with a number',
        )
    if model.objective in ("communities", "auto") and model.search != "best":
        raise InputError(
            f'`objective="{model.objective}"` does not support `search="paper"`',
            remedy='use `search="best"`',
        )
    if model.objective == "directed-degree-corrected":
        _check_directed_degree_corrected(model)
    _check_weight_model(model)
    if model.n_blocks == "nested":
        _check_nested(model)
    if model.n_blocks in ("auto", "nested") and not isinstance(model.init, str):
        raise InputError(
            f'`n_blocks="{model.n_blocks}"` cannot start from given labels',
            remedy='give the number of blocks, or set `init="random"`',
        )
    if model.connected and model.n_blocks == "nested":
        raise InputError(
            '`n_blocks="nested"` does not support `connected` blocks',
            remedy='use `n_blocks="auto"`',
        )
    if model.connected and model.min_block_size > 0:
        raise InputError(
            "`connected` blocks cannot have a minimum size",
            remedy="leave out `min_block_size` or `connected`",
        )
    for name, minimum in (("max_iter", 0), ("n_init", 1), ("min_block_size", 0)):
        value = getattr(model, name)
        if not isinstance(value, int | np.integer) or value < minimum:
            raise InputError(
                f"invalid {name}: {value!r}", remedy=f"give an integer of at least {minimum}"
            )


def _check_directed_degree_corrected(model: Any) -> None:
    """Raise an error for options of which only the description length is defined."""
    if model.search != "best" or (model.n_blocks != "auto" and model.weight_model == COUNTS):
        raise InputError(
            '`objective="directed-degree-corrected"` chooses the number of blocks itself',
            remedy='use `n_blocks="auto"` and `search="best"`, or `objective="directed"`',
        )


def _check_weight_model(model: Any) -> None:
    """Raise an error for options that real-valued weights do not support."""
    if model.weight_model not in WEIGHT_MODELS:
        raise InputError(
            f"unknown weight_model: {model.weight_model!r}",
            remedy=f"choose one of {', '.join(WEIGHT_MODELS)}",
        )
    if model.weight_model == COUNTS:
        return
    given = f'`weight_model="{model.weight_model}"`'
    topologies = ("weighted", "simple", "degree-corrected", "directed", "directed-degree-corrected")
    if model.objective not in topologies:
        raise InputError(
            f'{given} does not support `objective="{model.objective}"`',
            remedy=f"use one of {', '.join(topologies)}",
        )
    refused = {
        'search="paper"': model.search != "best",
        'n_blocks="nested"': model.n_blocks == "nested",
        "min_block_size": model.min_block_size > 1,
        "connected": bool(model.connected),
        "init": not isinstance(model.init, str),
    }
    for option, used in refused.items():
        if used:
            raise InputError(f"{given} does not support `{option}`", remedy="leave one of them out")


def _check_nested(model: Any) -> None:
    """Raise an error for options that a hierarchy does not support."""
    if model.objective not in ("simple", "degree-corrected", "auto"):
        raise InputError(
            f'`n_blocks="nested"` does not support `objective="{model.objective}"`',
            remedy='use `objective="degree-corrected"`, `"simple"` or `"auto"`',
        )
    if model.search != "best":
        raise InputError(
            '`n_blocks="nested"` does not support `search="paper"`', remedy='use `search="best"`'
        )
    if model.connected:
        raise InputError(
            '`n_blocks="nested"` does not support `connected`', remedy='use `n_blocks="auto"`'
        )
    if model.min_block_size > 1:
        raise InputError(
            '`n_blocks="nested"` does not support `min_block_size`',
            remedy='use `n_blocks="auto"`, or leave out `min_block_size`',
        )


def check_placement(model: Any, engine: str | Engine) -> None:
    """Raise an error if the search runs in one process and is to run on a cluster."""
    if isinstance(engine, LocalEngine) or (isinstance(engine, str) and engine != "dask"):
        return
    if model.objective == "gaussian":
        raise InputError(
            "objective 'gaussian' runs on one machine only", remedy='use `engine="local"`'
        )
    if model.n_blocks in ("auto", "nested"):
        raise InputError(
            f'`n_blocks="{model.n_blocks}"` runs in one process and does not support the Dask '
            "engine",
            remedy='use `engine="local"`, which also takes shards, or use `search="paper"` with a '
            "number of blocks",
        )
    if model.weight_model != COUNTS:
        raise InputError(
            f'`weight_model="{model.weight_model}"` runs in one process and does not support the '
            "Dask engine",
            remedy='use `engine="local"`, which also takes shards',
        )


def block_counts(
    n_blocks: int | str | tuple[int, ...], n_elements: tuple[int, ...], min_block_size: int
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
        if not isinstance(k, int | np.integer) or k < 1:
            raise InputError(
                f"invalid n_blocks: {k!r}", remedy="give an integer of at least 1, auto or nested"
            )
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

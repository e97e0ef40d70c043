"""Predictions of an additive block model from its samples, and users and items added to them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from coterie.data.ratings import NodeRatings
from coterie.engine import Engine
from coterie.engine.resolve import running_engine
from coterie.kernels.additive.fold_in import fold_in
from coterie.kernels.additive.predict import Samples, distributions

_PAIRS_PER_TASK = 1 << 10
_SWEEPS = 3  # of an added user or item per sample; each sample starts from the previous one


def pair_distributions(
    samples: Samples,
    users: np.ndarray,
    items: np.ndarray,
    engine: str | Engine = "local",
) -> np.ndarray:
    """Return P(rating) for pairs of user and item numbers: pairs x levels."""
    order = np.argsort(users, kind="stable")
    u, v = users[order].astype(np.int64), items[order].astype(np.int64)
    begins = np.arange(0, len(u), _PAIRS_PER_TASK)
    ends = np.minimum(begins + _PAIRS_PER_TASK, len(u))
    task = partial(distributions, samples, u, v)
    if len(begins) <= 1:
        parts = [task(int(b), int(e)) for b, e in zip(begins, ends, strict=True)]
    else:
        with running_engine(engine) as runner:
            parts = runner.map(task, begins, ends)
    out = np.empty((len(u), samples.cuts.shape[2] - 1))
    if parts:
        out[order] = np.concatenate(parts)
    return out


def with_users(samples: Samples, users: Sequence[NodeRatings]) -> Samples:
    """Return samples in which these users are drawn from their ratings, all else fixed."""
    drawn = [
        fold_in(
            np.uint64(user.number),
            user.levels.astype(np.uint8),
            samples.item_labels[:, user.others],
            samples.item_offsets[:, user.others],
            samples.effects,
            samples.cuts,
            samples.styles[:, :0],
            True,
            samples.precisions[:, 0],
            _SWEEPS,
        )
        for user in users
    ]
    numbers = [user.number for user in users]
    labels, offsets, spreads, styles = zip(*drawn, strict=True)
    return samples._replace(
        user_labels=_with_nodes(samples.user_labels, numbers, labels),
        user_offsets=_with_nodes(samples.user_offsets, numbers, offsets),
        user_spreads=_with_nodes(samples.user_spreads, numbers, spreads),
        styles=_with_nodes(samples.styles, numbers, styles),
    )


def with_items(samples: Samples, items: Sequence[NodeRatings]) -> Samples:
    """Return samples in which these items are drawn from their ratings, all else fixed."""
    effects = np.ascontiguousarray(samples.effects.transpose(0, 1, 3, 2))
    drawn = [
        fold_in(
            np.uint64(item.number),
            item.levels.astype(np.uint8),
            samples.user_labels[:, item.others],
            samples.user_offsets[:, item.others],
            effects,
            samples.cuts,
            np.ascontiguousarray(samples.styles[:, item.others]),
            False,
            samples.precisions[:, 1],
            _SWEEPS,
        )
        for item in items
    ]
    numbers = [item.number for item in items]
    labels, offsets, spreads, _ = zip(*drawn, strict=True)
    return samples._replace(
        item_labels=_with_nodes(samples.item_labels, numbers, labels),
        item_offsets=_with_nodes(samples.item_offsets, numbers, offsets),
        item_spreads=_with_nodes(samples.item_spreads, numbers, spreads),
    )


def _with_nodes(
    array: np.ndarray, numbers: list[int], values: tuple[np.ndarray, ...]
) -> np.ndarray:
    """Return one copy of an array with these nodes (its second axis) set or appended."""
    size = max(array.shape[1], max(numbers) + 1)
    out = np.zeros((len(array), size, *array.shape[2:]), array.dtype)
    out[:, : array.shape[1]] = array
    for number, value in zip(numbers, values, strict=True):
        out[:, number] = value
    return out

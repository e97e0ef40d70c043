"""Predictions and newcomers of an additive block model, from its kept samples."""

from __future__ import annotations

from functools import partial

import numpy as np

from coterie.engine import Engine
from coterie.engine.resolve import running_engine
from coterie.kernels.additive.fold_in import fold_in
from coterie.kernels.additive.predict import Samples, distributions

_PAIRS_A_TASK = 1 << 10
_SWEEPS = 3  # of a newcomer in each sample; it starts where the sample before left it


def pair_distributions(
    samples: Samples,
    users: np.ndarray,
    items: np.ndarray,
    engine: str | Engine | None = "local",
) -> np.ndarray:
    """P(rating) of pairs of user and item numbers: pairs x levels."""
    order = np.argsort(users, kind="stable")
    u, v = users[order].astype(np.int64), items[order].astype(np.int64)
    begins = np.arange(0, len(u), _PAIRS_A_TASK)
    ends = np.minimum(begins + _PAIRS_A_TASK, len(u))
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


def with_user(
    samples: Samples, user: int, items: np.ndarray, levels: np.ndarray, key: int
) -> Samples:
    """The samples with `user` drawn from these ratings; a number past the last is new."""
    labels, offsets, spreads, styles = fold_in(
        np.uint64(key),
        levels.astype(np.uint8),
        samples.item_labels[:, items],
        samples.item_offsets[:, items],
        samples.effects,
        samples.cuts,
        samples.styles[:, :0],
        True,
        samples.precisions[:, 0],
        _SWEEPS,
    )
    return samples._replace(
        user_labels=_placed(samples.user_labels, user, labels),
        user_offsets=_placed(samples.user_offsets, user, offsets),
        user_spreads=_placed(samples.user_spreads, user, spreads),
        styles=_placed(samples.styles, user, styles),
    )


def with_item(
    samples: Samples, item: int, users: np.ndarray, levels: np.ndarray, key: int
) -> Samples:
    """The samples with `item` drawn from these ratings; a number past the last one is new."""
    labels, offsets, spreads, _ = fold_in(
        np.uint64(key),
        levels.astype(np.uint8),
        samples.user_labels[:, users],
        samples.user_offsets[:, users],
        np.ascontiguousarray(samples.effects.transpose(0, 1, 3, 2)),
        samples.cuts,
        np.ascontiguousarray(samples.styles[:, users]),
        False,
        samples.precisions[:, 1],
        _SWEEPS,
    )
    return samples._replace(
        item_labels=_placed(samples.item_labels, item, labels),
        item_offsets=_placed(samples.item_offsets, item, offsets),
        item_spreads=_placed(samples.item_spreads, item, spreads),
    )


def _placed(column: np.ndarray, place: int, new: np.ndarray) -> np.ndarray:
    """A copy with the nodes' axis (the second) set, or made longer by one, at `place`."""
    if place < column.shape[1]:
        out = column.copy()
        out[:, place] = new
        return out
    return np.concatenate([column, new[:, None].astype(column.dtype)], axis=1)

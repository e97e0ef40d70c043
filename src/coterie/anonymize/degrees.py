"""New degrees: of one person's degree nothing survives but the class."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from coterie.anonymize.classes import Classes

_BLUR = (0.92, 0.99)  # the largest degree of the graph's top classes comes down by this factor
_BLUR_FROM = 20  # smaller maxima are common enough to hide in


def redraw_degrees(degrees: np.ndarray, classes: Classes, rng: Generator) -> np.ndarray:
    """int64[n]: degrees drawn from the smoothed quantiles of every class, at random within it.

    The quantile function is interpolated in log(degree + 1) and read at one random point of each
    of n equal intervals; 0 appears only in a class that has it. The sum of every block stays, so
    that its edges can be kept.
    """
    order = np.lexsort((degrees, classes.label))
    size = classes.sizes[classes.label[order]]
    first = np.r_[0, np.cumsum(classes.sizes)[:-1]][classes.label[order]]
    position = (np.arange(len(order)) - first + rng.random(len(order))) / size * (size - 1)
    below = position.astype(np.int64)
    logs = np.log1p(degrees[order])
    low, high = logs[first + below], logs[np.minimum(first + below + 1, first + size - 1)]
    smooth = np.expm1(low + (position - below) * (high - low))
    drawn = np.floor(smooth + rng.random(len(order))).astype(np.int64)

    lowest, highest = degrees[order][first], _upper_bounds(degrees[order], first, size, rng)
    last = np.arange(len(order)) == first + size - 1
    drawn[last & (highest < degrees[order])] = highest[last & (highest < degrees[order])]
    drawn = np.clip(drawn, lowest, highest)
    drawn = _restore_block_sums(
        drawn, degrees[order], lowest, highest, classes.block[order], classes.n_blocks, rng
    )
    new = np.empty(len(order), np.int64)
    new[order] = drawn
    return shuffle_within(new, classes, rng)


def shuffle_within(degrees: np.ndarray, classes: Classes, rng: Generator) -> np.ndarray:
    """The same degrees in every class, given to its nodes at random."""
    dealt = np.empty_like(degrees)
    members = np.argsort(classes.label, kind="stable")
    dealt[members] = degrees[np.lexsort((rng.random(len(degrees)), classes.label))]
    return dealt


def _upper_bounds(
    in_order: np.ndarray, first: np.ndarray, size: np.ndarray, rng: Generator
) -> np.ndarray:
    """The largest degree a class may hold: its own, blurred downward where it stands out, for
    else the bound itself would show through."""
    top = in_order[first + size - 1]
    blurred = np.floor(top * rng.uniform(*_BLUR, len(top))).astype(np.int64)[first]
    floor = in_order[np.maximum(first + size - 2, first)]
    alone = (top >= _BLUR_FROM) & (floor < top)
    return np.asarray(np.where(alone, np.maximum(blurred, in_order[first]), top))


def _restore_block_sums(
    drawn: np.ndarray,
    degrees: np.ndarray,
    lowest: np.ndarray,
    highest: np.ndarray,
    block: np.ndarray,
    n_blocks: int,
    rng: Generator,
) -> np.ndarray:
    """Small random changes, in proportion to degree, until every block has its sum again."""
    for _ in range(64):
        owed = np.bincount(block, degrees, n_blocks) - np.bincount(block, drawn, n_blocks)
        if not owed.any():
            break
        sign = np.sign(owed)[block].astype(np.int64)
        room = np.where(sign > 0, highest - drawn, drawn - lowest) * (sign != 0)
        weight = np.where(room > 0, drawn + 1.0, 0.0)
        total = np.bincount(block, weight, n_blocks)[block]
        mean = np.abs(owed)[block] * np.divide(
            weight, total, out=np.zeros_like(weight), where=total > 0
        )
        wanted = np.minimum(np.floor(mean + rng.random(len(mean))).astype(np.int64), room)
        drawn = drawn + sign * _no_more_than(wanted, np.abs(owed), block, n_blocks, rng)
    return drawn


def _no_more_than(
    wanted: np.ndarray, owed: np.ndarray, block: np.ndarray, n_blocks: int, rng: Generator
) -> np.ndarray:
    """`wanted`, cut at random places so that no block gives more than it owes."""
    order = np.lexsort((rng.random(len(wanted)), block))
    in_order = wanted[order]
    running = np.cumsum(in_order)
    start = np.r_[0, np.cumsum(np.bincount(block, minlength=n_blocks))[:-1]]
    before = np.r_[0, running][start[block[order]]]
    given = np.clip(owed[block[order]] - (running - in_order - before), 0, in_order)
    out = np.empty_like(wanted)
    out[order] = given.astype(np.int64)
    return out

"""New degrees, drawn per class: all that remains of a person's degree is the class."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.classes import Classes

_BLUR = (0.92, 0.99)  # random factor that lowers an outstanding largest degree of a class
_BLUR_FROM = 20  # smaller maxima are common and identify nobody


def quantiles_by_class(degrees: np.ndarray, classes: Classes) -> np.ndarray:
    """Return the degrees class by class, sorted within each, which hides who has which degree.

    >>> one = np.zeros(3, np.int32)
    >>> quantiles_by_class(np.array([5, 1, 3]), Classes(one, one))
    array([1, 3, 5])
    """
    return np.asarray(degrees[np.lexsort((degrees, classes.label))])


def redraw_degrees(quantiles: np.ndarray, classes: Classes, rng: Generator) -> np.ndarray:
    """Draw new degrees from the smoothed quantile function of each class, class by class.

    The quantile function is interpolated in log(degree + 1) and evaluated at one random point of
    each of n equal intervals; degree 0 appears only in classes that have it. The sum per block
    does not change, so that the number of edges of each block can be kept.
    """
    n = len(quantiles)
    size = np.repeat(classes.sizes, classes.sizes)
    first = np.repeat(np.cumsum(classes.sizes) - classes.sizes, classes.sizes)
    position = (np.arange(n) - first + rng.random(n)) / size * (size - 1)
    below = position.astype(np.int64)
    logs = np.log1p(quantiles)
    low, high = logs[first + below], logs[np.minimum(first + below + 1, first + size - 1)]
    smooth = np.expm1(low + (position - below) * (high - low))
    drawn = np.floor(smooth + rng.random(n)).astype(np.int64)

    lowest, highest = quantiles[first], _upper_bounds(quantiles, first, size, rng)
    blurred = (np.arange(n) == first + size - 1) & (highest < quantiles)
    drawn[blurred] = highest[blurred]
    drawn = np.clip(drawn, lowest, highest)
    block = np.repeat(classes.block_of, classes.sizes)
    return _restore_block_sums(drawn, quantiles, lowest, highest, block, classes.n_blocks, rng)


def deal_within_classes(values: np.ndarray, classes: Classes, rng: Generator) -> np.ndarray:
    """Assign values that are listed class by class to the nodes of each class at random."""
    dealt = np.empty_like(values)
    dealt[np.lexsort((rng.random(len(values)), classes.label))] = values
    return dealt


def _upper_bounds(
    in_order: np.ndarray, first: np.ndarray, size: np.ndarray, rng: Generator
) -> np.ndarray:
    """Return the largest degree allmissing per node: that of its class, lowered at random if it
    stands out. Otherwise the largest degree itself would be published."""
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
    """Change degrees at random, in proportion to degree, until each block has its old sum."""
    for _ in range(64):
        missing = np.bincount(block, degrees, n_blocks) - np.bincount(block, drawn, n_blocks)
        if not missing.any():
            break
        sign = np.sign(missing)[block].astype(np.int64)
        room = np.where(sign > 0, highest - drawn, drawn - lowest) * (sign != 0)
        weight = np.where(room > 0, drawn + 1.0, 0.0)
        total = np.bincount(block, weight, n_blocks)[block]
        mean = np.abs(missing)[block] * np.divide(
            weight, total, out=np.zeros_like(weight), where=total > 0
        )
        wanted = np.minimum(np.floor(mean + rng.random(len(mean))).astype(np.int64), room)
        drawn = drawn + sign * _limit_per_block(wanted, np.abs(missing), block, n_blocks, rng)
    return drawn


def _limit_per_block(
    wanted: np.ndarray, missing: np.ndarray, block: np.ndarray, n_blocks: int, rng: Generator
) -> np.ndarray:
    """Reduce `wanted` at random nodes so that no block changes by more than `missing`."""
    order = np.lexsort((rng.random(len(wanted)), block))
    in_order = wanted[order]
    running = np.cumsum(in_order)
    start = np.r_[0, np.cumsum(np.bincount(block, minlength=n_blocks))[:-1]]
    before = np.r_[0, running][start[block[order]]]
    given = np.clip(missing[block[order]] - (running - in_order - before), 0, in_order)
    out = np.empty_like(wanted)
    out[order] = given.astype(np.int64)
    return out

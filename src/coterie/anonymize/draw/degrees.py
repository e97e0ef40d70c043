"""New degrees, drawn from averages: all that remains of a person's degree is the class.

The degrees of each class are cut into groups of at least `min_class_size` people with similar
degrees. A draw knows the size and the mean degree of each group and nothing else, so averages
over any number of releases reveal these means and no single degree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.class_limits import SPREAD
from coterie.anonymize.draw.classes import Classes
from coterie.kernels.anonymize.degree_classes import cut_into_groups

# The standard deviation of a group is known in four steps: up to these shares of the mean …
_DEVIATIONS = np.array([0.13, 0.3, 1.0])
# … no degree is drawn that differs from the mean by more than this share of it (except in the
# tail of the highest group of a block).
_HALF_WIDTH = np.array([0.2, 0.5, 1.5, 1.5])
_FEW = 5.0  # a group with a lower mean and the smallest deviation has hardly other degrees
# The tail of the highest group of a block: the higher its mean above its lower end, the heavier.
_HEAVIER, _HEAVIEST, _LIGHTEST = 0.6, 0.95, 0.02
_TAIL_END = 0.2  # the tail ends where this many people of the group are expected above
# In a highest group with the largest standard deviation, one person has most of the contacts above
# the lower end: a random share, up to this much more or less than the share that gives the
# best-connected people of the whole graph their mean.
_HUB_BLUR, _BISECTIONS = 0.2, 12
_LOWER_END = 0.25  # of such a group that is the only one of its block, as a share of the mean


class TopGroup(NamedTuple):
    """The best-connected people of the whole graph, at least `min_class_size`."""

    size: int
    low: float  # where their degrees begin, from the mean of the next lower group
    mean: float


@dataclass(frozen=True, eq=False)
class DegreeGroups:
    """Averages of the degrees of each group: all that a draw knows about degrees.

    Groups are ordered by block, then by degree.
    """

    label: np.ndarray  # int32: the class
    block: np.ndarray  # int32
    size: np.ndarray  # int64: people, at least `min_class_size`
    mean: np.ndarray  # float64
    step: np.ndarray  # int64: 0 to 3, the standard deviation in four steps
    top: TopGroup

    @cached_property
    def highest(self) -> np.ndarray:
        """Whether the group is the highest of its block (bool)."""
        return np.asarray(np.r_[self.block[1:] != self.block[:-1], True])

    @cached_property
    def block_sums(self) -> np.ndarray:
        """Return the sum of the degrees per block (int64)."""
        return np.rint(np.bincount(self.block, self.mean * self.size)).astype(np.int64)


class _Ends(NamedTuple):
    """The range of the degrees that a group is drawn from."""

    low: np.ndarray  # float64
    high: np.ndarray
    tail: np.ndarray  # bool: whether few people have degrees near the higher end


def group_degrees(degrees: np.ndarray, classes: Classes, min_size: int) -> DegreeGroups:
    """Return the groups of all classes; the classes of a block must not overlap in degree.

    A class is cut from its largest degree downwards into groups of `min_size` people. A group
    gets further people until its mean does not reveal its largest degree (see
    `class_limits.classes_with_lone_hub`).

    >>> one = np.zeros(4, np.int32)
    >>> group_degrees(np.array([7, 1, 1, 8]), Classes(one, one), 2).mean
    array([1. , 7.5])
    """
    mean = np.bincount(classes.label, degrees, classes.n_classes) / np.maximum(classes.sizes, 1)
    order = np.lexsort((degrees, classes.label, mean[classes.label], classes.block))
    groups = _cut(degrees[order], classes.block[order], classes.label[order], min_size)
    everybody = np.zeros(len(degrees), np.int32)
    whole = _cut(np.sort(degrees), everybody, everybody, min_size)
    low = np.sqrt(whole.mean[-1] * (whole.mean[-2] if len(whole.mean) > 1 else 1.0))
    top = TopGroup(int(whole.size[-1]), min(low, whole.mean[-1]), whole.mean[-1])
    return replace(groups, top=top)


def _cut(degrees: np.ndarray, block: np.ndarray, label: np.ndarray, min_size: int) -> DegreeGroups:
    """Return the groups of sorted degrees, all but the top group of the graph."""
    group = cut_into_groups(block, label, degrees, min_size, SPREAD)
    size = np.bincount(group)
    start = np.cumsum(size) - size
    mean = np.bincount(group, degrees) / size
    deviation = np.sqrt(np.bincount(group, (degrees - mean[group]) ** 2) / size)
    # Rounded, because the last digits depend on the order of the sums.
    step = np.searchsorted(_DEVIATIONS, np.round(deviation / np.maximum(mean, 1), 9))
    return DegreeGroups(label[start], block[start], size, mean, step, TopGroup(0, 0.0, 0.0))


def redraw_degrees(groups: DegreeGroups, rng: Generator) -> np.ndarray:
    """Draw new degrees (int64), class by class, with the same sum per block.

    First a ceiling is drawn for the whole graph, as the largest degree of the top group. Each group
    has a range that is next to the ranges of its neighbours, and a distribution on it with the
    mean of the group, which is evaluated at one random point of each of `size` equal intervals.
    """
    group = np.repeat(np.arange(len(groups.size)), groups.size)
    n = len(group)
    first = np.cumsum(groups.size) - groups.size
    size = groups.size[group]
    position = (np.arange(n) - first[group] + rng.random(n)) / size
    ceiling = _ceiling(groups.top, rng)
    ends = _ends(groups, ceiling)
    blur = 1 + _HUB_BLUR * rng.uniform(-1, 1, len(groups.size))
    smooth = _quantiles(groups, ends, _hubs(groups, ends, ceiling, blur), group, position)
    lowest = np.where(groups.mean < 1, 0, np.maximum(np.floor(ends.low), 1)).astype(np.int64)
    highest = np.clip(np.ceil(ends.high), lowest, n - 1).astype(np.int64)
    drawn = np.clip(np.floor(smooth + rng.random(n)), lowest[group], highest[group])
    block = groups.block[group]
    drawn = _restore_block_sums(
        drawn.astype(np.int64), groups.block_sums, lowest[group], highest[group], block, rng
    )
    # A block whose groups have no room left: everybody may have any degree.
    least = np.minimum(lowest, 1)[group]
    drawn = _restore_block_sums(
        drawn, groups.block_sums, least, np.full(n, max(n - 1, 0)), block, rng
    )
    return np.asarray(drawn[np.argsort(groups.label[group], kind="stable")])


def mean_degrees(groups: DegreeGroups, rng: Generator) -> np.ndarray:
    """Return the mean degree of everyone's group, rounded at random, class by class (int64)."""
    group = np.repeat(np.arange(len(groups.size)), groups.size)
    drawn = np.floor(groups.mean[group] + rng.random(len(group))).astype(np.int64)
    least, most = np.floor(groups.mean), np.ceil(groups.mean)
    drawn = _restore_block_sums(
        drawn,
        groups.block_sums,
        least.astype(np.int64)[group],
        most.astype(np.int64)[group],
        groups.block[group],
        rng,
    )
    return np.asarray(drawn[np.argsort(groups.label[group], kind="stable")])


def deal_within_classes(values: np.ndarray, classes: Classes, rng: Generator) -> np.ndarray:
    """Assign values that are listed class by class to the nodes of each class at random."""
    dealt = np.empty_like(values)
    dealt[np.lexsort((rng.random(len(values)), classes.label))] = values
    return dealt


def _ceiling(top: TopGroup, rng: Generator) -> float:
    """Draw the largest degree of the graph: the highest of `size` people of the top group."""
    u, size, low, mean = (
        np.array([x]) for x in (1 - rng.random() / top.size, top.size, top.low, top.mean)
    )
    return float(_tail(u, size, low, mean)[0])


def _hubs(groups: DegreeGroups, ends: _Ends, ceiling: float, blur: np.ndarray) -> np.ndarray:
    """Return the degree of the hub of each group that has one, 0 for the others (float64).

    Which share of the contacts of their group hubs have is not known. It is chosen so that the top
    group of the graph has its mean.
    """
    heavy = groups.highest & (groups.step == len(_DEVIATIONS))
    none = np.zeros(len(groups.size))
    if not heavy.any():
        return none
    excess = groups.size * (groups.mean - ends.low)
    possible = np.flatnonzero(groups.highest | (2 * groups.mean > groups.top.low))
    group = np.repeat(possible, groups.size[possible])
    first = np.cumsum(groups.size[possible]) - groups.size[possible]
    place = np.arange(len(group)) - np.repeat(first, groups.size[possible])
    position = (place + 0.5) / groups.size[group]

    def with_share(share: float, blur: np.ndarray) -> np.ndarray:
        most = np.minimum(ends.low + np.minimum(share * blur, 1.0) * excess, ceiling)
        return np.where(heavy, np.maximum(most, groups.mean), none)

    least, most = 0.0, 1.0
    for _ in range(_BISECTIONS):
        share = (least + most) / 2
        hubs = with_share(share, np.ones_like(blur))
        degrees = np.sort(_quantiles(groups, ends, hubs, group, position))
        if degrees[-groups.top.size :].mean() < groups.top.mean:
            least = share
        else:
            most = share
    return with_share((least + most) / 2, blur)


def _quantiles(
    groups: DegreeGroups, ends: _Ends, hubs: np.ndarray, group: np.ndarray, position: np.ndarray
) -> np.ndarray:
    """Return the degree at each position (0 to 1) of the distribution of a group.

    In a group with a hub the last position is the hub, and the others share the rest.
    """
    size, low, mean = (x[group] for x in (groups.size, ends.low, groups.mean))
    smooth = np.where(
        ends.tail[group],
        _tail(position, size, low, mean),
        _bent_line(position, low, mean, ends.high[group]),
    )
    hub = hubs[group]
    others = (size * mean - hub) / np.maximum(size - 1, 1)
    rest = _bent_line(
        np.minimum(position * size / np.maximum(size - 1, 1), 1.0),
        np.minimum(low, others),
        others,
        np.clip(2 * others - low, others, np.maximum(hub, others)),
    )
    with_hub = np.where(position * size >= size - 1, hub, rest)
    return np.asarray(np.where(hub > 0, with_hub, smooth))


def _ends(groups: DegreeGroups, ceiling: float) -> _Ends:
    """Return the range of each group, from the means of the group and of its neighbours."""
    mean, highest, width = groups.mean, groups.highest, _HALF_WIDTH[groups.step]
    width = np.where((groups.step == 0) & (mean < _FEW), 0.0, width)
    lowest, wide = np.r_[True, highest[:-1]], width > 1
    half_way = (mean[:-1] + mean[1:]) / 2
    high = np.minimum(np.r_[half_way, np.inf], (1 + width) * mean)
    # Across a gap, a wide group begins where the lower one ends.
    low = np.asarray(np.where(wide, np.r_[0.0, high[:-1]], np.r_[0.0, half_way]))
    outer = np.where(highest, mean / 2, 2 * mean - high)  # as far below the mean as above it
    heavy = highest & (groups.step == len(_DEVIATIONS))
    outer = np.where(heavy, _LOWER_END * mean, outer)
    low = np.where(lowest, np.maximum(outer, np.minimum(mean, 1.0)), low)
    low = np.clip(low, (1 - np.minimum(width, 1.0)) * mean, mean)
    tail_end = _tail(np.ones(len(mean)), groups.size, low, mean)
    most = np.where(wide, ceiling, np.minimum(ceiling, (1 + width) * mean))
    tail = highest & (tail_end <= most)
    high = np.where(highest, np.minimum(tail_end, most), high)
    high = np.where(heavy, ceiling, high)
    return _Ends(low, np.maximum(high, mean), tail)


def _bent_line(u: np.ndarray, low: np.ndarray, mean: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the quantile at u of a distribution from `low` to `high` with this mean.

    The quantile function consists of two straight lines that meet at the mean.
    """
    width = high - low
    bend = np.divide(high - mean, width, out=np.ones_like(width), where=width > 0)
    below = u < bend
    left = np.divide(u, bend, out=np.zeros_like(u), where=below)
    right = np.divide(u - bend, 1 - bend, out=np.zeros_like(u), where=~below & (bend < 1))
    return np.asarray(np.where(below, low + left * (mean - low), mean + right * (high - mean)))


def draw_around_means(
    group: np.ndarray, low: np.ndarray, mean: np.ndarray, high: np.ndarray, rng: Generator
) -> np.ndarray:
    """Draw a value of each given group, from the group's `low` to its `high`, with its mean.

    The distribution is that of `_bent_line`: below and above the mean all values are as likely.
    """
    width = high - low
    share = np.divide(high - mean, width, out=np.ones_like(width), where=width > 0)
    below = rng.random(len(group)) < share[group]
    u = rng.random(len(group))
    drawn = np.where(
        below, low[group] + u * (mean - low)[group], mean[group] + u * (high - mean)[group]
    )
    return np.asarray(drawn)


def _tail(u: np.ndarray, size: np.ndarray, low: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return the quantile at u of a truncated Pareto distribution of the excess above `low`.

    The shape depends on the mean: the higher above the lower end, the heavier the tail.
    """
    shape = np.clip(
        _HEAVIER * np.log(np.maximum(mean, 0.5) / np.maximum(low, 0.5)), _LIGHTEST, _HEAVIEST
    )
    cut = _TAIL_END / size
    whole = 1.0 + cut

    def excess(v: np.ndarray) -> np.ndarray:
        return np.asarray(((v + cut) / whole) ** -shape - 1.0)

    average = whole**shape * (whole ** (1 - shape) - cut ** (1 - shape)) / (1 - shape) - 1.0
    return np.asarray(low + (mean - low) * excess(1.0 - u) / average)


def _restore_block_sums(
    drawn: np.ndarray,
    sums: np.ndarray,
    lowest: np.ndarray,
    highest: np.ndarray,
    block: np.ndarray,
    rng: Generator,
) -> np.ndarray:
    """Change degrees at random, in proportion to degree, until each block has its old sum."""
    n_blocks = len(sums)
    for _ in range(64):
        missing = sums - np.bincount(block, drawn, n_blocks)
        if not missing.any():
            break
        sign = np.sign(missing)[block].astype(np.int64)
        room = np.where(sign > 0, highest - drawn, drawn - lowest) * (sign != 0)
        weight = np.where(room > 0, drawn + 1.0, 0.0)
        total = np.bincount(block, weight, n_blocks)[block]
        if not total.any():
            break
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

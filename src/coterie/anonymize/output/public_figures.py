"""Rounding of figures of the original before they are published.

A published figure must not determine a statistic of fewer than `group` people (`min_class_size`,
at least `MIN_GROUP`). So every figure is rounded to a step that `group` people cannot be told
apart by: if the figures of `group` people changed as much as they can, the published figure could
be the same.

- A number of people is rounded to a bin of at least `group` numbers.
- A mean over n people of something between 0 and 1, and a share of n people, is rounded to a
  multiple of a step of at least 2 · group / n. Somebody who knows the rounded figure knows the sum
  over all people up to 2 · group people, at the ends of the scale up to `group` people.
- Other means are rounded to a step that is the same share of their value.
- Figures that belong to single people (largest degree, diameter, largest core) are not published.

Steps are 1, 2 or 5 times a power of ten and depend on n only, which the published graph shows
anyway. So the choice of the step discloses nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

MIN_GROUP = 10
_FINEST = 0.01
_FINEST_DEGREE_SHARE = 0.001
_FINE_UP_TO, _COARSE_STEP = 0.1, 0.05  # of shares that are rounded up


class Rounded(NamedTuple):
    """A rounded figure; the exact one differs by at most `error`."""

    value: float
    error: float


@dataclass(frozen=True)
class PublicRounding:
    """The rounding of figures about n people."""

    people: int
    group: int

    @property
    def share_step(self) -> float:
        """Step of shares of the people and of means of values between 0 and 1."""
        return self.step_of(self.people)

    def step_of(self, members: float) -> float:
        """Return the step of a mean over only some of the people."""
        return nice_step(max(_FINEST, 2 * self.group / max(members, 1)))

    def share(self, value: float) -> Rounded:
        """Round a share of the people, or a mean over people of a value between -1 and 1."""
        return _to_step(value, self.share_step)

    def pair_share(self, value: float) -> Rounded:
        """Round a share of all pairs of people. `group` people are in twice that share of them."""
        return _to_step(value, self.step_of(self.people / 2))

    def mean(self, value: float) -> Rounded:
        """Round a mean of any size."""
        return _to_step(value, nice_step(self.share_step * abs(value)) if value else 1.0)

    def count(self, value: float) -> Rounded:
        """Round a number of people to a multiple of twice the group; the last bin is wider."""
        step = 2 * self.group
        last = max(0, self.people + 1 - self.group) // step * step
        shown = min(last, math.floor(value / step + 0.5) * step)
        return Rounded(shown, max(self.group, self.people - last) if shown == last else self.group)

    def at_most(self, people: float) -> int:
        """Round a number of people up to a multiple of the group, 0 too; the last bin is wider.

        >>> [PublicRounding(35, 10).at_most(c) for c in (0, 10, 10.5, 21, 35)]
        [10, 10, 20, 35, 35]
        """
        bins = max(1, math.ceil(people / self.group - 1e-9))
        return bins * self.group if bins < self.people // self.group else self.people

    def at_least(self, people: float) -> int:
        """Round a number of people down to a multiple of the group; at least 1."""
        return max(1, int(people) // self.group * self.group)

    def at_most_share(self, value: float) -> float:
        """Round a share up: to 1, 2 or 5 times a power of ten below 10 %, above to steps.

        The steps are 5 %, or those of shares of the people if they are wider. Exactly 0 stays 0.

        >>> [PublicRounding(5000, 10).at_most_share(x) for x in (0.0, 0.012, 0.07, 0.53, 0.98)]
        [0.0, 0.02, 0.1, 0.55, 1.0]
        """
        if value <= _FINE_UP_TO:
            return min(1.0, nice_step(value)) if value > 0 else 0.0
        step = max(_COARSE_STEP, self.share_step)
        return min(1.0, round(math.ceil(value / step - 1e-9) * step, 9))

    @property
    def bin_width(self) -> int:
        """Number of people per bin of a published head count."""
        return max(self.group, math.ceil(_FINEST_DEGREE_SHARE * self.people))

    def head_count(self, people: int) -> float | None:
        """Return the share of the people in the middle of the bin of a head count.

        The first bin is not published: None. The last one reaches up to everybody.

        >>> rounding = PublicRounding(300, 10)
        >>> [rounding.head_count(c) for c in (0, 9, 10, 19, 20, 289, 295, 300)]
        [None, None, 0.05, 0.05, 0.0833, 0.95, 0.983, 0.983]
        """
        width = self.bin_width
        last = (self.people + 1) // width - 1
        number = min(people // width, last)
        if number < 1:
            return None
        return float(f"{(number + 0.5) * width / self.people:.3g}")


def nice_step(least: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is not below `least`.

    >>> [nice_step(x) for x in (0.01, 0.011, 0.067, 3, 0.5)]
    [0.01, 0.02, 0.1, 5.0, 0.5]
    """
    power = 10.0 ** math.floor(math.log10(least))
    for factor in (1, 2, 5, 10):
        if factor * power >= least * (1 - 1e-9):
            return float(f"{factor * power:.1g}")
    raise AssertionError("unreachable")


def degree_grid(largest: int) -> list[int]:
    """Return the degrees at which curves are published: the same for every network.

    >>> degree_grid(30)
    [1, 2, 3, 4, 5, 7, 10, 15, 20, 30]
    """
    grid = [
        round(factor * 10**power)
        for power in range(len(str(max(largest, 1))))
        for factor in (1, 1.5, 2, 3, 4, 5, 7)
        if float(factor * 10**power).is_integer()
    ]
    return [degree for degree in grid if degree <= largest]


def _to_step(value: float, step: float) -> Rounded:
    return Rounded(float(f"{round(value / step) * step:.10g}"), step / 2)

"""A rating scale as at most 20 ordered levels, which is all the ordinal likelihood needs."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from coterie.base.array_checks import ArrayError
from coterie.base.errors import AssumptionWarning
from coterie.data import Ratings

MAX_LEVELS = 20
FAR = 40.0  # the outer cutpoints, which stand for infinity
_MAX_VALUES = 500  # distinct ratings that the search for the best cuts looks at


class RatingScale(NamedTuple):
    """The levels of a rating scale: the rating of each, and the bounds between them.

    >>> scale = RatingScale.of(Ratings.from_arrays([*"aabb"], [*"xyxy"], [1, 2, 2, 5]))
    >>> scale.values, scale.levels([0.2, 2.1, 9])
    (array([1., 2., 5.]), array([0, 1, 2], dtype=uint8))
    """

    values: np.ndarray  # float64, ascending: the rating that a level stands for
    bounds: np.ndarray  # float64, one fewer: a rating above bounds[i] is above level i

    @classmethod
    def of(cls, ratings: Ratings) -> RatingScale:
        """Return one level per distinct rating.

        More than 20 distinct ratings are grouped into 20 levels by cutting between distinct ratings
        where that loses least: a level stands for the mean rating of its group, and the groups
        minimise the squared error. An AssumptionWarning says how large the error is.
        """
        values = np.asarray(ratings.values, np.float64)
        if len(values) <= MAX_LEVELS:
            return cls(values, (values[1:] + values[:-1]) / 2)
        given = ratings.ratings
        counts = np.bincount(np.searchsorted(values, given), minlength=len(values))
        values, counts = values[counts > 0], counts[counts > 0]
        cuts = cut_into_levels(values, counts, MAX_LEVELS)
        group = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
        means = np.bincount(group, counts * values) / np.bincount(group, counts)
        error = np.sqrt(counts @ (values - means[group]) ** 2 / counts.sum())
        inner = cuts[1:-1]
        ends = f"between {values[0]:g} and {values[-1]:g}"
        warnings.warn(
            f"{len(values):,} distinct ratings {ends} are grouped into "
            f"{len(means)} levels (root mean square error of the grouping: {error:.3g})",
            AssumptionWarning,
            stacklevel=4,
        )
        return cls(means, (values[inner - 1] + values[inner]) / 2)

    @property
    def is_grouped(self) -> bool:
        """Whether a level stands for a group of ratings."""
        return not np.array_equal(self.bounds, (self.values[1:] + self.values[:-1]) / 2)

    @property
    def limits(self) -> tuple[float, float]:
        """The lowest and the highest rating; of grouped ratings, one group more on both sides."""
        values = self.values
        if not self.is_grouped:
            return float(values[0]), float(values[-1])
        return float(2 * values[0] - values[1]), float(2 * values[-1] - values[-2])

    def levels(self, ratings: object) -> np.ndarray:
        """Return the level of each rating, uint8."""
        return np.searchsorted(self.bounds, np.asarray(ratings, np.float64)).astype(np.uint8)


def cut_into_levels(values: np.ndarray, counts: np.ndarray, n_levels: int) -> np.ndarray:
    """Return where to cut rising values (positions, with both ends) so that the error is smallest.

    The error is the sum of squared distances from the mean of the group. Dynamic programming finds
    the optimum for up to 500 values; more are first joined into 500 of nearly equal counts.

    >>> cut_into_levels(np.array([1.0, 2.0, 50.0, 51.0, 99.0]), np.array([9, 9, 9, 9, 9]), 3)
    array([0, 2, 4, 5])
    """
    if len(values) > _MAX_VALUES:
        rank = np.cumsum(counts) / counts.sum()
        starts = np.searchsorted(rank, np.linspace(0, 1, _MAX_VALUES + 1)[1:-1]) + 1
        starts = np.unique(np.concatenate(([0], starts[starts < len(values)])))
    else:
        starts = np.arange(len(values))
    weight = np.add.reduceat(counts.astype(np.float64), starts)
    centre = values - counts @ values / counts.sum()  # for precision
    first = np.add.reduceat(counts * centre, starts)
    second = np.add.reduceat(counts * centre**2, starts)
    w, f, s = (np.concatenate(([0.0], np.cumsum(x))) for x in (weight, first, second))

    def error(begin: np.ndarray, end: int) -> np.ndarray:
        mass = w[end] - w[begin]
        return np.asarray(s[end] - s[begin] - (f[end] - f[begin]) ** 2 / np.maximum(mass, 1e-300))

    n = len(starts)
    k = min(n_levels, n)
    best = np.concatenate(([0.0], np.full(n, np.inf)))
    came_from = np.zeros((k + 1, n + 1), np.int64)
    for level in range(1, k + 1):
        following = np.full(n + 1, np.inf)
        for end in range(level, n + 1):
            begins = np.arange(level - 1, end)
            total = best[begins] + error(begins, end)
            place = int(total.argmin())
            following[end], came_from[level, end] = total[place], begins[place]
        best = following
    cuts = [n]
    for level in range(k, 0, -1):
        cuts.append(int(came_from[level, cuts[-1]]))
    return np.append(starts, len(values))[cuts[::-1]]


def check_cuts(cuts: np.ndarray) -> None:
    """Raise ArrayError unless the cutpoints of every style rise between the outer ones."""
    if np.abs(cuts).max(initial=0.0) > FAR or (np.diff(cuts, axis=-1) < 0).any():
        raise ArrayError("cuts: the cutpoints do not rise")

"""A rating scale as at most 20 ordered levels, which is all the ordinal likelihood needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.data import Ratings

MAX_LEVELS = 20


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

        More than 20 distinct ratings are binned into levels with nearly equal counts; a level then
        stands for the mean rating of its bin.
        """
        values = np.asarray(ratings.values, np.float64)
        if len(values) <= MAX_LEVELS:
            return cls(values, (values[1:] + values[:-1]) / 2)
        given = ratings.ratings
        inner = np.quantile(given, np.linspace(0, 1, MAX_LEVELS + 1)[1:-1])
        bin_of = np.searchsorted(np.unique(inner), given)
        used, bin_of = np.unique(bin_of, return_inverse=True)
        means = np.bincount(bin_of, given) / np.bincount(bin_of)
        return cls(means, np.unique(inner)[used[1:] - 1])

    def levels(self, ratings: object) -> np.ndarray:
        """Return the level of each rating, uint8."""
        return np.searchsorted(self.bounds, np.asarray(ratings, np.float64)).astype(np.uint8)

"""From data to a problem that the EM loop can step through."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.graph import Ratings
from coterie.models.soft.em import Problem
from coterie.models.soft.ratings import RatingProblem
from coterie.models.soft.shards import Pairs
from coterie.models.soft.state import Shape


class Posed(NamedTuple):
    """A problem, the size of its states, its configurations, and the run's own randomness."""

    problem: Problem
    shape: Shape
    values: np.ndarray
    rng: Generator


def pose_ratings(
    ratings: Ratings, groups: tuple[int, int], prior: float, samples: int, rng: Generator
) -> Posed:
    """Users and items; the values are the configurations."""
    pairs = Pairs(
        ratings.users,
        ratings.items,
        ratings.codes,
        ratings.n_users,
        ratings.n_items,
        len(ratings.values),
    )
    shape = Shape(pairs.n_rows, pairs.n_columns, *groups, pairs.n_codes)
    return Posed(RatingProblem(pairs, prior), shape, ratings.values, rng)

"""Rows of (user, item), as scikit-learn's model selection and plain Python give them."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.base.errors import InputError
from coterie.data import Ratings
from coterie.engine.sharded_data import ShardedRatings


def columns_of(pairs: Any) -> tuple[np.ndarray, np.ndarray]:
    """Users and items of rows (user, item)."""
    if hasattr(pairs, "to_numpy"):
        pairs = pairs.to_numpy()
    rows = pairs if isinstance(pairs, np.ndarray) else [tuple(pair) for pair in pairs]
    table = rows if isinstance(rows, np.ndarray) else np.array(rows, object).reshape(-1, 2)
    if table.ndim != 2 or table.shape[1] != 2:
        raise InputError(
            f"pairs of shape {table.shape}", remedy="give rows of (user, item), or two columns"
        )
    return table[:, 0], table[:, 1]


def ratings_of(pairs: Any, y: Any) -> Ratings:
    """Ratings from rows of (user, item) and y; Ratings pass through, those in shards are loaded."""
    if isinstance(pairs, Ratings):
        return pairs
    if isinstance(pairs, ShardedRatings):
        return pairs.load()
    if y is None:
        raise InputError(
            f"a {type(pairs).__name__} alone is no table of ratings",
            remedy="give coterie.Ratings, or rows of (user, item) and their ratings",
        )
    users, items = columns_of(pairs)
    return Ratings.from_arrays(users, items, y)

"""What a Recommender fits its model to: ratings, or likes with unliked pairs, and features.

Likes are pairs of a user and an item without a rating. A model also needs to see pairs that were
not liked, so unliked pairs are drawn and given the rating 0. A prediction is then the probability
of a like, and items are ranked by it. Users and items that have features but no ratings become part
of the table, with no row.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from coterie.base.errors import AssumptionWarning, InputError
from coterie.data import Ratings
from coterie.data.negatives import distinct_negative_pairs
from coterie.models.base import Estimator
from coterie.models.declaration import Ability

NEGATIVES_PER_LIKE = 2.0
_LARGEST = 1e15  # above, neighbouring whole numbers are the same
_FAR = 1000.0  # times the range of 98 % of the ratings: an outlier
FEATURE_OPTIONS = ("user_features", "item_features")


def every_rating_is_one(ratings: Ratings) -> bool:
    """Return whether every rating is 1, as in a table of pairs.

    >>> every_rating_is_one(Ratings.from_arrays([1, 2], [1, 1], [1, 1]))
    True
    """
    return len(ratings.values) == 1 and float(ratings.values[0]) == 1.0


def read_as_likes(ratings: Ratings, likes: bool | None) -> bool:
    """Return whether a table is read as likes: the value of `likes`, or if None, by its ratings."""
    ones = every_rating_is_one(ratings)
    if likes and not ones:
        low, high = ratings.values[0], ratings.values[-1]
        raise InputError(
            f"`likes` is set, but the ratings are between {low:g} and {high:g}, not all 1",
            remedy="give pairs without ratings, or do not set `likes`",
        )
    if likes is None and ones:
        warnings.warn(
            "every rating is 1: the table is read as likes (a prediction is the probability of a "
            "like); use `likes=True` to confirm this, or `likes=False` to read the ones as ratings",
            AssumptionWarning,
            stacklevel=3,
        )
    return ones and likes is not False


def check_values(ratings: np.ndarray) -> None:
    """Refuse ratings that are no numbers of a scale; warn of equal ratings and of outliers."""
    low, high = np.quantile(ratings, (0.01, 0.99))
    furthest = float(ratings[np.abs(ratings - (low + high) / 2).argmax()])
    if abs(furthest) > _LARGEST:
        raise InputError(
            f"a rating is {furthest:g}, which is not on any scale",
            remedy="correct this rating, or leave it out",
        )
    said = None
    if np.ptp(ratings) == 0:
        said = f"every rating is {furthest:g}, so every prediction is the same"
    elif high > low and abs(furthest - (low + high) / 2) > _FAR * (high - low):
        said = (
            f"a rating is {furthest:g}, but 98 % of the ratings are between {low:g} and {high:g}: "
            "it changes the predictions of its user and its item"
        )
    if said is not None:
        warnings.warn(said, AssumptionWarning, stacklevel=3)


def with_unliked_pairs(ratings: Ratings, rng: np.random.Generator) -> Ratings:
    """Return the likes as ratings of 1, and two unliked pairs per like as ratings of 0."""
    count = int(NEGATIVES_PER_LIKE * len(ratings))
    u, v = distinct_negative_pairs(rng, ratings.users, ratings.items, ratings.n_items, count)
    codes = np.concatenate([np.ones(len(ratings), np.int32), np.zeros(len(u), np.int32)])
    return Ratings(
        np.concatenate([ratings.users, u]).astype(np.int32),
        np.concatenate([ratings.items, v]).astype(np.int32),
        codes,
        np.array([0.0, 1.0]),
        ratings.user_ids,
        ratings.item_ids,
    )


def without_empty_features(model: Estimator, options: dict[str, Any]) -> dict[str, Any]:
    """Return fit options without features that are None; raise if the model cannot use them."""
    given = [name for name in FEATURE_OPTIONS if options.get(name) is not None]
    if given and not model.declaration.can(Ability.FEATURES):
        raise InputError(
            f"{type(model).__name__} does not use `{given[0]}`", remedy='use `model="best"`'
        )
    return {n: x for n, x in options.items() if n not in FEATURE_OPTIONS or x is not None}


def with_described_nodes(ratings: Ratings, options: dict[str, Any]) -> Ratings:
    """Return the ratings with the users and items of the feature tables added to the ids.

    >>> from coterie.data.node_table import NodeTable
    >>> films = NodeTable.from_columns(["x", "new"], {"year": [1994, 2001]})
    >>> rated = Ratings.from_arrays(["ann"], ["x"], [4])
    >>> with_described_nodes(rated, {"item_features": films}).item_ids.tolist()
    ['x', 'new']
    """
    users, items = (options.get(name) for name in FEATURE_OPTIONS)
    if users is None and items is None:
        return ratings
    # They read tables, which predictions do not need
    from coterie.data.node_table import NodeTable
    from coterie.models.additive.feature_encoding import no_common_ids

    ids = {"user": ratings.user_ids, "item": ratings.item_ids}
    for kind, table in (("user", users), ("item", items)):
        if isinstance(table, NodeTable):
            rated, described = ids[kind].tolist(), table.ids.tolist()
            if described and not set(map(str, rated)) & set(map(str, described)):
                raise no_common_ids(table.ids, ids[kind], kind)
            ids[kind] = _with_ids(ids[kind], table.ids)
    return replace(ratings, user_ids=ids["user"], item_ids=ids["item"])


def _with_ids(known: np.ndarray, described: np.ndarray) -> np.ndarray:
    """Return the known ids, then the others, converted to the type of the known ones.

    Text that is not a number cannot be an id among integers and is left out.
    """
    seen = {str(id_) for id_ in known.tolist()}
    new = [id_ for id_ in described.tolist() if str(id_) not in seen]
    if known.dtype.kind in "iu":
        numbers = [int(id_) for id_ in new if str(id_).lstrip("-").isdecimal()]
        return np.concatenate([known, np.array(numbers, known.dtype)])
    out = np.empty(len(known) + len(new), object)
    out[: len(known)] = known
    out[len(known) :] = [str(id_) for id_ in new]
    return out

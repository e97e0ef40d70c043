"""New users alone: what they would get after `fold_in`, without a copy of everybody else.

A server places somebody by the ratings of one request and forgets them again. A copy of all ratings
and samples per request would take longer than the placing itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from coterie.data import Ratings
from coterie.data.ids import IdLookup
from coterie.recommend.fitted_state import FittedState
from coterie.recommend.fold_in import node_ratings, with_ratings
from coterie.recommend.rating_table import RatingTable, prior_weight


@dataclass(frozen=True, eq=False)
class NewcomerTable(RatingTable):
    """The ratings of new users; counts of items include those of everybody else."""

    others: RatingTable | None = None  # of the users that the model knows

    @cached_property
    def user_counts(self) -> np.ndarray:
        """The number of ratings of each new user at each level."""
        return self._counts(self.users, np.empty(0, np.int64), self.n_users)

    @cached_property
    def item_counts(self) -> np.ndarray:
        """The number of ratings of each item at each level, of known and new users."""
        added = self._counts(self.items, np.empty(0, np.int64), self.n_items)
        return np.asarray(self._base.item_counts + added)

    @cached_property
    def everybody(self) -> np.ndarray:
        """The distribution of all ratings, of known and new users."""
        counts = self.item_counts.sum(axis=0) + 0.5
        return np.asarray(counts / counts.sum())

    @cached_property
    def _user_prior_weight(self) -> float:
        return prior_weight(np.vstack([self._base.user_counts, self.user_counts]))

    @property
    def _base(self) -> RatingTable:
        assert self.others is not None
        return self.others


def newcomers_alone(state: FittedState, ratings: Ratings) -> FittedState:
    """Return a state that has only the users of these ratings, with the numbers of `fold_in`.

    It predicts, ranks and explains for them; it is not for saving or adding more. Ratings of known
    users or unknown items need the complete state, which is returned then.
    """
    of_items = state.items.numbers(ratings.item_ids)
    if (
        not len(ratings)
        or (of_items < 0).any()
        or (state.users.numbers(ratings.user_ids) >= 0).any()
    ):
        return with_ratings(state, ratings)
    base, likes = state.table, state.likes
    users, items = ratings.users.astype(np.int64), of_items[ratings.items]
    levels = state.adapter.levels(ratings.ratings)
    table = NewcomerTable(
        users,
        items,
        levels,
        ratings.n_users,
        base.n_items,
        base.n_levels,
        base.unrated,
        base,
    )
    given = [(items[users == user], levels[users == user]) for user in range(ratings.n_users)]
    all_items = np.concatenate([base.items, items]) if likes else items
    nodes = node_ratings(
        len(state.users) + np.arange(ratings.n_users), given, all_items, base.n_items, likes
    )
    return replace(
        state,
        adapter=state.adapter.only_users(nodes),
        table=table,
        users=IdLookup(ratings.user_ids),
    )

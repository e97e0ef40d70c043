"""Newcomers: users and items placed by their ratings, everything else held fixed."""

from __future__ import annotations

import numpy as np

from coterie.base.errors import InputError
from coterie.data import Ratings
from coterie.recommend.adapter import Adapter, Newcomer
from coterie.recommend.id_lookup import Names
from coterie.recommend.likes import UNLIKED_A_LIKE
from coterie.recommend.rating_table import RatingTable


def folded_in(
    adapter: Adapter,
    table: RatingTable,
    users: Names,
    items: Names,
    ratings: Ratings,
    likes: bool,
) -> tuple[Adapter, RatingTable, Names, Names]:
    """Everything with these ratings taken in; nothing given is changed.

    Users are placed by the items that are known, then new items by their users, then again the
    users who rated those.
    """
    if not len(ratings):
        raise InputError("there are no ratings to fold in", remedy="give at least one")
    old_users, old_items = len(users), len(items)
    users, user_of = users.joined(ratings.user_ids)
    items, item_of = items.joined(ratings.item_ids)
    u, v = user_of[ratings.users], item_of[ratings.items]
    levels = adapter.levels(ratings.ratings)
    table = table.with_rows(u, v, levels, len(users), len(items))
    newcomers = _Newcomers(table, likes)
    placed = np.union1d(u[v < old_items], u[u >= old_users])
    if len(placed):
        adapter = adapter.with_users(newcomers.users(placed, old_items))
    added = np.arange(old_items, len(items))
    if len(added):
        adapter = adapter.with_items(newcomers.items(added, len(users)))
        adapter = adapter.with_users(newcomers.users(np.unique(u[v >= old_items]), len(items)))
    return adapter, table, users, items


class _Newcomers:
    """Their ratings as a model wants them: of likes, with unliked pairs beside them."""

    def __init__(self, table: RatingTable, likes: bool) -> None:
        self._table = table
        self._likes = likes

    def users(self, users: np.ndarray, items_known: int) -> list[Newcomer]:
        """These users, with their ratings of the items that have a place already."""
        return self._newcomers(users, True, self._table.items, items_known)

    def items(self, items: np.ndarray, users_known: int) -> list[Newcomer]:
        return self._newcomers(items, False, self._table.users, users_known)

    def _newcomers(
        self, nodes: np.ndarray, users: bool, others: np.ndarray, known: int
    ) -> list[Newcomer]:
        found = []
        for node, rows in zip(nodes, self._table.rows_among(users, nodes), strict=True):
            mine = rows[others[rows] < known]
            ends, levels = others[mine], self._table.levels[mine]
            if self._likes and len(mine):
                ends, levels = self._with_unliked(int(node), ends, levels, others, known)
            found.append(Newcomer(int(node), ends, levels))
        return found

    def _with_unliked(
        self, node: int, mine: np.ndarray, levels: np.ndarray, others: np.ndarray, known: int
    ) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(node)
        drawn = others[rng.integers(0, len(others), int(UNLIKED_A_LIKE * len(mine)))]
        even = rng.integers(0, known, len(drawn))
        absent = np.unique(np.where(rng.random(len(drawn)) < 0.5, even, drawn))
        absent = absent[(absent < known) & ~np.isin(absent, mine)]
        return np.concatenate([mine, absent]), np.concatenate([levels, np.zeros_like(absent)])

"""Recommender: predictions that people can use, from any of the block models."""

from __future__ import annotations

import os
import warnings
from typing import Any, NamedTuple, Self

import numpy as np

from coterie.base.errors import AssumptionWarning, InputError
from coterie.base.progress import Callback, silent
from coterie.base.randomness import as_generator
from coterie.data import Ratings
from coterie.engine import Engine
from coterie.engine.sharded_data import ShardedRatings
from coterie.models.base import Estimator
from coterie.recommend.adapter import Adapter
from coterie.recommend.explanation import Explanation, explain
from coterie.recommend.fold_in import folded_in
from coterie.recommend.id_lookup import Names
from coterie.recommend.likes import is_likes, with_unliked
from coterie.recommend.pair_input import columns_of, ratings_of
from coterie.recommend.ranking import top_items
from coterie.recommend.rating_table import RatingTable
from coterie.recommend.registry import adapter_of, fits_shards, make_model


class Recommendation(NamedTuple):
    """An item and its expected rating (of likes: how likely a like is)."""

    item: Any
    rating: float


class Recommender(Estimator):
    """Predicts ratings, ranks items, takes newcomers in, says why.

    `model` is "best" (the additive block model), "mmsbm", "mcmmsbm", "hard", or a model of
    coterie, fitted (used as it is) or not. A table whose ratings are all 1 is one of likes.

    >>> ratings = Ratings.from_arrays([1, 1, 2, 2, 3], [7, 8, 7, 9, 8], [5, 1, 5, 4, 2])
    >>> from coterie.models.soft.mmsbm import MMSBM
    >>> rec = Recommender(MMSBM(n_groups=2)).fit(ratings)
    >>> rec.predict([1, 99], [9, 7]).shape, rec.unseen([1, 99], [9, 7])
    ((2,), array([False,  True]))
    >>> [r.item for r in rec.recommend(1, n=5)]
    [9]
    """

    def __init__(self, model: str | Estimator = "best") -> None:
        self.model = model
        learnt_from = getattr(model, "ratings_", None)
        if learnt_from is not None:
            self._adopt(model, learnt_from, learnt_from)

    def fit(
        self,
        ratings: Any,
        y: Any = None,
        *,
        engine: str | Engine | None = "local",
        callback: Callback = silent,
        **saving: Any,
    ) -> Self:
        """Learn from Ratings, or from X (user, item) and y as scikit-learn gives them.

        Ratings in shards are loaded into this process, which ranks and predicts from them; a soft
        model is fitted to the shards where they lie.

        `saving` goes to the model's own fit: `checkpoint` and `resume`, where it has them.
        """
        given = ratings_of(ratings, y)
        if not len(given):
            raise InputError("there are no ratings to learn from", remedy="give at least one")
        model = make_model(self.model) if isinstance(self.model, str) else _copy(self.model)
        shown = given
        if is_likes(given):
            rng = model.get_params().get("rng", 0)
            shown = with_unliked(given, as_generator(rng if isinstance(rng, int) else 0))
        elif np.ptp(given.ratings) == 0:
            warnings.warn(
                f"every rating is {given.ratings[0]:g}: so is every prediction",
                AssumptionWarning,
                stacklevel=2,
            )
        where_they_lie = isinstance(ratings, ShardedRatings) and shown is given
        learnt_from = ratings if where_they_lie and fits_shards(model) else shown
        model.fit(learnt_from, engine=engine, callback=callback, **saving)  # type: ignore[attr-defined]
        self._adopt(model, shown, given)
        return self

    def compile(self, ratings: Ratings, engine: str | Engine | None = "local") -> Self:
        """Have Numba compile what `fit` will run, so that its time is the fit's alone."""
        model = make_model(self.model) if isinstance(self.model, str) else self.model
        if hasattr(model, "compile"):
            model.compile(ratings, engine)
        return self

    def _adopt(self, model: Any, shown: Ratings, given: Ratings) -> None:
        """Use a fitted model: `shown` is what it saw, `given` what users really rated."""
        adapter = adapter_of(model, shown)
        extra = slice(len(given), None)  # of likes: the pairs drawn as not liked
        table = RatingTable(
            given.users.astype(np.int64),
            given.items.astype(np.int64),
            adapter.levels(given.ratings),
            given.n_users,
            given.n_items,
            len(adapter.values),
            (shown.users[extra].astype(np.int64), shown.items[extra].astype(np.int64)),
        )
        self._settle(model, adapter, table, Names(given.user_ids), Names(given.item_ids))

    def _settle(
        self, model: Any, adapter: Adapter, table: RatingTable, users: Names, items: Names
    ) -> None:
        self.model_, self.adapter_, self.table_ = model, adapter, table
        self.users_, self.items_ = users, items

    def __repr__(self) -> str:
        return f"Recommender({self.model!r})"

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks an estimator; only it calls this, so it is there to import."""
        from sklearn.base import BaseEstimator

        return BaseEstimator.__sklearn_tags__(self)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The model, and with `deep` its own parameters as model__name."""
        own = super().get_params()
        if deep and isinstance(self.model, Estimator):
            own |= {f"model__{name}": x for name, x in self.model.get_params().items()}
        return own

    def set_params(self, **params: Any) -> Self:
        """Set the model, or one of its parameters as model__name."""
        inner = {
            name.removeprefix("model__"): params.pop(name)
            for name in list(params)
            if name.startswith("model__")
        }
        super().set_params(**params)
        if inner:
            if isinstance(self.model, str):
                self.model = make_model(self.model)
            self.model.set_params(**inner)
        return self

    @property
    def values_(self) -> np.ndarray:
        """The ratings that `predict_proba` spreads over, one a column."""
        self._require_fit()
        return self.adapter_.values

    @property
    def likes_(self) -> bool:
        """Whether it was fitted to likes."""
        self._require_fit()
        return len(self.table_.unrated[0]) > 0

    def predict_proba(
        self, users: Any, items: Any = None, *, engine: str | Engine | None = "local"
    ) -> np.ndarray:
        """The distribution over `values_` for each pair; one row a pair, in order.

        Whom or what the model has not seen falls back on the item's, the user's, or everybody's
        distribution; `unseen` tells which rows those are. With one argument: rows of (user, item).
        """
        u, v = self._numbers(users, items)
        user_seen, item_seen = self._seen(u, v)
        known = user_seen & item_seen
        p = np.empty((len(u), len(self.values_)))
        if known.any():
            p[known] = self.adapter_.distributions(u[known], v[known], engine)
        for rows, nodes, source in (
            (~known & item_seen, v, self.table_.item_distributions),
            (~known & ~item_seen, np.where(user_seen, u, -1), self.table_.user_distributions),
        ):
            p[rows] = source(nodes[rows])
        return p

    def predict(
        self, users: Any, items: Any = None, *, engine: str | Engine | None = "local"
    ) -> np.ndarray:
        """The expected rating of each pair (eq:estimate)."""
        return np.asarray(self.predict_proba(users, items, engine=engine) @ self.values_)

    def unseen(self, users: Any, items: Any = None) -> np.ndarray:
        """Whether a pair's user or item had no rating to learn from."""
        user_seen, item_seen = self._seen(*self._numbers(users, items))
        return np.asarray(~(user_seen & item_seen))

    def recommend(
        self,
        users: Any,
        n: int = 10,
        *,
        exclude_seen: bool = True,
        engine: str | Engine | None = "local",
    ) -> Any:
        """The n best items of a user: a list of (item, rating), or one list for each user."""
        single = np.ndim(users) == 0
        wanted = [users] if single else users
        self._require_fit()
        u = self.users_.numbers(wanted)
        found = top_items(self.adapter_, self.table_, u, n, exclude_seen, engine)
        lists = [
            [
                Recommendation(item, float(rating))
                for item, rating in zip(self.items_.ids[best].tolist(), ratings, strict=True)
            ]
            for best, ratings in found
        ]
        return lists[0] if single else lists

    def fold_in(self, ratings: Any, y: Any = None) -> Self:
        """Take in new users, new items, or new ratings of old ones, without a refit.

        Users are placed first, by the items the model knows; then new items, by their users.
        """
        self._require_fit()
        given = ratings_of(ratings, y)
        adapter, table, users, items = folded_in(
            self.adapter_, self.table_, self.users_, self.items_, given, self.likes_
        )
        self._settle(self.model_, adapter, table, users, items)
        return self

    def explain(self, user: Any, item: Any) -> Explanation:
        """Which groups make the prediction, with what weight; the shares add up to it."""
        self._require_fit()
        return explain(self.adapter_, self.table_, self.users_, self.items_, user, item)

    def similar_items(self, item: Any, n: int = 10) -> list[tuple[Any, float]]:
        """The n items that the model holds most alike, with how alike (at most 1)."""
        self._require_fit()
        number = self._known_item(item)
        like = np.where(self.table_.item_counts.sum(axis=1) > 0, self.adapter_.likeness(number), -2)
        like[number] = -2
        order = [v for v in np.argsort(-like, kind="stable")[:n] if like[v] > -2]
        return list(zip(self.items_.ids[order].tolist(), like[order].tolist(), strict=True))

    def score(self, ratings: Any, y: Any = None) -> float:
        """-RMSE, so that more is better, as scikit-learn's model selection wants it."""
        given = ratings_of(ratings, y)
        users, items = given.user_ids[given.users], given.item_ids[given.items]
        return -float(np.sqrt(np.mean((self.predict(users, items) - given.ratings) ** 2)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted recommender to a file that `coterie.load_recommender` reads."""
        from coterie.recommend.model_file import save

        self._require_fit()
        save(self, path)

    def _known_item(self, item: Any) -> int:
        number = int(self.items_.numbers([item])[0])
        if number < 0 or not self.table_.item_counts[number].any():
            raise InputError(
                f"item {item!r} has no rating in this model",
                remedy=f"it knows {len(self.items_):,} items, such as {self.items_.ids[0]!r}",
            )
        return number

    def _seen(self, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rated = np.append(self.table_.user_counts.any(axis=1), False)
        shown = np.append(self.table_.item_counts.any(axis=1), False)
        return rated[u], shown[v]

    def _numbers(self, users: Any, items: Any) -> tuple[np.ndarray, np.ndarray]:
        self._require_fit()
        if items is None:
            users, items = columns_of(users)
        u, v = self.users_.numbers(users), self.items_.numbers(items)
        if len(u) != len(v):
            raise InputError(f"{len(u)} users and {len(v)} items do not line up")
        return u, v

    def _require_fit(self) -> None:
        if not hasattr(self, "adapter_"):
            raise InputError("this Recommender is not fitted", remedy="call fit(ratings) first")


def _copy(model: Estimator) -> Estimator:
    """An unfitted model of the same parameters, so that fit leaves what it was given alone."""
    return type(model)(**model.get_params())

"""Recommender: predict ratings and rank items with any of the block models."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from coterie.base.errors import AssumptionWarning, InputError
from coterie.base.progress import Callback, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.data import Ratings
from coterie.data.foreign import as_ratings
from coterie.data.ids import IdLookup
from coterie.engine import Engine
from coterie.models.base import Estimator
from coterie.models.rating_model import RatingModel, RatingPredictor
from coterie.recommend.explanation import (
    Explanation,
    RankingExplanation,
    explain,
    explain_ranking,
)
from coterie.recommend.fitted_state import FittedState
from coterie.recommend.fold_in import UpdateSummary, newcomers_alone, updated, with_ratings
from coterie.recommend.ranking import (
    Order,
    RankedItems,
    RankingOptions,
    as_order,
    compile_interactions,
    item_similarity,
    pairs_of_users,
    ranked_blocks,
    with_interactions,
)
from coterie.recommend.rating_table import RatingTable
from coterie.recommend.registry import MODELS, make_model
from coterie.recommend.training_data import (
    check_values,
    read_as_likes,
    with_described_nodes,
    with_unliked_pairs,
    without_empty_features,
)


class NotFittedError(InputError, AttributeError):
    """A Recommender was used before `fit`."""


class Recommendation(NamedTuple):
    """An item of a ranking, which is ordered by `score`.

    `rating` is the expected rating, of likes the probability of a like.
    """

    item: Any
    score: float
    rating: float


class Intervals(NamedTuple):
    """Intervals of ratings, and their standard deviation in two parts; one entry per pair."""

    low: np.ndarray
    high: np.ndarray
    sd: np.ndarray
    sd_taste: np.ndarray
    sd_noise: np.ndarray


class Recommender(Estimator):
    """Predict ratings, rank items, add new users and items, and explain predictions.

    A Recommender wraps one of the models of coterie and works with the ids of the data. Users and
    items without ratings are answered from the ratings of the item, of the user, or of everybody.

    Parameters
    ----------
    model : {"best", "mmsbm", "mcmmsbm", "hard"} or estimator, default="best"
        The model. "best" is `AdditiveBlockModel`, which has the lowest errors; "mmsbm" and
        "mcmmsbm" are the mixed-membership models with 10 groups per side; "hard" is
        `GeneralizedKMeans` with 15 blocks per side. An estimator can be unfitted: `fit` then fits
        a copy of it. Or it can be fitted to `Ratings`: then the Recommender can be used without
        calling `fit`.
    likes : bool, optional
        Whether the table holds likes: pairs of a user and an item, without ratings. A prediction
        is then the probability of a like. By default, a table in which every rating is 1 is read
        as likes, with a warning.

    Attributes
    ----------
    model_ : estimator
        The fitted model.
    values_ : ndarray of shape (n_values,)
        The possible ratings in increasing order: the columns of `predict_proba`.
    likes_ : bool
        Whether it was fitted to likes.
    users_, items_ : IdLookup
        The ids of the users and items, `users_.ids` and `items_.ids`, in the order of their
        numbers, including those that `fold_in` added.
    predictor_ : RatingPredictor
        What the model has learned, as arrays.
    table_ : RatingTable
        The ratings that users gave.
    liked_from_ : float
        The rating from which on an item counts as liked in rankings: about half of all ratings do.

    See Also
    --------
    load_recommender : Read a saved recommender.
    Ratings : The table of ratings.

    References
    ----------
    A. Godoy-Lorite, R. Guimerà, C. Moore and M. Sales-Pardo. Accurate and scalable social
    recommendation using mixed-membership stochastic block models. PNAS 113(50), 2016.

    A. Beutel, A. Ahmed and A. J. Smola. ACCAMS: Additive co-clustering to approximate matrices
    succinctly. WWW 2015.

    Prost & Yoon evaluate mixed-membership and hard block models as recommenders.

    Examples
    --------
    >>> import coterie as ct
    >>> ratings = ct.Ratings.from_arrays([1, 1, 2, 2, 3], [7, 8, 7, 9, 8], [5, 1, 5, 4, 2])
    >>> rec = ct.Recommender(ct.MMSBM(n_groups=2)).fit(ratings)
    >>> rec.predict([1, 99], [9, 7]).shape, rec.unseen([1, 99], [9, 7])
    ((2,), array([False,  True]))
    >>> [r.item for r in rec.recommend(1, n=5)]
    [9]
    """

    _state: FittedState | None = None

    def __init__(self, model: str | Estimator = "best", *, likes: bool | None = None) -> None:
        self.model = model
        self.likes = likes

    def fit(
        self,
        ratings: Any,
        y: Any = None,
        *,
        engine: str | Engine = "local",
        callback: Callback = silent,
        **fit_options: Any,
    ) -> Self:
        """Fit the model to ratings.

        Parameters
        ----------
        ratings : Ratings, ShardedRatings or array-like of shape (n_ratings, 2)
            The ratings; or rows of (user, item), with the ratings in `y`, as scikit-learn passes
            them. Ratings in shards are loaded into memory for ranking; a mixed-membership model
            is fitted to the shards themselves.
        y : array-like of shape (n_ratings,), optional
            The ratings, if `ratings` holds only users and items.
        engine : {"local"} or Engine, default="local"
            Where the fit runs.
        callback : callable, optional
            Called with a `Progress` after each iteration.
        **fit_options : dict
            Passed to the `fit` method of the model: `checkpoint`, `resume`, and for "best"
            `user_features` and `item_features` (`NodeTable`). Users and items that have
            features but no ratings are then predicted from their features.

        Returns
        -------
        Recommender
            The fitted recommender itself.

        Raises
        ------
        InputError
            If there are no ratings, or the name of the model is unknown.

        Examples
        --------
        >>> import coterie as ct
        >>> rec = ct.Recommender(ct.MMSBM(n_groups=1)).fit([["ann", "x"], ["bob", "x"]], [3, 5])
        >>> rec.values_
        array([3., 5.])
        """
        rated = _as_ratings(ratings, y)
        if not len(rated):
            raise InputError("there are no ratings to learn from", remedy="give at least one")
        model = _unfitted(self.model)
        fit_options = without_empty_features(model, fit_options)
        rated = with_described_nodes(rated, fit_options)
        training = rated
        if read_as_likes(rated, self.likes):
            rng = model.get_params().get("rng", 0)
            training = with_unliked_pairs(rated, as_generator(rng if isinstance(rng, int) else 0))
        else:
            check_values(rated.ratings)
        in_shards = y is None and not isinstance(ratings, Ratings) and training is rated
        data: Any = ratings if in_shards and model.fits_rating_shards else training
        estimator: Any = model  # every model has options of its own
        estimator.fit(data, engine=engine, callback=callback, **fit_options)
        self._state = FittedState.from_model(model, training, rated)
        return self

    def fit_rankings(self, engine: str | Engine = "local", callback: Callback = silent) -> Self:
        """Fit the interaction model, which the orders "both" and "interaction" need.

        The first ranking, `fold_in` and `save` do it by themselves. Predictions do not need it,
        and on sparse tables it takes longer than the rating model. The result is the same whenever
        it is fitted.

        Parameters
        ----------
        engine : {"local"} or Engine, default="local"
            Where the fit runs.
        callback : callable, optional
            Called with a `Progress` after each step.

        Returns
        -------
        Recommender
            The recommender itself.

        Examples
        --------
        >>> import coterie as ct
        >>> ratings = ct.Ratings.from_arrays([1, 1, 2], [7, 8, 7], [5, 1, 5])
        >>> rec = ct.Recommender(ct.MMSBM(n_groups=2)).fit(ratings).fit_rankings()
        >>> [found.item for found in rec.recommend(2)]
        [8]
        """
        self._state = with_interactions(self._fitted, engine, callback)
        return self

    def compile(self, ratings: Ratings, engine: str | Engine = "local") -> Self:
        """Compile what `fit` will run, so that compilation is not part of a measured time.

        Parameters
        ----------
        ratings : Ratings or ShardedRatings
            The data that `fit` will get; only their kind matters.
        engine : {"local"} or Engine, default="local"
            Where the fit will run.

        Returns
        -------
        Recommender
            The recommender itself, still unfitted.
        """
        _unfitted(self.model).compile(ratings, engine)
        compile_interactions()
        return self

    @classmethod
    def _from_state(cls, state: FittedState) -> Self:
        """Return a fitted recommender, as it is read from a file."""
        recommender = cls(likes=True if state.likes else None)
        recommender._state = state
        del recommender.model
        return recommender

    @cached_property
    def model(self) -> Any:
        """The model as it was given; that of a file is built when it is first used."""
        return self._fitted.model

    @property
    def _fitted(self) -> FittedState:
        """The state after `fit`, or that of a fitted model, built when it is first used."""
        if self._state is None:
            ratings = self.model.ratings_ if isinstance(self.model, RatingModel) else None
            if ratings is None:
                raise NotFittedError(
                    "this Recommender is not fitted", remedy="call fit(ratings) first"
                )
            self._state = FittedState.from_model(self.model, ratings, ratings)
        return self._state

    @property
    def model_(self) -> RatingModel:
        """The fitted model."""
        return self._fitted.model

    @property
    def predictor_(self) -> RatingPredictor:
        """The arrays that the model has learned."""
        return self._fitted.predictor

    @property
    def adapter_(self) -> RatingPredictor:
        """Raise an error: the earlier name of `predictor_`."""
        raise AttributeError("Recommender.adapter_ is now Recommender.predictor_")

    @property
    def table_(self) -> RatingTable:
        """The ratings that users gave."""
        return self._fitted.table

    @property
    def users_(self) -> IdLookup:
        """The ids of the users."""
        return self._fitted.users

    @property
    def items_(self) -> IdLookup:
        """The ids of the items."""
        return self._fitted.items

    @property
    def values_(self) -> np.ndarray:
        """The possible ratings in increasing order: the columns of `predict_proba`."""
        return self._fitted.predictor.values

    @property
    def likes_(self) -> bool:
        """Whether it was fitted to likes."""
        return self._fitted.likes

    @property
    def liked_from_(self) -> float:
        """The rating from which on an item counts as liked in rankings."""
        state = self._fitted
        return float(state.predictor.values[state.liked_level])

    def __repr__(self) -> str:
        likes = "" if self.likes is None else f", likes={self.likes}"
        return f"Recommender({self.model!r}{likes})"

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags; only scikit-learn calls this, so it can be imported."""
        from sklearn.base import BaseEstimator

        return BaseEstimator.__sklearn_tags__(self)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, as scikit-learn's model selection needs them.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add the parameters of the model as `model__name`.

        Returns
        -------
        dict
            Parameter names and values.
        """
        own = super().get_params()
        if deep and isinstance(self.model, Estimator):
            own |= {f"model__{name}": x for name, x in self.model.get_params().items()}
        return own

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of the model are called `model__name`.

        Parameters
        ----------
        **params : dict
            Parameter names and values.

        Returns
        -------
        Recommender
            The recommender itself.

        Examples
        --------
        >>> import coterie as ct
        >>> ct.Recommender(ct.MMSBM(n_groups=2)).set_params(model__n_groups=3)
        Recommender(MMSBM(n_groups=3))
        """
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

    def predict_proba(
        self, users: Any, items: Any = None, *, engine: str | Engine = "local"
    ) -> np.ndarray:
        """Return the distribution of the rating of each pair.

        Pairs with a user or an item without ratings get the distribution of the item's ratings,
        else of the user's, else of all ratings; with `best`, the fewer ratings there are, the more
        what the model predicts for an average user or item. `unseen` returns which pairs these are.

        Parameters
        ----------
        users : array-like of shape (n_pairs,) or (n_pairs, 2)
            The ids of the users; or rows of (user, item), if `items` is not given.
        items : array-like of shape (n_pairs,), optional
            The ids of the items.
        engine : {"local"} or Engine, default="local"
            Where the computation runs.

        Returns
        -------
        ndarray of shape (n_pairs, n_values)
            The probability of each of `values_`, in the order of the pairs.

        Examples
        --------
        >>> import coterie as ct
        >>> ratings = ct.Ratings.from_arrays([1, 1, 2], [7, 8, 7], [5, 1, 5])
        >>> rec = ct.Recommender(ct.MMSBM(n_groups=2)).fit(ratings)
        >>> rec.predict_proba([2, 2], [7, 8]).sum(axis=1).round(6)
        array([1., 1.])
        """
        state = self._fitted
        u, v = self._pair_numbers(users, items)
        user_seen, item_seen = self._has_ratings(u, v)
        known = user_seen & item_seen
        p = np.empty((len(u), len(self.values_)))
        if known.any():
            p[known] = state.predictor.distributions(u[known], v[known], engine)
        if not known.all():
            users, items = np.where(user_seen, u, -1), np.where(item_seen, v, -1)
            p[~known] = state.unknown_distributions(users[~known], items[~known], engine)
        return p

    def predict(
        self, users: Any, items: Any = None, *, engine: str | Engine = "local"
    ) -> np.ndarray:
        """Return the expected rating of each pair: the mean of its distribution.

        Parameters
        ----------
        users : array-like of shape (n_pairs,) or (n_pairs, 2)
            The ids of the users; or rows of (user, item), if `items` is not given.
        items : array-like of shape (n_pairs,), optional
            The ids of the items.
        engine : {"local"} or Engine, default="local"
            Where the computation runs.

        Returns
        -------
        ndarray of shape (n_pairs,)
            The expected ratings, in the order of the pairs.

        Examples
        --------
        >>> import coterie as ct
        >>> ratings = ct.Ratings.from_arrays([1, 1, 2], [7, 8, 7], [5, 1, 5])
        >>> rec = ct.Recommender(ct.MMSBM(n_groups=2)).fit(ratings)
        >>> rec.predict([1, 1], [7, 8]).round(1)
        array([5., 1.])
        """
        return np.asarray(self.predict_proba(users, items, engine=engine) @ self.values_)

    def predict_interval(
        self, users: Any, items: Any = None, *, level: float = 0.8, engine: str | Engine = "local"
    ) -> Intervals:
        """Return an interval that contains the rating of each pair with a given probability.

        The interval reaches from the quantile (1 - level) / 2 to (1 + level) / 2. On a scale with
        few values its ends are values of the scale, so that it contains at least `level`.

        Parameters
        ----------
        users : array-like of shape (n_pairs,) or (n_pairs, 2)
            The ids of the users; or rows of (user, item), if `items` is not given.
        items : array-like of shape (n_pairs,), optional
            The ids of the items.
        level : float, default=0.8
            Probability of the interval, between 0 and 1.
        engine : {"local"} or Engine, default="local"
            Where the computation runs.

        Returns
        -------
        Intervals
            Arrays `low`, `high`, the standard deviation `sd` of the rating, and its parts:
            `sd_taste` (what is not known about user and item; it shrinks with more ratings) and
            `sd_noise` (what remains if everything about them were known). The parts are nan for
            pairs with a user or an item without ratings, and for models other than "best".

        Examples
        --------
        >>> import coterie as ct
        >>> ratings = ct.Ratings.from_arrays([1, 1, 2], [7, 8, 7], [5, 1, 5])
        >>> rec = ct.Recommender(ct.MMSBM(n_groups=1)).fit(ratings)
        >>> found = rec.predict_interval([2], [8], level=0.9)
        >>> found.low, found.high
        (array([1.]), array([5.]))
        """
        if not 0 < level < 1:
            raise InputError(f"`level` must be between 0 and 1, not {level:g}")
        predictor = self.predictor_
        p = self.predict_proba(users, items, engine=engine)
        variance = p @ self.values_**2 - (p @ self.values_) ** 2
        u, v = self._pair_numbers(users, items)
        known = np.logical_and(*self._has_ratings(u, v))
        taste = np.full(len(p), np.nan)
        taste[known] = predictor.taste_variances(u[known], v[known])
        return Intervals(
            predictor.quantiles(p, (1 - level) / 2),
            predictor.quantiles(p, (1 + level) / 2),
            np.sqrt(np.maximum(variance, 0)),
            np.sqrt(np.minimum(taste, variance)),
            np.sqrt(np.maximum(variance - taste, 0)),
        )

    def unseen(self, users: Any, items: Any = None) -> np.ndarray:
        """Return which pairs have a user or an item without ratings.

        Parameters
        ----------
        users : array-like of shape (n_pairs,) or (n_pairs, 2)
            The ids of the users; or rows of (user, item), if `items` is not given.
        items : array-like of shape (n_pairs,), optional
            The ids of the items.

        Returns
        -------
        ndarray of bool of shape (n_pairs,)
            True where the model could not be used.
        """
        user_seen, item_seen = self._has_ratings(*self._pair_numbers(users, items))
        return np.asarray(~(user_seen & item_seen))

    def recommend(
        self,
        users: Any,
        n: int = 10,
        *,
        order: str = "both",
        candidates: Any = None,
        exclude: Any = None,
        exclude_seen: bool = True,
        engine: str | Engine = "local",
        rng: RandomState = 0,
        rules: Any = None,
    ) -> Any:
        """Return the best items for one or more users.

        Parameters
        ----------
        users : id or array-like of ids
            One user, or several. An unknown user gets the most popular items, or with
            ``order="rating"`` those that are rated highest in general.
        n : int, default=10
            The maximum number of items per user.
        order : {"both", "interaction", "rating", "explore"}, default="both"
            What comes first: items that the user will probably interact with and like, items that
            the user will probably interact with, items with the highest expected rating, or items
            with the highest rating in one draw of the posterior of the model "best" (Thompson
            sampling): items about which little is known come first now and then. For likes, "both"
            and "interaction" are the same.
        candidates : array-like of ids, optional
            Recommend only these items. By default, every item with a rating. Unknown items are
            left out with a warning; if all are unknown, it is an error.
        exclude : array-like of ids, optional
            Never recommend these items. Unknown items are ignored.
        exclude_seen : bool, default=True
            Whether to leave out items that the user has rated.
        engine : {"local"} or Engine, default="local"
            Where expected ratings are computed.
        rng : int, numpy.random.Generator or None, default=0
            Seed of the draws of ``order="explore"``; None draws anew in each call.
        rules : Rules or path, optional
            Quotas, boosts and other `Rules`, or a TOML file with them.

        Returns
        -------
        list of Recommendation, or list of such lists
            Named tuples (item, score, rating), the highest score first; with `rules`, in the order
            of the rules. One list per user if several were given.

        Raises
        ------
        InputError
            If `n` is less than 1, `order` is unknown, or no candidate is known.

        Examples
        --------
        >>> import coterie as ct
        >>> ratings = ct.Ratings.from_arrays([1, 1, 2], [7, 8, 7], [5, 1, 5])
        >>> rec = ct.Recommender(ct.MMSBM(n_groups=2)).fit(ratings)
        >>> [found.item for found in rec.recommend(2)]
        [8]
        >>> rec.recommend(2, exclude=[8])
        []
        """
        allowed = self._allowed(candidates, exclude)
        options = RankingOptions(
            as_order(order), exclude_seen, allowed, engine, rng, _as_rules(rules)
        )
        single = np.ndim(users) == 0
        blocks = self._ranked_blocks([users] if single else users, n, options)
        lists = [found for block in blocks for found in block]
        return lists[0] if single else lists

    def recommend_in_blocks(
        self,
        users: Any = None,
        n: int = 10,
        *,
        order: str = "both",
        candidates: Any = None,
        exclude: Any = None,
        exclude_seen: bool = True,
        engine: str | Engine = "local",
        rng: RandomState = 0,
        rules: Any = None,
    ) -> Iterator[dict[Any, list[Recommendation]]]:
        """Yield the best items of many users, for one block of users after the other.

        It needs the memory of one block only, so that lists of all users can be written to a file.

        Parameters
        ----------
        users : array-like of ids, optional
            The users. By default, all users of the model.
        n : int, default=10
            The maximum number of items per user.
        order : {"both", "interaction", "rating", "explore"}, default="both"
            What comes first, as in `recommend`.
        candidates : array-like of ids, optional
            Recommend only these items.
        exclude : array-like of ids, optional
            Never recommend these items.
        exclude_seen : bool, default=True
            Whether to leave out items that the user has rated.
        engine : {"local"} or Engine, default="local"
            Where expected ratings are computed.
        rng : int, numpy.random.Generator or None, default=0
            Seed of the draws of ``order="explore"``; None draws anew in each call.
        rules : Rules or path, optional
            Quotas, boosts and other `Rules`, or a TOML file with them.

        Yields
        ------
        dict from user id to list of Recommendation
            The users of one block.

        Examples
        --------
        >>> import coterie as ct
        >>> ratings = ct.Ratings.from_arrays([1, 1, 2], [7, 8, 7], [5, 1, 5])
        >>> rec = ct.Recommender(ct.MMSBM(n_groups=2)).fit(ratings)
        >>> for block in rec.recommend_in_blocks():
        ...     print({user: [found.item for found in best] for user, best in block.items()})
        {1: [], 2: [8]}
        """
        allowed = self._allowed(candidates, exclude)
        options = RankingOptions(
            as_order(order), exclude_seen, allowed, engine, rng, _as_rules(rules)
        )
        ids = self.users_.ids if users is None else np.asarray(users)
        names = iter(ids.tolist())
        for block in self._ranked_blocks(ids, n, options):
            yield {next(names): found for found in block}

    def _ranked_blocks(
        self, users: Any, n: int, options: RankingOptions
    ) -> Iterator[list[list[Recommendation]]]:
        """Yield the lists of one block of users after the other."""
        diverse = options.rules is not None and options.rules.diversity > 0
        state = self._ranked(Order.BOTH if diverse else options.order, options.engine)
        for block in ranked_blocks(state, state.users.numbers(users), n, options):
            yield [_recommendations(state, ranked) for ranked in block]

    def fold_in(self, ratings: Any, y: Any = None) -> Self:
        """Add new users, new items, or new ratings of known users, without refitting.

        Users are placed first, by the items that the model knows; then new items, by their users.
        The groups themselves, the other users, and the items that have ratings do not change;
        `update` moves those items too.

        Parameters
        ----------
        ratings : Ratings or array-like of shape (n_ratings, 2)
            The new ratings; or rows of (user, item), with the ratings in `y`. A new rating of a
            pair that was rated before replaces the old one.
        y : array-like of shape (n_ratings,), optional
            The ratings, if `ratings` holds only users and items.

        Returns
        -------
        Recommender
            The recommender itself.

        Examples
        --------
        >>> import coterie as ct
        >>> ratings = ct.Ratings.from_arrays([1, 1, 2], [7, 8, 7], [5, 1, 5])
        >>> rec = ct.Recommender(ct.MMSBM(n_groups=2)).fit(ratings)
        >>> rec.fold_in([["new", 7]], [5]).unseen(["new"], [8])
        array([False])
        """
        # Before ratings are added, so that lists do not depend on when the first is asked for
        self._state = with_ratings(self._ranked(Order.BOTH), _as_ratings(ratings, y))
        return self

    def update(self, ratings: Any, y: Any = None) -> UpdateSummary:
        """Add ratings of new and known users and items, without refitting.

        The users of the new ratings are placed as by `fold_in`. Items whose ratings have grown by
        5 % since they were placed are placed again too, by all of their ratings, and then their
        new raters once more. Everything else stays as it is, so that many new ratings call for a
        new fit at some time; the result says when.

        The first update copies what the model has learned; further ones change it in place, which
        takes a few milliseconds for one rating of a known user.

        Parameters
        ----------
        ratings : Ratings or array-like of shape (n_ratings, 2)
            The new ratings; or rows of (user, item), with the ratings in `y`. A new rating of a
            pair that was rated before replaces the old one.
        y : array-like of shape (n_ratings,), optional
            The ratings, if `ratings` holds only users and items.

        Returns
        -------
        UpdateSummary
            What was added, `drift` and `refit_advised`.

        Examples
        --------
        >>> import coterie as ct
        >>> ratings = ct.Ratings.from_arrays([1, 1, 2], [7, 8, 7], [5, 1, 5])
        >>> rec = ct.Recommender(ct.MMSBM(n_groups=2)).fit(ratings)
        >>> done = rec.update([["new", 7], [2, 8]], [5, 1])
        >>> done.users, done.ratings, done.refit_advised
        (1, 2, True)
        """
        self._state, summary = updated(self._ranked(Order.BOTH), _as_ratings(ratings, y))
        return summary

    def only_newcomers(self, ratings: Any, y: Any = None) -> Recommender:
        """Return a recommender for new users alone, with the same answers as after `fold_in`.

        This recommender does not change, and nothing of its users is copied: for a server that
        places somebody by the ratings of one request. The result predicts, ranks and explains;
        do not save it or add ratings to it.

        Parameters
        ----------
        ratings : Ratings or array-like of shape (n_ratings, 2)
            The ratings of the new users; or rows of (user, item), with the ratings in `y`.
        y : array-like of shape (n_ratings,), optional
            The ratings, if `ratings` holds only users and items.

        Returns
        -------
        Recommender
            A recommender whose users are the new ones. If a user is known or an item is new, it
            has all users, as after `fold_in`.

        Examples
        --------
        >>> import coterie as ct
        >>> ratings = ct.Ratings.from_arrays([1, 1, 2], [7, 8, 7], [5, 1, 5])
        >>> rec = ct.Recommender(ct.MMSBM(n_groups=2)).fit(ratings)
        >>> [found.item for found in rec.only_newcomers([["new", 7]], [5]).recommend("new")]
        [8]
        """
        state = self._ranked(Order.BOTH)
        return self._from_state(newcomers_alone(state, _as_ratings(ratings, y)))

    def prepare_for_requests(self) -> Self:
        """Build what lists need before the first request: the interaction model.

        Returns
        -------
        Recommender
            The recommender itself.
        """
        self._ranked(Order.BOTH)
        return self

    def explain(self, user: Any, item: Any) -> Explanation:
        """Explain the expected rating of one user for one item.

        Parameters
        ----------
        user : hashable
            The id of a user with ratings, or with features.
        item : hashable
            The id of an item with ratings, or with features.

        Returns
        -------
        Explanation
            The contributions that add up to the expected rating; its method `words` returns them
            as text.

        Raises
        ------
        InputError
            If the user or the item has neither ratings nor features.

        Examples
        --------
        >>> import coterie as ct
        >>> ratings = ct.Ratings.from_arrays([1, 1, 2], [7, 8, 7], [5, 1, 5])
        >>> rec = ct.Recommender(ct.MMSBM(n_groups=1)).fit(ratings)
        >>> for line in rec.explain(2, 8).words():
        ...     print(line)
        Expected rating of user 2 for item 8: 3.67
        +3.67  user group 0 rates item group 0 (such as 7, 8) 3.67 on average; weight 100%
        """
        return explain(self._fitted, user, item)

    def explain_ranking(self, user: Any, item: Any, *, order: str = "both") -> RankingExplanation:
        """Explain the place of an item in a ranking by the items that the user has.

        Parameters
        ----------
        user : hashable
            The id of a user of the model. The list of a user who has features but no ratings
            follows popularity.
        item : hashable
            The id of an item of the model.
        order : {"both", "interaction"}, default="both"
            The order of the ranking. A ranking by rating is explained by `explain`.

        Returns
        -------
        RankingExplanation
            The shares of the user's own items, which add up to the score; its method `words`
            returns them as text.

        Raises
        ------
        InputError
            If the user or the item is unknown, or the order is "rating".

        Examples
        --------
        >>> import coterie as ct
        >>> ratings = ct.Ratings.from_arrays([1, 1, 2, 2, 3], [7, 8, 7, 8, 7], [5, 5, 5, 4, 5])
        >>> rec = ct.Recommender(ct.MMSBM(n_groups=1)).fit(ratings)
        >>> found = rec.explain_ranking(3, 8)
        >>> [own.item for own in found.own_items], found.score > 0
        ([7], True)
        """
        wanted = as_order(order)
        return explain_ranking(self._ranked(wanted), user, item, wanted)

    def similar_users(self, user: Any, n: int = 10) -> list[tuple[Any, float]]:
        """Return the users whose items are most similar to those of a user.

        Users are compared by the cosine of their factors in the interaction model: users who have,
        and like, items that occur together.

        Parameters
        ----------
        user : hashable
            The id of a user with ratings.
        n : int, default=10
            The maximum number of users.

        Returns
        -------
        list of (user, similarity)
            The most similar first; a similarity is at most 1.

        Raises
        ------
        InputError
            If the user has no ratings, or `n` is less than 1.

        Examples
        --------
        >>> import coterie as ct
        >>> ratings = ct.Ratings.from_arrays([1, 1, 2, 2], [7, 8, 7, 8], [5, 1, 5, 1])
        >>> rec = ct.Recommender(ct.MMSBM(n_groups=1)).fit(ratings)
        >>> [(other, round(similarity, 3)) for other, similarity in rec.similar_users(1)]
        [(2, 1.0)]
        """
        state = self._ranked(Order.BOTH)
        interactions = state.interactions
        assert interactions is not None

        def similarity(number: int) -> np.ndarray:
            pairs = pairs_of_users(state, np.arange(len(state.users)))
            return interactions.user_similarity(pairs, number)

        return _most_similar("user", user, state.users, state.table.rated_users, similarity, n)

    def similar_items(self, item: Any, n: int = 10) -> list[tuple[Any, float]]:
        """Return the items that are most similar to an item according to the model.

        If the rating model has offsets alone, it knows no tastes: items are then similar if the
        same users have, and like, them.

        Parameters
        ----------
        item : hashable
            The id of an item with ratings.
        n : int, default=10
            The maximum number of items.

        Returns
        -------
        list of (item, similarity)
            The most similar first; a similarity is at most 1.

        Raises
        ------
        InputError
            If the item has no ratings, or `n` is less than 1.

        Examples
        --------
        >>> import coterie as ct
        >>> ratings = ct.Ratings.from_arrays([1, 1, 2, 2], [7, 8, 7, 8], [5, 1, 5, 1])
        >>> rec = ct.Recommender(ct.MMSBM(n_groups=1)).fit(ratings)
        >>> rec.similar_items(7)
        [(8, 1.0)]
        """
        state = self._fitted

        def similarity(number: int) -> np.ndarray:
            found = item_similarity(state, number)
            return found if found.any() else item_similarity(self._ranked(Order.BOTH), number)

        rated = state.table.rated_items
        return _most_similar("item", item, state.items, rated, similarity, n)

    def score(self, ratings: Any, y: Any = None) -> float:
        """Return the negative RMSE of the predictions, for scikit-learn's model selection.

        Parameters
        ----------
        ratings : Ratings or array-like of shape (n_ratings, 2)
            The true ratings; or rows of (user, item), with the ratings in `y`.
        y : array-like of shape (n_ratings,), optional
            The ratings, if `ratings` holds only users and items.

        Returns
        -------
        float
            The negative root mean squared error: higher is better.
        """
        given = _as_ratings(ratings, y)
        users, items = given.user_ids[given.users], given.item_ids[given.items]
        return -float(np.sqrt(np.mean((self.predict(users, items) - given.ratings) ** 2)))

    def save(self, path: str | os.PathLike[str], *, rankings: bool = True) -> None:
        """Write the fitted recommender to a file.

        Parameters
        ----------
        path : path-like
            The file. It appears complete or not at all.
        rankings : bool, default=True
            Whether to fit what rankings need first, if that has not been done. Without it, the
            recommender that is read fits it when it ranks for the first time.

        See Also
        --------
        load_recommender : Read the file.
        """
        from coterie.recommend.model_file import save

        save(self._ranked(Order.BOTH if rankings else Order.RATING), path)

    def _ranked(self, order: Order, engine: str | Engine = "local") -> FittedState:
        """Return the state; with an interaction model, fitted now if the order needs one."""
        state = self._fitted
        if order not in (Order.RATING, Order.EXPLORE) and state.interactions is None:
            return self.fit_rankings(engine)._fitted
        return state

    def _allowed(self, candidates: Any, exclude: Any) -> np.ndarray | None:
        """Return which items may be recommended, None if all may."""
        if candidates is None and exclude is None:
            return None
        allowed = np.ones(len(self.items_), bool)
        if candidates is not None:
            given = list(candidates)
            numbers = self.items_.numbers(given)
            known = numbers[numbers >= 0]
            if not len(known):
                raise InputError(
                    f"the model knows none of the {len(given):,} `candidates`",
                    remedy="check the ids",
                )
            if len(known) < len(given):
                warnings.warn(
                    f"the model does not know {len(given) - len(known):,} of the {len(given):,} "
                    "candidates; they are left out",
                    AssumptionWarning,
                    stacklevel=3,
                )
            allowed[:] = False
            allowed[known] = True
        if exclude is not None:
            numbers = self.items_.numbers(list(exclude))
            allowed[numbers[numbers >= 0]] = False
        return allowed

    def _has_ratings(self, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return whether each user and each item has ratings or features; -1 has none."""
        users = np.append(self._fitted.known_users, False)
        items = np.append(self._fitted.known_items, False)
        return users[u], items[v]

    def _pair_numbers(self, users: Any, items: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the users and items of pairs."""
        if items is None:
            users, items = _pair_columns(users)
        u, v = self.users_.numbers(users), self.items_.numbers(items)
        if len(u) != len(v):
            raise InputError(
                f"{len(u)} users and {len(v)} items", remedy="give one item for each user"
            )
        return u, v


def _recommendations(state: FittedState, ranked: RankedItems) -> list[Recommendation]:
    """Return a ranking with the ids of its items."""
    return [
        Recommendation(item, score, rating)
        for item, score, rating in zip(
            state.items.ids[ranked.items].tolist(),
            ranked.scores.tolist(),
            ranked.ratings.tolist(),
            strict=True,
        )
    ]


def _as_rules(rules: Any) -> Any:
    """Return rules, read from a file if a path is given."""
    if not isinstance(rules, str | os.PathLike):
        return rules
    from coterie.recommend.rules import Rules  # for lists without rules it is not needed

    return Rules.from_file(rules)


def _unfitted(model: str | Estimator) -> RatingModel:
    """Return an unfitted model with the same parameters, so that `fit` leaves its input alone."""
    if isinstance(model, str):
        return make_model(model)
    if not isinstance(model, RatingModel):
        known = ", ".join(sorted(entry.estimator_name for entry in MODELS))
        raise InputError(
            f"a Recommender cannot use a {type(model).__name__}", remedy=f"use one of {known}"
        )
    return type(model)(**model.get_params())


def _most_similar(
    kind: str,
    id_: Any,
    lookup: IdLookup,
    rated: np.ndarray,
    similarity: Callable[[int], np.ndarray],
    n: int,
) -> list[tuple[Any, float]]:
    """Return the ids of the n rated nodes that are most similar to a node, without itself."""
    number = int(lookup.numbers([id_])[0])
    if number < 0 or not rated[number]:
        raise InputError(
            f"{kind} {id_!r} has no rating in this model",
            remedy=f"add its ratings with fold_in first, or use another {kind}, such as "
            f"{lookup.ids[0]!r}",
        )
    if n < 1:
        raise InputError(f"n must be at least 1, not {n}")
    found = np.where(rated, similarity(number), -2)
    found[number] = -2
    order = [one for one in np.argsort(-found, kind="stable")[:n] if found[one] > -2]
    return list(zip(lookup.ids[order].tolist(), found[order].tolist(), strict=True))


def _pair_columns(pairs: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the users and the items of rows (user, item)."""
    if hasattr(pairs, "to_numpy"):
        pairs = pairs.to_numpy()
    rows = pairs if isinstance(pairs, np.ndarray) else [tuple(pair) for pair in pairs]
    table = rows if isinstance(rows, np.ndarray) else np.array(rows, object).reshape(-1, 2)
    if table.ndim != 2 or table.shape[1] != 2:
        raise InputError(
            f"the pairs have the shape {table.shape}",
            remedy="give rows of (user, item), or users and items separately",
        )
    return table[:, 0], table[:, 1]


def _as_ratings(ratings: Any, y: Any) -> Ratings:
    """Return Ratings, from shards, a table, or rows of (user, item) and y if necessary."""
    if y is None:
        ratings = as_ratings(ratings)
    if isinstance(ratings, Ratings):
        return ratings
    from coterie.engine.sharded_data import ShardedRatings  # for predictions it is not needed

    if isinstance(ratings, ShardedRatings):
        return ratings.load()
    if y is None:
        raise InputError(
            f"a {type(ratings).__name__} without ratings cannot be used",
            remedy="give coterie.Ratings, or rows of (user, item) and their ratings as y",
        )
    users, items = _pair_columns(ratings)
    return Ratings.from_arrays(users, items, y)

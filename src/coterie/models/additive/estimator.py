"""AdditiveBlockModel: ratings as a sum of small block models, sampled by Gibbs sweeps."""

from __future__ import annotations

from collections import Counter
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np

from coterie.base.json_values import JsonObject
from coterie.base.progress import Callback, silent
from coterie.base.randomness import RandomState, as_generator, stream_keys
from coterie.data import Ratings
from coterie.data.foreign import as_ratings
from coterie.data.node_table import NodeTable
from coterie.engine import Engine, running_engine
from coterie.engine.checkpoint import RunCheckpoint, check_checkpoint_options
from coterie.kernels.additive.predict import Samples
from coterie.models.additive.chain_allocation import choose_kinds
from coterie.models.additive.chains import (
    AdditiveShape,
    ChainInputs,
    Observed,
    PresenceSettings,
    chain_inputs,
    observe,
    stack_samples,
)
from coterie.models.additive.cold_start import ColdStart, with_cold_nodes
from coterie.models.additive.feature_encoding import FeatureEncoding
from coterie.models.additive.node_features import NodeFeatures
from coterie.models.additive.predict import (
    on_grid,
    own_level_probabilities,
    pair_distributions,
    thinned,
)
from coterie.models.additive.predictor import AdditivePredictor
from coterie.models.additive.rating_scale import RatingScale
from coterie.models.additive.sampling import KIND, AdditiveFitState, sample_chains
from coterie.models.additive.side_information import SideInformation
from coterie.models.additive.validation import check, factor_count, group_counts, sampling_plan
from coterie.models.data_kinds import digest
from coterie.models.declaration import (
    SEED,
    Ability,
    DataKind,
    Declaration,
    Flag,
    Groups,
    Integer,
    OrAuto,
    Pair,
    Real,
)
from coterie.models.rating_model import RatingModel


class AdditiveBlockModel(RatingModel):
    """Additive block model of ratings, sampled by Markov chains.

    There are several partitions; in each of them every user and every item belongs to one group.
    A pair of groups has an effect on the rating. The effects of all partitions, the product of the
    user's and the item's factors, and an offset of each add up to a location on the rating scale.
    Factors and offsets are regressed on features: who rated what, and side information if it is
    given, so that users and items with few or no ratings are predicted from them. The posterior is
    sampled by independent chains that run in parallel; predictions average over the samples. This
    is the most accurate model of the library (`Recommender("best")` uses it).

    Parameters
    ----------
    n_partitions : int, default=5
        Number of partitions.
    n_groups : int or (int, int), default=(3, 5)
        Number of user groups and of item groups per partition, or one number for both.
    n_factors : int or "auto", default="auto"
        Number of factors of the low-rank term, the product of a user's and an item's factors.
        "auto" grows with the root of the number of ratings, from 8 to 64 (32 above five million
        ratings). Factors that the ratings do not need shrink to 0. 0 leaves the term out.
    n_styles : int, default=8
        Number of response styles, which are ways of using the rating scale. Each user has one.
    n_chains : int or "auto", default="auto"
        Number of chains. "auto" is 4.
    burn_in : int or "auto", default="auto"
        Number of sweeps of each chain before its first sample. "auto" is 50, and at most
        a third of `n_sweeps`.
    n_sweeps : int or "auto", default="auto"
        Number of sweeps of each chain, including the burn-in. "auto" stops when more samples
        would lower the squared error by less than 0.05 %, and after 200 sweeps at the latest (fewer
        for more than two million ratings).
    keep_every : int, default=5
        Number of sweeps between two samples. It is increased if the samples would need more than
        512 MB.
    presence : float, default=0.75
        Weight of who rated what, relative to the ratings themselves. 0 ignores it.
    negatives_per_rating : float, default=1.0
        Number of unrated pairs that are drawn per rating as examples of absence.
    pilot : bool, default=True
        Choose by held-out ratings how many chains have groups and factors, factors alone, or
        offsets alone. Without a pilot, and with fewer than 100 ratings, all chains have groups and
        factors.
    rng : int, numpy.random.Generator or None, default=0
        Seed of the random numbers. The same seed gives the same result for any number of threads.
        None uses a fresh seed.

    Attributes
    ----------
    values_ : ndarray of shape (n_levels,)
        The rating that each level stands for.
    scale_ : RatingScale
        The levels of the rating scale. More than 20 distinct ratings are binned.
    samples_ : Samples
        At most 60 samples, chain after chain; everything that predictions need.
    chain_of_sample_ : ndarray of shape (n_samples,)
        The chain of each sample.
    mixture_ : dict of str to int
        Number of chains of each kind: "presence" or "ratings" (groups and factors, with or without
        who rated what), "factors" (no groups), "offsets" (offsets only).
    user_labels_ : ndarray of shape (n_partitions, n_users)
        Group of each user in the last sample of the first chain.
    item_labels_ : ndarray of shape (n_partitions, n_items)
        Group of each item in the last sample of the first chain.
    effects_ : ndarray of shape (n_partitions, n_user_groups, n_item_groups)
        Effect of each pair of groups in the last sample of the first chain.
    entropy_ : float
        Entropy of the training ratings, -log likelihood in nats, of the averaged predictions.
    history_ : list of Iteration
        Sweeps (`iteration`), `seconds` and mean `entropy` of the chains after each round.
    n_iter_ : int
        Number of sweeps done by each chain.
    interrupted_ : bool
        Whether Ctrl-C stopped the fit.
    ratings_ : Ratings
        The training data.
    features_ : NodeFeatures
        The features of users and items: side information, and who rated what.
    user_encoding_, item_encoding_ : FeatureEncoding
        How side information is turned into numbers.
    user_side_, item_side_ : ndarray of shape (n_users or n_items, n_columns)
        Side information as numbers; no columns if none was given.
    user_cold_start_, item_cold_start_ : ColdStart or None
        The regressions on side information that predict users and items without ratings; None if
        there are no such users or items.

    See Also
    --------
    Recommender : Predictions, rankings, explanations and new users.
    MMSBM : Mixed membership; faster to fit, and its groups are easier to explain.

    Notes
    -----
    The model descends from ACCAMS [1]_, which also approximates a ratings table by a sum of small
    co-clusterings. What is different: ACCAMS predicts with a Gaussian likelihood from one set of
    co-clusterings, found greedily or by one collapsed Gibbs sampler. Here the likelihood is
    ordinal, users have response styles, a Bayesian low-rank term stands next to the partitions,
    who rated what and side information are used too, and predictions average over several chains.

    References
    ----------
    .. [1] A. Beutel, A. Ahmed and A. J. Smola, "ACCAMS: Additive Co-Clustering to Approximate
       Matrices Succinctly", Proceedings of the 24th International Conference on World Wide Web
       (WWW), 2015.

    Examples
    --------
    >>> import coterie as ct
    >>> ratings = ct.Ratings.from_arrays([*"aabbcc"], [*"xyxyxz"], [5, 1, 5, 2, 1, 5])
    >>> model = ct.AdditiveBlockModel(n_chains=2, n_sweeps=40, rng=0).fit(ratings)
    >>> p = model.predict_proba([0], [2])
    >>> p.shape, round(float(p.sum()), 9), len(model.history_)
    ((1, 3), 1.0, 8)
    """

    values_: np.ndarray
    scale_: RatingScale
    samples_: Samples
    chain_of_sample_: np.ndarray
    mixture_: dict[str, int]
    n_iter_: int
    features_: NodeFeatures
    user_encoding_: FeatureEncoding
    item_encoding_: FeatureEncoding
    user_side_: np.ndarray
    item_side_: np.ndarray
    user_cold_start_: ColdStart | None
    item_cold_start_: ColdStart | None

    declaration = Declaration(
        name="best",
        assumptions={
            DataKind.RATINGS: "A rating is a sum of small effects, one per table of user groups by "
            "item groups, plus noise; pairs without a rating carry no information.",
        },
        parameters={
            "n_partitions": Integer(1, 1000),
            "n_groups": Pair(Integer(1, 255)),
            "n_factors": OrAuto(Integer(0, 256)),
            "n_styles": Integer(1, 255),
            "n_chains": OrAuto(Integer(1)),
            "burn_in": OrAuto(Integer(0)),
            "n_sweeps": OrAuto(Integer(1)),
            "keep_every": Integer(1, 10**6),
            "presence": Real(least=0),
            "negatives_per_rating": Real(least=0),
            "pilot": Flag(),
            "rng": SEED,
        },
        abilities=frozenset(
            {
                Ability.PREDICT,
                Ability.SAMPLE,
                Ability.CHECKPOINT,
                Ability.CLUSTER,
                Ability.FEATURES,
                Ability.NEGATIVES,
            }
        ),
        option_names={
            "n_groups": "groups",
            "n_sweeps": "iterations",
            "n_chains": "runs",
            "negatives_per_rating": "negatives_per_rating",
        },
        renamed={
            "absent_ratio": "negatives_per_rating",
            "absent_share": "negatives_per_rating",
        },
        groups=Groups.PARTITIONS,
    )

    _SMALLEST: ClassVar[dict[str, Any]] = {
        "n_partitions": 1,
        "n_factors": "auto",
        "n_chains": 1,
        "burn_in": "auto",
        "n_sweeps": 16,
        "rng": 0,
    }

    def __init__(
        self,
        n_partitions: int = 5,
        *,
        n_groups: int | tuple[int, int] = (3, 5),
        n_factors: int | str = "auto",
        n_styles: int = 8,
        n_chains: int | str = "auto",
        burn_in: int | str = "auto",
        n_sweeps: int | str = "auto",
        keep_every: int = 5,
        presence: float = 0.75,
        negatives_per_rating: float = 1.0,
        pilot: bool = True,
        rng: RandomState = 0,
    ) -> None:
        self.n_partitions = n_partitions
        self.n_groups = n_groups
        self.n_factors = n_factors
        self.n_styles = n_styles
        self.n_chains = n_chains
        self.burn_in = burn_in
        self.n_sweeps = n_sweeps
        self.keep_every = keep_every
        self.presence = presence
        self.negatives_per_rating = negatives_per_rating
        self.pilot = pilot
        self.rng = rng

    def fit(
        self,
        ratings: Ratings,
        engine: str | Engine = "local",
        callback: Callback = silent,
        *,
        user_features: NodeTable | None = None,
        item_features: NodeTable | None = None,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int = 1,
        resume: bool = False,
    ) -> Self:
        """Sample the model of these ratings.

        Ctrl-C stops the fit and keeps the samples so far (`interrupted_` is then True).

        Parameters
        ----------
        ratings : Ratings
            The ratings.
        engine : str or Engine, default="local"
            Where the chains run: "local" (threads of this machine), or an engine object such as
            `LocalEngine` or `DaskEngine`.
        callback : callable, optional
            Called with a `Progress` after every round of `keep_every` sweeps.
        user_features, item_features : NodeTable, optional
            Side information about users and items, such as age or genres. Offsets and factors are
            regressed on it, so that users and items with few or no ratings are predicted from it.
        checkpoint : str or path-like, optional
            File to which the state of the fit is saved. By default nothing is saved.
        checkpoint_every : int, default=1
            Number of rounds (of `keep_every` sweeps) between two checkpoints; fewer are written if
            writing takes long. The end of the fit is always saved.
        resume : bool, default=False
            Continue from `checkpoint` if the file exists. The result is the same, bit for bit,
            as that of a fit that was never stopped. Only an interrupted fit continues: if it has
            finished, its result is returned.

        Returns
        -------
        self
            The fitted model.

        Raises
        ------
        InputError
            If a parameter or the data are not valid, or if the checkpoint belongs to other data
            or settings.

        Examples
        --------
        >>> import coterie as ct
        >>> ratings = ct.Ratings.from_arrays([*"aabb"], [*"xyxy"], [5, 1, 4, 2])
        >>> model = ct.AdditiveBlockModel(n_chains=2, n_sweeps=40, rng=0).fit(ratings)
        >>> model.user_labels_.shape
        (5, 2)
        """
        ratings = as_ratings(ratings)
        check(self, ratings)
        check_checkpoint_options(checkpoint, checkpoint_every, resume)
        plan = sampling_plan(self, ratings)
        self.ratings_ = ratings
        self.scale_ = RatingScale.of(ratings)
        self.values_ = self.scale_.values
        inputs = self._chain_inputs(ratings, user_features, item_features)
        self.features_ = inputs.features
        self.user_side_, self.item_side_ = inputs.user_side, inputs.item_side
        fingerprint = self._fingerprint(inputs)
        file = RunCheckpoint(KIND, checkpoint, checkpoint_every, fingerprint)
        with running_engine(engine) as runner:
            state = file.load(AdditiveFitState) if resume else None
            if state is None:
                state = self._new_fit(inputs, plan.n_chains, runner, callback)
            self.interrupted_ = sample_chains(
                state, inputs, self.values_, plan, runner, file, callback
            )
            self._set_results(state)
            self._predict_cold_nodes(inputs.observed, state.keys[0])
            self.entropy_ = self._training_entropy(inputs.observed, runner)
        return self

    def predictor(self, ratings: Ratings) -> AdditivePredictor:
        """Return what the model has learned, as a Recommender uses it.

        Parameters
        ----------
        ratings : Ratings
            The ratings that it was fitted to.

        Returns
        -------
        AdditivePredictor
            The samples of all chains, and the features of users and items.
        """
        features = self.features_
        return AdditivePredictor.of_samples(
            self.scale_,
            self.samples_,
            self.chain_of_sample_,
            SideInformation(
                features.user_map, self.user_encoding_, self.user_side_, self.user_cold_start_
            ),
            SideInformation(
                features.item_map, self.item_encoding_, self.item_side_, self.item_cold_start_
            ),
        )

    def predict_proba(
        self, users: object, items: object, *, engine: str | Engine = "local"
    ) -> np.ndarray:
        """Predict the distribution of ratings of pairs of user and item.

        Parameters
        ----------
        users : array-like of int, shape (n_pairs,)
            User numbers: positions in `ratings_.user_ids`.
        items : array-like of int, shape (n_pairs,)
            Item numbers: positions in `ratings_.item_ids`.
        engine : str or Engine, default="local"
            Where the work runs.

        Returns
        -------
        ndarray of shape (n_pairs, n_levels)
            Probability of each level of `values_`.

        Examples
        --------
        >>> import coterie as ct
        >>> ratings = ct.Ratings.from_arrays([*"aabb"], [*"xyxy"], [5, 1, 4, 2])
        >>> model = ct.AdditiveBlockModel(n_chains=2, n_sweeps=40, rng=0).fit(ratings)
        >>> expected_ratings = model.predict_proba([0, 1], [1, 0]) @ model.values_
        >>> expected_ratings.shape
        (2,)
        """
        u, v = np.asarray(users, np.int64), np.asarray(items, np.int64)
        return pair_distributions(self.samples_, u, v, engine)

    @property
    def user_labels_(self) -> np.ndarray:
        """Group of each user in the last sample of the first chain, partitions x users."""
        return np.asarray(self.samples_.user_labels[self._last_of_first_chain].T)

    @property
    def item_labels_(self) -> np.ndarray:
        """Group of each item in the last sample of the first chain, partitions x items."""
        return np.asarray(self.samples_.item_labels[self._last_of_first_chain].T)

    @property
    def effects_(self) -> np.ndarray:
        """Effects in the last sample of the first chain, partitions x user groups x item groups."""
        return np.asarray(self.samples_.effects[self._last_of_first_chain])

    @property
    def _last_of_first_chain(self) -> int:
        """Position of the last sample of the first chain, which uses the most data."""
        return int(np.count_nonzero(self.chain_of_sample_ == 0)) - 1

    def _chain_inputs(
        self,
        ratings: Ratings,
        user_features: NodeTable | None,
        item_features: NodeTable | None,
    ) -> ChainInputs:
        """Return the inputs that all chains share: sizes, ratings, features, use of presence."""
        self.user_encoding_ = FeatureEncoding.of(user_features, ratings.user_ids, "user")
        self.item_encoding_ = FeatureEncoding.of(item_features, ratings.item_ids, "item")
        observed = observe(
            ratings.users.astype(np.int64),
            ratings.items.astype(np.int64),
            self.scale_.levels(ratings.ratings),
            ratings.n_users,
            ratings.n_items,
        )
        shape = AdditiveShape(
            self.n_partitions,
            *group_counts(self),
            self.n_styles,
            len(self.values_),
            factor_count(self, len(ratings)),
        )
        presence = PresenceSettings(self.presence, self.negatives_per_rating)
        return chain_inputs(
            shape,
            observed,
            presence,
            self.user_encoding_.encode(user_features, ratings.user_ids),
            self.item_encoding_.encode(item_features, ratings.item_ids),
        )

    def _new_fit(
        self, inputs: ChainInputs, n_chains: int, engine: Engine, callback: Callback
    ) -> AdditiveFitState:
        """Draw the seed of each chain and choose which data it uses."""
        rng = as_generator(self.rng)
        keys = [int(key) for key in stream_keys(rng, n_chains)]
        kinds = choose_kinds(
            inputs, self.values_, n_chains, rng, engine, callback, pilot=self.pilot
        )
        return AdditiveFitState(keys, kinds)

    def _fingerprint(self, inputs: ChainInputs) -> JsonObject:
        """Return the data and settings that a resumed fit must share with its checkpoint."""
        observed = inputs.observed
        given = {**self.get_params(), "n_groups": list(group_counts(self))}
        settings = {n: v for n, v in given.items() if not isinstance(v, np.random.Generator)}
        data = [observed.users, observed.items, observed.level, inputs.user_side, inputs.item_side]
        return {"data": digest(data), **settings}

    def _set_results(self, state: AdditiveFitState) -> None:
        """Set the fitted attributes; samples are ordered chain after chain."""
        by_chain = zip(*state.samples, strict=True)
        samples = stack_samples([sample for chain in by_chain for sample in chain])
        of_sample = np.repeat(np.arange(len(state.keys)), len(state.samples))
        self.samples_, self.chain_of_sample_ = thinned(samples, of_sample)
        self.mixture_ = dict(Counter(kind.value for kind in state.kinds))
        self.history_ = state.history
        self.n_iter_ = state.sweeps

    def _predict_cold_nodes(self, observed: Observed, seed: int) -> None:
        """Set the users and items without ratings in all samples, from their features."""
        found = with_cold_nodes(
            self.samples_,
            observed.users,
            observed.items,
            self.user_side_,
            self.item_side_,
            self.user_encoding_.columns,
            self.item_encoding_.columns,
            seed,
        )
        self.samples_ = on_grid(found.samples)
        self.user_cold_start_, self.item_cold_start_ = found.users, found.items

    def _training_entropy(self, observed: Observed, engine: Engine) -> float:
        """Return the -log likelihood of the training ratings under the averaged predictions."""
        nats = 0.0
        for own in own_level_probabilities(
            self.samples_, observed.users, observed.items, observed.level, engine
        ):
            nats -= float(np.log(np.maximum(own, np.finfo(float).tiny)).sum())
        return nats

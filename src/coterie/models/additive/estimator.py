"""AdditiveBlockModel: ratings as a sum of small block models, sampled by Gibbs sweeps."""

from __future__ import annotations

import math
import time
from collections import Counter
from functools import partial
from os import PathLike
from typing import Any, Self

import numpy as np

from coterie.base.errors import InputError
from coterie.base.progress import Callback, Iteration, Progress, silent
from coterie.base.randomness import RandomState, as_generator, stream_keys
from coterie.data import Ratings
from coterie.engine import Engine
from coterie.engine.resolve import running_engine
from coterie.kernels.additive.chain import Chain, advance
from coterie.kernels.additive.response_styles import entropy
from coterie.kernels.additive.sweep import Edges
from coterie.models.additive.chain_allocation import FEWEST, divide, predict_held_back
from coterie.models.additive.chains import (
    AdditiveShape,
    ChainKind,
    Observed,
    keep,
    observe,
    schedule,
    stack,
    start_chain,
)
from coterie.models.additive.checkpoint import Keeper, Progressed
from coterie.models.additive.predict import pair_distributions
from coterie.models.additive.rating_scale import RatingScale
from coterie.models.base import Estimator

_MOST_SAMPLE_BYTES = 1 << 28


class AdditiveBlockModel(Estimator):
    """Every user and item has one label in each of several small partitions; what the pairs of
    labels are worth adds up to the rating's place on an ordinal scale.

    For whoever wants the best predictions (`Recommender("best")`). The posterior is sampled by
    independent chains, which run in parallel; predictions average over the samples kept.

    Parameters
    ----------
    n_partitions, n_groups:
        how many partitions, and the (user, item) groups of each.
    n_styles:
        ways of using the rating scale; each user has one.
    n_chains, burn_in, n_sweeps:
        chains, sweeps before the first sample, and sweeps in all. "auto": 10 chains of 320
        sweeps, a quarter of them to settle; fewer sweeps beyond 500,000 ratings.
    keep_every:
        sweeps from one kept sample to the next.
    presence:
        what it counts that somebody rated something at all; 0 leaves it out.
    negatives_per_rating:
        unrated pairs drawn for that, for each rating.
    pilot:
        whether ratings held back tell how many chains listen to presence, to ratings alone, or
        to offsets alone (docs/additive.md). Without it, and with fewer than 100 ratings, all
        chains are of the first kind.

    >>> from coterie.data import Ratings
    >>> ratings = Ratings.from_arrays([*"aabbcc"], [*"xyxyxz"], [5, 1, 5, 2, 1, 5])
    >>> model = AdditiveBlockModel(n_chains=2, n_sweeps=40, rng=0).fit(ratings)
    >>> p = model.predict_proba([0], [2])
    >>> p.shape, round(float(p.sum()), 9), len(model.history_)
    ((1, 3), 1.0, 4)
    """

    def __init__(
        self,
        n_partitions: int = 10,
        *,
        n_groups: int | tuple[int, int] = (6, 10),
        n_styles: int = 8,
        n_chains: int | str = "auto",
        burn_in: int | str = "auto",
        n_sweeps: int | str = "auto",
        keep_every: int = 10,
        presence: float = 0.75,
        negatives_per_rating: float = 1.0,
        pilot: bool = True,
        rng: RandomState = 0,
    ) -> None:
        self.n_partitions = n_partitions
        self.n_groups = n_groups
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
        engine: str | Engine | None = "local",
        callback: Callback = silent,
        *,
        checkpoint: str | PathLike[str] | None = None,
        resume: bool = False,
    ) -> Self:
        """Sample the model of these ratings. Ctrl-C keeps the samples so far.

        With `checkpoint` the chains are saved to that file every few sweeps; with `resume` the
        fit goes on from there, to the same numbers as if it had never stopped.
        """
        self._check(ratings)
        self.ratings_ = ratings
        self.scale_ = RatingScale.of(ratings)
        self.values_ = self.scale_.values
        observed = _observe(ratings, self.scale_)
        keeper = Keeper(checkpoint, self._settings(), observed)
        with running_engine(engine) as runner:
            fit = self._sample(observed, runner, keeper, resume, callback)
            self.history_ = fit.history
            # chain after chain, so that a chain's samples follow each other
            chains = zip(*fit.kept, strict=True)
            self.samples_ = stack([sample for chain in chains for sample in chain])
            self.chain_of_sample_ = np.repeat(np.arange(len(fit.keys)), len(fit.kept))
            self.mixture_ = dict(Counter(kind.name for kind in fit.kinds))
            self.n_iter_ = fit.done
            self.entropy_ = self._training_entropy(observed, runner)
        return self

    def compile(self, data: Ratings, engine: str | Engine | None = "local") -> None:
        """Have Numba compile what `fit(data)` will run, on two ratings."""
        few = Ratings.from_arrays([0, 1], [0, 1], [1.0, 2.0])
        AdditiveBlockModel(n_chains=1, n_sweeps=16, rng=0).fit(few, engine)

    def _sample(
        self,
        observed: Observed,
        engine: Engine,
        keeper: Keeper,
        resume: bool,
        callback: Callback,
    ) -> Progressed:
        """Run the chains side by side."""
        shape = AdditiveShape(self.n_partitions, *self._groups, self.n_styles, len(self.values_))
        n_chains, burn_in, n_sweeps = self._plan(len(observed.level))
        keep_every = self._spacing(shape, observed, n_chains, n_sweeps - burn_in)
        fit = keeper.load() if resume else None
        rng = as_generator(self.rng)
        keys = stream_keys(rng, n_chains) if fit is None else fit.keys
        choose = partial(self._kinds, shape, observed, n_chains, rng, engine, callback)
        kinds = choose() if fit is None else fit.kinds
        begin = partial(
            start_chain,
            shape=shape,
            observed=observed,
            negatives_per_rating=self.negatives_per_rating,
        )
        chains, seen = zip(*engine.map(begin, keys, kinds), strict=True)
        if fit is None:
            fit = Progressed([int(key) for key in keys], kinds, list(chains))
        started = time.perf_counter() - (fit.history[-1].seconds if fit.history else 0.0)
        self.interrupted_ = False
        try:
            while fit.done < n_sweeps:
                sweeps = min(keep_every, n_sweeps - fit.done)
                task = partial(_move, observed=observed, sweeps=sweeps)
                moved = engine.map(task, fit.chains, seen, fit.kinds)
                fit.chains = [chain for chain, _ in moved]
                mean = sum(entropy for _, entropy in moved) / n_chains
                fit.latest = [keep(chain, observed) for chain in fit.chains]
                if fit.done + sweeps > burn_in:
                    fit.kept.append(fit.latest)
                seconds = time.perf_counter() - started
                fit.history.append(Iteration(fit.done + sweeps, seconds, mean))
                keeper.save(fit)
                callback(Progress("fit", fit.done, n_sweeps, mean, f"{n_chains} chains"))
        except KeyboardInterrupt:
            if not fit.latest:
                raise
            self.interrupted_ = True
        fit.kept = fit.kept or [fit.latest]  # stopped before the chains had settled
        return fit

    def _kinds(
        self,
        shape: AdditiveShape,
        observed: Observed,
        n_chains: int,
        rng: np.random.Generator,
        engine: Engine,
        callback: Callback,
    ) -> list[ChainKind]:
        """What each chain listens to."""
        listens = self.presence > 0 and self.negatives_per_rating > 0 and shape.levels > 1
        kinds = [ChainKind(float(self.presence), True)] * listens + [
            ChainKind(0.0, True),
            ChainKind(0.0, False),
        ]
        if not self.pilot or len(observed.level) < FEWEST or shape.levels < 2:
            return kinds[:1] * n_chains
        callback(Progress("pilot", 0, 1))
        run = partial(
            predict_held_back,
            shape=shape,
            values=self.values_,
            negatives_per_rating=self.negatives_per_rating,
        )
        return divide(kinds, n_chains, observed, run, self.values_, rng, engine)

    def predict_proba(
        self, users: object, items: object, *, engine: str | Engine | None = "local"
    ) -> np.ndarray:
        """P(rating) of pairs of user and item numbers: one row a pair, one column a level."""
        u, v = np.asarray(users, np.int64), np.asarray(items, np.int64)
        return pair_distributions(self.samples_, u, v, engine)

    @property
    def user_labels_(self) -> np.ndarray:
        """Labels of the first chain's newest sample, partitions x users."""
        return np.asarray(self.samples_.user_labels[self._newest].T)

    @property
    def item_labels_(self) -> np.ndarray:
        """Labels of the first chain's newest sample, partitions x items."""
        return np.asarray(self.samples_.item_labels[self._newest].T)

    @property
    def effects_(self) -> np.ndarray:
        """What a pair of labels is worth there, partitions x user x item groups."""
        return np.asarray(self.samples_.effects[self._newest])

    @property
    def _newest(self) -> int:
        """The first chain is of the kind with most to tell."""
        return int(np.count_nonzero(self.chain_of_sample_ == 0)) - 1

    @property
    def _groups(self) -> tuple[int, int]:
        pair = self.n_groups
        return (pair, pair) if isinstance(pair, int) else (pair[0], pair[1])

    def _settings(self) -> dict[str, Any]:
        """The parameters that a checkpoint must agree with."""
        given = {**self.get_params(), "n_groups": list(self._groups)}
        return {name: x for name, x in given.items() if not isinstance(x, np.random.Generator)}

    def _plan(self, n_ratings: int) -> tuple[int, int, int]:
        shrink = math.sqrt(min(1.0, 500_000 / max(n_ratings, 1)))
        chains = 10 if self.n_chains == "auto" else int(self.n_chains)
        sweeps = max(120, round(320 * shrink)) if self.n_sweeps == "auto" else int(self.n_sweeps)
        burn_in = sweeps // 4 if self.burn_in == "auto" else int(self.burn_in)
        if chains < 1 or sweeps < 1 or not 0 <= burn_in < sweeps:
            raise InputError(
                f"{chains} chains of {sweeps} sweeps, {burn_in} of them to settle, keep no sample",
                remedy="give 1 or more chains and 0 <= burn_in < n_sweeps",
            )
        return chains, burn_in, sweeps

    def _spacing(self, shape: AdditiveShape, observed: Observed, chains: int, sweeps: int) -> int:
        """`keep_every`, or as much more as keeps the samples in 256 MB."""
        n, m = observed.n_users, observed.n_items
        bytes_a_sample = (n + m) * (shape.partitions + 8) + n
        most = max(1, _MOST_SAMPLE_BYTES // (chains * bytes_a_sample))
        return max(self.keep_every, -(-sweeps // most))

    def _training_entropy(self, observed: Observed, engine: Engine) -> float:
        p = pair_distributions(self.samples_, observed.users, observed.items, engine)
        own = p[np.arange(len(p)), observed.level]
        return float(-np.log(np.maximum(own, np.finfo(float).tiny)).sum())

    def _check(self, ratings: Ratings) -> None:
        if not isinstance(ratings, Ratings):
            raise InputError(
                f"a {type(ratings).__name__} cannot be fitted", remedy="give coterie.Ratings"
            )
        if not len(ratings):
            raise InputError("there are no ratings to learn from", remedy="give at least one")
        k, l = self._groups  # noqa: E741
        for name, value, most in (
            ("n_partitions", self.n_partitions, 1000),
            ("n_groups[0]", k, 255),
            ("n_groups[1]", l, 255),
            ("n_styles", self.n_styles, 255),
            ("keep_every", self.keep_every, 10**6),
        ):
            if not 1 <= value <= most:
                raise InputError(f"{name}={value} is out of range", remedy=f"give 1 to {most}")
        if self.presence < 0 or self.negatives_per_rating < 0:
            raise InputError(
                f"presence={self.presence}, negatives_per_rating={self.negatives_per_rating}: "
                "both must be at least 0"
            )


def _observe(ratings: Ratings, scale: RatingScale) -> Observed:
    users, items = ratings.users.astype(np.int64), ratings.items.astype(np.int64)
    return observe(users, items, scale.levels(ratings.ratings), ratings.n_users, ratings.n_items)


def _move(
    chain: Chain, seen: Edges, kind: ChainKind, observed: Observed, sweeps: int
) -> tuple[Chain, float]:
    """Advance one chain; the entropy is that of its new state."""
    advance(chain, observed.edges, observed.level, seen, schedule(kind), sweeps)
    left = entropy(observed.edges, observed.level, chain.z, chain.x, chain.style, chain.cuts)
    return chain, float(left)

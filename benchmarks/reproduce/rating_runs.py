"""Fits of MovieLens-100k with a limited time; each is computed once and reused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import coterie as ct
from coterie.base.json_values import JsonObject
from coterie.base.progress import Iteration
from coterie.data import Ratings
from coterie.recommend.evaluation import fold_rows

from .settings import Setting, TimeLimit
from .textbook_mmsbm import TextbookMMSBM

TEXTBOOK = "MMSBM"
SAMPLED = ("MCMMSBM s=10", "MCMMSBM s=20", "MCMMSBM s=30")
HARD = "Generalized k-means"
FACTORED = "MMSBM, factored"
BEST = "additive block model"
_WARM_UP = 2000  # ratings for compiling TextbookMMSBM, which has no `compile`
_ENDLESS = 10**6  # iterations: the time budget ends a fit


@dataclass(frozen=True)
class RatingRun:
    """One fit on the training part of a fold, and its error on the test part."""

    method: str
    groups: int
    fold: int
    history: list[Iteration]
    entropy: float
    rmse: float
    seconds: float

    @property
    def iterations(self) -> int:
        """Number of iterations."""
        return len(self.history)

    def entropy_after(self, seconds: float) -> float:
        """Return the lowest entropy reached within some seconds."""
        within = [h.entropy for h in self.history if h.seconds <= seconds]
        return min(within, default=float("nan"))

    def record(self) -> JsonObject:
        """Return a row of the CSV file."""
        return {
            "method": self.method,
            "groups": self.groups,
            "fold": self.fold,
            "entropy": self.entropy,
            "rmse": self.rmse,
            "seconds": self.seconds,
            "iterations": self.iterations,
        }


@dataclass
class RatingRuns:
    """Fits by method, groups and fold; figures and tables share them."""

    setting: Setting
    _runs: dict[tuple[str, int, int], RatingRun] = field(default_factory=dict)

    def get(self, method: str, groups: int, fold: int) -> RatingRun:
        """Return one fit, computed when first needed."""
        key = (method, groups, fold)
        if key not in self._runs:
            self.setting.say(f"{method}, {groups} groups, fold {fold + 1}")
            self._runs[key] = self._run(*key)
        return self._runs[key]

    def folds(self, method: str, groups: int) -> list[RatingRun]:
        """Return the fits of all folds."""
        return [self.get(method, groups, fold) for fold in range(self.setting.folds)]

    def _run(self, method: str, groups: int, fold: int) -> RatingRun:
        train, test = split(self.setting.ratings, fold, self.setting.seed)
        model = make_estimator(method, groups, self.setting.seed, self.setting.budget)
        warm_up(model, train)
        limit = TimeLimit(self.setting.budget)
        model.fit(train, engine=self.setting.engine, callback=limit)
        error = predict(model, train, test) - test.ratings
        return RatingRun(
            method,
            groups,
            fold,
            list(model.history_),
            float(getattr(model, "entropy_", np.nan)),
            float(np.sqrt(np.mean(error**2))),
            float(getattr(model, "seconds_", limit.elapsed)),
        )


def split(ratings: Ratings, fold: int, seed: int) -> tuple[Ratings, Ratings]:
    """Split as `coterie recommend evaluate` does (5 folds, permuted rows): training and test."""
    parts = fold_rows(len(ratings), 5, seed)
    train = np.concatenate([p for i, p in enumerate(parts) if i != fold])
    return ratings.take(np.sort(train)), ratings.take(parts[fold])


def make_estimator(method: str, groups: int, seed: int, budget: float = 15.0) -> Any:
    """Return the estimator for a method of the tables."""
    both = (groups, groups)
    if method == TEXTBOOK:
        return TextbookMMSBM(groups, max_iter=_ENDLESS, rng=seed)
    if method in SAMPLED:
        samples = int(method.rpartition("=")[2])
        return ct.MCMMSBM(n_groups=both, n_samples=samples, max_iter=_ENDLESS, tol=0, rng=seed)
    if method == FACTORED:
        return ct.MMSBM(n_groups=both, max_iter=_ENDLESS, rng=seed)
    if method == HARD:
        return ct.GeneralizedKMeans(n_blocks=both, objective="ratings", search="paper", rng=seed)
    # the defaults take a minute; use as many chains and sweeps as the budget allows
    chains, burn_in = (4, 40) if budget >= 10 else (2, 4)
    return ct.AdditiveBlockModel(n_chains=chains, burn_in=burn_in, n_sweeps=240, rng=seed)


def warm_up(model: Any, ratings: Ratings) -> None:
    """Compile the kernels, so that the time of a fit does not include it."""
    if hasattr(model, "compile"):
        model.compile(ratings)
        return
    some = ratings.take(np.arange(min(_WARM_UP, len(ratings))))
    TextbookMMSBM(2, max_iter=2, rng=model.rng).fit(some)


def predict(model: Any, train: Ratings, test: Ratings) -> np.ndarray:
    """Return the expected ratings of the test rows."""
    if hasattr(model, "user_memberships_"):
        h, w = model.user_memberships_[test.users], model.item_memberships_[test.items]
        expected = model.theta_[..., : len(train.values)] @ train.values
        return np.asarray(np.einsum("ni,ij,nj->n", h, expected, w, optimize=True))
    predictor = model.predictor(train)
    p = predictor.distributions(test.users.astype(np.int64), test.items.astype(np.int64), "local")
    return np.asarray(p @ predictor.values)

"""MMSBM as printed in the paper (Algorithm 8), which the paper compares MCMMSBM with."""

from __future__ import annotations

import time
from typing import Self

import numpy as np

from coterie.base.progress import Callback, Iteration, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.data import Ratings
from coterie.engine import Engine, merge_tree, resolve_engine, shard_count
from coterie.models.base import Estimator

from .textbook_kernel import accumulate

Sums = tuple[np.ndarray, np.ndarray, np.ndarray, float]


class TextbookMMSBM(Estimator):
    """Algorithm 8 of Prost & Yoon (MMSBM) as printed, for comparison with MCMMSBM.

    Exact EM that visits all k·l pairs of groups per observation, O(|X| k l) per iteration.
    `coterie.MMSBM` computes the same update with far fewer operations and should be used instead.

    Parameters
    ----------
    n_groups : int, default=10
        Number of groups of users and of items.
    max_iter : int, default=500
        Number of iterations.
    rng : int, Generator or None, default=0
        Random seed.

    Attributes
    ----------
    user_memberships_ : ndarray of shape (n_users, n_groups)
    item_memberships_ : ndarray of shape (n_items, n_groups)
    theta_ : ndarray of shape (n_groups, n_groups, n_levels)
        Distribution of the rating for each pair of groups.
    entropy_ : float
    history_ : list of Iteration

    References
    ----------
    F. Prost and J. Yoon, "Parallel Clustering of Graphs for Anonymization and Recommender
    Systems", Algorithm 8, after A. Godoy-Lorite et al., PNAS 113 (2016).

    Examples
    --------
    >>> ratings = Ratings.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [5, 1, 5, 1])
    >>> TextbookMMSBM(2, max_iter=5).fit(ratings).theta_.shape
    (2, 2, 2)
    """

    def __init__(self, n_groups: int = 10, *, max_iter: int = 500, rng: RandomState = 0) -> None:
        self.n_groups = n_groups
        self.max_iter = max_iter
        self.rng = rng

    def fit(
        self, data: Ratings, engine: str | Engine = "local", callback: Callback = silent
    ) -> Self:
        """Iterate `max_iter` times; a KeyboardInterrupt keeps the last complete iteration."""
        rng = as_generator(self.rng)
        k = self.n_groups
        h_u = rng.dirichlet(np.ones(k), data.n_users)
        h_v = rng.dirichlet(np.ones(k), data.n_items)
        theta = np.ascontiguousarray(
            np.moveaxis(rng.dirichlet(np.ones(len(data.values)), (k, k)), 2, 0)
        )
        degree_u = np.maximum(np.bincount(data.users, minlength=data.n_users), 1)[:, None]
        degree_v = np.maximum(np.bincount(data.items, minlength=data.n_items), 1)[:, None]
        seen_u, seen_v = _seen(data.users, data.n_users), _seen(data.items, data.n_items)
        parts = np.array_split(np.arange(len(data)), shard_count(len(data)))
        shards = [(data.users[p], data.items[p], data.codes[p]) for p in parts]
        self.history_: list[Iteration] = []
        self.interrupted_ = False
        worker = resolve_engine(engine)
        began = time.perf_counter()

        def work(shard: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Sums:
            found: Sums = accumulate(*shard, h_u, h_v, theta)
            return found

        try:
            for iteration in range(1, self.max_iter + 1):
                sum_u, sum_v, eta, entropy = merge_tree(worker.map(work, shards), _add)
                h_u = np.where(seen_u, sum_u / degree_u, h_u)
                h_v = np.where(seen_v, sum_v / degree_v, h_v)
                mass = eta.sum(0)
                theta = np.where(mass > 0, eta / np.where(mass > 0, mass, 1.0), theta)
                seconds = time.perf_counter() - began
                self.history_.append(Iteration(iteration, seconds, float(entropy)))
                callback(Progress("fit", iteration, self.max_iter, float(entropy)))
        except KeyboardInterrupt:
            self.interrupted_ = True
        finally:
            if worker is not engine:
                worker.close()
        self.user_memberships_, self.item_memberships_ = h_u, h_v
        self.theta_ = np.ascontiguousarray(np.moveaxis(theta, 0, 2))
        self.values_ = data.values
        self.entropy_ = float(self.history_[-1].entropy) if self.history_ else float("nan")
        return self


def _seen(nodes: np.ndarray, count: int) -> np.ndarray:
    return (np.bincount(nodes, minlength=count) > 0)[:, None]


def _add(a: Sums, b: Sums) -> Sums:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3])

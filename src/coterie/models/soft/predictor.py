"""Recommendations from MMSBM and MCMMSBM: the distributions of the runs, averaged.

The expected rating is the estimate that Prost & Yoon evaluate by its RMSE. Memberships and theta
have the shapes of a fitted model's attributes: n × k, m × l and k × l × R.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from coterie.base.array_checks import ArrayError, check_array
from coterie.data import Ratings
from coterie.data.ratings import NodeRatings
from coterie.engine import Engine
from coterie.kernels.soft.predict import fold_in, pair_probabilities
from coterie.models.rating_model import (
    Contribution,
    GroupPair,
    RatingPredictor,
    Source,
    check_scale,
    rating_offsets,
    with_rows,
)
from coterie.models.soft.state import SoftState

if TYPE_CHECKING:
    from coterie.models.soft.em import SoftRun

_LEAST_PROBABILITY = 1e-12
_BLOCK = 1 << 18  # pairs at a time, to limit memory


def pair_distribution(
    rows: np.ndarray,
    columns: np.ndarray,
    row_memberships: np.ndarray,
    column_memberships: np.ndarray,
    theta: np.ndarray,
) -> np.ndarray:
    """Return the distribution over values of each pair (rows[e], columns[e]): pairs × R.

    The expected rating of Prost & Yoon (section 5.1) is its mean. If theta includes "not rated",
    the distribution is conditional on the pair being rated.

    >>> h = np.array([[1.0, 0.0], [0.5, 0.5]])
    >>> theta = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.5, 0.5], [0.0, 1.0]]])
    >>> pair_distribution(np.array([0, 1]), np.array([0, 1]), h, h, theta).round(2).tolist()
    [[0.9, 0.1], [0.45, 0.55]]
    """
    layers = np.ascontiguousarray(np.moveaxis(np.asarray(theta, np.float64), 2, 0))
    h_rows = np.ascontiguousarray(row_memberships, np.float64)
    h_columns = np.ascontiguousarray(column_memberships, np.float64)
    u, v = np.asarray(rows, np.int32), np.asarray(columns, np.int32)
    distribution = np.empty((len(u), len(layers)))
    order = np.argsort(u, kind="stable")
    for begin in range(0, len(u), _BLOCK):
        part = order[begin : begin + _BLOCK]
        distribution[part] = pair_probabilities(u[part], v[part], h_rows, h_columns, layers)
    total = distribution.sum(axis=1, keepdims=True)
    even = 1.0 / max(len(layers), 1)  # for a pair that is impossible under the model
    shares: np.ndarray = np.divide(
        distribution, total, out=np.full_like(distribution, even), where=total > 0
    )
    return shares


def fold_in_rows(
    indptr: np.ndarray,
    columns: np.ndarray,
    levels: np.ndarray,
    column_memberships: np.ndarray,
    theta: np.ndarray,
    *,
    start: np.ndarray | None = None,
    prior: float = 0.0,
    max_iter: int = 200,
    tol: float = 1e-8,
) -> np.ndarray:
    """Compute memberships of new rows by EM, with the other side and theta fixed.

    This is line 7 of Algorithm 8 of Prost & Yoon (MMSBM), repeated. Row u observed columns[e] at
    level levels[e] for e in indptr[u]:indptr[u + 1]. EM starts from `start` (new rows × k), by
    default from uniform memberships.

    >>> theta = np.array([[[0.9, 0.1]], [[0.1, 0.9]]])
    >>> fold_in_rows(np.array([0, 2]), [0, 0], [1, 1], np.ones((1, 1)), theta).round(6).tolist()
    [[0.0, 1.0]]
    """
    layers = np.ascontiguousarray(np.moveaxis(np.asarray(theta, np.float64), 2, 0))
    n, k = len(indptr) - 1, layers.shape[1]
    first = np.full((n, k), 1.0 / k) if start is None else np.array(start, np.float64)
    memberships: np.ndarray = fold_in(
        np.asarray(indptr, np.int64),
        np.asarray(columns, np.int32),
        np.asarray(levels, np.int32),
        first,
        np.ascontiguousarray(column_memberships, np.float64),
        layers,
        float(prior),
        int(max_iter),
        float(tol),
    )
    return memberships


def held_out_entropy(ratings: Ratings, state: SoftState) -> float:
    """Return the -log likelihood of held-out ratings, conditional on being rated.

    A rating that is impossible under the state counts as a probability of 1e-12.
    """
    theta = np.moveaxis(state.theta[: len(ratings.values)], 0, 2)
    p = pair_distribution(ratings.users, ratings.items, state.rows, state.columns, theta)
    return float(
        -np.log(np.maximum(p[np.arange(len(ratings)), ratings.codes], _LEAST_PROBABILITY)).sum()
    )


# Adding a user iterates until it converges: 1000 iterations of 20 ratings take a millisecond.
_MAX_ITER, _TOL = 1000, 1e-9


class RunArrays(NamedTuple):
    """Memberships and theta (user groups x item groups x values) of one run."""

    users: np.ndarray
    items: np.ndarray
    theta: np.ndarray


@dataclass(frozen=True)
class SoftPredictor(RatingPredictor):
    """Mixed memberships of one or more runs; predictions average over the runs."""

    values: np.ndarray
    runs: list[RunArrays]
    prior: float
    kind: ClassVar[str] = "soft"

    @classmethod
    def of_runs(cls, values: np.ndarray, runs: Sequence[SoftRun], prior: float) -> Self:
        """Build from the runs of a fitted model."""
        arrays = [
            RunArrays(
                np.ascontiguousarray(run.user_memberships),
                np.ascontiguousarray(run.item_memberships),
                np.ascontiguousarray(run.theta),
            )
            for run in runs
        ]
        return cls(np.asarray(values, np.float64), arrays, float(prior))

    @property
    def n_items(self) -> int:
        return len(self.runs[0].items)

    def distributions(
        self, users: np.ndarray, items: np.ndarray, engine: str | Engine
    ) -> np.ndarray:
        total = sum(pair_distribution(users, items, *run) for run in self.runs)
        return np.asarray(total) / len(self.runs)

    def scores(self, users: np.ndarray, engine: str | Engine) -> np.ndarray:
        total = np.zeros((len(users), self.n_items))
        for run in self.runs:
            memberships = run.users[users]
            probability = memberships @ run.theta.sum(axis=2) @ run.items.T
            weighted = memberships @ (run.theta @ self.values) @ run.items.T
            ratings = np.full_like(weighted, self.values.mean())
            total += np.divide(weighted, probability, out=ratings, where=probability > 0)
        return total / len(self.runs)

    def with_users(self, nodes: list[NodeRatings]) -> Self:
        return self._with(
            [
                run._replace(users=self._folded_in(run.users, nodes, run.items, run.theta))
                for run in self.runs
            ]
        )

    def only_users(self, nodes: list[NodeRatings]) -> Self:
        return self._with(
            [
                run._replace(users=self._memberships(nodes, run.items, run.theta))
                for run in self.runs
            ]
        )

    def with_items(self, nodes: list[NodeRatings]) -> Self:
        return self._with(
            [
                run._replace(
                    items=self._folded_in(run.items, nodes, run.users, run.theta.transpose(1, 0, 2))
                )
                for run in self.runs
            ]
        )

    def _with(self, runs: list[RunArrays]) -> Self:
        return type(self)(self.values, runs, self.prior)

    def _folded_in(
        self, own: np.ndarray, nodes: list[NodeRatings], others: np.ndarray, theta: np.ndarray
    ) -> np.ndarray:
        """Return the memberships of one side with these nodes added or replaced."""
        return with_rows(own, nodes, self._memberships(nodes, others, theta))

    def _memberships(
        self, nodes: list[NodeRatings], others: np.ndarray, theta: np.ndarray
    ) -> np.ndarray:
        """Return the memberships of these nodes, by their ratings."""
        return fold_in_rows(
            rating_offsets(nodes),
            np.concatenate([node.others for node in nodes]),
            np.concatenate([node.levels for node in nodes]),
            others,
            theta,
            prior=self.prior,
            max_iter=_MAX_ITER,
            tol=_TOL,
        )

    def contributions(self, user: int, item: int, own: NodeRatings) -> list[Contribution]:
        """Return, per run and pair of groups, its probability and its expected rating."""
        terms: list[Contribution] = []
        for number, run in enumerate(self.runs):
            probability = run.theta.sum(axis=2)
            weight = np.outer(run.users[user], run.items[item]) * probability
            total = weight.sum()
            if total <= 0:
                mean = float(self.values.mean())
                terms.append(Contribution(Source.BASELINE, 1 / len(self.runs), mean))
                continue
            weight /= total * len(self.runs)
            rating = (run.theta @ self.values) / np.where(probability > 0, probability, 1.0)
            in_run = number if len(self.runs) > 1 else None
            terms += [
                Contribution(
                    Source.GROUPS, float(weight[i, j]), float(rating[i, j]), GroupPair(i, j, in_run)
                )
                for i, j in np.ndindex(*weight.shape)
                if weight[i, j] > 0
            ]
        return terms

    def item_membership(self, groups: GroupPair) -> np.ndarray:
        return self.runs[groups.run or 0].items[:, groups.item_group]

    def item_similarity(self, item: int) -> np.ndarray:
        """Return the cosine of the memberships, averaged over runs."""
        total = np.zeros(self.n_items)
        for run in self.runs:
            size = np.sqrt((run.items**2).sum(axis=1))
            size = np.where(size > 0, size, 1.0)
            total += run.items @ run.items[item] / (size * size[item])
        return total / len(self.runs)

    def to_arrays(self) -> dict[str, np.ndarray]:
        out = {"values": self.values, "prior": np.array([self.prior])}
        for number, run in enumerate(self.runs):
            for name, array in run._asdict().items():
                out[f"run{number}.{name}"] = array
        return out

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        count = sum(name.endswith(".theta") for name in arrays)
        runs = [
            RunArrays(*(arrays[f"run{number}.{name}"] for name in RunArrays._fields))
            for number in range(count)
        ]
        return cls(arrays["values"], runs, float(arrays["prior"][0]))

    def check(self, n_users: int, n_items: int) -> None:
        n_levels = check_scale(self.values)
        if not self.runs:
            raise ArrayError("theta: missing")
        if not 0 <= self.prior < np.inf:
            raise ArrayError(f"prior: the value is {self.prior}")
        for users, items, theta in self.runs:
            check_array("theta", theta, np.float64, (None, None, None), low=0)
            k, l, _ = theta.shape  # noqa: E741
            check_array("theta", theta, np.float64, (k, l, n_levels))
            check_array("users", users, np.float64, (n_users, k), low=0)
            check_array("items", items, np.float64, (n_items, l), low=0)

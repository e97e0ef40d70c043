"""MMSBM and MCMMSBM for the Recommender: the average of the runs' distributions (eq:estimate)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from coterie.engine import Engine
from coterie.models.soft.predict import fold_in_rows, pair_distribution
from coterie.recommend.adapter import Contribution, Newcomer, nearest, placed, pointers

_STEPS, _TOL = 1000, 1e-9  # folding in runs to the end: 1000 steps of 20 ratings are a millisecond


class RunArrays(NamedTuple):
    """Memberships and theta (user groups x item groups x values) of one run."""

    users: np.ndarray
    items: np.ndarray
    theta: np.ndarray


@dataclass(frozen=True)
class SoftAdapter:
    """Mixed memberships; several runs are averaged."""

    values: np.ndarray
    runs: list[RunArrays]
    prior: float
    kind: ClassVar[str] = "soft"

    @classmethod
    def of(cls, model: Any) -> Self:
        runs = [
            RunArrays(
                np.ascontiguousarray(run.row_memberships),
                np.ascontiguousarray(run.column_memberships),
                np.ascontiguousarray(run.theta),
            )
            for run in model.runs_
        ]
        return cls(np.asarray(model.values_, np.float64), runs, float(model.prior))

    def levels(self, ratings: np.ndarray) -> np.ndarray:
        return nearest(self.values, ratings)

    def distributions(
        self, users: np.ndarray, items: np.ndarray, engine: str | Engine | None
    ) -> np.ndarray:
        total = sum(pair_distribution(users, items, *run) for run in self.runs)
        return np.asarray(total) / len(self.runs)

    def scores(self, users: np.ndarray, engine: str | Engine | None) -> np.ndarray:
        total = np.zeros((len(users), len(self.runs[0].items)))
        for run in self.runs:
            mine = run.users[users]
            likely = mine @ run.theta.sum(axis=2) @ run.items.T
            worth = mine @ (run.theta @ self.values) @ run.items.T
            even = np.full_like(worth, self.values.mean())
            total += np.divide(worth, likely, out=even, where=likely > 0)
        return total / len(self.runs)

    def with_users(self, newcomers: list[Newcomer]) -> Self:
        return self._with(
            [
                run._replace(users=self._folded(run.users, newcomers, run.items, run.theta))
                for run in self.runs
            ]
        )

    def with_items(self, newcomers: list[Newcomer]) -> Self:
        return self._with(
            [
                run._replace(
                    items=self._folded(
                        run.items, newcomers, run.users, run.theta.transpose(1, 0, 2)
                    )
                )
                for run in self.runs
            ]
        )

    def _with(self, runs: list[RunArrays]) -> Self:
        return type(self)(self.values, runs, self.prior)

    def _folded(
        self, own: np.ndarray, newcomers: list[Newcomer], others: np.ndarray, theta: np.ndarray
    ) -> np.ndarray:
        fresh = fold_in_rows(
            pointers(newcomers),
            np.concatenate([new.others for new in newcomers]),
            np.concatenate([new.levels for new in newcomers]),
            others,
            theta,
            prior=self.prior,
            max_iter=_STEPS,
            tol=_TOL,
        )
        return placed(own, newcomers, fresh)

    def contributions(self, user: int, item: int) -> list[Contribution]:
        """h_ui h_vj P(a rating | i, j) and the expected rating of groups i and j, a run each."""
        parts: list[Contribution] = []
        for number, run in enumerate(self.runs):
            likely = run.theta.sum(axis=2)
            weight = np.outer(run.users[user], run.items[item]) * likely
            total = weight.sum()
            if total <= 0:
                parts.append(
                    Contribution("any", "any", 1 / len(self.runs), float(self.values.mean()))
                )
                continue
            weight /= total * len(self.runs)
            rating = (run.theta @ self.values) / np.where(likely > 0, likely, 1.0)
            name = f"{number}:" if len(self.runs) > 1 else ""
            parts += [
                Contribution(f"{name}{i}", f"{name}{j}", float(weight[i, j]), float(rating[i, j]))
                for i, j in np.ndindex(*weight.shape)
                if weight[i, j] > 0
            ]
        return parts

    def item_group(self, name: str) -> np.ndarray:
        if name == "any":
            return np.ones(len(self.runs[0].items))
        number, _, group = name.rpartition(":")
        return self.runs[int(number or 0)].items[:, int(group)]

    def likeness(self, item: int) -> np.ndarray:
        """Cosine of the memberships, averaged over runs."""
        total = np.zeros(len(self.runs[0].items))
        for run in self.runs:
            size = np.sqrt((run.items**2).sum(axis=1))
            size = np.where(size > 0, size, 1.0)
            total += run.items @ run.items[item] / (size * size[item])
        return total / len(self.runs)

    def arrays(self) -> dict[str, np.ndarray]:
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

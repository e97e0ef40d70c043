"""Factors of users and items over all pairs: weighted alternating least squares (iALS).

An observed pair has the target 1 and the weight 1 + a, every absent pair the target 0 and the
weight a. The penalty of a row grows with its number of pairs, observed and absent.

Y. Hu, Y. Koren and C. Volinsky. Collaborative filtering for implicit feedback datasets. ICDM 2008.
S. Rendle, W. Krichene, L. Zhang and Y. Koren. Revisiting the performance of iALS on item
recommendation benchmarks. RecSys 2022.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array

from coterie.base.array_checks import ArrayError, check_array
from coterie.engine import Engine, running_engine
from coterie.kernels.interaction.factors import solve_rows

_PAIRS_PER_TASK = 50_000


class FactorSettings(NamedTuple):
    """How strongly factors are held back."""

    penalty: float  # per pair of the row
    absent_weight: float  # weight of a pair, observed or not


@dataclass(frozen=True, eq=False)
class Factors:
    """The item factors; those of users follow from the items that they have."""

    items: np.ndarray  # float64, items x rank
    gram: np.ndarray  # float64, rank x rank: absent weight times the sum of y yᵀ over all items
    settings: FactorSettings

    @classmethod
    def fit(
        cls,
        pairs: csr_array,
        rank: int,
        settings: FactorSettings,
        sweeps: int,
        rng: np.random.Generator,
        engine: str | Engine = "local",
        start: np.ndarray | None = None,
    ) -> Self:
        """Fit to a 0/1 table of users x items, from random item factors or from `start`."""
        n_users, n_items = pairs.shape
        items = start
        if items is None:
            items = rng.normal(0, 0.1 / np.sqrt(rank), (n_items, rank))
        backwards = csr_array(pairs.T)
        with running_engine(engine) as runner:
            for _ in range(sweeps):
                users = solved(pairs, items, settings, n_items, runner)
                items = solved(backwards, users, settings, n_users, runner)
        items = _single(items)
        return cls(items, settings.absent_weight * (items.T @ items), settings)

    def users(self, pairs: csr_array, engine: str | Engine = "local") -> np.ndarray:
        """Return the factors of users with these pairs: users x rank."""
        return solved(pairs, self.items, self.settings, len(self.items), engine, self.gram)

    def scores(self, pairs: csr_array, engine: str | Engine = "local") -> np.ndarray:
        """Return the scores of all items for users with these pairs: users x items."""
        return np.asarray(self.users(pairs, engine) @ self.items.T)

    def scores_of_one(self, own: np.ndarray) -> np.ndarray:
        """Return the scores of all items for one user, who has these items."""
        penalty = row_penalty(self.settings, len(own), len(self.items))
        begins, penalties = np.array([0, len(own)]), np.array([penalty])
        user = solve_rows(begins, own.astype(np.int64), self.items, self.gram, penalties, 0, 1)
        return np.asarray(self.items @ user[0])

    def contributions(self, own: np.ndarray, item: int) -> np.ndarray:
        """Return how much each of a user's own items adds to the score of one item.

        The factors of the user are A⁻¹ times the sum of those of the own items, so the score is a
        sum over them.
        """
        Y = self.items[own]
        penalty = row_penalty(self.settings, len(own), len(self.items))
        A = self.gram + Y.T @ Y + penalty * np.eye(Y.shape[1])
        return np.asarray(Y @ np.linalg.solve(A, self.items[item]))

    def with_items(self, users_of_items: csr_array, pairs: csr_array, n_users: int) -> Self:
        """Return factors with items added, who are solved from the users that have them."""
        users = self.users(pairs)
        new = solved(users_of_items, users, self.settings, n_users, "local")
        return replace(self, items=np.vstack([self.items, _single(new)]))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything as arrays, to be saved."""
        items = self.items.astype(np.float32)
        return {"items": items, "gram": self.gram, "settings": np.array(self.settings)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_items: int) -> Self:
        """Build from what `to_arrays` returned; a wrong type, shape or range is an ArrayError."""
        items = check_array("factors", arrays.get("items"), np.float32, (n_items, None))
        rank = items.shape[1]
        gram = check_array("gram", arrays.get("gram"), np.float64, (rank, rank))
        settings = check_array("settings", arrays.get("settings"), np.float64, (2,))
        if (settings <= 0).any() or not np.allclose(gram, gram.T) or (np.diag(gram) < 0).any():
            raise ArrayError("gram, settings: not those of factors")
        return cls(items.astype(np.float64), gram, FactorSettings(*settings.tolist()))


def _single(items: np.ndarray) -> np.ndarray:
    """Return float64 values that float32 can hold, as files store them."""
    return items.astype(np.float32).astype(np.float64)


def row_penalty(settings: FactorSettings, n_pairs: float, n_others: int) -> float:
    """Return the penalty of a row with so many observed pairs.

    >>> row_penalty(FactorSettings(0.1, 0.5), 3, 20)
    1.3
    """
    return float(settings.penalty * (n_pairs + settings.absent_weight * n_others))


def solved(
    pairs: csr_array,
    others: np.ndarray,
    settings: FactorSettings,
    n_others: int,
    engine: str | Engine,
    gram: np.ndarray | None = None,
) -> np.ndarray:
    """Return the factors of the rows of `pairs`, with the factors of the other side fixed."""
    if gram is None:
        gram = settings.absent_weight * (others.T @ others)
    begins = pairs.indptr.astype(np.int64)
    penalties = settings.penalty * (np.diff(begins) + settings.absent_weight * n_others)
    task = partial(solve_rows, begins, pairs.indices.astype(np.int64), others, gram, penalties)
    tasks = max(1, pairs.nnz // _PAIRS_PER_TASK)
    cuts = np.searchsorted(begins, np.linspace(0, pairs.nnz, tasks + 1)[1:-1])
    bounds = [0, *cuts.tolist(), pairs.shape[0]]
    if tasks == 1:
        return np.asarray(task(0, pairs.shape[0]))
    with running_engine(engine) as runner:
        return np.concatenate(runner.map(task, bounds[:-1], bounds[1:]))

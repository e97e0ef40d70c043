"""Choose the number of blocks with the shortest description: ratings, likes, fractional weights.

The entropy S falls with every additional block, so it cannot choose their number. The description
length is the information needed to restore the data: the block of each element, the block matrix,
and the data given both. Each part is the logarithm of a number of equally likely possibilities
(the microcanonical form of the integrated likelihood, Peixoto), so there is nothing to tune:

    labels    log n + log C(n-1, k-1) + log n!/(n_1! … n_k!), per side
    likes     log of the ways to distribute E likes over B cells, C(B+E-1, E); then
              log C(D_ij, d_ij) per cell
    ratings   log C(d+R-1, R-1) d!/(d_1! … d_R!) per cell
    weights   as likes, but distributed over the pairs of a cell one by one: log D^W / W! per cell

All other data have a search that minimises their description itself (`models/hard/description/`).

Merging single elements passes through every number of blocks. These levels, without any moves,
show where to expect the shortest description. From twice as many blocks the search goes down
again, with moves, until the description has grown for a few levels. Then it narrows the interval
around the best number, trying the middle of the gaps above and below it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Callback, Progress, silent
from coterie.base.special_functions import gammaln
from coterie.engine import Engine
from coterie.kernels.hard.cell_costs import PLAIN
from coterie.kernels.hard.sparse_rows import SparseRows
from coterie.kernels.hard.statistics import TWO_SETS
from coterie.models.hard.costs.block_objective import BlockObjective
from coterie.models.hard.costs.interface import Labels
from coterie.models.hard.label_tools import renumber_sides
from coterie.models.hard.search.agglomerate import Merging, agglomerate, rows_of
from coterie.models.hard.search.checked_moves import settle

_ABOVE = 2.0  # moves start at this many times the number that merging alone suggests
_LEVEL = 1.3  # ratio of the numbers of blocks of two levels
_PASSES = 3  # over the elements at each number of blocks
_RISES = 3  # consecutive levels worse than the best after which the descent stops
_FINE = 0.01  # gaps below this share of the number of blocks are not searched


class Candidate(NamedTuple):
    """One number of blocks that was tried."""

    description_length: float
    n_blocks: tuple[int, ...]
    labels: Labels


def choose(
    objective: BlockObjective,
    *,
    rng: Generator,
    engine: Engine,
    min_block_size: int = 0,
    callback: Callback = silent,
) -> list[Candidate]:
    """Return every number of blocks that was tried, the shortest description first.

    The labels of a candidate can start a search.

    >>> from coterie.data import Ratings
    >>> from coterie.engine import LocalEngine
    >>> from coterie.models.hard.costs import likes
    >>> objective = likes(Ratings.from_arrays([0, 1, 2, 3], [0, 0, 1, 1], [1, 1, 1, 1]))
    >>> choose(objective, rng=np.random.default_rng(0), engine=LocalEngine(1))[0].n_blocks
    (1, 1)
    """
    search = _Search(objective, rng, engine, min_block_size, callback)
    search.descend()
    chosen = None
    while search.best is not chosen:
        chosen = search.best
        for side in range(len(objective.n_elements)):
            search.narrow(side)
    return search.ranked()


class _Search:
    """The candidates so far, and how to try more."""

    def __init__(
        self,
        objective: BlockObjective,
        rng: Generator,
        engine: Engine,
        min_block_size: int,
        callback: Callback,
    ) -> None:
        self.objective, self.rng, self.engine, self.callback = objective, rng, engine, callback
        self.max_blocks = tuple(max(1, n // max(1, min_block_size)) for n in objective.n_elements)
        # by the requested number and by the number found: moves may empty blocks
        self.tried: dict[tuple[int, ...], Candidate] = {}

    @property
    def best(self) -> Candidate:
        """The candidate with the shortest description."""
        return self.ranked()[0]

    def ranked(self) -> list[Candidate]:
        """Return every number of blocks that was found, the shortest description first."""
        found = (c for requested, c in self.tried.items() if requested == c.n_blocks)
        return sorted(found, key=lambda c: (c.description_length, c.n_blocks))

    def descend(self) -> None:
        """Try levels from above the expected number downwards until they only get worse."""
        labels, n_blocks = self._expected()
        worse = 0
        while True:
            here = self._try(labels, n_blocks)
            worse = 0 if here.n_blocks == self.best.n_blocks else worse + 1
            if worse == _RISES or all(k == 1 for k in n_blocks):
                return
            goal = tuple(max(1, min(k - 1, int(k / _LEVEL))) for k in n_blocks)
            labels, n_blocks = here.labels, goal

    def narrow(self, side: int) -> None:
        """Try numbers of one side's blocks between the best and its neighbours until the gaps are
        small (for small numbers: until none is left)."""
        while True:
            best = self.best
            k = best.n_blocks[side]
            sizes = {requested[side] for requested in self.tried}
            comparable = {a[side] for a in self.tried if _replaced(a, side, k) == best.n_blocks}
            below = max((s for s in comparable if s < k), default=0)
            above = min((s for s in comparable if s > k), default=k)
            if above == k and max(sizes) > k:
                middle = min(s for s in sizes if s > k)
            elif above - k > max(1, _FINE * k):
                middle = (k + above) // 2
            elif k - below > max(1, _FINE * k):
                middle = (below + k + 1) // 2
            else:
                return
            finer = min((a for a in self.tried if a[side] >= middle), key=lambda a: a[side])
            labels = _replaced(best.labels, side, self.tried[finer].labels[side])
            self._try(labels, _replaced(best.n_blocks, side, middle))

    def _expected(self) -> tuple[Labels, tuple[int, ...]]:
        """Merge single elements without moves; return labels of `_ABOVE` times the best level."""
        labels: Labels = tuple(np.arange(n, dtype=np.int32) for n in self.objective.n_elements)
        n_blocks = self.objective.n_elements
        levels = [(labels, n_blocks)]
        lengths = [description_length(self.objective, labels, n_blocks)]
        while any(k > 1 for k in n_blocks):
            merging = Merging(self.objective, labels, self.rng, self.engine)
            merging.merge_level(int(np.argmax(n_blocks)), 1)
            labels, n_blocks = merging.labels, merging.n_blocks
            levels.append((labels, n_blocks))
            lengths.append(description_length(self.objective, labels, n_blocks))
            self.callback(Progress("choosing", len(levels), note=f"{sum(n_blocks):,} blocks"))
        at = int(np.argmin(lengths))
        wanted = tuple(
            int(min(highest, max(_ABOVE * k, 4)))
            for k, highest in zip(levels[at][1], self.max_blocks, strict=True)
        )
        while at > 0 and any(k < w for k, w in zip(levels[at][1], wanted, strict=True)):
            at -= 1
        return levels[at][0], wanted

    def _try(self, labels: Labels, n_blocks: tuple[int, ...]) -> Candidate:
        """Merge down to `n_blocks`, make moves, and record the candidate."""
        labels, found = renumber_sides(
            agglomerate(self.objective, labels, n_blocks, self.rng, self.engine)
        )
        state = self.objective.start(labels, found)
        settle(self.objective, state, self.rng, self.engine, passes=_PASSES)
        labels, found = renumber_sides(state.labels)
        length = description_length(self.objective, labels, found)
        here = Candidate(length, found, labels)
        for key in {n_blocks, found}:
            if key not in self.tried or length < self.tried[key].description_length:
                self.tried[key] = here
        self.callback(Progress("choosing", len(self.tried), note=f"{found}: {length:,.1f} nats"))
        return here


def description_length(
    objective: BlockObjective, labels: Labels, n_blocks: tuple[int, ...]
) -> float:
    """Return the description length in nats; labels 0..n_blocks-1 must all be in use.

    >>> from coterie.data import Ratings
    >>> from coterie.models.hard.costs import likes
    >>> objective = likes(Ratings.from_arrays([0, 0, 1], [0, 1, 1], [1, 1, 1]))
    >>> one = description_length(objective, (np.zeros(2, np.int32),) * 2, (1, 1))
    >>> round(one - 2 * math.log(2), 6) == round(math.log(4), 6)  # three of four pairs
    True
    """
    rows = rows_of(objective, labels, n_blocks, 0)
    total: float = sum(_labels(np.bincount(z)) for z in labels) + objective.constant
    two = objective.model.layout == TWO_SETS
    others = rows_of(objective, labels, n_blocks, 1).sizes if two else rows.sizes
    if objective.model.kind == PLAIN:
        return total + _ratings(rows, len(objective.model.signs), others)
    k, q, r = n_blocks[0], len(others), np.repeat(np.arange(n_blocks[0]), np.diff(rows.indptr))
    once = slice(None) if two else rows.slots >= r
    r, j, d = r[once], rows.slots[once], rows.values[once]
    total += float(log_multisets(k * q if two else k * (k + 1) // 2, d.sum()))
    if two:
        return total + float(log_choose(rows.sizes[r] * others[j], d).sum())
    D = np.where(r == j, 0.5 * (rows.sizes[r] - 1.0), others[j]) * rows.sizes[r]
    return total + float((d * np.log(D) - gammaln(d + 1)).sum())


def _labels(sizes: np.ndarray) -> float:
    """Return the length of the labels of one side."""
    n, k = sizes.sum(), len(sizes)
    ways = gammaln(n + 1) - gammaln(sizes + 1).sum() + log_choose(n - 1, k - 1)
    return float(ways) + math.log(n)


def _ratings(rows: SparseRows, channels: int, others: np.ndarray) -> float:
    """Return the length of ratings; the last channel counts all ratings, the others one level."""
    together = rows.slots >= (channels - 1) * len(others)
    d, each = rows.values[together], rows.values[~together]
    ways = gammaln(d + 1).sum() - gammaln(each + 1).sum()
    return float(ways + log_multisets(channels - 1, d).sum())


def log_multisets(kinds: np.ndarray | int, n: np.ndarray | float) -> np.ndarray:
    """Return the log of the number of ways to distribute n things over `kinds` cells."""
    return log_choose(np.asarray(n, np.float64) + kinds - 1, n)


def log_choose(n: np.ndarray | float, k: np.ndarray | float) -> np.ndarray:
    """Return log C(n, k)."""
    n, k = np.asarray(n, np.float64), np.asarray(k, np.float64)
    ways: np.ndarray = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return ways


def _replaced(sides: tuple[Any, ...], side: int, value: Any) -> tuple[Any, ...]:
    """Return the tuple with the entry of one side replaced."""
    return (*sides[:side], value, *sides[side + 1 :])

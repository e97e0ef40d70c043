"""Combinations of values, kept if enough people share them and drawn anew otherwise.

A combination of all columns may belong to one person even if every single value is common. A row
that fewer than `min_size` people have is made coarser until enough people share it: neighbouring
values of ordered columns are joined, two at first, then four and so on; then columns are left out,
those with the most values first. What was lost is drawn again, each column from another person
whose coarse row is the same, until the combination is neither a common one (whose number would
grow) nor one that somebody of the class has. If there is none, the row is made coarser still,
and may become a common one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.random import Generator

UNKNOWN = -1  # a column that a row has lost
_MOST_COLUMNS = 8  # above, only the first columns are tried in all subsets
_REDRAWS = 30


@dataclass(frozen=True, eq=False)
class ClassRows:
    """The rows of all classes, without what few people share.

    The rows are listed class by class and in lexicographic order within a class, so they say
    nothing about the order of the people.
    """

    label: np.ndarray  # the class of each row, rising
    level: np.ndarray  # how coarse each row is: ordered codes are divided by 2**level; 0: common
    rows: np.ndarray  # int32[n, columns], some UNKNOWN
    common: frozenset[bytes]  # combinations of at least `min_size` people
    own: list[frozenset[bytes]]  # of each class, the combinations that its members have
    donors: np.ndarray  # int32[n, columns]: all rows, in lexicographic order
    ordered: np.ndarray  # bool[columns]

    def complete(self, rng: Generator) -> np.ndarray:
        """Return rows in which everything that was lost is drawn again."""
        rows = self.rows.copy()
        waiting = np.flatnonzero((self.level > 0) | (rows == UNKNOWN).any(1))
        known, level = rows[waiting], self.level[waiting]
        first = True
        while len(waiting):
            failed = self._redraw(rows, waiting, known, level, first, rng)
            first = False
            waiting, known, level = waiting[failed], known[failed], level[failed]
            hopeless = (known == UNKNOWN).all(1)
            waiting, known, level = waiting[~hopeless], known[~hopeless], level[~hopeless]
            known, level = self._coarser(known, level)
        return rows

    def _redraw(
        self,
        rows: np.ndarray,
        waiting: np.ndarray,
        known: np.ndarray,
        level: np.ndarray,
        only_rare: bool,
        rng: Generator,
    ) -> np.ndarray:
        """Draw the rows `waiting` in place from what is known; return which stay unusable."""
        patterns, which = np.unique(np.column_stack([level, known]), axis=0, return_inverse=True)
        failed = np.zeros(len(waiting), bool)
        for number, (of_level, *pattern) in enumerate(patterns):
            given = np.array(pattern) != UNKNOWN
            coarse = coarsen(self.donors, self.ordered, of_level)
            donors = self.donors[(coarse[:, given] == np.array(pattern)[given]).all(1)]
            lost = np.flatnonzero(~given | (self.ordered & (of_level > 0)))
            here = np.flatnonzero(which.ravel() == number)
            for _ in range(_REDRAWS):
                for column in lost:
                    chosen = rng.integers(0, len(donors), len(here))
                    rows[waiting[here], column] = donors[chosen, column]
                here = here[
                    [self._unusable(rows[i], self.label[i], only_rare) for i in waiting[here]]
                ]
                if not len(here):
                    break
            failed[here] = True
        return failed

    def _coarser(self, known: np.ndarray, level: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return less of what is known: joined values, then one column less."""
        known, level = known.copy(), level.copy()
        joinable = ((known > 0) & self.ordered).any(1)
        known[joinable] = np.where(
            self.ordered & (known[joinable] > 0), known[joinable] >> 1, known[joinable]
        )
        level[joinable] += 1
        for i in np.flatnonzero(~joinable):
            known[i, np.flatnonzero(known[i] != UNKNOWN)[-1]] = UNKNOWN
        return known, level

    def _unusable(self, row: np.ndarray, label: int, only_rare: bool) -> bool:
        """Say whether a row is common although it must be rare, or a rare one of the class."""
        if row.tobytes() in self.common:
            return only_rare
        return self.rare_in_class(row, label)

    def rare_in_class(self, row: np.ndarray, label: int) -> bool:
        """Say whether a row is one that few people have, and one of them is in the class."""
        key = row.tobytes()
        return key not in self.common and key in self.own[label]


def class_rows(
    codes: np.ndarray, label: np.ndarray, ordered: np.ndarray, min_size: int
) -> ClassRows:
    """Collect the rows of each class; rare combinations become coarser."""
    codes = np.ascontiguousarray(codes, np.int32)
    combos, which, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    which = which.ravel()
    kept, level = _shared_part(combos, counts, ordered, min_size)
    order = np.lexsort((*kept[which].T[::-1], level[which], label))
    pairs = np.unique(np.stack([label, which], axis=1), axis=0)
    own: list[set[bytes]] = [set() for _ in range(int(label.max(initial=-1)) + 1)]
    for r, combination in pairs:
        own[r].add(combos[combination].tobytes())
    return ClassRows(
        np.sort(label),
        level[which][order],
        kept[which][order],
        frozenset(row.tobytes() for row in combos[counts >= min_size]),
        [frozenset(rows) for rows in own],
        np.repeat(combos, counts, axis=0),
        ordered,
    )


def coarsen(codes: np.ndarray, ordered: np.ndarray, level: int) -> np.ndarray:
    """Return the codes with 2**level neighbouring codes of ordered columns joined.

    >>> coarsen(np.array([[3, 3]]), np.array([True, False]), 1)
    array([[1, 3]])
    """
    return np.where(ordered, codes >> level, codes)


def _shared_part(
    combos: np.ndarray, counts: np.ndarray, ordered: np.ndarray, min_size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the finest form of each combination that enough people share, and its level."""
    n = len(combos)
    kept, level = np.full_like(combos, UNKNOWN), np.zeros(n, np.int64)
    open_rows = np.ones(n, bool)
    for chosen, coarse_level in _forms(combos, ordered):
        if not open_rows.any():
            break
        part = coarsen(combos, ordered, coarse_level)[:, chosen]
        _, which = np.unique(np.ascontiguousarray(part), axis=0, return_inverse=True)
        people = np.bincount(which.ravel(), counts)[which.ravel()]
        taken = np.flatnonzero(open_rows & (people >= min_size))
        kept[taken[:, None], np.array(chosen)] = part[taken]
        level[taken] = coarse_level
        open_rows[taken] = False
    return kept, level


def _forms(combos: np.ndarray, ordered: np.ndarray) -> list[tuple[list[int], int]]:
    """Return the forms to try, finest first: columns that are kept, and how coarse they are."""
    columns = combos.shape[1]
    values = np.array([len(np.unique(column)) for column in combos.T])
    coarsest = int(np.log2(max(values[ordered].max(initial=1) / 3, 1)))
    forms = [(list(range(columns)), level) for level in range(coarsest + 1)]
    usable = min(columns, _MOST_COLUMNS)
    for size in range(usable, 0, -1):
        sets = [list(s) for s in combinations(range(usable), size) if size < columns]
        for chosen in sorted(sets, key=lambda s: float(np.log(values[s]).sum())):
            forms += [(chosen, level) for level in {1, coarsest} if level <= coarsest]
    return forms

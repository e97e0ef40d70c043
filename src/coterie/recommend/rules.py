"""Rules for lists: quotas, boosts, limits per category, novelty, seen items and diversity."""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from coterie.base.errors import InputError, near_miss
from coterie.data.ids import IdLookup
from coterie.recommend.item_table import ItemTable

SEEN = ("exclude", "include", "only")
_KEYS = {"quota": ("where", "at_least", "at_most"), "boost": ("where", "add")}
_NO_LIMIT = 1 << 30
_MOST_ANSWERS = 10_000  # that are remembered


class Group(NamedTuple):
    """Items of which a list has at least and at most so many."""

    name: str  # for messages
    ids: list[str]
    at_least: int = 0
    at_most: int = _NO_LIMIT


@dataclass(frozen=True)
class Rules:
    """Rules for the lists of a recommender.

    A list is built from the first place on. Each place gets the best item with which the list can
    still satisfy all rules. If a user has too few items left for a quota, the list has as many of
    them as possible, the first quota before the second; `unmet` says so.

    Parameters
    ----------
    items : path, DataFrame or dict of columns, optional
        A table about the items, with their ids in the first column or in one that is called so. A
        cell can have several values, separated by ``|``.
    quota : sequence of dict
        How many items of a list satisfy a condition: `where`, such as ``"genres=Comedy"`` or
        ``"year>=1990"``, and `at_least`, `at_most` or both.
    boost : sequence of dict
        What is added to the scores of items that satisfy a condition: `where` and `add`, in
        standard deviations of the scores of the user's items.
    max_per : dict from str to int
        A column, and the maximum number of items in a list with the same value in it.
    min_novelty : float, default=0.0
        Leave out items that more than one in 2**min_novelty users have.
    seen : {"exclude", "include", "only"}, optional
        What to do with items that the user has rated. By default, `exclude_seen` decides.
    diversity : float, default=0.0
        From 0 to 1, the weight d of maximal marginal relevance: each place gets the item with the
        largest (1 - d) * score - d * similarity. The score is scaled to 0 to 1, and the similarity
        is that to the most similar item further up, or 0 if that is larger.

    Examples
    --------
    >>> import coterie as ct
    >>> table = {"item": [7, 8, 9], "kind": ["film", "film", "series"]}
    >>> rules = ct.Rules(table, quota=[{"where": "kind=series", "at_least": 1}])
    >>> ratings = ct.Ratings.from_arrays([1, 1, 2, 2, 3], [7, 8, 7, 9, 7], [5, 5, 5, 1, 5])
    >>> rec = ct.Recommender(ct.MMSBM(n_groups=1)).fit(ratings)
    >>> [found.item for found in rec.recommend(3, n=1, rules=rules)]
    [9]
    """

    items: Any = None
    quota: Sequence[Mapping[str, Any]] = ()
    boost: Sequence[Mapping[str, Any]] = ()
    max_per: Mapping[str, int] = field(default_factory=dict)
    min_novelty: float = 0.0
    seen: str | None = None
    diversity: float = 0.0
    groups: tuple[Group, ...] = field(init=False, repr=False)
    boosted: tuple[tuple[list[str], float], ...] = field(init=False, repr=False)
    _prepared: dict[int, Reranker] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        if self.seen not in (None, *SEEN):
            raise InputError(f"seen = {self.seen!r} is not one of {', '.join(SEEN)}")
        _check("min_novelty", self.min_novelty, "from 0", lambda x: x >= 0)
        _check("diversity", self.diversity, "from 0 to 1", lambda x: 0 <= x <= 1)
        for name, keys in _KEYS.items():
            if not isinstance(getattr(self, name), list | tuple):
                raise InputError(f"{name} is not a list of tables", remedy=f"write [[{name}]]")
            for number, rule in enumerate(getattr(self, name), 1):
                _check_keys(f"{name} {number}", rule, keys)
                if not isinstance(rule.get("where"), str):
                    raise InputError(f"{name} {number} has no condition `where`")
        if not isinstance(self.max_per, Mapping):
            raise InputError("max_per is not a table of columns and numbers")
        table = self.items
        if not isinstance(table, ItemTable | None):
            table = ItemTable.of(table)
        if table is None and (self.quota or self.boost or self.max_per):
            raise InputError(
                "quota, boost and max_per require a table about the items",
                remedy='add items = "FILE"',
            )
        groups = []
        for number, rule in enumerate(self.quota, 1):
            with _named(f"quota {number}"):
                groups.append(_quota(table, rule))
        for column, most in self.max_per.items():
            with _named("max_per"):
                _check(column, most, "from 1", lambda x: x >= 1, whole=True)
                values = table.by_value(column)
            groups += [Group(f"{column}={v}", ids, 0, most) for v, ids in values.items()]
        boosted = []
        for number, rule in enumerate(self.boost, 1):
            with _named(f"boost {number}"):
                _check("add", rule.get("add"), "", lambda x: abs(x) < np.inf)
                boosted.append((table.with_all([rule["where"]]), float(rule["add"])))
        for name, value in (("items", table), ("groups", groups), ("boosted", boosted)):
            object.__setattr__(self, name, value if name == "items" else tuple(value))

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Rules:
        """Read rules from a TOML file.

        Parameters
        ----------
        path : str or path-like
            A file with some of the parameters: ``items``, relative to the file, ``min_novelty``,
            ``seen``, ``diversity``, ``[max_per]``, ``[[quota]]`` and ``[[boost]]``.

        Returns
        -------
        Rules
            The rules.

        Raises
        ------
        InputError
            If the file is not TOML, or a rule is unknown, impossible or names an unknown column.
        """
        try:
            given = tomllib.loads(Path(path).read_text("utf-8-sig"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"not a TOML file in UTF-8: {error}", path=path) from None
        if isinstance(given.get("items"), str):
            given["items"] = ItemTable.of(Path(path).parent / given["items"])
        try:
            if not isinstance(given.get("items"), ItemTable | None):
                raise InputError("items is not the name of a file")
            _check_keys("the rules", given, [one.name for one in fields(cls) if one.init])
            return cls(**given)
        except InputError as error:
            raise InputError(error.problem, path=path, remedy=error.remedy) from None

    def prepared(self, items: IdLookup, novelty: np.ndarray, n: int) -> Reranker:
        """Return the rules for the items of a model; made once, until the model changes.

        Parameters
        ----------
        items : IdLookup
            The items of the model.
        novelty : ndarray of shape (n_items,)
            Their novelty in bits.
        n : int
            The number of items of a list.

        Returns
        -------
        Reranker
            What chooses the items of a list.
        """
        found = self._prepared.get(n)
        if found is None or found.items is not items or found.novelty is not novelty:
            found = self._prepared[n] = Reranker(self, items, novelty, n)
        return found

    def unmet(self, items: Sequence[Any]) -> list[str]:
        """Return what a list lacks, one sentence per quota that it does not meet.

        Parameters
        ----------
        items : sequence of ids
            The items of a list.

        Returns
        -------
        list of str
            Empty if the list meets every quota.
        """
        shown = {str(item) for item in items}
        counts = [(group, len(shown.intersection(group.ids))) for group in self.groups]
        return [
            f"{group.name}: {count} of at least {group.at_least} items"
            for group, count in counts
            if count < group.at_least
        ]


class Reranker:
    """Rules for the items of one model and lists of one length."""

    def __init__(self, rules: Rules, items: IdLookup, novelty: np.ndarray, n: int) -> None:
        self.rules, self.items, self.novelty, self.n = rules, items, novelty, n
        self._allowed = novelty >= rules.min_novelty
        self._added = np.zeros(len(items))
        for ids, amount in rules.boosted:
            self._added[_known(items, ids)] += amount
        groups_of: list[list[int]] = [[] for _ in range(len(items))]
        for number, group in enumerate(rules.groups):
            for item in _known(items, group.ids):
                groups_of[item].append(number)
        # Items in the same groups are of one kind: whether one of them fits depends on its kind.
        kinds: dict[tuple[int, ...], int] = {}
        self._kind = np.array([kinds.setdefault(tuple(own), len(kinds)) for own in groups_of], int)
        self._groups = [np.array(own, int) for own in kinds]
        self._needed = np.array([group.at_least for group in rules.groups], int)
        self._room = np.array([group.at_most for group in rules.groups], int)
        self._answers: dict[tuple[Any, ...], bool] = {}
        everything = np.bincount(self._kind[self._allowed], minlength=len(kinds))
        if not self._possible(self._needed, self._room, everything, n):
            wanted = "; ".join(f"{g.name}: {g.at_least}" for g in rules.groups if g.at_least)
            raise InputError(
                f"the rules contradict each other: no list of {n} items of the model has at least "
                f"{wanted}, within the other rules",
                remedy="lower `at_least`, or give a larger `n`",
            )

    def choose(
        self,
        items: np.ndarray,
        scores: np.ndarray,
        similarity: Callable[[int], np.ndarray],
    ) -> np.ndarray:
        """Return the places of the chosen items, in the order of the list.

        Items with a score of -inf are not available. `similarity` returns that of an item to all.
        """
        available = np.isfinite(scores) & self._allowed[items]
        value = self._relevance(scores, self._added[items], available)
        kinds, weight = self._kind[items], self.rules.diversity
        left = np.bincount(kinds[available], minlength=len(self._groups))
        need, room = self._attainable(left), self._room.copy()
        nearest = np.zeros(len(items))
        chosen: list[int] = []
        while len(chosen) < self.n and available.any():
            worth = (1 - weight) * value - weight * nearest if weight else value
            best = int(np.argmax(np.where(available, worth, -np.inf)))
            own = self._groups[kinds[best]]
            left[kinds[best]] -= 1
            need[own] -= 1
            room[own] -= 1
            if not self._possible(need, room, left, self.n - len(chosen) - 1):
                left[kinds[best]] += 1
                need[own] += 1
                room[own] += 1
                available &= kinds != kinds[best]  # it will not fit further down, either
                continue
            available[best] = False
            chosen.append(best)
            if weight:
                nearest = np.maximum(nearest, similarity(int(items[best]))[items])
        return np.array(chosen, int)

    def _relevance(
        self, scores: np.ndarray, added: np.ndarray, available: np.ndarray
    ) -> np.ndarray:
        """Return the scores with boosts, from 0 to 1; 0 if they are all the same."""
        if not available.any():
            return scores
        spread = scores[available].std()
        value = np.where(available, scores, 0) / (spread or 1.0) + added
        low, high = value[available].min(), value[available].max()
        return np.asarray((value - low) / ((high - low) or 1.0))

    def _attainable(self, left: np.ndarray) -> np.ndarray:
        """Return the quotas, reduced to what the available items allow."""
        need = np.zeros_like(self._needed)
        for number in np.flatnonzero(self._needed):
            need[number] = self._needed[number]
            while not self._possible(need, self._room, left, self.n):
                need[number] -= 1
        return need

    def _possible(self, need: np.ndarray, room: np.ndarray, left: np.ndarray, places: int) -> bool:
        """Return whether items that are left can fill what is needed, within room and places."""
        if (room < 0).any() or need.max(initial=0) > places:
            return False
        if need.max(initial=0) <= 0:
            return True
        need, left = np.maximum(need, 0), np.minimum(left, places)
        key = places, need.tobytes(), np.minimum(room, places).tobytes(), left.tobytes()
        answer = self._answers.get(key)
        if answer is None:
            if len(self._answers) > _MOST_ANSWERS:
                self._answers.clear()
            self._answers[key] = answer = self._solvable(need, room, left, places)
        return answer

    def _solvable(self, need: np.ndarray, room: np.ndarray, left: np.ndarray, places: int) -> bool:
        """Return whether the numbers of items of each kind can be chosen: an integer program."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        useful = [k for k in np.flatnonzero(left) if (need[self._groups[k]] > 0).any()]
        if not useful:
            return False
        counted = np.zeros((len(need) + 1, len(useful)))
        counted[-1] = 1
        for place, kind in enumerate(useful):
            counted[self._groups[kind], place] = 1
        concerned = counted.any(axis=1) | (np.append(need, 0) > 0)
        low, high = np.append(need, 0), np.append(room, places)
        limits = LinearConstraint(counted[concerned], low[concerned], high[concerned])
        bounds, whole = Bounds(0, left[useful]), np.ones(len(useful))
        return bool(milp(0 * whole, integrality=whole, bounds=bounds, constraints=limits).success)


@contextlib.contextmanager
def _named(key: str) -> Iterator[None]:
    """Name the key, and the table that is not the file with the rules, in errors."""
    try:
        yield
    except InputError as error:
        where = f" ({error.path})" if error.path else ""
        raise InputError(f"{key}: {error.problem}{where}", remedy=error.remedy) from None


def _quota(table: ItemTable, rule: Mapping[str, Any]) -> Group:
    low, high = rule.get("at_least", 0), rule.get("at_most", _NO_LIMIT)
    for key, value in (("at_least", low), ("at_most", high)):
        _check(key, value, "from 0", lambda x: x >= 0, whole=True)
    ids = sorted(set(table.with_all([rule["where"]])))
    if low > min(high, len(ids)):
        other = f"at_most = {high}" if low > high else f"the {len(ids)} items that satisfy it"
        raise InputError(f"at_least = {low} contradicts {other}")
    return Group(rule["where"], ids, low, high)


def _check_keys(name: str, given: Any, known: Sequence[str]) -> None:
    """Raise InputError for what is not a table, or has a key that is not known."""
    if not isinstance(given, Mapping):
        raise InputError(f"{name} is not a table of {', '.join(known)}")
    for key in given:
        if key not in known:
            raise InputError(
                f"{name}: unknown key {key!r}{near_miss(str(key), known)}",
                remedy=f"use {', '.join(known)}",
            )


def _check(
    name: str, value: Any, expected: str, holds: Callable[[Any], bool], whole: bool = False
) -> None:
    """Raise InputError for a value that is not a number, or not in its range."""
    right = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not right or not holds(value):
        kind = "a whole number" if whole else "a number"
        raise InputError(f"{name} = {value!r} is not {f'{kind} {expected}'.strip()}")


def _known(items: IdLookup, ids: Sequence[str]) -> np.ndarray:
    numbers = items.numbers(ids)
    return np.unique(numbers[numbers >= 0])

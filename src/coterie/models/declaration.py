"""What a model is, said once: its data, assumptions, parameters and abilities.

Every model class carries a `Declaration`. Everything that has to know a model asks it: the checks
of parameters, the options of the command line, the forms of the application, the sentences of a
report, the recommender, and the contract tests. Nothing else in the package tests for the class or
for the attributes of a model.

A parameter's default is that of the constructor, and what it means is in the docstring of the
class; neither is written here again.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

import numpy as np

from coterie.base.errors import InputError


class DataKind(StrEnum):
    """What a model learns from."""

    GRAPH = "graph"
    RATINGS = "ratings"
    POINTS = "points"


class Ability(StrEnum):
    """What a model can do besides `fit`."""

    PREDICT = "predict"  # distributions of ratings: a Recommender can use it
    SAMPLE = "sample"  # draws from the posterior
    CHECKPOINT = "checkpoint"  # saves its state and continues from it
    SHARDS = "shards"  # learns from shards without loading all of them
    CLUSTER = "cluster"  # runs on a Dask cluster
    FEATURES = "features"  # learns from columns about users and items
    NEGATIVES = "negatives"  # draws pairs that were not observed
    LEVELS = "levels"  # finds a hierarchy


class Groups(StrEnum):
    """What a model finds about nodes, or about users and items."""

    NONE = "none"
    BLOCKS = "blocks"  # one block per node: `labels_`
    MEMBERSHIPS = "memberships"  # shares of groups: `memberships_`, or those of users and items
    PARTITIONS = "partitions"  # in every sample, many tables of user groups by item groups


class Constraint(Protocol):
    """The values that a parameter accepts."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value is one of them."""
        ...

    def __str__(self) -> str:
        """Describe them, to follow the words "give" and "use"."""
        ...


@dataclass(frozen=True)
class Real:
    """Numbers from `least` to `most`; `above` and `below` are limits that do not belong to it.

    >>> Real(above=0, most=1).accepts(0.1), Real(above=0, most=1).accepts(0), str(Real(least=0))
    (True, False, 'a number of at least 0')
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    noun: ClassVar[str] = "a number"
    types: ClassVar[tuple[Any, ...]] = (int, float, np.integer, np.floating)

    def accepts(self, value: Any) -> bool:
        """Return whether it is a finite number within the limits."""
        if isinstance(value, bool | np.bool_) or not isinstance(value, self.types):
            return False
        return math.isfinite(value) and all(
            holds(value, limit) for _, holds, limit in self._limits() if limit is not None
        )

    def _limits(self) -> tuple[tuple[str, Callable[[Any, Any], bool], float | None], ...]:
        return (
            ("of at least", operator.ge, self.least),
            ("above", operator.gt, self.above),
            ("at most", operator.le, self.most),
            ("below", operator.lt, self.below),
        )

    def __str__(self) -> str:
        parts = [f"{word} {limit:g}" for word, _, limit in self._limits() if limit is not None]
        return f"{self.noun} {' and '.join(parts)}".rstrip()


class Integer(Real):
    """Whole numbers within limits.

    >>> Integer(1).accepts(3), Integer(1).accepts(0), Integer(1).accepts(2.0), str(Integer(1))
    (True, False, False, 'an integer of at least 1')
    """

    noun = "an integer"
    types = (int, np.integer)


@dataclass(frozen=True)
class OneOf:
    """Some names.

    >>> OneOf("best", "paper").accepts("best"), str(OneOf("best", "paper"))
    (True, 'one of best, paper')
    """

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)

    def accepts(self, value: Any) -> bool:
        """Return whether it is one of the names."""
        return isinstance(value, str) and value in self.names

    def __str__(self) -> str:
        return f"one of {', '.join(self.names)}"


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def accepts(self, value: Any) -> bool:
        """Return whether it is a truth value."""
        return isinstance(value, bool | np.bool_)

    def __str__(self) -> str:
        return "True or False"


@dataclass(frozen=True)
class Pair:
    """One value, or two of them: for users and for items.

    >>> blocks = Pair(Integer(1))
    >>> blocks.accepts(3), blocks.accepts((3, 4)), blocks.accepts((3,))
    (True, True, False)
    """

    each: Constraint

    def accepts(self, value: Any) -> bool:
        """Return whether it is one value, or a pair of them."""
        if isinstance(value, tuple | list):
            return len(value) == 2 and all(self.each.accepts(one) for one in value)
        return self.each.accepts(value)

    def __str__(self) -> str:
        return f"{self.each}, or two of them: for users and for items"


@dataclass(frozen=True)
class Optional:
    """A value, or None.

    >>> Optional(Integer(1)).accepts(None), str(Optional(Integer(1)))
    (True, 'an integer of at least 1, or None')
    """

    value: Constraint
    other: ClassVar[Any] = None
    word: ClassVar[str] = "None"

    def accepts(self, value: Any) -> bool:
        """Return whether it is the other value or an accepted one."""
        same = type(value) is type(self.other) and value == self.other
        return same or self.value.accepts(value)

    def __str__(self) -> str:
        return f"{self.value}, or {self.word}"


class OrAuto(Optional):
    """A value, or "auto": the model chooses it by the data.

    >>> chains = OrAuto(Integer(1))
    >>> chains.accepts("auto"), chains.accepts(3), chains.accepts(0), str(chains)
    (True, True, False, 'an integer of at least 1, or "auto"')
    """

    other = "auto"
    word = '"auto"'


@dataclass(frozen=True)
class Anything:
    """Values that the model checks itself, because what is allowed depends on the data."""

    text: str = "a value as the documentation says"

    def accepts(self, value: Any) -> bool:
        """Return True."""
        return True

    def __str__(self) -> str:
        return self.text


SEED = Anything("an integer >= 0, a numpy Generator, or None")  # base/randomness.py checks it


@dataclass(frozen=True)
class Declaration:
    """What a model class says about itself."""

    name: str  # what users call it in options: "mmsbm"
    assumptions: Mapping[DataKind, str]  # in words, per kind of data that it learns from
    parameters: Mapping[str, Constraint]  # of the constructor, all of them
    abilities: frozenset[Ability] = frozenset()
    # Options of the recommender and the command line, by the parameter that they set
    option_names: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    # Earlier names of parameters, in older programs and model files, and the present ones
    renamed: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    removed: frozenset[str] = frozenset()  # parameters that only older model files have
    groups: Groups = Groups.NONE

    @property
    def data(self) -> frozenset[DataKind]:
        """The kinds of data that the model learns from."""
        return frozenset(self.assumptions)

    def can(self, ability: Ability) -> bool:
        """Return whether the model has an ability."""
        return ability in self.abilities

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise InputError for the first value that a parameter does not accept.

        >>> Declaration("x", {}, {"n_init": Integer(1)}).check({"n_init": 0})
        Traceback (most recent call last):
            ...
        coterie.base.errors.InputError: invalid n_init: 0; give an integer of at least 1
        """
        for name, constraint in self.parameters.items():
            if name in values and not constraint.accepts(values[name]):
                raise InputError(f"invalid {name}: {values[name]!r}", remedy=f"give {constraint}")

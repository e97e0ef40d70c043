"""The samples of an additive model from the side of the users or of the items."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np

from coterie.kernels.additive.predict import Samples


class Side(StrEnum):
    """The users, or the items."""

    USER = "user"
    ITEM = "item"

    @property
    def other(self) -> Side:
        """The side at the other end of a rating."""
        return Side.ITEM if self is Side.USER else Side.USER

    @property
    def place(self) -> int:
        """Its place in arrays that have one entry per side."""
        return 0 if self is Side.USER else 1

    @property
    def fields(self) -> dict[str, str]:
        """What the samples hold about each node of this side: the fields by their short names."""
        names = {name: f"{self}_{name}" for name in ("labels", "offsets", "spreads", "factors")}
        return names | ({"styles": "styles"} if self is Side.USER else {})


class SampleSide(NamedTuple):
    """What the samples hold about one side; see `Samples`."""

    labels: np.ndarray
    offsets: np.ndarray
    spreads: np.ndarray
    factors: np.ndarray
    links: np.ndarray

    @classmethod
    def of(cls, samples: Samples, side: Side) -> SampleSide:
        """Return the arrays of one side."""
        return cls(*(getattr(samples, f"{side}_{name}") for name in cls._fields))

"""The samples of an additive model from the side of the users or of the items.

Offset and factors of an unknown user or item are their prior means, and their prior variances add
to the spread. Groups and response style are those of a user (or item) drawn at random in each
sample, so that a prediction averages over them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np

from coterie.kernels.additive.predict import Samples
from coterie.models.additive.node_features import FeatureMap


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


def unknown_node(
    samples: Samples, side: Side, features: FeatureMap, sizes: dict[Side, int]
) -> dict[str, np.ndarray]:
    """Return the fields of samples whose only user (or only item) is unknown.

    `sizes` are the numbers of users and items that the model was fitted to: what is unknown does
    not depend on users and items that are added later.
    """
    own, other = SampleSide.of(samples, side), SampleSide.of(samples, side.other)
    donors = _donors(own.spreads[:, : sizes[side]], side.place)
    at = np.arange(len(donors))
    means = _prior_means(features, own.links)
    spreads = _prior_variances(samples, side.place, other.factors[:, : sizes[side.other]])
    found = {
        "labels": own.labels[at, donors][:, None],
        "offsets": means[:, None, -1],
        "factors": np.ascontiguousarray(means[:, None, :-1]),
        "spreads": spreads[:, None],
    }
    if side is Side.USER:
        found["styles"] = samples.styles[at, donors][:, None]
    return {side.fields[name]: array for name, array in found.items()}


def _donors(spreads: np.ndarray, seed: int) -> np.ndarray:
    """Draw one node per sample; nodes with many ratings have small spreads and are drawn more."""
    weights = np.cumsum(1.0 / np.maximum(spreads.astype(np.float64), 1e-6), axis=1)
    places = np.random.default_rng(seed).random(len(spreads)) * weights[:, -1]
    found = [np.searchsorted(own, place) for own, place in zip(weights, places, strict=True)]
    return np.asarray(np.minimum(found, spreads.shape[1] - 1), np.int64)


def _prior_means(features: FeatureMap, links: np.ndarray) -> np.ndarray:
    """Return the prior means of factors and offset: T x (K + 1)."""
    own = features.values(features.side_center[None], None)[0]
    if not len(own):
        return np.zeros((len(links), links.shape[2]), np.float32)
    return np.asarray(np.einsum("d,tdk->tk", own, links), np.float32)


def _prior_variances(samples: Samples, side: int, others: np.ndarray) -> np.ndarray:
    """Return the variance that an unknown node adds to a location in each sample."""
    spreads = 1.0 / np.maximum(samples.precisions[:, side].astype(np.float64), 1e-3)
    squares = (others.astype(np.float64) ** 2).mean(axis=1)  # T x K
    spreads += (squares / np.maximum(samples.factor_precisions[:, side, :-1], 1e-3)).sum(axis=1)
    return spreads.astype(np.float32)

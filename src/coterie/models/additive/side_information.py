"""Side information of one side of a fitted additive model, and the features of its nodes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from coterie.base.array_checks import ArrayError, check_array
from coterie.data.ratings import NodeRatings
from coterie.models.additive.cold_start import ColdStart
from coterie.models.additive.feature_encoding import FeatureColumn, FeatureEncoding
from coterie.models.additive.node_features import FeatureMap, PresenceBasis


@dataclass(frozen=True)
class SideInformation:
    """The side information of known users or items, and how features follow from it."""

    map: FeatureMap
    encoding: FeatureEncoding
    rows: np.ndarray  # float64, known nodes x columns of side information
    cold: ColdStart | None = None  # how nodes without ratings were predicted

    def features(self, nodes: Sequence[NodeRatings]) -> np.ndarray:
        """Return the features of nodes with ratings; unknown nodes have average information."""
        numbers = np.array([node.number for node in nodes])
        rows = np.tile(self.map.side_center, (len(nodes), 1))
        known = numbers < len(self.rows)
        rows[known] = self.rows[numbers[known]]
        presence = self.map.presence_columns(
            [node.others[node.others < len(self.map.basis.coordinates)] for node in nodes]
        )
        return self.map.values(rows, presence)

    def with_size(self, size: int) -> SideInformation:
        """Return the information of this many nodes; added ones have average information."""
        added = np.tile(self.map.side_center, (max(size - len(self.rows), 0), 1))
        return replace(self, rows=np.vstack([self.rows, added]))

    def with_ratings(self, nodes: Sequence[NodeRatings], size: int) -> SideInformation:
        """Return the information of this many nodes, after these nodes got ratings."""
        cold = self.cold
        if cold is not None:
            cold = cold.without(np.array([node.number for node in nodes], np.int64))
        return replace(self.with_size(size), cold=cold)

    def is_cold(self, node: int) -> bool:
        """Return whether a node is predicted from its features alone."""
        return self.cold is not None and self.cold.predicts(node)

    def column_effects(self, node: int, links: np.ndarray) -> np.ndarray:
        """Return what each column of side information adds to the node's offset in one sample.

        `links` is features x (K + 1) of the sample; the last column belongs to the offset.
        """
        weights = self.map.side_rotation[:-1] @ links[: self.map.side_columns, -1]
        return np.asarray((self.rows[node] - self.map.side_center) * weights)

    def check(self, n: int, others: int, links: np.ndarray) -> None:
        """Raise ArrayError unless the arrays fit n nodes, the other side, and the links."""
        n_samples, n_features, width = links.shape
        if self.cold is not None:
            self.cold.check(n_samples, len(self.encoding.columns), width - 1)
        # Nodes that were added later have no row.
        check_array("side information", self.rows, np.float64, (None, len(self.encoding.columns)))
        check_array("basis", self.map.basis.coordinates, np.float32, (None, None))
        if len(self.rows) > n or len(self.map.basis.coordinates) > others:
            raise ArrayError("side information: more rows than nodes")
        try:
            features = self.features([NodeRatings(0, np.zeros(0, np.int64), np.zeros(0, np.uint8))])
        except (ValueError, IndexError) as error:
            raise ArrayError(f"side information: {error}") from error
        if features.shape != (1, n_features) or not np.isfinite(features).all():
            raise ArrayError(f"side information: {features.shape[1]} features, not {n_features}")

    def to_arrays(self, prefix: str) -> dict[str, np.ndarray]:
        """Return everything as arrays whose names begin with the prefix."""
        names = json.dumps([list(column) for column in self.encoding.columns])
        basis, smoothing = self.map.basis
        own: dict[str, Any] = {
            "rows": self.rows,
            "columns": np.frombuffer(names.encode(), np.uint8),
        }
        own |= self.map._asdict() | {"basis": basis, "smoothing": np.array([smoothing])}
        arrays = {f"{prefix}.{name}": own[name] for name in _ARRAYS}
        return arrays | ({} if self.cold is None else self.cold.to_arrays(f"{prefix}.cold"))

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], prefix: str, n: int, others: int) -> Self:
        """Build from what `to_arrays` returned; older files have no features."""
        if f"{prefix}.rows" not in arrays:
            return cls(_no_features(others), FeatureEncoding(), np.zeros((n, 0)))
        own: dict[str, Any] = {name: arrays[f"{prefix}.{name}"] for name in _ARRAYS}
        columns = json.loads(own.pop("columns").tobytes().decode())
        rows, smoothing = own.pop("rows"), float(own.pop("smoothing")[0])
        own["basis"] = PresenceBasis(own["basis"], smoothing)
        encoding = FeatureEncoding(tuple(FeatureColumn(*column) for column in columns))
        return cls(
            FeatureMap(**own), encoding, rows, ColdStart.from_arrays(arrays, f"{prefix}.cold")
        )


_ARRAYS = (  # in the order of the files
    "rows",
    "columns",
    "side_center",
    "side_rotation",
    "basis",
    "smoothing",
    "center",
    "slope",
    "rotation",
)


def _no_features(others: int) -> FeatureMap:
    """Return the map of a model without features."""
    basis = PresenceBasis(np.zeros((others, 0), np.float32), 1.0)
    nothing = np.zeros(0)
    return FeatureMap(
        nothing, np.zeros((1, 0)), basis, np.zeros(1), np.zeros((0, 1)), np.zeros((1, 0))
    )

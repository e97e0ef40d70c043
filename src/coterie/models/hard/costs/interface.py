"""The interface between a search and an objective; the package docstring explains its use."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Labels = tuple[np.ndarray, ...]  # int32, one array per side


Objective = Any  # a BlockObjective or a GaussianObjective
ClusterState = Any  # what its `start` returns: labels, n_blocks, sizes, statistics, copy()


class MovePlan(NamedTuple):
    """The best label of each element of a batch, before any of them moves."""

    wanted: np.ndarray  # int32, the best label; on a tie the present one
    gains: np.ndarray  # float64, how much S would fall if only this element moved to the best
    # other label; negative if the present one is better

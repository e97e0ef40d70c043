"""The state of a soft model, memberships and theta, and the states from which a fit starts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.base.errors import InputError

_LABEL_SHARE = 0.9  # of a node's membership goes to its label, the rest is random and above 0


class SoftState(NamedTuple):
    """Everything an iteration updates. For a graph, `columns` is `rows` (the nodes)."""

    rows: np.ndarray  # float64, n × k, each row sums to 1
    columns: np.ndarray  # float64, m × l
    theta: np.ndarray  # float64, R × k × l, sums to 1 over the R levels

    def transposed(self) -> SoftState:
        """Return the same model with rows and columns exchanged."""
        theta = np.ascontiguousarray(self.theta.transpose(0, 2, 1))
        return SoftState(self.columns, self.rows, theta)


class SoftShape(NamedTuple):
    """Sizes of a state: nodes and groups of both sides, number of levels, one node set or two."""

    n_rows: int
    n_columns: int
    row_groups: int
    column_groups: int
    n_levels: int
    one_set: bool = False  # a graph: rows and columns are the same nodes
    symmetric: bool = False  # an undirected graph: theta is symmetric


def initial_state(shape: SoftShape, init: Any, rng: Generator) -> SoftState:
    """Return the state from which a run starts.

    `init` is "random", a state, or the labels of a hard clustering: one array for a graph, a pair
    of arrays for ratings.
    """
    if isinstance(init, SoftState):
        return _checked(init, shape)
    if isinstance(init, str):
        if init != "random":
            raise InputError(
                f"init={init!r} is unknown",
                remedy='give "random", "hard", labels, or a fitted clustering',
            )
        return _random_state(shape, rng)
    row_labels, column_labels = _labels(init, shape.one_set)
    rows = _from_labels(row_labels, shape.n_rows, shape.row_groups, rng)
    columns = (
        rows
        if shape.one_set
        else _from_labels(column_labels, shape.n_columns, shape.column_groups, rng)
    )
    # With equal thetas the labels alone decide the responsibilities of the first iteration.
    even = np.full(
        (shape.n_levels, shape.row_groups, shape.column_groups), 1.0 / max(shape.n_levels, 1)
    )
    return SoftState(rows, columns, even)


def _random_state(shape: SoftShape, rng: Generator) -> SoftState:
    rows = _shares(rng.standard_exponential((shape.n_rows, shape.row_groups)))
    columns = rows
    if not shape.one_set:
        columns = _shares(rng.standard_exponential((shape.n_columns, shape.column_groups)))
    theta = rng.standard_exponential((shape.row_groups, shape.column_groups, shape.n_levels))
    if shape.symmetric:
        theta = theta + theta.transpose(1, 0, 2)
    return SoftState(rows, columns, np.ascontiguousarray(np.moveaxis(_shares(theta), 2, 0)))


def _shares(mass: np.ndarray) -> np.ndarray:
    shares: np.ndarray = mass / mass.sum(axis=-1, keepdims=True)
    return shares


def _checked(given: SoftState, shape: SoftShape) -> SoftState:
    """Return the state of a fitted model if it has this shape."""
    rows, columns, theta = given
    if len(theta) == shape.n_levels - 1:  # the missing mass is that of "not rated"
        totals = np.ascontiguousarray(np.moveaxis(theta, 0, 2)).sum(axis=2)
        theta = np.concatenate([theta, np.maximum(1.0 - totals, 0.0)[None]])
    seen = (*rows.shape, *columns.shape, *theta.shape)
    groups = (shape.row_groups, shape.column_groups)
    if seen != (shape.n_rows, groups[0], shape.n_columns, groups[1], shape.n_levels, *groups):
        raise InputError(
            f"the model to start from has {rows.shape[0]} and {columns.shape[0]} nodes, "
            f"{rows.shape[1]} and {columns.shape[1]} groups, {theta.shape[0]} values; the fit has "
            f"{shape.n_rows} and {shape.n_columns} nodes, {groups[0]} and {groups[1]} groups, "
            f"{shape.n_levels} values",
            remedy="use the same nodes, values and n_groups, or init='random'",
        )
    return SoftState(rows, columns, theta)


def _labels(init: Any, one_set: bool) -> tuple[Any, Any]:
    if one_set:
        return init, init
    if isinstance(init, tuple | list) and len(init) == 2:
        return init[0], init[1]
    raise InputError(
        f"init={type(init).__name__} does not label two node sets",
        remedy="give (user labels, item labels) or a fitted clustering of ratings",
    )


def _from_labels(labels: Any, n: int, k: int, rng: Generator) -> np.ndarray:
    given = np.asarray(labels)
    if given.shape != (n,) or given.dtype.kind not in "iu":
        raise InputError(
            f"init labels have shape {given.shape} and type {given.dtype}",
            remedy=f"give one integer per node, {n} in all",
        )
    if n and (given.min() < 0 or given.max() >= k):
        raise InputError(
            f"init labels range from {given.min()} to {given.max()}, groups from 0 to {k - 1}",
            remedy="increase `n_groups` or renumber the labels",
        )
    memberships = (1 - _LABEL_SHARE) * _shares(rng.standard_exponential((n, k)))
    memberships[np.arange(n), given] += _LABEL_SHARE
    return memberships

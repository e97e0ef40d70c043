"""Where a soft model stands: memberships and theta, and how they start."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.base.errors import InputError

_SURE = 0.9  # of a node's membership goes to its label; the rest is random, so nothing starts at 0


class SoftState(NamedTuple):
    """Everything an iteration reads and makes anew. One node set: `columns` is `rows`."""

    rows: np.ndarray  # float64, n × k, each row sums to 1
    columns: np.ndarray  # float64, m × l
    theta: np.ndarray  # float64, R × k × l, sums to 1 over R

    def transposed(self) -> SoftState:
        """The same model with rows and columns exchanged."""
        theta = np.ascontiguousarray(self.theta.transpose(0, 2, 1))
        return SoftState(self.columns, self.rows, theta)


class SoftShape(NamedTuple):
    """How large a state is: nodes and groups of both sides, configurations, one set or two."""

    n_rows: int
    n_columns: int
    row_groups: int
    column_groups: int
    n_codes: int
    one_set: bool = False
    symmetric: bool = False


def start(shape: SoftShape, init: Any, rng: Generator) -> SoftState:
    """A state to begin from: "random", labels of a hard clustering, or a fitted model.

    Labels are one array (one node set), a pair of arrays, or an object with `labels_` or
    `user_labels_` and `item_labels_`. A soft model gives its memberships and its theta.
    """
    if isinstance(init, str):
        if init != "random":
            raise InputError(
                f"init={init!r} is unknown",
                remedy='give "random", labels, or a fitted clustering',
            )
        return _random(shape, rng)
    if hasattr(init, "theta_"):
        return _continued(shape, init)
    row_labels, column_labels = _labels(init, shape.one_set)
    rows = _from_labels(row_labels, shape.n_rows, shape.row_groups, rng)
    columns = (
        rows
        if shape.one_set
        else _from_labels(column_labels, shape.n_columns, shape.column_groups, rng)
    )
    # Equal thetas make the first iteration's responsibilities those of the labels alone.
    even = np.full(
        (shape.n_codes, shape.row_groups, shape.column_groups), 1.0 / max(shape.n_codes, 1)
    )
    return SoftState(rows, columns, even)


def _random(shape: SoftShape, rng: Generator) -> SoftState:
    rows = _shares(rng.standard_exponential((shape.n_rows, shape.row_groups)))
    columns = rows
    if not shape.one_set:
        columns = _shares(rng.standard_exponential((shape.n_columns, shape.column_groups)))
    theta = rng.standard_exponential((shape.row_groups, shape.column_groups, shape.n_codes))
    if shape.symmetric:
        theta = theta + theta.transpose(1, 0, 2)
    return SoftState(rows, columns, np.ascontiguousarray(np.moveaxis(_shares(theta), 2, 0)))


def _shares(mass: np.ndarray) -> np.ndarray:
    shares: np.ndarray = mass / mass.sum(axis=-1, keepdims=True)
    return shares


def _continued(shape: SoftShape, model: Any) -> SoftState:
    names = ["memberships_"] * 2 if shape.one_set else ["user_memberships_", "item_memberships_"]
    if not all(hasattr(model, name) for name in names):
        raise InputError(
            f"init is a {type(model).__name__} of another kind of data",
            remedy="start from a model of the same kind, or init='random'",
        )
    rows, columns = (np.ascontiguousarray(getattr(model, name), np.float64) for name in names)
    theta = np.asarray(model.theta_, np.float64)
    if theta.shape[2] == shape.n_codes - 1:  # the mass that is missing is "not rated"
        theta = np.dstack([theta, np.maximum(1.0 - theta.sum(axis=2), 0.0)])
    theta = np.ascontiguousarray(np.moveaxis(theta, 2, 0))
    seen = (*rows.shape, *columns.shape, *theta.shape)
    groups = (shape.row_groups, shape.column_groups)
    if seen != (shape.n_rows, groups[0], shape.n_columns, groups[1], shape.n_codes, *groups):
        raise InputError(
            f"the model to start from has {rows.shape[0]} and {columns.shape[0]} nodes, "
            f"{rows.shape[1]} and {columns.shape[1]} groups and {theta.shape[0]} values, the data "
            f"{shape.n_rows} and {shape.n_columns}, {groups[0]} and {groups[1]}, {shape.n_codes}",
            remedy="use the same nodes, values and n_groups, or init='random'",
        )
    return SoftState(rows, rows if shape.one_set else columns, theta)


def _labels(init: Any, one_set: bool) -> tuple[Any, Any]:
    if hasattr(init, "user_labels_") and not one_set:
        return init.user_labels_, init.item_labels_
    if hasattr(init, "labels_") and one_set:
        return init.labels_, init.labels_
    if one_set:
        return init, init
    if isinstance(init, tuple | list) and len(init) == 2:
        return init[0], init[1]
    raise InputError(
        f"init={type(init).__name__} does not label two node sets",
        remedy="give (user labels, item labels) or a clustering with user_labels_ and item_labels_",
    )


def _from_labels(labels: Any, n: int, k: int, rng: Generator) -> np.ndarray:
    given = np.asarray(labels)
    if given.shape != (n,) or given.dtype.kind not in "iu":
        raise InputError(
            f"init labels have shape {given.shape} and type {given.dtype}",
            remedy=f"give one whole number for each of the {n} nodes",
        )
    if n and (given.min() < 0 or given.max() >= k):
        raise InputError(
            f"init labels reach from {given.min()} to {given.max()}, groups from 0 to {k - 1}",
            remedy="raise n_groups or renumber the labels",
        )
    memberships = (1 - _SURE) * _shares(rng.standard_exponential((n, k)))
    memberships[np.arange(n), given] += _SURE
    return memberships

"""Features of users and items that explain their factors and offsets before any rating does.

Two blocks of columns. The first holds a constant and the side information that the caller gave
(age, genres). The second is computed from who rated what: the leading singular vectors of the
presence matrix, and how many ratings a node has. Columns are centred over the ratings and
orthogonal, the second block also to the first, so that a chain draws each regression coefficient
alone, and a chain that does not use presence reads only the first columns.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array

from coterie.base.lazy_modules import scipy_sparse_linalg

_MAX_VECTORS = 64  # singular vectors of the presence matrix …
_MAX_VECTORS_OF_LARGE = 128  # … and of large tables, one per eight of the root of the ratings
_NODES_PER_VECTOR = 4  # a small side has fewer vectors
_DENSE_BELOW = 200  # nodes of the smaller side; below, the full decomposition is cheaper
_POWER = 2.0  # column d is scaled by the power of its singular value: weak directions count less
_LEAST = 1e-6  # columns with a smaller share of the variance are dropped


class PresenceBasis(NamedTuple):
    """How the presence columns of a node follow from the nodes at the other end of its ratings."""

    coordinates: np.ndarray  # float32, other nodes x vectors
    smoothing: float  # added to the number of ratings before its root is taken


class FeatureMap(NamedTuple):
    """The features of one side as an affine function of what is known about a node."""

    side_center: np.ndarray  # float64, side columns
    side_rotation: np.ndarray  # float64, (side columns + 1) x columns of the first block
    basis: PresenceBasis
    center: np.ndarray  # float64, vectors + 1
    slope: np.ndarray  # float64, columns of the first block x (vectors + 1)
    rotation: np.ndarray  # float64, (vectors + 1) x columns of the second block

    @property
    def side_columns(self) -> int:
        """Number of columns that come from the constant and side information."""
        return int(self.side_rotation.shape[1])

    @property
    def columns(self) -> int:
        """Number of columns."""
        return int(self.side_rotation.shape[1] + self.rotation.shape[1])

    def values(self, side: np.ndarray, presence: np.ndarray | None) -> np.ndarray:
        """Return the features of nodes, float32.

        `side` is nodes x side columns; `presence` the result of `presence_columns`, or None for
        nodes without ratings, which then get the presence that their side information suggests.
        """
        first = _with_constant(side - self.side_center) @ self.side_rotation
        second = np.zeros((len(side), self.rotation.shape[1]))
        if presence is not None:
            second = (presence - self.center - first @ self.slope) @ self.rotation
        return np.hstack([first, second]).astype(np.float32)

    def presence_columns(self, others: list[np.ndarray]) -> np.ndarray:
        """Return the presence columns of nodes that rated, or were rated by, these nodes."""
        found = np.zeros((len(others), self.basis.coordinates.shape[1] + 1))
        for place, own in enumerate(others):
            total = self.basis.coordinates[own].sum(axis=0, dtype=np.float64)
            found[place, :-1] = total / np.sqrt(len(own) + self.basis.smoothing)
            found[place, -1] = np.log1p(len(own))
        return found


class NodeFeatures(NamedTuple):
    """The features of all users and items, and how those of new nodes follow."""

    users: np.ndarray  # float32, users x columns
    items: np.ndarray  # float32, items x columns
    user_map: FeatureMap
    item_map: FeatureMap


def node_features(
    users: np.ndarray,
    items: np.ndarray,
    user_side: np.ndarray,
    item_side: np.ndarray,
    *,
    with_presence: bool = True,
) -> NodeFeatures:
    """Return features of users and items from rated pairs and side information.

    `user_side` and `item_side` hold one row per node; they may have no columns.
    """
    with _one_blas_thread():
        return _node_features(users, items, user_side, item_side, with_presence)


def _one_blas_thread() -> AbstractContextManager[object]:
    """Return a block inside which BLAS uses one thread, in the whole process.

    The vectors of an eigenvalue solver are too short for several threads: these wait for each other
    while they keep a core busy, and take several times the processor time of one thread. Only
    libraries that are already loaded are limited."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits


def _node_features(
    users: np.ndarray,
    items: np.ndarray,
    user_side: np.ndarray,
    item_side: np.ndarray,
    with_presence: bool,
) -> NodeFeatures:
    n, m = len(user_side), len(item_side)
    most = min(max(_MAX_VECTORS, int(np.sqrt(len(users)) / 8)), _MAX_VECTORS_OF_LARGE)
    count = min(most, min(n, m) // _NODES_PER_VECTOR) if with_presence else 0
    by_user = np.bincount(users, minlength=n).astype(np.float64)
    by_item = np.bincount(items, minlength=m).astype(np.float64)
    smooth_users, smooth_items = 1.0, float(by_item.mean())
    ones = np.ones(len(users))
    presence = csr_array((ones, (users, items)), shape=(n, m))
    scaled = (
        diags_array((by_user + smooth_users) ** -0.5)
        @ presence
        @ diags_array((by_item + smooth_items) ** -0.5)
    )
    left, singular, right = _singular_vectors(csr_array(scaled), count)
    weight = singular ** (_POWER - 1.0)
    item_basis = (right * weight) / np.sqrt(by_item + smooth_items)[:, None]
    user_basis = (left * weight) / np.sqrt(by_user + smooth_users)[:, None]
    of_users = PresenceBasis(item_basis.astype(np.float32), smooth_users)
    of_items = PresenceBasis(user_basis.astype(np.float32), smooth_items)
    presence_users = np.column_stack([left * singular**_POWER, np.log1p(by_user)])
    presence_items = np.column_stack([right * singular**_POWER, np.log1p(by_item)])
    rated, used = by_user > 0, by_item > 0
    user_map = _feature_map(
        user_side[rated], presence_users[rated], by_user[rated], of_users, with_presence
    )
    item_map = _feature_map(
        item_side[used], presence_items[used], by_item[used], of_items, with_presence
    )
    user_values = user_map.values(user_side, presence_users)
    item_values = item_map.values(item_side, presence_items)
    user_values[~rated, user_map.side_columns :] = 0.0
    item_values[~used, item_map.side_columns :] = 0.0
    return NodeFeatures(user_values, item_values, user_map, item_map)


def _singular_vectors(matrix: csr_array, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the leading left vectors, singular values and right vectors, largest first."""
    n, m = matrix.shape
    if count < 1 or matrix.nnz == 0:
        return np.zeros((n, 0)), np.zeros(0), np.zeros((m, 0))
    if min(n, m) < _DENSE_BELOW:
        left, values, right = np.linalg.svd(matrix.toarray(), full_matrices=False)
        return left[:, :count], values[:count], right[:count].T
    start = np.random.default_rng(0).normal(size=min(n, m))
    svds = scipy_sparse_linalg.svds
    with _one_blas_thread():  # of SciPy's library, which the line before has loaded
        left, values, right = svds(matrix, k=count, v0=start)
    order = np.argsort(-values)
    return left[:, order], values[order], right[order].T


def _feature_map(
    side: np.ndarray,
    presence: np.ndarray,
    counts: np.ndarray,
    basis: PresenceBasis,
    with_presence: bool,
) -> FeatureMap:
    """Centre and rotate both blocks to orthogonal columns; scale each to total variance 1.

    Columns are centred over ratings, not over nodes: most nodes have few ratings and are rated
    differently, and a new node should be like one that people do rate.
    """
    share = counts / counts.sum()
    side_center = share @ side
    centred = side - side_center
    variance = float((centred**2).sum(axis=1).mean()) if centred.size else 0.0
    side_scales = np.ones(side.shape[1] + 1)
    side_scales[:-1] = 1.0 / np.sqrt(variance) if variance > 1e-9 else 0.0
    block = _with_constant(centred)
    side_rotation = side_scales[:, None] * _orthogonal(block * side_scales)
    first = block @ side_rotation
    center = share @ presence
    scales = np.ones(presence.shape[1])
    vectors = presence[:, 1:-1]  # the first vector mostly repeats the number of ratings
    total = float((vectors**2).sum(axis=1).mean()) if vectors.size else 0.0
    scales[:-1] = 1.0 / np.sqrt(total) if total > 0 else 0.0
    spread = float(presence[:, -1].std())
    scales[-1] = 1.0 / spread if spread > 1e-9 else 0.0
    squares = np.maximum((first**2).sum(axis=0), 1e-12)
    slope = (first.T @ (presence - center)) / squares[:, None]
    rest = presence - center - first @ slope
    if with_presence:
        rotation = scales[:, None] * _orthogonal(rest * scales)
    else:
        rotation = np.zeros((presence.shape[1], 0))
    return FeatureMap(side_center, side_rotation, basis, center, slope, rotation)


def _with_constant(block: np.ndarray) -> np.ndarray:
    """Return the block with a column of ones: factors and offsets need not be 0 on average."""
    return np.column_stack([block, np.ones(len(block))])


def _orthogonal(block: np.ndarray) -> np.ndarray:
    """Return a rotation to orthogonal columns, without empty ones; the largest comes first."""
    values, vectors = np.linalg.eigh(block.T @ block)
    if not len(values) or values[-1] <= 1e-9 * max(len(block), 1):
        return np.zeros((block.shape[1], 0))
    used = values > _LEAST * values[-1]
    return np.asarray(vectors[:, used][:, ::-1])

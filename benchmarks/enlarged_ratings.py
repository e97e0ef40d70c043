"""A rating table of any size with the structure of MovieLens-100k.

The additive block model is fitted to MovieLens-100k, and one sample of it is enlarged: users and
items are drawn with replacement, and every copy is changed a little (offset, factors, labels). Who
rates what follows the real numbers of ratings per user and item, and the leading singular vectors
of who rated what. The table has real long tails and real correlations between tastes and choices;
its tastes have the additive model's own form, so it says more about time and memory than about
peers. `foreign_ratings.py` has tables of other forms.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

import coterie as ct
from coterie.data import Ratings
from coterie.data.datasets import load

_CHANGE = 0.4  # standard deviation of a copy's factors and offset, relative to that of all nodes
_NEW_LABEL = 0.15  # probability that a copy gets another label in a partition
_VECTORS = 40
_CHOICE = 0.8  # standard deviation of the part of the choice that is taste, in log odds


def enlarged_movielens(n_users: int, n_items: int, n_ratings: int, seed: int) -> Ratings:
    """Draw a table of this size; every user has at least ten ratings."""
    data = load("ml-100k")
    assert isinstance(data, Ratings)
    rng = np.random.default_rng(seed)
    model = ct.AdditiveBlockModel(n_chains=1, n_sweeps=100, burn_in=95, pilot=False, rng=seed)
    sample = model.fit(data).samples_
    users, items = rng.integers(0, data.n_users, n_users), rng.integers(0, data.n_items, n_items)
    of_users = _copies(rng, sample.user_factors[-1], sample.user_offsets[-1], users)
    of_items = _copies(rng, sample.item_factors[-1], sample.item_offsets[-1], items)
    labels = (
        _labels(rng, sample.user_labels[-1], users),
        _labels(rng, sample.item_labels[-1], items),
    )
    u, v = _chosen_pairs(rng, data, users, items, n_ratings)
    place = of_users[1][u] + of_items[1][v]
    place += np.einsum("ek,ek->e", of_users[0][u], of_items[0][v])
    for s, effects in enumerate(sample.effects[-1]):
        place += effects[labels[0][u, s], labels[1][v, s]]
    place += rng.normal(0, 1, len(u))
    cuts = sample.cuts[-1][sample.styles[-1][users][u]]
    level = (place[:, None] > cuts[:, 1:-1]).sum(axis=1)
    return Ratings.from_arrays(u, v, model.values_[level])


def _copies(
    rng: np.random.Generator, factors: np.ndarray, offsets: np.ndarray, which: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return changed factors and offsets of nodes; their variance stays the same."""
    keep = np.sqrt(1 - _CHANGE**2)
    found = []
    for values in (factors.astype(np.float64), offsets.astype(np.float64)):
        center, spread = values.mean(axis=0), values.std(axis=0)
        own = values[which]
        noise = rng.normal(0, 1, own.shape) * spread
        found.append(center + keep * (own - center) + _CHANGE * noise)
    return found[0], found[1]


def _labels(rng: np.random.Generator, labels: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Return the labels of copies; some are replaced by those of random nodes."""
    own = labels[which]
    other = labels[rng.integers(0, len(labels), own.shape), np.arange(own.shape[1])]
    return np.where(rng.random(own.shape) < _NEW_LABEL, other, own)


def _chosen_pairs(
    rng: np.random.Generator, data: Ratings, users: np.ndarray, items: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw who rates what: each user draws items without replacement (Gumbel-top-k)."""
    by_user = np.bincount(data.users, minlength=data.n_users)
    by_item = np.bincount(data.items, minlength=data.n_items)
    rated = csr_array(
        (np.ones(len(data)), (data.users, data.items)), shape=(data.n_users, data.n_items)
    )
    scaled = rated / np.sqrt(np.outer(by_user + 1.0, by_item + 10.0))
    left, size, right = svds(csr_array(scaled), k=_VECTORS, v0=np.ones(min(rated.shape)))
    strong = size < size.max()  # the largest one repeats the numbers of ratings
    left, right = (left * size)[:, strong] * np.sqrt(by_user + 1.0)[:, None] ** -1, right[strong].T
    right = right / np.sqrt(by_item + 10.0)[:, None]
    left = left / np.linalg.norm(left, axis=1, keepdims=True)
    left = _copies(rng, left, by_user * 0.0, users)[0]
    right = _copies(rng, right, by_item * 0.0, items)[0]
    popular = np.log(by_item[items] + 0.5) + rng.normal(0, 0.3, len(items))
    active = by_user[users] * np.exp(rng.normal(0, 0.2, len(users)))
    most = 0.7 * len(items)
    counts = np.clip(active / active.sum() * count, 10, most)
    for _ in range(20):  # the clipped part goes to the others
        counts = np.clip(counts * count / counts.sum(), 10, most)
    u, v = [], []
    scale = _CHOICE / (left[:500] @ right.T).std()
    for user, own in enumerate(counts.astype(int)):
        score = popular + scale * (right @ left[user]) + rng.gumbel(size=len(items))
        v.append(np.argpartition(-score, own - 1)[:own])
        u.append(np.full(own, user))
    return np.concatenate(u), np.concatenate(v)

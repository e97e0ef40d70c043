"""What the chains should listen to, asked of ratings held back: who rated what, the ratings alone,
or nothing but offsets.

Two short chains of each kind are fitted to four fifths of the ratings and predict the last fifth.
The mean product of their two errors is the squared error that many chains of that kind would have,
for what one chain gets wrong by chance the other does not; half their mean squared difference is
what a chain adds by chance. From both, and the products between kinds, follows the squared error of
any mixture; the best division of the n chains among the kinds is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from coterie.base.randomness import stream_keys
from coterie.engine import Engine
from coterie.kernels.additive.chain import advance
from coterie.kernels.additive.predict import distributions
from coterie.models.additive.chains import (
    AdditiveShape,
    ChainKind,
    Observed,
    keep,
    observe,
    schedule,
    stack,
    start_chain,
)

FEWEST = 100  # ratings below which there is nothing to ask
_MOST = 200_000  # ratings of a pilot; of a larger table, those of users drawn at random
_ENOUGH = 10_000  # ratings held back; more fifths in turn are until there are so many
_PARTS, _CHAINS = 5, 2
_SWEEPS, _SETTLE, _EVERY = 60, 25, 5


class Trial(NamedTuple):
    """One chain on one split: what it is fitted to, and which pairs it predicts."""

    kind: ChainKind
    train: Observed
    users: np.ndarray
    items: np.ndarray


def divide(
    kinds: list[ChainKind],
    n_chains: int,
    observed: Observed,
    run: Callable[[int, Trial], np.ndarray],
    values: np.ndarray,
    rng: np.random.Generator,
    engine: Engine,
) -> list[ChainKind]:
    """The kind of each of the chains, those of the first kind first."""
    splits = list(_splits(_part(observed, rng), rng))
    if not splits:
        return [kinds[0]] * n_chains
    trials = [
        Trial(kind, train, test.users, test.items)
        for train, test in splits
        for kind in kinds
        for _ in range(_CHAINS)
    ]
    found = engine.map(run, stream_keys(rng, len(trials)), trials)
    by_split = len(kinds) * _CHAINS
    errors = np.hstack(
        [
            np.array(found[at * by_split : (at + 1) * by_split]) - values[test.level]
            for at, (_, test) in enumerate(splits)
        ]
    ).reshape(len(kinds), _CHAINS, -1)
    counts = best_division(errors, n_chains)
    return [kind for kind, count in zip(kinds, counts, strict=True) for _ in range(count)]


def best_division(errors: np.ndarray, n_chains: int) -> tuple[int, ...]:
    """How many chains of each kind; IN errors: kinds x 2 chains x ratings held back.

    >>> wrong = np.array([[1.0, -1.0, 1.0, 1.0]])
    >>> best_division(np.array([np.vstack([wrong, wrong]), np.vstack([wrong, wrong]) / 2]), 4)
    (0, 4)
    """
    first, second = errors[:, 0], errors[:, 1]
    mean = (first + second) / 2
    product = mean @ mean.T / mean.shape[1]
    np.fill_diagonal(product, (first * second).mean(axis=1))
    chance = ((first - second) ** 2).mean(axis=1) / 2

    def squared_error(counts: tuple[int, ...]) -> float:
        share = np.array(counts) / n_chains
        return float(share @ product @ share + share @ chance / n_chains)

    return min(_divisions(n_chains, len(errors)), key=squared_error)


def _divisions(total: int, kinds: int) -> Iterator[tuple[int, ...]]:
    """Every way to divide `total` among the kinds, most of the first kind first."""
    if kinds == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in _divisions(total - first, kinds - 1):
            yield (first, *rest)


def _part(observed: Observed, rng: np.random.Generator) -> Observed:
    """The ratings of as many users, drawn at random, as have 200,000 of them."""
    if len(observed.level) <= _MOST:
        return observed
    order = rng.permutation(observed.n_users)
    taken = np.zeros(observed.n_users, bool)
    taken[order[np.cumsum(np.diff(observed.edges.row_ptr)[order]) <= _MOST]] = True
    return _rows(observed, taken[observed.users])


def _splits(observed: Observed, rng: np.random.Generator) -> Iterator[tuple[Observed, Observed]]:
    """Training and test parts; pairs of a user or an item without training are not tested."""
    held, parts = 0, np.array_split(rng.permutation(len(observed.level)), _PARTS)
    for part in parts:
        if held >= _ENOUGH:
            break
        mine = np.zeros(len(observed.level), bool)
        mine[part] = True
        train = _rows(observed, ~mine)
        mine &= np.isin(observed.users, train.users) & np.isin(observed.items, train.items)
        held += len(part)
        if mine.any():
            yield train, _rows(observed, mine)


def _rows(observed: Observed, which: np.ndarray) -> Observed:
    columns = (observed.users[which], observed.items[which], observed.level[which])
    return observe(*columns, observed.n_users, observed.n_items)


def predict_held_back(
    key: int, trial: Trial, shape: AdditiveShape, values: np.ndarray, negatives_per_rating: float
) -> np.ndarray:
    """Expected ratings of the trial's pairs by one short chain."""
    train = trial.train
    chain, seen = start_chain(key, trial.kind, shape, train, negatives_per_rating)
    moves = schedule(trial.kind)
    advance(chain, train.edges, train.level, seen, moves, _SETTLE)
    samples = []
    for _ in range(_SETTLE, _SWEEPS, _EVERY):
        advance(chain, train.edges, train.level, seen, moves, _EVERY)
        samples.append(keep(chain, train))
    p = distributions(stack(samples), trial.users, trial.items, 0, len(trial.users))
    return np.asarray(p @ values)

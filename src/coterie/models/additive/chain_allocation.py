"""Choose which data each chain uses, by predicting held-out ratings.

Two short chains of each kind are fitted to four fifths of the ratings and predict the last fifth.
Their errors consist of a part that all chains of a kind share and of an independent random part.
The mean product of the errors of the two chains estimates the squared error of the shared part,
which is that of many chains; half of their mean squared difference estimates the variance that one
chain adds. From both, and from the products between kinds, follows the squared error of any mixture
of chains. The allocation of the n chains to the kinds with the smallest error is used, unless its
gain over offsets alone is less than one standard error: then all chains have offsets only.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from coterie.base.progress import Callback, Progress
from coterie.base.randomness import stream_keys
from coterie.engine import Engine
from coterie.kernels.additive.chain import advance
from coterie.kernels.additive.predict import distributions
from coterie.models.additive.chains import (
    ChainInputs,
    ChainKind,
    Observed,
    chain_data,
    chain_inputs,
    observe,
    sample_of,
    schedule,
    stack_samples,
    start_chain,
)

_MIN_RATINGS = 100  # with fewer ratings there is no pilot
_MAX_PILOT_RATINGS = 200_000  # of a larger table the pilot uses users drawn at random
_MIN_HELD_OUT = 10_000  # ratings; further folds are held out until there are this many
_FOLDS, _MAX_FOLDS_USED, _CHAINS_PER_KIND = 5, 3, 2
_SWEEPS, _BURN_IN, _KEEP_EVERY = 45, 20, 5


class PilotChain(NamedTuple):
    """A short chain: its kind, its inputs, and the held-out pairs that it predicts."""

    kind: ChainKind
    inputs: ChainInputs
    users: np.ndarray
    items: np.ndarray


def choose_kinds(
    inputs: ChainInputs,
    values: np.ndarray,
    n_chains: int,
    rng: np.random.Generator,
    engine: Engine,
    callback: Callback,
    *,
    pilot: bool,
) -> list[ChainKind]:
    """Return the kind of each chain; kinds that use the most data come first.

    Without a pilot, with few ratings or with one level, all chains have the first kind.
    """
    kinds = possible_kinds(inputs)
    if not pilot or len(inputs.observed.level) < _MIN_RATINGS or inputs.shape.levels < 2:
        return kinds[:1] * n_chains
    callback(Progress("pilot", 0, 1))
    errors = pilot_errors(kinds, inputs, values, rng, engine)
    if errors is None:
        return kinds[:1] * n_chains
    counts = best_allocation(errors, n_chains)
    return [kind for kind, count in zip(kinds, counts, strict=True) for _ in range(count)]


def possible_kinds(inputs: ChainInputs) -> list[ChainKind]:
    """Return the kinds that settings and ratings allow; kinds that use the most data come first."""
    presence = inputs.presence
    with_presence = presence.weight > 0 and presence.negatives_per_rating > 0
    grouped = ChainKind.PRESENCE if with_presence and inputs.shape.levels > 1 else ChainKind.RATINGS
    factored = [ChainKind.FACTORS] if inputs.shape.factors else []
    return [grouped, *factored, ChainKind.OFFSETS]


def pilot_errors(
    kinds: list[ChainKind],
    inputs: ChainInputs,
    values: np.ndarray,
    rng: np.random.Generator,
    engine: Engine,
) -> np.ndarray | None:
    """Return prediction errors, kinds x 2 chains x held-out ratings; None if none is testable."""
    splits = list(_splits(_pilot_ratings(inputs.observed, rng), rng))
    if not splits:
        return None
    of_splits = [
        chain_inputs(inputs.shape, train, inputs.presence, inputs.user_side, inputs.item_side)
        for train, _ in splits
    ]
    pilots = [
        PilotChain(kind, own, test.users, test.items)
        for own, test in zip(of_splits, (test for _, test in splits), strict=True)
        for kind in kinds
        for _ in range(_CHAINS_PER_KIND)
    ]
    task = partial(predict_held_out, values=values)
    predicted = engine.map(task, stream_keys(rng, len(pilots)), pilots)
    per_split = len(kinds) * _CHAINS_PER_KIND
    errors = [
        np.array(predicted[at * per_split : (at + 1) * per_split]) - values[test.level]
        for at, (_, test) in enumerate(splits)
    ]
    return np.hstack(errors).reshape(len(kinds), _CHAINS_PER_KIND, -1)


def best_allocation(errors: np.ndarray, n_chains: int) -> tuple[int, ...]:
    """Return the number of chains of each kind; errors: kinds x 2 chains x held-out ratings.

    The last kind is the simplest one.

    >>> wrong = np.array([[1.0, -1.0, 1.0, 1.0]])
    >>> best_allocation(np.array([np.vstack([wrong, wrong]), np.vstack([wrong, wrong]) / 2]), 4)
    (0, 4)
    """
    first, second = errors[:, 0], errors[:, 1]
    mean = (first + second) / 2
    product = mean @ mean.T / mean.shape[1]
    np.fill_diagonal(product, (first * second).mean(axis=1))
    variance = ((first - second) ** 2).mean(axis=1) / 2

    def squared_error(counts: tuple[int, ...]) -> float:
        share = np.array(counts) / n_chains
        return float(share @ product @ share + share @ variance / n_chains)

    best = min(_allocations(n_chains, len(errors)), key=squared_error)
    simplest = (*(0 for _ in errors[1:]), n_chains)
    mixed = np.array(best) @ mean / n_chains
    gains = mean[-1] ** 2 - mixed**2
    standard_error = float(gains.std() / np.sqrt(len(gains)))
    if squared_error(simplest) - squared_error(best) < standard_error:
        return simplest
    return best


def _allocations(total: int, kinds: int) -> Iterator[tuple[int, ...]]:
    """Yield every allocation of `total` chains to the kinds, most of the first kind first."""
    if kinds == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in _allocations(total - first, kinds - 1):
            yield (first, *rest)


def _pilot_ratings(observed: Observed, rng: np.random.Generator) -> Observed:
    """Return all ratings, or of a large table those of users drawn at random."""
    if len(observed.level) <= _MAX_PILOT_RATINGS:
        return observed
    order = rng.permutation(observed.n_users)
    taken = np.zeros(observed.n_users, bool)
    counts = np.diff(observed.edges.row_ptr)[order]
    taken[order[np.cumsum(counts) <= _MAX_PILOT_RATINGS]] = True
    return _subset(observed, taken[observed.users])


def _splits(observed: Observed, rng: np.random.Generator) -> Iterator[tuple[Observed, Observed]]:
    """Yield training and test ratings; users and items without training are not tested."""
    n_held_out, folds = 0, np.array_split(rng.permutation(len(observed.level)), _FOLDS)
    for fold in folds[:_MAX_FOLDS_USED]:
        if n_held_out >= _MIN_HELD_OUT:
            break
        test = np.zeros(len(observed.level), bool)
        test[fold] = True
        train = _subset(observed, ~test)
        test &= np.isin(observed.users, train.users) & np.isin(observed.items, train.items)
        n_held_out += len(fold)
        if test.any():
            yield train, _subset(observed, test)


def _subset(observed: Observed, which: np.ndarray) -> Observed:
    """Return the ratings that a mask selects."""
    columns = (observed.users[which], observed.items[which], observed.level[which])
    return observe(*columns, observed.n_users, observed.n_items)


def predict_held_out(key: int, pilot: PilotChain, values: np.ndarray) -> np.ndarray:
    """Return the expected ratings of the held-out pairs, from one short chain."""
    chain, presence_pairs = start_chain(key, pilot.kind, pilot.inputs)
    moves, data = schedule(pilot.kind, pilot.inputs), chain_data(pilot.inputs, presence_pairs)
    advance(chain, data, moves, _BURN_IN)
    samples = []
    for _ in range(_BURN_IN, _SWEEPS, _KEEP_EVERY):
        advance(chain, data, moves, _KEEP_EVERY)
        samples.append(sample_of(chain, pilot.inputs.observed))
    p = distributions(stack_samples(samples), pilot.users, pilot.items, 0, len(pilot.users))
    return np.asarray(p @ values)

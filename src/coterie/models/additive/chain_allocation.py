"""Choose which data each chain uses, by predicting held-out ratings.

Two short chains of each kind are fitted to four fifths of the ratings and predict the last fifth.
Their errors consist of a part that all chains of a kind share and of an independent random part.
The mean product of the errors of the two chains estimates the squared error of the shared part,
which is that of many chains; half of their mean squared difference estimates the variance that one
chain adds. From both, and from the products between kinds, follows the squared error of any mixture
of chains. The allocation of the n chains to the kinds with the smallest error is used, unless one
of simpler kinds is worse by less than one standard error: the simplest such allocation is used.

Small tables hold out further fifths, one after the other. A kind that has lost is not fitted again,
and the pilot ends as soon as offsets alone are clearly worse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
_CLEAR = 3.0  # standard errors; a kind that is worse by more than this gets no chains
_SWEEPS, _BURN_IN, _KEEP_EVERY = 40, 20, 5


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
    counts = pilot_allocation(kinds, inputs, values, n_chains, rng, engine)
    return [kind for kind, count in zip(kinds, counts, strict=True) for _ in range(count)]


def possible_kinds(inputs: ChainInputs) -> list[ChainKind]:
    """Return the kinds that settings and ratings allow; kinds that use the most data come first."""
    presence = inputs.presence
    with_presence = presence.weight > 0 and presence.negatives_per_rating > 0
    grouped = ChainKind.PRESENCE if with_presence and inputs.shape.levels > 1 else ChainKind.RATINGS
    factored = [ChainKind.FACTORS] if inputs.shape.factors else []
    return [grouped, *factored, ChainKind.OFFSETS]


def pilot_allocation(
    kinds: list[ChainKind],
    inputs: ChainInputs,
    values: np.ndarray,
    n_chains: int,
    rng: np.random.Generator,
    engine: Engine,
) -> tuple[int, ...]:
    """Return the number of chains of each kind; all of the first kind if nothing is testable."""
    observed = _pilot_ratings(inputs.observed, rng)
    folds = np.array_split(rng.permutation(len(observed.level)), _FOLDS)
    keys = stream_keys(rng, _MAX_FOLDS_USED * len(kinds) * _CHAINS_PER_KIND)
    keys = keys.reshape(_MAX_FOLDS_USED, len(kinds), _CHAINS_PER_KIND)
    task = partial(predict_held_out, values=values)
    left = np.arange(len(kinds))  # the kinds that have not lost
    errors = np.zeros((len(kinds), _CHAINS_PER_KIND, 0))
    counts = np.zeros(len(kinds), np.int64)
    counts[0] = n_chains
    n_held_out = 0
    for fold, own_keys in zip(folds[:_MAX_FOLDS_USED], keys, strict=True):
        n_held_out += len(fold)
        train, test = _split(observed, fold)
        if len(test.level):
            own = chain_inputs(
                inputs.shape, train, inputs.presence, inputs.user_side, inputs.item_side
            )
            pilots = [
                PilotChain(kinds[number], own, test.users, test.items)
                for number in left
                for _ in range(_CHAINS_PER_KIND)
            ]
            predicted = engine.map(task, own_keys[left].ravel(), pilots)
            new = np.array(predicted) - values[test.level]
            new = new.reshape(len(left), _CHAINS_PER_KIND, -1)
            errors = np.concatenate([errors, new], axis=2)
            used = PilotErrors(errors, n_chains).candidates()
            counts[:] = 0
            counts[left[used]] = best_allocation(errors[used], n_chains)
            in_play = kinds_in_play(errors, n_chains, sparing=bool(left[0] == 0))
            left, errors = left[in_play], errors[in_play]
        if len(left) == 1 or n_held_out >= _MIN_HELD_OUT:
            break
    return tuple(counts.tolist())


class PilotErrors:
    """What the errors of short chains say about every mixture of n chains.

    Parameters
    ----------
    errors : ndarray of shape (n_kinds, 2, n_held_out)
        Errors of two chains of each kind; the last kind is the simplest one.
    n_chains : int
        Number of chains of a mixture.
    """

    def __init__(self, errors: np.ndarray, n_chains: int) -> None:
        first, second = errors[:, 0], errors[:, 1]
        self.n_chains = n_chains
        self.mean = (first + second) / 2
        self.product = self.mean @ self.mean.T / self.mean.shape[1]
        np.fill_diagonal(self.product, (first * second).mean(axis=1))
        self.variance = ((first - second) ** 2).mean(axis=1) / 2

    def squared_error(self, counts: tuple[int, ...]) -> float:
        """Return the expected squared error of a mixture."""
        share = np.array(counts) / self.n_chains
        return float(share @ self.product @ share + share @ self.variance / self.n_chains)

    def pure(self, kind: int) -> tuple[int, ...]:
        """Return the mixture that has chains of one kind only."""
        return tuple(self.n_chains * (number == kind) for number in range(len(self.mean)))

    def best(self, kinds: Sequence[int]) -> tuple[int, ...]:
        """Return the best mixture of these kinds."""
        found = []
        for counts in _allocations(self.n_chains, len(kinds)):
            mixture = [0] * len(self.mean)
            for kind, count in zip(kinds, counts, strict=True):
                mixture[kind] = count
            found.append(tuple(mixture))
        return min(found, key=self.squared_error)

    def candidates(self) -> list[int]:
        """Return the kinds that are not clearly worse than the best one.

        The others get no chains: the chains of a pilot are short, and an average with offsets helps
        them more than it helps the chains of a fit.
        """
        pure = [self.pure(kind) for kind in range(len(self.mean))]
        best = min(pure, key=self.squared_error)
        gains = [self.gain(best, one) for one in pure]
        return [kind for kind, (gain, error) in enumerate(gains) if gain <= _CLEAR * error]

    def gain(self, counts: tuple[int, ...], over: tuple[int, ...]) -> tuple[float, float]:
        """Return by how much a mixture is better than another, and the standard error of that."""
        mixed, other = (np.array(one) @ self.mean / self.n_chains for one in (counts, over))
        gains = other**2 - mixed**2
        standard_error = float(gains.std() / np.sqrt(len(gains)))
        return self.squared_error(over) - self.squared_error(counts), standard_error


def best_allocation(errors: np.ndarray, n_chains: int) -> tuple[int, ...]:
    """Return the number of chains of each kind; errors: kinds x 2 chains x held-out ratings.

    The later a kind, the simpler it is. The simplest allocation is returned whose squared error is
    within one standard error of the smallest.

    >>> wrong = np.array([[1.0, -1.0, 1.0, 1.0]])
    >>> best_allocation(np.array([np.vstack([wrong, wrong]), np.vstack([wrong, wrong]) / 2]), 4)
    (0, 4)
    """
    found, kinds = PilotErrors(errors, n_chains), range(len(errors))
    best = found.best(kinds)
    for simplest in range(1, len(kinds)):
        simpler = found.best(kinds[-simplest:])
        gain, standard_error = found.gain(best, simpler)
        if gain < standard_error:
            return simpler
    return best


def kinds_in_play(errors: np.ndarray, n_chains: int, *, sparing: bool = False) -> list[int]:
    """Return the kinds that more held-out ratings could still choose.

    One kind is left if offsets alone, the last kind, are clearly worse than the best one. Another
    kind is left if it is part of the best mixture, or worse by at most one standard error; the
    first, if `sparing`, only if it is part of the best mixture.
    """
    found = PilotErrors(errors, n_chains)
    kinds, last = found.candidates(), len(errors) - 1
    best = found.best(kinds)
    if last not in kinds:
        return [int(np.argmax(best))]
    kept = []
    for kind in kinds[:-1]:
        gain, standard_error = found.gain(best, found.pure(kind))
        is_near = gain <= standard_error and not (sparing and kind == 0)
        if best[kind] or is_near:
            kept.append(kind)
    return [*kept, last]


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


def _split(observed: Observed, fold: np.ndarray) -> tuple[Observed, Observed]:
    """Return training and test ratings; users and items without training are not tested."""
    test = np.zeros(len(observed.level), bool)
    test[fold] = True
    train = _subset(observed, ~test)
    test &= np.isin(observed.users, train.users) & np.isin(observed.items, train.items)
    return train, _subset(observed, test)


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

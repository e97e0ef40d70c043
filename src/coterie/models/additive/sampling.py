"""Run the chains of an additive fit in parallel and keep their samples.

The chains are independent, so the variance between their mean predictions, divided by the number
of chains, estimates the squared error that comes from averaging finitely many samples. More samples
reduce only this part of the error, and decide when a fit stops (`SamplingError`). No ratings are
held back for it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from coterie.base.array_checks import ArrayError, check_array
from coterie.base.progress import Callback, Iteration, Progress
from coterie.data.negatives import are_in
from coterie.engine import Engine, LocalEngine
from coterie.engine.checkpoint import RunCheckpoint, check_seeds
from coterie.kernels.additive.chain import Chain, advance
from coterie.kernels.additive.predict import Samples, distributions
from coterie.kernels.additive.response_styles import entropy
from coterie.kernels.additive.sweep import Edges
from coterie.models.additive.chains import (
    ChainInputs,
    ChainKind,
    Observed,
    chain_data,
    sample_of,
    schedule,
    stack_samples,
    start_chain,
)
from coterie.models.additive.rating_scale import check_cuts
from coterie.models.additive.validation import SamplingPlan

KIND = "additive block model"
_LARGE = 1e15  # far above any number of a chain; larger ones would overflow


@dataclass
class AdditiveFitState:
    """A fit in progress: everything a checkpoint stores to continue with the same numbers.

    The unrated pairs that a chain uses are not stored, because they follow from its key.
    """

    keys: list[int]  # one per chain: the seed of its random numbers
    kinds: list[ChainKind]  # one per chain
    chains: list[Chain] = field(default_factory=list)  # empty until the fit starts
    samples: list[list[Samples]] = field(default_factory=list)  # per round, one per chain
    history: list[Iteration] = field(default_factory=list)

    @property
    def sweeps(self) -> int:
        """Number of sweeps done."""
        return self.history[-1].iteration if self.history else 0

    @property
    def seconds(self) -> float:
        """Seconds spent on sweeps, in this and in earlier fits of the same checkpoint."""
        return self.history[-1].seconds if self.history else 0.0


def check_fit(
    fit: AdditiveFitState, new: Sequence[Chain], inputs: ChainInputs, burn_in: int
) -> None:
    """Raise ArrayError if chains or samples from a file do not fit the data and the settings.

    `new` are the chains of a new fit: those of the file must have the same types and shapes.
    """
    sweeps = [0, *(row.iteration for row in fit.history)]
    if any(b <= a for a, b in pairwise(sweeps)):
        raise ArrayError("history: the sweeps do not rise")
    if len(fit.samples) != sum(sweep > burn_in for sweep in sweeps):
        raise ArrayError(f"samples: {len(fit.samples)} rounds do not fit the history")
    if not len(fit.chains) == len(fit.kinds) == len(fit.keys) == len(new):
        raise ArrayError(f"chains: {len(fit.chains)} instead of {len(new)}")
    shape = inputs.shape
    groups = {"g": shape.user_groups, "h": shape.item_groups, "style": shape.styles}
    labels = {"user_labels": groups["g"], "item_labels": groups["h"], "styles": groups["style"]}
    for chain, like in zip(fit.chains, new, strict=True):
        _check_fields(chain, like, groups)
        check_array("precision", chain.precision, np.float64, (None,), low=0, below=_LARGE)
        check_cuts(chain.cuts)
        if not 0 <= chain.sweeps[0] == fit.sweeps:
            raise ArrayError(f"sweeps: {chain.sweeps[0]}, but the history has {fit.sweeps}")
    for samples in fit.samples:
        if len(samples) != len(new):
            raise ArrayError(f"samples: of {len(samples)} chains instead of {len(new)}")
        for sample, chain in zip(samples, new, strict=True):
            _check_fields(sample, sample_of(chain, inputs.observed), labels)


def _check_fields(given: NamedTuple, like: NamedTuple, groups: dict[str, int]) -> None:
    """Compare named tuples of arrays; `groups` has the number of groups of each array of labels."""
    for name, array, pattern in zip(like._fields, given, like, strict=True):
        check_array(name, array, pattern.dtype, pattern.shape, below=groups.get(name))
        if array.dtype.kind == "f" and array.size and np.abs(array).max() > _LARGE:
            raise ArrayError(f"{name}: a number is larger than {_LARGE:g}")


# If a save takes longer than _QUICK seconds, the next one waits for this many times its duration
_SAVING_SHARE = 20.0
_QUICK = 0.5
# Ratings; with more, chains start one after the other: a start needs four times a chain's memory
_STARTED_TOGETHER = 5_000_000


def sample_chains(
    fit: AdditiveFitState,
    inputs: ChainInputs,
    values: np.ndarray,
    plan: SamplingPlan,
    engine: Engine,
    file: RunCheckpoint,
    callback: Callback,
) -> bool:
    """Run the chains of a new or resumed fit to the end; return whether it was interrupted.

    One round advances every chain by `plan.keep_every` sweeps. After the burn-in each round keeps
    one sample per chain. The fit ends after `plan.n_sweeps` sweeps, or earlier if more samples
    would change the squared error by a smaller share than `plan.tolerance`.
    """
    with file.errors():
        check_seeds(fit.keys)
        if not len(fit.keys) == len(fit.kinds) == plan.n_chains:
            raise ArrayError(f"chains: {len(fit.keys)} instead of {plan.n_chains}")
    runs = _ChainRuns(fit, inputs, engine)
    if fit.chains or fit.samples or fit.history:  # from a checkpoint
        with file.errors():
            check_fit(fit, runs.current(), inputs, plan.burn_in)
        runs.replace(fit.chains)
    fit.chains = []
    error = SamplingError(inputs.observed, values, fit.keys[0])
    if plan.tolerance > 0:
        for samples in fit.samples:  # of a checkpoint
            error.add(samples)
    clock = time.perf_counter() - fit.seconds
    saved_until = saving = 0.0  # seconds: when the last save ended, and how long it took
    latest: list[Samples] = []  # of the last round
    interrupted = False
    try:
        while fit.sweeps < plan.n_sweeps and error.share() > plan.tolerance:
            sweeps = min(plan.keep_every, plan.n_sweeps - fit.sweeps)
            advanced = runs.advance(sweeps)
            mean_entropy = sum(entropy for entropy, _ in advanced) / plan.n_chains
            latest = [sample for _, sample in advanced]
            if fit.sweeps + sweeps > plan.burn_in:
                fit.samples.append(latest)
                if plan.tolerance > 0:
                    error.add(latest)
            seconds = time.perf_counter() - clock
            fit.history.append(Iteration(fit.sweeps + sweeps, seconds, mean_entropy))
            now = time.perf_counter() - clock
            at_end = fit.sweeps >= plan.n_sweeps or error.share() <= plan.tolerance
            is_last = file.path is not None and at_end
            is_quick = saving < _QUICK or now - saved_until >= _SAVING_SHARE * saving
            if is_last or (file.due(len(fit.history)) and is_quick):
                fit.chains = runs.current()
                file.save(fit)
                fit.chains = []
                saved_until = time.perf_counter() - clock
                saving = saved_until - now
            note = f"{plan.n_chains} chains"
            callback(Progress("fit", fit.sweeps, plan.n_sweeps, mean_entropy, note))
    except KeyboardInterrupt:
        if not latest:
            raise
        interrupted = True
    fit.samples = fit.samples or [latest]  # interrupted during the burn-in
    return interrupted


class _ChainRuns:
    """The chains of a fit where they run: in this process, or on the workers of a cluster.

    Chains and ratings stay where they are; only samples are sent after each round.
    """

    def __init__(self, fit: AdditiveFitState, inputs: ChainInputs, engine: Engine) -> None:
        self._engine = engine
        self._shared = isinstance(engine, LocalEngine)  # chains can be changed in place
        self._kinds = fit.kinds
        self._inputs = [engine.broadcast(inputs)] * len(fit.keys)
        if self._shared and len(inputs.observed.level) > _STARTED_TOGETHER:
            own = zip(fit.keys, fit.kinds, self._inputs, strict=True)
            started = [start_chain(*one) for one in own]
        else:
            started = engine.submit(
                start_chain, fit.keys, fit.kinds, self._inputs, one_task_each=True
            )
        self._chains = engine.select(started, 0)
        self._presence_pairs = engine.select(started, 1)

    def advance(self, sweeps: int) -> list[tuple[float, Samples]]:
        """Advance every chain; return the entropy and a sample of its new state."""
        count = len(self._chains)
        task = partial(advance_chain, sweeps=sweeps, in_place=self._shared)
        done = self._engine.submit(
            task,
            self._chains,
            self._presence_pairs,
            self._kinds,
            self._inputs[:count],
            one_task_each=True,
        )
        results = self._engine.gather(self._engine.select(done, 1))
        self._chains = self._engine.select(done, 0)
        return results

    def current(self) -> list[Chain]:
        """Return the states of the chains."""
        return self._engine.gather(self._chains)

    def replace(self, chains: list[Chain]) -> None:
        """Continue from these states."""
        self._chains = [self._engine.broadcast(chain) for chain in chains]


def advance_chain(
    chain: Chain,
    presence_pairs: Edges,
    kind: ChainKind,
    inputs: ChainInputs,
    sweeps: int,
    *,
    in_place: bool,
) -> tuple[Chain, tuple[float, Samples]]:
    """Advance one chain; return it with the entropy and a sample of its new state."""
    if not in_place:  # a cluster may need the old state to repeat a task
        chain = Chain(*(array.copy() for array in chain))
    observed = inputs.observed
    advance(chain, chain_data(inputs, presence_pairs), schedule(kind, inputs), sweeps)
    nats = entropy(observed.edges, observed.level, chain.z, chain.x, chain.style, chain.cuts)
    return chain, (float(nats), sample_of(chain, observed))


_MAX_PAIRS = 2000


class SamplingError:
    """The share of the squared error of predictions that is due to the number of samples.

    Predictions are compared on unrated pairs, drawn so that users are as active and items as
    popular as in the ratings.
    """

    def __init__(self, observed: Observed, values: np.ndarray, key: int) -> None:
        self.values = values
        self.users, self.items = _unrated_pairs(observed, np.random.default_rng(key))
        self.rounds = 0
        self.means = np.zeros(0)  # chains x pairs: sums of expected ratings over rounds
        self.noise = 0.0  # sum over rounds of the mean variance of a predicted distribution

    def add(self, samples: Sequence[Samples]) -> None:
        """Add one round: a sample of each chain."""
        p = np.array(
            [
                distributions(stack_samples([one]), self.users, self.items, 0, len(self.users))
                for one in samples
            ]
        )
        expected = p @ self.values
        if not self.rounds:
            self.means = np.zeros_like(expected)
        self.means += expected
        self.noise += float((p @ self.values**2 - expected**2).mean())
        self.rounds += 1

    def share(self) -> float:
        """Return the share; infinite with fewer than two chains or two rounds."""
        if self.rounds < 2 or len(self.means) < 2:
            return np.inf
        means = self.means / self.rounds
        variance = float(means.var(axis=0, ddof=1).mean()) / len(means)
        return variance / max(self.noise / self.rounds, 1e-12)


def _unrated_pairs(observed: Observed, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return users and items of unrated pairs in user order; of any pairs if all are rated."""
    n = len(observed.level)
    users = observed.users[rng.integers(0, n, 2 * _MAX_PAIRS)]
    items = observed.items[rng.integers(0, n, 2 * _MAX_PAIRS)]
    rated = observed.users * observed.n_items + observed.items
    unrated = np.flatnonzero(~are_in(users * observed.n_items + items, rated))
    chosen = (unrated if len(unrated) else np.arange(len(users)))[:_MAX_PAIRS]
    order = chosen[np.argsort(users[chosen], kind="stable")]
    return users[order], items[order]

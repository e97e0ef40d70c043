"""Run the chains of an additive fit in parallel and keep their samples."""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from coterie.base.array_checks import ArrayError
from coterie.base.progress import Callback, Iteration, Progress
from coterie.engine import Engine, LocalEngine
from coterie.engine.checkpoint import RunCheckpoint, check_seeds
from coterie.kernels.additive.chain import Chain, advance
from coterie.kernels.additive.predict import Samples
from coterie.kernels.additive.response_styles import entropy
from coterie.kernels.additive.sweep import Edges
from coterie.models.additive.chains import (
    ChainInputs,
    ChainKind,
    chain_data,
    sample_of,
    schedule,
    start_chain,
)
from coterie.models.additive.checkpoint import AdditiveFitState, check_fit
from coterie.models.additive.convergence import SamplingError
from coterie.models.additive.validation import SamplingPlan

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

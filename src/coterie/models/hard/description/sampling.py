"""Samples of partitions from the posterior: how certain are the blocks?

The probability of a partition is proportional to exp(-description length). A chain starts at the
best partition and repeats heat-bath sweeps over the nodes and merge-split steps
(`kernels/hard/description_moves.py`); both leave the posterior unchanged, and a chain can reach
every partition. Labels of a sample are aligned with the best partition by the largest overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from coterie.base.errors import InputError
from coterie.base.lazy_modules import scipy_optimize, scipy_sparse
from coterie.base.progress import Callback, Progress, silent
from coterie.base.randomness import RandomState, as_generator, stream_keys
from coterie.base.renderers import NotebookView
from coterie.data import Graph
from coterie.engine import Engine, running_engine
from coterie.kernels.hard import description_moves as moves
from coterie.kernels.hard.description_state import Multigraph
from coterie.models.hard.costs import make_objective
from coterie.models.hard.description.choice import graph_objective
from coterie.models.hard.description.state import (
    KINDS,
    DescriptionState,
    ModelKind,
    multigraph,
    start_state,
)
from coterie.models.hard.label_tools import renumber

_STEPS_PER_BLOCK = 1  # merge-split steps per block and sweep


@dataclass(frozen=True, repr=False)
class PosteriorSamples(NotebookView):
    """Partitions drawn from the posterior of a block model.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples, n), int32
        The block of each node in each sample, numbered like the best partition where they overlap;
        blocks without a counterpart there have higher numbers. Samples of one chain are
        consecutive.
    marginals_ : ndarray of shape (n, k)
        How often each node is in each block of the best partition; the last column counts all
        other blocks.
    confidence_ : ndarray of shape (n,)
        How often each node is in its block of the best partition.
    description_lengths_ : ndarray of shape (n_chains, samples per chain)
        Description length of each sample in nats.
    block_counts_ : dict of int to float
        The share of the samples with each number of blocks.
    r_hat_ : float
        Variation of the description length between and within chains (Gelman and Rubin): values
        above 1.1 mean that the chains disagree and more samples are needed. NaN with one chain.
    """

    labels_: np.ndarray
    marginals_: np.ndarray
    confidence_: np.ndarray
    description_lengths_: np.ndarray
    block_counts_: dict[int, float]
    r_hat_: float

    def __repr__(self) -> str:
        samples, nodes = self.labels_.shape
        agree = "agree" if self.chains_agree else "disagree"
        return f"<PosteriorSamples: {samples:,} partitions of {nodes:,} nodes, chains {agree}>"

    @property
    def chains_agree(self) -> bool:
        """Whether the chains have similar description lengths (`r_hat_` is at most 1.1)."""
        return not self.r_hat_ > 1.1

    def co_membership(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return how often pairs of nodes share a block.

        Parameters
        ----------
        first, second : array-like of int
            Node numbers.

        Returns
        -------
        ndarray of float64
            One share per pair.
        """
        a, b = np.asarray(first), np.asarray(second)
        return np.asarray((self.labels_[:, a] == self.labels_[:, b]).mean(axis=0))


def sample_partitions(
    graph: Graph,
    labels: np.ndarray,
    model: str,
    *,
    n_samples: int = 100,
    n_chains: int = 2,
    thin: int = 2,
    burn_in: int = 20,
    rng: RandomState = 0,
    engine: str | Engine = "local",
    callback: Callback = silent,
) -> PosteriorSamples:
    """Draw partitions of a graph from the posterior of a model; every chain starts at `labels`."""
    for name, value in (("n_samples", n_samples), ("n_chains", n_chains), ("thin", thin)):
        if value < 1:
            raise InputError(f"invalid {name}: {value}", remedy="give at least 1")
    if model not in KINDS:
        raise InputError(
            f'the model "{model}" cannot be sampled', remedy=f"use one of {', '.join(KINDS)}"
        )
    side = make_objective(graph_objective(model), graph).sides[0]
    with running_engine(engine) as running:
        return draw_samples(
            KINDS[model],
            multigraph(side.indptr, side.indices),
            labels,
            n_samples=n_samples,
            n_chains=n_chains,
            thin=thin,
            burn_in=burn_in,
            rng=as_generator(rng),
            engine=running,
            callback=callback,
        )


def draw_samples(
    kind: ModelKind,
    graph: Multigraph,
    best: np.ndarray,
    *,
    n_samples: int,
    n_chains: int,
    thin: int,
    burn_in: int,
    rng: Generator,
    engine: Engine,
    callback: Callback = silent,
) -> PosteriorSamples:
    """Draw `n_samples` per chain after `burn_in` sweeps, `thin` sweeps apart."""
    best = renumber(best)
    keys = stream_keys(rng, n_chains)
    chains = [_Chain(kind, graph, best, int(key)) for key in keys]
    engine.map(lambda chain: chain.advance(burn_in), chains)
    labels: list[list[np.ndarray]] = [[] for _ in chains]
    lengths = np.empty((n_chains, n_samples))
    for sample in range(n_samples):
        engine.map(lambda chain: chain.advance(thin), chains)
        for c, chain in enumerate(chains):
            labels[c].append(aligned(renumber(chain.state.labels), best))
            lengths[c, sample] = chain.length
        callback(Progress("sampling", sample + 1, n_samples, float(lengths[:, sample].mean())))
    return summarized(np.array([z for chain in labels for z in chain]), lengths, best)


class _Chain:
    """One Markov chain of partitions."""

    def __init__(self, kind: ModelKind, graph: Multigraph, labels: np.ndarray, key: int) -> None:
        self.kind, self.graph = kind, graph
        self.rng = np.random.default_rng(key)
        self.state = self._started(labels)
        self.length = self.state.length()

    def _started(self, labels: np.ndarray) -> DescriptionState:
        n = len(labels)
        B = int(labels.max(initial=-1)) + 1
        return start_state(self.kind, self.graph, labels, spare=n + 1 if n <= 1000 else 64 + B // 2)

    def advance(self, sweeps: int) -> None:
        """Make sweeps, each with some merge-split steps."""
        n = len(self.state.labels)
        for _ in range(sweeps):
            if self.state.spare < 32 and n > 1000:
                self.state = self._started(self.state.labels)
            order = self.rng.permutation(n)
            key = stream_keys(self.rng, 1)[0]
            moves.gibbs_sweep(*self.state.arguments, order, key, 1.0)
            for key in (
                stream_keys(self.rng, _STEPS_PER_BLOCK * self.state.n_blocks) if n > 1 else ()
            ):
                moves.merge_split_step(*self.state.arguments, key)
        self.length = self.state.length()


def aligned(labels: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Return labels renumbered so that they overlap most with the best partition.

    >>> aligned(np.array([1, 1, 0, 2]), np.array([0, 0, 1, 1])).tolist()
    [0, 0, 1, 2]
    """
    k, q = int(labels.max(initial=-1)) + 1, int(best.max(initial=-1)) + 1
    overlap = scipy_sparse.coo_array((np.ones(len(labels)), (labels, best)), shape=(k, q)).toarray()
    rows, columns = scipy_optimize.linear_sum_assignment(-overlap)
    names = np.full(k, -1)
    for r, c in zip(rows, columns, strict=True):
        if overlap[r, c] > 0:
            names[r] = c
    missing = np.flatnonzero(names < 0)
    names[missing] = q + np.arange(len(missing))
    return np.asarray(names[labels], np.int32)


def summarized(labels: np.ndarray, lengths: np.ndarray, best: np.ndarray) -> PosteriorSamples:
    """Return the samples with their summaries."""
    n, k = len(best), int(best.max(initial=-1)) + 1
    marginals = np.zeros((n, k + 1))
    for sample in labels:
        marginals[np.arange(n), np.minimum(sample, k)] += 1.0
    marginals /= max(len(labels), 1)
    numbers, times = np.unique([len(np.unique(z)) for z in labels], return_counts=True)
    return PosteriorSamples(
        labels,
        marginals,
        marginals[np.arange(n), best] if n else np.zeros(0),
        lengths,
        {int(b): float(t / len(labels)) for b, t in zip(numbers, times, strict=True)},
        r_hat(lengths),
    )


def r_hat(values: np.ndarray) -> float:
    """Return the potential scale reduction of several chains (Gelman and Rubin 1992).

    >>> r_hat(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])) < 1.0
    True
    """
    chains, samples = values.shape
    if chains < 2 or samples < 2:
        return float("nan")
    within = values.var(axis=1, ddof=1).mean()
    between = values.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return 1.0 if between == 0.0 else float("inf")
    return float(np.sqrt((samples - 1) / samples + between / within))

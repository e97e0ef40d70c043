"""Samples of partitions from the posterior: how certain are the blocks?

The probability of a partition, or of a hierarchy, is proportional to exp(-description length). A
chain repeats heat-bath sweeps over the nodes and merge-split steps, level by level
(`kernels/hard/posterior_moves.py`). Each keeps the posterior, and their numbers never depend on
where the chain is, so the chain keeps it too; it can reach every partition, and every hierarchy
with the number of levels of the fitted one or fewer. Chains start at different partitions, so that
they agree only if they have forgotten where they started.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.base.errors import AssumptionWarning, InputError
from coterie.base.lazy_modules import scipy_optimize, scipy_sparse
from coterie.base.progress import Callback, Progress, silent
from coterie.base.randomness import RandomState, as_generator, stream_keys
from coterie.base.renderers import NotebookView
from coterie.base.special_functions import gammaln
from coterie.data import Graph
from coterie.engine import Engine, running_engine
from coterie.kernels.hard import posterior_moves as moves
from coterie.kernels.hard.description_state import INSIDE
from coterie.models.hard.costs import make_objective
from coterie.models.hard.description.choice import graph_objective, is_described
from coterie.models.hard.description.directed_weighted import DIRECTED, cell_data
from coterie.models.hard.description.fit import undirected_data
from coterie.models.hard.description.nested import nested_length
from coterie.models.hard.description.search import DescriptionSearch, Trail
from coterie.models.hard.description.state import (
    LEVEL,
    DescriptionData,
    DescriptionState,
    Prior,
    block_multigraph,
    grouped_cells,
    levels_above,
    start_state,
)
from coterie.models.hard.label_tools import renumber
from coterie.models.hard.weight_models import COUNTS

_FAR = 0.1  # share of the draws in which a node may go to any block, not to those of neighbours
_SMALL = 100  # nodes up to which chains start far away and make more sweeps
_SWEEPS = 5  # … between two samples
_ALL_ALONE = 200  # nodes up to which every one may be alone
_ROOM = 64  # blocks that a larger graph may gain in one sweep, and a quarter of the fitted number
_MOVED = 0.1  # share of the nodes of a larger graph that the fourth chain starts elsewhere
_AGREE = 1.1  # R-hat above which chains disagree
_STEPS = 10  # merge-split steps per sweep of a small graph, at least
_VISITS = 6  # of every member of two blocks, in a merge-split step
_MOST_MEMBERS = 5000  # of the two blocks of a merge-split step, or a few times the mean size
_FEW = 10  # independent samples below which a warning says so
_LEAST_MODE = 0.05  # share of the samples that a mode has at least
_COMPARED = 200  # samples that `modes` compares with each other


class Diagnostic(NamedTuple):
    """Whether the chains agree about one figure of the partitions."""

    r_hat: float
    effective_size: float


class Mode(NamedTuple):
    """One explanation of the network: partitions that differ little from each other."""

    labels: np.ndarray  # the partition that differs least from the others
    weight: float  # share of the samples
    description_length: float  # of these labels, in nats

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(np.unique(self.labels))


@dataclass(frozen=True, repr=False)
class PosteriorSamples(NotebookView):
    """Partitions, or hierarchies, drawn from the posterior of a block model.

    Attributes
    ----------
    levels_ : tuple of ndarray of shape (n_samples, n), int32
        The block of each node in each sample, per level of the fitted hierarchy; one level without
        a hierarchy. Blocks are numbered like the fitted ones where they overlap; blocks without a
        counterpart there have higher numbers. Samples of one chain are consecutive.
    best_ : tuple of ndarray of shape (n,), int32
        The fitted blocks per level.
    traces_ : dict of str to ndarray of shape (n_chains, samples per chain)
        Figures of each sample: description length in nats, number of blocks, edges inside blocks,
        nodes in their fitted block.
    """

    levels_: tuple[np.ndarray, ...]
    best_: tuple[np.ndarray, ...]
    traces_: dict[str, np.ndarray]

    def __repr__(self) -> str:
        samples, nodes = self.labels_.shape
        agree = "agree" if self.chains_agree else "disagree"
        return f"<PosteriorSamples: {samples:,} partitions of {nodes:,} nodes, chains {agree}>"

    @property
    def labels_(self) -> np.ndarray:
        """The block of each node in each sample, (n_samples, n); of the lowest level."""
        return self.levels_[0]

    @property
    def description_lengths_(self) -> np.ndarray:
        """Description length of each sample in nats: chains x samples."""
        return self.traces_["description length"]

    @cached_property
    def marginals_(self) -> np.ndarray:
        """How often each node is in each fitted block; the last column counts all other blocks."""
        k = int(self.best_[0].max(initial=-1)) + 1
        return _label_counts(np.minimum(self.labels_, k), k + 1) / max(len(self.labels_), 1)

    @cached_property
    def level_confidence_(self) -> np.ndarray:
        """How often each node is in its fitted block, per level: levels x nodes."""
        pairs = zip(self.levels_, self.best_, strict=True)
        return np.array([(drawn == best).mean(axis=0) for drawn, best in pairs])

    @property
    def confidence_(self) -> np.ndarray:
        """How often each node is in its fitted block."""
        return np.asarray(self.level_confidence_[0])

    @cached_property
    def consensus_(self) -> np.ndarray:
        """The most frequent block of each node, numbered like the fitted ones."""
        return most_frequent(self.labels_)

    @cached_property
    def block_counts_(self) -> dict[int, float]:
        """The share of the samples with each number of blocks."""
        numbers, times = np.unique(self.traces_["number of blocks"], return_counts=True)
        shares = times / max(times.sum(), 1)
        return {int(b): float(share) for b, share in zip(numbers, shares, strict=True)}

    @cached_property
    def diagnostics_(self) -> dict[str, Diagnostic]:
        """R-hat and the number of independent samples, by the name of a figure in `traces_`."""
        return {n: Diagnostic(r_hat(x), effective_size(x)) for n, x in self.traces_.items()}

    @property
    def r_hat_(self) -> float:
        """The largest R-hat of all figures (Gelman and Rubin); NaN with one chain."""
        return max(one.r_hat for one in self.diagnostics_.values())

    @property
    def effective_size_(self) -> float:
        """The smallest number of independent samples of all figures."""
        return min(one.effective_size for one in self.diagnostics_.values())

    @property
    def chains_agree(self) -> bool:
        """Whether the chains agree about all figures: `r_hat_` is at most 1.1."""
        return not self.r_hat_ > _AGREE

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

    def modes(self, most: int = 10) -> list[Mode]:
        """Return the distinct explanations of the network among the samples.

        Samples are grouped by their distance (variation of information). The number of groups is
        the one with the shortest description of the samples, if in each group a node has a
        distribution of blocks of its own (Peixoto, Physical Review X 11, 021003, 2021). Groups of
        less than 5 % of the samples join the nearest larger one.

        Parameters
        ----------
        most : int, default=10
            Maximum number of modes.

        Returns
        -------
        list of Mode
            The modes, the one with the largest weight first.
        """
        chosen = np.unique(np.linspace(0, len(self.labels_) - 1, _COMPARED).astype(int))
        samples, lengths = self.labels_[chosen], self.description_lengths_.ravel()[chosen]
        found = []
        for members, centre in _grouped_samples(samples, most):
            weight = len(members) / len(samples)
            found.append(Mode(samples[centre], weight, float(lengths[centre])))
        return sorted(found, key=lambda mode: (-mode.weight, mode.description_length))


def sample_partitions(
    graph: Graph,
    levels: Sequence[np.ndarray],
    model: str,
    *,
    weights: str = COUNTS,
    nested: bool = False,
    n_samples: int = 100,
    n_chains: int = 4,
    thin: int | None = None,
    burn_in: int | None = None,
    rng: RandomState = 0,
    engine: str | Engine = "local",
    callback: Callback = silent,
) -> PosteriorSamples:
    """Draw partitions of a graph from the posterior of a model.

    `levels` are the fitted labels of the nodes, one array or one per level of a hierarchy
    (`nested`). `n_samples` is the number of all chains together, rounded up to the same number in
    each."""
    for name, value in (("n_samples", n_samples), ("n_chains", n_chains), ("thin", thin or 1)):
        if not isinstance(value, int | np.integer) or value < 1:
            raise InputError(f"invalid {name}: {value!r}", remedy="give an integer of at least 1")
    if not is_described(model, graph, weights):
        raise InputError(
            f'the model "{model}" of these data cannot be sampled: it has no description length',
            remedy="use whole numbers as weights, or a model of the edges alone",
        )
    generator = as_generator(rng)
    best = [renumber(z) for z in levels]
    data = _data(graph, model, weights)
    small = len(best[0]) <= _SMALL
    thin = thin or (_SWEEPS if small else 2)
    burn_in = (10 * _SWEEPS if small else 20) if burn_in is None else burn_in
    chains = [
        _Chain(data, _tree(start, best) if nested else [start], best, int(key))
        for start, key in zip(
            _starts(best[0], n_chains, generator), stream_keys(generator, n_chains), strict=True
        )
    ]
    drawn: list[list[_Sample]] = [[] for _ in chains]
    per_chain = -(-n_samples // n_chains)
    with running_engine(engine) as running:
        if not small:
            running.map(lambda chain: chain.settle(), chains[1:])
        running.map(lambda chain: chain.advance(burn_in), chains)
        for number in range(per_chain):
            running.map(lambda chain: chain.advance(thin), chains)
            for chain, samples in zip(chains, drawn, strict=True):
                samples.append(chain.sample())
            length = float(np.mean([samples[-1].length for samples in drawn]))
            callback(Progress("sampling", number + 1, per_chain, length))
    result = _summary(drawn, tuple(best))
    if not result.chains_agree or result.effective_size_ < min(_FEW, len(result.labels_)):
        warnings.warn(_warning(result), AssumptionWarning, stacklevel=3)
    return result


def _warning(samples: PosteriorSamples) -> str:
    """Say which figure the samples do not agree about."""
    worst = max(
        samples.diagnostics_.items(), key=lambda one: (one[1].r_hat, -one[1].effective_size)
    )
    return (
        f"the samples are not yet reliable: R-hat of the {worst[0]} is {worst[1].r_hat:.2f} (1 if "
        f"the chains agree), and all together are worth {samples.effective_size_:.0f} independent "
        "ones; increase `burn_in`, `thin` or `n_samples`"
    )


def _steps(labels: np.ndarray, small: bool) -> int:
    """Return the merge-split steps per sweep: they visit about as many nodes as a sweep does.

    It follows from the fitted blocks, never from those of a chain, which would favour some
    numbers of blocks."""
    sizes = np.bincount(labels).astype(float)
    n = max(float(sizes.sum()), 1.0)
    usual = float(sizes @ sizes) / n  # the size of the block of a random node
    return int(max(n / (_VISITS * max(usual, 1.0)), _STEPS if small else 2))


class _Sample(NamedTuple):
    """One partition, or hierarchy: labels of the nodes per level, and its figures."""

    levels: list[np.ndarray]
    length: float
    inside: int


def _data(graph: Graph, model: str, weights: str) -> DescriptionData:
    """Return the graph as the model describes it."""
    if model in DIRECTED or weights != COUNTS:
        return cell_data(graph, model, weights)
    return undirected_data(model, make_objective(graph_objective(model), graph).sides[0])


def adapted(graph: Graph, labels: np.ndarray, model: str) -> np.ndarray:
    """Return blocks of a graph that are near those of one with more edges: single nodes, merges
    and splits are tried until none shortens the description."""
    if not is_described(model, graph):
        return labels
    state = start_state(*_data(graph, model, COUNTS)[:2], labels)
    search = DescriptionSearch(state, np.random.default_rng(0), Trail(silent))
    search.repair()
    return renumber(search.state.labels)


def _starts(best: np.ndarray, count: int, rng: Generator) -> list[np.ndarray]:
    """Return the labels that chains start from: the best ones, then far from them in several ways.

    In a small graph: one block, every node alone, and random blocks. In a larger one, from which a
    chain would need too long: pairs of blocks merged, every block cut in two, and some nodes in
    random blocks, from where it first goes to a short description, as a search does."""
    n, k = len(best), int(best.max(initial=0)) + 1
    ways = []
    for chain in range(count):
        way = chain % 4
        labels = best
        if n <= _SMALL and way > 0:
            far = (np.zeros(n, np.int64), np.arange(n), rng.integers(0, max(k, 2), n))
            labels = far[way - 1]
        elif way == 1:
            labels = (rng.permutation(k) // 2)[best]
        elif way == 2:
            labels = 2 * best + rng.integers(0, 2, n)
        elif way == 3:
            labels = np.where(rng.random(n) < _MOVED, rng.integers(0, k, n), best)
        ways.append(renumber(labels))
    return ways


def _tree(labels: np.ndarray, best: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return a hierarchy above these blocks: the group of each block, the group of each group, …,
    one group. A block is in the groups that its first node has in `best`."""
    tree = [renumber(labels)]
    nodes = tree[0]
    for level in best[1:]:
        first = np.unique(nodes, return_index=True)[1]
        tree.append(renumber(level[first]))
        nodes = tree[-1][nodes]
    return [*tree, np.zeros(int(nodes.max(initial=-1)) + 1, np.int32)]


class _Chain:
    """One Markov chain of partitions, or of hierarchies whose last level has one group."""

    def __init__(
        self, data: DescriptionData, tree: list[np.ndarray], best: Sequence[np.ndarray], key: int
    ) -> None:
        self.data, self.tree = data, tree
        self.steps = [_steps(z, len(best[0]) <= _SMALL) for z in best]
        self.blocks = [int(z.max(initial=0)) + 1 for z in best]
        self.rng = np.random.default_rng(key)
        self.cells = np.zeros((0, 0), np.int64)  # between the lowest blocks of a hierarchy
        if len(tree) > 1:
            state = start_state(data.kind, data.graph, tree[0], spare=1, prior="none")
            self.cells = np.asarray(state.blocks.cells[: state.n_blocks, : state.n_blocks])

    def settle(self) -> None:
        """Find a short description near the start, as a search does."""

        def repaired(level: int, state: DescriptionState) -> DescriptionState:
            search = DescriptionSearch(state, self.rng, Trail(silent))
            search.repair()
            return search.state

        self._pass(1, repaired)

    def advance(self, sweeps: int) -> None:
        """Make sweeps, each with a fixed number of merge-split steps per level."""
        for _ in range(sweeps):
            self._pass(max(len(self.tree) - 1, 1), self._moved)

    def _pass(self, levels: int, move: Callable[[int, DescriptionState], DescriptionState]) -> None:
        """Move the nodes of the lowest levels, each with the levels above as its prior."""
        cells, graph, kind = self.cells, self.data.graph, self.data.kind
        for level in range(levels if len(self.tree[0]) else 0):
            labels = self.tree[level]
            prior: Prior = "flat"
            if level > 0:
                graph, kind = block_multigraph(cells), LEVEL
                cells = grouped_cells(cells, labels)
            if len(self.tree) > 1:
                prior = levels_above(cells, self.tree[level + 1 :])
            room = len(labels) + 1 if len(labels) <= _ALL_ALONE else _ROOM + self.blocks[0] // 4
            state = move(level, start_state(kind, graph, labels, spare=room, prior=prior))
            self.tree[level] = renumber(state.labels)
            if len(self.tree) > 1:
                occupied = np.flatnonzero(state.blocks.sizes > 0)
                self.tree[level + 1] = state.upper.parents[0, occupied].copy()
                cells = np.asarray(state.blocks.cells[np.ix_(occupied, occupied)], np.int64)
                if level == 0:
                    self.cells = cells

    def _moved(self, level: int, state: DescriptionState) -> DescriptionState:
        """Draw all nodes of a level anew, then merge and split."""
        n = len(state.labels)
        order = self.rng.permutation(n)
        keys = stream_keys(self.rng, 1 + self.steps[level])
        moves.gibbs_sweep(*state.arguments, order, keys[0], _FAR)
        if n > 1:
            most = max(_MOST_MEMBERS, 3 * n // self.blocks[level])
            moves.merge_split_steps(*state.arguments, keys[1:], most)
        return state

    def sample(self) -> _Sample:
        """Return the present partition or hierarchy."""
        kind, graph, constant = self.data
        nodes = [self.tree[0]]
        for groups in self.tree[1:-1]:
            nodes.append(groups[nodes[-1]])
        state = start_state(kind, graph, self.tree[0], spare=1)
        length = state.length() if len(self.tree) == 1 else nested_length(kind, graph, self.tree)
        return _Sample(nodes, length + constant, int(state.blocks.scalars[INSIDE]))


def _summary(drawn: list[list[_Sample]], best: tuple[np.ndarray, ...]) -> PosteriorSamples:
    """Return the samples of all chains, with their blocks numbered like the best ones."""
    samples = [one for chain in drawn for one in chain]
    levels = tuple(
        np.array([aligned(renumber(one.levels[level]), z) for one in samples])
        for level, z in enumerate(best)
    )
    figures = {
        "description length": np.array([one.length for one in samples]),
        "number of blocks": np.array([len(np.unique(one.levels[0])) for one in samples], float),
        "edges inside blocks": np.array([one.inside for one in samples], float),
        "nodes in their fitted block": (levels[0] == best[0]).sum(axis=1).astype(float),
    }
    shape = (len(drawn), len(drawn[0]))
    return PosteriorSamples(levels, best, {n: x.reshape(shape) for n, x in figures.items()})


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


def most_frequent(samples: np.ndarray) -> np.ndarray:
    """Return the most frequent label of each node: samples x nodes.

    >>> most_frequent(np.array([[0, 1], [0, 2], [1, 2]])).tolist()
    [0, 2]
    """
    counts = _label_counts(samples)
    return np.asarray(counts.argmax(axis=1), np.int32)


def _label_counts(samples: np.ndarray, least: int = 1) -> np.ndarray:
    """Return how often each node has each label, of at least this number of labels."""
    counts = np.zeros((samples.shape[1], max(int(samples.max(initial=0)) + 1, least)))
    for labels in samples:
        counts[np.arange(len(labels)), labels] += 1.0
    return counts


def _grouped_samples(samples: np.ndarray, most: int) -> list[tuple[np.ndarray, int]]:
    """Return the samples of each mode, and the one in their middle."""
    count = len(samples)
    if count < 3:
        return [(np.arange(count), 0)]
    from scipy.cluster.hierarchy import fcluster, linkage  # here: loading it takes long

    own = np.array([_joint_entropy(z, z) for z in samples])
    pairs = np.array(np.triu_indices(count, 1)).T
    apart = [2 * _joint_entropy(samples[i], samples[j]) - own[i] - own[j] for i, j in pairs]
    distance = np.zeros((count, count))
    distance[tuple(pairs.T)] = np.maximum(apart, 0.0)
    distance += distance.T
    tree = linkage(distance[np.triu_indices(count, 1)], "ward")

    def centre_of(members: np.ndarray) -> int:
        return int(members[distance[np.ix_(members, members)].sum(axis=1).argmin()])

    best, shortest = [np.arange(count)], np.inf
    for k in range(1, min(most, count) + 1):
        names = fcluster(tree, k, "maxclust")
        groups = [np.flatnonzero(names == name) for name in np.unique(names)]
        length = float(gammaln(count + 1.0)) + k * np.log(count)
        for members in groups:
            centre = renumber(samples[centre_of(members)])
            together = np.array([aligned(renumber(samples[i]), centre) for i in members])
            length += _length_of_labels(together) - float(gammaln(len(members) + 1.0))
        if length < shortest - 1e-9:
            best, shortest = groups, length
    least = min(_LEAST_MODE, 1 / len(best))
    large = [centre_of(group) for group in best if len(group) >= least * count]
    nearest = distance[:, large].argmin(axis=1)
    modes = [np.flatnonzero(nearest == place) for place in range(len(large))]
    return [(members, centre_of(members)) for members in modes]


def _joint_entropy(a: np.ndarray, b: np.ndarray) -> float:
    """Return the entropy of the pairs of blocks that nodes have in two partitions, in nats."""
    codes = a.astype(np.int64) * (int(b.max(initial=0)) + 1) + b
    p = np.unique(codes, return_counts=True)[1] / max(len(a), 1)
    return -float(p @ np.log(p))


def _length_of_labels(samples: np.ndarray) -> float:
    """Return the description length of labels of the same nodes: every node has a distribution of
    its own, integrated over a uniform prior."""
    counts = _label_counts(samples)
    k = counts.shape[1]
    per_node = gammaln(len(samples) + float(k)) - gammaln(float(k))
    return float(len(counts) * per_node - gammaln(counts + 1).sum())


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
    rounding = 1e-20 * max(float(np.abs(values).max()), 1.0) ** 2
    if within <= rounding:
        return 1.0 if between <= rounding else float("inf")
    return float(np.sqrt((samples - 1) / samples + between / within))


def effective_size(values: np.ndarray) -> float:
    """Return how many independent samples the samples of all chains are worth (Geyer 1992).

    >>> effective_size(np.array([[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]]))
    6.0
    """
    chains, samples = values.shape
    centred = values - values.mean(axis=1, keepdims=True)
    lagged = [(centred[:, lag:] * centred[:, : samples - lag]).sum() for lag in range(samples)]
    covariance = np.array(lagged) / values.size
    between = float(values.mean(axis=1).var(ddof=1)) if chains > 1 else 0.0
    total = covariance[0] + between
    if samples < 2 or total <= 1e-20 * max(float(np.abs(values).max()), 1.0) ** 2:
        return float(values.size)
    correlation = 1 - (covariance[0] * samples / (samples - 1) - covariance) / total
    pairs = correlation[0 : samples - 1 : 2] + correlation[1:samples:2]
    falls = np.flatnonzero(pairs <= 0)
    length = 2 * float(pairs[: falls[0] if len(falls) else len(pairs)].sum()) - 1
    return float(values.size / max(length, 1.0))

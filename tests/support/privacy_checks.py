"""Checks of a privacy guarantee, as functions of the mechanism: mutants are passed to them too.

Graphs are small, so that every pair of nodes can be flipped and every output can be tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy.stats import beta, chi2
from tests.reference import Pair, ladder_log_probability

from coterie.anonymize.private.ladder import Ladder
from coterie.data import Graph


class SmallGraph(NamedTuple):
    """The edges of a small graph, by number."""

    n: int
    edges: frozenset[Pair]

    def graph(self) -> Graph:
        """Return it as the package has it."""
        source, target = zip(*sorted(self.edges), strict=True) if self.edges else ((), ())
        return Graph.from_edges(
            np.array(source, np.int64), np.array(target, np.int64), n_nodes=self.n
        )

    def flipped(self) -> Iterator[SmallGraph]:
        """Yield every neighbour: one pair of nodes joined or separated."""
        for w in range(self.n):
            for u in range(w):
                yield SmallGraph(self.n, self.edges ^ {(u, w)})


def star(n: int) -> SmallGraph:
    """Return node 0 joined to all others."""
    return SmallGraph(n, frozenset((0, v) for v in range(1, n)))


def clique(n: int) -> SmallGraph:
    """Return all pairs."""
    return SmallGraph(n, frozenset((u, v) for v in range(n) for u in range(v)))


def two_hubs(n: int) -> SmallGraph:
    """Return two nodes that are not joined and share all others as neighbours."""
    return SmallGraph(n, frozenset((hub, v) for v in range(2, n) for hub in (0, 1)))


SHAPES = [
    SmallGraph(2, frozenset()),
    SmallGraph(5, frozenset()),
    star(9),
    clique(3),
    clique(8),
    SmallGraph(8, clique(8).edges - {(0, 1)}),
    two_hubs(10),
    SmallGraph(10, two_hubs(10).edges | {(0, 1)}),
]


@st.composite
def small_graphs(draw: st.DrawFn, most: int = 10) -> SmallGraph:
    """Draw a graph of 2 to `most` nodes, sparse or dense."""
    n = draw(st.integers(2, most))
    pairs = [(u, v) for v in range(n) for u in range(v)]
    return SmallGraph(n, frozenset(draw(st.sets(st.sampled_from(pairs)))))


def largest_change(answer: Callable[[Graph], np.ndarray], graph: SmallGraph) -> float:
    """Return the largest L1 change over all neighbours; infinite if the shape changes."""
    here = answer(graph.graph())
    largest = 0.0
    for other in graph.flipped():
        there = answer(other.graph())
        if here.shape != there.shape:
            return math.inf
        largest = max(largest, float(np.abs(here - there).sum()))
    return largest


def ladder_loss(here: Ladder, there: Ladder, epsilon: float, half: float = 0.5) -> float:
    """Return the largest |log P(x) - log P'(x)| over all integers x that can decide it.

    Beyond 40 rungs of both, a rung is a long interval; ends of the rungs decide, as the law is
    constant between them.
    """
    ends: set[int] = set()
    for ladder in (here, there):
        for t in range(1, 42):
            for distance in (ladder.inner(t), ladder.inner(t) + 1):
                ends |= {ladder.value + distance, ladder.value - distance}
    return max(
        abs(
            ladder_log_probability(x, here.value, here.width, here.step, epsilon, half)
            - ladder_log_probability(x, there.value, there.width, there.step, epsilon, half)
        )
        for x in ends
    )


def largest_ladder_loss(
    ladder: Callable[[Graph], Ladder], graph: SmallGraph, epsilon: float, half: float = 0.5
) -> float:
    """Return the largest loss of a ladder over all neighbours of a graph, and all outputs."""
    here = ladder(graph.graph())
    return max(
        (ladder_loss(here, ladder(g.graph()), epsilon, half) for g in graph.flipped()), default=0.0
    )


def audited_epsilon(
    here: np.ndarray, there: np.ndarray, thresholds: np.ndarray, luck: float = 1e-9
) -> float:
    """Return a lower bound on epsilon from samples of two neighbours, one number per sample.

    The events are "at least t" and "below t". The bound is wrong with a probability of at most
    `luck` over all of them (Clopper-Pearson).
    """
    level = luck / (4 * len(thresholds))
    bound = 0.0
    for first, second in ((here, there), (there, here)):
        for t in thresholds:
            for event in (lambda x, t=t: x >= t, lambda x, t=t: x < t):
                a, b = int(event(first).sum()), int(event(second).sum())
                low = beta.ppf(level, a, len(first) - a + 1) if a else 0.0
                high = beta.isf(level, b + 1, len(second) - b) if b < len(second) else 1.0
                if low > 0:
                    bound = max(bound, math.log(low / high))
    return bound


def fit_to_law(samples: np.ndarray, law: Callable[[int], float], low: int, high: int) -> float:
    """Return the p-value of a chi-square test of integers against a law.

    Values outside the range, and values that are too rare, share one cell.
    """
    values = np.arange(low, high + 1)
    expected = len(samples) * np.array([law(int(z)) for z in values])
    observed = np.array([(samples == z).sum() for z in values])
    rare = expected < 10
    expected = np.append(expected[~rare], max(len(samples) - expected[~rare].sum(), 1e-9))
    observed = np.append(observed[~rare], len(samples) - observed[~rare].sum())
    statistic = ((observed - expected) ** 2 / np.maximum(expected, 1.0)).sum()
    return float(chi2.sf(statistic, len(expected) - 1))

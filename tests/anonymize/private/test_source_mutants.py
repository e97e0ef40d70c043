"""The program as it is written: its parameters on neighbours, and mutants of its source.

Other tests check each mechanism. These check that `ask` gives every mechanism the right
sensitivity, epsilon and parameters: a sketch of a network is recorded, and repeated on each
neighbour with the same answers. Whatever the neighbour changes beyond the exact counts would be
a leak. Each mutant changes one place of the source and must be noticed.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.anonymize.private.test_audit import ANSWERS, audit_answer
from tests.anonymize.private.test_ladder import LADDERS, sampler_fit
from tests.support.privacy_checks import SmallGraph, clique, star, two_hubs

from coterie.anonymize.private import answers, ladder, noise, stream_partition
from coterie.anonymize.private.budget import shares_for
from coterie.data import Graph

EPSILON = Fraction(3, 2)
GRAPHS = [star(6), clique(5), two_hubs(7), SmallGraph(6, frozenset({(0, 1), (2, 3), (1, 2)}))]


@dataclass
class Question:
    """One call of a mechanism: what it was given, and what it answered."""

    epsilon: Fraction
    exact: np.ndarray
    largest: int  # L1 change that the noise allows
    public: list[Any]  # everything that must be the same for a neighbour
    answer: Any


class LeakError(Exception):
    """A neighbour changes something that it must not."""


@dataclass
class Transcript:
    """The calls of all mechanisms in one sketch; a given one is repeated and compared."""

    known: list[Question] | None = None
    asked: list[Question] = field(default_factory=list)
    contacts: int | None = None  # bound on the contacts per person

    def _ask(
        self, epsilon: Fraction, exact: np.ndarray, largest: int, public: list[Any], answer: Any
    ) -> Any:
        here = Question(epsilon, np.asarray(exact), largest, public, answer)
        if self.known is not None:
            if len(self.asked) == len(self.known):
                raise LeakError("the number of questions")
            there = self.known[len(self.asked)]
            compare(here, there, len(self.asked) + 1, flips_of(self.contacts, len(self.asked)))
            here.answer = there.answer
        self.asked.append(here)
        return here.answer

    def add_noise(self, exact: np.ndarray, sensitivity: int, epsilon: Fraction) -> np.ndarray:
        """Stand in for `add_noise`, with noise that depends on the place alone."""
        moved = np.random.default_rng(len(self.asked)).integers(-3, 4, np.shape(exact))
        return self._ask(epsilon, exact, sensitivity, [], np.asarray(exact) + moved)

    def stream(self, graph: Graph, order, expected, n_blocks: int, epsilon: Fraction) -> np.ndarray:
        """Stand in for `stream_labels`; the test of the stream is in test_sensitivity.py."""
        labels = np.random.default_rng(0).integers(0, n_blocks, graph.n_nodes).astype(np.int32)
        public = [order.tolist(), expected.tolist(), n_blocks]
        return self._ask(epsilon, np.zeros(1), 0, public, labels)

    def draw(self, made: ladder.Ladder, epsilon: Fraction) -> int:
        """Stand in for the ladder: two exact numbers, each with its own bound."""
        return self._ask(epsilon, np.array([made.value, made.width]), -1, [made.step], made.value)


def flips_of(contacts: int | None, place: int) -> int:
    """Return how many edges of the reduced network one edge counts for, from the proof."""
    return 1 if contacts is None or place < 4 else 3


def recorded(
    module: ModuleType, graph: Graph, known: list[Question] | None, contacts: int | None = None
) -> Transcript:
    """Return what `ask` of this module asks about a graph."""
    transcript = Transcript(known, contacts=contacts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "add_noise", transcript.add_noise)
        patch.setattr(module, "stream_labels", transcript.stream)
        patch.setattr(module.ladder, "draw", transcript.draw)
        shares = shares_for("balanced", contacts)
        module.ask(graph, np.arange(graph.n_nodes), EPSILON, shares=shares, max_contacts=contacts)
    return transcript


def compare(here: Question, there: Question, number: int, flips: int) -> None:
    """Raise LeakError if one question differs in more than the exact counts, or by too much."""
    if here.exact.shape != there.exact.shape or (here.epsilon, here.largest, here.public) != (
        there.epsilon,
        there.largest,
        there.public,
    ):
        raise LeakError(f"a parameter of question {number}")
    change = np.abs(here.exact - there.exact)
    if here.largest >= 0 and change.sum() > flips * here.largest:
        raise LeakError(f"question {number} changes by more than its noise allows")
    if here.largest < 0:
        step, width = here.public[0], min(here.exact[1], there.exact[1])
        most = flips * width + sum(range(flips)) * step  # each edge may widen the next rung
        if change[0] > most or change[1] > flips * step:
            raise LeakError(f"ladder {number} changes by more than its rungs allow")


def check(module: ModuleType, small: SmallGraph, contacts: int | None = None) -> None:
    """Raise LeakError if the costs are not epsilon, or a neighbour changes what it must not."""
    first = recorded(module, small.graph(), None, contacts).asked
    costs = (flips_of(contacts, i) * question.epsilon for i, question in enumerate(first))
    if sum(costs) != EPSILON:
        raise LeakError("the costs do not add up to epsilon")
    for other in small.flipped():
        second = recorded(module, other.graph(), first, contacts).asked
        if len(first) != len(second):
            raise LeakError("the number of questions")


def check_all(module: ModuleType) -> None:
    """Check all graphs."""
    for graph in GRAPHS:
        check(module, graph)
    check(module, GRAPHS[1], 2)


@pytest.mark.parametrize("contacts", [None, 1, 2])
@pytest.mark.parametrize("graph", GRAPHS)
def test_neighbours_differ_in_exact_counts_only_and_by_what_the_noise_allows(
    graph: SmallGraph, contacts: int | None
) -> None:
    check(answers, graph, contacts)


@contextmanager
def mutant(module: ModuleType, old: str, new: str) -> Iterator[ModuleType]:
    """Give the module with one place of its source changed."""
    source = inspect.getsource(module)
    assert source.count(old) == 1, f"{old!r} is not one place of the source"
    changed = ModuleType(module.__name__)
    changed.__dict__.update(__file__=module.__file__, __package__=module.__package__)
    with pytest.MonkeyPatch.context() as patch:  # dataclasses look their module up
        patch.setitem(sys.modules, module.__name__, changed)
        exec(compile(source.replace(old, new), module.__file__ or "", "exec"), changed.__dict__)
        yield changed


LEAKS = {
    "degrees with sensitivity 1": (
        "exact_counts.degrees(graph), 2,",
        "exact_counts.degrees(graph), 1,",
    ),
    "degree counts with sensitivity 1": (
        "2,\n        epsilon * shares.degree_counts",
        "1,\n        epsilon * shares.degree_counts",
    ),
    "largest degrees with sensitivity 1": (
        "2,\n        epsilon * shares.largest_degrees",
        "1,\n        epsilon * shares.largest_degrees",
    ),
    "half the noise of the edges": (
        "epsilon * shares.edge_count",
        "2 * epsilon * shares.edge_count",
    ),
    "shares above 1": ("epsilon * shares.labels", "epsilon * (shares.labels + shares.degrees)"),
    "a number of counts read from the data": (
        "public_rules.n_degree_counts(n, noisy_degrees)",
        "max(int(graph.degrees.max()), 1)",
    ),
    "number of blocks from the true edges": (
        "public_rules.n_blocks(n, epsilon / shares.stability, edge_count)",
        "public_rules.n_blocks(n, epsilon, 9 * graph.n_edges)",
    ),
    "order of the stream from the true degrees": (
        "public_rules.stream_order(noisy_degrees)",
        "public_rules.stream_order(graph.degrees)",
    ),
    "bins of the true degrees": (
        "public_rules.bins_of(noisy_degrees, thresholds)",
        "public_rules.bins_of(graph.degrees, thresholds)",
    ),
    "a cap read from the data": (
        "public_rules.clustering_cap(ratio)",
        "public_rules.clustering_cap(500.0 * (graph.n_edges % 2))",
    ),
    "capped sums without what changes at the ends": (
        "exact_counts.capped_sensitivity(cap)",
        "exact_counts.CAPPED_UNIT * cap",
    ),
    "sums without a cap": (
        "exact_counts.capped_clustering(graph, highest, cap)",
        "exact_counts.capped_clustering(graph, highest, 1000)",
    ),
    "a bound on the contacts read from the data": (
        "first_contacts(graph, max_contacts)",
        "first_contacts(graph, max_contacts + 2 * (graph.n_edges % 2))",
    ),
    "a floor read from the data": (
        "public_rules.common_neighbour_floor(expected, distribution)",
        "4 * (graph.n_edges % 2)",
    ),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_mutant_of_the_questions_is_caught(name: str) -> None:
    with mutant(answers, *LEAKS[name]) as changed, pytest.raises(LeakError):
        check_all(changed)


def test_a_mutant_ladder_without_its_half_is_caught() -> None:
    with mutant(ladder, "half = epsilon / 2", "half = epsilon") as changed:
        assert sampler_fit(LADDERS[0], Fraction(1), changed.draw) < 1e-9


def test_a_mutant_with_halved_scale_is_caught() -> None:
    with mutant(noise, "sensitivity / epsilon", "sensitivity / (2 * epsilon)") as changed:
        assert audit_answer(*ANSWERS["edges"], changed.add_noise) > 1.5


def scale_of_the_stream(module: ModuleType) -> Fraction:
    """Return the scale of the noise of the stream, with epsilon 3/2."""
    seen: list[Fraction] = []

    def noted(scale: Fraction, count: int) -> np.ndarray:
        seen.append(scale)
        return np.zeros(count, np.int64)

    graph = star(5).graph()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "geometric_noise", noted)
        module.stream_labels(graph, np.arange(5), np.ones(5), 3, EPSILON)
    return seen[0]


def test_the_stream_has_the_noise_of_the_proof_and_a_mutant_is_caught() -> None:
    assert scale_of_the_stream(stream_partition) == 1 / EPSILON
    half = ("geometric_noise(1 / epsilon,", "geometric_noise(1 / (2 * epsilon),")
    with mutant(stream_partition, *half) as changed:
        assert scale_of_the_stream(changed) != 1 / EPSILON

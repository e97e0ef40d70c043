"""What an attack is: what the attacker knows, how it runs, what luck explains, what is public.

`identity[v]` is the published node that stands for original node v. In a release, it is a random
member of v's class, so an attack that finds it more often than luck explains has found
information about v.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.figures import Private
from coterie.anonymize.intervals import Interval, wilson
from coterie.anonymize.published_graph import PublishedGraph, per_published_node
from coterie.base.randomness import as_generator
from coterie.data import Graph

_MOST_CERTAIN = 100  # guesses that are also counted on their own

Fact = TypeVar("Fact")


class GraphFacts:
    """A graph and what was computed of it, each once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._facts: dict[Callable[[Graph], Any], Any] = {}

    def once(self, compute: Callable[[Graph], Fact]) -> Fact:
        """Return what a function computes of the graph."""
        if compute not in self._facts:
            self._facts[compute] = compute(self.graph)
        fact: Fact = self._facts[compute]
        return fact


class Knowledge(NamedTuple):
    """What attackers have; the same for all graphs that are attacked."""

    original: GraphFacts
    seeds: list[np.ndarray]  # people known in the release, by rising number
    orders: np.ndarray  # seeds of the random orders: one per element of `seeds` and one more
    sample: np.ndarray | None  # people to guess for, if not for everybody

    def generator(self, order: int = -1) -> Generator:
        """Return a new generator; the same for every graph that is attacked."""
        return as_generator(int(self.orders[order]))


@dataclass(frozen=True, eq=False)
class Job:
    """One piece of work: an attack on one graph, and the attacks that follow it."""

    known: Knowledge
    target: PublishedGraph
    published: GraphFacts  # of the graph of `target`
    part: int
    blocks: np.ndarray | None  # of the people, if they are published
    memory: dict[str, Any] = field(default_factory=dict)  # for the attacks that follow


@dataclass(frozen=True, repr=False)
class AttackResult(Private):
    """The number of people that one attack identified."""

    name: str  # as in the JSON output
    label: str  # for people
    seeds: int  # people whom the attacker knew
    correct: int
    wrong: int
    precision: float
    found_share: float  # of the people whom the attacker did not know
    found_interval: Interval
    correct_in_first_100: int | None = None  # of the 100 most certain guesses, if ranked
    luck: ExpectedHits | None = None  # on a release
    same_degree: float | None = None  # hits by luck, on a graph whose classes are unknown


@dataclass(frozen=True, eq=False)
class Matching:
    """The guesses of an attack; people whom the attacker knew (`seeds`) are left out."""

    seeds: np.ndarray
    guess: np.ndarray  # int32[n]: published node, -1 for no guess and at seeds
    lead: np.ndarray | None = None  # float64[n]: certainty, for attacks that rank their guesses
    sample: int | None = None  # people guessed for, if not everybody was

    def result(
        self,
        identity: np.ndarray,
        *,
        name: str = "",
        label: str = "",
        luck: ExpectedHits | None = None,
        same_degree: float | None = None,
    ) -> AttackResult:
        """Compare the guesses with the true identities."""
        guessed = np.flatnonzero(self.guess >= 0)
        right = self.guess[guessed] == identity[guessed]
        correct = int(right.sum())
        people = len(identity) - len(self.seeds) if self.sample is None else self.sample
        in_first = None
        if self.lead is not None:
            order = np.argsort(-self.lead[guessed], kind="stable")[:_MOST_CERTAIN]
            in_first = int(right[order].sum())
        return AttackResult(
            name=name,
            label=label,
            seeds=len(self.seeds),
            correct=correct,
            wrong=len(guessed) - correct,
            precision=correct / len(guessed) if len(guessed) else 0.0,
            found_share=correct / people if people else 0.0,
            found_interval=wilson(correct, people),
            correct_in_first_100=in_first,
            luck=luck,
            same_degree=same_degree,
        )


class AttackRow(NamedTuple):
    """What tables and reports show of a result."""

    label: str
    found: int  # people identified
    result: Any
    expected: float | None = None  # people guessed right by luck; None if it is not known
    deviation: float = 0.0  # its standard deviation


class Attack(ABC):
    """One attack: what is declared here is all that JSON, policy, pages and commands know of it.

    Attacks whose class variable `follows` names another attack run in the same piece of work,
    after it, and can use what it left in the memory of the job.
    """

    key: ClassVar[str]  # in the JSON output, and the attribute of `GraphAttacks`
    knows: ClassVar[str]  # what the attacker knows, in words
    label: ClassVar[str] = ""  # of its row in tables and reports
    control: ClassVar[str] = "naive"  # the control in which an attack with power finds people
    public: ClassVar[bool] = True  # whether published reports show it, rounded
    needs_blocks: ClassVar[bool] = False  # it applies only if the blocks are published too
    follows: ClassVar[type[Attack] | None] = None
    needs: ClassVar[tuple[Callable[[Graph], Any], ...]] = ()  # facts of the original

    def parts(self, known: Knowledge) -> int:
        """Return the number of independent pieces of work, the largest last."""
        return 1

    @abstractmethod
    def run(self, job: Job) -> Any:
        """Attack a graph and return the result; None if there is nothing to do in this part."""

    def results(
        self, outcomes: Sequence[Any], target: PublishedGraph, classes: Classes | None
    ) -> Any:
        """Return the result of the attack from what each part returned."""
        return outcomes[0]

    def rows(self, result: Any) -> list[AttackRow]:
        """Return the rows of tables and reports that a result has."""
        return [AttackRow(self.label, self.found(result), result)]

    def found(self, result: Any) -> int:
        """Return the number of people that a result identifies."""
        return int(result.correct)


class GuessingAttack(Attack):
    """An attack that guesses the published node of people: `run` returns a `Matching` or None.

    Whoever guesses everyone is right about once per class, whatever the release contains; A1
    allows that already. So these attacks are compared with the hits of the same guesses if the
    members of every class swap places (`hits_by_exchange`). The policy limits the difference.
    """

    def names(self, matching: Matching) -> tuple[str, str]:
        """Return the names of the result, in the JSON output and for people."""
        return self.label, self.label

    def results(
        self, outcomes: Sequence[Matching], target: PublishedGraph, classes: Classes | None
    ) -> list[AttackResult]:
        """Compare the guesses with the true identities."""
        return [self._result(matching, target, classes) for matching in outcomes]

    def rows(self, result: list[AttackResult]) -> list[AttackRow]:
        """Return one row per list of guesses; on a graph that is no release, luck is 0."""
        return [
            AttackRow(found.label, found.correct, found, 0.0)
            if found.luck is None
            else AttackRow(
                found.label, found.correct, found, found.luck.same_class, found.luck.deviation
            )
            for found in result
        ]

    def _result(
        self, matching: Matching, target: PublishedGraph, classes: Classes | None
    ) -> AttackResult:
        name, label = self.names(matching)
        luck: ExpectedHits | None = None
        same_degree: float | None = None
        if classes is not None:
            luck = expected_hits(target, matching.guess, matching.seeds, classes)
        else:
            same_degree = hits_by_degree(target, matching.guess)
        return matching.result(
            target.identity, name=name, label=label, luck=luck, same_degree=same_degree
        )


class GraphAttacks(Private, dict[str, Any]):
    """The results of all attacks on one graph, by key; each is an attribute too."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"there is no attack {name!r}")
        return self[name]


class Controls(NamedTuple):
    """The results of the same attacks on graphs that are not protected."""

    naive: GraphAttacks  # only the names are removed
    deleted_10: GraphAttacks  # 10 % of the edges are deleted too


class AttackComparison(NamedTuple):
    """One attack on a published graph, next to the same attack on the controls."""

    label: str  # for people
    result: Any  # AttackResult of attacks that guess
    found: int  # people identified in the published graph
    naive: int  # people identified in a copy with only the names removed
    deleted_10: int | None  # in a copy with 10 % of the edges deleted; None if not attacked
    expected: float | None  # people guessed right by luck; None if it is not known
    has_power: bool  # it identifies people in its control
    public: bool  # whether published reports show it, rounded
    deviation: float = 0.0  # of the people guessed right by luck


@dataclass(frozen=True)
class ExpectedHits:
    """The part of an attack's guesses that luck alone explains.

    A release contains nothing about a person but the class, so `same_class` is all that an attack
    can expect from it.
    """

    same_degree: float  # hits of random guesses among published nodes of similar degree
    same_class: float  # mean hits of these guesses if the members of each class swap places …
    deviation: float  # … and their standard deviation
    block_accuracy: float  # share of the guesses that are in the person's block
    block_interval: Interval
    block_chance: float  # the same share for random guesses of similar degree


def expected_hits(
    target: PublishedGraph, guess: np.ndarray, seeds: np.ndarray, classes: Classes
) -> ExpectedHits:
    """Compute what luck explains of `guess` (published node per person, -1 for none)."""
    block = classes.block
    people = np.flatnonzero(guess >= 0)
    guessed = guess[people]
    bin_of = _degree_bins(target.graph.degrees)
    size = np.bincount(bin_of)
    block_of_published = per_published_node(block, target.identity)
    class_of_published = per_published_node(classes.label, target.identity)
    k = int(block.max(initial=0)) + 1
    together = np.bincount(bin_of * k + block_of_published, minlength=len(size) * k)
    guessed_bin = bin_of[guessed]
    unknown = np.bincount(np.delete(classes.label, seeds), minlength=classes.n_classes)
    mean, deviation = hits_by_exchange(
        guessed, classes.label[people], class_of_published, unknown, target.identity[seeds]
    )
    right = int((block_of_published[guessed] == block[people]).sum())
    by_chance = together[guessed_bin * k + block[people]] / size[guessed_bin]
    return ExpectedHits(
        same_degree=hits_by_degree(target, guess),
        same_class=mean,
        deviation=deviation,
        block_accuracy=right / len(people) if len(people) else 0.0,
        block_interval=wilson(right, len(people)),
        block_chance=float(by_chance.mean()) if len(people) else 0.0,
    )


def hits_by_exchange(
    guessed: np.ndarray,
    label: np.ndarray,
    class_of_node: np.ndarray,
    sizes: np.ndarray,
    known: np.ndarray | None = None,
) -> tuple[float, float]:
    """Return mean and standard deviation of the hits if the members of each class swap places.

    `guessed` is the node guessed for each person and `label` the person's class, `sizes` the people
    of each class who may swap, and `known` the nodes that are not among theirs. In a class of u
    people, with a_v guesses at its node v and k guesses in all, the hits have the mean k / u, and
    E[H (H - 1)] = (k^2 - sum a_v^2) / (u (u - 1)): two guesses at one node are not both right.

    >>> everybody = np.zeros(4, int)
    >>> hits_by_exchange(np.arange(4), everybody, everybody, np.array([4]))
    (1.0, 1.0)
    """
    own = class_of_node[guessed] == label
    if known is not None:
        own &= ~np.isin(guessed, known)
    guesses = np.bincount(label[own], minlength=len(sizes)).astype(np.float64)
    at_node = np.bincount(guessed[own], minlength=len(class_of_node)).astype(np.float64)
    squares = np.bincount(class_of_node, at_node**2, len(sizes))
    mean = guesses / np.maximum(sizes, 1)
    pairs = (guesses**2 - squares) / np.maximum(sizes * (sizes - 1), 1)
    variance = float((pairs + mean - mean**2).sum())
    return float(mean.sum()), float(np.sqrt(max(variance, 0.0)))


def hits_by_degree(target: PublishedGraph, guess: np.ndarray) -> float:
    """Return the mean hits of random guesses among published nodes of the same degree bins."""
    people = np.flatnonzero(guess >= 0)
    bin_of = _degree_bins(target.graph.degrees)
    guessed_bin = bin_of[guess[people]]
    own_bin = bin_of[target.identity[people]]
    chance = 1.0 / np.bincount(bin_of)[guessed_bin]
    return float(chance[own_bin == guessed_bin].sum())


def _degree_bins(degrees: np.ndarray) -> np.ndarray:
    """Return a bin per node: one per degree up to 8, above that bins that grow by a quarter."""
    return np.unique(
        np.where(degrees <= 8, degrees, 9 + np.floor(np.log(np.maximum(degrees, 9) / 9) / 0.2231)),
        return_inverse=True,
    )[1]

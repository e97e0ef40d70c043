"""Attacks by somebody who has the original graph and wants to know who is who in a release.

`identity[v]` is the published node that stands for original node v. In a release, it is a random
member of v's class, so an attack that finds it more often than luck explains has found
information about v.

Seeded attacks start from people whom the attacker knows and claim only what stands out.
Guess-everyone attacks make a guess for every person.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from coterie.anonymize.published_graph import PublishedGraph, assign_new_ids
from coterie.anonymize.risk.expected_hits import ExpectedHits
from coterie.anonymize.risk.intervals import Interval, wilson
from coterie.anonymize.utility.measures import local_clustering
from coterie.data import Graph
from coterie.kernels.anonymize.matching import MatchingRows, guess_everyone, new_memory, propagate
from coterie.kernels.graphs.triangles import core_numbers, triangles
from coterie.kernels.graphs.vertex_refinement import refine

SEED_COUNTS = (10, 50, 200)
_SEED_POOL = 5  # seeds are drawn from this many times as many people of highest degree
_THRESHOLD = 0.5  # eccentricity that a match needs (Narayanan & Shmatikov)
_PASSES = 30  # of propagation with the threshold …
_LONGEST_ROW = 20_000  # neighbours; those of larger hubs are not compared with each other
_PASSES_WITHOUT_THRESHOLD = 6  # … and without
_MOST_CERTAIN = 100  # guesses that are also counted on their own
_TAKEN_WEIGHT = 1e-9  # weight of a candidate that is already matched
_MUTUAL_LEAD = 1e9  # ranks mutual matches after the seeded attack's and before all others
_QUANTILES = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
_BLOCK_DISTANCE = 1e3  # more than between any two fingerprints: never match different blocks


@dataclass(frozen=True)
class AttackResult:
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


@dataclass(frozen=True)
class VertexRefinementResult:
    """The number of people that a signature (degree, neighbours' degrees) identifies."""

    correct: float  # expected hits of random picks among nodes with the right signature
    unique: int  # people identified by a signature that only one published node has
    unique_wrong: int  # the same, but the published node stands for somebody else
    unique_interval: Interval
    candidates_median: float


@dataclass(frozen=True)
class DegreeAttackResult:
    """The number of people that their rank in the order of degrees identifies."""

    correct: int
    correct_in_top_100: int
    interval: Interval


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


def choose_seeds(graph: Graph, count: int, rng: Generator) -> np.ndarray:
    """Choose people whom the attacker already knows: random ones among those of high degree."""
    pool = np.argsort(-graph.degrees, kind="stable")[: _SEED_POOL * count]
    return np.sort(rng.choice(pool, min(count, len(pool)), replace=False))


def seeded_attack(
    original: Graph, target: PublishedGraph, seeds: np.ndarray, rng: Generator
) -> Matching:
    """Propagate from known people until nothing changes (Narayanan & Shmatikov, 2009)."""
    identity = target.identity
    forward = np.full(original.n_nodes, -1, np.int32)
    backward = np.full(target.graph.n_nodes, -1, np.int32)
    forward[seeds] = identity[seeds]
    backward[identity[seeds]] = seeds
    rows = _matching_rows(original), _matching_rows(target.graph)
    _propagate_until_stable(
        *rows, forward, backward, seeds, rng, threshold=_THRESHOLD, passes=_PASSES
    )
    forward[seeds] = -1
    return Matching(seeds, forward)


def guess_everyone_attack(
    original: Graph, target: PublishedGraph, seeded: Matching, rng: Generator
) -> Matching:
    """Continue a seeded attack without a threshold, then guess for everyone who is left.

    The guess for a person without a match is the best candidate that is not taken, whether or not
    the match is mutual.
    """
    seeds = seeded.seeds
    forward = seeded.guess.copy()
    forward[seeds] = target.identity[seeds]
    matched = np.flatnonzero(forward >= 0)
    backward = np.full(target.graph.n_nodes, -1, np.int32)
    backward[forward[matched]] = matched
    known, other = _matching_rows(original), _matching_rows(target.graph)
    _propagate_until_stable(
        known,
        other,
        forward,
        backward,
        seeds,
        rng,
        threshold=0.0,
        passes=_PASSES_WITHOUT_THRESHOLD,
    )
    weight = np.where(backward >= 0, _TAKEN_WEIGHT, 1.0) * other.damping
    guess, lead = np.empty_like(forward), np.empty(len(forward))
    guess_everyone(known, MatchingRows(other.indptr, other.indices, weight), forward, guess, lead)
    lead[(forward >= 0) & (seeded.guess < 0)] = _MUTUAL_LEAD
    guess[seeds] = -1
    return Matching(seeds, guess, lead)


def _propagate_until_stable(
    known: MatchingRows,
    other: MatchingRows,
    forward: np.ndarray,
    backward: np.ndarray,
    seeds: np.ndarray,
    rng: Generator,
    *,
    threshold: float,
    passes: int,
) -> None:
    """Extend the matching (`forward` and `backward`, in place) until a pass changes nothing."""
    fixed = np.zeros(len(forward), np.bool_)
    fixed[seeds] = True
    memory = new_memory(len(forward), len(backward))
    for _ in range(passes):
        order = rng.permutation(len(forward)).astype(np.int32)
        if not propagate(known, other, forward, backward, fixed, order, threshold, memory):
            break


def _matching_rows(graph: Graph) -> MatchingRows:
    """Return a graph in the form that the matching kernels take.

    The neighbours of people with very many are left out: that two people know the same hub of
    20,000 says next to nothing, and comparing all of its neighbours with each other takes the
    square of their number.
    """
    degrees = graph.degrees
    damping = 1.0 / np.sqrt(np.maximum(degrees, 1))
    few = degrees <= _LONGEST_ROW
    if few.all():
        return MatchingRows(graph.indptr, graph.indices, damping)
    indptr = np.zeros_like(graph.indptr)
    np.cumsum(np.where(few, degrees, 0), out=indptr[1:])
    return MatchingRows(indptr, graph.indices[np.repeat(few, degrees)], damping)


def fingerprint_attack(
    original: Graph, published: Graph, blocks: tuple[np.ndarray, np.ndarray] | None = None
) -> Matching:
    """Guess, for every person, the published node with the most similar surroundings.

    The attacker knows nobody. With `blocks` (of the people and of the published nodes), guesses
    are restricted to the person's block.
    """
    return match_fingerprints(fingerprints(original), fingerprints(published), blocks)


def match_fingerprints(
    here: np.ndarray,
    there: np.ndarray,
    blocks: tuple[np.ndarray, np.ndarray] | None = None,
    people: np.ndarray | None = None,
) -> Matching:
    """Match the fingerprints of people and of published nodes; `people` are those to guess for."""
    if blocks is not None:
        here, there = (
            np.c_[prints, _BLOCK_DISTANCE * block]
            for prints, block in zip((here, there), blocks, strict=True)
        )
    who = np.arange(len(here)) if people is None else people
    from scipy.spatial import cKDTree  # here: loading it takes long

    # Equal fingerprints are matched once: a tree of many equal points takes the square of the time.
    mine, kind = _distinct_rows(here[who])
    theirs, kind_there = _distinct_rows(there)
    tree = cKDTree(there[theirs], balanced_tree=False)
    far, nearest = tree.query(here[who][mine], k=min(2, len(theirs)))
    far, nearest = far.reshape(len(mine), -1), nearest.reshape(len(mine), -1)
    size = np.bincount(kind_there, minlength=len(theirs))
    found = nearest[:, 0][kind]  # the kind of node that each person looks like
    # People who look like the same nodes are spread over them.
    turn = _places_within(found) % size[found]
    members = np.argsort(kind_there, kind="stable")
    node = members[(np.cumsum(size) - size)[found] + turn]
    guess, lead = np.full(len(here), -1, np.int32), np.zeros(len(here))
    guess[who] = np.where(far[kind, 0] < _BLOCK_DISTANCE / 2, node, -1)
    lead[who] = np.where(size[found] > 1, 0.0, (far[:, -1] - far[:, 0])[kind])
    return Matching(np.empty(0, np.int64), guess, lead, None if people is None else len(people))


def _distinct_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each distinct row is found first, and the number of each row's kind.

    >>> _distinct_rows(np.array([[0.5, 1.0], [2.0, 1.0], [0.5, 1.0]]))[1].tolist() in (
    ...     [0, 1, 0], [1, 0, 1])
    True
    """
    key = np.zeros(len(rows), np.uint64)
    for column in np.ascontiguousarray((rows + 0.0).T).view(np.uint64):  # -0.0 becomes 0.0
        key = (key ^ column) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    _, first, kind = np.unique(key, return_index=True, return_inverse=True)
    return first, kind


def _places_within(kind: np.ndarray) -> np.ndarray:
    """Return how many earlier elements are of the same kind.

    >>> _places_within(np.array([3, 1, 3, 3])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(kind, kind="stable")
    size = np.bincount(kind)
    place = np.empty(len(kind), np.int64)
    place[order] = np.arange(len(kind)) - np.repeat(np.cumsum(size) - size, size)
    return place


def fingerprints(graph: Graph) -> np.ndarray:
    """Describe the surroundings of each node by 11 numbers on similar scales (float64[n, 11]).

    They are the degree, quantiles of the neighbours' degrees, the size of the second
    neighbourhood, the local clustering and the core number.

    >>> fingerprints(Graph.from_edges([0, 0], [1, 2])).shape
    (3, 11)
    """
    degrees = graph.degrees
    owner = np.repeat(np.arange(graph.n_nodes), degrees)
    logs = np.log1p(degrees)
    sorted_logs = logs[graph.indices][np.lexsort((logs[graph.indices], owner))]
    place = graph.indptr[:-1, None] + np.rint(_QUANTILES * np.maximum(degrees - 1, 0)[:, None])
    around = np.zeros((graph.n_nodes, len(_QUANTILES)))
    some = degrees > 0
    around[some] = sorted_logs[place[some].astype(np.int64)]
    second = np.log1p(np.bincount(owner, degrees[graph.indices], graph.n_nodes))
    clustering = local_clustering(degrees, triangles(graph.indptr, graph.indices))
    core = np.log1p(core_numbers(graph.indptr, graph.indices))
    return np.column_stack((logs, around, second, clustering, core))


def vertex_refinement(
    original: Graph, target: PublishedGraph, depth: int
) -> VertexRefinementResult:
    """Identify people by exact signatures (Hay et al. 2008).

    The signature is the degree (H1, `depth=1`) or the degrees of the neighbours (H2, `depth=2`).
    """
    mine, theirs = _signatures(original, depth), _signatures(target.graph, depth)
    distinct, size = np.unique(theirs, return_counts=True)
    at = np.minimum(np.searchsorted(distinct, mine), max(len(distinct) - 1, 0))
    known = distinct[at] == mine if len(distinct) else np.zeros(len(mine), bool)
    candidates = np.where(known, size[at] if len(size) else 0, 0)
    hit = theirs[target.identity] == mine
    claims = candidates == 1
    unique = int((claims & hit).sum())
    return VertexRefinementResult(
        correct=float((1.0 / candidates[hit]).sum()),
        unique=unique,
        unique_wrong=int(claims.sum()) - unique,
        unique_interval=wilson(unique, len(mine)),
        candidates_median=float(np.median(candidates)) if len(candidates) else 0.0,
    )


def _signatures(graph: Graph, depth: int) -> np.ndarray:
    colour = graph.degrees.astype(np.uint64)
    for _ in range(depth - 1):
        colour = refine(graph.indptr, graph.indices, colour)
    return np.asarray(colour)


def degree_attack(original: Graph, target: PublishedGraph, rng: Generator) -> DegreeAttackResult:
    """Match people and nodes of equal rank by degree, ties at random; finds isolated hubs."""
    published = target.graph
    mine = np.lexsort((rng.random(original.n_nodes), -original.degrees))
    theirs = np.lexsort((rng.random(published.n_nodes), -published.degrees))
    both = min(len(mine), len(theirs))
    right = theirs[:both] == target.identity[mine[:both]]
    return DegreeAttackResult(
        correct=int(right.sum()),
        correct_in_top_100=int(right[:100].sum()),
        interval=wilson(int(right.sum()), len(mine)),
    )


def naive_copy(graph: Graph, rng: Generator) -> PublishedGraph:
    """Make the first control: the same graph under new ids. An attack with power must find people
    in it."""
    return assign_new_ids(graph, rng)


def deleted_copy(graph: Graph, rng: Generator, share: float = 0.1) -> PublishedGraph:
    """Make the second control: a share of the edges deleted, then new ids."""
    source, target = graph.edges()
    keep = rng.random(len(source)) >= share
    thinned = Graph.from_edges(source[keep], target[keep], n_nodes=graph.n_nodes)
    return assign_new_ids(thinned, rng)

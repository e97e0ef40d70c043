"""A2 for attackers who know everybody's block and exact degree, and the edges between blocks.

Two attackers rank all pairs of people by what they know:

- *maximum entropy*: the probability of an edge in the most random graph with these degrees and
  these edges between blocks. It names pairs by falling probability, as long as the mean of the
  probabilities is at least the required certainty.
- *expected edges*: d_u d_v e_rs / (K_r K_s), which is not a probability.

Each is also given the longest list that is right often enough, at whatever threshold that is. A
real attacker does not know that threshold, so this errs on the safe side. The list at which the
first attacker stops counts also if it is right less often than he believes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from coterie.anonymize.draw.classes import block_matrix
from coterie.data import Graph
from coterie.kernels.anonymize.maximum_entropy import (
    CellArrays,
    TypeArrays,
    improve_fit,
    list_type_pairs,
)

FEWEST_PAIRS = 10  # a precision measured on fewer pairs means nothing
_MOST_STEPS = 300  # of the fit
_TOLERANCE = 1e-5  # the fit is good enough if the error is this share of all edge ends
_LOWEST = 2.0**-20  # pairs with a smaller score are never named


class PairClaim(NamedTuple):
    """The pairs that an attacker names as edges: all with a score above the threshold, and a share
    of those at it."""

    attacker: str
    threshold: float
    share_at_threshold: float
    pairs: float
    edges: float  # named pairs that are edges
    precision: float
    certain: bool  # right as often as required
    named: float  # share of all edges that are named


@dataclass(frozen=True, eq=False)
class PairRanking:
    """A score of every pair: x_u x_v w_rs for u in block r and v in block s."""

    types: TypeArrays
    cells: CellArrays
    x: np.ndarray  # float64[types]
    w: np.ndarray  # float64[cells]
    type_of: np.ndarray  # int64[n]: the type of each person
    one_less: np.ndarray  # int64[types]: the type of the same block with a degree lower by 1
    error: float = 0.0  # of the expected degrees and block edges, as a share of all edge ends

    def scores(
        self, source: np.ndarray, target: np.ndarray, block: np.ndarray, *, absent: bool = False
    ) -> np.ndarray:
        """Return the scores of some pairs; 0 between blocks without an edge.

        With `absent`, the pairs must be edges, and each score is that of the same graph without
        this edge: both degrees are lower by 1, and so is the number of edges between the blocks.
        """
        k = len(self.types.start) - 1
        first, second = self.cells.first, self.cells.second
        weight = np.zeros((k, k))
        weight[first, second] = weight[second, first] = self.w * (
            1.0 - 1.0 / self.cells.edges if absent else 1.0
        )
        x = (self.x[self.one_less] if absent else self.x)[self.type_of]
        return np.asarray(x[source] * x[target] * weight[block[source], block[target]])

    def pairs_above(self, least: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores >= `least`, falling, and the number of pairs with each (float64)."""
        none = np.empty(0)
        found = list_type_pairs(self.types, self.cells, self.x, self.w, least, none, none)
        score, pairs = np.empty(found), np.empty(found)
        list_type_pairs(self.types, self.cells, self.x, self.w, least, score, pairs)
        order = np.argsort(-score, kind="stable")
        return score[order], pairs[order]


def maximum_entropy(graph: Graph, block: np.ndarray) -> PairRanking:
    """Fit the most random graph with these degrees and block edges; z = p / (1 - p) is the score.

    Where people must be connected to everybody, z has no finite solution; it then grows until the
    error is small enough.
    """
    ranking = expected_edges(graph, block)
    types, cells, x, w = ranking.types, ranking.cells, ranking.x.copy(), ranking.w.copy()
    ends = max(2.0 * graph.n_edges, 1.0)
    error = np.inf
    for _ in range(_MOST_STEPS):
        of_degrees, of_cells = improve_fit(types, cells, x, w)
        error = max(of_degrees, 2.0 * of_cells) / ends
        if error <= _TOLERANCE:
            break
    return replace(ranking, x=x, w=w, error=float(error))


def expected_edges(graph: Graph, block: np.ndarray) -> PairRanking:
    """Score pairs by the number of expected edges, d_u d_v e_rs / (K_r K_s)."""
    k = int(block.max(initial=-1)) + 1
    degrees = graph.degrees.astype(np.int64)
    span = int(degrees.max(initial=0)) + 1
    own = block.astype(np.int64) * span + degrees
    # Types with one edge less are added, without people if there are none.
    key = np.unique(np.concatenate((own, own[degrees > 0] - 1)))
    type_of = np.searchsorted(key, own)
    count = np.bincount(type_of, minlength=len(key))
    of_block, degree = np.divmod(key, span)
    one_less = np.searchsorted(key, np.where(degree > 0, key - 1, key))
    start = np.searchsorted(of_block, np.arange(k + 1))
    matrix = block_matrix(graph, block)
    stubs = np.maximum(matrix.sum(1), 1).astype(np.float64)
    first, second = np.nonzero(np.triu(matrix))
    twice = np.where(first == second, 2.0, 1.0)
    member, other = np.nonzero(matrix)
    cell = np.zeros((k, k), np.int64)
    cell[first, second] = cell[second, first] = np.arange(len(first))
    return PairRanking(
        TypeArrays(start.astype(np.int64), count.astype(np.float64), degree.astype(np.float64)),
        CellArrays(
            first,
            second,
            matrix[first, second] / twice,
            np.searchsorted(member, np.arange(k + 1)).astype(np.int64),
            cell[member, other],
            other,
        ),
        degree.astype(np.float64),
        matrix[first, second] / (stubs[first] * stubs[second]),
        type_of,
        one_less,
    )


class NamedEdges(NamedTuple):
    """A claim, and how likely it contains each edge (1, or less where it names only some of several
    equal pairs)."""

    claim: PairClaim
    present: np.ndarray  # float32[edges]
    absent: np.ndarray  # float32[edges]: the same if that edge were not in the graph


class Naming(NamedTuple):
    """What attackers who know the blocks and exact degrees name, and how likely the edges are."""

    attackers: list[NamedEdges]
    probability: np.ndarray  # float64[edges], by maximum entropy


def name_edges(graph: Graph, block: np.ndarray, certainty: float) -> Naming:
    """Let every attacker who knows these blocks and the exact degrees name edges of a graph."""
    source, target = graph.edges()
    entropy, expected = maximum_entropy(graph, block), expected_edges(graph, block)
    of_entropy, of_expected = (r.scores(source, target, block) for r in (entropy, expected))
    best = "best threshold"
    claims = [
        (own_claim(entropy, of_entropy, certainty), entropy, of_entropy),
        (
            best_claim(entropy, of_entropy, certainty, f"maximum entropy, {best}"),
            entropy,
            of_entropy,
        ),
        (
            best_claim(expected, of_expected, certainty, f"expected edges, {best}"),
            expected,
            of_expected,
        ),
    ]
    attackers = [
        NamedEdges(
            claim,
            _named(claim, scores),
            _named(claim, ranking.scores(source, target, block, absent=True)),
        )
        for claim, ranking, scores in claims
    ]
    return Naming(attackers, of_entropy / (1.0 + of_entropy))


def _named(claim: PairClaim, scores: np.ndarray) -> np.ndarray:
    named = (scores > claim.threshold).astype(np.float32)
    named[scores == claim.threshold] = claim.share_at_threshold
    return named


def own_claim(ranking: PairRanking, edge_scores: np.ndarray, certainty: float) -> PairClaim:
    """Name pairs by falling probability while the mean probability is at least `certainty`.

    Of the pairs at which the list ends, which are all equal, as many are named as the mean allows.
    """
    least = 1.0
    while True:
        score, pairs = ranking.pairs_above(least)
        p = score / (1.0 + score)
        total, spare = np.cumsum(pairs), np.cumsum((p - certainty) * pairs)
        if least <= _LOWEST or (len(spare) and spare[-1] < 0.0):
            break
        least /= 4.0
    last = np.flatnonzero(np.diff(score, append=-1.0))  # of each group of equal scores
    score, p, total, spare = score[last], p[last], total[last], spare[last]
    complete = int((spare >= 0.0).sum())  # p falls, so once negative it stays negative
    threshold, share, n_pairs = np.inf, 1.0, 0.0
    if complete:
        threshold, n_pairs = float(score[complete - 1]), float(total[complete - 1])
        if complete < len(score) and spare[complete - 1] > 0.0:
            part = float(spare[complete - 1] / (certainty - p[complete]))
            threshold = float(score[complete])
            share = part / float(total[complete] - total[complete - 1])
            n_pairs += part
    return _claim("maximum entropy", threshold, share, n_pairs, edge_scores, certainty)


def best_claim(
    ranking: PairRanking, edge_scores: np.ndarray, certainty: float, attacker: str
) -> PairClaim:
    """Name the longest list of highest scores of which at least `certainty` are edges."""
    enough = len(edge_scores) / certainty
    least = 1.0
    while True:
        score, pairs = ranking.pairs_above(least)
        if least <= _LOWEST or pairs.sum() >= enough:
            break
        least /= 2.0
    last = np.flatnonzero(np.diff(score, append=-1.0))
    total = np.cumsum(pairs)[last]
    ordered = np.sort(edge_scores)
    edges = len(ordered) - np.searchsorted(ordered, score[last], side="left")
    right = np.flatnonzero((edges >= certainty * total) & (total >= FEWEST_PAIRS))
    if not len(right):
        return _claim(attacker, np.inf, 1.0, 0.0, edge_scores, certainty)
    best = right[-1]
    threshold, n_pairs = float(score[last[best]]), float(total[best])
    return _claim(attacker, threshold, 1.0, n_pairs, edge_scores, certainty)


def _claim(
    attacker: str,
    threshold: float,
    share: float,
    pairs: float,
    edge_scores: np.ndarray,
    certainty: float,
) -> PairClaim:
    above, at = (edge_scores > threshold).sum(), (edge_scores == threshold).sum()
    edges = float(above + share * at)
    return PairClaim(
        attacker,
        threshold,
        share,
        pairs,
        edges,
        edges / pairs if pairs else 0.0,
        edges >= certainty * pairs,
        edges / max(len(edge_scores), 1),
    )

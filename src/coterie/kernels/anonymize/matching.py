"""Seeded re-identification by propagation (Narayanan & Shmatikov, 2009).

known, other   two graphs as compressed sparse rows (MatchingRows): the graph that the attacker
               knows, and the published graph
forward        int32[n known]: the published node matched to each known node, -1 for none
backward       int32[n published]: the inverse of `forward`
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.kernels.numba.compile import njit

# A matched hub with more neighbours than this says next to nothing about who they are, and visiting
# all of them from each of them would take the square of their number.
_MOST_NEIGHBOURS = 20_000


class MatchingRows(NamedTuple):
    """The sparse rows of a graph and 1 / sqrt(degree) of its nodes."""

    indptr: np.ndarray  # int64
    indices: np.ndarray  # int32
    damping: np.ndarray  # float64


@njit(nogil=True, cache=True)
def _best_candidate(v, here, there, matching, score, touched):
    """Return (best published node for v, eccentricity of its score); (-1, 0) without a candidate.

    The score of a candidate is the number of matched neighbours of v that are also its own
    neighbours (hubs beyond `_MOST_NEIGHBOURS` aside), divided by the square root of its degree. The
    eccentricity is the distance between
    the best and the second-best score, in standard deviations of all scores.
    """
    count = 0
    for slot in range(here.indptr[v], here.indptr[v + 1]):
        image = matching[here.indices[slot]]
        if image < 0 or there.indptr[image + 1] - there.indptr[image] > _MOST_NEIGHBOURS:
            continue
        for far in range(there.indptr[image], there.indptr[image + 1]):
            w = there.indices[far]
            if score[w] == 0.0:
                touched[count] = w
                count += 1
            score[w] += there.damping[w]
    best, first, second, total, squares = -1, 0.0, 0.0, 0.0, 0.0
    for i in range(count):
        w = touched[i]
        s = score[w]
        score[w] = 0.0
        total += s
        squares += s * s
        if s > first:
            best, second, first = w, first, s
        elif s > second:
            second = s
    if count == 0:
        return -1, 0.0
    if count == 1:
        return best, np.inf
    mean = total / count
    spread = np.sqrt(max(squares / count - mean * mean, 0.0))
    return best, (first - second) / spread if spread > 0.0 else 0.0


class PropagationMemory(NamedTuple):
    """Which nodes can be skipped because nothing that their last decision used has changed.

    Times are counts of decisions; `clock` holds the current one.
    """

    clock: np.ndarray  # int64[1]
    near: np.ndarray  # int64[n known]: last change of a match in the node's neighbourhood
    other_near: np.ndarray  # int64[n published]: the same for published nodes
    seen: np.ndarray  # int64[n known]: last time the node was examined
    candidate: np.ndarray  # int32[n known]: the best candidate at that time, -1 for none


def new_memory(known: int, published: int) -> PropagationMemory:
    """Return the memory before the first pass: every node still has to be examined."""
    return PropagationMemory(
        np.ones(1, np.int64),
        np.ones(known, np.int64),
        np.ones(published, np.int64),
        np.zeros(known, np.int64),
        np.full(known, -1, np.int32),
    )


@njit(forceinline=True, cache=True)
def _match_changed(rows, v, times, now):
    times[v] = now
    for slot in range(rows.indptr[v], rows.indptr[v + 1]):
        times[rows.indices[slot]] = now


@njit(nogil=True, cache=True)
def propagate(known, other, forward, backward, fixed, order, threshold, memory):
    """Run one pass over the known nodes and return the number of matches that changed.

    A node is matched if its best candidate stands out by `threshold`, in both directions. Seeds
    (`fixed`) keep their match; all others may be matched again as the map grows. `forward`,
    `backward` and `memory` (one per threshold, for all passes) are changed in place.
    """
    score = np.zeros(max(len(known.indptr), len(other.indptr)), np.float64)
    touched = np.empty(len(score), np.int32)
    near, other_near, seen, candidate = (
        memory.near,
        memory.other_near,
        memory.seen,
        memory.candidate,
    )
    changes = 0
    for i in range(len(order)):
        v = order[i]
        if fixed[v]:
            continue
        if near[v] <= seen[v] and (candidate[v] < 0 or other_near[candidate[v]] <= seen[v]):
            continue
        memory.clock[0] += 1
        now = memory.clock[0]
        seen[v] = now
        w, lead = _best_candidate(v, known, other, forward, score, touched)
        candidate[v] = w
        if w < 0 or lead < threshold or forward[v] == w:
            continue
        back, lead = _best_candidate(w, other, known, backward, score, touched)
        if back != v or lead < threshold:
            continue
        rival = backward[w]
        if rival >= 0:
            if fixed[rival]:
                continue
            forward[rival] = -1
            _match_changed(known, rival, near, now + 1)
        if forward[v] >= 0:
            backward[forward[v]] = -1
            _match_changed(other, forward[v], other_near, now + 1)
        forward[v] = w
        backward[w] = v
        _match_changed(known, v, near, now + 1)
        _match_changed(other, w, other_near, now + 1)
        memory.clock[0] += 1
        changes += 1
    return changes


@njit(nogil=True, cache=True)
def guess_everyone(known, other, forward, guess, lead):
    """Guess the best candidate for every node without a match, without threshold or reverse check.

    Fills `guess` (int32, -1: no candidate) and `lead` (the eccentricity of the guess).
    """
    score = np.zeros(max(len(known.indptr), len(other.indptr)), np.float64)
    touched = np.empty(len(score), np.int32)
    for v in range(len(forward)):
        guess[v], lead[v] = forward[v], np.inf
        if forward[v] < 0:
            guess[v], lead[v] = _best_candidate(v, known, other, forward, score, touched)

"""Three generated networks on which the draws of private sketches are developed.

    egos            ten ego networks: a hub joined to all members, dense overlapping circles
    collaborations  co-authors of papers, some of them with up to 235 authors
    messages        mail of a company: sparse, a few hubs, most people are outsiders with few
                    contacts, who know each other because they were written to together

The parameters were set so that size, clustering, assortativity and path lengths are near those of
real networks of the kind. They were not changed after a draw had been measured.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.random import Generator

from coterie.data import Graph

Edges = set[tuple[int, int]]

EGO_SIZES = (1045, 792, 755, 547, 347, 229, 190, 168, 66, 59)
EGO_EDGES = 88_000
LARGE_PAPERS = (235, 150, 120, 90, 80, 70, 60, 50, 50, 40)
PAPER_EDGES = 118_489
MAIL_NODES, MAIL_EDGES = 33_700, 180_800


def egos(rng: Generator) -> Graph:
    """Return a union of ego networks: 4,166 nodes and 93,199 edges with the seed 0."""
    edges: Edges = set()
    members, n_nodes = _ego_members(edges, rng)
    n_hub_edges = len(edges)
    share = np.array([len(m) ** 1.15 for m in members])
    share /= share.sum()
    circles = []
    for m in members:
        k = max(1, round(len(m) / 120))
        circles.append(rng.choice(k, len(m), p=rng.dirichlet(np.full(k, 3.0))))
    activity = rng.lognormal(0, 0.55, n_nodes)
    for m, circle, part in zip(members, circles, share, strict=True):
        goal = len(edges) + (EGO_EDGES - n_hub_edges) * 0.97 * part
        while len(edges) < goal:
            _add_circle(edges, m, circle, activity, rng)
    chance = activity / activity.sum()
    for v in rng.choice(n_nodes, max(EGO_EDGES - len(edges), 0), p=chance):
        if rng.random() < 0.9:
            m = members[rng.choice(len(members), p=share)]
            _add(edges, rng.choice(m, 1), rng.choice(m, 1))
        else:
            _add(edges, np.array([v]), rng.choice(n_nodes, 1, p=chance))
    return _graph(edges, rng)


def _ego_members(edges: Edges, rng: Generator) -> tuple[list[np.ndarray], int]:
    """Join each hub to its members; return the members of each ego and the number of nodes."""
    members: list[np.ndarray] = []
    known = np.empty(0, int)
    n_nodes = 0
    for size in EGO_SIZES:
        shared = np.empty(0, int)
        if len(known):
            shared = rng.choice(known, min(int(size * 0.015), len(known)), replace=False)
        new = np.arange(n_nodes, n_nodes + size - len(shared))
        hub = n_nodes + len(new)
        n_nodes = hub + 1
        members.append(np.r_[shared, new])
        known = np.r_[known, new]
        _add(edges, np.full(len(members[-1]), hub), members[-1])
    return members, n_nodes


def _add_circle(
    edges: Edges, members: np.ndarray, circle: np.ndarray, activity: np.ndarray, rng: Generator
) -> None:
    """Join active members of one circle with each other."""
    own = members[circle == rng.integers(circle.max() + 1)]
    if len(own) < 5:
        own = members
    size = int(np.clip(rng.lognormal(3.0, 0.8), 3, min(170, len(own) * 0.7)))
    group = rng.choice(own, size, replace=False, p=activity[own] / activity[own].sum())
    if rng.random() < 0.05:
        others = max(1, size // 8)
        group[:others] = rng.choice(members, others)
    a, b = np.triu_indices(len(group), 1)
    joined = rng.random(len(a)) < min(1, 0.97 * (max(size, 10) / 10) ** -0.1)
    _add(edges, group[a[joined]], group[b[joined]])


def collaborations(rng: Generator) -> Graph:
    """Return co-authors: 11,236 nodes and 118,494 edges with the seed 0."""
    n_nodes, n_fields = 16_000, 60
    edges: Edges = set()
    weight = rng.lognormal(0, 0.8, n_fields)
    field = rng.choice(n_fields, n_nodes, p=weight / weight.sum())
    activity = rng.lognormal(0, 1.0, n_nodes)
    members = [np.flatnonzero(field == c) for c in range(n_fields)]
    sizes = np.array([len(m) for m in members])
    pool = np.concatenate([members[c] for c in np.argsort(-sizes)[:3]])
    pool = rng.choice(pool, min(520, len(pool)), replace=False)
    chance = activity[pool] ** 0.6 / (activity[pool] ** 0.6).sum()
    for size in LARGE_PAPERS:
        _add_clique(edges, rng.choice(pool, size, replace=False, p=chance))
    while len(edges) < PAPER_EDGES:
        own = members[rng.choice(n_fields, p=sizes / sizes.sum())]
        size = int(np.clip(rng.lognormal(1.35, 0.6), 2, min(40, len(own))))
        # Authors of a paper are near each other in the field
        width = max(4 * size, 30)
        near = np.unique(own[(rng.integers(len(own)) + np.arange(-width, width)) % len(own)])
        chance = activity[near] / activity[near].sum()
        authors = rng.choice(near, min(size, len(near)), replace=False, p=chance)
        for i in range(len(authors)):
            if rng.random() < 0.06:
                authors[i] = rng.integers(n_nodes)
        _add_clique(edges, np.unique(authors))
    return _graph(edges, rng)


def messages(rng: Generator) -> Graph:
    """Return people who wrote to each other: a sparse network with hubs and much clustering."""
    n_staff, n_owners, n_departments = 7_000, 160, 30
    edges: Edges = set()
    department = rng.choice(n_departments, n_staff, p=rng.dirichlet(np.full(n_departments, 1.5)))
    activity = rng.lognormal(0, 1.4, n_staff)
    activity[:n_owners] *= 6  # the people whose mail was collected
    members = [np.flatnonzero(department == c) for c in range(n_departments)]
    chance = activity / activity.sum()
    inside = [activity[m] / max(activity[m].sum(), 1e-9) for m in members]
    outsiders: list[list[int]] = [[] for _ in range(n_staff)]  # who wrote to each member of staff
    n_nodes = n_staff
    while len(edges) < MAIL_EDGES:
        writer = int(rng.choice(n_staff, p=chance))
        own, known = department[writer], outsiders[writer]
        group = [writer]
        for _ in range(int(np.clip(rng.lognormal(0.6, 1.1), 1, 60))):
            if rng.random() < 0.5:
                if n_nodes < MAIL_NODES and (not known or rng.random() < 0.5):
                    if known and rng.random() < 0.06:  # known to another outsider only
                        _add(edges, [n_nodes], [known[rng.integers(len(known))]])
                    else:
                        group.append(n_nodes)
                    known.append(n_nodes)
                    n_nodes += 1
                elif known:
                    group.append(known[rng.integers(len(known))])
            elif rng.random() < 0.25:
                group.append(int(rng.choice(n_staff, p=chance)))
            else:
                group.append(int(rng.choice(members[own], p=inside[own])))
        people = np.unique(group)
        a, b = np.triu_indices(len(people), 1)
        joined = (people[a] == writer) | (people[b] == writer) | (rng.random(len(a)) < 0.4)
        _add(edges, people[a[joined]], people[b[joined]])
    return _graph(edges, rng)


def _add_clique(edges: Edges, people: np.ndarray) -> None:
    a, b = np.triu_indices(len(people), 1)
    _add(edges, people[a], people[b])


def _add(edges: Edges, source: Iterable[int], target: Iterable[int]) -> None:
    """Add edges, without loops."""
    edges.update(
        (int(min(p)), int(max(p))) for p in zip(source, target, strict=True) if p[0] != p[1]
    )


def _graph(edges: Edges, rng: Generator) -> Graph:
    """Return the graph of the people with an edge, in random order."""
    pairs = np.array(sorted(edges))
    people, ends = np.unique(pairs, return_inverse=True)
    source, target = rng.permutation(len(people))[ends].reshape(pairs.shape).T
    return Graph.from_edges(source, target, n_nodes=len(people))

"""Generated networks of seven kinds that owners publish, to develop and measure releases on.

Each person belongs to one community and to a few groups (circles, papers, departments), mostly of
this community. Pairs in a group are joined with a probability that falls with the size of the
group; the rest of the edges join active people within and across communities. The parameters of a
kind were set once so that size, clustering and modularity are near those of a real network of its
kind; they were not changed after a release had been measured.

    python benchmarks/networks.py --out FOLDER [--only KIND …]
    python benchmarks/networks.py --out FOLDER --people 1000000     one large network with hubs
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator

from coterie.data import Graph


@dataclass(frozen=True)
class NetworkKind:
    """The parameters of one kind of network."""

    n_nodes: int
    n_edges: int
    communities: int
    size_spread: float  # standard deviation of the logarithm of community sizes
    group_edges: float  # share of the edges that come from groups
    group_size: tuple[float, float]  # mean and spread of the logarithm of group sizes
    largest_group: int
    group_density: (
        float  # probability of an edge in a group of ten; falls with size ** -density_fall
    )
    density_fall: float
    foreign_members: float  # share of a group's members from other communities
    activity: float  # standard deviation of the logarithm of a person's activity
    mixing: float  # share of the remaining edges that leave the community
    hubs: int = 0  # people joined to most of their community


KINDS = {
    "ego": NetworkKind(
        4000, 88_000, 16, 0.7, 0.95, (3.6, 0.8), 220, 0.97, 0.15, 0.02, 0.5, 0.3, 10
    ),
    "friends": NetworkKind(6400, 250_000, 9, 0.4, 0.6, (3.9, 0.5), 150, 0.75, 0.25, 0.4, 0.6, 0.6),
    "email": NetworkKind(1000, 16_000, 30, 0.8, 0.5, (2.6, 0.5), 60, 0.8, 0.3, 0.35, 1.0, 0.8),
    "coauthors": NetworkKind(
        20_000, 118_000, 90, 0.8, 1.0, (1.2, 0.9), 150, 1.0, 0.0, 0.1, 1.0, 0.1
    ),
    "pages": NetworkKind(2500, 31_000, 25, 0.9, 0.75, (2.9, 0.8), 120, 0.9, 0.2, 0.12, 0.8, 0.4),
    "votes": NetworkKind(8000, 100_000, 5, 0.5, 0.1, (3.0, 0.5), 80, 0.5, 0.3, 0.3, 1.9, 0.45),
    "music": NetworkKind(8200, 27_800, 28, 0.7, 0.45, (2.0, 0.5), 40, 0.7, 0.3, 0.1, 0.9, 0.15),
}  # fmt: skip


def make_network(kind: NetworkKind, rng: Generator) -> Graph:
    """Draw a network of this kind; people without an edge are left out."""
    weight = rng.lognormal(0, kind.size_spread, kind.communities)
    community = rng.choice(kind.communities, kind.n_nodes, p=weight / weight.sum())
    activity = rng.lognormal(0, kind.activity, kind.n_nodes)
    members = [np.flatnonzero(community == c) for c in range(kind.communities)]
    edges: set[tuple[int, int]] = set()
    for hub in rng.choice(kind.n_nodes, kind.hubs, replace=False):
        own = members[community[hub]]
        _add(edges, np.full(len(own), hub), own, rng.random(len(own)) < 0.9)
    while len(edges) < kind.group_edges * kind.n_edges:
        _add_group(edges, kind, members, activity, rng)
    _add_background(edges, kind, community, members, activity, rng)
    pairs = np.array(sorted(edges))
    people, ends = np.unique(pairs, return_inverse=True)
    source, target = rng.permutation(len(people))[ends].reshape(pairs.shape).T
    return Graph.from_edges(source, target, n_nodes=len(people))


def _neighbouring(community: np.ndarray, kind: NetworkKind, rng: Generator) -> np.ndarray:
    """Return a community near each given one: most contacts outside are with two neighbours."""
    step = rng.choice([-1, 1], len(community)) * rng.geometric(0.6, len(community))
    return np.asarray((community + step) % kind.communities)


def _add_group(
    edges: set[tuple[int, int]],
    kind: NetworkKind,
    members: list[np.ndarray],
    activity: np.ndarray,
    rng: Generator,
) -> None:
    """Join the members of one new group."""
    sizes = np.array([len(m) for m in members])
    home = rng.choice(len(members), p=sizes / sizes.sum())
    own = members[home]
    mean, spread = kind.group_size
    size = int(np.clip(rng.lognormal(mean, spread), 2, min(kind.largest_group, len(own))))
    chance = activity[own] / activity[own].sum()
    group = rng.choice(own, min(size, len(own)), replace=False, p=chance)
    stranger = np.flatnonzero(rng.random(len(group)) < kind.foreign_members)
    for i, c in zip(stranger, _neighbouring(np.full(len(stranger), home), kind, rng), strict=True):
        if len(members[c]):
            group[i] = rng.choice(members[c])
    group = np.unique(group)
    a, b = np.triu_indices(len(group), 1)
    density = min(1.0, kind.group_density * (max(size, 10) / 10) ** -kind.density_fall)
    _add(edges, group[a], group[b], rng.random(len(a)) < density)


def _add_background(
    edges: set[tuple[int, int]],
    kind: NetworkKind,
    community: np.ndarray,
    members: list[np.ndarray],
    activity: np.ndarray,
    rng: Generator,
) -> None:
    """Join active people, most of them of one community, until the network has its edges."""
    chance = activity / activity.sum()
    within = [activity[m] / activity[m].sum() if len(m) else activity[m] for m in members]
    while (missing := kind.n_edges - len(edges)) > 0:
        source = rng.choice(kind.n_nodes, missing, p=chance)
        target = source.copy()  # a loop, dropped, if the neighbouring community is empty
        stays = rng.random(missing) >= kind.mixing
        home = np.where(stays, community[source], _neighbouring(community[source], kind, rng))
        for c, people in enumerate(members):
            here = np.flatnonzero(home == c)
            target[here] = rng.choice(people, len(here), p=within[c]) if len(here) else target[here]
        _add(edges, source, target, np.ones(missing, bool))


def _add(
    edges: set[tuple[int, int]], source: np.ndarray, target: np.ndarray, chosen: np.ndarray
) -> None:
    """Add the chosen pairs to the edges, without loops."""
    low, high = np.minimum(source, target)[chosen], np.maximum(source, target)[chosen]
    edges.update((a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True) if a != b)


def make_large_network(n_nodes: int, rng: Generator, mean_degree: int = 20) -> Graph:
    """Draw communities of about 400 people with overlapping groups, and hubs, array by array.

    Half of the edges come from groups of 3 to 60 people, a tenth of whose members are from
    anywhere; the other edges join active people, half of them within a community. The activity is
    log-normal, so a few people have a hundred times the median. Everybody has an edge.
    """
    n, m = n_nodes, n_nodes * mean_degree // 2
    k = max(2, n // 400)
    weight = rng.lognormal(0, 0.8, k)
    community = np.sort(rng.choice(k, n, p=weight / weight.sum()))
    until = np.r_[0.0, np.cumsum(rng.lognormal(0, 1.2, n))]  # of the activity
    start = np.searchsorted(community, np.arange(k + 1))

    def active(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        place = low + rng.random(len(low)) * (high - low)
        return np.minimum(np.searchsorted(until, place, side="right") - 1, n - 1)

    def of_community(c: np.ndarray) -> np.ndarray:
        return active(until[start[c]], until[start[c + 1]])

    def anybody(size: int) -> np.ndarray:
        return active(np.zeros(size), np.full(size, until[-1]))

    def pairs(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        low, high = np.minimum(a, b), np.maximum(a, b)
        return (low * n + high)[low != high]

    found = np.zeros(0, np.int64)
    while len(found) < m // 2:
        sizes = np.clip(rng.lognormal(2.2, 0.6, (m // 2 - len(found)) // 45 + 10), 3, 60)
        drawn = [found]
        for size in np.unique(sizes.astype(int)):
            home = community[rng.integers(0, n, int((sizes.astype(int) == size).sum()))]
            members = of_community(np.repeat(home, size))
            foreign = rng.random(len(members)) < 0.1
            members[foreign] = anybody(int(foreign.sum()))
            a, b = np.triu_indices(size, 1)
            density = 0.85 * (max(size, 10) / 10) ** -0.3
            chosen = rng.random((len(home), len(a))) < density
            groups = members.reshape(-1, size)
            drawn.append(pairs(groups[:, a][chosen], groups[:, b][chosen]))
        found = np.unique(np.concatenate(drawn))
    while (missing := m - len(found)) > 0:
        a, b = anybody(missing), anybody(missing)
        stays = rng.random(missing) < 0.5
        b[stays] = of_community(community[a[stays]])
        found = np.unique(np.r_[found, pairs(a, b)])
    source, target = found // n, found % n
    alone = np.setdiff1d(np.arange(n), np.r_[source, target])
    new = rng.permutation(n)
    return Graph.from_edges(
        new[np.r_[source, alone]], new[np.r_[target, rng.choice(source, len(alone))]], n_nodes=n
    )


def _write(path: Path, graph: Graph) -> None:
    with path.open("w") as file:
        file.write(f"# nodes: {graph.n_nodes}\n")
        np.savetxt(file, np.column_stack(graph.edges()), fmt="%d")
    print(f"{path}: {graph.n_nodes:,} nodes, {graph.n_edges:,} edges, largest {max(graph.degrees)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--people", type=int, help="draw one large network instead")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.people:
        graph = make_large_network(arguments.people, np.random.default_rng(0))
        _write(arguments.out / f"large-{arguments.people}.txt", graph)
        return
    for name in arguments.only:
        graph = make_network(KINDS[name], np.random.default_rng(list(KINDS).index(name)))
        _write(arguments.out / f"{name}.txt", graph)


if __name__ == "__main__":
    main()

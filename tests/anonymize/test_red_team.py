"""Independent attackers: what is written is attacked with code that shares nothing with coterie.

The attackers read the published folder and know the original network. The identity map
(`research_truth`) is used only to count how often they are right. Counts are compared with those of
a random exchange of the members of each class: by design, a release contains nothing that could
make an attacker better than that. Every attack is also run on a copy with only the names removed,
where it must succeed; so a test that could not fail would fail here.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree
from scipy.stats import rankdata

import coterie as ct
from coterie.anonymize import release_run

Matrix = np.ndarray  # a dense adjacency matrix of 0 and 1
Attack = Callable[[Matrix, Matrix, dict[int, int]], np.ndarray]  # original, published, people known

N_SEEDS = 15
SHUFFLES = 200
HIGHEST_Z = 3.0


# --- Networks, releases and copies ------------------------------------------------------------


def _friends(seed: int = 1) -> nx.Graph:
    """A network of 240 people: four communities, triangles, and degrees from 5 to about 60."""
    rng = default_rng(seed)
    network = nx.powerlaw_cluster_graph(240, 5, 0.6, seed=seed)
    order = rng.permutation(240)
    for community in np.array_split(order, 4):
        for _ in range(100):
            circle = rng.choice(community, rng.integers(3, 7), replace=False)
            network.add_edges_from((u, v) for u in circle for v in circle if u < v)
    return network


def _near_cliques(seed: int = 2) -> nx.Graph:
    """A network of 240 people in overlapping circles in which nearly everybody knows everybody."""
    rng = default_rng(seed)
    network = nx.empty_graph(240)
    eager = rng.beta(6, 1.5, 240)
    for start in range(0, 240, 30):
        circle = [(start + i) % 240 for i in range(40)]
        network.add_edges_from(
            (u, v)
            for i, u in enumerate(circle)
            for v in circle[:i]
            if rng.random() < 0.85 * eager[u] * eager[v]
        )
    network.add_edges_from(rng.integers(0, 240, (200, 2)).tolist())
    network.remove_edges_from(nx.selfloop_edges(network))
    return network


@dataclass(frozen=True)
class Target:
    """A graph to attack. `truth` and `classes` are used to count hits, never by an attack."""

    original: Matrix
    published: Matrix
    truth: np.ndarray  # the published node of each person
    classes: np.ndarray  # of each person


def _matrix(network: nx.Graph) -> Matrix:
    return nx.to_numpy_array(network, nodelist=range(network.number_of_nodes()), dtype=float)


def _release(network: nx.Graph, folder: Path, name: str, entropy: int) -> Target:
    """Release a network with default settings, and read back what was written."""
    models: list[Any] = []
    build = release_run.build_model

    def spy(*arguments: Any, **options: Any) -> Any:
        models.append(build(*arguments, **options))
        return models[-1]

    n = network.number_of_nodes()
    graph = ct.Graph.from_edges(*np.array(network.edges).T, n_nodes=n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COTERIE_STATE", str(folder / "state"))
        patch.setattr(release_run, "build_model", spy)
        release = ct.Anonymizer(dataset=name)._release_from(
            SeedSequence(entropy), graph, suggest=False
        )
        release.write(folder / name, research_truth=folder / f"{name}-truth.csv", force=True)
    truth = np.empty(n, int)
    with open(folder / f"{name}-truth.csv", newline="") as file:
        for row in csv.DictReader(file):
            truth[int(row["original"])] = int(row["published"])
    return Target(_matrix(network), _read(folder / name, n), truth, models[-1].classes.label)


def _read(folder: Path, n: int) -> Matrix:
    """Read graph.csv, which is all that the attackers get besides the page."""
    published = np.zeros((n, n))
    text = (folder / "graph.csv").read_text()
    for u, v in re.findall(r"^(\d+)[,\s]+(\d+)\s*$", text, flags=re.MULTILINE):
        published[int(u), int(v)] = published[int(v), int(u)] = 1
    return published


def _naive(target: Target, seed: int = 0) -> Target:
    """Return the copy with only the names removed, counted with the same classes."""
    n = len(target.truth)
    truth = default_rng(seed).permutation(n)
    copy = np.empty_like(target.original)
    copy[np.ix_(truth, truth)] = target.original
    return Target(target.original, copy, truth, target.classes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("red-team")


@pytest.fixture(scope="module")
def friends(folder: Path) -> Target:
    return _release(_friends(), folder, "friends", 11)


@pytest.fixture(scope="module")
def cliques(folder: Path) -> Target:
    return _release(_near_cliques(), folder, "cliques", 12)


@pytest.fixture(params=["friends", "cliques"])
def target(request: pytest.FixtureRequest) -> Target:
    found: Target = request.getfixturevalue(request.param)
    return found


def _seeds(target: Target) -> dict[int, int]:
    """Return people whom the attacker knows: some of those with the most contacts."""
    hubs = np.argsort(-target.original.sum(1), kind="stable")[: 4 * N_SEEDS]
    return {int(v): int(target.truth[v]) for v in default_rng(4).permutation(hubs)[:N_SEEDS]}


def _score(target: Target, guess: np.ndarray, known: dict[int, int]) -> tuple[int, float]:
    """Return the hits, and by how many standard deviations they exceed those of exchanged people.

    People exchange places within their class, except those whom the attacker knew.
    """
    rng = default_rng(9)
    unknown = np.array([v for v in range(len(guess)) if v not in known])
    hits = int((guess[unknown] == target.truth[unknown]).sum())
    by_luck = []
    for _ in range(SHUFFLES):
        order = unknown[np.lexsort((rng.random(len(unknown)), target.classes[unknown]))]
        again = unknown[np.lexsort((rng.random(len(unknown)), target.classes[unknown]))]
        exchanged = np.empty(len(guess), int)
        exchanged[order] = target.truth[again]
        by_luck.append((guess[unknown] == exchanged[unknown]).sum())
    # Few expected hits have a standard deviation near one.
    return hits, float((hits - np.mean(by_luck)) / max(np.std(by_luck), 0.7))


# --- Attackers who want to know who is who ----------------------------------------------------


def _best_assignment(similarity: np.ndarray, known: dict[int, int]) -> np.ndarray:
    """Return the assignment of people to nodes with the largest total similarity."""
    similarity = similarity.copy()
    for person, node in known.items():
        similarity[person, :] = similarity[:, node] = -1e9
        similarity[person, node] = 1e9
    return np.asarray(linear_sum_assignment(-similarity)[1])


def by_degree_rank(original: Matrix, published: Matrix, known: dict[int, int]) -> np.ndarray:
    """The person with the k-th most contacts is the node with the k-th most edges."""
    guess = np.empty(len(original), int)
    tie = default_rng(1).random((2, len(original)))
    guess[np.lexsort((tie[0], original.sum(1)))] = np.lexsort((tie[1], published.sum(1)))
    return guess


def _surroundings(graph: Matrix) -> np.ndarray:
    """Describe each node by the degrees met on walks of up to four steps, and by its triangles."""
    degree = graph.sum(1)
    walk = graph / np.maximum(degree, 1)[:, None]
    columns = [np.log1p(degree)]
    for power in (1, 2):
        column = np.log1p(degree) ** power
        for _ in range(4):
            column = walk @ column
            columns.append(column)
    triangles = ((graph @ graph) * graph).sum(1)
    columns += [np.log1p(triangles), np.log1p(walk @ triangles)]
    table = np.column_stack(columns)
    return np.asarray((table - table.mean(0)) / np.maximum(table.std(0), 1e-9))


def by_embedding(original: Matrix, published: Matrix, known: dict[int, int]) -> np.ndarray:
    """Match people to the node with the most similar surroundings."""
    return np.asarray(cKDTree(_surroundings(published)).query(_surroundings(original))[1])


def by_spectrum(original: Matrix, published: Matrix, known: dict[int, int]) -> np.ndarray:
    """Match people by eigenvectors, whose signs the seeds decide (Umeyama 1988)."""
    parts = []
    for graph in (original, published):
        values, vectors = np.linalg.eigh(graph)
        first = np.argsort(-np.abs(values))[:24]
        parts.append(vectors[:, first])
    people, nodes = np.array(list(known)), np.array(list(known.values()))
    signs = np.sign((parts[0][people] * parts[1][nodes]).sum(0))
    return _best_assignment(parts[0] @ (parts[1] * np.where(signs == 0, 1, signs)).T, known)


def by_percolation(original: Matrix, published: Matrix, known: dict[int, int]) -> np.ndarray:
    """Grow a matching from the people known (Yartseva & Grossglauser 2013).

    The pair with the most neighbours that are matched to each other comes next, as long as it has
    two of them.
    """
    guess = np.full(len(original), -1)
    marks = np.zeros_like(original)
    free = np.ones_like(original, bool)
    weight = 1e-3 / (1 + np.abs(np.subtract.outer(original.sum(1), published.sum(1))))
    following = list(known.items())
    while following:
        person, node = following.pop()
        guess[person] = node
        free[person, :] = free[:, node] = False
        marks += np.outer(original[person], published[node])
        if not following:
            best = np.where(free, marks + weight, -1.0)
            place = int(best.argmax())
            if best.flat[place] >= 2:
                following.append(divmod(place, len(original)))
    return guess


def by_graph_matching(original: Matrix, published: Matrix, known: dict[int, int]) -> np.ndarray:
    """Maximise the edges in common by Frank-Wolfe steps (FAQ, Vogelstein et al. 2015)."""
    n = len(original)
    p = np.full((n, n), 1.0 / n)
    for person, node in known.items():
        p[person, :] = p[:, node] = 0.0
        p[person, node] = 1.0
    for _ in range(20):
        gradient = original @ p @ published
        guess = _best_assignment(gradient, known)
        q = np.zeros_like(p)
        q[np.arange(n), guess] = 1.0
        d = q - p
        ad = original @ d @ published
        a, b = float((ad * d).sum()), float(2 * (ad * p).sum())
        step = 1.0 if a >= 0 else min(1.0, max(0.0, -b / (2 * a)))
        p = p + step * d
        if step * np.abs(d).max() < 1e-6:
            break
    return guess


ATTACKS: dict[str, tuple[Attack, float]] = {
    # The share of the people whom the attack must find in a copy with only the names removed.
    "embedding": (by_embedding, 0.9),
    "spectrum": (by_spectrum, 0.5),
    "percolation": (by_percolation, 0.9),
    "graph matching": (by_graph_matching, 0.5),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_finds_more_people_than_the_classes_allow(name: str, target: Target) -> None:
    attack, share = ATTACKS[name]
    known = _seeds(target)
    hits, z = _score(target, attack(target.original, target.published, known), known)
    assert z < HIGHEST_Z, f"{hits} people found"
    copy = _naive(target)
    known = _seeds(copy)
    hits, z = _score(copy, attack(copy.original, copy.published, known), known)
    assert hits > share * len(copy.truth) and z > 10  # the attack works where nothing protects


def test_rank_by_degree_finds_no_more_people_than_the_classes_allow(target: Target) -> None:
    _, z = _score(target, by_degree_rank(target.original, target.published, {}), {})
    assert z < HIGHEST_Z
    copy = _naive(target)
    assert _score(copy, by_degree_rank(copy.original, copy.published, {}), {})[1] > 10


def test_the_largest_hubs_are_not_recognised(friends: Target) -> None:
    """The ten people with the most contacts, matched by degree and by surroundings."""

    def found(target: Target) -> tuple[int, float]:
        hubs = np.argsort(-target.original.sum(1), kind="stable")[:10]
        nodes = np.argsort(-target.published.sum(1), kind="stable")[:10]
        here, there = _surroundings(target.original)[hubs], _surroundings(target.published)[nodes]
        distance = np.linalg.norm(here[:, None] - there[None], axis=2)
        guess = np.full(len(target.truth), -1)
        rows, columns = linear_sum_assignment(distance)
        guess[hubs[rows]] = nodes[columns]
        return _score(target, guess, {})

    hits, z = found(friends)
    assert hits <= 4 and z < HIGHEST_Z
    assert found(_naive(friends))[0] >= 8


def test_two_releases_of_one_network_cannot_be_linked(friends: Target, folder: Path) -> None:
    """Nodes of two releases that stand for the same person are not matched to each other.

    Each release has classes of its own; people who share both are interchangeable in both.
    """
    second = _release(_friends(), folder, "again", 13)
    both = np.stack([friends.classes, second.classes], axis=1)
    shared = np.unique(both, axis=0, return_inverse=True)[1].ravel()

    def link(first: Matrix, other: Matrix, truth_first: np.ndarray, truth: np.ndarray) -> float:
        nodes = by_embedding(first, other, {})
        guess = nodes[truth_first]  # the other node that is linked to each person's first node
        return _score(Target(friends.original, other, truth, shared), guess, {})[1]

    assert link(friends.published, second.published, friends.truth, second.truth) < HIGHEST_Z
    one, two = _naive(friends, 1), _naive(friends, 2)
    assert link(one.published, two.published, one.truth, two.truth) > 10


# --- Attackers who want to know who is connected to whom --------------------------------------


@dataclass(frozen=True)
class LeftOut:
    """A release of a network without some of its edges."""

    target: Target  # made without the edges
    kept: np.ndarray  # [edges, 2]
    left_out: np.ndarray


def _without_some_edges(network: nx.Graph, folder: Path, name: str, entropy: int) -> LeftOut:
    edges = np.array(network.edges)
    hidden = default_rng(3).random(len(edges)) < 0.1
    rest = nx.empty_graph(network.number_of_nodes())
    rest.add_edges_from(edges[~hidden].tolist())
    return LeftOut(_release(rest, folder, name, entropy), edges[~hidden], edges[hidden])


@pytest.fixture(scope="module")
def friends_left_out(folder: Path) -> LeftOut:
    return _without_some_edges(_friends(), folder, "friends-left-out", 14)


@pytest.fixture(scope="module")
def cliques_left_out(folder: Path) -> LeftOut:
    return _without_some_edges(_near_cliques(), folder, "cliques-left-out", 15)


def _auc(inside: np.ndarray, outside: np.ndarray) -> tuple[float, float]:
    """Return how often a kept edge scores higher than a left-out one, and its standard error."""
    ranks = rankdata(np.concatenate((inside, outside)))
    a, b = len(inside), len(outside)
    auc = (ranks[:a].sum() - a * (a + 1) / 2) / (a * b)
    return float(auc), float(np.sqrt((a + b + 1) / (12 * a * b)))


def _closeness(graph: Matrix) -> np.ndarray:
    """Score all pairs: an edge, paths of two and three steps, relative to the degrees."""
    degree = np.maximum(graph.sum(1), 1)
    two = graph @ graph / np.sqrt(np.outer(degree, degree))
    three = graph @ two / np.sqrt(np.outer(degree, degree))
    return np.asarray(2 * graph + two + three)


@pytest.mark.parametrize("fixture", ["friends_left_out", "cliques_left_out"])
def test_a_release_does_not_tell_which_edges_were_in_the_data(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    """The attacker even knows who is who: are kept edges closer in the release than left-out ones?

    All are edges of the network; 10 % of them were left out before the release. The classes were
    made from the kept edges, so they tell a little by themselves (which A3 measures for every
    release). The release must not tell more: the result is compared with those of people who are
    exchanged within their classes.
    """
    found: LeftOut = request.getfixturevalue(fixture)

    def auc(target: Target, truth: np.ndarray) -> float:
        score = _closeness(target.published)[np.ix_(truth, truth)]
        return _auc(score[tuple(found.kept.T)], score[tuple(found.left_out.T)])[0]

    def exchanged(target: Target) -> np.ndarray:
        rng = default_rng(9)
        n = len(target.truth)
        values = []
        for _ in range(40):
            truth = np.empty(n, int)
            order = np.lexsort((rng.random(n), target.classes))
            truth[order] = target.truth[np.lexsort((rng.random(n), target.classes))]
            values.append(auc(target, truth))
        return np.array(values)

    value, control = auc(found.target, found.target.truth), exchanged(found.target)
    assert abs(value - control.mean()) < HIGHEST_Z * control.std()
    assert control.mean() < 0.6  # what the classes tell; 0.5 is nothing
    copy = _naive(found.target)
    value, control = auc(copy, copy.truth), exchanged(copy)
    assert value > 0.99 and value > control.mean() + 10 * control.std()


def _most_random(degree: np.ndarray, block: np.ndarray, block_edges: np.ndarray) -> np.ndarray:
    """Return the probabilities of the maximum-entropy graph with these degrees and block edges."""
    n, k = len(degree), len(block_edges)
    a, b = np.log(np.maximum(degree, 1e-9) / np.sqrt(max(degree.sum(), 1))), np.zeros((k, k))
    member = np.eye(k)[block]
    different = 1 - np.eye(n)
    possible = (block_edges > 0)[np.ix_(block, block)] * different
    for _ in range(60):
        z = np.exp(np.minimum(a[:, None] + a[None] + b[np.ix_(block, block)], 30)) * possible
        p = z / (1 + z)
        v = p * (1 - p)
        a += np.clip((degree - p.sum(1)) / np.maximum(2 * v.sum(1), 1e-9), -1, 1)
        z = np.exp(np.minimum(a[:, None] + a[None] + b[np.ix_(block, block)], 30)) * possible
        p = z / (1 + z)
        v = p * (1 - p)
        missing = block_edges - member.T @ p @ member
        b += np.clip(missing / np.maximum(member.T @ v @ member, 1e-9), -1, 1)
    return np.asarray(p)


@pytest.mark.parametrize("fixture", ["friends_left_out", "cliques_left_out"])
def test_who_knows_exact_degrees_names_few_edges_because_they_are_in_the_data(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    """The attacker knows the class and degree of everybody and the edges between classes.

    He names pairs in the order of his probabilities, while their mean is at least .9. The share of
    the kept edges that he names exceeds the share of the left-out edges by at most 2 %, up to three
    standard errors.
    """
    found: LeftOut = request.getfixturevalue(fixture)
    graph, kept = found.target.original, 0.9  # nine in ten edges are in the data

    def excess(label: np.ndarray) -> tuple[float, float, float]:
        member = np.eye(label.max() + 1)[label]
        p = _most_random(graph.sum(1), label, member.T @ graph @ member) / kept
        ordered = np.sort(p[np.triu_indices(len(p), 1)])[::-1]
        enough = np.cumsum(np.minimum(ordered, 1)) >= 0.9 * np.arange(1, len(ordered) + 1)
        least = max(ordered[enough.nonzero()[0][-1]], 1e-6) if enough.any() else np.inf
        inside, outside = (
            (p[tuple(edges.T)] >= least).mean() for edges in (found.kept, found.left_out)
        )
        error = np.sqrt(max(inside * (1 - inside), 1e-3) / len(found.left_out))
        return float(inside), float(inside - outside), float(error)

    _, value, error = excess(found.target.classes)
    assert value <= 0.02 + HIGHEST_Z * error
    named, value, error = excess(np.arange(len(graph)))  # classes of one person protect nobody
    assert named > 0.9 and value > 0.9

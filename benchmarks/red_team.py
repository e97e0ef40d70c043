"""Attack default releases with code that shares nothing with coterie.

    python benchmarks/networks.py --out /tmp/networks --only email pages
    python benchmarks/red_team.py ca-astroph as-caida /tmp/networks/*.txt

Every network is released three times with default settings: twice as it is, and once without a
tenth of its edges. The attackers read the published `graph.csv` and know the original. The identity
map (`research_truth`) and the classes are used only to count how often they are right, and to know
how often they would be right by luck: if the members of each class exchange places. Every attack is
also made on a copy with only the names removed, where it must succeed.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.linalg import eigsh
from scipy.spatial import cKDTree
from scipy.stats import rankdata

import coterie as ct
from coterie.anonymize import release_run
from coterie.data import datasets
from coterie.data.readers import read_graph
from record import Recorder, add_options, show

N_KNOWN = 50  # people whom some attackers know, among the 200 best-connected
N_ASSIGNED = 1200  # best-connected people for whom the best assignment is found
DENSE = 2500  # attacks on all pairs of people are made on networks up to this size
SHUFFLES = 200
LEFT_OUT = 0.1
MAX_PAIRS = 3000  # kept and left-out edges that are compared
PAIR_SHUFFLES = 40

_NAMES = {"as-caida": "CAIDA", "ca-astroph": "astro-ph"}
Known = dict[int, int]  # the node of each person whom an attacker knows


@dataclass(frozen=True)
class Target:
    """A graph to attack. `truth` and `classes` are used to count hits, never by an attack."""

    original: csr_array
    published: csr_array
    truth: np.ndarray  # the published node of each person
    classes: np.ndarray  # of each person

    @property
    def n(self) -> int:
        return len(self.truth)


# --- Releases ----------------------------------------------------------------------------------


def release(
    source: np.ndarray, target: np.ndarray, n: int, dataset: str, folder: Path
) -> Target | list[str]:
    """Release edges with default settings and read back what was written.

    Returns the reasons if the release is refused.
    """
    models: list[Any] = []
    build = release_run.build_model

    def spy(*arguments: Any, **options: Any) -> Any:
        models.append(build(*arguments, **options))
        return models[-1]

    folder.mkdir()
    graph = ct.Graph.from_edges(source, target, n_nodes=n)
    release_run.build_model = spy
    try:
        made = ct.Anonymizer(dataset=dataset).release(graph, suggest=False)
    finally:
        release_run.build_model = build
    if made.refused:
        return list(made.reasons)
    made.write(folder / "public", research_truth=folder / "truth.csv")
    truth = np.empty(n, int)
    with open(folder / "truth.csv", newline="") as file:
        for row in csv.DictReader(file):
            truth[int(row["original"])] = int(row["published"])
    with open(folder / "public" / "graph.csv", newline="") as file:
        rows = [row for row in csv.reader(file) if row and row[0].isdigit()]
    ends = np.array([row[:2] for row in rows], int).T
    return Target(matrix(source, target, n), matrix(*ends, n), truth, models[-1].classes.label)


def matrix(source: np.ndarray, target: np.ndarray, n: int) -> csr_array:
    """Return the adjacency matrix."""
    both = np.r_[source, target], np.r_[target, source]
    found = csr_array((np.ones(len(both[0])), both), shape=(n, n))
    found.data[:] = 1.0
    return found


def without_names(target: Target, seed: int = 0) -> Target:
    """Return the copy with only the names removed, counted with the same classes."""
    truth = default_rng(seed).permutation(target.n)
    rows, columns = target.original.nonzero()
    keep = rows < columns
    copy = matrix(truth[rows[keep]], truth[columns[keep]], target.n)
    return replace(target, published=copy, truth=truth)


# --- Counting ----------------------------------------------------------------------------------


def exchanges(people: np.ndarray, target: Target, number: int) -> Iterator[np.ndarray]:
    """Yield the nodes of everybody after some people exchanged places within their class."""
    rng = default_rng(9)
    for _ in range(number):
        order = people[np.lexsort((rng.random(len(people)), target.classes[people]))]
        again = people[np.lexsort((rng.random(len(people)), target.classes[people]))]
        truth = target.truth.copy()
        truth[order] = target.truth[again]
        yield truth


def score(target: Target, guess: np.ndarray, known: Known) -> dict[str, float]:
    """Return guesses, hits, hits by luck and their difference in standard deviations."""
    unknown = np.setdiff1d(np.arange(target.n), np.array([*known], int))
    claimed = guess[unknown]
    hits = int((claimed == target.truth[unknown]).sum())
    luck = [int((claimed == t[unknown]).sum()) for t in exchanges(unknown, target, SHUFFLES)]
    # Few expected hits have a standard deviation near one.
    z = (hits - np.mean(luck)) / max(float(np.std(luck)), 0.7)
    made = int((claimed >= 0).sum())
    return {"guesses": made, "right": hits, "by_luck": float(np.mean(luck)), "z": float(z)}


def known_people(target: Target) -> Known:
    """Return people whom the attacker knows: some of those with the most contacts."""
    hubs = np.argsort(-target.original.sum(1), kind="stable")[: 4 * N_KNOWN]
    some = default_rng(4).permutation(hubs)[:N_KNOWN]
    return {int(v): int(target.truth[v]) for v in some}


# --- Attackers who want to know who is who ------------------------------------------------------


def surroundings(graph: csr_array) -> np.ndarray:
    """Describe each node by the degrees met on walks of up to four steps, and by its triangles."""
    degree = graph.sum(1)
    walk = csr_array(graph.multiply(1 / np.maximum(degree, 1)[:, None]))
    columns = [np.log1p(degree)]
    for power in (1, 2):
        column = np.log1p(degree) ** power
        for _ in range(4):
            column = walk @ column
            columns.append(column)
    triangles = (graph @ graph).multiply(graph).sum(1)
    columns += [np.log1p(triangles), np.log1p(walk @ triangles)]
    table = np.column_stack(columns)
    return np.asarray((table - table.mean(0)) / np.maximum(table.std(0), 1e-9))


def by_degree_rank(target: Target, known: Known) -> np.ndarray:
    """The person with the k-th most contacts is the node with the k-th most edges."""
    guess = np.empty(target.n, int)
    tie = default_rng(1).random((2, target.n))
    people, nodes = target.original.sum(1), target.published.sum(1)
    guess[np.lexsort((tie[0], people))] = np.lexsort((tie[1], nodes))
    return guess


def by_surroundings(target: Target, known: Known) -> np.ndarray:
    """Guess the node with the most similar surroundings for everybody."""
    nodes = cKDTree(surroundings(target.published))
    return np.asarray(nodes.query(surroundings(target.original))[1])


def by_assignment(target: Target, known: Known) -> np.ndarray:
    """Assign the best-connected people to the best-connected nodes by their surroundings."""
    size = min(N_ASSIGNED, target.n)
    people = np.argsort(-target.original.sum(1), kind="stable")[:size]
    nodes = np.argsort(-target.published.sum(1), kind="stable")[:size]
    here = surroundings(target.original)[people]
    there = surroundings(target.published)[nodes]
    guess = np.full(target.n, -1)
    rows, columns = linear_sum_assignment(np.linalg.norm(here[:, None] - there[None], axis=2))
    guess[people[rows]] = nodes[columns]
    return guess


def with_classes(target: Target, known: Known) -> np.ndarray:
    """Assign people to nodes within each class, which this attacker is told, by surroundings."""
    here, there = surroundings(target.original), surroundings(target.published)
    guess = np.full(target.n, -1)
    order = np.argsort(target.classes, kind="stable")
    for people in np.split(order, np.flatnonzero(np.diff(target.classes[order])) + 1):
        nodes = np.sort(target.truth[people])  # who of them is who is not told
        distance = np.linalg.norm(here[people][:, None] - there[nodes][None], axis=2)
        rows, columns = linear_sum_assignment(distance)
        guess[people[rows]] = nodes[columns]
    return guess


def by_spectrum(target: Target, known: Known) -> np.ndarray:
    """Match people by eigenvectors, whose signs the known people decide (Umeyama 1988)."""
    parts = []
    for graph in (target.original, target.published):
        start = default_rng(5).random(target.n)
        values, vectors = eigsh(graph, k=24, which="LM", v0=start, tol=1e-6)
        vectors = vectors[:, np.argsort(-np.abs(values), kind="stable")]
        parts.append(vectors * np.sqrt(target.n))
    people, nodes = np.array([*known]), np.array([*known.values()])
    signs = np.sign((parts[0][people] * parts[1][nodes]).sum(0))
    parts[1] = parts[1] * np.where(signs == 0, 1, signs)
    return np.asarray(cKDTree(parts[1]).query(parts[0])[1])


def by_percolation(target: Target, known: Known) -> np.ndarray:
    """Grow a matching from the people known (Yartseva & Grossglauser 2013).

    In each round the pairs with the most neighbours that are matched to each other are matched, if
    they have at least two, until the number of matched people has grown by half.
    """
    n = target.n
    guess = np.full(n, -1)
    for person, node in known.items():
        guess[person] = node
    degrees = target.original.sum(1), target.published.sum(1)
    for _ in range(40):
        matched = np.flatnonzero(guess >= 0)
        free_people = np.flatnonzero(guess < 0)
        free_nodes = np.setdiff1d(np.arange(n), guess[matched])
        if not len(free_people):
            break
        first = target.original[free_people][:, matched]
        second = target.published[guess[matched]][:, free_nodes]
        marks = (first @ second).tocoo()
        enough = marks.data >= 2
        people, nodes = free_people[marks.row[enough]], free_nodes[marks.col[enough]]
        apart = np.abs(np.log1p(degrees[0][people]) - np.log1p(degrees[1][nodes]))
        order = np.lexsort((apart, -marks.data[enough]))
        people, nodes = people[order], nodes[order]
        allowed = max(len(matched) // 2, 10)
        taken: set[int] = set()
        new = 0
        for person, node in zip(people.tolist(), nodes.tolist(), strict=True):
            if guess[person] < 0 and node not in taken:
                guess[person] = node
                taken.add(node)
                new += 1
                if new == allowed:
                    break
        if not new:
            break
    return guess


def by_graph_matching(target: Target, known: Known) -> np.ndarray:
    """Maximise the edges in common by Frank-Wolfe steps (FAQ, Vogelstein et al. 2015)."""
    n, original, published = target.n, target.original.toarray(), target.published.toarray()
    p = np.full((n, n), 1.0 / n)
    for person, node in known.items():
        p[person, :] = p[:, node] = 0.0
        p[person, node] = 1.0
    for _ in range(12):
        gradient = original @ p @ published
        for person, node in known.items():
            gradient[person, :] = gradient[:, node] = -1e9
            gradient[person, node] = 1e9
        guess = np.asarray(linear_sum_assignment(-gradient)[1])
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


def best_connected(target: Target, known: Known) -> np.ndarray:
    """Guess for the ten best-connected people, by rank."""
    guess = np.full(target.n, -1)
    people = np.argsort(-target.original.sum(1), kind="stable")[:10]
    guess[people] = np.argsort(-target.published.sum(1), kind="stable")[:10]
    return guess


@dataclass(frozen=True)
class Attack:
    """An attack that guesses the nodes of people."""

    name: str
    guess: Callable[[Target, Known], np.ndarray]
    knows: bool = False  # whether some people are known
    largest: int | None = None  # number of people above which it takes too long


ATTACKS = (
    Attack("rank by degree", by_degree_rank),
    Attack("surroundings, nearest node", by_surroundings),
    Attack("surroundings, best assignment of the 1,200 best-connected", by_assignment),
    Attack("surroundings, all classes known", with_classes),
    Attack("eigenvectors, 50 known", by_spectrum, knows=True),
    Attack("percolation, 50 known", by_percolation, knows=True),
    Attack("graph matching (FAQ), 50 known", by_graph_matching, knows=True, largest=DENSE),
    Attack("ten best-connected by rank", best_connected),
)


def who_is_who(label: str, target: Target) -> Iterator[dict[str, Any]]:
    """Yield the result of every attack, on the release and on a copy without names."""
    copy = without_names(target)
    for attack in ATTACKS:
        if attack.largest is not None and target.n > attack.largest:
            continue
        row: dict[str, Any] = {"network": label, "attack": attack.name}
        known = known_people(target) if attack.knows else {}
        row |= score(target, attack.guess(target, known), known)
        known = known_people(copy) if attack.knows else {}
        naive = score(copy, attack.guess(copy, known), known)
        yield row | {"copy_guesses": naive["guesses"], "copy_right": naive["right"]}


def linked(label: str, first: Target, second: Target) -> dict[str, Any]:
    """Match the nodes of two releases; right if both stand for the same person."""

    def link(one: Target, other: Target) -> dict[str, float]:
        pair = replace(other, original=one.published)
        nodes = by_surroundings(pair, {})
        return score(other, nodes[one.truth], {})

    row: dict[str, Any] = {"network": label, "attack": "two releases linked"}
    row |= link(first, second)
    naive = link(without_names(first, 1), without_names(first, 2))
    return row | {"copy_guesses": naive["guesses"], "copy_right": naive["right"]}


# --- Attackers who want to know who is connected to whom ----------------------------------------


def closeness(graph: csr_array, people: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Score pairs: an edge, paths of two and three steps, relative to the degrees."""
    scale = 1 / np.sqrt(np.maximum(graph.sum(1), 1))
    here, there = graph[people], graph[others]
    edge = np.asarray(graph[people, others]).ravel()
    two = here.multiply(there).sum(1) * scale[people] * scale[others]
    onward = csr_array(here.multiply(scale[None] ** 2)) @ graph
    three = onward.multiply(there).sum(1) * scale[people] * scale[others]
    return np.asarray(2 * edge + two + three)


def auc(inside: np.ndarray, outside: np.ndarray) -> float:
    """Return how often a kept edge scores higher than a left-out one."""
    ranks = rankdata(np.concatenate((inside, outside)))
    a, b = len(inside), len(outside)
    return float((ranks[:a].sum() - a * (a + 1) / 2) / (a * b))


def membership(
    label: str, target: Target, kept: np.ndarray, left_out: np.ndarray
) -> dict[str, Any]:
    """Are kept edges closer in the release than left-out ones? The attacker knows who is who."""
    rng = default_rng(6)
    sample = [
        edges[rng.permutation(len(edges))[:MAX_PAIRS]]
        for edges in (np.asarray(kept), np.asarray(left_out))
    ]
    pairs = np.concatenate(sample)
    size = len(sample[0])

    def of(graph: csr_array, truth: np.ndarray) -> float:
        found = closeness(graph, truth[pairs[:, 0]], truth[pairs[:, 1]])
        return auc(found[:size], found[size:])

    everybody = np.arange(target.n)
    shuffled = [
        of(target.published, truth) for truth in exchanges(everybody, target, PAIR_SHUFFLES)
    ]
    value, control = of(target.published, target.truth), float(np.mean(shuffled))
    copy = without_names(target)
    return {
        "network": label,
        "kept": len(sample[0]),
        "left_out": len(sample[1]),
        "auc": value,
        "auc_exchanged": control,
        "z": (value - control) / float(np.std(shuffled)),
        "copy_auc": of(copy.published, copy.truth),
        **named_with_degrees(target, kept, left_out),
    }


def named_with_degrees(
    target: Target, kept: np.ndarray, left_out: np.ndarray
) -> dict[str, float | None]:
    """Name pairs by the maximum-entropy graph with the degrees and the edges between classes.

    The attacker knows the class and degree of everybody, and that a tenth of the edges is missing.
    """
    if target.n > DENSE:
        return {"named_kept": None, "named_left_out": None, "named_error": None}
    graph, label = target.original.toarray(), target.classes
    member = np.eye(label.max() + 1)[label]
    p = most_random(graph.sum(1), label, member.T @ graph @ member) / (1 - LEFT_OUT)
    ordered = np.sort(p[np.triu_indices(len(p), 1)])[::-1]
    enough = np.cumsum(np.minimum(ordered, 1)) >= 0.9 * np.arange(1, len(ordered) + 1)
    least = max(ordered[enough.nonzero()[0][-1]], 1e-6) if enough.any() else np.inf
    inside, outside = (float((p[tuple(e.T)] >= least).mean()) for e in (kept, left_out))
    error = np.sqrt(max(inside * (1 - inside), 1e-3) / len(left_out))
    return {"named_kept": inside, "named_left_out": outside, "named_error": float(error)}


def most_random(degree: np.ndarray, block: np.ndarray, block_edges: np.ndarray) -> np.ndarray:
    """Return the probabilities of the maximum-entropy graph with these degrees and block edges."""
    n, k = len(degree), len(block_edges)
    a, b = np.log(np.maximum(degree, 1e-9) / np.sqrt(max(degree.sum(), 1))), np.zeros((k, k))
    member = np.eye(k)[block]
    possible = (block_edges > 0)[np.ix_(block, block)] * (1 - np.eye(n))
    p = possible
    for _ in range(60):
        for part in ("degrees", "blocks"):
            x = np.exp(np.minimum(a[:, None] + a[None] + b[np.ix_(block, block)], 30)) * possible
            p = x / (1 + x)
            v = p * (1 - p)
            if part == "degrees":
                a += np.clip((degree - p.sum(1)) / np.maximum(2 * v.sum(1), 1e-9), -1, 1)
            else:
                missing = block_edges - member.T @ p @ member
                b += np.clip(missing / np.maximum(member.T @ v @ member, 1e-9), -1, 1)
    return np.asarray(p)


# --- All of it ---------------------------------------------------------------------------------


def attack_network(name: str, folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Release one network three times and attack it; returns the rows of both tables."""
    path = Path(name) if Path(name).exists() else Path(datasets.path(name))
    label = _NAMES.get(name, path.name.split(".")[0])
    graph = read_graph(path)
    source, target = (np.asarray(side) for side in graph.edges())
    n = graph.n_nodes
    started = time.process_time()
    made = []
    for number in (1, 2):
        found = release(source, target, n, label, folder / f"{label}-{number}")
        if isinstance(found, list):
            print(f"{label} is refused: {'; '.join(found)}", flush=True)
            return [], []
        made.append(found)
    rows = []
    for row in (*who_is_who(label, made[0]), linked(label, *made)):
        show(row)
        rows.append(row)
    hidden = default_rng(3).random(len(source)) < LEFT_OUT
    without = f"{label}-without"
    rest = release(source[~hidden], target[~hidden], n, without, folder / without)
    pairs: list[dict[str, Any]] = []
    if isinstance(rest, Target):
        edges = np.column_stack((source, target))
        pairs.append(membership(label, rest, edges[~hidden], edges[hidden]))
        show(pairs[-1])
    else:
        print(f"{label} without a tenth of the edges is refused: {'; '.join(rest)}")
    print(f"{label}: {time.process_time() - started:.0f} CPU seconds", flush=True)
    return rows, pairs


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("networks", nargs="+", help="files, or names of data sets")
    add_options(parser)
    given = parser.parse_args()
    record = Recorder("red-team", given)
    people: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["COTERIE_STATE"] = str(Path(folder) / "state")
        for name in given.networks:
            rows, pairs = attack_network(name, Path(folder))
            people += rows
            edges += pairs
            z = np.array([row["z"] for row in people])
            together = z.sum() / np.sqrt(len(z))
            record.add(
                "people",
                people,
                title="Who is who: guesses of independent attackers",
                data="see the column network; each released with default settings",
                asked="'by luck': the mean if the members of each class exchange places "
                f"({SHUFFLES} times), without the people known; z: the difference in standard "
                "deviations. 'copy': the same attack on a copy with only the names removed.",
                threads="1",
                remarks=f"Of {len(z)} z values {z.min():+.1f} is the smallest and {z.max():+.1f} "
                f"the largest; their sum divided by the root of their number is {together:+.1f}.",
            )
            record.add(
                "edges",
                edges,
                title="Which edges were in the data",
                data="see the column network; each released without a tenth of its edges",
                asked="Is a kept edge closer in the release than a left-out one (share of pairs of "
                f"such edges, .5 is chance)? 'exchanged': the mean of {PAIR_SHUFFLES} exchanges of "
                "the members of each class. The attacker knows who is who. 'Named': by maximum "
                "entropy with all classes and exact degrees, 90 % sure, up to "
                f"{DENSE:,} people.",
                threads="1",
            )


if __name__ == "__main__":
    main()

"""Small tables for tools/equality.py, drawn with NumPy only: the same for every version."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

NODES, USERS, ITEMS, PEOPLE = 120, 60, 40, 240


def _table(path: Path, header: str, rows: Iterable[Iterable[object]]) -> None:
    lines = [header, *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(line for line in lines if line) + "\n")


def planted(n: int, blocks: int, inside: float, between: float, seed: int) -> np.ndarray:
    """Return the edges (rows of two nodes, u < v) of a graph with equal blocks."""
    random = np.random.default_rng(seed)
    u, v = np.triu_indices(n, 1)
    same = u * blocks // n == v * blocks // n
    return np.stack([u, v], axis=1)[random.random(len(u)) < np.where(same, inside, between)]


def circles(n: int, clubs: int, seed: int) -> np.ndarray:
    """Return the edges of people who know nearly everybody in several small circles."""
    random = np.random.default_rng(seed)
    pairs = {(int(u), int((u + 1) % n)) for u in range(n)}
    for _ in range(n):
        club = np.flatnonzero(np.arange(n) % clubs == random.integers(clubs))
        circle = random.permutation(club)[: random.integers(3, 7)]
        pairs |= {(int(u), int(v)) for u in circle for v in circle if random.random() < 0.8}
    return np.array(sorted({(min(p), max(p)) for p in pairs if p[0] != p[1]}))


def write_data(folder: Path) -> None:
    """Write every table that the cases read."""
    folder.mkdir()
    random = np.random.default_rng(1)
    edges = planted(NODES, 4, 0.3, 0.03, seed=2)
    names = [f"n{node:03d}" for node in range(NODES)]
    _table(folder / "graph.csv", "source,target", ((names[u], names[v]) for u, v in edges))
    _table(folder / "truth.csv", "node,block", ((names[u], u * 4 // NODES) for u in range(NODES)))
    flipped = np.where(random.random((len(edges), 1)) < 0.5, edges, edges[:, ::-1])
    _table(folder / "directed.csv", "source,target", flipped)
    counts = random.integers(1, 9, len(edges)) + 5 * (edges.sum(axis=1) % 2)
    _table(folder / "weighted.csv", "source,target,weight", np.column_stack([edges, counts]))
    values = np.round(random.normal(3 + (edges[:, 0] // 30), 0.5), 3)
    rows = zip(*edges.T, values, strict=True)
    _table(folder / "measured.csv", "source,target,weight", rows)
    _write_formats(folder, edges)
    _write_ratings(folder, random)
    _write_people(folder, random)
    (folder / "broken.csv").write_text("source,target\na,b\nc\n")
    (folder / "strict.toml").write_text("[limits]\nmin_class_size = 40\n")


def _write_formats(folder: Path, edges: np.ndarray) -> None:
    """Write one graph in other formats."""
    pairs = [f"{u} {v}" for u, v in edges]
    text = "\n".join(["# nodes: 121", *pairs]) + "\n"
    (folder / "spaces.txt.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    semicolons = [f"x;{u};é{v}" for u, v in edges]
    (folder / "columns.csv").write_text("\n".join(["kind;Person A;Person B", *semicolons]))
    nodes = [{"id": node} for node in range(NODES)]
    links = [{"source": int(u), "target": int(v)} for u, v in edges]
    (folder / "graph.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    market = ["%%MatrixMarket matrix coordinate pattern symmetric", f"120 120 {len(edges)}"]
    market += [f"{v + 1} {u + 1}" for u, v in edges]
    (folder / "graph.mtx").write_text("\n".join(market) + "\n")
    pajek = ["*Vertices 120", *(f'{u + 1} "p{u}"' for u in range(NODES)), "*Edges"]
    pajek += [f"{u + 1} {v + 1}" for u, v in edges]
    (folder / "graph.net").write_text("\n".join(pajek) + "\n")
    gml = [f"node [ id {u} ]" for u in range(NODES)]
    gml += [f"edge [ source {u} target {v} ]" for u, v in edges]
    (folder / "graph.gml").write_text("graph [\n" + "\n".join(gml) + "\n]\n")
    xml = [f'<node id="{u}"/>' for u in range(NODES)]
    xml += [f'<edge source="{u}" target="{v}"/>' for u, v in edges]
    graphml = (
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
    )
    (folder / "graph.graphml").write_text(graphml + "\n".join(xml) + "</graph></graphml>\n")
    matrix = np.zeros((NODES, NODES), int)
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = 1
    _table(folder / "matrix.csv", "", matrix)


def _write_ratings(folder: Path, random: np.random.Generator) -> None:
    """Write ratings of two tastes, likes, pairs, features and titles."""
    pairs = np.sort(random.choice(USERS * ITEMS, 1200, replace=False))
    users, items = pairs // ITEMS, pairs % ITEMS
    stars = np.where((users + items) % 2, 2.0, 4.2) + random.normal(0, 0.7, len(pairs))
    stars = np.clip(np.round(stars), 1, 5).astype(int)
    rows = [(f"u{u}", i + 100, s) for u, i, s in zip(users, items, stars, strict=True)]
    times = 880000000 + 1000 * random.permutation(len(rows))
    header = "user,item,rating,timestamp"
    _table(folder / "ratings.csv", header, ((*row, t) for row, t in zip(rows, times, strict=True)))
    _table(folder / "train.csv", "user,item,rating", rows[::2] + rows[1::4])
    _table(folder / "test.csv", "user,item,rating", rows[3::4])
    _table(folder / "likes.csv", "user,item", (row[:2] for row in rows if row[2] > 3))
    _table(folder / "pairs.csv", "user,item", [*(row[:2] for row in rows[::40]), ("new", 100)])
    _table(folder / "own.csv", "item,rating", [(100, 5), (101, 1), (102, 5), (103, 2)])
    _table(folder / "some-items.csv", "item", [(item,) for item in range(100, 115)])
    _table(folder / "some-users.csv", "user", [("u1",), ("u2",), ("u5",)])
    rows = [(f"u{u}", 18 + u % 50, "even" if u % 2 == 0 else "odd") for u in range(USERS + 2)]
    _table(folder / "users.csv", "user,age,side", rows)
    rows = [(i + 100, f"film {i}", 1960 + i, "a|b" if i % 2 else "b") for i in range(ITEMS + 2)]
    _table(folder / "items.csv", "item,title,year,genres", rows)
    _table(folder / "titles.csv", "item,title", (row[:2] for row in rows))


def _write_people(folder: Path, random: np.random.Generator) -> None:
    """Write the networks to release, with attributes, directions, weights and two sides."""
    edges = circles(PEOPLE, 6, seed=3)
    names = [f"person {person}" for person in range(PEOPLE)]
    _table(folder / "people.csv", "source,target", ((names[u], names[v]) for u, v in edges))
    _table(folder / "numbers.csv", "source,target", edges)
    both = [(v, u) for u, v in edges[::3]]
    _table(folder / "follows.csv", "source,target", [*map(tuple, edges), *both])
    weights = random.geometric(0.3, len(edges))
    _table(folder / "calls.csv", "source,target,weight", np.column_stack([edges, weights]))
    teams = [("red", "blue", "green")[person % 3] for person in range(PEOPLE)]
    sick = np.where(random.random(PEOPLE) < 0.3, "yes", "no")
    ages = random.integers(20, 65, PEOPLE)
    rows = zip(names, teams, ages, sick, strict=True)
    _table(folder / "staff.csv", "node,team,age,sick", rows)
    visits = sorted(
        {(f"v{u}", f"place{(u + 7 * k) % 60}") for u in range(PEOPLE) for k in range(5)}
    )
    _table(folder / "visits.csv", "visitor,place", visits)

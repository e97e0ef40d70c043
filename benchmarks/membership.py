"""Worst-case membership: can somebody who knows all edges but one tell from a release which?

Two worlds differ in the place of one edge. Of each, releases are drawn; half of them train a
linear rule on simple figures of a release (degrees, triangles, components, edges by degree), the
other half test it. The figure is the AUC: 1/2 is guessing, 1 is always right.

    python benchmarks/membership.py GRAPH [--people 300] [--edges 3] [--draws 40]
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from coterie.anonymize.anonymizer import Anonymizer
from coterie.anonymize.draw.clustering import cluster_for_release, default_n_blocks
from coterie.anonymize.draw.models import build_model
from coterie.data import Graph
from coterie.data.readers import read_graph
from coterie.kernels.graphs.triangles import triangles


def ball(graph: Graph, people: int, rng: Generator) -> Graph:
    """Return the edges among the people nearest to a random one."""
    found = [int(rng.integers(graph.n_nodes))]
    seen = set(found)
    for v in found:
        for w in graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist():
            if w not in seen and len(found) < people:
                seen.add(w)
                found.append(w)
    number = {v: i for i, v in enumerate(found)}
    source, target = graph.edges()
    inside = np.isin(source, found) & np.isin(target, found)
    ends = ([number[int(v)] for v in side[inside]] for side in (source, target))
    return Graph.from_edges(*map(np.array, ends), n_nodes=len(found))


def draw(graph: Graph, entropy: SeedSequence, seed: int | None, blocks: int | None) -> np.ndarray:
    """Return figures of one release; `seed` is that of the clustering, None if it is secret."""
    rng = default_rng(entropy)
    own = int(rng.integers(2**62)) if seed is None else seed
    n_blocks = blocks or default_n_blocks(graph, 10, own)
    settings = Anonymizer().get_params()
    labels = cluster_for_release(graph, n_blocks, degree_corrected=True, min_block_size=10, rng=own)
    model = build_model(
        "dcsbm", graph, labels, min_size=10, limit=settings["max_edge_probability"], rng=rng
    )
    drawn = model.draw(rng)
    degrees, closed = drawn.degrees, triangles(drawn.indptr, drawn.indices)
    counts = np.bincount(np.minimum(degrees, 40), minlength=41)
    order = np.sort(degrees)[::-1][:20]
    sizes = np.sort(np.bincount(model.classes.block))[::-1]
    inner = np.sort(np.bincount(degrees, closed, 400)[:40])
    means = np.sort(np.rint(100 * np.bincount(model.classes.label, degrees) / model.classes.sizes))
    padded = np.zeros(60)
    padded[: min(60, len(means))] = means[:60]
    many = np.zeros(40)
    many[: min(40, len(sizes))] = sizes[:40]
    return np.r_[counts, order, inner, padded, many, closed.sum()].astype(float)


def auc(one: np.ndarray, other: np.ndarray) -> float:
    """Train a linear rule on the first halves, and test it on the others."""
    half = len(one) // 2
    mean = [w[:half].mean(0) for w in (one, other)]
    spread = np.sqrt((one[:half].var(0) + other[:half].var(0)) / 2) + 1e-3
    weight = (mean[1] - mean[0]) / spread**2
    weight[np.abs(mean[1] - mean[0]) / spread < np.sqrt(4 / half)] = 0.0  # noise
    scores = [w[half:] @ weight for w in (one, other)]
    greater = scores[1][:, None] - scores[0][None, :]
    return float((greater > 0).mean() + 0.5 * (greater == 0).mean())


def main() -> None:
    """Print the AUC per setting, mean over some edges."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph")
    parser.add_argument("--people", type=int, default=300)
    parser.add_argument("--edges", type=int, default=3)
    parser.add_argument("--draws", type=int, default=40)
    given = parser.parse_args()
    rng = default_rng(0)
    graph = ball(read_graph(given.graph), given.people, rng)
    print(f"{graph.n_nodes} people, {graph.n_edges} edges, {given.draws} draws per world")
    fewer = max(1, default_n_blocks(graph, 10) // 2)
    settings = {
        "public seed": (0, None),
        "secret seed": (None, None),
        "secret seed, half the blocks": (None, fewer),
    }
    source, target = graph.edges()
    moved = rng.choice(len(source), given.edges, replace=False)
    for name, (seed, blocks) in settings.items():
        found = []
        for e in moved:
            kept = np.delete(np.arange(len(source)), e)
            u, v = rng.choice(graph.n_nodes, 2, replace=False)
            world = Graph.from_edges(
                np.r_[source[kept], u], np.r_[target[kept], v], n_nodes=graph.n_nodes
            )
            drawn = [
                np.array([draw(g, SeedSequence(), seed, blocks) for _ in range(given.draws)])
                for g in (graph, world)
            ]
            found.append(auc(*drawn))
        print(f"{name}: AUC {np.mean(found):.2f} ({', '.join(f'{x:.2f}' for x in found)})")


if __name__ == "__main__":
    main()

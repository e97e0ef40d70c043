"""Releases: path lengths, drawing, what each step does, and other techniques.

    python benchmarks/anonymize.py paths draw      # about two minutes
    python benchmarks/anonymize.py attacks         # eight releases per network, about 15 minutes
    python benchmarks/anonymize.py steps           # about 15 minutes
    python benchmarks/anonymize.py techniques      # about 15 minutes

    paths       exact average path length: coterie and igraph (a sample of its sources, scaled)
    draw        a graph of 1 M nodes and 10 M edges from 1,000 blocks
    attacks     eight releases of each network: what they keep, and whom the attacks identify
    steps       the release with each of its steps switched off: utility and risk
    techniques  the techniques of `python -m benchmarks.baselines anonymize`

Data: ca-astroph and as-caida, from $COTERIE_DATA or the cache.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

import coterie as ct
from baselines.benchmark import BenchmarkRow, benchmark
from coterie.anonymize.anonymizer import Anonymizer
from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.draw.clustering import cluster_for_release
from coterie.anonymize.draw.dcsbm import Steps
from coterie.anonymize.draw.models import CellModel
from coterie.anonymize.output.release import Release
from coterie.anonymize.utility.paths import path_lengths
from coterie.data import Graph, datasets
from coterie.engine import LocalEngine
from record import Recorder, add_options, peak_gigabytes, show

NAMES = {"astro-ph": "ca-astroph", "CAIDA": "as-caida"}
DATA = {
    "astro-ph": "astro-ph (18,772 nodes, 198,050 edges)",
    "CAIDA": "CAIDA (26,475 nodes, 53,381 edges)",
}
BLOCKS, RELEASES = 60, 8
ATTACKS = (
    "seeded, 200 people known, guesses only where the match is clear",
    "seeded, 200 people known, guesses for everyone",
    "nobody known, guesses for everyone",
    "nobody known, all blocks known, guesses for everyone",
)
STEPS = {
    "all steps": Steps(),
    "no rewiring": Steps(rewire=False),
    "no cliques": Steps(cliques=False),
    "no cliques, no rewiring": Steps(cliques=False, rewire=False),
    "degrees kept": Steps(redraw_degrees=False),
    "no reconnecting": Steps(reconnect=False),
    "blocks not cut": Steps(cut_blocks=False),
}


def main() -> None:
    parts = {
        "paths": paths,
        "draw": draw,
        "attacks": attacks,
        "steps": steps,
        "techniques": techniques,
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=f"any of {', '.join(parts)} (default: all)")
    add_options(parser)
    given = parser.parse_args()
    record = Recorder("anonymize", given, ["igraph"])
    with LocalEngine() as engine:
        for name in given.parts or parts:
            parts[name](record, engine)


def load(name: str) -> Graph:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ct.read_graph(datasets.path(NAMES[name]))


def paths(record: Recorder, engine: LocalEngine) -> None:
    """Exact average path length of both networks, compared with igraph."""
    import igraph

    path_lengths(Graph.from_edges([0], [1]))  # compiles the kernels
    rows = []
    for name in NAMES:
        graph = load(name)
        started = time.perf_counter()
        ours = path_lengths(graph, engine)
        seconds = time.perf_counter() - started
        peer = igraph.Graph(n=graph.n_nodes, edges=np.c_[graph.edges()].tolist())
        sources = 400
        started = time.perf_counter()
        peer.distances(source=range(sources))
        scaled = (time.perf_counter() - started) * graph.n_nodes / sources
        rows.append(
            {
                "graph": name,
                "path_length": ours.mean,
                "seconds": seconds,
                "igraph_seconds": scaled,
            }
        )
        show(rows[-1])
    record.add(
        "paths",
        rows,
        title="Exact average path length",
        data=", ".join(DATA.values()),
        asked="coterie: all sources. igraph: distances from 400 sources, scaled to all",
        threads=f"{engine.threads} (coterie), 1 (igraph)",
    )


def draw(record: Recorder, engine: LocalEngine) -> None:
    """Draw a large graph from a block model."""
    n, k, inner, across = 1_000_000, 1000, 5000, 10
    rng = np.random.default_rng(0)
    block = rng.integers(0, k, n).astype(np.int32)
    sizes = np.bincount(block).astype(np.int64)
    r, s = (x.astype(np.int64) for x in np.triu_indices(k))
    pairs = np.where(r == s, sizes[r] * (sizes[r] - 1) // 2, sizes[r] * sizes[s])
    edges = np.where(r == s, inner, across).astype(np.int64)
    model = CellModel(Classes(block, block), r, s, pairs, edges, exact=False)
    model.draw(rng, engine)  # compiles the kernels
    started = time.perf_counter()
    graph = model.draw(rng, engine)
    row = {
        "what": f"{graph.n_nodes:,} nodes, {graph.n_edges:,} edges from {k:,} blocks",
        "seconds": time.perf_counter() - started,
        "peak_gb": peak_gigabytes(),
    }
    show(row)
    record.add(
        "draw",
        [row],
        title="Drawing a large graph from a block model",
        data="generated",
        asked="CellModel.draw (the sbm release)",
        threads=str(engine.threads),
    )


def attacks(record: Recorder, engine: LocalEngine) -> None:
    """Eight releases of each network from one clustering: utility, and people identified."""
    found = []
    asked = (
        f"Anonymizer({BLOCKS}), default policy, one fixed clustering (seed 0), {RELEASES} releases "
        "drawn from the operating system's entropy"
    )
    for name in NAMES:
        graph = load(name)
        labels = cluster_for_release(
            graph, BLOCKS, degree_corrected=True, min_block_size=10, rng=0, engine=engine
        )
        made = []
        for i in range(RELEASES):
            made.append(Anonymizer(BLOCKS).release(graph, labels=labels, engine=engine))
            show({"graph": name, "release": i + 1, "refused": made[-1].refused})
        record.add(
            f"spread-{name.lower()}",
            spread(made),
            title=f"Eight releases of {name}",
            data=DATA[name],
            asked=asked,
            threads=str(engine.threads),
        )
        found += [{"graph": name, **row} for row in identified(made)]
    record.add(
        "attacks",
        found,
        title="People identified by the attacks",
        data=", ".join(DATA.values()),
        asked=asked + ". 'found' is the mean number of correct guesses; 'expected' is the mean "
        "when the members of every class are exchanged, which is what guessing within classes "
        "gives; the last two columns are the same attack on a copy with only the names removed, "
        "and on such a copy with 10 % of the edges deleted",
        threads=str(engine.threads),
    )


def spread(made: list[Release]) -> list[dict[str, Any]]:
    """Return mean and spread of each measure over the releases."""
    first = made[0].utility
    assert first is not None
    rows = []
    for measure, name in (
        ("global clustering", "global_clustering"),
        ("mean local clustering", "average_local_clustering"),
        ("average path length", "average_path_length"),
        ("largest degree", "degree_max"),
        ("isolates", "isolates"),
        ("assortativity", "assortativity"),
        ("largest component", "largest_component"),
        ("modularity of the blocks", "modularity"),
    ):
        values = [getattr(each.utility.published, name) for each in made if each.utility]
        rows.append(spread_row(measure, short(getattr(first.original, name)), values))
    distances = [each.utility.degree_ks for each in made if each.utility]
    rows.append(spread_row("degree distribution, KS distance", "", distances))
    risks = [each.risk.attacks for each in made if each.risk]
    naive = risks[0].controls.naive.seeded[-1].correct
    seeded = [risk.worst.seeded[-1].correct for risk in risks]
    people = "people found, seeded attack, 200 known"
    rows.append(spread_row(people, f"{naive:,} in a copy without names", seeded))
    true = [risk.averaging[0].precision for risk in risks]
    rows.append(spread_row("published edges that are original edges", "", true))
    for row in rows:
        show(row)
    return rows


def spread_row(measure: str, original: str, values: list[float]) -> dict[str, Any]:
    column = np.array(values, float)
    return {
        "measure": measure,
        "original": original,
        "mean": short(column.mean()),
        "sd": short(column.std(ddof=1)),
        "min": short(column.min()),
        "max": short(column.max()),
    }


def identified(made: list[Release]) -> list[dict[str, Any]]:
    """Return, per attack, the mean number of people found and the controls."""
    risks = [each.risk.attacks for each in made if each.risk]
    rows = []
    for place, attack in enumerate(ATTACKS):
        results = [guessing_attacks(risk.worst)[place] for risk in risks]
        lucky = [result.luck.same_class for result in results if result.luck]
        naive, deleted = (guessing_attacks(control)[place] for control in risks[0].controls)
        rows.append(
            {
                "attack": attack,
                "correct": float(np.mean([result.correct for result in results])),
                "expected": float(np.mean(lucky)) if lucky else None,
                "naive": naive.correct,
                "deleted": deleted.correct,
            }
        )
        show(rows[-1])
    return rows


def guessing_attacks(found: Any) -> list[Any]:
    """Return the attacks in the order of `ATTACKS`."""
    return [found.seeded[-1], *found.guess_everyone, *found.with_blocks]


def steps(record: Recorder, engine: LocalEngine) -> None:
    """One release per network with each step of the dcsbm model switched off."""
    for name in NAMES:
        graph = load(name)
        labels = cluster_for_release(
            graph, BLOCKS, degree_corrected=True, min_block_size=10, rng=0, engine=engine
        )
        rows = []
        for what, chosen in STEPS.items():
            made = Anonymizer(BLOCKS, steps=chosen).release(graph, labels=labels, engine=engine)
            assert made.utility is not None and made.risk is not None
            utility, risk = made.utility.published, made.risk.attacks
            from_seeds, without = risk.worst.guess_everyone
            rows.append(
                {
                    "step left out": what,
                    "global clustering": short(utility.global_clustering),
                    "local clustering": short(utility.average_local_clustering),
                    "path length": short(utility.average_path_length),
                    "degree KS": short(made.utility.degree_ks),
                    "largest degree": f"{utility.degree_max:,.0f}",
                    "assortativity": short(utility.assortativity),
                    "largest component": short(utility.largest_component),
                    "found, seeded, 200 known": str(risk.worst.seeded[-1].correct),
                    "found, guesses for everyone (200 known / nobody known)": (
                        f"{from_seeds.correct} / {without.correct}"
                    ),
                    "H2 unique": str(risk.worst.neighbour_degrees_known.unique),
                    "true edges": short(risk.averaging[0].precision),
                }
            )
            show(rows[-1])
        record.add(
            f"steps-{name.lower()}",
            rows,
            title=f"What each step of the dcsbm release does: {name}",
            data=DATA[name],
            asked=f"One release each, {BLOCKS} blocks, with one step switched off (Steps)",
            threads=str(engine.threads),
        )


def techniques(record: Recorder, engine: LocalEngine) -> None:
    """Every technique on both networks."""
    for name in NAMES:
        rows = [technique_row(row) for row in benchmark(load(name), BLOCKS, engine=engine)]
        for row in rows:
            show(row)
        record.add(
            f"techniques-{name.lower()}",
            rows,
            title=f"Other techniques: {name}",
            data=DATA[name],
            asked=f"python -m benchmarks.baselines anonymize GRAPH --blocks {BLOCKS}; one graph "
            "per technique, all drawn and attacked by coterie's own implementations",
            threads=str(engine.threads),
        )


def technique_row(row: BenchmarkRow) -> dict[str, Any]:
    """Return one technique as cells of the table."""
    cells = {
        "technique": row.technique,
        "global clustering": short(row.measures.global_clustering),
        "local clustering": short(row.measures.average_local_clustering),
        "path length": short(row.measures.average_path_length),
        "degree KS": short(row.degree_ks),
        "largest degree": f"{row.measures.degree_max:,.0f}",
        "isolated nodes": f"{row.measures.isolates:,.0f}",
        "largest component": short(row.measures.largest_component),
    }
    risk = row.risk
    attacks = risk.attacks if risk else None
    last = attacks.seeded[-1] if attacks else None
    found = " / ".join(f"{each.correct:,}" for each in attacks.seeded) if attacks else ""
    return cells | {
        "found, seeded, 10 / 50 / 200 known": found,
        "precision": short(last.precision) if last and last.correct else "",
        "found, guesses for everyone (200 known / nobody known)": (
            " / ".join(f"{each.correct:,}" for each in attacks.guess_everyone) if attacks else ""
        ),
        "H1 / H2 unique": (
            f"{attacks.degree_known.unique:,} / {attacks.neighbour_degrees_known.unique:,}"
            if attacks
            else ""
        ),
        "true edges": short(risk.true_edges) if risk else "",
    }


def short(value: float) -> str:
    """Return a number with four significant digits, or thousands separated."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


if __name__ == "__main__":
    main()

"""Private graph generators on the queries of PGB.

    python benchmarks/private.py --draws 10                # all parts
    python benchmarks/private.py astro-ph --draws 3        # one network

    astro-ph, CAIDA   sketches with three epsilons, the configuration model with private degrees and
                      the release that is not private
    small             a generated network of 1,000 nodes, where randomized response is possible
    egos, collaborations, messages   generated networks of private_networks.py

    python benchmarks/private.py astro-ph --no-release     # without the release

Data: ca-astroph and as-caida, from $COTERIE_DATA or the cache.
"""

from __future__ import annotations

import argparse
import warnings
from fractions import Fraction
from typing import Any

import numpy as np

import coterie as ct
from baselines.pgb_queries import PGB_QUERIES, QUERY_NAMES
from baselines.private_benchmark import (
    CONFIGURATION,
    RELEASE,
    RESPONSE,
    SKETCH,
    PrivateBenchmarkRow,
    private_benchmark,
)
from coterie.anonymize.ledger import exact_text
from coterie.anonymize.private.budget import parse_epsilon
from coterie.data import Graph, datasets
from coterie.data.generators import planted_partition
from coterie.engine import LocalEngine
from private_networks import collaborations, egos, messages
from record import Recorder, add_options, show

NAMES = {"astro-ph": "ca-astroph", "CAIDA": "as-caida"}
DATA = {
    "astro-ph": "astro-ph (18,772 nodes, 198,050 edges)",
    "CAIDA": "CAIDA (26,475 nodes, 53,381 edges)",
    "small": "generated: 1,000 nodes in 10 groups, mean degree 20",
    "egos": "generated: a union of ten ego networks (4,166 nodes, 93,199 edges)",
    "collaborations": "generated: co-authors of papers, the largest of 235 authors "
    "(11,236 nodes, 118,494 edges)",
    "messages": "generated: mail of a company (32,685 nodes, 180,807 edges)",
}
GENERATED = {"egos": egos, "collaborations": collaborations, "messages": messages}
SHORT = {
    SKETCH: "sketch",
    CONFIGURATION: "configuration model",
    RESPONSE: "randomized response",
    RELEASE: "release, not private",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=f"any of {', '.join(DATA)} (default: all)")
    parser.add_argument("--draws", type=int, default=10, help="graphs per generator (default 10)")
    parser.add_argument("--epsilon", default="0.5,1,2", help="default: 0.5,1,2")
    parser.add_argument(
        "--no-release", action="store_true", help="leave out the release that is not private"
    )
    parser.add_argument("--threads", type=int, help="number of threads (default: all cores)")
    add_options(parser)
    given = parser.parse_args()
    record = Recorder("private", given)
    epsilons = [parse_epsilon(text) for text in given.epsilon.split(",")]
    with LocalEngine(given.threads) as engine:
        for name in given.parts or DATA:
            measure(name, epsilons, given.draws, record, engine, not given.no_release)


def load(name: str) -> Graph:
    if name == "small":
        return planted_partition(1000, 10, mean_degree=20, rng=0)[0]
    if name in GENERATED:
        return GENERATED[name](np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ct.read_graph(datasets.path(NAMES[name]))


def measure(
    name: str,
    epsilons: list[Fraction],
    draws: int,
    record: Recorder,
    engine: LocalEngine,
    with_release: bool,
) -> None:
    """Run every generator on one network and record the table."""
    made: list[PrivateBenchmarkRow] = []
    # One epsilon at a time, recorded after each: a run that is stopped keeps what it has
    for some in [*([epsilon] for epsilon in epsilons), *([[]] if with_release else [])]:
        made += private_benchmark(
            load(name),
            some,
            draws=draws,
            with_release=not some,
            engine=engine,
            rng=0,
            callback=lambda progress: print(progress.stage, progress.note, flush=True),
        )
        save(name, made, draws, record, engine)
    for row in table(made):
        show(row)


def save(
    name: str, made: list[PrivateBenchmarkRow], draws: int, record: Recorder, engine: LocalEngine
) -> None:
    """Record the table of one network."""
    left_out = sorted({f"{_column(row)}: {row.not_run}" for row in made if row.not_run})
    record.add(
        name.lower(),
        table(made),
        title=f"Private generators: {name}",
        data=DATA[name],
        asked=f"python -m benchmarks.baselines private GRAPH --draws {draws}; mean ± "
        f"standard deviation over {draws} draws, each from its own sketch; ids shuffled; "
        "relative errors unless the row says otherwise",
        threads=str(engine.threads),
        remarks="Not run: " + "; ".join(left_out) if left_out else "",
    )


def table(made: list[PrivateBenchmarkRow]) -> list[dict[str, Any]]:
    """Return one row per query, with one column per generator and epsilon."""
    shown = [row for row in made if row.mean is not None]
    # Sketches first, then the others
    shown.sort(key=lambda row: list(SHORT).index(row.technique))
    rows: list[dict[str, Any]] = []
    for key, name in QUERY_NAMES.items():
        mark = "" if key in PGB_QUERIES else " *"
        rows.append({"query": name + mark} | {_column(row): _cell(row, key) for row in shown})
    for place, name in enumerate(
        (
            "blocks: modularity in the original (higher is better) *",
            "blocks: AMI with the original's communities (higher is better) *",
        )
    ):
        rows.append(
            {"query": name}
            | {_column(r): _short(r.blocks[place]) if r.blocks else "–" for r in shown}
        )
    rows.append(
        {"query": "seconds per graph, sketch included *"}
        | {_column(row): f"{row.seconds:.1f}" for row in shown}
    )
    return rows


def _column(row: PrivateBenchmarkRow) -> str:
    return f"{SHORT[row.technique]}{_epsilon(row)}"


def _epsilon(row: PrivateBenchmarkRow) -> str:
    return "" if row.epsilon is None else f", ε = {exact_text(row.epsilon)}"


def _cell(row: PrivateBenchmarkRow, key: str) -> str:
    spread = "" if row.sd is None else f" ± {_short(getattr(row.sd, key), 2)}"
    return _short(getattr(row.mean, key)) + spread


def _short(value: float, digits: int = 3) -> str:
    """Return a number with a few digits and no exponent.

    >>> _short(0.12345), _short(0.0000031), _short(12.3)
    ('.123', '0', '12.3')
    """
    if abs(value) >= 100:
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}" if abs(value) >= 1e-4 else f"{value:.4f}".rstrip("0").rstrip(".")
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


if __name__ == "__main__":
    main()

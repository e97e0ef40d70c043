"""Soft clustering compared with `mmsbm` from PyPI, in one run.

    python benchmarks/soft.py --only iteration,growth,paper      # about two minutes
    python benchmarks/soft.py --only scale,monte-carlo,graphs    # about ten minutes
    python benchmarks/soft.py --only figure --out FOLDER         # entropy over time, as a picture

Needs MovieLens-100k ($COTERIE_DATA or the cache) and `pip install mmsbm`; without mmsbm the
comparison has no peer. `iteration` and `growth` compare CPU time on one thread; the other parts
are wall time on `--threads`. `figure` draws Figure 3 of Prost & Yoon into FOLDER (default: a new
temporary folder).
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import coterie as ct
from coterie.base.progress import Progress
from coterie.data import Ratings
from coterie.data.datasets import load, path
from coterie.data.generators import mmsbm_ratings, planted_partition
from coterie.engine import LocalEngine
from coterie.models.soft.observation_shards import Pairs
from coterie.models.soft.rating_problem import RatingProblem
from coterie.models.soft.state import SoftShape, initial_state
from record import Recorder, add_options, show

PAPERS_BEST = 92_920  # entropy of 80 % of MovieLens-100k, s = 30, after 300 s on 32 cores
MOVIELENS = "MovieLens-100k (943 users, 1,682 items, 100,000 ratings)"
TRAINING = "80 % of MovieLens-100k (80,000 ratings; folds of seed 0)"
SECTIONS = ("iteration", "growth", "paper", "scale", "monte-carlo", "graphs", "figure")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default=",".join(SECTIONS), help="comma-separated parts to run")
    parser.add_argument(
        "--threads", type=int, default=2, help="threads of the wall-time parts (default 2)"
    )
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="seconds per Monte Carlo curve (default 5)"
    )
    parser.add_argument("--out", type=Path, default=None, help="folder of the picture")
    parser.add_argument("--scale-of", type=int, nargs=3, help=argparse.SUPPRESS)
    add_options(parser)
    given = parser.parse_args()
    if given.scale_of:
        scale_child(*given.scale_of)
        return
    record = Recorder("soft", given, ["mmsbm"])
    ratings = movielens()
    folds = np.array_split(np.random.default_rng(0).permutation(len(ratings)), 5)
    training = ratings.take(np.concatenate(folds[1:]))
    parts: dict[str, Callable[[], None]] = {
        "iteration": lambda: iteration(record, ratings),
        "growth": lambda: growth(record, ratings),
        "paper": lambda: paper(record, training, given.threads),
        "scale": lambda: scale(record, given.threads),
        "monte-carlo": lambda: monte_carlo(record, training, given.seconds, given.threads),
        "graphs": lambda: graphs(record, given.threads),
        "figure": lambda: figure(training, given.seconds, given.threads, given.out),
    }
    for name in given.only.split(","):
        parts[name]()


def movielens() -> Ratings:
    data = load("ml-100k")
    assert isinstance(data, Ratings)
    return data


def problem_of(ratings: Ratings, k: int, engine: LocalEngine, samples: int = 0) -> tuple[Any, Any]:
    """Return a problem and a state to iterate from."""
    pairs = Pairs(
        ratings.users,
        ratings.items,
        ratings.codes,
        ratings.n_users,
        ratings.n_items,
        len(ratings.values),
    )
    shape = SoftShape(ratings.n_users, ratings.n_items, k, k, len(ratings.values))
    problem = RatingProblem(pairs, (k, k), engine, samples=samples)
    return problem, problem.to_engine(initial_state(shape, "random", np.random.default_rng(0)))


def cpu_per_iteration(ratings: Ratings, k: int, repeats: int = 30, samples: int = 0) -> float:
    """Return CPU seconds per iteration on one thread: the mean of the shortest third."""
    problem, state = problem_of(ratings, k, LocalEngine(1), samples)
    rng = np.random.default_rng(0)
    times = []
    for _ in range(repeats):
        began = time.process_time()
        state, _ = problem.step(state, rng)
        times.append(time.process_time() - began)
    return float(np.mean(sorted(times)[: max(1, repeats // 3)]))


def cpu_of_mmsbm(ratings: Ratings, k: int, iterations: int) -> float:
    """Return CPU seconds per iteration of mmsbm: a long fit minus a short one."""
    import numba
    from mmsbm import MMSBM

    numba.set_num_threads(1)
    table = np.column_stack([ratings.users, ratings.items, ratings.ratings.astype(int)])
    times = []
    for count in (1, 1, 1 + iterations):  # the first fit compiles
        model = MMSBM(k, k, iterations=count, sampling=1, seed=0, backend="numba")
        model._show_progress = False
        began = time.process_time()
        model.fit(table, silent=True)
        times.append(time.process_time() - began)
    return (times[2] - times[1]) / iterations


def iteration(record: Recorder, ratings: Ratings) -> None:
    """One exact EM iteration of coterie and of mmsbm, CPU time on one thread."""
    rows = []
    for k, iterations in ((10, 30), (50, 6)):
        ours = cpu_per_iteration(ratings, k)
        try:
            theirs = cpu_of_mmsbm(ratings, k, iterations)
        except ImportError:
            print("mmsbm is not installed: this run has no peer")
            theirs = float("nan")
        rows.append(
            {
                "k": k,
                "coterie_ms": 1e3 * ours,
                "mmsbm_ms": 1e3 * theirs,
                "ratio": theirs / ours,
            }
        )
        show(rows[-1])
    record.add(
        "iteration",
        rows,
        title="One exact MMSBM iteration",
        data=MOVIELENS,
        asked="One EM iteration of the same model with k user groups and k item groups, CPU time. "
        "coterie: the factored update. mmsbm: numba backend, sampling=1; a long fit minus a short "
        "one",
        threads="1 (both)",
    )


def growth(record: Recorder, ratings: Ratings) -> None:
    """CPU time per iteration as the number of groups grows."""
    times = {k: cpu_per_iteration(ratings, k, 15) for k in (10, 20, 50, 100)}
    rows = [
        {"k": k, "coterie_ms": 1e3 * seconds, "times_k10": seconds / times[10]}
        for k, seconds in times.items()
    ]
    for row in rows:
        show(row)
    record.add(
        "growth",
        rows,
        title="CPU time per exact iteration as the number of groups grows",
        data=MOVIELENS,
        asked="One EM iteration, factored update; the textbook update would grow 100 times from "
        "k = 10 to k = 100",
        threads="1",
    )


def paper(record: Recorder, training: Ratings, threads: int) -> None:
    """Time to the lowest entropy that the paper reports, and the best of eight runs."""
    rows: list[dict[str, Any]] = []
    with LocalEngine(threads) as engine:
        ct.MMSBM(n_groups=10, max_iter=2, tol=0).fit(training, engine)  # compiles the kernels
        for seed in range(3):
            model = ct.MMSBM(n_groups=10, max_iter=60, tol=0, rng=seed).fit(training, engine)
            reached = next(i for i in model.history_ if i.entropy <= PAPERS_BEST)
            what = f"reach {PAPERS_BEST:,} (the paper's lowest), seed {seed}"
            rows.append({"what": what, "entropy": reached.entropy, "seconds": reached.seconds})
            show(rows[-1])
        began = time.perf_counter()
        model = ct.MMSBM(n_groups=10, n_init=8, max_iter=2000, rng=0).fit(training, engine)
        taken = time.perf_counter() - began
        worst = max(run.entropy for run in model.runs_)
        rows.append(
            {
                "what": f"best of eight runs to convergence (the highest ended at {worst:,.0f})",
                "entropy": model.entropy_,
                "seconds": taken,
            }
        )
        show(rows[-1])
    record.add(
        "paper",
        rows,
        title="The experiment of Prost & Yoon, section 5.1",
        data=TRAINING,
        asked="coterie: MMSBM(n_groups=10), wall time. The paper reports 92,920 as the lowest "
        "entropy after 300 s on 32 cores (MCMMSBM, s = 30)",
        threads=str(threads),
    )


def scale(record: Recorder, threads: int) -> None:
    """Ten times the ratings, with the same and with a tenth of the users and items."""
    rows = []
    for count, users in ((10_000_000, 100_000), (1_000_000, 100_000), (1_000_000, 10_000)):
        said = subprocess.run(
            [sys.executable, __file__, "--scale-of", str(count), str(users), str(threads)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        rows.append(
            {
                "ratings": count,
                "users": users,
                "items": users // 5,
                "seconds": float(said[0]),
                "peak_gb": float(said[1]),
            }
        )
        show(rows[-1])
    record.add(
        "scale",
        rows,
        title="Seconds per iteration for large tables",
        data="ratings drawn from an MMSBM, 10 levels (generated, seed 0)",
        asked="MMSBM(n_groups=20), median of the iterations of one fit; peak memory of a separate "
        "process, generating the ratings included",
        threads=str(threads),
    )


def scale_child(count: int, users: int, threads: int) -> None:
    """Fit in a separate process and print seconds per iteration and peak memory (GB)."""
    ratings, _ = mmsbm_ratings(users, users // 5, count, (20, 20), values=range(1, 11), rng=0)
    model = ct.MMSBM(n_groups=20, max_iter=8, tol=0)
    with LocalEngine(threads) as engine:
        model.fit(ratings, engine)
    gaps = np.diff([i.seconds for i in model.history_])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(float(np.median(gaps)), peak)


def monte_carlo(record: Recorder, training: Ratings, seconds: float, threads: int) -> None:
    """Exact and Monte Carlo updates: cost per iteration, and entropy after equal time."""
    rows = []
    for k in (10, 50, 200):
        for samples in (0, 10, 20, 30, 100):
            repeats = 3 if k == 200 else 9
            whole = cpu_per_iteration(training, k, repeats, samples)
            problem, state = problem_of(training, k, LocalEngine(1), samples)
            problem.entropy(state)
            began = time.process_time()
            problem.entropy(state)
            entropy = time.process_time() - began if samples else 0.0
            history = curve(training, k, samples, seconds, threads)
            rows.append(
                {
                    "k": k,
                    "update": f"s = {samples}" if samples else "exact",
                    "update_ms": 1e3 * (whole - entropy),
                    "with_entropy_ms": 1e3 * whole,
                    "entropy_after": history[-1][1],
                    "iterations": len(history),
                }
            )
            show(rows[-1])
    record.add(
        "monte-carlo",
        rows,
        title="Exact and Monte Carlo updates",
        data=TRAINING,
        asked="CPU milliseconds per iteration on one thread, for the update alone and with the "
        f"exact entropy; then the entropy S after {seconds:g} s of one fit",
        threads=f"1 for CPU time, {threads} for the entropy after {seconds:g} s",
    )


def curve(
    training: Ratings, k: int, samples: int, seconds: float, threads: int
) -> list[tuple[float, float]]:
    """Return (seconds, entropy) of the iterations of a fit that is stopped after `seconds`."""
    began = time.perf_counter()

    def stop(progress: Progress) -> None:
        if time.perf_counter() - began > seconds:
            raise KeyboardInterrupt

    given: dict[str, Any] = {"n_groups": k, "max_iter": 10**6, "tol": 0, "rng": 0}
    model = ct.MCMMSBM(n_samples=samples, **given) if samples else ct.MMSBM(**given)
    with LocalEngine(threads) as engine:
        model.fit(training, engine, stop)
    return [(i.seconds, i.entropy) for i in model.history_]


def graphs(record: Recorder, threads: int) -> None:
    """Seconds per iteration on graphs, where absent pairs count too."""
    planted, _ = planted_partition(5_000, 20, mean_degree=20, rng=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        astroph = ct.read_graph(path("ca-astroph"))
    rows = []
    for name, graph, absent, k in (
        ("planted partition", planted, "exact", 20),
        ("planted partition", planted, "sampled", 20),
        ("astro-ph", astroph, "sampled", 20),
        ("astro-ph", astroph, "sampled", 100),
    ):
        with LocalEngine(threads) as engine:
            model = ct.MMSBM(n_groups=k, absent=absent, max_iter=8, tol=0).fit(graph, engine)
        gaps = np.diff([i.seconds for i in model.history_])
        rows.append(
            {
                "graph": f"{name}, {graph.n_nodes:,} nodes, {graph.n_edges:,} edges",
                "absent": absent,
                "k": k,
                "seconds": float(np.median(gaps)),
            }
        )
        show(rows[-1])
    record.add(
        "graphs",
        rows,
        title="Seconds per iteration on graphs",
        data="planted partition (generated, seed 0); astro-ph",
        asked="MMSBM(n_groups=k, absent=…), median of the iterations of one fit",
        threads=str(threads),
    )


def figure(training: Ratings, seconds: float, threads: int, out: Path | None) -> None:
    """Draw Figure 3 of Prost & Yoon: entropy over time, exact and Monte Carlo."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    folder = out or Path(tempfile.mkdtemp(prefix="coterie-soft-"))
    plot, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for samples in (0, 10, 20, 30):
        history = np.array(curve(training, 10, samples, seconds, threads))
        axes.plot(*history.T, label=f"MCMMSBM, s = {samples}" if samples else "MMSBM, exact")
    axes.axhline(PAPERS_BEST, color="0.5", ls=":", lw=1)
    label = "lowest entropy in the paper, after 300 s on 32 cores"
    axes.text(0.99 * seconds, PAPERS_BEST, label, ha="right", va="bottom", color="0.4")
    axes.set(
        xlabel=f"seconds, {threads} threads",
        ylabel="entropy S (nats)",
        xscale="log",
        ylim=(None, 101_000),
        title="80 % of MovieLens-100k, 10 groups on each side",
    )
    axes.legend(frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    for suffix in ("svg", "png"):
        plot.savefig(folder / f"entropy-over-time.{suffix}", dpi=120)
    print(f"Entropy over time: {folder / 'entropy-over-time.svg'} (and .png)")


if __name__ == "__main__":
    main()

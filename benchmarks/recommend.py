"""Recommenders compared on the same folds, and the speed of coterie's.

    python benchmarks/recommend.py --only folds                         # about 15 minutes
    python benchmarks/recommend.py --only folds --models mmsbm-1,hard --folds 0
    python benchmarks/recommend.py --only shapes --tables 3,4
    python benchmarks/recommend.py --only speed,million

Needs MovieLens-100k ($COTERIE_DATA or the cache) and `pip install scikit-surprise myfm mmsbm`; a
peer that is not installed is left out, and the output says so. The five folds are
`default_rng(seed).permutation`, split into five parts. CPU seconds are those of the whole process,
so all threads count. `shapes` uses generated tables (rating_shapes.py), several per shape; tables
1 and 2 were used while the model was developed, the others were not.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import coterie as ct
from coterie.base.json_values import json_value
from coterie.base.machine import available_cores
from coterie.data import Ratings
from coterie.data.datasets import load
from coterie.data.generators import mmsbm_ratings
from coterie.recommend.evaluation import fold_rows
from coterie.recommend.metrics import rating_metrics
from coterie.recommend.registry import make_model
from rating_shapes import CASES, bias_baseline
from record import Recorder, add_options, show

Prediction = tuple[np.ndarray, np.ndarray | None]  # expected rating, distribution if there is one
SECTIONS = ("folds", "speed", "million", "shapes")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default=",".join(SECTIONS), help="comma-separated parts to run")
    parser.add_argument(
        "--models", default=",".join([*COTERIE, *PEERS]), help="comma-separated models"
    )
    parser.add_argument("--folds", default="0,1,2,3,4", help="which of the five folds")
    parser.add_argument("--seed", default=0, type=int, help="of the folds (default 0)")
    parser.add_argument("--shapes", default=",".join(CASES), help="which generated shapes")
    parser.add_argument("--tables", default="3,4,5", help="which table of each shape")
    add_options(parser)
    given = parser.parse_args()
    wanted = given.only.split(",")
    record = Recorder("recommend", given, ["scikit-surprise", "myfm", "mmsbm"])
    if "folds" in wanted:
        compare(record, given.models.split(","), numbers(given.folds), given.seed)
    if "speed" in wanted:
        speed(record)
    if "million" in wanted:
        million(record)
    if "shapes" in wanted:
        shapes(record, given.shapes.split(","), numbers(given.tables))


def numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def movielens() -> Ratings:
    data = load("ml-100k")
    assert isinstance(data, Ratings)
    return data


def coterie_model(name: str, **options: Any) -> Callable[[Ratings, Ratings], Prediction]:
    def run(train: Ratings, test: Ratings) -> Prediction:
        rec = ct.Recommender(make_model(name, **options)).fit(train)
        p = rec.predict_proba(test.user_ids[test.users], test.item_ids[test.items])
        return p @ rec.values_, p

    return run


def surprise(name: str) -> Callable[[Ratings, Ratings], Prediction]:
    """Return an algorithm of scikit-surprise with its default settings."""

    def run(train: Ratings, test: Ratings) -> Prediction:
        import pandas as pd
        import surprise as sp

        frame = pd.DataFrame({"u": train.users, "i": train.items, "r": train.ratings})
        data = sp.Dataset.load_from_df(frame, sp.Reader(rating_scale=(1, 5)))
        algorithm = getattr(sp, name)(**({"verbose": False} if name != "SVD" else {}))
        algorithm.fit(data.build_full_trainset())
        pairs = zip(test.users.tolist(), test.items.tolist(), strict=True)
        return np.array([algorithm.predict(u, i).est for u, i in pairs]), None

    return run


def myfm(train: Ratings, test: Ratings) -> Prediction:
    """Fit a factorization machine by Gibbs sampling: ids only, rank 10, 200 samples."""
    from myfm import MyFMRegressor
    from scipy.sparse import csr_array

    def one_hot(table: Ratings) -> Any:
        rows = np.repeat(np.arange(len(table)), 2)
        columns = np.column_stack([table.users, table.items + table.n_users]).ravel()
        shape = (len(table), table.n_users + table.n_items)
        return csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)

    model = MyFMRegressor(rank=10, random_seed=0)
    model.fit(one_hot(train), train.ratings, n_iter=200, n_kept_samples=180)
    return np.clip(model.predict(one_hot(test)), 1, 5), None


def pypi_mmsbm(train: Ratings, test: Ratings) -> Prediction:
    """Fit the package mmsbm: 10 x 10 groups, 200 iterations, one run."""
    import pandas as pd
    from mmsbm import MMSBM

    def frame(table: Ratings) -> Any:
        columns = {"users": table.users, "items": table.items, "ratings": table.ratings}
        return pd.DataFrame(columns).astype({"ratings": int})

    model = MMSBM(10, 10, iterations=200, sampling=1, seed=1)
    model.fit(frame(train), silent=True)
    known = np.isin(test.users, train.users) & np.isin(test.items, train.items)
    p = np.tile(np.bincount(train.codes, minlength=5) / len(train), (len(test), 1))
    p[known] = model.predict(frame(test.take(np.flatnonzero(known))))
    p /= p.sum(axis=1, keepdims=True)
    return p @ test.values, p


COTERIE: dict[str, Callable[[Ratings, Ratings], Prediction]] = {
    "best": coterie_model("best"),
    "mmsbm-1": coterie_model("mmsbm", groups=10, runs=1),
    "mmsbm-8": coterie_model("mmsbm", groups=30, runs=8, negatives_per_rating=1.0),
    "hard": coterie_model("hard", groups=15),
}
PEERS: dict[str, Callable[[Ratings, Ratings], Prediction]] = {
    "baseline": surprise("BaselineOnly"),
    "svd": surprise("SVD"),
    "knn": surprise("KNNBaseline"),
    "coclustering": surprise("CoClustering"),
    "svd++": surprise("SVDpp"),
    "myfm": myfm,
    "mmsbm-pypi": pypi_mmsbm,
}


SETTINGS = {
    "best": ("coterie best", "AdditiveBlockModel, default settings"),
    "mmsbm-1": ("coterie mmsbm", "10 x 10 groups, one run"),
    "mmsbm-8": ("coterie mmsbm, 8 runs", "30 x 30 groups, 8 runs, one negative pair per rating"),
    "hard": ("coterie hard", "15 x 15 groups"),
    "baseline": ("Surprise BaselineOnly", "default settings"),
    "svd": ("Surprise SVD", "default settings"),
    "knn": ("Surprise KNNBaseline", "default settings"),
    "coclustering": ("Surprise CoClustering", "default settings"),
    "svd++": ("Surprise SVD++", "default settings"),
    "myfm": ("myFM", "ids only, rank 10, 200 samples"),
    "mmsbm-pypi": ("mmsbm (PyPI)", "10 x 10 groups, 200 iterations"),
}


def compare(record: Recorder, names: list[str], folds: list[int], seed: int) -> None:
    """Measure each model on the same folds; one row per model, averaged over the folds."""
    ratings = movielens()
    parts = fold_rows(len(ratings), 5, seed)
    rows = []
    for name in names:
        figures = []
        try:
            for fold in folds:
                train = ratings.take(np.setdiff1d(np.arange(len(ratings)), parts[fold]))
                test = ratings.take(parts[fold])
                figures.append(measured((COTERIE | PEERS)[name], train, test))
        except ImportError as error:
            print(f"{name} is not installed and is left out: {error}")
            continue
        model, settings = SETTINGS[name]
        means = {key: float(np.mean([f[key] for f in figures])) for key in figures[0]}
        spread = float(np.std([f["rmse"] for f in figures]))
        rows.append({"model": model, "settings": settings, **means, "rmse_sd": spread})
        show(rows[-1])
    every = folds == [0, 1, 2, 3, 4]
    record.add(
        "folds" if seed == 0 else f"folds-seed-{seed}",
        rows,
        title="Predicting held-out ratings",
        data=f"MovieLens-100k, {'five folds' if every else f'folds {folds}'} of seed {seed}",
        asked="Predict the held-out ratings from user, item and rating alone; settings as in the "
        "table. RMSE of the expected rating; MAE of the median where a model predicts a "
        "distribution, else of the mean; accuracy of the most likely rating. Seconds per fold, "
        "fit and prediction; CPU seconds add up all threads",
        threads=f"{available_cores()} (coterie); each peer's default",
    )


def measured(
    run: Callable[[Ratings, Ratings], Prediction], train: Ratings, test: Ratings
) -> dict[str, float]:
    """Return errors and seconds of one fit with its predictions."""
    wall, cpu = time.perf_counter(), time.process_time()
    mean, p = run(train, test)
    taken = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    if p is not None:
        found = json_value(rating_metrics(p, test.values, test.codes, test.ratings))
        return {key: float(value) for key, value in found.items()} | taken
    error = mean - test.ratings
    mode = np.clip(np.round(mean), 1, 5) == test.ratings
    return {
        "rmse": float(np.sqrt(np.mean(error**2))),
        "mae": float(np.mean(np.abs(error))),
        "log_loss": float("nan"),
        "accuracy": float(np.mean(mode)),
    } | taken


def speed(record: Recorder) -> None:
    """Predict, rank and fold in: the shortest of three calls after one that compiles."""
    ratings = movielens()
    users, items = ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]
    items_of_new = ratings.item_ids[:200:10].tolist()
    new = Ratings.from_arrays(["new"] * 20, items_of_new, [5, 3, 1, 4] * 5)
    rows = []
    for name, options in (("mmsbm", {}), ("hard", {}), ("best", {"iterations": 320})):
        rec = ct.Recommender(make_model(name, **options)).fit(ratings)
        pairs = timed(lambda rec=rec: rec.predict_proba(users, items))
        chosen = ratings.user_ids if name != "best" else ratings.user_ids[:20]
        top = timed(lambda rec=rec, chosen=chosen: rec.recommend(chosen, 10))
        rows.append(
            {
                "model": name,
                "pairs_per_second": len(users) / pairs,
                "top10_of_all_users_seconds": top * len(ratings.user_ids) / len(chosen),
                "fold_in_ms": 1e3 * timed(lambda rec=rec: rec.fold_in(new)),
            }
        )
        show(rows[-1])
    record.add(
        "speed",
        rows,
        title="Prediction, ranking and fold-in",
        data="MovieLens-100k (943 users, 1,682 items, 100,000 ratings)",
        asked="predict_proba of 100,000 pairs; recommend(n=10) for every user (best: scaled from "
        "20 users); fold_in of one user with 20 ratings. Shortest of three calls",
        threads=str(available_cores()),
    )


def timed(work: Callable[[], Any], repeats: int = 3) -> float:
    """Return the shortest of `repeats` calls, after one that compiles."""
    work()
    best = np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def million(record: Recorder) -> None:
    """Fit one million ratings: default settings, then all chains of the slowest kind."""
    ratings, _ = mmsbm_ratings(6040, 3700, 1_000_000, (10, 10), rng=0)
    rows = []
    for pilot in (True, False):
        begin, cpu = time.perf_counter(), time.process_time()
        model = ct.AdditiveBlockModel(pilot=pilot).fit(ratings)
        rows.append(
            {
                "settings": "default" if pilot else "pilot=False",
                "chains": str(dict(model.mixture_)),
                "sweeps": model.n_iter_,
                "seconds": time.perf_counter() - begin,
                "cpu_seconds": time.process_time() - cpu,
                "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
            }
        )
        show(rows[-1])
    record.add(
        "million",
        rows,
        title="One million ratings",
        data="1,000,000 ratings of 6,040 users and 3,700 items drawn from an MMSBM (seed 0)",
        asked="AdditiveBlockModel().fit; with pilot=False all ten chains are of the slowest kind",
        threads=str(available_cores()),
    )


def shapes(record: Recorder, names: list[str], tables: list[int]) -> None:
    """Compare with tuned user and item offsets on generated tables of other shapes."""
    rows = []
    for name in names:
        for table in tables:
            ratings = CASES[name](table)
            order = np.random.default_rng(0).permutation(len(ratings))
            cut = len(ratings) // 5
            test, train = ratings.take(order[:cut]), ratings.take(order[cut:])
            rec = ct.Recommender("best").fit(train)
            best, offsets = -rec.score(test), bias_baseline(train, test)
            rows.append(
                {
                    "shape": name,
                    "table": table,
                    "ratings": len(ratings),
                    "offsets_rmse": offsets,
                    "best_rmse": best,
                    "difference": best - offsets,
                    "chains": str(dict(rec.model_.mixture_)),
                }
            )
            show(rows[-1])
    worse = sum(row["difference"] > 0 for row in rows)
    record.add(
        "shapes",
        rows,
        title="Generated tables of other shapes",
        data=f"generated tables {', '.join(map(str, tables))} of each shape",
        asked="RMSE on one rating in five, predicted from the others: `best` with default "
        "settings, and user and item offsets whose two ridge penalties are chosen by five folds "
        "of the training part",
        threads=str(available_cores()),
        remarks=f"best is worse than tuned offsets on {worse} of {len(rows)} tables",
    )


if __name__ == "__main__":
    main()

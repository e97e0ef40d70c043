"""Recommenders side by side on the same folds, and the speed of ours.

    python benchmarks/recommend.py [--only folds,speed,million,shapes] [--models best,svd,…]
                                   [--folds 0,1,2,3,4] [--seed 0] [--shapes "20 items,…"]
                                   [--tables 3,4,5]

Needs MovieLens-100k ($COTERIE_DATA or the cache) and `pip install scikit-surprise myfm mmsbm`; a
peer that is not installed has a row that says so. Folds: interface rule, --seed. CPU seconds are
the whole process's, so that threads count. Other shapes are generated (rating_shapes.py), several
tables of each; 1 and 2 were looked at while the model was written, the others were not.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import coterie as ct
from coterie.data import Ratings
from coterie.data.datasets import load
from coterie.data.generators import mmsbm_ratings
from coterie.recommend.evaluation import fold_rows
from coterie.recommend.metrics import rating_metrics
from coterie.recommend.registry import make_model
from rating_shapes import CASES, bias_baseline

Prediction = tuple[np.ndarray, np.ndarray | None]  # expected rating, distribution if there is one
SECTIONS = ("folds", "speed", "million", "shapes")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("--models", default=",".join([*OURS, *PEERS]))
    parser.add_argument("--folds", default="0,1,2,3,4")
    parser.add_argument("--seed", default=0, type=int)
    parser.add_argument("--shapes", default=",".join(CASES))
    parser.add_argument("--tables", default="3,4,5")
    given = parser.parse_args()
    wanted = given.only.split(",")
    if "folds" in wanted:
        compare(given.models.split(","), numbers(given.folds), given.seed)
    if "speed" in wanted:
        speed()
    if "million" in wanted:
        million()
    if "shapes" in wanted:
        shapes(given.shapes.split(","), numbers(given.tables))


def numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def movielens() -> Ratings:
    data = load("ml-100k")
    assert isinstance(data, Ratings)
    return data


# --- the same folds for everybody ---------------------------------------------------------------


def ours(name: str, **options: Any) -> Callable[[Ratings, Ratings], Prediction]:
    def run(train: Ratings, test: Ratings) -> Prediction:
        rec = ct.Recommender(make_model(name, **options)).fit(train)
        p = rec.predict_proba(test.user_ids[test.users], test.item_ids[test.items])
        return p @ rec.values_, p

    return run


def surprise(name: str) -> Callable[[Ratings, Ratings], Prediction]:
    """An algorithm of scikit-surprise at its defaults."""

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
    """Factorisation machine by Gibbs sampling, rank 10, 200 samples."""
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
    """The package mmsbm, k = l = 10, 200 iterations, one run."""
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


OURS: dict[str, Callable[[Ratings, Ratings], Prediction]] = {
    "best": ours("best"),
    "mmsbm-1": ours("mmsbm", groups=10, runs=1),
    "mmsbm-8": ours("mmsbm", groups=30, runs=8, absent=1.0),
    "hard": ours("hard", groups=15),
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


def compare(names: list[str], folds: list[int], seed: int) -> None:
    """One row a model: figures averaged over the folds."""
    ratings = movielens()
    rows = fold_rows(len(ratings), 5, seed)
    means: dict[str, dict[str, float]] = {}
    print(f"MovieLens-100k, folds {folds} of seed {seed}")
    heads = ("RMSE", "±", "MAE", "logloss", "accuracy", "wall s", "CPU s")
    print(" " * 14 + "".join(f"{head:>9}" for head in heads))
    for name in names:
        figures = []
        try:
            for fold in folds:
                train = ratings.take(np.setdiff1d(np.arange(len(ratings)), rows[fold]))
                figures.append(measured((OURS | PEERS)[name], train, ratings.take(rows[fold])))
        except ImportError as error:
            print(f"{name:14} not installed: {error}")
            continue
        mean = {key: float(np.mean([f[key] for f in figures])) for key in figures[0]}
        means[name] = mean
        spread = np.std([f["rmse"] for f in figures])
        cells = [mean["rmse"], spread, *(mean[key] for key in ("mae", "log_loss", "accuracy"))]
        shown = "".join(f"{cell:9.4f}" for cell in cells)
        print(f"{name:14}{shown}{mean['wall']:9.1f}{mean['cpu']:9.1f}", flush=True)
    verdict(means)


def verdict(means: dict[str, dict[str, float]]) -> None:
    """Ours against the package mmsbm and the best of the peers, where both ran."""
    best, other = means.get("best"), means.get("mmsbm-pypi")
    if best and other:
        for key, word in (("log_loss", "log-loss"), ("accuracy", "accuracy")):
            better = (best[key] < other[key]) == (key == "log_loss")
            answer = "better than" if better else "NOT better than"
            print(f"best's {word} {best[key]:.4f} is {answer} mmsbm-pypi's {other[key]:.4f}")
    peers = {name: means[name]["rmse"] for name in PEERS if name in means}
    if best and peers:
        nearest = min(peers, key=lambda name: peers[name])
        print(f"best's RMSE is {best['rmse'] / peers[nearest]:.4f} of {nearest}'s, the best peer's")


def measured(
    run: Callable[[Ratings, Ratings], Prediction], train: Ratings, test: Ratings
) -> dict[str, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    mean, p = run(train, test)
    taken = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    if p is not None:
        return rating_metrics(p, test.values, test.codes, test.ratings) | taken
    error = mean - test.ratings
    mode = np.clip(np.round(mean), 1, 5) == test.ratings
    return {
        "rmse": float(np.sqrt(np.mean(error**2))),
        "mae": float(np.mean(np.abs(error))),
        "log_loss": float("nan"),
        "accuracy": float(np.mean(mode)),
    } | taken


# --- the speed of ours --------------------------------------------------------------------------


def speed() -> None:
    """Predict, rank and fold in; the second call, when everything is compiled."""
    ratings = movielens()
    users, items = ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]
    items_of_new = ratings.item_ids[:200:10].tolist()
    new = Ratings.from_arrays(["new"] * 20, items_of_new, [5, 3, 1, 4] * 5)
    print(f"{'':8} {'pairs/s':>12} {'top-10 of all users':>20} {'fold-in of 20 ratings':>22}")
    for name, options in (("mmsbm", {}), ("hard", {}), ("best", {"iterations": 320})):
        rec = ct.Recommender(make_model(name, **options)).fit(ratings)
        pairs = timed(lambda rec=rec: rec.predict_proba(users, items))
        chosen = ratings.user_ids if name != "best" else ratings.user_ids[:20]
        top = timed(lambda rec=rec, chosen=chosen: rec.recommend(chosen, 10))
        top *= len(ratings.user_ids) / len(chosen)
        fold = timed(lambda rec=rec: rec.fold_in(new))
        print(
            f"{name:8} {len(users) / pairs:12,.0f} {top:18.2f} s {1e3 * fold:19.1f} ms", flush=True
        )


def timed(work: Callable[[], Any], repeats: int = 3) -> float:
    work()
    best = np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def million() -> None:
    """A million ratings of MovieLens-1M's shape; at the defaults, and with all chains of the
    dearest kind, as a table with more to tell would have them."""
    ratings, _ = mmsbm_ratings(6040, 3700, 1_000_000, (10, 10), rng=0)
    for pilot in (True, False):
        begin, cpu = time.perf_counter(), time.process_time()
        model = ct.AdditiveBlockModel(pilot=pilot).fit(ratings)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{len(ratings):,} ratings: {seconds:.0f} s, {cpu:.0f} CPU s, {peak:.2f} GB, "
            f"{model.n_iter_} sweeps of {model.mixture_}",
            flush=True,
        )


# --- other shapes -------------------------------------------------------------------------------


def shapes(names: list[str], tables: list[int]) -> None:
    """Held-out RMSE (one rating in five) on other kinds of table, beside user and item offsets
    whose ridges were chosen on the training part."""
    print(f"{'':20} {'ratings':>8} {'offsets':>8} {'best':>8} {'difference':>11}  chains")
    lost = 0
    for name in names:
        for table in tables:
            ratings = CASES[name](table)
            order = np.random.default_rng(0).permutation(len(ratings))
            cut = len(ratings) // 5
            test, train = ratings.take(order[:cut]), ratings.take(order[cut:])
            rec = ct.Recommender("best").fit(train)
            found, base = -rec.score(test), bias_baseline(train, test)
            lost += found > base
            print(
                f"{name:20} {len(ratings):8,} {base:8.4f} {found:8.4f} {found - base:+11.4f}"
                f"  {rec.model_.mixture_}",
                flush=True,
            )
    print(f"worse than offsets on {lost} of {len(names) * len(tables)} tables")


if __name__ == "__main__":
    main()

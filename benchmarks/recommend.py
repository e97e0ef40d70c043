"""Recommenders compared on the same folds, and the speed of coterie's.

    python benchmarks/recommend.py --only folds                         # about 15 minutes
    python benchmarks/recommend.py --only folds --models mmsbm-1,hard --folds 0
    python benchmarks/recommend.py --only shapes --tables 3,4
    python benchmarks/recommend.py --only foreign --models best,myfm,myfm-ordinal --tables 1
    python benchmarks/recommend.py --only speed,million
    python benchmarks/recommend.py --only ranking --seeds 0,1,2         # about 5 minutes
    python benchmarks/recommend.py --only u1 --models best,myfm,myfm-implicit
    python benchmarks/recommend.py --only ladder,u1,sizes               # about 20 minutes
    python benchmarks/recommend.py --only ladder --models best,best-side  # rows of others are kept
    python benchmarks/recommend.py --only cold --seeds 0,1              # about 3 minutes
    python benchmarks/recommend.py --only sizes --seed 21 --most-ratings 100000

Needs MovieLens-100k ($COTERIE_DATA or the cache) and `pip install -r benchmarks/requirements.txt`;
a peer that is not installed is left out, and the output says so. The five folds are
`default_rng(seed).permutation`, split into five parts. CPU seconds are those of the whole process,
so all threads count. `shapes` uses generated tables (rating_shapes.py), several per shape; tables
1 and 2 were used while the model was developed, the others were not.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np

import coterie as ct
import large_ratings
from coterie.base.json_values import json_value
from coterie.base.machine import available_cores
from coterie.data import Ratings
from coterie.data.datasets import load, path
from coterie.data.generators import mmsbm_ratings
from coterie.recommend.evaluation import fold_rows, split_rows
from coterie.recommend.metrics import ranking_metrics, rating_metrics
from coterie.recommend.registry import make_model
from foreign_ratings import SETS
from rating_shapes import CASES, bias_baseline
from record import Recorder, add_options, peak_gigabytes, read_sections, show

os.environ.setdefault("TQDM_DISABLE", "1")  # progress of myFM

Prediction = tuple[np.ndarray, np.ndarray | None]  # expected rating, distribution if there is one
SECTIONS = (
    "folds",
    "ladder",
    "u1",
    "cold",
    "ranking",
    "ranking-tables",
    "speed",
    "million",
    "shapes",
    "foreign",
    "sizes",
)
# Users, items and ratings of the tables of `sizes`
SIZES = (
    (300, 400, 5_000),
    (500, 800, 20_000),
    (943, 1682, 100_000),
    (2500, 2500, 300_000),
    (6040, 3700, 1_000_000),
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default=",".join(SECTIONS), help="comma-separated parts to run")
    parser.add_argument(
        "--models",
        default="",
        help="comma-separated models (default: the ladder in `ladder` and `u1`, else all)",
    )
    parser.add_argument("--folds", default="0,1,2,3,4", help="which of the five folds")
    parser.add_argument("--seed", default=0, type=int, help="of the folds (default 0)")
    parser.add_argument("--shapes", default=",".join(CASES), help="which generated shapes")
    parser.add_argument(
        "--most-ratings", default=1_000_000, type=int, help="of the tables of `sizes`"
    )
    parser.add_argument("--sets", default="", help="sets of `foreign` that contain this text (all)")
    parser.add_argument("--tables", default="3,4,5", help="which table of each shape")
    parser.add_argument("--seeds", default="0,1,2", help="of the splits of `ranking`")
    parser.add_argument(
        "--ranking-tables", default=",".join(RANKING_TABLES), help="tables of `ranking-tables`"
    )
    add_options(parser)
    given = parser.parse_args()
    wanted = given.only.split(",")
    models = given.models.split(",") if given.models else [*COTERIE, *PEERS]
    ladder = given.models.split(",") if given.models else LADDER
    record = Recorder("recommend", given, ["scikit-surprise", "myfm", "mmsbm", "implicit"])
    if "folds" in wanted:
        compare(record, models, numbers(given.folds), given.seed)
    if "ladder" in wanted:
        compare(record, ladder, [0, 1], 0, section="ladder")
    if "cold" in wanted:
        cold(record, numbers(given.seeds))
    if "u1" in wanted:
        official_split(record, ladder)
    if "ranking" in wanted:
        ranking(record, numbers(given.seeds))
    if "ranking-tables" in wanted:
        ranking_tables(record, given.ranking_tables.split(","), numbers(given.seeds))
    if "speed" in wanted:
        speed(record)
    if "million" in wanted:
        million(record)
    if "sizes" in wanted:
        sizes(record, given.seed, given.most_ratings)
    if "shapes" in wanted:
        shapes(record, given.shapes.split(","), numbers(given.tables))
    if "foreign" in wanted:
        foreign(record, models, numbers(given.tables), given.sets)


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


def myfm(
    *, ordinal: bool = False, implicit: bool = False, side: bool = False, sweeps: int = 200
) -> Callable[[Ratings, Ratings], Prediction]:
    """Return a factorization machine of myFM, rank 10, fitted by Gibbs sampling.

    `implicit` adds who rated what, from the training pairs only: for each user the items that the
    user rated, for each item its users, scaled to length 1. `side` adds age group, sex and
    occupation of users, and genres of items, of MovieLens-100k. Dates are not used.
    """

    def run(train: Ratings, test: Ratings) -> Prediction:
        from myfm import MyFMOrderedProbit, MyFMRegressor, RelationBlock
        from scipy.sparse import csr_matrix, eye, hstack

        table = csr_matrix(
            (np.ones(len(train)), (train.users, train.items)), (train.n_users, train.n_items)
        )
        blocks_of = []
        for ids, own, features in (
            ("users", table, user_features),
            ("items", csr_matrix(table.T), item_features),
        ):
            parts = [eye(own.shape[0], format="csr")]
            if implicit:
                size = np.sqrt(np.maximum(np.diff(own.indptr), 1))
                parts.append(csr_matrix(own.multiply(1 / size[:, None])))
            if side:
                parts.append(features(train))
            blocks_of.append((ids, csr_matrix(hstack(parts))))

        def relations(rows: Ratings) -> list[Any]:
            return [RelationBlock(getattr(rows, ids), data) for ids, data in blocks_of]

        sizes = [data.shape[1] for _, data in blocks_of]
        kind = MyFMOrderedProbit if ordinal else MyFMRegressor
        model = kind(rank=10, random_seed=0)
        kept = int(0.9 * sweeps)
        target = train.codes if ordinal else train.ratings
        options = {"n_iter": sweeps, "n_kept_samples": kept, "group_shapes": sizes}
        model.fit(None, target, X_rel=relations(train), **options)
        if ordinal:
            p = model.predict_proba(None, relations(test))
            return p @ train.values, p
        mean = model.predict(None, relations(test))
        return np.clip(mean, train.values[0], train.values[-1]), None

    return run


def user_features(table: Ratings) -> Any:
    """Age group, sex and occupation of the users of MovieLens-100k, one column per value."""
    rows = [line.split("|") for line in movielens_file("u.user").splitlines() if line]
    found = {
        int(row[0]): [f"age{min(int(row[1]) // 10, 6)}", f"sex{row[2]}", row[3]] for row in rows
    }
    return indicator_columns([found[int(id_)] for id_ in table.user_ids])


def item_features(table: Ratings) -> Any:
    """Genres of the items of MovieLens-100k, one column per genre."""
    rows = [line.split("|") for line in movielens_file("u.item").splitlines() if line]
    found = {
        int(row[0]): [f"genre{k}" for k, flag in enumerate(row[5:]) if flag == "1"] for row in rows
    }
    return indicator_columns([found[int(id_)] for id_ in table.item_ids])


def movielens_file(name: str) -> str:
    return (path("ml-100k").parent / name).read_text(encoding="latin-1")


def indicator_columns(values: list[list[str]]) -> Any:
    """Return a 0/1 table with one row per list and one column per distinct value."""
    from scipy.sparse import csr_matrix

    names = sorted({name for row in values for name in row})
    place = {name: number for number, name in enumerate(names)}
    pairs = [(number, place[name]) for number, row in enumerate(values) for name in row]
    rows, columns = np.array(pairs).T
    return csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(values), len(names)))


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


def best_with_features(train: Ratings, test: Ratings) -> Prediction:
    """Fit best with age, gender and occupation of users, and year and genres of items."""
    users, items = feature_tables()
    rec = ct.Recommender("best").fit(train, user_features=users, item_features=items)
    p = rec.predict_proba(test.user_ids[test.users], test.item_ids[test.items])
    return p @ rec.values_, p


def feature_tables() -> tuple[ct.NodeTable, ct.NodeTable]:
    """Return the side information of MovieLens-100k about users and about items."""
    people = [line.split("|") for line in movielens_file("u.user").splitlines() if line]
    films = [line.split("|") for line in movielens_file("u.item").splitlines() if line]
    genres = [
        "|".join(str(place) for place, flag in enumerate(film[5:]) if flag == "1") for film in films
    ]
    years = [float(film[2][-4:]) if film[2] else np.nan for film in films]
    users = {
        "age": [float(one[1]) for one in people],
        "gender": [one[2] for one in people],
        "occupation": [one[3] for one in people],
    }
    return (
        ct.NodeTable.from_columns([int(one[0]) for one in people], users),
        ct.NodeTable.from_columns(
            [int(film[0]) for film in films], {"year": years, "genres": [f"{g}|" for g in genres]}
        ),
    )


COTERIE: dict[str, Callable[[Ratings, Ratings], Prediction]] = {
    "best": coterie_model("best"),
    "best-side": best_with_features,
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
    "myfm": myfm(),
    "myfm-ordinal": myfm(ordinal=True),
    "myfm-implicit": myfm(implicit=True, sweeps=512),
    "myfm-ordinal-implicit": myfm(ordinal=True, implicit=True, sweeps=512),
    "myfm-side": myfm(implicit=True, side=True, sweeps=512),
    "mmsbm-pypi": pypi_mmsbm,
}
# The same model of myFM with more and more information, next to coterie with the same
LADDER = [
    "best",
    "best-side",
    "myfm",
    "myfm-ordinal",
    "myfm-implicit",
    "myfm-ordinal-implicit",
    "myfm-side",
]


SETTINGS = {
    "best": ("coterie best", "AdditiveBlockModel, default settings"),
    "best-side": ("coterie best + side", "AdditiveBlockModel, default settings"),
    "mmsbm-1": ("coterie mmsbm", "10 x 10 groups, one run"),
    "mmsbm-8": ("coterie mmsbm, 8 runs", "30 x 30 groups, 8 runs, one negative pair per rating"),
    "hard": ("coterie hard", "15 x 15 groups"),
    "baseline": ("Surprise BaselineOnly", "default settings"),
    "svd": ("Surprise SVD", "default settings"),
    "knn": ("Surprise KNNBaseline", "default settings"),
    "coclustering": ("Surprise CoClustering", "default settings"),
    "svd++": ("Surprise SVD++", "default settings"),
    "myfm": ("myFM", "rank 10, 200 sweeps"),
    "myfm-ordinal": ("myFM ordinal", "ordinal probit, rank 10, 200 sweeps"),
    "myfm-implicit": ("myFM + implicit", "rank 10, 512 sweeps"),
    "myfm-ordinal-implicit": ("myFM ordinal + implicit", "ordinal probit, rank 10, 512 sweeps"),
    "myfm-side": ("myFM + implicit + side", "rank 10, 512 sweeps"),
    "mmsbm-pypi": ("mmsbm (PyPI)", "10 x 10 groups, 200 iterations"),
}


WHO_RATED_WHAT = "ids, who rated what (training pairs)"
INFORMATION = {
    "best": WHO_RATED_WHAT,
    "best-side": f"{WHO_RATED_WHAT}, age, gender, occupation, year, genres",
    "mmsbm-8": WHO_RATED_WHAT,
    "knn": "ids",
    "svd++": WHO_RATED_WHAT,
    "myfm-implicit": WHO_RATED_WHAT,
    "myfm-ordinal-implicit": WHO_RATED_WHAT,
    "myfm-side": f"{WHO_RATED_WHAT}, age, gender, occupation, genres",
}  # all others: ids and ratings only


def compare(
    record: Recorder, names: list[str], folds: list[int], seed: int, section: str | None = None
) -> None:
    """Measure each model on the same folds; one row per model, averaged over the folds.

    A named section keeps the rows of models that are not measured again.
    """
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
        saw = INFORMATION.get(name, "ids")
        rows.append(
            {"model": model, "settings": settings, "information": saw, **means, "rmse_sd": spread}
        )
        show(rows[-1])
    every = folds == [0, 1, 2, 3, 4]
    if section is not None:
        rows = with_earlier_rows(record, section, rows)
    listed = " and ".join(map(str, folds))
    record.add(
        section or ("folds" if seed == 0 else f"folds-seed-{seed}"),
        rows,
        title="Predicting held-out ratings",
        data=f"MovieLens-100k, {'five folds' if every else f'folds {listed}'} of seed {seed}",
        asked="Predict the held-out ratings; settings and information as in the table. "
        "RMSE of the expected rating; MAE of the median where a model predicts a "
        "distribution, else of the mean; accuracy of the most likely rating. Seconds per fold, "
        "fit and prediction; CPU seconds add up all threads",
        threads=f"{available_cores()} (coterie); each peer's default",
    )


def with_earlier_rows(
    record: Recorder, section: str, rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return these rows and those of models that were not measured again, best first."""
    measured_now = {row["model"] for row in rows}
    earlier = read_sections(record.path).get(section, {}).get("rows", [])
    kept = [row for row in earlier if row["model"] not in measured_now]
    return sorted([*rows, *kept], key=lambda row: float(row["rmse"]))


def official_split(record: Recorder, names: list[str]) -> None:
    """Measure each model on u1.base and u1.test, the split that papers use."""
    folder = path("ml-100k").parent
    train = ct.read_ratings(next(folder.glob("u1.base*")))
    test = ct.read_ratings(folder / "u1.test")
    both = Ratings.from_arrays(
        np.concatenate([train.user_ids[train.users], test.user_ids[test.users]]),
        np.concatenate([train.item_ids[train.items], test.item_ids[test.items]]),
        np.concatenate([train.ratings, test.ratings]),
    )
    begin, test = both.take(np.arange(len(train))), both.take(np.arange(len(train), len(both)))
    rows = []
    for name in names:
        try:
            found = measured((COTERIE | PEERS)[name], begin, test)
        except ImportError as error:
            print(f"{name} is not installed and is left out: {error}")
            continue
        model, settings = SETTINGS[name]
        saw = INFORMATION.get(name, "ids")
        rows.append({"model": model, "settings": settings, "information": saw, **found})
        show(rows[-1])
    record.add(
        "u1",
        with_earlier_rows(record, "u1", rows),
        title="The official split u1 of MovieLens-100k",
        data="MovieLens-100k, u1.base (80,000 ratings) and u1.test (20,000)",
        asked="Predict the ratings of u1.test; settings and information as in the table",
        threads=f"{available_cores()} (coterie); each peer's default",
    )


def cold(record: Recorder, seeds: list[int]) -> None:
    """Predict users or items that are held out with all their ratings, from their features."""
    ratings = movielens()
    users, items = feature_tables()
    rows = []
    for kind in ("items", "users"):
        for seed in seeds:
            hidden = split_rows(ratings, f"cold-{kind}", test_share=0.2, seed=seed)
            rest = np.setdiff1d(np.arange(len(ratings)), hidden)
            train, test = ratings.take(rest), ratings.take(hidden)
            plain = node_offsets(train, test)
            begin = time.process_time()
            rec = ct.Recommender("best").fit(train, user_features=users, item_features=items)
            cpu = time.process_time() - begin
            found = -rec.score(test)
            rows.append(
                {
                    "held_out": kind,
                    "seed": seed,
                    "offsets_rmse": plain,
                    "best_rmse": found,
                    "change": found / plain - 1,
                    "cpu": cpu,
                }
            )
            show(rows[-1])
    record.add(
        "cold",
        rows,
        title="Users and items without ratings",
        data="MovieLens-100k; a fifth of the items or users is held out with all ratings",
        asked="Predict the held-out ratings from year and genres, or age, gender and occupation. "
        "Offsets: the mean and the offset of the known side, ridge 5",
        threads=str(available_cores()),
    )


def node_offsets(train: Ratings, test: Ratings) -> float:
    """Return the RMSE of user and item offsets, ridge 5; an unknown node has the offset 0."""
    mean, u, v = train.ratings.mean(), train.users, train.items
    b, c = np.zeros(train.n_users), np.zeros(train.n_items)
    n, m = np.bincount(u, minlength=len(b)), np.bincount(v, minlength=len(c))
    for _ in range(10):
        c = np.bincount(v, train.ratings - mean - b[u], len(c)) / (m + 5)
        b = np.bincount(u, train.ratings - mean - c[v], len(b)) / (n + 5)
    error = mean + b[test.users] + c[test.items] - test.ratings
    return float(np.sqrt(np.mean(error**2)))


def ranking(record: Recorder, seeds: list[int]) -> None:
    """Compare full rankings in three protocols, averaged over the seeds of the splits."""
    from ranking_peers import METHODS

    ratings = movielens()
    rows = []
    for protocol, asked in PROTOCOLS.items():
        found: dict[str, list[list[float]]] = {}
        settings: dict[str, str] = {}
        for seed in seeds:
            split = ranking_split(ratings, protocol, seed)
            begin = time.process_time()
            score = coterie_ranking(ratings, split)
            cpu = time.process_time() - begin
            found.setdefault("coterie", []).append([*ranked(score, split), cpu])
            settings["coterie"] = f"order {split.order}, mmsbm, default settings"
            for name, (method, what, folds_in) in METHODS.items():
                if split.fold_in and not folds_in:
                    continue
                begin = time.process_time()
                try:
                    score = method(split.positive, split.own_positive)
                except ImportError as error:
                    print(f"{name} is not installed and is left out: {error}")
                    continue
                cpu = time.process_time() - begin
                found.setdefault(name, []).append([*ranked(score, split), cpu])
                settings[name] = what
        for name, figures in found.items():
            mean, low = np.mean(figures, axis=0), np.min(figures, axis=0)
            rows.append(
                {
                    "protocol": asked,
                    "model": name,
                    "settings": settings[name],
                    "information": "ratings"
                    if name == "coterie" and protocol == "likes"
                    else "pairs",
                    "ndcg10": mean[0],
                    "recall20": mean[1],
                    "ndcg100": mean[2],
                    "ndcg10_least": low[0],
                    "cpu": mean[3],
                }
            )
            show(rows[-1])
    record.add(
        "rankings",
        rows,
        title="Full rankings",
        data=f"MovieLens-100k, splits of seeds {', '.join(map(str, seeds))}",
        asked="Rank every item that a user has not rated in training; no negatives are sampled. "
        "Means over the seeds. `pairs`: the method saw the positive pairs of the training part; "
        "`ratings`: all training ratings. EASE, ItemKNN and popularity are written in "
        "benchmarks/ranking_peers.py. coterie chooses its settings on pairs held back from the "
        "training part; the peers' settings are fixed",
        threads="1 (implicit); BLAS default for the others; CPU seconds of the fit (for coterie, "
        "of mmsbm and the interaction model)",
    )


def ranking_tables(record: Recorder, names: list[str], seeds: list[int]) -> None:
    """Compare full rankings on tables of other shapes; the seed draws the table and the split."""
    from ranking_peers import METHODS

    rows = []
    for name in names:
        for seed in seeds:
            ratings = RANKING_TABLES[name](seed)
            for protocol in ("likes", "likes-only"):
                split = ranking_split(ratings, protocol, seed)
                peers = [n for n in METHODS if n != "implicit BPR"]
                for method in ("coterie", *peers):
                    begin = time.process_time()
                    if method == "coterie":
                        score = coterie_ranking(ratings, split)
                    else:
                        score = METHODS[method][0](split.positive, split.own_positive)
                    cpu = time.process_time() - begin
                    ndcg10, recall20, ndcg100 = ranked(score, split)
                    peak = peak_gigabytes()
                    rows.append(
                        {
                            "table": f"{ratings.n_users:,} users, {ratings.n_items:,} items, "
                            f"{len(ratings):,} ratings ({name}, seed {seed})",
                            "protocol": PROTOCOLS[protocol],
                            "model": method,
                            "ndcg10": ndcg10,
                            "recall20": recall20,
                            "ndcg100": ndcg100,
                            "cpu": cpu,
                            "peak_gb": peak,
                        }
                    )
                    show(rows[-1])
    record.add(
        "ranking-tables",
        rows,
        title="Full rankings of tables of other shapes",
        data="half stars: tastes from a random neural network (benchmarks/foreign_ratings.py); "
        "six copies: users of MovieLens-100k drawn with replacement, each with a random part of "
        "the ratings, every film split into six; million: benchmarks/large_ratings.py",
        asked="Rank every item that a user has not rated in training; no negatives are sampled. At "
        "most 2,000 users, drawn at random, are ranked. Peak memory of the process so far: only a "
        "rise belongs to a row",
        threads="1",
    )


def six_copies(seed: int) -> Ratings:
    """Return users of MovieLens-100k drawn with replacement, with rare items."""
    rng, data = np.random.default_rng(seed), movielens()
    order = np.argsort(data.users, kind="stable")
    begins = np.searchsorted(data.users[order], np.arange(data.n_users + 1))
    users, rows = [], []
    for number, user in enumerate(rng.integers(0, data.n_users, 610)):
        own = order[begins[user] : begins[user + 1]]
        kept = own[rng.random(len(own)) < rng.uniform(0.6, 1.0)]
        users.append(np.full(len(kept), number))
        rows.append(kept)
    taken = np.concatenate(rows)
    items = 6 * data.items[taken] + rng.integers(0, 6, len(taken))
    return Ratings.from_arrays(np.concatenate(users), items, data.ratings[taken])


RANKING_TABLES: dict[str, Callable[[int], Ratings]] = {
    "half stars": SETS["neural, 610 x 9700, half stars"],
    "six copies": six_copies,
    "million": lambda seed: Ratings.from_arrays(*large_ratings.drawn(1_000_000, seed)),
}

PROTOCOLS = {
    "likes": "likes (4 or more), 20 % of each user's ratings hidden",
    "likes-only": "the same, with the likes as the only training data",
    "all": "every rating positive, random 80/20",
    "strong": "every rating positive, a quarter of the users not in training, folded in with 80 %",
}


class RankingSplit(NamedTuple):
    """The parts of one split, as tables of users x items, and row numbers of the ratings."""

    positive: Any  # training pairs that count as positive
    own_positive: Any  # positive pairs that are known of each user at the time of ranking
    rated: Any  # what each user has rated and what is not ranked
    wanted: Any  # hidden pairs to be found
    fit_rows: np.ndarray  # of the ratings that coterie is fitted to
    fold_in_rows: np.ndarray  # of those that are folded in afterwards
    order: str
    likes_only: bool
    fold_in: bool


def ranking_split(ratings: Ratings, protocol: str, seed: int) -> RankingSplit:
    from scipy.sparse import csr_array

    rng = np.random.default_rng(seed)
    n = len(ratings)
    liked = ratings.ratings >= 4
    if protocol == "all":
        hidden = np.zeros(n, bool)
        hidden[rng.permutation(n)[: n // 5]] = True
    else:
        of_user = np.flatnonzero(liked) if protocol == "likes-only" else np.arange(n)
        order = of_user[np.lexsort((rng.random(len(of_user)), ratings.users[of_user]))]
        counts = np.bincount(ratings.users[order], minlength=ratings.n_users)
        begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
        place = np.arange(len(order)) - begins[ratings.users[order]]
        hidden = np.zeros(n, bool)
        hidden[order[place < np.round(0.2 * counts[ratings.users[order]])]] = True
    outside = np.zeros(n, bool)
    if protocol == "strong":
        out = rng.permutation(ratings.n_users)[: ratings.n_users // 4]
        outside = np.isin(ratings.users, out)
        hidden &= outside
    known = ~hidden & (liked if protocol == "likes-only" else True)
    positive = known & (liked if protocol.startswith("likes") else True)
    wanted = hidden & (liked if protocol.startswith("likes") else True)

    def table(rows: np.ndarray) -> Any:
        u, v = ratings.users[rows], ratings.items[rows]
        return csr_array((np.ones(len(u)), (u, v)), shape=(ratings.n_users, ratings.n_items))

    return RankingSplit(
        table(positive & ~outside),
        table(positive),
        table(known),
        table(wanted),
        np.flatnonzero(known & ~outside),
        np.flatnonzero(known & outside),
        "both" if protocol == "likes" else "interaction",
        protocol == "likes-only",
        protocol == "strong",
    )


def coterie_ranking(ratings: Ratings, split: RankingSplit) -> Callable[[np.ndarray], np.ndarray]:
    """Fit coterie to the training part and return its scores; they do not depend on the model."""
    from coterie.recommend.ranking import Order, pairs_of_users

    def part(rows: np.ndarray) -> Ratings:
        values = np.ones(len(rows)) if split.likes_only else ratings.ratings[rows]
        users, items = ratings.user_ids[ratings.users[rows]], ratings.item_ids[ratings.items[rows]]
        return Ratings.from_arrays(users, items, values)

    rec = ct.Recommender(make_model("mmsbm"), likes=split.likes_only or None)
    rec.fit(part(split.fit_rows))
    if len(split.fold_in_rows):
        rec.fold_in(part(split.fold_in_rows))
    state = rec._ranked(Order(split.order))
    numbers = rec.items_.numbers(ratings.item_ids)

    def scores(rows: np.ndarray) -> np.ndarray:
        users = rec.users_.numbers(ratings.user_ids[rows])
        found = state.interactions.scores(pairs_of_users(state, users), Order(split.order).target)
        out = np.full((len(rows), ratings.n_items), -1e9)
        out[:, numbers >= 0] = found[:, numbers[numbers >= 0]]
        return out

    return scores


def ranked(score: Callable[[np.ndarray], np.ndarray], split: RankingSplit) -> list[float]:
    """Return NDCG@10, Recall@20 and NDCG@100 of the full rankings."""
    users = np.flatnonzero(np.diff(split.wanted.indptr) > 0)
    if len(users) > 2000:
        users = np.sort(np.random.default_rng(0).permutation(users)[:2000])
    best = []
    for begin in range(0, len(users), 500):
        rows = users[begin : begin + 500]
        scores = np.array(score(rows), np.float64)
        rated = split.rated[rows].tocoo()
        scores[rated.row, rated.col] = -np.inf
        best += list(np.argsort(-scores, axis=1, kind="stable")[:, :100])
    wanted = [split.wanted[[user]].indices for user in users]
    at = {n: ranking_metrics(best, wanted, split.wanted.shape[1], n) for n in (10, 20, 100)}
    return [at[10].ndcg, at[20].recall, at[100].ndcg]


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
    thousand = Ratings.from_arrays(
        np.repeat([f"new {number}" for number in range(1000)], 20),
        np.tile(items_of_new, 1000),
        np.random.default_rng(0).integers(1, 6, 20_000).astype(float),
    )
    rows = []
    for name in ("mmsbm", "hard", "best"):
        rec = ct.Recommender(make_model(name)).fit(ratings)
        pairs = timed(lambda rec=rec: rec.predict_proba(users, items))
        top = timed(lambda rec=rec: rec.recommend(ratings.user_ids, 10))
        rows.append(
            {
                "model": name,
                "pairs_per_second": len(users) / pairs,
                "top10_of_all_users_seconds": top,
                "fold_in_ms": 1e3 * timed(lambda rec=rec: rec.fold_in(new)),
                "fold_in_1000_seconds": timed(lambda rec=rec: rec.fold_in(thousand)),
            }
        )
        show(rows[-1])
    record.add(
        "speed",
        rows,
        title="Prediction, ranking and fold-in",
        data="MovieLens-100k (943 users, 1,682 items, 100,000 ratings)",
        asked="predict_proba of 100,000 pairs; recommend(n=10) for every user; fold_in of one user "
        "and of 1,000 users with 20 ratings each. Shortest of three calls",
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
                "peak_gb": peak_gigabytes(),
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


def sizes(record: Recorder, seed: int, most_ratings: int) -> None:
    """Fit tables of growing size with the structure of MovieLens-100k, nine tenths of each.

    One process per table, so that its peak memory is its own.
    """
    rows = []
    for size in SIZES:
        if size[2] > most_ratings:
            continue
        with get_context("spawn").Pool(1) as pool:
            rows.append(pool.apply(size_row, (*size, seed)))
        show(rows[-1])
    record.add(
        "sizes",
        rows,
        title="Tables of growing size",
        data=f"tables with the structure of MovieLens-100k (enlarged_ratings.py, seed {seed})",
        asked="Recommender('best').fit on nine tenths of the ratings, default settings; RMSE on "
        "the last tenth. Offsets: users and items, ridge 5. Peak memory of a process that draws "
        "the table and fits it",
        threads=str(available_cores()),
    )


def size_row(n_users: int, n_items: int, n_ratings: int, seed: int) -> dict[str, Any]:
    """Measure one table of `sizes`; called in a process of its own."""
    from enlarged_ratings import enlarged_movielens

    ratings = enlarged_movielens(n_users, n_items, n_ratings, seed)
    order = np.random.default_rng(seed).permutation(len(ratings))
    cut = len(ratings) // 10
    test, train = ratings.take(np.sort(order[:cut])), ratings.take(np.sort(order[cut:]))
    ct.AdditiveBlockModel().compile(train)
    begin, cpu = time.perf_counter(), time.process_time()
    rec = ct.Recommender("best").fit(train)
    return {
        "users": train.n_users,
        "items": train.n_items,
        "ratings": len(train),
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": time.process_time() - cpu,
        "peak_gb": peak_gigabytes(),
        "rmse": -rec.score(test),
        "offsets_rmse": node_offsets(train, test),
        "chains": ", ".join(f"{count} {kind}" for kind, count in rec.model_.mixture_.items()),
        "factors": rec.model_.samples_.user_factors.shape[2],
        "sweeps": rec.model_.n_iter_,
    }


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


def foreign(record: Recorder, names: list[str], tables: list[int], containing: str) -> None:
    """Compare models on tables that are not of the additive model's form (foreign_ratings.py).

    Rows of sets that are not measured again are kept.
    """
    chosen = {name: make for name, make in SETS.items() if containing in name}
    earlier = read_sections(record.path).get("foreign", {}).get("rows", [])
    rows = [row for row in earlier if row["set"] not in chosen or row["table"] not in tables]
    for name, make in chosen.items():
        for table in tables:
            ratings = make(table)
            order = np.random.default_rng(3).permutation(len(ratings))
            cut = len(ratings) // (5 if "MovieLens" in name else 10)
            train, test = ratings.take(np.sort(order[cut:])), ratings.take(np.sort(order[:cut]))
            row: dict[str, Any] = {"set": name, "table": table, "ratings": len(train)}
            row["tuned offsets"] = bias_baseline(train, test)
            for model in names:
                if "ordinal" in model and len(train.values) > 120:
                    continue  # myFM needs one cutpoint per value
                begin = time.process_time()
                mean, _ = (COTERIE | PEERS)[model](train, test)
                row[f"{SETTINGS[model][0]} CPU seconds"] = time.process_time() - begin
                row[SETTINGS[model][0]] = float(np.sqrt(np.mean((mean - test.ratings) ** 2)))
            rows.append(row)
            show(row)
    record.add(
        "foreign",
        rows,
        title="Tables of other forms",
        data="tables of benchmarks/foreign_ratings.py",
        asked="RMSE on one rating in ten (MovieLens: one in five), predicted from the others",
        threads=f"{available_cores()} (coterie); each peer's default",
    )


if __name__ == "__main__":
    main()

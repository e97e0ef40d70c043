"""Which settings of the additive block model predict held-back ratings best: how its defaults are
chosen and checked.

    python benchmarks/additive_defaults.py [--tables movielens,"20 items",…] [--chains 4]
                                           [--sweeps 160]

MovieLens-100k: of the folds of seed 7 (the benchmark's are those of seed 0), fold 0 is left out and
one fifth of the rest is predicted from the other four. Generated tables (rating_shapes.py, table
9, which the benchmark does not use): the same with one fifth. All settings see the same ratings.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import coterie as ct
from coterie.data import Ratings
from coterie.data.datasets import load
from coterie.recommend.evaluation import fold_rows
from coterie.recommend.metrics import rating_metrics
from rating_shapes import CASES

SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "no pilot": {"pilot": False},
    "presence 0": {"presence": 0.0},
    "presence .3": {"presence": 0.3},
    "presence .5": {"presence": 0.5},
    "presence 1": {"presence": 1.0},
    "3 x 5 groups": {"n_groups": (3, 5)},
    "4 x 8 groups": {"n_groups": (4, 8)},
    "8 x 14 groups": {"n_groups": (8, 14)},
    "6 partitions": {"n_partitions": 6},
    "14 partitions": {"n_partitions": 14},
    "1 style": {"n_styles": 1},
    "4 styles": {"n_styles": 4},
    "half the absent": {"negatives_per_rating": 0.5},
}
TABLES = ("movielens", "20 items", "ten values", "half stars")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--settings", default=",".join(SETTINGS))
    parser.add_argument("--chains", default=4, type=int)
    parser.add_argument("--sweeps", default=160, type=int)
    given = parser.parse_args()
    for name in given.tables.split(","):
        train, test = halves(name)
        print(f"{name}: {len(train):,} ratings, {len(test):,} held back")
        for setting in given.settings.split(","):
            options = {"n_chains": given.chains, "n_sweeps": given.sweeps, **SETTINGS[setting]}
            model = ct.AdditiveBlockModel(**options).fit(train)
            p = model.predict_proba(test.users, test.items)
            levels = model.scale_.levels(test.ratings)
            found = rating_metrics(p, model.values_, levels, test.ratings)
            print(
                f"  {setting:16} RMSE {found['rmse']:.4f}  log-loss {found['log_loss']:.4f}  "
                f"{model.mixture_}",
                flush=True,
            )


def halves(name: str) -> tuple[Ratings, Ratings]:
    """Ratings to fit and ratings to predict; none of them in a user or item without the former."""
    if name == "movielens":
        data = load("ml-100k")
        assert isinstance(data, Ratings)
        rows = np.concatenate(fold_rows(len(data), 5, 7)[1:])
        ratings = data.take(np.sort(rows))
    else:
        ratings = CASES[name](9)
    order = np.random.default_rng(7).permutation(len(ratings))
    cut = len(ratings) // 5
    train, test = ratings.take(order[cut:]), ratings.take(order[:cut])
    known = np.isin(test.users, train.users) & np.isin(test.items, train.items)
    return train, test.take(np.flatnonzero(known))


if __name__ == "__main__":
    main()

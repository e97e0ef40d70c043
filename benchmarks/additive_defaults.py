"""Which settings of the additive block model predict held-out ratings best.

    python benchmarks/additive_defaults.py --tables movielens          # about 20 minutes
    python benchmarks/additive_defaults.py --tables "20 items" --settings defaults,"1 style"

MovieLens-100k: fold 0 of seed 7 is left out (the benchmark uses the folds of seed 0), and one fifth
of the rest is predicted from the other four fifths. Generated tables (rating_shapes.py, table 9,
which the benchmark does not use): one fifth is predicted. All settings see the same ratings.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import coterie as ct
from coterie.base.json_values import json_value
from coterie.base.machine import available_cores
from coterie.data import Ratings
from coterie.data.datasets import load
from coterie.recommend.evaluation import fold_rows
from coterie.recommend.metrics import rating_metrics
from rating_shapes import CASES
from record import Recorder, add_options, show

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
    "half the negatives": {"negatives_per_rating": 0.5},
}
TABLES = ("movielens", "20 items", "ten values", "half stars")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--tables", default=",".join(TABLES), help="comma-separated tables")
    parser.add_argument("--settings", default=",".join(SETTINGS), help="comma-separated settings")
    parser.add_argument("--chains", default=4, type=int, help="default 4")
    parser.add_argument("--sweeps", default=160, type=int, help="sweeps per chain (default 160)")
    add_options(parser)
    given = parser.parse_args()
    record = Recorder("additive_defaults", given)
    for name in given.tables.split(","):
        train, test = split(name)
        rows = []
        for setting in given.settings.split(","):
            options = {"n_chains": given.chains, "n_sweeps": given.sweeps, **SETTINGS[setting]}
            model = ct.AdditiveBlockModel(**options).fit(train)
            p = model.predict_proba(test.users, test.items)
            levels = model.scale_.levels(test.ratings)
            found = json_value(rating_metrics(p, model.values_, levels, test.ratings))
            rows.append(
                {
                    "setting": setting,
                    "rmse": found["rmse"],
                    "log_loss": found["log_loss"],
                    "chains": str(dict(model.mixture_)),
                }
            )
            show(rows[-1])
        record.add(
            name,
            rows,
            title="Default settings, one changed at a time",
            data=f"{name}: {len(train):,} ratings to fit, {len(test):,} to predict",
            asked=f"AdditiveBlockModel, {given.chains} chains of {given.sweeps} sweeps",
            threads=str(available_cores()),
        )


def split(name: str) -> tuple[Ratings, Ratings]:
    """Return ratings to fit and ratings to predict, of users and items that were fitted."""
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

"""Fit a recommender, measure it on ratings that it has not seen, and describe its groups."""

from __future__ import annotations

import numpy as np

from coterie.app.web.tasks.context import TaskContext
from coterie.app.web.tasks.spreadsheet import write_csv
from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.data import Ratings
from coterie.data.readers import read_ratings
from coterie.data.titles import read_titles
from coterie.engine import LocalEngine
from coterie.models.base import Estimator
from coterie.recommend.evaluation import evaluate_split
from coterie.recommend.recommender import Recommender
from coterie.recommend.registry import make_model
from coterie.report.page import parts_html, write
from coterie.report.recommender_report import compose

_TOP = 10
_LEAST_RATINGS = 20
_HELD_OUT = 10  # one rating in ten
_HARD_GROUPS = 15  # of the model hard by default
_LEAST_GROUP = 2  # users or items per group, on average


def recommend(context: TaskContext) -> JsonObject:
    """Fit the model to all ratings, and once more to nine tenths to measure it."""
    settings = context.settings
    ratings = read_ratings(settings["path"])
    if len(ratings) < _LEAST_RATINGS:
        raise InputError(
            f"{len(ratings)} ratings are too few to learn from",
            remedy=f"give at least {_LEAST_RATINGS}",
        )
    titles = read_titles(settings["titles"]) if settings.get("titles") else None
    name = settings["name"]
    with LocalEngine() as engine:
        context.stage("compiling")
        recommender = Recommender(_model(settings["model"], ratings)).compile(ratings, engine)
        recommender.fit(ratings, engine=engine, callback=context.progress_of_fit)
        recommender.fit_rankings(engine, context.progress_of_fit)
        interrupted = recommender.model_.interrupted_
        recommender.save(context.folder / "model.coterie")
        context.stage("measuring on ratings that were held out")
        train, test = _split(ratings)
        found = evaluate_split(_model(settings["model"], ratings), train, test, engine=engine)
        context.stage("recommending to everybody")
        users = ratings.user_ids.tolist()
        lists = recommender.recommend(users, _TOP, engine=engine)
    write_csv(
        context.folder / "recommendations.csv",
        ["user", "rank", "item", "expected_rating"],
        (
            (user, rank, listed.item, round(listed.rating, 4))
            for user, best in zip(users, lists, strict=True)
            for rank, listed in enumerate(best, 1)
        ),
    )
    page = compose(
        [found.metrics],
        name=name,
        model=recommender.model_,
        ratings=ratings,
        titles=titles,
        assumed=context.remarks,
    )
    (context.folder / "report.html").write_text(write(page), encoding="utf-8")
    naive = float(np.std(test.ratings))
    return {
        "users": ratings.n_users,
        "items": ratings.n_items,
        "rmse": found.metrics.rmse,
        "mae": found.metrics.mae,
        "naive": naive,
        "accuracy": found.metrics.accuracy,
        "precision": found.metrics.precision,
        "held_out": len(test),
        "interrupted": interrupted,
        "sections": parts_html(page)[1:],
    }


def _model(name: str, ratings: Ratings) -> Estimator:
    """Return the model, with fewer groups if there are few users or items."""
    few = tuple(max(1, n // _LEAST_GROUP) for n in (ratings.n_users, ratings.n_items))
    if name != "hard" or min(few) >= _HARD_GROUPS:
        return make_model(name, rng=0)
    users, items = (min(_HARD_GROUPS, n) for n in few)
    return make_model(name, groups=(users, items), rng=0)


def _split(ratings: Ratings) -> tuple[Ratings, Ratings]:
    """Return nine tenths of the ratings, and one tenth, chosen at random with a fixed seed."""
    order = np.random.default_rng(0).permutation(len(ratings))
    cut = max(1, len(ratings) // _HELD_OUT)
    return ratings.take(np.sort(order[cut:])), ratings.take(np.sort(order[:cut]))

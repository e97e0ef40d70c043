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
from coterie.recommend.evaluation import FoldResult, evaluate_split
from coterie.recommend.model_file import load_recommender
from coterie.recommend.recommender import Recommender
from coterie.recommend.registry import make_model
from coterie.report.page import Verdict, parts_html, write
from coterie.report.recommender_report import compose

_TOP = 10
_LEAST_RATINGS = 20
_HELD_OUT = 10  # one rating in ten
_HARD_GROUPS = 15  # of the model hard by default
_LEAST_GROUP = 2  # users or items per group, on average


def recommend(context: TaskContext) -> JsonObject:
    """Fit the model to all ratings, and once more to nine tenths to measure it.

    A stop leaves out what has not been done: the rest of the fit, the ranking, the measuring.
    """
    settings = context.settings
    ratings = read_ratings(settings["path"])
    if len(ratings) < _LEAST_RATINGS:
        raise InputError(
            f"{len(ratings)} ratings are too few to learn from",
            remedy=f"give at least {_LEAST_RATINGS}",
        )
    titles = read_titles(settings["titles"]) if settings.get("titles") else None
    with LocalEngine() as engine:
        recommender = _fitted(context, ratings, engine)
        model, learned = recommender.model_, context.kept("ranked.coterie")
        ranked = learned.exists()
        if ranked:
            recommender = load_recommender(learned)
        elif not (model.interrupted_ or context.stop_requested):
            ranked = _with_rankings(context, recommender, engine)
        recommender.save(context.folder / "model.coterie", rankings=ranked)
        found = _measured(context, ratings, engine) if ranked else None
        context.stage("recommending to everybody")
        users = ratings.user_ids.tolist()
        order = "both" if ranked else "rating"
        lists = recommender.recommend(users, _TOP, order=order, engine=engine)
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
        [] if found is None else [found.metrics],
        name=settings["name"],
        model=model,
        ratings=ratings,
        titles=titles,
        assumed=context.remarks,
    )
    if found is None:
        text = "This was stopped before it was finished. The predictions were not measured."
        page.verdict = Verdict(text, "warn", "stopped")
    (context.folder / "report.html").write_text(write(page), encoding="utf-8")
    return {
        "users": ratings.n_users,
        "items": ratings.n_items,
        "measured": None if found is None else found.metrics,
        "naive": float(np.std(_split(ratings)[1].ratings)),
        "held_out": len(_split(ratings)[1]),
        "ranked": ranked,
        "unfinished": found is None,
        "complete": not model.interrupted_,
        "sections": parts_html(page)[found is not None :],
    }


def _fitted(context: TaskContext, ratings: Ratings, engine: LocalEngine) -> Recommender:
    """Fit the model, or go on where an earlier fit was stopped."""
    checkpoint, whole = context.kept("search.checkpoint"), context.kept("fitted")
    context.require_result(checkpoint.exists())
    context.stage("compiling")
    recommender = Recommender(_model(context.settings["model"], ratings))
    with context.search():
        recommender.compile(ratings, engine)
        recommender.fit(
            ratings,
            engine=engine,
            # A fit that was finished before the stop is only restored.
            callback=context.progress if whole.exists() else context.progress_of_fit,
            checkpoint=checkpoint,
            checkpoint_every=1,
            resume=True,
        )
    if not recommender.model_.interrupted_:
        whole.touch()
    return recommender


def _with_rankings(context: TaskContext, recommender: Recommender, engine: LocalEngine) -> bool:
    """Fit what rankings need; return whether it was not stopped."""
    try:
        with context.search():
            recommender.fit_rankings(engine, context.progress_of_fit)
    except KeyboardInterrupt:
        return False
    recommender.save(context.folder / "ranked.coterie")
    return True


def _measured(context: TaskContext, ratings: Ratings, engine: LocalEngine) -> FoldResult | None:
    """Measure a model on ratings that it has not seen; None after a stop."""
    if context.stop_requested:
        return None
    context.stage("measuring on ratings that were held out")
    model = _model(context.settings["model"], ratings)
    with context.search():
        return evaluate_split(model, *_split(ratings), engine=engine)


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

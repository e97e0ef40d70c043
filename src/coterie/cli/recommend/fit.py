"""`coterie recommend fit`: fit a model to ratings and write it to a file."""

from __future__ import annotations

from pathlib import Path

from coterie.base.json_values import JsonObject
from coterie.cli.fitting import checkpoint_arguments, engine_of
from coterie.cli.reading import RATINGS, load_ratings, load_shards
from coterie.cli.recommend.options import load_features, make_estimator
from coterie.cli.session import Session, command, stopwatch


@command(reads=RATINGS)
def run(
    session: Session,
    ratings: str,
    out: Path,
    model: str = "best",
    groups: str | None = None,
    samples: int | None = None,
    iterations: int | None = None,
    runs: int | None = None,
    prior: float | None = None,
    negatives: float | None = None,
    likes: bool | None = None,
    user_features: Path | None = None,
    item_features: Path | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    engine: str = "local",
    scheduler: str | None = None,
) -> JsonObject:
    """Fit a model to ratings and write it to a file.

    Example: coterie recommend fit ratings.csv --out films.model
    """
    from coterie.recommend.recommender import Recommender

    saving = checkpoint_arguments(checkpoint, resume)
    estimator = make_estimator(session, model, groups, samples, iterations, runs, prior, negatives)
    features = load_features(session, model, user_features, item_features)
    if Path(ratings).is_dir():
        data = load_shards(session, ratings, holds="ratings")
    else:
        data = load_ratings(session, ratings, likes=bool(likes))
    with (
        engine_of(session, engine, scheduler) as worker,
        session.progress("recommend") as callback,
    ):
        recommender = Recommender(estimator, likes=likes)
        recommender.compile(data, worker)
        with stopwatch() as seconds:
            recommender.fit(data, engine=worker, callback=callback, **saving, **features)
            recommender.fit_rankings(worker, callback)
            taken = seconds()
    fitted = recommender.model_
    session.interrupted = fitted.interrupted_
    recommender.save(out)
    result = {
        "users": data.n_users,
        "items": data.n_items,
        "ratings": len(data),
        "entropy": fitted.entropy_,
        "iterations": fitted.history_[-1].iteration if fitted.history_ else 0,
        "seconds": taken,
        "model": model,
        "interrupted": session.interrupted,
        "out": str(out),
    }
    ending = " (interrupted; the best result so far was kept)" if session.interrupted else ""
    rows = [(name, f"{result[name]:,}") for name in ("users", "items", "ratings")]
    rows += [
        ("entropy", f"{fitted.entropy_:,.1f} nats (training ratings)"),
        ("iterations", f"{result['iterations']:,}{ending}"),
        ("seconds", f"{taken:.2f}"),
        ("model file", str(out)),
    ]
    session.show_table(rows)
    session.summary = (
        f"{out}: {model} model of {len(data):,} ratings by {data.n_users:,} users of "
        f"{data.n_items:,} items"
    )
    return result

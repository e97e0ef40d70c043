"""`coterie recommend evaluate`: how well a model predicts ratings that it has not seen."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.cli.reading import RATINGS, load_ratings
from coterie.cli.recommend.options import load_features, make_estimator, say_coverage
from coterie.cli.session import Session, command

if TYPE_CHECKING:
    from coterie.data import Ratings
    from coterie.models.base import Estimator
    from coterie.recommend.evaluation import Evaluation


@command(reads=RATINGS, answers=True)
def run(
    session: Session,
    ratings: str | None = None,
    folds: int = 5,
    train: str | None = None,
    test: str | None = None,
    split: str | None = None,
    test_share: float | None = None,
    test_last: int | None = None,
    top: str = "10",
    order: str = "both",
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
    report: Path | None = None,
    titles: Path | None = None,
) -> JsonObject:
    """Measure how well a model predicts unseen ratings.

    Give RATINGS for cross-validation or one --split, or --train and --test. Rankings compare all
    items that a user has not rated in training; none are sampled.

    Example: coterie recommend evaluate ratings.csv --folds 5 --report report.html
    """
    from coterie.data.titles import read_titles
    from coterie.recommend.evaluation import Evaluation, evaluate, evaluate_split

    lengths = _lengths(top)
    files = (train is not None) + (test is not None)
    if files == 1 or (ratings is None) == (files == 0):
        raise InputError("give RATINGS to divide into folds, or both --train FILE and --test FILE")
    if split is not None and files:
        raise InputError("--split divides RATINGS; it cannot be combined with --train and --test")
    if test_share is not None and split in (None, "last-n"):
        raise InputError("--test-share requires --split random, time, cold-users or cold-items")
    if test_last is not None and split != "last-n":
        raise InputError("--test-last requires --split last-n")
    estimator = make_estimator(session, model, groups, samples, iterations, runs, prior, negatives)
    features: dict[str, Any] = dict(load_features(session, model, user_features, item_features))
    title_of = None if titles is None else read_titles(titles)  # errors come before the work

    def unfitted() -> Estimator:
        return type(estimator)(**estimator.get_params())

    def read(path: str) -> Ratings:
        return load_ratings(session, path, likes=bool(likes))

    with session.engine() as engine, session.progress("evaluate") as callback:
        if ratings is not None:
            found = evaluate(
                unfitted,
                read(ratings),
                folds=folds,
                split=split or "folds",
                test_share=0.2 if test_share is None else test_share,
                test_last=test_last or 1,
                seed=session.seed,
                top=lengths,
                order=order,
                likes=likes,
                engine=engine,
                callback=callback,
                **features,
            )
        else:
            assert train is not None and test is not None
            tested = evaluate_split(
                unfitted(),
                read(train),
                read(test),
                top=lengths,
                order=order,
                likes=likes,
                engine=engine,
                **features,
            )
            found = Evaluation.from_folds([tested.metrics], [tested.rankings], tested)
    if titles is not None and title_of is not None:
        say_coverage(session, title_of, titles, found.last.recommender.items_.ids)
    if report is not None:
        name = Path(str(ratings or train)).name
        _write_report(report, found, name, title_of, session.assumed)
    _show(session, found)
    means = ", ".join(
        f"{n.replace('_', ' ')} {asdict(found.means)[n]:.4f}" for n in found.names[:3]
    )
    written = "" if report is None else f"; report: {report}"
    session.summary = f"{model}: {means} (mean of {len(found.folds)} tests){written}"
    return {"model": model, "order": order, "top": lengths, **found.to_json()}


def _lengths(text: str) -> list[int]:
    """Return the lengths of the rankings.

    >>> _lengths("10,20")
    [10, 20]
    """
    try:
        found = list(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise InputError(f"--top {text!r} is not a list of lengths", remedy="use --top 10,20")
    return found


def _write_report(
    path: Path,
    found: Evaluation,
    name: str,
    titles: dict[Any, str] | None,
    assumed: list[str],
) -> None:
    from coterie.report.pdf import write_page
    from coterie.report.recommender_report import render

    last = found.last
    same_scale = len(last.recommender.values_) == len(last.train.values)
    page = render(
        found.folds,
        name=name,
        model=last.recommender.model_,
        ratings=last.train,
        test=(last.levels, last.probabilities) if same_scale else None,
        titles=titles,
        assumed=assumed,
    )
    write_page(page, path)


def _show(session: Session, found: Evaluation) -> None:
    from coterie.recommend.metrics import RankingMetrics

    parts = {"mean": asdict(found.means)}
    if len(found.folds) > 1:
        parts["std"] = asdict(found.spreads)
        parts |= {f"fold {n}": asdict(metrics) for n, metrics in enumerate(found.folds, 1)}
    rows = []
    for name in found.names:
        digits = 1 if name == "entropy" else 4
        cells = (f"{part[name]:,.{digits}f}" for part in parts.values())
        rows.append((name.replace("_", " "), *cells))
    session.show_table(rows, "", *parts, right=list(parts))
    if not found.ranked:
        session.say(
            "rankings were not measured: no test item is relevant and has ratings in training "
            "(--order rating also ranks items without ratings)"
        )
    elif len(found.rankings) > 1:
        rows = [
            (name.replace("_", " "), *(f"{getattr(r, name):,.4f}" for r in found.rankings.values()))
            for name in RankingMetrics._fields
        ]
        session.show_table(rows, "rankings", *(f"first {n}" for n in found.rankings))

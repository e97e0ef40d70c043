"""`coterie recommend evaluate`: how well a model predicts ratings that it has not seen."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.cli.fit_options import ReportOption
from coterie.cli.fit_output import write_page
from coterie.cli.input_options import SeparatorOption, TableFormatOption
from coterie.cli.recommend.options import (
    GroupsOption,
    IterationsOption,
    LikesOption,
    ModelName,
    ModelOption,
    NegativesOption,
    PriorOption,
    RunsOption,
    SamplesOption,
    TitlesOption,
    make_estimator,
)
from coterie.cli.session import Session, command

if TYPE_CHECKING:
    from coterie.data import Ratings
    from coterie.models.base import Estimator
    from coterie.recommend.evaluation import Evaluation


@command
def run(
    session: Session,
    ratings: Annotated[
        str | None,
        typer.Argument(
            metavar="RATINGS",
            help="Table of user, item and rating, divided into --folds; - reads stdin.",
        ),
    ] = None,
    folds: Annotated[
        int,
        typer.Option(
            min=2,
            metavar="N",
            help="Number of parts; each is predicted by a model fitted to the others.",
        ),
    ] = 5,
    train: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Fit to this table instead, and test on --test."),
    ] = None,
    test: Annotated[
        str | None, typer.Option(metavar="FILE", help="Table to test on, with --train.")
    ] = None,
    top: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Length of the rankings for NDCG, precision, recall and coverage.",
        ),
    ] = 10,
    model: ModelOption = ModelName.best,
    groups: GroupsOption = None,
    samples: SamplesOption = None,
    iterations: IterationsOption = None,
    runs: RunsOption = None,
    prior: PriorOption = None,
    negatives: NegativesOption = None,
    likes: LikesOption = None,
    report: ReportOption = None,
    titles: TitlesOption = None,
    format: TableFormatOption = None,
    separator: SeparatorOption = None,
) -> JsonObject:
    """Measure how well a model predicts unseen ratings.

    Give RATINGS for cross-validation, or --train and --test.

    Example: coterie recommend evaluate ratings.csv --folds 5 --report report.html
    """
    from coterie.cli.input_options import load_ratings
    from coterie.cli.recommend.title_coverage import say_coverage
    from coterie.data.titles import read_titles
    from coterie.recommend.evaluation import Evaluation, evaluate, evaluate_split

    files = (train is not None) + (test is not None)
    if files == 1 or (ratings is None) == (files == 0):
        raise InputError("give RATINGS to divide into folds, or both --train FILE and --test FILE")
    estimator = make_estimator(session, model, groups, samples, iterations, runs, prior, negatives)
    title_of = None if titles is None else read_titles(titles)  # errors come before the work

    def unfitted() -> Estimator:
        return type(estimator)(**estimator.get_params())

    def read(path: str) -> Ratings:
        return load_ratings(session, path, likes=bool(likes), format=format, separator=separator)

    with session.engine() as engine, session.progress("evaluate") as callback:
        if ratings is not None:
            found = evaluate(
                unfitted,
                read(ratings),
                folds=folds,
                seed=session.seed,
                top=top,
                likes=likes,
                engine=engine,
                callback=callback,
            )
        else:
            assert train is not None and test is not None
            split = evaluate_split(
                unfitted(), read(train), read(test), top=top, likes=likes, engine=engine
            )
            found = Evaluation.from_folds([split.metrics], split)
    if title_of is not None:
        say_coverage(session, title_of, titles, found.last.recommender.items_.ids)
    if report is not None:
        name = Path(str(ratings or train)).name
        _write_report(report, found, name, title_of, session.assumed)
    _show(session, found)
    if report is not None:
        session.show(f"report: {report}")
    return {"model": model.value, **found.to_json()}


def _write_report(
    path: Path,
    found: Evaluation,
    name: str,
    titles: dict[Any, str] | None,
    assumed: list[str],
) -> None:
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
    write_page(path, page)


def _show(session: Session, found: Evaluation) -> None:
    from rich.table import Table

    several = len(found.folds) > 1
    table = Table(box=None)
    table.add_column("")
    table.add_column("mean", justify="right")
    if several:
        table.add_column("std", justify="right")
        for number in range(len(found.folds)):
            table.add_column(f"fold {number + 1}", justify="right")
    spreads, folds = asdict(found.spreads), [asdict(metrics) for metrics in found.folds]
    for name, mean in asdict(found.means).items():
        cells = [mean, spreads[name], *(fold[name] for fold in folds)] if several else [mean]
        digits = 1 if name == "entropy" else 4
        table.add_row(name.replace("_", " "), *(f"{cell:,.{digits}f}" for cell in cells))
    session.show(table)

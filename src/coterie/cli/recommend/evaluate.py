"""`coterie recommend evaluate`: how well a model predicts ratings it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.base.errors import InputError
from coterie.cli.input_options import FormatOption, SeparatorOption
from coterie.cli.recommend.options import (
    AbsentOption,
    GroupsOption,
    IterationsOption,
    KindOption,
    LikesOption,
    Model,
    PriorOption,
    RunsOption,
    SamplesOption,
    TitlesOption,
    make,
)
from coterie.cli.session import Session, command

if TYPE_CHECKING:
    from coterie.data import Ratings
    from coterie.recommend.evaluation import Evaluation


@command
def run(
    session: Session,
    ratings: Annotated[
        str | None, typer.Argument(metavar="[RATINGS]", help="user, item, rating; - is stdin.")
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Parts, each tested once.")] = 5,
    train: Annotated[str | None, typer.Option(help="Fit to this file …")] = None,
    test: Annotated[str | None, typer.Option(help="… and test on this one.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Length of the rankings measured.")] = 10,
    model: KindOption = Model.best,
    groups: GroupsOption = None,
    samples: SamplesOption = None,
    iterations: IterationsOption = None,
    runs: RunsOption = None,
    prior: PriorOption = None,
    absent: AbsentOption = None,
    likes: LikesOption = False,
    report: Annotated[Path | None, typer.Option(help="Write a report: FILE.html.")] = None,
    titles: TitlesOption = None,
    format: FormatOption = None,
    separator: SeparatorOption = None,
) -> dict[str, Any]:
    """Cross-validate, or fit to --train and test on --test."""
    from coterie.cli.input_options import load_ratings
    from coterie.cli.recommend.titles import read_titles
    from coterie.recommend.evaluation import evaluate, evaluate_split, summarised

    files = (train is not None) + (test is not None)
    if files == 1 or (ratings is None) == (files == 0):
        raise InputError("give RATINGS to be cut into folds, or both --train FILE and --test FILE")
    estimator = make(session, model, groups, samples, iterations, runs, prior, absent)
    names = None if titles is None else read_titles(titles)  # before the work, not after it

    def fresh() -> Any:
        return type(estimator)(**estimator.get_params())

    def read(path: str) -> Ratings:
        return load_ratings(session, path, likes=likes, format=format, separator=separator)

    engine = session.engine()
    try:
        with session.progress("evaluate") as callback:
            if ratings is not None:
                found = evaluate(
                    fresh,
                    read(ratings),
                    folds=folds,
                    seed=session.seed,
                    top=top,
                    engine=engine,
                    callback=callback,
                )
            else:
                assert train is not None and test is not None
                split = evaluate_split(fresh(), read(train), read(test), top, engine)
                found = summarised([split.figures], split)
    finally:
        engine.close()
    result = {"model": model.value, **found.mean, "spread": found.spread, "folds": found.folds}
    if report is not None:
        _write_report(report, result, found, str(ratings or train), names, session.assumed)
    _show(session, found)
    return result


def _write_report(
    path: Path,
    result: dict[str, Any],
    found: Evaluation,
    source: str,
    titles: dict[Any, str] | None,
    assumed: list[str],
) -> None:
    from coterie.data.writers import atomic_write
    from coterie.report.recommender_report import render

    last = found.last
    same_scale = len(last.recommender.values_) == len(last.train.values)
    with atomic_write(path) as file:
        file.write(
            render(
                result,
                name=Path(source).name,
                model=last.recommender.model_,
                ratings=last.train,
                test=(last.levels, last.p) if same_scale else None,
                titles=titles,
                assumed=assumed,
            )
        )


def _show(session: Session, found: Evaluation) -> None:
    from rich.table import Table

    table = Table(box=None)
    table.add_column("")
    table.add_column("mean", justify="right")
    if len(found.folds) > 1:
        table.add_column("±", justify="right")
        for number in range(len(found.folds)):
            table.add_column(f"fold {number + 1}", justify="right")
    for name, mean in found.mean.items():
        cells = [mean]
        if len(found.folds) > 1:
            cells += [found.spread[name], *(fold[name] for fold in found.folds)]
        digits = 1 if name == "entropy" else 4
        table.add_row(name.replace("_", " "), *(f"{cell:,.{digits}f}" for cell in cells))
    session.show(table)

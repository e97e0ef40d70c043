"""`coterie recommend compare`: several models on the same split, with paired tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from coterie.base.json_values import JsonObject
from coterie.cli.reading import RATINGS, load_ratings
from coterie.cli.recommend.options import load_features
from coterie.cli.session import Session, command

if TYPE_CHECKING:
    from coterie.recommend.comparison import Comparison


@command(reads=RATINGS, answers=True)
def run(
    session: Session,
    ratings: str,
    models: str = "best,mmsbm,popularity,item-mean,ease,ials",
    split: str = "random",
    folds: int | None = None,
    test_share: float = 0.2,
    test_last: int = 1,
    n: int = 10,
    order: str = "both",
    likes: bool | None = None,
    user_features: Path | None = None,
    item_features: Path | None = None,
    titles: Path | None = None,
    report: Path | None = None,
    out: Path | None = None,
) -> JsonObject:
    """Compare models on the same held-out ratings, with paired tests.

    A difference is called better only if it remains after the correction for all tests (Holm).

    Example: coterie recommend compare ratings.csv --models best,popularity --report compare.html
    """
    from coterie.data.titles import read_titles
    from coterie.data.writers import write_table
    from coterie.recommend.comparison import compare

    title_of = None if titles is None else read_titles(titles)  # errors come before the work
    features = load_features(session, "best", user_features, item_features)
    table = load_ratings(session, ratings, likes=bool(likes))
    with session.engine() as engine, session.progress("compare") as callback:
        found = compare(
            [name.strip() for name in models.split(",")],
            table,
            split="folds" if folds else split,
            folds=folds or 5,
            test_share=test_share,
            test_last=test_last,
            seed=session.seed,
            top=n,
            order=order,
            likes=likes,
            engine=engine,
            callback=callback,
            **features,
        )
    if out is not None:
        write_table(out, found.users)
    if report is not None:
        from coterie.report.comparison_report import render
        from coterie.report.pdf import write_page

        page = render(found, name=Path(ratings).name, titles=title_of, assumed=session.assumed)
        write_page(page, report)
    _show(session, found)
    files = [f"report: {report}"] * (report is not None) + [f"users: {out}"] * (out is not None)
    session.summary = "; ".join([f"{len(found.models)} models compared", *files])
    return found.to_json()


def _show(session: Session, found: Comparison) -> None:
    from coterie.report.comparison_report import COLUMNS, difference, figure

    rows = [(m.name, *(figure(m, name) or "-" for name in COLUMNS)) for m in found.models]
    session.show_table(rows, "model", *COLUMNS.values(), right=list(COLUMNS.values()))
    first = found.models[0].name
    rows = [
        (
            COLUMNS.get(t.metric, t.metric),
            f"{t.model} - {t.against}",
            difference(t),
            t.better or "-",
        )
        for t in found.tests
        if t.model == first
    ]
    session.show_table(rows, "metric", "difference", "95 % interval", "better")
    for model in found.models:
        for note in model.notes:
            session.say(f"{model.name}: some figures are not measured: {note}")

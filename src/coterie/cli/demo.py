"""`coterie demo`: all three uses on two generated data sets, in about a minute."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.base.json_values import JsonObject
from coterie.cli.session import Session, command, stopwatch

if TYPE_CHECKING:
    from coterie.data import Graph
    from coterie.models.hard.block_model import BlockModel

_NEWCOMER = "you"

EXAMPLES = "Example: coterie demo --out my-demo"


@command
def run(
    session: Session,
    out: Path = Path("coterie-demo"),
) -> JsonObject:
    """Show all three uses on generated data.

    Finds the groups of a small social network, recommends films, and releases an anonymized
    network with a report.
    """
    session.say("the first run compiles for up to a minute; later runs take seconds")
    with stopwatch() as seconds:
        result = {
            "cluster": _cluster(session),
            "recommend": _recommend(session),
            "release": _release(session, out),
        }
    session.show(
        f"\nDone in {seconds():.0f} s. Next: coterie --help (after `make demo`: .venv/bin/coterie "
        "--help), or the tutorials in docs/tutorials."
    )
    return result | {"seconds": seconds()}


def _cluster(session: Session) -> JsonObject:
    from coterie.data.demo_data import COMMUNITIES, social_network
    from coterie.models.agreement import adjusted_rand
    from coterie.models.hard.block_model import BlockModel

    people, clubs = social_network(rng=session.seed)
    _headline(
        session, f"1. Who belongs together? {people.n_nodes:,} people, {people.n_edges:,} ties"
    )
    with session.progress("clustering") as callback, stopwatch() as seconds:
        model = BlockModel("degree-corrected", rng=session.seed).fit(
            people, engine=session.engine(), callback=callback
        )
    agreement = adjusted_rand(model.labels_, clubs)
    columns = ("block", "people", "ties inside", "ties outside", "best connected")
    session.show_table(_block_rows(people, model), *columns, boxed=True)
    session.show(
        f"The program chose the number of blocks. Agreement with the {len(COMMUNITIES)} "
        f"clubs, which it did not know: {agreement:.2f} (adjusted Rand index; 1 is perfect)."
    )
    blocks = len(set(model.labels_.tolist()))
    return {
        "blocks": blocks,
        "entropy": model.entropy_,
        "ari": agreement,
        "seconds": seconds(),
    }


def _block_rows(people: Graph, model: BlockModel) -> Iterator[tuple[Any, ...]]:
    import numpy as np

    source, target = people.edges()
    for block in np.unique(model.labels_):
        members = np.flatnonzero(model.labels_ == block)
        ends = (model.labels_[source] == block).astype(int) + (model.labels_[target] == block)
        known = members[np.argsort(-people.degrees[members], kind="stable")[:3]]
        ties = (f"{(ends == inside).sum():,}" for inside in (2, 1))
        yield block, f"{len(members):,}", *ties, ", ".join(people.ids[known])


def _recommend(session: Session) -> JsonObject:
    import numpy as np

    from coterie.data.demo_data import movie_ratings
    from coterie.data.ratings import Ratings
    from coterie.models.soft.mmsbm import MMSBM
    from coterie.recommend.recommender import Recommender

    ratings, genres = movie_ratings(rng=session.seed)
    _headline(session, f"2. What to watch? {len(ratings):,} ratings by {ratings.n_users:,} viewers")
    order = np.random.default_rng(session.seed).permutation(len(ratings))
    test, train = order[: len(order) // 5], order[len(order) // 5 :]
    with session.progress("learning") as callback, stopwatch() as seconds:
        model = MMSBM(n_groups=(6, 6), max_iter=200, prior=0.02, n_init=4, rng=session.seed)
        recommender = Recommender(model).fit(
            ratings.take(train), engine=session.engine(), callback=callback
        )
    held_out = ratings.take(test)
    truth = held_out.ratings
    guess = recommender.predict(
        held_out.user_ids[held_out.users], held_out.item_ids[held_out.items]
    )
    rmse = float(np.sqrt(np.mean((guess - truth) ** 2)))
    baseline = float(np.sqrt(np.mean((ratings.ratings[train].mean() - truth) ** 2)))
    loved = [title for title, genre in genres.items() if genre == "science fiction"][:4]
    recommender.fold_in(Ratings.from_arrays([_NEWCOMER] * 4, loved, [5, 5, 4, 5]))
    tips = recommender.recommend(_NEWCOMER, n=5)
    session.show(
        f"Typical error on ratings that were held out: {rmse:.2f} stars (predicting the mean: "
        f"{baseline:.2f}).\nRecommended to a new user who liked {', '.join(loved)}, "
        "without refitting:"
    )
    for tip in tips:
        session.show(f"  {tip.rating:.1f}  {tip.item} ({genres[tip.item]})")
    return {
        "rmse": rmse,
        "baseline_rmse": baseline,
        "recommended": [tip.item for tip in tips],
        "seconds": seconds(),
    }


def _release(session: Session, out: Path) -> JsonObject:
    from coterie.anonymize.anonymizer import Anonymizer
    from coterie.cli.measure_tables import show_measures
    from coterie.data.demo_data import social_network
    from coterie.report.release_report import decision_text

    people, _ = social_network(rng=session.seed)
    _headline(session, "3. Can it be published? A similar new network, attacked before its release")
    with session.progress("releasing") as callback, stopwatch() as seconds:
        release = Anonymizer(dataset="demo", rng=session.seed).release(
            people, engine=session.engine(), callback=callback
        )
    utility = release.utility
    if release.refused or utility is None:
        session.show("No: " + "; ".join(release.reasons))
        return {"refused": True, "reasons": release.reasons, "seconds": seconds()}
    folder = _unused_name(out)
    release.write(folder)
    show_measures(session, utility.original, utility.published, utility.degree_ks)
    session.show(f"Yes. {decision_text(release.owner_summary or release.summary)}")
    session.show(
        f"The new network: {folder}/graph.csv. Report: {folder}/report.html (open it in a "
        f"browser).\nMust stay private: {release.private_folder(folder)}"
    )
    return {
        "refused": False,
        "folder": str(folder),
        "global_clustering": [
            utility.original.global_clustering,
            utility.published.global_clustering,
        ],
        "seconds": seconds(),
    }


def _unused_name(folder: Path) -> Path:
    """Return the folder, or the first of folder-2, folder-3 … that does not exist."""
    number, free = 1, folder
    while free.exists():
        number += 1
        free = folder.with_name(f"{folder.name}-{number}")
    return free


def _headline(session: Session, text: str) -> None:
    from rich.text import Text

    session.show(Text(f"\n{text}", style="bold"))

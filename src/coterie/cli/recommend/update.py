"""`coterie recommend update`: add new ratings to a model without fitting it again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.cli.reading import RATINGS, load_ratings
from coterie.cli.recommend.options import load_model
from coterie.cli.session import Session, command, stopwatch

if TYPE_CHECKING:
    from coterie.data import Ratings

_HELD_OUT = 0.1  # share of the new ratings that the gate predicts, the last ones
_CLEAR = 2.0  # standard errors by which a model must be worse to be refused


@command(unused=("seed",), reads=RATINGS)
def run(
    session: Session,
    model: str,
    ratings: str,
    out: Path,
    gate: bool = False,
) -> JsonObject:
    """Add new ratings to a model and write it to another file.

    The users of the new ratings, and items that have clearly more ratings now, are placed again;
    everything else stays. drift compares the error of the new ratings, predicted before they were
    added, with the one that the model expected: 0 is as expected.

    Example: coterie recommend update films.model today.csv --out films-new.model --gate
    """
    recommender = load_model(model)
    new = load_ratings(session, ratings, likes=recommender.likes_)
    compared = _compare(model, new) if gate else None
    with stopwatch() as seconds:
        done = recommender.update(new)
        taken = seconds()
    recommender.save(out)
    result: JsonObject = {
        "users": done.users,
        "items": done.items,
        "ratings": done.ratings,
        "moved_items": done.moved_items,
        "drift": done.drift,
        "refit_advised": done.refit_advised,
        "seconds": taken,
        "out": str(out),
        **({} if compared is None else {"gate": compared}),
    }
    session.show(
        f"{done.ratings:,} ratings added, with {done.users:,} new users and {done.items:,} new "
        f"items; {done.moved_items:,} known items were placed again; {out} ({taken:.2f} s)"
    )
    if compared is not None:
        session.show(
            f"gate: RMSE of the last {compared['ratings']:,} ratings {compared['before']:.4f} "
            f"before, {compared['after']:.4f} after an update with the others"
        )
    if done.refit_advised:
        session.say("a new fit is advised: `coterie recommend fit` with all ratings")
    return result


def _compare(model: str, new: Ratings) -> JsonObject:
    """Return the errors of the last ratings before and after an update with the others.

    Raise InputError if the updated model is clearly worse.
    """
    import numpy as np

    times = new.timestamps
    order = np.arange(len(new)) if times is None else np.argsort(times, kind="stable")
    count = max(1, round(_HELD_OUT * len(new)))
    if count >= len(new):
        raise InputError("--gate needs at least two new ratings")
    rest, last = new.take(np.sort(order[:-count])), new.take(np.sort(order[-count:]))
    users, items = last.user_ids[last.users], last.item_ids[last.items]
    recommender = load_model(model)
    before = (recommender.predict(users, items) - last.ratings) ** 2
    recommender.update(rest)
    after = (recommender.predict(users, items) - last.ratings) ** 2
    worse = after - before
    old, updated = float(np.sqrt(before.mean())), float(np.sqrt(after.mean()))
    if worse.mean() > _CLEAR * worse.std() / np.sqrt(len(worse)):
        raise InputError(
            f"the updated model is worse: RMSE {updated:.4f} instead of {old:.4f} on the last "
            f"{count:,} of the new ratings; nothing was written",
            remedy="check the new ratings, or fit a new model",
        )
    return {"ratings": count, "before": old, "after": updated}

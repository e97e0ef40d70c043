"""`coterie recommend explain`: why a prediction is what it is."""

from __future__ import annotations

from pathlib import Path

from coterie.base.json_values import JsonObject
from coterie.cli.recommend.options import check_known, id_as_in_data, load_model, load_titles
from coterie.cli.session import Session, command


@command(unused=("seed", "threads"), answers=True)
def run(
    session: Session,
    model: str,
    user: str,
    item: str,
    titles: Path | None = None,
) -> JsonObject:
    """Explain the prediction for a user and an item.

    Averages, the user's own ratings, features and groups add up to the expected rating. The shares
    of the user's own items add up to the score of the item in the lists of `top`.

    Example: coterie recommend explain films.model --user 42 --item 7
    """
    from coterie.recommend.explanation import group_labels

    recommender = load_model(model)
    title_of = load_titles(session, titles, recommender.items_.ids)
    check_known(recommender, user, item)
    explanation = recommender.explain(
        id_as_in_data(recommender.users_, user), id_as_in_data(recommender.items_, item)
    )
    ranking = recommender.explain_ranking(explanation.user, explanation.item)
    lines = [*explanation.words(title_of), *ranking.words(title_of)]
    for line in lines:
        session.show(line)
    session.summary = f"expected rating of {user} for {item}: {explanation.rating:.2f}"
    items = recommender.items_.ids.tolist()
    contributions = []
    for term in explanation.contributions:
        user_group, item_group = group_labels(term)
        contributions.append(
            {
                "source": str(term.source),
                "user_group": user_group,
                "item_group": item_group,
                "weight": term.weight,
                "rating": term.rating,
                **({} if term.own is None else {"item": items[term.own.item]}),
            }
        )
    return {
        "user": explanation.user,
        "item": explanation.item,
        "rating": explanation.rating,
        "contributions": contributions,
        "score": ranking.score,
        "own_items": [{"item": own.item, "share": own.share} for own in ranking.own_items],
        "words": lines,
    }

"""Why a prediction is what it is, in numbers that add up and in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from coterie.base.errors import InputError
from coterie.recommend.adapter import Adapter, Contribution
from coterie.recommend.id_lookup import Names
from coterie.recommend.rating_table import RatingTable

_EXAMPLES = 3


class Reason(NamedTuple):
    """A contribution, and the items best known of its item group."""

    contribution: Contribution
    examples: list[Any]


class Explanation(NamedTuple):
    """`rating` is the sum of weight * rating over `contributions`; `reasons` are the largest."""

    user: Any
    item: Any
    rating: float
    contributions: list[Contribution]
    reasons: list[Reason]

    def words(self, titles: Mapping[Any, str] | None = None) -> list[str]:
        """The reasons as sentences, items by their titles where there are some."""
        named = titles or {}
        item = named.get(self.item, self.item)
        lines = [f"user {self.user} is expected to rate {item} {self.rating:.2f}"]
        for (who, what, weight, rating), examples in self.reasons:
            share = weight * rating
            like = ", ".join(str(named.get(example, example)) for example in examples)
            if who == what == "any":
                lines.append(f"{share:+.2f}  everybody, everything")
            elif who == "this user":
                lines.append(f"{share:+.2f}  how this user rates on the whole")
            elif what == "this item":
                lines.append(f"{share:+.2f}  how this item is rated on the whole")
            elif "." in who:
                lines.append(f"{share:+.2f}  users of group {who} with items like {like}")
            else:
                lines.append(
                    f"{share:+.2f}  {weight:.0%} user group {who} with item group {what}, which it "
                    f"rates {rating:.2f} ({like})"
                )
        rest = self.rating - sum(c.weight * c.rating for c, _ in self.reasons)
        if len(self.contributions) > len(self.reasons):
            lines.append(
                f"{rest:+.2f}  {len(self.contributions) - len(self.reasons)} smaller reasons"
            )
        return lines


def explain(
    adapter: Adapter,
    table: RatingTable,
    users: Names,
    items: Names,
    user: Any,
    item: Any,
    most: int = 6,
) -> Explanation:
    """Explain the expected rating of a user and an item that the model has seen."""
    u, v = int(users.numbers([user])[0]), int(items.numbers([item])[0])
    for kind, name, number, counts in (
        ("user", user, u, table.user_counts),
        ("item", item, v, table.item_counts),
    ):
        if number < 0 or not counts[number].any():
            raise InputError(
                f"{kind} {name!r} has no rating in this model, so there is nothing to explain",
                remedy="take it in with fold_in first",
            )
    parts = sorted(adapter.contributions(u, v), key=lambda c: -abs(c.weight * c.rating))
    popularity = table.item_counts.sum(axis=1)
    reasons = [
        Reason(part, _examples(adapter.item_group(part.item_group), popularity, items))
        for part in parts[:most]
    ]
    rating = float(sum(part.weight * part.rating for part in parts))
    return Explanation(user, item, rating, parts, reasons)


def _examples(membership: np.ndarray, popularity: np.ndarray, items: Names) -> list[Any]:
    """Items that belong to a group and that many people know."""
    known = membership * np.sqrt(popularity)
    best: list[Any] = items.ids[np.argsort(-known, kind="stable")[:_EXAMPLES]].tolist()
    return best

"""What a model takes for granted, in sentences for somebody who reads its report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coterie.data import Graph, Ratings

_HARD = {
    "simple": "Each pair of nodes is joined with a probability that depends on their two blocks "
    "alone, independently of all other pairs; edges have no direction and no weight.",
    "degree-corrected": "How many edges a node has is its own; blocks say only with whom it is "
    "joined (Karrer and Newman's degree-corrected model).",
    "directed": "Each ordered pair of nodes is joined with a probability that depends on their two "
    "blocks alone; the two directions of a pair are independent.",
    "weighted": "The weight of a pair is a count (Poisson) whose mean depends on the two blocks "
    "alone; a pair that is not in the file has weight 0.",
    "ratings": "A rating's distribution depends on the block of the user and the block of the item "
    "alone; pairs without a rating say nothing.",
    "binomial": "A rating is a number of successes whose chance depends on the two blocks alone; "
    "pairs without a rating say nothing.",
    "likes": "Every pair that is not in the file counts as not liked.",
}
_SOFT_GRAPH = (
    "At each pair a node acts as one of its groups, drawn by its memberships; pairs that are not "
    "joined are observations too."
)
_SOFT_RATINGS = (
    "For each rating user and item act as one of their groups, drawn by their memberships; pairs "
    "without a rating say nothing."
)
_ADDITIVE = (
    "A rating is a sum of small effects, one a table of user groups by item groups, and noise; "
    "pairs without a rating say nothing."
)
FOLDS = (
    "Rows were dealt to the folds at random: neither time nor new users and items are tested apart."
)


def taken_for_granted(model: Any, data: Graph | Ratings, told: Sequence[str] = ()) -> list[str]:
    """What was cleaned, what the model supposes, and what hangs on its random start.

    `told`: remarks made on the way (AssumptionWarnings), which come first and are not repeated.
    """
    sentences = list(told)
    if isinstance(data, Graph):
        cleaned = str(data.cleaned)
        if not any(cleaned in sentence for sentence in sentences):
            sentences.append(f"Cleaned while reading: {cleaned}.")
    sentences += [_model(model, data), _start(model)]
    return [_sentence(text) for text in dict.fromkeys(sentences) if text]


def _model(model: Any, data: Graph | Ratings) -> str:
    if hasattr(model, "memberships_") or hasattr(model, "user_memberships_"):
        return _SOFT_GRAPH if isinstance(data, Graph) else _SOFT_RATINGS
    if hasattr(model, "samples_"):
        return _ADDITIVE
    return _HARD.get(str(getattr(model, "objective", "")), "")


def _start(model: Any) -> str:
    starts = getattr(model, "n_init", None)
    if starts is None:
        return ""
    number = "one random start" if starts == 1 else f"the best of {starts} random starts"
    return f"The result is that of {number}; another seed may end somewhat elsewhere."


def _sentence(text: str) -> str:
    """With a capital and a stop; of a file, the name without its folder.

    >>> _sentence("edges merged"), _sentence("/home/me/a.txt: 2 edges merged")
    ('Edges merged.', 'a.txt: 2 edges merged.')
    """
    file, colon, rest = text.partition(": ")
    if colon and "." in file and " " not in file:
        text = f"{file.rsplit('/', 1)[-1]}: {rest}"
    else:
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."

"""The assumptions of a model, in sentences for the readers of its report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coterie.data import Graph, Ratings
from coterie.models.base import Estimator
from coterie.models.declaration import DataKind
from coterie.models.hard.clustering import HardClustering

FOLDS = (
    "Rows were assigned to the folds at random: neither later ratings nor new users and items are "
    "tested separately."
)


def model_assumptions(model: Any, data: Graph | Ratings, remarks: Sequence[str] = ()) -> list[str]:
    """List what was cleaned, what the model assumes, and how the result depends on the seed.

    `remarks`: the AssumptionWarnings of this run, which come first and are not repeated.
    """
    sentences = list(remarks)
    if isinstance(data, Graph):
        cleaned = str(data.cleaned)
        if not any(cleaned in sentence for sentence in sentences):
            sentences.append(f"Cleaned while reading: {cleaned}.")
    if isinstance(model, HardClustering):
        sentences += model.assumptions(data)
    else:
        sentences += [_model_assumption(model, data), _start_assumption(model)]
    return [_sentence(text) for text in dict.fromkeys(sentences) if text]


def _model_assumption(model: Any, data: Graph | Ratings) -> str:
    """Return what the declaration of the model says about this kind of data."""
    if not isinstance(model, Estimator):
        return ""
    kind = DataKind.GRAPH if isinstance(data, Graph) else DataKind.RATINGS
    return model.declaration.assumptions.get(kind, "")


def _start_assumption(model: Any) -> str:
    starts = getattr(model, "n_init", None)
    if starts is None:
        return ""
    number = "one random start" if starts == 1 else f"the best of {starts} random starts"
    return f"The result comes from {number}; another seed can give a slightly different one."


def _sentence(text: str) -> str:
    """Write a remark as a sentence; a path is shortened to the name of the file.

    >>> _sentence("edges merged"), _sentence("/home/me/a.txt: 2 edges merged")
    ('Edges merged.', 'a.txt: 2 edges merged.')
    """
    file, colon, rest = text.partition(": ")
    if colon and "." in file and " " not in file:
        text = f"{file.rsplit('/', 1)[-1]}: {rest}"
    else:
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."

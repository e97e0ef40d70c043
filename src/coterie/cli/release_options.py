"""Options that the commands about releases share: anonymize, compare, attack and benchmark."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

WHO_IS_WHO = (
    "Who is who: a table with the columns published,original, as written by "
    "`coterie anonymize --research-truth`."
)


class ReleaseObjective(StrEnum):
    """What the network to release has."""

    simple = "simple"
    directed = "directed"
    weighted = "weighted"
    bipartite = "bipartite"


ObjectiveOption = Annotated[
    ReleaseObjective,
    typer.Option(
        help="What the network has: simple (edges alone), directed, weighted (the third column is "
        "the weight), or bipartite (two kinds of nodes; the first column holds one kind, the "
        "second the other)."
    ),
]
BlocksOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Number of blocks (default: one per 40 to 100 people, more people in denser networks, "
        "but at least half and at most four times the square root of their number; half the "
        "square root if hubs connect mostly to people with few contacts; one per community if "
        "there are more communities of twice --min-class-size).",
    ),
]
MinClassSizeOption = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Minimum number of people per class; they cannot be distinguished in the release.",
    ),
]
OriginalAttributesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Table of what is known about each node of ORIGINAL: a column node, then one column "
        "per attribute.",
    ),
]
PublishedAttributesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The same for PUBLISHED, for example nodes.csv of a release.",
    ),
]

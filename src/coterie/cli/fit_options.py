"""Options that the commands that fit a model share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

IterationsOption = Annotated[
    int, typer.Option(min=0, metavar="N", help="Maximum number of iterations.")
]
ToleranceOption = Annotated[
    float,
    typer.Option(
        min=0,
        metavar="X",
        help="Stop when the last iterations lowered the entropy by less than this share: 0.001 is "
        "0.1 %. 0 runs all iterations.",
    ),
]
RunsOption = Annotated[
    int, typer.Option(min=1, metavar="N", help="Number of random starts; the best result is kept.")
]
ReportOption = Annotated[
    Path | None, typer.Option(metavar="FILE.html", help="Write a report to open in a browser.")
]

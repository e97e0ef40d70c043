"""`--checkpoint` and `--resume`: continue a fit that was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypedDict

import typer

from coterie.base.errors import InputError

CheckpointOption = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="Save the state of the fit to this file: every ten iterations; cluster --search best "
        "and --blocks auto or nested after every step, for at most 3 % of the time.",
    ),
]
ResumeOption = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue an interrupted fit from the --checkpoint file; without such a file, start a "
        "new fit. A single run that has ended goes on if --iterations is larger or --tol smaller "
        "now.",
    ),
]


class CheckpointArguments(TypedDict, total=False):
    """Keyword arguments of a model's `fit`."""

    checkpoint: Path
    resume: bool


def checkpoint_arguments(checkpoint: Path | None, resume: bool) -> CheckpointArguments:
    """Return the keyword arguments for a model's `fit`."""
    if resume and checkpoint is None:
        raise InputError(
            "--resume requires the file to continue from", remedy="add --checkpoint FILE"
        )
    return {} if checkpoint is None else {"checkpoint": checkpoint, "resume": resume}

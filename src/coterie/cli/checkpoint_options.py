"""`--checkpoint` and `--resume`: a fit that was stopped goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from coterie.base.errors import InputError

CheckpointOption = Annotated[
    Path | None, typer.Option("--checkpoint", help="Save the fit here every ten iterations.")
]
ResumeOption = Annotated[
    bool, typer.Option("--resume", help="Go on from the checkpoint, if it is there.")
]


def saving(checkpoint: Path | None, resume: bool) -> dict[str, Any]:
    """What a model's `fit` is told."""
    if resume and checkpoint is None:
        raise InputError("--resume needs a file to go on from", remedy="add --checkpoint FILE")
    return {} if checkpoint is None else {"checkpoint": checkpoint, "resume": resume}

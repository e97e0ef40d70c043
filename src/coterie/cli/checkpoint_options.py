"""`--checkpoint` and `--resume`: continue a fit that was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from coterie.base.errors import InputError


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

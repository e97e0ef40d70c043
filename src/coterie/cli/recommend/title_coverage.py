"""Say how many items of a model have a title."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from coterie.cli.session import Session

if TYPE_CHECKING:
    import numpy as np

    from coterie.data.titles import Titles


def say_coverage(session: Session, titles: Titles, path: Path | None, items: np.ndarray) -> None:
    """Say how many of a model's items have no title; nothing if all of them have one."""
    if path is None:
        return
    found = sum(str(item) in titles for item in items.tolist())
    if found < len(items):
        session.say(
            f"{path}: {found:,} of the {len(items):,} items of the model have a title",
            important=found == 0,
        )

"""`coterie doctor`: what this installation is made of, for a bug report."""

from __future__ import annotations

from typing import Any

from coterie.cli.session import Session, command


@command
def run(session: Session) -> dict[str, Any]:
    """Versions, cores, memory, Numba's threading layer and cache."""
    raise SystemExit

"""The private side of a release: what was done, with every figure, for the owner alone."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from coterie.base.errors import AssumptionWarning
from coterie.data import Graph
from coterie.data.writers import atomic_write

_OWNER_ONLY = 0o600


def fingerprint(graph: Graph) -> str:
    """A hash of the graph and its ids: the same input, however it is stored, has the same."""
    digest = hashlib.sha256()
    for array in (graph.indptr, graph.indices):
        digest.update(np.ascontiguousarray(array, np.int64).tobytes())
    digest.update("\n".join(map(str, graph.ids)).encode())
    return digest.hexdigest()


class Ledger:
    """How many releases were made of each input on this account.

    A file of hashes and counts in the user's state folder ($COTERIE_STATE, else $XDG_STATE_HOME or
    ~/.local/state, /coterie), readable by the owner alone.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(folder or _state_folder()) / "releases.json"

    def count(self, input_hash: str) -> int:
        """Releases made so far; 0 where nothing is known."""
        return self._read().get(input_hash, 0)

    def add(self, input_hash: str, releases: int) -> int:
        """Record more releases; gives how many there are now."""
        counts = self._read()
        counts[input_hash] = counts.get(input_hash, 0) + releases
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with atomic_write(self.path, permissions=_OWNER_ONLY) as file:
                json.dump(counts, file, indent=1)
        except (OSError, ValueError) as error:
            warnings.warn(
                f"{self.path} cannot be written ({error}): releases of this input are not counted",
                AssumptionWarning,
                stacklevel=2,
            )
        return counts[input_hash]

    def _read(self) -> dict[str, int]:
        try:
            counts = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            warnings.warn(
                f"{self.path} cannot be read ({error}): earlier releases are not counted",
                AssumptionWarning,
                stacklevel=3,
            )
            return {}
        return {str(key): int(value) for key, value in counts.items()}


def _state_folder() -> Path:
    if own := os.environ.get("COTERIE_STATE"):
        return Path(own)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "coterie"


def write_audit(folder: Path, record: dict[str, Any]) -> Path:
    """folder/audit.json, mode 0600 in a folder of mode 0700; an earlier audit is kept beside it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / "audit.json"
    if path.exists():
        number = 1 + sum(1 for _ in folder.glob("audit-*.json"))
        path.rename(folder / f"audit-{number}.json")
    stamped = {"written": datetime.now(UTC).isoformat(timespec="seconds"), **record}
    with atomic_write(path, permissions=_OWNER_ONLY) as file:
        json.dump(stamped, file, indent=1, default=plain)
        file.write("\n")
    return path


def plain(value: Any) -> Any:
    """What json cannot write by itself."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)

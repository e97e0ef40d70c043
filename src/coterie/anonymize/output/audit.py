"""The private record of a release: everything that was done, for the owner only."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from coterie.anonymize.draw.calibration import RingSettings
from coterie.anonymize.draw.rewiring import RewiringTargets
from coterie.anonymize.policy import Limit, PolicyDecision
from coterie.anonymize.risk.assessment import PublicationLevel, Risk, publication_levels
from coterie.anonymize.utility.release_utility import Utility
from coterie.base.errors import AssumptionWarning
from coterie.data import Graph
from coterie.data.writers import atomic_write

_OWNER_ONLY = 0o600


class PublishedStatistics(NamedTuple):
    """Statistics of the original that a `dcsbm` release reproduces, and so publishes."""

    targets: RewiringTargets
    ring: RingSettings


@dataclass(frozen=True, eq=False)
class AuditRecord:
    """The settings, randomness and figures of a release."""

    model: str
    blocks: int
    draws: int
    version: str
    input_sha256: str
    earlier_releases: int  # graphs published from this input before
    parameters: Mapping[str, object]  # of the anonymizer
    entropy: str  # the operating system's random number that the release was drawn from
    classes: int
    published_statistics: PublishedStatistics | None
    utility: Utility
    risk: Risk
    decision: PolicyDecision
    seconds: float
    suggestions: list[str] | None = None  # None if nothing was tried

    @property
    def limits(self) -> list[Limit]:
        """The limits of the policy that were checked."""
        return self.decision.limits

    @property
    def levels(self) -> list[PublicationLevel]:
        """The risk if more than the graph were published."""
        return publication_levels(self.risk)


class Publication(NamedTuple):
    """The circumstances in which a release was written."""

    releases: int  # graphs published from this input, including these
    forced: bool
    research_truth: Path | None
    folder: Path


def fingerprint(graph: Graph) -> str:
    """Return a hash of the graph and its ids, which does not depend on the file format."""
    digest = hashlib.sha256()
    for array in (graph.indptr, graph.indices):
        digest.update(np.ascontiguousarray(array, np.int64).tobytes())
    digest.update("\n".join(map(str, graph.ids)).encode())
    return digest.hexdigest()


class Ledger:
    """The number of releases of each input that this account has made.

    The counts are kept in a file in the state folder of the user ($COTERIE_STATE, else
    $XDG_STATE_HOME/coterie, else ~/.local/state/coterie) that only the owner can read. Inputs are
    identified by their hash.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(folder or _state_folder()) / "releases.json"

    def count(self, input_hash: str) -> int:
        """Return the number of releases made so far; 0 if none is known."""
        return self._read().get(input_hash, 0)

    def add(self, input_hash: str, releases: int) -> int:
        """Record more releases; return the new total."""
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


def write_audit(folder: Path, content: Mapping[str, Any]) -> Path:
    """Write folder/audit.json for the owner only (modes 0700 and 0600); keep earlier audits."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / "audit.json"
    if path.exists():
        number = 1 + sum(1 for _ in folder.glob("audit-*.json"))
        path.rename(folder / f"audit-{number}.json")
    stamped = {"written": datetime.now(UTC).isoformat(timespec="seconds"), **content}
    with atomic_write(path, permissions=_OWNER_ONLY) as file:
        json.dump(stamped, file, indent=1)
        file.write("\n")
    return path

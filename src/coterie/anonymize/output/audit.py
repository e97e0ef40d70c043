"""The private record of a release: everything that was done, for the owner only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from coterie.anonymize.draw.rewiring import RewiringTargets
from coterie.anonymize.features.comparison import FeatureResults
from coterie.anonymize.figures import Private
from coterie.anonymize.output.release_folder import make_private_folder
from coterie.anonymize.policy import Limit, PolicyDecision
from coterie.anonymize.risk.assessment import PublicationLevel, Risk, publication_levels
from coterie.anonymize.utility.release_utility import Utility
from coterie.data.atomic_files import atomic_write

_OWNER_ONLY = 0o600


class PublishedStatistics(NamedTuple):
    """Statistics of the original that a `dcsbm` release reproduces, and so publishes."""

    targets: RewiringTargets


@dataclass(frozen=True, eq=False, repr=False)
class AuditRecord(Private):
    """The settings, randomness and figures of a release."""

    model: str
    blocks: int
    draws: int
    version: str
    input_sha256: str
    dataset: str | None  # None if the owner gave no name
    earlier_releases: int  # graphs released from this dataset before
    parameters: Mapping[str, object]  # of the anonymizer
    entropy: str  # the operating system's random number that the release was drawn from
    classes: int
    published_statistics: PublishedStatistics | None
    utility: Utility
    risk: Risk
    decision: PolicyDecision
    seconds: float
    features: FeatureResults | None = None  # directions, weights, sides and attributes
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

    dataset: str
    ledger_entry: str  # id
    releases: int  # graphs released from this dataset, including these
    forced: bool
    research_truth: Path | None
    folder: Path


@contextmanager
def written_audit(folder: Path, content: Mapping[str, Any], page: str) -> Iterator[None]:
    """Write audit.json and the owner's report.html, for the owner only; keep earlier ones.

    If the block fails, the new files are removed.
    """
    make_private_folder(folder)
    audit, report = folder / "audit.json", folder / "report.html"
    number = 1 + sum(1 for _ in folder.glob("audit-*.json"))
    for old in (audit, report):
        if old.exists():
            old.rename(folder / f"{old.stem}-{number}{old.suffix}")
    stamped = {"written": datetime.now(UTC).isoformat(timespec="seconds"), **content}
    try:
        with atomic_write(audit, permissions=_OWNER_ONLY) as file:
            json.dump(stamped, file, indent=1)
            file.write("\n")
        with atomic_write(report, permissions=_OWNER_ONLY) as file:
            file.write(page)
        yield
    except BaseException:
        for new in (audit, report):
            new.unlink(missing_ok=True)
        raise

"""Which of the further measures a report shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from coterie.anonymize.utility.full_measures import FullRow


class PublicFurther(NamedTuple):
    """One further measure; the original's figure is shown to the owner only."""

    name: str
    original: float | None
    published: float
    tolerance: float  # relative difference that counts as preserved
    kept: bool
    headline: bool


def public_further(rows: Sequence[FullRow], group: int) -> list[PublicFurther]:
    """Select the further measures that do not depend on few people; hide the original's figures.

    That a measure is preserved says that the original's figure is within the tolerance of the
    published one. For a count, at least `group` numbers must be within it on each side.
    """
    return [
        row._replace(original=None)
        for row, found in zip(owner_further(rows), rows, strict=True)
        if found.measure.public
        and (
            not isinstance(found.original, int)
            or found.measure.tolerance * min(found.original, found.published) >= group
        )
    ]


def owner_further(rows: Sequence[FullRow]) -> list[PublicFurther]:
    """Return all further measures with exact figures, for the owner."""
    return [
        PublicFurther(
            row.measure.name,
            row.original,
            row.published,
            row.measure.tolerance,
            row.kept,
            row.measure.headline,
        )
        for row in rows
    ]
